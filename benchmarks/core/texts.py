"""Which texts are measured, and where are the hits?

Real files that every machine with this environment has: the standard library's sources, and the README,
documentation and licence files of the installed packages. Data is generated, since few packages ship any.
Everything is chosen by seed or by hash, so two runs on one environment see the same bytes.
"""

import csv
import hashlib
import io
import json
import random
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from importlib.metadata import distributions
from pathlib import Path

SEED = 20_250
CODE_BYTES = 8_000_000
DATA_BYTES = 2_000_000
SMALLEST = 1_000
PROSE_SUFFIXES = {".md", ".rst", ".txt"}
NOT_MODULES = {"site-packages", "dist-packages", "test", "tests", "idlelib", "ensurepip", "lib2to3"}
NOT_LOCKED = {"brimful", "pip"}
"""Packages whose README changes although the lock does not."""
WORD_LISTS = ("punkt_tab", "abbreviations", "tlds-", "entry_points", "leap-seconds", "top_level")
WORDS = ("ask", "basket", "cart", "delivery", "error", "fetch", "gate", "harbour", "index", "job", "ledger", "node")


@dataclass(frozen=True)
class Text:
    """One file: a name without any machine's path, its kind, its bytes."""

    path: str
    kind: str
    content: bytes

    @cached_property
    def string(self) -> str:
        return self.content.decode()

    def characters(self, byte: int) -> int:
        """The character offset of a byte offset: peers count in characters."""
        return byte if len(self.string) == len(self.content) else len(self.content[:byte].decode())


@dataclass(frozen=True)
class Place:
    """Where a retriever found something."""

    text: Text
    start: int
    end: int
    score: float


@dataclass(frozen=True)
class Piece:
    """A candidate for packing: whole lines of a text, about 400 bytes."""

    text: Text
    start: int
    end: int
    score: float

    @cached_property
    def string(self) -> str:
        return self.text.content[self.start : self.end].decode()


def corpus() -> list[Text]:
    """All texts, by path."""
    return sorted([*_code(), *_prose(), *_data()], key=lambda text: text.path)


def hits_in(texts: Sequence[Text], count: int, *, seed: int = SEED) -> list[Place]:
    """`count` places of 40 to 120 bytes, every byte as likely as any other, with scores in 0..1."""
    rng = random.Random(seed + count)
    places = []
    for text in rng.choices(texts, [len(text.content) for text in texts], k=count):
        start = _code_point(text.content, rng.randrange(max(len(text.content) - 120, 1)))
        end = _code_point(text.content, min(start + rng.randrange(40, 121), len(text.content)))
        places.append(Place(text, start, max(end, start), round(rng.random(), 6)))
    return places


def pieces_of(texts: Iterable[Text], count: int, *, about: int = 400, seed: int = SEED) -> list[Piece]:
    """`count` different pieces of about `about` bytes, none overlapping, drawn by seed from all texts."""
    spans = [(text, *span) for text in texts for span in _line_spans(text.content, about)]
    if len(spans) < count:
        raise SystemExit(f"only {len(spans)} pieces of {about} bytes in this environment's texts, {count} wanted")
    rng = random.Random(seed)
    return [Piece(*span, round(rng.random(), 6)) for span in rng.sample(spans, count)]


def _line_spans(content: bytes, about: int) -> list[tuple[int, int]]:
    spans, start = [], 0
    while start < len(content):
        end = content.find(b"\n", start + about - 40) + 1 or len(content)
        if content[start:end].strip():
            spans.append((start, end))
        start = end
    return spans


def _code_point(content: bytes, byte: int) -> int:
    while 0 < byte < len(content) and content[byte] & 0xC0 == 0x80:
        byte -= 1
    return byte


def _utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in content


def _code() -> list[Text]:
    """Modules of the standard library, in the order of their paths' hashes, until there is enough."""
    root = Path(sysconfig.get_paths()["stdlib"])
    names = [path.relative_to(root) for path in root.rglob("*.py")]
    names = [name for name in names if not NOT_MODULES & set(name.parts)]
    names.sort(key=lambda name: hashlib.sha256(name.as_posix().encode()).digest())
    texts: list[Text] = []
    size = 0
    for name in names:
        content = (root / name).read_bytes()
        if size >= CODE_BYTES:
            break
        if len(content) >= SMALLEST and _utf8(content):
            texts.append(Text(f"lib/{name.as_posix()}", "code", content))
            size += len(content)
    return texts


def _prose() -> list[Text]:
    """README, documentation and licence files of the installed packages, each content once.

    Most packages carry their README only inside their metadata, below the header fields.
    """
    root = Path(sysconfig.get_paths()["purelib"])
    found = {}
    for path in sorted(root.rglob("*")):
        if path.relative_to(root).parts[0].partition("-")[0] in NOT_LOCKED:
            continue
        if path.suffix in PROSE_SUFFIXES and path.is_file() and not any(word in path.as_posix() for word in WORD_LISTS):
            found[path.relative_to(root).as_posix()] = path.read_bytes()
    for package in distributions():
        if package.name in NOT_LOCKED:
            continue
        body = (package.read_text("METADATA") or "").partition("\n\n")[2]
        found[f"{package.name}/README.md"] = body.encode()
    texts, seen = [], set()
    for name, content in sorted(found.items()):
        digest = hashlib.sha256(content).digest()
        if len(content) >= SMALLEST and digest not in seen and _utf8(content):
            seen.add(digest)
            texts.append(Text(name, "prose", content))
    return texts


def _data() -> list[Text]:
    """Logs, tables and JSON records of an invented shop, in files of 20 to 200 thousand bytes."""
    rng = random.Random(SEED)
    texts: list[Text] = []
    size = 0
    while size < DATA_BYTES:
        number = len(texts)
        name, make = (("log", _log), ("csv", _table), ("jsonl", _records))[number % 3]
        content = make(rng, rng.randrange(300, 2_000)).encode()
        texts.append(Text(f"data/{number:03}.{name}", "data", content))
        size += len(content)
    return texts


def _sentence(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randrange(4, 10)))


def _times(rng: random.Random, rows: int) -> Iterable[datetime]:
    time = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(seconds=rng.randrange(10**6))
    for _ in range(rows):
        time += timedelta(seconds=rng.randrange(90))
        yield time


def _log(rng: random.Random, rows: int) -> str:
    levels = ("DEBUG", "INFO", "INFO", "INFO", "WARNING", "ERROR")
    return "".join(
        f"{time:%Y-%m-%dT%H:%M:%SZ} {rng.choice(levels)} {rng.choice(WORDS)}[{rng.randrange(9999)}]: {_sentence(rng)}\n"
        for time in _times(rng, rows)
    )


def _table(rng: random.Random, rows: int) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["time", "category", "customer", "amount", "note"])
    for time in _times(rng, rows):
        category = rng.choice(("order", "return", "payment"))
        writer.writerow(
            [
                f"{time:%Y-%m-%d %H:%M:%S}",
                category,
                rng.randrange(10**5),
                rng.randrange(10**4) / 100,
                _sentence(rng),
            ]
        )
    return out.getvalue()


def _records(rng: random.Random, rows: int) -> str:
    return "".join(
        json.dumps(
            {
                "time": f"{time:%Y-%m-%dT%H:%M:%SZ}",
                "type": rng.choice(WORDS),
                "id": rng.randrange(10**6),
                "message": _sentence(rng),
            }
        )
        + "\n"
        for time in _times(rng, rows)
    )
