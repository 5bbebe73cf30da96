"""Multi-scale deformable attention backward: the gradients of values, locations and weights."""

import torch
from ops.ms_deform_attn_forward import NAMES, by_level

import mluop_omp.torch  # noqa: F401  registers torch.ops.mluop_omp
from peer import Inputs, Peer


def ours(inputs: Inputs) -> Peer:
    arguments = [inputs[name] for name in ("grad_output", *NAMES)]
    return Peer("ours", lambda: torch.ops.mluop_omp.ms_deform_attn_backward(*arguments))


# Samples next to a pixel may be on its other side, by rounding. The forward pass is not timed. It keeps the samples: 4 GB
# of the cameras of BEVFormer.
def peers(inputs: Inputs) -> list[Peer]:
    value, shapes, _, locations, weights = (inputs[name] for name in NAMES)
    variables = [each.detach().requires_grad_() for each in (value, locations, weights)]
    output = by_level(variables[0], shapes.tolist(), *variables[1:])
    return [
        Peer(
            "autograd of grid_sample of each level",
            lambda: torch.autograd.grad(output, variables, inputs["grad_output"], retain_graph=True),
            idiomatic=True,
            may_differ=True,
            canonical=lambda grads: tuple(each.contiguous() for each in grads),
        )
    ]
