"""Modules of mmcv that pool RoIs and attend, and the operators that these call."""

from __future__ import annotations

import importlib

import cases
import pytest
import torch

import mluop_omp.torch as mt

pytest.importorskip("mmcv")
importlib.import_module("mluop_omp.mmcv.auto")
ops = importlib.import_module("mmcv.ops")
attention = importlib.import_module("mmcv.ops.multi_scale_deform_attn")
MODES = {"max": "max", "mean": "avg"}


def roi_align(image, rois, size, scale, ratio, method, aligned):
    return ops.RoIAlign(tuple(size), scale, ratio, MODES[method], aligned)(image, rois)


def roiaware_pool3d(rois, pts, features, sizes, count, method):
    return ops.RoIAwarePool3d(tuple(sizes), count, MODES[method])(rois, pts, features)


def roipoint_pool3d(points, features, boxes, samples):
    return ops.RoIPointPool3d(samples)(points, features, boxes)


def ms_deform_attn(value, shapes, starts, *samples):
    levels = shapes.long(), starts.long()
    found = attention.MultiScaleDeformableAttnFunction.apply(value, *levels, *samples, 64)
    return found.unflatten(2, value.shape[2:])


def ms_deform_attn_pytorch(value, shapes, _, *samples):
    found = attention.multi_scale_deformable_attn_pytorch(value, shapes, *samples)
    return found.unflatten(2, value.shape[2:])


# BEVFormer has 8 heads of 32 channels: temporal self-attention samples two BEV maps, spatial
# cross-attention six cameras.
TEMPORAL = {"B": 2, "M": 8, "D": 32, "L": 1, "Q": 120, "P": 4}
SPATIAL = {"B": 6, "M": 8, "D": 32, "L": 4, "Q": 120, "P": 8}
# A module, and the operator with its options.
MODULES = [
    *((roi_align, "roi_align", {"method": method}) for method in MODES),
    *((roiaware_pool3d, "roiaware_pool3d", {"method": method}) for method in MODES),
    (roipoint_pool3d, "roipoint_pool3d", {}),
    *((ms_deform_attn, "ms_deform_attn", sizes) for sizes in ({}, TEMPORAL, SPATIAL)),
    *((ms_deform_attn_pytorch, "ms_deform_attn", sizes) for sizes in ({}, TEMPORAL, SPATIAL)),
]


@pytest.mark.parametrize(("module", "name", "options"), MODULES)
def test_modules_are_the_operators(module, name, options):
    arguments = cases.arguments(name, **options)
    inputs = [arguments[position] for position in cases.DIFFERENTIABLE.get(name, [])]
    for each in inputs:
        each.requires_grad_()
    found, expected = module(*arguments), getattr(mt, name)(*arguments)
    if name == "roipoint_pool3d":
        assert all(map(torch.equal, found, expected))
        return
    expected = expected[0] if isinstance(expected, tuple) else expected
    assert torch.equal(found, expected)
    weights = cases.floats(*found.shape)
    gradients = (torch.autograd.grad(each, inputs, weights) for each in (found, expected))
    assert all(map(torch.equal, *gradients))


@pytest.mark.parametrize("method", MODES)
@pytest.mark.parametrize("columns", [6, 7])
def test_pools_without_rois(method, columns):
    """Without proposals, mmdetection3d's RoIs have a column less."""
    _, pts, features, sizes, count, _ = cases.with_gradients("roiaware_pool3d")
    pooled = roiaware_pool3d(torch.zeros(0, columns), pts, features, sizes, count, method)
    assert pooled.shape == (0, *sizes, features.shape[1])
    pooled.sum().backward()
    assert torch.equal(features.grad, torch.zeros_like(features))
    points, of_points, boxes, samples = cases.arguments("roipoint_pool3d")
    rows, is_empty = roipoint_pool3d(points, of_points, boxes[:, :0], samples)
    assert rows.shape == (len(boxes), 0, samples, 3 + of_points.shape[2])
    assert is_empty.shape == (len(boxes), 0)


@pytest.mark.parametrize("method", MODES)
def test_roi_align_in_channels_last(method):
    """The same bits in the memory format of the input, forward and backward."""
    image, *others = cases.arguments("roi_align", method=method)
    results = []
    for memory_format in (torch.contiguous_format, torch.channels_last):
        input = image.to(memory_format=memory_format).requires_grad_()
        output, *argmax = mt.roi_align(input, *others)
        (grad,) = torch.autograd.grad(output, input, torch.ones_like(output))
        results.append((output, *argmax, grad))
        of_pixels = [output, grad] + argmax * (method == "max")
        assert all(each.is_contiguous(memory_format=memory_format) for each in of_pixels)
    assert all(map(torch.equal, *results))


