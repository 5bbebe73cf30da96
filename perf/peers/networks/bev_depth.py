"""BEVDepth's step from camera to bird's-eye view, forward or forward and backward."""

from collections.abc import Callable

import torch

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer

# Features [B, N, C] -> [B, Y, X, C]
Pool = Callable[[torch.Tensor], torch.Tensor]


def _run(inputs: Inputs, pool: Pool) -> Callable[[], Outputs]:
    training = bool(inputs["training"].item())
    batches, points = inputs["geom_xyz"].shape[:2]
    depths, context = parameters = [inputs[name].detach().requires_grad_(training) for name in ("depths", "context")]

    def run() -> Outputs:
        with torch.set_grad_enabled(training):
            features = depths.softmax(1).unsqueeze(3) * context.unsqueeze(1)
            output = pool(features.view(batches, points, -1))
        if not training:
            return (output,)
        return output.detach(), *torch.autograd.grad(output, parameters, inputs["grad_output"])

    return run


def _cells(inputs: Inputs) -> tuple[int, int, int]:
    _, y, x, _ = inputs["grad_output"].shape
    return x, y, inputs["cells_z"].item()


def ours(inputs: Inputs) -> Peer:
    geom_xyz, cells = inputs["geom_xyz"], _cells(inputs)
    return Peer("ours", _run(inputs, lambda features: mt.voxel_pooling(geom_xyz, features, cells)[0]))


def peers(inputs: Inputs) -> list[Peer]:
    geom_xyz, shape = inputs["geom_xyz"], inputs["grad_output"].shape
    cells = _cells(inputs)
    batches = len(geom_xyz)
    limits = torch.tensor(cells, dtype=torch.int32)

    def rows() -> tuple[torch.Tensor, torch.Tensor]:
        """Returns whether each point has a cell, and its row of the output, of points without one a spare row."""
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

    return [
        Peer("mask, index_add", _run(inputs, mask_index_add), idiomatic=True),
        Peer("scatter_add", _run(inputs, scatter_add), idiomatic=True),
        Peer("index_add with a spare row", _run(inputs, index_add)),
    ]
