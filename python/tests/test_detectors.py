"""Detectors of mmdetection3d and mmdetection: a step of training, and a prediction.

Each network of detectors.py is computed twice: with mluop_omp, and with definitions.py as mmcv's
kernels. Losses, gradients, boxes, scores and labels have to agree.
"""

from __future__ import annotations

from importlib.util import find_spec

import detectors
import pytest
from agreement import Tolerance, check, parameters
from detectors import HARD, NETWORKS, OVERLAP, ROTATED, UPRIGHT

pytestmark = [
    pytest.mark.detectors,
    pytest.mark.skipif(not find_spec("mmdet3d"), reason="requires mmdet3d and mmdet"),
]


@pytest.fixture(scope="module")
def mm():
    return detectors.load()


@pytest.mark.parametrize("name", parameters(NETWORKS))
def test_network(name, mm, monkeypatch):
    *_, kernels = NETWORKS[name]
    # Voxels of points are copies: all that follows from them is the same.
    if not kernels - HARD - ROTATED - UPRIGHT:
        tolerance = Tolerance(losses=1e-5, gradients=0, boxes=1.0)
    elif kernels >= OVERLAP:  # A proposal whose box is rounded otherwise has other points.
        tolerance = Tolerance(losses=1e-3, gradients=0.2, boxes=0.8)
    else:
        tolerance = Tolerance(losses=1e-5, gradients=0.05, boxes=0.8)
    check(*detectors.network(mm, name), kernels, monkeypatch, tolerance)
