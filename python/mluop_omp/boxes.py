"""Operators on boxes, on NumPy arrays: overlaps, suppression, and the points in them."""

from __future__ import annotations

import numpy as np

from mluop_omp._arrays import NUMPY
from mluop_omp._operators import boxes as _boxes


def box_iou_rotated(
    boxes1: np.ndarray, boxes2: np.ndarray, mode: str = "iou", aligned: bool = False
) -> np.ndarray:
    """Returns how much of each pair of rotated boxes overlaps, in a plane (mmcv).

    A box ``(x, y, w, h, a)`` is the rectangle with center ``(x, y)``, of width w and height h,
    turned by a. With I the area of the intersection of both rectangles, the result of "iou" is
    ``I / (area1 + area2 - I)``, intersection over union, and that of "iof" is ``I / area1``,
    intersection over foreground.

    Args:
        boxes1: float32 [N, 5]. x, y, w and h have one unit; a is in radians, from the x axis to the
            y axis. For angles of the opposite direction, which mmcv takes with clockwise=False,
            negate the angles of both arguments.
        boxes2: float32 [M, 5]; [N, 5] if aligned.
        mode: "iou" or "iof".
        aligned: pairs boxes1[n] with boxes2[n] only.

    Returns:
        float32 [N, M], or [N] if aligned. The area of the intersection is exact: computed in double
            and rounded once, the same in every run and at any number of threads. mmcv's kernels,
            in fp32, differ for nearly parallel edges and for boxes below a millimeter. An element
            is 0 if w or h of a box is not positive, or w h less than 1e-14; else NaN if w h of a
            box is NaN; else 0 if another number of a box is NaN or infinite.

    Raises:
        MluOpError: mode is another word; aligned, N and M differ; shapes or dtypes differ from
            those above.

    Source: mluOpBoxIouRotated; arXiv:1703.01086; mmcv box_iou_rotated.
    """
    return _boxes.box_iou_rotated(NUMPY, boxes1, boxes2, mode, aligned)


def nms(boxes: np.ndarray, scores: np.ndarray, iou_threshold: float, offset: int = 0) -> np.ndarray:
    """Keeps the boxes with the higher scores of those that overlap: NMS (mmcv, torchvision).

    In descending order of scores, a box is kept unless its IoU, intersection over union, with a box
    that is kept before is greater than the threshold. Of equal scores, the lower index comes first;
    NaN come before all numbers. Boxes of any score take part: of 0, negative, -infinity and NaN.

    Args:
        boxes: float16, bfloat16 or float32 [N, 4]: x1, y1, x2, y2 with x1 < x2 and y1 < y2. Other
            boxes overlap none: their IoU is 0. Boxes of all classes suppress each other: shift
            the boxes of each class to a separate region, as batched_nms of mmcv does, in float32:
            in float16, shifted corners above 65504 are infinite, and such a box suppresses none and
            is kept.
        scores: [N], of the dtype of boxes.
        iou_threshold: a negative one also suppresses boxes without overlap; NaN suppresses none.
        offset: 0, or 1 if x2 and y2 are those of the last pixel of a box: it is added to each width
            and height.

    Returns:
        int32 [K], the indices of the boxes that are kept, in descending order of scores: in every
            run and at any number of threads those of mmcv's and torchvision's functions for CPUs,
            which return int64, if the threshold is not negative. The IoU is computed in float32;
            one of NaN, of boxes with NaN, suppresses nothing.

    Raises:
        MluOpError: offset is neither 0 nor 1; shapes or dtypes differ from those above.

    Source: mluOpNms; mmcv nms; torchvision nms.
    """
    return _boxes.nms(NUMPY, boxes, scores, iou_threshold, offset)


def nms_rotated(boxes: np.ndarray, scores: np.ndarray, iou_threshold: float) -> np.ndarray:
    """Keeps the boxes with the higher scores of those that overlap: NMS (mmcv).

    In descending order of scores, a box is kept unless its `box_iou_rotated` with a box that is
    kept before is greater than the threshold. Of equal scores, the lower index comes first; NaN
    come before all numbers. Both sides of the comparison are float32.

    Args:
        boxes: float32 [N, 5]: x, y, w, h, a as in `box_iou_rotated`, which says how to pass angles
            of the opposite direction; or [N, 6] with labels, which are not read. Boxes of all
            classes suppress each other, also with nms_rotated(labels=...) of mmcv: shift those of
            each class to a separate region, as batched_nms of mmcv does.
        scores: float32 [N].
        iou_threshold: a negative one also suppresses boxes without overlap; NaN suppresses none.

    Returns:
        int32 [K], the indices of the boxes that are kept, in descending order of scores; the same
            in every run and at any number of threads. (nms_rotated of mmcv._ext returns int64.)
            mmcv's kernel for CPUs also suppresses a box whose IoU equals the threshold; those for
            GPUs do not.

    Raises:
        MluOpError: dim 1 of boxes is neither 5 nor 6; shapes or dtypes differ from those above.

    Source: mluOpNmsRotated; arXiv:1703.01086; mmcv nms_rotated.
    """
    return _boxes.nms_rotated(NUMPY, boxes, scores, iou_threshold)


