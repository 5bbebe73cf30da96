"""Furthest point sampling (PointNet++)."""

import torch

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer

try:
    import fpsample
except ImportError:
    fpsample = None


def ours(inputs: Inputs) -> Peer:
    points, samples = inputs["points"], inputs["samples"].item()
    return Peer("ours", lambda: (mt.furthest_point_sample(points, samples),))


# Peers choose any of the points at equal distances.
def peers(inputs: Inputs) -> list[Peer]:
    points, samples = inputs["points"], inputs["samples"].item()

    def distances_argmax() -> Outputs:
        batches = torch.arange(len(points))
        idx = torch.zeros(len(points), samples, dtype=torch.int64)
        distances = torch.full(points.shape[:2], 1e10)
        for j in range(1, samples):
            last = points[batches, idx[:, j - 1]].unsqueeze(1)
            torch.minimum(distances, (points - last).square_().sum(2), out=distances)
            idx[:, j] = distances.argmax(1)
        return (idx.int(),)

    def buckets() -> Outputs:
        levels = 7 if points.shape[1] > 8192 else 5  # as fpsample's documentation advises
        found = [fpsample.bucket_fps_kdline_sampling(p.numpy(), samples, levels, start_idx=0) for p in points]
        return (torch.stack([torch.from_numpy(idx.astype("int32")) for idx in found]),)

    all_peers = [Peer("distances, argmax of each sample", distances_argmax, idiomatic=True, may_differ=True)]
    if fpsample is not None:
        all_peers.append(Peer("fpsample, buckets", buckets, may_differ=True))
    return all_peers
