"""Initial parameters of layers."""

from __future__ import annotations

import math

from torch import nn


def draw_uniform(inputs: int, *parameters: nn.Parameter | None) -> None:
    """Draws parameters, in this order, uniformly from +-1 / sqrt(inputs); None is left out."""
    bound = 1 / math.sqrt(inputs)
    for parameter in parameters:
        if parameter is not None:
            nn.init.uniform_(parameter, -bound, bound)
