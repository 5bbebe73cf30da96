"""Sparse convolution."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np


def indice_pairs(
    indices: np.ndarray,
    batch_size: int,
    space: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    dilation: Sequence[int],
    subm: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    out_space = space
    if not subm:
        out_space = [
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, s, p, d in zip(space, kernel, stride, pad, dilation)
        ]
    # Sites are numbered in ascending order.
    steps = [math.prod(out_space[axis:]) for axis in range(len(out_space) + 1)]
    offsets = np.indices(kernel).reshape(len(kernel), -1).T[:, np.newaxis]
    coordinates = indices.astype(np.int64)
    scaled = coordinates[:, 1:] + np.array(pad) - offsets * np.array(dilation)
    cells, rest = np.divmod(scaled, np.array(stride))
    valid = ((rest == 0) & (cells >= 0) & (cells < np.array(out_space))).all(2)
    keys = coordinates[:, 0] * steps[0] + cells @ np.array(steps[1:])
    ordered = np.unique(keys[valid])
    rows = np.arange(len(ordered))
    if subm:
        of_sites = coordinates @ np.array(steps)
        rows = np.argsort(of_sites, kind="stable")
        ordered = of_sites[rows]
    position = np.searchsorted(ordered, keys)  # the first of equal sites
    found = valid & (np.append(ordered, -1)[position] == keys)
    offset, row = np.nonzero(found)
    slot = (np.cumsum(found, 1) - 1)[offset, row]
    pairs = np.full((len(keys), 2, len(indices)), -1, np.int32)
    pairs[offset, 0, slot], pairs[offset, 1, slot] = row, rows[position[offset, row]]
    sites = indices.copy()
    if not subm:
        batch, cell = np.divmod(ordered, max(steps[0], 1))
        axes = [cell // step % n for n, step in zip(out_space, steps[1:])]
        sites = np.stack((batch, *axes), 1).astype(np.int32)
    return sites, pairs, found.sum(1, dtype=np.int32)


def _matrices(filters: np.ndarray, layout: str) -> np.ndarray:
    """Returns filters as [K, Ci, Co]."""
    axes = {"ARRAY": (0, 1, 2, 3, 4), "NDHWC": (1, 2, 3, 4, 0), "NCDHW": (2, 3, 4, 1, 0)}[layout]
    filters = filters.astype(np.float64).transpose(axes)
    return filters.reshape(math.prod(filters.shape[:3]), *filters.shape[3:])


def pairs_of_offsets(
    pairs: np.ndarray, num: np.ndarray
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yields number, input rows and output rows of each offset."""
    for k, count in enumerate(np.asarray(num).tolist()):
        rows = pairs[k, :, :count]
        inputs, outputs = rows[:, (rows >= 0).all(0)]
        yield k, inputs, outputs


def indice_conv(
    features: np.ndarray,
    filters: np.ndarray,
    pairs: np.ndarray,
    num: np.ndarray,
    num_out: int,
    subm: bool = False,
    layout: str = "ARRAY",
) -> np.ndarray:
    matrices = _matrices(filters, layout)
    output = np.zeros((num_out, matrices.shape[2]))
    for k, inputs, outputs in pairs_of_offsets(pairs, num):
        np.add.at(output, outputs, features[inputs].astype(np.float64) @ matrices[k])
    return output


def indice_conv_backward_data(
    grad_output: np.ndarray,
    filters: np.ndarray,
    pairs: np.ndarray,
    num: np.ndarray,
    layout: str = "ARRAY",
) -> np.ndarray:
    matrices = _matrices(filters, layout)
    grad_features = np.zeros((pairs.shape[2], matrices.shape[1]))
    for k, inputs, outputs in pairs_of_offsets(pairs, num):
        np.add.at(grad_features, inputs, grad_output[outputs].astype(np.float64) @ matrices[k].T)
    return grad_features


def indice_conv_backward_filter(
    features: np.ndarray,
    grad_output: np.ndarray,
    pairs: np.ndarray,
    num: np.ndarray,
    kernel: Sequence[int],
) -> np.ndarray:
    grad_filters = np.zeros((len(num), features.shape[1], grad_output.shape[1]))
    for k, inputs, outputs in pairs_of_offsets(pairs, num):
        grad_filters[k] = features[inputs].astype(np.float64).T @ grad_output[outputs]
    return grad_filters.reshape(*kernel, *grad_filters.shape[1:])
