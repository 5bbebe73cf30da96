"""Sigmoid focal loss forward (RetinaNet): the loss of each class of each row."""

import torch
import torch.nn.functional as F

import mluop_omp.torch as mt
from peer import Inputs, Peer, compiled

Arguments = tuple[torch.Tensor, torch.Tensor, torch.Tensor | None, float, float]


def arguments_of(inputs: Inputs) -> Arguments:
    """Returns input, target, weight, gamma and alpha."""
    weight = inputs["weight"] if inputs["weight"].numel() > 0 else None
    return inputs["input"], inputs["target"], weight, inputs["gamma"].item(), inputs["alpha"].item()


def by_one_hot(
    input: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, gamma: float, alpha: float
) -> torch.Tensor:
    """The formula of mmdetection; for target C, the background, the row of classes is 0."""
    classes = input.shape[1]
    label = F.one_hot(target.long(), classes + 1)[:, :classes].to(input.dtype)
    p = input.sigmoid()
    wrong = (1 - p) * label + p * (1 - label)
    factor = (alpha * label + (1 - alpha) * (1 - label)) * wrong.pow(gamma)
    loss = F.binary_cross_entropy_with_logits(input, label, reduction="none") * factor
    return loss if weight is None else loss * weights_of_rows(target, weight)


def weights_of_rows(target: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Returns the weight of the class of each row, [N, 1]; 1 for the background."""
    return F.pad(weight, (0, 1), value=1)[target.long()].unsqueeze(1)


def ours(inputs: Inputs) -> Peer:
    arguments = arguments_of(inputs)
    return Peer("ours", lambda: (mt.sigmoid_focal_loss(*arguments),))


def peers(inputs: Inputs) -> list[Peer]:
    arguments = arguments_of(inputs)
    input, target, weight, gamma, alpha = arguments
    row = (target < input.shape[1]).nonzero().squeeze(1)
    column = target[row].long()

    def of_targets() -> tuple[torch.Tensor]:
        """Computes all elements as background, then overwrites the targets."""
        loss = F.softplus(input).mul_(input.sigmoid().pow_(gamma)).mul_(1 - alpha)
        x = input[row, column]
        loss[row, column] = alpha * x.neg().sigmoid().pow_(gamma) * F.softplus(-x)
        return (loss if weight is None else loss.mul_(weights_of_rows(target, weight)),)

    formula = Peer("one_hot, binary_cross_entropy_with_logits", lambda: (by_one_hot(*arguments),), idiomatic=True)
    return [formula, compiled(formula), Peer("softplus, indexing of targets", of_targets)]
