"""Deformable convolution by differentiable operators of PyTorch.

They compute the derivatives that the library lacks: gradients of gradients, and tangents along
offsets.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from mluop_omp._operators._derivative import in_float32
from mluop_omp._operators._torch import torch

if TYPE_CHECKING:
    from torch import Tensor


class Geometry(NamedTuple):
    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]
    groups: int
    deformable_groups: int


class _Corner(NamedTuple):
    """One of the four pixels around each sample; shapes [N, deformable groups, ...]."""

    index: Tensor  # [..., 1, offset * pixel], among the pixels of the image
    values: Tensor  # [..., channel, offset, Ho, Wo]; 0 outside of the image
    exists: Tensor  # [..., offset, Ho, Wo]
    weight: Tensor
    slopes: tuple[Tensor, Tensor]  # of the weight, along height and width


def _corners(
    input: Tensor, offset: Tensor, kernel: Sequence[int], geometry: Geometry
) -> Iterator[_Corner]:
    (N, C, H, W), (Ho, Wo) = input.shape, offset.shape[2:]
    groups, K = geometry.deformable_groups, math.prod(kernel)
    flat = input.reshape(N, groups, C // groups, H * W)
    offsets = offset.reshape(N, groups, K, 2, Ho, Wo)
    k = torch.cartesian_prod(*(torch.arange(size) for size in kernel)).view(K, 2)
    pixels = torch.arange(Ho).view(Ho, 1), torch.arange(Wo)
    positions = []
    for axis, pixel in enumerate(pixels):
        start = pixel * geometry.stride[axis] - geometry.padding[axis]
        along = start + (k[:, axis] * geometry.dilation[axis]).view(K, 1, 1)
        positions.append(along + offsets[:, :, :, axis])
    y, x = positions
    inside = (y > -1) & (y < H) & (x > -1) & (x < W)
    y, x = torch.where(inside, y, 0), torch.where(inside, x, 0)
    top, left = y.floor(), x.floor()
    for down, right in itertools.product((0, 1), (0, 1)):
        row, column = top + down, left + right
        exists = inside & (row >= 0) & (row < H) & (column >= 0) & (column < W)
        index = torch.where(exists, row * W + column, 0).long().reshape(N, groups, 1, -1)
        read = flat.gather(3, index.expand(-1, -1, flat.shape[2], -1))
        values = torch.where(exists.unsqueeze(2), read.reshape(N, groups, -1, K, Ho, Wo), 0)
        along_y = y - top if down else 1 - (y - top)
        along_x = x - left if right else 1 - (x - left)
        slopes = (2 * down - 1) * along_x, (2 * right - 1) * along_y
        yield _Corner(index, values, exists, along_y * along_x, slopes)


def _of_samples(mask: Tensor | None, offset: Tensor, geometry: Geometry) -> Tensor:
    """Returns the mask as [N, deformable groups, 1, offset, Ho, Wo]."""
    N, channels, Ho, Wo = offset.shape
    groups = geometry.deformable_groups
    if mask is None:
        return offset.new_ones(N, groups, 1, channels // (2 * groups), Ho, Wo)
    return mask.reshape(N, groups, 1, -1, Ho, Wo)


def _grouped(values: Tensor, groups: int) -> Tensor:
    """Returns [N, C, Ho, Wo] as [N, groups, C / groups, pixel]."""
    return values.reshape(values.shape[0], groups, values.shape[1] // groups, -1)


def _filters(weight: Tensor, groups: int) -> Tensor:
    """Returns [Co, C, kh, kw] as [groups, Co / groups, C * offset]."""
    return weight.reshape(groups, weight.shape[0] // groups, -1)


def _columns(samples: Tensor, groups: int) -> Tensor:
    """Returns [N, deformable groups, channel, offset, Ho, Wo] as [N, groups, C * offset, pixel]."""
    N, *_, Ho, Wo = samples.shape
    return samples.reshape(N, groups, -1, Ho * Wo)


def _has_products(input: Tensor, weight: Tensor) -> bool:
    return input.numel() > 0 and weight.numel() > 0


@in_float32
def tangent_along_offset(
    tangent: Tensor,
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    mask: Tensor | None,
    geometry: Geometry,
) -> Tensor:
    kernel, (N, _, Ho, Wo) = weight.shape[2:], offset.shape
    if not _has_products(input, weight):
        return input.new_zeros(N, weight.shape[0], Ho, Wo)
    tangents = tangent.reshape(N, geometry.deformable_groups, -1, 2, Ho, Wo).unbind(3)
    slopes = sum(
        corner.values * sum(s * t for s, t in zip(corner.slopes, tangents)).unsqueeze(2)
        for corner in _corners(input, offset, kernel, geometry)
    )
    columns = _columns(slopes * _of_samples(mask, offset, geometry), geometry.groups)
    sums = _filters(weight, geometry.groups) @ columns
    return sums.reshape(N, weight.shape[0], Ho, Wo)


@in_float32
def backward(
    grad: Tensor,
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    mask: Tensor | None,
    geometry: Geometry,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Returns the gradients of input, offset, weight and mask."""
    (N, C, H, W), groups = input.shape, geometry.deformable_groups
    if not _has_products(input, weight):
        shape = N, offset.shape[1] // 2, *offset.shape[2:]
        shapes = input.shape, offset.shape, weight.shape, shape
        of_input, of_offset, of_weight, of_mask = (input.new_zeros(each) for each in shapes)
        return of_input, of_offset, of_weight, of_mask
    of_samples = _of_samples(mask, offset, geometry)
    filters, grouped = _filters(weight, geometry.groups), _grouped(grad, geometry.groups)
    of_columns = filters.transpose(1, 2) @ grouped
    grad_samples = of_columns.reshape(N, groups, C // groups, -1, *offset.shape[2:])
    grad_flat = input.new_zeros(N, groups, C // groups, H * W)
    samples = grad_y = grad_x = grad_mask = torch.zeros_like(of_samples)
    inside = torch.zeros_like(of_samples, dtype=torch.bool)
    for index, values, exists, corner_weight, (slope_y, slope_x) in _corners(
        input, offset, weight.shape[2:], geometry
    ):
        of_pixel = corner_weight.unsqueeze(2)
        samples = samples + of_pixel * values
        share = torch.where(exists.unsqueeze(2), of_pixel * of_samples * grad_samples, 0)
        where = index.expand(-1, -1, grad_flat.shape[2], -1)
        grad_flat = grad_flat.scatter_add(3, where, share.reshape(where.shape))
        products = (grad_samples * values).sum(2, keepdim=True)
        grad_mask = grad_mask + of_pixel * products
        grad_y = grad_y + slope_y.unsqueeze(2) * products
        grad_x = grad_x + slope_x.unsqueeze(2) * products
        inside = inside | exists.unsqueeze(2)
    # Positions outside of the image have no terms.
    grad_y, grad_x = (torch.where(inside, of_samples * slope, 0) for slope in (grad_y, grad_x))
    grad_mask = torch.where(inside, grad_mask, 0)
    columns = _columns(samples * of_samples, geometry.groups)
    grad_filters = (grouped @ columns.transpose(2, 3)).sum(0)
    return (
        grad_flat.reshape(input.shape),
        torch.stack((grad_y, grad_x), 4).reshape(offset.shape),
        grad_filters.reshape(weight.shape),
        grad_mask.reshape(N, -1, *offset.shape[2:]),
    )
