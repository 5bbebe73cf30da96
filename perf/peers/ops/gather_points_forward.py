"""Gather points forward (PointNet++): features of points, and of neighborhoods."""

import torch

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer


def ours(inputs: Inputs) -> Peer:
    arguments = inputs["features"], inputs["indices"]
    return Peer("ours", lambda: (mt.gather_points(*arguments),))


def peers(inputs: Inputs) -> list[Peer]:
    features, indices = inputs["features"], inputs["indices"].long()
    batches, channels, _ = features.shape
    shape = batches, channels, *indices.shape[1:]

    def gather() -> Outputs:
        index = indices.view(batches, 1, -1).expand(-1, channels, -1)
        return (features.gather(2, index).view(shape),)

    def index_select() -> Outputs:
        found = [f.index_select(1, i.view(-1)) for f, i in zip(features, indices)]
        return (torch.stack(found).view(shape),)

    def rows() -> Outputs:
        found = [f.t().contiguous()[i.view(-1)].t() for f, i in zip(features, indices)]
        return (torch.stack(found).view(shape),)

    return [
        Peer("gather", gather, idiomatic=True),
        Peer("index_select of each batch", index_select),
        Peer("transpose, rows, transpose", rows),
    ]
