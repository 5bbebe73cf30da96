"""Three interpolate backward (PointNet++)."""

import torch
import torch.nn.functional as F

import mluop_omp.torch  # noqa: F401  registers torch.ops.mluop_omp
from peer import Inputs, Outputs, Peer, compiled


def ours(inputs: Inputs) -> Peer:
    arguments = inputs["grad_output"], inputs["indices"], inputs["weights"], inputs["M"].item()
    return Peer("ours", lambda: (torch.ops.mluop_omp.three_interpolate_backward(*arguments),))


def peers(inputs: Inputs) -> list[Peer]:
    grad_output, indices, weights = inputs["grad_output"], inputs["indices"], inputs["weights"]
    batches, channels, points = grad_output.shape
    features = inputs["M"].item()
    dtype = grad_output.dtype
    indices_long = indices.long()
    first_row = torch.arange(batches, dtype=torch.int32).view(-1, 1, 1) * features
    all_rows = torch.arange(batches * features + 1, dtype=torch.int32)
    point_starts = torch.arange(points + 1, dtype=torch.int32) * 3

    # Idiomatic: adds in the type of the tensor.
    def scatter_add() -> Outputs:
        products = grad_output.unsqueeze(-1) * weights.unsqueeze(1)
        index = indices_long.view(batches, 1, -1).expand(-1, channels, -1)
        sums = torch.zeros(batches, channels, features, dtype=dtype)
        return (sums.scatter_add_(2, index, products.view(batches, channels, -1)),)

    def autograd() -> Outputs:
        leaf = torch.zeros(batches, channels, features, dtype=dtype, requires_grad=True)
        index = indices_long.view(batches, 1, -1).expand(-1, channels, -1)
        neighbours = leaf.gather(2, index).view(batches, channels, points, 3)
        interpolated = (neighbours * weights.unsqueeze(1)).sum(-1)
        return torch.autograd.grad(interpolated, leaf, grad_output)

    def dense_bmm() -> Outputs:
        matrices = torch.zeros(batches, points, features).scatter_add_(2, indices_long, weights.float())
        return (torch.bmm(grad_output.float(), matrices).to(dtype),)

    def csr_matmul() -> Outputs:
        sums = torch.empty(batches, channels, features)
        for b in range(batches):
            values = weights[b].float().view(-1)
            matrix = torch.sparse_csr_tensor(
                point_starts, indices[b].view(-1), values, (points, features), check_invariants=False
            )
            sums[b] = grad_output[b].float() @ matrix
        return (sums.to(dtype),)

    def sort_embedding_bag() -> Outputs:
        rows = grad_output.float().transpose(1, 2).reshape(-1, channels)
        keys, order = (indices + first_row).view(-1).sort(stable=True)
        starts = torch.searchsorted(keys, all_rows, out_int32=True)
        scales = weights.float().view(-1)[order]
        sums = F.embedding_bag(
            (order // 3).int(), rows, starts, mode="sum", per_sample_weights=scales, include_last_offset=True
        )
        return (sums.view(batches, features, channels).transpose(1, 2).to(dtype).contiguous(),)

    return [
        Peer("scatter_add", scatter_add, idiomatic=True),
        Peer("autograd of gather", autograd, idiomatic=True),
        Peer("dense bmm", dense_bmm),
        Peer("CSR matmul", csr_matmul),
        Peer("transpose, sort + embedding_bag, transpose", sort_embedding_bag),
        compiled(Peer("transpose, sort + embedding_bag, transpose", sort_embedding_bag)),
    ]