def nms3d(boxes: np.ndarray, scores: np.ndarray, iou_threshold: float) -> np.ndarray:
    """Keeps the 3-D boxes with the higher scores of those that overlap in the ground plane (mmcv).

    In descending order of scores, a box is kept unless its IoU with a box that is kept before is
    greater than the threshold. Of equal scores, the lower index comes first; NaN come before all
    numbers. With I the `boxes_overlap_bev` of the box that is kept and the other one,
    ``IoU = I / max(dx1 dy1 + dx2 dy2 - I, 1e-8)``, in float32.

    Args:
        boxes: float32 [N, 7]: x, y, z, dx, dy, dz, yaw as in `boxes_overlap_bev`.
        scores: float32 [N].
        iou_threshold: a negative one also suppresses boxes without overlap; NaN suppresses none.

    Returns:
        int32 [K], the indices of the boxes that are kept, in descending order of scores; the same
            in every run and at any number of threads.

    Raises:
        MluOpError: shapes or dtypes differ from those above.

    Source: mluOpNms with boxes of 7 numbers; PointRCNN, arXiv:1812.04244; mmcv nms3d.
    """
    return _boxes.nms3d(NUMPY, boxes, scores, iou_threshold)


def nms3d_normal(boxes: np.ndarray, scores: np.ndarray, iou_threshold: float) -> np.ndarray:
    """Keeps the 3-D boxes with the higher scores of those that overlap without yaw (mmcv).

    As `nms3d`, but I is the area that both rectangles share if yaw is 0: those from
    ``(x - dx / 2, y - dy / 2)`` to ``(x + dx / 2, y + dy / 2)``, without a margin.

    Args:
        boxes: float32 [N, 7]: x, y, z, dx, dy, dz, yaw. x, y, dx and dy have one unit; z, dz and
            yaw are not read. A box overlaps no other if dx or dy is not positive, or if a corner or
            the area is NaN or infinite.
        scores: float32 [N].
        iou_threshold: a negative one also suppresses boxes without overlap; NaN suppresses none.

    Returns:
        int32 [K], the indices of the boxes that are kept, in descending order of scores; the same
            in every run and at any number of threads.

    Raises:
        MluOpError: shapes or dtypes differ from those above.

    Source: mluOpOmpNms3dNormal; mmcv nms3d_normal.
    """
    return _boxes.nms3d_normal(NUMPY, boxes, scores, iou_threshold)


def boxes_overlap_bev(boxes_a: np.ndarray, boxes_b: np.ndarray) -> np.ndarray:
    """Returns the area that each pair of 3-D boxes shares in the ground plane (iou3d of mmcv).

    A box ``(x, y, z, dx, dy, dz, yaw)`` covers the rectangle with center ``(x, y)`` and sides dx
    and dy, turned by yaw. The area is that of the polygon of the crossings of the edges, and of the
    corners of each box in the other one enlarged by 0.01 on each side, in fp32 as by mmcv's kernel:
    boxes less than 0.01 apart have a small overlap, and at coordinates beyond 1000 errors exceed
    0.001. `box_iou_rotated` has the exact intersection.

    Args:
        boxes_a: float32 [N, 7]. x, y, dx and dy are in meters; yaw is in radians, from the x axis
            to the y axis; z and dz are not read.
        boxes_b: float32 [M, 7].

    Returns:
        float32 [N, M]: the bits of the serial loop, in every run and at any number of threads; 0 if
            x, y, dx, dy or yaw of a box is NaN or infinite, or dx or dy not positive.

    Raises:
        MluOpError: shapes or dtypes differ from those above.

    Source: mluOpOmpBoxesOverlapBev; PointRCNN, arXiv:1812.04244; mmcv boxes_overlap_bev.
    """
    return _boxes.boxes_overlap_bev(NUMPY, boxes_a, boxes_b)


