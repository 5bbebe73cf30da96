"""Which boxes remain of those that overlap: non-maximum suppression (NMS)."""

from __future__ import annotations

import numpy as np

from mluop_omp._definitions._precision import at_least_float32
from mluop_omp._definitions.boxes import box_iou_quadri, box_iou_rotated, boxes_overlap_bev


def _descending(scores):
    """Returns the order of scores: NaN first; of equal scores, the lower index first."""
    return np.lexsort((-scores, ~np.isnan(scores)))


@np.errstate(all="ignore")
def _kept(boxes, scores, iou_threshold, ious_of):
    """Returns the kept boxes. ious_of(box [1, ...], others) are the IoUs of one box."""
    boxes, scores = map(at_least_float32, (boxes, scores))
    threshold, remaining, kept = boxes.dtype.type(iou_threshold), _descending(scores), []
    while len(remaining):
        best, remaining = remaining[:1], remaining[1:]
        ious = ious_of(boxes[best], boxes[remaining]).astype(boxes.dtype)
        remaining = remaining[~(ious > threshold)]
        kept.append(best[0])
    return np.array(kept, np.int32)


@np.errstate(all="ignore")
def _ious_of_corners(a, b, offset):
    """Returns the IoUs of rectangles (x1, y1, x2, y2, ...)."""
    number = a.dtype.type
    shared = np.minimum(a[..., 2:4], b[..., 2:4]) - np.maximum(a[..., :2], b[..., :2])
    shared = np.maximum(shared + number(offset), 0).prod(-1)
    sides = [each[..., 2:4] - each[..., :2] + number(offset) for each in (a, b)]
    # A rectangle without width or height shares nothing: any area avoids 0 / 0.
    areas = [np.where((each <= 0).any(-1), number(1), each.prod(-1)) for each in sides]
    return shared / (areas[0] + areas[1] - shared)


def nms(boxes, scores, iou_threshold, offset):
    return _kept(boxes, scores, iou_threshold, lambda a, b: _ious_of_corners(a, b, offset))


def nms_rotated(boxes, scores, iou_threshold):
    def ious_of(a, b):
        return box_iou_rotated(a, b, "iou", False)[0]

    return _kept(boxes[:, :5], scores, iou_threshold, ious_of)


def nms_quadri(boxes, scores, iou_threshold):
    def ious_of(a, b):
        return box_iou_quadri(a, b, "iou", False)[0]

    return _kept(boxes[:, :8], scores, iou_threshold, ious_of)


def poly_nms(boxes, iou_threshold):
    return np.sort(nms_quadri(boxes, boxes[:, 8], iou_threshold))


def _kept_of_bev(boxes, scores, iou_threshold, shared_areas):
    def ious_of(a, b):
        areas, shared = a[:, 3] * a[:, 4] + b[:, 3] * b[:, 4], shared_areas(a, b)
        return shared / np.fmax(areas - shared, shared.dtype.type(1e-8))

    return _kept(boxes, scores, iou_threshold, ious_of)


def nms3d(boxes, scores, iou_threshold):
    return _kept_of_bev(boxes, scores, iou_threshold, lambda a, b: boxes_overlap_bev(a, b)[0])


def _shared_areas(a, b):
    """Returns the areas that boxes share in the ground plane if their yaw is ignored."""
    a, b = (np.stack((c[:, :2] - c[:, 3:5] / 2, c[:, :2] + c[:, 3:5] / 2)) for c in (a, b))
    return np.maximum(np.minimum(a[1], b[1]) - np.maximum(a[0], b[0]), 0).prod(1)


def nms3d_normal(boxes, scores, iou_threshold):
    return _kept_of_bev(boxes, scores, iou_threshold, _shared_areas)


def _weights(ious, method, iou_threshold, sigma):
    number = ious.dtype.type
    if method == "gaussian":
        return np.exp(-(ious * ious) / number(sigma), dtype=np.float64).astype(ious.dtype)
    weights = np.zeros_like(ious) if method == "naive" else 1 - ious
    return np.where(ious >= number(iou_threshold), weights, number(1))


def soft_nms(boxes, scores, iou_threshold, sigma, min_score, method, offset):
    boxes, scores = map(at_least_float32, (boxes, scores))
    dets = np.concatenate((boxes, scores[:, np.newaxis]), 1)
    inds, count, k = np.arange(len(dets), dtype=np.int32), len(dets), 0
    while k < count:
        scores = dets[k:count, 4]
        best = k if np.isnan(scores[0]) else k + int(np.nanargmax(scores))
        for array in (dets, inds):
            array[[k, best]] = array[[best, k]]
        rest = slice(k + 1, count)
        ious = _ious_of_corners(dets[k], dets[rest], offset)
        dets[rest, 4] *= _weights(ious, method, iou_threshold, sigma)
        k += 1
        # The last box that is left takes the place of the first that is dropped, and so on.
        dropped = dets[rest, 4] < dets.dtype.type(min_score)
        count -= dropped.sum()
        left = count - k
        for array in (dets, inds):
            tail = array[k:][left : len(dropped)][~dropped[left:]]
            array[k:count][dropped[:left]] = tail[::-1]
    return dets[:count], inds[:count]


