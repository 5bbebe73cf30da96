"""Networks of the onedl packages: a step of training, and a prediction.

Each network of rotated.py is computed twice, as in test_detectors.py. The packages have the modules
of mmcv, mmdet and mmengine: PYTHONPATH begins with the folder that contains them.
"""

from __future__ import annotations

from importlib.util import find_spec

import pytest
import rotated
from agreement import Tolerance, check, parameters
from detectors import ATTENTION

from mluop_omp import _requirements

pytestmark = [
    pytest.mark.rotated,
    pytest.mark.skipif(not find_spec("mmrotate"), reason="requires requirements-onedl.txt"),
]


@pytest.fixture(scope="module")
def mm():
    return rotated.load()


@pytest.mark.parametrize("name", parameters(rotated.NETWORKS))
def test_network(name, mm, monkeypatch):
    *_, kernels = rotated.NETWORKS[name]
    if kernels >= ATTENTION:  # Rounding changes the order of queries of equal scores.
        tolerance = Tolerance(losses=1e-3, gradients=0.1, boxes=0.8)
    else:
        tolerance = Tolerance(losses=1e-5, gradients=5e-3, boxes=0.9)
    check(*rotated.network(mm, name), kernels, monkeypatch, tolerance)


def test_the_status_names_the_package():
    assert _requirements.installed("mmcv").startswith("onedl-mmcv ")
