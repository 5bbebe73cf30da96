"""Random arguments of the operators.

Beside the definition of an operator stands a function of random arguments of any sizes:

    def psamask_arguments(random, N=2, A=3, B=5, H=4, W=6, psa_type=("collect", "distribute")):
        return random.floats(N, A * B, H, W), (A, B), psa_type

An integer is a size, which may be 0. A tuple has the values of a parameter, the first of which is
the usual one. The self-test calls each operator with the usual values, the tests with all.
"""

from __future__ import annotations

import math

import numpy as np


class Random:
    """Arrays of a seed, the same in every run."""

    def __init__(self, seed: int = 20) -> None:
        self._generator = np.random.default_rng(seed)

    def floats(self, *shape: int) -> np.ndarray:
        return self._generator.standard_normal(shape, np.float32)

    def positive(self, *shape: int) -> np.ndarray:
        return self._generator.uniform(0.5, 2.5, shape).astype(np.float32)

    def integers(self, low: int, high: int, *shape: int) -> np.ndarray:
        """Returns numbers from low to high - 1; of an empty range, low."""
        return self._generator.integers(low, max(high, low + 1), shape, np.int32)

    def corners(self, count: int) -> np.ndarray:
        """Returns boxes (x1, y1, x2, y2)."""
        low = self.floats(count, 2)
        return np.concatenate((low, low + self.positive(count, 2)), 1)

    def rotated(self, count: int) -> np.ndarray:
        """Returns boxes (x, y, width, height, angle)."""
        return np.concatenate(
            (self.floats(count, 2), self.positive(count, 2), self.floats(count, 1)), 1
        )

    def quads(self, count: int) -> np.ndarray:
        """Returns quadrilaterals (x1, y1, ..., x4, y4) whose sides do not cross."""
        turns = self._generator.uniform(-0.3, 0.3, (count, 4)) + np.arange(4)
        reach = self._generator.uniform(0.3, 1.5, (count, 4))
        points = np.stack((reach * np.cos(turns * np.pi / 2), reach * np.sin(turns * np.pi / 2)), 2)
        return (points + self.floats(count, 1, 2)).reshape(count, 8).astype(np.float32)

    def boxes(self, *shape: int) -> np.ndarray:
        """Returns boxes (x, y, z, dx, dy, dz, yaw)."""
        parts = self.floats(*shape, 3), self.positive(*shape, 3), self.floats(*shape, 1)
        return np.concatenate(parts, -1)

    def rois(self, count: int, images: int) -> np.ndarray:
        """Returns RoIs (image, x1, y1, x2, y2)."""
        image = self.integers(0, images, count, 1).astype(np.float32)
        return np.concatenate((image, 4 * self.corners(count) + 8), 1)

    def sites(self, count: int, batches: int, space: tuple[int, ...]) -> np.ndarray:
        """Returns different sites (batch, coordinates), in any order."""
        cells = self._generator.permutation(batches * math.prod(space))[:count]
        return np.stack(np.unravel_index(cells, (batches, *space)), 1).astype(np.int32)

    def pairs(self, K: int, L: int, num_out: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns index pairs [K, 2, L] and their numbers [K]."""
        inputs, outputs = self.integers(0, L, K, L), self.integers(0, num_out, K, L)
        num = self.integers(0, L + 1 if num_out else 0, K)
        return np.stack((inputs, outputs), 1), num
