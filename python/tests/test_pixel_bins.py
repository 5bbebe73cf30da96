"""Pools over the bins of RoIs through mmcv's classes, and the gradients of RoIs."""

from __future__ import annotations

import pytest
import torch

import mluop_omp.torch as mt

SQUARES = torch.arange(16.0).square().view(1, 1, 4, 4)


def _rois(dtype):
    rois = [
        [0, 1.1, 2.3, 11, 13.2],
        [1, -3.3, 0.4, 9, 9.7],
        [1, 4.2, 4.6, 20, 22.9],
        [0, 4, 4, 4, 5],
    ]
    return torch.tensor(rois, dtype=dtype)


def test_gradients_of_rois():
    """Of first and second order; a RoI without area has none."""
    generator = torch.Generator().manual_seed(1)
    input = torch.randn(2, 1, 3, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    rois = _rois(torch.float64)

    def pool(input, corners):
        numbers = torch.cat((rois[: len(corners), :1], corners), 1)
        return mt.prroi_pool(input, numbers, (1, 2), 0.25)

    corners = rois[:, 1:].clone().requires_grad_()
    (gradient,) = torch.autograd.grad(pool(input, corners).sum(), corners)
    assert not gradient[3].any()
    arguments = input, rois[:2, 1:].clone().requires_grad_()
    assert torch.autograd.gradcheck(pool, arguments, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(pool, arguments)


def test_modules_of_mmcv():
    ops = pytest.importorskip("mmcv.ops")
    import mluop_omp.mmcv.auto  # noqa: F401

    rois = torch.tensor([[0, 0.5, 0.5, 2.5, 2.5]])
    image = SQUARES.clone().requires_grad_()
    output = ops.RoIPool(2, 1.0)(image, rois)
    assert output.flatten().tolist() == [25, 49, 169, 225]
    output.sum().backward()  # The gradient has strides of 0.
    assert image.grad.nonzero()[:, 2:].tolist() == [[1, 1], [1, 3], [3, 1], [3, 3]]

    image = SQUARES.clone().requires_grad_()
    rois = torch.tensor([[0, 0.25, 0.5, 2.75, 2]], requires_grad=True)
    output = ops.PrRoIPool((1, 2), 1.0)(image, rois)
    torch.testing.assert_close(output.flatten(), torch.tensor([40.49166667, 56.74166667]))
    output.sum().backward()
    expected = torch.tensor([[0, 12.16, 42.22222222, 13.84, 56.44444444]])
    torch.testing.assert_close(rois.grad, expected)
    torch.testing.assert_close(image.grad.sum(), torch.tensor(2.0))


def test_roi_without_size_has_no_maximum():
    """mmcv's CUDA kernel leaves argmax 0, and adds the gradient to the first pixel."""
    _, argmax = mt.roi_pool(SQUARES, torch.tensor([[0, 2.0, 2, 0, 0]]), (2, 2))
    assert (argmax == -1).all()
    output, argmax = mt.roi_pool(SQUARES, torch.tensor([[0, 2.0, 2, 0, 0]]), (2, 2), rounded=True)
    assert (output == 100).all() and (argmax == 10).all()
