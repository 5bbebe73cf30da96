"""The losses of classifications."""

from __future__ import annotations

import numpy as np


def _answers(input, target, weight):
    """Returns which classes are targets, the probabilities of the right and of the wrong answer,
    the logarithm of the former, and the weight of each row.
    """
    with np.errstate(over="ignore"):
        p = 1 / (1 + np.exp(-input.astype(np.float64)))
    p = p.astype(np.promote_types(input.dtype, np.float32)).astype(np.float64)
    is_target = target[:, np.newaxis] == np.arange(input.shape[1])
    right, wrong = np.where(is_target, p, 1 - p), np.where(is_target, 1 - p, p)
    weights = np.ones((len(target), 1))
    if weight is not None:
        rows, classes = np.nonzero(is_target)
        weights[rows, 0] = weight[classes]
    return is_target, right, wrong, np.log(np.maximum(right, 2.0**-126)), weights


def sigmoid_focal_loss(input, target, weight, gamma, alpha):
    is_target, _, wrong, log, weights = _answers(input, target, weight)
    return -weights * np.where(is_target, alpha, 1 - alpha) * wrong**gamma * log


def sigmoid_focal_loss_backward(input, target, weight, gamma, alpha):
    is_target, right, wrong, log, weights = _answers(input, target, weight)
    factor = weights * np.where(is_target, -alpha, 1 - alpha) * wrong**gamma
    return factor * (wrong - gamma * right * log)


def sigmoid_focal_loss_arguments(random, N=9, C=5, gamma=(2.0, 1.5), alpha=(0.25, 0.75)):
    """Some targets are the background, C."""
    logits, target = random.floats(N, C), random.integers(0, C + 1, N)
    return logits, target, random.positive(C), gamma, alpha


sigmoid_focal_loss_backward_arguments = sigmoid_focal_loss_arguments
