"""Indice max pooling forward (mmcv, spconv)."""

import torch
import torch.nn.functional as F

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer


def used_pairs(inputs: Inputs) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The rows and the outputs of the pairs of each offset."""
    pairs, counts = inputs["indice_pairs"], inputs["indice_num"].tolist()
    return [(pairs[k, 0, :count], pairs[k, 1, :count]) for k, count in enumerate(counts) if count > 0]


def ours(inputs: Inputs) -> Peer:
    tensors = inputs["features"], inputs["indice_pairs"], inputs["indice_num"]
    num_act_out = inputs["num_act_out"].item()
    return Peer("ours", lambda: (mt.indice_maxpool(*tensors, num_act_out),))


# mmcv's maxima begin at 0.
def peers(inputs: Inputs) -> list[Peer]:
    features, num_act_out = inputs["features"], inputs["num_act_out"].item()
    channels, dtype = features.shape[1], features.dtype
    used = used_pairs(inputs)
    used_long = [outputs.long() for _, outputs in used]
    all_outputs = torch.arange(num_act_out + 1, dtype=torch.int32)

    def zeros() -> torch.Tensor:
        return torch.zeros(num_act_out, channels, dtype=dtype)

    def scatter_reduce() -> Outputs:
        maxima = zeros()
        for (rows, _), outputs in zip(used, used_long):
            maxima.scatter_reduce_(0, outputs.unsqueeze(1).expand(-1, channels), features[rows], "amax")
        return (maxima,)

    def index_reduce() -> Outputs:
        maxima = zeros()
        for rows, outputs in used:
            maxima.index_reduce_(0, outputs, features.index_select(0, rows), "amax")
        return (maxima,)

    def sort_embedding_bag() -> Outputs:
        keys, order = torch.cat([outputs for _, outputs in used]).sort(stable=True)
        rows = torch.cat([rows for rows, _ in used])[order]
        starts = torch.searchsorted(keys, all_outputs, out_int32=True)
        maxima = F.embedding_bag(rows, features.float(), starts, mode="max", include_last_offset=True)
        return (maxima.clamp_(min=0).to(dtype),)

    return [
        Peer("scatter_reduce", scatter_reduce, idiomatic=True),
        Peer("index_reduce", index_reduce),
        Peer("sort + embedding_bag", sort_embedding_bag),
    ]
