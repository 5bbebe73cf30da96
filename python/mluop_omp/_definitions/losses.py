"""The losses of classifications."""

from __future__ import annotations

import numpy as np


def _answers(
    input: np.ndarray, target: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, ...]:
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


def sigmoid_focal_loss(
    input: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    gamma: float = 2.0,
    alpha: float = 0.25,
) -> np.ndarray:
    is_target, _, wrong, log, weights = _answers(input, target, weight)
    return -weights * np.where(is_target, alpha, 1 - alpha) * wrong**gamma * log


def sigmoid_focal_loss_backward(
    input: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    gamma: float = 2.0,
    alpha: float = 0.25,
) -> np.ndarray:
    is_target, right, wrong, log, weights = _answers(input, target, weight)
    factor = weights * np.where(is_target, -alpha, 1 - alpha) * wrong**gamma
    return factor * (wrong - gamma * right * log)
