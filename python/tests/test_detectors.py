"""Detectors of mmdetection3d and mmdetection: a step of training, and a prediction.

Each network of detectors.py is computed twice: with mluop_omp, and with definitions.py as mmcv's
kernels. Losses, gradients, boxes, scores and labels have to agree. MinkUNet's forms for mmcv,
MinkowskiEngine and torchsparse, with the same weights, have to agree too.
"""

from __future__ import annotations

from importlib.util import find_spec

import detectors
import pytest
import torch
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


def cubes(model):
    """Returns the kernels of the convolutions of a MinkUNet, each with a function that returns one
    as [k, k, k, Ci, Co], its axes in the order x, y, z.
    """

    def xyz(weight, is_fastest_first):
        axes = [round(weight[..., 0, 0].numel() ** (1 / 3))] * 3
        cube = weight.view(*axes, *weight.shape[-2:])
        return cube.permute(2, 1, 0, 3, 4) if is_fastest_first else cube

    found = []
    for module in model.modules():
        name = type(module).__name__
        if name in ("SubMConv3d", "SparseConv3d", "SparseInverseConv3d"):
            found.append((module.weight, lambda weight: weight))
        elif name.startswith("MinkowskiConvolution"):
            found.append((module.kernel, lambda weight: xyz(weight, True)))
        elif name == "Conv3d":  # of torchsparse: z is the fastest axis of even kernels
            is_odd = module.kernel.dim() == 2 or len(module.kernel) % 2 == 1
            found.append((module.kernel, lambda weight, is_odd=is_odd: xyz(weight, is_odd)))
    return found


@pytest.mark.long
def test_forms_of_a_network_agree(mm):
    results = []
    for name in ("MinkUNet", "MinkUNet, MinkowskiEngine", "MinkUNet, torchsparse"):
        model, data, _ = detectors.network(mm, name)
        torch.manual_seed(0)
        for kernel, view in cubes(model):
            with torch.no_grad():
                weights = (
                    torch.randn(view(kernel).shape) * (kernel.numel() / kernel.shape[-1]) ** -0.5
                )
                view(kernel).copy_(weights)
        torch.nn.init.normal_(model.decode_head.conv_seg.weight)
        losses, gradients = detectors.train(model, data)
        assert gradients.keys() == dict(model.named_parameters()).keys()
        results.append((losses, [view(kernel.grad) for kernel, view in cubes(model)]))
    (losses, gradients), *others = results
    for other_losses, other_gradients in others:
        torch.testing.assert_close(other_losses, losses, rtol=1e-5, atol=1e-5)
        assert len(other_gradients) == len(gradients) > 40
        for actual, expected in zip(other_gradients, gradients):
            assert (actual - expected).norm() <= 0.01 * expected.norm()
