"""Fixtures of all tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Callable

import numpy as np
import pytest

import mluop_omp


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


@pytest.fixture
def set_threads() -> Iterator[Callable[[int], None]]:
    """Sets the number of threads, and restores it."""
    before = mluop_omp.threads()
    yield lambda count: mluop_omp.threads(count) and None
    mluop_omp.threads(before)
