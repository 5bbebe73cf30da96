"""Deformable convolution."""

from __future__ import annotations

import math

import numpy as np

from mluop_omp._definitions._bilinear import are_inside, corners


class _Samples:
    """The samples of a deformable convolution: arrays [N, deformable groups, offset, Ho, Wo]."""

    def __init__(self, input, offset, mask, kernel, stride, padding, dilation, deformable_groups):
        (N, _, *sizes), (Ho, Wo), K = input.shape, offset.shape[2:], math.prod(kernel)
        self.shape = N, deformable_groups, K, Ho, Wo
        self.mask = np.ones(self.shape)
        if mask is not None:
            self.mask = mask.astype(np.float64).reshape(self.shape)
        self._flat = _grouped(input, deformable_groups)
        # Positions are rounded to fp32: slopes change where they pass a pixel.
        dtype = np.float64 if offset.dtype == np.float64 else np.float32
        offsets = offset.astype(dtype).reshape(N, deformable_groups, K, 2, Ho, Wo)
        k = np.indices(kernel).reshape(2, K, 1, 1)
        starts = (
            pixel * stride[axis] - padding[axis] + k[axis] * dilation[axis]
            for axis, pixel in enumerate(np.ogrid[:Ho, :Wo])
        )
        y, x = (at.astype(dtype) + offsets[:, :, :, axis] for axis, at in enumerate(starts))
        self._positions = y, x, *sizes

    def _corners(self):
        """Yields the corners of the samples, and their values [N, groups, channel, *samples]."""
        N, groups, *samples = self.shape
        for corner in corners(*self._positions):
            values = np.take_along_axis(self._flat, corner.index.reshape(N, groups, 1, -1), 3)
            values = values.reshape(N, groups, -1, *samples)
            yield corner, np.where(corner.exists[:, :, np.newaxis], values, 0)

    def columns(self, groups):
        """Returns the interpolated channels [N, groups, channel, offset, pixel]."""
        N, _, K, Ho, Wo = self.shape
        samples = sum(values * each.weight[:, :, np.newaxis] for each, values in self._corners())
        return (samples * self.mask[:, :, np.newaxis]).reshape(N, groups, -1, K, Ho * Wo)

    def gradients(self, grad):
        """Returns the gradients of input, offset and mask, given the gradient of the columns."""
        N, groups, K, Ho, Wo = self.shape
        grad = grad.reshape(N, groups, -1, K, Ho, Wo)
        grad_input, grad_mask = np.zeros(self._flat.shape), np.zeros(self.shape)
        grad_offset = np.zeros((N, groups, K, 2, Ho, Wo))
        places = np.ogrid[:N, :groups, : grad.shape[2], :1][:3]
        for corner, values in self._corners():
            products = (grad * values).sum(2)
            grad_mask += corner.weight * products
            for axis, slope in enumerate(corner.slopes):
                grad_offset[:, :, :, axis] += slope * products
            factor = np.where(corner.exists, self.mask * corner.weight, 0)
            share = (grad * factor[:, :, np.newaxis]).reshape(*grad.shape[:3], -1)
            np.add.at(grad_input, (*places, corner.index.reshape(N, groups, 1, -1)), share)
        # Positions outside of the image have no terms.
        inside = are_inside(*self._positions)
        grad_offset *= self.mask[:, :, :, np.newaxis]
        grad_offset = np.where(inside[:, :, :, np.newaxis], grad_offset, 0)
        return grad_input, grad_offset, np.where(inside, grad_mask, 0)


