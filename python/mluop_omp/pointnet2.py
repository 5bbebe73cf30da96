"""The operators of pointnet2_ops and VoteNet on CPUs.

    import mluop_omp.pointnet2
    mluop_omp.pointnet2.install()

before the import of their operators provides the extension modules that their setup.py builds with
CUDA: pointnet2_ops._ext, and pointnet2._ext of VoteNet, 3DETR and Group-Free 3D, whose functions
are the same. Extensions that were built keep their functions for other devices.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mluop_omp import _extensions
from mluop_omp._adapters import compute, rows_of_three
from mluop_omp._definitions.sampling import order_of_ties
from mluop_omp._operators._declaration import operators
from mluop_omp.torch import _addresses
from mluop_omp.torch._arrays import TORCH, apply_num_threads
from mluop_omp.torch._precision import at_least_float32, precise


def _order_of_ties(count: int, *threads: int) -> Tensor:
    return torch.from_numpy(order_of_ties(count, *threads))


def _sample(cloud: Tensor, npoint: int) -> Tensor:
    """Samples one cloud [N, 3]. Points whose square is at most 1e-3 are not sampled, but the first.

    The operator samples the points that remain, at the places where its ties have their order.
    """
    x, y, z = cloud.square().unbind(1)
    remains = ~((x + y + z).double() <= 1e-3)
    order = _order_of_ties(len(cloud), 512)  # threads of a block of pointnet2_ops
    order = order[remains[order] | (order == 0)]
    place = torch.empty_like(order)
    place[_order_of_ties(len(order))] = order
    sampled = place[operators.furthest_point_sample(TORCH, cloud[place][None], npoint)[0].long()]
    # At no distance from all samples, the operator repeats the first point.
    if not remains[0]:
        sampled[1:][sampled[1:] == 0] = order[:2][-1]
    return sampled


def furthest_point_sampling(points: Tensor, nsamples: int) -> Tensor:
    """Returns int32 [B, nsamples], by the rules of pointnet2_ops."""
    apply_num_threads()
    (clouds,) = at_least_float32(points)
    clouds = rows_of_three("points", clouds)
    samples = [_sample(cloud, nsamples) for cloud in clouds]
    return torch.stack(samples).int() if samples else clouds.new_empty(0, nsamples).int()


def gather_points(points: Tensor, idx: Tensor) -> Tensor:
    return compute(_addresses.gather_points, points, idx)


def gather_points_grad(grad_out: Tensor, idx: Tensor, n: int) -> Tensor:
    return compute(_addresses.gather_points_backward, grad_out, idx, n)


def ball_query(new_xyz: Tensor, xyz: Tensor, radius: float, nsample: int) -> Tensor:
    """As mmcv's, of a smallest distance of 0: a point at the center is in a ball of radius 0."""
    clouds = rows_of_three("new_xyz", new_xyz), rows_of_three("xyz", xyz)
    return compute(operators.ball_query, *clouds, 0.0, radius, nsample, conversion=precise)


def three_nn(unknowns: Tensor, knows: Tensor) -> list[Tensor]:
    clouds = rows_of_three("unknowns", unknowns), rows_of_three("knows", knows)
    return list(compute(operators.three_nn, *clouds, conversion=precise))


def three_interpolate(points: Tensor, idx: Tensor, weight: Tensor) -> Tensor:
    return compute(_addresses.three_interpolate, points, idx, weight)


def three_interpolate_grad(grad_out: Tensor, idx: Tensor, weight: Tensor, m: int) -> Tensor:
    return compute(_addresses.three_interpolate_backward, grad_out, idx, weight, m)


_FUNCTIONS = {
    function.__name__: function
    for function in (
        *(ball_query, furthest_point_sampling, gather_points, gather_points_grad),
        *(three_interpolate, three_interpolate_grad, three_nn),
    )
} | {"group_points": gather_points, "group_points_grad": gather_points_grad}


def install() -> None:
    """Provides the extension modules for tensors of the CPU; once, if repeated."""
    for name in ("pointnet2_ops._ext", "pointnet2._ext"):
        _extensions.provide(name, _FUNCTIONS)
    # 3DETR has the rest of it in third_party.pointnet2.
    _extensions.provide_package("pointnet2")
