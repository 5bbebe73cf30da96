"""Masked col2im forward (mmcv, RetinaNet)."""

import torch

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer, compiled


def _image_shape(inputs: Inputs) -> tuple[int, ...]:
    return 1, inputs["col"].shape[0], *inputs["image"].tolist()


def ours(inputs: Inputs) -> Peer:
    arguments = inputs["col"], inputs["mask_h_idx"], inputs["mask_w_idx"], inputs["image"].tolist()
    return Peer("ours", lambda: (mt.masked_col2im(*arguments),))


def peers(inputs: Inputs) -> list[Peer]:
    shape = _image_shape(inputs)
    _, channels, height, width = shape
    mask_h, mask_w = inputs["mask_h_idx"].long(), inputs["mask_w_idx"].long()
    # Half and bfloat16 as integers: copies of them may change the bits of a NaN.
    col = inputs["col"]
    bits = col.view(torch.int16) if col.element_size() == 2 else col
    im = torch.empty(shape, dtype=bits.dtype)
    planes = im.view(channels, height * width)

    def index_put() -> Outputs:
        image = torch.zeros(shape, dtype=col.dtype)
        image[0, :, mask_h, mask_w] = col
        return (image,)

    def index_put_bits() -> Outputs:
        image = torch.zeros(shape, dtype=bits.dtype)
        image[0, :, mask_h, mask_w] = bits
        return (image.view(col.dtype),)

    def index_copy() -> Outputs:
        planes.zero_().index_copy_(1, mask_h * width + mask_w, bits)
        return (im.view(col.dtype),)

    def scatter() -> Outputs:
        planes.zero_().scatter_(1, (mask_h * width + mask_w).expand(channels, -1), bits)
        return (im.view(col.dtype),)

    return [
        Peer("zeros, index_put", index_put, idiomatic=True),
        Peer("index_copy of planes, in place", index_copy),
        Peer("scatter of planes, in place", scatter),
        compiled(Peer("zeros, index_put", index_put_bits)),
    ]
