"""Three interpolate forward (PointNet++)."""

import torch
import torch.nn.functional as F

from library import Library, pointer
from peer import Inputs, Outputs, Peer, compiled


def ours(library: Library, inputs: Inputs) -> Peer:
    features = inputs["features"]
    batches, channels, _ = features.shape
    output = torch.empty(batches, channels, inputs["indices"].shape[1], dtype=features.dtype)
    tensors = (features, inputs["indices"], inputs["weights"], output)
    arguments = [argument for tensor in tensors for argument in (library.describe(tensor), pointer(tensor))]
    call = library.bind("mluOpThreeInterpolateForward", *arguments)

    def run() -> Outputs:
        call()
        return (output,)

    return Peer("ours", run)


def peers(inputs: Inputs) -> list[Peer]:
    features, indices, weights = inputs["features"], inputs["indices"], inputs["weights"]
    batches, channels, count = features.shape
    points = indices.shape[1]
    indices_long = indices.long()
    first_row = torch.arange(batches, dtype=torch.int32).view(-1, 1, 1) * count

    # Idiomatic: half tensors are added in half.
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
