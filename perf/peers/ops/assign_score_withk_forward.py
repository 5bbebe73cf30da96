"""Assign score with k forward (PAConv): kernels assembled by the scores of neighbors."""

from functools import partial

import torch
import torch.nn.functional as F

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer

NAMES = "scores", "points", "centers", "knn_idx"


def ours(inputs: Inputs) -> Peer:
    arguments = [inputs[name] for name in NAMES]
    return Peer("ours", lambda: (mt.assign_score_withk(*arguments),))


def peers(inputs: Inputs) -> list[Peer]:
    batches = list(zip(*(inputs[name] for name in NAMES)))
    (_, kernels, channels), dtype = inputs["points"].shape[1:], inputs["points"].dtype
    numbers = torch.arange(kernels, dtype=torch.int32)

    # The differences of a batch may take gigabytes.
    def einsum(chunk: int) -> Outputs:
        output = torch.empty(len(batches), channels, *inputs["knn_idx"].shape[1:], dtype=dtype)
        for (scores, points, centers, idx), out in zip(batches, output):
            for s, i, o in zip(scores.split(chunk), idx.split(chunk), out.split(chunk, dim=1)):
                differences = points[i] - centers[i[:, :1]]
                o.copy_(torch.einsum("nkm,nkmo->onk", s, differences))
        return (output,)

    def embedding_bag() -> Outputs:
        outputs = []
        for scores, points, centers, idx in batches:
            rows, weights = points.float().view(-1, channels), scores.float()
            index = (idx.unsqueeze(2) * kernels + numbers).view(-1, kernels)
            sums = F.embedding_bag(index, rows, mode="sum", per_sample_weights=weights.view(-1, kernels))
            sums = torch.baddbmm(sums.view(*idx.shape, channels), weights, centers[idx[:, 0]].float(), alpha=-1)
            outputs.append(sums.permute(2, 0, 1).to(dtype))
        return (torch.stack(outputs),)

    return [
        Peer("index, einsum", partial(einsum, 1024), idiomatic=True),
        Peer("index, einsum, in chunks that caches hold", partial(einsum, 16)),
        Peer("embedding_bag of the points, bmm of the centers", embedding_bag),
    ]
