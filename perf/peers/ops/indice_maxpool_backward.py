"""Indice max pooling backward (mmcv, spconv)."""

import torch
import torch.nn.functional as F
from ops.indice_maxpool_forward import used_pairs

import mluop_omp.torch  # noqa: F401  registers torch.ops.mluop_omp
from peer import Inputs, Outputs, Peer


def ours(inputs: Inputs) -> Peer:
    names = "features", "features_out", "output_grad", "indice_pairs", "indice_num"
    arguments = [inputs[name] for name in names]
    return Peer("ours", lambda: (torch.ops.mluop_omp.indice_maxpool_backward(*arguments),))


def peers(inputs: Inputs) -> list[Peer]:
    features, maxima, grad = inputs["features"], inputs["features_out"], inputs["output_grad"]
    (sites, channels), dtype = features.shape, features.dtype
    used = used_pairs(inputs)
    used_long = [rows.long() for rows, _ in used]
    numbers = torch.arange(sites + 1, dtype=torch.int32)

    def passed(rows: torch.Tensor, outputs: torch.Tensor) -> torch.Tensor:
        """Returns the gradients of the outputs whose maximum equals the row."""
        is_maximum = features.index_select(0, rows) == maxima.index_select(0, outputs)
        return torch.where(is_maximum, grad.index_select(0, outputs), 0)

    # Half and bfloat16 are added in fp32.
    def index_add() -> Outputs:
        sums = torch.zeros(sites, channels)
        for rows, outputs in used:
            is_maximum = features[rows] == maxima[outputs]
            sums.index_add_(0, rows, torch.where(is_maximum, grad[outputs], 0).float())
        return (sums.to(dtype),)

    def scatter_add() -> Outputs:
        sums = torch.zeros(sites, channels)
        for (rows, outputs), index in zip(used, used_long):
            sums.scatter_add_(0, index.unsqueeze(1).expand(-1, channels), passed(rows, outputs).float())
        return (sums.to(dtype),)

    def sort_embedding_bag() -> Outputs:
        keys, order = torch.cat([rows for rows, _ in used]).sort(stable=True)
        starts = torch.searchsorted(keys, numbers)
        grads = passed(keys, torch.cat([outputs for _, outputs in used])[order]).float()
        sums = F.embedding_bag(torch.arange(len(keys)), grads, starts, mode="sum", include_last_offset=True)
        return (sums.to(dtype),)

    return [
        Peer("index, where, index_add", index_add, idiomatic=True),
        Peer("index_select, where, scatter_add", scatter_add),
        Peer("sort, index_select, where, embedding_bag", sort_embedding_bag),
    ]
