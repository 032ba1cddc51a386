"""How is a store laid out on PostgreSQL, and who may see which rows of it?

All corpora share a few tables. Each row says whose it is, and row-level security shows a role the rows of its own
corpora only. A session names one corpus (`brimful.corpus`), and views of the tables' plain names show that one, so that
the statements of every engine are the same. The session's setting chooses, it permits nothing: another's number shows
no rows. The planner keeps no statistics of any column: its estimates (EXPLAIN) are for everybody to read, and would
tell which paths, titles and words others have. Who holds what for longer than a statement is a locked row that others
can't see, no advisory lock: those are listed (pg_locks) and taken by anybody who can connect.
"""

from __future__ import annotations

VERSION = 3
LEAST_SERVER = 150_000
"""PostgreSQL 15: views that are read with the rights of whoever asks."""

LONGEST_PATH_BYTES = 2_000
"""What PostgreSQL's index takes of a document's path, with room to spare."""

_CHOSEN = "nullif(current_setting('brimful.corpus', true), '')::int"

COLUMNS = {
    "meta": 'key text COLLATE "C" NOT NULL, value bytea NOT NULL, seal bytea NOT NULL',
    "roots": 'path text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, seal bytea NOT NULL',
    "documents": (
        'number bigint NOT NULL, path text COLLATE "C" NOT NULL, id bytea NOT NULL, content_hash bytea NOT NULL, '
        "leaf bytea NOT NULL, bucket int NOT NULL, length bigint NOT NULL, time bigint, kind text NOT NULL, "
        'language text, rule text NOT NULL, title text, origin text COLLATE "C", stamp text, seal bytea NOT NULL'
    ),
    "maps": "document bigint NOT NULL, data bytea STORAGE EXTERNAL NOT NULL, seal bytea NOT NULL",
    "segments": (
        "number bigint NOT NULL, length bigint NOT NULL, live bigint NOT NULL, dead bigint NOT NULL, "
        "lowest bigint NOT NULL, highest bigint NOT NULL, seal bytea NOT NULL"
    ),
    "blobs": "key bigint NOT NULL, data bytea STORAGE EXTERNAL NOT NULL, seal bytea NOT NULL",
    "buckets": "number int NOT NULL, root bytea NOT NULL",
    "vector_models": "number int NOT NULL, name text NOT NULL, width int NOT NULL, seal bytea NOT NULL",
    "vectors": "model int NOT NULL, key bytea NOT NULL, numbers bytea NOT NULL, seal bytea NOT NULL",
    "counters": "number int NOT NULL, segments bigint NOT NULL",
    "terms": 'term text COLLATE "C" NOT NULL, occurrences bigint NOT NULL',
    "partials": "key bytea NOT NULL, text bytea STORAGE EXTERNAL NOT NULL, seal bytea NOT NULL",
    "places": (
        'recipe bytea NOT NULL, source bytea NOT NULL, start bigint NOT NULL, "end" bigint NOT NULL, key bytea NOT NULL'
    ),
    "limits": (
        'endpoint text COLLATE "C" NOT NULL, model text COLLATE "C" NOT NULL, kind text NOT NULL, '
        "tokens bigint NOT NULL"
    ),
    "captures": (
        'name text COLLATE "C" NOT NULL, model text NOT NULL, status text NOT NULL, message bytea NOT NULL, '
        "original bytea STORAGE EXTERNAL NOT NULL, digest bytea STORAGE EXTERNAL NOT NULL, "
        "sources bytea STORAGE EXTERNAL NOT NULL, seal bytea NOT NULL"
    ),
}
"""The columns of each table as the statements of every engine know them; the corpus comes before them."""

_KEYS = {
    "meta": "key",
    "roots": "path",
    "documents": "number",
    "maps": "document",
    "segments": "number",
    "blobs": "key",
    "buckets": "number",
    "vector_models": "number",
    "vectors": "model, key",
    "counters": "number",
    "terms": "term",
    "partials": "key",
    "places": 'recipe, source, start, "end"',
    "limits": "endpoint, model, kind",
    "captures": "name",
}

_SECOND = ("partials", "places", "limits", "captures")
"""Tables that came with version 2."""

_MORE = """
CREATE UNIQUE INDEX documents_by_path ON all_documents (corpus, path);
CREATE INDEX documents_by_bucket ON all_documents (corpus, bucket);
CREATE UNIQUE INDEX vector_models_by_name ON all_vector_models (corpus, name);
"""

_CORPORA = """
CREATE TABLE versions (version int NOT NULL);
INSERT INTO versions VALUES (1);
CREATE TABLE corpora (
    number int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    role name NOT NULL DEFAULT current_user,
    readers name,
    channel text NOT NULL DEFAULT 'brimful_' || replace(gen_random_uuid()::text, '-', ''),
    turn int NOT NULL DEFAULT 0
);
ALTER TABLE corpora ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON corpora USING (
    EXISTS (SELECT FROM pg_catalog.pg_roles AS known WHERE known.rolname IN (role, readers)
            AND pg_catalog.pg_has_role(known.oid, 'MEMBER'))
);
"""
"""A corpus belongs to a role and whoever is a member of it. Its channel is a secret that only they can read: who
listens to it would know when something is added."""


