"""Three nearest neighbors forward (PointNet++)."""

import torch

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer

try:
    from scipy.spatial import cKDTree
except ImportError:
    cKDTree = None


def ours(inputs: Inputs) -> Peer:
    return Peer("ours", lambda: mt.three_nn(inputs["unknown"], inputs["known"])[:1])


# Peers return squared distances and choose any of equal ones.
def peers(inputs: Inputs) -> list[Peer]:
    unknown, known = inputs["unknown"], inputs["known"]
    dtype = unknown.dtype

    def cdist_topk() -> Outputs:
        distances = torch.cdist(unknown.float(), known.float(), compute_mode="donot_use_mm_for_euclid_dist")
        return ((distances.topk(3, dim=2, largest=False).values ** 2).to(dtype),)

    def cdist_mm_topk() -> Outputs:
        distances = torch.cdist(unknown.float(), known.float())
        return ((distances.topk(3, dim=2, largest=False).values ** 2).to(dtype),)

    def kd_tree() -> Outputs:
        found = [
            torch.from_numpy(cKDTree(k.numpy()).query(u.numpy(), k=3, workers=torch.get_num_threads())[0])
            for u, k in zip(unknown.float(), known.float())
        ]
        return ((torch.stack(found) ** 2).to(dtype),)

    all_peers = [
        Peer("cdist, topk", cdist_topk, idiomatic=True, may_differ=dtype == torch.float16),
        Peer("cdist by matmul, topk", cdist_mm_topk, may_differ=True),
    ]
    if cKDTree is not None:
        all_peers.append(Peer("scipy cKDTree", kd_tree, may_differ=dtype == torch.float16))
    return all_peers
