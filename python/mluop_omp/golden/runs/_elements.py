"""A NumPy array to record, with the interface of `_sources.Source`, without PyTorch."""

from __future__ import annotations

import math

import numpy as np

from mluop_omp.golden.runs import _sampling


class ArraySource:
    """An array to record. Its attributes are explained at `Source`."""

    has_values = True

    def __init__(self, array: np.ndarray) -> None:
        self._array = array
        self.dtype = array.dtype.name
        self.shape = tuple(array.shape)
        self.size = math.prod(self.shape)
        self.itemsize = array.dtype.itemsize

    def read(self, rows: np.ndarray | None = None) -> np.ndarray:
        return self._host(self._array if rows is None else self._array[rows])

    def sample(self, parts: list[_sampling.Part]) -> np.ndarray:
        """Returns the elements of a sample [K]."""
        places = [_sampling.positions(part, self.shape).reshape(-1) for part in parts]
        return self._host(self._array[np.unravel_index(np.concatenate(places), self.shape)])

    @staticmethod
    def _host(values: np.ndarray) -> np.ndarray:
        return np.asarray(values, values.dtype.newbyteorder("="), order="C")
