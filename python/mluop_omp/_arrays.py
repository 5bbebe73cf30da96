"""What an operator requires of the arrays that it is called with: `Arrays`.

Each operator is written once, in mluop_omp._operators, for the arrays of any library that has a
subclass of it.
"""

from __future__ import annotations

import array
import ctypes
import functools
import operator
from typing import Any, Callable

import numpy as np

from mluop_omp import _library
from mluop_omp._library import bad_param, functions, not_supported, require

# Layouts and element types of mlu_op.h.
NCHW, NHWC, NDHWC, ARRAY = 0, 1, 3, 4
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
# The types as which mluOpOmpTranspose copies the bits of elements.
_COPIED = {
    DTYPES["float16"]: DTYPES["float16"],
    DTYPES["bfloat16"]: DTYPES["float16"],
    DTYPES["float32"]: DTYPES["float32"],
    DTYPES["int32"]: DTYPES["float32"],
}
_transpose = _library.function("mluOpOmpTranspose", "ppppp")
# Elements of an array that is not worth a copy to free memory.
SMALL = 1024


class Descriptor(_library.Object):
    """A tensor descriptor. It is never modified, so calls of all threads may share it."""

    _destroy = functions.mluOpDestroyTensorDescriptor
    shape: tuple[int, ...]
    dtype: int
    is_empty: bool


# A tensor as an operator takes it: descriptor and address.
Tensor = tuple[Descriptor, int]


@functools.lru_cache(maxsize=4096)
def describe(
    layout: int, dtype: int, shape: tuple[int, ...], name: str = "a tensor", dimensions: str = ""
) -> Descriptor:
    """Returns the descriptor of a contiguous tensor.

    Its shape has as many dimensions as a text such as "B N 3" names, if there is one.
    """
    if dimensions and len(shape) != len(dimensions.split()):
        raise bad_param(
            f"{name} has {len(shape)} dimensions, "
            f"expected {len(dimensions.split())}: [{dimensions.replace(' ', ', ')}]"
        )
    if not 1 <= len(shape) <= _MAX_DIMENSIONS:
        raise bad_param(f"{name} has {len(shape)} dimensions, expected 1 to {_MAX_DIMENSIONS}")
    descriptor = Descriptor.create(functions.mluOpCreateTensorDescriptor)
    descriptor.shape, descriptor.dtype = tuple(shape), dtype
    descriptor.is_empty = 0 in shape
    sizes = (ctypes.c_int64 * len(shape))(*shape)
    require(functions.mluOpSetTensorDescriptor_v2(descriptor, layout, dtype, len(shape), sizes))
    return descriptor


def integers(name: str, values: Any) -> tuple[int, ...]:
    """Returns integers that C ints can hold."""
    try:
        return tuple(array.array("i", values))
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {values!r}, expected integers") from None
    except OverflowError:
        raise bad_param(f"{name} is {list(values)}, expected 32-bit integers") from None


def int32s(name: str, values: Any, count: int) -> tuple[int, ...]:
    """Returns integers that C ints can hold, one for each axis."""
    found = integers(name, values)
    if len(found) != count:
        raise bad_param(f"{name} has {len(found)} elements, expected {count}")
    return found


# Names of this module are found faster than attributes of another.
_addressof, _from_buffer = ctypes.addressof, ctypes.c_char.from_buffer
_empty, _zeros, _ndarray = np.empty, np.zeros, np.ndarray


def address(array: np.ndarray) -> int:
    try:
        return _addressof(_from_buffer(array))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        # Read-only, or empty. The general way takes four times as long.
        return array.ctypes.data


