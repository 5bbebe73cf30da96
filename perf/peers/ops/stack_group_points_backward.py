"""Stack group points backward (PV-RCNN)."""

import torch
import torch.nn.functional as F
from ops.stack_group_points_forward import global_indices

import mluop_omp.torch  # noqa: F401  registers torch.ops.mluop_omp
from peer import Inputs, Outputs, Peer


def ours(inputs: Inputs) -> Peer:
    names = "grad_output", "indices", "indices_batch_cnt", "features_batch_cnt"
    arguments = *(inputs[name] for name in names), inputs["features_batch_cnt"].sum().item()
    return Peer("ours", lambda: (torch.ops.mluop_omp.stack_group_points_backward(*arguments),))


def peers(inputs: Inputs) -> list[Peer]:
    grad, counts = inputs["grad_output"], inputs["features_batch_cnt"]
    features, channels, dtype = counts.sum().item(), grad.shape[1], grad.dtype

    # Idiomatic: adds in the type of the tensor.
    def index_add() -> Outputs:
        rows = grad.transpose(1, 2).reshape(-1, channels)
        sums = torch.zeros(features, channels, dtype=dtype)
        return (sums.index_add_(0, global_indices(inputs, counts).view(-1), rows),)

    def chunks() -> Outputs:
        """The rows of a chunk fit in the caches."""
        sums = torch.zeros(features, channels)
        for index, chunk in zip(global_indices(inputs, counts).split(64), grad.split(64)):
            sums.index_add_(0, index.view(-1), chunk.float().transpose(1, 2).reshape(-1, channels))
        return (sums.to(dtype),)

    def sort_embedding_bag() -> Outputs:
        rows = grad.transpose(1, 2).reshape(-1, channels).float()
        keys, order = global_indices(inputs, counts).view(-1).sort(stable=True)
        starts = torch.searchsorted(keys, torch.arange(features + 1, dtype=torch.int32))
        sums = F.embedding_bag(order, rows, starts, mode="sum", include_last_offset=True)
        return (sums.to(dtype),)

    return [
        Peer("transpose, index_add", index_add, idiomatic=True, may_differ=dtype != torch.float32),
        Peer("transpose, index_add, in chunks", chunks),
        Peer("transpose, sort + embedding_bag", sort_embedding_bag),
    ]