def soft_nms(
    boxes: np.ndarray,
    scores: np.ndarray,
    iou_threshold: float = 0.3,
    sigma: float = 0.5,
    min_score: float = 1e-3,
    method: str = "linear",
    offset: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Decays the scores of boxes that overlap one of a higher score: soft NMS (mmcv).

    A step chooses the box of the highest score, multiplies those of the remaining boxes by a weight
    that depends on their IoU with it, and drops boxes whose score is less than min_score. The
    weight is

    - "naive": 0 if the IoU is iou_threshold or more, else 1;
    - "linear": 1 - IoU if the IoU is iou_threshold or more, else 1;
    - "gaussian": exp(-IoU^2 / sigma).

    Args:
        boxes: float32 [N, 4]: x1, y1, x2, y2.
        scores: float32 [N].
        iou_threshold: not read by "gaussian".
        sigma: read by "gaussian" only.
        min_score: the first box is chosen even if its score is less.
        method: "naive", "linear" or "gaussian".
        offset: 1 if x2 and y2 are the last pixels of a box, 0 if its edges.

    Returns:
        dets: float32 [K, 5]: the boxes with their decayed scores, in the order in which they are
            chosen.
        inds: int32 [K], their indices. (softnms of mmcv._ext returns int64.) Both have the bits of
            mmcv's serial loop, with its order of equal scores, at any number of threads; but boxes
            without area have an IoU of 0, where mmcv divides 0 by 0.

    Raises:
        MluOpError: method is another word; offset is neither 0 nor 1; shapes or dtypes differ from
            those above.

    Source: mluOpOmpSoftNms; arXiv:1704.04503; mmcv soft_nms.
    """
    arguments = (boxes, scores, iou_threshold, sigma, min_score, method, offset)
    return _boxes.soft_nms(NUMPY, *arguments)


def nms_match(dets: np.ndarray, iou_threshold: float) -> tuple[np.ndarray, np.ndarray]:
    """Groups boxes by the box that NMS keeps of them (mmcv).

    In descending order of scores, a box that no group has yet starts a group, and takes each later
    one that no group has and whose IoU with it is iou_threshold or more. Of equal scores, the lower
    index comes first; NaN come before all numbers.

    Args:
        dets: float32 [N, 5]: x1, y1, x2, y2, score.
        iou_threshold: of 0 or less, boxes without overlap are in one group too; NaN makes each box
            a group.

    Returns:
        members: int32 [N], the indices of the boxes of each group, one group after the other: the
            one that is kept, then the others in descending order of scores.
        group_sizes: int32 [K], the boxes of each group. ``np.split(members,
            group_sizes.cumsum()[:-1])`` is the list that mmcv returns.

    Raises:
        MluOpError: shapes or dtypes differ from those above.

    Source: mluOpOmpNmsMatch; arXiv:1904.04821; mmcv nms_match.
    """
    return _boxes.nms_match(NUMPY, dets, iou_threshold)


def points_in_boxes(points: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Finds the first box in which each point is, as MLU-OPS does.

    A box ``(x, y, z, dx, dy, dz, yaw)`` has its center at ``(x, y, z)`` and is turned by yaw about
    the z axis. A point is in it if ``|pz - z| <= dz / 2`` and, in the axes of the box, ``|lx| < dx
    / 2 + 1e-5`` and ``|ly| < dy / 2 + 1e-5``. Differences, products and sums, cosine and sine are
    rounded to float32.

    Args:
        points: float32 [B, M, 3].
        boxes: float32 [B, T, 7]; yaw in radians, from the x axis to the y axis.

    Returns:
        int32 [B, M], the lowest index of the boxes that the point is in; -1 if there is none. A
            coordinate z that is NaN counts as inside, x or y outside.

    Raises:
        MluOpError: shapes or dtypes differ from those above.

    Source: mluOpPointsInBoxes. `points_in_boxes_part` has the rule of mmcv.
    """
    return _boxes.points_in_boxes(NUMPY, points, boxes)


def points_in_boxes_part(points: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Finds the first box in which each point is, as mmcv does.

    As `points_in_boxes`, but ``(x, y, z)`` is the center of the bottom, and a point is in a box if
    ``|pz - (z + dz / 2)| <= dz / 2``, ``|lx| < dx / 2`` and ``|ly| < dy / 2``, without a margin.

    Args:
        points: float32 [B, M, 3].
        boxes: float32 [B, T, 7]: x, y, z of the bottom, dx, dy, dz, yaw in radians.

    Returns:
        int32 [B, M], the lowest index of the boxes that the point is in; -1 if there is none.

    Raises:
        MluOpError: shapes or dtypes differ from those above.

    Source: mluOpOmpPointsInBoxesPart; mmcv points_in_boxes_part.
    """
    return _boxes.points_in_boxes_part(NUMPY, points, boxes)


def points_in_boxes_all(points: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Finds all boxes in which each point is, as mmcv does: by the rule of `points_in_boxes_part`.

    Args:
        points: float32 [B, M, 3].
        boxes: float32 [B, T, 7]: x, y, z of the bottom, dx, dy, dz, yaw in radians.

    Returns:
        int32 [B, M, T]: 1 if the point is in the box, else 0.

    Raises:
        MluOpError: shapes or dtypes differ from those above.

    Source: mluOpOmpPointsInBoxesAll; mmcv points_in_boxes_all, points_in_boxes_cpu.
    """
    return _boxes.points_in_boxes_all(NUMPY, points, boxes)