class Arrays:
    """The arrays of NumPy. A subclass for another library overrides what differs there.

    `array` in the methods below is an array of the library.
    """

    # NumPy lacks bfloat16: the type of ml_dtypes is added with the first array of it.
    _dtypes: dict[Any, int] = {
        np.dtype(name): code for name, code in DTYPES.items() if name != "bfloat16"
    }
    _int32: Any = np.dtype(np.int32)
    _float64: Any = np.float64

    # A handle for a call.
    handle = staticmethod(_library.handle)

    # Integers that C ints can hold; symbols of PyTorch where a call computes nothing.
    integers, int32s = staticmethod(integers), staticmethod(int32s)

    def made(self, make: Callable[..., Any], *arguments: Any) -> Any:
        """Returns make(*arguments), an object of the library."""
        return make(*arguments)

    def tensor(self, name: str, array: Any, dimensions: str = "", layout: int = ARRAY) -> Tensor:
        """Returns descriptor and address. The caller keeps the array alive during the call.

        Raises MluOpError if the array is not contiguous memory of the host, or if its shape has not
        as many dimensions as a text such as "B N 3" names.
        """
        # The values behind a mask are not data.
        if type(array) is not _ndarray and (
            not isinstance(array, _ndarray) or isinstance(array, np.ma.MaskedArray)
        ):
            raise TypeError(f"{name} is of type {type(array).__name__}, expected numpy.ndarray")
        dtype = self._dtypes.get(array.dtype)
        if dtype is None:
            if array.dtype.name != "bfloat16" or not array.dtype.isnative:
                raise bad_param(f"{name} has dtype {array.dtype}, expected {', '.join(DTYPES)}")
            dtype = self._dtypes[array.dtype] = DTYPES["bfloat16"]
        flags = array.flags
        if not (flags.c_contiguous and flags.aligned):
            raise not_supported(
                f"{name} is not contiguous or not aligned; numpy.ascontiguousarray({name}) is"
            )
        return describe(layout, dtype, array.shape, name, dimensions), address(array)

    def output(
        self,
        name: str,
        shape: tuple[int, ...],
        like: Any = None,
        layout: int = ARRAY,
        is_zero: bool = False,
    ) -> tuple[Any, Descriptor, int]:
        """Returns an array for an output, its descriptor and its address.

        It has the element type of `like`, or int32; its contents are unspecified, or zeros.
        """
        dtype = self._int32 if like is None else like.dtype
        array = _zeros(shape, dtype) if is_zero else _empty(shape, dtype)
        return array, describe(layout, self._dtypes[dtype], shape), address(array)

    def zeros_output(
        self, name: str, shape: tuple[int, ...], like: Any = None
    ) -> tuple[Any, Descriptor, int]:
        """As `output`, with an array of zeros; one of the caller keeps its elements."""
        return self.output(name, shape, like, is_zero=True)

    def zeros(self, shape: tuple[int, ...], like: Any = None) -> Any:
        """Returns an array of zeros that is not an output."""
        return self.zeros_output("zeros", shape, like)[0]

    def is_channels_last(self, array: Any) -> bool:
        """Returns whether the memory of [N, C, H, W] is [N, H, W, C]."""
        return False

    def to_nchw(self, array: Any) -> Any:
        """Returns [N, C, H, W] as its own memory, if it is in the memory format channels_last."""
        return array

    def to_nhwc(self, name: str, array: Any) -> tuple[Any, Descriptor, int]:
        """Returns [N, C, H, W] as contiguous [N, H, W, C], its descriptor and its address."""
        N, C, H, W = self.tensor(name, array, "N C H W")[0].shape
        image, *tensor = self.output(name, (N, H, W, C), array, NHWC)
        self.transpose(array, (N, C, H * W), image)
        return image, *tensor

    def from_nhwc(self, array: Any, like: Any) -> Any:
        """Returns an output [N, H, W, C] as [N, C, H, W], in the memory format of `like`."""
        N, H, W, C = array.shape
        image = self.output("image", (N, C, H, W), array)[0]
        self.transpose(array, (N, H * W, C), image)
        return image

    def transpose(self, array: Any, sizes: tuple[int, int, int], output: Any) -> None:
        """Writes matrices [N, A, B], transposed, to an output of the same dtype.

        Elements of 16 and 32 bits are copied. No operator of images accepts others.
        """
        descriptor, source = self.tensor("array", array)
        element = _COPIED.get(descriptor.dtype)
        if element is None:
            return
        matrices = describe(ARRAY, element, sizes), source
        N, A, B = sizes
        to = describe(ARRAY, element, (N, B, A)), self.tensor("output", output)[1]
        with self.handle() as own:
            own.call(_transpose, *matrices, *to)

    def fill(self, array: Any, value: int) -> None:
        """Sets all elements."""
        array[...] = value

    def sum_rows(self, array: Any) -> Any:
        """Returns the sum over all axes but the last, in float64."""
        return array.sum(tuple(range(array.ndim - 1)), dtype=self._float64)

    def copy(self, array: Any) -> tuple[Any, int]:
        """Returns a copy of an array that `tensor` accepts, and its address."""
        copy = array.copy()
        return copy, address(copy)

    def pair_counts(self, num: Any, offsets: int) -> bytes:
        """Returns the number of pairs of each offset, as int64."""
        counts = self.counts(num)
        if len(counts) != offsets:
            raise bad_param(
                f"indice_num has shape [{len(counts)}], expected [{offsets}]: a number for each "
                "offset"
            )
        try:
            return array.array("q", counts).tobytes()
        except OverflowError:
            raise bad_param(f"indice_num is {counts}, expected 64-bit integers") from None

    def counts(self, array: Any) -> list[int]:
        """Returns the integers of indice_num, an array of one dimension."""
        if isinstance(array, np.ma.MaskedArray):
            raise TypeError("indice_num is of type MaskedArray, expected numpy.ndarray")
        counts = np.asarray(array)
        if counts.dtype.kind not in "iu":
            raise bad_param(f"indice_num has dtype {counts.dtype}, expected integers")
        if counts.ndim != 1:
            raise bad_param(f"indice_num has {counts.ndim} dimensions, expected 1")
        return counts.tolist()

    def to_numpy(self, name: str, array: Any) -> Any:
        """Returns a NumPy array of the same memory; what is no array of the library, as it is."""
        return array

    def from_numpy(self, array: np.ndarray) -> Any:
        """Returns an array of the memory of a NumPy array."""
        return array

    def adopted(self, results: tuple[np.ndarray, ...]) -> tuple[Any, ...]:
        """Returns the outputs of a call whose results NumPy has computed."""
        return tuple(map(self.from_numpy, results))

    def first_rows(self, array: Any, shape: tuple[int, ...], count: int) -> Any:
        """Returns the first rows of an array of the shape that has no other use.

        They are a copy if that frees memory.
        """
        if count == shape[0]:
            return array
        rows = array[:count]
        return rows.copy() if 2 * count < shape[0] and array.size > SMALL else rows


