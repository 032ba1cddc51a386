"""The compiled loops: C through ctypes, arrays in, arrays out.

Everything that goes over each byte or each position is here; what decides is in Python. A kernel gets memory that its
caller owns and keeps nothing; sizes are checked by the modules here, each for the C files that it names. The library is
built from those files (`building`); where it is missing or was built from other source, an error says what to do:
nothing runs slowly in its place. The interpreter's lock is free while a kernel runs.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brimful.errors import KernelsError
from brimful.native import building

Numbers = NDArray[np.int64]
Places = NDArray[np.int32]
Reals = NDArray[np.float64]

MOST_BYTES = (1 << 31) - 1
_REMEDY = "install brimful again (pip install --force-reinstall --no-cache-dir brimful)"
_AT, _SIZE, _WORD, _BYTE = ctypes.c_void_p, ctypes.c_int64, ctypes.c_uint64, ctypes.c_uint8
_REAL = ctypes.c_double
_FIRST_BYTE = ctypes.c_char.from_buffer
_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "packed_size": (_SIZE, (_AT, _SIZE)),
    "pack_numbers": (None, (_AT, _SIZE, _AT)),
    "pack_columns": (_SIZE, (_AT, _AT, _SIZE, _AT, _AT)),
    "pack_places": (_SIZE, (_AT, _AT, _SIZE, _AT, _AT)),
    "packed_count": (_SIZE, (_AT, _SIZE)),
    "unpack_numbers": (None, (_AT, _SIZE, _SIZE, _AT)),
    "leave_out": (_SIZE, (_AT, _AT, _SIZE, _AT, _AT, _SIZE, _AT, _AT)),
    "unite_columns": (_SIZE, (_AT, _AT, _SIZE, _SIZE, *(_AT,) * 5)),
    "find_clumps": (_SIZE, (_AT, _SIZE, _AT, _WORD, _AT, _SIZE, *(_AT,) * 5)),
    "number_strings": (_SIZE, (_AT, _AT, _AT, _SIZE, _WORD, _AT, _SIZE, *(_AT,) * 3)),
    "find_terms": (_SIZE, (_AT, _AT, _SIZE, _SIZE, _AT, _AT)),
    "sort_strings": (None, (_AT, _AT, _AT, _SIZE, _AT, _AT)),
    "join_strings": (None, (_AT, _AT, _AT, _AT, _SIZE, _BYTE, _AT, _AT)),
    "find_lines": (_SIZE, (_AT, _SIZE, _AT, _SIZE, _SIZE, *(_AT,) * 5)),
    "divide_cuts": (_SIZE, (_AT, _SIZE, _AT, _SIZE, _SIZE, _AT)),
    "find_definitions": (None, (_AT, _AT, _SIZE, _AT, _AT, _SIZE, _SIZE, _SIZE, _AT)),
    "find_sentences": (_SIZE, (_AT, _SIZE, _AT, _AT, _SIZE, _AT, _SIZE, _AT)),
    "count_until": (_SIZE, (_AT, _SIZE, _AT, _SIZE, _AT)),
    "gather_cuts": (_SIZE, (_AT, _SIZE, _AT, _SIZE, _SIZE, _AT)),
    "count_code": (_SIZE, (_AT, _SIZE, _AT, _SIZE, _AT)),
    "count_speech": (None, (_AT, _SIZE, _AT)),
    "find_newlines": (_SIZE, (_AT, _SIZE, _SIZE, _AT)),
    "count_newlines": (_SIZE, (_AT, _SIZE)),
    "count_filled": (None, (_AT, _SIZE, _SIZE, _AT)),
    "place_filled": (_SIZE, (_AT, _SIZE, _SIZE)),
    "has_speaker": (_SIZE, (_AT, _SIZE, _AT, _SIZE)),
    "find_json_signs": (_SIZE, (_AT, _SIZE, _SIZE, _AT, _AT)),
    "cut_stretches": (_SIZE, (_AT, _AT, _AT, *(_SIZE,) * 5, _AT)),
    "mask_source": (_SIZE, (_AT, _SIZE, *(_AT,) * 6)),
    "pair_brackets": (_SIZE, (_AT, _SIZE, _AT, _SIZE, *(_AT,) * 3)),
    "find_surplus": (_SIZE, (*(_AT,) * 5, _SIZE, _SIZE, *(_AT,) * 4)),
    "find_stops": (_SIZE, (_AT, _SIZE, _AT, _SIZE, _SIZE, _AT)),
    "find_indents": (_SIZE, (_AT, _SIZE, _SIZE, _AT, _AT)),
    "nest_definitions": (
        _SIZE,
        (_AT, _AT, _SIZE, *(_AT, _SIZE), *(_AT, _AT, _SIZE) * 2, _SIZE, *(_AT,) * 3, _SIZE, _AT),
    ),
    "find_blocks": (_SIZE, (_AT, _AT, _SIZE, _AT)),
    "nest_blocks": (_SIZE, (_AT, _SIZE)),
    "define_python": (_SIZE, (_AT, _SIZE, _AT, _AT, _AT, _SIZE, _AT, _AT, _AT)),
    "close_lines": (None, (_AT, _SIZE, _AT, _SIZE, _AT, _AT)),
    "read_marks": (_SIZE, (_AT, *(_SIZE,) * 3, _AT, _SIZE, _SIZE, *(_AT,) * 5)),
    "nest_titles": (None, (_AT, _SIZE, _SIZE)),
    "find_turns": (_SIZE, (_AT, _SIZE, _SIZE, _AT, _AT)),
    "find_alone": (_SIZE, (_AT, _AT, _AT, _SIZE, _AT, _SIZE, _AT, *(_SIZE,) * 3, *(_AT,) * 5)),
    "find_macros": (_SIZE, (_AT, _AT, _AT, *(_SIZE,) * 2, *(_AT,) * 3)),
    "place_units": (_SIZE, (_AT, _AT, _SIZE, _AT)),
    "units_between": (_SIZE, (_AT, _AT, _AT, _SIZE, _SIZE, _AT, _SIZE)),
    "add_to_rows": (_SIZE, (_AT, _AT, _SIZE, _AT, _AT, _AT, _SIZE, _AT, _AT, _SIZE)),
    "add_rows": (_SIZE, (_AT, _AT, _SIZE, _SIZE, _AT, _AT, _SIZE)),
    "count_documents": (_SIZE, (_AT, _AT, _SIZE, _AT, _SIZE, _AT, _AT)),
    "choose_units": (_SIZE, (_AT, _AT, _REAL, _AT, _AT, _AT, _AT, _SIZE, _AT, _AT)),
    "count_words": (None, (*(_AT,) * 5, _SIZE, _SIZE, *(_AT,) * 4)),
    "find_defining": (_SIZE, (*(_AT,) * 5, _SIZE, _AT, _SIZE)),
    "weigh_scales": (_SIZE, (_AT, _SIZE, *(_AT,) * 6)),
    "settle_units": (None, (_AT,) * 5),
    "order_field": (_SIZE, (_SIZE, *(_AT,) * 6, _AT, _AT)),
    "weigh_rows": (None, (_AT, _SIZE, _AT, _AT, _REAL, _AT, _AT)),
    "best_path": (_SIZE, ()),
    "pack_weights": (_SIZE, (_AT, _SIZE, _SIZE, _SIZE, _AT, _AT, _AT)),
    "room_for_tokens": (_SIZE, (_AT, _SIZE)),
    "read_tokens": (_SIZE, (_AT, _AT, _REAL, _AT, _SIZE, _AT, _AT)),
    "hash_runs": (_SIZE, (_AT, _SIZE, _AT, _SIZE, _AT, _AT)),
    "mark_alike": (None, (_AT, _AT, _AT, _SIZE, _REAL, _AT)),
    "most_alike": (_SIZE, (*(_AT,) * 3, _SIZE, _SIZE, _AT, _AT, _SIZE, _REAL, _AT)),
    "find_in_pages": (_SIZE, (_AT, _SIZE, _AT, _SIZE, _AT, _AT)),
    "find_all_in_pages": (_SIZE, (_AT, _SIZE, _AT, _AT, _SIZE, _AT, _AT)),
    "find_beginnings": (None, (_AT, _SIZE, _AT, _SIZE, _AT)),
    "near_names": (_SIZE, (_AT, _SIZE, _AT, _SIZE, _SIZE, _AT)),
    "unite_in_pages": (_SIZE, (*(_AT,) * 3, _SIZE, _AT, _AT, _SIZE, _SIZE, *(_AT,) * 4)),
    "unpack_in_pages": (_SIZE, (_AT, _SIZE, *(_AT,) * 3)),
    "sign_words": (None, (_AT, _AT, _AT, _SIZE, _AT, _AT, _AT)),
    "has_word": (_SIZE, (_AT, _SIZE, _SIZE, _AT)),
    "spelled_alike": (_SIZE, (*(_AT,) * 3, *(_SIZE,) * 2, _AT, *(_SIZE,) * 4, _AT, _SIZE, _SIZE, _AT)),
    "find_anchors": (None, (_AT, _SIZE, *(_AT,) * 4)),
    "mark_lines": (None, (_AT, _SIZE, *(_AT,) * 4, _BYTE, _AT)),
    "long_runs": (_SIZE, (_AT, _SIZE, _AT, _SIZE, _AT)),
    "is_utf8": (_SIZE, (_AT, _SIZE)),
    "count_terms": (_SIZE, (_AT, _SIZE, _AT, _SIZE, _AT, _AT, _SIZE, _SIZE, *(_AT,) * 3)),
    "place_terms": (None, (_AT, _AT, _SIZE, *(_AT,) * 5)),
    "add_twins": (_SIZE, (_AT, _AT, _SIZE, *(_AT,) * 5)),
    "place_name": (_SIZE, (_AT, _AT, _SIZE, _AT, _SIZE)),
    "find_names": (None, (_AT, _AT, _SIZE, _AT, _AT, _SIZE, _AT, _AT)),
    "find_rows": (None, (_AT, _SIZE, _AT, _SIZE, _SIZE, _AT, _AT)),
    "letter_lines": (_SIZE, (_AT, _SIZE, _SIZE, _AT)),
    "merge_names": (_SIZE, (_AT, _AT, _SIZE, *(_AT,) * 7)),
    "index_tokens": (_SIZE, (_AT, _AT, _SIZE, _AT, _SIZE)),
    "count_tokens": (_SIZE, (_AT, _SIZE, _SIZE, _AT, _AT, _SIZE, _SIZE, _AT, _SIZE, *(_AT,) * 3)),
    "count_each": (None, (_AT, _AT, _SIZE, _AT, _SIZE, _AT, _AT, _SIZE, _SIZE, _AT, _SIZE, *(_AT,) * 3)),
    "find_token": (_SIZE, (_AT, _SIZE, _AT, _AT, _SIZE, _SIZE, _AT, _SIZE)),
}


@cache
def library() -> ctypes.CDLL:
    """The kernels, loaded once and known to be built from this source."""
    return opened(_found())


def _found() -> Path:
    """The library of an installed package, or of a checkout, where it is built when the source has changed."""
    shipped = building.shipped()
    if shipped.is_file() or not building.is_checkout():
        return shipped
    path = building.beside_source()
    if not path.is_file():
        try:
            building.build(path)
        except OSError as error:
            raise KernelsError(f"{error}") from error
        building.remove_older(path)
    return path


def opened(path: Path) -> ctypes.CDLL:
    """A library with the types of its functions; an error where it can't be this source's."""
    try:
        found = ctypes.CDLL(str(path))
        found.brimful_source.restype = ctypes.c_char_p
        source = found.brimful_source().decode()
    except (OSError, AttributeError) as error:
        raise KernelsError(f"the compiled kernels can't be loaded ({error}); {_REMEDY}") from error
    if source != building.digest():
        raise KernelsError(f"{path} was built from other source ({source[:12]}) than this package has; {_REMEDY}")
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(found, name)
        function.restype, function.argtypes = result, arguments
    return found


def cores() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def numbers_of(values: NDArray[Any]) -> Numbers:
    """As the kernels read numbers: of eight bytes, one after the other."""
    return np.ascontiguousarray(values, np.int64)


def address_of(values: NDArray[Any]) -> int:
    """Where an array begins in memory: four times as fast as NumPy says it, which a question asks hundreds of times."""
    try:
        return ctypes.addressof(_FIRST_BYTE(values))  # type: ignore[arg-type]
    except (TypeError, ValueError):  # it is empty, or can't be written to
        return int(values.ctypes.data)


def addresses_of(*arrays: NDArray[Any]) -> list[int]:
    """The same of several arrays."""
    return [address_of(values) for values in arrays]


def address_in(content: bytes) -> int:
    """Where bytes, which nobody writes to, begin in memory."""
    return ctypes.c_void_p.from_buffer(ctypes.c_char_p(content)).value or 0


def places_of(values: NDArray[Any]) -> Places:
    """As the kernels read places in a text: of four bytes, one after the other."""
    return np.ascontiguousarray(values, np.int32)
