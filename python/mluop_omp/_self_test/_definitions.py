"""The definitions of the operators as plain loops in NumPy, accumulating in double.

boxes_overlap_bev, furthest_point_sample, knn, nms, nms3d, nms3d_normal and the functions on points
in boxes are computed in float32: their definitions include the rounding errors.
"""

from __future__ import annotations

import itertools

import numpy as np


def voxel_pooling(geom_xyz, features, voxel_num):
    B, N, C = features.shape
    X, Y, Z = voxel_num
    output = np.zeros((B, Y, X, C))
    pos_memo = np.full((B, N, 3), -1, np.int32)
    for b, n in np.ndindex(B, N):
        x, y, z = geom_xyz[b, n]
        if 0 <= x < X and 0 <= y < Y and 0 <= z < Z:
            output[b, y, x] += features[b, n]
            pos_memo[b, n] = b, y, x
    return output, pos_memo


def voxel_pooling_backward(grad_output, pos_memo):
    grad = np.zeros((*pos_memo.shape[:2], grad_output.shape[3]), grad_output.dtype)
    for b, n in np.ndindex(*pos_memo.shape[:2]):
        if pos_memo[b, n, 0] >= 0:
            grad[b, n] = grad_output[tuple(pos_memo[b, n])]
    return grad


def _pooled_points(ranks_depth, ranks_feat, ranks_bev):
    for element, row, cell in zip(ranks_depth, ranks_feat, ranks_bev):
        if cell != -1:
            yield element, row, cell


def bev_pool(depth, features, ranks_depth, ranks_feat, ranks_bev, num_cells):
    out = np.zeros((num_cells, features.shape[1]))
    depth, features = depth.astype(np.float64), features.astype(np.float64)
    if out.size:
        for element, row, cell in _pooled_points(ranks_depth, ranks_feat, ranks_bev):
            out[cell] += depth[element] * features[row]
    return out


def bev_pool_backward(grad_output, depth, features, ranks_depth, ranks_feat, ranks_bev):
    grad_output, depth, features = (
        each.astype(np.float64) for each in (grad_output, depth, features)
    )
    grad_depth, grad_features = np.zeros(depth.shape), np.zeros(features.shape)
    if grad_depth.size or grad_features.size:
        for element, row, cell in _pooled_points(ranks_depth, ranks_feat, ranks_bev):
            grad_depth[element] += grad_output[cell] @ features[row]
            grad_features[row] += depth[element] * grad_output[cell]
    return grad_depth, grad_features


def voxelization(points, voxel_size, coors_range, max_points, max_voxels):
    size, bounds = (np.array(each, points.dtype) for each in (voxel_size, coors_range))
    cells = np.round((bounds[3:] - bounds[:3]) / size)
    voxels: dict[tuple, list] = {}
    for point in points:
        cell = np.floor((point[:3] - bounds[:3]) / size)
        if not ((cell >= 0) & (cell < cells)).all():
            continue
        key = tuple(int(c) for c in cell[::-1])
        if key not in voxels and len(voxels) == max_voxels:
            continue
        members = voxels.setdefault(key, [])
        if len(members) < max_points:
            members.append(point)
    out = np.zeros((len(voxels), max_points, points.shape[1]), points.dtype)
    for row, members in zip(out, voxels.values()):
        row[: len(members)] = np.reshape(members, (len(members), -1)) if members else 0
    counts = np.array([len(members) for members in voxels.values()], np.int32)
    return out, np.array(list(voxels), np.int32).reshape(-1, 3), counts


def dynamic_scatter(feats, coors, reduce):
    keys = sorted({tuple(c) for c in coors.tolist() if min(c) >= 0})
    rank = {key: i for i, key in enumerate(keys)}
    mapping = np.array([rank.get(tuple(c), -1) for c in coors.tolist()], np.int32)
    function = {"max": np.max, "sum": np.sum, "mean": np.mean}[reduce]
    reduced = [function(feats[mapping == v].astype(np.float64), axis=0) for v in range(len(keys))]
    counts = np.array([(mapping == v).sum() for v in range(len(keys))], np.int32)
    shape = (len(keys), feats.shape[1])
    return (
        np.array(reduced).reshape(shape),
        np.array(keys, np.int32).reshape(-1, 3),
        mapping,
        counts,
    )


def dynamic_scatter_backward(grad, feats, voxel_feats, mapping, counts, reduce):
    out = np.zeros(feats.shape)
    for v in range(len(grad)):
        members = np.flatnonzero(mapping == v)
        if reduce == "max":
            for c in range(feats.shape[1]):
                source = members[feats[members, c] == voxel_feats[v, c]]
                if len(source):
                    out[source[0], c] = grad[v, c]
        else:
            out[members] = grad[v] / (counts[v] if reduce == "mean" else 1)
    return out


def _rotation(angle):
    return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def _intersection(a, b):
    """The area of b in a: b is cut along the four sides of a, in the frame of a."""
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * b[2:4] / 2
    polygon = corners @ _rotation(b[4] - a[4]) + (b[:2] - a[:2]) @ _rotation(-a[4])
    for axis, sign in itertools.product((0, 1), (-1, 1)):
        depth = abs(a[2 + axis]) / 2 - sign * polygon[:, axis]
        cut = []
        for p, q, d, e in zip(polygon, np.roll(polygon, -1, 0), depth, np.roll(depth, -1)):
            if d >= 0:
                cut.append(p)
            if (d >= 0) != (e >= 0):
                cut.append(p + (q - p) * (d / (d - e)))
        polygon = np.reshape(cut, (-1, 2))
    x, y = polygon.T
    return abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


