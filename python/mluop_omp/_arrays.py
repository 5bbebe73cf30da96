"""What an operator requires of the arrays that it is called with, and the implementation for NumPy.

Each operator is written once, in mluop_omp._operators, for arrays of any library that provides an
`Arrays`.
"""

from __future__ import annotations

import ctypes
import functools
import operator
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from mluop_omp import _library
from mluop_omp._library import bad_param, functions, not_supported, require

# Layouts and element types of mlu_op.h.
NCHW, NDHWC, ARRAY = 0, 3, 4
LAYOUTS = {"NCHW": 0, "NHWC": 1, "HWCN": 2, "NDHWC": 3, "ARRAY": 4, "NCDHW": 5}
DTYPES = {
    "float16": 1,
    "float32": 2,
    "int8": 3,
    "int16": 4,
    "int32": 6,
    "uint8": 7,
    "bool": 8,
    "int64": 9,
    "uint32": 11,
    "uint64": 12,
    "uint16": 13,
    "float64": 14,
    "complex64": 16,
    "bfloat16": 17,
}
_MAX_DIMENSIONS = 8
# Elements of an array that is not worth a copy to free memory.
SMALL = 1024


class Descriptor(ctypes.c_void_p):
    """A tensor descriptor. It is never modified, so calls of all threads may share it."""

    def __del__(self) -> None:
        if self:
            functions.mluOpDestroyTensorDescriptor(self)


@functools.lru_cache(maxsize=4096)
def describe(layout: int, dtype: int, shape: tuple[int, ...]) -> Descriptor:
    """Returns the descriptor of a contiguous tensor."""
    if not 1 <= len(shape) <= _MAX_DIMENSIONS:
        raise bad_param(f"a tensor has {len(shape)} dimensions, expected 1 to {_MAX_DIMENSIONS}")
    descriptor = Descriptor()
    require(functions.mluOpCreateTensorDescriptor(ctypes.byref(descriptor)))
    sizes = (ctypes.c_int64 * len(shape))(*shape)
    require(functions.mluOpSetTensorDescriptor_v2(descriptor, layout, dtype, len(shape), sizes))
    return descriptor


class Arrays(ABC):
    """The arrays of a library. `array` in the methods below is one of them."""

    @abstractmethod
    def tensor(self, name: str, array: Any, layout: int = ARRAY) -> tuple[Descriptor, int]:
        """Returns descriptor and address. The caller keeps the array alive during the call.

        Raises MluOpError if the array is not contiguous memory of the host.
        """

    @abstractmethod
    def own(self, array: Any, layout: int = ARRAY) -> tuple[Descriptor, int]:
        """Returns the same of an array that this object has created, without checks."""

    @abstractmethod
    def empty(self, shape: Sequence[int], like: Any) -> Any:
        """Returns an uninitialized array of the element type of `like`."""

    @abstractmethod
    def indices(self, shape: Sequence[int], value: int | None = None) -> Any:
        """Returns an int32 array, filled with the value if there is one."""

    @abstractmethod
    def copy(self, array: Any) -> Any:
        """Returns a copy."""

    @abstractmethod
    def counts(self, array: Any) -> Any:
        """Returns the integers of an array as a contiguous array of int64."""

    def shape(self, name: str, array: Any, dimensions: str) -> tuple[int, ...]:
        """Returns the shape, of as many dimensions as a text such as "B N 3" names."""
        try:
            shape = array.shape
        except AttributeError:
            raise TypeError(
                f"{name} is of type {type(array).__name__}, expected an array"
            ) from None
        expected = dimensions.count(" ") + 1
        if len(shape) != expected:
            raise bad_param(
                f"{name} has {len(shape)} dimensions, "
                f"expected {expected}: [{dimensions.replace(' ', ', ')}]"
            )
        return shape

    @abstractmethod
    def first_rows(self, array: Any, count: int) -> Any:
        """Returns the first rows of an array that has no other use: a copy if that frees memory."""


def address(array: np.ndarray) -> int:
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        # Read-only, or empty. The general way takes four times as long.
        return array.ctypes.data


