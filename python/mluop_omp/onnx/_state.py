"""What the nodes of one graph share beside tensors."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(eq=False)
class State:
    """The coordinates that a graph's features belong to, and what its nodes keep for each other.

    Whoever makes the evaluator gives them once: what is kept is valid for every run of the graph.
    """

    # [n, 4] int32: batch, then one coordinate for each entry of spatial_shape.
    indices: np.ndarray | None = None
    spatial_shape: tuple[int, ...] | None = None
    batch_size: int | None = None
    # Rulebooks and sites by a key that its nodes choose.
    kept: dict[Hashable, Any] = field(default_factory=dict)
