"""Operators on points, on NumPy arrays: worked examples, an independent judge, edge cases."""

from __future__ import annotations

import numpy as np
import pytest
from ml_dtypes import bfloat16
from numpy.testing import assert_array_equal

import mluop_omp
from mluop_omp._self_test import definitions as reference

FLOATS = [np.float16, bfloat16, np.float32, np.float64]


def cloud(*points):
    """Returns a cloud [1, N, 3] of points, or of coordinates x."""
    rows = [np.append(np.atleast_1d(point), [0, 0])[:3] for point in points]
    return np.array([rows], np.float32)


# Points, and the order in which all are sampled; points at equal distances by reversed bits.
SAMPLES = {
    "cross": (cloud((0, 0), (2, 0), (0, 2), (-2, 0), (0, -2)), [0, 4, 2, 1, 3]),
    "line": (cloud(*range(8)), [0, 7, 4, 2, 6, 1, 5, 3]),
    "more samples than points": (cloud(0, 1, 3), [0, 2, 1, 0, 0]),
    "NaN is sampled for ever": (cloud(0, 1, np.nan, 3), [0, 2, 2, 2]),
    "equal points": (cloud(1, 1, 1), [0, 0, 0]),
    "one point": (cloud(5), [0, 0]),
    "no sample": (cloud(5, 6), []),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_of_the_example(name):
    points, samples = SAMPLES[name]
    found = mluop_omp.furthest_point_sample(points, len(samples))
    assert found.dtype == np.int32
    assert_array_equal(found, [samples])
    difference = points[:, :, np.newaxis] - points[:, np.newaxis]
    found = mluop_omp.furthest_point_sample_with_dist((difference**2).sum(3), len(samples))
    assert_array_equal(found, [samples])


@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 1023, 1025, 2100])
def test_furthest_point_sample(rng, count):
    clouds = rng.standard_normal((2, count, 3), np.float32)
    grid = rng.integers(0, 6, (2, count, 3)).astype(np.float32)  # Most distances are equal.
    grid[1, ::7] = np.nan
    for points in (clouds, grid):
        arguments = points, min(count + 2, 300)
        expected = reference.furthest_point_sample(*arguments)
        assert_array_equal(mluop_omp.furthest_point_sample(*arguments), expected)


@pytest.mark.parametrize("count", [1, 64, 65, 1025])
def test_furthest_point_sample_with_dist(rng, count):
    for distances in (rng.random((2, count, count)), rng.integers(0, 4, (2, count, count))):
        arguments = distances.astype(np.float32), min(count + 2, 300)
        expected = reference.furthest_point_sample_with_dist(*arguments)
        assert_array_equal(mluop_omp.furthest_point_sample_with_dist(*arguments), expected)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(2, 40), (2, 8, 5)])
def test_gather_points(rng, dtype, shape):
    features = rng.standard_normal((2, 5, 7)).astype(dtype)
    indices = rng.integers(0, 7, shape).astype(np.int32)
    output = mluop_omp.gather_points(features, indices)
    assert output.dtype == dtype
    assert_array_equal(output, reference.gather_points(features, indices))
    # Multiples of 1/8 have exact sums.
    grad = (rng.integers(-8, 9, output.shape) / 8).astype(dtype)
    grad_features = mluop_omp.gather_points_backward(grad, indices, 7)
    assert grad_features.dtype == dtype
    assert_array_equal(grad_features, reference.gather_points_backward(grad, indices, 7))


@pytest.mark.parametrize("index", [-1, 7, 2**31 - 1])
def test_an_index_without_point_is_refused(index):
    indices = np.array([[0, 6], [index, 0]], np.int32)
    for dtype in (np.float32, np.float64):
        features = np.ones((2, 5, 7), dtype)
        with pytest.raises(mluop_omp.MluOpError, match="indices"):
            mluop_omp.gather_points(features, indices)
        with pytest.raises(mluop_omp.MluOpError, match="indices"):
            mluop_omp.gather_points_backward(features[..., :2].copy(), indices, 7)


@pytest.mark.parametrize("dtype", FLOATS)
def test_stack_group_points(rng, dtype):
    features = rng.standard_normal((9, 5)).astype(dtype)
    features_cnt, groups_cnt = (np.array(each, np.int32) for each in ((4, 5), (6, 2)))
    indices = rng.integers(0, 4, (8, 3)).astype(np.int32)
    output = mluop_omp.stack_group_points(features, features_cnt, indices, groups_cnt)
    assert output.dtype == dtype
    expected = reference.stack_group_points(features, features_cnt, indices, groups_cnt)
    assert_array_equal(output, expected)
    # Multiples of 1/8 have exact sums.
    grad = (rng.integers(-8, 9, output.shape) / 8).astype(dtype)
    arguments = grad, indices, groups_cnt, features_cnt, 9
    grad_features = mluop_omp.stack_group_points_backward(*arguments)
    assert grad_features.dtype == dtype
    assert_array_equal(grad_features, reference.stack_group_points_backward(*arguments))
    indices[7, 1] = -1
    with pytest.raises(mluop_omp.MluOpError, match=r"indices\[7, 1\] is -1, expected 0 to 4"):
        mluop_omp.stack_group_points(features, features_cnt, indices, groups_cnt)