NUMPY = Arrays()
# The descriptor of a number that an operator writes.
NUMBER = describe(ARRAY, DTYPES["int32"], (1,))


@functools.lru_cache(maxsize=256)
def _floats(values: tuple[float, ...]) -> tuple[Descriptor, bytes]:
    return describe(ARRAY, DTYPES["float32"], (len(values),)), bytes(
        (ctypes.c_float * len(values))(*values)
    )


def floats(name: str, values: Any) -> tuple[Descriptor, bytes]:
    """Returns descriptor and memory of numbers, as float32."""
    try:
        return _floats(tuple(values.tolist() if hasattr(values, "tolist") else values))
    except TypeError:
        raise TypeError(f"{name} is {values!r}, expected numbers") from None


def int32(name: str, value: Any) -> int:
    """Returns an integer that a C int can hold; a symbolic integer of PyTorch as it is."""
    if type(value) is not int and hasattr(value, "node"):
        return value
    try:
        integer = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is of type {type(value).__name__}, expected an integer") from None
    if not -(2**31) <= integer < 2**31:
        raise bad_param(f"{name} is {integer}, expected a 32-bit integer")
    return integer


def size(name: str, value: Any) -> int:
    """Returns an integer that a C int can hold and that is at least 0."""
    number = int32(name, value)
    if type(number) is int and number < 0:
        raise bad_param(f"{name} is {number}, expected at least 0")
    return number


def enumerator(name: str, value: Any, values: dict[str, int]) -> int:
    """Returns the number of one of the words."""
    if value not in values:
        raise bad_param(f"{name} is {value!r}, expected one of {', '.join(values)}")
    return values[value]


def extent(size: int) -> int:
    """Returns the extent to allocate for a size that the library has yet to check."""
    return max(size, 0) if type(size) is int else size
