"""The functions of mmcv that networks call, by their definitions, in double where rounding is not a
part of them. `install` puts them in place of the kernels.
"""

from __future__ import annotations

import functools
import importlib
import math
import sys

import formulations
import numpy as np
import torch
import torch.nn.functional as F

from mluop_omp._self_test import _definitions as reference


def hard_voxelize_forward(
    points, size, bounds, voxels, coors, counts, voxel_num, max_points, max_voxels, **_
):
    arguments = points.numpy(), size.tolist(), bounds.tolist(), max_points, max_voxels
    results = reference.voxelization(*arguments)
    for output, result in zip((voxels, coors, counts), results):
        output[: len(result)] = torch.from_numpy(result)
    voxel_num.fill_(len(results[0]))


def dynamic_voxelize_forward(points, size, bounds, coors, NDim):
    low, high = bounds.view(2, 3)
    cell = ((points[:, :3] - low) / size).floor()
    inside = (cell >= 0) & (cell < ((high - low) / size).round())
    coors.copy_(torch.where(inside.all(1, keepdim=True), cell, -1).flip(1))


def reduced(feats, rank, num, kind):
    index = rank.long().unsqueeze(1).expand(-1, feats.shape[1])
    kind = {"max": "amax"}.get(kind, kind)
    zeros = feats.new_zeros(num, feats.shape[1])
    return zeros.scatter_reduce(0, index, feats, kind, include_self=False)


def dynamic_point_to_voxel_forward(feats, coors, kind):
    assert (coors >= 0).all()
    voxels, rank, counts = coors.unique(dim=0, return_inverse=True, return_counts=True)
    out = reduced(feats.double(), rank, len(voxels), kind)
    return [out.to(feats.dtype), voxels, rank.int(), counts.int()]


def dynamic_point_to_voxel_backward(grad_feats, grad, feats, voxel_feats, rank, counts, kind):
    grad_feats.copy_(gradients(lambda x: reduced(x, rank, len(grad), kind), grad, feats)[0])


def gradients(function, grad, *arguments):
    with torch.enable_grad():
        variables = [each.detach().double().requires_grad_() for each in arguments]
        return torch.autograd.grad(function(*variables), variables, grad.double())


