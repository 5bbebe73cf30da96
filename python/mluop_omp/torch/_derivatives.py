"""The derivatives of the operators, for reverse and forward mode.

Each operator has one output with a derivative, its first. Formulas consist of operators that have
derivatives themselves, so that derivatives of any order follow.
"""

from __future__ import annotations

import math
from typing import Any, Callable, NamedTuple

import torch
from torch import Tensor

from mluop_omp.torch import _deformable
from mluop_omp.torch._operators import OPERATORS as _ops
from mluop_omp.torch._precision import in_float32


class Derivative(NamedTuple):
    # save(ctx, inputs, outputs) keeps what backward(ctx, grad) needs. It returns the gradients of
    # the inputs; `ctx.needs` tells which are required.
    save: Callable[..., None]
    backward: Callable[..., tuple[Tensor | None, ...]]
    # jvp(inputs, tangents, outputs) returns the tangent of the first output. The tangents of some
    # inputs are None.
    jvp: Callable[..., Tensor]


def _first(output: Any) -> Tensor:
    return output[0] if isinstance(output, tuple) else output


def _linear_in(name: str, *positions: int) -> Callable[..., Tensor]:
    """Returns the jvp of an operator that is linear in each of these inputs."""

    def jvp(inputs: tuple, tangents: tuple, outputs: Any) -> Tensor:
        terms = [
            _first(
                getattr(_ops, name)(*inputs[:position], tangents[position], *inputs[position + 1 :])
            )
            for position in positions
            if tangents[position] is not None
        ]
        return torch.stack(terms).sum(0) if len(terms) > 1 else terms[0]

    return jvp


@in_float32
def _sum_by_index(terms: Tensor, index: Tensor, size: int) -> Tensor:
    """Returns the sums of the terms [N, ...] of each index [N]: [size, ...]."""
    return terms.new_zeros(size, *terms.shape[1:]).index_add(0, index, terms)


def _save_pos_memo(ctx: Any, inputs: tuple, output: tuple) -> None:
    ctx.save_for_backward(output[1])


def _voxel_pooling(ctx: Any, grad: Tensor) -> tuple:
    (pos_memo,) = ctx.saved_tensors
    return None, _ops.voxel_pooling_backward(grad, pos_memo), None


def _save_memo_and_shape(ctx: Any, inputs: tuple, output: Tensor) -> None:
    grad, pos_memo = inputs
    ctx.shape = grad.shape
    ctx.save_for_backward(pos_memo)


def _voxel_pooling_backward(ctx: Any, grad: Tensor) -> tuple:
    (pos_memo,) = ctx.saved_tensors
    batch, y, x = pos_memo.flatten(0, 1).unbind(1)
    B, Y, X, C = ctx.shape
    # One batch of one row: pos_memo may name any batch.
    cell = torch.where(batch < 0, -1, (batch * Y + y) * X + x)
    geom_xyz = torch.nn.functional.pad(cell.view(1, -1, 1), (0, 2))
    rows = grad.reshape(1, len(batch), C)
    pooled, _ = _ops.voxel_pooling(geom_xyz, rows, (B * Y * X, 1, 1))
    return pooled.view(ctx.shape), None


def _with_row_of_zeros(tensor: Tensor) -> Tensor:
    return torch.nn.functional.pad(tensor, (0, 0) * (tensor.dim() - 1) + (0, 1))


@in_float32
def _differentiable_bev_pool_backward(
    grad: Tensor, depth: Tensor, features: Tensor, *ranks: Tensor
) -> tuple[Tensor, Tensor]:
    """Returns the result of bev_pool_backward, by operators of PyTorch."""
    # Points that are skipped are those of a last row of zeros.
    is_used, tensors = ranks[2] >= 0, (depth, features, grad)
    element, row, cell = (
        torch.where(is_used, rank, len(each)).long() for rank, each in zip(ranks, tensors)
    )
    depths, rows, grads = (
        _with_row_of_zeros(each)[index] for each, index in zip(tensors, (element, row, cell))
    )
    return (
        _sum_by_index((grads * rows).sum(1), element, len(depth) + 1)[:-1],
        _sum_by_index(depths.unsqueeze(1) * grads, row, len(features) + 1)[:-1],
    )


def _bev_pool(ctx: Any, grad: Tensor) -> tuple:
    depth, features, *ranks = ctx.saved_tensors
    if grad.numel() == 0:  # The numbers may have any value.
        return torch.zeros_like(depth), torch.zeros_like(features), None, None, None, None
    # The gradients have no derivatives of their own: those of higher order are PyTorch's.
    is_differentiated = torch.is_grad_enabled()
    backward = _differentiable_bev_pool_backward if is_differentiated else _ops.bev_pool_backward
    return (*backward(grad, depth, features, *ranks), None, None, None, None)


