"""Deformable convolution backward data (mmcv): the gradients of input, offset and mask."""

import torch
from ops.dcn_forward import VECTORS, contiguous, convolved, groups_of, nchw

import mluop_omp.torch  # noqa: F401  registers torch.ops.mluop_omp
from peer import Inputs, Peer

NAMES = "input", "offset", "filter", "mask"


def ours(inputs: Inputs) -> Peer:
    tensors = nchw(inputs, "grad_output", *NAMES)
    arguments = *tensors, *VECTORS, *groups_of(inputs)
    count = 2 if tensors[-1] is None else 3
    return Peer("ours", lambda: torch.ops.mluop_omp.deform_conv2d_backward_data(*arguments)[:count])


# The forward pass is not timed. Samples at a pixel, as offsets of 16 bits have, may be on its other side, by rounding.
def peers(inputs: Inputs) -> list[Peer]:
    grad, image, offset, weight, mask = contiguous(nchw(inputs, "grad_output", *NAMES))
    variables = [each.requires_grad_() for each in (image, offset, mask) if each is not None]
    output = convolved(image, offset, weight, mask, None, *groups_of(inputs))
    return [
        Peer(
            "autograd of grid_sample, matmul",
            lambda: torch.autograd.grad(output, variables, grad, retain_graph=True),
            idiomatic=True,
            may_differ=inputs["input"].element_size() == 2,
        )
    ]
