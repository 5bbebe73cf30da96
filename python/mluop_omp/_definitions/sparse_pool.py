"""Sparse pooling by the maximum."""

from __future__ import annotations

import numpy as np

from mluop_omp._definitions.sparse_conv import pairs_of_offsets


def indice_maxpool(
    features: np.ndarray, pairs: np.ndarray, num: np.ndarray, num_out: int
) -> np.ndarray:
    output = np.zeros((num_out, features.shape[1]), features.dtype)
    if features.shape[1]:  # Else rows may have any value.
        for _, inputs, outputs in pairs_of_offsets(pairs, num):
            np.fmax.at(output, outputs, features[inputs])  # NaN is never selected.
    return output


def indice_maxpool_backward(
    features: np.ndarray,
    features_out: np.ndarray,
    output_grad: np.ndarray,
    pairs: np.ndarray,
    num: np.ndarray,
) -> np.ndarray:
    input_grad = np.zeros(features.shape)
    if features.shape[1]:
        for _, inputs, outputs in pairs_of_offsets(pairs, num):
            is_maximum = features[inputs] == features_out[outputs]
            np.add.at(input_grad, inputs, np.where(is_maximum, output_grad[outputs], 0))
    return input_grad
