"""Converts filters of sparse convolutions between layouts, and recognizes layouts."""

from __future__ import annotations

import functools
import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mluop_omp._library import MluOpError, bad_param
from mluop_omp.golden import _filter_layouts as _layouts
from mluop_omp.golden._filter_layouts import FILTER_LAYOUTS, STEP
from mluop_omp.golden._numbers import right_elements, root_mean_square, to_numpy, tolerated

# Largest side of the kernels that `matching_layouts` tries without kernel_size.
_MAX_SIDE = 15


def convert_filters(
    filters: Any,
    source: str,
    target: str,
    *,
    kernel_size: int | Sequence[int] | None = None,
    coordinates: str = "xyz",
) -> Any:
    """Converts the filters of a convolution from the layout of one library to another layout.

    Each weight keeps its offset, its input channel and its output channel. In every library, offset
    i of the k offsets along an axis connects output o with the input at ``o * stride + (i - center)
    * dilation``; in a transposed convolution, input o with that output. In torch, spconv, mmcv and
    MLU-OPS, ``center = padding / dilation``; the other libraries have the center below:

    ================== ================== ==========================================================
    layout             shape              order of K; center
    ================== ================== ==========================================================
    "torch"            [Co, Ci, D, H, W]
    "mmcv", "spconv1"  [D, H, W, Ci, Co]
    "spconv2"          [Co, D, H, W, Ci]  spconv 2.2 and later; 1x1: see below
    "spconv2_native"   [D, H, W, Co, Ci]  spconv 2.0, algorithm Native of 2.1; 1x1: see below
    "minkowski"        [K, Ci, Co]        first coordinate fastest; (k - 1) / 2 if k is odd, else 0
    "torchsparse"      [K, Ci, Co]        K odd: as "minkowski"; padding has to be the center
                                          K even: last coordinate fastest; 0 or (k - 1) // 2
    "warpconvnet"      [K, Ci, Co]        last coordinate fastest; as "minkowski"
    "NDHWC" (MLU-OPS)  [Co, D, H, W, Ci]
    "NCDHW" (MLU-OPS)  [Co, Ci, D, H, W]
    "ARRAY" (MLU-OPS)  [D, H, W, Ci, Co]
    "KRSC"             [Co, D, H, W, Ci]  "spconv2", but 1x1 as the shape says
    "RSKC"             [D, H, W, Co, Ci]  "spconv2_native", but 1x1 as the shape says
    "RSCK"             [D, H, W, Ci, Co]
    "torch_transposed" [Ci, Co, D, H, W]  torch.nn.ConvTranspose
    ================== ================== ==========================================================

    D, H and W are the coordinates z, y and x, the order of the columns of the indices in spconv and
    mmcv. MinkowskiEngine, torchsparse and WarpConvNet have columns x, y and z; networks that give
    them z, y and x, such as torchsparse's plugin for OpenPCDet, need ``coordinates="zyx"``. Filters
    of one, two or four axes have that many axes in place of D, H, W, and that many coordinates, in
    reverse order for "xyz".

    1x1: a layer of spconv 2 with a single offset that is submanifold or has stride 1 reads the
    memory of its filters [Co, 1, 1, 1, Ci] as [Ci, Co], which is not their transpose. "spconv2" and
    "spconv2_native" do the same. For regular layers with another stride, since spconv 2.1.11, use
    "KRSC" or "RSKC".

    Args:
        filters: a NumPy array or a PyTorch tensor of any type, on any device, in the shape of the
            layout source. In "minkowski" and "torchsparse", a single offset may be [Ci, Co] or
            [1, Ci, Co].
        source, target: keys of `FILTER_LAYOUTS`.
        kernel_size: an integer, or one for each axis, as the layer of source takes it: in the order
            of D, H, W, or of the coordinates if source has K. Required if source has K and the
            kernel is not a cube of three axes.
        coordinates: the order of the columns in libraries with K: "xyz" or "zyx".

    Returns:
        A contiguous copy in the layout target, of the kind, type and device of filters. With a
            single offset, "minkowski" and "torchsparse" are [Ci, Co]; layers with a stride need
            [1, Ci, Co]. A tensor is differentiable.

    Raises:
        MluOpError: a layout or coordinates is unknown; the shape of filters does not fit source or
            contradicts kernel_size; layers of target cannot have this number of axes; the centers
            differ, between "torchsparse" and "minkowski" or "warpconvnet", if K is even and an axis
            has more than 2 offsets. (A conversion by way of "torch" ignores centers.)
        TypeError: filters is neither an array nor a dense tensor.

    Source: SparseConvolution of spconv 1.2.1, 2.0.0, 2.1.25, 2.3.8 and mmcv 2.2; kernel_region of
        MinkowskiEngine 0.5.4; get_kernel_offsets and kernel maps of torchsparse 2.1;
        kernel_offsets_from_size of WarpConvNet; mluOpIndiceConvolutionForward.
    """
    _layouts.require_choice("source", source, FILTER_LAYOUTS)
    _layouts.require_choice("target", target, FILTER_LAYOUTS)
    _layouts.require_choice("coordinates", coordinates, STEP)
    filters = _layouts.require_array("filters", filters)
    kernel = _layouts.kernel_of(filters, source, kernel_size, coordinates)
    _layouts.require_kernel(source, target, kernel, coordinates)
    return _layouts.convert(filters, source, target, kernel, coordinates, mirrored=False)