def first() -> str:
    """The statements that make version 1, in a schema that is there and first in the search path.

    >>> "ENABLE ROW LEVEL SECURITY" in first() and "security_invoker" in first()
    True
    """
    return _CORPORA + "".join(_table(name) for name in COLUMNS if name not in _SECOND) + _MORE


def later(version: int) -> str:
    """The statements that make a version of the one before it; roles that have corpora get what they had of the others.

    >>> "captures" in later(2) and "GRANT" in later(2)
    True
    """
    if version == 2:
        tables = ", ".join(each for name in _SECOND for each in (name, f"all_{name}"))
        return "".join(map(_table, _SECOND)) + _GRANTED.format(tables=tables)
    return _THIRD


HELD = {"segments": 0, "merging": 1, "answers": 2}
"""The rows of `counters`: the number of the last segment, and one for whoever merges segments or keeps answers."""
FIRST_TURN = 16
"""Rows from this number on are never committed: each stands for a place while somebody brings that up to date."""

_THIRD = """
INSERT INTO all_counters (corpus, number, segments)
    SELECT corpus, row.number, 0 FROM all_counters, (VALUES (1), (2)) AS row (number) ON CONFLICT DO NOTHING;
DO $$
DECLARE known record;
BEGIN
    FOR known IN SELECT nspname, relname, attname FROM pg_catalog.pg_attribute
        JOIN pg_catalog.pg_class ON pg_class.oid = attrelid
        JOIN pg_catalog.pg_namespace AS place ON place.oid = relnamespace
        WHERE relnamespace = (SELECT relnamespace FROM pg_catalog.pg_class WHERE oid = 'versions'::regclass)
        AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
    LOOP
        EXECUTE format('ALTER TABLE %I ALTER %I SET STATISTICS 0', known.relname, known.attname);
        IF to_regproc('pg_catalog.pg_clear_attribute_stats') IS NOT NULL THEN  -- PostgreSQL 18 and later
            EXECUTE 'SELECT pg_catalog.pg_clear_attribute_stats($1, $2, $3, false)'
                USING known.nspname::text, known.relname::text, known.attname::text;
        END IF;
    END LOOP;
END $$;
"""
"""Rows to lock, and no statistics of any column."""

_GRANTED = """
DO $$
DECLARE known record;
BEGIN
    FOR known IN SELECT rolname, rolname IN (SELECT role FROM corpora) AS writes FROM pg_catalog.pg_roles
        WHERE rolname IN (SELECT role FROM corpora UNION SELECT readers FROM corpora)
    LOOP
        EXECUTE format('GRANT SELECT ON {tables} TO %I', known.rolname);
        IF known.writes THEN
            EXECUTE format('GRANT INSERT, UPDATE, DELETE ON {tables} TO %I', known.rolname);
        END IF;
    END LOOP;
END $$;
"""


def _table(name: str) -> str:
    columns = ", ".join(each.split()[0] for each in _split(COLUMNS[name]))
    own = f"corpus = (SELECT number FROM corpora WHERE number = {_CHOSEN})"  # noqa: S608
    shown = f"SELECT {columns} FROM all_{name} WHERE corpus = {_CHOSEN}"  # noqa: S608
    return f"""
CREATE TABLE all_{name} (
    corpus int NOT NULL DEFAULT {_CHOSEN}, {COLUMNS[name]}, PRIMARY KEY (corpus, {_KEYS[name]})
);
ALTER TABLE all_{name} ALTER corpus SET STATISTICS 0;
ALTER TABLE all_{name} ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON all_{name} USING ({own}) WITH CHECK ({own});
CREATE VIEW {name} WITH (security_invoker = true) AS {shown};
"""


def _split(columns: str) -> list[str]:
    return [each.strip() for each in columns.split(",")]


def roles(schema: str, corpus: str, role: str, *, readers: str | None = None) -> str:
    """SQL for an administrator: a role that owns nothing and may use one corpus, another that may only ask it.

    >>> print(roles("brimful", "notes", "notes_team").splitlines()[0])
    CREATE ROLE "notes_team" NOLOGIN;
    """
    place, who = _quoted(schema), _quoted(role)
    tables = ", ".join(f"{place}.{each}" for name in COLUMNS for each in (name, f"all_{name}"))
    lines = [
        f"CREATE ROLE {who} NOLOGIN;",
        f"GRANT USAGE ON SCHEMA {place} TO {who};",
        f"GRANT SELECT ON {place}.versions, {place}.corpora TO {who};",
        f"GRANT UPDATE (turn) ON {place}.corpora TO {who};",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO {who};",
    ]
    if readers is not None:
        asking = _quoted(readers)
        lines += [
            f"CREATE ROLE {asking} NOLOGIN;",
            f"GRANT USAGE ON SCHEMA {place} TO {asking};",
            f"GRANT SELECT ON {place}.versions, {place}.corpora, {tables} TO {asking};",
        ]
    values = ", ".join(_literal(each) if each is not None else "NULL" for each in (corpus, role, readers))
    lines += [
        f"INSERT INTO {place}.corpora (name, role, readers) VALUES ({values})",  # noqa: S608
        "    ON CONFLICT (name) DO UPDATE SET role = excluded.role, readers = excluded.readers;",
        f"-- Then, for each person or program: GRANT {who} TO somebody;",
        "-- Writers need TEMPORARY on the database, which everybody has unless it was revoked.",
    ]
    return "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    """A string of the standard: backslashes mean themselves."""
    return "'" + text.replace("'", "''") + "'"
