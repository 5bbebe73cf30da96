"""Arguments of each operator, of any sizes, in the order of mluop_omp's functions, as tensors."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from ml_dtypes import bfloat16

import mluop_omp

SPACE, KERNEL = (5, 4, 3), (3, 3, 3)
ONES = (1, 1, 1)
# Positions of the arguments in which the operators of torch.ops.mluop_omp have derivatives.
DIFFERENTIABLE = {
    "psamask": [0],
    "psamask_backward": [0],
    "voxel_pooling": [1],
    "voxel_pooling_backward": [0],
    "bev_pool": [0, 1],
    "deform_conv2d": [0, 1, 2, 3, 4],
    "dynamic_scatter": [0],
    "dynamic_scatter_backward": [0],
    "assign_score_withk": [0, 1, 2],
    "gather_points": [0],
    "gather_points_backward": [0],
    "ms_deform_attn": [0, 3, 4],
    "roi_align": [0],
    "roi_align_backward": [0],
    "roiaware_pool3d": [2],
    "roiaware_pool3d_backward": [0],
    "sigmoid_focal_loss": [0, 2],
    "stack_group_points": [0],
    "stack_group_points_backward": [0],
    "knn": [0, 1],
    "three_nn": [0, 1],
    "three_interpolate": [0, 2],
    "three_interpolate_backward": [0, 2],
    "masked_im2col": [0],
    "masked_col2im": [0],
    "indice_maxpool": [0],
    "indice_conv": [0, 1],
    "indice_conv_backward_data": [0, 1],
    "indice_conv_backward_filter": [0, 1],
}
# Those whose first output has none, although it is of floats.
WITHOUT_GRADIENT = [
    *("assign_score_withk_backward", "bev_pool_backward"),
    *("box_iou_rotated", "boxes_overlap_bev"),
    *("deform_conv2d_backward_data", "deform_conv2d_backward_weight"),
    "ms_deform_attn_backward",
    *("indice_maxpool_backward", "roipoint_pool3d", "sigmoid_focal_loss_backward"),
    *("soft_nms", "voxelization"),
]


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(20)


def integers(low: int, high: int, *shape: int) -> torch.Tensor:
    return torch.randint(low, max(high, low + 1), shape, generator=generator(), dtype=torch.int32)


def floats(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=generator())


def sites(count: int = 20, batches: int = 2, space: tuple[int, ...] = SPACE) -> torch.Tensor:
    cells = torch.randperm(batches * math.prod(space), generator=generator())[:count]
    axes = torch.unravel_index(cells, (batches, *space))
    return torch.stack(axes, 1).int()


def rulebook(K: int, L: int, num_out: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns pairs [K, 2, L] and their numbers [K]; a row may be -1."""
    inputs, outputs = integers(-1, L, K, 1, L), integers(0, num_out, K, 1, L).flip(2)
    num = integers(0, L + 1, K) if L and num_out else torch.zeros(K, dtype=torch.int32)
    return torch.cat((inputs, outputs), 1), num


def _voxel_pooling(B=2, N=30, C=4, X=3, Y=3, Z=3):
    return integers(-1, 4, B, N, 3), floats(B, N, C), [X, Y, Z]


def _voxel_pooling_backward(B=2, N=30, C=4, X=3, Y=3):
    cells = [integers(0, extent, N) for extent in (B, Y, X)]
    pos_memo = torch.stack(cells, 1).expand(B, N, 3).clone()
    pos_memo[:, :: 1 if B * X * Y == 0 else 3] = -1
    return floats(B, Y, X, C), pos_memo


def _bev_pool(D=12, F=5, P=20, M=6, C=4):
    ranks = integers(0, D, P), integers(0, F, P).flip(0), integers(-1, M, P).roll(1)
    return floats(D), floats(F, C), *ranks, M


def _bev_pool_backward(D=12, F=5, P=20, M=6, C=4):
    return floats(M, C).flip(0), *_bev_pool(D, F, P, M, C)[:-1]


def _voxelization(N=50, max_points=3, max_voxels=20):
    return floats(N, 4), [1.0] * 3, [-2.0] * 3 + [2.0] * 3, max_points, max_voxels


def _dynamic_scatter(N=40, C=3, reduce="mean"):
    return floats(N, C), integers(-1, 3, N, 3), reduce


