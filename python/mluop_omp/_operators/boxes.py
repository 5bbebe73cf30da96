"""Operators on boxes: overlaps and suppression."""

from __future__ import annotations

from typing import Any

from mluop_omp._arrays import Arrays, enumerator, handle, int32
from mluop_omp._library import functions, require

MODES = {"iou": 0, "iof": 1}
METHODS = {"naive": 0, "linear": 1, "gaussian": 2}


def box_iou_rotated(
    arrays: Arrays,
    boxes1: Any,
    boxes2: Any,
    mode: str = "iou",
    aligned: bool = False,
    out: Any = None,
) -> Any:
    boxes1_desc, boxes1_data = arrays.tensor("boxes1", boxes1, "N 5")
    boxes2_desc, boxes2_data = arrays.tensor("boxes2", boxes2, "M 5")
    N, M, code = boxes1_desc.shape[0], boxes2_desc.shape[0], enumerator("mode", mode, MODES)
    ious, *ious_tensor = arrays.output("ious", (N,) if aligned else (N, M), boxes1, out)
    with handle() as own:
        require(
            functions.mluOpBoxIouRotated(
                *(own.pointer, code, bool(aligned)),
                *(boxes1_desc, boxes1_data, boxes2_desc, boxes2_data),
                *ious_tensor,
            )
        )
    return ious


def nms_rotated(arrays: Arrays, boxes: Any, scores: Any, iou_threshold: float) -> Any:
    boxes_desc, boxes_data = arrays.tensor("boxes", boxes, "N 5")
    N = boxes_desc.shape[0]
    keep, *keep_tensor = arrays.output("keep", (N,))
    with handle() as own:
        require(
            functions.mluOpNmsRotated(
                *(own.pointer, float(iou_threshold), boxes_desc, boxes_data),
                *arrays.tensor("scores", scores),
                *own.workspace(functions.mluOpGetNmsRotatedWorkspaceSize, boxes_desc),
                *keep_tensor,
                own.number_address,
            )
        )
        found = own.number.value
    return arrays.first_rows(keep, (N,), found)


def boxes_overlap_bev(arrays: Arrays, boxes_a: Any, boxes_b: Any, out: Any = None) -> Any:
    boxes_a_desc, boxes_a_data = arrays.tensor("boxes_a", boxes_a, "N 7")
    boxes_b_desc, boxes_b_data = arrays.tensor("boxes_b", boxes_b, "M 7")
    shape = (boxes_a_desc.shape[0], boxes_b_desc.shape[0])
    overlaps, *overlaps_tensor = arrays.output("overlaps", shape, boxes_a, out)
    with handle() as own:
        require(
            functions.mluOpOmpBoxesOverlapBev(
                *(own.pointer, boxes_a_desc, boxes_a_data, boxes_b_desc, boxes_b_data),
                *overlaps_tensor,
            )
        )
    return overlaps


def soft_nms(
    arrays: Arrays,
    boxes: Any,
    scores: Any,
    iou_threshold: float = 0.3,
    sigma: float = 0.5,
    min_score: float = 1e-3,
    method: str = "linear",
    offset: int = 0,
) -> tuple[Any, Any]:
    boxes_desc, boxes_data = arrays.tensor("boxes", boxes, "N 4")
    N = boxes_desc.shape[0]
    dets, *dets_tensor = arrays.output("dets", (N, 5), boxes)
    inds, *inds_tensor = arrays.output("inds", (N,))
    with handle() as own:
        require(
            functions.mluOpOmpSoftNms(
                *(own.pointer, enumerator("method", method, METHODS), float(iou_threshold)),
                *(float(sigma), float(min_score), int32("offset", offset)),
                *(boxes_desc, boxes_data, *arrays.tensor("scores", scores)),
                *own.workspace(functions.mluOpOmpGetSoftNmsWorkspaceSize, boxes_desc),
                *(*dets_tensor, *inds_tensor, own.number_address),
            )
        )
        found = own.number.value
    return arrays.first_rows(dets, (N, 5), found), arrays.first_rows(inds, (N,), found)


def nms_match(arrays: Arrays, dets: Any, iou_threshold: float) -> tuple[Any, Any]:
    dets_desc, dets_data = arrays.tensor("dets", dets, "N 5")
    N = dets_desc.shape[0]
    members, *members_tensor = arrays.output("members", (N,))
    sizes, *sizes_tensor = arrays.output("group_sizes", (N,))
    with handle() as own:
        require(
            functions.mluOpOmpNmsMatch(
                *(own.pointer, float(iou_threshold), dets_desc, dets_data),
                *own.workspace(functions.mluOpOmpGetNmsMatchWorkspaceSize, dets_desc),
                *(*members_tensor, *sizes_tensor, own.number_address),
            )
        )
        found = own.number.value
    return members, arrays.first_rows(sizes, (N,), found)
