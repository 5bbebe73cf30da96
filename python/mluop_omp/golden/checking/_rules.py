"""The table of operators of mmcv and spconv: who computes them here, who judges the results.

A row has the function, its judge, the arguments that it writes, its results, and what else a `Rule`
holds. A judge that only one row has stands below the table.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

import torch

from mluop_omp import mmcv, spconv
from mluop_omp.golden.checking import _boxes as boxes
from mluop_omp.golden.checking import _neighbors as neighbors
from mluop_omp.golden.checking import _rulebooks as rulebooks
from mluop_omp.golden.checking._calls import Call, Findings, Rule, Rulebook
from mluop_omp.golden.checking._differences import exact, near, sums
from mluop_omp.torch.rulebooks import complete_pairs, pairs_by_output


def _rule(
    functions: dict[str, Callable[..., Any]],
    name: str,
    judge: Callable[[Call], Findings],
    outputs: str = "",
    axes: str | dict[str, str] = "",
    results: str = "",
    **others: Any,
) -> Rule:
    """outputs, results: names, with blanks between them."""
    others.setdefault("widened", judge is sums)
    names = tuple(outputs.split()), tuple(results.split())
    return Rule(name, functions[name], judge, *names, axes, **others)


def _uses(*names: str) -> Callable[[Call], int]:
    """The largest number of occurrences of an index in one of the arguments."""

    def count(call: Call) -> int:
        indices = [call.given[name].long().flatten().clamp(min=0) for name in names]
        return max(int(each.bincount().max()) if len(each) else 1 for each in indices)

    return count


def _reassembled(call: Call) -> int:
    """The largest number of terms of CARAFE: neighbors, pixels that read one, or channels."""
    readers = (call.given["kernel_size"] * call.given["scale_factor"]) ** 2
    image = call.given["top_grad" if "top_grad" in call.given else "features"]
    return max(readers, image.shape[1])


def _products(call: Call) -> int:
    """Offsets times channels of a convolution, input or output channels."""
    filters = call.given["filters"]
    return filters.numel() // max(min(filters.shape[0], *filters.shape[-2:]), 1)


_ROWS, _POINTS, _PIXELS = "row channel", "batch channel point", "image channel row column"
_NORMALIZED = {
    **dict.fromkeys(("norm", "output", "grad_input"), "batch channel position"),
    "std": "channel",
}
_CONVOLUTION: dict[str, Any] = {"results": "output", "axes": _ROWS, "terms": _products}
_GRADIENTS: dict[str, Any] = {
    "results": "grad_features grad_filters",
    "axes": _ROWS,
    "terms": lambda call: max(_products(call), len(call.given["features"])),
}


def mmcv_rules() -> list[Rule]:
    """The functions of mmcv._ext."""
    rule = functools.partial(_rule, mmcv.FUNCTIONS)
    close, wide, loss = near(1e-4, 1e-4), near(1e-3, 1e-3), near(1e-3, 1e-4)
    samples, by_distances = neighbors.samples(False), neighbors.samples(True)
    knn = neighbors.nearest("new_xyz_tensor", "xyz_tensor")
    three = neighbors.nearest("unknown_tensor", "known_tensor")
    kept, kept3d = boxes.kept("iou_threshold", "scores"), boxes.kept("nms_overlap_thresh")
    inside, in_boxes = boxes.inside("boxes_tensor"), "box_idx_of_points_tensor"
    idx, uses, features = "idx_tensor", _uses("idx_tensor"), "batch channel feature"
    rulebook: dict[str, Any] = {
        "results": "out_indices indice_pairs indice_num",
        "pairs": "indice_pairs",
        "rulebook": lambda _, values: Rulebook(*values.values()),
    }
    by_pairs: dict[str, Any] = {"layout": "mmcv", "pairs": "indicePairs"}
    pixels: dict[str, Any] = {"axes": _PIXELS, "widened": True}
    of_filters = "output input row column"
    return [
        rule("ball_query_forward", neighbors.ball, idx, "batch center sample"),
        rule("stack_ball_query_forward", neighbors.ball, idx, "center sample"),
        rule("furthest_point_sampling_forward", samples, idx, "batch sample"),
        rule("furthest_point_sampling_with_dist_forward", by_distances, idx, "batch sample"),
        rule("knn_forward", knn, "dist2_tensor idx_tensor", "batch center neighbor"),
        rule("three_nn_forward", three, "dist2_tensor idx_tensor", "batch center neighbor"),
        rule(
            "chamfer_distance_forward",
            neighbors.nearest_in_plane,
            "dist1 dist2 idx1 idx2",
            "batch point",
        ),
        rule("chamfer_distance_backward", wide, "gradxyz1 gradxyz2", "batch point coordinate"),
        rule("gather_points_forward", exact, "out_tensor", _POINTS),
        rule("gather_points_backward", sums, "grad_points_tensor", features, terms=uses),
        rule("group_points_forward", exact, "out_tensor"),
        rule("group_points_backward", sums, "grad_points_tensor", features, terms=uses),
        rule("stack_group_points_forward", exact, "out_tensor", "group channel sample"),
        rule("stack_group_points_backward", sums, "grad_features_tensor", _ROWS, terms=uses),
        rule("three_interpolate_forward", sums, "out_tensor", _POINTS, terms=lambda _: 3),
        rule("three_interpolate_backward", sums, "grad_points_tensor", features, terms=uses),
        rule(
            "assign_score_withk_forward",
            sums,
            "output",
            subtracted="centers",
            terms=lambda call: call.given["scores"].shape[3],
        ),
        rule(
            "assign_score_withk_backward",
            sums,
            "grad_points grad_centers grad_scores",
            subtracted="centers",
            # A center is subtracted from each of its neighbors.
            terms=lambda call: max(call.given["knn_idx"][0].numel(), call.given["scores"].shape[3]),
        ),
        rule("psamask_forward", exact, "output", _PIXELS),
        rule("psamask_backward", exact, "grad_input", _PIXELS),
        rule("carafe_forward", sums, "output", _PIXELS, terms=_reassembled),
        rule("carafe_backward", sums, "bottom_grad mask_grad", _PIXELS, terms=_reassembled),
        rule("carafe_naive_forward", sums, "output", _PIXELS, terms=_reassembled),
        rule("carafe_naive_backward", sums, "bottom_grad mask_grad", _PIXELS, terms=_reassembled),
        rule(
            "correlation_forward",
            sums,
            "output",
            "image row_shift column_shift row column",
            terms=lambda call: call.given["kH"] * call.given["kW"] * call.given["input1"].shape[1],
        ),
        rule(
            "correlation_backward",
            sums,
            "grad_input1 grad_input2",
            _PIXELS,
            terms=lambda call: (
                call.given["grad_output"].shape[1:3].numel() * call.given["kH"] * call.given["kW"]
            ),
        ),
        rule("active_rotated_filter_forward", exact, "output", "output input row column"),
        rule(
            "active_rotated_filter_backward",
            sums,
            "grad_in",
            "output input orientation row column",
            terms=lambda call: max(call.given["indices"].shape[-1], 1),
        ),
        rule("tin_shift_forward", exact, "output", "video frame channel pixel"),
        rule("tin_shift_backward", exact, "grad_input", "video frame channel pixel"),
        rule("masked_im2col_forward", exact, "col"),
        rule("masked_col2im_forward", exact, "im", "n c h w"),
        rule(
            "hard_voxelize_forward",
            boxes.voxels,
            "voxels coors num_points_per_voxel voxel_num",
            "voxel point channel",
            rows="voxel_num",
        ),
        rule("dynamic_voxelize_forward", exact, "coors", "point axis"),
        rule(
            "dynamic_point_to_voxel_forward",
            _reduced,
            axes={"voxel_feats": _ROWS},
            results="voxel_feats voxel_coors point2voxel_map voxel_points_count",
            widened=True,
            terms=lambda call: max(call.expected["voxel_points_count"].tolist(), default=1),
        ),
        rule("dynamic_point_to_voxel_backward", sums, "grad_feats", _ROWS),
        rule("get_indice_pairs_2d_forward", rulebooks.pairs, **rulebook),
        rule("get_indice_pairs_3d_forward", rulebooks.pairs, **rulebook),
        rule("get_indice_pairs_4d_forward", rulebooks.pairs, **rulebook),
        rule("get_indice_pairs_2d_backward", rulebooks.pairs, **rulebook),
        rule("get_indice_pairs_3d_backward", rulebooks.pairs, **rulebook),
        rule("indice_conv_forward", sums, **_CONVOLUTION, **by_pairs),
        rule("fused_indice_conv_forward", sums, **_CONVOLUTION, **by_pairs),
        rule("indice_conv_backward", sums, **_GRADIENTS, **by_pairs),
        rule("indice_maxpool_forward", exact, axes=_ROWS, results="output"),
        rule(
            "indice_maxpool_backward",
            sums,
            axes=_ROWS,
            results="grad_features",
            terms=lambda call: len(call.given["indicePairs"]),
        ),
        rule("nms", kept, results="kept"),
        rule("nms_rotated", kept, results="kept"),
        rule("nms_quadri", kept, results="kept"),
        rule("nms_match", exact, results="groups"),
        rule("softnms", near(1e-4, 1e-5), "dets", results="inds", rows="inds"),
        rule("iou3d_nms3d_forward", kept3d, "keep num_out", rows="num_out"),
        rule("iou3d_nms3d_normal_forward", kept3d, "keep num_out", rows="num_out"),
        rule("bbox_overlaps", close, "ious"),
        rule("box_iou_rotated", close, "ious"),
        rule("box_iou_quadri", close, "ious"),
        rule(
            "diff_iou_rotated_sort_vertices_forward",
            exact,
            axes="batch pair vertex",
            results="idx",
        ),
        rule("convex_iou", close, "ious", "set polygon"),
        rule("convex_giou", close, "output", "set column"),
        rule("min_area_polygons", close, "polygons", "set coordinate"),
        rule("points_in_polygons_forward", exact, "output", "point polygon"),
        rule("contour_expand", exact, results="labels"),
        rule("pixel_group", exact, results="regions"),
        rule("iou3d_boxes_overlap_bev_forward", near(1e-4, 1e-3), "ans_iou"),
        rule("points_in_boxes_part_forward", inside, in_boxes, "batch point"),
        rule("points_in_boxes_all_forward", inside, in_boxes, "batch point box"),
        rule(
            "points_in_boxes_cpu_forward",
            inside,
            "pts_indices_tensor",
            "box point",
            transposed="pts_indices_tensor",
        ),
        rule("sync_bn_forward_mean", wide, "mean", "channel"),
        rule("sync_bn_forward_var", wide, "var", "channel"),
        rule("sync_bn_forward_output", wide, "norm std output", _NORMALIZED),
        rule("sync_bn_backward_param", wide, "grad_weight grad_bias", "channel"),
        rule("sync_bn_backward_data", wide, "grad_input", _NORMALIZED),
        rule("sigmoid_focal_loss_forward", loss, "output", "row class"),
        rule("sigmoid_focal_loss_backward", loss, "grad_input", "row class"),
        rule("softmax_focal_loss_forward", loss, "output"),
        rule("softmax_focal_loss_backward", loss, "buff grad_input"),
        rule("ms_deform_attn_forward", close, results="output"),
        rule("ms_deform_attn_backward", wide, "grad_value grad_sampling_loc grad_attn_weight"),
        rule("roi_align_forward", close, "output argmax_y argmax_x", "roi channel row column"),
        rule(
            "roi_align_backward",
            sums,
            "grad_input",
            _PIXELS,
            # A pixel is in two bins along each axis of each RoI.
            terms=lambda call: max(4 * len(call.given["rois"]), 1),
        ),
        rule("roi_align_rotated_forward", close, "output", "roi channel row column"),
        rule("roi_align_rotated_backward", close, "grad_input", _PIXELS),
        rule("riroi_align_rotated_forward", close, "output", "roi channel row column"),
        rule("riroi_align_rotated_backward", close, "bottom_grad", _PIXELS),
        rule("rotated_feature_align_forward", close, "output", _PIXELS),
        rule("rotated_feature_align_backward", close, "bottom_grad", _PIXELS),
        rule("border_align_forward", close, "output argmax_idx", "image channel box border"),
        rule("border_align_backward", close, "grad_input", _PIXELS),
        rule("roi_pool_forward", exact, "output argmax", "roi channel row column"),
        rule(
            "roi_pool_backward",
            sums,
            "grad_input",
            _PIXELS,
            terms=lambda call: max(4 * len(call.given["rois"]), 1),
        ),
        rule("prroi_pool_forward", close, "output", "roi channel row column"),
        rule("prroi_pool_backward", close, "grad_input", _PIXELS),
        rule("prroi_pool_coor_backward", close, "grad_rois", _ROWS),
        rule("bezier_align_forward", close, "output", "roi channel row column"),
        rule(
            "bezier_align_backward",
            sums,
            "grad_input",
            _PIXELS,
            # A pixel is in any sample of a RoI.
            terms=lambda call: max(call.given["grad_output"][:, 0].numel(), 1),
        ),
        rule(
            "roiaware_pool3d_forward",
            close,
            "argmax pts_idx_of_voxels pooled_features",
            {
                "argmax": "roi x y z channel",
                "pts_idx_of_voxels": "roi x y z point",
                "pooled_features": "roi x y z channel",
            },
        ),
        rule(
            "roiaware_pool3d_backward",
            sums,
            "grad_in",
            _ROWS,
            terms=_uses("argmax", "pts_idx_of_voxels"),
        ),
        rule(
            "roipoint_pool3d_forward",
            exact,
            "pooled_features pooled_empty_flag",
            "batch box sample channel",
        ),
        rule("deform_roi_pool_forward", close, "output", "roi channel row column"),
        # Gradients of positions are not sums of products: tolerances are relative to the tensor.
        rule(
            "deform_roi_pool_backward",
            wide,
            "grad_input grad_offset",
            {"grad_input": _PIXELS, "grad_offset": "roi axis row column"},
            widened=True,
        ),
        rule("deform_conv_forward", wide, "output", **pixels),
        rule("deform_conv_backward_input", wide, "gradInput gradOffset", **pixels),
        rule("deform_conv_backward_parameters", wide, "gradWeight", of_filters, widened=True),
        rule("modulated_deform_conv_forward", wide, "output", **pixels),
        rule(
            "modulated_deform_conv_backward",
            wide,
            "grad_input grad_weight grad_bias grad_offset grad_mask",
            {
                "grad_input": _PIXELS,
                "grad_weight": of_filters,
                "grad_offset": _PIXELS,
                "grad_mask": _PIXELS,
            },
            widened=True,
        ),
    ]


def spconv_rules() -> list[Rule]:
    """The functions of spconv.pytorch.ops."""
    rule = functools.partial(_rule, spconv.functions())
    native: dict[str, Any] = {"layout": "KRSC", "pairs": "indice_pairs"}
    implicit: dict[str, Any] = {"layout": "KRSC", "pairs": "pair_fwd"}
    gradients: dict[str, Any] = {**_GRADIENTS, "transposed": "grad_filters"}
    pool: dict[str, Any] = {
        "axes": _ROWS,
        "terms": lambda call: call.given["indice_pairs"].shape[-2],
    }
    pairs: dict[str, Any] = {"results": "sites pairs num", "pairs": "pairs", "rulebook": _native}
    by_output: dict[str, Any] = {
        "results": "sites num pair_fwd",
        "pairs": "pair_fwd",
        "rulebook": _implicit,
    }
    return [
        rule("get_indice_pairs", rulebooks.pairs, **pairs),
        rule("get_indice_pairs_implicit_gemm", rulebooks.pairs, **by_output),
        rule("indice_conv", sums, **_CONVOLUTION, **native),
        rule("indice_conv_backward", sums, **gradients, **native),
        rule("implicit_gemm", sums, **_CONVOLUTION, **implicit),
        rule("implicit_gemm_backward", sums, **gradients, **implicit),
        rule("indice_maxpool", _maxima, axes=_ROWS, results="maxima"),
        rule("indice_maxpool_backward", sums, results="grad_features", **pool),
        rule("indice_avgpool_implicit_gemm", sums, results="output count", **pool),
        rule("indice_avgpool_implicit_gemm_backward", sums, results="grad_features", **pool),
        rule("global_pool_rearrange", _rearranged, results="rows counts"),
    ]


def _reduced(call: Call) -> Findings:
    return exact(call) if call.given["reduce_type"] == "max" else sums(call)


def _native(call: Call, values: dict[str, Any]) -> Rulebook:
    rows, subm = len(call.given["indices"]), bool(call.given.get("subm", False))
    pairs, num = complete_pairs(values["pairs"], values["num"], rows, subm)
    return Rulebook(values["sites"], pairs.transpose(0, 1), num)


def _implicit(call: Call, values: dict[str, Any]) -> Rulebook:
    pairs = pairs_by_output(values["pair_fwd"], len(call.given["indices"]))
    return Rulebook(values["sites"], *pairs)


def _maxima(call: Call) -> Findings:
    """Maxima of spconv's kernels start at 0, maxima of mluop_omp at the first value of a window."""
    findings = exact(call)
    if findings.differences:
        call.expected["maxima"] = call.expected["maxima"].clamp(min=0)
        from_zero = exact(call)
        if not from_zero.differences:
            from_zero.notes.append("maxima start at 0, as in spconv")
            return from_zero
    return findings


def _rearranged(call: Call) -> Findings:
    """Rows past the number of a batch are unspecified."""
    rows, counts = call.found["rows"], call.expected["counts"]
    expected = call.expected["rows"]
    if rows.shape == expected.shape:
        unused = torch.arange(rows.shape[1]) >= counts.view(-1, 1)
        call.found["rows"] = torch.where(unused, expected.to(rows.dtype), rows)
    return exact(call)
