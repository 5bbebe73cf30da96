"""The operators as functions on PyTorch tensors.

Arguments, results and errors are the same as for the functions of these names in `mluop_omp`, which
document shapes and dtypes. Tensors are on the device cpu. Tensors that are not contiguous are
copied; results are contiguous. `deform_conv2d` and `roi_align` take images in the memory format
channels_last as they are, in which they are faster, and then return them so.

Derivatives follow from the definitions, in reverse and forward mode and of any order, also under
torch.func and torch.vmap, which calls the operator for each element of the batch. `voxelization`,
`bbox_overlaps`, `box_iou_quadri`, `box_iou_rotated`, `boxes_overlap_bev`, `convex_giou`,
`convex_iou`, `corners`, `generate_proposals_v2`, `min_area_polygons`, `pixel_group`,
`points_in_polygons`, `prior_box`, `roipoint_pool3d`, `soft_nms`, `softmax_focal_loss`, `yolo_box`
and the functions `sync_bn_...` have none and say so; `ball_query`, `stack_ball_query`,
`contour_expand`, `diff_iou_rotated_sort_vertices`, `floor_sites`, `furthest_point_sample`,
`indice_pairs`, `nms`, `nms_match`, `nms_quadri`, `nms_rotated`, `nms3d`, `nms3d_normal`,
`points_in_boxes`, `poly_nms`, `reached_sites`, `site_pairs`, `union_rows` and `unique_rows`, and
their variants, return integers.
Under torch.autocast, `deform_conv2d` and `indice_conv` compute its type, as PyTorch's convolutions
do. Operators that copy, pool or interpolate features compute the widest type of their tensors, all
others float32 at least.
"""

from __future__ import annotations

from typing import Any, Callable

from mluop_omp._operators._declaration import Operator, all_operators
from mluop_omp.torch import _operators, _transforms  # noqa: F401  registers the operators

_ops = _operators.OPERATORS


def _on_tensors(operator: Operator) -> Callable[..., Any]:
    """Returns the operator of PyTorch's dispatcher as a function."""
    dispatched = getattr(_ops, operator.name)

    def on_tensors(*arguments: Any, **named: Any) -> Any:
        return dispatched(*arguments, **named)

    on_tensors.__name__ = on_tensors.__qualname__ = operator.name
    on_tensors.__module__ = "mluop_omp.torch"
    on_tensors.__doc__ = operator.doc
    on_tensors.__signature__ = operator.signature
    return on_tensors


globals().update((each.name, _on_tensors(each)) for each in all_operators())
