#!/usr/bin/env python3
"""Compares forward and backward passes of mluop_omp.torch with compositions of PyTorch's operators, under autograd.

  pip install .                 installs mluop_omp
  training_peers.py             measures

Sizes come from networks; inputs are synthetic. Outputs and gradients are first verified against each other with the
tolerances of torch_peers.py, then all are timed interleaved. MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=8589934592 in
the environment keep freed memory, as --keep-memory of torch_peers.py does.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

import mluop_omp.torch as mt
import table
import timing
import verify
from ops.dcn_forward import convolved
from ops.focal_loss_sigmoid_forward import by_one_hot
from ops.ms_deform_attn_forward import by_level
from ops.roi_align_forward_v2 import pooled
from peer import Outputs, Peer

Function = Callable[..., torch.Tensor]


@dataclass
class Case:
    """A function of tensors, with gradients for all of them, and its formulation in PyTorch."""

    operator: str
    name: str
    composition: str
    inputs: tuple[torch.Tensor, ...]
    ours: Function
    theirs: Function


def _integers(high: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, high, shape, dtype=torch.int32)


def _voxel_pooling() -> Case:
    B, N, C, X, Y = 1, 473088, 80, 128, 128
    # Half of the points are in range, as with BEVDepth's cameras.
    geom_xyz = torch.stack((_integers(181, B, N), _integers(181, B, N), _integers(1, B, N)), 2)

    def theirs(features: torch.Tensor) -> torch.Tensor:
        x, y, z = geom_xyz.long().unbind(2)
        inside = (x < X) & (y < Y) & (z < 1)
        cell = ((torch.arange(B).unsqueeze(1) * Y + y) * X + x)[inside]
        return features.new_zeros(B * Y * X, C).index_add(0, cell, features[inside]).view(B, Y, X, C)

    def ours(features: torch.Tensor) -> torch.Tensor:
        return mt.voxel_pooling(geom_xyz, features, (X, Y, 1))[0]

    inputs = (torch.randn(B, N, C),)
    return Case("voxel_pooling", "BEVDepth", "mask + index_add", inputs, ours, theirs)


def _gather_points(name: str, B: int, C: int, N: int, *neighborhoods: int) -> Case:
    """Indices [B, M] of samples, or [B, P, S] of neighborhoods: mmcv's gather_points, grouping_operation."""
    indices = _integers(N, B, *neighborhoods)

    def theirs(features: torch.Tensor) -> torch.Tensor:
        index = indices.long().view(B, 1, -1).expand(-1, C, -1)
        return features.gather(2, index).view(B, C, *neighborhoods)

    def ours(features: torch.Tensor) -> torch.Tensor:
        return mt.gather_points(features, indices)

    inputs = (torch.randn(B, C, N),)
    return Case("gather_points", name, "gather", inputs, ours, theirs)


def _three_interpolate() -> Case:
    B, C, M, N = 16, 128, 1024, 4096
    # The weights follow from coordinates, which have no gradient.
    idx, weight = _integers(M, B, N, 3), torch.rand(B, N, 3)

    def theirs(features: torch.Tensor) -> torch.Tensor:
        flat = idx.long().view(B, 1, 3 * N).expand(-1, C, -1)
        return (features.gather(2, flat).view(B, C, N, 3) * weight.unsqueeze(1)).sum(3)

    def ours(features: torch.Tensor) -> torch.Tensor:
        return mt.three_interpolate(features, idx, weight)

    inputs = (torch.randn(B, C, M),)
    return Case("three_interpolate", "PointNet++", "gather + sum", inputs, ours, theirs)


def _dynamic_scatter(reduce: str) -> Case:
    N, C = 100000, 64
    coors = torch.stack([_integers(extent, N) for extent in (4, 80, 80)], 1)

    def theirs(features: torch.Tensor) -> torch.Tensor:
        keys = (coors[:, 0].long() * 80 + coors[:, 1]) * 80 + coors[:, 2]
        unique, voxel_of = torch.unique(keys, return_inverse=True)
        index = voxel_of.unsqueeze(1).expand(-1, C)
        kind = {"max": "amax", "mean": "mean"}[reduce]
        return features.new_zeros(len(unique), C).scatter_reduce(0, index, features, kind, include_self=False)

    def ours(features: torch.Tensor) -> torch.Tensor:
        return mt.dynamic_scatter(features, coors, reduce)[0]

    inputs = (torch.randn(N, C),)
    return Case("dynamic_scatter", reduce, "unique of keys + scatter_reduce", inputs, ours, theirs)


