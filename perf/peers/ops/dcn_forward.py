"""Deformable convolution forward (mmcv), with 3 x 3 filters and a padding of 1."""

import torch
import torch.nn.functional as F

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer, compiled

try:
    import torchvision
except ImportError:
    torchvision = None

Tensors = tuple[torch.Tensor | None, ...]
VECTORS = ((1, 1), (1, 1), (1, 1))  # stride, padding, dilation


def nchw(inputs: Inputs, *names: str) -> Tensors:
    """Returns tensors in the memory format of the case, channels_last; None for an empty tensor."""
    tensors = (inputs[name] for name in names)
    return tuple(each.permute(0, 3, 1, 2) if each.numel() > 0 else None for each in tensors)


def groups_of(inputs: Inputs) -> tuple[int, int]:
    return inputs["conv_group"].item(), inputs["deformable_group"].item()


def contiguous(tensors: Tensors) -> Tensors:
    return tuple(None if each is None else each.contiguous() for each in tensors)


def sampled(image: torch.Tensor, offset: torch.Tensor, mask: torch.Tensor | None, parts: int) -> torch.Tensor:
    """Returns the samples of the nine offsets of the filter, [N, C, 9, H, W]. Half and bfloat16 are sampled in fp32:
    they are too coarse for positions."""
    N, C, H, W = image.shape
    rows, columns = torch.meshgrid(torch.arange(H), torch.arange(W), indexing="ij")
    taps = torch.arange(9).view(9, 1, 1)
    offset = offset.float().view(N, parts, 9, 2, H, W)
    y = offset[:, :, :, 0] + rows + taps // 3 - 1
    x = offset[:, :, :, 1] + columns + taps % 3 - 1
    grid = torch.stack((2 * x / (W - 1) - 1, 2 * y / (H - 1) - 1), 5).view(N * parts, 9 * H, W, 2)
    images = image.float().reshape(N * parts, C // parts, H, W)
    samples = F.grid_sample(images, grid, align_corners=True).to(image.dtype).view(N, parts, C // parts, 9, H, W)
    if mask is not None:
        samples = samples * mask.view(N, parts, 1, 9, H, W)
    return samples.view(N, C, 9, H, W)


def convolved(
    image: torch.Tensor,
    offset: torch.Tensor,
    weight: torch.Tensor,
    mask: torch.Tensor | None,
    bias: torch.Tensor | None,
    groups: int,
    parts: int,
) -> torch.Tensor:
    """One matrix product of the samples and the filters."""
    (N, C, H, W), Co = image.shape, len(weight)
    columns = sampled(image, offset, mask, parts).view(N, groups, C // groups * 9, H * W)
    output = (weight.view(groups, Co // groups, -1) @ columns).view(N, Co, H, W)
    return output if bias is None else output + bias.view(-1, 1, 1)


def ours(inputs: Inputs) -> Peer:
    tensors = *nchw(inputs, "input", "offset", "filter", "mask"), inputs["bias"]
    groups = groups_of(inputs)
    return Peer("ours", lambda: (mt.deform_conv2d(*tensors, *VECTORS, *groups),))


def peers(inputs: Inputs) -> list[Peer]:
    tensors = *contiguous(nchw(inputs, "input", "offset", "filter", "mask")), inputs["bias"]
    image, offset, weight, mask, bias = tensors
    groups, parts = groups_of(inputs)

    def by_offset() -> Outputs:
        """A 1 x 1 convolution for each offset."""
        samples = sampled(image, offset, mask, parts)
        output = bias.view(-1, 1, 1)
        for k in range(9):
            output = output + F.conv2d(samples[:, :, k], weight[:, :, k // 3, k % 3, None, None], groups=groups)
        return (output,)

    by_matrix = Peer("grid_sample, matmul", lambda: (convolved(*tensors, groups, parts),))
    all_peers = [
        Peer("grid_sample, conv2d of each offset", by_offset, idiomatic=True),
        by_matrix,
        compiled(by_matrix),
    ]
    if torchvision is not None:
        arguments = image, offset, weight, bias, *VECTORS, mask
        all_peers.append(Peer("torchvision", lambda: (torchvision.ops.deform_conv2d(*arguments),)))
    return all_peers
