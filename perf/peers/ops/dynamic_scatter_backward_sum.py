"""Dynamic scatter backward, sum and mean reduction."""

import torch

from ops import dynamic_scatter_backward
from peer import REDUCTIONS, Inputs, Outputs, Peer

ours = dynamic_scatter_backward.ours


def peers(inputs: Inputs) -> list[Peer]:
    grad, voxel_of = inputs["grad_voxel_feats"], inputs["point2voxel_map"]
    is_mean = REDUCTIONS[inputs["reduce_type"].item()] == "mean"
    counts = inputs["voxel_points_count"].unsqueeze(1)
    result = torch.empty_like(inputs["feats"])

    def quotient() -> torch.Tensor:
        return grad / counts if is_mean else grad

    def indexing() -> Outputs:
        return (quotient()[voxel_of],)

    def index_select() -> Outputs:
        return (torch.index_select(quotient(), 0, voxel_of),)

    def index_select_in_place() -> Outputs:
        return (torch.index_select(quotient(), 0, voxel_of, out=result),)

    # All points of these inputs have a voxel: a row of zeros for the others is not needed.
    return [
        Peer("indexing", indexing, idiomatic=True),
        Peer("index_select", index_select),
        Peer("index_select, in place", index_select_in_place),
    ]
