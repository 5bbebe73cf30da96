"""Each operator through each interface that has it: functions with the arguments of mluop_omp's.

A function returns a tuple of outputs, of which later ones may be missing. Outputs that a caller
provides are full of NaN, or of a number that no result has.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import math
import sys
import types
from typing import Any, Callable, NamedTuple

import cases
import torch

import mluop_omp
import mluop_omp.bevdepth
import mluop_omp.bevdet
import mluop_omp.bevfusion
import mluop_omp.deformable_detr
import mluop_omp.pcdet
import mluop_omp.pointnet2
import mluop_omp.pointops
import mluop_omp.torch  # noqa: F401  registers the operators
from mluop_omp._operators import operators

Function = Callable[..., tuple]
INTERFACES: dict[str, dict[str, Function]] = {}


def _tuple(output: Any) -> tuple:
    return tuple(output) if isinstance(output, (tuple, list)) else (output,)


def unwritten(like: torch.Tensor, *shape: int) -> torch.Tensor:
    return like.new_full(shape, float("nan") if like.is_floating_point() else 0x5A5A5A5A)


def _integers(*shape: int) -> torch.Tensor:
    return unwritten(torch.empty(0, dtype=torch.int32), *shape)


def as_array(filters: torch.Tensor, layout: str) -> torch.Tensor:
    """Returns filters of a layout as [D, H, W, Ci, Co]."""
    orders = {"NDHWC": (1, 2, 3, 4, 0), "NCDHW": (2, 3, 4, 1, 0)}
    return filters if layout == "ARRAY" else filters.permute(orders[layout])


def _of(function: Callable[..., Any]) -> Function:
    return lambda *arguments: _tuple(function(*arguments))


INTERFACES["NumPy"] = {name: _of(getattr(mluop_omp, name)) for name in cases.NAMES}
INTERFACES["PyTorch"] = {name: _of(getattr(torch.ops.mluop_omp, name)) for name in cases.NAMES}


class Row(NamedTuple):
    """A function of a library that computes an operator.

    tensors: what it takes first: arguments of the operator by their names, `name.method` for the
        result of a method; 0, 1, ...: outputs of the operator that it writes; +0: that it adds to;
        -: scratch memory, which is not used.
    numbers: of the operator's arguments by their names, what it takes by name. Other parameters
        are the operator's arguments of these names, or 0: sizes, which the tensors state.
    """

    function: str
    tensors: str
    numbers: Callable[..., dict[str, Any]] = lambda **_: {}


def _outputs(name: str, arguments: tuple) -> list[torch.Tensor]:
    """Returns the outputs of an operator as a caller provides them."""
    meta = (a.to("meta") if isinstance(a, torch.Tensor) else a for a in arguments)
    outputs = _tuple(getattr(torch.ops.mluop_omp, name)(*meta))
    return [unwritten(torch.empty(0, dtype=each.dtype), *each.shape) for each in outputs]


def _of_row(name: str, row: Row, module: types.ModuleType) -> Function:
    names = list(getattr(operators, name).signature.parameters)
    parameters = list(inspect.signature(getattr(module, row.function)).parameters.values())
    words = row.tensors.split()

    def call(*arguments: Any) -> tuple:
        given = dict(zip(names, arguments))
        writes = any(word.strip("+").isdigit() for word in words)
        outputs = _outputs(name, arguments) if writes else []

        def value(word: str) -> Any:
            if word == "-":
                return arguments[0].new_empty(0)
            if word.strip("+").isdigit():
                output = outputs[int(word[-1])]
                return output.zero_() if word[0] == "+" else output
            argument, _, method = word.partition(".")
            return getattr(given[argument], method)() if method else given[argument]

        others = [p.name for p in parameters[len(words) :] if p.kind is not p.VAR_KEYWORD]
        numbers = {**{each: given.get(each, 0) for each in others}, **row.numbers(**given)}
        # While a check runs, the module has other functions.
        result = getattr(module, row.function)(*map(value, words), **numbers)
        return tuple(outputs) if writes else _tuple(result)

    return call


def _deformable(weight, stride, padding, dilation, groups, deformable_groups, **_):
    pairs = {"kernel": weight.shape[2:], "stride": stride, "pad": padding, "dilation": dilation}
    axes = {f"{key}_{axis}": size for key, pair in pairs.items() for axis, size in zip("hw", pair)}
    return {**axes, "group": groups, "deformable_group": deformable_groups, "with_bias": True}


def _mode(mode, **_):
    return {"mode": ("iou", "iof").index(mode)}


def _samples(num_points, **_):
    return {"m": num_points}


def _mask(mask_size, psa_type, **_):
    h, w = mask_size
    sizes = {"h_mask": h, "w_mask": w, "half_h_mask": (h - 1) // 2, "half_w_mask": (w - 1) // 2}
    return {"psa_type": ("collect", "distribute").index(psa_type), **sizes}


def _displacements(
    kernel_size, patch_size, stride, padding, dilation, dilation_patch, **_
) -> dict[str, Any]:
    pairs = {
        "k": kernel_size,
        "patch": patch_size,
        "d": stride,
        "pad": padding,
        "dilation": dilation,
        "dilation_patch": dilation_patch,
    }
    return {name + axis: size for name, pair in pairs.items() for axis, size in zip("HW", pair)}


def _bins(method, output_size=(), grad_output=None, **_):
    height, width = output_size or grad_output.shape[2:]
    mode = ("max", "mean").index(method)
    return {"aligned_height": height, "aligned_width": width, "pool_mode": mode}


def _rotated_bins(output_size=(), grad_output=None, **_):
    height, width = output_size or grad_output.shape[2:]
    return {"pooled_height": height, "pooled_width": width}


def _pooled(output_size, **_):
    return {"pooled_height": output_size[0], "pooled_width": output_size[1]}


def _aligned_bins(output_size=(), grad_output=None, **_):
    height, width = output_size or grad_output.shape[2:]
    return {"aligned_height": height, "aligned_width": width}


def _pool_method(method, **_):
    return {"pool_method": ("max", "mean").index(method)}


# The functions of mmcv._ext.
MMCV = {
    "active_rotated_filter": Row("active_rotated_filter_forward", "input indices 0"),
    "active_rotated_filter_backward": Row(
        "active_rotated_filter_backward", "grad_output indices 0"
    ),
    "assign_score_withk": Row("assign_score_withk_forward", "points centers scores knn_idx +0"),
    "assign_score_withk_backward": Row(
        "assign_score_withk_backward", "grad_output points centers scores knn_idx +1 +2 +0"
    ),
    "ball_query": Row("ball_query_forward", "new_xyz xyz +0"),
    "bbox_overlaps": Row("bbox_overlaps", "boxes1 boxes2 0", _mode),
    "bezier_align": Row("bezier_align_forward", "input rois 0", _aligned_bins),
    "bezier_align_backward": Row("bezier_align_backward", "grad_output rois +0", _aligned_bins),
    "boxes_overlap_bev": Row("iou3d_boxes_overlap_bev_forward", "boxes_a boxes_b 0"),
    "carafe": Row("carafe_forward", "features masks - - - 0"),
    "carafe_backward": Row("carafe_naive_backward", "grad_output features masks 0 1"),
    "chamfer_distance": Row("chamfer_distance_forward", "xyz1 xyz2 0 1 2 3"),
    "chamfer_distance_backward": Row(
        "chamfer_distance_backward", "xyz1 xyz2 idx1 idx2 grad_dist1 grad_dist2 +0 +1"
    ),
    "convex_giou": Row("convex_giou", "pointsets polygons 0"),
    "convex_iou": Row("convex_iou", "pointsets polygons 0"),
    "correlation": Row("correlation_forward", "input1 input2 0", _displacements),
    "correlation_backward": Row(
        "correlation_backward", "grad_output input1 input2 0 1", _displacements
    ),
    "deform_conv2d": Row(
        "modulated_deform_conv_forward", "input weight bias - offset mask 0 -", _deformable
    ),
    "diff_iou_rotated_sort_vertices": Row(
        "diff_iou_rotated_sort_vertices_forward", "vertices mask num_valid"
    ),
    "dynamic_scatter": Row("dynamic_point_to_voxel_forward", "feats coors reduce"),
    "dynamic_scatter_backward": Row(
        "dynamic_point_to_voxel_backward",
        "0 grad_voxel_feats feats voxel_feats point2voxel_map voxel_points_count reduce",
    ),
    "furthest_point_sample": Row("furthest_point_sampling_forward", "points - 0", _samples),
    "furthest_point_sample_with_dist": Row(
        "furthest_point_sampling_with_dist_forward", "distances - 0", _samples
    ),
    "gather_points": Row("gather_points_forward", "features indices 0"),
    "gather_points_backward": Row("gather_points_backward", "grad_output indices +0"),
    "indice_maxpool": Row("indice_maxpool_forward", "features pairs num num_out"),
    "indice_maxpool_backward": Row(
        "indice_maxpool_backward", "features features_out output_grad pairs num"
    ),
    "masked_col2im": Row(
        "masked_col2im_forward",
        "col mask_h_idx mask_w_idx 0",
        lambda size, **_: {"height": size[0], "width": size[1]},
    ),
    "masked_im2col": Row(
        "masked_im2col_forward",
        "feature mask_h_idx mask_w_idx 0",
        lambda kernel, pad, **_: dict(
            zip(("kernel_h", "kernel_w", "pad_h", "pad_w"), (*kernel, *pad))
        ),
    ),
    "min_area_polygons": Row("min_area_polygons", "pointsets 0"),
    "nms": Row("nms", "boxes scores"),
    "nms_quadri": Row("nms_quadri", "boxes scores - boxes"),
    "nms_rotated": Row("nms_rotated", "boxes scores - boxes -"),
    "points_in_boxes_all": Row("points_in_boxes_all_forward", "boxes points 0"),
    "points_in_boxes_part": Row("points_in_boxes_part_forward", "boxes points 0"),
    "points_in_polygons": Row("points_in_polygons_forward", "points polygons 0"),
    "psamask": Row("psamask_forward", "input 0", _mask),
    "psamask_backward": Row("psamask_backward", "grad_output 0", _mask),
    "prroi_pool": Row("prroi_pool_forward", "input rois 0", _pooled),
    "prroi_pool_backward": Row("prroi_pool_backward", "grad_output rois +0"),
    "prroi_pool_coor_backward": Row("prroi_pool_coor_backward", "output grad_output input rois +0"),
    "roi_align": Row("roi_align_forward", "input rois 0 1 2", _bins),
    "roi_align_backward": Row("roi_align_backward", "grad_output rois argmax_y argmax_x +0", _bins),
    "border_align": Row("border_align_forward", "input boxes 0 1"),
    "border_align_backward": Row("border_align_backward", "grad_output boxes argmax_idx +0"),
    "riroi_align_rotated": Row("riroi_align_rotated_forward", "input rois 0", _rotated_bins),
    "riroi_align_rotated_backward": Row(
        "riroi_align_rotated_backward", "grad_output rois +0", _rotated_bins
    ),
    "roi_align_rotated": Row("roi_align_rotated_forward", "input rois 0", _rotated_bins),
    "roi_align_rotated_backward": Row(
        "roi_align_rotated_backward", "grad_output rois +0", _rotated_bins
    ),
    "rotated_feature_align": Row("rotated_feature_align_forward", "input boxes 0"),
    "rotated_feature_align_backward": Row("rotated_feature_align_backward", "grad_output boxes +0"),
    "roiaware_pool3d": Row("roiaware_pool3d_forward", "rois pts pts_feature 1 2 0", _pool_method),
    "roiaware_pool3d_backward": Row(
        "roiaware_pool3d_backward", "pts_idx_of_voxels argmax grad_out +0", _pool_method
    ),
    "roipoint_pool3d": Row("roipoint_pool3d_forward", "points boxes3d point_features 0 1"),
    "sigmoid_focal_loss": Row("sigmoid_focal_loss_forward", "input target.long weight 0"),
    "sigmoid_focal_loss_backward": Row("sigmoid_focal_loss_backward", "input target.long weight 0"),
    "softmax_focal_loss": Row("softmax_focal_loss_forward", "softmax target.long weight 0"),
    "softmax_focal_loss_backward": Row(
        "softmax_focal_loss_backward", "softmax target.long weight 0 1"
    ),
    "stack_ball_query": Row(
        "stack_ball_query_forward", "new_xyz new_xyz_batch_cnt xyz xyz_batch_cnt 0"
    ),
    "stack_group_points": Row(
        "stack_group_points_forward", "features features_batch_cnt indices indices_batch_cnt 0"
    ),
    "stack_group_points_backward": Row(
        "stack_group_points_backward",
        "grad_output indices indices_batch_cnt features_batch_cnt +0",
    ),
    "sync_bn_backward_data": Row(
        "sync_bn_backward_data", "grad_output weight grad_weight grad_bias norm std 0"
    ),
    "sync_bn_backward_param": Row("sync_bn_backward_param", "grad_output norm 0 1"),
    "sync_bn_forward_mean": Row("sync_bn_forward_mean", "input 0"),
    "sync_bn_forward_var": Row("sync_bn_forward_var", "input mean 0"),
    "three_interpolate": Row("three_interpolate_forward", "features indices weights 0"),
    "three_interpolate_backward": Row(
        "three_interpolate_backward", "grad_output indices weights 0"
    ),
    "three_nn": Row("three_nn_forward", "unknown known 0 1"),
    "tin_shift": Row("tin_shift_forward", "input shifts 0"),
    "tin_shift_backward": Row("tin_shift_backward", "grad_output shifts 0"),
}


class Mmcv:
    """The functions of mmcv._ext with other arguments."""

    rows = MMCV

    def __init__(self) -> None:
        importlib.import_module("mluop_omp.mmcv.auto")
        self.ext = self.library = sys.modules["mmcv._ext"]

    def box_iou_rotated(self, *arguments):
        return self._ious(self.ext.box_iou_rotated, *arguments)

    def box_iou_quadri(self, *arguments):
        return self._ious(self.ext.box_iou_quadri, *arguments)

    def _ious(self, function, boxes1, boxes2, mode, aligned):
        shape = (len(boxes1),) if aligned else (len(boxes1), len(boxes2))
        ious = unwritten(boxes1, math.prod(shape))  # Flat, as mmcv's.
        mode_flag = ("iou", "iof").index(mode)
        function(boxes1, boxes2, ious, mode_flag=mode_flag, aligned=aligned)
        return (ious.view(shape),)

    def nms3d(self, boxes, scores, iou_threshold):
        return self._kept(self.ext.iou3d_nms3d_forward, boxes, scores, iou_threshold)

    def nms3d_normal(self, boxes, scores, iou_threshold):
        return self._kept(self.ext.iou3d_nms3d_normal_forward, boxes, scores, iou_threshold)

    def _kept(self, nms_of_sorted, boxes, scores, iou_threshold):
        order = scores.sort(0, descending=True)[1]
        keep, num_out = unwritten(order, len(order)), unwritten(order)
        nms_of_sorted(boxes[order], keep, num_out, nms_overlap_thresh=iou_threshold)
        return (order[keep[:num_out]],)

    def soft_nms(self, boxes, scores, *arguments):
        *numbers, method, offset = arguments
        dets = unwritten(boxes, len(boxes), 5)
        method = ("naive", "linear", "gaussian").index(method)
        inds = self.ext.softnms(boxes, scores, dets, *numbers, method=method, offset=offset)
        return dets[: len(inds)], inds

    def nms_match(self, dets, iou_threshold):
        groups = self.ext.nms_match(dets, iou_threshold)
        sizes = torch.tensor([len(group) for group in groups], dtype=torch.int32)
        return torch.tensor(sum(groups, []), dtype=torch.int32), sizes

    def sync_bn_forward_output(self, input, mean, *arguments):
        *tensors, eps = arguments
        outputs = [unwritten(each, *each.shape) for each in (input, mean, input)]
        self.ext.sync_bn_forward_output(
            *(input, mean, *tensors, None, None, *outputs), eps=eps, momentum=0.1, group_size=1
        )
        return outputs

    def contour_expand(self, mask, labels, *numbers):
        rows = self.ext.contour_expand(mask, labels, *numbers)
        return (torch.tensor(rows, dtype=torch.int32).view(labels.shape),)

    def pixel_group(self, score, *arguments):
        regions = self.ext.pixel_group(score, *arguments)
        dtype = torch.promote_types(score.dtype, torch.float32)
        labels = torch.zeros(score.shape, dtype=torch.int32)
        for label, (_, count, *numbers) in enumerate(regions):
            x, y = torch.tensor(numbers).long().view(-1, 2).T
            labels[y, x] = label
            assert count == len(x) and (y * score.shape[1] + x).diff().gt(0).all()
        scores = torch.tensor([region[0] for region in regions], dtype=dtype)
        return scores, torch.tensor([region[1] for region in regions]).int(), labels

    def ms_deform_attn(self, value, shapes, starts, locations, weights):
        arguments = (value, shapes.long(), starts.long(), locations, weights)
        output = self.ext.ms_deform_attn_forward(*arguments, im2col_step=64)
        return (output.view(*output.shape[:2], *value.shape[2:]),)

    def ms_deform_attn_backward(self, grad, value, shapes, starts, locations, weights):
        grads = [torch.zeros_like(each) for each in (value, locations, weights)]
        arguments = (value, shapes.long(), starts.long(), locations, weights, grad.flatten(2))
        self.ext.ms_deform_attn_backward(*arguments, *grads, im2col_step=64)
        return tuple(grads)

    def deform_conv2d_backward_data(self, grad, image, offset, weight, mask, *geometry):
        return self._deform_conv_backward(grad, image, offset, weight, mask, *geometry)[:3]

    def deform_conv2d_backward_weight(self, grad, image, offset, mask, kernel, *geometry):
        weight = image.new_zeros(grad.shape[1], image.shape[1] // geometry[3], *kernel)
        return self._deform_conv_backward(grad, image, offset, weight, mask, *geometry)[3:]

    def _deform_conv_backward(self, grad, image, offset, weight, mask, *geometry):
        bias, scratch = grad.new_zeros(grad.shape[1]), image.new_empty(0)
        inputs = (image, weight, bias, scratch, offset, mask, scratch)
        gradients = [torch.zeros_like(each) for each in (image, weight, bias, offset, mask)]
        numbers = _deformable(weight, *geometry)
        self.ext.modulated_deform_conv_backward(*inputs, *gradients, grad, **numbers)
        of_image, of_weight, of_bias, of_offset, of_mask = gradients
        return of_image, of_offset, of_mask, of_weight, of_bias

    def deform_roi_pool(self, input, rois, offset, output_size, *numbers):
        output = unwritten(input, len(rois), input.shape[1], *output_size)
        self.ext.deform_roi_pool_forward(input, rois, offset, output, *output_size, *numbers)
        return (output,)

    def deform_roi_pool_backward(self, grad, input, rois, offset, *numbers):
        gradients = torch.zeros_like(input), torch.zeros_like(offset)
        arguments = grad, input, rois, offset, *gradients, *grad.shape[2:], *numbers
        self.ext.deform_roi_pool_backward(*arguments)
        return gradients

    def roi_pool(self, input, rois, output_size, scale, rounded):
        if rounded:  # mmcv does not round corners.
            return mluop_omp.torch.roi_pool(input, rois, output_size, scale, rounded)
        shape = len(rois), input.shape[1], *output_size
        output, argmax = unwritten(input, *shape), _integers(*shape)
        self.ext.roi_pool_forward(input, rois, output, argmax, *output_size, scale)
        return output, argmax

    def roi_pool_backward(self, grad, rois, argmax, image_size):
        B, H, W = image_size
        grad_input = grad.new_zeros(B, grad.shape[1], H, W)
        self.ext.roi_pool_backward(grad, rois, argmax, grad_input, *grad.shape[2:], 0.5)
        return (grad_input,)

    def knn(self, xyz, new_xyz, k):
        (B, M, _), N = new_xyz.shape, xyz.shape[1]
        dtype = torch.promote_types(xyz.dtype, torch.float32)
        dist2, idx = unwritten(torch.empty(0, dtype=dtype), B, M, k), _integers(B, M, k)
        self.ext.knn_forward(xyz, new_xyz, idx, dist2, b=B, n=N, m=M, nsample=k)
        return dist2, idx

    def voxelization(self, points, voxel_size, coors_range, max_points, max_voxels):
        voxels = unwritten(points, max_voxels, max_points, points.shape[1])
        coors, counts, found = _integers(max_voxels, 3), _integers(max_voxels), torch.tensor(-1)
        size, bounds = torch.tensor(voxel_size), torch.tensor(coors_range)
        arguments = (points, size, bounds, voxels, coors, counts, found, max_points, max_voxels)
        self.ext.hard_voxelize_forward(*arguments, NDim=3, deterministic=True)
        for output in (voxels, coors, counts):
            assert not output[found:].any()
        return voxels[:found], coors[:found], counts[:found]

    def indice_pairs(self, indices, batch, space, kernel, stride, pad, dilation, subm):
        geometry = space, kernel, stride, pad, dilation
        out = space if subm else mluop_omp._operators.sparse_conv.output_space(*geometry)
        arguments = (batch, out, *geometry, [0] * len(space), subm, False)
        get_pairs = getattr(self.ext, f"get_indice_pairs_{len(space)}d_forward")
        return tuple(get_pairs(indices, *arguments))

    def indice_conv(self, features, filters, pairs, num, num_out, subm, layout):
        filters = as_array(filters, layout)
        return (self.ext.indice_conv_forward(features, filters, pairs, num, num_out, 0, subm),)

    def indice_conv_backward_data(self, grad_output, filters, pairs, num, layout):
        filters = as_array(filters, layout)
        features = grad_output.new_zeros(pairs.shape[2], filters.shape[-2])
        arguments = (features, filters, grad_output, pairs, num, 0, False)
        return (self.ext.indice_conv_backward(*arguments)[0],)

    def indice_conv_backward_filter(self, features, grad_output, pairs, num, kernel):
        filters = features.new_zeros(*kernel, features.shape[1], grad_output.shape[1])
        arguments = (features, filters, grad_output, pairs, num, 0, False)
        return (self.ext.indice_conv_backward(*arguments)[1],)


class MmcvGroups:
    """Groups of one point each."""

    def __init__(self) -> None:
        self.ext = Mmcv().ext

    def gather_points(self, features, indices):
        out = unwritten(features, *features.shape[:2], indices.shape[1], 1)
        self.ext.group_points_forward(features, indices.unsqueeze(2), out, b=0, nsample=0)
        return (out.squeeze(3),)

    def gather_points_backward(self, grad_output, indices, N):
        grad = grad_output.new_zeros(*grad_output.shape[:2], N)
        arguments = grad_output.unsqueeze(3), indices.unsqueeze(2), grad
        self.ext.group_points_backward(*arguments, b=0, c=0, n=0, npoints=0, nsample=0)
        return (grad,)


class MmcvCarafe:
    """carafe_naive_forward, and carafe_backward with what carafe_forward keeps for it."""

    def __init__(self) -> None:
        self.ext = Mmcv().ext

    def carafe(self, features, masks, *numbers):
        output = unwritten(features, *features.shape[:2], *masks.shape[2:])
        self.ext.carafe_naive_forward(features, masks, output, *numbers)
        return (output,)

    def carafe_backward(self, grad, features, masks, *numbers):
        kept, scratch = features.new_zeros(features.shape), features.new_empty(0)
        output = features.new_empty(*features.shape[:2], *masks.shape[2:])
        self.ext.carafe_forward(features, masks, kept, scratch, scratch, output, *numbers)
        gradients = unwritten(features, *features.shape), unwritten(masks, *masks.shape)
        unused = [scratch] * 4
        self.ext.carafe_backward(grad, kept, masks, *unused, *gradients, *numbers)
        return gradients


class Mmcv4d:
    """Sparse convolutions with a fourth axis of one cell."""

    def __init__(self) -> None:
        self.mmcv = Mmcv()

    def indice_pairs(self, indices, batch, *geometry_and_subm):
        *geometry, subm = geometry_and_subm
        space, kernel, stride, pad, dilation = (
            (*values, last) for values, last in zip(geometry, (1, 1, 1, 0, 1))
        )
        out = mluop_omp._operators.sparse_conv.output_space(space, kernel, stride, pad, dilation)
        indices = torch.nn.functional.pad(indices, (0, 1))
        sites, pairs, num = self.mmcv.ext.get_indice_pairs_4d_forward(
            indices, batch, out, space, kernel, stride, pad, dilation, [0] * 4, subm, False
        )
        return sites[:, :-1], pairs, num


class Spconv:
    """The functions of spconv.pytorch.ops: filters are [Co, D, H, W, Ci], pairs [2, K, L]."""

    def __init__(self) -> None:
        from spconv.core import ConvAlgo
        from spconv.pytorch import ops

        import mluop_omp.spconv

        mluop_omp.spconv.install()
        self.ops, self.algo = ops, ConvAlgo.Native

    def indice_pairs(self, indices, batch, space, kernel, stride, pad, dilation, subm):
        arguments = (kernel, stride, pad, dilation, [0, 0, 0], subm)
        sites, pairs, num = self.ops.get_indice_pairs(indices, batch, space, self.algo, *arguments)
        return sites, pairs.transpose(0, 1), num

    def indice_conv(self, features, filters, pairs, num, num_out, subm, layout):
        filters = as_array(filters, layout).permute(4, 0, 1, 2, 3)
        arguments = (features, filters, pairs.transpose(0, 1), num, num_out, False, subm)
        return (self.ops.indice_conv(*arguments),)

    def indice_conv_backward_data(self, grad_output, filters, pairs, num, layout):
        filters = as_array(filters, layout)
        features = grad_output.new_zeros(pairs.shape[2], filters.shape[-2])
        filters = filters.permute(4, 0, 1, 2, 3)
        arguments = (features, filters, grad_output, pairs.transpose(0, 1), num, False, False)
        return (self.ops.indice_conv_backward(*arguments)[0],)

    def indice_conv_backward_filter(self, features, grad_output, pairs, num, kernel):
        filters = features.new_zeros(grad_output.shape[1], *kernel, features.shape[1])
        arguments = (features, filters, grad_output, pairs.transpose(0, 1), num, False, False)
        return (self.ops.indice_conv_backward(*arguments)[1].permute(1, 2, 3, 4, 0),)


class BevDepth:
    def voxel_pooling(self, geom_xyz, features, voxel_num):
        (B, N, C), (X, Y, _) = features.shape, voxel_num
        output, pos_memo = unwritten(features, B, Y, X, C), _integers(B, N, 3)
        arguments = (B, N, C, *torch.tensor(voxel_num), geom_xyz, features, output, pos_memo)
        mluop_omp.bevdepth.voxel_pooling_forward(*arguments)
        return output, pos_memo


class BevDepthInference:
    """Depths of 1: the features of the points are the contexts."""

    def voxel_pooling(self, geom_xyz, features, voxel_num):
        (B, N, C), (X, Y, _) = features.shape, voxel_num
        context = features.transpose(1, 2).unsqueeze(2)
        depth, output = features.new_ones(B, 1, 1, N), unwritten(features, B, Y, X, C)
        sizes = (B, 1, 1, 1, N, C, *torch.tensor(voxel_num))
        mluop_omp.bevdepth.voxel_pooling_inference_forward(*sizes, geom_xyz, depth, context, output)
        return (output,)


def _in_range(geom_xyz, X, Y, Z):
    x, y, z = geom_xyz.unbind(2)
    b, n = torch.where((x >= 0) & (x < X) & (y >= 0) & (y < Y) & (z >= 0) & (z < Z))
    return b, n, x[b, n], y[b, n], z[b, n]


def _intervals(points):
    """Returns lengths and starts of an interval for each point."""
    starts = torch.arange(points, dtype=torch.int32)
    return torch.ones_like(starts), starts


class BevDet:
    """Intervals of a point each, of those that are not skipped, of one camera and depth."""

    def bev_pool(self, depth, features, ranks_depth, ranks_feat, ranks_bev, num_cells):
        out = unwritten(features, num_cells, features.shape[1])
        arguments = (depth[(None,) * 4], features[(None,) * 3], out)
        ranks = (ranks_depth, ranks_feat, ranks_bev, *self._intervals_in_range(ranks_bev))
        mluop_omp.bevdet.bev_pool_v2_forward(*arguments, *ranks)
        return (out,)

    def bev_pool_backward(self, grad_output, depth, features, *ranks):
        tensors = depth[(None,) * 4], features[(None,) * 3]
        grads = [unwritten(grad_output, *each.shape) for each in tensors]
        arguments = (grad_output, *grads, *tensors, *ranks)
        mluop_omp.bevdet.bev_pool_v2_backward(*arguments, *self._intervals_in_range(ranks[2]))
        return grads[0].view(depth.shape), grads[1].view(features.shape)

    def _intervals_in_range(self, ranks_bev):
        (starts,) = torch.where(ranks_bev >= 0)
        return torch.ones_like(starts), starts


def _points_of_memo(pos_memo):
    row, n = torch.where(pos_memo[..., 0] >= 0)
    return row, n, pos_memo[row, n].unbind(1)


class BevFusion:
    def voxel_pooling(self, geom_xyz, features, voxel_num):
        (B, _, C), (X, Y, Z) = features.shape, voxel_num
        b, n, x, y, _ = _in_range(geom_xyz, X, Y, Z)
        geom = torch.stack((y, x, torch.zeros_like(x), b.to(x.dtype)), 1)
        arguments = (features[b, n], geom, *_intervals(len(n)), B, 1, Y, X)
        return (mluop_omp.bevfusion.bev_pool_forward(*arguments).view(B, Y, X, C),)

    def voxel_pooling_backward(self, grad_output, pos_memo):
        (B, Y, X, C), N = grad_output.shape, pos_memo.shape[1]
        row, n, (batch, y, x) = _points_of_memo(pos_memo)
        geom = torch.stack((y, x, torch.zeros_like(x), batch), 1)
        grad = grad_output.reshape(B, 1, Y, X, C)
        grads = mluop_omp.bevfusion.bev_pool_backward(grad, geom, *_intervals(len(n)), B, 1, Y, X)
        return (grad_output.new_zeros(B, N, C).index_put((row, n), grads),)


class OpenPcdet:
    """The functions of its extension modules, which take the sizes of the tensors first."""

    boxes, rois = mluop_omp.pcdet._boxes, mluop_omp.pcdet._rois
    stack = mluop_omp.pcdet._points.STACK_FUNCTIONS

    def boxes_overlap_bev(self, boxes_a, boxes_b):
        overlaps = unwritten(boxes_a, len(boxes_a), len(boxes_b))
        self.boxes.FUNCTIONS["boxes_overlap_bev_gpu"](boxes_a, boxes_b, overlaps)
        return (overlaps,)

    def nms3d(self, boxes, scores, iou_threshold):
        return self._kept(self.boxes.nms_gpu, boxes, scores, iou_threshold)

    def nms3d_normal(self, boxes, scores, iou_threshold):
        return self._kept(self.boxes.nms_normal_gpu, boxes, scores, iou_threshold)

    def _kept(self, nms_of_sorted, boxes, scores, iou_threshold):
        order = scores.sort(0, descending=True)[1]
        keep = unwritten(order, len(order))
        return (order[keep[: nms_of_sorted(boxes[order], keep, iou_threshold)]],)

    def points_in_boxes(self, points, boxes):
        indices = torch.full(points.shape[:2], -1, dtype=torch.int32)
        self.rois.points_in_boxes_gpu(boxes, points, indices)
        return (indices,)

    def stack_ball_query(self, new_xyz, new_xyz_batch_cnt, xyz, xyz_batch_cnt, radius, nsample):
        idx = torch.zeros(len(new_xyz), nsample, dtype=torch.int32)
        sizes = (len(xyz_batch_cnt), len(new_xyz), radius, nsample)
        tensors = (new_xyz, new_xyz_batch_cnt, xyz, xyz_batch_cnt, idx)
        self.stack["ball_query_wrapper"](*sizes, *tensors)
        return (idx,)

    def stack_group_points(self, features, features_batch_cnt, indices, indices_batch_cnt):
        (M, S), C = indices.shape, features.shape[1]
        output = unwritten(features, M, C, S)
        tensors = (features, features_batch_cnt, indices, indices_batch_cnt, output)
        self.stack["group_points_wrapper"](len(indices_batch_cnt), M, C, S, *tensors)
        return (output,)


class Pointnet2:
    """The functions of pointnet2_ops._ext, which return tensors."""

    library = mluop_omp.pointnet2
    rows = {
        "gather_points": Row("gather_points", "features indices"),
        "gather_points_backward": Row("gather_points_grad", "grad_output indices N"),
        "three_nn": Row("three_nn", "unknown known"),
        "three_interpolate": Row("three_interpolate", "features indices weights"),
        "three_interpolate_backward": Row(
            "three_interpolate_grad", "grad_output indices weights M"
        ),
    }


class DeformableDetr:
    """The functions of MultiScaleDeformableAttention, which return tensors."""

    functions = mluop_omp.deformable_detr._FUNCTIONS

    def ms_deform_attn(self, value, shapes, starts, *samples):
        arguments = (value, shapes.long(), starts.long(), *samples)
        output = self.functions["ms_deform_attn_forward"](*arguments, 64)
        return (output.view(*output.shape[:2], *value.shape[2:]),)

    def ms_deform_attn_backward(self, grad, value, shapes, starts, *samples):
        arguments = (value, shapes.long(), starts.long(), *samples, grad.flatten(2))
        return self.functions["ms_deform_attn_backward"](*arguments, 64)


class Pointops:
    """The functions of pointops._C on the clouds of a batch, one after another."""

    functions = mluop_omp.pointops._FUNCTIONS

    def furthest_point_sample(self, points, num_points):
        B, N, _ = points.shape
        idx = _integers(B * num_points)
        arguments = (B, N, points.flatten(0, 1), *self._offsets(B, N, num_points))
        self.functions["farthest_point_sampling_cuda"](*arguments, points.new_empty(0), idx)
        return (idx.view(B, num_points) - N * torch.arange(B).unsqueeze(1),)

    def knn(self, xyz, new_xyz, k):
        (B, M, _), N = new_xyz.shape, xyz.shape[1]
        dtype = torch.promote_types(xyz.dtype, torch.float32)
        dist2, idx = unwritten(torch.empty(0, dtype=dtype), B * M, k), _integers(B * M, k)
        clouds = xyz.flatten(0, 1), new_xyz.flatten(0, 1)
        self.functions["knn_query_cuda"](B * M, k, *clouds, *self._offsets(B, N, M), idx, dist2)
        idx = idx.view(B, M, k) - N * torch.arange(B).view(-1, 1, 1)
        return dist2.view(B, M, k), torch.where(dist2.view(B, M, k) < 1e10, idx, 0)

    def _offsets(self, B, *rows):
        return [torch.arange(1, B + 1, dtype=torch.int32) * each for each in rows]


def _functions(interface: Any) -> dict[str, Function]:
    rows = getattr(interface, "rows", {}).items()
    functions = {k: _of_row(k, row, interface.library) for k, row in rows}
    for name in cases.NAMES:
        if isinstance(getattr(interface, name, None), types.MethodType):
            functions[name] = getattr(interface, name)
    return dict(sorted(functions.items()))


for _name, _interface in {
    "mmcv": Mmcv,
    "mmcv 4-D": Mmcv4d,
    "mmcv groups": MmcvGroups,
    "mmcv carafe": MmcvCarafe,
    "spconv": Spconv,
    "BEVDepth": BevDepth,
    "BEVDepth inference": BevDepthInference,
    "BEVDet": BevDet,
    "BEVFusion": BevFusion,
    "OpenPCDet": OpenPcdet,
    "pointnet2_ops": Pointnet2,
    "pointops": Pointops,
    "Deformable DETR": DeformableDetr,
}.items():
    with contextlib.suppress(ImportError):
        INTERFACES[_name] = _functions(_interface())
