"""MoE dispatch, gradient of the gates (Tutel): dot products of samples and rows of experts."""

import mluop_omp.torch as mt
from ops.moe_dispatch_forward import arguments_of, rows_of
from peer import Inputs, Outputs, Peer


def ours(inputs: Inputs) -> Peer:
    arguments = arguments_of(inputs, "indices", "locations", "input", "dispatch")
    return Peer("ours", lambda: (mt.moe_dispatch_backward_gate(*arguments),))


def peers(inputs: Inputs) -> list[Peer]:
    input, dispatch, rows = inputs["input"], inputs["dispatch"], rows_of(inputs)
    inside = rows < len(dispatch)
    rows = rows.clamp(max=len(dispatch) - 1)

    def products() -> Outputs:
        return ((dispatch[rows] * input).sum(1) * inside,)

    return [Peer("rows, products, sum", products, idiomatic=True)]