def _overlap_of_rotated_boxes(a, b, mode):
    areas = [0 if (box[2:4] <= 0).any() else box[2] * box[3] for box in (a, b)]
    if min(np.nan_to_num(areas, nan=1)) < 1e-14:
        return 0
    if np.isnan(areas).any():
        return np.nan
    if not np.isfinite((a, b)).all():
        return 0
    shared = min(_intersection(a, b), *areas)
    return shared / (areas[0] if mode == "iof" else sum(areas) - shared)


def box_iou_rotated(boxes1, boxes2, mode="iou", aligned=False):
    boxes1, boxes2 = boxes1.astype(np.float64), boxes2.astype(np.float64)
    if aligned:
        pairs = zip(boxes1, boxes2)
        return np.array([_overlap_of_rotated_boxes(a, b, mode) for a, b in pairs])
    out = np.zeros((len(boxes1), len(boxes2)))
    for n, m in np.ndindex(*out.shape):
        out[n, m] = _overlap_of_rotated_boxes(boxes1[n], boxes2[m], mode)
    return out


def _kept(boxes, scores, iou_threshold, iou):
    """Returns the boxes that are kept. iou(boxes, box): of kept boxes and another one."""
    numbers = np.where(np.isnan(scores), np.inf, scores)
    order = sorted(range(len(boxes)), key=lambda i: (not np.isnan(scores[i]), -numbers[i]))
    kept: list[int] = []
    for i in order:
        ious = iou(boxes[kept], boxes[i : i + 1])
        if not (np.float32(ious) > np.float32(iou_threshold)).any():
            kept.append(i)
    return np.array(kept, np.int32)


@np.errstate(invalid="ignore", divide="ignore")
def _overlaps_of_boxes(a, b, offset):
    """Returns the IoUs of rectangles (x1, y1, x2, y2, ...), in float32."""
    shared = np.minimum(a[..., 2:4], b[..., 2:4]) - np.maximum(a[..., :2], b[..., :2])
    shared = np.maximum(shared + np.float32(offset), 0).prod(-1)
    sides = (box[..., 2:4] - box[..., :2] + np.float32(offset) for box in (a, b))
    # Boxes of no width or height share nothing.
    areas = [np.where((each <= 0).any(-1), np.float32(1), each.prod(-1)) for each in sides]
    return shared / (areas[0] + areas[1] - shared)


def _weights(ious, method, iou_threshold, sigma):
    if method == "gaussian":
        return np.exp(-(ious * ious) / np.float32(sigma))
    return np.where(ious >= np.float32(iou_threshold), 0 if method == "naive" else 1 - ious, 1)


def soft_nms(boxes, scores, iou_threshold, sigma, min_score, method, offset):
    dets = np.concatenate((boxes, scores[:, np.newaxis]), 1).astype(np.float32)
    inds, k = np.arange(len(dets), dtype=np.int32), 0
    while k < len(dets):
        chosen = k if np.isnan(dets[k, 4]) else k + np.nanargmax(dets[k:, 4])
        for array in (dets, inds):
            array[[k, chosen]] = array[[chosen, k]]
        ious = _overlaps_of_boxes(dets[k], dets[k + 1 :], offset)
        dets[k + 1 :, 4] *= _weights(ious, method, iou_threshold, sigma).astype(np.float32)
        k, i = k + 1, k + 1
        while i < len(dets):
            if dets[i, 4] < np.float32(min_score):
                dets[i], inds[i] = dets[-1], inds[-1]
                dets, inds = dets[:-1], inds[:-1]
            else:
                i += 1
    return dets, inds


def nms_match(dets, iou_threshold):
    dets = dets.astype(np.float32)
    remaining = np.lexsort((-dets[:, 4], ~np.isnan(dets[:, 4])))
    groups = []
    while len(remaining):
        ious = _overlaps_of_boxes(dets[remaining[0]], dets[remaining], 0)
        is_member = ious >= np.float32(iou_threshold)
        is_member[0] = True
        groups.append(remaining[is_member])
        remaining = remaining[~is_member]
    sizes = [len(group) for group in groups]
    return np.array([i for group in groups for i in group], np.int32), np.array(sizes, np.int32)


def nms_rotated(boxes, scores, iou_threshold):
    return _kept(boxes[:, :5], scores, iou_threshold, box_iou_rotated)


def nms(boxes, scores, iou_threshold, offset=0):
    def iou(a, b):
        return _overlaps_of_boxes(a, b, offset)

    return _kept(boxes.astype(np.float32), scores, iou_threshold, iou)


def _corners_bev(center, sides, cos, sin):
    """Returns the corners of a box, the first again at the end."""
    low, high = center - sides / 2, center + sides / 2
    x = np.array([low[0], high[0], high[0], low[0]]) - center[0]
    y = np.array([low[1], low[1], high[1], high[1]]) - center[1]
    corners = np.stack((x * cos + y * -sin + center[0], x * sin + y * cos + center[1]), 1)
    return corners[[0, 1, 2, 3, 0]]


def _are_inside_bev(points, center, sides, cos, sin):
    x, y = (points - center).T
    margin = sides / 2 + np.float32(0.01)
    return (abs(x * cos + y * sin) < margin[0]) & (abs(x * -sin + y * cos) < margin[1])


def _cross_bev(p1, p2, p0):
    (x1, y1), (x2, y2) = (np.moveaxis(p - p0, -1, 0) for p in (p1, p2))
    return x1 * y2 - x2 * y1


