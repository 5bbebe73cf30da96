"""Deformable convolution."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np


class _Corner(NamedTuple):
    """One of the four pixels around each sample: arrays [N, deformable groups, offset, Ho, Wo]."""

    index: np.ndarray  # in the image; 0 outside
    exists: np.ndarray
    values: np.ndarray  # [N, deformable groups, channel, offset, Ho, Wo]; 0 outside
    weight: np.ndarray
    slopes: tuple[np.ndarray, np.ndarray]  # of the weight, along height and width


class _Samples:
    """The samples of a deformable convolution: arrays [N, deformable groups, offset, Ho, Wo]."""

    def __init__(
        self,
        input: np.ndarray,
        offset: np.ndarray,
        mask: np.ndarray | None,
        kernel: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        deformable_groups: int,
    ) -> None:
        (N, C, *self._sizes), (Ho, Wo), K = input.shape, offset.shape[2:], math.prod(kernel)
        self.shape = N, deformable_groups, K, Ho, Wo
        self.mask = np.ones(self.shape)
        if mask is not None:
            self.mask = mask.astype(np.float64).reshape(self.shape)
        self._flat = input.astype(np.float64).reshape(
            N, deformable_groups, C // deformable_groups, math.prod(self._sizes)
        )
        # Positions are rounded to fp32: slopes change where they pass a pixel.
        dtype = np.float64 if offset.dtype == np.float64 else np.float32
        offsets = offset.astype(dtype).reshape(N, deformable_groups, K, 2, Ho, Wo)
        k = np.indices(kernel).reshape(2, K, 1, 1)
        starts = (
            pixel * stride[axis] - padding[axis] + k[axis] * dilation[axis]
            for axis, pixel in enumerate(np.ogrid[:Ho, :Wo])
        )
        self._positions = [
            (start.astype(dtype) + offsets[:, :, :, axis]).astype(np.float64)
            for axis, start in enumerate(starts)
        ]
        self._inside = np.logical_and(
            *((at > -1) & (at < size) for at, size in zip(self._positions, self._sizes))
        )

    def _corners(self) -> Iterator[_Corner]:
        H, W = self._sizes
        y, x = (np.where(self._inside, position, 0) for position in self._positions)
        top, left = np.floor(y), np.floor(x)
        for down, right in np.ndindex(2, 2):
            row, column = top + down, left + right
            exists = self._inside & (row >= 0) & (row < H) & (column >= 0) & (column < W)
            index = np.where(exists, row * W + column, 0).astype(np.int64)
            N, groups, *samples = self.shape
            values = np.take_along_axis(self._flat, index.reshape(N, groups, 1, -1), 3)
            values = values.reshape(N, groups, -1, *samples)
            along_y, along_x = 1 - abs(y - row), 1 - abs(x - column)
            slopes = (2 * down - 1) * along_x, (2 * right - 1) * along_y
            values = np.where(exists[:, :, np.newaxis], values, 0)
            yield _Corner(index, exists, values, along_y * along_x, slopes)

    def columns(self, groups: int) -> np.ndarray:
        """Returns the interpolated channels [N, groups, channel, offset, pixel]."""
        N, _, K, Ho, Wo = self.shape
        samples = sum(each.values * each.weight[:, :, np.newaxis] for each in self._corners())
        return (samples * self.mask[:, :, np.newaxis]).reshape(N, groups, -1, K, Ho * Wo)

    def gradients(self, grad: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns the gradients of input, offset and mask, given the gradient of the columns."""
        N, groups, K, Ho, Wo = self.shape
        grad = grad.reshape(N, groups, -1, K, Ho, Wo)
        grad_input, grad_mask = np.zeros(self._flat.shape), np.zeros(self.shape)
        grad_offset = np.zeros((N, groups, K, 2, Ho, Wo))
        places = np.ogrid[:N, :groups, : grad.shape[2], :1][:3]
        for corner in self._corners():
            products = (grad * corner.values).sum(2)
            grad_mask += corner.weight * products
            for axis, slope in enumerate(corner.slopes):
                grad_offset[:, :, :, axis] += slope * products
            factor = np.where(corner.exists, self.mask * corner.weight, 0)
            share = (grad * factor[:, :, np.newaxis]).reshape(*grad.shape[:3], -1)
            np.add.at(grad_input, (*places, corner.index.reshape(N, groups, 1, -1)), share)
        # Positions outside of the image have no terms.
        grad_mask = np.where(self._inside, grad_mask, 0)
        grad_offset *= self.mask[:, :, :, np.newaxis]
        return grad_input, np.where(self._inside[:, :, :, np.newaxis], grad_offset, 0), grad_mask


