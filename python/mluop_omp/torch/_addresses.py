"""The operators on points for indices outside of their cloud, as kernels without checks read them.

mmcv's, OpenPCDet's and pointnet2's kernels for GPUs read and add to the element at the address that
follows from an index, whichever cloud or channel holds it. An index that an operator refuses is
computed here so, if all addresses are inside the tensor. Sums of half and bfloat16 are float32,
rounded once.
"""

from __future__ import annotations

import functools
import math
import re
from typing import Any, Callable

import torch
from torch import Tensor

from mluop_omp._library import MluOpError
from mluop_omp._operators._declaration import Operator, operators
from mluop_omp.torch._arrays import Into, TorchArrays

# As in "[mluOpOmpStackGroupPointsForward] indices[0, 3] is 9, expected 0 to 5". All shapes and
# element types are right then.
_REFUSED = re.compile(
    r"^\[\w+\] (indices\[|features_batch_cnt\[|\w+ dim 0 is \d+, expected (the sum of|at least 1))"
)


def or_by_address(operator: Operator, by_address: Callable[..., Tensor]) -> Callable[..., Any]:
    """Returns an operator that computes by_address(...) for indices that `operator` refuses.

    The error is raised if by_address raises IndexError: an address is outside of its tensor.
    """

    def compute(arrays: TorchArrays, *arguments: Any) -> Any:
        try:
            return operator(arrays, *arguments)
        except MluOpError as error:
            if not _REFUSED.match(error.message):
                raise
            try:
                result = by_address(*arguments)
            except IndexError:
                raise error from None
            return arrays.outputs[0].copy_(result) if isinstance(arrays, Into) else result

    return compute


def _inside(addresses: Tensor, size: int) -> Tensor:
    """Returns the addresses. Raises IndexError if one is outside of a tensor of this size."""
    if not ((addresses >= 0) & (addresses < size)).all():
        raise IndexError
    return addresses


def _of_channels(indices: Tensor, channels: int, size: int) -> Tensor:
    """Returns the addresses [B, C, ...] in [B, C, N] of indices [B, ...]."""
    rows = torch.arange(len(indices) * channels) * size
    rows = rows.view(len(indices), channels, *[1] * (indices.dim() - 1))
    return rows + indices.long().unsqueeze(1)


def _read(features: Tensor, addresses: Tensor) -> Tensor:
    return features.flatten()[_inside(addresses, features.numel())]


def _sums(shape: tuple[int, ...], addresses: Tensor, values: Tensor) -> Tensor:
    """Returns a tensor to which values are added at addresses."""
    sums = torch.zeros(math.prod(shape), dtype=torch.promote_types(values.dtype, torch.float32))
    sums.index_add_(0, _inside(addresses, len(sums)).flatten(), values.flatten().to(sums.dtype))
    return sums.view(shape).to(values.dtype)


def _gather(features: Tensor, indices: Tensor) -> Tensor:
    return _read(features, _of_channels(indices, *features.shape[1:]))


def _gather_backward(grad: Tensor, indices: Tensor, N: int) -> Tensor:
    return _sums((*grad.shape[:2], N), _of_channels(indices, grad.shape[1], N), grad)


def _weighted(values: Tensor, weights: Tensor) -> Tensor:
    dtype = torch.promote_types(values.dtype, torch.float32)
    return values.to(dtype) * weights.to(dtype).unsqueeze(1)


def _interpolate(features: Tensor, indices: Tensor, weights: Tensor) -> Tensor:
    first, second, third = _weighted(_gather(features, indices), weights).unbind(3)
    return (first + second + third).to(features.dtype)


def _interpolate_backward(grad: Tensor, indices: Tensor, weights: Tensor, M: int) -> Tensor:
    return _gather_backward(_weighted(grad.unsqueeze(3), weights), indices, M).to(grad.dtype)


def _of_clouds(
    indices: Tensor, counts: Tensor, features_counts: Tensor, N: int, C: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the addresses [M, C, S] in [N, C] of indices [M, S] of stacked clouds; which of them
    are read; and which are before the last row of their cloud among all rows.

    Rows of indices past the last cloud belong to the last cloud. An index of a cloud without points
    that has no address inside the tensor has no element: clients mask it.
    """
    if not len(counts):
        raise IndexError
    sizes, place = features_counts.long(), torch.arange(len(indices))
    cloud = torch.searchsorted(counts.long().cumsum(0), place, right=True)
    cloud = cloud.clamp(max=len(counts) - 1)
    stops = sizes.cumsum(0)
    rows = indices.long() + (stops - sizes)[cloud].unsqueeze(1)
    addresses = rows.unsqueeze(1) * C + torch.arange(C).view(-1, 1)
    is_read = (sizes[cloud] > 0).unsqueeze(1) | ((rows >= 0) & (rows < N))
    is_before_stop = indices < stops[cloud].unsqueeze(1)
    return (
        addresses,
        is_read.unsqueeze(1).expand_as(addresses),
        is_before_stop.unsqueeze(1).expand_as(addresses),
    )


def _stack_gather(
    features: Tensor,
    features_counts: Tensor,
    indices: Tensor,
    counts: Tensor,
    skipped: Tensor | None = None,
) -> Tensor:
    """`skipped`: values of indices at or past the last row of the cloud among all rows, which
    mmcv's kernel does not read.
    """
    places = _of_clouds(indices, counts, features_counts, *features.shape)
    addresses, is_read, is_before_stop = places
    found = features.new_zeros(addresses.shape)
    if skipped is not None:
        is_read = is_read & is_before_stop
        found[~is_before_stop] = skipped[~is_before_stop].to(found.dtype)
    found[is_read] = _read(features, addresses[is_read])
    return found


def _stack_gather_backward(
    grad: Tensor, indices: Tensor, counts: Tensor, features_counts: Tensor, N: int
) -> Tensor:
    shape = N, grad.shape[1]
    addresses, is_read, _ = _of_clouds(indices, counts, features_counts, *shape)
    return _sums(shape, addresses[is_read], grad[is_read])


def stack_group_points_of_mmcv(out: Tensor) -> Callable[..., Any]:
    """Returns the operator that leaves elements of out which mmcv's kernel does not write."""
    by_address = functools.partial(_stack_gather, skipped=out)
    return or_by_address(operators.stack_group_points, by_address)


gather_points = or_by_address(operators.gather_points, _gather)
gather_points_backward = or_by_address(operators.gather_points_backward, _gather_backward)
three_interpolate = or_by_address(operators.three_interpolate, _interpolate)
three_interpolate_backward = or_by_address(
    operators.three_interpolate_backward, _interpolate_backward
)
stack_group_points = or_by_address(operators.stack_group_points, _stack_gather)
stack_group_points_backward = or_by_address(
    operators.stack_group_points_backward, _stack_gather_backward
)