def _scatter_as(
    values: Tensor,
    feats: Tensor,
    voxel_feats: Tensor,
    voxel_map: Tensor,
    count: Tensor,
    reduce: str,
) -> Tensor:
    """Reduces values as dynamic_scatter reduced feats; the transpose of its backward operator."""
    if reduce == "max":
        ones = torch.ones_like(voxel_feats)
        sources = _ops.dynamic_scatter_backward(ones, feats, voxel_feats, voxel_map, count, reduce)
        values = torch.where(sources != 0, values, 0)
    V = voxel_feats.shape[0]
    # The last row collects the points without voxel.
    voxel = torch.where(voxel_map < 0, V, voxel_map)
    sums = _sum_by_index(values, voxel, V + 1)[:V]
    return sums / count.unsqueeze(1) if reduce == "mean" else sums


def _save_scatter(ctx: Any, inputs: tuple, output: tuple) -> None:
    feats, _, ctx.reduce = inputs
    voxel_feats, _, voxel_map, count = output
    ctx.save_for_backward(feats, voxel_feats, voxel_map, count)


def _dynamic_scatter(ctx: Any, grad: Tensor) -> tuple:
    return _ops.dynamic_scatter_backward(grad, *ctx.saved_tensors, ctx.reduce), None, None


def _dynamic_scatter_jvp(inputs: tuple, tangents: tuple, outputs: tuple) -> Tensor:
    voxel_feats, _, voxel_map, count = outputs
    return _scatter_as(tangents[0], inputs[0], voxel_feats, voxel_map, count, inputs[2])


def _save_gathered(ctx: Any, inputs: tuple, output: Tensor) -> None:
    ctx.reduce = inputs[5]
    ctx.save_for_backward(*inputs[1:5])


def _dynamic_scatter_backward(ctx: Any, grad: Tensor) -> tuple:
    return _scatter_as(grad, *ctx.saved_tensors, ctx.reduce), None, None, None, None, None


def _dynamic_scatter_backward_jvp(inputs: tuple, tangents: tuple, output: Tensor) -> Tensor:
    # Neither the features nor the maxima move the point that a maximum comes from.
    if tangents[0] is None:
        return torch.zeros_like(output)
    return _ops.dynamic_scatter_backward(tangents[0], *inputs[1:])


@in_float32
def _pool_as(values: Tensor, listed: Tensor, argmax: Tensor, method: str) -> Tensor:
    """Pools values [N, C] as roiaware_pool3d pooled features; the transpose of its backward
    operator.
    """
    if not len(values):  # Nothing is listed.
        return values.new_zeros(argmax.shape)
    if method == "max":
        points = argmax.flatten(0, 3).long()
        pooled = torch.where(points < 0, 0, values.gather(0, points.clamp(min=0)))
        return pooled.view(argmax.shape)
    count = listed[..., :1]
    sums = torch.zeros_like(argmax, dtype=values.dtype)
    for slot, point in enumerate(listed[..., 1:].long().unbind(-1)):
        is_listed = slot < count
        row = values[torch.where(is_listed.squeeze(-1), point, 0)]
        sums = sums + torch.where(is_listed, row, 0)
    return sums / count.clamp(min=1)


def _save_pool(ctx: Any, inputs: tuple, output: tuple) -> None:
    ctx.points, ctx.method = inputs[2].shape[0], inputs[5]
    _, argmax, listed = output
    ctx.save_for_backward(listed, argmax)


def _roiaware_pool3d(ctx: Any, grad: Tensor) -> tuple:
    grad_feature = _ops.roiaware_pool3d_backward(grad, *ctx.saved_tensors, ctx.points, ctx.method)
    return None, None, grad_feature, None, None, None


def _roiaware_pool3d_jvp(inputs: tuple, tangents: tuple, outputs: tuple) -> Tensor:
    pooled, argmax, listed = outputs
    if tangents[2] is None:
        return torch.zeros_like(pooled)
    return _pool_as(tangents[2], listed, argmax, inputs[5])


def _save_pooled_points(ctx: Any, inputs: tuple, output: Tensor) -> None:
    ctx.method = inputs[4]
    ctx.save_for_backward(*inputs[1:3])


def _roiaware_pool3d_backward(ctx: Any, grad: Tensor) -> tuple:
    return _pool_as(grad, *ctx.saved_tensors, ctx.method), None, None, None, None


class _Attention(NamedTuple):
    """What ms_deform_attn computes with, by operators of PyTorch: samples [B, Q, M, S]."""

    index: tuple[Tensor, Tensor, Tensor]  # of the keys of the four pixels, [4, B, Q, M, S]
    weight: Tensor  # of these pixels; 0 outside of the level
    along_x: Tensor  # the derivatives of the weights with respect to the location
    along_y: Tensor


