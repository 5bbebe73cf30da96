"""MoE dispatch forward (Tutel): samples times their gates, in the rows of their experts."""

import torch

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer

EXPERTS = 2  # of the sizes of the suite


def rows_of(inputs: Inputs) -> torch.Tensor:
    """Returns the row of each sample: the suite skips few, which are in the row after the last."""
    rows = len(inputs["dispatch"])
    capacity = rows // EXPERTS
    found = inputs["indices"].long() * capacity + inputs["locations"]
    return torch.where(inputs["locations"] < capacity, found, rows)


def arguments_of(inputs: Inputs, *names: str) -> tuple:
    """Returns the tensors, the capacity and the number of experts."""
    return *(inputs[name] for name in names), len(inputs["dispatch"]) // EXPERTS, EXPERTS


def ours(inputs: Inputs) -> Peer:
    arguments = arguments_of(inputs, "gates", "indices", "locations", "input")
    return Peer("ours", lambda: (mt.moe_dispatch(*arguments),))


def peers(inputs: Inputs) -> list[Peer]:
    gates, input, rows = inputs["gates"].unsqueeze(1), inputs["input"], rows_of(inputs)
    count = len(inputs["dispatch"])

    def index_copy() -> Outputs:
        dispatch = input.new_zeros(count + 1, input.shape[1])
        return (dispatch.index_copy_(0, rows, gates * input)[:-1],)

    return [Peer("index_copy", index_copy, idiomatic=True)]
