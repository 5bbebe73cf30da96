"""A feature propagation level of PointNet++, forward or forward and backward."""

from collections.abc import Callable

import torch
import torch.nn.functional as F

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer

try:
    from scipy.spatial import cKDTree
except ImportError:
    cKDTree = None

# (unknown, known) -> distances and indices [B, N, 3]
Nearest = Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]
# (features [B, C, M], indices, weights) -> [B, C, N]
Interpolate = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def _run(inputs: Inputs, nearest: Nearest, interpolate: Interpolate) -> Callable[[], Outputs]:
    training = bool(inputs["training"].item())
    known_features, unknown_features = (
        inputs[name].detach().requires_grad_(training) for name in ("known_features", "unknown_features")
    )

    def run() -> Outputs:
        distances, indices = nearest(inputs["unknown"], inputs["known"])
        weights = 1 / (distances + 1e-8)
        weights /= weights.sum(2, keepdim=True)
        with torch.set_grad_enabled(training):
            features = torch.cat([interpolate(known_features, indices, weights), unknown_features], 1)
        if not training:
            return (features,)
        gradients = torch.autograd.grad(features, (known_features, unknown_features), inputs["grad_features"])
        return features.detach(), *(gradient.contiguous() for gradient in gradients)

    return run


def ours(inputs: Inputs) -> Peer:
    def nearest(unknown: torch.Tensor, known: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        distances2, indices = mt.three_nn(unknown, known)
        return distances2.sqrt_(), indices

    return Peer("ours", _run(inputs, nearest, mt.three_interpolate))


def _cdist_topk(unknown: torch.Tensor, known: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    distances = torch.cdist(unknown, known, compute_mode="donot_use_mm_for_euclid_dist")
    return tuple(distances.topk(3, dim=2, largest=False))


def _kd_tree(unknown: torch.Tensor, known: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    found = [
        cKDTree(k.numpy()).query(u.numpy(), k=3, workers=torch.get_num_threads()) for u, k in zip(unknown, known)
    ]
    distances, indices = (torch.stack([torch.from_numpy(each[i]) for each in found]) for i in range(2))
    return distances.float(), indices


def _gather(features: torch.Tensor, indices: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    batches, channels = features.shape[:2]
    index = indices.view(batches, 1, -1).expand(-1, channels, -1)
    neighbors = features.gather(2, index).view(batches, channels, -1, 3)
    return (neighbors * weights.unsqueeze(1)).sum(3)


def _embedding_bag(features: torch.Tensor, indices: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    batches, channels, known = features.shape
    rows = (indices + torch.arange(batches).view(-1, 1, 1) * known).view(-1, 3)
    table = features.transpose(1, 2).reshape(-1, channels)
    sums = F.embedding_bag(rows, table, mode="sum", per_sample_weights=weights.view(-1, 3))
    return sums.view(batches, -1, channels).transpose(1, 2)


def peers(inputs: Inputs) -> list[Peer]:
    all_peers = [
        Peer("cdist, topk; gather", _run(inputs, _cdist_topk, _gather), idiomatic=True),
        Peer("cdist, topk; embedding_bag", _run(inputs, _cdist_topk, _embedding_bag)),
    ]
    if cKDTree is not None:
        all_peers.append(Peer("scipy cKDTree; gather", _run(inputs, _kd_tree, _gather)))
        all_peers.append(Peer("scipy cKDTree; embedding_bag", _run(inputs, _kd_tree, _embedding_bag)))
    return all_peers