def _attention(value: Tensor, shapes: Tensor, starts: Tensor, locations: Tensor) -> _Attention:
    P = locations.shape[4]
    height, width, start = (
        each.repeat_interleave(P).long() for each in (*shapes.unbind(1), starts)
    )
    x, y = locations.flatten(3, 4).unbind(4)
    x, y = x * width - 0.5, y * height - 0.5
    used = (x > -1) & (y > -1) & (x < width) & (y < height)
    x, y = torch.where(used, x, 0), torch.where(used, y, 0)
    left, top = x.detach().floor(), y.detach().floor()
    right, below = x - left, y - top
    keys, weights, along_x, along_y = [], [], [], []
    for row in (0, 1):
        for column in (0, 1):
            at_y, at_x = top.long() + row, left.long() + column
            inside = used & (at_y >= 0) & (at_y < height) & (at_x >= 0) & (at_x < width)
            keys.append(torch.where(inside, start + at_y * width + at_x, 0))
            of_y, of_x = below if row else 1 - below, right if column else 1 - right
            weights.append(torch.where(inside, of_y * of_x, 0))
            along_x.append(torch.where(inside, of_y * width * (1 if column else -1), 0))
            along_y.append(torch.where(inside, of_x * height * (1 if row else -1), 0))
    B, _, M, _ = value.shape
    batch = torch.arange(B, device=value.device).view(1, B, 1, 1, 1)
    head = torch.arange(M, device=value.device).view(1, 1, 1, M, 1)
    stacked = (torch.stack(each) for each in (weights, along_x, along_y))
    return _Attention((batch, torch.stack(keys), head), *stacked)


