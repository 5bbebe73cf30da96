"""Softmax focal loss backward (mmcv): the gradient of each loss for the logits."""

import torch
from ops.softmax_focal_loss_forward import ALPHA, GAMMA, arguments_of, by_log_softmax, classes_of

import mluop_omp.torch  # noqa: F401  registers torch.ops.mluop_omp
from peer import Inputs, Peer, compiled


def ours(inputs: Inputs) -> Peer:
    arguments = *arguments_of(inputs), None, GAMMA, ALPHA
    return Peer("ours", lambda: (torch.ops.mluop_omp.softmax_focal_loss_backward(*arguments)[1],))


# The forward pass of autograd is not timed.
def peers(inputs: Inputs) -> list[Peer]:
    softmax, target = arguments_of(inputs)
    classes, has_class = classes_of(target)
    variable = softmax.log().requires_grad_()
    loss = by_log_softmax(variable, classes, has_class)
    ones = torch.ones_like(loss)

    def of_softmax() -> tuple[torch.Tensor]:
        p = softmax.gather(1, classes)
        q = 1 - p
        factor = ALPHA * (GAMMA * q.pow(GAMMA - 1) * p * p.log() - q.pow(GAMMA)) * has_class.unsqueeze(1)
        grad = -factor * softmax
        return (grad.scatter_add_(1, classes, factor),)

    formula = Peer("gather and scatter of the softmax", of_softmax)
    return [
        Peer(
            "autograd of log_softmax, gather",
            lambda: torch.autograd.grad(loss, variable, ones, retain_graph=True),
            idiomatic=True,
        ),
        formula,
        compiled(formula),
    ]
