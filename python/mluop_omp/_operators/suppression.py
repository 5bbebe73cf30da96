"""Suppression of boxes that overlap one of a higher score: NMS."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any, Callable

import numpy as np

from mluop_omp._arrays import NUMPY, Arrays, Tensor, enumerator, extent, int32
from mluop_omp._definitions import suppression as definitions
from mluop_omp._library import Object, bad_param, function
from mluop_omp._operators._declaration import Array, Operator, operator
from mluop_omp._operators._derivative import NoDerivative
from mluop_omp._operators._descriptors import descriptors

__all__ = [
    "generate_proposals_v2",
    "nms",
    "nms3d",
    "nms3d_normal",
    "nms_match",
    "nms_quadri",
    "nms_rotated",
    "poly_nms",
    "soft_nms",
]

METHODS = {"naive": 0, "linear": 1, "gaussian": 2}

_descriptor = descriptors("Nms", "mluOpSetNmsDescriptor", "piiiiffiffib")
_nms_workspace = function("mluOpGetNmsWorkspaceSize", "ppppp")
_nms = function("mluOpNms", "pppppppsppp")
_nms_rotated_workspace = function("mluOpGetNmsRotatedWorkspaceSize", "ppp")
_nms_rotated = function("mluOpNmsRotated", "pfpppppsppp")
_nms_quadri_workspace = function("mluOpOmpGetNmsQuadriWorkspaceSize", "ppp")
_nms_quadri = function("mluOpOmpNmsQuadri", "pfpppppsppp")
_poly_nms_workspace = function("mluOpGetPolyNmsWorkspaceSize", "ppp")
_poly_nms = function("mluOpPolyNms", "pppfpsppp")
_nms3d_normal_workspace = function("mluOpOmpGetNms3dNormalWorkspaceSize", "ppp")
_nms3d_normal = function("mluOpOmpNms3dNormal", "pfpppsppp")
_soft_nms_workspace = function("mluOpOmpGetSoftNmsWorkspaceSize", "ppp")
_soft_nms = function("mluOpOmpSoftNms", "pifffipppppsppppp")
_nms_match_workspace = function("mluOpOmpGetNmsMatchWorkspaceSize", "ppp")
_nms_match = function("mluOpOmpNmsMatch", "pfpppsppppp")
_generate_proposals_v2_workspace = function("mluOpGetGenerateProposalsV2WorkspaceSize_v2", "ppip")
_generate_proposals_v2 = function("mluOpGenerateProposalsV2", "piifffbpppppppppppsppppppp")


def _kept(
    arrays: Arrays,
    count: int,
    function: Callable[..., int],
    arguments: tuple,
    query: Callable[..., int],
    *queried: Any,
) -> Any:
    """Calls a function that writes which of `count` boxes it keeps; returns their indices."""
    keep, *keep_tensor = arrays.output("keep", (count,))
    with arrays.handle() as own:
        workspace = own.workspace(query, *queried)
        own.call(function, *arguments, *workspace, *keep_tensor, own.number_address)
        found = own.number.value
    return arrays.first_rows(keep, (count,), found)


def _any_number_of(arrays: Arrays, boxes: Any, *_: Any) -> Any:
    """Returns the indices of the boxes kept of fake ones."""
    with arrays.handle() as own:
        return arrays.output("keep", (own.number.value,))[0]


@functools.lru_cache(maxsize=256)
def _suppression(iou_threshold: float, offset: int = 0, max_output_size: int = 0) -> Object:
    """Returns the descriptor of a suppression that yields indices, of boxes of any confidence."""
    corners = indices = algo = hard = layout = 0
    return _descriptor(
        *(corners, indices, algo, hard, iou_threshold, 0.0, max_output_size),
        # A confidence threshold of NaN drops no box.
        *(math.nan, float(offset), layout, False),
    )


def _boxes(arrays: Arrays, boxes: Any, columns: int) -> Tensor:
    """Requires the number of columns, by which mluOpNms selects what it computes."""
    tensor = arrays.tensor("boxes", boxes, f"N {columns}")
    if tensor[0].shape[1] != columns:
        raise bad_param(f"boxes dim 1 is {tensor[0].shape[1]}, expected {columns}")
    return tensor


@operator(definitions, fake=_any_number_of)
def nms(
    arrays: Arrays, boxes: Array, scores: Array, iou_threshold: float, offset: int = 0
) -> Array:
    """Keeps the boxes that overlap no kept box of a higher score: NMS (mmcv, torchvision).

    In descending order of scores, a box is kept unless its IoU, intersection over union, with a box
    kept before exceeds the threshold. Among equal scores, the lower index comes first; NaN comes
    before all numbers. Boxes of any score take part, also of 0, negative, -infinity and NaN.

    Args:
        boxes: float16, bfloat16, float32 or float64 [N, 4]: x1, y1, x2, y2 with x1 < x2 and y1 <
            y2. Other boxes overlap none: their IoU is 0. Boxes of all classes suppress each other:
            shift the boxes of each class to a separate region, as batched_nms of mmcv does, in
            float32: in float16, shifted corners above 65504 are infinite, and such a box is kept
            and suppresses none.
        scores: [N], of the dtype of boxes.
        iou_threshold: a negative one also suppresses boxes without overlap; NaN suppresses none.
        offset: 0, or 1 if x2 and y2 are the last pixel of a box: added to each width and height.

    Returns:
        int32 [K], the indices of the kept boxes, in descending order of scores. In every run and at
            any number of threads they equal the indices of mmcv's and torchvision's functions for
            CPUs, which return int64, if the threshold is not negative. The IoU is computed in
            float32, for float64 in float64; an IoU of NaN, of boxes with NaN, suppresses nothing.

    Raises:
        MluOpError: offset is neither 0 nor 1.

    Source: mluOpNms; mmcv nms; torchvision nms.
    """
    boxes_tensor = _boxes(arrays, boxes, 4)
    scores_tensor = arrays.tensor("scores", scores)
    N = int32("boxes dim 0", boxes_tensor[0].shape[0])
    suppression = _suppression(float(iou_threshold), int32("offset", offset), N)
    return _kept(
        *(arrays, N, _nms, (suppression, *boxes_tensor, *scores_tensor)),
        *(_nms_workspace, suppression, boxes_tensor[0], scores_tensor[0]),
    )


@operator(definitions)
def nms_rotated(arrays: Arrays, boxes: Array, scores: Array, iou_threshold: float) -> Array:
    """Keeps the rotated boxes that overlap no kept box of a higher score: NMS (mmcv).

    In descending order of scores, a box is kept unless its `box_iou_rotated` with a box kept before
    exceeds the threshold. Among equal scores, the lower index comes first; NaN comes before all
    numbers. IoU and threshold are compared in the dtype of boxes.

    Args:
        boxes: float32 or float64 [N, 5]: x, y, w, h, a as in `box_iou_rotated`, which says how to
            pass angles of the opposite direction; or [N, 6] with labels, which are not read. Boxes
            of all classes suppress each other, also with nms_rotated(labels=...) of mmcv: shift the
            boxes of each class to a separate region, as batched_nms of mmcv does.
        scores: [N], of the dtype of boxes.
        iou_threshold: a negative one also suppresses boxes without overlap; NaN suppresses none.

    Returns:
        int32 [K], the indices of the kept boxes, in descending order of scores; the same in every
            run and at any number of threads. (nms_rotated of mmcv._ext returns int64.) mmcv's
            kernel for CPUs also suppresses a box whose IoU equals the threshold; its kernels for
            GPUs do not.

    Raises:
        MluOpError: dim 1 of boxes is neither 5 nor 6.

    Source: mluOpNmsRotated; arXiv:1703.01086; mmcv nms_rotated.
    """
    boxes_tensor = arrays.tensor("boxes", boxes, "N 5")
    return _kept(
        *(arrays, boxes_tensor[0].shape[0], _nms_rotated),
        (float(iou_threshold), *boxes_tensor, *arrays.tensor("scores", scores)),
        *(_nms_rotated_workspace, boxes_tensor[0]),
    )


@operator(definitions)
def nms_quadri(arrays: Arrays, boxes: Array, scores: Array, iou_threshold: float) -> Array:
    """Keeps the quadrilaterals that overlap no kept one of a higher score: NMS (mmcv).

    As `nms_rotated`, with the IoU of `box_iou_quadri`.

    Args:
        boxes: float32 or float64 [N, 8]: the corners x1, y1, ..., x4, y4, as in `box_iou_quadri`;
            or [N, 9] with labels, which are not read. Boxes of all classes suppress each other:
            shift the boxes of each class to a separate region, as batched_nms of mmcv does.
        scores: [N], of the dtype of boxes.
        iou_threshold: a negative one also suppresses boxes without overlap; NaN suppresses none.

    Returns:
        int32 [K], the indices of the kept boxes, in descending order of scores; the same in every
            run and at any number of threads. (nms_quadri of mmcv._ext returns int64.) mmcv's kernel
            for CPUs also suppresses a box whose IoU equals the threshold; its kernel for GPUs does
            not.

    Raises:
        MluOpError: dim 1 of boxes is neither 8 nor 9.

    Source: mluOpOmpNmsQuadri; mmcv nms_quadri.
    """
    boxes_tensor = arrays.tensor("boxes", boxes, "N 8")
    return _kept(
        *(arrays, boxes_tensor[0].shape[0], _nms_quadri),
        (float(iou_threshold), *boxes_tensor, *arrays.tensor("scores", scores)),
        *(_nms_quadri_workspace, boxes_tensor[0]),
    )


@operator(definitions)
def poly_nms(arrays: Arrays, boxes: Array, iou_threshold: float) -> Array:
    """Keeps the quadrilaterals that overlap no kept one of a higher score (AerialDetection).

    As `nms_quadri`, with indices in ascending order.

    Args:
        boxes: float32 or float64 [N, 9]: the corners x1, y1, ..., x4, y4, and the score.
        iou_threshold: a negative one also suppresses boxes without overlap; NaN suppresses none.

    Returns:
        int32 [K], the indices of the kept boxes, ascending; the same in every run and at any number
            of threads.

    Raises:
        MluOpError: dim 1 of boxes is not 9.

    Source: mluOpPolyNms; AerialDetection poly_nms.
    """
    boxes_tensor = arrays.tensor("boxes", boxes, "N 9")
    return _kept(
        *(arrays, boxes_tensor[0].shape[0], _poly_nms, (*boxes_tensor, float(iou_threshold))),
        *(_poly_nms_workspace, boxes_tensor[0]),
    )


def _nms3d_of_sorted(arrays: Arrays, boxes: Array, iou_threshold: float) -> Array:
    boxes_tensor = _boxes(arrays, boxes, 7)
    suppression = _suppression(float(iou_threshold))
    return _kept(
        *(arrays, boxes_tensor[0].shape[0], _nms, (suppression, *boxes_tensor, None, None)),
        *(_nms_workspace, suppression, boxes_tensor[0], None),
    )


def _nms3d_normal_of_sorted(arrays: Arrays, boxes: Array, iou_threshold: float) -> Array:
    boxes_tensor = arrays.tensor("boxes", boxes, "N 7")
    return _kept(
        *(arrays, boxes_tensor[0].shape[0], _nms3d_normal, (float(iou_threshold), *boxes_tensor)),
        *(_nms3d_normal_workspace, boxes_tensor[0]),
    )


def _of_sorted(kernel: Callable[..., Any], nms: Callable[..., np.ndarray]) -> Operator:
    """Declares what an NMS computes of boxes in descending order of scores, for adapters."""

    def definition(boxes: np.ndarray, iou_threshold: float) -> np.ndarray:
        return nms(boxes, -np.arange(len(boxes), dtype=boxes.dtype), iou_threshold)

    return Operator(kernel, definition)


nms3d_of_sorted = _of_sorted(_nms3d_of_sorted, definitions.nms3d)
nms3d_normal_of_sorted = _of_sorted(_nms3d_normal_of_sorted, definitions.nms3d_normal)


def _of_any_order(
    nms_of_sorted: Callable[..., Any], arrays: Arrays, boxes: Any, scores: Any, iou_threshold: float
) -> Any:
    """Sorts the boxes by their scores: NaN first; of equal scores, the lower index first."""
    N = arrays.tensor("boxes", boxes, "N 7")[0].shape[0]
    shape = arrays.tensor("scores", scores)[0].shape
    if shape != (N,):
        raise bad_param(f"scores has shape {list(shape)}, expected [{N}]")
    for name, array in (("boxes", boxes), ("scores", scores)):
        if str(array.dtype).rpartition(".")[2] != "float32":
            raise bad_param(f"{name} has dtype {array.dtype}, expected float32 or float64")
    keys = arrays.to_numpy("scores", scores)
    order = np.lexsort((-keys, ~np.isnan(keys))).astype(np.int32)
    kept = nms_of_sorted(NUMPY, arrays.to_numpy("boxes", boxes)[order], iou_threshold)
    return arrays.from_numpy(order[kept])


@operator(definitions, fake=_any_number_of)
def nms3d(arrays: Arrays, boxes: Array, scores: Array, iou_threshold: float) -> Array:
    """Keeps the 3-D boxes that overlap no kept box of a higher score in the ground plane (mmcv).

    In descending order of scores, a box is kept unless its IoU with a box kept before exceeds the
    threshold. Among equal scores, the lower index comes first; NaN comes before all numbers. With I
    the `boxes_overlap_bev` of the kept box and the other one, ``IoU = I / max(dx1 dy1 + dx2 dy2 -
    I, 1e-8)``, in the dtype of boxes.

    Args:
        boxes: float32 or float64 [N, 7]: x, y, z, dx, dy, dz, yaw as in `boxes_overlap_bev`.
        scores: [N], of the dtype of boxes.
        iou_threshold: a negative one also suppresses boxes without overlap; NaN suppresses none.

    Returns:
        int32 [K], the indices of the kept boxes, in descending order of scores; the same in every
            run and at any number of threads.

    Source: mluOpNms with boxes of 7 numbers; PointRCNN, arXiv:1812.04244; mmcv nms3d.
    """
    return _of_any_order(_nms3d_of_sorted, arrays, boxes, scores, iou_threshold)


@operator(definitions, fake=_any_number_of)
def nms3d_normal(arrays: Arrays, boxes: Array, scores: Array, iou_threshold: float) -> Array:
    """Keeps the 3-D boxes that overlap no kept box of a higher score, without yaw (mmcv).

    As `nms3d`, but I is the area that both rectangles share if yaw is 0: the rectangles from
    ``(x - dx / 2, y - dy / 2)`` to ``(x + dx / 2, y + dy / 2)``, without a margin.

    Args:
        boxes: float32 or float64 [N, 7]: x, y, z, dx, dy, dz, yaw. x, y, dx and dy have one unit;
            z, dz and yaw are not read. A box overlaps no other if dx or dy is not positive, or if a
            corner or the area is NaN or infinite.
        scores: [N], of the dtype of boxes.
        iou_threshold: a negative one also suppresses boxes without overlap; NaN suppresses none.

    Returns:
        int32 [K], the indices of the kept boxes, in descending order of scores; the same in every
            run and at any number of threads.

    Source: mluOpOmpNms3dNormal; mmcv nms3d_normal.
    """
    return _of_any_order(_nms3d_normal_of_sorted, arrays, boxes, scores, iou_threshold)


@operator(definitions, derivative=NoDerivative())
def soft_nms(
    arrays: Arrays,
    boxes: Array,
    scores: Array,
    iou_threshold: float = 0.3,
    sigma: float = 0.5,
    min_score: float = 1e-3,
    method: str = "linear",
    offset: int = 0,
) -> tuple[Array, Array]:
    """Decays the scores of boxes that overlap one of a higher score: soft NMS (mmcv).

    A step chooses the box of the highest score, multiplies the score of each remaining box by a
    weight that depends on its IoU with the chosen box, and drops boxes whose score is less than
    min_score. The weight is

    - "naive": 0 if the IoU is iou_threshold or more, else 1;
    - "linear": 1 - IoU if the IoU is iou_threshold or more, else 1;
    - "gaussian": exp(-IoU^2 / sigma).

    Args:
        boxes: float32 or float64 [N, 4]: x1, y1, x2, y2.
        scores: [N], of the dtype of boxes.
        iou_threshold: not read by "gaussian".
        sigma: read by "gaussian" only.
        min_score: the first box is chosen even if its score is less.
        method: "naive", "linear" or "gaussian".
        offset: 1 if x2 and y2 are the last pixels of a box, 0 if its edges.

    Returns:
        dets: [K, 5], of the dtype of boxes: the boxes with their decayed scores, in the order in
            which they are chosen.
        inds: int32 [K], their indices. (softnms of mmcv._ext returns int64.) In float32, both have
            the bits of mmcv's serial loop, with its order of equal scores, at any number of
            threads; but boxes without area have an IoU of 0, where mmcv divides 0 by 0.

    Raises:
        MluOpError: method is another word; offset is neither 0 nor 1.

    Source: mluOpOmpSoftNms; arXiv:1704.04503; mmcv soft_nms.
    """
    boxes_tensor = arrays.tensor("boxes", boxes, "N 4")
    N = boxes_tensor[0].shape[0]
    dets, *dets_tensor = arrays.output("dets", (N, 5), boxes)
    inds, *inds_tensor = arrays.output("inds", (N,))
    with arrays.handle() as own:
        own.call(
            *(_soft_nms, enumerator("method", method, METHODS), float(iou_threshold)),
            *(float(sigma), float(min_score), int32("offset", offset)),
            *(*boxes_tensor, *arrays.tensor("scores", scores)),
            *own.workspace(_soft_nms_workspace, boxes_tensor[0]),
            *(*dets_tensor, *inds_tensor, own.number_address),
        )
        found = own.number.value
    return arrays.first_rows(dets, (N, 5), found), arrays.first_rows(inds, (N,), found)


@operator(definitions)
def nms_match(arrays: Arrays, dets: Array, iou_threshold: float) -> tuple[Array, Array]:
    """Groups boxes by the box that NMS keeps of them (mmcv).

    In descending order of scores, a box without a group starts one, which takes each later box
    without a group whose IoU with the first is iou_threshold or more. Among equal scores, the lower
    index comes first; NaN comes before all numbers.

    Args:
        dets: float32 or float64 [N, 5]: x1, y1, x2, y2, score.
        iou_threshold: of 0 or less, boxes without overlap are in one group too; NaN makes each box
            a group.

    Returns:
        members: int32 [N], the indices of the boxes of each group, one group after the other: the
            kept box, then the others in descending order of scores.
        group_sizes: int32 [K], the number of boxes of each group. ``np.split(members,
            group_sizes.cumsum()[:-1])`` is the list that mmcv returns.

    Source: mluOpOmpNmsMatch; arXiv:1904.04821; mmcv nms_match.
    """
    tensor = arrays.tensor("dets", dets, "N 5")
    N = tensor[0].shape[0]
    members, *members_tensor = arrays.output("members", (N,))
    sizes, *sizes_tensor = arrays.output("group_sizes", (N,))
    with arrays.handle() as own:
        own.call(
            *(_nms_match, float(iou_threshold), *tensor),
            *own.workspace(_nms_match_workspace, tensor[0]),
            *(*members_tensor, *sizes_tensor, own.number_address),
        )
        found = own.number.value
    return members, arrays.first_rows(sizes, (N,), found)


@operator(definitions, derivative=NoDerivative())
def generate_proposals_v2(
    arrays: Arrays,
    scores: Array,
    bbox_deltas: Array,
    im_shape: Array,
    anchors: Array,
    variances: Array,
    pre_nms_top_n: int = 6000,
    post_nms_top_n: int = 1000,
    nms_thresh: float = 0.5,
    min_size: float = 0.1,
    eta: float = 1.0,
    pixel_offset: bool = False,
) -> tuple[Array, Array, Array]:
    """Returns the proposals of a region proposal network (PaddlePaddle).

    For each picture, in descending order of scores: the pre_nms_top_n best anchors are moved and
    scaled by their deltas and clamped to the picture; boxes with a side less than ``max(min_size,
    1)`` are dropped; a box is kept unless its IoU with a box kept before exceeds nms_thresh; the
    first post_nms_top_n kept boxes are the rois. Among equal scores, the lower index comes first;
    NaN comes before all numbers. With o = 1 if pixel_offset, else 0, d and v the deltas and
    variances of an anchor, and M = log(1000 / 16):

    - ``w = x2 - x1 + o``, ``c = x1 + w / 2 + d[0] w v[0]``, ``w' = exp(min(d[2] v[2], M)) w``;
    - ``x1' = c - w' / 2``, ``x2' = c + w' / 2 - o``, clamped to [0, width - o]; y likewise.

    Args:
        scores: float32 or float64 [N, H, W, A].
        bbox_deltas: [N, H, W, 4 A], of the dtype of scores.
        im_shape: [N, 2], of the dtype of scores: height and width of each picture, in pixels.
        anchors: [H, W, A, 4], of the dtype of scores: x1, y1, x2, y2, in pixels.
        variances: [H, W, A, 4], of the dtype of scores.
        pre_nms_top_n: 0 or less: all anchors.
        post_nms_top_n: the most rois of a picture.
        nms_thresh: more than 0; NaN suppresses no box.
        min_size: in pixels.
        eta: at least 1, not used: the threshold is not adapted.
        pixel_offset: whether x2 and y2 are the last pixels of a box. Boxes whose center is outside
            the picture are then dropped.

    Returns:
        rois: [K, 4] of the dtype of scores: x1, y1, x2, y2, the rois of each picture after the ones
            of the picture before. A picture without rois has one of zeros, with score 0.
        probs: [K, 1], the scores of the rois.
        num: int32 [N], the number of rois of each picture.
            All are the same in every run and at any number of threads. Boxes with NaN are dropped.

    Raises:
        MluOpError: H, W or A is 0; post_nms_top_n is negative; nms_thresh is not positive; eta is
            less than 1; shapes differ.

    Source: mluOpGenerateProposalsV2; PaddlePaddle generate_proposals.
    """
    scores_tensor = arrays.tensor("scores", scores, "N H W A")
    inputs = (
        scores_tensor,
        arrays.tensor("bbox_deltas", bbox_deltas, "N H W 4A"),
        arrays.tensor("im_shape", im_shape, "N 2"),
        arrays.tensor("anchors", anchors, "H W A 4"),
        arrays.tensor("variances", variances, "H W A 4"),
    )
    before, after = int32("pre_nms_top_n", pre_nms_top_n), int32("post_nms_top_n", post_nms_top_n)
    numbers = before, after, float(nms_thresh), float(min_size), float(eta), bool(pixel_offset)
    N = scores_tensor[0].shape[0]
    rows = N * extent(after)
    rois, *rois_tensor = arrays.output("rois", (rows, 4), scores)
    probs, *probs_tensor = arrays.output("probs", (rows, 1), scores)
    num, *num_tensor = arrays.output("num", (N,))
    with arrays.handle() as own:
        workspace = own.workspace(_generate_proposals_v2_workspace, scores_tensor[0], before)
        own.call(
            *(_generate_proposals_v2, *numbers, *itertools.chain(*inputs), *workspace),
            *(*rois_tensor, *probs_tensor, *num_tensor, own.number_address),
        )
        found = own.number.value
    rois, probs = (
        arrays.first_rows(each, (rows, columns), found) for each, columns in ((rois, 4), (probs, 1))
    )
    return rois, probs, num
