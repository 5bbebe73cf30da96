"""Functions of points and voxels in torchsparse.nn.functional."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import Tensor

from mluop_omp._library import bad_param
from mluop_omp.torch._arrays import require_integers, to_index
from mluop_omp.torch.site_maps import gather_sum, segment_max, segment_mean, segment_sum
from mluop_omp.torchsparse import _maps, _tensors
from mluop_omp.torchsparse._utils import Size, make_ntuple

# FNV-1a of 64 bits, whose products wrap.
_BASIS = 14695981039346656037 - 2**64
_PRIME = 1099511628211


def _require(name: str, tensor: Tensor, columns: int) -> Tensor:
    if tensor.dtype is not torch.int32 or tensor.dim() != 2 or tensor.shape[1] != columns:
        found = f"{tensor.dtype} {list(tensor.shape)}"
        raise bad_param(f"{name} is {found}, expected torch.int32 [N, {columns}]")
    return tensor.long()


def _hashes(words: list[Tensor]) -> Tensor:
    hashes = torch.full_like(words[0], _BASIS)
    for word in words:
        hashes = (hashes ^ (word & 0xFFFFFFFF)) * _PRIME
    return (hashes >> 60 & 15) ^ (hashes & 2**60 - 1)


def sphash(coords: Tensor, offsets: Tensor | None = None) -> Tensor:
    """Returns int64 [N], a hash of each row of coords; [K, N] of the sums of rows and offsets.

    Hashes are FNV-1a over the four words of a row, the highest 4 bits folded into the lowest.

    Args:
        coords: int32 [N, 4].
        offsets: int32 [K, 3], added to the first three columns.
    """
    return _sphash(coords, offsets, 0)


def sphash_batch_first(coords: Tensor, offsets: Tensor | None = None) -> Tensor:
    """As `sphash`; offsets are added to the last three columns."""
    return _sphash(coords, offsets, 1)


def _sphash(coords: Tensor, offsets: Tensor | None, first: int) -> Tensor:
    words = list(_require("coords", coords, 4).unbind(1))
    if offsets is not None:
        words = [word.expand(len(offsets), -1) for word in words]
        for axis, offset in enumerate(_require("offsets", offsets, 3).unbind(1)):
            words[first + axis] = words[first + axis] + offset.unsqueeze(1)
    return _hashes(words)


def sphashquery(queries: Tensor, references: Tensor) -> Tensor:
    """Returns int64 of the shape of queries: the first row of references [M] that equals each
    query, or -1.
    """
    if references.dim() != 1:
        raise bad_param(f"references has {references.dim()} dimensions, expected 1")
    ascending, order = references.sort(stable=True)
    queries = queries.contiguous()
    if len(order) == 0:
        return torch.full_like(queries, -1, dtype=torch.int64)
    place = torch.searchsorted(ascending, queries).clamp_(max=len(order) - 1)
    return torch.where(ascending[place] == queries, order[place], -1)


def spcount(coords: Tensor, num: Any) -> Tensor:
    """Returns int32 [num], how often each of 0 .. num - 1 is in coords [N]; negative ones are
    skipped.
    """
    size = operator.index(num)
    flat = require_integers("coords", coords).reshape(-1)
    rows = to_index("coords", flat[flat >= 0], size)
    return rows.bincount(minlength=size).int()


def spvoxelize(feats: Tensor, coords: Tensor, counts: Tensor) -> Tensor:
    """Returns the mean of the points of each voxel: [M, C] of the dtype of feats [N, C].

    Args:
        coords: integers [N], the voxel of each point; points with a negative one are skipped.
        counts: [M], the points of each voxel; each point is divided by its voxel's number.
    """
    if coords.dim() != 1 or feats.dim() != 2 or len(coords) != len(feats):
        found = f"{list(feats.shape)} and {list(coords.shape)}"
        raise bad_param(f"feats and coords have shapes {found}, expected [N, C] and [N]")
    points = feats.to(torch.promote_types(feats.dtype, torch.float32))
    is_inside = require_integers("coords", coords) >= 0
    if not is_inside.all():
        points, coords = points[is_inside], coords[is_inside]
    voxels = to_index("coords", coords, len(counts))
    shares = points / counts[voxels].to(points.dtype).unsqueeze(1)
    return segment_sum(shares, voxels, len(counts)).to(feats.dtype)


def spdevoxelize(feats: Tensor, coords: Tensor, weights: Tensor) -> Tensor:
    """Returns the sum of weights[n, j] * feats[coords[n, j]] over j: [N, C].

    Args:
        feats: [M, C], features of voxels.
        coords: integers [N, 8], rows of feats; negative ones are skipped.
        weights: [N, 8], of `calc_ti_weights`.
    """
    return gather_sum(feats, coords, weights)


@torch.no_grad()
def calc_ti_weights_batch_first(coords: Tensor, idx_query: Tensor, scale: Any = 1) -> Tensor:
    """Returns the weights [N, 8] of a trilinear interpolation between the voxels that there are.

    Corner 4 dx + 2 dy + dz has the product of the distances to the opposite corner; 0 without a
    voxel. The weights of a point are divided by their sum plus 1e-8. They have no gradient.

    Args:
        coords: [N, 3 or more], points.
        idx_query: [N, 8], the row of the voxel at each corner, or -1.
        scale: the side of a voxel.
    """
    points = coords[:, :3]
    low = torch.floor(points / scale) * scale
    weights = torch.ones(len(points), 1, dtype=points.dtype, device=points.device)
    for axis in range(3):
        point, corner = points[:, axis : axis + 1], low[:, axis : axis + 1]
        sides = torch.stack((corner + scale - point, point - corner), 2)
        weights = (weights.unsqueeze(2) * sides).flatten(1)
    weights = (weights / scale**3).masked_fill(idx_query == -1, 0)
    sums: Tensor = weights.sum(1, keepdim=True) + 1e-8
    return weights / sums


def calc_ti_weights(coords: Tensor, idx_query: Tensor, scale: Any = 1) -> Tensor:
    """As `calc_ti_weights_batch_first`, of idx_query [8, N]: weights [8, N]."""
    return calc_ti_weights_batch_first(coords, idx_query.t(), scale).t().contiguous()


def spdownsample(
    coords: Tensor, stride: Size = 2, kernel_size: Size = 2, tensor_stride: Size = 1
) -> Tensor:
    """Returns the output coordinates of a strided convolution in versions 1.4 and 2.0; see
    `_maps.strided_sites`.
    """
    geometry = (make_ntuple(each, 3) for each in (kernel_size, stride, tensor_stride))
    return _maps.batch_last(_maps.strided_sites(_maps.batch_first(coords), *geometry))


def spdownsample_batch_first(
    _coords: Tensor,
    stride: Size = 2,
    kernel_size: Size = 2,
    padding: Size = 0,
    spatial_range: Any = None,
    downsample_mode: str = "spconv",
) -> Tensor:
    """Returns the output coordinates of a strided convolution in version 2.1 with kmap_mode
    "hashmap"; see `_maps.divided_sites`. spatial_range is the output's.
    """
    if downsample_mode not in ("spconv", "minkowski"):
        raise bad_param(f"downsample_mode is {downsample_mode!r}, expected 'spconv' or 'minkowski'")
    kernel, steps = make_ntuple(kernel_size, 3), make_ntuple(stride, 3)
    is_minkowski = downsample_mode == "minkowski"
    convolution = _maps.Convolution(kernel, steps, make_ntuple(padding, 3), True, is_minkowski)
    out_range = None if spatial_range is None else make_ntuple(spatial_range, 4)
    return _maps.divided_sites(_maps.of_sites(_coords), convolution, out_range)


def spcrop(input: Any, coords_min: Any = None, coords_max: Any = None) -> Any:
    """Returns the sites with coords_min <= (x, y, z) < coords_max, which have no caches yet."""
    axes = _tensors.axes(input)
    mask = torch.ones(len(axes), dtype=torch.bool)
    if coords_min is not None:
        mask &= (axes >= torch.tensor(make_ntuple(coords_min, 3))).all(1)
    if coords_max is not None:
        mask &= (axes < torch.tensor(make_ntuple(coords_max, 3))).all(1)
    return _tensors.plain(input)(input.feats[mask], input.coords[mask], input.stride)


def global_avg_pool(inputs: Any) -> Tensor:
    """Returns the mean of the sites of each batch: [B, C]; NaN of a batch without sites."""
    count, batch = _tensors.batch_size(inputs), _tensors.batches(inputs)
    means = segment_mean(inputs.feats, batch, count)
    is_empty = batch.bincount(minlength=count) == 0
    return means.masked_fill(is_empty.unsqueeze(1), torch.nan)


def global_max_pool(inputs: Any) -> Tensor:
    """Returns the maximum of the sites of each batch: [B, C]. Every batch needs a site."""
    count, batch = _tensors.batch_size(inputs), _tensors.batches(inputs)
    is_empty = batch.bincount(minlength=count) == 0
    if is_empty.any():
        raise bad_param(f"global_max_pool: batch {int(is_empty.nonzero()[0])} has no sites")
    return segment_max(inputs.feats, batch, count)
