"""Operator cases of calls: a text file, and a file of raw elements for each tensor."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, Callable

import torch
from torch import Tensor

from mluop_omp import _output
from mluop_omp._numbers import to_numpy
from mluop_omp.checking._calls import Call, Findings
from mluop_omp.checking._pair_cases import of_pairs
from mluop_omp.checking._rulebooks import directed_by_output
from mluop_omp.comparison import Comparison
from mluop_omp.mmcv import _functions, _points
from mluop_omp.torch._precision import LOWER_PRECISION
from mluop_omp.torch._rulebooks import directed_pairs

_DTYPES = {
    torch.float16: "HALF",
    torch.bfloat16: "BFLOAT16",
    torch.float32: "FLOAT",
    torch.int32: "INT32",
}
# How the names of operators begin that take half and bfloat16; the others take float.
_WITH_LOWER_PRECISION = (
    *("assign_score", "ball_query", "dcn", "focal_loss", "gather_points", "indice", "masked"),
    *("roi", "stack", "three"),
)

# Operator, inputs, outputs, parameters. A tensor may come with its layout.
_Case = tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]
_Names = Mapping[str, str]


def write(folder: str, number: int, call: Call, findings: Findings) -> str:
    """Writes what the device was given and has found; returns the name of the text file.

    Raises ValueError if there is no such case: one operator of the C API has to compute the call.
    """
    make = _CASES.get(call.rule.name)
    if make is None:
        raise ValueError(f"there are no cases of {call.rule.name}")
    operator, inputs, outputs, parameters = make(call, findings)
    name = os.path.join(folder, f"{number:04}-{call.rule.name}")
    lines = [f"op_name: {json.dumps(operator)}"]
    for field, tensors in (("input", inputs), ("output", outputs)):
        for identifier, value in tensors.items():
            tensor, layout = value if isinstance(value, tuple) else (value, "ARRAY")
            tensor = _converted(tensor, operator)
            lines += _tensor(field, identifier, tensor, layout, f"{name}.{identifier}.bin")
    threshold = _threshold(findings) if call.rule.widened else None
    if threshold is not None:
        criterion = f"error_func: DIFF3_2 error_threshold: {threshold!r}"
        lines.append(f"test_param {{ {criterion} baseline_device: CPU }}")
    if parameters:
        lines += [f"{_MESSAGES.get(operator, operator)}_param {{", *_fields(parameters), "}"]
    text = f"{name}.prototxt"
    _output.write_text(text, "\n".join(lines) + "\n")
    return text


_MESSAGES = {
    "indice_convolution_backward_filter": "indice_convolution_backward",
    **dict.fromkeys(("dcn_forward", "dcn_backward_data", "dcn_backward_weight"), "dcn"),
}


def _converted(tensor: Tensor, operator: str) -> Tensor:
    """Returns the tensor with the element type that the operator takes, if it holds the values."""
    if tensor.dtype in (torch.int64, torch.bool):
        return tensor.int()
    is_widened = tensor.dtype in LOWER_PRECISION and not operator.startswith(_WITH_LOWER_PRECISION)
    return tensor.float() if is_widened else tensor


def _tensor(field: str, identifier: str, tensor: Tensor, layout: str, file: str) -> list[str]:
    if tensor.dtype not in _DTYPES:
        expected = "float16, bfloat16 or float32"
        raise ValueError(f"{identifier} has dtype {tensor.dtype}, expected {expected}")
    with _output.written(file) as stream:
        to_numpy(tensor.contiguous()).tofile(stream)
    dims = ", ".join(map(str, tensor.shape))
    return [
        f"{field} {{",
        f"  id: {json.dumps(identifier)}",
        f"  shape {{ dims: [{dims}] }}",
        f"  layout: LAYOUT_{layout}",
        f"  dtype: DTYPE_{_DTYPES[tensor.dtype]}",
        f"  path: {json.dumps(os.path.basename(file))}",
        "}",
    ]


def _fields(parameters: dict[str, Any]) -> list[str]:
    lines = []
    for name, value in parameters.items():
        if isinstance(value, (list, tuple)):
            text = f"[{', '.join(map(str, value))}]"
        elif isinstance(value, float):
            text = f"{value:.9g}"
        else:
            text = str(value).lower() if isinstance(value, bool) else str(value)
        lines.append(f"  {name}: {text}")
    return lines


def _threshold(findings: Findings) -> float | None:
    """Half of the largest error: that of a sum in another order is less."""
    errors = [
        difference.worst[0].absolute
        for difference in findings.differences.values()
        if isinstance(difference, Comparison) and difference.worst
    ]
    finite = [error for error in errors if math.isfinite(error)]
    return max(finite) / 2 if finite else None


def _simple(
    operator: str,
    inputs: _Names,
    outputs: _Names,
    parameters: Callable[[Call], dict] = lambda _: {},
    image: str = "",
) -> Callable[[Call, Findings], _Case]:
    """image: the tensor whose layout is NCHW."""

    def tensors(names: _Names, values: dict[str, Any]) -> dict[str, Any]:
        named = ((name, values[of]) for name, of in names.items())
        return {name: (each, "NCHW") if name == image else each for name, each in named}

    def make(call: Call, _: Findings) -> _Case:
        return operator, tensors(inputs, call.given), tensors(outputs, call.found), parameters(call)

    return make


def _numbers(*names: str) -> Callable[[Call], dict]:
    return lambda call: {name: int(call.given[name]) for name in names}


def _ball_query(call: Call) -> dict[str, Any]:
    radii = {name: float(call.given[name]) for name in ("min_radius", "max_radius")}
    return {**radii, "nsample": int(call.given["nsample"])}


def _alignment(call: Call) -> dict[str, Any]:
    return {
        "spatial_scale": float(call.given["spatial_scale"]),
        "sampling_ratio": int(call.given["sampling_ratio"]),
        "aligned": bool(call.given["aligned"]),
        "pool_mode": int(call.given["pool_mode"]),
    }


def _maxima(call: Call, values: dict[str, Any]) -> dict[str, Any]:
    """The argmax of maxima; means have none."""
    names = ("argmax_x", "argmax_y") if call.given["pool_mode"] == 0 else ()
    return {name: (values[name], "NCHW") for name in names}


def _roi_align_forward(call: Call, _: Findings) -> _Case:
    given, found = call.given, call.found
    inputs = {"input": (given["input"], "NCHW"), "boxes": given["rois"]}
    outputs = {"output": (found["output"], "NCHW"), **_maxima(call, found)}
    sizes = {f"pooled_{name}": int(given[f"aligned_{name}"]) for name in ("height", "width")}
    return "roi_align_forward_v2", inputs, outputs, {**sizes, **_alignment(call)}


def _roi_align_backward(call: Call, _: Findings) -> _Case:
    grads, boxes = (call.given["grad_output"], "NCHW"), call.given["rois"]
    inputs = {"grads": grads, "boxes": boxes, **_maxima(call, call.given)}
    outputs = {"grads_image": (call.found["grad_input"], "NCHW")}
    return "roi_align_backward_v2", inputs, outputs, _alignment(call)


def _attention_inputs(call: Call, prefix: str) -> dict[str, Any]:
    names = {
        "value": "value",
        "spatial_shapes": "value_spatial_shapes",
        "level_start_index": "value_level_start_index",
        "sampling_loc": "sampling_locations",
        "attn_weight": "attention_weights",
    }
    return {prefix + name: call.given[of] for name, of in names.items()}


def _by_heads(call: Call, tensor: Tensor) -> Tensor:
    """Returns a tensor [B, Q, M D] as [B, Q, M, D]."""
    return tensor.view(*tensor.shape[:2], *call.given["value"].shape[2:])


_STEP = {"im2col_step": 64}


def _ms_deform_attn_forward(call: Call, _: Findings) -> _Case:
    outputs = {"data_col": _by_heads(call, call.found["output"])}
    return "ms_deform_attn_forward", _attention_inputs(call, "data_"), outputs, _STEP


def _ms_deform_attn_backward(call: Call, _: Findings) -> _Case:
    grad = {"grad_output": _by_heads(call, call.given["grad_output"])}
    outputs = {
        name: call.found[name] for name in ("grad_value", "grad_sampling_loc", "grad_attn_weight")
    }
    return "ms_deform_attn_backward", {**_attention_inputs(call, ""), **grad}, outputs, _STEP


def _voxel_numbers(call: Call, pooled: Tensor) -> dict[str, int]:
    """The parameters of RoI-aware pooling that follow from the shapes of voxels."""
    names = "boxes_num", "out_x", "out_y", "out_z", "channels"
    listed = call.given["pts_idx_of_voxels"]
    return {
        **dict(zip(names, pooled.shape)),
        "max_pts_each_voxel": listed.shape[4],
        "pool_method": int(call.given["pool_method"]),
    }


def _knn(call: Call, findings: Findings) -> _Case:
    make = _simple(
        "knn",
        {"xyz": "xyz_tensor", "new_xyz": "new_xyz_tensor"},
        {"idx": "idx_tensor", "dist2": "dist2_tensor"},
        lambda call: {"k": int(call.given["nsample"])},
    )
    operator, inputs, *others = make(call, findings)
    rows = {name: _points.rows_of_three(name, each) for name, each in inputs.items()}
    return operator, rows, *others


def _added(operator: str, inputs: _Names, outputs: _Names) -> Callable[[Call, Findings], _Case]:
    """Returns the cases of a function that adds sums to its outputs."""
    make = _simple(operator, inputs, outputs)

    def make_from_zeros(call: Call, findings: Findings) -> _Case:
        if any(call.given[name].any() for name in outputs.values()):
            raise ValueError("the sums are added to other numbers than 0")
        return make(call, findings)

    return make_from_zeros


def _maxpool(operator: str, inputs: _Names, output: str) -> Callable[[Call, Findings], _Case]:
    def make(call: Call, _: Findings) -> _Case:
        if call.rule.ours.__module__ != _functions.__name__:
            raise ValueError("there are no cases of spconv's pooling")
        tensors = {name: call.given[of] for name, of in inputs.items()}
        (found,) = call.found.values()
        tensors["indice_pairs"] = call.given["indicePairs"]
        return operator, tensors, {output: found}, {"indice_num": call.given["indiceNum"].tolist()}

    return make


def _voxelization(call: Call, findings: Findings) -> _Case:
    if not call.given.get("deterministic", True):
        raise ValueError("deterministic is False")
    names = {name: name for name in ("points", "voxel_size", "coors_range")}
    results = {n: n for n in ("voxels", "coors", "num_points_per_voxel", "voxel_num")}
    make = _simple("voxelization", names, results, _numbers("max_points", "max_voxels"))
    operator, inputs, outputs, parameters = make(call, findings)
    outputs["voxel_num"] = outputs["voxel_num"].view(1)
    return operator, inputs, outputs, {**parameters, "ndim": 3, "deterministic": True}


def _scatter_backward(call: Call, _: Findings) -> _Case:
    given = call.given
    inputs = {
        "grad_voxel_feats": given["grad_reduced_feats"],
        "feats": given["feats"],
        "voxel_feats": given["reduced_feats"],
        "point2voxel_map": given["coors_idx"],
        "voxel_points_count": given["reduce_count"],
        "voxel_num": torch.tensor([len(given["reduced_feats"])], dtype=torch.int32),
    }
    parameters = {"reduce_type": f"REDUCE_MODE_{given['reduce_type'].upper()}"}
    outputs = {"grad_feats": call.found["grad_feats"]}
    return "dynamic_point_to_voxel_backward", inputs, outputs, parameters


def _padded(values: Tensor, rows: int) -> Tensor:
    """Returns rows of values, and zeros past them."""
    return torch.cat((values, values.new_zeros(rows - len(values), *values.shape[1:])))


def _scatter(call: Call, _: Findings) -> _Case:
    given, found, expected = call.given, call.found, call.expected
    voxels = len(found["voxel_feats"])
    rows = max(voxels, len(expected["voxel_feats"]))
    outputs = {name: _padded(found[name], rows) for name in ("voxel_feats", "voxel_coors")}
    outputs["point2voxel_map"] = found["point2voxel_map"]
    outputs["voxel_points_count"] = _padded(found["voxel_points_count"], rows)
    outputs["voxel_num"] = torch.tensor([voxels])
    parameters = {"reduce_type": f"REDUCE_MODE_{given['reduce_type'].upper()}"}
    inputs = {name: given[name] for name in ("feats", "coors")}
    return "dynamic_point_to_voxel_forward", inputs, outputs, parameters


def _suppression(
    operator: str,
    inputs: _Names,
    outputs: Sequence[str],
    parameters: Callable[[Call], dict],
    found: Callable[[Call], Sequence[Tensor]] = lambda call: [call.found["kept"]],
) -> Callable[[Call, Findings], _Case]:
    """Of outputs with a row for each box, zeros past the ones that are found; last, their number.

    found: returns those rows, the last of which are as many as the number states.
    """

    def make(call: Call, _: Findings) -> _Case:
        operands, values = {name: call.given[of] for name, of in inputs.items()}, found(call)
        boxes = len(next(iter(operands.values())))
        tensors = [*(_padded(each, boxes) for each in values), torch.tensor([len(values[-1])])]
        return operator, operands, dict(zip(outputs, tensors)), parameters(call)

    return make


def _inside(call: Call, _: Findings) -> _Case:
    inputs = {"boxes": call.given["boxes_tensor"][None], "points": call.given["pts_tensor"][None]}
    outputs = {"is_inside": call.found["pts_indices_tensor"].t()[None]}
    return "points_in_boxes_all", inputs, outputs, {}


def _kept_of_sorted(call: Call) -> Sequence[Tensor]:
    return [call.found["keep"][: max(int(call.found["num_out"]), 0)]]


def _threshold_of(name: str) -> Callable[[Call], dict]:
    return lambda call: {"iou_threshold": float(call.given[name])}


def _nms(call: Call) -> dict[str, Any]:
    given = call.given
    return {
        "max_output_boxes": len(given["boxes"]),
        "iou_threshold": float(given["iou_threshold"]),
        "confidence_threshold": math.nan,  # drops no box
        "offset": int(given["offset"]),
    }


def _soft_nms(call: Call) -> dict[str, Any]:
    given = call.given
    reals = {name: float(given[name]) for name in ("iou_threshold", "sigma", "min_score")}
    return {**reals, "method": int(given["method"]), "offset": int(given["offset"])}


def _groups(call: Call) -> Sequence[Tensor]:
    groups = [list(map(int, group)) for group in call.found["groups"]]
    members = torch.tensor([box for group in groups for box in group], dtype=torch.int32)
    return [members, torch.tensor([len(group) for group in groups], dtype=torch.int32)]


def _box_ious(call: Call, findings: Findings) -> _Case:
    make = _simple("box_iou_rotated", {"bbox1": "boxes1", "bbox2": "boxes2"}, {"ious": "ious"})
    operator, inputs, outputs, _ = make(call, findings)
    aligned = bool(call.given["aligned"])
    sizes = [len(each) for each in inputs.values()]
    outputs["ious"] = outputs["ious"].view(sizes[:1] if aligned else sizes)
    return operator, inputs, outputs, {"mode": int(call.given["mode_flag"]), "aligned": aligned}


# Features, filters with their layout, pairs [K, 2, L], their numbers; of rows in and out.
_Convolution = tuple[Tensor, tuple[Tensor, str], Tensor, Tensor]


def _mmcv_convolution(call: Call) -> _Convolution:
    given, features = call.given, call.given["features"]
    pairs = given["indicePairs"]
    pairs = directed_pairs(pairs, bool(given["_inverse"]), len(features))
    filters = _functions._filters(given["filters"], pairs)
    return features, (filters, "ARRAY"), pairs, given["indiceNum"]


def _native_convolution(call: Call) -> _Convolution:
    from mluop_omp.spconv import _convolutions

    given, features = call.given, call.given["features"]
    inverse, subm = bool(given.get("inverse", False)), bool(given.get("subm", False))
    arguments = (given["indice_pairs"], given["indice_pair_num"], len(features), inverse, subm)
    filters = _convolutions._filters(given["filters"])
    return features, (filters, "NDHWC"), *_convolutions._rulebook(*arguments)


def _implicit_convolution(call: Call) -> _Convolution:
    from mluop_omp.spconv import _convolutions

    features = call.given["features"]
    filters = _convolutions._filters(call.given["filters"])
    pairs = directed_by_output(call.given["pair_fwd"], len(features))
    return features, (filters, "NDHWC"), *pairs


def _convolution(parts: Callable[[Call], _Convolution]) -> Callable[[Call, Findings], _Case]:
    def make(call: Call, _: Findings) -> _Case:
        activation = call.given.get("act_type")
        has_activation = activation is not None and activation.name != "None_"
        if has_activation:
            raise ValueError("the call applies an activation")
        features, filters, pairs, num = parts(call)
        output, bias = call.found["output"], call.given.get("bias")
        if bias is not None:  # The operator has none.
            output = (output.double() - bias.double()).to(output.dtype)
        inputs = {"features": features, "filters": filters, "indice_pairs": pairs}
        parameters = {"num_active_out": len(output), **_numbers_of_pairs(num)}
        return "indice_convolution_forward", inputs, {"features_out": output}, parameters

    return make


def _gradient(
    parts: Callable[[Call], _Convolution], out_grad: str
) -> Callable[[Call, Findings], _Case]:
    def make(call: Call, findings: Findings) -> _Case:
        features, filters, pairs, num = parts(call)
        grad, parameters = call.given[out_grad], _numbers_of_pairs(num)
        if "grad_features" in findings.differences:
            inputs = {"output_grad": grad, "filters": filters, "indice_pairs": pairs}
            outputs = {"input_grad": call.found["grad_features"]}
            return "indice_convolution_backward_data", inputs, outputs, parameters
        inputs = {"features": features, "output_grad": grad, "indice_pairs": pairs}
        found = call.found["grad_filters"]
        if call.rule.layout == "KRSC":
            found = found.flatten(1, -2).permute(1, 2, 0)
        K, (Ci, Co) = len(pairs), (features.shape[1], grad.shape[1])
        found = found.reshape(-1, 1, 1, Ci, Co)[:K]
        outputs = {"filters_grad": found}
        return "indice_convolution_backward_filter", inputs, outputs, parameters

    return make


def _numbers_of_pairs(num: Tensor) -> dict[str, Any]:
    return {"inverse": 0, "sub_m": 0, "indice_num": num.tolist()}


def _backward(call: Call, findings: Findings) -> _Case:
    """indice_conv_backward of mmcv and of spconv have one name."""
    if call.rule.layout == "KRSC":
        return _gradient(_native_convolution, "out_bp")(call, findings)
    return _gradient(_mmcv_convolution, "outGrad")(call, findings)


def _deformable(
    operator: str, inputs: _Names, outputs: _Names
) -> Callable[[Call, Findings], _Case]:
    """The names are those of NHWC tensors, some of which are empty without bias."""

    def tensors(names: _Names, values: dict[str, Any]) -> dict[str, Any]:
        return {
            name: (values[of].permute(0, 2, 3, 1), "NHWC") if values[of].dim() == 4 else values[of]
            for name, of in names.items()
            if values[of].numel() > 0
        }

    def make(call: Call, _: Findings) -> _Case:
        given = call.given

        def pair(of_plain: str, of_modulated: str) -> list[int]:
            names = [f"{of_plain}H", f"{of_plain}W"]
            if "kW" not in given:
                names = [f"{of_modulated}_h", f"{of_modulated}_w"]
            return [int(given[name]) for name in names]

        height, width = pair("pad", "pad")
        parameters = {
            "dimnb": 4,
            "pad": [height, height, width, width],
            "stride": pair("d", "stride"),
            "dilation": pair("dilation", "dilation"),
            "deformable_group": int(given["deformable_group"]),
            "conv_group": int(given["group"]),
            "im2col_step": 1,
        }
        return operator, tensors(inputs, given), tensors(outputs, call.found), parameters

    return make


_SAMPLES = {"input": "input", "offset": "offset"}
_MASKED_SAMPLES = {**_SAMPLES, "mask": "mask"}
_DATA_OF_MODULATED = _deformable(
    "dcn_backward_data",
    {**_MASKED_SAMPLES, "filter": "weight", "grad_output": "grad_output"},
    {name: name for name in ("grad_input", "grad_offset", "grad_mask")},
)
_WEIGHT_OF_MODULATED = _deformable(
    "dcn_backward_weight",
    {**_MASKED_SAMPLES, "grad_output": "grad_output"},
    {"grad_filter": "grad_weight", "grad_bias": "grad_bias"},
)


def _modulated_backward(call: Call, findings: Findings) -> _Case:
    of_weight = findings.differences.keys() <= {"grad_weight", "grad_bias"}
    return (_WEIGHT_OF_MODULATED if of_weight else _DATA_OF_MODULATED)(call, findings)


_KEPT = ("output", "result_num")
_OVERLAP = {"boxes_a": "boxes_a", "boxes_b": "boxes_b"}
_GATHER = _simple(
    "gather_points_forward",
    {"features": "points_tensor", "indices": "idx_tensor"},
    {"output": "out_tensor"},
)
_INTERPOLATION = {"indices": "idx_tensor", "weights": "weight_tensor"}
_GATHER_BACKWARD = _added(
    "gather_points_backward",
    {"grad_output": "grad_out_tensor", "indices": "idx_tensor"},
    {"grad_features": "grad_points_tensor"},
)
_GROUPS = {
    "features_batch_cnt": "features_batch_cnt_tensor",
    "indices": "idx_tensor",
    "indices_batch_cnt": "idx_batch_cnt_tensor",
}
_ASSIGNED = {
    "points": "points_tensor",
    **{name: name for name in ("centers", "scores", "knn_idx")},
}
_MASKS = {"mask_h_idx": "mask_h_idx", "mask_w_idx": "mask_w_idx"}
_POINTS_IN_BOXES = {"boxes": "boxes_tensor", "points": "pts_tensor"}
_CASES: dict[str, Callable[[Call, Findings], _Case]] = {
    "assign_score_withk_backward": _added(
        "assign_score_withk_backward",
        {"grad_output": "grad_out", **_ASSIGNED},
        {name: name for name in ("grad_points", "grad_centers", "grad_scores")},
    ),
    "assign_score_withk_forward": _added(
        "assign_score_withk_forward", _ASSIGNED, {"output": "output"}
    ),
    "deform_conv_backward_input": _deformable(
        "dcn_backward_data",
        {**_SAMPLES, "filter": "weight", "grad_output": "gradOutput"},
        {"grad_input": "gradInput", "grad_offset": "gradOffset"},
    ),
    "deform_conv_backward_parameters": _deformable(
        "dcn_backward_weight",
        {**_SAMPLES, "grad_output": "gradOutput"},
        {"grad_filter": "gradWeight"},
    ),
    "deform_conv_forward": _deformable(
        "dcn_forward", {**_SAMPLES, "filter": "weight"}, {"output": "output"}
    ),
    "modulated_deform_conv_backward": _modulated_backward,
    "modulated_deform_conv_forward": _deformable(
        "dcn_forward", {**_MASKED_SAMPLES, "filter": "weight", "bias": "bias"}, {"output": "output"}
    ),
    "ball_query_forward": _simple(
        "ball_query",
        {"new_xyz": "new_xyz_tensor", "xyz": "xyz_tensor"},
        {"idx": "idx_tensor"},
        _ball_query,
    ),
    "box_iou_rotated": _box_ious,
    "dynamic_point_to_voxel_backward": _scatter_backward,
    "dynamic_point_to_voxel_forward": _scatter,
    "fused_indice_conv_forward": _convolution(_mmcv_convolution),
    "furthest_point_sampling_forward": _simple(
        "furthest_point_sample", {"points": "points_tensor"}, {"idx": "idx_tensor"}
    ),
    "furthest_point_sampling_with_dist_forward": _simple(
        "furthest_point_sample_with_dist", {"distances": "points_tensor"}, {"idx": "idx_tensor"}
    ),
    "gather_points_backward": _GATHER_BACKWARD,
    "gather_points_forward": _GATHER,
    "group_points_backward": _GATHER_BACKWARD,
    "group_points_forward": _GATHER,
    "get_indice_pairs": of_pairs,
    "get_indice_pairs_2d_forward": of_pairs,
    "get_indice_pairs_3d_forward": of_pairs,
    "get_indice_pairs_implicit_gemm": of_pairs,
    "hard_voxelize_forward": _voxelization,
    "implicit_gemm": _convolution(_implicit_convolution),
    "implicit_gemm_backward": _gradient(_implicit_convolution, "out_bp"),
    "indice_conv": _convolution(_native_convolution),
    "indice_conv_backward": _backward,
    "indice_conv_forward": _convolution(_mmcv_convolution),
    "indice_maxpool_backward": _maxpool(
        "indice_maxpool_backward",
        {"features": "features", "features_out": "outFeatures", "output_grad": "outGrad"},
        "input_grad",
    ),
    "indice_maxpool_forward": _maxpool(
        "indice_maxpool_forward", {"features": "features"}, "features_out"
    ),
    "iou3d_boxes_overlap_bev_forward": _simple(
        "boxes_overlap_bev", _OVERLAP, {"overlaps": "ans_iou"}
    ),
    "iou3d_nms3d_forward": _suppression(
        "nms",
        {"boxes": "boxes"},
        ("output", "output_size"),
        _threshold_of("nms_overlap_thresh"),
        _kept_of_sorted,
    ),
    "iou3d_nms3d_normal_forward": _suppression(
        "nms3d_normal",
        {"boxes": "boxes"},
        _KEPT,
        _threshold_of("nms_overlap_thresh"),
        _kept_of_sorted,
    ),
    "knn_forward": _knn,
    "masked_col2im_forward": _simple(
        "masked_col2im_forward", {"col": "col", **_MASKS}, {"im": "im"}, image="im"
    ),
    "masked_im2col_forward": _simple(
        "masked_im2col_forward",
        {"feature": "im", **_MASKS},
        {"data_col": "col"},
        _numbers("kernel_h", "kernel_w", "pad_h", "pad_w"),
        "feature",
    ),
    "nms": _suppression(
        "nms", {"boxes": "boxes", "confidence": "scores"}, ("output", "output_size"), _nms
    ),
    "nms_match": _suppression(
        "nms_match",
        {"dets": "dets"},
        ("members", "group_sizes", "group_num"),
        _threshold_of("iou_threshold"),
        _groups,
    ),
    "nms_rotated": _suppression(
        "nms_rotated",
        {"boxes": "dets", "scores": "scores"},
        _KEPT,
        _threshold_of("iou_threshold"),
    ),
    "points_in_boxes_all_forward": _simple(
        "points_in_boxes_all", _POINTS_IN_BOXES, {"is_inside": "box_idx_of_points_tensor"}
    ),
    "points_in_boxes_cpu_forward": _inside,
    "points_in_boxes_part_forward": _simple(
        "points_in_boxes_part", _POINTS_IN_BOXES, {"indices": "box_idx_of_points_tensor"}
    ),
    "ms_deform_attn_backward": _ms_deform_attn_backward,
    "ms_deform_attn_forward": _ms_deform_attn_forward,
    "roi_align_backward": _roi_align_backward,
    "roi_align_forward": _roi_align_forward,
    "roiaware_pool3d_backward": _simple(
        "roiaware_pool3d_backward",
        {name: name for name in ("pts_idx_of_voxels", "argmax", "grad_out")},
        {"grad_in": "grad_in"},
        lambda call: _voxel_numbers(call, call.given["grad_out"]),
    ),
    "roiaware_pool3d_forward": _simple(
        "roiaware_pool3d_forward",
        {name: name for name in ("rois", "pts", "pts_feature")},
        {name: name for name in ("argmax", "pts_idx_of_voxels", "pooled_features")},
        lambda call: {
            **_voxel_numbers(call, call.given["pooled_features"]),
            "pts_num": len(call.given["pts"]),
        },
    ),
    "roipoint_pool3d_forward": _simple(
        "roipoint_pool3d",
        {"points": "xyz", "point_features": "pts_feature", "boxes3d": "boxes3d"},
        {name: name for name in ("pooled_features", "pooled_empty_flag")},
        lambda call: {"num_sampled_points": call.given["pooled_features"].shape[2]},
    ),
    **{
        f"sigmoid_focal_loss_{name}": _simple(
            f"focal_loss_sigmoid_{name}",
            {each: each for each in ("input", "target", "weight")},
            {output: output},
            lambda call: {
                "reduction": "LOSS_REDUCTION_NONE",
                **{each: float(call.given[each]) for each in ("alpha", "gamma")},
            },
        )
        for name, output in (("forward", "output"), ("backward", "grad_input"))
    },
    "softnms": _suppression(
        "soft_nms",
        {"boxes": "boxes", "scores": "scores"},
        ("dets", "inds", "result_num"),
        _soft_nms,
        lambda call: [call.found["dets"], call.found["inds"]],
    ),
    "stack_ball_query_forward": _simple(
        "stack_ball_query",
        {
            "new_xyz": "new_xyz_tensor",
            "new_xyz_batch_cnt": "new_xyz_batch_cnt",
            "xyz": "xyz_tensor",
            "xyz_batch_cnt": "xyz_batch_cnt",
        },
        {"idx": "idx_tensor"},
        lambda call: {
            "max_radius": float(call.given["max_radius"]),
            "nsample": int(call.given["nsample"]),
        },
    ),
    "stack_group_points_backward": _added(
        "stack_group_points_backward",
        {"grad_output": "grad_out_tensor", **_GROUPS},
        {"grad_features": "grad_features_tensor"},
    ),
    "stack_group_points_forward": _simple(
        "stack_group_points_forward",
        {"features": "features_tensor", **_GROUPS},
        {"output": "out_tensor"},
    ),
    "three_interpolate_backward": _simple(
        "three_interpolate_backward",
        {"grad_output": "grad_out_tensor", **_INTERPOLATION},
        {"grad_features": "grad_points_tensor"},
    ),
    "three_interpolate_forward": _simple(
        "three_interpolate_forward",
        {"features": "points_tensor", **_INTERPOLATION},
        {"output": "out_tensor"},
    ),
    "three_nn_forward": _simple(
        "three_nn_forward",
        {"unknown": "unknown_tensor", "known": "known_tensor"},
        {"dist2": "dist2_tensor", "idx": "idx_tensor"},
    ),
}
