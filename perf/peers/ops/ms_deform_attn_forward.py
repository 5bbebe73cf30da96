"""Multi-scale deformable attention forward (BEVFormer, Deformable DETR), of 8 heads of 32 channels."""

import torch
import torch.nn.functional as F

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer

NAMES = "value", "spatial_shapes", "level_start_index", "sampling_loc", "attn_weight"


def by_level(
    value: torch.Tensor, shapes: list[list[int]], locations: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor:
    """The formulation of mmcv without CUDA: samples of all levels, [B M, D, Q, L, P], then their weighted sum."""
    (B, _, M, D), (Q, L, P) = value.shape, locations.shape[1:2] + locations.shape[3:5]
    samples = []
    for level, (pixels, (height, width)) in enumerate(zip(levels_of(value, shapes), shapes)):
        image = pixels.permute(0, 2, 3, 1).reshape(B * M, D, height, width)
        samples.append(F.grid_sample(image, grid_of(locations, level), align_corners=False))
    weights = weights.transpose(1, 2).reshape(B * M, 1, Q, L * P)
    output = (torch.stack(samples, 3).flatten(3) * weights).sum(3)
    return output.view(B, M, D, Q).permute(0, 3, 1, 2).contiguous()


def levels_of(value: torch.Tensor, shapes: list[list[int]]) -> tuple[torch.Tensor, ...]:
    return value.split([height * width for height, width in shapes], 1)


def grid_of(locations: torch.Tensor, level: int) -> torch.Tensor:
    """Returns the positions of a level as grid_sample has them, [B M, Q, P, 2]."""
    return (2 * locations[:, :, :, level] - 1).transpose(1, 2).flatten(0, 1)


def ours(inputs: Inputs) -> Peer:
    arguments = [inputs["data_" + name] for name in NAMES]
    return Peer("ours", lambda: (mt.ms_deform_attn(*arguments),))


def peers(inputs: Inputs) -> list[Peer]:
    value, shapes_tensor, starts, locations, weights = (inputs["data_" + name] for name in NAMES)
    (B, K, M, D), (Q, L, P), shapes = value.shape, weights.shape[1:2] + weights.shape[3:], shapes_tensor.tolist()

    def sums() -> Outputs:
        """Without samples of all levels at once: less memory."""
        output = torch.zeros(B * M, D, Q)
        for level, (pixels, (height, width)) in enumerate(zip(levels_of(value, shapes), shapes)):
            image = pixels.permute(0, 2, 3, 1).reshape(B * M, D, height, width)
            samples = F.grid_sample(image, grid_of(locations, level), align_corners=False)
            of_level = weights[:, :, :, level].transpose(1, 2).reshape(B * M, Q, P, 1)
            output += torch.matmul(samples.permute(0, 2, 1, 3), of_level).squeeze(3).transpose(1, 2)
        return (output.view(B, M, D, Q).permute(0, 3, 1, 2).contiguous(),)

    def embedding_bag() -> Outputs:
        """A bag of the four pixels of all samples for each query and head."""
        extent = shapes_tensor.view(L, 1, 2)
        position = locations * extent.flip(2) - 0.5
        corner = position.floor()
        x, y = corner.long().unbind(5)
        right, below = (position - corner).unbind(5)
        height, width = (each.view(L, 1) for each in shapes_tensor.long().unbind(1))
        base = starts.long().view(L, 1) + torch.arange(B).view(B, 1, 1, 1, 1) * K
        head = torch.arange(M).view(M, 1, 1)
        rows, factors = [], []
        for at_y, of_y in ((y, 1 - below), (y + 1, below)):
            for at_x, of_x in ((x, 1 - right), (x + 1, right)):
                inside = (at_y >= 0) & (at_y < height) & (at_x >= 0) & (at_x < width)
                rows.append(torch.where(inside, (base + at_y * width + at_x) * M + head, 0))
                factors.append(torch.where(inside, of_y * of_x * weights, 0))
        bags, of_rows = (torch.stack(each, 5).view(B * Q * M, L * P * 4) for each in (rows, factors))
        output = F.embedding_bag(bags, value.view(B * K * M, D), mode="sum", per_sample_weights=of_rows)
        return (output.view(B, Q, M, D),)

    return [
        Peer("grid_sample of each level, stack", lambda: (by_level(value, shapes, locations, weights),), idiomatic=True),
        Peer("grid_sample, matmul of each level", sums),
        Peer("embedding_bag", embedding_bag),
    ]
