"""Voxel pooling backward (BEVDepth)."""

import torch
import torch.nn.functional as F

import mluop_omp.torch  # noqa: F401  registers torch.ops.mluop_omp
from peer import Inputs, Outputs, Peer, compiled


def ours(inputs: Inputs) -> Peer:
    arguments = inputs["grad_output_features"], inputs["pos_memo"]
    return Peer("ours", lambda: (torch.ops.mluop_omp.voxel_pooling_backward(*arguments),))


def peers(inputs: Inputs) -> list[Peer]:
    grad_output, memo = inputs["grad_output_features"], inputs["pos_memo"]
    _, num_y, num_x, channels = grad_output.shape
    shape = (*memo.shape[:2], channels)
    # Half and bfloat16 as integers: copies of them may change the bits of a NaN.
    bits = grad_output.view(torch.int16 if grad_output.element_size() == 2 else torch.int32)
    rows = bits.view(-1, channels)
    reused = torch.empty(memo.shape[0] * memo.shape[1], channels, dtype=bits.dtype)

    def cells() -> tuple[torch.Tensor, torch.Tensor]:
        """Returns whether each point has a cell, and its cell; without one, the first cell."""
        batch, y, x = memo.view(-1, 3).unbind(-1)
        kept = batch >= 0
        return kept, torch.where(kept, (batch * num_y + y) * num_x + x, 0)

    def mask_index() -> Outputs:
        # Permutes the gradient, as BEVDepth does.
        kept = (memo != -1)[..., 0]
        batch, y, x = memo[kept].long().unbind(-1)
        grad_input = torch.zeros(shape, dtype=bits.dtype)
        grad_input[kept] = bits[batch, y, x]
        return (grad_input.view(grad_output.dtype),)

    def select_mask() -> Outputs:
        kept, cell = cells()
        selected = rows.index_select(0, cell).masked_fill_(~kept.unsqueeze(-1), 0)
        return (selected.view(shape).view(grad_output.dtype),)

    def select_spare_row() -> Outputs:
        kept, cell = cells()
        padded = F.pad(rows, (0, 0, 0, 1))
        torch.index_select(padded, 0, torch.where(kept, cell, len(rows)), out=reused)
        return (reused.view(shape).view(grad_output.dtype),)

    return [
        Peer("zeros, mask, index (BEVDepth)", mask_index, idiomatic=True),
        Peer("index_select, mask", select_mask),
        Peer("index_select with a spare row, in place", select_spare_row),
        compiled(Peer("index_select, mask", select_mask)),
    ]
