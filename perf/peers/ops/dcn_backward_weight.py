"""Deformable convolution backward weight (mmcv): the gradients of filters and bias."""

import torch
from ops.dcn_forward import VECTORS, contiguous, groups_of, nchw, sampled

import mluop_omp.torch  # noqa: F401  registers torch.ops.mluop_omp
from peer import Inputs, Outputs, Peer

NAMES = "grad_output", "input", "offset", "mask"


def ours(inputs: Inputs) -> Peer:
    arguments = *nchw(inputs, *NAMES), (3, 3), *VECTORS, *groups_of(inputs)
    return Peer("ours", lambda: torch.ops.mluop_omp.deform_conv2d_backward_weight(*arguments))


# Checkpointed forward passes, as in mmcv, do not keep the samples.
def peers(inputs: Inputs) -> list[Peer]:
    grad, image, offset, mask = contiguous(nchw(inputs, *NAMES))
    groups, parts = groups_of(inputs)
    (N, Co), C = grad.shape[:2], image.shape[1]

    def by_matrix() -> Outputs:
        columns = sampled(image, offset, mask, parts).view(N, groups, C // groups * 9, -1)
        products = grad.view(N, groups, Co // groups, -1) @ columns.transpose(2, 3)
        return products.sum(0).view(Co, C // groups, 3, 3), grad.sum((0, 2, 3))

    return [Peer("grid_sample, matmul", by_matrix, idiomatic=True)]
