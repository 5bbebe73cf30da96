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
    def empty(self, shape: Sequence[int], like: Any) -> Any:
        """Returns an uninitialized array of the element type of `like`."""

    @abstractmethod
    def indices(self, shape: Sequence[int], value: int | None = None) -> Any:
        """Returns an int32 array, filled with the value if there is one."""

    @abstractmethod
    def copy(self, array: Any) -> Any:
        """Returns a copy."""

    @abstractmethod
    def counts(self, array: Any) -> np.ndarray:
        """Returns the integers of an array as int64."""

    def shape(self, name: str, array: Any, dimensions: str) -> tuple[int, ...]:
        """Returns the shape, of as many dimensions as a text such as "B N 3" names."""
        try:
            shape = array.shape
        except AttributeError:
            raise TypeError(
                f"{name} is of type {type(array).__name__}, expected an array"
            ) from None
        expected = dimensions.split()
        if len(shape) != len(expected):
            raise bad_param(
                f"{name} has {len(shape)} dimensions, "
                f"expected {len(expected)}: [{', '.join(expected)}]"
            )
        return tuple(shape)

    def first_rows(self, array: Any, count: int) -> Any:
        """Returns the first rows: a copy if they are the smaller part, to free the others."""
        rows = array[:count]
        return self.copy(rows) if 2 * count < len(array) else rows


def _address(array: np.ndarray) -> int:
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
        return describe(layout, dtype, array.shape), _address(array)

    def empty(self, shape: Sequence[int], like: np.ndarray) -> np.ndarray:
        return np.empty(shape, like.dtype)

    def indices(self, shape: Sequence[int], value: int | None = None) -> np.ndarray:
        array = np.empty(shape, self._int32)
        if value is not None:
            array.fill(value)
        return array

    def copy(self, array: np.ndarray) -> np.ndarray:
        return array.copy()

    def counts(self, array: np.ndarray) -> np.ndarray:
        counts = np.asarray(array)
        if counts.dtype.kind not in "iu":
            raise bad_param(f"indice_num has dtype {counts.dtype}, expected integers")
        return np.ascontiguousarray(counts, np.int64)


NUMPY = NumpyArrays()


def number(value: ctypes.c_int32) -> tuple[Descriptor, Any]:
    """Returns descriptor and pointer of one number, which costs less than an array."""
    return describe(ARRAY, DTYPES["int32"], (1,)), ctypes.byref(value)


def int32(name: str, value: Any) -> int:
    """Returns an integer that a C int can hold."""
    try:
        integer = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is of type {type(value).__name__}, expected an integer") from None
    if not -(2**31) <= integer < 2**31:
        raise bad_param(f"{name} is {integer}, expected a 32-bit integer")
    return integer


def int32s(name: str, values: Any, count: int) -> list[int]:
    """Returns integers, one for each axis."""
    try:
        integers = list(map(operator.index, values))
    except TypeError:
        raise TypeError(f"{name} is {values!r}, expected {count} integers") from None
    if len(integers) != count:
        raise bad_param(f"{name} has {len(integers)} elements, expected {count}")
    if not -(2**31) <= min(integers) <= max(integers) < 2**31:
        raise bad_param(f"{name} is {integers}, expected 32-bit integers")
    return integers


def extent(size: int) -> int:
    """Returns the extent to allocate for a size that the library has yet to check."""
    return max(size, 0)


handle = _library.handle
invoke = _library.invoke