def _masked_conv2d() -> Case:
    C, H, W = 256, 100, 152
    order = torch.randperm(H * W)[:4000].sort().values
    mask_h, mask_w = (order // W).int(), (order % W).int()

    def theirs(image: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        col = F.unfold(image, 3, padding=1)[0][:, order]
        output = weight.flatten(1) @ col
        return output.new_zeros(C, H * W).index_copy(1, order, output).view(1, C, H, W)

    def ours(image: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        col = mt.masked_im2col(image, mask_h, mask_w, (3, 3), (1, 1))
        return mt.masked_col2im(weight.flatten(1) @ col, mask_h, mask_w, (H, W))

    inputs = torch.randn(1, C, H, W), torch.randn(C, C, 3, 3) / 48
    return Case("masked_conv2d", "RetinaNet", "unfold + mm + index_copy", inputs, ours, theirs)


def _indice_conv(channels: int, sites: int = 40000) -> Case:
    space = (41, 200, 200)
    # A layer of ground and some points above it: neighbors are as frequent as in a LiDAR cloud.
    cells = torch.randperm(2 * sites)[:sites].sort().values
    z, y, x = cells // 40000, cells // 200 % 200, cells % 200
    indices = torch.stack((cells * 0, z, y, x), 1).int()
    ones = (1, 1, 1)
    _, pairs, num = mt.indice_pairs(indices, 1, space, (3, 3, 3), ones, ones, ones, subm=True)

    def theirs(features: torch.Tensor, filters: torch.Tensor) -> torch.Tensor:
        output = features.new_zeros(sites, channels)
        for k, matrix in enumerate(filters.flatten(0, 2)):
            rows, outputs = pairs[k, :, : num[k]]
            output = output.index_add(0, outputs, features[rows] @ matrix)
        return output

    def ours(features: torch.Tensor, filters: torch.Tensor) -> torch.Tensor:
        return mt.indice_conv(features, filters, pairs, num, sites, True)

    inputs = torch.randn(sites, channels), torch.randn(3, 3, 3, channels, channels) / 16
    name = f"{channels} channels, {sites} sites"
    return Case("indice_conv", name, "gather + mm + index_add of each offset", inputs, ours, theirs)


def _focal_loss(name: str, N: int, C: int) -> Case:
    # One anchor in 16 has a class.
    target = torch.where(_integers(16, N) > 0, C, _integers(C, N))

    def theirs(input: torch.Tensor) -> torch.Tensor:
        return by_one_hot(input, target, None, 2.0, 0.25)

    def ours(input: torch.Tensor) -> torch.Tensor:
        return mt.sigmoid_focal_loss(input, target, None, 2.0, 0.25)

    inputs = (torch.randn(N, C),)
    return Case("sigmoid_focal_loss", name, "one_hot, binary_cross_entropy_with_logits", inputs, ours, theirs)


def _between_pixels(position: torch.Tensor) -> torch.Tensor:
    """Moves positions, by less than a pixel: at a pixel, slopes depend on rounding."""
    return position.floor() + 0.05 + 0.9 * torch.rand_like(position)


def _roi_align() -> Case:
    C, H, W, R, scale = 256, 100, 152, 512, 0.125
    low, sides = torch.rand(R, 2) * torch.tensor([W - 20, H - 20]), 7 + 13 * torch.rand(R, 2)
    rois = torch.cat((torch.zeros(R, 1), low / scale, (low + sides) / scale), 1)

    def theirs(image: torch.Tensor) -> torch.Tensor:
        return pooled(image, rois, [7, 7], scale, "mean", together=True)[0]

    def ours(image: torch.Tensor) -> torch.Tensor:
        return mt.roi_align(image, rois, (7, 7), scale)[0]

    composition = "grid_sample of RoIs with equal numbers of samples"
    return Case("roi_align", "Faster R-CNN, P3", composition, (torch.randn(1, C, H, W),), ours, theirs)


def _ms_deform_attn(name: str, Q: int, P: int, *shapes: list[int]) -> Case:
    M, D, L = 8, 32, len(shapes)
    sizes = torch.tensor([height * width for height, width in shapes])
    levels = torch.tensor(shapes, dtype=torch.int32), (sizes.cumsum(0) - sizes).int()
    # Near the position of the query, as in trained networks.
    locations = torch.rand(1, Q, 1, 1, 1, 2) + 0.05 * torch.randn(1, Q, M, L, P, 2)
    extents = torch.tensor(shapes).flip(1).view(L, 1, 2)
    locations = (_between_pixels(locations * extents) + 0.5) / extents
    weights = torch.rand(1, Q, M, L, P).flatten(3).softmax(3).view(1, Q, M, L, P)

    def theirs(value: torch.Tensor, locations: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        return by_level(value, list(shapes), locations, weights)

    def ours(value: torch.Tensor, locations: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        return mt.ms_deform_attn(value, *levels, locations, weights)

    inputs = torch.randn(1, int(sizes.sum()), M, D), locations, weights
    return Case("ms_deform_attn", name, "grid_sample of each level, stack", inputs, ours, theirs)


def _deform_conv2d(name: str, C: int, H: int, W: int) -> Case:
    def theirs(*tensors: torch.Tensor) -> torch.Tensor:
        return convolved(*tensors, 1, 1)

    def ours(*tensors: torch.Tensor) -> torch.Tensor:
        return mt.deform_conv2d(*tensors, (1, 1), (1, 1))

    image, offset = torch.randn(1, C, H, W), _between_pixels(torch.randn(1, 18, H, W))
    inputs = image, offset, torch.randn(C, C, 3, 3) / 48, torch.rand(1, 9, H, W), torch.randn(C)
    return Case("deform_conv2d", name, "grid_sample, matmul", inputs, ours, theirs)


def _passes(function: Function, inputs: tuple[torch.Tensor, ...]) -> Callable[[], Outputs]:
    variables = [tensor.clone().requires_grad_() for tensor in inputs]
    with torch.no_grad():
        grad = torch.rand_like(function(*variables).detach())

    def run() -> Outputs:
        output = function(*variables)
        grads = torch.autograd.grad(output, variables, grad)
        return output.detach(), *(each.contiguous() for each in grads)

    return run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--op", default="", help="select operators whose name contains TEXT", metavar="TEXT")
    parser.add_argument("--repetitions", type=int, default=7, help="default: %(default)s", metavar="N")
    parser.add_argument("--threads", type=int, help="default: OMP_NUM_THREADS, or all cores", metavar="N")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    verified = True
    makers: list[tuple[str, Callable[[], Case]]] = [
        ("voxel_pooling", _voxel_pooling),
        ("gather_points", lambda: _gather_points("VoteNet, samples", 8, 256, 1024, 256)),
        ("gather_points", lambda: _gather_points("VoteNet, neighborhoods", 8, 64, 2048, 1024, 32)),
        ("gather_points", lambda: _gather_points("PointNet++", 16, 128, 256, 64, 32)),
        ("three_interpolate", _three_interpolate),
        ("dynamic_scatter", lambda: _dynamic_scatter("mean")),
        ("dynamic_scatter", lambda: _dynamic_scatter("max")),
        ("masked_conv2d", _masked_conv2d),
        ("indice_conv", lambda: _indice_conv(16)),
        ("indice_conv", lambda: _indice_conv(64)),
        ("indice_conv", lambda: _indice_conv(512, sites=292)),
        ("indice_conv", lambda: _indice_conv(256, sites=1000)),
        ("sigmoid_focal_loss", lambda: _focal_loss("PointPillars, nuScenes", 320000, 10)),
        ("sigmoid_focal_loss", lambda: _focal_loss("RetinaNet, a level", 37800, 80)),
        ("roi_align", _roi_align),
        ("ms_deform_attn", lambda: _ms_deform_attn("BEVFormer, decoder", 900, 4, [200, 200])),
        ("ms_deform_attn", lambda: _ms_deform_attn("BEVFormer, temporal", 40000, 4, [200, 200])),
        ("ms_deform_attn", lambda: _ms_deform_attn("Deformable DETR", 300, 4, [100, 167], [50, 84], [25, 42])),
        ("deform_conv2d", lambda: _deform_conv2d("ResNet-50, C3", 128, 100, 152)),
        ("deform_conv2d", lambda: _deform_conv2d("ResNet-50, C4", 256, 50, 76)),
    ]
    for operator, make in makers:
        if arguments.op not in operator:
            continue
        torch.manual_seed(20)
        case = make()
        torch.manual_seed(20)
        ours = _passes(case.ours, case.inputs)
        torch.manual_seed(20)
        theirs = _passes(case.theirs, case.inputs)
        problem = verify.difference(theirs(), ours())
        verified &= not problem
        peers = [Peer(case.composition, theirs, idiomatic=True)]
        seconds = timing.medians([ours, theirs], arguments.repetitions)
        row = table.Row(case.name, seconds[0], seconds[1:], [problem] if problem else [])
        print(table.text(f"{case.operator}, forward and backward", peers, [row]), flush=True)
    print(f"torch {torch.__version__}, threads: {torch.get_num_threads()}")
    return 0 if verified else 1


if __name__ == "__main__":
    raise SystemExit(main())
