"""Rulebooks and convolutions that nodes of sparse networks share.

Filters are [Co, k0, k1, k2, Ci]. Offset k of the filter, whose last axis varies fastest, pairs
input i with output o of the same batch where ``i = o * stride - padding + k * dilation`` along each
axis.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from mluop_omp._library import bad_param, not_supported
from mluop_omp._operators.sites import site_pairs
from mluop_omp._operators.sparse_conv import indice_conv, indice_pairs, output_space


def submanifold_padding(kernel: Sequence[int], dilation: Sequence[int]) -> tuple[int, ...]:
    """Returns the padding of a submanifold convolution, which does not read its own."""
    if any(size % 2 == 0 for size in kernel):
        raise not_supported(
            f"the kernel of a submanifold convolution is {list(kernel)}, expected odd sizes"
        )
    return tuple(size // 2 * step for size, step in zip(kernel, dilation))


def require_axes(axes: int, **vectors: Sequence[int]) -> None:
    """Requires as many elements as axes."""
    for name, values in vectors.items():
        if len(values) != axes:
            raise bad_param(f"attribute {name} has {len(values)} elements, expected {axes}")


def require_inside(indices: np.ndarray, bounds: Sequence[int]) -> None:
    """Requires sites inside the bounds: of the batch, then of each axis."""
    outside = ((indices < 0) | (indices >= np.array(bounds))).any(1)
    if outside.any():
        row = int(outside.argmax())
        raise bad_param(
            f"indices[{row}] is {indices[row].tolist()}, expected a batch and coordinates of at "
            f"least 0 and less than {list(bounds)}"
        )


def require_zero(attributes: Mapping[str, object], why: str) -> None:
    for name, value in attributes.items():
        if value:
            raise not_supported(f"attribute {name} is {value}, expected 0: {why}")


def find_pairs(
    indices: np.ndarray,
    batch_size: int,
    space: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    subm: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[int, ...]]:
    """Returns output sites, pairs [K, 2, n], their numbers [K] and the cells of the output.

    Output sites are in ascending order; the ones of a submanifold convolution are its input sites.
    """
    if subm:
        padding = submanifold_padding(kernel, dilation)
        if any(step != 1 for step in stride):
            raise bad_param(
                f"the stride of a submanifold convolution is {list(stride)}, expected 1"
            )
        if any(step != 1 for step in dilation):
            pairs, num = _dilated_pairs(indices, batch_size, space, kernel, padding, dilation)
            return indices, pairs, num, tuple(space)
    out = tuple(space) if subm else tuple(output_space(space, kernel, stride, padding, dilation))
    geometry = space, kernel, stride, padding, dilation
    sites, pairs, num = indice_pairs(indices, batch_size, *geometry, subm)
    return sites, pairs, num, out


def _dilated_pairs(
    indices: np.ndarray,
    batch_size: int,
    space: Sequence[int],
    kernel: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> tuple[np.ndarray, np.ndarray]:
    """Returns pairs [K, 2, n] and their numbers of a dilated submanifold convolution."""
    require_inside(indices, (batch_size, *space))
    offsets = np.indices(tuple(kernel)).reshape(len(kernel), -1).T
    shifts = offsets * np.array(dilation) - np.array(padding)
    pairs, num = site_pairs(indices, indices, np.ascontiguousarray(shifts, np.int32))
    return pairs, num


def fitted_pairs(pairs: np.ndarray, rows: int) -> np.ndarray:
    """Returns pairs [K, 2, rows]: no offset has more pairs than its input has rows."""
    columns = pairs.shape[2]
    if columns < rows:
        return np.pad(pairs, ((0, 0), (0, 0), (0, rows - columns)), constant_values=-1)
    return np.ascontiguousarray(pairs[:, :, :rows])


def convolve(
    features: np.ndarray,
    filters: np.ndarray,
    pairs: np.ndarray,
    num: np.ndarray,
    rows: int,
    bias: np.ndarray | None = None,
    activation: str = "None",
    alpha: float = 0.0,
) -> np.ndarray:
    """Returns activation(convolution + bias) as [rows, Co] of the dtype of the features.

    pairs [K, 2, n] and their numbers [K]. Sums, bias and activation are computed in float32, or in
    float64 if an array has it, and rounded once.
    """
    K = math.prod(filters.shape[1:-1])
    if len(pairs) != K:
        raise bad_param(f"the filters have {K} offsets, expected {len(pairs)}, as the pairs")
    arrays = [each for each in (features, filters, bias) if each is not None]
    dtype = np.result_type(np.float32, *arrays)
    flat = filters.reshape(filters.shape[0], K, 1, 1, filters.shape[-1])
    fitted = fitted_pairs(pairs, len(features))
    wide = np.asarray(features, dtype), flat.astype(dtype, copy=False)
    output = indice_conv(*wide, fitted, num, rows, False, "NDHWC")
    if bias is not None:
        output += bias
    return activated(output, activation, alpha).astype(features.dtype, copy=False)


def activated(output: np.ndarray, activation: str, alpha: float = 0.0) -> np.ndarray:
    """Returns an activation by its name in spconv; alpha is the slope of LeakyReLU."""
    result: np.ndarray = output
    if activation == "ReLU":
        result = np.maximum(output, 0)
    elif activation == "Sigmoid":
        # exp overflows to infinity, whose reciprocal is 0.
        with np.errstate(over="ignore"):
            result = 1 / (1 + np.exp(-output))
    elif activation == "LeakyReLU":
        result = np.where(output < 0, output * output.dtype.type(alpha), output)
    elif activation != "None":
        expected = "None, ReLU, Sigmoid or LeakyReLU"
        raise bad_param(f"the activation is {activation!r}, expected {expected}")
    return result
