"""Where are a vocabulary's tokens, without loading its tokenizer?

The tokenizer takes two tenths of a second until its first count, which is longer than a question. So the tokens of the
vocabularies that most questions are counted by are written into a file once, as the kernel that counts them reads them:
the next process maps it. What the kernel can't tell (a character that Unicode has changed its mind about, a piece of
hundreds of bytes) the tokenizer counts as before, and it counts everything where no file can be written.

A file is believed if its hash is right, which is noted with its size and times, so that the next process need not read
six megabytes to know (`digest_of`). It is named by what it was made of: the tokenizer's version, Python's Unicode.
So are those with what Unicode says of characters, which takes longer to find out than a question does.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import sys
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import platformdirs
from blake3 import blake3

from brimful.native.tokens import PAGE_CODES, TokenTable, index_tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from splintr import AnyTokenizer

CASED = {"o200k_base": True, "cl100k_base": False}
"""The vocabularies that have a table, and whether their pattern tells upper case from lower."""

VARIABLE = "BRIMFUL_TABLES"
"""Names the folder of the tables; where it is empty, none is read or written."""

_MAGIC = b"BTT1"
_HEAD = struct.Struct("<4s4x32s")  # the magic, the hash of all after the header; then the bytes of each part
_TYPES = ("<u8", "<i4", "<u2", "u1", "u1")
_UPPER, _LOWER, _LETTER, _MARK, _NUMBER, _SPACE, _BREAK, _SIGN = range(1, 9)  # as the kernel names them; 0 is unknown
_LETTERS = {"Lu": _UPPER, "Lt": _UPPER, "Ll": _LOWER, "Lm": _LETTER, "Lo": _LETTER, "Cn": 0}
_OTHERS = {"M": _MARK, "N": _NUMBER}
_SPACES = "\t\v\f \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))

_SURE_NANOSECONDS = 2 * 10**9  # longest tick of the clocks that stamp files
_MOST_NOTED = 1_024  # bytes of a note

_ASSIGNED = ((0, 0x34000), (0xE0000, 0xE0200))  # where Unicode has characters; nothing is known of private planes


def folder() -> Path | None:
    """The folder of the tables; None where the environment disables them."""
    chosen = os.environ.get(VARIABLE)
    if chosen is not None:
        return Path(chosen) if chosen else None
    return platformdirs.user_cache_path("brimful", appauthor=False) / "tables"


def path_of(vocabulary: str, version: str) -> Path | None:
    """The path of a vocabulary's table for this version of the tokenizer."""
    place = folder()
    return None if place is None else place / f"{vocabulary}-{version}-{unicodedata.unidata_version}.table"


def read(path: Path, *, is_cased: bool) -> TokenTable | None:
    """The table in a file; None where there is none, or not a whole one."""
    try:
        slots, offsets, pages, kinds, tokens = read_arrays(path, _TYPES, magic=_MAGIC)
        return TokenTable(tokens.data, offsets, slots, pages, kinds, is_cased=is_cased)
    except (OSError, ValueError, struct.error):
        return None


def read_arrays(path: Path, kinds: Sequence[str], *, magic: bytes) -> list[NDArray[Any]]:
    """Arrays of these types, in memory that is the file's; a ValueError or struct.error where it is not whole."""
    with path.open("rb") as file:
        mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    file_magic, noted = _HEAD.unpack_from(mapped)
    sizes = struct.unpack_from(f"<{len(kinds)}q", mapped, _HEAD.size)
    ends = np.cumsum([_HEAD.size + 8 * len(kinds), *sizes]).tolist()
    if file_magic != magic or min(sizes) < 0 or ends[-1] != len(mapped) or digest_of(path, start=ends[0]) != noted:
        raise ValueError(f"{path} is not a whole table")
    return [
        np.frombuffer(mapped[start:end], kind).astype(np.dtype(kind).newbyteorder("="), copy=False)
        for (start, end), kind in zip(pairwise(ends), kinds, strict=True)
    ]


