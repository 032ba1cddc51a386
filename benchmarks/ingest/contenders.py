"""Who takes texts in, and how is each one asked?

Every contender stores the text as well as the index, and gets the same files from the same folder, sorted by name.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

BATCH_BYTES = 8 << 20
"""Text per transaction, for those that have transactions."""


class Reader(Protocol):
    """A contender's index, opened to be asked."""

    def census(self, term: str) -> int:
        """How often the term occurs, or in how many documents, without reading any text."""

    def postings(self, term: str) -> int:
        """Fetch everything that is known of where the term stands; returns how much that was."""

    def close(self) -> None: ...


class Writer(Protocol):
    """A contender's index, opened to be changed."""

    def replace(self, name: str, content: bytes) -> None:
        """Store another text under a name, committed."""

    def remove(self, names: Sequence[str]) -> None:
        """Forget texts, committed."""

    def close(self) -> None: ...


class Contender(Protocol):
    """A system under measurement; making one imports what it needs, outside the clock."""

    census_of: str
    postings_of: str

    def build(self, folder: Path, where: Path, *, cores: int) -> None: ...
    def reader(self, where: Path) -> Reader: ...
    def writer(self, where: Path) -> Writer: ...
    def parts(self, where: Path) -> dict[str, int]:
        """Bytes of text and of index."""


def texts_in(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file of a folder by name."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        yield path.relative_to(folder).as_posix(), path.read_bytes()


def size_of(where: Path) -> int:
    """What lies below a folder, in bytes."""
    return sum(path.stat().st_size for path in where.rglob("*") if path.is_file())


class Brimful:
    """Content in compressed blocks, byte positions of all terms, units and sections; every blob with a checksum."""

    census_of, postings_of = "occurrences", "byte positions"
    label = "texts"
    """What stands before the names of all files, whatever their folder is called."""

    def __init__(self) -> None:
        from brimful.documents.skips import SourceSettings
        from brimful.ingest.folders import ingest
        from brimful.store.sqlite import SqliteStore

        self.settings = SourceSettings(allow=("hidden", "ignored", "secret", "binary"))
        self.ingest, self.store = ingest, SqliteStore

    def build(self, folder: Path, where: Path, *, cores: int) -> None:  # noqa: ARG002  (it looks itself)
        with self.store(where / "brimful.db") as store:
            report = self.ingest(store, folder, label=self.label, settings=self.settings)
        if report.skipped:
            print(f"Brimful skipped {len(report.skipped)} files, first {report.skipped[0]}")

    def reader(self, where: Path) -> Reader:
        return _BrimfulReader(self.store(where / "brimful.db"))

    def writer(self, where: Path) -> Writer:
        return _BrimfulWriter(self.store(where / "brimful.db"))

    def parts(self, where: Path) -> dict[str, int]:
        import apsw

        from brimful.store import format as schema

        with_kind = f"(key >> {schema._PLACE_BITS}) & {(1 << schema._KIND_BITS) - 1}"  # noqa: SLF001
        connection = apsw.Connection(str(where / "brimful.db"), flags=apsw.SQLITE_OPEN_READONLY)
        statement = f"SELECT {with_kind}, sum(length(data)) FROM blobs GROUP BY 1"
        sizes = dict(connection.execute(statement).fetchall())
        connection.close()
        return {"text": sizes.pop(schema.TEXT, 0), "index": sum(sizes.values())}


class _BrimfulReader:
    def __init__(self, store: Any) -> None:
        self._store = store
        self._now = store.snapshot()

    def census(self, term: str) -> int:
        count: int = self._now.census(term.encode())
        return count

    def postings(self, term: str) -> int:
        return len(self._now.places(term.encode()))

    def close(self) -> None:
        self._now.close()
        self._store.close()


class _BrimfulWriter:
    def __init__(self, store: Any) -> None:
        from brimful.documents.documents import Document
        from brimful.store.writing import NewDocument

        self._store, self._document, self._entry = store, Document, NewDocument
        self.close = store.close

    def replace(self, name: str, content: bytes) -> None:
        path = f"{Brimful.label}/{name}"
        if self._store.owner(path) is None:
            raise SystemExit(f"Brimful has no {path} that could be replaced")
        self._store.add([self._entry(self._document(path, content))])

    def remove(self, names: Sequence[str]) -> None:
        count = self._store.remove([f"{Brimful.label}/{name}" for name in names])
        if count != len(names):
            raise SystemExit(f"Brimful removed {count} of {len(names)} documents")


class Fts5:
    """A table of texts and an FTS5 index over it with token positions (detail=full), in the same batches."""

    census_of, postings_of = "occurrences", "documents"

    def __init__(self) -> None:
        import apsw

        self._open = apsw.Connection

    def build(self, folder: Path, where: Path, *, cores: int) -> None:  # noqa: ARG002  (one thread)
        connection = self._connect(where)
        connection.execute(
            "CREATE TABLE texts (id INTEGER PRIMARY KEY, name TEXT UNIQUE, body TEXT);"
            "CREATE VIRTUAL TABLE words USING fts5(body, content='texts', content_rowid='id', detail=full)"
        )
        connection.execute("BEGIN")
        size = 0
        for number, (name, content) in enumerate(texts_in(folder)):
            body = content.decode()
            connection.execute("INSERT INTO texts VALUES (?, ?, ?)", (number, name, body))
            connection.execute("INSERT INTO words (rowid, body) VALUES (?, ?)", (number, body))
            size += len(content)
            if size >= BATCH_BYTES:
                connection.execute("COMMIT")
                connection.execute("BEGIN")
                size = 0
        connection.execute("COMMIT")
        connection.close()

    def reader(self, where: Path) -> Reader:
        return _Fts5Reader(self._connect(where))

    def writer(self, where: Path) -> Writer:
        return _Fts5Writer(self._connect(where))

    def parts(self, where: Path) -> dict[str, int]:
        connection = self._connect(where)
        ((text,),) = connection.execute("SELECT sum(length(CAST(body AS BLOB))) FROM texts").fetchall()
        ((index,),) = connection.execute("SELECT sum(length(block)) FROM words_data").fetchall()
        connection.close()
        return {"text": text, "index": index}

    def _connect(self, where: Path) -> Any:
        connection = self._open(str(where / "fts5.db"))
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "full")
        return connection


