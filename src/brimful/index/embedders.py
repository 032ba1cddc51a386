"""Who turns words into vectors? Tables and models on this machine, or a server that is asked."""

from __future__ import annotations

import importlib
import importlib.util
import json
import mmap
import os
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from blake3 import blake3
from numpy.typing import ArrayLike, NDArray

from brimful.errors import EndpointError, InputError, MissingPartError, ScoreError, SettingError, install
from brimful.index.vectors import DIMENSIONS
from brimful.kernels import Places, in_halves
from brimful.kernels import codes as kernels
from brimful.kernels.tokens import WordTokens
from brimful.text import token_tables
from brimful.text.terms import Names, query_terms
from brimful.transport import Timeouts, base_address, exchange

if TYPE_CHECKING:
    from tokenizers import Tokenizer


# ---- endpoints: How is a server asked for vectors or scores?
#
# A key is read from the environment at each call, sent over https or to this machine only, and is in no error or repr.

_OK = 200
_ANSWER_BYTES = 256 << 20


class Endpoint:
    """One path of a server, to which JSON is posted: one request, no second try."""

    def __init__(self, base_url: str, path: str, *, key_variable: str, timeout_seconds: float) -> None:
        self.base = base_address(base_url)
        self._path, self._key_variable, self._timeout = path, key_variable, timeout_seconds

    def post(self, payload: object) -> Any:
        """The JSON that the server answers; whatever else it does is an EndpointError."""
        key = os.environ.get(self._key_variable)
        try:
            status, _, answer = exchange(
                self.base + self._path,
                payload,
                key_headers={"Authorization": f"Bearer {key}"} if key else {},
                key_variable=self._key_variable,
                timeouts=Timeouts(connect_seconds=self._timeout, idle_seconds=self._timeout),
                most_bytes=_ANSWER_BYTES,
            )
        except OSError as error:
            name = type(error).__name__
            raise EndpointError(f"{self.base} did not answer within {self._timeout} s: {name}") from error
        if len(answer) > _ANSWER_BYTES:
            raise EndpointError(f"{self.base} answered more than {_ANSWER_BYTES} bytes; ask with smaller batches")
        if status != _OK:
            raise EndpointError(f"{self.base} answered {status}{_reason(answer)}; look at its model name and key")
        try:
            return json.loads(answer)
        except (ValueError, RecursionError) as error:
            raise EndpointError(f"{self.base} answered with something else than JSON") from error


