"""Operators on points against an independent judge; test_examples.py has worked examples."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mluop_omp
from mluop_omp._operators import operators


# In float32 the coordinates from 2^22 on would have four different values.
@pytest.mark.parametrize(
    ("dtype", "origin", "rtol"), [(np.float32, 0, 1e-5), (np.float64, 2.0**22, 1e-12)]
)
def test_neighbors_against_a_search_tree(dtype, origin, rtol, rng):
    tree = pytest.importorskip("scipy.spatial").cKDTree
    xyz, centers = (origin + rng.random((1, count, 3), dtype) for count in (500, 90))
    distance, expected = tree(xyz[0]).query(centers[0], 16)
    for k, (dist2, idx) in {
        16: mluop_omp.knn(xyz, centers, 16),
        3: mluop_omp.three_nn(centers, xyz),
    }.items():
        assert_array_equal(idx[0], expected[:, :k])
        assert_allclose(dist2[0], distance[:, :k] ** 2, rtol=rtol)
    members = tree(xyz[0]).query_ball_point(centers[0], 0.2, return_sorted=True)
    for none in (0, -1):
        expected = [(found + found[:1] * 8)[:8] or [none] + [0] * 7 for found in members]
        if none == 0:
            found = mluop_omp.ball_query(centers, xyz, 0.0, 0.2, 8)[0]
        else:
            counts = np.array([90], np.int32), np.array([500], np.int32)
            found = mluop_omp.stack_ball_query(centers[0], counts[0], xyz[0], counts[1], 0.2, 8)
        assert_array_equal(found, expected)


@pytest.mark.parametrize("origin", [0, 2**22])
def test_samples_are_the_furthest_points(origin, rng):
    """By a loop over the points; differences of these are exact in float64."""
    points = rng.integers(0, 2**20, (90, 3)) / 2**20
    distances = ((points[:, np.newaxis] - points) ** 2).sum(2)
    expected, nearest = [0], distances[0]
    while len(expected) < 40:
        expected.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, distances[expected[-1]])
    cloud = points[np.newaxis] + origin
    assert_array_equal(mluop_omp.furthest_point_sample(cloud, 40), [expected])
    found = mluop_omp.furthest_point_sample_with_dist(distances[np.newaxis], 40)
    assert_array_equal(found, [expected])


# As many points as a search by trees takes, and fewer.
LAYOUTS = {
    "a grid": lambda rng, shape: rng.integers(0, 9, shape) / 4,
    "clusters": lambda rng, shape: rng.integers(0, 3, shape) + rng.random(shape) / 1024,
    "equal": lambda rng, shape: np.full(shape, 0.25),
    "a line": lambda rng, shape: rng.random(shape) * [1, 0],
    "overflow": lambda rng, shape: rng.choice([1e30, -1e30, 1e-30, 0.5], shape),
    "special": lambda rng, shape: rng.choice([np.nan, np.inf, -np.inf, 0, 1, 2], shape),
    "infinity": lambda rng, shape: rng.choice([np.inf, -np.inf], shape),
    "NaN": lambda rng, shape: np.full(shape, np.nan),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("N", "M"), [(17, 70), (400, 1000), (1, 500)])
def test_nearest_points_have_the_bits_of_the_definition(layout, N, M, rng):
    for dtype in (np.float32, np.float16, ml_dtypes.bfloat16):
        with np.errstate(over="ignore"):
            xyz1, xyz2 = (LAYOUTS[layout](rng, (2, n, 2)).astype(dtype) for n in (N, M))
            expected = operators.chamfer_distance.definition(xyz1, xyz2)
            right = [each if each.dtype == np.int32 else each.astype(dtype) for each in expected]
        for found, each in zip(mluop_omp.chamfer_distance(xyz1, xyz2), right):
            assert found.dtype == each.dtype
            assert_array_equal(found.astype(np.float64), each.astype(np.float64))


def test_nearest_points_against_a_search_tree(rng):
    tree = pytest.importorskip("scipy.spatial").cKDTree
    xyz1, xyz2 = (rng.random((1, count, 2), np.float32) for count in (700, 1900))
    dist1, dist2, idx1, idx2 = mluop_omp.chamfer_distance(xyz1, xyz2)
    for queries, known, dist, idx in ((xyz1, xyz2, dist1, idx1), (xyz2, xyz1, dist2, idx2)):
        distance, expected = tree(known[0]).query(queries[0])
        assert_array_equal(idx[0], expected)
        assert_allclose(dist[0], distance**2, rtol=1e-5)