class _Fts5Reader:
    def __init__(self, connection: Any) -> None:
        self._connection = connection
        connection.execute(
            "CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, words, row);"
            "CREATE VIRTUAL TABLE temp.instances USING fts5vocab(main, words, instance)"
        )
        self.close = connection.close

    def census(self, term: str) -> int:
        found = self._connection.execute("SELECT cnt FROM temp.terms WHERE term = ?", (term,)).fetchall()
        return int(found[0][0]) if found else 0

    def postings(self, term: str) -> int:
        return len(self._connection.execute("SELECT rowid FROM words WHERE words MATCH ?", (f'"{term}"',)).fetchall())

    def positions(self, term: str) -> int:
        """Token numbers, which FTS5 keeps in place of bytes."""
        statement = "SELECT doc, offset FROM temp.instances WHERE term = ?"
        return len(self._connection.execute(statement, (term,)).fetchall())

    def spans(self, term: str) -> int:
        """Bytes, by reading and tokenising every text that has the term anew: FTS5's own way to mark what it found."""
        statement = "SELECT highlight(words, 0, char(1), char(2)) FROM words WHERE words MATCH ?"
        return sum(body.count("\x01") for (body,) in self._connection.execute(statement, (f'"{term}"',)))

    def by_frequency(self) -> list[tuple[str, int]]:
        """Every term with how many documents have it."""
        found: list[tuple[str, int]] = self._connection.execute("SELECT term, doc FROM temp.terms").fetchall()
        return found


class _Fts5Writer:
    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.close = connection.close

    def replace(self, name: str, content: bytes) -> None:
        body = content.decode()
        with self._connection:
            number = self._forget(name)
            self._connection.execute("UPDATE texts SET body = ? WHERE id = ?", (body, number))
            self._connection.execute("INSERT INTO words (rowid, body) VALUES (?, ?)", (number, body))

    def remove(self, names: Sequence[str]) -> None:
        with self._connection:
            for name in names:
                self._connection.execute("DELETE FROM texts WHERE id = ?", (self._forget(name),))

    def _forget(self, name: str) -> int:
        ((number, body),) = self._connection.execute("SELECT id, body FROM texts WHERE name = ?", (name,)).fetchall()
        self._connection.execute("INSERT INTO words (words, rowid, body) VALUES ('delete', ?, ?)", (number, body))
        return int(number)


