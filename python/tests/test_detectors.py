"""Detectors of mmdetection3d and mmdetection: a step of training, and a prediction.

Each network of detectors.py is computed twice: with mluop_omp, and with definitions.py as mmcv's
kernels. Losses, gradients, boxes, scores and labels have to agree.
"""

from __future__ import annotations

import copy
from importlib.util import find_spec

import definitions
import detectors
import pytest
import torch
from detectors import HARD, NETWORKS, OVERLAP, ROTATED, UPRIGHT, predict, train

pytestmark = [
    pytest.mark.detectors,
    pytest.mark.skipif(not find_spec("mmdet3d"), reason="requires mmdet3d and mmdet"),
]


@pytest.fixture(scope="module")
def mm():
    return detectors.load()


def rows(prediction):
    """A row for each box: coordinates, score, label. Boxes of equal scores have no order."""
    columns = [each.view(len(each), -1).double() for each in prediction.values()]
    return torch.cat(columns, 1)


def compare(prediction, expected, least=1.0):
    """Compares the boxes of each scene, of which at least this share has to be the same.

    Where features differ by rounding, a box whose IoU with another one is near the threshold may be
    kept in one of both, and others for it: of MVX-Net's, a tenth is without fused multiply-adds.
    """
    for actual, expected_rows in zip(map(rows, prediction), map(rows, expected)):
        assert min(len(actual), len(expected_rows)) > 10
        distance = torch.cdist(actual, expected_rows, float("inf"))
        for nearest in (distance.amin(0), distance.amin(1)):
            assert (nearest < 1e-3).double().mean() >= least


def check(model, data, test_data, kernels, patch):
    """Compares a step and a prediction with the results of the definitions."""
    copied = copy.deepcopy(model)
    losses, gradients = train(model, data)
    prediction = predict(model, test_data)
    called = definitions.install(patch)
    expected_losses, expected_gradients = train(copied, data)
    # Voxels of points are copies: all that follows from them is the same.
    is_exact = not kernels - HARD - ROTATED - UPRIGHT
    compare(prediction, predict(model, test_data), 1.0 if is_exact else 0.8)
    assert called == kernels
    # A proposal whose box is rounded otherwise has other points.
    has_proposals = kernels >= OVERLAP
    tolerance = 1e-3 if has_proposals else 1e-5
    torch.testing.assert_close(losses, expected_losses, rtol=tolerance, atol=tolerance)
    assert gradients.keys() == expected_gradients.keys()
    # Biases in front of a normalization have no gradient but rounding, of terms that are as large
    # as the largest gradients.
    tolerance = 0 if is_exact else 0.2 if has_proposals else 0.05
    least = 5e-4 * max(expected.norm() for expected in expected_gradients.values())
    for parameter, expected in expected_gradients.items():
        difference = (gradients[parameter] - expected).norm()
        assert difference <= tolerance * max(expected.norm(), least), parameter


@pytest.mark.parametrize("name", NETWORKS)
def test_network(name, mm, monkeypatch):
    *_, kernels = NETWORKS[name]
    check(*detectors.network(mm, name), kernels, monkeypatch)
