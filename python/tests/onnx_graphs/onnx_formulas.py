"""What nodes of images compute, by plain operations of PyTorch in double precision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F


def doubles(*arrays: Any) -> list[torch.Tensor]:
    return [torch.as_tensor(np.asarray(each, np.float64)) for each in arrays]


def at_pixels(
    image: torch.Tensor, y: torch.Tensor, x: torch.Tensor, padding: str = "zeros"
) -> torch.Tensor:
    """Returns [C, *points] of an image [C, H, W], interpolated at positions in pixels."""
    (C, H, W), shape = image.shape, y.shape
    grid = torch.stack(((2 * x + 1) / W - 1, (2 * y + 1) / H - 1), -1).reshape(1, 1, -1, 2)
    found = F.grid_sample(image[None], grid, padding_mode=padding, align_corners=False)
    return found.reshape(C, *shape)


def in_rois(image: torch.Tensor, y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """As `at_pixels`, for the samples of RoIs: clamped, and 0 more than a pixel outside."""
    H, W = image.shape[1:]
    is_far = (y < -1) | (y > H) | (x < -1) | (x > W)
    return torch.where(is_far, 0.0, at_pixels(image, y, x, "border"))


def deform_conv(
    input: Any,
    offset: Any,
    weight: Any,
    mask: Any = None,
    bias: Any = None,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    deform_groups: int = 1,
) -> torch.Tensor:
    image, offset, weight = doubles(input, offset, weight)
    (N, Ci, _, _), (Co, _, kh, kw), (Ho, Wo) = image.shape, weight.shape, offset.shape[2:]
    K = kh * kw
    moves = offset.reshape(N, deform_groups, K, 2, Ho, Wo)
    factors = (
        torch.ones(N, deform_groups * K, Ho, Wo).double() if mask is None else doubles(mask)[0]
    )
    factors = factors.reshape(N, deform_groups, K, Ho, Wo)
    point = torch.arange(K)
    y = torch.arange(Ho)[None, :, None] * stride[0] - padding[0]
    x = torch.arange(Wo)[None, None, :] * stride[1] - padding[1]
    y = y + (point // kw * dilation[0])[:, None, None]
    x = x + (point % kw * dilation[1])[:, None, None]
    columns = torch.empty(N, Ci, K, Ho, Wo).double()
    width = Ci // deform_groups
    for n in range(N):
        for g in range(deform_groups):
            part = slice(g * width, (g + 1) * width)
            found = at_pixels(image[n, part], y + moves[n, g, :, 0], x + moves[n, g, :, 1])
            columns[n, part] = found * factors[n, g]
    parts = columns.reshape(N, groups, Ci // groups * K, Ho * Wo)
    filters = weight.reshape(groups, Co // groups, -1)
    output = torch.einsum("gok,ngkp->ngop", filters, parts).reshape(N, Co, Ho, Wo)
    return output if bias is None else output + doubles(bias)[0][:, None, None]


def attention(
    value: Any, spatial_shapes: Any, starts: Any, locations: Any, weights: Any
) -> torch.Tensor:
    """Returns [N, Q, M, D]."""
    value, locations, weights = doubles(value, locations, weights)
    N, _, M, D = value.shape
    output = torch.zeros(N, locations.shape[1], M, D).double()
    for level, ((height, width), start) in enumerate(zip(spatial_shapes, starts)):
        keys = value[:, start : start + height * width]
        images = keys.permute(0, 2, 3, 1).reshape(N * M, D, int(height), int(width))
        grid = locations[:, :, :, level].permute(0, 2, 1, 3, 4).flatten(0, 1) * 2 - 1
        found = F.grid_sample(images, grid, align_corners=False).unflatten(0, (N, M))
        output += torch.einsum("nmdqp,nqmp->nqmd", found, weights[:, :, :, level])
    return output


def attention_at_offsets(
    value: Any, spatial_shapes: Any, references: Any, offsets: Any, weights: Any
) -> torch.Tensor:
    references, offsets, weights = doubles(references, offsets, weights)
    (N, Q, M, samples), L = weights.shape, len(spatial_shapes)
    P, G = samples // L, references.shape[3] // 2
    references = references.reshape(N, Q, G, 2)
    offsets = offsets.reshape(N, Q, M, L, P, 2)
    locations = torch.empty_like(offsets)
    for level, (height, width) in enumerate(spatial_shapes.tolist()):
        for point in range(P):
            moved = offsets[:, :, :, level, point] / torch.tensor([width, height])
            locations[:, :, :, level, point] = references[:, :, None, point % G] + moved
    starts = np.cumsum([0, *spatial_shapes.prod(1)[:-1]])
    shares = weights.softmax(-1).reshape(N, Q, M, L, P)
    return attention(value, spatial_shapes, starts, locations, shares)


def _positions(low: float, extent: float, bins: int, ratio: int) -> torch.Tensor:
    """Returns [bins, samples]."""
    width = extent / bins
    count = ratio if ratio > 0 else max(math.ceil(width), 0)
    in_bin = (torch.arange(count).double() + 0.5) / max(count, 1)
    return low + (torch.arange(bins)[:, None] + in_bin) * width


def _reduced(samples: torch.Tensor, reduce: str) -> torch.Tensor:
    """Returns [C, PH, PW] of samples [C, PH, n, PW, m]."""
    if samples.numel() == 0:
        return samples.sum((2, 4))
    return samples.amax((2, 4)) if reduce == "max" else samples.mean((2, 4))


def roi_align(
    input: Any,
    rois: Any,
    size: Sequence[int],
    scale: float = 1.0,
    ratio: int = 0,
    reduce: str = "avg",
    aligned: bool = True,
    find: Any = in_rois,
) -> torch.Tensor:
    """find(image, y, x): the values of samples."""
    images, rois = doubles(input, rois)
    outputs = []
    for index, *box in rois.tolist():
        x1, y1, x2, y2 = (each * scale - 0.5 * aligned for each in box)
        extents = [y2 - y1, x2 - x1] if aligned else [max(y2 - y1, 1), max(x2 - x1, 1)]
        y = _positions(y1, extents[0], size[0], ratio)[:, :, None, None]
        x = _positions(x1, extents[1], size[1], ratio)[None, None]
        samples = find(images[int(index)], *torch.broadcast_tensors(y, x))
        outputs.append(_reduced(samples, reduce))
    return torch.stack(outputs)


def largest_corner(image: torch.Tensor, y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The largest product of a pixel and its weight, in place of interpolation."""
    C, H, W = image.shape
    is_far = (y < -1) | (y > H) | (x < -1) | (x > W)
    y, x = y.clamp(0, H - 1), x.clamp(0, W - 1)
    products = []
    for along_y in (y.floor(), y.floor() + 1):
        for along_x in (x.floor(), x.floor() + 1):
            weight = (1 - (y - along_y).abs()) * (1 - (x - along_x).abs())
            pixel = image[:, along_y.clamp(max=H - 1).long(), along_x.clamp(max=W - 1).long()]
            products.append(pixel * weight)
    return torch.where(is_far, 0.0, torch.stack(products).amax(0))


