"""Ball query (PointNet++)."""

import ctypes

import torch

from library import Library, pointer
from peer import Inputs, Outputs, Peer


def ours(library: Library, inputs: Inputs) -> Peer:
    new_xyz, xyz = inputs["new_xyz"], inputs["xyz"]
    nsample = int(inputs["nsample"])
    idx = torch.zeros((*new_xyz.shape[:2], nsample), dtype=torch.int32)
    call = library.bind(
        "mluOpBallQuery",
        *(library.describe(new_xyz), pointer(new_xyz)),
        *(library.describe(xyz), pointer(xyz)),
        *(ctypes.c_float(float(radius)) for radius in inputs["radii"]),
        ctypes.c_int(nsample),
        *(library.describe(idx), pointer(idx)),
    )

    def run() -> Outputs:
        call()
        return (idx,)

    return Peer("ours", run)


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
