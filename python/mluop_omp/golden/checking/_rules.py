"""The table of operators of mmcv and spconv: who computes them here, who judges the results."""

from __future__ import annotations

from typing import Any, Callable, Union

import torch
from torch import Tensor

from mluop_omp import mmcv, spconv
from mluop_omp.golden.checking import _boxes as boxes
from mluop_omp.golden.checking import _neighbors as neighbors
from mluop_omp.golden.checking import _rulebooks as rulebooks
from mluop_omp.golden.checking._calls import Call, Findings, Rule
from mluop_omp.golden.checking._differences import exact, near, sums
from mluop_omp.torch.rulebooks import complete_pairs, pairs_by_output

# Names of the dimensions, the same for all outputs or by output.
_Axes = Union[str, dict[str, str]]


class _Knn(Rule):
    """knn of mmcv takes the numbers b, n, m, nsample after the tensors or before them."""

    def bind(self, arguments: tuple, named: dict[str, Any]) -> dict[str, Any]:
        if arguments and not isinstance(arguments[0], Tensor):
            arguments = arguments[4:] + arguments[:4]
        return super().bind(arguments, named)


def _scatter(call: Call) -> Any:
    return exact(call) if call.given["reduce_type"] == "max" else sums(call)


def _most_uses(call: Call) -> int:
    """The largest number of terms of a sum over the occurrences of an index in idx_tensor."""
    idx = call.given["idx_tensor"].long().flatten()
    return int(idx.clamp(min=0).bincount().max()) if len(idx) else 1


def _most_points(call: Call) -> int:
    counts = call.expected["voxel_points_count"]
    return int(counts.max()) if len(counts) else 1


def _most_voxels(call: Call) -> int:
    """The largest number of voxels that a point is in, by both tensors of indices."""
    points = [call.given[name].long().flatten() for name in ("argmax", "pts_idx_of_voxels")]
    return max(int(each.clamp(min=0).bincount().max()) if len(each) else 1 for each in points)


def _terms_of_assignment(call: Call) -> int:
    """The largest number of terms of a gradient: a center is subtracted from each neighbor."""
    return max(call.given["knn_idx"][0].numel(), call.given["scores"].shape[3])


def _most_samples(call: Call) -> int:
    """The largest number of bins that a pixel is in: two along each axis of each RoI."""
    return max(4 * len(call.given["rois"]), 1)


def _terms_of_pool(call: Call) -> int:
    return call.given["indice_pairs"].shape[-2]


def _terms_of_convolution(call: Call) -> int:
    filters = call.given["filters"]
    return filters.numel() // max(min(filters.shape[0], *filters.shape[-2:]), 1)


def _terms_of_gradients(call: Call) -> int:
    return max(_terms_of_convolution(call), len(call.given["features"]))


class _Rules:
    """Makes the rules of a library from its functions."""

    def __init__(self, functions: dict[str, Callable[..., Any]]) -> None:
        self._functions = functions

    def rule(
        self,
        name: str,
        judge: Callable[[Call], Findings],
        *outputs: str,
        axes: _Axes = "",
        kind: type[Rule] = Rule,
        **others: Any,
    ) -> Rule:
        """axes: dimension names of outputs and results."""
        results = others.get("results", ())
        named = (*outputs, *((results,) if isinstance(results, str) else results))
        texts = dict.fromkeys(named, axes) if isinstance(axes, str) else axes
        axes_of = {output: tuple(text.split()) for output, text in texts.items() if text}
        return kind(name, self._functions[name], judge, outputs, axes=axes_of, **others)

    def sum(self, name: str, *outputs: str, **others: Any) -> Rule:
        return self.rule(name, sums, *outputs, widened=True, **others)


_PIXELS, _FILTERS = "image channel row column", "output input row column"
_CONVOLUTION: dict[str, Any] = {"axes": {"output": "row channel"}, "results": "output"}
_GRADIENTS: dict[str, Any] = {
    "axes": {"grad_features": "row channel"},
    "results": ("grad_features", "grad_filters"),
    "terms": _terms_of_gradients,
}


