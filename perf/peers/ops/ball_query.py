"""Ball query (PointNet++)."""

import torch

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer


def ours(inputs: Inputs) -> Peer:
    low, high = inputs["radii"].tolist()
    arguments = inputs["new_xyz"], inputs["xyz"], low, high, int(inputs["nsample"])
    return Peer("ours", lambda: (mt.ball_query(*arguments),))


# Peers compute distances in fp32 and take their root, or use a matrix product: points at the boundary of a ball may
# be on its other side. The centers are points, so that each ball has a member.
def peers(inputs: Inputs) -> list[Peer]:
    new_xyz, xyz = inputs["new_xyz"].float(), inputs["xyz"].float()
    nsample = int(inputs["nsample"])
    low, high = inputs["radii"].tolist()
    points = xyz.shape[1]
    numbers = torch.arange(points, dtype=torch.int32)

    def members(mode: str) -> torch.Tensor:
        distances = torch.cdist(new_xyz, xyz, compute_mode=mode)
        inside = (distances == 0) | ((distances >= low) & (distances < high))
        return torch.where(inside, numbers, points)

    def padded(found: torch.Tensor) -> Outputs:
        return (torch.where(found == points, found[..., :1], found),)

    def cdist_sort() -> Outputs:
        return padded(members("use_mm_for_euclid_dist_if_necessary").sort(dim=2).values[..., :nsample])

    def cdist_topk() -> Outputs:
        return padded(members("donot_use_mm_for_euclid_dist").topk(nsample, dim=2, largest=False).values)

    return [
        Peer("cdist, sort", cdist_sort, idiomatic=True, may_differ=True),
        Peer("cdist, topk", cdist_topk, may_differ=True),
    ]
