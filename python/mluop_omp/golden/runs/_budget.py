"""Shares the bytes of a file among its tensors."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

# Bytes that a tensor takes besides its elements: zip and .npy headers, its line in run.json.
OVERHEAD = 640
# The weight of the first estimate of how much of their shares tensors use.
_PRIOR = 8


class Budget:
    """Computes the share of the next tensor: what is left, divided by the tensors to come.

    Tensors that take less than their share leave the rest to the others. This is known in advance
    of parameters and buffers; of other tensors, it is estimated from the previous ones, many of
    which are recorded already and take nothing.
    """

    def __init__(self, state: Iterable[int], others: int) -> None:
        """state: the bytes of each parameter and buffer. others: the expected number of others."""
        self._state = np.sort(np.fromiter(state, np.int64)) + OVERHEAD
        self._expected, self._seen, self._used = others, 0, 0.0
        self._share = 0.0

    def share(self, free: int, size: int, *, is_state: bool = False) -> int:
        """Returns the bytes that the next tensor may take. size: all of its bytes."""
        use = (self._used + _PRIOR) / (self._seen + _PRIOR)
        others = max(self._expected - self._seen, self._expected / 4) * use
        left = np.arange(len(self._state), 0, -1) + max(others, 4)
        # The state in ascending order, as long as each takes less than an equal share of the rest.
        rest = free - np.cumsum(self._state) + self._state
        large = np.flatnonzero(self._state * left >= rest)
        if len(large) > 0:
            share = rest[large[0]] / left[large[0]]
        else:
            share = (free - self._state.sum()) / max(others, 4)
        if is_state and len(self._state) > 0:
            place = int(np.searchsorted(self._state, size + OVERHEAD))
            self._state = np.delete(self._state, min(place, len(self._state) - 1))
        elif not is_state and size > OVERHEAD:
            self._seen, self._share = self._seen + 1, share
        return max(int(share) - OVERHEAD, 0)

    def use(self, size: int) -> None:
        """Adds the bytes that a tensor has taken, other than parameters and buffers."""
        if size > OVERHEAD:
            self._used += min(size / max(self._share, 1), 1)
