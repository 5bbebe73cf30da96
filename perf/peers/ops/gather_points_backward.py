"""Gather points backward (PointNet++)."""

import torch

import mluop_omp.torch  # noqa: F401  registers torch.ops.mluop_omp
from peer import Inputs, Outputs, Peer


def ours(inputs: Inputs) -> Peer:
    arguments = inputs["grad_output"], inputs["indices"], inputs["N"].item()
    return Peer("ours", lambda: (torch.ops.mluop_omp.gather_points_backward(*arguments),))


def peers(inputs: Inputs) -> list[Peer]:
    indices, features = inputs["indices"].long(), inputs["N"].item()
    batches, channels = inputs["grad_output"].shape[:2]
    grad_output = inputs["grad_output"].view(batches, channels, -1)
    dtype = grad_output.dtype
    index = indices.view(batches, 1, -1).expand(-1, channels, -1)

    # Idiomatic: half tensors are added in half.
    def scatter_add() -> Outputs:
        sums = torch.zeros(batches, channels, features, dtype=dtype)
        return (sums.scatter_add_(2, index, grad_output),)

    def index_add() -> Outputs:
        sums = torch.zeros(batches, features, channels)
        for b in range(batches):
            sums[b].index_add_(0, indices[b].view(-1), grad_output[b].float().t())
        return (sums.transpose(1, 2).to(dtype).contiguous(),)

    return [
        Peer("scatter_add", scatter_add, idiomatic=True, may_differ=dtype == torch.float16),
        Peer("transpose, index_add, transpose", index_add),
    ]
