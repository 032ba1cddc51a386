"""The compiled loops: C through ctypes, arrays in, arrays out.

Everything that goes over each byte or each position is here; what decides is in Python. A kernel gets memory that its
caller owns and whose sizes are checked in this module, and keeps nothing. The library is built from the C files beside
this one (`building`); where it is missing or was built from other source, an error says what to do: nothing runs slowly
in its place. The interpreter's lock is free while a kernel runs.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brimful.errors import KernelsError
from brimful.kernels import building

Numbers = NDArray[np.int64]

_REMEDY = "install brimful again (pip install --force-reinstall --no-cache-dir brimful)"
_AT, _SIZE = ctypes.c_void_p, ctypes.c_int64
_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "packed_size": (_SIZE, (_AT, _SIZE)),
    "pack_numbers": (None, (_AT, _SIZE, _AT)),
    "pack_columns": (_SIZE, (_AT, _AT, _SIZE, _AT, _AT)),
    "packed_count": (_SIZE, (_AT, _SIZE)),
    "unpack_numbers": (None, (_AT, _SIZE, _SIZE, _AT)),
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


def _numbers(values: NDArray[Any]) -> Numbers:
    """As the kernels read numbers: of eight bytes, one after the other."""
    return np.ascontiguousarray(values, np.int64)


def pack_numbers(values: NDArray[Any]) -> bytes:
    """Numbers as varints: seven bits a byte, low bits first. None of them is negative."""
    values = _numbers(values)
    packed = np.empty(library().packed_size(values.ctypes.data, len(values)), np.uint8)
    library().pack_numbers(values.ctypes.data, len(values), packed.ctypes.data)
    return packed.tobytes()


def pack_columns(columns: NDArray[Any], offsets: NDArray[Any]) -> tuple[bytes, Numbers]:
    """Ascending columns one after the other, each as its differences; and where each ends in bytes, after a 0.

    Column i is `columns[offsets[i]:offsets[i + 1]]`.
    """
    columns, offsets = _numbers(columns), _numbers(offsets)
    if len(offsets) and (offsets[0] < 0 or offsets[-1] > len(columns) or (np.diff(offsets) < 0).any()):
        raise ValueError("the offsets of columns must ascend and lie inside of them")
    ends = np.zeros(max(len(offsets), 1), np.int64)
    given = (columns.ctypes.data, offsets.ctypes.data, len(ends) - 1, ends.ctypes.data + 8)
    packed = np.empty(library().pack_columns(*given, None), np.uint8)
    if len(packed):
        library().pack_columns(*given, packed.ctypes.data)
    return packed.tobytes(), ends


def unpack_numbers(packed: bytes | memoryview, *, sums: bool = False) -> Numbers:
    """The numbers that were packed; with `sums` each with all before it added."""
    codes = np.frombuffer(packed, np.uint8)
    at = codes.ctypes.data
    values = np.empty(library().packed_count(at, len(codes)), np.int64)
    library().unpack_numbers(at, len(codes), sums, values.ctypes.data)
    return values
