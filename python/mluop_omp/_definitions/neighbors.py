"""Neighbors of points, by distances whose steps are rounded to the dtype of the points."""

from __future__ import annotations

import itertools

import numpy as np

from mluop_omp._definitions._indexing import counts_of_clouds, first_members

_PAIRS = 2**20  # computed together


def _blocks(centers, points):
    """Yields the places of some centers [B, M, 3], and their squares of distances to all points."""
    if centers.dtype.name == "bfloat16":
        centers, points = centers.astype(np.float32), points.astype(np.float32)
    step = max(1, _PAIRS // max(points.shape[1], 1))
    for b, start in itertools.product(range(len(centers)), range(0, centers.shape[1], step)):
        place = b, slice(start, start + step)
        x, y, z = (centers[place][:, np.newaxis, axis] - points[b, :, axis] for axis in range(3))
        yield place, (x * x + y * y) + z * z


def _square(radius, dtype):
    return np.result_type(dtype, np.float32).type(radius) ** 2


def _repeat_first(members, found):
    """Repeats the first of the members [R, S] in the places past the found ones [R]."""
    is_found = np.arange(members.shape[1]) < found[:, np.newaxis]
    return np.where(is_found, members, members[:, :1])


@np.errstate(invalid="ignore", over="ignore")
def ball_query(new_xyz, xyz, min_radius, max_radius, nsample):
    out = np.zeros((*new_xyz.shape[:2], nsample), np.int32)
    low, high = _square(min_radius, xyz.dtype), _square(max_radius, xyz.dtype)
    for place, d2 in _blocks(new_xyz, xyz):
        is_member = (d2 == 0) | ((d2 >= low) & (d2 < high))
        out[place] = _repeat_first(*first_members(is_member, nsample))
    return out


@np.errstate(invalid="ignore", over="ignore")
def stack_ball_query(new_xyz, new_xyz_batch_cnt, xyz, xyz_batch_cnt, max_radius, nsample):
    out = np.zeros((len(new_xyz), nsample), np.int32)
    high = _square(max_radius, xyz.dtype)
    M, N = (np.cumsum(counts)[:-1] for counts in (new_xyz_batch_cnt, xyz_batch_cnt))
    clouds = zip(np.split(out, M), np.split(new_xyz, M), np.split(xyz, N))
    for samples, centers, points in clouds:
        for (_, rows), d2 in _blocks(centers[np.newaxis], points[np.newaxis]):
            members, found = first_members(d2 < high, nsample)
            samples[rows] = _repeat_first(members, found)
            samples[rows][found == 0, :1] = -1
    return out


@np.errstate(invalid="ignore", over="ignore")
def three_nn(unknown, known):
    dtype = np.float32 if unknown.dtype.name == "bfloat16" else unknown.dtype
    dist2, idx = np.full(unknown.shape, np.inf, dtype), np.zeros(unknown.shape, np.int32)
    for place, d2 in _blocks(unknown, known):
        # Known points that do not exist are infinitely far.
        missing = np.full((len(d2), 3), np.inf, dtype)
        d2 = np.concatenate((np.where(np.isnan(d2), np.inf, d2), missing), 1)
        for slot in range(3):
            nearest = d2.argmin(1)[:, np.newaxis]  # the first of equal ones
            dist2[(*place, slot)] = np.take_along_axis(d2, nearest, 1)[:, 0]
            idx[(*place, slot)] = nearest[:, 0]
            np.put_along_axis(d2, nearest, np.inf, 1)
    return dist2, np.where(np.isinf(dist2), 0, idx).astype(np.int32)


def _may_enter(d2, k):
    """Returns the points that may be nearer than the k nearest of those before them."""
    may_enter = d2 < 1e10
    d2 = np.where(may_enter, d2, np.inf)
    start = k
    while start < d2.shape[1]:
        worst = np.partition(d2[:, :start], k - 1, 1)[:, k - 1 : k]
        may_enter[:, start : 2 * start] &= d2[:, start : 2 * start] < worst
        start *= 2
    return may_enter


def sift_down(dist2, idx, rows, size):
    """Exchanges the root of each heap with its greater child, the left of equal ones, until it is
    greater than both.
    """
    root = np.zeros_like(rows)
    while len(rows):
        left = 2 * root + 1
        rows, root, left = (each[left < size] for each in (rows, root, left))
        right = np.minimum(left + 1, size - 1)
        child = np.where(dist2[rows, right] > dist2[rows, left], right, left)
        moves = ~(dist2[rows, root] > dist2[rows, child])
        rows, root, child = rows[moves], root[moves], child[moves]
        for array in (dist2, idx):
            array[rows, root], array[rows, child] = array[rows, child], array[rows, root]
        root = child


def _candidates(centers, points, k):
    """Returns how many points may enter the heap of each center, and all of these points, with
    their squares of distances.
    """
    counts, indices, squares = [np.zeros(0, int)], [np.zeros(0, int)], [points[:0, :0, 0].ravel()]
    for _, d2 in _blocks(centers, points):
        may_enter = _may_enter(d2, k)
        counts.append(may_enter.sum(1))
        indices.append(np.nonzero(may_enter)[1])
        squares.append(d2[may_enter])
    return map(np.concatenate, (counts, indices, squares))


@np.errstate(invalid="ignore", over="ignore")
def knn(xyz, new_xyz, k):
    if k < 1:
        raise ValueError(f"k is {k}, expected at least 1")
    dtype, shape = np.result_type(xyz.dtype, np.float32), (*new_xyz.shape[:2], k)
    counts, indices, squares = _candidates(new_xyz.astype(dtype), xyz.astype(dtype), k)
    starts, centers = np.cumsum(counts) - counts, np.arange(len(counts))
    dist2, idx = np.full((len(counts), k), 1e10, dtype), np.zeros((len(counts), k), np.int32)
    for slot in range(counts.max(initial=0)):
        rows = centers[slot < counts]
        rows = rows[squares[starts[rows] + slot] < dist2[rows, 0]]
        dist2[rows, 0], idx[rows, 0] = (each[starts[rows] + slot] for each in (squares, indices))
        sift_down(dist2, idx, rows, k)
    for size in range(k - 1, 0, -1):
        for array in (dist2, idx):
            array[:, [0, size]] = array[:, [size, 0]]
        sift_down(dist2, idx, centers, size)
    return dist2.reshape(shape), idx.reshape(shape)


def ball_query_arguments(random, B=2, M=5, N=20, nsample=4, min_radius=(0.0, 0.5)):
    return random.floats(B, M, 3), random.floats(B, N, 3), min_radius, 1.0, nsample


def stack_ball_query_arguments(random, B=2, M=9, N=41, nsample=4):
    N, M = (N, M) if B else (0, 0)
    counts = counts_of_clouds(M, B), counts_of_clouds(N, B)
    return random.floats(M, 3), counts[0], random.floats(N, 3), counts[1], 1.0, nsample


def three_nn_arguments(random, B=2, N=9, M=20):
    return random.floats(B, N, 3), random.floats(B, M, 3)


def knn_arguments(random, B=2, N=20, M=5, k=4):
    return random.floats(B, N, 3), random.floats(B, M, 3), k