def mmcv_rules() -> list[Rule]:
    """The functions of mmcv._ext."""
    make = _Rules(mmcv.FUNCTIONS)
    rule, add = make.rule, make.sum
    kept = boxes.kept("iou_threshold", scores="scores")
    kept3d = boxes.kept("nms_overlap_thresh", count="num_out")
    in_boxes = boxes.inside("boxes_tensor")
    members = "box_idx_of_points_tensor"
    close, wide = near(1e-4, 1e-4), near(1e-3, 1e-3)
    loss = near(1e-3, 1e-4)
    rulebook = {
        "results": ("out_indices", "indice_pairs", "indice_num"),
        "pairs": "indice_pairs",
        "sites": "out_indices",
    }
    pairs_of = {"layout": "mmcv", "pairs": "indicePairs"}
    convolution = {**_CONVOLUTION, **pairs_of, "terms": _terms_of_convolution}
    uses = {"axes": "batch channel feature", "terms": _most_uses}
    pixels: dict[str, Any] = {"axes": _PIXELS, "widened": True}
    assigned: dict[str, Any] = {"subtracted": ("centers",)}
    return [
        rule("ball_query_forward", neighbors.ball, "idx_tensor", axes="batch center sample"),
        *(
            rule(f"furthest_point_sampling{name}_forward", judge, "idx_tensor", axes="batch sample")
            for name, judge in (
                ("", neighbors.samples(False)),
                ("_with_dist", neighbors.samples(True)),
            )
        ),
        *(
            rule(
                name,
                neighbors.nearest(centers, points, "idx_tensor", "dist2_tensor"),
                "dist2_tensor",
                "idx_tensor",
                axes="batch center neighbor",
                kind=kind,
            )
            for name, centers, points, kind in (
                ("knn_forward", "new_xyz_tensor", "xyz_tensor", _Knn),
                ("three_nn_forward", "unknown_tensor", "known_tensor", Rule),
            )
        ),
        rule("stack_ball_query_forward", neighbors.stack_ball, "idx_tensor", axes="center sample"),
        rule("gather_points_forward", exact, "out_tensor", axes="batch channel point"),
        rule("group_points_forward", exact, "out_tensor"),
        rule("stack_group_points_forward", exact, "out_tensor", axes="group channel sample"),
        add(
            "stack_group_points_backward",
            "grad_features_tensor",
            axes="row channel",
            terms=_most_uses,
        ),
        add(
            "assign_score_withk_forward",
            "output",
            terms=lambda call: call.given["scores"].shape[3],
            **assigned,
        ),
        add(
            "assign_score_withk_backward",
            *("grad_points", "grad_centers", "grad_scores"),
            terms=_terms_of_assignment,
            **assigned,
        ),
        add(
            "three_interpolate_forward",
            "out_tensor",
            axes="batch channel point",
            terms=lambda _: 3,
        ),
        *(
            add(f"{name}_backward", "grad_points_tensor", **uses)
            for name in ("three_interpolate", "gather_points", "group_points")
        ),
        rule("masked_im2col_forward", exact, "col"),
        rule("masked_col2im_forward", exact, "im", axes="n c h w"),
        rule(
            "dynamic_point_to_voxel_forward",
            _scatter,
            results=("voxel_feats", "voxel_coors", "point2voxel_map", "voxel_points_count"),
            axes={"voxel_feats": "row channel"},
            widened=True,
            terms=_most_points,
        ),
        add("dynamic_point_to_voxel_backward", "grad_feats", axes="row channel"),
        rule(
            "hard_voxelize_forward",
            boxes.voxels,
            *("voxels", "coors", "num_points_per_voxel", "voxel_num"),
            axes="voxel point channel",
        ),
        rule("dynamic_voxelize_forward", exact, "coors", axes="point axis"),
        *(
            rule(f"get_indice_pairs_{axes}d_forward", rulebooks.pairs(_pairs_of_mmcv), **rulebook)
            for axes in (2, 3, 4)
        ),
        add("indice_conv_forward", **convolution),
        add("fused_indice_conv_forward", **convolution),
        add("indice_conv_backward", **_GRADIENTS, **pairs_of),
        rule("indice_maxpool_forward", exact, results="output", axes="row channel"),
        add(
            "indice_maxpool_backward",
            results="grad_features",
            axes="row channel",
            terms=lambda call: len(call.given["indicePairs"]),
        ),
        rule("box_iou_rotated", close, "ious"),
        rule("nms", kept, results="kept"),
        rule("nms_rotated", kept, results="kept"),
        rule("nms_match", exact, results="groups"),
        rule("softnms", _soft_nms, "dets", results="inds"),
        rule("iou3d_nms3d_forward", kept3d, "keep", "num_out"),
        rule("iou3d_nms3d_normal_forward", kept3d, "keep", "num_out"),
        rule("iou3d_boxes_overlap_bev_forward", near(1e-4, 1e-3), "ans_iou"),
        rule("points_in_boxes_part_forward", in_boxes, members, axes="batch point"),
        rule("points_in_boxes_all_forward", in_boxes, members, axes="batch point box"),
        rule("points_in_boxes_cpu_forward", in_boxes, "pts_indices_tensor", axes="box point"),
        rule("sigmoid_focal_loss_forward", loss, "output", axes="row class"),
        rule("sigmoid_focal_loss_backward", loss, "grad_input", axes="row class"),
        rule("ms_deform_attn_forward", close, results="output"),
        rule(
            "ms_deform_attn_backward",
            wide,
            *("grad_value", "grad_sampling_loc", "grad_attn_weight"),
        ),
        rule(
            "roi_align_forward",
            close,
            *("output", "argmax_y", "argmax_x"),
            axes="roi channel row column",
        ),
        add("roi_align_backward", "grad_input", axes=_PIXELS, terms=_most_samples),
        rule(
            "roiaware_pool3d_forward",
            close,
            *("argmax", "pts_idx_of_voxels", "pooled_features"),
            axes={
                **dict.fromkeys(("argmax", "pooled_features"), "roi x y z channel"),
                "pts_idx_of_voxels": "roi x y z point",
            },
        ),
        add("roiaware_pool3d_backward", "grad_in", axes="row channel", terms=_most_voxels),
        rule(
            "roipoint_pool3d_forward",
            exact,
            *("pooled_features", "pooled_empty_flag"),
            axes="batch box sample channel",
        ),
        # Gradients of positions are not sums of products: tolerances are relative to the tensor.
        rule("deform_conv_forward", wide, "output", **pixels),
        rule("deform_conv_backward_input", wide, "gradInput", "gradOffset", **pixels),
        rule("deform_conv_backward_parameters", wide, "gradWeight", axes=_FILTERS, widened=True),
        rule("modulated_deform_conv_forward", wide, "output", **pixels),
        rule(
            "modulated_deform_conv_backward",
            wide,
            *("grad_input", "grad_weight", "grad_bias", "grad_offset", "grad_mask"),
            axes={
                **dict.fromkeys(("grad_input", "grad_offset", "grad_mask"), _PIXELS),
                "grad_weight": _FILTERS,
            },
            widened=True,
        ),
    ]


