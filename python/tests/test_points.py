"""Operators on points against an independent judge; test_examples.py has worked examples."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mluop_omp


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