@pytest.mark.parametrize("dimensions", [1, 4])
def test_indices_have_2_or_3_dimensions(dimensions):
    features, indices = np.ones((1, 5, 7), np.float32), np.zeros((1,) * dimensions, np.int32)
    with pytest.raises(mluop_omp.MluOpError, match="indices has . dimensions, expected 2 or 3"):
        mluop_omp.gather_points(features, indices)
    with pytest.raises(mluop_omp.MluOpError, match="indices has . dimensions, expected 2 or 3"):
        mluop_omp.gather_points_backward(features, indices, 7)


# Points, and by k the neighbors of the center 0.
NEIGHBORS = {
    "equal": (
        cloud((1, 0), (-1, 0), (0, 1), (0, -1)),
        {1: [0], 2: [1, 0], 3: [1, 2, 0], 4: [2, 3, 1, 0], 5: [3, 1, 2, 0, 0]},
    ),
    "two distances": (
        cloud((2, 0), (1, 0), (-1, 0), (0, 2), (0, 1)),
        {1: [1], 2: [2, 1], 3: [1, 4, 2], 4: [2, 4, 1, 3]},
    ),
    "too far": (cloud(2e5, np.nan, 1e5, 99999), {2: [3, 0], 4: [3, 0, 0, 0]}),
    "no points": (cloud(1)[:, :0], {2: [0, 0]}),
}


@pytest.mark.parametrize("name", NEIGHBORS)
def test_neighbors_of_the_example(name):
    xyz, by_k = NEIGHBORS[name]
    for k, neighbors in by_k.items():
        dist2, idx = mluop_omp.knn(xyz, cloud(0), k)
        assert dist2.dtype == np.float32 and idx.dtype == np.int32
        assert_array_equal(idx, [[neighbors]])
        assert_array_equal(dist2, reference.knn(xyz, cloud(0), k)[0])


@pytest.mark.parametrize("k", [1, 2, 7, 32, 100])
def test_knn(rng, k):
    clouds = [rng.standard_normal((2, count, 3), np.float32) for count in (300, 40)]
    # Most distances are equal.
    grids = [rng.integers(0, 4, each.shape).astype(np.float32) for each in clouds]
    for xyz, new_xyz in (clouds, grids, (clouds[0][:, :20].copy(), clouds[1])):
        found, expected = (each.knn(xyz, new_xyz, k) for each in (mluop_omp, reference))
        for actual, of in zip(found, expected):
            assert_array_equal(actual, of)


def test_neighbors_of_float64_against_a_search_tree(rng):
    """In float32 the coordinates would have four different values."""
    tree = pytest.importorskip("scipy.spatial").cKDTree
    xyz, new_xyz = (2.0**22 + rng.random((1, count, 3)) for count in (500, 90))
    distance, expected = tree(xyz[0]).query(new_xyz[0], 16)
    dist2, idx = mluop_omp.knn(xyz, new_xyz, 16)
    assert_array_equal(idx[0], expected)
    np.testing.assert_allclose(dist2[0], distance**2, rtol=1e-12)
    dist2, idx = mluop_omp.three_nn(new_xyz, xyz)
    assert_array_equal(idx[0], expected[:, :3])
    np.testing.assert_allclose(dist2[0], distance[:, :3] ** 2, rtol=1e-12)
    members = tree(xyz[0]).query_ball_point(new_xyz[0], 0.2, return_sorted=True)
    expected = [(found + found[:1] * 8)[:8] or [0] * 8 for found in members]
    assert_array_equal(mluop_omp.ball_query(new_xyz, xyz, 0.0, 0.2, 8)[0], expected)
    expected = [(found + found[:1] * 8)[:8] or [-1] + [0] * 7 for found in members]
    counts = np.array([90], np.int32), np.array([500], np.int32)
    found = mluop_omp.stack_ball_query(new_xyz[0], counts[0], xyz[0], counts[1], 0.2, 8)
    assert_array_equal(found, expected)


def test_samples_of_float64(rng):
    points = rng.integers(0, 2**20, (2, 90, 3)) / 2**20
    expected = mluop_omp.furthest_point_sample(points, 40)
    # Differences of these are exact in float64.
    assert_array_equal(mluop_omp.furthest_point_sample(points + 2**22, 40), expected)
    difference = points[:, :, np.newaxis] - points[:, np.newaxis]
    found = mluop_omp.furthest_point_sample_with_dist((difference**2).sum(3), 40)
    assert_array_equal(found, expected)


