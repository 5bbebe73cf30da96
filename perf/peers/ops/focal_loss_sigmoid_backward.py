"""Sigmoid focal loss backward (RetinaNet): the derivative of each loss."""

import torch
from ops.focal_loss_sigmoid_forward import arguments_of, by_one_hot, weights_of_rows

import mluop_omp.torch  # noqa: F401  registers torch.ops.mluop_omp
from peer import Inputs, Outputs, Peer, compiled


def ours(inputs: Inputs) -> Peer:
    arguments = arguments_of(inputs)
    return Peer("ours", lambda: (torch.ops.mluop_omp.sigmoid_focal_loss_backward(*arguments),))


# The forward pass of autograd is not timed.
def peers(inputs: Inputs) -> list[Peer]:
    input, target, weight, gamma, alpha = arguments_of(inputs)
    row = (target < input.shape[1]).nonzero().squeeze(1)
    column = target[row].long()
    variable = input.detach().requires_grad_()
    loss = by_one_hot(variable, target, weight, gamma, alpha)
    ones = torch.ones_like(loss)

    def derivative(p: torch.Tensor) -> torch.Tensor:
        """Returns the derivative for background; for a target, it is called with 1 - p."""
        return p**gamma * (p - gamma * (1 - p) * torch.log1p(-p))

    def of_targets() -> Outputs:
        """Computes all elements as background, then overwrites the targets."""
        grad = derivative(input.sigmoid()).mul_(1 - alpha)
        grad[row, column] = derivative(input[row, column].neg().sigmoid()).mul_(-alpha)
        return (grad if weight is None else grad.mul_(weights_of_rows(target, weight)),)

    targets = Peer("formula, indexing of targets", of_targets)
    return [
        Peer(
            "autograd of one_hot, binary_cross_entropy",
            lambda: torch.autograd.grad(loss, variable, ones, retain_graph=True),
            idiomatic=True,
        ),
        targets,
        compiled(targets),
    ]