def _crossings_bev(corners_a, corners_b):
    p0, p1, q0, q1 = corners_a[:-1, None], corners_a[1:, None], corners_b[:-1], corners_b[1:]
    meet = (np.minimum(p0, p1) <= np.maximum(q0, q1)) & (np.minimum(q0, q1) <= np.maximum(p0, p1))
    s1, s2 = _cross_bev(q0, p1, p0), _cross_bev(p1, q1, p0)
    s3, s4 = _cross_bev(p0, q1, q0), _cross_bev(q1, p1, q0)
    cross = meet.all(2) & (s1 * s2 > 0) & (s3 * s4 > 0)
    s5 = _cross_bev(q1, p1, p0)
    a, b = np.nonzero(cross)
    s1, s5 = s1[a, b, None], s5[a, b, None]
    return (s5 * q0[b] - s1 * q1[b]) / (s5 - s1)


def _overlap_bev(a, b):
    box_a, box_b = (
        (box[:2], box[3:5], *np.float32((np.cos(box[6], dtype=float), np.sin(box[6], dtype=float))))
        for box in (a, b)
    )
    corners_a, corners_b = _corners_bev(*box_a), _corners_bev(*box_b)
    b_in_a = corners_b[:-1][_are_inside_bev(corners_b[:-1], *box_a)]
    a_in_b = corners_a[:-1][_are_inside_bev(corners_a[:-1], *box_b)]
    points = np.concatenate((_crossings_bev(corners_a, corners_b), b_in_a, a_in_b))
    if len(points) == 0:
        return 0
    x, y = (points - points.mean(0)).T
    points = points[np.argsort(np.arctan2(y, x), kind="stable")]
    return abs(_cross_bev(points[:-1], points[1:], points[0]).sum()) / 2


def boxes_overlap_bev(boxes_a, boxes_b):
    boxes_a, boxes_b = boxes_a.astype(np.float32), boxes_b.astype(np.float32)
    out = np.zeros((len(boxes_a), len(boxes_b)), np.float32)
    read = [0, 1, 3, 4, 6]
    for n, m in np.ndindex(*out.shape):
        pair = np.stack((boxes_a[n, read], boxes_b[m, read]))
        if np.isfinite(pair).all() and (pair[:, 2:4] > 0).all():
            out[n, m] = _overlap_bev(boxes_a[n], boxes_b[m])
    return out


def _iou_bev(a, b, shared):
    areas = [box[:, 3] * box[:, 4] for box in (a, b)]
    return shared / np.fmax(areas[0] + areas[1] - shared, np.float32(1e-8))


def nms3d(boxes, scores, iou_threshold):
    def iou(a, b):
        return _iou_bev(a, b, boxes_overlap_bev(a, b)[:, 0])

    return _kept(boxes.astype(np.float32), scores, iou_threshold, iou)


def nms3d_normal(boxes, scores, iou_threshold):
    def iou(a, b):
        first, second = (
            np.concatenate((box[:, :2] - box[:, 3:5] / 2, box[:, :2] + box[:, 3:5] / 2), 1)
            for box in (a, b)
        )
        shared = np.minimum(first[:, 2:], second[:, 2:]) - np.maximum(first[:, :2], second[:, :2])
        return _iou_bev(a, b, np.maximum(shared, 0).prod(1))

    return _kept(boxes.astype(np.float32), scores, iou_threshold, iou)


def _are_in_boxes(points, boxes, bottom, margin):
    """Returns [B, M, T], computed in float32. Each box is at the center of its bottom, or at its
    center.
    """
    points, boxes = points.astype(np.float32), boxes.astype(np.float32)
    x, y, z, dx, dy, dz, yaw = np.moveaxis(boxes[:, np.newaxis], -1, 0)
    px, py, pz = np.moveaxis(points[:, :, np.newaxis], -1, 0)
    z = z + dz / 2 if bottom else z
    cos, sin = (f(-yaw, dtype=float).astype(np.float32) for f in (np.cos, np.sin))
    along_x = (px - x) * cos - (py - y) * sin
    along_y = (px - x) * sin + (py - y) * cos
    # A coordinate z that is NaN is inside.
    inside = ~(abs(pz - z) > dz / 2)
    half_x, half_y = (side.astype(float) / 2 + margin for side in (dx, dy))
    return inside & (abs(along_x) < half_x) & (abs(along_y) < half_y)


def _first_of(is_inside):
    none = np.ones((*is_inside.shape[:2], 1), bool)
    first = np.argmax(np.concatenate((is_inside, none), 2), 2)
    return np.where(first == is_inside.shape[2], -1, first).astype(np.int32)


def points_in_boxes(points, boxes):
    return _first_of(_are_in_boxes(points, boxes, bottom=False, margin=1e-5))


def points_in_boxes_part(points, boxes):
    return _first_of(_are_in_boxes(points, boxes, bottom=True, margin=0))


def points_in_boxes_all(points, boxes):
    return _are_in_boxes(points, boxes, bottom=True, margin=0).astype(np.int32)


def _voxels_of_points(pts, roi, out_size):
    """Returns the voxels [N, 3] of points in a RoI, computed in float32."""
    pts, roi = pts.astype(np.float32), roi.astype(np.float32)
    cos, sin = (f(-roi[6], dtype=float).astype(np.float32) for f in (np.cos, np.sin))
    x, y, z = (pts - roi[:3]).T
    half_x, half_y = roi[3:5] / np.float32(2)
    offset = np.stack((x * cos - y * sin + half_x, x * sin + y * cos + half_y, z), 1)
    position = offset / (roi[3:6] / np.array(out_size, np.float32))
    return np.clip(np.nan_to_num(position, nan=0), 0, np.array(out_size) - 1).astype(int)