def nms_match(dets, iou_threshold):
    dets = at_least_float32(dets)
    remaining, groups = _descending(dets[:, 4]), [np.zeros(0, np.int32)]
    while len(remaining):
        ious = _ious_of_corners(dets[remaining[0]], dets[remaining], 0)
        is_member = ious >= dets.dtype.type(iou_threshold)
        is_member[0] = True
        groups.append(remaining[is_member])
        remaining = remaining[~is_member]
    sizes = np.array([len(group) for group in groups[1:]], np.int32)
    return np.concatenate(groups).astype(np.int32), sizes


def _decoded(anchors, deltas, variances, im_shape, offset):
    """Returns the boxes of anchors, clamped to a picture. All are [K, 4]."""
    number = anchors.dtype.type
    sides = anchors[:, 2:] - anchors[:, :2] + offset
    centers = anchors[:, :2] + sides / 2 + deltas[:, :2] * sides * variances[:, :2]
    scales = np.minimum(deltas[:, 2:] * variances[:, 2:], number(np.log(1000 / 16)))
    half = np.exp(scales, dtype=np.float64).astype(anchors.dtype) * sides / 2
    boxes = np.stack((centers - half, centers + half - offset), 1)
    return np.maximum(np.minimum(boxes, im_shape[::-1] - offset), 0).reshape(-1, 4)


@np.errstate(all="ignore")
def generate_proposals_v2(
    scores,
    bbox_deltas,
    im_shape,
    anchors,
    variances,
    pre_nms_top_n,
    post_nms_top_n,
    nms_thresh,
    min_size,
    eta,
    pixel_offset,
):
    scores, bbox_deltas, im_shape = map(at_least_float32, (scores, bbox_deltas, im_shape))
    anchors, variances = (at_least_float32(each).reshape(-1, 4) for each in (anchors, variances))
    if len(anchors) == 0:
        raise ValueError("there are no anchors")
    number = scores.dtype.type
    offset, least = number(pixel_offset), np.fmax(number(min_size), number(1))
    rois, probs = [np.zeros((0, 4), number)], [np.zeros(0, number)]
    for n in range(len(scores)):
        best = _descending(scores[n].ravel())
        best = best[:pre_nms_top_n] if pre_nms_top_n > 0 else best
        deltas, of_boxes = bbox_deltas[n].reshape(-1, 4)[best], scores[n].ravel()[best]
        boxes = _decoded(anchors[best], deltas, variances[best], im_shape[n], offset)
        sides = boxes[:, 2:] - boxes[:, :2] + offset
        remain = (sides >= least).all(1)
        if pixel_offset:
            remain &= (boxes[:, :2] + sides / 2 <= im_shape[n, ::-1]).all(1)
        boxes, of_boxes = boxes[remain], of_boxes[remain]
        kept = _kept(boxes, of_boxes, nms_thresh, lambda a, b: _ious_of_corners(a, b, offset))
        rois.append(boxes[kept] if len(kept) else np.zeros((1, 4), number))
        probs.append(of_boxes[kept] if len(kept) else np.zeros(1, number))
    rois, probs = ([each[:post_nms_top_n] for each in parts] for parts in (rois, probs))
    num = np.array([len(each) for each in probs[1:]], np.int32)
    return np.concatenate(rois), np.concatenate(probs)[:, np.newaxis], num


def nms_arguments(random, N=20, offset=(0, 1)):
    return random.corners(N), random.floats(N), 0.3, offset


def nms_rotated_arguments(random, N=20):
    return random.rotated(N), random.floats(N), 0.3


def nms_quadri_arguments(random, N=20):
    return random.quads(N), random.floats(N), 0.3


def poly_nms_arguments(random, N=20):
    return np.concatenate((random.quads(N), random.floats(N, 1)), 1), 0.3


def nms3d_arguments(random, N=20):
    return random.boxes(N), random.floats(N), 0.3


nms3d_normal_arguments = nms3d_arguments


def soft_nms_arguments(random, N=20, method=("gaussian", "linear", "naive"), offset=(0, 1)):
    return random.corners(N), random.positive(N), 0.3, 0.5, 0.05, method, offset


def nms_match_arguments(random, N=20):
    return np.concatenate((random.corners(N), random.floats(N, 1)), 1), 0.3


def generate_proposals_v2_arguments(random, N=2, H=3, W=4, A=2, pixel_offset=(False, True)):
    anchors = 8 * random.corners(H * W * A).reshape(H, W, A, 4)
    tensors = random.floats(N, H, W, A), random.floats(N, H, W, 4 * A), 16 * random.positive(N, 2)
    return *tensors, anchors, random.positive(H, W, A, 4) / 4, 20, 12, 0.5, 0.1, 1.0, pixel_offset
