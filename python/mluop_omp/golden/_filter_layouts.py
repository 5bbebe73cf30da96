"""The table of filter layouts, what they require of kernels, and their conversion.

Layouts are converted through the canonical one, [D, H, W, Ci, Co], which has an axis for each axis
of the kernel.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from mluop_omp import _arrays
from mluop_omp._library import bad_param

# The slice step that turns sizes in the order of the columns of coordinates into the order D, H, W.
STEP = {"xyz": -1, "zyx": 1}


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
    axes: tuple[int, ...] = (1, 2, 3, 4)
    fastest: str | None = None
    flat_1x1: bool = False
    reinterprets_1x1: bool = False
    center: str = "padding / dilation"

    @property
    def shape(self) -> str:
        """The dimensions of filters of three axes."""
        return f"[{', '.join(self.dimensions.replace('S', 'D H W').split())}]"


_CENTER = "(k - 1) / 2 if k is odd, else 0"
_KMAP_CENTER = "(k - 1) / 2 if K is odd, else (k - 1) // 2 or 0"
# The order of WarpConvNet is defined by its kernel_offsets_from_size and kernel maps. The advice in
# its issue 1 to reverse the filters of MinkowskiEngine along K mirrors them instead.
FILTER_LAYOUTS: Mapping[str, FilterLayout] = MappingProxyType(
    {
        "torch": FilterLayout("torch.nn.Conv1d to Conv3d", "Co Ci S", (1, 2, 3)),
        "mmcv": FilterLayout("mmcv", "S Ci Co", (2, 3, 4)),
        "spconv1": FilterLayout("spconv 1.x", "S Ci Co", (2, 3, 4)),
        "spconv2": FilterLayout(
            "spconv 2.2 and later, implicit GEMM of spconv 2.1", "Co S Ci", reinterprets_1x1=True
        ),
        "spconv2_native": FilterLayout(
            "spconv 2.0, algorithm Native of spconv 2.1", "S Co Ci", reinterprets_1x1=True
        ),
        "minkowski": FilterLayout(
            "MinkowskiEngine, kernels without region offsets",
            "K Ci Co",
            fastest="first",
            flat_1x1=True,
            center=_CENTER,
        ),
        "torchsparse": FilterLayout(
            "torchsparse", "K Ci Co", (3,), "first if K is odd", flat_1x1=True, center=_KMAP_CENTER
        ),
        "warpconvnet": FilterLayout(
            "WarpConvNet, without groups", "K Ci Co", (2, 3), "last", center=_CENTER
        ),
        "NDHWC": FilterLayout("MLU-OPS", "Co S Ci", (3,)),
        "NCDHW": FilterLayout("MLU-OPS", "Co Ci S", (3,)),
        "ARRAY": FilterLayout("MLU-OPS", "S Ci Co", (3,)),
        "KRSC": FilterLayout("any; spconv2, 1x1 with a stride", "Co S Ci"),
        "RSKC": FilterLayout("any; spconv2_native, 1x1 with a stride", "S Co Ci"),
        "RSCK": FilterLayout("any", "S Ci Co"),
        "torch_transposed": FilterLayout(
            "torch.nn.ConvTranspose1d to ConvTranspose3d", "Ci Co S", (1, 2, 3)
        ),
    }
)


def require_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise bad_param(f"{name} is {value!r}, expected one of {', '.join(choices)}")


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


def _range(numbers: Sequence[int]) -> str:
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


def offsets_of(filters: Any, name: str) -> tuple[int, ...] | int:
    """Returns the sizes of D, H, W, or K. Raises MluOpError if the layout has other shapes."""
    layout, shape = FILTER_LAYOUTS[name], tuple(filters.shape)
    ranks = [count + 2 for count in layout.axes]
    if layout.fastest is not None:
        ranks = [2, 3] if layout.flat_1x1 else [3]
    if len(shape) not in ranks:
        raise bad_param(
            f"filters have {len(shape)} dimensions, expected {_range(ranks)} in layout {name!r}: "
            f"{layout.shape}"
        )
    if layout.fastest is not None:
        return 1 if len(shape) == 2 else shape[0]
    first = layout.dimensions.split().index("S")
    return shape[first : first + len(shape) - 2]


def kernel_of(
    filters: Any, name: str, kernel_size: int | Sequence[int] | None, coordinates: str
) -> tuple[int, ...]:
    """Returns the sizes of D, H, W. Raises MluOpError if the shape does not fit the layout."""
    layout, offsets = FILTER_LAYOUTS[name], offsets_of(filters, name)
    if isinstance(offsets, tuple):
        if min(offsets) < 1:
            raise bad_param(f"filters have {offsets} offsets, expected at least 1 along each axis")
        if kernel_size is not None and positive_sizes(kernel_size, len(offsets)) != offsets:
            raise bad_param(
                f"kernel_size is {kernel_size}, expected {offsets}, as filters have in layout "
                f"{name!r}"
            )
        return offsets
    if kernel_size is None:
        side = round(offsets ** (1 / 3))
        if offsets < 1 or side**3 != offsets:
            raise bad_param(
                f"filters have {offsets} offsets, not a cube of three axes: kernel_size is required"
            )
        return (side,) * 3
    sizes = positive_sizes(kernel_size, 3)
    if len(sizes) not in layout.axes:
        raise bad_param(
            f"kernel_size has {len(sizes)} axes, expected {_range(layout.axes)} in layout {name!r}"
        )
    if math.prod(sizes) != offsets:
        raise bad_param(
            f"filters have {offsets} offsets, expected {math.prod(sizes)} for kernel_size {sizes}"
        )
    return sizes[:: STEP[coordinates]]


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
            f"filters have {len(kernel)} axes, expected {_range(axes)} in layout {target!r}"
        )
    if has_one_center(source, target, kernel):
        return
    sizes = kernel[:: STEP[coordinates]]
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


def _in_order(layout: FilterLayout, values: Mapping[str, Sequence[int]]) -> list[int]:
    """Returns the values of the dimensions of a layout, in their order."""
    return [value for name in layout.dimensions.split() for value in values[name]]


def _order(layout: FilterLayout, kernel: Sequence[int], coordinates: str) -> list[int]:
    """Returns the canonical dimensions in the order in which a layout stores them."""
    axes, count = len(kernel), math.prod(kernel)
    if layout.reinterprets_1x1 and count == 1:
        return list(range(axes + 2))
    first_is_fastest = layout.fastest == "first" or (layout.fastest != "last" and count % 2 == 1)
    # In "xyz", the first coordinate is the last axis.
    offsets = range(axes)[:: 1 if first_is_fastest == (coordinates == "xyz") else -1]
    return _in_order(layout, {"S": range(axes), "K": offsets, "Ci": [axes], "Co": [axes + 1]})


def canonical(array: Any, layout: FilterLayout, kernel: tuple[int, ...], coordinates: str) -> Any:
    """Returns filters in the canonical layout, as a view if they are contiguous."""
    names = re.sub("[SK]", "K " * (len(array.shape) - 2), layout.dimensions).split()
    sizes = [*kernel, *(array.shape[names.index(name)] for name in ("Ci", "Co"))]
    order = _order(layout, kernel, coordinates)
    stored = array.reshape([sizes[dim] for dim in order])
    return _permuted(stored, [order.index(dim) for dim in range(len(order))])


def convert(
    filters: Any,
    source: str,
    target: str,
    kernel: tuple[int, ...],
    coordinates: str,
    mirrored: bool,
) -> Any:
    """Returns a contiguous copy of filters of source in the layout target."""
    weights = canonical(filters, FILTER_LAYOUTS[source], kernel, coordinates)
    if mirrored:
        weights = mirror(weights)
    layout, count, (Ci, Co) = FILTER_LAYOUTS[target], math.prod(kernel), weights.shape[-2:]
    offsets = [] if layout.flat_1x1 and count == 1 else [count]
    shape = _in_order(layout, {"S": kernel, "K": offsets, "Ci": [Ci], "Co": [Co]})
    result = _permuted(weights, _order(layout, kernel, coordinates)).reshape(shape)
    if isinstance(result, np.ndarray):
        return np.array(result, order="C")
    return result.clone(memory_format=sys.modules["torch"].contiguous_format)
