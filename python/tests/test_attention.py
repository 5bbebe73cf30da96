"""Multi-scale deformable attention: rules of its arguments, and the module of mmcv."""

from __future__ import annotations

import importlib

import cases
import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal

import mluop_omp
import mluop_omp.torch as mt


def attention_of_mmcv():
    pytest.importorskip("mmcv")
    importlib.import_module("mluop_omp.mmcv.auto")
    return importlib.import_module("mmcv.ops.multi_scale_deform_attn")


def test_samples_of_a_level():
    value = np.array([1, 2, 4, 9], np.float32).reshape(1, 4, 1, 1)
    levels = np.array([[2, 2]], np.int32), np.array([0], np.int32)
    places = np.array([[0.5, 0.5], [0, 0], [2, np.nan]], np.float32)
    samples = places.reshape(1, 1, 1, 1, 3, 2), np.float32([3, 8, 5]).reshape(1, 1, 1, 1, 3)
    assert mluop_omp.ms_deform_attn(value, *levels, *samples).item() == 14
    grad = np.full((1, 1, 1, 1), 2, np.float32)
    found = mluop_omp.ms_deform_attn_backward(grad, value, *levels, *samples)
    for output, expected in zip(found, ([5.5, 1.5, 1.5, 1.5], [36, 60, 16, 16, 0, 0], [8, 0.5, 0])):
        assert_array_equal(output.ravel(), expected)


def test_refused_arguments():
    value, shapes, starts, *samples = cases.of_numpy(
        "ms_deform_attn", cases.arguments("ms_deform_attn")
    )
    late, negative = starts.copy(), shapes.copy()
    late[0], negative[1, 0] = 1000, -1
    for levels, text in (
        ((shapes, late), r"data_level_start_index\[0\] is 1000, expected 0 to "),
        ((negative, starts), r"data_spatial_shapes\[1, 0\] is -1, expected at least 0"),
        ((shapes, starts[:1]), "data_level_start_index dim 0 is 1, expected 2"),
    ):
        with pytest.raises(mluop_omp.MluOpError, match=text):
            mluop_omp.ms_deform_attn(value, *levels, *samples)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_module_of_mmcv(dtype):
    """mmcv's function for CPUs is written in PyTorch; it stays in place for float64."""
    attention = attention_of_mmcv()
    torch.manual_seed(0)
    sizes = {"dropout": 0.0, "batch_first": True}
    module = attention.MultiScaleDeformableAttention(16, 2, 2, 3, **sizes).to(dtype)
    shapes = torch.tensor([[4, 5], [2, 3]])
    query, value = cases.floats(2, 7, 16).to(dtype), cases.floats(2, 26, 16).to(dtype)
    places = cases.floats(2, 7, 2, 2).sigmoid().to(dtype)
    starts = torch.tensor([0, 20])
    levels = {"spatial_shapes": shapes, "level_start_index": starts, "reference_points": places}
    found = module(query, value=value, **levels)
    assert found.dtype is dtype
    found.square().sum().backward()
    gradient = module.sampling_offsets.bias.grad
    double = attention.MultiScaleDeformableAttention(16, 2, 2, 3, **sizes).double()
    double.load_state_dict(module.state_dict())
    levels["reference_points"] = places.double()
    expected = double(query.double(), value=value.double(), **levels)
    torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-5)
    expected.square().sum().backward()
    right = double.sampling_offsets.bias.grad
    torch.testing.assert_close(gradient.double(), right, rtol=1e-3, atol=1e-3)


def test_function_of_mmcv():
    attention = attention_of_mmcv()
    arguments = cases.with_gradients("ms_deform_attn")
    value, shapes, starts, *samples = arguments
    levels = shapes.long(), starts.long()
    function = attention.MultiScaleDeformableAttnFunction.apply
    found, expected = function(value, *levels, *samples, 64), mt.ms_deform_attn(*arguments)
    assert torch.equal(found, expected.flatten(2))
    weights = cases.floats(*expected.shape)
    inputs = value, *samples
    gradients = torch.autograd.grad(found, inputs, weights.flatten(2))
    for gradient, right in zip(gradients, torch.autograd.grad(expected, inputs, weights)):
        assert torch.equal(gradient, right)


