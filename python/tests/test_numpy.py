"""The functions of mluop_omp on NumPy arrays against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from ml_dtypes import bfloat16
from numpy.testing import assert_allclose, assert_array_equal

import mluop_omp
from mluop_omp._operators import _deformable
from mluop_omp._self_test import definitions

FLOATS = [np.float32, np.float16, bfloat16]
TOLERANCE = {np.float32: 1e-5, np.float16: 5e-3, bfloat16: 8e-3}


class Reference:
    """The definitions; bfloat16 is computed in float32 and rounded once."""

    def __getattr__(self, name):
        definition = getattr(definitions, name)

        def compute(*arguments):
            if not any(getattr(each, "dtype", None) == bfloat16 for each in arguments):
                return definition(*arguments)
            found = definition(*(converted(each, bfloat16, np.float32) for each in arguments))
            if not isinstance(found, tuple):
                return np.asarray(found, bfloat16)
            return tuple(converted(each, np.float32, bfloat16) for each in found)

        return compute


def converted(value, source, target):
    return value.astype(target) if getattr(value, "dtype", None) == source else value


reference = Reference()


def close(actual, expected, dtype=np.float32):
    assert actual.dtype == dtype
    tolerance = TOLERANCE[dtype]
    assert_allclose(actual.astype(np.float64), expected, rtol=tolerance, atol=tolerance)


def sites(rng, batch_size, space, count):
    cells = rng.choice(batch_size * np.prod(space), count, replace=False)
    return np.stack(np.unravel_index(cells, (batch_size, *space)), 1).astype(np.int32)


def points_of_grid(rng):
    geom_xyz = rng.integers(-1, 5, (2, 60, 3)).astype(np.int32)
    return geom_xyz, rng.standard_normal((2, 60, 5), np.float32)


def test_arrays_of_bfloat16_that_are_refused():
    unknown = np.ones((1, 2, 3), bfloat16)
    swapped = unknown.view(np.dtype(bfloat16).newbyteorder())
    with pytest.raises(mluop_omp.MluOpError, match="unknown has dtype >V2, expected float16, "):
        mluop_omp.three_nn(swapped, unknown)
    with pytest.raises(mluop_omp.MluOpError, match="known has data type FLOAT, expected BFLOAT16"):
        mluop_omp.three_nn(unknown, unknown.astype(np.float32))
    with pytest.raises(mluop_omp.MluOpError, match="points has data type BFLOAT16, expected FLOAT"):
        mluop_omp.furthest_point_sample(unknown, 1)
    boxes = np.ones((2, 7), np.float32)
    with pytest.raises(mluop_omp.MluOpError, match="scores has dtype bfloat16, expected float32"):
        mluop_omp.nms3d(boxes, np.ones(2, bfloat16), 0.5)


@pytest.mark.parametrize("dtype", FLOATS)
def test_voxel_pooling(rng, dtype):
    geom_xyz, features = points_of_grid(rng)
    features = features.astype(dtype)
    output, pos_memo = mluop_omp.voxel_pooling(geom_xyz, features, (4, 3, 2))
    expected, expected_memo = reference.voxel_pooling(geom_xyz, features, (4, 3, 2))
    close(output, expected, dtype)
    assert_array_equal(pos_memo, expected_memo)


@pytest.mark.parametrize("dtype", FLOATS)
def test_voxel_pooling_backward(rng, dtype):
    geom_xyz, features = points_of_grid(rng)
    pos_memo = mluop_omp.voxel_pooling(geom_xyz, features, (4, 3, 2))[1]
    grad = rng.standard_normal((2, 3, 4, 7)).astype(dtype)
    actual = mluop_omp.voxel_pooling_backward(grad, pos_memo)
    assert_array_equal(actual, reference.voxel_pooling_backward(grad, pos_memo))


def test_voxelization(rng):
    points = rng.uniform(-1, 5, (300, 4)).astype(np.float32)
    arguments = (points, (1.0, 2.0, 4.0), (0, 0, 0, 4, 4, 4), 3, 6)
    for actual, expected in zip(
        mluop_omp.voxelization(*arguments), reference.voxelization(*arguments)
    ):
        assert_array_equal(actual, expected)


@pytest.mark.parametrize("reduce", ["max", "sum", "mean"])
def test_dynamic_scatter(rng, reduce):
    feats = rng.standard_normal((200, 3), np.float32)
    coors = rng.integers(-1, 4, (200, 3)).astype(np.int32)
    before = coors.copy()
    actual = mluop_omp.dynamic_scatter(feats, coors, reduce)
    expected = reference.dynamic_scatter(feats, coors, reduce)
    close(actual[0], expected[0])
    for each, of in zip(actual[1:], expected[1:]):
        assert_array_equal(each, of)
    assert_array_equal(coors, before)
    grad = rng.standard_normal(actual[0].shape, np.float32)
    arguments = (grad, feats, *actual[:1], *actual[2:], reduce)
    close(
        mluop_omp.dynamic_scatter_backward(*arguments),
        reference.dynamic_scatter_backward(*arguments),
    )


def test_dynamic_scatter_without_points():
    none = np.zeros((0, 3), np.float32), np.zeros((0, 3), np.int32)
    feats, voxels, mapping, counts = mluop_omp.dynamic_scatter(*none, "sum")
    assert feats.shape == (0, 3) and len(voxels) == len(mapping) == len(counts) == 0


def test_dynamic_scatter_without_channels():
    coors = np.array([[0, 0, 1], [0, 0, 0], [0, 0, 1], [-1, 0, 0]], np.int32)
    feats, voxels, mapping, counts = mluop_omp.dynamic_scatter(np.ones((4, 0), "f"), coors, "max")
    assert feats.shape == (2, 0)
    assert voxels.tolist() == [[0, 0, 0], [0, 0, 1]]
    assert mapping.tolist() == [1, 0, 1, -1] and counts.tolist() == [1, 2]


SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1.5, 2.0]


@pytest.mark.parametrize("reduce", ["max", "sum", "mean"])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_special_values_of_float64_are_those_of_float32(rng, reduce):
    feats = rng.choice(SPECIAL, (60, 3))
    feats[:4] = np.nan  # a voxel without numbers
    coors = rng.integers(0, 3, (60, 3)).astype(np.int32)
    coors[:4] = 3
    double, single = (
        mluop_omp.dynamic_scatter(f, coors, reduce) for f in (feats, np.float32(feats))
    )
    assert double[0].dtype == np.float64
    for a, e in zip(double, single):
        assert_array_equal(np.asarray(a, e.dtype), e)
    points = rng.choice(SPECIAL, (60, 4))
    arguments = (0.5, 0.5, 0.5), (-2, -2, -2, 2, 2, 2), 2, 9
    results = [mluop_omp.voxelization(p, *arguments) for p in (points, np.float32(points))]
    for a, e in zip(*results):
        assert_array_equal(np.asarray(a, e.dtype), e)


def test_ball_query(rng):
    new_xyz, xyz = rng.random((2, 9, 3), np.float32), rng.random((2, 50, 3), np.float32)
    arguments = (new_xyz, xyz, 0.1, 0.4, 6)
    assert_array_equal(mluop_omp.ball_query(*arguments), reference.ball_query(*arguments))


@pytest.mark.parametrize("dtype", FLOATS)
def test_three_nn(rng, dtype):
    unknown, known = rng.random((2, 20, 3)).astype(dtype), rng.random((2, 30, 3)).astype(dtype)
    for actual, expected in zip(
        mluop_omp.three_nn(unknown, known), reference.three_nn(unknown, known)
    ):
        assert_array_equal(actual, expected)


def test_three_nn_with_too_few_known_points():
    dist2, idx = mluop_omp.three_nn(np.zeros((1, 1, 3), np.float32), np.ones((1, 1, 3), np.float32))
    assert_array_equal(dist2, [[[3, np.inf, np.inf]]])
    assert_array_equal(idx, [[[0, 0, 0]]])


@pytest.mark.parametrize("dtype", FLOATS)
def test_three_interpolate(rng, dtype):
    features = rng.random((2, 5, 7)).astype(dtype)
    indices = rng.integers(0, 7, (2, 40, 3)).astype(np.int32)
    weights = rng.random((2, 40, 3)).astype(dtype)
    arguments = (features, indices, weights)
    close(mluop_omp.three_interpolate(*arguments), reference.three_interpolate(*arguments), dtype)
    grad = (rng.random((2, 5, 40)) / 8).astype(dtype)
    arguments = (grad, indices, weights, 7)
    close(
        mluop_omp.three_interpolate_backward(*arguments),
        reference.three_interpolate_backward(*arguments),
        dtype,
    )


@pytest.mark.parametrize("dtype", FLOATS)
def test_masked_convolution(rng, dtype):
    feature = rng.random((1, 3, 6, 5)).astype(dtype)
    h, w = (rng.integers(0, n, 8).astype(np.int32) for n in (6, 5))
    arguments = (feature, h, w, (3, 2), (1, 0))
    col = mluop_omp.masked_im2col(*arguments)
    assert_array_equal(col, reference.masked_im2col(*arguments))
    arguments = (col, h, w, (6, 5))
    assert_array_equal(mluop_omp.masked_col2im(*arguments), reference.masked_col2im(*arguments))


CONVOLUTIONS = [
    pytest.param((6, 5, 4), (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), True, id="submanifold"),
    pytest.param((6, 5, 4), (3, 3, 3), (2, 2, 1), (1, 1, 0), (1, 1, 1), False, id="strided"),
    pytest.param((6, 5, 4), (2, 3, 1), (1, 1, 3), (0, 2, 0), (2, 1, 1), False, id="dilated"),
    pytest.param((7, 6), (3, 3), (2, 2), (1, 1), (1, 1), False, id="two-dimensional"),
]


@pytest.mark.parametrize(("space", "kernel", "stride", "pad", "dilation", "subm"), CONVOLUTIONS)
def test_indice_pairs(rng, space, kernel, stride, pad, dilation, subm):
    indices = sites(rng, 2, space, 25)
    actual = mluop_omp.indice_pairs(indices, 2, space, kernel, stride, pad, dilation, subm)
    expected = reference.indice_pairs(indices, 2, space, kernel, stride, pad, dilation, subm)
    for each, of in zip(actual, expected):
        assert_array_equal(each, of)


def test_a_thread_computes_several_convolutions_in_turn(rng):
    indices = sites(rng, 2, (6, 5, 4), 25)
    geometries = [case.values for case in CONVOLUTIONS[:3]]
    first, second = (
        [mluop_omp.indice_pairs(indices, 2, *geometry) for geometry in geometries] for _ in range(2)
    )
    with pytest.raises(mluop_omp.MluOpError, match="stride"):
        space, kernel, ones = (6, 5, 4), (3, 3, 3), (1, 1, 1)
        mluop_omp.indice_pairs(indices, 2, space, kernel, (0, 1, 1), ones, ones)
    third = [mluop_omp.indice_pairs(indices, 2, *geometry) for geometry in geometries[::-1]][::-1]
    for again in (second, third):
        for arrays, expected in zip(again, first):
            for each, of in zip(arrays, expected):
                assert_array_equal(each, of)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("space", "kernel", "stride", "pad", "dilation", "subm"), CONVOLUTIONS[:3])
def test_indice_conv(rng, space, kernel, stride, pad, dilation, subm, dtype):
    indices = sites(rng, 2, space, 25)
    out, pairs, num = mluop_omp.indice_pairs(indices, 2, space, kernel, stride, pad, dilation, subm)
    features = rng.standard_normal((25, 4)).astype(dtype)
    filters = (rng.standard_normal((*kernel, 4, 6)) / 4).astype(dtype)
    expected = reference.indice_conv(features, filters, pairs, num, len(out))
    layouts = {
        "ARRAY": filters,
        "NDHWC": np.ascontiguousarray(filters.transpose(4, 0, 1, 2, 3)),
        "NCDHW": np.ascontiguousarray(filters.transpose(4, 3, 0, 1, 2)),
    }
    for layout, each in layouts.items():
        close(
            mluop_omp.indice_conv(features, each, pairs, num, len(out), subm, layout),
            expected,
            dtype,
        )
    grad = (rng.standard_normal((len(out), 6)) / 4).astype(dtype)
    expected = reference.indice_conv_backward_data(grad, filters, pairs, num)
    for layout, each in layouts.items():
        close(mluop_omp.indice_conv_backward_data(grad, each, pairs, num, layout), expected, dtype)
    arguments = (features, grad, pairs, num, kernel)
    expected = reference.indice_conv_backward_filter(*arguments)
    close(mluop_omp.indice_conv_backward_filter(*arguments), expected, dtype)


@pytest.mark.parametrize("name", ["voxel_pooling", "three_nn", "indice_conv"])
def test_the_device_algorithm(rng, name):
    before = mluop_omp.algorithm()
    assert mluop_omp.algorithm("device") == "device"
    try:
        globals()[f"test_{name}"](
            rng,
            *{
                "voxel_pooling": (np.float32,),
                "three_nn": (np.float32,),
                "indice_conv": (*CONVOLUTIONS[0].values, np.float32),
            }[name],
        )
    finally:
        mluop_omp.algorithm(before)


def test_masks_that_are_not_finite(rng):
    """The mask is a factor of the gradients of offsets; a position outside has no terms."""
    image, offset, weight, grad = (
        rng.uniform(0.5, 1, shape).astype(np.float32)
        for shape in ((1, 70, 3, 3), (1, 2, 3, 3), (2, 70, 1, 1), (1, 2, 3, 3))
    )
    offset = offset / 4
    offset[0, 1, :, 2] = 5  # outside
    mask = np.array([np.nan, np.inf, -np.inf], np.float32)[:, np.newaxis] * np.ones(
        (1, 1, 3, 3), "f"
    )
    geometry = (1, 1), (0, 0), (1, 1), 1, 1
    _, found, of_mask = mluop_omp.deform_conv2d_backward_data(
        grad, image, offset, weight, mask, *geometry
    )
    assert np.isnan(found[0, :, 0, :2]).all() and np.isinf(found[0, :, 1:, :2]).all()
    assert (found[..., 2] == 0).all() and (of_mask[..., 2] == 0).all()
    arrays = grad, image, offset, weight, mask
    doubles = [array.astype(float) for array in arrays]
    _, of_definition, _ = definitions.deform_conv2d_backward_data(*arrays, *geometry)
    _, in_double, _ = mluop_omp.deform_conv2d_backward_data(*doubles, *geometry)
    tensors = map(torch.from_numpy, arrays)
    _, of_torch, _, _ = _deformable.backward(*tensors, _deformable.Geometry(*geometry))
    for other in (of_definition, in_double, of_torch.numpy()):
        assert_allclose(other, found, rtol=1e-5)
