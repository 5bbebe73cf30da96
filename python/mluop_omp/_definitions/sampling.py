"""Furthest point sampling."""

from __future__ import annotations

import numpy as np


def order_of_ties(count, threads=1024):
    """Returns the order in which points at equal distances are sampled: by the reversed bits of
    their indices modulo the largest power of two up to `count` and `threads`, which are the threads
    of a block in mmcv's kernel.
    """
    bits = min(max(count, 1), threads).bit_length() - 1
    index = np.arange(count)
    reversed_bits = np.zeros(count, np.intp)
    for bit in range(bits):
        reversed_bits |= (index >> bit & 1) << (bits - 1 - bit)
    return np.argsort(reversed_bits, kind="stable")


def _sample(distances_from, shape, count, dtype):
    """Returns int32 samples [B, S] of points in the order of ties.

    distances_from(places) are the distances [B, N] from the points at these places [B].
    """
    order = order_of_ties(count)
    places = np.zeros(shape, np.intp)
    nearest = np.full((shape[0], count), 1e10, dtype)
    for sample in range(1, shape[1] if shape[0] else 0):
        # A distance that is NaN does not count.
        nearest = np.fmin(nearest, distances_from(places[:, sample - 1]))
        furthest = nearest.argmax(1)
        is_far = np.take_along_axis(nearest, furthest[:, np.newaxis], 1)[:, 0] > -1
        places[:, sample] = np.where(is_far, furthest, 0)
    return order[places].astype(np.int32)


@np.errstate(invalid="ignore", over="ignore")
def furthest_point_sample(points, num_points):
    dtype = np.result_type(points.dtype, np.float32)
    B, N, _ = points.shape
    x, y, z = np.moveaxis(points[:, order_of_ties(N)].astype(dtype), 2, 0)
    batch = np.arange(B)

    def distances_from(places):
        dx, dy, dz = (axis - axis[batch, places][:, np.newaxis] for axis in (x, y, z))
        return (dx * dx + dy * dy) + dz * dz

    return _sample(distances_from, (B, num_points), N, dtype)


def furthest_point_sample_with_dist(distances, num_points):
    dtype = np.result_type(distances.dtype, np.float32)
    B, N, _ = distances.shape
    order, batch = order_of_ties(N), np.arange(B)

    def distances_from(places):
        return distances[batch, order[places]][:, order].astype(dtype)

    return _sample(distances_from, (B, num_points), N, dtype)


def furthest_point_sample_arguments(random, B=2, N=20, num_points=6):
    return random.floats(B, N, 3), num_points


def furthest_point_sample_with_dist_arguments(random, B=2, N=9, num_points=5):
    return random.positive(B, N, N), num_points
