"""How much of two boxes overlaps."""

from __future__ import annotations

import numpy as np

from mluop_omp._definitions._precision import at_least_float32

_PAIRS = 1 << 13  # Pairs computed together, which bounds the memory.


def _are_distant_rectangles(a, b):
    """Returns which pairs of rectangles (x, y, w, h, angle) share nothing; not all of them."""
    # 2 cm and the sixth digit exceed the margins and roundings of all overlaps.
    reaches = [
        np.hypot(each[:, 2], each[:, 3]) / 2 + 0.02 + 1e-6 * abs(each[:, :4]).sum(1)
        for each in (a.astype(np.float64), b.astype(np.float64))
    ]
    x, y = np.moveaxis(a[:, np.newaxis, :2] - b[:, :2], 2, 0)
    return np.hypot(x, y) > np.add.outer(*reaches)


def _are_distant_polygons(a, b):
    """As `_are_distant_rectangles`, of polygons [N, corners, 2]; none if a number is not finite."""
    a, b = (np.where(np.isfinite(each).all((1, 2), keepdims=True), each, np.nan) for each in (a, b))
    low, high = a.min(1)[:, np.newaxis], a.max(1)[:, np.newaxis]
    return ((low > b.max(1)) | (b.min(1) > high)).any(2)


@np.errstate(all="ignore")
def _of_all_pairs(a, b, overlap, are_distant=_are_distant_rectangles, dtype=np.float64):
    """Returns overlap(a[n], b[m]); 0 for distant pairs."""
    out = np.zeros((len(a), len(b)), dtype)
    step = 1 + 16 * _PAIRS // max(len(b), 1)
    for first in range(0, len(a), step):
        near = np.nonzero(~are_distant(a[first : first + step], b))
        for pair in range(0, len(near[0]), _PAIRS):
            n, m = (each[pair : pair + _PAIRS] for each in near)
            out[first + n, m] = overlap(a[first + n], b[m])
    return out


def _turned(points, angle):
    x, y, cos, sin = points[..., 0], points[..., 1], np.cos(angle), np.sin(angle)
    return np.stack((x * cos - y * sin, x * sin + y * cos), -1)


def _are_apart(a, b):
    """Returns which rectangles a line along a side of a separates; touching ones share nothing."""
    gap, cos, sin = b[:, :2] - a[:, :2], *(abs(f(b[:, 4] - a[:, 4])) for f in (np.cos, np.sin))
    w, h = b[:, 2] / 2, b[:, 3] / 2
    reach = a[:, 2:4] / 2 + np.stack((w * cos + h * sin, w * sin + h * cos), 1)
    return (abs(_turned(gap, -a[:, 4])) >= reach * (1 - 1e-15)).any(1)


def _shared_areas(a, b):
    """Moves the boundary of b to the nearest points of a: it then encloses what both share.

    The boundary is cut where it crosses the lines through the sides of a.
    """
    half, corners = a[:, np.newaxis, 2:4] / 2, np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    start = _turned(b[:, np.newaxis, :2] - a[:, np.newaxis, :2], -a[:, 4:])
    start = start + _turned(corners * (b[:, np.newaxis, 2:4] / 2), b[:, 4:] - a[:, 4:])
    edge = np.roll(start, -1, 1) - start
    cuts = np.concatenate((0 * start[..., :1], (-half - start) / edge, (half - start) / edge), 2)
    cuts = np.sort(np.fmax(np.fmin(cuts, 1), 0), 2)[..., np.newaxis]
    points = start[:, :, np.newaxis] + cuts * edge[:, :, np.newaxis]
    points = np.clip(points, -half[:, np.newaxis], half[:, np.newaxis]).reshape(len(a), 20, 2)
    x, y = np.moveaxis(points - points[:, :1], 2, 0)
    return abs((x * np.roll(y, -1, 1) - y * np.roll(x, -1, 1)).sum(1)) / 2


@np.errstate(all="ignore")
def _ious(a, b, mode):
    sides, areas = [each[:, 2:4] for each in (a, b)], [each[:, 2] * each[:, 3] for each in (a, b)]
    shared = np.minimum(_shared_areas(a, b), np.minimum(*areas))
    shared[_are_apart(a, b) | _are_apart(b, a)] = 0
    is_empty = (np.fmin(*sides) <= 0).any(1) | (np.fmin(*areas) < 1e-14)
    is_finite = (np.isfinite(a) & np.isfinite(b)).all(1)
    union = areas[0] if mode == "iof" else areas[0] + areas[1] - shared
    return np.select([is_empty, np.isnan(sum(areas)), ~is_finite], [0, np.nan, 0], shared / union)


