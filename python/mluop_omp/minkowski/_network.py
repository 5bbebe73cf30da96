"""The base of networks."""

from __future__ import annotations

import abc
from typing import Any

from torch import nn


class MinkowskiNetwork(nn.Module, abc.ABC):
    """A network of dimension D, whose class defines forward."""

    def __init__(self, D: int) -> None:
        super().__init__()
        self.D = D

    @abc.abstractmethod
    def forward(self, x: Any) -> Any: ...
