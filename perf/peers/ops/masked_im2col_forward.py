"""Masked im2col forward (mmcv, RetinaNet)."""

import torch
import torch.nn.functional as F

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer, compiled


def ours(inputs: Inputs) -> Peer:
    window = inputs["kernel"].tolist(), inputs["pad"].tolist()
    arguments = inputs["feature"], inputs["mask_h_idx"], inputs["mask_w_idx"], *window
    return Peer("ours", lambda: (mt.masked_im2col(*arguments),))


def peers(inputs: Inputs) -> list[Peer]:
    feature = inputs["feature"]
    _, channels, height, width = feature.shape
    (kernel_h, kernel_w), (pad_h, pad_w) = inputs["kernel"].tolist(), inputs["pad"].tolist()
    mask_h, mask_w = inputs["mask_h_idx"].long(), inputs["mask_w_idx"].long()
    columns = mask_h.numel()
    offsets_h, offsets_w = torch.arange(kernel_h), torch.arange(kernel_w)
    padding = (pad_w, pad_w, pad_h, pad_h)
    padded_width = width + 2 * pad_w
    # Half and bfloat16 as integers: gather changes the bits of their NaNs. For 4 bytes, float is faster.
    bits = feature.view(torch.int16) if feature.element_size() == 2 else feature
    # The border stays zero in all calls.
    planes = torch.zeros(channels, height + 2 * pad_h, padded_width, dtype=bits.dtype)
    data_col = torch.empty(channels, kernel_h * kernel_w * columns, dtype=bits.dtype)

    def padded_planes() -> torch.Tensor:
        planes[:, pad_h : pad_h + height, pad_w : pad_w + width] = bits[0]
        return planes.view(channels, -1)

    def as_result(gathered: torch.Tensor) -> Outputs:
        return (gathered.reshape(-1, columns).view(feature.dtype),)

    def pixels() -> torch.Tensor:
        """The index of each offset of each mask in a padded plane."""
        rows = offsets_h.view(-1, 1, 1) + mask_h
        return (rows * padded_width + (offsets_w.view(1, -1, 1) + mask_w)).view(-1)

    def unfold() -> Outputs:
        # The index of a window is the index of its first pixel in the padded plane, as for masks.
        all_columns = F.unfold(feature, (kernel_h, kernel_w), padding=(pad_h, pad_w))[0]
        return (all_columns[:, mask_h * (padded_width - kernel_w + 1) + mask_w],)

    def pad_index(source: torch.Tensor) -> torch.Tensor:
        rows, cells = offsets_h.view(-1, 1, 1) + mask_h, offsets_w.view(1, -1, 1) + mask_w
        return F.pad(source, padding)[0, :, rows, cells]

    def index_select() -> Outputs:
        return as_result(torch.index_select(padded_planes(), 1, pixels(), out=data_col))

    def gather() -> Outputs:
        return as_result(torch.gather(padded_planes(), 1, pixels().expand(channels, -1), out=data_col))

    return [
        Peer("unfold, index", unfold, idiomatic=True),
        Peer("pad, index", lambda: (pad_index(feature).reshape(-1, columns),), idiomatic=True),
        Peer("index_select of padded planes, in place", index_select),
        Peer("gather of padded planes, in place", gather),
        compiled(Peer("pad, index", lambda: as_result(pad_index(bits)))),
    ]