class NumpyArrays(Arrays):
    _dtypes = {np.dtype(name): code for name, code in DTYPES.items() if name != "bfloat16"}
    _int32 = np.dtype(np.int32)

    def tensor(self, name: str, array: np.ndarray, layout: int = ARRAY) -> tuple[Descriptor, int]:
        if not isinstance(array, np.ndarray):
            raise TypeError(f"{name} is of type {type(array).__name__}, expected numpy.ndarray")
        dtype = self._dtypes.get(array.dtype)
        if dtype is None:
            raise bad_param(
                f"{name} has dtype {array.dtype}, expected {', '.join(map(str, self._dtypes))}"
            )
        flags = array.flags
        if not (flags.c_contiguous and flags.aligned):
            raise not_supported(
                f"{name} is not contiguous or not aligned; numpy.ascontiguousarray({name}) is"
            )
        return describe(layout, dtype, array.shape), address(array)

    def own(self, array: np.ndarray, layout: int = ARRAY) -> tuple[Descriptor, int]:
        return describe(layout, self._dtypes[array.dtype], array.shape), address(array)

    def empty(self, shape: Sequence[int], like: np.ndarray) -> np.ndarray:
        return np.empty(shape, like.dtype)

    def indices(self, shape: Sequence[int], value: int | None = None) -> np.ndarray:
        array = np.empty(shape, self._int32)
        if value is not None:
            array.fill(value)
        return array

    def copy(self, array: np.ndarray) -> np.ndarray:
        return array.copy()

    def first_rows(self, array: np.ndarray, count: int) -> np.ndarray:
        rows = array[:count]
        return rows.copy() if 2 * count < len(array) and array.size > SMALL else rows

    def counts(self, array: np.ndarray) -> np.ndarray:
        counts = np.asarray(array)
        if counts.dtype.kind not in "iu":
            raise bad_param(f"indice_num has dtype {counts.dtype}, expected integers")
        return np.ascontiguousarray(counts, np.int64)


NUMPY = NumpyArrays()


def number(value: ctypes.c_int32) -> tuple[Descriptor, Any]:
    """Returns descriptor and pointer of one number, which costs less than an array."""
    return describe(ARRAY, DTYPES["int32"], (1,)), ctypes.byref(value)


@functools.lru_cache(maxsize=256)
def _floats(values: tuple[float, ...]) -> tuple[Descriptor, Any]:
    array = (ctypes.c_float * len(values))(*values)
    return describe(ARRAY, DTYPES["float32"], (len(values),)), array


def floats(name: str, values: Any) -> tuple[Descriptor, Any]:
    """Returns descriptor and pointer of numbers, as float32, which are not to be modified."""
    try:
        return _floats(tuple(values.tolist() if hasattr(values, "tolist") else values))
    except TypeError:
        raise TypeError(f"{name} is {values!r}, expected numbers") from None


def int32(name: str, value: Any) -> int:
    """Returns an integer that a C int can hold."""
    try:
        integer = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is of type {type(value).__name__}, expected an integer") from None
    if not -(2**31) <= integer < 2**31:
        raise bad_param(f"{name} is {integer}, expected a 32-bit integer")
    return integer


def integers(name: str, values: Any) -> tuple[int, ...]:
    try:
        return tuple(map(operator.index, values))
    except TypeError:
        raise TypeError(f"{name} is {values!r}, expected integers") from None


def int32s(name: str, values: Any, count: int) -> tuple[int, ...]:
    """Returns integers that a C int can hold, one for each axis."""
    found = integers(name, values)
    if len(found) != count:
        raise bad_param(f"{name} has {len(found)} elements, expected {count}")
    if not -(2**31) <= min(found) <= max(found) < 2**31:
        raise bad_param(f"{name} is {list(found)}, expected 32-bit integers")
    return found


def extent(size: int) -> int:
    """Returns the extent to allocate for a size that the library has yet to check."""
    return max(size, 0)


handle = _library.handle
invoke = _library.invoke
