"""Three nearest neighbors forward (PointNet++)."""

import ctypes

import torch

from library import Library, pointer
from peer import Inputs, Outputs, Peer

try:
    from scipy.spatial import cKDTree
except ImportError:
    cKDTree = None


def ours(library: Library, inputs: Inputs) -> Peer:
    unknown, known = inputs["unknown"], inputs["known"]
    dist2 = torch.empty_like(unknown)
    idx = torch.empty(unknown.shape, dtype=torch.int32)
    known_desc = library.describe(known)
    size = ctypes.c_size_t()
    library.call("mluOpGetThreeNNForwardWorkspaceSize", known_desc, ctypes.byref(size))
    workspace = torch.empty(size.value, dtype=torch.uint8)
    call = library.bind(
        "mluOpThreeNNForward",
        *(library.describe(unknown), pointer(unknown)),
        *(known_desc, pointer(known)),
        *(pointer(workspace), size),
        *(library.describe(dist2), pointer(dist2)),
        *(library.describe(idx), pointer(idx)),
        keep=(workspace, idx),
    )

    def run() -> Outputs:
        call()
        return (dist2,)

    return Peer("ours", run)


# Peers return squared distances: of equal ones, they take any.
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
            for u, k in zip(unknown, known)
        ]
        return ((torch.stack(found) ** 2).to(dtype),)

    all_peers = [
        Peer("cdist, topk", cdist_topk, idiomatic=True, may_differ=dtype == torch.float16),
        Peer("cdist by matmul, topk", cdist_mm_topk, may_differ=True),
    ]
    if cKDTree is not None:
        all_peers.append(Peer("scipy cKDTree", kd_tree, may_differ=dtype == torch.float16))
    return all_peers
