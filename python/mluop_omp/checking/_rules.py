"""The operators of mmcv and spconv: what computes them here, and how their results are compared."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mluop_omp._library import not_supported
from mluop_omp.checking import _boxes as boxes
from mluop_omp.checking import _neighbors as neighbors
from mluop_omp.checking import _rulebooks as rulebooks
from mluop_omp.checking._calls import Call, Rule
from mluop_omp.checking._differences import exact, near, sums
from mluop_omp.mmcv import _attention as mmcv_attention
from mluop_omp.mmcv import _boxes as mmcv_boxes
from mluop_omp.mmcv import _deform_conv as mmcv_deform_conv
from mluop_omp.mmcv import _functions as mmcv_functions
from mluop_omp.mmcv import _losses as mmcv_losses
from mluop_omp.mmcv import _points as mmcv_points
from mluop_omp.mmcv import _rois as mmcv_rois
from mluop_omp.torch import _rulebooks

_SAMPLES = {"idx_tensor": ("batch", "sample")}
_OF_POINTS = {"out_tensor": ("batch", "channel", "point")}
_OF_FEATURES = {"grad_points_tensor": ("batch", "channel", "feature")}
_NEIGHBORS = {name: ("batch", "center", "neighbor") for name in ("dist2_tensor", "idx_tensor")}
_ROWS = {
    name: ("row", "channel")
    for name in (
        *("output", "grad_features", "grad_features_tensor", "voxel_feats", "grad_feats"),
        *("grad_in", "maxima"),
    )
}
_OF_VOXELS = {
    name: ("roi", "x", "y", "z", last)
    for name, last in (
        ("argmax", "channel"),
        ("pooled_features", "channel"),
        ("pts_idx_of_voxels", "point"),
    )
}
_OF_BINS = {
    name: ("roi", "channel", "row", "column") for name in ("output", "argmax_y", "argmax_x")
}
_OF_PIXELS = {"grad_input": ("image", "channel", "row", "column")}
_OF_CLASSES = {name: ("row", "class") for name in ("output", "grad_input")}


class _Knn(Rule):
    """knn takes the numbers b, n, m, nsample after the tensors or before them, as mmcv."""

    def bind(self, arguments: tuple, named: dict[str, Any]) -> dict[str, Any]:
        if arguments and not isinstance(arguments[0], Tensor):
            arguments = arguments[4:] + arguments[:4]
        return super().bind(arguments, named)


def _scatter(call: Call) -> Any:
    return exact(call) if call.given["reduce_type"] == "max" else sums(call)


def _most_uses(call: Call) -> int:
    """The most terms of a sum over the places of idx_tensor."""
    idx = call.given["idx_tensor"].long().flatten()
    return int(idx.clamp(min=0).bincount().max()) if len(idx) else 1


def _most_points(call: Call) -> int:
    counts = call.expected["voxel_points_count"]
    return int(counts.max()) if len(counts) else 1


def _most_voxels(call: Call) -> int:
    """The most voxels that a point is in, by both tensors of indices."""
    points = [call.given[name].long().flatten() for name in ("argmax", "pts_idx_of_voxels")]
    return max(int(each.clamp(min=0).bincount().max()) if len(each) else 1 for each in points)


def _terms_of_assignment(call: Call) -> int:
    """The most terms of a gradient: a center is subtracted from each neighbor."""
    return max(call.given["knn_idx"][0].numel(), call.given["scores"].shape[3])


def _most_samples(call: Call) -> int:
    """The most bins that a pixel is in: two along each axis, of all RoIs."""
    return max(4 * len(call.given["rois"]), 1)


def _terms_of_pool(call: Call) -> int:
    return call.given["indice_pairs"].shape[-2]


def _terms_of_convolution(call: Call) -> int:
    filters = call.given["filters"]
    return filters.numel() // max(min(filters.shape[0], *filters.shape[-2:]), 1)


def _terms_of_gradients(call: Call) -> int:
    return max(_terms_of_convolution(call), len(call.given["features"]))


_GRADIENTS: dict[str, Any] = {
    "results": ("grad_features", "grad_filters"),
    "terms": _terms_of_gradients,
}


def mmcv_rules() -> list[Rule]:
    """The functions of mmcv._ext."""
    ball = {"idx_tensor": ("batch", "center", "sample")}
    nearest = neighbors.nearest
    convolution = {"layout": "mmcv", "axes": _ROWS, "pairs": "indicePairs"}
    uses = {"axes": _OF_FEATURES, "terms": _most_uses}
    points, voxels, of_boxes = mmcv_points, mmcv_functions, mmcv_boxes
    kept = boxes.kept("iou_threshold", scores="scores")
    kept3d = boxes.kept("nms_overlap_thresh", count="num_out")
    return [
        _rule(points.ball_query_forward, neighbors.ball, "idx_tensor", axes=ball),
        _rule(
            points.furthest_point_sampling_forward,
            neighbors.samples(False),
            "idx_tensor",
            axes=_SAMPLES,
        ),
        _rule(
            points.furthest_point_sampling_with_dist_forward,
            neighbors.samples(True),
            "idx_tensor",
            axes=_SAMPLES,
        ),
        _Knn(
            "knn_forward",
            points._knn_forward,
            nearest("new_xyz_tensor", "xyz_tensor", "idx_tensor", "dist2_tensor"),
            ("dist2_tensor", "idx_tensor"),
            axes=_NEIGHBORS,
        ),
        _rule(
            points.three_nn_forward,
            nearest("unknown_tensor", "known_tensor", "idx_tensor", "dist2_tensor"),
            "dist2_tensor",
            "idx_tensor",
            axes=_NEIGHBORS,
        ),
        _rule(
            points.stack_ball_query_forward,
            neighbors.stack_ball,
            "idx_tensor",
            axes={"idx_tensor": ("center", "sample")},
        ),
        _rule(points.gather_points_forward, exact, "out_tensor", axes=_OF_POINTS),
        _rule(points.group_points_forward, exact, "out_tensor", name="group_points_forward"),
        _rule(
            points.stack_group_points_forward,
            exact,
            "out_tensor",
            axes={"out_tensor": ("group", "channel", "sample")},
        ),
        _sum(
            points.stack_group_points_backward, "grad_features_tensor", axes=_ROWS, terms=_most_uses
        ),
        _sum(
            points.assign_score_withk_forward,
            "output",
            subtracted=("centers",),
            terms=lambda call: call.given["scores"].shape[3],
        ),
        _sum(
            points.assign_score_withk_backward,
            "grad_points",
            "grad_centers",
            "grad_scores",
            subtracted=("centers",),
            terms=_terms_of_assignment,
        ),
        _sum(points.three_interpolate_forward, "out_tensor", axes=_OF_POINTS, terms=lambda _: 3),
        _sum(points.three_interpolate_backward, "grad_points_tensor", **uses),
        *(
            _sum(points.gather_points_backward, "grad_points_tensor", name=name, **uses)
            for name in ("gather_points_backward", "group_points_backward")
        ),
        _rule(voxels.masked_im2col_forward, exact, "col"),
        _rule(voxels.masked_col2im_forward, exact, "im", axes={"im": ("n", "c", "h", "w")}),
        _rule(
            voxels.dynamic_point_to_voxel_forward,
            _scatter,
            results=("voxel_feats", "voxel_coors", "point2voxel_map", "voxel_points_count"),
            axes=_ROWS,
            widened=True,
            terms=_most_points,
        ),
        _sum(voxels.dynamic_point_to_voxel_backward, "grad_feats", axes=_ROWS),
        _rule(
            voxels.hard_voxelize_forward,
            boxes.voxels,
            "voxels",
            "coors",
            "num_points_per_voxel",
            "voxel_num",
            axes={"voxels": ("voxel", "point", "channel")},
        ),
        _rule(voxels.dynamic_voxelize_forward, exact, "coors", axes={"coors": ("point", "axis")}),
        *(
            _rule(
                voxels._get_indice_pairs,
                rulebooks.pairs(_pairs_of_mmcv),
                results=("out_indices", "indice_pairs", "indice_num"),
                pairs="indice_pairs",
                sites="out_indices",
                name=f"get_indice_pairs_{axes}d_forward",
            )
            for axes in (2, 3, 4)
        ),
        *(
            _sum(function, results="output", terms=_terms_of_convolution, **convolution)
            for function in (voxels.indice_conv_forward, voxels.fused_indice_conv_forward)
        ),
        _sum(voxels.indice_conv_backward, **_GRADIENTS, **convolution),
        _rule(voxels.indice_maxpool_forward, exact, results="output", axes=_ROWS),
        _sum(
            voxels.indice_maxpool_backward,
            results="grad_features",
            axes=_ROWS,
            terms=lambda call: len(call.given["indicePairs"]),
        ),
        _rule(of_boxes.box_iou_rotated, near(1e-4, 1e-4), "ious"),
        _rule(of_boxes.nms, kept, results="kept"),
        _rule(of_boxes.nms_rotated, kept, results="kept"),
        _rule(of_boxes.nms_match, exact, results="groups"),
        _rule(of_boxes.softnms, _soft_nms, "dets", results="inds"),
        _rule(of_boxes.iou3d_nms3d_forward, kept3d, "keep", "num_out"),
        _rule(of_boxes.iou3d_nms3d_normal_forward, kept3d, "keep", "num_out"),
        _rule(of_boxes.iou3d_boxes_overlap_bev_forward, near(1e-4, 1e-3), "ans_iou"),
        _rule(
            of_boxes.points_in_boxes_part_forward,
            boxes.inside("boxes_tensor"),
            "box_idx_of_points_tensor",
            axes={"box_idx_of_points_tensor": ("batch", "point")},
        ),
        _rule(
            of_boxes.points_in_boxes_all_forward,
            boxes.inside("boxes_tensor"),
            "box_idx_of_points_tensor",
            axes={"box_idx_of_points_tensor": ("batch", "point", "box")},
        ),
        _rule(
            of_boxes.points_in_boxes_cpu_forward,
            boxes.inside("boxes_tensor"),
            "pts_indices_tensor",
            axes={"pts_indices_tensor": ("box", "point")},
        ),
        _rule(mmcv_losses.sigmoid_focal_loss_forward, near(1e-3, 1e-4), "output", axes=_OF_CLASSES),
        _rule(
            mmcv_losses.sigmoid_focal_loss_backward,
            near(1e-3, 1e-4),
            "grad_input",
            axes=_OF_CLASSES,
        ),
        _rule(mmcv_attention.ms_deform_attn_forward, near(1e-4, 1e-4), results="output"),
        _rule(
            mmcv_attention.ms_deform_attn_backward,
            near(1e-3, 1e-3),
            "grad_value",
            "grad_sampling_loc",
            "grad_attn_weight",
        ),
        _rule(
            mmcv_rois.roi_align_forward,
            near(1e-4, 1e-4),
            "output",
            "argmax_y",
            "argmax_x",
            axes=_OF_BINS,
        ),
        _sum(mmcv_rois.roi_align_backward, "grad_input", axes=_OF_PIXELS, terms=_most_samples),
        _rule(
            mmcv_rois.roiaware_pool3d_forward,
            near(1e-4, 1e-4),
            "argmax",
            "pts_idx_of_voxels",
            "pooled_features",
            axes=_OF_VOXELS,
        ),
        *_deformable_convolutions(),
        _sum(mmcv_rois.roiaware_pool3d_backward, "grad_in", axes=_ROWS, terms=_most_voxels),
        _rule(
            mmcv_rois.roipoint_pool3d_forward,
            exact,
            "pooled_features",
            "pooled_empty_flag",
            axes={"pooled_features": ("batch", "box", "sample", "channel")},
        ),
    ]


def _rule(function: Any, judge: Any, *outputs: str, name: str = "", **others: Any) -> Rule:
    return Rule(name or function.__name__, function, judge, outputs, **others)


def _sum(function: Any, *outputs: str, **others: Any) -> Rule:
    return _rule(function, sums, *outputs, widened=True, **others)


def _deformable_convolutions() -> list[Rule]:
    """No sums of the magnitudes of their terms: those of positions would be others."""
    convolutions, close = mmcv_deform_conv, near(1e-3, 1e-3)
    pixels, filters = ("image", "channel", "row", "column"), ("output", "input", "row", "column")
    of_filters = {"gradWeight": filters, "grad_weight": filters}
    images = ("output", "gradInput", "gradOffset", "grad_input", "grad_offset", "grad_mask")
    shared = {"widened": True, "axes": {**dict.fromkeys(images, pixels), **of_filters}}
    return [
        _rule(convolutions.deform_conv_forward, close, "output", **shared),
        _rule(convolutions.deform_conv_backward_input, close, "gradInput", "gradOffset", **shared),
        _rule(convolutions.deform_conv_backward_parameters, close, "gradWeight", **shared),
        _rule(convolutions.modulated_deform_conv_forward, close, "output", **shared),
        _rule(
            convolutions.modulated_deform_conv_backward,
            close,
            *("grad_input", "grad_weight", "grad_bias", "grad_offset", "grad_mask"),
            **shared,
        ),
    ]


def _soft_nms(call: Call) -> Any:
    """The first rows of dets, one for each index, are written."""
    count = len(call.found["inds"])
    for values in (call.found, call.expected):
        values["dets"] = values["dets"][:count]
    return near(1e-4, 1e-5)(call)


def _pairs_of_mmcv(call: Call, values: dict[str, Any]) -> tuple[Any, ...]:
    names = "out_indices", "indice_pairs", "indice_num"
    return (call.given["indices"], *(values[name] for name in names), call.given["kernelSize"])


def spconv_rules() -> list[Rule]:
    """The functions of spconv.pytorch.ops."""
    from mluop_omp.spconv import _convolutions, _pools

    def refuse(*_: Any, **__: Any) -> Any:
        raise not_supported(
            "get_indice_pairs: neither even kernels of submanifold layers nor bounds"
        )

    native_pairs = _convolutions.OPS["get_indice_pairs"](refuse)

    def native_parts(call: Call, values: dict[str, Any]) -> tuple[Any, ...]:
        indices, subm = call.given["indices"], bool(call.given.get("subm", False))
        pairs, num = values["pairs"], values["num"]
        pairs, num = _convolutions._complete(pairs, num, len(indices), subm)
        return indices, values["sites"], pairs.transpose(0, 1), num, call.given["ksize"]

    def implicit_parts(call: Call, values: dict[str, Any]) -> tuple[Any, ...]:
        indices = call.given["indices"]
        pairs = rulebooks.by_output(values["pair_fwd"], len(indices))
        return (indices, values["sites"], *pairs, call.given["ksize"])

    shared = {"layout": "KRSC", "axes": _ROWS}
    convolution = {"terms": _terms_of_convolution, "linear": {"act_type": None}, **shared}
    gradients = {**_GRADIENTS, **shared}
    pooled = {"terms": _terms_of_pool, "axes": _ROWS}
    return [
        _rule(
            native_pairs,
            rulebooks.pairs(native_parts),
            results=("sites", "pairs", "num"),
            pairs="pairs",
            sites="sites",
        ),
        _rule(
            _pools.pairs_of_implicit_gemm(native_pairs),
            rulebooks.pairs(implicit_parts),
            results=("sites", "num", "pair_fwd"),
            pairs="pair_fwd",
            sites="sites",
        ),
        _sum(_convolutions.indice_conv, results="output", pairs="indice_pairs", **convolution),
        _sum(implicit_gemm, results=("output",), pairs="pair_fwd", **convolution),
        _sum(_convolutions.indice_conv_backward, pairs="indice_pairs", **gradients),
        _sum(implicit_gemm_backward, pairs="pair_fwd", **gradients),
        _rule(_pools.indice_maxpool, _maxima, results="maxima", axes=_ROWS),
        _sum(_pools.indice_maxpool_backward, results="grad_features", **pooled),
        _sum(_pools.indice_avgpool_implicit_gemm, results=("output", "count"), **pooled),
        _sum(_pools.indice_avgpool_implicit_gemm_backward, results="grad_features", **pooled),
        _rule(_pools.global_pool_rearrange, _rearranged, results=("rows", "counts")),
    ]


def _maxima(call: Call) -> Any:
    """spconv's kernels start at 0, mluop_omp at the first value of a window."""
    findings = exact(call)
    if findings.differences:
        call.expected["maxima"] = call.expected["maxima"].clamp(min=0)
        from_zero = exact(call)
        if not from_zero.differences:
            from_zero.notes.append("maxima start at 0, as in spconv")
            return from_zero
    return findings


