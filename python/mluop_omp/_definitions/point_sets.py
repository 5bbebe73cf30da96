"""Convex hulls of sets of nine points: their overlaps with quadrilaterals, and rectangles."""

from __future__ import annotations

import numpy as np

from mluop_omp._definitions.boxes import areas_of_polygons, ious_of_all_polygons

_MAX_CORNERS = 10  # of a hull; an even number
# Crosses and differences of at most this are 0 in convex_giou.
_EPSILON = 1e-8
# The imaginary part of f(x + i step) is step f'(x).
_STEP = 2.0**-100


def _turn(a, b, c):
    """Returns a number that is positive if the way from a over b to c turns left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _hull(points):
    """Returns the places of the corners of the convex hull of points; none is on a side.

    They are counter-clockwise, from the lowest corner on; if several are lowest, from the leftmost
    one. The first one among equal points is a corner.
    """
    places = {}
    for place, point in enumerate(points.tolist()):
        places.setdefault(tuple(point), place)
    upwards, hull = sorted(places, key=lambda point: point[::-1]), []
    for way in (upwards, upwards[::-1]):
        chain = []
        for point in way:
            while len(chain) > 1 and _turn(*chain[-2:], point) <= 0:
                chain.pop()
            chain.append(point)
        hull += chain[:-1]
    return [places[point] for point in hull or upwards]


def _polygon(points):
    """Returns the hull with its last corner repeated; NaN if a number is not finite."""
    if not np.isfinite(points).all():
        return np.full((_MAX_CORNERS, 2), np.nan)
    hull = _hull(points)
    return points[hull + hull[-1:] * (_MAX_CORNERS - len(hull))]


def _points(rows):
    return rows.astype(np.float64).reshape(len(rows), rows.shape[1] // 2, 2)


def convex_iou(pointsets, polygons):
    hulls = np.array([_polygon(each) for each in _points(pointsets)])
    hulls = hulls.reshape(len(hulls), _MAX_CORNERS, 2)
    return ious_of_all_polygons(hulls, _points(polygons), "iou")


def _smallest_rectangle(points):
    if not np.isfinite(points).all():
        return np.full(8, np.nan)
    corners = points[_hull(points)]
    if len(corners) == 1:
        return np.tile(corners[0], 4)
    smallest, rectangle = np.inf, np.full((4, 2), np.nan)
    for u, v in (np.roll(corners, -1, 0) - corners).tolist():
        while not (u > 0 and v >= 0):
            u, v = v, -u
        axes = np.array([(u, v), (-v, u)]) / np.hypot(u, v)
        places = (corners - corners[0]) @ axes.T
        low, high = places.min(0), places.max(0)
        area = (high - low).prod()
        if area < smallest * (1 - 1e-6):
            smallest = area
            rectangle = np.array([(high[0], low[1]), low, (low[0], high[1]), high]) @ axes
    return (corners[0] + rectangle).ravel()


def min_area_polygons(pointsets):
    rectangles = [_smallest_rectangle(each) for each in _points(pointsets)]
    return np.array(rectangles).reshape(len(rectangles), 8)


# convex_giou. The intersection is a sum over pairs of sides: of the signed areas that the triangles
# of the origin with both sides share. Corners of these areas are arrays [4, pairs, corners, 2] of
# complex numbers, whose imaginary parts have the derivatives for the ends of the side of the hull.


def _cross(a, b):
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _signs(numbers):
    return np.where(abs(numbers.real) > _EPSILON, np.sign(numbers.real), 0)


def _are_equal(a, b):
    return (_signs(a - b)[0] == 0).all(-1)


def _exist(corners, count):
    """Returns which corners are among the first `count` of their polygon."""
    return np.arange(corners.shape[2]) < count[:, np.newaxis]


def _after(corners, count):
    """Returns the corner after each corner."""
    is_last = np.arange(corners.shape[2]) == count[:, np.newaxis] - 1
    return np.where(is_last[..., np.newaxis], corners[:, :, :1], np.roll(corners, -1, 2))


def _kept(corners, are_kept):
    """Returns the corners that are kept, first in their rows, and their numbers."""
    order, count = np.argsort(~are_kept, 1, kind="stable"), are_kept.sum(1)
    order = order[np.newaxis, :, : max(count, default=0), np.newaxis]
    return np.take_along_axis(corners, order, 2), count


def _without_repetitions(corners, count):
    """Drops corners that equal the one before, and last ones that equal the first."""
    is_repeated = _are_equal(corners, np.roll(corners, 1, 2))
    is_repeated[:, :1] = False
    corners, count = _kept(corners, _exist(corners, count) & ~is_repeated)
    is_dropped = _are_equal(corners, corners[:, :, :1]) | ~_exist(corners, count)
    is_dropped[:, :1] = False
    is_dropped = np.logical_and.accumulate(is_dropped[:, ::-1], 1)[:, ::-1]
    return _kept(corners, _exist(corners, count) & ~is_dropped)


def _clip(corners, count, start, end):
    """Clips polygons by the half planes to the left of the lines from start to end, [pairs, 2]."""
    start, along = start[:, np.newaxis], (end - start)[:, np.newaxis]
    exists, after = _exist(corners, count), _after(corners, count)
    side, side_after = (_cross(along, each - start) for each in (corners, after))
    length = side_after - side
    sign, sign_after, sign_of_length = (_signs(each[0]) for each in (side, side_after, length))
    crossings = corners * side_after[..., np.newaxis] - after * side[..., np.newaxis]
    both = np.stack((corners, crossings / length[..., np.newaxis]), 3)
    are_kept = np.stack((sign > 0, (sign != sign_after) & (sign_of_length != 0)), 2)
    are_kept &= exists[..., np.newaxis]
    pairs, size, _ = are_kept.shape
    both, are_kept = both.reshape(4, pairs, 2 * size, 2), are_kept.reshape(pairs, 2 * size)
    return _without_repetitions(*_kept(both, are_kept))


def _shared_areas(a, b, c, d):
    """Returns the signed areas that the triangles of the origin with the sides ab and cd share, and
    their derivatives for a and b, [pairs, 4].
    """
    of_hull, of_other = _signs(_cross(a, b)), _signs(_cross(c, d))
    step = 1j * _STEP * np.eye(4).reshape(4, 1, 2, 2)
    sides = np.stack((a, b), 1) + step
    sides = np.where(of_hull[:, np.newaxis, np.newaxis] < 0, sides[:, :, ::-1], sides)
    is_clockwise = of_other[:, np.newaxis] < 0
    c, d = np.where(is_clockwise, d, c), np.where(is_clockwise, c, d)
    corners = np.concatenate((np.zeros_like(sides[:, :, :1]), sides), 2)
    count, origin = np.full(len(a), 3), np.zeros_like(c)
    for start, end in ((origin, c), (c, d), (d, origin)):
        corners, count = _clip(corners, count, start, end)
    crosses = _cross(corners, _after(corners, count))
    twice = np.where(_exist(corners, count), crosses, 0).sum(2)
    sign = np.where(twice[0].real < 0, -1, 1) * of_hull * of_other
    areas = np.where(sign == 0, 0, sign * twice / 2)
    return areas[0].real, areas.imag.T / _STEP


def _area_slopes(corners):
    """Returns the derivatives of the area of a polygon for its corners."""
    along = np.roll(corners, -1, 0) - np.roll(corners, 1, 0)
    return np.stack((along[:, 1], -along[:, 0]), 1) / 2


@np.errstate(all="ignore")
def _giou_row(points, quad):
    """Returns the derivatives of the GIoU for the points, then the GIoU."""
    if not (np.isfinite(points).all() and np.isfinite(quad).all()):
        return np.append(np.zeros(18), np.nan)
    if _cross(quad[1:-1] - quad[0], quad[2:] - quad[0]).sum() < 0:
        quad = quad[::-1]
    hull = np.array(_hull(points))
    corners = points[hull]
    is_new = (abs(quad[:, np.newaxis] - corners) > _EPSILON).any(2).all(1)
    both = np.concatenate((corners, quad[is_new]))
    common = np.array(_hull(both))
    a, b, c = (areas_of_polygons(each[np.newaxis])[0] for each in (corners, quad, both[common]))
    pairs = list(zip((corners, quad), np.indices((len(corners), 4)).reshape(2, -1)))
    starts = [polygon[place] for polygon, place in pairs]
    ends = [np.roll(polygon, -1, 0)[place] for polygon, place in pairs]
    areas, slopes = _shared_areas(starts[0], ends[0], starts[1], ends[1])
    slopes = slopes.reshape(len(corners), 4, 2, 2).sum(1)
    of_a, of_c, of_shared = np.zeros((3, 9, 2))
    of_a[hull] = _area_slopes(corners)
    are_points = common < len(hull)
    of_c[hull[common[are_points]]] = _area_slopes(both[common])[are_points]
    of_shared[hull] = slopes[:, 0]
    of_shared[np.roll(hull, -1)] += slopes[:, 1]
    shared = areas.sum()
    union = a + b - shared
    gradient = ((union + shared) / union**2 - 1 / c) * of_shared
    gradient += (1 / c - shared / union**2) * of_a - union / c**2 * of_c
    return np.append(gradient, shared / union - (c - union) / c)


def convex_giou(pointsets, polygons):
    rows = [_giou_row(*pair) for pair in zip(_points(pointsets), _points(polygons))]
    return np.array(rows).reshape(len(rows), 19)


def convex_iou_arguments(random, N=9, K=7):
    return random.floats(N, 18), random.quads(K)


def convex_giou_arguments(random, N=9):
    return random.floats(N, 18), random.quads(N)


def min_area_polygons_arguments(random, N=9):
    return (random.floats(N, 18),)
