"""Recorded rows in the order of a library that refers to rows by their numbers.

MinkowskiEngine and torchsparse keep maps of rows in a manager or a cache. A replayed model has the
rows of its own run, so recorded tensors move to them.
"""

from __future__ import annotations

import numpy as np

from mluop_omp.golden.runs._run import Value


def rows_at(recorded: np.ndarray, sites: np.ndarray) -> np.ndarray | None:
    """Returns the recorded row of each site, the k-th for the k-th row at a site; None unless the
    recorded sites are the same.
    """
    orders = [np.lexsort(each.T[::-1]) for each in (recorded, sites)]
    if not np.array_equal(recorded[orders[0]], sites[orders[1]]):
        return None
    rows = np.empty(len(sites), np.int64)
    rows[orders[1]] = orders[0]
    return rows


class MappedRows:
    """The rows of the sites that the model has had, by the name of the recorded sites."""

    def __init__(self) -> None:
        self._rows: dict[str, np.ndarray] = {}

    def add(self, name: str, recorded: np.ndarray, sites: np.ndarray) -> np.ndarray | None:
        """Returns the recorded row of each site of the model; None for other sites."""
        rows = rows_at(recorded, sites)
        if rows is not None:
            self._rows[name] = rows
        return rows

    def moved(self, value: Value, array: np.ndarray) -> np.ndarray:
        """Returns a dense tensor that was recorded at sites with the rows of the model."""
        rows = self._rows.get(value.indices or "") if value.inferred else None
        return array if rows is None or len(rows) != len(array) else array[rows]