def _grouped(values, groups):
    """Returns [N, C, H, W] as [N, groups, C / groups, H W]."""
    N, C, H, W = values.shape
    return values.astype(np.float64).reshape(N, groups, C // groups, H * W)


def _filters(weight, groups):
    """Returns [Co, C, kh, kw] as [groups, Co / groups, C, kh kw]."""
    Co, C, *kernel = weight.shape
    return weight.astype(np.float64).reshape(groups, Co // groups, C, math.prod(kernel))


def deform_conv2d(
    input, offset, weight, mask, bias, stride, padding, dilation, groups, deformable_groups
):
    output = np.zeros((len(input), len(weight), *offset.shape[2:]))
    if input.size and weight.size:
        geometry = (weight.shape[2:], stride, padding, dilation, deformable_groups)
        columns = _Samples(input, offset, mask, *geometry).columns(groups)
        factors = columns, _filters(weight, groups)
        output = np.einsum("ngckp,gock->ngop", *factors, optimize=True).reshape(output.shape)
    return output if bias is None else output + bias.astype(np.float64)[:, np.newaxis, np.newaxis]


def deform_conv2d_backward_data(
    grad_output, input, offset, weight, mask, stride, padding, dilation, groups, deformable_groups
):
    no_mask = np.zeros((len(offset), 0, *offset.shape[2:]))
    shapes = input.shape, offset.shape, (no_mask if mask is None else mask).shape
    if not (input.size and weight.size):
        return tuple(map(np.zeros, shapes))
    geometry = (weight.shape[2:], stride, padding, dilation, deformable_groups)
    factors = _grouped(grad_output, groups), _filters(weight, groups)
    grad = np.einsum("ngop,gock->ngckp", *factors, optimize=True)
    of_input, of_offset, of_mask = _Samples(input, offset, mask, *geometry).gradients(grad)
    of_mask = no_mask if mask is None else of_mask
    return tuple(map(np.reshape, (of_input, of_offset, of_mask), shapes))


def deform_conv2d_backward_weight(
    grad_output, input, offset, mask, kernel, stride, padding, dilation, groups, deformable_groups
):
    grad_bias = grad_output.astype(np.float64).sum((0, 2, 3))
    shape = grad_output.shape[1], input.shape[1] // groups, *kernel
    if not (input.size and math.prod(shape)):
        return np.zeros(shape), grad_bias
    geometry = (kernel, stride, padding, dilation, deformable_groups)
    columns = _Samples(input, offset, mask, *geometry).columns(groups)
    factors = _grouped(grad_output, groups), columns
    grad_weight = np.einsum("ngop,ngckp->gock", *factors, optimize=True)
    return grad_weight.reshape(shape), grad_bias


def deform_conv2d_arguments(random, images=2, C=2, H=4, W=3, outputs=2, kh=2, kw=2):
    """Returns arguments with two groups of C channels, for `outputs` channels each."""
    Ho, Wo = (max(size + 3 - kernel, 0) for size, kernel in ((H, kh), (W, kw)))
    # Rounding to lower precision moves no sample past a pixel, where slopes change.
    places = images, 4 * kh * kw, Ho, Wo
    offset = np.floor(random.floats(*places)) + random.positive(*places) / 3
    image = random.floats(images, 2 * C, H, W)
    mask = random.positive(images, 2 * kh * kw, Ho, Wo) / 4
    weight, bias = random.floats(2 * outputs, C, kh, kw) / 8, random.floats(2 * outputs)
    return image, offset, weight, mask, bias, (1, 1), (1, 1), (1, 1), 2, 2


def deform_conv2d_backward_data_arguments(random, images=2, C=2, H=4, W=3, outputs=2, kh=2, kw=2):
    image, offset, weight, mask, _, *geometry = deform_conv2d_arguments(
        random, images, C, H, W, outputs, kh, kw
    )
    grad = random.floats(images, 2 * outputs, *offset.shape[2:])
    return grad, image, offset, weight, mask, *geometry


def deform_conv2d_backward_weight_arguments(random, images=2, C=2, H=4, W=3, outputs=2, kh=2, kw=2):
    grad, image, offset, _, mask, *geometry = deform_conv2d_backward_data_arguments(
        random, images, C, H, W, outputs, kh, kw
    )
    return grad, image, offset, mask, (kh, kw), *geometry
