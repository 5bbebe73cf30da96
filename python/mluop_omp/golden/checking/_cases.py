"""Writes calls as operator cases: a text file, and a file of raw elements for each tensor."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from typing import Any, Callable

import torch
from torch import Tensor

from mluop_omp.golden import _output
from mluop_omp.golden._numbers import to_numpy
from mluop_omp.golden.checking._calls import HALF_TYPES, Call, Findings
from mluop_omp.golden.checking._pair_cases import of_pairs
from mluop_omp.golden.comparison import Comparison
from mluop_omp.mmcv import rows_of_three
from mluop_omp.torch import rulebooks

_DTYPES = {
    torch.float16: "HALF",
    torch.bfloat16: "BFLOAT16",
    torch.float32: "FLOAT",
    torch.int32: "INT32",
}
# Prefixes of operators that take half and bfloat16; all others take float.
_WITH_LOWER_PRECISION = (
    *("assign_score", "ball_query", "dcn", "focal_loss", "gather_points", "indice", "masked"),
    *("roi", "stack", "three"),
)

# Operator, inputs, outputs, parameters. A tensor may come with its layout.
_Case = tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]
_Make = Callable[[Call, Findings], _Case]


def write(folder: str, number: int, call: Call, findings: Findings) -> str:
    """Writes the arguments and results of the device; returns the name of the text file.

    Raises ValueError if no single operator of the C API computes the call.
    """
    make = _CASES.get(call.rule.name)
    if make is None:
        raise ValueError(f"{call.rule.name} has no operator case")
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
    """Returns the tensor in an element type that the operator takes and that holds its values."""
    if tensor.dtype in (torch.int64, torch.bool):
        return tensor.int()
    is_widened = tensor.dtype in HALF_TYPES and not operator.startswith(_WITH_LOWER_PRECISION)
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
    """Half of the largest error; sums in another order have smaller errors."""
    errors = [
        difference.worst[0].absolute
        for difference in findings.differences.values()
        if isinstance(difference, Comparison) and difference.worst
    ]
    finite = [error for error in errors if math.isfinite(error)]
    return max(finite) / 2 if finite else None


def _entries(text: str) -> Iterator[tuple[str, str, str]]:
    """Yields name, argument and kind of "name=argument:kind ..."; an argument may have the name."""
    for entry in text.split():
        pair, _, kind = entry.partition(":")
        name, _, argument = pair.partition("=")
        yield name, argument or name, kind


def _tensors(text: str, values: dict[str, Any]) -> dict[str, Any]:
    """Returns tensors by name. text: entries whose kind is a layout."""
    return {
        name: (values[argument], layout) if layout else values[argument]
        for name, argument, layout in _entries(text)
    }


def _parameters(text: str, call: Call) -> dict[str, Any]:
    """Returns parameters by name. text: entries whose kind is a type."""
    types: dict[str, Any] = {"int": int, "float": float, "bool": bool}
    return {name: types[kind](call.given[argument]) for name, argument, kind in _entries(text)}


def _simple(
    operator: str,
    inputs: str,
    outputs: str,
    parameters: str = "",
    more: Callable[[Call], dict[str, Any]] = lambda _: {},
) -> _Make:
    """Makes cases whose tensors and parameters are arguments of the call."""

    def make(call: Call, _: Findings) -> _Case:
        tensors = _tensors(inputs, call.given), _tensors(outputs, call.found)
        return operator, *tensors, {**_parameters(parameters, call), **more(call)}

    return make


def _pooled(operator: str, inputs: str, outputs: str, sizes: str = "") -> _Make:
    """Makes cases of RoI align; averages have no argmax."""

    def make(call: Call, findings: Findings) -> _Case:
        maxima = " argmax_x:NCHW argmax_y:NCHW" if call.given["pool_mode"] == 0 else ""
        is_forward = "output" in call.found
        tensors = (inputs, outputs + maxima) if is_forward else (inputs + maxima, outputs)
        parameters = "spatial_scale:float sampling_ratio:int aligned:bool pool_mode:int"
        return _simple(operator, *tensors, f"{sizes} {parameters}")(call, findings)

    return make


def _attention(prefix: str, tensors: str) -> str:
    """The inputs of attention, whose names have a prefix in the forward direction."""
    names = ("value", "spatial_shapes", "level_start_index", "sampling_loc", "attn_weight")
    arguments = (
        *("value", "value_spatial_shapes", "value_level_start_index"),
        *("sampling_locations", "attention_weights"),
    )
    return " ".join(f"{prefix}{n}={a}" for n, a in zip(names, arguments)) + tensors


def _by_heads(make: _Make, name: str) -> _Make:
    """Makes cases in which the tensor [B, Q, M D] of a name is [B, Q, M, D]."""

    def reshape(call: Call, findings: Findings) -> _Case:
        operator, inputs, outputs, parameters = make(call, findings)
        for tensors in (inputs, outputs):
            if name in tensors:
                flat, heads = tensors[name], call.given["value"].shape[2:]
                tensors[name] = flat.view(*flat.shape[:2], *heads)
        return operator, inputs, outputs, {**parameters, "im2col_step": 64}

    return reshape


def _voxel_numbers(call: Call, pooled: Tensor) -> dict[str, int]:
    """Parameters of RoI-aware pooling, from the shapes of its tensors."""
    names = "boxes_num", "out_x", "out_y", "out_z", "channels"
    listed = call.given["pts_idx_of_voxels"]
    return {
        **dict(zip(names, pooled.shape)),
        "max_pts_each_voxel": listed.shape[4],
        "pool_method": int(call.given["pool_method"]),
    }


def _knn(call: Call, findings: Findings) -> _Case:
    inputs = "xyz=xyz_tensor new_xyz=new_xyz_tensor"
    make = _simple("knn", inputs, "idx=idx_tensor dist2=dist2_tensor", "k=nsample:int")
    operator, tensors, outputs, parameters = make(call, findings)
    rows = {name: rows_of_three(name, each) for name, each in tensors.items()}
    return operator, rows, outputs, parameters


def _added(operator: str, inputs: str, outputs: str) -> _Make:
    """Makes cases of a function that adds sums to its outputs."""
    make = _simple(operator, inputs, outputs)

    def make_from_zeros(call: Call, findings: Findings) -> _Case:
        if any(each.any() for each in _tensors(outputs, call.given).values()):
            raise ValueError("the sums are added to nonzero numbers")
        return make(call, findings)

    return make_from_zeros


def _maxpool(operator: str, inputs: str, output: str) -> _Make:
    def make(call: Call, _: Findings) -> _Case:
        if "indicePairs" not in call.given:
            raise ValueError("pools of spconv have no operator case")
        tensors = _tensors(f"{inputs} indice_pairs=indicePairs", call.given)
        (found,) = call.found.values()
        return operator, tensors, {output: found}, {"indice_num": call.given["indiceNum"].tolist()}

    return make


def _voxelization(call: Call, findings: Findings) -> _Case:
    if not call.given.get("deterministic", True):
        raise ValueError("deterministic is False")
    make = _simple(
        "voxelization",
        "points voxel_size coors_range",
        "voxels coors num_points_per_voxel voxel_num",
        "max_points:int max_voxels:int",
    )
    operator, inputs, outputs, parameters = make(call, findings)
    outputs["voxel_num"] = outputs["voxel_num"].view(1)
    return operator, inputs, outputs, {**parameters, "ndim": 3, "deterministic": True}


def _reduction(call: Call) -> dict[str, str]:
    return {"reduce_type": f"REDUCE_MODE_{call.given['reduce_type'].upper()}"}


def _scatter_backward(call: Call, _: Findings) -> _Case:
    given = call.given
    inputs = (
        "grad_voxel_feats=grad_reduced_feats feats voxel_feats=reduced_feats "
        "point2voxel_map=coors_idx voxel_points_count=reduce_count"
    )
    number = torch.tensor([len(given["reduced_feats"])], dtype=torch.int32)
    tensors = {**_tensors(inputs, given), "voxel_num": number}
    outputs = _tensors("grad_feats", call.found)
    return "dynamic_point_to_voxel_backward", tensors, outputs, _reduction(call)


def _padded(values: Tensor, rows: int) -> Tensor:
    """Returns values padded with zeros to a number of rows."""
    return torch.cat((values, values.new_zeros(rows - len(values), *values.shape[1:])))


def _scatter(call: Call, _: Findings) -> _Case:
    found, expected = call.found, call.expected
    voxels = len(found["voxel_feats"])
    rows = max(voxels, len(expected["voxel_feats"]))
    outputs = {
        name: each if name == "point2voxel_map" else _padded(each, rows)
        for name, each in found.items()
    }
    outputs["voxel_num"] = torch.tensor([voxels])
    inputs = _tensors("feats coors", call.given)
    return "dynamic_point_to_voxel_forward", inputs, outputs, _reduction(call)


def _suppression(
    operator: str,
    inputs: str,
    outputs: str,
    parameters: str,
    found: Callable[[Call], Sequence[Tensor]] = lambda call: [call.found["kept"]],
    more: Callable[[Call], dict[str, Any]] = lambda _: {},
) -> _Make:
    """Makes cases whose outputs have a row for each box, padded with zeros, and their number.

    found: returns the rows that were found; the number counts the rows of the last tensor.
    """

    def make(call: Call, _: Findings) -> _Case:
        operands, values = _tensors(inputs, call.given), found(call)
        boxes = len(next(iter(operands.values())))
        tensors = [*(_padded(each, boxes) for each in values), torch.tensor([len(values[-1])])]
        named = dict(zip(outputs.split(), tensors))
        return operator, operands, named, {**_parameters(parameters, call), **more(call)}

    return make


def _inside(call: Call, _: Findings) -> _Case:
    inputs = {"boxes": call.given["boxes_tensor"][None], "points": call.given["pts_tensor"][None]}
    outputs = {"is_inside": call.found["pts_indices_tensor"].t()[None]}
    return "points_in_boxes_all", inputs, outputs, {}


def _kept_of_sorted(call: Call) -> Sequence[Tensor]:
    return [call.found["keep"][: max(int(call.found["num_out"]), 0)]]


def _all_boxes(call: Call) -> dict[str, Any]:
    # No box is dropped by its confidence.
    return {"max_output_boxes": len(call.given["boxes"]), "confidence_threshold": math.nan}


def _groups(call: Call) -> Sequence[Tensor]:
    groups = [list(map(int, group)) for group in call.found["groups"]]
    members = torch.tensor([box for group in groups for box in group], dtype=torch.int32)
    return [members, torch.tensor([len(group) for group in groups], dtype=torch.int32)]


def _box_ious(call: Call, findings: Findings) -> _Case:
    parameters = "mode=mode_flag:int aligned:bool"
    make = _simple("box_iou_rotated", "bbox1=boxes1 bbox2=boxes2", "ious", parameters)
    operator, inputs, outputs, named = make(call, findings)
    sizes = [len(each) for each in inputs.values()]
    outputs["ious"] = outputs["ious"].view(sizes[:1] if named["aligned"] else sizes)
    return operator, inputs, outputs, named


# Features, filters with their layout, pairs [K, 2, L], their numbers.
_Convolution = tuple[Tensor, tuple[Tensor, str], Tensor, Tensor]


def _mmcv_convolution(call: Call) -> _Convolution:
    given, features = call.given, call.given["features"]
    pairs = given["indicePairs"]
    pairs = rulebooks.directed_pairs(pairs, bool(given["_inverse"]), len(features))
    filters = rulebooks.filters_of_mmcv(given["filters"], pairs)
    return features, (filters, "ARRAY"), pairs, given["indiceNum"]


def _native_convolution(call: Call) -> _Convolution:
    given, features = call.given, call.given["features"]
    inverse, subm = bool(given.get("inverse", False)), bool(given.get("subm", False))
    arguments = (given["indice_pairs"], given["indice_pair_num"], len(features), inverse, subm)
    filters = rulebooks.filters_of_spconv(given["filters"])
    return features, (filters, "NDHWC"), *rulebooks.pairs_of_spconv(*arguments)


def _implicit_convolution(call: Call) -> _Convolution:
    features = call.given["features"]
    filters = rulebooks.filters_of_spconv(call.given["filters"])
    pairs = rulebooks.directed_by_output(call.given["pair_fwd"], len(features))
    return features, (filters, "NDHWC"), *pairs


def _convolution(parts: Callable[[Call], _Convolution]) -> _Make:
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


def _gradient(parts: Callable[[Call], _Convolution], out_grad: str) -> _Make:
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
    """indice_conv_backward: mmcv and spconv use the same name."""
    if call.rule.layout == "KRSC":
        return _gradient(_native_convolution, "out_bp")(call, findings)
    return _gradient(_mmcv_convolution, "outGrad")(call, findings)


def _deformable(operator: str, inputs: str, outputs: str) -> _Make:
    """Makes cases of deformable convolution with NHWC tensors, without empty ones such as bias."""

    def tensors(text: str, values: dict[str, Any]) -> dict[str, Any]:
        return {
            name: (each.permute(0, 2, 3, 1), "NHWC") if each.dim() == 4 else each
            for name, each in _tensors(text, values).items()
            if each.numel() > 0
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
            **_parameters("deformable_group:int conv_group=group:int", call),
            "im2col_step": 1,
        }
        return operator, tensors(inputs, given), tensors(outputs, call.found), parameters

    return make


_DATA_OF_MODULATED = _deformable(
    "dcn_backward_data",
    "input offset mask filter=weight grad_output",
    "grad_input grad_offset grad_mask",
)
_WEIGHT_OF_MODULATED = _deformable(
    "dcn_backward_weight",
    "input offset mask grad_output",
    "grad_filter=grad_weight grad_bias",
)


def _modulated_backward(call: Call, findings: Findings) -> _Case:
    of_weight = findings.differences.keys() <= {"grad_weight", "grad_bias"}
    return (_WEIGHT_OF_MODULATED if of_weight else _DATA_OF_MODULATED)(call, findings)


_GATHER = _simple(
    "gather_points_forward", "features=points_tensor indices=idx_tensor", "output=out_tensor"
)
_GATHER_BACKWARD = _added(
    "gather_points_backward",
    "grad_output=grad_out_tensor indices=idx_tensor",
    "grad_features=grad_points_tensor",
)
_INTERPOLATION = "indices=idx_tensor weights=weight_tensor"
_GROUPS = (
    "features_batch_cnt=features_batch_cnt_tensor indices=idx_tensor "
    "indices_batch_cnt=idx_batch_cnt_tensor"
)
_ASSIGNED = "points=points_tensor centers scores knn_idx"
_MASKS = "mask_h_idx mask_w_idx"
_POINTS_IN_BOXES = "boxes=boxes_tensor points=pts_tensor"
_CASES: dict[str, _Make] = {
    "assign_score_withk_backward": _added(
        "assign_score_withk_backward",
        f"grad_output=grad_out {_ASSIGNED}",
        "grad_points grad_centers grad_scores",
    ),
    "assign_score_withk_forward": _added("assign_score_withk_forward", _ASSIGNED, "output"),
    "ball_query_forward": _simple(
        "ball_query",
        "new_xyz=new_xyz_tensor xyz=xyz_tensor",
        "idx=idx_tensor",
        "min_radius:float max_radius:float nsample:int",
    ),
    "box_iou_rotated": _box_ious,
    "deform_conv_backward_input": _deformable(
        "dcn_backward_data",
        "input offset filter=weight grad_output=gradOutput",
        "grad_input=gradInput grad_offset=gradOffset",
    ),
    "deform_conv_backward_parameters": _deformable(
        "dcn_backward_weight", "input offset grad_output=gradOutput", "grad_filter=gradWeight"
    ),
    "deform_conv_forward": _deformable("dcn_forward", "input offset filter=weight", "output"),
    "dynamic_point_to_voxel_backward": _scatter_backward,
    "dynamic_point_to_voxel_forward": _scatter,
    "furthest_point_sampling_forward": _simple(
        "furthest_point_sample", "points=points_tensor", "idx=idx_tensor"
    ),
    "furthest_point_sampling_with_dist_forward": _simple(
        "furthest_point_sample_with_dist", "distances=points_tensor", "idx=idx_tensor"
    ),
    "fused_indice_conv_forward": _convolution(_mmcv_convolution),
    "gather_points_backward": _GATHER_BACKWARD,
    "gather_points_forward": _GATHER,
    "get_indice_pairs": of_pairs,
    "get_indice_pairs_2d_forward": of_pairs,
    "get_indice_pairs_3d_forward": of_pairs,
    "get_indice_pairs_implicit_gemm": of_pairs,
    "group_points_backward": _GATHER_BACKWARD,
    "group_points_forward": _GATHER,
    "hard_voxelize_forward": _voxelization,
    "implicit_gemm": _convolution(_implicit_convolution),
    "implicit_gemm_backward": _gradient(_implicit_convolution, "out_bp"),
    "indice_conv": _convolution(_native_convolution),
    "indice_conv_backward": _backward,
    "indice_conv_forward": _convolution(_mmcv_convolution),
    "indice_maxpool_backward": _maxpool(
        "indice_maxpool_backward",
        "features features_out=outFeatures output_grad=outGrad",
        "input_grad",
    ),
    "indice_maxpool_forward": _maxpool("indice_maxpool_forward", "features", "features_out"),
    "iou3d_boxes_overlap_bev_forward": _simple(
        "boxes_overlap_bev", "boxes_a boxes_b", "overlaps=ans_iou"
    ),
    "iou3d_nms3d_forward": _suppression(
        "nms",
        "boxes",
        "output output_size",
        "iou_threshold=nms_overlap_thresh:float",
        _kept_of_sorted,
    ),
    "iou3d_nms3d_normal_forward": _suppression(
        "nms3d_normal",
        "boxes",
        "output result_num",
        "iou_threshold=nms_overlap_thresh:float",
        _kept_of_sorted,
    ),
    "knn_forward": _knn,
    "masked_col2im_forward": _simple("masked_col2im_forward", f"col {_MASKS}", "im:NCHW"),
    "masked_im2col_forward": _simple(
        "masked_im2col_forward",
        f"feature=im:NCHW {_MASKS}",
        "data_col=col",
        "kernel_h:int kernel_w:int pad_h:int pad_w:int",
    ),
    "modulated_deform_conv_backward": _modulated_backward,
    "modulated_deform_conv_forward": _deformable(
        "dcn_forward", "input offset mask filter=weight bias", "output"
    ),
    "ms_deform_attn_backward": _by_heads(
        _simple(
            "ms_deform_attn_backward",
            _attention("", " grad_output"),
            "grad_value grad_sampling_loc grad_attn_weight",
        ),
        "grad_output",
    ),
    "ms_deform_attn_forward": _by_heads(
        _simple("ms_deform_attn_forward", _attention("data_", ""), "data_col=output"), "data_col"
    ),
    "nms": _suppression(
        "nms",
        "boxes confidence=scores",
        "output output_size",
        "iou_threshold:float offset:int",
        more=_all_boxes,
    ),
    "nms_match": _suppression(
        "nms_match", "dets", "members group_sizes group_num", "iou_threshold:float", _groups
    ),
    "nms_rotated": _suppression(
        "nms_rotated", "boxes=dets scores", "output result_num", "iou_threshold:float"
    ),
    "points_in_boxes_all_forward": _simple(
        "points_in_boxes_all", _POINTS_IN_BOXES, "is_inside=box_idx_of_points_tensor"
    ),
    "points_in_boxes_cpu_forward": _inside,
    "points_in_boxes_part_forward": _simple(
        "points_in_boxes_part", _POINTS_IN_BOXES, "indices=box_idx_of_points_tensor"
    ),
    "roi_align_backward": _pooled(
        "roi_align_backward_v2", "grads=grad_output:NCHW boxes=rois", "grads_image=grad_input:NCHW"
    ),
    "roi_align_forward": _pooled(
        "roi_align_forward_v2",
        "input:NCHW boxes=rois",
        "output:NCHW",
        "pooled_height=aligned_height:int pooled_width=aligned_width:int",
    ),
    "roiaware_pool3d_backward": _simple(
        "roiaware_pool3d_backward",
        "pts_idx_of_voxels argmax grad_out",
        "grad_in",
        more=lambda call: _voxel_numbers(call, call.given["grad_out"]),
    ),
    "roiaware_pool3d_forward": _simple(
        "roiaware_pool3d_forward",
        "rois pts pts_feature",
        "argmax pts_idx_of_voxels pooled_features",
        more=lambda call: {
            **_voxel_numbers(call, call.given["pooled_features"]),
            "pts_num": len(call.given["pts"]),
        },
    ),
    "roipoint_pool3d_forward": _simple(
        "roipoint_pool3d",
        "points=xyz point_features=pts_feature boxes3d",
        "pooled_features pooled_empty_flag",
        more=lambda call: {"num_sampled_points": call.given["pooled_features"].shape[2]},
    ),
    **{
        f"sigmoid_focal_loss_{name}": _simple(
            f"focal_loss_sigmoid_{name}",
            "input target weight",
            output,
            "alpha:float gamma:float",
            lambda _: {"reduction": "LOSS_REDUCTION_NONE"},
        )
        for name, output in (("forward", "output"), ("backward", "grad_input"))
    },
    "softnms": _suppression(
        "soft_nms",
        "boxes scores",
        "dets inds result_num",
        "iou_threshold:float sigma:float min_score:float method:int offset:int",
        lambda call: [call.found["dets"], call.found["inds"]],
    ),
    "stack_ball_query_forward": _simple(
        "stack_ball_query",
        "new_xyz=new_xyz_tensor new_xyz_batch_cnt xyz=xyz_tensor xyz_batch_cnt",
        "idx=idx_tensor",
        "max_radius:float nsample:int",
    ),
    "stack_group_points_backward": _added(
        "stack_group_points_backward",
        f"grad_output=grad_out_tensor {_GROUPS}",
        "grad_features=grad_features_tensor",
    ),
    "stack_group_points_forward": _simple(
        "stack_group_points_forward", f"features=features_tensor {_GROUPS}", "output=out_tensor"
    ),
    "three_interpolate_backward": _simple(
        "three_interpolate_backward",
        f"grad_output=grad_out_tensor {_INTERPOLATION}",
        "grad_features=grad_points_tensor",
    ),
    "three_interpolate_forward": _simple(
        "three_interpolate_forward",
        f"features=points_tensor {_INTERPOLATION}",
        "output=out_tensor",
    ),
    "three_nn_forward": _simple(
        "three_nn_forward",
        "unknown=unknown_tensor known=known_tensor",
        "dist2=dist2_tensor idx=idx_tensor",
    ),
}