def box_iou_rotated(boxes1, boxes2, mode, aligned):
    boxes1, boxes2 = boxes1.astype(np.float64), boxes2.astype(np.float64)
    if aligned:
        return _ious(boxes1, boxes2, mode)
    return _of_all_pairs(boxes1, boxes2, lambda a, b: _ious(a, b, mode))


def _shared_areas_of_polygons(p, r):
    """Integrates, over y, the length that the insides of both share on a line.

    It is linear between the y of corners and of crossings of sides. The polygons have even numbers
    of corners.
    """
    q, s = (np.roll(each, -1, 1) for each in (p, r))
    side_p, side_r = (q - p)[:, :, np.newaxis], (s - r)[:, np.newaxis]
    gap = r[:, np.newaxis] - p[:, :, np.newaxis]
    turn = side_p[..., 0] * side_r[..., 1] - side_p[..., 1] * side_r[..., 0]
    along = (gap[..., 0] * side_r[..., 1] - gap[..., 1] * side_r[..., 0]) / turn
    crossing = p[:, :, np.newaxis, 1] + np.fmin(np.fmax(along, 0), 1) * side_p[..., 1]
    ends = (p[..., 1], r[..., 1], crossing.reshape(len(p), p.shape[1] * r.shape[1]))
    y = np.sort(np.concatenate(ends, 1), 1)
    middle = ((y[:, 1:] + y[:, :-1]) / 2)[:, :, np.newaxis]

    def insides(start, end):
        start, end = start[:, np.newaxis], end[:, np.newaxis]
        crosses = (start[..., 1] > middle) != (end[..., 1] > middle)
        part = (middle - start[..., 1]) / (end[..., 1] - start[..., 1])
        x = start[..., 0] + part * (end[..., 0] - start[..., 0])
        # Absent crossings come last, in pairs without length.
        x = np.sort(np.where(crosses, x, np.inf), 2)
        return x.reshape(*x.shape[:2], x.shape[2] // 2, 1, 2)

    of_p, of_r = insides(p, q), insides(r, s).swapaxes(2, 3)
    lengths = np.fmin(of_p[..., 1], of_r[..., 1]) - np.fmax(of_p[..., 0], of_r[..., 0])
    return (np.fmax(lengths, 0).sum((2, 3)) * np.diff(y)).sum(1)


def areas_of_polygons(polygons):
    x, y = np.moveaxis(polygons - polygons[:, :1], 2, 0)
    return abs((x * np.roll(y, -1, 1) - y * np.roll(x, -1, 1)).sum(1)) / 2


@np.errstate(all="ignore")
def _ious_of_polygons(a, b, mode):
    areas = areas_of_polygons(a), areas_of_polygons(b)
    shared = np.minimum(_shared_areas_of_polygons(a, b), np.minimum(*areas))
    is_finite = (np.isfinite(a).all(1) & np.isfinite(b).all(1)).all(1)
    union = areas[0] if mode == "iof" else areas[0] + areas[1] - shared
    is_small = np.minimum(*(np.where(np.isnan(area), np.inf, area) for area in areas)) < 1e-14
    return np.select([is_small, ~is_finite], [0, np.nan], shared / union)


def ious_of_all_polygons(a, b, mode):
    """Returns the overlaps of polygons [N, K, 2] and [M, L, 2] with even K and L."""
    return _of_all_pairs(a, b, lambda a, b: _ious_of_polygons(a, b, mode), _are_distant_polygons)


def box_iou_quadri(boxes1, boxes2, mode, aligned):
    quads = [each[:, :8].astype(np.float64).reshape(-1, 4, 2) for each in (boxes1, boxes2)]
    return (_ious_of_polygons if aligned else ious_of_all_polygons)(*quads, mode)


class _Bev:
    """Rectangles of 3-D boxes in the ground plane, rounded as in iou3d of mmcv."""

    def __init__(self, boxes):
        (x, y, dx, dy, yaw), number = boxes.T, boxes.dtype.type
        self.center, self.reach = np.stack((x, y)), np.stack((dx, dy)) / 2 + number(0.01)
        self.cos, self.sin = (
            f(yaw, dtype=np.float64).astype(boxes.dtype) for f in (np.cos, np.sin)
        )
        left, right, low, high = (x - dx / 2 - x, x + dx / 2 - x, y - dy / 2 - y, y + dy / 2 - y)
        u, v = np.stack((left, right, right, left)), np.stack((low, low, high, high))
        self.corners = np.stack(
            (u * self.cos - v * self.sin + x, u * self.sin + v * self.cos + y)
        )  # [2, 4, P]

    def contains(self, points):
        x, y = points - self.center[:, np.newaxis]
        along = np.stack((x * self.cos + y * self.sin, y * self.cos - x * self.sin))
        return (abs(along) < self.reach[:, np.newaxis]).all(0)


def _next(corners, axis):
    return np.roll(corners, -1, axis)


def _sides(corners, others):
    """Returns on which side of each edge each corner of the other box lies, [4, 4, P]."""
    edge = (_next(corners, 1) - corners)[:, :, np.newaxis]
    x, y = others[:, np.newaxis] - corners[:, :, np.newaxis]
    return x * edge[1] - edge[0] * y


def _crossings(a, b):
    """Returns where each edge of a crosses each of b, [2, 4, 4, P], and whether it does."""
    side0, sides_of_b = _sides(a, b), _sides(b, a)
    side1 = _next(side0, 1)
    p0, p1, q0, q1 = a[:, :, None], _next(a, 1)[:, :, None], b[:, None], _next(b, 1)[:, None]
    meet = (np.minimum(p0, p1) <= np.maximum(q0, q1)) & (np.minimum(q0, q1) <= np.maximum(p0, p1))
    opposite = (side0 * side1 < 0) & (sides_of_b * _next(sides_of_b, 1) < 0).swapaxes(0, 1)
    # Edges that are nearly parallel cross where their lines do.
    a0, b0, c0 = p0[1] - p1[1], p1[0] - p0[0], p0[0] * p1[1] - p1[0] * p0[1]
    a1, b1, c1 = q0[1] - q1[1], q1[0] - q0[0], q0[0] * q1[1] - q1[0] * q0[1]
    of_lines = np.stack((b0 * c1 - b1 * c0, a1 * c0 - a0 * c1)) / (a0 * b1 - a1 * b0)
    crossings = (side1 * q0 - side0 * q1) / (side1 - side0)
    is_clear = abs(side1 - side0) > side0.dtype.type(1e-8)
    return np.where(is_clear, crossings, of_lines), meet.all(0) & opposite


def _overlaps_bev(rows_a, rows_b):
    a, b = _Bev(rows_a), _Bev(rows_b)
    crossings, do_cross = _crossings(a.corners, b.corners)
    corners = np.stack((b.corners, a.corners), 2).reshape(2, 8, -1)
    are_inside = np.stack((a.contains(b.corners), b.contains(a.corners)), 1).reshape(8, -1)
    is_used = np.concatenate((do_cross.reshape(16, -1), are_inside))
    points = np.concatenate((crossings.reshape(2, 16, -1), corners), 1)
    points, count = np.where(is_used, points, 0), is_used.sum(0)
    # Python's sum adds in order.
    x, y = points - (sum(points.swapaxes(0, 1)) / count.astype(points.dtype))[:, np.newaxis]
    angles = np.arctan2(y, x, dtype=np.float64).astype(points.dtype)
    order = np.argsort(np.where(is_used, angles, np.inf), 0, kind="stable")
    points = np.take_along_axis(points, order[np.newaxis], 1)
    x, y = points - points[:, :1]
    doubled = x[:-1] * y[1:] - y[:-1] * x[1:]
    return np.abs(sum(np.where(np.arange(1, 24)[:, np.newaxis] < count, doubled, 0))) / 2


def _overlaps_of_finite(a, b):
    is_box = (np.isfinite(a) & np.isfinite(b)).all(1) & (np.minimum(a, b)[:, 2:4] > 0).all(1)
    return np.where(is_box, _overlaps_bev(a, b), 0)


def boxes_overlap_bev(boxes_a, boxes_b):
    a, b = (each[:, [0, 1, 3, 4, 6]] for each in map(at_least_float32, (boxes_a, boxes_b)))
    return _of_all_pairs(a, b, _overlaps_of_finite, dtype=a.dtype)


@np.errstate(all="ignore")
def bbox_overlaps(boxes1, boxes2, mode, aligned, offset):
    a, b = map(at_least_float32, (boxes1, boxes2))
    a, offset = a if aligned else a[:, np.newaxis], a.dtype.type(offset)
    shared = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2]) + offset
    shared = np.maximum(shared, 0).prod(-1)
    areas = [(each[..., 2:] - each[..., :2] + offset).prod(-1) for each in (a, b)]
    base = areas[0] if mode == "iof" else areas[0] + areas[1] - shared
    return shared / np.maximum(base, offset)


