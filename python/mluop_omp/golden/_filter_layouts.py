"""The table of filter layouts, their requirements, and their conversion.

Layouts are converted through the canonical one, [D, H, W, Ci, Co], which has an axis for each axis
of the kernel.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from mluop_omp import _arrays
from mluop_omp._library import bad_param

COORDINATES = ("xyz", "zyx")


@dataclass(frozen=True)
class FilterLayout:
    """A layout of filters; `FILTER_LAYOUTS` lists all of them.

    Attributes:
        library: the library whose layers use this layout.
        dimensions: the dimensions of the array. S stands for the axes D, H and W; K for the offsets
            of all axes in one dimension.
        axes: the numbers of axes that layers of the library may have.
        fastest: the coordinate whose offset varies fastest along K: "first", "last", or "first if K
            is odd", otherwise "last". None without K.
        flat_1x1: filters with a single offset are [Ci, Co].
        reinterprets_1x1: layers with a single offset read the memory of their filters as [Ci, Co],
            whatever the shape.
        center: the one of the k offsets along an axis that does not shift.
    """

    library: str
    dimensions: str
    axes: tuple[int, ...]
    fastest: str | None = None
    flat_1x1: bool = False
    reinterprets_1x1: bool = False
    center: str = "padding / dilation"

    @property
    def shape(self) -> str:
        """The dimensions of filters of three axes."""
        return f"[{', '.join(self.dimensions.replace('S', 'D H W').split())}]"


_CENTER = "(k - 1) / 2 if k is odd, else 0"
# The order of WarpConvNet is defined by its kernel_offsets_from_size and kernel maps. The advice in
# its issue 1 to reverse the filters of MinkowskiEngine along K mirrors them instead.
FILTER_LAYOUTS: Mapping[str, FilterLayout] = MappingProxyType(
    {
        "torch": FilterLayout("torch.nn.Conv1d to Conv3d", "Co Ci S", (1, 2, 3)),
        "mmcv": FilterLayout("mmcv", "S Ci Co", (2, 3, 4)),
        "spconv1": FilterLayout("spconv 1.x", "S Ci Co", (2, 3, 4)),
        "spconv2": FilterLayout(
            "spconv 2.2 and later, implicit GEMM of spconv 2.1",
            "Co S Ci",
            (1, 2, 3, 4),
            reinterprets_1x1=True,
        ),
        "spconv2_native": FilterLayout(
            "spconv 2.0, algorithm Native of spconv 2.1",
            "S Co Ci",
            (1, 2, 3, 4),
            reinterprets_1x1=True,
        ),
        "minkowski": FilterLayout(
            "MinkowskiEngine, kernels without region offsets",
            "K Ci Co",
            (1, 2, 3, 4),
            "first",
            flat_1x1=True,
            center=_CENTER,
        ),
        "torchsparse": FilterLayout(
            "torchsparse",
            "K Ci Co",
            (3,),
            "first if K is odd",
            flat_1x1=True,
            center="(k - 1) / 2 if K is odd, else (k - 1) // 2 or 0",
        ),
        "warpconvnet": FilterLayout(
            "WarpConvNet, without groups", "K Ci Co", (2, 3), "last", center=_CENTER
        ),
        "NDHWC": FilterLayout("MLU-OPS", "Co S Ci", (3,)),
        "NCDHW": FilterLayout("MLU-OPS", "Co Ci S", (3,)),
        "ARRAY": FilterLayout("MLU-OPS", "S Ci Co", (3,)),
        "KRSC": FilterLayout("any; spconv2, 1x1 with a stride", "Co S Ci", (1, 2, 3, 4)),
        "RSKC": FilterLayout("any; spconv2_native, 1x1 with a stride", "S Co Ci", (1, 2, 3, 4)),
        "RSCK": FilterLayout("any", "S Ci Co", (1, 2, 3, 4)),
        "torch_transposed": FilterLayout(
            "torch.nn.ConvTranspose1d to ConvTranspose3d", "Ci Co S", (1, 2, 3)
        ),
    }
)


def find_layout(name: str, value: Any) -> FilterLayout:
    """Returns the layout named by an argument."""
    if not isinstance(value, str) or value not in FILTER_LAYOUTS:
        raise bad_param(f"{name} is {value!r}, expected one of {', '.join(FILTER_LAYOUTS)}")
    return FILTER_LAYOUTS[value]


def require_array(name: str, array: Any) -> Any:
    """Returns a plain NumPy array or a dense tensor."""
    # Masked elements are not data.
    if isinstance(array, np.ndarray) and not isinstance(array, np.ma.MaskedArray):
        return np.asarray(array)
    torch = sys.modules.get("torch")
    if torch and isinstance(array, torch.Tensor) and array.layout is torch.strided:
        return array
    raise TypeError(
        f"{name} is of type {type(array).__name__}, expected numpy.ndarray or a dense torch.Tensor"
    )


def _words(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} {'to' if high - low > 1 else 'or'} {high}"


def positive_sizes(kernel_size: int | Sequence[int], axes: int) -> tuple[int, ...]:
    """Returns the sizes of a kernel; an integer is the size along each axis."""
    if isinstance(kernel_size, (int, np.integer)):
        kernel_size = [int(kernel_size)] * axes
    sizes = _arrays.integers("kernel_size", kernel_size)
    if not sizes or min(sizes) < 1:
        raise bad_param(f"kernel_size is {sizes}, expected positive integers")
    return sizes


def step(coordinates: str) -> int:
    """Returns the slice step that turns sizes in the order of the columns into sizes of D, H, W."""
    return -1 if coordinates == "xyz" else 1


def kernel_of(
    filters: Any, name: str, kernel_size: int | Sequence[int] | None, coordinates: str
) -> tuple[int, ...]:
    """Returns the sizes of D, H, W. Raises MluOpError if the shape does not fit the layout."""
    layout, shape = FILTER_LAYOUTS[name], tuple(filters.shape)
    if layout.fastest is None:
        ranks = [count + 2 for count in layout.axes]
    else:
        ranks = [2, 3] if layout.flat_1x1 else [3]
    if len(shape) not in ranks:
        raise bad_param(
            f"filters have {len(shape)} dimensions, expected {_words(ranks)} in layout {name!r}: "
            f"{layout.shape}"
        )
    if layout.fastest is None:
        first = layout.dimensions.split().index("S")
        kernel = shape[first : first + len(shape) - 2]
        if min(kernel) < 1:
            raise bad_param(f"filters have {kernel} offsets, expected at least 1 along each axis")
        if kernel_size is not None and positive_sizes(kernel_size, len(kernel)) != kernel:
            raise bad_param(
                f"kernel_size is {kernel_size}, expected {kernel}, as filters have in layout "
                f"{name!r}"
            )
        return kernel
    count = 1 if len(shape) == 2 else shape[0]
    if kernel_size is None:
        side = round(count ** (1 / 3))
        if count < 1 or side**3 != count:
            raise bad_param(
                f"filters have {count} offsets, not a cube of three axes: kernel_size is required"
            )
        return (side,) * 3
    sizes = positive_sizes(kernel_size, 3)
    if len(sizes) not in layout.axes:
        raise bad_param(
            f"kernel_size has {len(sizes)} axes, expected {_words(layout.axes)} in layout {name!r}"
        )
    if math.prod(sizes) != count:
        raise bad_param(
            f"filters have {count} offsets, expected {math.prod(sizes)} for kernel_size {sizes}"
        )
    return sizes[:: step(coordinates)]


def _centers(name: str, kernel: tuple[int, ...]) -> set[tuple[int, ...]] | None:
    """Returns the possible centers in layers of the library; None if the padding decides."""
    if FILTER_LAYOUTS[name].fastest is None:
        return None
    if name == "torchsparse" and math.prod(kernel) % 2 == 0:
        # Its kmap_mode is "hashmap", or "hashmap_on_the_fly".
        return {tuple((k - 1) // 2 for k in kernel), (0,) * len(kernel)}
    return {tuple((k - 1) // 2 if k % 2 else 0 for k in kernel)}


def has_one_center(source: str, target: str, kernel: tuple[int, ...]) -> bool:
    """Returns whether equal weights in both layouts can give the same convolution."""
    centers = _centers(source, kernel), _centers(target, kernel)
    return source == target or None in centers or centers[0] == centers[1]


def require_kernel(source: str, target: str, kernel: tuple[int, ...], coordinates: str) -> None:
    """Raises MluOpError unless layers of target can have this kernel of source."""
    axes = FILTER_LAYOUTS[target].axes
    if len(kernel) not in axes:
        raise bad_param(
            f"filters have {len(kernel)} axes, expected {_words(axes)} in layout {target!r}"
        )
    if has_one_center(source, target, kernel):
        return
    sizes = kernel[:: step(coordinates)]
    found, expected = (
        " or ".join(map(str, sorted(_centers(name, sizes) or ()))) for name in (source, target)
    )
    raise bad_param(
        f"kernel_size is {sizes}: its center is {found} in layout {source!r} and {expected} in "
        f"layout {target!r}, so no order of the filters gives the same convolution"
    )


def _permuted(array: Any, order: Sequence[int]) -> Any:
    return array.transpose(order) if isinstance(array, np.ndarray) else array.permute(*order)


def mirror(weights: Any) -> Any:
    """Returns canonical filters with the offsets of each axis reversed."""
    axes = tuple(range(len(weights.shape) - 2))
    return np.flip(weights, axes) if isinstance(weights, np.ndarray) else weights.flip(axes)


def _order(layout: FilterLayout, axes: int) -> list[int]:
    """Returns the canonical dimensions in the order of a layout without K."""
    numbers = {"S": range(axes), "Ci": [axes], "Co": [axes + 1]}
    return [number for word in layout.dimensions.split() for number in numbers[word]]


def _slowest_first(layout: FilterLayout, kernel: Sequence[int], coordinates: str) -> list[int]:
    """Returns the axes of D, H, W by how slowly their offsets vary along K, the slowest first."""
    odd = math.prod(kernel) % 2 == 1
    first_is_fastest = layout.fastest == "first" or (layout.fastest != "last" and odd)
    # In "xyz", the first coordinate is the last axis.
    return list(range(len(kernel)))[:: 1 if first_is_fastest == (coordinates == "xyz") else -1]


def canonical(array: Any, layout: FilterLayout, kernel: tuple[int, ...], coordinates: str) -> Any:
    """Returns filters in the canonical layout, as a view if they are contiguous."""
    axes = len(kernel)
    if layout.fastest is not None:
        order = _slowest_first(layout, kernel, coordinates)
        grid = array.reshape([*(kernel[axis] for axis in order), *array.shape[-2:]])
        return _permuted(grid, [*order, axes, axes + 1])
    order = _order(layout, axes)
    position = [order.index(number) for number in range(axes + 2)]
    if layout.reinterprets_1x1 and math.prod(kernel) == 1:
        return array.reshape([array.shape[each] for each in position])
    return _permuted(array, position)


def _arranged(weights: Any, layout: FilterLayout, coordinates: str) -> Any:
    """Returns canonical filters in a layout; the inverse of `canonical`."""
    *kernel, Ci, Co = weights.shape
    axes, count = len(kernel), math.prod(kernel)
    if layout.fastest is not None:
        order = _slowest_first(layout, kernel, coordinates)
        grid = _permuted(weights, [*order, axes, axes + 1])
        return grid.reshape([Ci, Co] if layout.flat_1x1 and count == 1 else [count, Ci, Co])
    order = _order(layout, axes)
    if layout.reinterprets_1x1 and count == 1:
        return weights.reshape([weights.shape[number] for number in order])
    return _permuted(weights, order)


def convert(
    filters: Any,
    layouts: tuple[FilterLayout, FilterLayout],
    kernel: tuple[int, ...],
    coordinates: str,
    mirrored: bool = False,
) -> Any:
    """Returns a contiguous copy of filters in the second layout."""
    weights = canonical(filters, layouts[0], kernel, coordinates)
    if mirrored:
        weights = mirror(weights)
    result = _arranged(weights, layouts[1], coordinates)
    if isinstance(result, np.ndarray):
        return np.array(result, order="C")
    return result.clone(memory_format=sys.modules["torch"].contiguous_format)