def get_indice_pairs_3d_forward(
    sites, batch, out_space, space, kernel, stride, pad, dilation, out_padding, subm, transposed
):
    # mmcv's submanifold convolutions are centered whatever their stride and padding are.
    stride, pad = ([1] * 3, [k // 2 for k in kernel]) if subm else (stride, pad)
    offsets = torch.cartesian_prod(*map(torch.arange, kernel)).unsqueeze(1)
    scaled = sites[:, 1:] + torch.tensor(pad) - offsets * torch.tensor(dilation)
    cells = scaled.div(torch.tensor(stride), rounding_mode="floor")
    valid = (cells * torch.tensor(stride) == scaled) & (cells >= 0)
    valid = (valid & (cells < torch.tensor(out_space))).all(2)
    strides = torch.tensor([math.prod(out_space[i:]) for i in range(4)])
    keys = sites[:, 0] * strides[0] + (cells * strides[1:]).sum(2)
    of_outputs = (sites * strides).sum(1) if subm else keys[valid].unique()
    ordered, order = of_outputs.sort()
    position = torch.searchsorted(ordered, keys).clamp(max=len(ordered) - 1)
    found = valid & (ordered[position] == keys)
    offset, row = found.nonzero().unbind(1)
    slot = (found.cumsum(1) - 1)[offset, row]
    pairs = torch.full((len(keys), 2, len(sites)), -1, dtype=torch.int32)
    pairs[offset, 0, slot] = row.int()
    pairs[offset, 1, slot] = order[position[offset, row]].int()
    extents = tuple(map(int, (batch, *out_space)))
    outputs = torch.stack(torch.unravel_index(of_outputs, extents), 1).int()
    return [outputs, pairs, found.sum(1).int()]


def rows_of_pairs(pairs, num):
    """Yields the rows of inputs and outputs of each offset."""
    for each, count in zip(pairs, num):
        yield each[:, :count].long()


def convolved(features, filters, pairs, num, num_out, inverse):
    out = features.new_zeros(num_out, filters.shape[-1])
    rows = rows_of_pairs(pairs.flip(1) if inverse else pairs, num)
    for (inputs, outputs), matrix in zip(rows, filters.flatten(0, 2)):
        out = out.index_add(0, outputs, features.index_select(0, inputs) @ matrix)
    return out


def indice_conv_forward(features, filters, pairs, num, num_out, inverse, subm):
    arguments = features.double(), filters.double(), pairs, num, num_out, inverse
    return convolved(*arguments).to(features.dtype)


def indice_conv_backward(features, filters, grad, pairs, num, inverse, subm):
    def function(x, w):
        return convolved(x, w, pairs, num, len(grad), inverse)

    return [each.to(features.dtype) for each in gradients(function, grad, features, filters)]


def indice_maxpool_forward(features, pairs, num, num_out):
    out = features.new_zeros(num_out, features.shape[1])
    for inputs, outputs in rows_of_pairs(pairs, num):
        out = out.index_reduce(0, outputs, features[inputs], "amax")
    return out


def indice_maxpool_backward(features, out, grad, pairs, num):
    grad_features = torch.zeros_like(features)
    for inputs, outputs in rows_of_pairs(pairs, num):
        is_maximum = features[inputs] == out[outputs]
        grad_features.index_add_(0, inputs, torch.where(is_maximum, grad[outputs], 0))
    return grad_features


def rotated(boxes):
    shapely = importlib.import_module("shapely")
    x, y, w, h, yaw = boxes.detach().double().numpy().T[:, :, None]
    u, v = w / 2 * [-1, 1, 1, -1], h / 2 * [-1, -1, 1, 1]
    cos, sin = np.cos(yaw), np.sin(yaw)
    return shapely.polygons(np.stack([x + u * cos - v * sin, y + u * sin + v * cos], 2))


def areas_of(boxes):
    return boxes.detach()[:, 2:4].double().prod(1).numpy()


def shared_areas(boxes, others):
    shapely = importlib.import_module("shapely")
    return shapely.area(shapely.intersection(boxes, others))


def box_iou_rotated(boxes, others, ious, mode_flag, aligned):
    """Pairs of all, and their IoU, as mmdet3d uses it."""
    assert not mode_flag
    assert not aligned
    shared = shared_areas(rotated(boxes)[:, None], rotated(others))
    found = shared / (areas_of(boxes)[:, None] + areas_of(others) - shared)
    copy_results([ious], [found.reshape(ious.shape)])


def nms_rotated(dets, scores, order, dets_sorted, labels, iou_threshold, multi_label):
    """Without labels, which mmdet3d does not use."""
    boxes, areas = rotated(dets), areas_of(dets)

    def overlap(i, others):
        return shared_areas(boxes[i], boxes[others])

    return suppress(scores, areas, overlap, iou_threshold)


def nms(boxes, scores, iou_threshold, offset):
    low, high = boxes[:, :2].double().numpy(), boxes[:, 2:].double().numpy() + offset

    def overlap(i, others):
        sides = np.minimum(high[i], high[others]) - np.maximum(low[i], low[others])
        return sides.clip(min=0).prod(1)

    return suppress(scores, (high - low).prod(1), overlap, iou_threshold)


def suppress(scores, areas, overlap, iou_threshold):
    keep, rest = [], np.argsort(-scores.detach().numpy(), kind="stable")
    while len(rest):
        best, rest = rest[0], rest[1:]
        keep.append(best)
        common = overlap(best, rest)
        rest = rest[common <= iou_threshold * (areas[best] + areas[rest] - common)]
    return torch.tensor(keep)


def numpy_of(*tensors):
    return [each.detach().numpy() for each in tensors]


def copy_results(outputs, results):
    for output, result in zip(outputs, results):
        output.copy_(torch.from_numpy(result))


def furthest_point_sampling_forward(points, temp, idx, b, n, m):
    copy_results([idx], [reference.furthest_point_sample(*numpy_of(points), m)])


def furthest_point_sampling_with_dist_forward(distances, temp, idx, b, n, m):
    copy_results([idx], [reference.furthest_point_sample_with_dist(*numpy_of(distances), m)])


def columns(idx, channels):
    """Returns indices [B, ...] as those of gather, [B, C, K]."""
    return idx.long().flatten(1).unsqueeze(1).expand(-1, channels, -1)


def gather_points_forward(features, idx, out, **_):
    out.copy_(features.gather(2, columns(idx, features.shape[1])).view(out.shape))


def gather_points_backward(grad, idx, grad_features, **_):
    sums = grad_features.double()
    grad_features.copy_(sums.scatter_add(2, columns(idx, sums.shape[1]), grad.flatten(2).double()))


def rows_of_three(points, b, n):
    """Returns what mmcv's kernels read, also if points have other columns."""
    return points.flatten()[: b * n * 3].view(b, n, 3)


def knn_forward(xyz, new_xyz, idx, dist2, b, n, m, nsample):
    points = numpy_of(rows_of_three(xyz, b, n), rows_of_three(new_xyz, b, m))
    copy_results([dist2, idx], reference.knn(*points, nsample))


def ball_query_forward(new_xyz, xyz, idx, b, n, m, min_radius, max_radius, nsample):
    arguments = (*numpy_of(new_xyz, xyz), min_radius, max_radius, nsample)
    copy_results([idx], [reference.ball_query(*arguments)])


def three_nn_forward(unknown, known, dist2, idx, b, n, m):
    points = numpy_of(rows_of_three(unknown, b, n), rows_of_three(known, b, m))
    copy_results([dist2, idx], reference.three_nn(*points))


def interpolated(features, idx, weights):
    neighbors = features.gather(2, columns(idx, features.shape[1]))
    first, second, third = (neighbors.unflatten(2, (-1, 3)) * weights.unsqueeze(1)).unbind(3)
    return first + second + third


def three_interpolate_forward(features, idx, weights, out, **_):
    """In the dtype of the features: a center that is rounded otherwise may have other neighbors."""
    out.copy_(interpolated(features, idx, weights))


def three_interpolate_backward(grad, idx, weights, grad_features, **_):
    (found,) = gradients(lambda x: interpolated(x, idx, weights.double()), grad, grad_features)
    grad_features.copy_(found)


def points_in_boxes_all_forward(boxes, points, out):
    copy_results([out], [reference.points_in_boxes_all(*numpy_of(points, boxes))])


def points_in_boxes_part_forward(boxes, points, out):
    copy_results([out], [reference.points_in_boxes_part(*numpy_of(points, boxes))])


def stack_ball_query_forward(new_xyz, new_counts, xyz, counts, idx, max_radius, nsample):
    sizes = new_counts.tolist()
    ordinals = torch.arange(nsample, dtype=torch.int64) + 1
    for centers, points, found in zip(
        new_xyz.split(sizes), xyz.split(counts.tolist()), idx.split(sizes)
    ):
        x, y, z = (centers.unsqueeze(1) - points).square().unbind(2)
        is_near = (x + y) + z < torch.tensor(max_radius).square()
        nearest = torch.searchsorted(is_near.cumsum(1), ordinals.expand(len(centers), -1))
        # The first fills the row; of an empty ball it is -1.
        first = torch.where(is_near.any(1), nearest[:, 0], 0).unsqueeze(1)
        found.copy_(torch.where(nearest < len(points), nearest, first))
        found[~is_near.any(1), 0] = -1


def stacked_rows(idx, idx_counts, counts):
    """Returns rows of all clouds, of indices in one."""
    starts = counts.cumsum(0) - counts
    return idx + starts.repeat_interleave(idx_counts).unsqueeze(1)


def stack_group_points_forward(features, counts, idx, idx_counts, out, **_):
    out.copy_(features[stacked_rows(idx, idx_counts, counts)].transpose(1, 2))


def stack_group_points_backward(grad, idx, idx_counts, counts, grad_features, **_):
    rows = stacked_rows(idx, idx_counts, counts).flatten()
    sums = grad_features.double()
    grad_features.copy_(sums.index_add(0, rows, grad.transpose(1, 2).flatten(0, 1).double()))


def assigned(points, centers, scores, knn_idx):
    cloud = torch.arange(len(points)).view(-1, 1, 1)
    differences = points[cloud, knn_idx] - centers[cloud, knn_idx[:, :, :1]]
    return torch.einsum("bnkm,bnkmo->bonk", scores, differences)


def assign_score_withk_forward(points, centers, scores, knn_idx, output, **_):
    arguments = (each.double() for each in (points, centers, scores))
    output.copy_(assigned(*arguments, knn_idx))


def assign_score_withk_backward(grad, points, centers, scores, knn_idx, *outputs, **_):
    found = gradients(lambda *x: assigned(*x, knn_idx), grad, points, centers, scores)
    for output, result in zip(outputs, found):
        output.copy_(result)


def roiaware_pool3d_forward(rois, pts, features, argmax, listed, pooled, pool_method):
    sizes, method = tuple(argmax.shape[1:4]), ("max", "mean")[pool_method]
    arguments = (*numpy_of(rois, pts, features), sizes, listed.shape[4], method)
    copy_results([pooled, argmax, listed], reference.roiaware_pool3d(*arguments))


def roiaware_pool3d_backward(listed, argmax, grad, grad_in, pool_method):
    arguments = (*numpy_of(grad, listed, argmax), len(grad_in), ("max", "mean")[pool_method])
    copy_results([grad_in], [reference.roiaware_pool3d_backward(*arguments)])


def roipoint_pool3d_forward(points, boxes, features, pooled, is_empty):
    arguments = (*numpy_of(points, features, boxes), pooled.shape[2])
    copy_results([pooled, is_empty], reference.roipoint_pool3d(*arguments))


def aligned(input, rois, numbers):
    """Means of samples, as networks use them."""
    assert numbers["pool_mode"] == 1
    size = numbers["aligned_height"], numbers["aligned_width"]
    sampling = numbers["spatial_scale"], numbers["sampling_ratio"], "mean", numbers["aligned"]
    return formulations.roi_align(input, rois.double(), size, *sampling)


def roi_align_forward(input, rois, output, argmax_y, argmax_x, **numbers):
    output.copy_(aligned(input.double(), rois, numbers))


def roi_align_backward(grad, rois, argmax_y, argmax_x, grad_input, **numbers):
    (found,) = gradients(lambda x: aligned(x, rois, numbers), grad, grad_input)
    grad_input.copy_(found)


def sigmoid_focal_loss_forward(input, target, weight, output, gamma, alpha):
    weights = weight.numpy() if len(weight) else None
    arguments = (*numpy_of(input, target), weights, gamma, alpha)
    copy_results([output], [reference.sigmoid_focal_loss(*arguments)])


def sigmoid_focal_loss_backward(input, target, weight, grad_input, gamma, alpha):
    weights = weight.numpy() if len(weight) else None
    arguments = (*numpy_of(input, target), weights, gamma, alpha)
    copy_results([grad_input], [reference.sigmoid_focal_loss_backward(*arguments)])


def deformed(numbers, image, offset, weight, mask=None, bias=None):
    """Takes the numbers of both kinds of convolutions. Places are rounded as by the kernel."""
    names = "dH dW padH padW dilationH dilationW"
    if "dH" not in numbers:
        names = "stride_h stride_w pad_h pad_w dilation_h dilation_w"
    values = [numbers[name] for name in names.split()]
    axes = (values[:2], values[2:4], values[4:])
    groups = numbers["group"], numbers["deformable_group"]
    return formulations.deform_conv2d(image, offset.float(), weight, mask, bias, *axes, *groups)


def deform_conv_forward(input, weight, offset, output, columns, ones, **numbers):
    output.copy_(deformed(numbers, *(each.double() for each in (input, offset, weight))))


def deform_conv_backward_input(
    input, offset, grad, grad_input, grad_offset, weight, columns, **numbers
):
    function = functools.partial(deformed, numbers)
    of_input, of_offset, _ = gradients(function, grad, input, offset, weight)
    grad_input.add_(of_input)
    grad_offset.add_(of_offset)


def deform_conv_backward_parameters(
    input, offset, grad, grad_weight, columns, ones, scale, **numbers
):
    def function(weight):
        return deformed(numbers, input.double(), offset.double(), weight)

    grad_weight.add_(gradients(function, grad, grad_weight)[0], alpha=scale)


def modulated_deform_conv_forward(
    input, weight, bias, ones, offset, mask, output, columns, with_bias, **numbers
):
    arguments = (input, offset, weight, mask, *([bias] if with_bias else []))
    output.copy_(deformed(numbers, *(each.double() for each in arguments)))


def modulated_deform_conv_backward(
    input, weight, bias, ones, offset, mask, columns, *outputs_and_grad, with_bias, **numbers
):
    grad_input, grad_weight, grad_bias, grad_offset, grad_mask, grad = outputs_and_grad
    arguments = (input, offset, weight, mask, *([bias] if with_bias else []))
    found = gradients(functools.partial(deformed, numbers), grad, *arguments)
    for output, result in zip((grad_input, grad_offset, grad_weight, grad_mask, grad_bias), found):
        output.add_(result)


def masked_conv2d(features, mask, weight, bias, padding):
    tensors = (each.double() for each in (features, weight, bias))
    return (F.conv2d(*tensors, padding=padding) * (mask > 0)).to(features.dtype)


def multi_scale_deformable_attn_pytorch(value, shapes, locations, weights):
    sizes = shapes.prod(1)
    levels, samples = (shapes, sizes.cumsum(0) - sizes), (locations, weights.double())
    output = formulations.ms_deform_attn(value.double(), *levels, *samples)
    return output.flatten(2).to(value.dtype)


# Those that write all elements of their outputs.
WRITING = {
    function.__name__: function
    for function in (
        assign_score_withk_backward,
        assign_score_withk_forward,
        ball_query_forward,
        box_iou_rotated,
        deform_conv_backward_input,
        deform_conv_backward_parameters,
        deform_conv_forward,
        furthest_point_sampling_forward,
        furthest_point_sampling_with_dist_forward,
        gather_points_backward,
        gather_points_forward,
        knn_forward,
        modulated_deform_conv_backward,
        modulated_deform_conv_forward,
        points_in_boxes_all_forward,
        points_in_boxes_part_forward,
        roi_align_backward,
        roi_align_forward,
        roiaware_pool3d_backward,
        roiaware_pool3d_forward,
        roipoint_pool3d_forward,
        sigmoid_focal_loss_backward,
        sigmoid_focal_loss_forward,
        stack_ball_query_forward,
        stack_group_points_backward,
        stack_group_points_forward,
        three_interpolate_backward,
        three_interpolate_forward,
        three_nn_forward,
    )
}
WRITING["group_points_backward"] = gather_points_backward
WRITING["group_points_forward"] = gather_points_forward
ALL = WRITING | {
    function.__name__: function
    for function in (
        dynamic_point_to_voxel_backward,
        dynamic_point_to_voxel_forward,
        dynamic_voxelize_forward,
        get_indice_pairs_3d_forward,
        hard_voxelize_forward,
        indice_conv_backward,
        indice_conv_forward,
        indice_maxpool_backward,
        indice_maxpool_forward,
        masked_conv2d,
        multi_scale_deformable_attn_pytorch,
        nms,
        nms_rotated,
    )
}

# The modules in which those are replaced that are not of mmcv._ext.
OWNERS = {
    "masked_conv2d": "mmcv.ops.masked_conv",
    "multi_scale_deformable_attn_pytorch": "mmcv.ops.multi_scale_deform_attn",
}


def owner(name):
    return sys.modules[OWNERS.get(name, "mmcv._ext")]


def with_gradients(result, arguments):
    """Returns gradients, too, where PyTorch differentiates the result."""
    if not (isinstance(result, torch.Tensor) and result.requires_grad):
        return result
    inputs = [a for a in arguments if isinstance(a, torch.Tensor) and a.requires_grad]
    weights = torch.linspace(-1, 1, result.numel()).view(result.shape)
    return [result, *torch.autograd.grad(result, inputs, weights, retain_graph=True)]


def install(patch):
    """Returns the set of the functions that have been called.

    What a kernel returns, and what those of WRITING write, is compared at each call: given the same
    arguments, it differs by rounding only, which the layers of a network amplify.
    """
    called, extension = set(), sys.modules["mmcv._ext"]

    def close(actual, expected):
        if isinstance(expected, list):
            assert len(actual) == len(expected)
            for pair in zip(actual, expected):
                close(*pair)
        elif not is_same(actual, expected):  # takes a tenth of the time
            torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-4)

    def is_same(actual, expected):
        both = actual, expected
        is_typed = all(isinstance(each, torch.Tensor) for each in both)
        return is_typed and actual.dtype is expected.dtype and torch.equal(*both)

    def checked(name, kernel, definition):
        def function(*arguments, **named):
            called.add(name)
            copies = [a.clone() if isinstance(a, torch.Tensor) else a for a in arguments]
            expected = definition(*arguments, **named)
            if expected is not None:
                actual = kernel(*copies, **named)
                close(with_gradients(actual, copies), with_gradients(expected, arguments))
            elif name in WRITING:
                kernel(*copies, **named)
                close(copies, list(arguments))
            return expected

        patch.setattr(owner(name), name, function)

    for name in vars(extension).keys() - ALL.keys():
        if not name.startswith("_"):
            patch.setattr(extension, name, None)
    for name, definition in ALL.items():
        checked(name, getattr(owner(name), name), definition)
    return called
