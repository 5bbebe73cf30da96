"""float64: compositions of NumPy's functions, for the callers of gradcheck.

Each composition calls its operator first, on float32 zeros of the same shapes: the library checks
the arguments and finds the integer outputs. Sums are float64, in the order of the operator.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Sequence
from typing import Any, Callable

import numpy as np

from mluop_omp._arrays import NUMPY, Arrays
from mluop_omp._library import bad_param

Operator = Callable[..., Any]


def also_double(composition: Operator, position: int) -> Callable[[Operator], Operator]:
    """Lets an operator compute float64, if its array at `position` is, by a composition."""

    def decorate(operator: Operator) -> Operator:
        single = functools.partial(operator, NUMPY)
        names = tuple(inspect.signature(operator).parameters)[1:]

        @functools.wraps(operator)
        def compute(arrays: Arrays, *arguments: Any, out: Any = None) -> Any:
            if not arrays.is_double(arguments[position]):
                return operator(arrays, *arguments, **({} if out is None else {"out": out}))
            found = composition(single, *map(arrays.to_numpy, names, arguments))
            results = found if isinstance(found, tuple) else (found,)
            if out is not None:
                outputs = out if isinstance(out, tuple) else (out,)
                _copy([arrays.to_numpy("out", output) for output in outputs], results)
                results = (*outputs, *results[len(outputs) :])
            else:
                results = tuple(
                    arrays.from_numpy(each) if isinstance(each, np.ndarray) else each
                    for each in results
                )
            return results if isinstance(found, tuple) else results[0]

        return compute

    return decorate


def _copy(outputs: Any, results: tuple[Any, ...]) -> None:
    """Copies results to outputs, which may have more rows: these become 0."""
    for output, result in zip(outputs, results):
        output[: len(result)] = result
        output[len(result) :] = 0


def _zeros(name: str, array: Any) -> np.ndarray:
    """Returns float32 zeros in place of an array, which must be float64."""
    NUMPY.tensor(name, array)
    if array.dtype != np.float64:
        raise bad_param(f"{name} has dtype {array.dtype}, expected float64")
    return np.zeros(array.shape, np.float32)


def voxel_pooling(
    single: Operator, geom_xyz: np.ndarray, features: np.ndarray, voxel_num: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    zeros, pos_memo = single(geom_xyz, _zeros("features", features), voxel_num)
    output = np.zeros(zeros.shape)
    inside = pos_memo[..., 0] >= 0
    np.add.at(output, tuple(pos_memo[inside].T), features[inside])
    return output, pos_memo


def voxel_pooling_backward(
    single: Operator, grad_output: np.ndarray, pos_memo: np.ndarray
) -> np.ndarray:
    single(_zeros("grad_output", grad_output), pos_memo)
    grad_features = np.zeros((*pos_memo.shape[:2], grad_output.shape[3]))
    has_cell = pos_memo[..., 0] >= 0
    grad_features[has_cell] = grad_output[tuple(pos_memo[has_cell].T)]
    return grad_features


def _pooled_points(*ranks: np.ndarray) -> tuple[np.ndarray, ...]:
    """Returns the numbers of the points that are not skipped."""
    used = ranks[2] >= 0
    return tuple(each[used] for each in ranks)


def bev_pool(
    single: Operator,
    depth: np.ndarray,
    features: np.ndarray,
    ranks_depth: np.ndarray,
    ranks_feat: np.ndarray,
    ranks_bev: np.ndarray,
    num_cells: int,
) -> np.ndarray:
    ranks = ranks_depth, ranks_feat, ranks_bev
    zeros = _zeros("depth", depth), _zeros("features", features)
    output = np.zeros(single(*zeros, *ranks, num_cells).shape)
    if output.size:  # Else the numbers may have any value.
        element, row, cell = _pooled_points(*ranks)
        np.add.at(output, cell, depth[element, np.newaxis] * features[row])
    return output


def bev_pool_backward(
    single: Operator,
    grad_output: np.ndarray,
    depth: np.ndarray,
    features: np.ndarray,
    ranks_depth: np.ndarray,
    ranks_feat: np.ndarray,
    ranks_bev: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    arrays = {"grad_output": grad_output, "depth": depth, "features": features}
    ranks = ranks_depth, ranks_feat, ranks_bev
    zeros = single(*(_zeros(name, array) for name, array in arrays.items()), *ranks)
    grad_depth, grad_features = (np.zeros(each.shape) for each in zeros)
    if grad_depth.size or grad_features.size:
        element, row, cell = _pooled_points(*ranks)
        np.add.at(grad_depth, element, (grad_output[cell] * features[row]).sum(1))
        np.add.at(grad_features, row, depth[element, np.newaxis] * grad_output[cell])
    return grad_depth, grad_features


def _add_columns(sums: np.ndarray, indices: np.ndarray, columns: np.ndarray) -> None:
    """Adds columns [B, C, K] to those of sums [B, C, N] that indices [B, K] name."""
    B, C, _ = sums.shape
    batch, channel = np.ogrid[:B, :C]
    index = batch[..., np.newaxis], channel[..., np.newaxis], indices[:, np.newaxis]
    np.add.at(sums, index, columns)


def _probabilities(
    zeros: np.ndarray, input: np.ndarray, target: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, ...]:
    """Returns which classes are targets, the probabilities of the right and of the wrong answer,
    the logarithms of the former, and the weights of the rows.
    """
    with np.errstate(over="ignore"):
        p = 1 / (1 + np.exp(-input))
    is_target = target[:, np.newaxis] == np.arange(zeros.shape[1])
    right, wrong = np.where(is_target, p, 1 - p), np.where(is_target, 1 - p, p)
    weights = np.ones((len(target), 1))
    if weight is not None:
        rows, classes = np.nonzero(is_target)
        weights[rows, 0] = weight[classes]
    log = np.log(np.maximum(right, np.finfo(np.float32).tiny))
    return is_target, right, wrong, log, weights


def _no_losses(single: Operator, input: Any, target: Any, weight: Any, *numbers: Any) -> np.ndarray:
    weights = None if weight is None else _zeros("weight", weight)
    return single(_zeros("input", input), target, weights, *numbers)


def sigmoid_focal_loss(
    single: Operator,
    input: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    gamma: float = 2.0,
    alpha: float = 0.25,
) -> np.ndarray:
    zeros = _no_losses(single, input, target, weight, gamma, alpha)
    is_target, _, wrong, log, weights = _probabilities(zeros, input, target, weight)
    return -weights * np.where(is_target, alpha, 1 - alpha) * wrong**gamma * log


def sigmoid_focal_loss_backward(
    single: Operator,
    input: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    gamma: float = 2.0,
    alpha: float = 0.25,
) -> np.ndarray:
    zeros = _no_losses(single, input, target, weight, gamma, alpha)
    is_target, right, wrong, log, weights = _probabilities(zeros, input, target, weight)
    factor = weights * np.where(is_target, -alpha, 1 - alpha) * wrong**gamma
    return factor * (wrong - gamma * right * log)


def gather_points(single: Operator, features: np.ndarray, indices: np.ndarray) -> np.ndarray:
    zeros = single(_zeros("features", features), indices)
    if zeros.size == 0:  # The indices may have any value.
        return np.zeros(zeros.shape)
    B, K = indices.shape[0], math.prod(indices.shape[1:])
    return np.take_along_axis(features, indices.reshape(B, 1, K), 2).reshape(zeros.shape)


def gather_points_backward(
    single: Operator, grad_output: np.ndarray, indices: np.ndarray, N: int
) -> np.ndarray:
    grad_features = np.zeros(single(_zeros("grad_output", grad_output), indices, N).shape)
    if grad_features.size == 0:
        return grad_features
    B, C, _ = grad_features.shape
    K = math.prod(indices.shape[1:])
    _add_columns(grad_features, indices.reshape(B, K), grad_output.reshape(B, C, K))
    return grad_features


def _stacked_rows(
    indices: np.ndarray, indices_batch_cnt: np.ndarray, features_batch_cnt: np.ndarray
) -> np.ndarray:
    """Returns indices of stacked clouds as rows of all features."""
    starts = np.cumsum(features_batch_cnt) - features_batch_cnt
    return indices + np.repeat(starts, indices_batch_cnt)[:, np.newaxis]


def stack_group_points(
    single: Operator,
    features: np.ndarray,
    features_batch_cnt: np.ndarray,
    indices: np.ndarray,
    indices_batch_cnt: np.ndarray,
) -> np.ndarray:
    zeros = single(_zeros("features", features), features_batch_cnt, indices, indices_batch_cnt)
    if zeros.size == 0:  # Counts and indices may have any value.
        return np.zeros(zeros.shape)
    rows = _stacked_rows(indices, indices_batch_cnt, features_batch_cnt)
    return np.ascontiguousarray(features[rows].transpose(0, 2, 1))


def stack_group_points_backward(
    single: Operator,
    grad_output: np.ndarray,
    indices: np.ndarray,
    indices_batch_cnt: np.ndarray,
    features_batch_cnt: np.ndarray,
    N: int,
) -> np.ndarray:
    counts = indices_batch_cnt, features_batch_cnt
    zeros = single(_zeros("grad_output", grad_output), indices, *counts, N)
    grad_features = np.zeros(zeros.shape)
    if grad_features.size:
        rows = _stacked_rows(indices, *counts)
        np.add.at(grad_features, rows, grad_output.transpose(0, 2, 1))
    return grad_features


def _differences(points: np.ndarray, centers: np.ndarray, knn_idx: np.ndarray) -> np.ndarray:
    batch = np.arange(len(points))[:, np.newaxis, np.newaxis]
    return points[batch, knn_idx] - centers[batch, knn_idx[..., :1]]


def assign_score_withk(
    single: Operator,
    scores: np.ndarray,
    points: np.ndarray,
    centers: np.ndarray,
    knn_idx: np.ndarray,
) -> np.ndarray:
    arrays = {"scores": scores, "points": points, "centers": centers}
    zeros = single(*(_zeros(name, array) for name, array in arrays.items()), knn_idx)
    if zeros.size == 0:  # The indices may have any value.
        return np.zeros(zeros.shape)
    return np.einsum("bnkm,bnkmo->bonk", scores, _differences(points, centers, knn_idx))


def assign_score_withk_backward(
    single: Operator,
    grad_output: np.ndarray,
    scores: np.ndarray,
    points: np.ndarray,
    centers: np.ndarray,
    knn_idx: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    arrays = {"grad_output": grad_output, "scores": scores, "points": points, "centers": centers}
    zeros = single(*(_zeros(name, array) for name, array in arrays.items()), knn_idx)
    grad_scores, grad_points, grad_centers = (np.zeros(each.shape) for each in zeros)
    if knn_idx.size == 0 or points.size == 0:
        return grad_scores, grad_points, grad_centers
    differences = _differences(points, centers, knn_idx)
    products = np.einsum("bnkm,bonk->bnkmo", scores, grad_output)
    batch = np.arange(len(points))[:, np.newaxis, np.newaxis]
    np.add.at(grad_points, (batch, knn_idx), products)
    np.subtract.at(grad_centers, (batch[:, 0], knn_idx[..., 0]), products.sum(2))
    return (
        np.einsum("bonk,bnkmo->bnkm", grad_output, differences),
        *(grad_points, grad_centers),
    )


def three_interpolate(
    single: Operator, features: np.ndarray, indices: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    single(_zeros("features", features), indices, _zeros("weights", weights))
    B, C, _ = features.shape
    N = indices.shape[1]
    gathered = np.take_along_axis(features, indices.reshape(B, 1, 3 * N), 2)
    return (gathered.reshape(B, C, N, 3) * weights[:, np.newaxis]).sum(3)


def three_interpolate_backward(
    single: Operator, grad_output: np.ndarray, indices: np.ndarray, weights: np.ndarray, M: int
) -> np.ndarray:
    grad_features = np.zeros(
        single(_zeros("grad_output", grad_output), indices, _zeros("weights", weights), M).shape
    )
    B, C, N = grad_output.shape
    products = grad_output[..., np.newaxis] * weights[:, np.newaxis]
    _add_columns(grad_features, indices.reshape(B, 3 * N), products.reshape(B, C, 3 * N))
    return grad_features


def voxelization(
    single: Operator,
    points: np.ndarray,
    voxel_size: Any,
    coors_range: Any,
    max_points: int,
    max_voxels: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    single(_zeros("points", points), voxel_size, coors_range, max_points, max_voxels)
    size, (low, high) = np.asarray(voxel_size, float), np.reshape(coors_range, (2, 3)).astype(float)
    extent = (high - low) / size
    # Rounded half away from zero. An axis whose maximum is not above its minimum has no cells.
    cells = np.trunc(extent) + (extent - np.trunc(extent) >= 0.5)
    with np.errstate(invalid="ignore"):
        cell = np.floor((points[:, :3] - low) / size)
        inside = ((cell >= 0) & (cell < cells)).all(1)
    cell, points = cell[inside].astype(np.int32), points[inside]
    _, first, voxel = np.unique(cell, axis=0, return_index=True, return_inverse=True)
    # Voxels are numbered in the order of their first points.
    number = np.argsort(np.argsort(first))
    voxel, first = number[voxel.reshape(-1)], np.sort(first)[:max_voxels]
    order = np.argsort(voxel, kind="stable")
    counts = np.bincount(voxel, minlength=len(number))
    position = np.empty(len(voxel), np.intp)
    position[order] = np.arange(len(voxel)) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = (voxel < max_voxels) & (position < max_points)
    voxels = np.zeros((len(first), max_points, points.shape[1]))
    voxels[voxel[kept], position[kept]] = points[kept]
    numbers = np.minimum(counts[: len(first)], max_points).astype(np.int32)
    return voxels, cell[first, ::-1].copy(), numbers, len(first)


def dynamic_scatter(
    single: Operator, feats: np.ndarray, coors: np.ndarray, reduce: str
) -> tuple[np.ndarray, ...]:
    zeros, voxel_coors, voxel_map, counts = single(_zeros("feats", feats), coors, reduce)
    # NaN loses to every value.
    maximum = reduce == "max"
    voxel_feats = np.full(zeros.shape, -np.inf if maximum else 0.0)
    has_voxel = voxel_map >= 0
    add = np.fmax if maximum else np.add
    add.at(voxel_feats, voxel_map[has_voxel], feats[has_voxel])
    if reduce == "mean":
        voxel_feats /= counts[:, np.newaxis]
    return voxel_feats, voxel_coors, voxel_map, counts


def dynamic_scatter_backward(
    single: Operator,
    grad_voxel_feats: np.ndarray,
    feats: np.ndarray,
    voxel_feats: np.ndarray,
    point2voxel_map: np.ndarray,
    voxel_points_count: np.ndarray,
    reduce: str,
) -> np.ndarray:
    floats = {
        "grad_voxel_feats": grad_voxel_feats,
        "feats": feats,
        "voxel_feats": voxel_feats,
    }
    zeros = [_zeros(name, array) for name, array in floats.items()]
    single(*zeros, point2voxel_map, voxel_points_count, reduce)
    grad_feats = np.zeros(feats.shape)
    (points,) = np.nonzero(point2voxel_map >= 0)
    voxels = point2voxel_map[points]
    if reduce != "max":
        grad_feats[points] = grad_voxel_feats[voxels]
        if reduce == "mean":
            grad_feats[points] /= voxel_points_count[voxels, np.newaxis]
        return grad_feats
    # The first point of each voxel and channel that equals the maximum.
    source = np.full(voxel_feats.shape, len(feats))
    equal = feats[points] == voxel_feats[voxels]
    np.minimum.at(source, voxels, np.where(equal, points[:, np.newaxis], len(feats)))
    voxel, channel = np.nonzero(source < len(feats))
    grad_feats[source[voxel, channel], channel] = grad_voxel_feats[voxel, channel]
    return grad_feats


def _matrices(filters: np.ndarray, layout: str) -> np.ndarray:
    """Returns the filters as [K, Ci, Co]."""
    axes = {"ARRAY": (0, 1, 2, 3, 4), "NDHWC": (1, 2, 3, 4, 0), "NCDHW": (2, 3, 4, 1, 0)}[layout]
    filters = filters.transpose(axes)
    return filters.reshape(math.prod(filters.shape[:3]), *filters.shape[3:])


def _offsets(pairs: np.ndarray, num: Any) -> Any:
    """Yields number, input rows and output rows of each offset."""
    for k, count in enumerate(NUMPY.counts(num)):
        rows = pairs[k, :, :count]
        yield k, *rows[:, (rows >= 0).all(0)]


def indice_conv(
    single: Operator,
    features: np.ndarray,
    filters: np.ndarray,
    pairs: np.ndarray,
    num: np.ndarray,
    num_out: int,
    subm: bool = False,
    layout: str = "ARRAY",
) -> np.ndarray:
    zeros = _zeros("features", features), _zeros("filters", filters)
    output = np.zeros(single(*zeros, pairs, num, num_out, subm, layout).shape)
    matrices = _matrices(filters, layout)
    for k, inputs, outputs in _offsets(pairs, num):
        np.add.at(output, outputs, features[inputs] @ matrices[k])
    return output


def indice_conv_backward_data(
    single: Operator,
    grad_output: np.ndarray,
    filters: np.ndarray,
    pairs: np.ndarray,
    num: np.ndarray,
    subm: bool = False,
    layout: str = "ARRAY",
) -> np.ndarray:
    zeros = _zeros("grad_output", grad_output), _zeros("filters", filters)
    grad_features = np.zeros(single(*zeros, pairs, num, subm, layout).shape)
    matrices = _matrices(filters, layout)
    for k, inputs, outputs in _offsets(pairs, num):
        np.add.at(grad_features, inputs, grad_output[outputs] @ matrices[k].T)
    return grad_features


def indice_conv_backward_filter(
    single: Operator,
    features: np.ndarray,
    grad_output: np.ndarray,
    pairs: np.ndarray,
    num: np.ndarray,
    kernel: Sequence[int],
) -> np.ndarray:
    zeros = _zeros("features", features), _zeros("grad_output", grad_output)
    grad_filters = np.zeros(single(*zeros, pairs, num, kernel).shape)
    matrices = _matrices(grad_filters, "ARRAY")
    for k, inputs, outputs in _offsets(pairs, num):
        matrices[k] = features[inputs].T @ grad_output[outputs]
    return grad_filters


def indice_maxpool(
    single: Operator, features: np.ndarray, pairs: np.ndarray, num: np.ndarray, num_out: int
) -> np.ndarray:
    output = np.zeros(single(_zeros("features", features), pairs, num, num_out).shape)
    if output.size == 0:
        return output
    for _, inputs, outputs in _offsets(pairs, num):
        np.fmax.at(output, outputs, features[inputs])  # NaN is never selected.
    return output


def indice_maxpool_backward(
    single: Operator,
    features: np.ndarray,
    features_out: np.ndarray,
    output_grad: np.ndarray,
    pairs: np.ndarray,
    num: np.ndarray,
) -> np.ndarray:
    arrays = {"features": features, "features_out": features_out, "output_grad": output_grad}
    zeros = (_zeros(name, array) for name, array in arrays.items())
    input_grad = np.zeros(single(*zeros, pairs, num).shape)
    if input_grad.size == 0:
        return input_grad
    for _, inputs, outputs in _offsets(pairs, num):
        is_max = features[inputs] == features_out[outputs]
        np.add.at(input_grad, inputs, np.where(is_max, output_grad[outputs], 0))
    return input_grad


class _Samples:
    """The samples of a deformable convolution: arrays [N, deformable groups, offset, Ho, Wo]."""

    def __init__(
        self,
        input: np.ndarray,
        offset: np.ndarray,
        mask: np.ndarray | None,
        kernel: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        deformable_groups: int,
    ) -> None:
        (N, C, *sizes), (Ho, Wo) = input.shape, offset.shape[2:]
        self.shape = N, deformable_groups, math.prod(kernel), Ho, Wo
        self.mask = np.ones(self.shape) if mask is None else mask.reshape(self.shape)
        self._flat = input.reshape(N, deformable_groups, C // deformable_groups, -1)
        offsets = offset.reshape(*self.shape[:3], 2, Ho, Wo)
        k = np.stack(np.unravel_index(np.arange(math.prod(kernel)), tuple(kernel)))
        positions = []
        for axis, pixels in enumerate(np.ogrid[:Ho, :Wo]):
            start = pixels * stride[axis] - padding[axis]
            along = start + (k[axis] * dilation[axis])[:, np.newaxis, np.newaxis]
            positions.append(along + offsets[:, :, :, axis])
        self._inside = np.logical_and(
            *((position > -1) & (position < size) for position, size in zip(positions, sizes))
        )
        self._positions = [np.where(self._inside, position, 0) for position in positions]
        self._sizes = sizes

    def corners(self) -> Any:
        """Yields index and values of a pixel around each sample, weights and their slopes."""
        (y, x), (H, W) = self._positions, self._sizes
        top, left = np.floor(y), np.floor(x)
        for down, right in np.ndindex(2, 2):
            row, column = top + down, left + right
            exists = self._inside & (row >= 0) & (row < H) & (column >= 0) & (column < W)
            index = np.where(exists, row * W + column, 0).astype(np.int64)
            flat_index = index.reshape(*self.shape[:2], 1, -1)
            values = np.take_along_axis(self._flat, flat_index, 3)
            values = np.where(exists.reshape(flat_index.shape), values, 0)
            along_y = y - top if down else 1 - (y - top)
            along_x = x - left if right else 1 - (x - left)
            slopes = (2 * down - 1) * along_x, (2 * right - 1) * along_y
            yield (
                index,
                exists,
                values.reshape(*values.shape[:3], *self.shape[2:]),
                (
                    along_y * along_x,
                    slopes,
                ),
            )

    def columns(self, groups: int) -> np.ndarray:
        """Returns the interpolated channels [N, groups, channel, offset, pixel]."""
        N, _, K, *_ = self.shape
        total = sum(
            values * weight[:, :, np.newaxis] for _, _, values, (weight, _) in self.corners()
        )
        masked = total * self.mask[:, :, np.newaxis]
        return masked.reshape(N, groups, -1, K, math.prod(self.shape[3:]))

    def gradients(
        self, grad: np.ndarray, input: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns the gradients of input, offset and mask for that of the columns."""
        N, groups, K, Ho, Wo = self.shape
        grad = grad.reshape(N, groups, -1, K, Ho, Wo)
        grad_input, channel = np.zeros(self._flat.shape), np.arange(grad.shape[2])
        grad_offset, grad_mask = np.zeros((N, groups, K, 2, Ho, Wo)), np.zeros(self.shape)
        for index, exists, values, (weight, slopes) in self.corners():
            products = (grad * values).sum(2)
            grad_mask += weight * products
            for axis, slope in enumerate(slopes):
                grad_offset[:, :, :, axis] += slope * products
            share = grad * np.where(exists, self.mask * weight, 0)[:, :, np.newaxis]
            batch, group = np.ogrid[:N, :groups]
            places = batch[..., None, None], group[..., None, None], channel[:, None]
            flat_index = index.reshape(N, groups, 1, -1)
            np.add.at(grad_input, (*places, flat_index), share.reshape(*share.shape[:3], -1))
        # Positions outside of the image have no terms.
        grad_mask = np.where(self._inside, grad_mask, 0)
        inside, mask = self._inside[:, :, :, np.newaxis], self.mask[:, :, :, np.newaxis]
        grad_offset = np.where(inside, grad_offset * mask, 0)
        return grad_input.reshape(input.shape), grad_offset, grad_mask


