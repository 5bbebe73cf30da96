"""Three interpolate forward (PointNet++)."""

import torch
import torch.nn.functional as F

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer, compiled


def ours(inputs: Inputs) -> Peer:
    arguments = inputs["features"], inputs["indices"], inputs["weights"]
    return Peer("ours", lambda: (mt.three_interpolate(*arguments),))


def peers(inputs: Inputs) -> list[Peer]:
    features, indices, weights = inputs["features"], inputs["indices"], inputs["weights"]
    batches, channels, count = features.shape
    points = indices.shape[1]
    indices_long = indices.long()
    first_row = torch.arange(batches, dtype=torch.int32).view(-1, 1, 1) * count

    # Idiomatic: adds in the type of the tensor.
    def gather() -> Outputs:
        index = indices_long.view(batches, 1, -1).expand(-1, channels, -1)
        neighbours = features.gather(2, index).view(batches, channels, points, 3)
        return ((neighbours * weights.unsqueeze(1)).sum(-1),)

    def embedding_bag() -> Outputs:
        rows = features.float().transpose(1, 2).reshape(-1, channels)
        sums = F.embedding_bag(
            (indices + first_row).view(-1, 3), rows, mode="sum", per_sample_weights=weights.float().view(-1, 3)
        )
        return (sums.view(batches, points, channels).transpose(1, 2).to(features.dtype).contiguous(),)

    return [
        Peer("gather", gather, idiomatic=True),
        Peer("transpose, embedding_bag, transpose", embedding_bag),
        compiled(Peer("gather", gather)),
    ]
