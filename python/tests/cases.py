"""A call of each operator of torch.ops.mluop_omp with small inputs."""

from __future__ import annotations

from typing import Any

import torch

SPACE, KERNEL = (5, 4, 3), (3, 3, 3)
ONES = (1, 1, 1)
# Positions of the arguments that have gradients.
DIFFERENTIABLE = {
    "voxel_pooling": [1],
    "dynamic_scatter": [0],
    "three_nn": [0, 1],
    "three_interpolate": [0, 2],
    "masked_im2col": [0],
    "masked_col2im": [0],
    "indice_conv": [0, 1],
}


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(20)


def integers(low: int, high: int, *shape: int) -> torch.Tensor:
    return torch.randint(low, high, shape, generator=generator(), dtype=torch.int32)


def floats(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=generator())


def sites(count: int = 20, batches: int = 2) -> torch.Tensor:
    cells = torch.randperm(batches * SPACE[0] * SPACE[1] * SPACE[2], generator=generator())[:count]
    axes = torch.unravel_index(cells, (batches, *SPACE))
    return torch.stack(axes, 1).int()


def pairs(subm: bool = False) -> tuple[torch.Tensor, ...]:
    pad = ONES if subm else (0, 1, 1)
    stride = ONES if subm else (2, 1, 1)
    return torch.ops.mluop_omp.indice_pairs(sites(), 2, SPACE, KERNEL, stride, pad, ONES, subm)


def arguments(name: str) -> tuple[Any, ...]:
    ops = torch.ops.mluop_omp
    geom_xyz, pooled = integers(-1, 4, 2, 30, 3), floats(2, 30, 4)
    feats, coors = floats(40, 3), integers(-1, 3, 40, 3)
    idx, weight = integers(0, 6, 2, 9, 3), floats(2, 9, 3).abs()
    mask_h, mask_w = integers(0, 5, 7), integers(0, 4, 7)
    out, rulebook, num = pairs()
    filters = floats(*KERNEL, 4, 6) / 4
    scattered = ops.dynamic_scatter(feats, coors, "mean")
    return {
        "voxel_pooling": lambda: (geom_xyz, pooled, [3, 3, 3]),
        "voxel_pooling_backward": lambda: (
            floats(2, 3, 3, 4),
            ops.voxel_pooling(geom_xyz, pooled, [3, 3, 3])[1],
        ),
        "voxelization": lambda: (
            floats(50, 4),
            [1.0, 1.0, 1.0],
            [-2.0, -2.0, -2.0, 2.0, 2.0, 2.0],
            3,
            20,
        ),
        "dynamic_scatter": lambda: (feats, coors, "mean"),
        "dynamic_scatter_backward": lambda: (
            torch.ones_like(scattered[0]),
            feats,
            scattered[0],
            scattered[2],
            scattered[3],
            "mean",
        ),
        "ball_query": lambda: (floats(2, 5, 3), floats(2, 20, 3), 0.0, 1.0, 4),
        "three_nn": lambda: (floats(2, 9, 3), floats(2, 20, 3) / 2),
        "three_interpolate": lambda: (floats(2, 4, 6), idx, weight),
        "three_interpolate_backward": lambda: (floats(2, 4, 9), idx, weight, 6),
        "masked_im2col": lambda: (floats(1, 3, 5, 4), mask_h, mask_w, [3, 3], [1, 1]),
        "masked_col2im": lambda: (floats(3, 7), mask_h, mask_w, [5, 4]),
        "indice_pairs": lambda: (sites(), 2, SPACE, KERNEL, ONES, ONES, ONES, True),
        "indice_conv": lambda: (floats(20, 4), filters, rulebook, num, len(out), False),
        "indice_conv_backward_data": lambda: (floats(len(out), 6), filters, rulebook, num, False),
        "indice_conv_backward_filter": lambda: (
            floats(20, 4),
            floats(len(out), 6),
            rulebook,
            num,
            KERNEL,
        ),
    }[name]()


def with_gradients(name: str) -> tuple[Any, ...]:
    positions = DIFFERENTIABLE.get(name, [])
    return tuple(
        argument.clone().requires_grad_() if position in positions else argument
        for position, argument in enumerate(arguments(name))
    )