@np.errstate(invalid="ignore", divide="ignore", over="ignore")
def roiaware_pool3d(rois, pts, pts_feature, out_size, max_pts_each_voxel, method):
    is_inside = _are_in_boxes(pts[np.newaxis], rois[np.newaxis], bottom=True, margin=0)[0]
    shape = (len(rois), *out_size)
    listed = np.zeros((*shape, max_pts_each_voxel), np.int32)
    for r, roi in enumerate(rois if 0 not in shape else ()):
        members = np.flatnonzero(is_inside[:, r])
        for n, voxel in zip(members, _voxels_of_points(pts[members], roi, out_size)):
            row = listed[(r, *voxel)]
            if row[0] < max_pts_each_voxel - 1:
                row[0] += 1
                row[row[0]] = n
    pooled = np.zeros((*shape, pts_feature.shape[1]), pts_feature.dtype)
    argmax = np.full(pooled.shape, -1 if method == "max" else 0, np.int32)
    for voxel in zip(*np.nonzero(listed[..., :1].any(-1))):
        points = listed[voxel][1 : listed[voxel][0] + 1]
        features = pts_feature[points].astype(float)
        if method == "mean":
            pooled[voxel] = features.mean(0)
            continue
        features[np.isnan(features)] = -np.inf  # NaN is never a maximum.
        found = features.max(0) > -np.inf
        argmax[voxel] = np.where(found, points[features.argmax(0)], -1)
        pooled[voxel] = np.where(found, features.max(0), 0)
    return pooled, argmax, listed


def roiaware_pool3d_backward(grad_out, pts_idx_of_voxels, argmax, N, method):
    if N and grad_out.size and not pts_idx_of_voxels.size:
        raise ValueError("voxels have no number of points")
    grad_in = np.zeros((N, grad_out.shape[4]))
    for voxel in np.ndindex(grad_out.shape[:4]):
        row, maxima = pts_idx_of_voxels[voxel], argmax[voxel]
        if method == "max":
            channels = np.flatnonzero(maxima >= 0)
            grad_in[maxima[channels], channels] += grad_out[voxel][channels]
        else:
            np.add.at(grad_in, row[1 : row[0] + 1], grad_out[voxel] / max(row[0], 1))
    return grad_in.astype(grad_out.dtype)


def _samples(low, high, bins, scale, sampling_ratio, aligned):
    """Returns the positions of the samples of bins along an axis, and the size."""
    low, high, scale = np.float32(low), np.float32(high), np.float32(scale)
    offset = np.float32(0.5 if aligned else 0)
    start = low * scale - offset
    size = high * scale - offset - start
    size = size if aligned else max(size, np.float32(1))
    width = size / np.float32(bins)
    count = sampling_ratio if sampling_ratio > 0 else int(np.ceil(max(width, 0)))
    parts = (np.arange(count, dtype=np.float32) + np.float32(0.5)) * width / np.float32(count or 1)
    return start + np.arange(bins, dtype=np.float32)[:, np.newaxis] * width + parts, size


def _hats(positions, pixels):
    """Returns the weights of the pixels in samples; 0 for those outside of the image."""
    inside = (positions >= -1) & (positions <= pixels)
    clamped = np.clip(positions, 0, pixels - 1).astype(float)[..., np.newaxis]
    return np.maximum(1 - np.abs(clamped - np.arange(pixels)), 0) * inside[..., np.newaxis]


def _axes_of_rois(rois, size, image_size, spatial_scale, sampling_ratio, aligned):
    """Yields the image of each RoI, the positions of samples along both axes, and their weights."""
    if 0 in image_size:
        raise ValueError("images have no pixels")
    for roi in rois:
        numbers = spatial_scale, sampling_ratio, aligned
        y, height = _samples(roi[2], roi[4], size[0], *numbers)
        x, width = _samples(roi[1], roi[3], size[1], *numbers)
        if not (height >= 0 and width >= 0):
            y, x = y[:, :0], x[:, :0]
        yield int(roi[0]), y, x, _hats(y, image_size[0]), _hats(x, image_size[1])


