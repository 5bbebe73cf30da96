"""Mutual information backward (k2): the gradients of the scores of a lattice."""

import torch
from ops.mutual_information_forward import recursion

import mluop_omp.torch as mt
from peer import Inputs, Peer


# The forward passes are not timed.
def ours(inputs: Inputs) -> Peer:
    px, py, grad = (inputs[name] for name in ("px", "py", "ans_grad"))
    _, p = mt.mutual_information(px, py)
    return Peer("ours", lambda: mt.mutual_information_backward(px, py, p, grad))


def peers(inputs: Inputs) -> list[Peer]:
    px, py, grad = (inputs[name] for name in ("px", "py", "ans_grad"))
    # Finite, because the derivative of logaddexp of two infinities is NaN.
    variables = [each.clone().requires_grad_() for each in (px, py)]
    ans = recursion(*variables, nothing=-1e30)[-1][:, -1]
    return [
        Peer(
            "autograd of logaddexp",
            lambda: torch.autograd.grad(ans, variables, grad, retain_graph=True),
            idiomatic=True,
        )
    ]