def roi_align_rotated(
    input: Any,
    rois: Any,
    size: Sequence[int],
    scale: float,
    ratio: int,
    aligned: bool,
    clockwise: bool,
) -> torch.Tensor:
    images, rois = doubles(input, rois)
    outputs = []
    for index, x, y, w, h, angle in rois.tolist():
        x, y, w, h = x * scale - 0.5 * aligned, y * scale - 0.5 * aligned, w * scale, h * scale
        if not aligned:
            w, h = max(w, 1), max(h, 1)
        a = -angle if clockwise else angle
        v = _positions(-h / 2, h, size[0], ratio)[:, :, None, None]
        u = _positions(-w / 2, w, size[1], ratio)[None, None]
        rows = v * math.cos(a) - u * math.sin(a) + y
        columns = v * math.sin(a) + u * math.cos(a) + x
        outputs.append(_reduced(in_rois(images[int(index)], rows, columns), "avg"))
    return torch.stack(outputs)


def deform_roi_pool(
    input: Any, rois: Any, offset: Any, size: Sequence[int], scale: float, ratio: int, gamma: float
) -> torch.Tensor:
    images, rois = doubles(input, rois)
    output = torch.zeros(len(rois), images.shape[1], *size).double()
    for result, moves, (index, *box) in zip(output, offset, rois.tolist()):
        x1, y1, x2, y2 = (each * scale - 0.5 for each in box)
        y = _positions(y1, y2 - y1, size[0], ratio)
        x = _positions(x1, x2 - x1, size[1], ratio)
        for i in range(size[0]):
            for j in range(size[1]):
                rows = y[i][:, None] + gamma * (y2 - y1) * float(moves[1, i, j])
                columns = x[j][None] + gamma * (x2 - x1) * float(moves[0, i, j])
                samples = in_rois(images[int(index)], *torch.broadcast_tensors(rows, columns))
                result[:, i, j] = samples.mean((1, 2)) if samples.numel() else 0
    return output


def precise_roi_pool(input: Any, rois: Any, size: Sequence[int], scale: float) -> torch.Tensor:
    images, rois = doubles(input, rois)
    outputs = []
    for index, *box in rois.tolist():
        x1, y1, x2, y2 = (each * scale for each in box)
        of_y = _hat_means(y1, y2, size[0], images.shape[2])
        of_x = _hat_means(x1, x2, size[1], images.shape[3])
        outputs.append(torch.einsum("chw,ph,qw->cpq", images[int(index)], of_y, of_x))
    return torch.stack(outputs)


def _hat_means(low: float, high: float, bins: int, pixels: int) -> torch.Tensor:
    """Returns [bins, pixels]: the mean over each bin of the weight of each pixel."""
    edges = low + (high - low) / bins * torch.arange(bins + 1).double()
    away = (edges[:, None] - torch.arange(pixels)).clamp(-1, 1)
    integral = away - away.abs() * away / 2
    return (integral[1:] - integral[:-1]) / ((high - low) / bins)


