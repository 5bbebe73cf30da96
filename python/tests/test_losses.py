"""Focal loss: rules of its arguments, and the modules of mmcv."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import cases
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

import mluop_omp
import mluop_omp.torch as mt

LOGITS = np.array([[30, -30], [-200, np.nan]], np.float32)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_large_logits(dtype):
    target = np.array([1, 0], np.int32)
    found = mluop_omp.sigmoid_focal_loss(LOGITS.astype(dtype), target)
    least = -np.log(2.0) * 126
    of_zero = np.log1p(-1 / (1 + np.exp(-30.0))) if dtype == np.float64 else least
    assert_allclose(found, [[-0.75 * of_zero, 7.5], [-0.25 * least, np.nan]], rtol=1e-3)


def test_table_of_the_page():
    page = Path(__file__).resolve().parents[2] / "docs" / "operators" / "sigmoid-focal-loss.md"
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", page.read_text(), flags=re.MULTILINE)
    logits = np.array([[x] for x, _ in rows], np.float32)
    background = np.full(len(rows), 1, np.int32)
    losses = mluop_omp.sigmoid_focal_loss(logits, background)
    grads = mluop_omp.sigmoid_focal_loss_backward(logits, background)
    p = 1 / (1 + np.exp(-logits))
    mmcv = -0.75 * p**2 * np.log(np.maximum(1 - p, np.finfo(np.float32).tiny))
    expected = np.column_stack((0.75 * logits, losses, mmcv, grads))
    assert len(rows) == 4 and p.dtype == np.float32
    assert_allclose([[float(cell) for cell in row.split(" | ")] for _, row in rows], expected, 1e-4)


@pytest.mark.parametrize(("dtype", "limit"), [(np.float32, 17.33), (np.float64, 36.74)])
def test_where_the_loss_is_constant(dtype, limit):
    logits = np.array([[limit - 0.01], [limit], [100]], dtype)
    below, at, far = mluop_omp.sigmoid_focal_loss(logits, np.full(3, 1, np.int32))[:, 0]
    assert below != at == far


def test_rows_without_class_have_no_weight():
    logits, weight = np.zeros((4, 2), np.float32), np.array([3, 5], np.float32)
    target = np.array([1, 2, -1, 0], np.int32)
    plain = mluop_omp.sigmoid_focal_loss(logits, target)
    factors = mluop_omp.sigmoid_focal_loss(logits, target, weight) / plain
    assert_allclose(factors, [[5, 5], [1, 1], [1, 1], [3, 3]], rtol=1e-6)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_module_of_mmcv(reduction, is_weighted):
    pytest.importorskip("mmcv")
    importlib.import_module("mluop_omp.mmcv.auto")
    ops = importlib.import_module("mmcv.ops")
    logits, target, weight, *numbers = cases.with_gradients("sigmoid_focal_loss")
    weight = weight.detach() if is_weighted else None
    found = ops.SigmoidFocalLoss(*numbers, weight, reduction)(logits, target.long())
    losses = mt.sigmoid_focal_loss(logits, target, weight, *numbers)
    expected = {"none": losses, "mean": losses.sum() / len(logits), "sum": losses.sum()}[reduction]
    assert torch.equal(found, expected)
    weights = cases.floats(*found.shape)
    gradients = [torch.autograd.grad(each, logits, weights)[0] for each in (found, expected)]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_limits_of_softmax_focal_loss(dtype):
    """Losses and factors at probabilities 1, 0, beyond both, and NaN; a row without class."""
    softmax = np.array([[p, 0] for p in (1, 0, 2, -1, np.nan, 0.5)], dtype)
    target, weight = np.array([0, 0, 0, 0, 0, -1], np.int32), np.array([2, 7], dtype)
    most = 2 * 0.25 * 126 * np.log(2)
    for gamma, factor in ((0, -0.5), (0.5, 0), (2, 0)):
        arguments = softmax, target, weight, gamma
        losses = mluop_omp.softmax_focal_loss(*arguments)
        assert_allclose(losses, [0, most, 0, most, np.nan, 0], rtol=1e-3)
        buff, grads = mluop_omp.softmax_focal_loss_backward(*arguments)
        assert_allclose(buff, [factor, -0.5, factor, -0.5, np.nan, 0], rtol=1e-3)
        assert_allclose(grads[:2], [[0, 0], [-0.5, 0]], atol=0)
        assert np.isnan(grads[4]).all() and not grads[5].any()


@pytest.mark.parametrize("dtype", [torch.half, torch.bfloat16, torch.float, torch.double])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_softmax_module_of_mmcv(reduction, is_weighted, dtype):
    """mmcv computes the softmax in the element type of the logits."""
    pytest.importorskip("mmcv")
    importlib.import_module("mluop_omp.mmcv.auto")
    ops = importlib.import_module("mmcv.ops")
    _, target, weight, gamma, alpha = cases.arguments("softmax_focal_loss")
    weight = weight.to(dtype) if is_weighted else None
    logits = cases.floats(len(target), 5).to(dtype).requires_grad_()
    found = ops.SoftmaxFocalLoss(gamma, alpha, weight, reduction)(logits, target.long())
    variable = logits.detach().float().requires_grad_()
    classes, has_class = target.clamp(min=0).long(), target >= 0
    log = variable.log_softmax(1)[range(len(target)), classes]
    losses = -alpha * (1 - log.exp()) ** gamma * log * has_class
    losses = losses * weight[classes].float() if is_weighted else losses
    expected = {"none": losses, "mean": losses.mean(), "sum": losses.sum()}[reduction]
    tolerance = {"rtol": 1e-2, "atol": 1e-2 if dtype.itemsize == 2 else 1e-5}
    torch.testing.assert_close(found.float(), expected, **tolerance)
    if reduction == "none":
        return  # mmcv multiplies the gradient [N, C] by the gradients of the losses, [N].
    gradients = [torch.autograd.grad(*each)[0] for each in ((found, logits), (expected, variable))]
    torch.testing.assert_close(gradients[0].float(), gradients[1], **tolerance)


@pytest.mark.parametrize("weighted", [None, "rows", "classes"])
def test_targets_of_minus_one_in_mmdetection(weighted):
    """mmdet3d's FCAF3D has such targets: on CUDA they are background, on a CPU an error."""
    losses = pytest.importorskip("mmdet.models.losses")
    importlib.import_module("mluop_omp.mmcv").install()
    logits, target, *_ = cases.with_gradients("sigmoid_focal_loss")
    logits = logits.detach().requires_grad_()
    target = torch.arange(len(logits)) % (logits.shape[1] + 2) - 1
    background = torch.where(target < 0, logits.shape[1], target)
    shape = {None: (), "rows": logits.shape[:1], "classes": logits.shape}[weighted]
    weight = None if weighted is None else torch.rand(shape)
    for reduction, factor in (("none", None), ("sum", None), ("mean", 7.0)):
        loss = losses.FocalLoss(gamma=1.5, alpha=0.4, loss_weight=3.0, reduction="mean")
        arguments = weight, factor, reduction
        found, expected = (loss(logits, each, *arguments) for each in (target, background))
        torch.testing.assert_close(found, expected)
        gradients = [torch.autograd.grad(each.sum(), logits)[0] for each in (found, expected)]
        torch.testing.assert_close(*gradients)
        assert gradients[0].any()


def test_errors_of_mmdetection_remain():
    losses = pytest.importorskip("mmdet.models.losses")
    importlib.import_module("mluop_omp.mmcv").install()
    logits = torch.zeros(4, 3)
    with pytest.raises(RuntimeError, match="smaller than num_classes"):
        losses.FocalLoss()(logits, torch.full((4,), 9))
    with pytest.raises(RuntimeError, match="non-negative"):
        losses.FocalLoss(activated=True)(logits.sigmoid(), torch.full((4,), -1))