class Tantivy:
    """Stored texts and an index with token positions; one commit at the end, which is to its advantage."""

    census_of, postings_of = "documents", "documents"

    def __init__(self) -> None:
        import tantivy

        self._module = tantivy

    def build(self, folder: Path, where: Path, *, cores: int) -> None:
        schema = self._module.SchemaBuilder()
        schema.add_text_field("name", stored=True, tokenizer_name="raw")
        schema.add_text_field("body", stored=True, tokenizer_name="default", index_option="position")
        writer = self._module.Index(schema.build(), path=str(where)).writer(num_threads=cores)
        for name, content in texts_in(folder):
            writer.add_document(self._module.Document(name=name, body=content.decode()))
        writer.commit()
        writer.wait_merging_threads()

    def reader(self, where: Path) -> Reader:
        return _TantivyReader(self._module, where)

    def writer(self, where: Path) -> Writer:
        return _TantivyWriter(self._module, where)

    def parts(self, where: Path) -> dict[str, int]:
        sizes = {path.suffix: 0 for path in where.iterdir()}
        for path in where.iterdir():
            sizes[path.suffix] += path.stat().st_size
        return {"text": sizes.pop(".store", 0), "index": sum(sizes.values())}


class _TantivyReader:
    def __init__(self, module: Any, where: Path) -> None:
        self._index = module.Index.open(str(where))
        self._query, self._searcher = module.Query.term_query, self._index.searcher()

    def census(self, term: str) -> int:
        return int(self._searcher.doc_freq("body", term))

    def postings(self, term: str) -> int:
        query = self._query(self._index.schema, "body", term)
        return len(self._searcher.search(query, limit=max(self._searcher.num_docs, 1), count=False).hits)

    def close(self) -> None:
        del self._index, self._searcher


class _TantivyWriter:
    def __init__(self, module: Any, where: Path) -> None:
        self._module = module
        self._writer = module.Index.open(str(where)).writer(num_threads=1)

    def replace(self, name: str, content: bytes) -> None:
        self._writer.delete_documents_by_term("name", name)
        self._writer.add_document(self._module.Document(name=name, body=content.decode()))
        self._writer.commit()

    def remove(self, names: Sequence[str]) -> None:
        for name in names:
            self._writer.delete_documents_by_term("name", name)
        self._writer.commit()

    def close(self) -> None:
        self._writer.wait_merging_threads()


class Bm25s:
    """Scores of every term and document, counted in memory, then saved with the texts; no positions."""

    census_of, postings_of = "documents", "scores"

    def __init__(self) -> None:
        import bm25s

        self._module = bm25s

    def build(self, folder: Path, where: Path, *, cores: int) -> None:  # noqa: ARG002  (one thread)
        names, bodies = [], []
        for name, content in texts_in(folder):
            names.append(name)
            bodies.append(content.decode())
        tokens = self._module.tokenize(bodies, stopwords=None, show_progress=False)
        index = self._module.BM25()
        index.index(tokens, show_progress=False)
        corpus = [{"name": name, "body": body} for name, body in zip(names, bodies, strict=True)]
        index.save(str(where), corpus=corpus, show_progress=False)

    def reader(self, where: Path) -> Reader:
        return _Bm25sReader(self._module.BM25.load(str(where), mmap=True, show_progress=False))

    def writer(self, where: Path) -> Writer:
        raise NotImplementedError("bm25s builds the index anew")

    def parts(self, where: Path) -> dict[str, int]:
        text = (where / "corpus.jsonl").stat().st_size
        return {"text": text, "index": size_of(where) - text}


class _Bm25sReader:
    def __init__(self, index: Any) -> None:
        self._index = index

    def census(self, term: str) -> int:
        number = self._index.vocab_dict.get(term)
        bounds = self._index.scores["indptr"]
        return 0 if number is None else int(bounds[number + 1] - bounds[number])

    def postings(self, term: str) -> int:
        return int((self._index.get_scores([term]) > 0).sum())

    def close(self) -> None:
        del self._index


CONTENDERS: dict[str, Callable[[], Contender]] = {
    "Brimful": Brimful,
    "FTS5": Fts5,
    "tantivy": Tantivy,
    "bm25s": Bm25s,
}
TWO_CORES = ("Brimful", "tantivy")
"""Those that are asked to use two; FTS5 has one writer in one thread, bm25s counts in one."""
