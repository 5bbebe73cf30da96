"""BEVDepth's step from camera to bird's-eye view, forward or forward and backward."""

from collections.abc import Callable

import torch

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer

# Depths [images, D, pixels] and context [images, pixels, C] -> [B, Y, X, C]
Pool = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def _run(inputs: Inputs, pool: Pool) -> Callable[[], Outputs]:
    training = bool(inputs["training"].item())
    depths, context = parameters = [inputs[name].detach().requires_grad_(training) for name in ("depths", "context")]

    def run() -> Outputs:
        with torch.set_grad_enabled(training):
            output = pool(depths.softmax(1), context)
        if not training:
            return (output,)
        return output.detach(), *torch.autograd.grad(output, parameters, inputs["grad_output"])

    return run


def _cells(inputs: Inputs) -> tuple[int, int, int]:
    _, y, x, _ = inputs["grad_output"].shape
    return x, y, inputs["cells_z"].item()


def ours(inputs: Inputs) -> Peer:
    geom_xyz, shape = inputs["geom_xyz"], inputs["grad_output"].shape
    images, depths, pixels = inputs["depths"].shape
    limits = torch.tensor(_cells(inputs), dtype=torch.int32)
    ranks_depth = torch.arange(inputs["depths"].numel(), dtype=torch.int32)
    ranks_feat = (torch.arange(images).view(-1, 1, 1) * pixels + torch.arange(pixels)).expand(-1, depths, -1)
    ranks_feat = ranks_feat.reshape(-1).int()

    def pool(depths: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        inside = ((geom_xyz >= 0) & (geom_xyz < limits)).all(2)
        x, y, _ = geom_xyz.unbind(2)
        row = (torch.arange(len(geom_xyz), dtype=torch.int32).unsqueeze(1) * limits[1] + y) * limits[0] + x
        ranks_bev = torch.where(inside, row, -1).view(-1)
        ranks = ranks_depth, ranks_feat, ranks_bev
        return mt.bev_pool(depths.view(-1), context.flatten(0, 1), *ranks, shape[:3].numel()).view(shape)

    return Peer("ours", _run(inputs, pool))


def _products(depths: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
    return depths.unsqueeze(3) * context.unsqueeze(1)


def peers(inputs: Inputs) -> list[Peer]:
    geom_xyz, shape = inputs["geom_xyz"], inputs["grad_output"].shape
    cells = _cells(inputs)
    batches = len(geom_xyz)
    limits = torch.tensor(cells, dtype=torch.int32)

    def rows() -> tuple[torch.Tensor, torch.Tensor]:
        """Returns whether each point has a cell, and its row of the output, without a cell, a spare row."""
        inside = ((geom_xyz >= 0) & (geom_xyz < limits)).all(2)
        x, y, _ = geom_xyz.long().unbind(2)
        row = (torch.arange(batches).unsqueeze(1) * cells[1] + y) * cells[0] + x
        return inside, torch.where(inside, row, shape[:3].numel())

    def mask_index_add(features: torch.Tensor) -> torch.Tensor:
        inside, row = rows()
        sums = features.new_zeros(shape[:3].numel(), shape[3])
        return sums.index_add(0, row[inside], features[inside]).view(shape)

    def index_add(features: torch.Tensor) -> torch.Tensor:
        _, row = rows()
        sums = features.new_zeros(shape[:3].numel() + 1, shape[3])
        return sums.index_add(0, row.view(-1), features.view(-1, shape[3]))[:-1].view(shape)

    def scatter_add(features: torch.Tensor) -> torch.Tensor:
        _, row = rows()
        sums = features.new_zeros(shape[:3].numel() + 1, shape[3])
        index = row.view(-1, 1).expand(-1, shape[3])
        return sums.scatter_add(0, index, features.view(-1, shape[3]))[:-1].view(shape)

    def run(add: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[], Outputs]:
        """Pools the products of depths and context, materialized for all points."""
        return _run(inputs, lambda depths, context: add(_products(depths, context).view(batches, -1, shape[3])))

    return [
        Peer("mask, index_add", run(mask_index_add), idiomatic=True),
        Peer("scatter_add", run(scatter_add), idiomatic=True),
        Peer("index_add with a spare row", run(index_add)),
    ]
