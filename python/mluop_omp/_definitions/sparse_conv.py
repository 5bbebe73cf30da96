"""Sparse convolution."""

from __future__ import annotations

import math

import numpy as np


def indice_pairs(indices, batch_size, space, kernel, stride, pad, dilation, subm):
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


# The axes of filters [D, H, W, Ci, Co].
_LAYOUTS = {"ARRAY": (0, 1, 2, 3, 4), "NDHWC": (1, 2, 3, 4, 0), "NCDHW": (2, 3, 4, 1, 0)}


def _matrices(filters, layout):
    """Returns filters as [K, Ci, Co]."""
    filters = filters.astype(np.float64).transpose(_LAYOUTS[layout])
    return filters.reshape(math.prod(filters.shape[:3]), *filters.shape[3:])


def pairs_of_offsets(pairs, num):
    """Yields number, input rows and output rows of each offset."""
    for k, count in enumerate(np.asarray(num).tolist()):
        rows = pairs[k, :, :count]
        inputs, outputs = rows[:, (rows >= 0).all(0)]
        yield k, inputs, outputs


def indice_conv(features, filters, pairs, num, num_out, subm, layout):
    matrices = _matrices(filters, layout)
    output = np.zeros((num_out, matrices.shape[2]))
    for k, inputs, outputs in pairs_of_offsets(pairs, num):
        np.add.at(output, outputs, features[inputs].astype(np.float64) @ matrices[k])
    return output


def indice_conv_backward_data(grad_output, filters, pairs, num, layout):
    matrices = _matrices(filters, layout)
    grad_features = np.zeros((pairs.shape[2], matrices.shape[1]))
    for k, inputs, outputs in pairs_of_offsets(pairs, num):
        np.add.at(grad_features, inputs, grad_output[outputs].astype(np.float64) @ matrices[k].T)
    return grad_features


def indice_conv_backward_filter(features, grad_output, pairs, num, kernel):
    grad_filters = np.zeros((len(num), features.shape[1], grad_output.shape[1]))
    for k, inputs, outputs in pairs_of_offsets(pairs, num):
        grad_filters[k] = features[inputs].astype(np.float64).T @ grad_output[outputs]
    return grad_filters.reshape(*kernel, *grad_filters.shape[1:])


_GEOMETRIES = {  # space, kernel, stride, padding, dilation, subm
    "submanifold": ((5, 4, 3), (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), True),
    "strided": ((5, 4, 3), (3, 3, 3), (2, 2, 1), (1, 1, 0), (1, 1, 1), False),
    "dilated": ((5, 4, 3), (2, 3, 1), (1, 1, 3), (0, 2, 0), (2, 1, 1), False),
    "two-dimensional": ((7, 6), (3, 3), (2, 2), (1, 1), (1, 1), False),
}


def indice_pairs_arguments(random, L=20, geometry=tuple(_GEOMETRIES)):
    space, *others = _GEOMETRIES[geometry]
    return random.sites(L, 2, space), 2, space, *others


def _filters(random, K, Ci, Co, layout):
    """Returns filters of [K, 1, 3] offsets."""
    sizes = np.array((K, 1, 3, Ci, Co))[np.argsort(_LAYOUTS[layout])]
    return random.floats(*sizes) / 4


def indice_conv_arguments(random, L=20, num_out=12, Ci=4, Co=6, K=3, layout=tuple(_LAYOUTS)):
    features, filters = random.floats(L, Ci), _filters(random, K, Ci, Co, layout)
    return features, filters, *random.pairs(3 * K, L, num_out), num_out, False, layout


def indice_conv_backward_data_arguments(
    random, L=20, num_out=12, Ci=4, Co=6, K=3, layout=tuple(_LAYOUTS)
):
    grad, filters = random.floats(num_out, Co), _filters(random, K, Ci, Co, layout)
    return grad, filters, *random.pairs(3 * K, L, num_out), layout


def indice_conv_backward_filter_arguments(random, L=20, num_out=12, Ci=4, Co=6, K=3):
    grad = random.floats(num_out, Co)
    return random.floats(L, Ci), grad, *random.pairs(3 * K, L, num_out), (K, 1, 3)
