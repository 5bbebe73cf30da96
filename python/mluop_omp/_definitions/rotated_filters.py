"""Filters of rotated kernels."""

from __future__ import annotations

import numpy as np


def active_rotated_filter(input, indices):
    (O, I, n, KH, KW), R = input.shape, indices.shape[3]  # noqa: E741
    E = n * KH * KW
    entries, targets = input.reshape(O, I, E), indices.reshape(E, R) - 1
    output = np.zeros((O, R, I, E), input.dtype)
    for t in range(R):
        for entry, target in enumerate(targets[:, t]):
            output[:, t, :, target] = entries[:, :, entry]
    return output.reshape(O * R, I * n, KH, KW)


def active_rotated_filter_backward(grad_output, indices):
    n, KH, KW, R = indices.shape
    O, I = len(grad_output) // R, grad_output.shape[1] // n  # noqa: E741
    targets = indices.reshape(n * KH * KW, R) - 1
    grad = grad_output.reshape(O, R, I, n * KH * KW).astype(np.float64)
    gradients = [grad[:, t][:, :, targets[:, t]] for t in range(R)]
    return sum(gradients, np.zeros(())).reshape(O, I, n, KH, KW)


def active_rotated_filter_arguments(random, outputs=2, inputs=3, n=2, kh=3, kw=3, R=4):
    # Targets do not repeat: the gradient of mmcv is the derivative.
    entries = n * kh * kw
    rotations = [np.argsort(random.floats(entries)) + 1 for _ in range(R)]
    indices = np.stack(rotations, 1) if R else np.zeros((entries, 0))
    return random.floats(outputs, inputs, n, kh, kw), indices.astype(np.int32).reshape(n, kh, kw, R)


def active_rotated_filter_backward_arguments(random, outputs=2, inputs=3, n=2, kh=3, kw=3, R=4):
    _, indices = active_rotated_filter_arguments(random, outputs, inputs, n, kh, kw, R)
    return random.floats(outputs * R, inputs * n, kh, kw), indices
