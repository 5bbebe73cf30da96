"""What every operator hands to the measurement."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

Inputs = dict[str, torch.Tensor]
Outputs = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Peer:
    """The operator by other means. run() returns what the library writes, contiguous, in its order and shapes."""

    name: str
    run: Callable[[], Outputs]
    written: bool = False  # as people write it, rather than tuned
    counts: bool = True  # in the ratios; not if it does less than the operator
    may_differ: bool = False  # known to, for it races or treats ties otherwise: reported, and timed all the same


def compiled(peer: Peer) -> Peer:
    """The same through torch.compile, which fuses what is element-wise and transposes in tiles. The first call
    compiles; torch keeps the code for later processes."""
    return replace(peer, name=peer.name + ", compiled", run=torch.compile(peer.run, dynamic=False))
