"""k nearest neighbors (DGCNN, PAConv)."""

import torch

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer

try:
    from scipy.spatial import cKDTree
except ImportError:
    cKDTree = None


def ours(inputs: Inputs) -> Peer:
    arguments = inputs["xyz"], inputs["new_xyz"], int(inputs["k"])
    return Peer("ours", lambda: mt.knn(*arguments)[:1])


# Peers return squared distances and choose any of equal ones.
def peers(inputs: Inputs) -> list[Peer]:
    xyz, new_xyz, k = inputs["xyz"], inputs["new_xyz"], int(inputs["k"])

    def cdist_topk() -> Outputs:
        distances = torch.cdist(new_xyz, xyz, compute_mode="donot_use_mm_for_euclid_dist")
        return (distances.topk(k, dim=2, largest=False).values ** 2,)

    def cdist_mm_topk() -> Outputs:
        return (torch.cdist(new_xyz, xyz).topk(k, dim=2, largest=False).values ** 2,)

    def kd_tree() -> Outputs:
        found = [
            torch.from_numpy(
                cKDTree(p.numpy()).query(c.numpy(), k=k, workers=torch.get_num_threads())[0]
            )
            for p, c in zip(xyz, new_xyz)
        ]
        return ((torch.stack(found) ** 2).to(xyz.dtype),)

    all_peers = [
        Peer("cdist, topk", cdist_topk, idiomatic=True),
        Peer("cdist by matmul, topk", cdist_mm_topk, may_differ=True),
    ]
    if cKDTree is not None:
        all_peers.append(Peer("scipy cKDTree", kd_tree))
    return all_peers