def _grouped(values: np.ndarray, groups: int) -> np.ndarray:
    """Returns [N, C, H, W] as [N, groups, C / groups, H W]."""
    return values.reshape(len(values), groups, values.shape[1] // groups, -1)


def _filters_of(weight: np.ndarray, groups: int) -> np.ndarray:
    """Returns [Co, C, kh, kw] as [groups, Co / groups, C, kh kw]."""
    return weight.reshape(groups, len(weight) // groups, weight.shape[1], -1)


def _optional_zeros(name: str, array: np.ndarray | None) -> np.ndarray | None:
    return None if array is None else _zeros(name, array)


def deform_conv2d(
    single: Operator,
    input: np.ndarray,
    offset: np.ndarray,
    weight: np.ndarray,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
) -> np.ndarray:
    zeros = single(
        *(_zeros("input", input), _zeros("offset", offset), _zeros("weight", weight)),
        *(_optional_zeros("mask", mask), _optional_zeros("bias", bias)),
        *(stride, padding, dilation, groups, deformable_groups),
    )
    output = np.zeros(zeros.shape)
    if input.size and weight.size:
        geometry = (weight.shape[2:], stride, padding, dilation, deformable_groups)
        columns = _Samples(input, offset, mask, *geometry).columns(groups)
        sums = np.einsum("ngckp,gock->ngop", columns, _filters_of(weight, groups))
        output = sums.reshape(zeros.shape)
    return output if bias is None else output + bias[:, np.newaxis, np.newaxis]


def deform_conv2d_backward_data(
    single: Operator,
    grad_output: np.ndarray,
    input: np.ndarray,
    offset: np.ndarray,
    weight: np.ndarray,
    mask: np.ndarray | None = None,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    results = single(
        *(_zeros("grad_output", grad_output), _zeros("input", input), _zeros("offset", offset)),
        *(_zeros("weight", weight), _optional_zeros("mask", mask)),
        *(stride, padding, dilation, groups, deformable_groups),
    )
    if not (input.size and weight.size):
        of_input, of_offset, of_mask = (each.astype(float) for each in results)
        return of_input, of_offset, of_mask
    geometry = (weight.shape[2:], stride, padding, dilation, deformable_groups)
    samples = _Samples(input, offset, mask, *geometry)
    filters = _filters_of(weight, groups)
    grad = np.einsum("ngop,gock->ngckp", _grouped(grad_output, groups), filters)
    grad_input, grad_offset, grad_mask = samples.gradients(grad, input)
    zeros = results[2].astype(float)
    of_mask = zeros if mask is None else grad_mask.reshape(zeros.shape)
    return grad_input, grad_offset.reshape(offset.shape), of_mask


def deform_conv2d_backward_weight(
    single: Operator,
    grad_output: np.ndarray,
    input: np.ndarray,
    offset: np.ndarray,
    mask: np.ndarray | None = None,
    kernel: Sequence[int] = (1, 1),
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
) -> tuple[np.ndarray, np.ndarray]:
    zeros, _ = single(
        *(_zeros("grad_output", grad_output), _zeros("input", input), _zeros("offset", offset)),
        *(_optional_zeros("mask", mask), kernel, stride, padding, dilation),
        *(groups, deformable_groups),
    )
    grad_bias = grad_output.sum((0, 2, 3))
    if not (input.size and zeros.size):
        return zeros.astype(float), grad_bias
    geometry = (kernel, stride, padding, dilation, deformable_groups)
    columns = _Samples(input, offset, mask, *geometry).columns(groups)
    grad = np.einsum("ngop,ngckp->gock", _grouped(grad_output, groups), columns)
    return grad.reshape(zeros.shape), grad_bias