def roi_align(input, rois, output_size, spatial_scale, sampling_ratio, method, aligned):
    shape = (len(rois), input.shape[1], *output_size)
    output = np.zeros(shape)
    maxima = np.full((2, *(shape if method == "max" else (0,))), -1, np.float32)
    if output.size == 0:  # The images of RoIs need not exist.
        return output, *maxima
    numbers = spatial_scale, sampling_ratio, aligned
    axes = _axes_of_rois(rois, output_size, input.shape[2:], *numbers)
    for r, (image, y, x, rows, columns) in enumerate(axes):
        pixels = input[image].astype(float)
        if y.size == 0 or x.size == 0:
            continue
        if method == "mean":
            means = rows.mean(1), columns.mean(1)
            output[r] = np.einsum("py,qx,cyx->cpq", *means, pixels)
            continue
        samples = np.einsum("piy,qjx,cyx->cpqij", rows, columns, pixels)
        flat = samples.reshape(*samples.shape[:3], -1)
        best = flat.argmax(3)
        output[r] = flat.max(3)
        p, q = np.ogrid[: len(y), : len(x)]
        maxima[0, r], maxima[1, r] = y[p, best // x.shape[1]], x[q, best % x.shape[1]]
    return output, *maxima


def roi_align_backward(
    grad_output, rois, argmax_y, argmax_x, image_size, spatial_scale, ratio, method, aligned
):
    grad_input = np.zeros((image_size[0], grad_output.shape[1], *image_size[1:]))
    if grad_output.size == 0:
        return grad_input
    numbers = spatial_scale, ratio, aligned
    axes = _axes_of_rois(rois, grad_output.shape[2:], image_size[1:], *numbers)
    for r, (image, y, x, rows, columns) in enumerate(axes):
        grad = grad_output[r].astype(float)
        if method == "mean":
            if y.size and x.size:
                means = rows.mean(1), columns.mean(1)
                grad_input[image] += np.einsum("py,qx,cpq->cyx", *means, grad)
            continue
        found = (argmax_y[r] != -1)[..., np.newaxis]
        hats = _hats(argmax_y[r], image_size[1]) * found, _hats(argmax_x[r], image_size[2])
        grad_input[image] += np.einsum("cpqy,cpqx,cpq->cyx", *hats, grad)
    return grad_input


def _samples_of_levels(shapes, starts, locations):
    """Yields the place of each sample that is used, its distances from the pixel up and left of it,
    the size of its level, and the keys of its four pixels, None outside of the level.
    """
    for place in np.ndindex(locations.shape[:-1]):
        level = place[3]
        size = shapes[level]
        x, y = locations[place] * size[::-1].astype(np.float32) - np.float32(0.5)
        if not (x > -1 and y > -1 and x < size[1] and y < size[0]):
            continue
        top, left = int(np.floor(y)), int(np.floor(x))
        keys = [
            int(starts[level] + row * size[1] + column)
            if 0 <= row < size[0] and 0 <= column < size[1]
            else None
            for row in (top, top + 1)
            for column in (left, left + 1)
        ]
        yield place, float(y - top), float(x - left), size, keys


def _check_levels(value, shapes, starts):
    for size, start in zip(shapes, starts):
        if min(*size, start, value.shape[1] - start - np.prod(size, dtype=np.int64)) < 0:
            raise IndexError("the keys of a level are outside of value")


def ms_deform_attn(value, spatial_shapes, starts, locations, weights):
    _check_levels(value, spatial_shapes, starts)
    (B, _, M, D), Q = value.shape, locations.shape[1]
    output = np.zeros((B, Q, M, D))
    for place, below, right, _, keys in _samples_of_levels(spatial_shapes, starts, locations):
        b, q, m = place[:3]
        factors = np.outer((1 - below, below), (1 - right, right)).ravel()
        for key, factor in zip(keys, factors):
            if key is not None:
                output[b, q, m] += float(weights[place]) * factor * value[b, key, m].astype(float)
    return output


def ms_deform_attn_backward(grad_output, value, spatial_shapes, starts, locations, weights):
    _check_levels(value, spatial_shapes, starts)
    of_value, of_locations, of_weights = (
        np.zeros(each.shape) for each in (value, locations, weights)
    )
    for place, below, right, size, keys in _samples_of_levels(spatial_shapes, starts, locations):
        b, q, m = place[:3]
        grad, weight = grad_output[b, q, m].astype(float), float(weights[place])
        for i, key in enumerate(keys):
            if key is None:
                continue
            of_y, of_x = (1 - below, below)[i // 2], (1 - right, right)[i % 2]
            product = grad @ value[b, key, m].astype(float)
            of_value[b, key, m] += weight * of_y * of_x * grad
            of_weights[place] += of_y * of_x * product
            of_locations[place][0] += weight * product * of_y * size[1] * (1 if i % 2 else -1)
            of_locations[place][1] += weight * product * of_x * size[0] * (1 if i // 2 else -1)
    return of_value, of_locations, of_weights


def _answers(input, target, weight):
    """Returns which classes are targets, the probabilities of the right and the wrong answer, in
    float32 at least, and the weights of the rows.
    """
    with np.errstate(over="ignore"):
        p = 1 / (1 + np.exp(-input.astype(np.float64)))
    p = p.astype(np.promote_types(input.dtype, np.float32)).astype(np.float64)
    is_target = target[:, np.newaxis] == np.arange(input.shape[1])
    right, wrong = np.where(is_target, p, 1 - p), np.where(is_target, 1 - p, p)
    factors = np.ones(input.shape)
    for row in np.flatnonzero(is_target.any(1) & (weight is not None)):
        factors[row] = weight[target[row]]
    return is_target, right, wrong, factors


def _log(p):
    return np.log(np.maximum(p, np.float64(2) ** -126))


def sigmoid_focal_loss(input, target, weight, gamma, alpha):
    is_target, right, wrong, factors = _answers(input, target, weight)
    return -factors * np.where(is_target, alpha, 1 - alpha) * wrong**gamma * _log(right)


def sigmoid_focal_loss_backward(input, target, weight, gamma, alpha):
    is_target, right, wrong, factors = _answers(input, target, weight)
    factors *= np.where(is_target, -alpha, 1 - alpha)
    return factors * wrong**gamma * (wrong - gamma * right * _log(right))


def roipoint_pool3d(points, point_features, boxes3d, num_sampled_points):
    is_inside = _are_in_boxes(points, boxes3d, bottom=True, margin=0)
    rows = np.concatenate((points, point_features), 2)
    B, _, M = is_inside.shape
    pooled = np.zeros((B, M, num_sampled_points, rows.shape[2]), rows.dtype)
    is_empty = np.ones((B, M), np.int32)
    for b, m in np.ndindex(B, M):
        samples = np.flatnonzero(is_inside[b, :, m])[:num_sampled_points]
        if len(samples):
            pooled[b, m] = rows[b, np.resize(samples, num_sampled_points)]
            is_empty[b, m] = 0
    return pooled, is_empty


def _squares(d):
    """Returns the squares of lengths, of which each step is rounded to the type of d."""
    return (d[..., 0] ** 2 + d[..., 1] ** 2) + d[..., 2] ** 2


def _by_reversed_bits(count):
    """Returns the order in which points at equal distances are sampled."""
    bits = min(count, 1024).bit_length() - 1
    return sorted(range(count), key=lambda k: (f"{k % 2**bits:0{bits}b}"[::-1], k))


def _furthest(count, num_points, distances_from):
    """Returns samples of one cloud."""
    order = np.array(_by_reversed_bits(count)) if count else []
    nearest, samples = np.full(count, 1e10, np.float32), list(range(count))[:1]
    while len(samples) < num_points:
        # A distance that is NaN does not count.
        nearest = np.fmin(nearest, distances_from(samples[-1]))
        furthest = order[np.argmax(nearest[order])]
        samples.append(furthest if nearest[furthest] > -1 else 0)
    return samples[:num_points]


@np.errstate(invalid="ignore", over="ignore")
def furthest_point_sample(points, num_points):
    clouds = points.astype(np.float32)
    out = np.zeros((len(points), num_points), np.int32)
    for samples, cloud in zip(out, clouds):
        samples[:] = _furthest(len(cloud), num_points, lambda i, c=cloud: _squares(c - c[i]))
    return out


def furthest_point_sample_with_dist(distances, num_points):
    out = np.zeros((len(distances), num_points), np.int32)
    for samples, rows in zip(out, distances.astype(np.float32)):
        samples[:] = _furthest(len(rows), num_points, rows.__getitem__)
    return out


def gather_points(features, indices):
    out = np.zeros((*features.shape[:2], *indices.shape[1:]), features.dtype)
    for position in np.ndindex(*indices.shape if out.size else (0,)):
        b, *rest = position
        out[(b, slice(None), *rest)] = features[b, :, indices[position]]
    return out


def gather_points_backward(grad_output, indices, N):
    out = np.zeros((*grad_output.shape[:2], N))
    for position in np.ndindex(*indices.shape if grad_output.size else (0,)):
        b, *rest = position
        out[b, :, indices[position]] += grad_output[(b, slice(None), *rest)]
    return out


def _sift_down(dist2, idx, rows, size):
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


@np.errstate(invalid="ignore", over="ignore")
def knn(xyz, new_xyz, k):
    if k < 1:
        raise ValueError("no neighbors")
    (B, M, _), N = new_xyz.shape, xyz.shape[1]
    difference = new_xyz.astype(np.float32)[:, :, None] - xyz.astype(np.float32)[:, None]
    d2 = _squares(difference).reshape(B * M, N)
    dist2, idx = np.full((B * M, k), 1e10, np.float32), np.zeros((B * M, k), np.int32)
    for i in range(N):
        rows = np.flatnonzero(d2[:, i] < dist2[:, 0])
        dist2[rows, 0], idx[rows, 0] = d2[rows, i], i
        _sift_down(dist2, idx, rows, k)
    for size in range(k - 1, 0, -1):
        for array in (dist2, idx):
            array[:, [0, size]] = array[:, [size, 0]]
        _sift_down(dist2, idx, np.arange(B * M), size)
    return dist2.reshape(B, M, k), idx.reshape(B, M, k)


def ball_query(new_xyz, xyz, min_radius, max_radius, nsample):
    out = np.zeros((*new_xyz.shape[:2], nsample), np.int32)
    for b, m in np.ndindex(*new_xyz.shape[:2]):
        d = xyz[b] - new_xyz[b, m]
        d2 = _squares(d)
        low, high = np.float32(min_radius) ** 2, np.float32(max_radius) ** 2
        members = np.flatnonzero((d2 == 0) | ((d2 >= low) & (d2 < high)))[:nsample]
        if len(members):
            out[b, m] = members[0]
            out[b, m, : len(members)] = members
    return out


def _cloud_of_rows(counts):
    return np.repeat(np.arange(len(counts)), counts)


def stack_ball_query(new_xyz, new_xyz_batch_cnt, xyz, xyz_batch_cnt, max_radius, nsample):
    out = np.zeros((len(new_xyz), nsample), np.int32)
    out[:, :1] = -1
    centers, points = _cloud_of_rows(new_xyz_batch_cnt), _cloud_of_rows(xyz_batch_cnt)
    for m, cloud in enumerate(centers):
        d2 = _squares(xyz[points == cloud] - new_xyz[m])
        members = np.flatnonzero(d2 < np.float32(max_radius) ** 2)[:nsample]
        if len(members):
            out[m] = members[0]
            out[m, : len(members)] = members
    return out


def _first_rows(features_batch_cnt, indices_batch_cnt):
    starts = np.cumsum(features_batch_cnt) - features_batch_cnt
    return np.repeat(starts, indices_batch_cnt)


def stack_group_points(features, features_batch_cnt, indices, indices_batch_cnt):
    out = np.zeros((len(indices), features.shape[1], indices.shape[1]), features.dtype)
    first = _first_rows(features_batch_cnt, indices_batch_cnt)
    for m, s in np.ndindex(*indices.shape if out.size else (0, 0)):
        out[m, :, s] = features[first[m] + indices[m, s]]
    return out


def stack_group_points_backward(grad_output, indices, indices_batch_cnt, features_batch_cnt, N):
    out = np.zeros((N, grad_output.shape[1]))
    first = _first_rows(features_batch_cnt, indices_batch_cnt)
    for m, s in np.ndindex(*indices.shape if grad_output.size else (0, 0)):
        out[first[m] + indices[m, s]] += grad_output[m, :, s]
    return out


def _neighbors(knn_idx):
    for b, n, k in np.ndindex(*knn_idx.shape):
        yield (b, n, k), (b, knn_idx[b, n, k]), (b, knn_idx[b, n, 0])


def assign_score_withk(scores, points, centers, knn_idx):
    (B, N1, K, _), channels = scores.shape, points.shape[3]
    out = np.zeros((B, channels, N1, K))
    scores, points, centers = (each.astype(np.float64) for each in (scores, points, centers))
    for (b, n, k), point, center in _neighbors(knn_idx):
        out[b, :, n, k] = scores[b, n, k] @ (points[point] - centers[center])
    return out


def assign_score_withk_backward(grad_output, scores, points, centers, knn_idx):
    grad_output, scores, points, centers = (
        each.astype(np.float64) for each in (grad_output, scores, points, centers)
    )
    out = np.zeros(scores.shape), np.zeros(points.shape), np.zeros(centers.shape)
    for (b, n, k), point, center in _neighbors(knn_idx):
        grad, row = grad_output[b, :, n, k], (b, n, k)
        out[0][row] = (points[point] - centers[center]) @ grad
        out[1][point] += np.outer(scores[row], grad)
        out[2][center] -= np.outer(scores[row], grad)
    return out


def three_nn(unknown, known):
    d = unknown[:, :, None] - known[:, None]
    d2 = _squares(d)
    # Known points that do not exist are infinitely far, and have the number 0.
    d2 = np.concatenate([d2, np.full((*d2.shape[:2], 3), np.inf, d2.dtype)], 2)
    d2[np.isnan(d2)] = np.inf
    dist2, idx = np.full(unknown.shape, np.inf, d2.dtype), np.zeros(unknown.shape, np.int32)
    for k in range(3):
        nearest = np.argmin(d2, axis=2, keepdims=True)  # the first of equal ones
        dist2[..., k : k + 1] = np.take_along_axis(d2, nearest, 2)
        idx[..., k : k + 1] = nearest
        np.put_along_axis(d2, nearest, np.inf, 2)
    return dist2, np.where(np.isinf(dist2), 0, idx).astype(np.int32)


def three_interpolate(features, indices, weights):
    B, C, _ = features.shape
    out = np.zeros((B, C, indices.shape[1]))
    for b, n, k in np.ndindex(*indices.shape if out.size else (0, 0, 0)):
        out[b, :, n] += weights[b, n, k].astype(np.float64) * features[b, :, indices[b, n, k]]
    return out


def three_interpolate_backward(grad_output, indices, weights, M):
    out = np.zeros((*grad_output.shape[:2], M))
    for b, n, k in np.ndindex(*indices.shape if grad_output.size else (0, 0, 0)):
        out[b, :, indices[b, n, k]] += weights[b, n, k].astype(np.float64) * grad_output[b, :, n]
    return out


def masked_im2col(feature, mask_h_idx, mask_w_idx, kernel, pad):
    _, C, H, W = feature.shape
    out = np.zeros((C, *kernel, len(mask_h_idx)), feature.dtype)
    for i, j, k in np.ndindex(*kernel, len(mask_h_idx)):
        h, w = mask_h_idx[k] - pad[0] + i, mask_w_idx[k] - pad[1] + j
        if 0 <= h < H and 0 <= w < W:
            out[:, i, j, k] = feature[0, :, h, w]
    return out.reshape(out.shape[0] * kernel[0] * kernel[1], len(mask_h_idx))


def masked_col2im(col, mask_h_idx, mask_w_idx, size):
    im = np.zeros((1, len(col), *size), col.dtype)
    for k, (h, w) in enumerate(zip(mask_h_idx, mask_w_idx) if col.size else ()):
        im[0, :, h, w] = col[:, k]
    return im


def indice_pairs(indices, batch_size, space, kernel, stride, pad, dilation, subm):
    axes = len(space)
    out_space = (
        space
        if subm
        else [
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, s, p, d in zip(space, kernel, stride, pad, dilation)
        ]
    )
    offsets = list(itertools.product(*(range(k) for k in kernel)))
    found = []
    for offset in offsets:
        row = []
        for i, site in enumerate(indices.tolist()):
            scaled = [site[a + 1] + pad[a] - offset[a] * dilation[a] for a in range(axes)]
            cell = [c // s for c, s in zip(scaled, stride)]
            inside = all(0 <= c < n for c, n in zip(cell, out_space))
            if inside and all(c % s == 0 for c, s in zip(scaled, stride)):
                row.append((i, (site[0], *cell)))
        found.append(row)
    if subm:
        sites = [tuple(site) for site in indices.tolist()]
    else:
        sites = sorted({cell for row in found for _, cell in row})
    rank = {site: i for i, site in reversed(list(enumerate(sites)))}  # The first of equal sites.
    pairs = np.full((len(offsets), 2, len(indices)), -1, np.int32)
    num = np.zeros(len(offsets), np.int32)
    for k, row in enumerate(found):
        rows = [(i, rank[cell]) for i, cell in row if cell in rank]
        num[k] = len(rows)
        for position, (i, o) in enumerate(rows):
            pairs[k, :, position] = i, o
    return np.array(sites, np.int32).reshape(-1, axes + 1), pairs, num


def _pairs_of(pairs, num):
    for k in range(len(num)):
        rows = pairs[k, :, : num[k]]
        yield k, *rows[:, (rows >= 0).all(0)]


def indice_conv(features, filters, pairs, num, num_out, subm=False):
    flat = filters.reshape(len(num), *filters.shape[-2:]).astype(np.float64)
    out = np.zeros((num_out, flat.shape[2]))
    for k, inputs, outputs in _pairs_of(pairs, num):
        np.add.at(out, outputs, features[inputs].astype(np.float64) @ flat[k])
    return out


def indice_conv_backward_data(grad_output, filters, pairs, num):
    flat = filters.reshape(len(num), *filters.shape[-2:]).astype(np.float64)
    out = np.zeros((pairs.shape[2], flat.shape[1]))
    for k, inputs, outputs in _pairs_of(pairs, num):
        np.add.at(out, inputs, grad_output[outputs].astype(np.float64) @ flat[k].T)
    return out


def indice_conv_backward_filter(features, grad_output, pairs, num, kernel):
    out = np.zeros((len(num), features.shape[1], grad_output.shape[1]))
    for k, inputs, outputs in _pairs_of(pairs, num):
        out[k] = features[inputs].astype(np.float64).T @ grad_output[outputs]
    return out.reshape(*kernel, *out.shape[1:])


def indice_maxpool(features, pairs, num, num_out):
    out = np.zeros((num_out, features.shape[1]), features.dtype)
    for _, *rows in _pairs_of(pairs, num):
        for i, o in zip(*rows):
            out[o] = np.where(features[i] > out[o], features[i], out[o])
    return out


def indice_maxpool_backward(features, features_out, output_grad, pairs, num):
    out = np.zeros(features.shape)
    for _, *rows in _pairs_of(pairs, num):
        for i, o in zip(*rows):
            out[i] += np.where(features[i] == features_out[o], output_grad[o], 0)
    return out


def _deformable_terms(image, offset, mask, kernel, stride, padding, dilation, groups, parts):
    """Yields, for each sample of a channel, its indices in all arrays and what it reads.

    image, group, channel of the group, offset of the filter, output pixel, sample, mask, and
    pixels with weights and the slopes of these.
    """
    (N, C, H, W), (Ho, Wo) = image.shape, offset.shape[2:]
    offset, K = offset.astype(float), kernel[0] * kernel[1]
    for n, c, i, j, ho, wo in np.ndindex(N, C, *kernel, Ho, Wo):
        sample = c // (C // parts) * K + i * kernel[1] + j
        y = ho * stride[0] - padding[0] + i * dilation[0] + offset[n, 2 * sample, ho, wo]
        x = wo * stride[1] - padding[1] + j * dilation[1] + offset[n, 2 * sample + 1, ho, wo]
        pixels = []
        if -1 < y < H and -1 < x < W:
            top, left = int(np.floor(y)), int(np.floor(x))
            for row, column in itertools.product((top, top + 1), (left, left + 1)):
                if 0 <= row < H and 0 <= column < W:
                    along_y, along_x = 1 - abs(y - row), 1 - abs(x - column)
                    down, right = 2 * (row - top) - 1, 2 * (column - left) - 1
                    slopes = along_x * down, along_y * right
                    pixels.append(((n, c, row, column), along_y * along_x, slopes))
        factor = 1 if mask is None else float(mask[n, sample, ho, wo])
        yield n, c // (C // groups), c % (C // groups), (i, j), (ho, wo), sample, factor, pixels


def deform_conv2d(image, offset, weight, mask, bias, *geometry):
    outputs = len(weight) // geometry[3]
    output = np.zeros((len(image), len(weight), *offset.shape[2:]))
    terms = _deformable_terms(image, offset, mask, weight.shape[2:], *geometry)
    for n, group, c, place, pixel, _, factor, pixels in terms:
        value = factor * sum(w * float(image[at]) for at, w, _ in pixels)
        for co in range(group * outputs, (group + 1) * outputs):
            output[(n, co, *pixel)] += value * weight[(co, c, *place)]
    return output if bias is None else output + bias[:, np.newaxis, np.newaxis]


def deform_conv2d_backward_data(grad, image, offset, weight, mask, *geometry):
    outputs = len(weight) // geometry[3]
    grad_image, grad_offset = np.zeros(image.shape), np.zeros(offset.shape)
    grad_mask = np.zeros((len(offset), 0 if mask is None else mask.shape[1], *offset.shape[2:]))
    terms = _deformable_terms(image, offset, mask, weight.shape[2:], *geometry)
    factors = np.zeros(offset.shape)
    for n, group, c, place, pixel, sample, factor, pixels in terms:
        if pixels:
            factors[(n, slice(2 * sample, 2 * sample + 2), *pixel)] = factor
        channels = slice(group * outputs, (group + 1) * outputs)
        of_value = grad[(n, channels, *pixel)].astype(float) @ weight[(channels, c, *place)]
        for at, w, slopes in pixels:
            grad_image[at] += factor * w * of_value
            for axis, slope in enumerate(slopes):
                of_position = slope * float(image[at]) * of_value
                grad_offset[(n, 2 * sample + axis, *pixel)] += of_position
            if mask is not None:
                grad_mask[(n, sample, *pixel)] += w * image[at] * of_value
    return grad_image, grad_offset * factors, grad_mask


def deform_conv2d_backward_weight(grad, image, offset, mask, kernel, *geometry):
    groups, outputs = geometry[3], grad.shape[1] // geometry[3]
    grad_weight = np.zeros((grad.shape[1], image.shape[1] // groups, *kernel))
    terms = _deformable_terms(image, offset, mask, kernel, *geometry)
    for n, group, c, place, pixel, _, factor, pixels in terms:
        value = factor * sum(w * float(image[at]) for at, w, _ in pixels)
        for co in range(group * outputs, (group + 1) * outputs):
            grad_weight[(co, c, *place)] += value * grad[(n, co, *pixel)]
    return grad_weight, grad.sum((0, 2, 3), dtype=float)
