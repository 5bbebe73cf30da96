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


def _targets(softmax, target, weight):
    """Returns the probabilities of the targets, their logarithms, and the weights of the rows. Both
    are 1 for the target -1.
    """
    rows = np.arange(len(target))
    columns = np.append(softmax.astype(np.float64), np.ones((len(target), 1)), 1)
    p = np.clip(columns[rows, target], 0, 1)
    weights = np.ones(len(target)) if weight is None else np.append(weight, 1)[target]
    return p, np.log(np.maximum(p, 2.0**-126)), weights.astype(np.float64)


def softmax_focal_loss(softmax, target, weight, gamma, alpha):
    p, log, weights = _targets(softmax, target, weight)
    return np.where(target < 0, 0, -weights * alpha * (1 - p) ** gamma * log)


def softmax_focal_loss_backward(softmax, target, weight, gamma, alpha):
    p, log, weights = _targets(softmax, target, weight)
    wrong = 1 - p
    # The limit of log(p) / (1 - p) at 1 is -1.
    slope = np.divide(log, wrong, out=-np.ones_like(p), where=wrong != 0)
    buff = np.where(target < 0, 0, weights * alpha * wrong**gamma * (gamma * p * slope - 1))
    is_target = target[:, np.newaxis] == np.arange(softmax.shape[1])
    grads = buff[:, np.newaxis] * (is_target - softmax.astype(np.float64))
    return buff, np.where(target[:, np.newaxis] < 0, 0, grads)


def softmax_focal_loss_arguments(random, N=9, C=5, gamma=(2.0, 0.5), alpha=(0.25, 0.75)):
    """Some rows have no class, -1."""
    exp = np.exp(random.floats(N, C))
    target = random.integers(-1, C, N)
    return exp / exp.sum(1, keepdims=True), target, random.positive(C), gamma, alpha


softmax_focal_loss_backward_arguments = softmax_focal_loss_arguments
