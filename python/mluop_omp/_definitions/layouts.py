"""Copies of images in another layout."""

from __future__ import annotations

import numpy as np


def transpose(input):
    return np.ascontiguousarray(input.transpose(0, 2, 1))


def transpose_arguments(random, N=2, A=5, B=7):
    return (random.floats(N, A, B),)