def digest_of(path: Path, *, start: int = 0) -> bytes:
    """The BLAKE3 hash of a file, or of what it has from a byte on.

    A note among the tables keeps the hash with the file's size, times and inode. It is valid if it was written some
    seconds after the file: any later change of the file changes its times.
    """
    place, stat = folder(), path.stat()
    if place is None:
        return _hashed(path, start)
    last = max(stat.st_mtime_ns, stat.st_ctime_ns)
    identity = f"{stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns} {stat.st_dev} {stat.st_ino} {start}"
    note = place / f"{path.name}-{blake3(os.fsencode(path)).hexdigest(4)}.seen"
    with contextlib.suppress(OSError, ValueError), note.open("rb") as file:
        noted_identity, digest, seal = file.read(_MOST_NOTED).decode().rsplit(" ", 2)
        is_sure = os.fstat(file.fileno()).st_mtime_ns > last + _SURE_NANOSECONDS
        if is_sure and noted_identity == identity and seal == _seal(f"{noted_identity} {digest}"):
            return bytes.fromhex(digest)
    fresh_digest = _hashed(path, start)
    written = f"{identity} {fresh_digest.hex()}"
    _replace(note, f"{written} {_seal(written)}".encode())
    return fresh_digest


def _seal(noted: str) -> str:
    return blake3(noted.encode()).hexdigest(8)


def _hashed(path: Path, start: int) -> bytes:
    with path.open("rb") as file:
        is_empty = not file.seek(0, os.SEEK_END)  # which can't be mapped
        mapped = b"" if is_empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return blake3(memoryview(mapped)[start:]).digest()


def write(path: Path, tokenizer: AnyTokenizer) -> None:
    """Write the table of a tokenizer's ordinary tokens; left undone where there is no room for it."""
    tokens = _tokens(tokenizer)
    offsets = np.cumsum([0, *map(len, tokens)]).astype(np.int32)
    joined = b"".join(tokens)
    pages, kinds = _kinds_of_characters()
    arrays = (index_tokens(joined, offsets), offsets, pages, kinds, np.frombuffer(joined, np.uint8))
    write_arrays(path, arrays, _TYPES, magic=_MAGIC)


def write_arrays(path: Path, arrays: Sequence[NDArray[Any]], kinds: Sequence[str], *, magic: bytes) -> None:
    """Write what `read_arrays` reads; left undone where there is no room for it."""
    parts = [array.astype(kind).tobytes() for array, kind in zip(arrays, kinds, strict=True)]
    body = b"".join(parts)
    header = _HEAD.pack(magic, blake3(body).digest()) + struct.pack(f"<{len(parts)}q", *map(len, parts))
    _replace(path, header + body)


def _replace(path: Path, content: bytes) -> None:
    """Replace a file atomically, also under concurrent writers; an OSError is ignored."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            fresh.write_bytes(content)
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)


def _tokens(tokenizer: AnyTokenizer) -> list[bytes]:
    """The ordinary tokens, by number; special tokens follow after a gap."""
    tokens: list[bytes] = []
    with contextlib.suppress(ValueError):
        while True:
            tokens.append(tokenizer.decode_token_bytes(len(tokens)))
    return tokens


def _kinds_of_characters() -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """The kinds of all code points in pages of 128: the page of each block, and the distinct pages."""
    kinds = np.zeros(sys.maxunicode + 1, np.uint8)
    for first, last in _ASSIGNED:
        kinds[first:last] = np.fromiter(map(_kind, map(chr, range(first, last))), np.uint8, last - first)
    pages, numbers = np.unique(kinds.reshape(-1, PAGE_CODES), axis=0, return_inverse=True)
    return numbers.reshape(-1).astype(np.uint16), pages.reshape(-1)


def _kind(character: str) -> int:
    """The kind of a character if Unicode 3.2 and the current version agree on it; else 0.

    >>> [_kind(each) for each in "aA1 \\n.\u0300\u4e00"] == [2, 1, 5, 6, 7, 8, 4, 3], _kind("\U000e0fff")
    (True, 0)
    """
    if character in _SPACES:
        return _SPACE
    if character in "\r\n":
        return _BREAK
    category_3_2, now = unicodedata.ucd_3_2_0.category(character), unicodedata.category(character)
    kind = _kind_of(now)
    return kind if category_3_2 == "Cn" or _kind_of(category_3_2) == kind else 0


def _kind_of(category: str) -> int:
    return _LETTERS.get(category, _OTHERS.get(category[0], _SIGN))