# Sampled images, their levels, and samples of a head in a level, of BEVFormer. Its temporal
# self-attention samples two BEV maps, its spatial cross-attention six cameras; the samples of 3-D
# reference points are partly outside of a camera.
BEVFORMER = {
    "TemporalSelfAttention": (2, [[10, 12]], 4),
    "SpatialCrossAttention": (6, [[6, 10], [3, 5], [2, 3], [1, 2]], 8),
}


@pytest.mark.parametrize("module", BEVFORMER)
@pytest.mark.parametrize("name", ["Function", "_pytorch"])
def test_attention_of_bevformer(module, name):
    """A query for each cell of 10 x 12, 8 heads of 32 channels."""
    attention = attention_of_mmcv()
    (images, sizes, points), heads = BEVFORMER[module], 8
    shapes = torch.tensor(sizes)
    cells = shapes.prod(1)
    starts = cells.cumsum(0) - cells
    axes = [(torch.arange(size) + 0.5) / size for size in (10, 12)]
    y, x = torch.meshgrid(*axes, indexing="ij")
    centers = torch.stack((x, y), 2).view(1, 120, 1, 1, 1, 2)
    offsets = cases.floats(images, 120, heads, len(sizes), points, 2) * 2
    locations = (centers + offsets / shapes.flip(1).view(-1, 1, 2)).requires_grad_()
    weights = cases.floats(images, 120, heads, len(sizes) * points).softmax(3)
    weights = weights.view(locations.shape[:-1]).requires_grad_()
    value = cases.floats(images, int(cells.sum()), heads, 32).requires_grad_()
    if name == "Function":
        arguments = (value, shapes, starts, locations, weights, 64)
        found = attention.MultiScaleDeformableAttnFunction.apply(*arguments)
    else:
        found = attention.multi_scale_deformable_attn_pytorch(value, shapes, locations, weights)
    assert found.shape == (images, 120, heads * 32)
    samples = locations.double(), weights.double()
    arguments = (value.double(), shapes.int(), starts.int(), *samples)
    expected = mt.ms_deform_attn(*arguments).flatten(2).float()
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    inputs, grad = (value, locations, weights), cases.floats(*found.shape)
    gradients = torch.autograd.grad(found, inputs, grad)
    for gradient, right in zip(gradients, torch.autograd.grad(expected, inputs, grad)):
        torch.testing.assert_close(gradient, right, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_lower_precision(dtype, autocast):
    """Computed in float32, also beside locations of float32, and rounded once, unless autocast
    computes float32, as mmcv's function on CPUs."""
    attend = attention_of_mmcv().multi_scale_deformable_attn_pytorch
    value, shapes, _, locations, weights = cases.with_gradients("ms_deform_attn")
    rounded = [each.detach().to(dtype).requires_grad_() for each in (value, weights)]
    in_float32 = [each.detach().float().requires_grad_() for each in rounded]
    with torch.autocast("cpu", dtype, enabled=autocast):
        found = attend(rounded[0], shapes, locations, rounded[1])
    expected = attend(in_float32[0], shapes, locations, in_float32[1])
    result = torch.float32 if autocast else dtype
    assert found.dtype == result
    assert torch.equal(found, expected.to(result))
    grad = cases.floats(*found.shape).to(result)
    gradients = torch.autograd.grad(found, (*rounded, locations), grad)
    right = torch.autograd.grad(expected, (*in_float32, locations), grad.float())
    for gradient, each in zip(gradients, right):
        assert torch.equal(gradient, each.to(gradient.dtype))
    assert [gradient.dtype for gradient in gradients] == [dtype, dtype, torch.float32]
