"""MVX-Net's dynamic voxel feature encoder, forward or forward and backward."""

from collections.abc import Callable

import torch

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer

# (reduction, features of points) -> features of voxels, coordinates of voxels, voxel of points
Scatter = Callable[[str, torch.Tensor], tuple[torch.Tensor, torch.Tensor, torch.Tensor]]
# (features of voxels, voxel of points) -> features of points
AtPointsOf = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def _run(inputs: Inputs, begin: Callable[[], Scatter], at_points: AtPointsOf) -> Callable[[], Outputs]:
    training = bool(inputs["training"].item())
    points, first, second = parameters = [
        inputs[name].detach().requires_grad_(training) for name in ("points", "first", "second")
    ]

    def encode() -> tuple[torch.Tensor, torch.Tensor]:
        scatter = begin()
        means, _, voxel_of = scatter("mean", points)
        offsets = points[:, :3] - at_points(means, voxel_of)[:, :3]
        hidden = torch.relu(torch.cat([points, offsets], 1) @ first)
        maxima, _, voxel_of = scatter("max", hidden)
        last = torch.relu(torch.cat([hidden, at_points(maxima, voxel_of)], 1) @ second)
        output, voxels, _ = scatter("max", last)
        return output, voxels

    def run() -> Outputs:
        with torch.set_grad_enabled(training):
            output, voxels = encode()
        if not training:
            return output, voxels
        gradients = torch.autograd.grad(output, parameters, inputs["grad_output"][: len(output)])
        return output.detach(), voxels, *gradients

    return run


class _AtPoints(torch.autograd.Function):
    """(features [M, C] of voxels, voxel of points [N], coors [N, 3]) -> [N, C]. Every point has a voxel."""

    @staticmethod
    def forward(ctx, voxel_features, voxel_of, coors):
        ctx.save_for_backward(coors)
        return voxel_features.index_select(0, voxel_of)

    @staticmethod
    def backward(ctx, grad):
        return mt.dynamic_scatter(grad.contiguous(), *ctx.saved_tensors, "sum")[0], None, None


def ours(inputs: Inputs) -> Peer:
    coors = inputs["coors"]

    def scatter(reduction: str, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return mt.dynamic_scatter(features, coors, reduction)[:3]

    def at_points(voxel_features: torch.Tensor, voxel_of: torch.Tensor) -> torch.Tensor:
        return _AtPoints.apply(voxel_features, voxel_of, coors)

    return Peer("ours", _run(inputs, lambda: scatter, at_points))


def peers(inputs: Inputs) -> list[Peer]:
    coors = inputs["coors"]

    def reduce(
        reduction: str, features: torch.Tensor, voxel_of: torch.Tensor, counts: torch.Tensor
    ) -> torch.Tensor:
        index = voxel_of.unsqueeze(1).expand_as(features)
        zeros = features.new_zeros(len(counts), features.shape[1])
        if reduction == "max":
            return zeros.scatter_reduce(0, index, features, "amax", include_self=False)
        return zeros.scatter_add(0, index, features) / counts.unsqueeze(1)

    def unique_of_rows() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return torch.unique(coors, dim=0, return_inverse=True, return_counts=True)

    def unique_of_keys() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        extents = (coors.amax(0) + 1).long()
        z, y, x = coors.long().unbind(1)
        keys, voxel_of, counts = torch.unique(
            (z * extents[1] + y) * extents[2] + x, return_inverse=True, return_counts=True
        )
        x, y, z = keys % extents[2], keys // extents[2] % extents[1], keys // (extents[1] * extents[2])
        return torch.stack((z, y, x), 1).int(), voxel_of, counts

    def each_layer() -> Scatter:
        """Finds the voxels in each call, as mmcv does."""

        def scatter(reduction: str, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
            voxels, voxel_of, counts = unique_of_rows()
            return reduce(reduction, features, voxel_of, counts), voxels, voxel_of

        return scatter

    def once(unique: Callable[[], tuple[torch.Tensor, torch.Tensor, torch.Tensor]]) -> Callable[[], Scatter]:
        def begin() -> Scatter:
            voxels, voxel_of, counts = unique()
            return lambda reduction, features: (reduce(reduction, features, voxel_of, counts), voxels, voxel_of)

        return begin

    def at_points(voxel_features: torch.Tensor, voxel_of: torch.Tensor) -> torch.Tensor:
        return voxel_features.index_select(0, voxel_of)

    return [
        Peer("unique of rows in each layer, scatter_reduce", _run(inputs, each_layer, at_points), idiomatic=True),
        Peer("unique of rows once, scatter_reduce", _run(inputs, once(unique_of_rows), at_points)),
        Peer("unique of linear keys once, scatter_reduce", _run(inputs, once(unique_of_keys), at_points)),
    ]
