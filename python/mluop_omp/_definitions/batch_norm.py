"""Batch normalization that several processes share."""

from __future__ import annotations

import numpy as np


def _each(channels, images):
    """Returns numbers per channel in a shape that fits images."""
    return np.asarray(channels, np.float64).reshape(-1, *(1,) * (images.ndim - 2))


def _sums(images):
    return images.astype(np.float64).sum(tuple(i for i in range(images.ndim) if i != 1))


def _terms(images):
    """Returns the number of elements of a channel, at least 1."""
    return max(images.size // max(images.shape[1], 1), 1)


def sync_bn_forward_mean(input):
    return _sums(input) / _terms(input)


def sync_bn_forward_var(input, mean):
    return _sums((input - _each(mean, input)) ** 2) / _terms(input)


def sync_bn_forward_output(input, mean, var, weight, bias, eps):
    std = np.sqrt(np.asarray(var, np.float64) + eps)
    norm = (input - _each(mean, input)) / _each(std, input)
    weight = np.ones(len(std)) if weight is None else weight
    bias = np.zeros(len(std)) if bias is None else bias
    return norm, std, norm * _each(weight, input) + _each(bias, input)


def sync_bn_backward_param(grad_output, norm):
    return _sums(grad_output.astype(np.float64) * norm), _sums(grad_output)


def sync_bn_backward_data(grad_output, weight, grad_weight, grad_bias, norm, std):
    weight = np.ones(len(std)) if weight is None else weight
    means = _each(grad_weight, norm) * norm + _each(grad_bias, norm)
    scale = np.asarray(weight, np.float64) / std
    return (grad_output - means / _terms(norm)) * _each(scale, norm)


def _images(random, count, N, C, S, rows):
    shape = (N * S, C) if rows else (N, C, S)
    return [random.floats(*shape) for _ in range(count)]


def sync_bn_forward_mean_arguments(random, N=3, C=5, S=7, rows=(False, True)):
    return tuple(_images(random, 1, N, C, S, rows))


def sync_bn_forward_var_arguments(random, N=3, C=5, S=7, rows=(False, True)):
    return *_images(random, 1, N, C, S, rows), random.floats(C)


def sync_bn_forward_output_arguments(
    random, N=3, C=5, S=7, rows=(False, True), affine=(True, False), eps=(1e-5, 0.5)
):
    images = _images(random, 1, N, C, S, rows)
    affine = (random.floats(C), random.floats(C)) if affine else (None, None)
    return *images, random.floats(C), random.positive(C), *affine, eps


def sync_bn_backward_param_arguments(random, N=3, C=5, S=7, rows=(False, True)):
    return tuple(_images(random, 2, N, C, S, rows))


def sync_bn_backward_data_arguments(
    random, N=3, C=5, S=7, rows=(False, True), affine=(True, False)
):
    grad_output, norm = _images(random, 2, N, C, S, rows)
    weight = random.floats(C) if affine else None
    return grad_output, weight, random.floats(C), random.floats(C), norm, random.positive(C)