def _dynamic_scatter_backward(N=40, V=9, C=3, reduce="mean"):
    feats, voxel_map = floats(N, C), integers(-1, V, N)
    voxel_feats = feats[:V] if V <= N else floats(V, C)
    return floats(V, C), feats, voxel_feats.clone(), voxel_map, integers(1, 5, V), reduce


def boxes(count: int, columns: int, first_side: int) -> torch.Tensor:
    """Returns boxes of sides from 0.5 on, the first of which is in this column."""
    numbers = floats(count, columns)
    sides = slice(first_side, first_side + 2)
    numbers[:, sides] = numbers[:, sides].abs() + 0.5
    return numbers


def _psamask(N=2, A=3, B=5, H=4, W=6, psa_type="collect"):
    return floats(N, A * B, H, W), [A, B], psa_type


def _psamask_backward(N=2, A=3, B=5, H=4, W=6, psa_type="distribute"):
    return floats(N, H * W, H, W), [A, B], psa_type


def _box_iou_rotated(N=9, M=7, mode="iou", aligned=False):
    return boxes(N, 5, 2), boxes(M, 5, 2).flip(0), mode, aligned


def _nms(N=20, offset=0):
    corners = floats(N, 4)
    corners[:, 2:] = corners[:, :2] + corners[:, 2:].abs() + 0.5
    return corners, floats(N), 0.3, offset


def _nms3d(N=20):
    return boxes(N, 7, 3), floats(N), 0.3


_nms3d_normal = _nms3d


def _nms_rotated(N=20):
    return boxes(N, 5, 2), floats(N), 0.3


def _boxes_overlap_bev(N=9, M=7):
    return boxes(N, 7, 3), boxes(M, 7, 3).flip(0)


def _corners(N: int) -> torch.Tensor:
    numbers = boxes(N, 4, 2)
    numbers[:, 2:] += numbers[:, :2]
    return numbers


def _soft_nms(N=20, method="gaussian"):
    return _corners(N), floats(N).abs(), 0.3, 0.5, 0.05, method, 0


def _nms_match(N=20):
    return torch.cat((_corners(N), floats(N, 1)), 1), 0.3


def _points_in_boxes(B=2, M=20, T=4):
    return floats(B, M, 3).flip(1), large_boxes(B, T)


_points_in_boxes_part = _points_in_boxes
_points_in_boxes_all = _points_in_boxes


def large_boxes(*shape: int) -> torch.Tensor:
    """Returns boxes of sides from 1 on, in which some points of the cloud are."""
    numbers = floats(*shape, 7)
    numbers[..., 3:6] = numbers[..., 3:6].abs() + 1
    return numbers


def _ms_deform_attn(B=2, M=2, D=3, L=2, Q=4, P=3):
    sizes = [[4 >> level % 3, 5 >> level % 3] for level in range(L)]
    shapes = torch.tensor(sizes, dtype=torch.int32).view(L, 2)
    sizes = shapes.prod(1)
    starts = (sizes.cumsum(0) - sizes).int()
    locations = 0.5 + 0.3 * floats(B, Q, M, L, P, 2)
    return floats(B, int(sizes.sum()), M, D), shapes, starts, locations, floats(B, Q, M, L, P)


def _ms_deform_attn_backward(B=2, M=2, D=3, L=2, Q=4, P=3):
    return floats(B, Q, M, D), *_ms_deform_attn(B, M, D, L, Q, P)


def _rois(R, B):
    corners = _corners(R) * 4 + 8
    return torch.cat((integers(0, B, R, 1).float(), corners), 1)


def _roi_align(B=2, C=3, H=8, W=9, R=5, PH=2, PW=3, method="mean"):
    return floats(B, C, H, W), _rois(R, B), [PH, PW], 0.5, 0, method, True


def _roi_align_backward(B=2, C=3, H=8, W=9, R=5, PH=2, PW=3, method="mean"):
    shape = (R, C, PH, PW) if method == "max" else (0,)
    argmax = floats(*shape).abs() * 3
    numbers = 0.5, 0, method, True
    return floats(R, C, PH, PW), _rois(R, B), argmax, argmax.flip(0), [B, H, W], *numbers


def _roiaware_pool3d(R=3, N=40, C=4, X=3, Y=2, Z=2, P=5, method="max"):
    return large_boxes(R), floats(N, 3).flip(0), floats(N, C), [X, Y, Z], P, method


