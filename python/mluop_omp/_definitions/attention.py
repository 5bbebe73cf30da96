"""Attention: samples of several levels, and the masks of PSANet."""

from __future__ import annotations

import math

import numpy as np

from mluop_omp._definitions._bilinear import corners


def _corners_of_levels(value, shapes, starts, locations):
    """Yields the pixels around the samples of a level: their indices in the attention weights, and
    in the rows of value, their weights, and the slopes [2, ...] of the weights along x and y.
    """
    dtype = np.promote_types(locations.dtype, np.float32)
    for level, ((height, width), start) in enumerate(zip(shapes.tolist(), starts.tolist())):
        if min(height, width, start, value.shape[1] - start - height * width) < 0:
            raise IndexError("the keys of a level are outside of value")
        size = np.array((width, height), dtype)
        x, y = np.moveaxis(locations[:, :, :, level] * size - dtype.type(0.5), -1, 0)
        for corner in corners(y, x, height, width):
            b, q, m, p = exists = np.nonzero(corner.exists)
            along_y, along_x = (each[exists] for each in corner.slopes)
            slopes = np.stack((width * along_x, height * along_y))
            row = b, start + corner.index[exists], m
            yield (b, q, m, np.full_like(b, level), p), row, corner.weight[exists], slopes


def ms_deform_attn(value, spatial_shapes, level_start_index, sampling_locations, attention_weights):
    (B, _, M, D), Q = value.shape, sampling_locations.shape[1]
    output = np.zeros((B, Q, M, D))
    pixels = _corners_of_levels(value, spatial_shapes, level_start_index, sampling_locations)
    for sample, row, weight, _ in pixels:
        factor = weight * attention_weights[sample]
        np.add.at(output, sample[:3], factor[:, np.newaxis] * value[row])
    return output


def ms_deform_attn_backward(
    grad_output, value, spatial_shapes, level_start_index, sampling_locations, attention_weights
):
    inputs = value, sampling_locations, attention_weights
    of_value, of_locations, of_weights = (np.zeros(each.shape) for each in inputs)
    pixels = _corners_of_levels(value, spatial_shapes, level_start_index, sampling_locations)
    for sample, row, weight, slopes in pixels:
        attention = attention_weights[sample].astype(np.float64)
        grad = grad_output[sample[:3]].astype(np.float64)
        product = (grad * value[row]).sum(1)
        np.add.at(of_value, row, (attention * weight)[:, np.newaxis] * grad)
        of_weights[sample] += weight * product
        of_locations[sample] += (attention * product * slopes).T
    return of_value, of_locations, of_weights


def _copies(mask_size, H, W, psa_type):
    """Yields the indices of each element of a mask in [N, A B, H, W], and of its places in
    [N, H, W, H, W].
    """
    for element, (a, b) in enumerate(np.ndindex(*mask_size)):
        down, right = a - (mask_size[0] - 1) // 2, b - (mask_size[1] - 1) // 2
        h = np.arange(max(0, -down), min(H, H - down))[:, np.newaxis]
        w = np.arange(max(0, -right), min(W, W - right))
        pixel, place = (h, w), (h + down, w + right)
        output = (*place, *pixel) if psa_type == "collect" else (*pixel, *place)
        yield (slice(None), element, *pixel), (slice(None), *output)


def psamask(input, mask_size, psa_type):
    N, _, H, W = input.shape
    output = np.zeros((N, H, W, H, W), input.dtype)
    for element, place in _copies(mask_size, H, W, psa_type):
        output[place] = input[element]
    return output.reshape(N, H * W, H, W)


def psamask_backward(grad_output, mask_size, psa_type):
    N, _, H, W = grad_output.shape
    grad = np.zeros((N, math.prod(mask_size), H, W), grad_output.dtype)
    grad_output = grad_output.reshape(N, H, W, H, W)
    for element, place in _copies(mask_size, H, W, psa_type):
        grad[element] = grad_output[place]
    return grad


def ms_deform_attn_arguments(random, B=2, M=2, D=3, L=2, Q=4, P=3):
    shapes = np.array([(4 >> level % 3, 5 >> level % 3) for level in range(L)], np.int32)
    shapes = shapes.reshape(L, 2)
    cells = shapes.prod(1)
    starts = (np.cumsum(cells) - cells).astype(np.int32)
    locations = 0.5 + 0.4 * random.floats(B, Q, M, L, P, 2)
    value, weights = random.floats(B, cells.sum(), M, D), random.floats(B, Q, M, L, P)
    return value, shapes, starts, locations, weights


def ms_deform_attn_backward_arguments(random, B=2, M=2, D=3, L=2, Q=4, P=3):
    return random.floats(B, Q, M, D), *ms_deform_attn_arguments(random, B, M, D, L, Q, P)


def psamask_arguments(random, N=2, A=3, B=5, H=4, W=6, psa_type=("collect", "distribute")):
    return random.floats(N, A * B, H, W), (A, B), psa_type


def psamask_backward_arguments(random, N=2, A=3, B=5, H=4, W=6, psa_type=("collect", "distribute")):
    return random.floats(N, H * W, H, W), (A, B), psa_type
