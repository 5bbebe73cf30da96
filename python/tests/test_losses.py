"""Sigmoid focal loss: rules of its arguments, and the module of mmcv."""

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
