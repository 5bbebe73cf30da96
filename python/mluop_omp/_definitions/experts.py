"""Mixtures of experts."""

from __future__ import annotations

import numpy as np

from mluop_omp._definitions._precision import at_least_float32


def _rows(indices, locations, capacity, num_experts):
    """Returns the row of each sample, and whether the sample is not skipped."""
    indices, locations = indices.astype(np.int64), locations.astype(np.int64)
    inside = (indices >= 0) & (indices < num_experts) & (locations >= 0) & (locations < capacity)
    return np.where(inside, indices * capacity + locations, 0), inside


@np.errstate(invalid="ignore", over="ignore")
def moe_dispatch(gates, indices, locations, input, capacity, num_experts):
    if len(gates) > num_experts * capacity:
        raise ValueError(f"{len(gates)} samples, expected at most {num_experts * capacity}")
    products = at_least_float32(gates)[:, np.newaxis] * at_least_float32(input)
    dispatch = np.zeros((num_experts * capacity, input.shape[1]), products.dtype)
    rows, inside = _rows(indices, locations, capacity, num_experts)
    for i in np.flatnonzero(inside):
        dispatch[rows[i]] = products[i]
    return dispatch


@np.errstate(invalid="ignore", over="ignore")
def moe_dispatch_backward_gate(indices, locations, input, grad_dispatch, capacity, num_experts):
    rows, inside = _rows(indices, locations, capacity, num_experts)
    grads = np.zeros(len(input))
    taken = grad_dispatch[rows[inside]].astype(np.float64)
    grads[inside] = (taken * input[inside]).sum(1)
    return grads


@np.errstate(invalid="ignore", over="ignore")
def moe_dispatch_backward_data(gates, indices, locations, grad_dispatch, capacity, num_experts):
    rows, inside = _rows(indices, locations, capacity, num_experts)
    dispatch = at_least_float32(grad_dispatch)
    grads = np.zeros((len(gates), dispatch.shape[1]), dispatch.dtype)
    grads[inside] = at_least_float32(gates)[inside, np.newaxis] * dispatch[rows[inside]]
    return grads


def _sizes_and_rows(random, N, slots, E):
    """Returns capacity, at least a row for each sample if there are rows, experts and rows. Some
    samples are skipped, and rows may have several.
    """
    capacity = max(slots, -(-N // E)) if E and slots else slots
    return capacity, random.integers(0, E + 1, N), random.integers(-1, capacity, N)


def moe_dispatch_arguments(random, N=9, C=3, slots=4, E=3):
    capacity, indices, locations = _sizes_and_rows(random, N, slots, E)
    return random.floats(N), indices, locations, random.floats(N, C), capacity, E


def moe_dispatch_backward_gate_arguments(random, N=9, C=3, slots=4, E=3):
    capacity, indices, locations = _sizes_and_rows(random, N, slots, E)
    grad = random.floats(E * capacity, C)
    return indices, locations, random.floats(N, C), grad, capacity, E


def moe_dispatch_backward_data_arguments(random, N=9, C=3, slots=4, E=3):
    capacity, indices, locations = _sizes_and_rows(random, N, slots, E)
    grad = random.floats(E * capacity, C)
    return random.floats(N), indices, locations, grad, capacity, E
