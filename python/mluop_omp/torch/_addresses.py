"""The operators on points for indices outside of their cloud, as kernels without checks read them.

mmcv's, OpenPCDet's and pointnet2's kernels for GPUs read and add to the element at the address that
follows from an index, whichever cloud or channel holds it. An index that an operator refuses is
computed here so, if all addresses are inside the tensor. Sums of half and bfloat16 are float32,
rounded once.
"""

from __future__ import annotations

import re
from typing import Any, Callable

import torch
from torch import Tensor

from mluop_omp._library import MluOpError
from mluop_omp._operators._declaration import operators
from mluop_omp.torch._arrays import Into

# As in "[mluOpOmpStackGroupPointsForward] indices[0, 3] is 9, expected 0 to 5". All shapes and
# element types are right then.
_REFUSED = re.compile(
    r"^\[\w+\] (indices\[|features_batch_cnt\[|\w+ dim 0 is \d+, expected (the sum of|at least 1))"
)


def or_by_address(
    operator: Callable[..., Any], by_address: Callable[..., Tensor | None]
) -> Callable[..., Any]:
    """Returns an operator that computes by_address(...) for indices that `operator` refuses.

    by_address returns None if an address is outside of its tensor: then the error is raised.
    """

    def compute(arrays: Any, *arguments: Any) -> Any:
        try:
            return operator(arrays, *arguments)
        except MluOpError as error:
            result = by_address(*arguments) if _REFUSED.match(error.message) else None
            if result is None:
                raise
            return arrays.outputs[0].copy_(result) if isinstance(arrays, Into) else result

    return compute


def _of_channels(indices: Tensor, channels: int, size: int) -> Tensor:
    """Returns the addresses [B, C, ...] in [B, C, N] of indices [B, ...]."""
    rows = torch.arange(len(indices) * channels) * size
    rows = rows.view(len(indices), channels, *[1] * (indices.dim() - 1))
    return rows + indices.long().unsqueeze(1)


def _read(features: Tensor, addresses: Tensor, is_read: Tensor | None = None) -> Tensor | None:
    """Returns the elements at addresses, 0 where is_read is false."""
    if is_read is not None:
        addresses = addresses.masked_fill(~is_read, -1)
    is_inside = (addresses >= 0) & (addresses < features.numel())
    if not (is_inside if is_read is None else is_inside | ~is_read).all():
        return None
    found = features.new_zeros(addresses.shape)
    found[is_inside] = features.reshape(-1)[addresses[is_inside]]
    return found


def _sums(shape: tuple[int, ...], addresses: Tensor, values: Tensor) -> Tensor | None:
    """Returns a tensor to which values are added at addresses."""
    sums = torch.zeros(shape, dtype=torch.promote_types(values.dtype, torch.float32))
    if not ((addresses >= 0) & (addresses < sums.numel())).all():
        return None
    sums.view(-1).index_add_(0, addresses.flatten(), values.flatten().to(sums.dtype))
    return sums.to(values.dtype)


def _gather(features: Tensor, indices: Tensor) -> Tensor | None:
    return _read(features, _of_channels(indices, *features.shape[1:]))


def _gather_backward(grad: Tensor, indices: Tensor, N: int) -> Tensor | None:
    return _sums((*grad.shape[:2], N), _of_channels(indices, grad.shape[1], N), grad)


def _weighted(values: Tensor, weights: Tensor) -> Tensor:
    dtype = torch.promote_types(values.dtype, torch.float32)
    return values.to(dtype) * weights.to(dtype).unsqueeze(1)


def _interpolate(features: Tensor, indices: Tensor, weights: Tensor) -> Tensor | None:
    read = _gather(features, indices)
    if read is None:
        return None
    first, second, third = _weighted(read, weights).unbind(3)
    return (first + second + third).to(features.dtype)


def _interpolate_backward(grad: Tensor, indices: Tensor, weights: Tensor, M: int) -> Tensor | None:
    sums = _gather_backward(_weighted(grad.unsqueeze(3), weights), indices, M)
    return None if sums is None else sums.to(grad.dtype)


class _Rows:
    """The addresses [M, C, S] in [N, C] of indices [M, S] of stacked clouds.

    Rows of indices past the last cloud belong to the last cloud. An index of a cloud without points
    that has no address inside the tensor has no element: clients mask it.
    """

    def __init__(
        self, indices: Tensor, counts: Tensor, features_counts: Tensor, shape: tuple[int, int]
    ) -> None:
        (N, C), sizes = shape, features_counts.long()
        cloud = torch.searchsorted(
            counts.long().cumsum(0), torch.arange(len(indices)), right=True
        ).clamp(max=len(counts) - 1)
        stops = sizes.cumsum(0)
        rows = indices.long() + (stops - sizes)[cloud].unsqueeze(1)
        self.addresses = rows.unsqueeze(1) * C + torch.arange(C).view(-1, 1)
        self.is_read = ~((sizes[cloud] == 0).unsqueeze(1) & ((rows < 0) | (rows >= N)))
        self.is_before_stop = indices < stops[cloud].unsqueeze(1)


def _stack_gather(
    features: Tensor,
    features_counts: Tensor,
    indices: Tensor,
    counts: Tensor,
    skipped: Tensor | None = None,
) -> Tensor | None:
    """`skipped`: values of indices at or past the last row of the cloud among all rows, which
    mmcv's kernel does not read.
    """
    if not len(counts):
        return None
    rows = _Rows(indices, counts, features_counts, tuple(features.shape))
    is_read = rows.is_read if skipped is None else rows.is_read & rows.is_before_stop
    found = _read(features, rows.addresses, is_read.unsqueeze(1).expand(rows.addresses.shape))
    if found is None or skipped is None:
        return found
    return torch.where(rows.is_before_stop.unsqueeze(1), found, skipped.to(found.dtype))


def _stack_gather_backward(
    grad: Tensor, indices: Tensor, counts: Tensor, features_counts: Tensor, N: int
) -> Tensor | None:
    if not len(counts):
        return None
    shape = N, grad.shape[1]
    rows = _Rows(indices, counts, features_counts, shape)
    is_read = rows.is_read.unsqueeze(1).expand(grad.shape)
    return _sums(shape, rows.addresses[is_read], grad[is_read])


def stack_group_points_of_mmcv(out: Tensor) -> Callable[..., Any]:
    """Returns the operator that leaves elements of out which mmcv's kernel does not write."""

    def by_address(*arguments: Tensor) -> Tensor | None:
        return _stack_gather(*arguments, skipped=out)

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
