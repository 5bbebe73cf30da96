"""Softmax focal loss forward (mmcv): the loss of each row."""

import torch
import torch.nn.functional as F

import mluop_omp.torch as mt
from peer import Inputs, Peer, compiled

# The defaults of cases, and of mmcv.
GAMMA, ALPHA = 2.0, 0.25


def arguments_of(inputs: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the softmax, whose rows have the sum 1, and the targets."""
    softmax = inputs["softmax"]
    return softmax / softmax.sum(1, keepdim=True), inputs["target"]


def classes_of(target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the class of each row, [N, 1], and whether it has one, [N]."""
    return target.clamp(min=0).long().unsqueeze(1), target >= 0


def by_log_softmax(logits: torch.Tensor, classes: torch.Tensor, has_class: torch.Tensor) -> torch.Tensor:
    log = F.log_softmax(logits, 1).gather(1, classes).squeeze(1)
    return -ALPHA * (1 - log.exp()).pow(GAMMA) * log * has_class


def ours(inputs: Inputs) -> Peer:
    softmax, target = arguments_of(inputs)
    return Peer("ours", lambda: (mt.softmax_focal_loss(softmax, target, None, GAMMA, ALPHA),))


def peers(inputs: Inputs) -> list[Peer]:
    softmax, target = arguments_of(inputs)
    logits, (classes, has_class) = softmax.log(), classes_of(target)

    def of_softmax() -> tuple[torch.Tensor]:
        p = softmax.gather(1, classes).squeeze(1)
        return (-ALPHA * (1 - p).pow(GAMMA) * p.log() * has_class,)

    formula = Peer("log_softmax, gather", lambda: (by_log_softmax(logits, classes, has_class),), idiomatic=True)
    return [formula, compiled(formula), Peer("gather of the softmax", of_softmax)]
