"""Masked im2col forward (mmcv, RetinaNet)."""

import ctypes

import torch
import torch.nn.functional as F

from library import Library, pointer
from peer import Inputs, Outputs, Peer, compiled


def ours(library: Library, inputs: Inputs) -> Peer:
    feature, mask_h, mask_w = inputs["feature"], inputs["mask_h_idx"], inputs["mask_w_idx"]
    window = [*inputs["kernel"].tolist(), *inputs["pad"].tolist()]
    data_col = torch.empty(feature.shape[1] * window[0] * window[1], mask_h.numel(), dtype=feature.dtype)
    feature_desc, data_col_desc = library.describe(feature, "NCHW"), library.describe(data_col)
    mask_desc = library.describe(mask_h)
    workspace_size = ctypes.c_size_t()
    library.call(
        "mluOpGetMaskedIm2colForwardWorkspaceSize",
        *(feature_desc, mask_desc, mask_desc),
        *(ctypes.c_int(pixels) for pixels in window[:2]),
        *(data_col_desc, ctypes.byref(workspace_size)),
    )
    workspace = torch.empty(workspace_size.value, dtype=torch.uint8)
    call = library.bind(
        "mluOpMaskedIm2colForward",
        *(feature_desc, pointer(feature)),
        *(argument for mask in (mask_h, mask_w) for argument in (mask_desc, pointer(mask))),
        *(ctypes.c_int(pixels) for pixels in window),
        *(pointer(workspace), workspace_size),
        *(data_col_desc, pointer(data_col)),
        keep=workspace,
    )

    def run() -> Outputs:
        call()
        return (data_col,)

    return Peer("ours", run)


def peers(inputs: Inputs) -> list[Peer]:
    feature = inputs["feature"]
    _, channels, height, width = feature.shape
    (kernel_h, kernel_w), (pad_h, pad_w) = inputs["kernel"].tolist(), inputs["pad"].tolist()
    mask_h, mask_w = inputs["mask_h_idx"].long(), inputs["mask_w_idx"].long()
    columns = mask_h.numel()
    offsets_h, offsets_w = torch.arange(kernel_h), torch.arange(kernel_w)
    padding = (pad_w, pad_w, pad_h, pad_h)
    padded_width = width + 2 * pad_w
    # Half as integers: gather changes the bits of a NaN in half. For 4 bytes, float is faster.
    bits = feature.view(torch.int16) if feature.dtype == torch.float16 else feature
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
        # The index of a window is that of its first pixel in the padded plane, as for masks.
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
