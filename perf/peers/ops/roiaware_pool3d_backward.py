"""RoI-aware pooling backward (Part-A2), on the outputs of a forward call."""

import torch
import torch.nn.functional as F
from ops.roiaware_pool3d_forward import METHODS

import mluop_omp.torch  # noqa: F401  registers torch.ops.mluop_omp
from peer import Inputs, Outputs, Peer


def ours(inputs: Inputs) -> Peer:
    tensors = inputs["grad_out"], inputs["pts_idx_of_voxels"], inputs["argmax"]
    arguments = *tensors, inputs["N"].item(), METHODS[inputs["pool_method"].item()]
    return Peer("ours", lambda: (torch.ops.mluop_omp.roiaware_pool3d_backward(*arguments),))


def peers(inputs: Inputs) -> list[Peer]:
    grad, argmax, listed = (inputs[name].flatten(0, 3) for name in ("grad_out", "argmax", "pts_idx_of_voxels"))
    points, channels = inputs["N"].item(), grad.shape[1]

    def zeros() -> torch.Tensor:
        return torch.zeros(points + 1, channels)

    def scatter_add() -> Outputs:
        """Maps voxels without points to a spare row."""
        index = torch.where(argmax < 0, points, argmax).long()
        return (zeros().scatter_add_(0, index, grad)[:-1],)

    def scatter_add_occupied() -> Outputs:
        occupied = (argmax[:, 0] >= 0).nonzero().squeeze(1)
        return (zeros().scatter_add_(0, argmax[occupied].long(), grad[occupied])[:-1],)

    def members() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The points of voxels, and the rows of their gradients."""
        counts = listed[:, 0]
        occupied = counts.nonzero().squeeze(1)
        counts = counts[occupied]
        row, place = (torch.arange(counts.max()) < counts.unsqueeze(1)).nonzero(as_tuple=True)
        return listed[occupied[row], place + 1], row, grad[occupied] / counts.unsqueeze(1)

    def index_add() -> Outputs:
        counts = listed[:, :1]
        voxel, place = (torch.arange(listed.shape[1] - 1) < counts).nonzero(as_tuple=True)
        return (zeros().index_add_(0, listed[voxel, place + 1], (grad / counts)[voxel])[:-1],)

    def index_add_occupied() -> Outputs:
        point, row, quotients = members()
        return (zeros().index_add_(0, point, quotients[row])[:-1],)

    def sort_embedding_bag() -> Outputs:
        point, row, quotients = members()
        keys, order = point.sort(stable=True)
        starts = torch.searchsorted(keys, torch.arange(points + 1, dtype=torch.int32))
        return (F.embedding_bag(row[order], quotients, starts, mode="sum", include_last_offset=True),)

    if METHODS[inputs["pool_method"].item()] == "max":
        return [
            Peer("scatter_add", scatter_add, idiomatic=True),
            Peer("scatter_add of the occupied voxels", scatter_add_occupied),
        ]
    return [
        Peer("index_add of the listed points", index_add, idiomatic=True),
        Peer("index_add, of the occupied voxels", index_add_occupied),
        Peer("sort + embedding_bag, of the occupied voxels", sort_embedding_bag),
    ]