def border_align(input: Any, boxes: Any, pool_size: int) -> torch.Tensor:
    images, boxes = doubles(input, boxes)
    N, C = images.shape[0], images.shape[1] // 4
    output = torch.empty(N, C, boxes.shape[1], 4).double()
    step = torch.arange(pool_size + 1).double() / pool_size
    for n in range(N):
        for k, (x1, y1, x2, y2) in enumerate(boxes[n].tolist()):
            ends = [(x1, y1, x2, y1), (x1, y1, x1, y2), (x2, y2, x1, y2), (x2, y2, x2, y1)]
            for border, (xa, ya, xb, yb) in enumerate(ends):
                image = images[n, border * C : (border + 1) * C]
                found = in_rois(image, ya + (yb - ya) * step, xa + (xb - xa) * step)
                output[n, :, k, border] = found.amax(1)
    return output


def rotated_feature_align(input: Any, boxes: Any, scale: float, points: int) -> torch.Tensor:
    images, boxes = doubles(input, boxes)
    y, x, w, h = (boxes[..., column] * scale for column in range(4))
    cos, sin = boxes[..., 4].cos() / 2, boxes[..., 4].sin() / 2
    signs = [(0, 0)] if points == 1 else [(0, 0), (1, 1), (-1, 1), (-1, -1), (1, -1)]
    output = images.clone()
    for n, image in enumerate(images):
        for of_w, of_h in signs:
            rows = y + of_w * sin * w + of_h * cos * h
            columns = x + of_w * cos * w - of_h * sin * h
            output[n] += in_rois(image, rows[n], columns[n])
    return output


def carafe(features: Any, masks: Any, k: int, groups: int, s: int) -> torch.Tensor:
    features, masks = doubles(features, masks)
    N, C, H, W = features.shape
    windows = F.unfold(features, k, padding=k // 2).reshape(N, C * k * k, H, W)
    windows = F.interpolate(windows, scale_factor=s, mode="nearest")
    windows = windows.reshape(N, groups, C // groups, k * k, s * H, s * W)
    kernels = masks.reshape(N, groups, 1, k * k, s * H, s * W)
    return (windows * kernels).sum(3).reshape(N, C, s * H, s * W)


def psa_mask(input: Any, psa_type: int, mask_size: Sequence[int]) -> torch.Tensor:
    (masks,) = doubles(input)
    N, _, H, W = masks.shape
    output = torch.zeros(N, H * W, H, W).double()
    for h in range(H):
        for w in range(W):
            for m in range(masks.shape[1]):
                i = h + m // mask_size[1] - (mask_size[0] - 1) // 2
                j = w + m % mask_size[1] - (mask_size[1] - 1) // 2
                if 0 <= i < H and 0 <= j < W:
                    if psa_type == 0:
                        output[:, i * W + j, h, w] = masks[:, m, h, w]
                    else:
                        output[:, h * W + w, i, j] = masks[:, m, h, w]
    return output


def rotated(image: Any, degrees: float, center: Sequence[float], mode: str) -> torch.Tensor:
    """Rotates an image [C, H, W] counter-clockwise about a point (x, y) from its corner."""
    (pixels,) = doubles(image)
    _, H, W = pixels.shape
    a = math.radians(-degrees)
    y, x = torch.meshgrid(torch.arange(H) + 0.5, torch.arange(W) + 0.5, indexing="ij")
    x, y = x.double() - center[0], y.double() - center[1]
    columns = math.cos(a) * x + math.sin(a) * y + center[0]
    rows = -math.sin(a) * x + math.cos(a) * y + center[1]
    grid = torch.stack((2 * columns / W - 1, 2 * rows / H - 1), -1)
    return F.grid_sample(pixels[None], grid[None], mode=mode, align_corners=False)[0]


def soft_nms(
    boxes: Any, scores: Any, iou_threshold: float, sigma: float, min_score: float, method: int
) -> tuple[list[int], list[float]]:
    """Returns the boxes in the order in which they are chosen, and their decayed scores."""
    corners, (left,) = np.asarray(boxes, np.float64), [np.array(scores, np.float64)]
    chosen: list[int] = []
    decayed: list[float] = []
    rest = list(range(len(corners)))
    while rest:
        best = max(rest, key=lambda each: left[each])
        rest.remove(best)
        chosen.append(best)
        decayed.append(left[best])
        for other in list(rest):
            iou = _iou(corners[best], corners[other])
            linear = 1 - iou if iou >= iou_threshold else 1
            left[other] *= (float(iou < iou_threshold), linear, math.exp(-iou * iou / sigma))[
                method
            ]
            if left[other] < min_score:
                rest.remove(other)
    return chosen, decayed


def _iou(first: np.ndarray, second: np.ndarray) -> float:
    low, high = np.maximum(first[:2], second[:2]), np.minimum(first[2:], second[2:])
    both = np.prod(np.maximum(high - low, 0))
    areas = [np.prod(each[2:] - each[:2]) for each in (first, second)]
    return float(both / (sum(areas) - both))
