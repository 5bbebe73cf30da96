"""Deformable convolution by differentiable operators of PyTorch.

They compute the derivatives that the library lacks: gradients of gradients, and tangents along
offsets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mluop_omp._operators._bilinear import Corner, corners
from mluop_omp._operators._derivative import in_float32
from mluop_omp._operators._torch import Tensor, torch


class Geometry(NamedTuple):
    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]
    groups: int
    deformable_groups: int


def _pixels(
    input: Tensor, offset: Tensor, kernel: Sequence[int], geometry: Geometry
) -> Iterator[tuple[Corner, Tensor, Tensor]]:
    """Yields each of the four pixels around the samples [N, deformable groups, 1, offset, Ho, Wo],
    its index in [N, deformable groups, channel, H W], and its values, 0 outside of the image.
    """
    (N, C, H, W), (Ho, Wo) = input.shape, offset.shape[2:]
    groups, K = geometry.deformable_groups, math.prod(kernel)
    flat = input.reshape(N, groups, C // groups, H * W)
    offsets = offset.reshape(N, groups, 1, K, 2, Ho, Wo).unbind(4)
    k = torch.cartesian_prod(*(torch.arange(size) for size in kernel)).view(K, 2)
    pixels = torch.arange(Ho).view(Ho, 1), torch.arange(Wo)
    y, x = (
        pixel * stride - pad + (k[:, axis] * dilation).view(K, 1, 1) + offsets[axis]
        for axis, (pixel, stride, pad, dilation) in enumerate(zip(pixels, *geometry[:3]))
    )
    for corner in corners(y, x, H, W):
        index = corner.pixel.reshape(N, groups, 1, -1).expand(-1, -1, C // groups, -1)
        read = flat.gather(3, index).reshape(N, groups, -1, K, Ho, Wo)
        yield corner, index, torch.where(corner.exists, read, 0)


def _of_samples(mask: Tensor | None, offset: Tensor, geometry: Geometry) -> Tensor:
    """Returns the mask as [N, deformable groups, 1, offset, Ho, Wo]."""
    N, channels, Ho, Wo = offset.shape
    groups = geometry.deformable_groups
    if mask is None:
        return offset.new_ones(N, groups, 1, channels // (2 * groups), Ho, Wo)
    return mask.reshape(N, groups, 1, -1, Ho, Wo)


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
    tangents = tangent.reshape(N, geometry.deformable_groups, 1, -1, 2, Ho, Wo).unbind(4)
    slopes = sum(
        values * sum(slope * along for slope, along in zip(corner.slopes, tangents))
        for corner, _, values in _pixels(input, offset, kernel, geometry)
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
    filters = _filters(weight, geometry.groups)
    grouped = grad.reshape(N, geometry.groups, -1, math.prod(grad.shape[2:]))
    of_columns = filters.transpose(1, 2) @ grouped
    grad_samples = of_columns.reshape(N, groups, C // groups, -1, *offset.shape[2:])
    grad_flat = input.new_zeros(N, groups, C // groups, H * W)
    samples = grad_y = grad_x = grad_mask = torch.zeros_like(of_samples)
    inside = torch.zeros_like(of_samples, dtype=torch.bool)
    for corner, index, values in _pixels(input, offset, weight.shape[2:], geometry):
        samples = samples + corner.weight * values
        share = torch.where(corner.exists, corner.weight * of_samples * grad_samples, 0)
        grad_flat = grad_flat.scatter_add(3, index, share.reshape(index.shape))
        products = (grad_samples * values).sum(2, keepdim=True)
        grad_mask = grad_mask + corner.weight * products
        grad_y = grad_y + corner.slopes[0] * products
        grad_x = grad_x + corner.slopes[1] * products
        inside = inside | corner.exists
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