def _roiaware_pool3d_backward(R=2, N=12, C=4, X=2, Y=2, Z=1, P=4, method="max"):
    listed = integers(0, N, R, X, Y, Z, P)
    listed[..., :1] = integers(0, P, R, X, Y, Z, min(P, 1))
    return floats(R, X, Y, Z, C), listed, integers(-1, N, R, X, Y, Z, C), N, method


def _roipoint_pool3d(B=2, N=20, C=4, M=3, S=6):
    return floats(B, N, 3).flip(1), floats(B, N, C), large_boxes(B, M), S


def _sigmoid_focal_loss(N=9, C=5, gamma=2.0, alpha=0.25):
    return floats(N, C), integers(0, C + 1, N), floats(C).abs(), gamma, alpha


_sigmoid_focal_loss_backward = _sigmoid_focal_loss


def _furthest_point_sample(B=2, N=20, num_points=6):
    return floats(B, N, 3), num_points


def _furthest_point_sample_with_dist(B=2, N=9, num_points=5):
    return floats(B, N, N).abs(), num_points


def _gather_points(B=2, C=4, N=6, M=9):
    return floats(B, C, N), integers(0, N, B, M)


def _gather_points_backward(B=2, C=4, N=6, M=9):
    return floats(B, C, M), integers(0, N, B, M), N


def _knn(B=2, N=20, M=5, k=4):
    return floats(B, N, 3).flip(1), floats(B, M, 3) / 2, k


def _ball_query(B=2, M=5, N=20, nsample=4):
    return floats(B, M, 3), floats(B, N, 3).flip(1), 0.0, 1.0, nsample