def test_knn_against_a_search_tree(rng):
    tree = pytest.importorskip("scipy.spatial").cKDTree
    xyz, new_xyz = rng.standard_normal((1, 500, 3)), rng.standard_normal((1, 90, 3))
    dist2, idx = mluop_omp.knn(xyz.astype(np.float32), new_xyz.astype(np.float32), 16)
    distance, expected = tree(xyz[0].astype(np.float32)).query(new_xyz[0].astype(np.float32), 16)
    assert_array_equal(idx[0], expected)
    np.testing.assert_allclose(dist2[0], distance**2, rtol=1e-5)


@pytest.mark.parametrize("k", [-1, 0, 101, 2**31 - 1])
def test_the_number_of_neighbors_is_1_to_100(k):
    # No machine has the memory for the results of the largest number.
    new_xyz = np.zeros((1, 4096, 3), np.float32)
    with pytest.raises(mluop_omp.MluOpError, match=f"k is {k}, expected 1 to 100"):
        mluop_omp.knn(cloud(0, 1), new_xyz, k)


def test_a_negative_number_of_points_is_refused():
    with pytest.raises(mluop_omp.MluOpError, match="num_points is -1"):
        mluop_omp.furthest_point_sample(cloud(0, 1), -1)
    with pytest.raises(mluop_omp.MluOpError, match="N is -1"):
        mluop_omp.gather_points_backward(cloud(0, 1), np.zeros((1, 3), np.int32), -1)


TURNED, UPRIGHT = (10, 5, -1, 4, 2, 1.5, np.pi / 6), (0, 0, 0, 4, 2, 2, 0)
# A box, a point, and whether it is inside by the rules of mmcv and MLU-OPS.
INSIDE = [
    (TURNED, (10, 5, -1), 1, 1),
    (TURNED, (10, 5, 0.5), 1, 0),
    (TURNED, (10, 5, -1.5), 0, 1),
    (TURNED, (11.7, 6, -0.5), 1, 1),
    (TURNED, (11.733, 6, -0.5), 0, 0),
    (TURNED, (9.5, 5.866, -0.5), 1, 1),
    (UPRIGHT, (2, 0, 1), 0, 1),
    (UPRIGHT, (2.000005, 0, 0.5), 0, 1),
    (UPRIGHT, (2.00002, 0, 0.5), 0, 0),
    (UPRIGHT, (0, 0, 2), 1, 0),
    (UPRIGHT, (0, 0, -1), 0, 1),
    (UPRIGHT, (0, 0, np.nan), 1, 1),
    (UPRIGHT, (np.nan, 0, 1), 0, 0),
    ((0, 0, 0, 4, 2, 2, np.nan), (0, 0, 1), 0, 0),
    ((0, 0, 0, 0, 2, 2, 0), (0, 0, 1), 0, 1),
    ((0, 0, 0, -4, 2, 2, 0), (0, 0, 1), 0, 0),
]


@pytest.mark.parametrize(("box", "point", "of_mmcv", "of_mlu_ops"), INSIDE)
def test_points_in_boxes_of_the_example(box, point, of_mmcv, of_mlu_ops):
    points, boxes = cloud(point), np.array([[box]], np.float32)
    assert_array_equal(mluop_omp.points_in_boxes(points, boxes), [[of_mlu_ops - 1]])
    assert_array_equal(mluop_omp.points_in_boxes_part(points, boxes), [[of_mmcv - 1]])
    assert_array_equal(mluop_omp.points_in_boxes_all(points, boxes), [[[of_mmcv]]])


def test_the_first_box_of_a_point():
    boxes = np.array([[UPRIGHT, (1, *UPRIGHT[1:])]], np.float32)
    points = cloud((1, 0, 1), (2.5, 0, 1), (-1.5, 0, 1), (4, 0, 1))
    for function in (mluop_omp.points_in_boxes, mluop_omp.points_in_boxes_part):
        assert_array_equal(function(points, boxes), [[0, 1, 0, -1]])
        assert_array_equal(function(points, boxes[:, :0].copy()), [[-1] * 4])
    is_inside = mluop_omp.points_in_boxes_all(points, boxes)
    assert_array_equal(is_inside, [[[1, 1], [0, 1], [1, 0], [0, 0]]])


@pytest.mark.parametrize("count", [1, 15, 16, 17, 1000])
def test_points_in_boxes(rng, count):
    points = rng.uniform(-6, 6, (2, count, 3)).astype(np.float32)
    boxes = rng.uniform(-6, 6, (2, 9, 7)).astype(np.float32)
    points[0, ::5, 2] = np.nan
    for name in ("points_in_boxes", "points_in_boxes_part", "points_in_boxes_all"):
        found, expected = (getattr(m, name)(points, boxes) for m in (mluop_omp, reference))
        assert found.dtype == np.int32
        assert_array_equal(found, expected)
