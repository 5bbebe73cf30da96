"""BEV pool backward (BEVDet bev_pool_v2): the gradients of weights and rows."""

import torch
from ops.bev_pool_forward import NAMES

import mluop_omp.torch  # noqa: F401  registers torch.ops.mluop_omp
from peer import Inputs, Outputs, Peer


def ours(inputs: Inputs) -> Peer:
    arguments = inputs["grad_output"], *(inputs[name] for name in NAMES)
    return Peer("ours", lambda: torch.ops.mluop_omp.bev_pool_backward(*arguments))


def peers(inputs: Inputs) -> list[Peer]:
    depth, features, *ranks = (inputs[name] for name in NAMES)

    def index_add() -> Outputs:
        """Gradients are added in fp32."""
        kept = ranks[2] >= 0
        of_depth, of_feat, cell = (each[kept] for each in ranks)
        gradients = inputs["grad_output"][cell].float()
        products = (gradients * features[of_feat].float()).sum(1)
        grad_depth = torch.zeros(depth.shape).index_add(0, of_depth, products)
        weighted = gradients * depth[of_depth].float().unsqueeze(1)
        grad_features = torch.zeros(features.shape).index_add(0, of_feat, weighted)
        return grad_depth.to(depth.dtype), grad_features.to(features.dtype)

    return [Peer("gather, index_add", index_add, idiomatic=True)]
