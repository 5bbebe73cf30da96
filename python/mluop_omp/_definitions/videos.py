"""Shifts of the frames of videos."""

from __future__ import annotations

import numpy as np


def tin_shift(input, shifts):
    T, output = input.shape[1], np.zeros_like(input)
    if not output.size:
        return output
    size = input.shape[2] // shifts.shape[1]
    for (n, g), d in np.ndenumerate(shifts):
        t = np.arange(max(0, d), min(T, T + d))
        channels = slice(g * size, (g + 1) * size)
        output[n, t, channels] = input[n, t - d, channels]
    return output


tin_shift_backward = tin_shift


def tin_shift_arguments(random, N=2, T=5, G=2, C=3, L=4):
    return random.floats(N, T, G * C, L), random.integers(-T, T + 1, N, G)


tin_shift_backward_arguments = tin_shift_arguments