@pytest.mark.parametrize("method", MODES)
def test_roi_align_in_forward_mode(method):
    image, *others = cases.arguments("roi_align", method=method)

    def pool(image):
        return mt.roi_align(image, *others)[0]

    output, pull = torch.func.vjp(pool, image)
    weights = cases.floats(*output.shape)
    (grad,) = pull(weights)
    _, tangent = torch.func.jvp(pool, (image,), (grad,))
    torch.testing.assert_close((tangent * weights).sum(), grad.square().sum())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_module_of_attention(dtype):
    """mmcv's function for CPUs is written in PyTorch; it stays in place for float64."""
    torch.manual_seed(0)
    module = attention.MultiScaleDeformableAttention(16, 2, 2, 3, dropout=0.0, batch_first=True)
    shapes, starts = torch.tensor([[4, 5], [2, 3]]), torch.tensor([0, 20])
    inputs = cases.floats(2, 7, 16), cases.floats(2, 26, 16), cases.floats(2, 7, 2, 2).sigmoid()
    results = []
    for each in (dtype, torch.float64):
        module.to(each).zero_grad()
        query, value, places = (input.to(each) for input in inputs)
        levels = {"spatial_shapes": shapes, "level_start_index": starts}
        output = module(query, value=value, reference_points=places, **levels)
        assert output.dtype is each
        output.square().sum().backward()
        gradient = module.sampling_offsets.bias.grad
        results.append((output.double(), gradient.double()))
    (found, gradient), (expected, right) = results
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(gradient, right, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_attention_of_lower_precision(dtype, autocast):
    """Computed in float32, also beside locations of float32, and rounded once, unless autocast
    computes float32, as mmcv's function on CPUs.
    """
    attend = attention.multi_scale_deformable_attn_pytorch
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


def test_active_rotated_filter():
    """The gradient of a sum has strides of 0."""
    filters, indices = cases.arguments("active_rotated_filter")
    inputs = [filters.clone().requires_grad_() for _ in range(2)]
    found, expected = ops.active_rotated_filter(inputs[0], indices), mt.active_rotated_filter
    assert torch.equal(found, expected(inputs[1], indices))
    found.sum().backward()
    expected(inputs[1], indices).sum().backward()
    assert torch.equal(inputs[0].grad, inputs[1].grad)
    assert (inputs[0].grad == indices.shape[3]).all()


def test_gradient_of_tin_shift():
    """mmcv shifts the gradient as the input; the derivative is the opposite shift."""
    video, shifts = cases.arguments("tin_shift")
    weights = cases.floats(*video.shape)
    inputs = [video.clone().requires_grad_() for _ in range(2)]
    found, expected = ops.TINShift()(inputs[0], shifts), mt.tin_shift(inputs[1], shifts)
    assert torch.equal(found, expected)
    for output in (found, expected):
        (output * weights).sum().backward()
    assert torch.equal(inputs[0].grad, mt.tin_shift_backward(weights, shifts))
    assert torch.equal(inputs[1].grad, mt.tin_shift(weights, -shifts))
    assert not torch.equal(inputs[0].grad, inputs[1].grad)


def test_deformable_roi_pool_is_a_grid_sample():
    """One sample a bin, inside of the image; the formulation of PyTorch has the derivatives."""
    image, rois, offset, size, scale, *_ = cases.arguments("deform_roi_pool")
    results = []
    for pool in (ops.deform_roi_pool, _pool_by_grid_sample):
        inputs = image.clone().requires_grad_(), offset.clone().requires_grad_()
        output = pool(inputs[0], rois, inputs[1], size, scale, 1, 0.1)
        output.square().sum().backward()
        results.append([output.detach(), *(each.grad for each in inputs)])
    torch.testing.assert_close(*results)


def _pool_by_grid_sample(image, rois, offset, size, scale, _, gamma):
    low, extent = rois[:, 1:3] * scale - 0.5, (rois[:, 3:] - rois[:, 1:3]) * scale
    bins = torch.stack(torch.meshgrid(*map(torch.arange, size), indexing="ij")[::-1])
    parts = (bins + 0.5) / torch.tensor(size[::-1]).view(2, 1, 1)
    at = low[:, :, None, None] + extent[:, :, None, None] * (parts + gamma * offset)
    pixels = torch.tensor(image.shape[:1:-1]).view(2, 1, 1) - 1
    grid = (2 * at / pixels - 1).permute(0, 2, 3, 1)
    return torch.nn.functional.grid_sample(image[rois[:, 0].long()], grid, align_corners=True)


def test_deformable_roi_pool_at_the_border():
    """Its gradients of offsets are mmcv's, although the output is constant there."""
    image, rois = (
        torch.arange(16.0).square().view(1, 1, 4, 4),
        torch.tensor([[0, -0.3, -0.3, 0.5, 0.5]]),
    )
    offset = torch.zeros(1, 2, 1, 1, requires_grad=True)
    ops.deform_roi_pool(image, rois, offset, (1, 1), 1.0, 1, 0.1).backward()
    torch.testing.assert_close(offset.grad.flatten(), torch.tensor([-0.176, 1.024]))


@pytest.mark.parametrize(
    "name", ["DeformRoIPool", "DeformRoIPoolPack", "ModulatedDeformRoIPoolPack"]
)
def test_modules_of_deformable_roi_pools(name):
    """The first pool of a pack has no offsets; the gradient of a sum has strides of 0."""
    image, rois, _, size, scale, *_ = cases.arguments("deform_roi_pool")
    torch.manual_seed(0)
    channels = () if name == "DeformRoIPool" else (image.shape[1], 8)
    module = getattr(ops, name)(tuple(size), *channels, spatial_scale=scale)
    for each in module.parameters():
        torch.nn.init.normal_(each, std=0.1)
    results = []
    for dtype in (torch.float32, torch.float64):
        input = image.to(dtype, copy=True).requires_grad_()
        module.to(dtype).zero_grad()
        output = module(input, rois.to(dtype))
        output.sum().backward()
        gradients = [each.grad.double() for each in (input, *module.parameters())]
        results.append([output.detach().double(), *(each.clone() for each in gradients)])
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-5)