def _differentiable_attention_backward(
    grad: Tensor, value: Tensor, shapes: Tensor, starts: Tensor, locations: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the result of ms_deform_attn_backward, by operators of PyTorch."""
    if value.numel() == 0 or weights.numel() == 0:
        return torch.zeros_like(value), torch.zeros_like(locations), torch.zeros_like(weights)
    a, attention = _attention(value, shapes, starts, locations), weights.flatten(3)
    product = (value[a.index] * grad.unsqueeze(3)).sum(-1)
    of_weights = (a.weight * product).sum(0).view(weights.shape)
    of_locations = torch.stack(
        [attention * (each * product).sum(0) for each in (a.along_x, a.along_y)], -1
    )
    terms = (a.weight * attention).unsqueeze(-1) * grad.unsqueeze(3)
    of_value = torch.zeros_like(value).index_put(a.index, terms, accumulate=True)
    return of_value, of_locations.view(locations.shape), of_weights


def _ms_deform_attn(ctx: Any, grad: Tensor) -> tuple:
    # The gradients have no derivatives of their own: those of higher order are PyTorch's.
    is_differentiated = torch.is_grad_enabled()
    backward = (
        _differentiable_attention_backward if is_differentiated else _ops.ms_deform_attn_backward
    )
    of_value, of_locations, of_weights = backward(grad, *ctx.saved_tensors)
    return of_value, None, None, of_locations, of_weights


def _ms_deform_attn_jvp(inputs: tuple, tangents: tuple, output: Tensor) -> Tensor:
    value, shapes, starts, locations, weights = inputs
    of_value, _, _, of_locations, of_weights = tangents
    terms = []
    if of_value is not None:
        terms.append(_ops.ms_deform_attn(of_value, shapes, starts, locations, weights))
    if of_weights is not None:
        terms.append(_ops.ms_deform_attn(value, shapes, starts, locations, of_weights))
    if of_locations is not None and value.numel() and weights.numel():
        a = _attention(value, shapes, starts, locations)
        x, y = of_locations.flatten(3, 4).unbind(4)
        factor = weights.flatten(3) * (a.along_x * x + a.along_y * y)
        terms.append((factor.unsqueeze(-1) * value[a.index]).sum((0, 4)))
    return torch.stack(terms).sum(0) if terms else torch.zeros_like(output)


@in_float32
def _align_as(
    values: Tensor, rois: Tensor, argmax_y: Tensor, argmax_x: Tensor, numbers: tuple, size: tuple
) -> Tensor:
    """Pools values [B, C, H, W] as roi_align pooled its input; the transpose of its backward
    operator.
    """
    if values.numel() == 0 or 0 in size:
        return values.new_zeros(len(rois), values.shape[1], *size)
    if numbers[2] == "mean":
        return _ops.roi_align(values, rois, size, *numbers)[0]
    H, W = values.shape[2:]
    inside = (argmax_y >= -1) & (argmax_y <= H) & (argmax_x >= -1) & (argmax_x <= W)
    inside = inside & (argmax_y != -1)
    image = rois[:, 0].long().view(-1, 1, 1, 1)
    channel = torch.arange(values.shape[1], device=values.device).view(1, -1, 1, 1)
    pooled = torch.zeros_like(argmax_y)
    for y, of_y in _interpolation(torch.where(inside, argmax_y, 0), H):
        for x, of_x in _interpolation(torch.where(inside, argmax_x, 0), W):
            pooled = pooled + of_y * of_x * values[image, channel, y, x]
    return torch.where(inside, pooled, 0)


def _interpolation(position: Tensor, pixels: int) -> list[tuple[Tensor, Tensor]]:
    """Returns the two pixels of positions along an axis, and their weights."""
    position = position.clamp(0, pixels - 1)
    low = position.floor()
    of_high = position - low
    high = (low + 1).clamp(max=pixels - 1)
    return [(low.long(), 1 - of_high), (high.long(), of_high)]


def _save_rois(ctx: Any, inputs: tuple, output: tuple) -> None:
    input, rois, _, *ctx.numbers = inputs
    ctx.image_size = (input.shape[0], *input.shape[2:])
    ctx.mark_non_differentiable(*output[1:])
    ctx.save_for_backward(rois, *output[1:])


def _roi_align(ctx: Any, grad: Tensor) -> tuple:
    arguments = (*ctx.saved_tensors, ctx.image_size, *ctx.numbers)
    return _ops.roi_align_backward(grad, *arguments), *[None] * 6


def _roi_align_jvp(inputs: tuple, tangents: tuple, outputs: tuple) -> Tensor:
    if tangents[0] is None:
        return torch.zeros_like(outputs[0])
    return _align_as(tangents[0], inputs[1], *outputs[1:], inputs[3:], inputs[2])


def _save_aligned(ctx: Any, inputs: tuple, output: Tensor) -> None:
    grad, *tensors, _ = inputs[:5]
    ctx.numbers, ctx.size = inputs[5:], grad.shape[2:]
    ctx.save_for_backward(*tensors)


def _roi_align_backward(ctx: Any, grad: Tensor) -> tuple:
    return _align_as(grad, *ctx.saved_tensors, ctx.numbers, ctx.size), *[None] * 8


@in_float32
def _differentiable_focal_loss_backward(
    input: Tensor, target: Tensor, weight: Tensor | None, gamma: float, alpha: float
) -> Tensor:
    """Returns the result of sigmoid_focal_loss_backward, by operators of PyTorch."""
    p = input.sigmoid()
    classes = torch.arange(input.shape[1], device=input.device)
    is_target = target.unsqueeze(1) == classes
    right, wrong = torch.where(is_target, p, 1 - p), torch.where(is_target, 1 - p, p)
    log = right.clamp(min=torch.finfo(torch.float32).tiny).log()
    factor = torch.where(is_target, -alpha, 1 - alpha) * wrong**gamma
    if weight is not None:
        factor = factor * _weights_of_rows(weight, target, 1)
    return (factor * (wrong - gamma * right * log)).to(input.dtype)


def _weights_of_rows(weight: Tensor, target: Tensor, background: float) -> Tensor:
    has_class = (target >= 0) & (target < len(weight))
    if len(weight) == 0:
        return weight.new_full((len(target), 1), background)
    rows = weight[torch.where(has_class, target, 0).long()]
    return torch.where(has_class, rows, background).unsqueeze(1)


def _save_logits(ctx: Any, inputs: tuple, output: Tensor) -> None:
    *tensors, ctx.gamma, ctx.alpha = inputs
    ctx.save_for_backward(*tensors)


def _sigmoid_focal_loss(ctx: Any, grad: Tensor) -> tuple:
    input, target, weight = ctx.saved_tensors
    grad_input = grad_weight = None
    if ctx.needs[0]:
        # The derivative has no derivatives of its own: those of higher order are PyTorch's.
        is_differentiated = torch.is_grad_enabled()
        derivative = (
            _differentiable_focal_loss_backward
            if is_differentiated
            else _ops.sigmoid_focal_loss_backward
        )
        grad_input = grad * derivative(input, target, weight, ctx.gamma, ctx.alpha)
    if ctx.needs[2]:
        losses = _ops.sigmoid_focal_loss(input, target, None, ctx.gamma, ctx.alpha)
        classes = torch.where((target >= 0) & (target < len(weight)), target, len(weight))
        grad_weight = _sum_by_index((grad * losses).sum(1), classes, len(weight) + 1)[:-1]
    return grad_input, None, grad_weight, None, None


def _sigmoid_focal_loss_jvp(inputs: tuple, tangents: tuple, output: Tensor) -> Tensor:
    input, target, weight, *numbers = inputs
    terms = []
    if tangents[0] is not None:
        derivative = _differentiable_focal_loss_backward(input, target, weight, *numbers)
        terms.append(tangents[0] * derivative)
    if tangents[2] is not None:
        losses = _ops.sigmoid_focal_loss(input, target, None, *numbers)
        terms.append(losses * _weights_of_rows(tangents[2], target, 0))
    return terms[0] if len(terms) == 1 else terms[0] + terms[1]


def _save_neighbors(ctx: Any, inputs: tuple, output: tuple) -> None:
    ctx.save_for_backward(*inputs, *output)


def _neighbors(known: Tensor, idx: Tensor) -> Tensor:
    """Returns the known points [B, N, K, 3] of indices [B, N, K]."""
    B, N, K = idx.shape
    flat = idx.reshape(B, N * K, 1).expand(-1, -1, 3).long()
    return known.gather(1, flat).view(B, N, K, 3)


@in_float32
def _grad_of_distances(
    grad: Tensor, unknown: Tensor, known: Tensor, dist2: Tensor, idx: Tensor, missing: float
) -> tuple[Tensor, Tensor]:
    """Returns the gradients of both points. `missing` is the distance of no known point."""
    B, N, K = idx.shape
    if known.shape[1] == 0:
        return torch.zeros_like(unknown), torch.zeros_like(known)
    difference = unknown.unsqueeze(2) - _neighbors(known, idx)
    weight = torch.where(dist2 < missing, 2 * grad, 0).unsqueeze(3)
    grads = torch.where(weight == 0, 0, weight * difference)
    flat = idx.reshape(B, N * K, 1).expand(-1, -1, 3).long()
    grad_known = torch.zeros_like(known).scatter_add(1, flat, -grads.view(B, N * K, 3))
    return grads.sum(2), grad_known


@in_float32
def _tangent_of_distances(points: tuple, tangents: tuple, outputs: tuple, missing: float) -> Tensor:
    """As `_grad_of_distances`; points and tangents are of the unknown and the known points."""
    unknown, known = points
    dist2, idx = outputs
    if known.shape[1] == 0:
        return torch.zeros_like(dist2)
    unknown_tangent, known_tangent = tangents
    tangent = torch.zeros_like(unknown) if unknown_tangent is None else unknown_tangent
    tangent = tangent.unsqueeze(2)
    if known_tangent is not None:
        tangent = tangent - _neighbors(known_tangent, idx)
    difference = unknown.unsqueeze(2) - _neighbors(known, idx)
    return torch.where(dist2 < missing, 2 * (difference * tangent).sum(3), 0)


def _three_nn(ctx: Any, grad: Tensor) -> tuple:
    return _grad_of_distances(grad, *ctx.saved_tensors, math.inf)


def _three_nn_jvp(inputs: tuple, tangents: tuple, outputs: tuple) -> Tensor:
    return _tangent_of_distances(inputs, tangents, outputs, math.inf)


_KNN_MISSING = 1e10


def _save_knn(ctx: Any, inputs: tuple, output: tuple) -> None:
    ctx.save_for_backward(*inputs[1::-1], *output)


def _knn(ctx: Any, grad: Tensor) -> tuple:
    grad_new_xyz, grad_xyz = _grad_of_distances(grad, *ctx.saved_tensors, _KNN_MISSING)
    return grad_xyz, grad_new_xyz, None


def _knn_jvp(inputs: tuple, tangents: tuple, outputs: tuple) -> Tensor:
    return _tangent_of_distances(inputs[1::-1], tangents[1::-1], outputs, _KNN_MISSING)


def _save_idx_and_points(ctx: Any, inputs: tuple, output: Tensor) -> None:
    feats, idx = inputs
    ctx.points = feats.shape[2]
    ctx.save_for_backward(idx)


def _gather_points(ctx: Any, grad: Tensor) -> tuple:
    return _ops.gather_points_backward(grad, *ctx.saved_tensors, ctx.points), None


def _save_idx(ctx: Any, inputs: tuple, output: Tensor) -> None:
    ctx.save_for_backward(inputs[1])


def _gather_points_backward(ctx: Any, grad: Tensor) -> tuple:
    return _ops.gather_points(grad, *ctx.saved_tensors), None, None


def _save_clouds(ctx: Any, inputs: tuple, output: Tensor) -> None:
    features, features_cnt, indices, indices_cnt = inputs
    ctx.points = features.shape[0]
    ctx.save_for_backward(indices, indices_cnt, features_cnt)


def _stack_group_points(ctx: Any, grad: Tensor) -> tuple:
    grad_features = _ops.stack_group_points_backward(grad, *ctx.saved_tensors, ctx.points)
    return grad_features, None, None, None


def _save_groups(ctx: Any, inputs: tuple, output: Tensor) -> None:
    ctx.save_for_backward(*inputs[1:4])


def _stack_group_points_backward(ctx: Any, grad: Tensor) -> tuple:
    indices, indices_cnt, features_cnt = ctx.saved_tensors
    grad_grad = _ops.stack_group_points(grad, features_cnt, indices, indices_cnt)
    return grad_grad, None, None, None, None


@in_float32
def _differentiable_scores_backward(
    grad: Tensor, scores: Tensor, points: Tensor, centers: Tensor, knn_idx: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the result of assign_score_withk_backward, by operators of PyTorch."""
    (B, N0, M, channels), rows = points.shape, knn_idx.long().flatten(1)
    first = knn_idx[..., :1].expand_as(knn_idx).long().flatten(1)
    of_point, of_first = (
        each[..., None, None].expand(-1, -1, M, channels) for each in (rows, first)
    )
    differences = points.gather(1, of_point) - centers.gather(1, of_first)
    flat_grad, flat_scores = grad.flatten(2), scores.flatten(1, 2)
    grad_scores = torch.einsum("bor,brmo->brm", flat_grad, differences).view(scores.shape)
    products = torch.einsum("brm,bor->brmo", flat_scores, flat_grad)
    zeros = points.new_zeros(B, N0, M, channels)
    return (
        grad_scores,
        zeros.scatter_add(1, of_point, products),
        zeros.scatter_add(1, of_first, -products),
    )


def _assign_score_withk(ctx: Any, grad: Tensor) -> tuple:
    # The gradients have no derivatives of their own: those of higher order are PyTorch's.
    is_differentiated = torch.is_grad_enabled()
    backward = (
        _differentiable_scores_backward if is_differentiated else _ops.assign_score_withk_backward
    )
    return (*backward(grad, *ctx.saved_tensors), None)


def _assign_score_withk_jvp(inputs: tuple, tangents: tuple, output: Tensor) -> Tensor:
    scores, points, centers, knn_idx = inputs
    of_scores, of_points, of_centers, _ = tangents
    terms = []
    if of_scores is not None:
        terms.append(_ops.assign_score_withk(of_scores, points, centers, knn_idx))
    if of_points is not None or of_centers is not None:
        of_both = (
            torch.zeros_like(points) if each is None else each for each in (of_points, of_centers)
        )
        terms.append(_ops.assign_score_withk(scores, *of_both, knn_idx))
    return sum(terms[1:], terms[0])


def _save_pooling(ctx: Any, inputs: tuple, output: Tensor) -> None:
    feats, pairs, num, _ = inputs
    ctx.save_for_backward(feats, output, pairs, num)


def _pooled_pairs(
    feats: Tensor, output: Tensor, pairs: Tensor, num: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the rows of the input and of the output of all pairs, and in which channels they are
    equal.
    """
    counted = torch.arange(pairs.shape[2]) < num.unsqueeze(1)
    valid = counted & (pairs >= 0).all(1)
    inputs, outputs = (torch.where(valid, pairs[:, side], 0).flatten().long() for side in (0, 1))
    return inputs, outputs, valid.flatten().unsqueeze(1) & (feats[inputs] == output[outputs])


def _indice_maxpool(ctx: Any, grad: Tensor) -> tuple:
    feats, output, pairs, num = ctx.saved_tensors
    if not torch.is_grad_enabled() or 0 in (len(feats), len(output)):
        return _ops.indice_maxpool_backward(feats, output, grad, pairs, num), None, None, None
    # Derivatives of higher order are PyTorch's.
    inputs, outputs, is_max = _pooled_pairs(feats, output, pairs, num)
    terms = torch.where(is_max, grad[outputs], 0)
    return _sum_by_index(terms, inputs, len(feats)), None, None, None


def _indice_maxpool_jvp(arguments: tuple, tangents: tuple, output: Tensor) -> Tensor:
    feats, pairs, num, _ = arguments
    if 0 in (len(feats), len(output)):
        return torch.zeros_like(output)
    inputs, outputs, is_max = _pooled_pairs(feats, output, pairs, num)
    terms = torch.where(is_max, tangents[0][inputs], 0)
    return _sum_by_index(terms, outputs, len(output))


def _save_inputs(ctx: Any, inputs: tuple, output: Tensor) -> None:
    ctx.save_for_backward(*[each for each in inputs if isinstance(each, Tensor)])


@in_float32
def _grad_weight(feats: Tensor, grad: Tensor, idx: Tensor) -> Tensor:
    (B, C, _), N = feats.shape, idx.shape[1]
    flat = idx.reshape(B, 1, 3 * N).expand(-1, C, -1).long()
    return (feats.gather(2, flat).view(B, C, N, 3) * grad.unsqueeze(3)).sum(1)


def _three_interpolate(ctx: Any, grad: Tensor) -> tuple:
    feats, idx, weight = ctx.saved_tensors
    grad_feats = grad_weight = None
    if ctx.needs[0]:
        grad_feats = _ops.three_interpolate_backward(grad, idx, weight, feats.shape[2])
    if ctx.needs[2]:
        grad_weight = _grad_weight(feats, grad, idx)
    return grad_feats, None, grad_weight


def _three_interpolate_backward(ctx: Any, grad: Tensor) -> tuple:
    grad_output, idx, weight = ctx.saved_tensors
    grad_grad = grad_weight = None
    if ctx.needs[0]:
        grad_grad = _ops.three_interpolate(grad, idx, weight)
    if ctx.needs[2]:
        grad_weight = _grad_weight(grad, grad_output, idx)
    return grad_grad, None, grad_weight, None


def _save_windows(ctx: Any, inputs: tuple, output: Tensor) -> None:
    im, mask_h, mask_w, ctx.kernel, ctx.pad = inputs
    ctx.size = im.shape[1:]
    ctx.save_for_backward(mask_h, mask_w)


def _masked_im2col(ctx: Any, grad: Tensor) -> tuple:
    mask_h, mask_w = ctx.saved_tensors
    C, H, W = ctx.size
    (kernel_h, kernel_w), (pad_h, pad_w) = ctx.kernel, ctx.pad
    h = mask_h.long() - pad_h + torch.arange(kernel_h).view(-1, 1, 1)
    w = mask_w.long() - pad_w + torch.arange(kernel_w).view(1, -1, 1)
    inside = (h >= 0) & (h < H) & (w >= 0) & (w < W)
    # The last column collects what is outside.
    pixel = torch.where(inside, h * W + w, H * W).flatten()
    sums = _sum_by_index(grad.reshape(C, len(pixel)).t(), pixel, H * W + 1)
    return sums[:-1].t().reshape(1, C, H, W), None, None, None, None


def _save_masks(ctx: Any, inputs: tuple, output: Tensor) -> None:
    _, mask_h, mask_w, ctx.size = inputs
    ctx.save_for_backward(mask_h, mask_w)


def _masked_col2im(ctx: Any, grad: Tensor) -> tuple:
    mask_h, mask_w = (mask.long() for mask in ctx.saved_tensors)
    H, W = ctx.size
    if grad.numel() == 0:  # The masks may have any value.
        return grad.new_zeros(grad.shape[1], len(mask_h)), None, None, None
    pixel = mask_h * W + mask_w
    # If masks are equal, the last determines the pixel.
    number = torch.arange(pixel.shape[0])
    last = number.new_full((H * W,), -1).scatter_reduce(0, pixel, number, "amax")
    grad_col = grad.reshape(grad.shape[1], -1)[:, pixel] * (last[pixel] == number)
    return grad_col, None, None, None


# The first dimension of an offset, and the order of [D, H, W, Ci, Co], by the layout of filters.
_FILTERS = {
    "ARRAY": (0, (0, 1, 2, 3, 4)),
    "NDHWC": (1, (4, 0, 1, 2, 3)),
    "NCDHW": (2, (4, 3, 0, 1, 2)),
}


def _grad_filters(
    feats: Tensor, grad: Tensor, pairs: Tensor, num: Tensor, filters: Tensor, layout: str
) -> Tensor:
    first, order = _FILTERS[layout]
    kernel = filters.shape[first : first + 3]
    return _ops.indice_conv_backward_filter(feats, grad, pairs, num, kernel).permute(order)


def _save_convolution(ctx: Any, inputs: tuple, output: Tensor) -> None:
    ctx.layout = inputs[-1]
    _save_inputs(ctx, inputs, output)


def _indice_conv(ctx: Any, grad: Tensor) -> tuple:
    feats, filters, pairs, num = ctx.saved_tensors
    grad_feats = grad_filters = None
    if ctx.needs[0]:
        grad_feats = _ops.indice_conv_backward_data(grad, filters, pairs, num, False, ctx.layout)
    if ctx.needs[1]:
        grad_filters = _grad_filters(feats, grad, pairs, num, filters, ctx.layout)
    return grad_feats, grad_filters, None, None, None, None, None


def _convolve(
    feats: Tensor, filters: Tensor, pairs: Tensor, num: Tensor, like: Tensor, layout: str
) -> Tensor:
    """Convolves to rows as those of `like`. Unlike the operator, takes filters without elements."""
    if filters.numel() == 0:
        return torch.zeros_like(like)
    return _ops.indice_conv(feats, filters, pairs, num, like.shape[0], False, layout)


def _indice_conv_backward_data(ctx: Any, grad: Tensor) -> tuple:
    grad_output, filters, pairs, num = ctx.saved_tensors
    grad_grad = grad_filters = None
    if ctx.needs[0]:
        grad_grad = _convolve(grad, filters, pairs, num, grad_output, ctx.layout)
    if ctx.needs[1]:
        grad_filters = _grad_filters(grad, grad_output, pairs, num, filters, ctx.layout)
    return grad_grad, grad_filters, None, None, None, None


def _indice_conv_backward_filter(ctx: Any, grad: Tensor) -> tuple:
    feats, grad_output, pairs, num = ctx.saved_tensors
    grad_feats = grad_grad = None
    if ctx.needs[0]:
        grad_feats = _ops.indice_conv_backward_data(grad_output, grad, pairs, num, False)
    if ctx.needs[1]:
        grad_grad = _convolve(feats, grad, pairs, num, grad_output, "ARRAY")
    return grad_feats, grad_grad, None, None, None


def _save_deformable(ctx: Any, inputs: tuple, output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:4])
    ctx.geometry = inputs[5:]


def _deform_conv2d(ctx: Any, grad: Tensor) -> tuple:
    input, offset, weight, mask = ctx.saved_tensors
    needs, none = ctx.needs, (None,) * len(ctx.geometry)
    grad_bias = grad.sum((0, 2, 3)) if needs[4] else None
    if torch.is_grad_enabled():
        # The gradients have no derivatives of their own: those of higher order are PyTorch's.
        geometry = _deformable.Geometry(*ctx.geometry)
        gradients = _deformable.backward(grad, input, offset, weight, mask, geometry)
        return (*gradients[:3], None if mask is None else gradients[3], grad_bias, *none)
    grad_input = grad_offset = grad_weight = grad_mask = None
    if needs[0] or needs[1] or needs[3]:
        grad_input, grad_offset, grad_mask = _ops.deform_conv2d_backward_data(
            grad, input, offset, weight, mask, *ctx.geometry
        )
    if needs[2]:
        kernel = weight.shape[2:]
        grad_weight, grad_bias = _ops.deform_conv2d_backward_weight(
            grad, input, offset, mask, kernel, *ctx.geometry
        )
    of_mask = grad_mask if needs[3] else None
    return grad_input, grad_offset, grad_weight, of_mask, grad_bias if needs[4] else None, *none


def _deform_conv2d_jvp(inputs: tuple, tangents: tuple, output: Tensor) -> Tensor:
    input, offset, weight, mask, _, *geometry = inputs
    of_input, of_offset, of_weight, of_mask, of_bias, *_ = tangents
    terms = [
        _ops.deform_conv2d(*tensors, None, *geometry)
        for tangent, tensors in (
            (of_input, (of_input, offset, weight, mask)),
            (of_weight, (input, offset, of_weight, mask)),
            (of_mask, (input, offset, weight, of_mask)),
        )
        if tangent is not None
    ]
    if of_offset is not None:
        arguments = (of_offset, input, offset, weight, mask, _deformable.Geometry(*geometry))
        terms.append(_deformable.tangent_along_offset(*arguments))
    if of_bias is not None:
        terms.append(of_bias[:, None, None].expand_as(output))
    return sum(terms[1:], terms[0])


def _refuse(name: str) -> Derivative:
    def refuse(*_: Any) -> Any:
        raise NotImplementedError(f"mluop_omp::{name} has no gradient")

    return Derivative(lambda *_: None, refuse, refuse)


# The operators that are not listed return integers.
DERIVATIVES = {
    "voxel_pooling": Derivative(_save_pos_memo, _voxel_pooling, _linear_in("voxel_pooling", 1)),
    "voxel_pooling_backward": Derivative(
        _save_memo_and_shape, _voxel_pooling_backward, _linear_in("voxel_pooling_backward", 0)
    ),
    "bev_pool": Derivative(_save_inputs, _bev_pool, _linear_in("bev_pool", 0, 1)),
    "bev_pool_backward": _refuse("bev_pool_backward"),
    "voxelization": _refuse("voxelization"),
    "box_iou_rotated": _refuse("box_iou_rotated"),
    "boxes_overlap_bev": _refuse("boxes_overlap_bev"),
    "roiaware_pool3d": Derivative(_save_pool, _roiaware_pool3d, _roiaware_pool3d_jvp),
    "roiaware_pool3d_backward": Derivative(
        _save_pooled_points, _roiaware_pool3d_backward, _linear_in("roiaware_pool3d_backward", 0)
    ),
    "roipoint_pool3d": _refuse("roipoint_pool3d"),
    "ms_deform_attn": Derivative(_save_inputs, _ms_deform_attn, _ms_deform_attn_jvp),
    "ms_deform_attn_backward": _refuse("ms_deform_attn_backward"),
    "roi_align": Derivative(_save_rois, _roi_align, _roi_align_jvp),
    "roi_align_backward": Derivative(
        _save_aligned, _roi_align_backward, _linear_in("roi_align_backward", 0)
    ),
    "sigmoid_focal_loss": Derivative(_save_logits, _sigmoid_focal_loss, _sigmoid_focal_loss_jvp),
    "sigmoid_focal_loss_backward": _refuse("sigmoid_focal_loss_backward"),
    "deform_conv2d": Derivative(_save_deformable, _deform_conv2d, _deform_conv2d_jvp),
    "deform_conv2d_backward_data": _refuse("deform_conv2d_backward_data"),
    "deform_conv2d_backward_weight": _refuse("deform_conv2d_backward_weight"),
    "soft_nms": _refuse("soft_nms"),
    "dynamic_scatter": Derivative(_save_scatter, _dynamic_scatter, _dynamic_scatter_jvp),
    "dynamic_scatter_backward": Derivative(
        _save_gathered, _dynamic_scatter_backward, _dynamic_scatter_backward_jvp
    ),
    "gather_points": Derivative(
        _save_idx_and_points, _gather_points, _linear_in("gather_points", 0)
    ),
    "gather_points_backward": Derivative(
        _save_idx, _gather_points_backward, _linear_in("gather_points_backward", 0)
    ),
    "stack_group_points": Derivative(
        _save_clouds, _stack_group_points, _linear_in("stack_group_points", 0)
    ),
    "stack_group_points_backward": Derivative(
        _save_groups, _stack_group_points_backward, _linear_in("stack_group_points_backward", 0)
    ),
    "assign_score_withk": Derivative(_save_inputs, _assign_score_withk, _assign_score_withk_jvp),
    "assign_score_withk_backward": _refuse("assign_score_withk_backward"),
    "knn": Derivative(_save_knn, _knn, _knn_jvp),
    "three_nn": Derivative(_save_neighbors, _three_nn, _three_nn_jvp),
    "three_interpolate": Derivative(
        _save_inputs, _three_interpolate, _linear_in("three_interpolate", 0, 2)
    ),
    "three_interpolate_backward": Derivative(
        _save_inputs, _three_interpolate_backward, _linear_in("three_interpolate_backward", 0, 2)
    ),
    "masked_im2col": Derivative(_save_windows, _masked_im2col, _linear_in("masked_im2col", 0)),
    "masked_col2im": Derivative(_save_masks, _masked_col2im, _linear_in("masked_col2im", 0)),
    "indice_maxpool": Derivative(_save_pooling, _indice_maxpool, _indice_maxpool_jvp),
    "indice_maxpool_backward": _refuse("indice_maxpool_backward"),
    "indice_conv": Derivative(_save_convolution, _indice_conv, _linear_in("indice_conv", 0, 1)),
    "indice_conv_backward_data": Derivative(
        _save_convolution, _indice_conv_backward_data, _linear_in("indice_conv_backward_data", 0, 1)
    ),
    "indice_conv_backward_filter": Derivative(
        _save_inputs, _indice_conv_backward_filter, _linear_in("indice_conv_backward_filter", 0, 1)
    ),
}