def _grouped(values: np.ndarray, groups: int) -> np.ndarray:
    """Returns [N, C, H, W] as [N, groups, C / groups, H W]."""
    N, C, H, W = values.shape
    return values.astype(np.float64).reshape(N, groups, C // groups, H * W)


def _filters(weight: np.ndarray, groups: int) -> np.ndarray:
    """Returns [Co, C, kh, kw] as [groups, Co / groups, C, kh kw]."""
    return weight.astype(np.float64).reshape(
        groups, len(weight) // groups, weight.shape[1], math.prod(weight.shape[2:])
    )


def deform_conv2d(
    input: np.ndarray,
    offset: np.ndarray,
    weight: np.ndarray,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
) -> np.ndarray:
    output = np.zeros((len(input), len(weight), *offset.shape[2:]))
    if input.size and weight.size:
        geometry = (weight.shape[2:], stride, padding, dilation, deformable_groups)
        columns = _Samples(input, offset, mask, *geometry).columns(groups)
        filters = _filters(weight, groups)
        output = np.einsum("ngckp,gock->ngop", columns, filters, optimize=True).reshape(
            output.shape
        )
    return output if bias is None else output + bias.astype(np.float64)[:, np.newaxis, np.newaxis]


def deform_conv2d_backward_data(
    grad_output: np.ndarray,
    input: np.ndarray,
    offset: np.ndarray,
    weight: np.ndarray,
    mask: np.ndarray | None = None,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    no_mask = np.zeros((len(offset), 0, *offset.shape[2:]))
    if not (input.size and weight.size):
        shapes = input.shape, offset.shape, (no_mask if mask is None else mask).shape
        of_input, of_offset, of_mask = map(np.zeros, shapes)
        return of_input, of_offset, of_mask
    geometry = (weight.shape[2:], stride, padding, dilation, deformable_groups)
    factors = _grouped(grad_output, groups), _filters(weight, groups)
    grad = np.einsum("ngop,gock->ngckp", *factors, optimize=True)
    samples = _Samples(input, offset, mask, *geometry)
    of_input, of_offset, of_mask = samples.gradients(grad)
    return (
        of_input.reshape(input.shape),
        of_offset.reshape(offset.shape),
        no_mask if mask is None else of_mask.reshape(mask.shape),
    )


def deform_conv2d_backward_weight(
    grad_output: np.ndarray,
    input: np.ndarray,
    offset: np.ndarray,
    mask: np.ndarray | None,
    kernel: Sequence[int],
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
) -> tuple[np.ndarray, np.ndarray]:
    grad_bias = grad_output.astype(np.float64).sum((0, 2, 3))
    shape = grad_output.shape[1], input.shape[1] // groups, *kernel
    if not (input.size and math.prod(shape)):
        return np.zeros(shape), grad_bias
    geometry = (kernel, stride, padding, dilation, deformable_groups)
    columns = _Samples(input, offset, mask, *geometry).columns(groups)
    grouped = _grouped(grad_output, groups)
    grad_weight = np.einsum("ngop,ngckp->gock", grouped, columns, optimize=True)
    return grad_weight.reshape(shape), grad_bias
