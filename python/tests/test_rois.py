"""The operators that pool points or pixels in boxes: examples by hand, and the modules of mmcv."""

from __future__ import annotations

import importlib

import cases
import numpy as np
import pytest
import torch
from ml_dtypes import bfloat16
from numpy.testing import assert_array_equal

import mluop_omp
import mluop_omp.torch as mt
from mluop_omp._self_test import definitions as reference

FLOATS = [np.float16, bfloat16, np.float32]
TURNED = np.array([[0, 0, 0, 4, 2, 2, np.pi / 2]], np.float32)
# Points and the voxels, of two along each axis, that they are in.
PLACES = [
    ((-0.9, -1.9, 1.99), (0, 1, 1)),
    ((0.9, 0.1, 2.0), (1, 0, 1)),  # on the top face
    ((0.99, -1.99, 1), (0, 0, 1)),
    ((0, 1.9, 0.1), (1, 0, 0)),  # -8e-8 along y, by the rounding of the cosine
]


@pytest.mark.parametrize(("place", "voxel"), PLACES)
def test_the_voxel_of_a_point(place, voxel):
    pts = np.array([place], np.float32)
    pooled, argmax, listed = mluop_omp.roiaware_pool3d(
        TURNED, pts, np.array([[7]], np.float32), (2, 2, 2), 3
    )
    expected = np.zeros((1, 2, 2, 2, 1), np.float32)
    expected[(0, *voxel)] = 7
    assert_array_equal(pooled, expected)
    assert_array_equal(argmax, np.where(expected == 7, 0, -1))
    assert_array_equal(listed[..., :1], expected == 7)


