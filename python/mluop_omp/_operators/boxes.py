"""Operators on boxes: overlaps, suppression, and the points in them."""

from __future__ import annotations

import functools
import math
from typing import Any, Callable

import numpy as np

from mluop_omp import _library
from mluop_omp._arrays import NUMPY, Arrays, Tensor, enumerator, handle, int32
from mluop_omp._library import bad_param, functions, require

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
    with handle() as own:
        workspace = own.workspace(query, *queried)
        require(function(own.pointer, *arguments, *workspace, *keep_tensor, own.number_address))
        found = own.number.value
    return arrays.first_rows(keep, (count,), found)


class _Descriptor(_library.Object):
    """A descriptor of a suppression. It is never modified, so calls of all threads may share it."""

    _destroy = functions.mluOpDestroyNmsDescriptor


@functools.lru_cache(maxsize=256)
def _suppression(iou_threshold: float, offset: int = 0, max_output_size: int = 0) -> _Descriptor:
    """Returns the descriptor of a suppression that yields indices, of boxes of any confidence."""
    descriptor = _Descriptor.create(functions.mluOpCreateNmsDescriptor)
    corners = indices = algo = hard = layout = 0
    require(
        functions.mluOpSetNmsDescriptor(
            *(descriptor, corners, indices, algo, hard, iou_threshold, 0.0, max_output_size),
            # A confidence threshold of NaN drops no box.
            *(math.nan, float(offset), layout, False),
        )
    )
    return descriptor


def _boxes(arrays: Arrays, boxes: Any, columns: int) -> Tensor:
    """Requires the number of columns, by which mluOpNms selects what it computes."""
    boxes_desc, boxes_data = arrays.tensor("boxes", boxes, f"N {columns}")
    if boxes_desc.shape[1] != columns:
        raise bad_param(f"boxes dim 1 is {boxes_desc.shape[1]}, expected {columns}")
    return boxes_desc, boxes_data


def nms(arrays: Arrays, boxes: Any, scores: Any, iou_threshold: float, offset: int = 0) -> Any:
    boxes_desc, boxes_data = _boxes(arrays, boxes, 4)
    scores_desc, scores_data = arrays.tensor("scores", scores)
    N = int32("boxes dim 0", boxes_desc.shape[0])
    suppression = _suppression(float(iou_threshold), int32("offset", offset), N)
    return _kept(
        *(arrays, N, functions.mluOpNms),
        (suppression, boxes_desc, boxes_data, scores_desc, scores_data),
        *(functions.mluOpGetNmsWorkspaceSize, suppression, boxes_desc, scores_desc),
    )


def nms_rotated(arrays: Arrays, boxes: Any, scores: Any, iou_threshold: float) -> Any:
    boxes_desc, boxes_data = arrays.tensor("boxes", boxes, "N 5")
    return _kept(
        *(arrays, boxes_desc.shape[0], functions.mluOpNmsRotated),
        (float(iou_threshold), boxes_desc, boxes_data, *arrays.tensor("scores", scores)),
        *(functions.mluOpGetNmsRotatedWorkspaceSize, boxes_desc),
    )


def nms3d_of_sorted(arrays: Arrays, boxes: Any, iou_threshold: float) -> Any:
    """Returns the indices of the boxes kept of those in descending order of scores."""
    boxes_desc, boxes_data = _boxes(arrays, boxes, 7)
    suppression = _suppression(float(iou_threshold))
    return _kept(
        *(arrays, boxes_desc.shape[0], functions.mluOpNms),
        (suppression, boxes_desc, boxes_data, None, None),
        *(functions.mluOpGetNmsWorkspaceSize, suppression, boxes_desc, None),
    )


def nms3d_normal_of_sorted(arrays: Arrays, boxes: Any, iou_threshold: float) -> Any:
    """Returns the indices of the boxes kept of those in descending order of scores."""
    boxes_desc, boxes_data = arrays.tensor("boxes", boxes, "N 7")
    return _kept(
        *(arrays, boxes_desc.shape[0], functions.mluOpOmpNms3dNormal),
        (float(iou_threshold), boxes_desc, boxes_data),
        *(functions.mluOpOmpGetNms3dNormalWorkspaceSize, boxes_desc),
    )


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
            raise bad_param(f"{name} has dtype {array.dtype}, expected float32")
    keys = arrays.to_numpy("scores", scores)
    order = np.lexsort((-keys, ~np.isnan(keys))).astype(np.int32)
    kept = nms_of_sorted(NUMPY, arrays.to_numpy("boxes", boxes)[order], iou_threshold)
    return arrays.from_numpy(order[kept])


def nms3d(arrays: Arrays, boxes: Any, scores: Any, iou_threshold: float) -> Any:
    return _of_any_order(nms3d_of_sorted, arrays, boxes, scores, iou_threshold)


def nms3d_normal(arrays: Arrays, boxes: Any, scores: Any, iou_threshold: float) -> Any:
    return _of_any_order(nms3d_normal_of_sorted, arrays, boxes, scores, iou_threshold)


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


def points_in_boxes(arrays: Arrays, points: Any, boxes: Any, out: Any = None) -> Any:
    points_desc, points_data = arrays.tensor("points", points, "B M 3")
    boxes_desc, boxes_data = arrays.tensor("boxes", boxes, "B T 7")
    indices, *indices_tensor = arrays.output("points_indices", points_desc.shape[:2], out=out)
    with handle() as own:
        require(
            functions.mluOpPointsInBoxes(
                *(own.pointer, points_desc, points_data, boxes_desc, boxes_data),
                *indices_tensor,
            )
        )
    if boxes_desc.shape[1] == 0:  # The library leaves the output.
        arrays.fill(indices, -1)
    return indices


def points_in_boxes_part(arrays: Arrays, points: Any, boxes: Any, out: Any = None) -> Any:
    points_desc, points_data = arrays.tensor("points", points, "B M 3")
    indices, *indices_tensor = arrays.output("indices", points_desc.shape[:2], out=out)
    with handle() as own:
        require(
            functions.mluOpOmpPointsInBoxesPart(
                *(own.pointer, *arrays.tensor("boxes", boxes, "B T 7"), points_desc, points_data),
                *indices_tensor,
            )
        )
    return indices


def points_in_boxes_all(arrays: Arrays, points: Any, boxes: Any, out: Any = None) -> Any:
    points_desc, points_data = arrays.tensor("points", points, "B M 3")
    boxes_desc, boxes_data = arrays.tensor("boxes", boxes, "B T 7")
    shape = (*points_desc.shape[:2], boxes_desc.shape[1])
    is_inside, *is_inside_tensor = arrays.output("is_inside", shape, out=out)
    with handle() as own:
        require(
            functions.mluOpOmpPointsInBoxesAll(
                *(own.pointer, boxes_desc, boxes_data, points_desc, points_data),
                *is_inside_tensor,
            )
        )
    return is_inside
