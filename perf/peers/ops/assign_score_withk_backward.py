"""Assign score with k backward (PAConv)."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from ops.assign_score_withk_forward import NAMES

import mluop_omp.torch  # noqa: F401  registers torch.ops.mluop_omp
from peer import Inputs, Outputs, Peer


def ours(inputs: Inputs) -> Peer:
    arguments = inputs["grad_output"], *(inputs[name] for name in NAMES)
    return Peer("ours", lambda: torch.ops.mluop_omp.assign_score_withk_backward(*arguments))


def peers(inputs: Inputs) -> list[Peer]:
    batches = list(zip(*(inputs[name] for name in NAMES), inputs["grad_output"]))
    (_, rows, kernels, channels), dtype = inputs["points"].shape, inputs["points"].dtype

    def gradients(add_points: Callable[..., None], chunk: int) -> Outputs:
        """The differences of a batch may take gigabytes. Half and bfloat16 are added in fp32."""
        grads = [torch.zeros_like(inputs[name], dtype=torch.float32) for name in NAMES[:3]]
        for (scores, points, centers, idx, grad), of_scores, of_points, of_centers in zip(batches, *grads):
            scores, grad = scores.float(), grad.permute(1, 2, 0).float().contiguous()
            for i, g, out in zip(idx.split(chunk), grad.split(chunk), of_scores.split(chunk)):
                differences = points[i].float() - centers[i[:, :1]].float()
                out.copy_(torch.einsum("nko,nkmo->nkm", g, differences))
            add_points(of_points, scores, idx, grad)
            of_centers.index_add_(0, idx[:, 0], torch.bmm(scores.transpose(1, 2), grad), alpha=-1)
        return tuple(each.to(dtype) for each in grads)

    def index_add(chunk: int) -> Outputs:
        def add_points(sums: torch.Tensor, *tensors: torch.Tensor) -> None:
            for scores, idx, grad in zip(*(each.split(chunk) for each in tensors)):
                sums.index_add_(0, idx.view(-1), torch.einsum("nkm,nko->nkmo", scores, grad).flatten(0, 1))

        return gradients(add_points, chunk)

    def sort_embedding_bag() -> Outputs:
        def add_points(sums: torch.Tensor, scores: torch.Tensor, idx: torch.Tensor, grad: torch.Tensor) -> None:
            """The sums of a kernel are weighted sums of rows of the gradient."""
            keys, order = idx.view(-1).sort(stable=True)
            starts = torch.searchsorted(keys, torch.arange(rows + 1, dtype=torch.int32))
            factors = grad.view(-1, channels)
            for m, weights in enumerate(scores.view(-1, kernels)[order].t().contiguous()):
                sums[:, m] = F.embedding_bag(
                    order, factors, starts, mode="sum", per_sample_weights=weights, include_last_offset=True
                )

        return gradients(add_points, 16)

    return [
        Peer("index, einsum, index_add", partial(index_add, 1024), idiomatic=True),
        Peer("index, einsum, index_add, in chunks that caches hold", partial(index_add, 16)),
        Peer("sort + embedding_bag of the points", sort_embedding_bag),
    ]
