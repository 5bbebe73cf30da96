"""Ball query of stacked clouds (PV-RCNN)."""

import torch

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer

try:
    from scipy.spatial import cKDTree
except ImportError:
    cKDTree = None


def ours(inputs: Inputs) -> Peer:
    names = "new_xyz", "new_xyz_batch_cnt", "xyz", "xyz_batch_cnt"
    arguments = *(inputs[name] for name in names), inputs["radii"][1].item(), inputs["nsample"].item()
    return Peer("ours", lambda: (mt.stack_ball_query(*arguments),))


# Peers compute distances in fp32 or double and take their root: points at the boundary of a ball may be on its other
# side. An empty ball has -1, then zeros.
def peers(inputs: Inputs) -> list[Peer]:
    radius, nsample = inputs["radii"][1].item(), inputs["nsample"].item()
    centers = inputs["new_xyz"].float().split(inputs["new_xyz_batch_cnt"].tolist())
    clouds = inputs["xyz"].float().split(inputs["xyz_batch_cnt"].tolist())
    samples = torch.arange(nsample)

    def inside(centers: torch.Tensor, cloud: torch.Tensor) -> torch.Tensor:
        return torch.cdist(centers, cloud, compute_mode="donot_use_mm_for_euclid_dist") < radius

    def padded(found: torch.Tensor, points: int) -> torch.Tensor:
        found = torch.where(found == points, found[:, :1], found)
        return torch.where(found == points, -(samples == 0).int(), found)

    def sort() -> Outputs:
        rows = []
        for c, cloud in zip(centers, clouds):
            numbers = torch.where(inside(c, cloud), torch.arange(len(cloud), dtype=torch.int32), len(cloud))
            rows.append(padded(numbers.sort(dim=1).values[:, :nsample], len(cloud)))
        return (torch.cat(rows),)

    def topk() -> Outputs:
        rows = []
        for c, cloud in zip(centers, clouds):
            numbers = torch.where(inside(c, cloud), torch.arange(len(cloud), dtype=torch.int32), len(cloud))
            rows.append(padded(numbers.topk(nsample, dim=1, largest=False).values, len(cloud)))
        return (torch.cat(rows),)

    def nonzero() -> Outputs:
        """Works in chunks of centers that fit in the caches."""
        rows = []
        for c, cloud in zip(centers, clouds):
            for chunk in c.split(64):
                mask = inside(chunk, cloud)
                counts = mask.sum(1, keepdim=True)
                found = torch.cat((mask.nonzero()[:, 1], torch.tensor([0])))
                index = counts.cumsum(0) - counts + torch.where(samples < counts, samples, 0)
                rows.append(torch.where(counts == 0, -(samples == 0).long(), found[index]).int())
        return (torch.cat(rows),)

    def kd_tree() -> Outputs:
        rows = []
        for c, cloud in zip(centers, clouds):
            balls = cKDTree(cloud.numpy()).query_ball_point(
                c.numpy(), radius, return_sorted=True, workers=torch.get_num_threads()
            )
            rows += [(b[:nsample] + b[:1] * (nsample - len(b))) or [-1] + [0] * (nsample - 1) for b in balls]
        return (torch.tensor(rows, dtype=torch.int32),)

    all_peers = [
        Peer("cdist, sort", sort, idiomatic=True, may_differ=True),
        Peer("cdist, topk", topk, may_differ=True),
        Peer("cdist, nonzero", nonzero, may_differ=True),
    ]
    if cKDTree is not None:
        all_peers.append(Peer("scipy cKDTree", kd_tree, may_differ=True))
    return all_peers
