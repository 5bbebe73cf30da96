"""Whether a network computes the same with mluop_omp as with definitions.py as mmcv's kernels."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import definitions
import pytest
import torch
from detectors import predict, train


class Tolerance(NamedTuple):
    """What may differ: kernels and definitions round differently.

    Attributes:
        losses: relative and absolute difference of a loss.
        gradients: norm of the difference of a gradient, relative to its norm.
        boxes: the share of the boxes of a scene that have to be the same. Where features differ by
            rounding, a box whose IoU with another one is near the threshold may be kept in one of
            both, and others for it: of MVX-Net's, a tenth is without fused multiply-adds.
    """

    losses: float
    gradients: float
    boxes: float


def parameters(networks: dict[str, tuple]) -> list[Any]:
    """A selection that calls most kernels: each network at least four that the networks before it
    do not call. The others are long tests.
    """
    seen: set[str] = set()
    chosen = []
    for name, (*_, kernels) in sorted(networks.items(), key=lambda item: -len(item[1][-1])):
        if len(kernels - seen) >= 4:
            chosen.append(name)
            seen |= kernels
    return [
        pytest.param(name, marks=[] if name in chosen else [pytest.mark.long]) for name in networks
    ]


def rows(prediction):
    """A row for each box: coordinates, score, label. Boxes of equal scores have no order."""
    columns = [each.view(len(each), -1).double() for each in prediction.values()]
    return torch.cat(columns, 1)


def compare(prediction, expected, least):
    """Compares the boxes of each scene, of which at least this share has to be the same."""
    for actual, expected_rows in zip(map(rows, prediction), map(rows, expected)):
        assert min(len(actual), len(expected_rows)) > 10
        distance = torch.cdist(actual, expected_rows, float("inf"))
        for nearest in (distance.amin(0), distance.amin(1)):
            assert (nearest < 1e-3).double().mean() >= least


def check(model, data, test_data, kernels, patch, tolerance):
    """Compares a step and a prediction with the results of the definitions."""
    copied = copy.deepcopy(model)
    losses, gradients = train(model, data)
    prediction = predict(model, test_data)
    called = definitions.install(patch)
    expected_losses, expected_gradients = train(copied, data)
    compare(prediction, predict(model, test_data), tolerance.boxes)
    assert called == kernels
    close = {"rtol": tolerance.losses, "atol": tolerance.losses}
    torch.testing.assert_close(losses, expected_losses, **close)
    assert gradients.keys() == expected_gradients.keys()
    # Biases in front of a normalization have no gradient but rounding, of terms that are as large
    # as the largest gradients.
    least = 5e-4 * max(expected.norm() for expected in expected_gradients.values())
    for parameter, expected in expected_gradients.items():
        difference = (gradients[parameter] - expected).norm()
        assert difference <= tolerance.gradients * max(expected.norm(), least), parameter
