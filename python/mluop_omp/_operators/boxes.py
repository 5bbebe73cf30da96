"""Operators on boxes: overlaps and suppression."""

from __future__ import annotations

from typing import Any

from mluop_omp._arrays import Arrays, enumerator, handle
from mluop_omp._library import functions, require

MODES = {"iou": 0, "iof": 1}


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