def _soft_nms(call: Call) -> Any:
    """soft NMS writes the first rows of dets, one for each index."""
    count = len(call.found["inds"])
    for values in (call.found, call.expected):
        values["dets"] = values["dets"][:count]
    return near(1e-4, 1e-5)(call)


def _pairs_of_mmcv(call: Call, values: dict[str, Any]) -> tuple[Any, ...]:
    names = "out_indices", "indice_pairs", "indice_num"
    return (call.given["indices"], *(values[name] for name in names), call.given["kernelSize"])


def spconv_rules() -> list[Rule]:
    """The functions of spconv.pytorch.ops."""
    make = _Rules(spconv.functions())
    rule, add = make.rule, make.sum

    def native_parts(call: Call, values: dict[str, Any]) -> tuple[Any, ...]:
        indices, subm = call.given["indices"], bool(call.given.get("subm", False))
        pairs, num = complete_pairs(values["pairs"], values["num"], len(indices), subm)
        return indices, values["sites"], pairs.transpose(0, 1), num, call.given["ksize"]

    def implicit_parts(call: Call, values: dict[str, Any]) -> tuple[Any, ...]:
        indices = call.given["indices"]
        pairs = pairs_by_output(values["pair_fwd"], len(indices))
        return (indices, values["sites"], *pairs, call.given["ksize"])

    native = {"layout": "KRSC", "pairs": "indice_pairs"}
    implicit = {"layout": "KRSC", "pairs": "pair_fwd"}
    convolution = {**_CONVOLUTION, "terms": _terms_of_convolution, "linear": {"act_type": None}}
    pooled = {"terms": _terms_of_pool, "axes": {"output": "row channel"}}
    pooled_grad = {"terms": _terms_of_pool, "axes": "row channel", "results": "grad_features"}
    return [
        rule(
            "get_indice_pairs",
            rulebooks.pairs(native_parts),
            results=("sites", "pairs", "num"),
            pairs="pairs",
            sites="sites",
        ),
        rule(
            "get_indice_pairs_implicit_gemm",
            rulebooks.pairs(implicit_parts),
            results=("sites", "num", "pair_fwd"),
            pairs="pair_fwd",
            sites="sites",
        ),
        add("indice_conv", **convolution, **native),
        add("implicit_gemm", **{**convolution, "results": ("output",)}, **implicit),
        add("indice_conv_backward", **_GRADIENTS, **native),
        add("implicit_gemm_backward", **_GRADIENTS, **implicit),
        rule("indice_maxpool", _maxima, results="maxima", axes="row channel"),
        add("indice_maxpool_backward", **pooled_grad),
        add("indice_avgpool_implicit_gemm", results=("output", "count"), **pooled),
        add("indice_avgpool_implicit_gemm_backward", **pooled_grad),
        rule("global_pool_rearrange", _rearranged, results=("rows", "counts")),
    ]


def _maxima(call: Call) -> Any:
    """Maxima of spconv's kernels start at 0, maxima of mluop_omp at the first value of a window."""
    findings = exact(call)
    if findings.differences:
        call.expected["maxima"] = call.expected["maxima"].clamp(min=0)
        from_zero = exact(call)
        if not from_zero.differences:
            from_zero.notes.append("maxima start at 0, as in spconv")
            return from_zero
    return findings


def _rearranged(call: Call) -> Any:
    """Rows past the number of a batch are unspecified."""
    rows, counts = call.found["rows"], call.expected["counts"]
    expected = call.expected["rows"]
    if rows.shape == expected.shape:
        unused = torch.arange(rows.shape[1]) >= counts.view(-1, 1)
        call.found["rows"] = torch.where(unused, expected.to(rows.dtype), rows)
    return exact(call)