_EPSILON = 1e-8  # in diff_iou_rotated_sort_vertices


def _is_before(p, q):
    """Returns whether vertices (x, y, key) are before others in the order of mmcv's kernel."""
    x, y = (abs(p[i] - q[i]).astype(np.float64) for i in (0, 1))
    difference = (p[2] - q[2]).astype(np.float64)
    above = (p[1] > 0) & (q[1] > 0) & (difference > _EPSILON)
    below = (p[1] < 0) & (q[1] < 0) & (difference < _EPSILON)
    return ~((x < _EPSILON) & (y < _EPSILON)) & (((p[1] > 0) & (q[1] < 0)) | above | below)


def _with_keys(x, y):
    """Returns x, y, and the squared cosines of the angles with the signs of x."""
    norms = ((x * x + y * y).astype(np.float64) + _EPSILON).astype(x.dtype)
    return np.stack((x, y, abs(x) * x / norms))


@np.errstate(all="ignore")
def diff_iou_rotated_sort_vertices(vertices, mask, num_valid):
    vertices, mask = at_least_float32(vertices), mask.astype(bool)
    vertices = _with_keys(vertices[..., 0], vertices[..., 1])
    start = _with_keys(*np.array([[1], [-_EPSILON]], vertices.dtype))[:, :, np.newaxis]
    pad = np.where(mask[..., 8:].all(2), 0, 8 + np.argmin(mask[..., 8:], 2))[..., np.newaxis]
    idx, previous = np.repeat(pad, 9, 2), None
    count = np.minimum(num_valid, 8)[..., np.newaxis]
    count = np.where(count < 3, -1, count)
    for j in range(8):
        first, found = np.broadcast_to(start, vertices.shape[:3]), np.zeros(mask.shape[:2], int)
        for k in range(24):
            candidate = vertices[..., k]
            replaces = mask[..., k] & _is_before(candidate, first)
            if previous is not None:
                replaces &= _is_before(previous, candidate)
            first, found = np.where(replaces, candidate, first), np.where(replaces, k, found)
        idx[..., j] = np.where(j < count[..., 0], found, idx[..., j])
        previous = np.take_along_axis(vertices, found[np.newaxis, ..., np.newaxis], 3)[..., 0]
    idx = np.where(np.arange(9) == count, idx[..., :1], idx)
    equal = (idx[..., :4, np.newaxis] == idx[..., np.newaxis, 4:8]).sum((2, 3))[..., np.newaxis]
    whole = np.where(np.arange(9) < 4, idx, np.where(np.arange(9) == 4, idx[..., :1], pad))
    return np.where((count == 8) & (equal == 4), whole, idx).astype(np.int32)


def box_iou_rotated_arguments(random, N=9, M=7, mode=("iou", "iof"), aligned=(False, True)):
    return random.rotated(N), random.rotated(N if aligned else M), mode, aligned


def box_iou_quadri_arguments(random, N=9, M=7, mode=("iou", "iof"), aligned=(False, True)):
    return random.quads(N), random.quads(N if aligned else M), mode, aligned


def diff_iou_rotated_sort_vertices_arguments(random, B=2, N=9):
    mask = random.integers(0, 4, B, N, 24) == 0
    return random.floats(B, N, 24, 2), mask, mask.sum(2).astype(np.int32)


def boxes_overlap_bev_arguments(random, N=9, M=7):
    return random.boxes(N), random.boxes(M)


def bbox_overlaps_arguments(
    random, N=9, M=7, mode=("iou", "iof"), aligned=(False, True), offset=(0, 1)
):
    return random.corners(N), random.corners(N if aligned else M), mode, aligned, offset