@pytest.mark.parametrize("method", ["max", "mean"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_pools_of_many_points(rng, method, dtype):
    rois = rng.uniform(-2, 2, (9, 7)).astype(dtype)
    rois[:, 3:6] = np.abs(rois[:, 3:6]) + dtype(1)
    pts, features = (rng.uniform(-3, 3, (700, each)).astype(dtype) for each in (3, 5))
    features[::7, 1] = np.nan
    arguments = (rois, pts, features, (3, 4, 2), 3, method)
    pooled, argmax, listed = mluop_omp.roiaware_pool3d(*arguments)
    exact = (each.astype(np.float32) for each in arguments[:3])
    expected = reference.roiaware_pool3d(*exact, *arguments[3:])
    tolerance = {np.float16: 1e-3, bfloat16: 8e-3, np.float32: 1e-6}[dtype]
    np.testing.assert_allclose(
        pooled.astype(np.float32), expected[0], rtol=tolerance, atol=tolerance
    )
    assert_array_equal(argmax, expected[1])
    assert_array_equal(listed, expected[2])
    assert (listed[..., 0] == 2).any()
    grad = rng.uniform(-1, 1, pooled.shape).astype(dtype)
    gradient = mluop_omp.roiaware_pool3d_backward(grad, listed, argmax, 700, method)
    expected = reference.roiaware_pool3d_backward(grad.astype(float), listed, argmax, 700, method)
    np.testing.assert_allclose(
        gradient.astype(np.float32), expected, rtol=tolerance, atol=tolerance
    )


def test_samples_of_boxes():
    points = np.array([[[3, 0, 1], [0.5, 0, 0], [-0.5, 0, 2]]], np.float32)
    features = np.array([[[7], [8], [9]]], np.float32)
    boxes = np.array([[[0, 0, 0, 2, 2, 2, 0], [5, 5, 0, 1, 1, 1, 0]]], np.float32)
    pooled, is_empty = mluop_omp.roipoint_pool3d(points, features, boxes, 3)
    assert_array_equal(is_empty, [[0, 1]])
    assert_array_equal(pooled[0, 0], [[0.5, 0, 0, 8], [-0.5, 0, 2, 9], [0.5, 0, 0, 8]])
    assert not pooled[0, 1].any()


def test_refused_arguments():
    rois, pts, features, sizes, count, method = cases.of_numpy(
        "roiaware_pool3d", cases.arguments("roiaware_pool3d")
    )
    for arguments, text in (
        ((rois, pts, features, sizes, count, "avg"), "method is 'avg', expected one of max, mean"),
        ((rois, pts, features, sizes[:2], count), "out_size has 2 elements, expected 3"),
        ((rois, pts, features, (3, -1, 2), count), "out_y is -1, expected at least 1"),
        ((rois, pts[1:], features, sizes, count), "pts_feature dim 0 is 40, expected 39"),
        ((rois, pts, features, sizes, 0), "max_pts_each_voxel is 0, expected at least 1"),
        ((rois[:0], pts[1:], features, sizes, count), "pts_feature dim 0 is 40, expected 39"),
    ):
        with pytest.raises(mluop_omp.MluOpError, match=text):
            mluop_omp.roiaware_pool3d(*arguments)
    grad, listed, argmax, N, _ = cases.of_numpy(
        "roiaware_pool3d_backward", cases.arguments("roiaware_pool3d_backward")
    )
    listed[1, 0, 1, 0, 0], argmax[0, 1, 0, 0, 3] = 4, N
    for method, text in (
        ("mean", r"pts_idx_of_voxels\[1, 0, 1, 0, 0\] is 4, expected 0 to 3"),
        ("max", rf"argmax\[0, 1, 0, 0, 3\] is {N}, expected -1 to {N - 1}"),
    ):
        with pytest.raises(mluop_omp.MluOpError, match=text):
            mluop_omp.roiaware_pool3d_backward(grad, listed, argmax, N, method)


def operators_of_mmcv():
    pytest.importorskip("mmcv")
    importlib.import_module("mluop_omp.mmcv.auto")
    return importlib.import_module("mmcv.ops")


@pytest.mark.parametrize("mode", ["max", "avg"])
def test_modules_of_mmcv(mode):
    ops = operators_of_mmcv()
    rois, pts, features, sizes, count, _ = cases.with_gradients("roiaware_pool3d")
    pooled = ops.RoIAwarePool3d(tuple(sizes), count, mode)(rois, pts, features)
    method = {"max": "max", "avg": "mean"}[mode]
    expected, *_ = mt.roiaware_pool3d(rois, pts, features, sizes, count, method)
    assert torch.equal(pooled, expected)
    weights = cases.floats(*pooled.shape)
    found, right = (torch.autograd.grad(each, features, weights)[0] for each in (pooled, expected))
    assert torch.equal(found, right)

    points, of_points, boxes, samples = cases.arguments("roipoint_pool3d")
    rows, is_empty = ops.RoIPointPool3d(samples)(points, of_points, boxes)
    right = mt.roipoint_pool3d(points, of_points, boxes, samples)
    assert torch.equal(rows, right[0])
    assert torch.equal(is_empty, right[1])


@pytest.mark.parametrize("mode", ["max", "avg"])
@pytest.mark.parametrize("columns", [6, 7])
def test_modules_of_mmcv_without_rois(mode, columns):
    """Without proposals, mmdetection3d's RoIs have a column less."""
    ops = operators_of_mmcv()
    _, pts, features, sizes, count, _ = cases.with_gradients("roiaware_pool3d")
    rois = torch.zeros(0, columns)
    pooled = ops.RoIAwarePool3d(tuple(sizes), count, mode)(rois, pts, features)
    assert pooled.shape == (0, *sizes, features.shape[1])
    pooled.sum().backward()
    assert_array_equal(features.grad, torch.zeros_like(features))

    points, of_points, boxes, samples = cases.arguments("roipoint_pool3d")
    rows, is_empty = ops.RoIPointPool3d(samples)(points, of_points, boxes[:, :0])
    assert rows.shape == (len(boxes), 0, samples, 3 + of_points.shape[2])
    assert is_empty.shape == (len(boxes), 0)


IMAGE = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("aligned", "expected"), [(False, 7.5), (True, 5)])
def test_samples_of_an_image(dtype, aligned, expected):
    rois = np.array([[0, 0.5, 0.5, 2.5, 2.5], [0, 3, 1, 1, 2]], dtype)
    found, *_ = mluop_omp.roi_align(IMAGE.astype(dtype), rois, (1, 1), 1, 2, "mean", aligned)
    assert found.dtype == dtype
    assert found[0] == expected
    if aligned:
        assert found[1] == 0  # of a negative size


def test_maxima_of_samples():
    rois = np.array([[0, 0.5, 0.5, 2.5, 2.5], [0, 7, 7, 9, 9]], np.float32)
    found, y, x = mluop_omp.roi_align(IMAGE, rois, (1, 1), 1.0, 2, "max", False)
    # Samples outside of the image are 0.
    assert_array_equal(np.stack((found, y, x)).reshape(3, 2), [[10, 0], [2, 7.5], [2, 7.5]])
    grad = np.full((2, 1, 1, 1), 3, np.float32)
    backward = mluop_omp.roi_align_backward(grad, rois, y, x, (1, 4, 4), 1.0, 2, "max", False)
    assert_array_equal(backward, np.where(IMAGE == 10, 3, 0))


@pytest.mark.parametrize("method", ["max", "mean"])
def test_roi_align_in_channels_last(method):
    """The same bits in the memory format of the input, forward and backward."""
    image, rois, *numbers = cases.arguments("roi_align")[:6]
    results = []
    for memory_format in (torch.contiguous_format, torch.channels_last):
        input = image.to(memory_format=memory_format).requires_grad_()
        output, *argmax = mt.roi_align(input, rois, *numbers[:3], method)
        (grad,) = torch.autograd.grad(output, input, torch.ones_like(output))
        results.append((output, *argmax, grad))
        of_pixels = [output, grad] + argmax * (method == "max")
        assert all(each.is_contiguous(memory_format=memory_format) for each in of_pixels)
    for found, expected in zip(*results):
        assert torch.equal(found, expected)


def test_refused_arguments_of_roi_align():
    image, rois, *others = cases.of_numpy("roi_align", cases.arguments("roi_align"))
    of_third = rois.copy()
    of_third[3, 0] = 2
    for arguments, text in (
        ((image, of_third, *others), r"boxes\[3, 0\] is 2, expected 0 to 1"),
        ((image, rois, (-1, 3)), "pooled_height is -1, expected at least 1"),
        ((image, rois[:, :4].copy(), (0, 3)), "rois dim 1 is 4, expected 5"),
        ((image, rois, (2,)), "output_size has 1 elements, expected 2"),
        ((image, rois, (2, 2), 1.0, 0, "avg"), "method is 'avg', expected one of max, mean"),
        ((image[0], rois, (2, 2)), "input has 3 dimensions, expected 4"),
    ):
        with pytest.raises(mluop_omp.MluOpError, match=text):
            mluop_omp.roi_align(*arguments)


@pytest.mark.parametrize("mode", ["max", "avg"])
def test_roi_align_of_mmcv(mode):
    pytest.importorskip("mmcv")
    importlib.import_module("mluop_omp.mmcv.auto")
    ops = importlib.import_module("mmcv.ops")
    image, rois, size, scale, ratio, _, aligned = cases.with_gradients("roi_align")
    pooled = ops.RoIAlign(tuple(size), scale, ratio, mode, aligned)(image, rois)
    method = {"max": "max", "avg": "mean"}[mode]
    expected, *_ = mt.roi_align(image, rois, size, scale, ratio, method, aligned)
    assert torch.equal(pooled, expected)
    weights = cases.floats(*pooled.shape)
    found, right = (torch.autograd.grad(each, image, weights)[0] for each in (pooled, expected))
    assert torch.equal(found, right)
    _, tangent = torch.func.jvp(
        lambda each: mt.roi_align(each, rois, size, scale, ratio, method, aligned)[0],
        (image.detach(),),
        (found,),
    )
    torch.testing.assert_close((tangent * weights).sum(), found.square().sum())