def _rearranged(call: Call) -> Any:
    """The rows beyond the number of a batch are unspecified."""
    rows, counts = call.found["rows"], call.expected["counts"]
    expected = call.expected["rows"]
    if rows.shape == expected.shape:
        unused = torch.arange(rows.shape[1]) >= counts.view(-1, 1)
        call.found["rows"] = torch.where(unused, expected.to(rows.dtype), rows)
    return exact(call)


def _require_no_quantization(features: Tensor, *others: Any) -> None:
    if not features.is_floating_point() or any(other is not None for other in others):
        raise not_supported("implicit_gemm: neither integers, scales nor sums with other outputs")


def implicit_gemm(
    features: Tensor,
    filters: Tensor,
    pair_fwd: Tensor,
    pair_mask_fwd_splits: Any,
    mask_argsort_fwd_splits: Any,
    num_activate_out: int,
    masks: Any,
    is_train: bool,
    is_subm: bool,
    timer: Any = None,
    fp32_accum: bool | None = None,
    bias: Tensor | None = None,
    act_alpha: float = 0.0,
    act_beta: float = 0.0,
    act_type: Any = None,
    output_scale: float = 1.0,
    scale: Tensor | None = None,
    output_add: Tensor | None = None,
    output_add_scale: float = 0.0,
    output_dtype: Any = None,
) -> tuple[Tensor]:
    """spconv's function of this name, which has the input row of each offset and output row."""
    from mluop_omp.spconv import _convolutions

    _require_no_quantization(features, scale, output_add)
    pairs, num = rulebooks.directed_by_output(pair_fwd, len(features))
    output = _rulebooks.convolve(
        features, _convolutions._filters(filters), pairs, num, num_activate_out, "NDHWC"
    )
    return (_convolutions.activate(output, bias, act_type, act_alpha),)


def implicit_gemm_backward(
    features: Tensor, filters: Tensor, out_bp: Tensor, pair_fwd: Tensor, *_: Any, **__: Any
) -> tuple[Tensor, Tensor]:
    from mluop_omp.spconv import _convolutions

    pairs, num = rulebooks.directed_by_output(pair_fwd, len(features))
    grad_features, grad_filters = _rulebooks.convolve_backward(
        features, _convolutions._filters(filters), out_bp, pairs, num, "NDHWC"
    )
    return grad_features, grad_filters.permute(2, 0, 1).reshape(filters.shape)
