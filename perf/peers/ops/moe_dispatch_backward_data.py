"""MoE dispatch, gradient of the input (Tutel): rows of experts times the gates of samples."""

import mluop_omp.torch as mt
from ops.moe_dispatch_forward import arguments_of, rows_of
from peer import Inputs, Outputs, Peer


def ours(inputs: Inputs) -> Peer:
    arguments = arguments_of(inputs, "gates", "indices", "locations", "dispatch")
    return Peer("ours", lambda: (mt.moe_dispatch_backward_data(*arguments),))


def peers(inputs: Inputs) -> list[Peer]:
    gates, dispatch, rows = inputs["gates"].unsqueeze(1), inputs["dispatch"], rows_of(inputs)
    inside = (rows < len(dispatch)).unsqueeze(1)
    rows = rows.clamp(max=len(dispatch) - 1)

    def products() -> Outputs:
        return (gates * inside * dispatch[rows],)

    return [Peer("rows, products", products, idiomatic=True)]