@dataclass(frozen=True)
class LayoutMatch:
    """A conversion that makes two arrays of filters equal.

    Attributes:
        source, target: the layouts of found and of expected. Equal layouts mean that the arrays are
            equal as they are, or with the offsets reversed.
        reversed: whether the offsets of each axis are reversed. In [K, Ci, Co], K is reversed.
        kernel_size, coordinates: further arguments of `convert_filters`.
        max_error: the largest difference of two elements.
        exact: whether all elements are equal; NaN equals NaN.
        others: source, target and coordinates of other conversions that move all elements alike.
    """

    source: str
    target: str
    reversed: bool
    kernel_size: tuple[int, ...]
    coordinates: str
    max_error: float
    exact: bool
    others: list[tuple[str, str, str]] = field(default_factory=list, repr=False)

    def convert(self, filters: Any) -> Any:
        """Converts filters from the layout of found to the layout of expected."""
        filters = _layouts.require_array("filters", filters)
        kernel = _layouts.kernel_of(filters, self.source, self.kernel_size, self.coordinates)
        way = self.source, self.target, kernel, self.coordinates
        return _layouts.convert(filters, *way, mirrored=self.reversed)

    def __str__(self) -> str:
        steps = []
        if self.source != self.target:
            ways = [(self.source, self.target, self.coordinates), *self.others]
            # Neither the library nor the columns of its coordinates are known.
            pairs = {way[:2] for way in ways if way[2] == self.coordinates}
            ways = ways[:1] + [way for way in ways if way[:2] not in pairs][:1]
            conversions = (
                f"from {source} to {target}" + f" with coordinates {columns}" * (columns != "xyz")
                for source, target, columns in ways
            )
            steps.append(f"conversion {' or '.join(conversions)}")
        if self.reversed:
            steps.append("reversal of the offsets")
        equal = "equal" if self.exact else f"equal within {self.max_error:.3g}"
        return f"{equal} after {' and '.join(steps)}" if steps else f"{equal} as they are"


def matching_layouts(
    found: Any,
    expected: Any,
    rtol: float = 1e-5,
    atol: float | None = None,
    *,
    kernel_size: int | Sequence[int] | None = None,
) -> list[LayoutMatch]:
    """Finds the layouts that explain why two arrays of filters differ.

    Every conversion of `convert_filters` whose shapes fit is tried, with both orders of the
    coordinates, as it is and with the offsets reversed. Elements are equal if ``|found - expected|
    <= atol + rtol * |expected|``, in double, or if both are NaN or the same infinity.

    Args:
        found, expected: NumPy arrays or PyTorch tensors of any types, on any devices.
        rtol, atol: the relative and the absolute tolerance; atol is by default 1e-8 times the root
            mean square of the nonzero elements of expected.
        kernel_size: as in `convert_filters`, if both are [K, Ci, Co]. By default, each kernel of
            three axes with K offsets is tried, cubes first.

    Returns:
        The conversions that make found equal to expected: exact ones first, then ones without
            reversal, then in the order of `FILTER_LAYOUTS`. Conversions that move all elements
            alike are one match. The list is empty if nothing matches.

    Raises:
        MluOpError: an array is not of numbers; kernel_size is not positive.
        TypeError: an argument is neither an array nor a tensor.

    Source: the layouts of `convert_filters`.
    """
    arrays = _values("found", found), _values("expected", expected)
    sizes = None if kernel_size is None else _layouts.positive_sizes(kernel_size, 3)
    if atol is None:
        atol = 1e-8 * root_mean_square(arrays[1])
    matches: dict[Any, LayoutMatch | None] = {}
    for source, target, kernel, coordinates, mirrored in _candidates(*arrays, sizes):
        pair = [
            _layouts.canonical(array, FILTER_LAYOUTS[name], kernel, coordinates)
            for array, name in zip(arrays, (source, target))
        ]
        if pair[0].shape != pair[1].shape:
            continue
        if mirrored:
            pair[0] = _layouts.mirror(pair[0])
        mapping = _mapping(*pair)
        if mapping in matches:
            match = matches[mapping]
            if match is not None:
                match.others.append((source, target, coordinates))
            continue
        matches[mapping] = None
        error = _error(*pair, rtol, atol)
        if error is not None:
            # kernel_size is in the order of the source.
            has_columns = FILTER_LAYOUTS[source].fastest is not None
            size = kernel[:: STEP[coordinates]] if has_columns else kernel
            arguments = (source, target, mirrored, size, coordinates, error, error == 0)
            matches[mapping] = LayoutMatch(*arguments)
    found_matches = [match for match in matches.values() if match is not None]
    return sorted(found_matches, key=lambda match: (not match.exact, match.reversed))


