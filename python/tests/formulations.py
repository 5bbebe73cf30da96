"""Operators on images as formulations in PyTorch, for any element type."""

from __future__ import annotations

import itertools
import math

import torch
import torch.nn.functional as F


def bilinear(image, y, x):
    """Returns samples [N, C, ...] of images [N, C, H, W] at places [N, ...], with zeros around.

    At a pixel, gradients are those of the cell that begins there.
    """
    (N, C, H, W), flat = image.shape, image.flatten(2)
    top, left = y.detach().floor(), x.detach().floor()
    below, right = y - top, x - left
    is_near = (y > -1) & (x > -1)
    samples = 0
    for row, column, weight in (
        (top, left, (1 - below) * (1 - right)),
        (top, left + 1, (1 - below) * right),
        (top + 1, left, below * (1 - right)),
        (top + 1, left + 1, below * right),
    ):
        inside = is_near & (row >= 0) & (row < H) & (column >= 0) & (column < W)
        pixel = torch.where(inside, row * W + column, 0).long().reshape(N, 1, -1)
        values = flat.gather(2, pixel.expand(-1, C, -1)).view(N, C, *y.shape[1:])
        samples = samples + values * (weight * inside).unsqueeze(1)
    return samples


def deform_conv2d(image, offset, weight, mask, bias, stride, padding, dilation, groups, parts):
    """A convolution of each offset of the filter. Places are rounded to the type of offset."""
    N, (Ho, Wo), (Co, _, kh, kw) = len(image), offset.shape[2:], weight.shape
    offset = offset.view(N, parts, kh * kw, 2, Ho, Wo)
    rows, columns = torch.meshgrid(torch.arange(Ho), torch.arange(Wo), indexing="ij")
    output = image.new_zeros(N, Co, Ho, Wo)
    for k, (i, j) in enumerate(itertools.product(range(kh), range(kw))):
        samples = []
        for part, channels in enumerate(image.chunk(parts, 1)):
            along_y, along_x = offset[:, part, k].unbind(1)
            y = rows * stride[0] - padding[0] + i * dilation[0] + along_y
            x = columns * stride[1] - padding[1] + j * dilation[1] + along_x
            sampled = bilinear(channels, y.to(image.dtype), x.to(image.dtype))
            if mask is not None:
                sampled = sampled * mask[:, part * kh * kw + k].unsqueeze(1)
            samples.append(sampled)
        filters = weight[:, :, i, j, None, None]
        output = output + F.conv2d(torch.cat(samples, 1), filters, groups=groups)
    return output if bias is None else output + bias.view(-1, 1, 1)


def roi_align(input, rois, size, scale, ratio, method, aligned):
    def weights(low, high, bins, pixels):
        start, length = low * scale - 0.5 * aligned, (high - low) * scale
        samples = ratio or math.ceil(length / bins)
        parts = (torch.arange(samples, dtype=low.dtype) + 0.5) / samples
        positions = start + (torch.arange(bins).unsqueeze(1) + parts) * (length / bins)
        inside = (positions >= -1) & (positions <= pixels)
        distance = (positions.clamp(0, pixels - 1).unsqueeze(2) - torch.arange(pixels)).abs()
        return ((1 - distance).clamp(min=0) * inside.unsqueeze(2)).mean(1)

    H, W = input.shape[2:]
    pooled = []
    for image, x1, y1, x2, y2 in rois:
        rows, columns = weights(y1, y2, size[0], H), weights(x1, x2, size[1], W)
        pooled.append(rows @ input[image.long()] @ columns.T)
    return torch.stack(pooled)


def ms_deform_attn(value, shapes, starts, locations, weights):
    """Places are rounded to the type of locations."""
    (B, _, M, D), Q = value.shape, locations.shape[1]
    sampled = []
    for level, (height, width) in enumerate(shapes.tolist()):
        keys = value[:, starts[level] : starts[level] + height * width]
        image = keys.permute(0, 2, 3, 1).reshape(B * M, D, height, width)
        x, y = locations[:, :, :, level].transpose(1, 2).flatten(0, 1).unbind(3)
        x, y = ((each * size - 0.5).to(value.dtype) for each, size in ((x, width), (y, height)))
        sampled.append(bilinear(image, y, x))
    samples = torch.stack(sampled, 3).view(B, M, D, Q, -1)
    return torch.einsum("bmdqs,bqms->bqmd", samples, weights.flatten(3))
