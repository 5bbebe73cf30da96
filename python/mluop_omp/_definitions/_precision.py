"""Element types of intermediate results."""

from __future__ import annotations

import numpy as np


def at_least_float32(array):
    return array.astype(np.promote_types(array.dtype, np.float32), copy=False)