def _values(name: str, array: Any) -> np.ndarray:
    """Returns a contiguous array of doubles."""
    array = _layouts.require_array(name, array)
    if not isinstance(array, np.ndarray):
        torch = sys.modules["torch"]
        wide = torch.complex128 if array.is_complex() else torch.float64
        array = to_numpy(array.to(wide))
    try:
        wide = np.complex128 if array.dtype.kind == "c" else np.float64
        return np.ascontiguousarray(array, wide).reshape(array.shape)
    except (TypeError, ValueError):
        raise bad_param(f"{name} has dtype {array.dtype}, expected numbers") from None


def _kernels(
    found: np.ndarray, source: str, expected: np.ndarray, target: str, sizes: Any, coordinates: str
) -> Iterator[tuple[int, ...]]:
    """Yields the sizes of D, H, W that both arrays can have in these layouts."""
    try:
        offsets = [_layouts.offsets_of(found, source), _layouts.offsets_of(expected, target)]
    except MluOpError:
        return
    given = [each for each in offsets if isinstance(each, tuple)]
    counts = {math.prod(each) if isinstance(each, tuple) else each for each in offsets}
    # Coordinates have an effect only on K.
    has_effect = coordinates == "xyz" or len(given) < 2
    if not has_effect or len(set(given)) > 1 or len(counts) > 1 or 0 in counts:
        return
    (count,) = counts
    kernels = given[:1]
    if not given:
        kernels = _kernels_of_three_axes(count) if sizes is None else [sizes[:: STEP[coordinates]]]
    axes = set(FILTER_LAYOUTS[source].axes) & set(FILTER_LAYOUTS[target].axes)
    yield from (each for each in kernels if len(each) in axes and math.prod(each) == count)


@functools.lru_cache(maxsize=16)
def _kernels_of_three_axes(count: int) -> list[tuple[int, ...]]:
    """Returns kernels with this number of offsets, the ones nearest to a cube first."""
    sides = [side for side in range(1, _MAX_SIDE + 1) if count % side == 0]
    triples = itertools.product(sides, repeat=3)
    kernels = [triple for triple in triples if math.prod(triple) == count]
    # The last one covers numbers of offsets without such a kernel, plain or reversed.
    return [*sorted(kernels, key=max), (1, 1, count)]


def _candidates(
    found: np.ndarray, expected: np.ndarray, sizes: tuple[int, ...] | None
) -> Iterator[tuple[str, str, tuple[int, ...], str, bool]]:
    """Yields source, target, D, H, W, coordinates, and whether the offsets are reversed."""
    names = list(FILTER_LAYOUTS)
    pairs = [(name, name) for name in names] + list(itertools.permutations(names, 2))
    for coordinates, mirrored in itertools.product(STEP, (False, True)):
        for source, target in pairs:
            for kernel in _kernels(found, source, expected, target, sizes, coordinates):
                if _layouts.has_one_center(source, target, kernel):
                    yield source, target, kernel, coordinates, mirrored


def _mapping(found: np.ndarray, expected: np.ndarray) -> tuple[tuple[int, int, int], ...]:
    """Returns a key of how elements of two views correspond; equal keys, equal correspondence."""
    mapping: list[tuple[int, int, int]] = []
    for stride, size, other in sorted(zip(expected.strides, expected.shape, found.strides))[::-1]:
        if size == 1:
            continue
        if mapping and (mapping[-1][0], mapping[-1][2]) == (stride * size, other * size):
            mapping[-1] = (stride, mapping[-1][1] * size, other)
        else:
            mapping.append((stride, size, other))
    return tuple(mapping)


def _error(found: np.ndarray, expected: np.ndarray, rtol: float, atol: float) -> float | None:
    """Returns the largest difference, or None if any element exceeds the tolerance."""
    # The first channels rule out nearly all candidates.
    for part in ((..., slice(4), slice(4)), ...):
        e, b = found[part], expected[part]
        if not right_elements(e, b, tolerated(b, rtol, atol)).all():
            return None
    with np.errstate(invalid="ignore", over="ignore"):
        return float(np.fmax.reduce(np.abs(found - expected), axis=None, initial=0))