def _reason(answer: bytes) -> str:
    """The server's own word for an error: a plain name only, since a longer message may repeat the key."""
    try:
        word = json.loads(answer)["error"]["code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return f" ({word})" if isinstance(word, str) and re.fullmatch(r"[a-z_]{1,40}", word) else ""


# ---- embedders: Who turns words into vectors?
#
# A static table, a model on this machine, a server that speaks the embeddings protocol of OpenAI, or the user's own
# function. Each has a name that is kept with what it made, since vectors of two models can't be compared.
# Nothing is ever downloaded.

Kind = Literal["static", "model"]
Floats = NDArray[np.float32]
_Number = TypeVar("_Number", int, float)
Item = TypeVar("Item")

STATIC_NAME = "wordllama-l2-supercat-256"

_INSTALL = install("semantic")
_BLOCK_TERMS = 2_048
_MANY_TERMS = 1 << 13
_FINE = 256  # tokens are summed in 1/256, and kept in 1/8
_WORD = "\u2581"  # begins a token that begins a word
_MAGIC, _TYPES = b"BWT1", ("u1", "<i4", "<u8", "<u8", "<i4", "<i4")  # of a table of words and pairs
_BATCH = 64


class Embedder(Protocol):
    """Something that turns texts into vectors.

    A static one adds up the vectors of terms, so units follow from the postings; a model reads each text.
    """

    @property
    def name(self) -> str:
        """Which vectors these are: equal names promise comparable vectors."""

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""

    @property
    def kind(self) -> Kind:
        """Whether a text's vector is the sum of its terms' vectors."""

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row for each text."""


class _Identity(NamedTuple):
    """Whose vectors these are, and what computed them: what a receipt says of an embedder."""

    model: str
    runtime: str


def identity_of(embedder: Embedder) -> _Identity:
    """The name of an embedder, and its runtime with a version where it names one.

    >>> identity_of(wrap("lengths", lambda texts: [[len(text)] for text in texts], dimensions=1))
    _Identity(model='lengths', runtime='caller')
    """
    return _Identity(embedder.name, getattr(embedder, "runtime", "caller"))


def check_same_model(stored: str, asked: str) -> None:
    """Refuse to compare vectors of two models.

    >>> check_same_model("minilm", "minilm")
    >>> check_same_model("minilm", "potion")
    Traceback (most recent call last):
    brimful.errors.SettingError: the index holds vectors of 'minilm', not of 'potion'; ask with 'minilm', or ...
    """
    if stored != asked:
        raise SettingError(
            f"the index holds vectors of {stored!r}, not of {asked!r}; "
            f"ask with {stored!r}, or index again with {asked!r}"
        )


@cache
def _may_have_capital() -> NDArray[np.bool_]:
    """By its first byte in UTF-8, whether a character beyond ASCII may have a capital; no Chinese or Hangul one has."""
    leads = [(0xC2, 0xE0, 0x1F, 6), (0xE0, 0xF0, 0x0F, 12)]
    found = np.zeros(256, np.bool_)
    found[0xF0:] = True
    for first, last, mask, bits in leads:
        for lead in range(first, last):
            letters = "".join(map(chr, range((lead & mask) << bits, ((lead & mask) + 1) << bits)))
            found[lead] = letters.upper() != letters
    return found


class StaticEmbedder:
    """WordLlama's table of 32,000 tokens, read from the installed package, without running its code.

    A term's vector is the sum of its tokens' vectors, in whole eighths. The table knows capitals and our terms are
    folded, so a term that is a token only with a capital takes that one: `paris` is two tokens, `Paris` is one.
    """

    dimensions = DIMENSIONS
    kind: Kind = "static"
    runtime = "brimful"  # whole numbers: no version of anything else shows

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def __repr__(self) -> str:
        return "StaticEmbedder()"

    @property
    def name(self) -> str:
        """Made from the table's own bytes: another table has another name."""
        return self._loaded[1]

    def embed(self, texts: Sequence[str]) -> Floats:
        """The sum over the distinct terms of each text."""
        rows = np.zeros((len(texts), DIMENSIONS), np.float32)
        for row, text in zip(rows, texts, strict=True):
            names = sorted({found.term for found in query_terms(text)})
            row[:] = self.vectors_of(names).sum(axis=0, dtype=np.int64)
        return rows

    def vectors_of(self, names: Sequence[bytes], /) -> NDArray[np.int8]:
        """One row for each term."""
        known = Names.of(names)
        if len(names) > _BLOCK_TERMS:
            return np.concatenate([part.copy() for part in self.columns_of(known)], axis=1)
        # A question's: the whole table is not made ready for them.
        tokens, ends = self._tokens_of(known, 0, len(names))
        table = _whole(self._loaded[0][tokens])
        return kernels.sum_rows(table, np.arange(len(tokens), dtype=np.int32), ends, largest=_largest(table))

    def columns_of(self, names: Sequence[bytes], /) -> Iterator[NDArray[np.int8]]:
        """The same of a segment's terms, half of the numbers of each at a time."""
        tokens, ends = self._tokens_of_all(Names.of(names))
        starts = np.concatenate((np.zeros(1, np.int32), ends))
        rows = np.empty((len(names), kernels.PART), np.int8)
        for column in range(0, DIMENSIONS, kernels.PART):

            def fill(begin: int, end: int, column: int = column) -> None:
                first, last = starts[begin], starts[end]
                given = (self._fine, tokens[first:last], ends[begin:end] - first)
                kernels.sum_rows(*given, largest=self._most, column=column, out=rows[begin:end])

            in_halves(fill, len(names), least=_MANY_TERMS)
            yield rows

    def _tokens_of_all(self, names: Names) -> tuple[Places, Places]:
        """The tokens of very many terms, one after the other, and where those of each end."""
        _ = self._fine, self._most, self._pairs  # made once, not in two threads
        found: dict[int, tuple[Places, Places]] = {}

        def fill(begin: int, end: int) -> None:
            for first in range(begin, end, _BLOCK_TERMS):
                found[first] = self._tokens_of(names, first, min(first + _BLOCK_TERMS, end))

        in_halves(fill, len(names), least=_MANY_TERMS)
        blocks = [found[first] for first in sorted(found)]
        counts = [np.diff(ends, prepend=0) for _, ends in blocks]
        nothing = np.zeros(0, np.int32)
        ends = np.cumsum(np.concatenate([nothing, *counts]), dtype=np.int32)
        return np.concatenate([nothing, *(tokens for tokens, _ in blocks)]), ends

    def _tokens_of(self, names: Names, first: int, last: int) -> tuple[Places, Places]:
        """The tokens of some of the terms, one after the other, and where those of each end.

        The kernel looks which terms are tokens, but for words of which the capital is not ASCII's.
        """
        bounds = names.bounds[first : last + 1]
        text, starts = names.lines[bounds[0] : bounds[-1]], bounds[:-1] - bounds[0]
        known = np.full(len(starts), WordTokens.ASKED, np.int32)
        if not text.isascii():  # as the words of most questions are
            for at in np.flatnonzero(_may_have_capital()[np.frombuffer(text, np.uint8)[starts]]).tolist():
                known[at] = self._token(names[first + at].decode("utf-8", "replace"))
        return self._pairs.of(text, starts, np.diff(bounds) - 1, whole=known)

    @cached_property
    def _pairs(self) -> WordTokens:
        """Which tokens a word has: as the first process that needed it has written it down, or from the tokenizer."""
        place = token_tables.folder() if self._folder is None else None
        if place is None or not self._tokens.is_file():
            return self._read(read_part(self._tokens, remedy=_INSTALL))
        path = place / f"{STATIC_NAME}-{token_tables.digest_of(self._tokens)[:8].hex()}.table"
        try:
            return WordTokens.of_arrays(token_tables.read_arrays(path, _TYPES, magic=_MAGIC))
        except (OSError, ValueError, struct.error):
            found = self._read(read_part(self._tokens, remedy=_INSTALL))
            token_tables.write_arrays(path, found.arrays, _TYPES, magic=_MAGIC)
            return found

    def _read(self, content: bytes) -> WordTokens:
        """The words and pairs of a tokenizer, without making one."""
        try:
            file = json.loads(content)
            words = {**file["model"]["vocab"], **{each["content"]: each["id"] for each in file["added_tokens"]}}
            pairs = [each if isinstance(each, str) else " ".join(each) for each in file["model"]["merges"]]
            byte_tokens = np.array([words[f"<0x{byte:02X}>"] for byte in range(256)], np.int32)
            parts = [word.encode() for word in sorted(words, key=words.__getitem__)]
            if sorted(words.values()) != list(range(len(words))):
                raise ValueError("the numbers of tokens have gaps")
            return WordTokens(b"".join(parts), np.cumsum([0, *map(len, parts)]), "\n".join(pairs).encode(), byte_tokens)
        except (ValueError, KeyError, TypeError) as error:
            raise MissingPartError(f"{self._tokens} is not a tokenizer; {_INSTALL}") from error

    def _token(self, word: str) -> int:
        """The token that is this very word, or else the one that is it with a capital; -1 without either."""
        token = self._pairs.find((_WORD + word).encode())
        return self._pairs.find((_WORD + word[:1].upper() + word[1:]).encode()) if token < 0 else token

    @cached_property
    def _fine(self) -> NDArray[np.int16]:
        """The whole table, for whoever asks for many words; a question has a few."""
        table = self._loaded[0]
        fine = np.empty(table.shape, np.int16)
        for first in range(0, len(table), _BLOCK_TERMS):  # at once it would take eight times its size
            fine[first : first + _BLOCK_TERMS] = _whole(table[first : first + _BLOCK_TERMS])
        if isinstance(self._weights.obj, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            self._weights.obj.madvise(
                mmap.MADV_DONTNEED
            )  # sixteen megabytes that are now here twice; a question reads rows
        return fine

    @cached_property
    def _most(self) -> int:
        return _largest(self._fine)

    @cached_property
    def _place(self) -> Path:
        return self._folder or package_folder("wordllama", remedy=_INSTALL)

    @property
    def _tokens(self) -> Path:
        return self._place / "tokenizers" / "l2_supercat_tokenizer_config.json"

    @property
    def _table(self) -> Path:
        return self._place / "weights" / "l2_supercat_256.safetensors"

    @cached_property
    def _weights(self) -> memoryview:
        return mapped_part(self._table, remedy=_INSTALL)

    @cached_property
    def _loaded(self) -> tuple[NDArray[np.float16], str]:
        table = _tensor(self._weights, "embedding.weight")
        if table.ndim != 2 or table.shape[1] != DIMENSIONS:
            raise MissingPartError(f"the table in {self._place} has the shape {table.shape}; {_INSTALL}")
        is_ours = self._folder is None  # of the package, which changes with its files
        digest = token_tables.digest_of(self._table) if is_ours else blake3(self._weights).digest()
        return table, f"{STATIC_NAME}:{digest[:4].hex()}"


class EndpointEmbedder:
    """A server's `/embeddings`, as OpenAI, Ollama, vLLM, llama.cpp and others offer it.

    `base_url` ends in `/v1` as a rule. A key is read from the environment at each call, sent to that server
    only, and never shown. One request for each batch, no second try, no redirects. Without `dimensions`, the server is
    asked for one vector to learn them.
    """

    kind: Kind = "model"
    runtime = "endpoint"  # nobody can see from here what runs behind it

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        dimensions: int | None = None,
        key_variable: str = "OPENAI_API_KEY",
        timeout_seconds: float = 30.0,
        batch: int = _BATCH,
    ) -> None:
        self._endpoint = Endpoint(
            base_url,
            "/embeddings",
            key_variable=key_variable,
            timeout_seconds=positive(timeout_seconds, "timeout_seconds"),
        )
        self._model = model
        self._told = None if dimensions is None else positive(dimensions, "dimensions")
        self._batch = positive(batch, "batch")

    def __repr__(self) -> str:
        return f"EndpointEmbedder({self._endpoint.base!r}, {self._model!r}, dimensions={self._told})"

    @cached_property
    def dimensions(self) -> int:
        """As many as were told, or else as the server gives for a word."""
        return self._told or len(self._rows(["word"])[0])

    @property
    def name(self) -> str:
        """The server and its model."""
        return f"{self._endpoint.base}#{self._model}:{self.dimensions}"

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row for each text, in order."""
        found = [np.zeros((0, self.dimensions), np.float32)]
        for batch in _batches(texts, self._batch):
            rows = self._rows(batch)
            try:
                found.append(checked_rows(rows, len(batch), self.dimensions, who=self.name))
            except InputError as error:
                raise EndpointError(f"{error}; look at the server's model") from error
        return np.concatenate(found)

    def _rows(self, texts: Sequence[str]) -> Floats:
        """What the server answers, one row for each text."""
        base = self._endpoint.base
        answer = self._endpoint.post({"model": self._model, "input": list(texts)})
        try:
            entries = sorted(answer["data"], key=lambda entry: int(entry["index"]))
            places = [entry["index"] for entry in entries]
            rows = np.array([entry["embedding"] for entry in entries], np.float32)
        except (ValueError, KeyError, TypeError) as error:
            raise EndpointError(f"{base} answered with something else than embeddings") from error
        if places != list(range(len(texts))):
            raise EndpointError(f"{base} answered {len(places)} embeddings to {len(texts)} texts")
        if rows.ndim != 2:
            raise EndpointError(f"{base} answered with something else than embeddings")
        return rows


class _Wrapped:
    kind: Kind = "model"

    def __init__(self, name: str, function: Callable[[Sequence[str]], ArrayLike], dimensions: int) -> None:
        self.name, self.dimensions, self._function = name, dimensions, function

    def __repr__(self) -> str:
        return f"wrap({self.name!r}, dimensions={self.dimensions})"

    def embed(self, texts: Sequence[str]) -> Floats:
        rows = (
            np.asarray(self._function(list(texts)), np.float32) if texts else np.zeros((0, self.dimensions), np.float32)
        )
        return checked_rows(rows, len(texts), self.dimensions, who=self.name)


def wrap(name: str, function: Callable[[Sequence[str]], ArrayLike], *, dimensions: int) -> Embedder:
    """Your own function from texts to rows of numbers as an Embedder; the name is kept with what it makes.

    >>> lengths = wrap("lengths", lambda texts: [[len(text), 1] for text in texts], dimensions=2)
    >>> lengths.embed(["one", "three"]).tolist()
    [[3.0, 1.0], [5.0, 1.0]]
    """
    if not name:
        raise InputError("an embedder needs a name that tells its vectors from others")
    return _Wrapped(name, function, positive(dimensions, "dimensions"))


def checked_rows(rows: Floats, count: int, dimensions: int, *, who: str) -> Floats:
    """The rows, where they are as many and as long as they should be, and numbers."""
    if rows.shape != (count, dimensions):
        raise InputError(f"{who} gave vectors of the shape {rows.shape}, not {(count, dimensions)}")
    if not np.isfinite(rows).all():
        raise ScoreError(f"{who} gave NaN or infinity")
    return rows


def positive(value: _Number, what: str) -> _Number:
    """The value, where it is above zero."""
    if value <= 0:
        raise SettingError(f"{what} is {value!r}; it must be above zero")
    return value


def _batches(texts: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    return (texts[first : first + size] for first in range(0, len(texts), size))


def package_folder(package: str, *, remedy: str) -> Path:
    """Where a package is installed; none of its code is run."""
    found = importlib.util.find_spec(package)
    if found is None or not found.origin:
        raise MissingPartError(f"{package} is not installed; {remedy}")
    return Path(found.origin).parent


def library(package: str) -> Any:
    """A package of the user's, imported when it is first needed."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingPartError(f"{package} is not installed; {install(package=package.replace('_', '-'))}") from error


def version_of(distribution: str) -> str:
    """The version of an installed package."""
    from importlib import metadata  # reads mail headers: slow to import

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "of unknown version"


def opened(package: str, kind: str, model: str, **settings: object) -> Any:
    """A model of a library, from this machine alone."""
    made = getattr(library(package), kind)
    try:
        return made(model, **settings)
    except Exception as error:  # a library's errors are its own
        why = f"{package} can't open {model!r} from this machine ({type(error).__name__})"
        raise MissingPartError(f"{why}; bring it here once, or name its folder") from error


def read_part(path: Path, *, remedy: str) -> bytes:
    """A file that belongs to a model or a table."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise MissingPartError(f"{path} is missing; {remedy}") from error


def _whole(rows: NDArray[np.float16]) -> NDArray[np.int16]:
    """Vectors in whole 1/256; to the nearest."""
    return np.rint(rows.astype(np.float64) * _FINE).astype(np.int16)


def _largest(table: NDArray[np.int16]) -> int:
    return max(int(table.max(initial=0)), -int(table.min(initial=0)))


def mapped_part(path: Path, *, remedy: str) -> memoryview:
    """A file that belongs to a model or a table, in memory that is read as it is needed: a few rows of megabytes."""
    try:
        with path.open("rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise MissingPartError(f"{path} is missing; {remedy}") from error
    except ValueError as error:
        raise MissingPartError(f"{path} is empty; {remedy}") from error


def _tensor(raw: memoryview, name: str) -> NDArray[np.float16]:
    """A tensor of a safetensors file: eight bytes that say how long the JSON header is, the header, the numbers."""
    try:
        (size,) = struct.unpack_from("<Q", raw)
        entry: dict[str, Any] = json.loads(bytes(raw[8 : 8 + size]))[name]
        first, last = entry["data_offsets"]
        if entry["dtype"] != "F16":
            raise ValueError(entry["dtype"])
        return np.frombuffer(raw[8 + size + first : 8 + size + last], "<f2").reshape(entry["shape"])
    except (struct.error, ValueError, KeyError, TypeError) as error:
        raise MissingPartError(f"no table {name!r} of 16-bit floats in the file; {_INSTALL}") from error


def open_tokenizer(path: Path, *, remedy: str) -> Tokenizer:
    """The tokenizer of a file as the library of that name reads it, without the padding that the file presets."""
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingPartError(f"tokenizers is not installed; {remedy}") from error
    tokenizer = Tokenizer.from_str(read_part(path, remedy=remedy).decode())
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
