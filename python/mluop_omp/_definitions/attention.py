"""Attention: samples of several levels, and the masks of PSANet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np


class _Corners(NamedTuple):
    """One of the four pixels around each sample of a level, where the level has this pixel."""

    sample: tuple[np.ndarray, ...]  # its indices in the attention weights
    row: tuple[np.ndarray, ...]  # the indices of its row of value
    weight: np.ndarray
    slopes: np.ndarray  # of the weight, along x and y: [2, ...]


def _corners(
    value: np.ndarray, shapes: np.ndarray, starts: np.ndarray, locations: np.ndarray
) -> Iterator[_Corners]:
    dtype = np.promote_types(locations.dtype, np.float32)
    for level, ((height, width), start) in enumerate(zip(shapes.tolist(), starts.tolist())):
        if min(height, width, start, value.shape[1] - start - height * width) < 0:
            raise IndexError("the keys of a level are outside of value")
        size = np.array((width, height), dtype)
        x, y = np.moveaxis(locations[:, :, :, level] * size - dtype.type(0.5), -1, 0)
        used = (x > -1) & (y > -1) & (x < width) & (y < height)
        x, y = (np.where(used, each, 0).astype(np.float64) for each in (x, y))
        left, top = np.floor(x), np.floor(y)
        for down, right in np.ndindex(2, 2):
            row, column = top + down, left + right
            inside = np.nonzero(
                used & (row >= 0) & (row < height) & (column >= 0) & (column < width)
            )
            of_y, of_x = (1 - abs(y - row))[inside], (1 - abs(x - column))[inside]
            key = start + (row * width + column)[inside].astype(np.int64)
            b, q, m, p = inside
            slopes = (2 * right - 1) * width * of_y, (2 * down - 1) * height * of_x
            sample = b, q, m, np.full_like(b, level), p
            yield _Corners(sample, (b, key, m), of_y * of_x, np.stack(slopes))


def ms_deform_attn(
    value: np.ndarray,
    spatial_shapes: np.ndarray,
    level_start_index: np.ndarray,
    sampling_locations: np.ndarray,
    attention_weights: np.ndarray,
) -> np.ndarray:
    (B, _, M, D), Q = value.shape, sampling_locations.shape[1]
    output = np.zeros((B, Q, M, D))
    for corners in _corners(value, spatial_shapes, level_start_index, sampling_locations):
        factor = corners.weight * attention_weights[corners.sample]
        np.add.at(output, corners.sample[:3], factor[:, np.newaxis] * value[corners.row])
    return output


def ms_deform_attn_backward(
    grad_output: np.ndarray,
    value: np.ndarray,
    spatial_shapes: np.ndarray,
    level_start_index: np.ndarray,
    sampling_locations: np.ndarray,
    attention_weights: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    inputs = value, sampling_locations, attention_weights
    of_value, of_locations, of_weights = (np.zeros(each.shape) for each in inputs)
    for corners in _corners(value, spatial_shapes, level_start_index, sampling_locations):
        attention = attention_weights[corners.sample].astype(np.float64)
        grad = grad_output[corners.sample[:3]].astype(np.float64)
        product = (grad * value[corners.row]).sum(1)
        np.add.at(of_value, corners.row, (attention * corners.weight)[:, np.newaxis] * grad)
        of_weights[corners.sample] += corners.weight * product
        of_locations[corners.sample] += (attention * product * corners.slopes).T
    return of_value, of_locations, of_weights


def _pairs_of_pixels(mask_size, H, W):
    """Yields each mask element, its pixels (h, w), and the pixels that the element belongs to."""
    for element, (a, b) in enumerate(np.ndindex(*mask_size)):
        down, right = a - (mask_size[0] - 1) // 2, b - (mask_size[1] - 1) // 2
        h = np.arange(max(0, -down), min(H, H - down))[:, np.newaxis]
        w = np.arange(max(0, -right), min(W, W - right))
        yield element, (h, w), (h + down, w + right)


def psamask(input, mask_size, psa_type="collect"):
    N, _, H, W = input.shape
    output = np.zeros((N, H, W, H, W), input.dtype)
    for element, pixel, place in _pairs_of_pixels(mask_size, H, W):
        indices = (*place, *pixel) if psa_type == "collect" else (*pixel, *place)
        output[(slice(None), *indices)] = input[:, element][:, pixel[0], pixel[1]]
    return output.reshape(N, H * W, H, W)


def psamask_backward(grad_output, mask_size, psa_type="collect"):
    N, _, H, W = grad_output.shape
    grad = np.zeros((N, mask_size[0] * mask_size[1], H, W), grad_output.dtype)
    grad_output = grad_output.reshape(N, H, W, H, W)
    for element, pixel, place in _pairs_of_pixels(mask_size, H, W):
        indices = (*place, *pixel) if psa_type == "collect" else (*pixel, *place)
        grad[:, element, pixel[0], pixel[1]] = grad_output[(slice(None), *indices)]
    return grad
