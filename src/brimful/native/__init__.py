"""The compiled loops: C through cffi, arrays in, arrays out.

Everything that goes over each byte or each position is here; what decides is in Python. A kernel gets memory that its
caller owns and keeps nothing; sizes are checked by the modules here, each for the C files that it names. `kernels.h`
declares all functions and structs: C includes it and cffi reads it. The library is built from those files (`building`);
where it is missing or was built from other source, an error says what to do: nothing runs slowly in its place. The
interpreter's lock is free while a kernel runs.
"""

from __future__ import annotations

import os
import runpy
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from brimful.errors import KernelsError
from brimful.native import building

Numbers = NDArray[np.int64]
Places = NDArray[np.int32]
Reals = NDArray[np.float64]
Column = NDArray[Any]
"""Numbers of any type."""
_Array: TypeAlias = NDArray[np.generic]

if TYPE_CHECKING:
    from cffi import FFI

    Pointer: TypeAlias = FFI.CData
    _Library: TypeAlias = FFI.Lib

MOST_BYTES = (1 << 31) - 1
_REMEDY = "install brimful again (pip install --force-reinstall --no-cache-dir brimful)"
_INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
_TYPES: dict[np.dtype[np.generic], str] = {
    **{np.dtype(name): f"{name}_t[]" for name in _INTEGERS},
    np.dtype(np.bool_): "uint8_t[]",
    np.dtype(np.float32): "float[]",
    np.dtype(np.float64): "double[]",
}


class _Kernels(NamedTuple):
    """The functions of the library, and the types that `kernels.h` declares."""

    functions: _Library
    types: FFI


@cache
def kernels() -> _Kernels:
    """The kernels, loaded once and known to be built from this source."""
    return opened(_library_path())


def library() -> _Library:
    """The functions of the kernels."""
    return kernels().functions


def _library_path() -> Path:
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


def opened(path: Path) -> _Kernels:
    """A library with the types of its functions; an error where it can't be this source's."""
    try:
        types = runpy.run_path(str(building.declarations_beside(path)))["ffi"]
        functions = types.dlopen(str(path))
        source = types.string(functions.brimful_source()).decode()
    except (OSError, AttributeError) as error:
        raise KernelsError(f"the compiled kernels can't be loaded ({error}); {_REMEDY}") from error
    if source != building.digest():
        raise KernelsError(f"{path} was built from other source ({source[:12]}) than this package has; {_REMEDY}")
    return _Kernels(functions, types)


def cores() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def numbers_of(values: _Array) -> Numbers:
    """An array as neighbouring numbers of eight bytes."""
    return np.ascontiguousarray(values, np.int64)


def places_of(values: _Array) -> Places:
    """An array as neighbouring numbers of four bytes: places in a text."""
    return np.ascontiguousarray(values, np.int32)


def pointer(values: _Array) -> Pointer:
    """An array as a kernel takes it, which stays in memory while the pointer does.

    An array that is not contiguous is refused here, one of another type than the kernel's by cffi at the call.

    >>> pointer(np.zeros(3, np.int32))[2]
    0
    """
    if not values.flags.aligned:
        raise ValueError("a kernel reads numbers that are aligned")
    types = kernels().types
    return types.from_buffer(_TYPES[values.dtype], values)


def check_numbers(values: _Array, *, below: int) -> None:
    """Refuse numbers that a kernel would take for places outside of `[0, below)`."""
    if values.size and not 0 <= int(values.min()) <= int(values.max()) < below:
        raise ValueError(f"a number must be from 0 to below {below}")


def pointers(*arrays: _Array) -> list[Pointer]:
    """Several arrays as a kernel takes them."""
    return [pointer(values) for values in arrays]
