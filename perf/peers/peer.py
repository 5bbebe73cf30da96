"""The interface between the operators and networks, and the measurement."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

Inputs = dict[str, torch.Tensor]
Outputs = tuple[torch.Tensor, ...]

# By the value of mluOpReduceMode_t.
REDUCTIONS = ("sum", "mean", "max")


@dataclass(frozen=True)
class Peer:
    """An implementation of the operator. run() returns its outputs; canonical(), which is not timed, returns them
    contiguous and as the library orders them."""

    name: str
    run: Callable[[], Outputs]
    idiomatic: bool = False  # as usually written, not tuned
    counts: bool = True  # counts in the ratios; False if it does less than the operator
    canonical: Callable[[Outputs], Outputs] = lambda outputs: outputs  # the outputs as the library orders them
    may_differ: bool = False  # has data races or treats ties differently: timed although the results differ


def compiled(peer: Peer) -> Peer:
    """Applies torch.compile. The first call compiles; torch caches the code for later processes."""
    return replace(peer, name=peer.name + ", compiled", run=torch.compile(peer.run, dynamic=False))
