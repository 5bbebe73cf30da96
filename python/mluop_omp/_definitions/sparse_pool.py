"""Sparse pooling by the maximum."""

from __future__ import annotations

import numpy as np

from mluop_omp._definitions.sparse_conv import pairs_of_offsets


def indice_maxpool(features, pairs, num, num_out):
    output = np.zeros((num_out, features.shape[1]), features.dtype)
    if features.shape[1]:  # Else rows may have any value.
        for _, inputs, outputs in pairs_of_offsets(pairs, num):
            np.fmax.at(output, outputs, features[inputs])  # NaN is never selected.
    return output


def indice_maxpool_backward(features, features_out, output_grad, pairs, num):
    input_grad = np.zeros(features.shape)
    if features.shape[1]:
        for _, inputs, outputs in pairs_of_offsets(pairs, num):
            is_maximum = features[inputs] == features_out[outputs]
            np.add.at(input_grad, inputs, np.where(is_maximum, output_grad[outputs], 0))
    return input_grad


def _pairs(random, K, L, num_out):
    """Returns pairs [K, 2, L], no two of an offset equal, and their numbers [K]."""
    pairs, num = random.pairs(K, L, num_out)
    pairs[:, 0] = np.arange(L)
    return pairs, num


def indice_maxpool_arguments(random, L=20, num_out=12, C=4, K=3):
    return random.floats(L, C), *_pairs(random, K, L, num_out), num_out


def indice_maxpool_backward_arguments(random, L=20, num_out=12, C=4, K=3):
    """Some features equal the maxima: they are small integers."""
    features, maxima = (random.integers(-1, 3, n, C).astype(np.float32) for n in (L, num_out))
    return features, maxima, random.floats(num_out, C), *_pairs(random, K, L, num_out)
