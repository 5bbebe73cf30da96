"""Voxel pooling forward (BEVDepth)."""

import torch
import torch.nn.functional as F

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer


def ours(inputs: Inputs) -> Peer:
    arguments = inputs["geom_xyz"], inputs["input_features"], inputs["num_voxel"].tolist()
    return Peer("ours", lambda: mt.voxel_pooling(*arguments))


def peers(inputs: Inputs) -> list[Peer]:
    geom, batched_features = inputs["geom_xyz"], inputs["input_features"]
    num_x, num_y, num_z = inputs["num_voxel"].tolist()
    batches, _, channels = batched_features.shape
    features = batched_features.view(-1, channels)
    dtype = features.dtype
    cells = batches * num_y * num_x
    bounds = torch.tensor([num_x, num_y, num_z], dtype=torch.int32)
    batch = torch.arange(batches, dtype=torch.int32).view(-1, 1)
    all_cells = torch.arange(cells + 1, dtype=torch.int32)

    def locate() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Returns whether each point is in range, its cell, and pos_memo."""
        inside = ((geom >= 0) & (geom < bounds)).all(-1)
        x, y = geom[..., 0], geom[..., 1]
        cell = (batch * num_y + y) * num_x + x
        memo = torch.stack((batch.expand_as(x), y, x), -1)
        return inside.view(-1), cell.view(-1), memo.masked_fill(~inside.unsqueeze(-1), -1)

    def locate_by_planes() -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the cell of each point, `cells` if out of range, and pos_memo."""
        x, y, z = geom.permute(2, 0, 1).contiguous()
        inside = ((x | y | z) >= 0) & (x < num_x) & (y < num_y) & (z < num_z)
        cell = torch.where(inside, (batch * num_y + y) * num_x + x, cells)
        outside = inside.int() - 1
        return cell.view(-1), torch.stack((batch | outside, y | outside, x | outside), -1)

    def grouped(cell: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the points in range, sorted by cell, and the start of each cell."""
        kept = (cell < cells).nonzero().view(-1)
        sorted_cells, order = cell[kept].sort(stable=True)
        return kept[order].int(), torch.searchsorted(sorted_cells, all_cells, out_int32=True)

    def pooled(sums: torch.Tensor) -> torch.Tensor:
        return sums.to(dtype).view(batches, num_y, num_x, channels)

    # Half and bfloat16 are added in fp32: sums of many points in 16 bits would exceed the tolerance.
    def mask_index_add() -> Outputs:
        inside, cell, memo = locate()
        sums = torch.zeros(cells, channels)
        sums.index_add_(0, cell[inside], features[inside].float())
        return pooled(sums), memo

    def mask_scatter_add() -> Outputs:
        inside, cell, memo = locate()
        rows = features[inside].float()
        sums = torch.zeros(cells, channels)
        sums.scatter_add_(0, cell[inside].long().unsqueeze(1).expand_as(rows), rows)
        return pooled(sums), memo

    def spare_cell_index_add() -> Outputs:
        cell, memo = locate_by_planes()
        sums = torch.zeros(cells + 1, channels)
        sums.index_add_(0, cell, features.float())
        return pooled(sums[:-1]), memo

    def sort_embedding_bag() -> Outputs:
        cell, memo = locate_by_planes()
        order, starts = grouped(cell)
        sums = F.embedding_bag(order, features.float(), starts, mode="sum", include_last_offset=True)
        return pooled(sums), memo

    def sort_csr_matmul() -> Outputs:
        cell, memo = locate_by_planes()
        order, starts = grouped(cell)
        size = (cells, features.shape[0])
        matrix = torch.sparse_csr_tensor(starts, order, torch.ones(order.numel()), size, check_invariants=False)
        return pooled(matrix @ features.float()), memo

    def sort_all_embedding_bag() -> Outputs:
        cell, memo = locate_by_planes()
        sorted_cells, order = cell.sort(stable=True)
        starts = torch.searchsorted(sorted_cells, all_cells, out_int32=True)
        sums = F.embedding_bag(order.int(), features.float(), starts, mode="sum", include_last_offset=True)
        return pooled(sums), memo

    # torch.compile is not faster for these implementations.
    return [
        Peer("mask + index_add", mask_index_add, idiomatic=True),
        Peer("mask + scatter_add", mask_scatter_add, idiomatic=True),
        Peer("index_add, a spare cell for points out of range", spare_cell_index_add),
        Peer("sort points in range + CSR matmul", sort_csr_matmul),
        Peer("sort points in range + embedding_bag", sort_embedding_bag),
        Peer("sort all points + embedding_bag", sort_all_embedding_bag),
    ]