def _cloud_counts(rows, B):
    """Returns the counts of B clouds of these rows, which the last one completes."""
    counts = torch.full((B,), rows // max(B, 1), dtype=torch.int32)
    counts[B - 1 :] += rows % max(B, 1)
    return counts


def _stack_ball_query(B=2, M=9, N=41, nsample=4):
    N, M = (N, M) if B > 0 else (0, 0)
    counts = _cloud_counts(M, B), _cloud_counts(N, B)
    return floats(M, 3), counts[0], floats(N, 3).flip(0), counts[1], 1.0, nsample


def _stack_group_points(B=2, N=9, C=4, M=7, S=3):
    N, M = (N, M) if B > 0 else (0, 0)
    indices = integers(0, N // max(B, 1), M, S)
    return floats(N, C), _cloud_counts(N, B), indices, _cloud_counts(M, B)


def _stack_group_points_backward(B=2, N=9, C=4, M=7, S=3):
    N, M = (N, M) if B > 0 else (0, 0)
    indices = integers(0, N // max(B, 1), M, S)
    return floats(M, C, S), indices, _cloud_counts(M, B), _cloud_counts(N, B), N


def _assign_score_withk(B=2, N0=6, N1=5, K=3, M=4, channels=7):
    points = floats(B, N0, M, channels)
    return floats(B, N1, K, M), points, points.flip(1), integers(0, N0, B, N1, K)


def _three_nn(B=2, N=9, M=20):
    return floats(B, N, 3), floats(B, M, 3) / 2


def _three_interpolate(B=2, C=4, M=6, N=9):
    return floats(B, C, M), integers(0, M, B, N, 3), floats(B, N, 3).abs()


def _three_interpolate_backward(B=2, C=4, N=9, M=6):
    return floats(B, C, N), integers(0, M, B, N, 3), floats(B, N, 3).abs(), M


def deformable(N, C, H, W, kh, kw):
    """Returns input, offset and mask of two groups of C channels, and stride to groups."""
    Ho, Wo = (max(size + 3 - kernel, 0) for size, kernel in ((H, kh), (W, kw)))
    offset = floats(N, 4 * kh * kw, Ho, Wo)
    mask = floats(N, 2 * kh * kw, Ho, Wo).sigmoid()
    return floats(N, 2 * C, H, W), offset, mask, ([1, 1], [1, 1], [1, 1], 2, 2)


def _deform_conv2d(images=2, C=2, H=4, W=3, outputs=2, kh=2, kw=2):
    image, offset, mask, geometry = deformable(images, C, H, W, kh, kw)
    return image, offset, floats(2 * outputs, C, kh, kw) / 4, mask, floats(2 * outputs), *geometry


def _deform_conv2d_backward_data(images=2, C=2, H=4, W=3, outputs=2, kh=2, kw=2):
    image, offset, mask, geometry = deformable(images, C, H, W, kh, kw)
    grad = floats(images, 2 * outputs, *offset.shape[2:])
    return grad, image, offset, floats(2 * outputs, C, kh, kw) / 4, mask, *geometry


def _deform_conv2d_backward_weight(images=2, C=2, H=4, W=3, outputs=2, kh=2, kw=2):
    image, offset, mask, geometry = deformable(images, C, H, W, kh, kw)
    return floats(images, 2 * outputs, *offset.shape[2:]), image, offset, mask, [kh, kw], *geometry


def _masked_im2col(C=3, H=5, W=4, masks=7, kernel_h=3, kernel_w=3):
    return (
        floats(1, C, H, W),
        integers(0, H, masks),
        integers(0, W, masks),
        [kernel_h, kernel_w],
        [1, 1],
    )


def _masked_col2im(C=3, masks=7, H=5, W=4):
    return floats(C, masks), integers(0, H, masks), integers(0, W, masks).flip(0), [H, W]


def _indice_pairs(L=20, subm=True):
    pad = ONES if subm else (0, 1, 1)
    return sites()[:L], 2, SPACE, KERNEL, ONES if subm else (2, 1, 1), pad, ONES, subm


def _indice_conv(L=20, num_out=12, Ci=4, Co=6, K=3):
    filters = floats(K, 1, 3, Ci, Co) / 4
    return floats(L, Ci), filters, *rulebook(3 * K, L, num_out), num_out, False


def _indice_conv_backward_data(L=20, num_out=12, Ci=4, Co=6, K=3):
    filters = floats(K, 1, 3, Ci, Co) / 4
    return floats(num_out, Co), filters, *rulebook(3 * K, L, num_out)


def _indice_conv_backward_filter(L=20, num_out=12, Ci=4, Co=6, K=3):
    return floats(L, Ci), floats(num_out, Co), *rulebook(3 * K, L, num_out), (K, 1, 3)


def _assign_score_withk_backward(B=2, N0=6, N1=5, K=3, M=4, channels=7):
    arguments = _assign_score_withk(B, N0, N1, K, M, channels)
    return floats(B, channels, N1, K), *arguments


def _pooled(L, num_out, K):
    """Returns pairs [K, 2, L], of which no two are equal, and their numbers [K]."""
    row, k = torch.arange(L), torch.arange(K).unsqueeze(1)
    outputs = (row + k) % max(num_out, 1)
    pairs = torch.stack((row.expand(K, L), outputs), 1).int()
    return pairs, integers(0, L + 1, K) if num_out else torch.zeros(K, dtype=torch.int32)


def _indice_maxpool(L=20, num_out=12, C=4, K=3):
    return floats(L, C), *_pooled(L, num_out, K), num_out


def _indice_maxpool_backward(L=20, num_out=12, C=4, K=3):
    feats, feats_out = integers(-1, 3, L, C).float(), integers(-1, 3, num_out, C).float()
    return feats, feats_out, floats(num_out, C), *_pooled(L, num_out, K)


_BUILDERS = {
    name[1:]: value for name, value in list(globals().items()) if name[0] == "_" and callable(value)
}
NAMES = sorted(name for name in mluop_omp.__all__ if name in _BUILDERS)


def extents(name: str) -> list[str]:
    """Returns the names of the sizes of an operator."""
    parameters = inspect.signature(_BUILDERS[name]).parameters.values()
    return [each.name for each in parameters if type(each.default) is int]


def subsets_of_extents(name: str) -> Iterator[dict[str, int]]:
    """Yields the sizes of 0 of each non-empty subset of the extents."""
    names = extents(name)
    for count in range(1, len(names) + 1):
        for subset in itertools.combinations(names, count):
            yield dict.fromkeys(subset, 0)


def arguments(name: str, **sizes: Any) -> tuple[Any, ...]:
    return _BUILDERS[name](**sizes)


def _array(tensor: torch.Tensor) -> np.ndarray:
    if tensor.dtype is not torch.bfloat16:
        return tensor.numpy()
    return tensor.view(torch.int16).numpy().view(bfloat16)


def of_numpy(name: str, arguments: tuple) -> tuple[Any, ...]:
    """Converts arguments of an operator of torch.ops.mluop_omp for the one of mluop_omp."""
    return tuple(_array(a) if isinstance(a, torch.Tensor) else a for a in arguments)


def with_gradients(name: str) -> tuple[Any, ...]:
    positions = DIFFERENTIABLE.get(name, [])
    return tuple(
        argument.clone().requires_grad_() if position in positions else argument
        for position, argument in enumerate(arguments(name))
    )
