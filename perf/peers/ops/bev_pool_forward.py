"""BEV pool forward (BEVDet bev_pool_v2): sums of weighted rows by cell."""

import torch
import torch.nn.functional as F

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer

NAMES = "depth", "features", "ranks_depth", "ranks_feat", "ranks_bev"


def ours(inputs: Inputs) -> Peer:
    arguments = [inputs[name] for name in NAMES]
    cells = inputs["num_cells"].item()
    return Peer("ours", lambda: (mt.bev_pool(*arguments, cells),))


def peers(inputs: Inputs) -> list[Peer]:
    depth, features, *ranks = (inputs[name] for name in NAMES)
    cells = inputs["num_cells"].item()

    # Adds in the type of the tensor; sums in bfloat16 exceed the tolerance.
    def index_add() -> Outputs:
        kept = ranks[2] >= 0
        of_depth, of_feat, cell = (each[kept] for each in ranks)
        products = depth[of_depth].unsqueeze(1) * features[of_feat]
        return (features.new_zeros(cells, features.shape[1]).index_add(0, cell, products),)

    def sort_embedding_bag() -> Outputs:
        """Half and bfloat16 are added in fp32."""
        cell, order = ranks[2].sort(stable=True)
        order = order[cell >= 0]
        starts = torch.searchsorted(cell[cell >= 0], torch.arange(cells + 1, dtype=torch.int32))
        weights = depth[ranks[0][order]].float()
        rows = ranks[1][order]
        sums = F.embedding_bag(
            rows, features.float(), starts.int(), mode="sum", per_sample_weights=weights, include_last_offset=True
        )
        return (sums.to(features.dtype),)

    return [
        Peer("gather, index_add", index_add, idiomatic=True, may_differ=features.dtype == torch.bfloat16),
        Peer("sort, embedding_bag", sort_embedding_bag),
    ]
