"""The random arguments of the operators, which stand beside their definitions, as tensors."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from ml_dtypes import bfloat16

import mluop_omp.torch  # noqa: F401  registers the operators
from mluop_omp import _self_test

SPACE = (5, 4, 3)
NAMES = sorted(_self_test.OPERATORS)
# Positions of floating-point arguments in which an operator with derivatives has none.
_CONSTANT = {
    "bezier_align": [1],
    "bezier_align_backward": [1],
    "border_align": [1],
    "border_align_backward": [1],
    "deform_roi_pool": [1],
    "dynamic_scatter_backward": [1, 2],
    # The number of an image has no derivative; test_pixel_bins.py tests the others.
    "prroi_pool": [1],
    "prroi_pool_backward": [1],
    "psroi_pool": [1],
    "psroi_pool_backward": [1],
    "riroi_align_rotated": [1],
    "riroi_align_rotated_backward": [1],
    "roi_align": [1],
    "roi_align_backward": [1, 2, 3],
    "roi_align_rotated": [1],
    "roi_align_rotated_backward": [1],
    "roi_crop": [1],
    "roi_crop_backward": [1],
    "roi_pool": [1],
    "roi_pool_backward": [1],
    "rotated_feature_align": [1],
    "rotated_feature_align_backward": [1],
    "roiaware_pool3d": [0, 1],
}


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(20)


def integers(low: int, high: int, *shape: int) -> torch.Tensor:
    return torch.randint(low, max(high, low + 1), shape, generator=generator(), dtype=torch.int32)


def floats(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=generator())


def sites(count: int = 20, batches: int = 2, space: tuple[int, ...] = SPACE) -> torch.Tensor:
    cells = torch.randperm(batches * math.prod(space), generator=generator())[:count]
    axes = torch.unravel_index(cells, (batches, *space))
    return torch.stack(axes, 1).int()


def large_boxes(*shape: int) -> torch.Tensor:
    """Returns boxes of sides from 1 on, in which some points of the cloud are."""
    numbers = floats(*shape, 7)
    numbers[..., 3:6] = numbers[..., 3:6].abs() + 1
    return numbers


def extents(name: str) -> list[str]:
    """Returns the names of the sizes of an operator."""
    parameters = inspect.signature(_self_test.generator(name)).parameters.values()
    return [each.name for each in parameters if type(each.default) is int]


def subsets_of_extents(name: str) -> Iterator[dict[str, int]]:
    """Yields the sizes of 0 of each non-empty subset of the extents."""
    names = extents(name)
    for count in range(1, len(names) + 1):
        for subset in itertools.combinations(names, count):
            yield dict.fromkeys(subset, 0)


# Each operator with each value of its parameters.
VARIANTS = [(name, variant) for name in NAMES for variant in _self_test.variants(name)]


def arguments(name: str, **given: Any) -> tuple[Any, ...]:
    """Returns arguments of an operator of torch.ops.mluop_omp, with these sizes and values."""
    return tuple(
        torch.from_numpy(a) if isinstance(a, np.ndarray) else a
        for a in _self_test.arguments(name, **given)
    )


def _array(tensor: torch.Tensor) -> np.ndarray:
    if tensor.dtype is not torch.bfloat16:
        return tensor.numpy()
    return tensor.view(torch.int16).numpy().view(bfloat16)


def of_numpy(name: str, arguments: tuple) -> tuple[Any, ...]:
    """Converts arguments of an operator of torch.ops.mluop_omp for the one of mluop_omp."""
    return tuple(_array(a) if isinstance(a, torch.Tensor) else a for a in arguments)


def is_floating(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def first(output: Any) -> torch.Tensor:
    return output[0] if isinstance(output, tuple) else output


def _positions(name: str) -> list[int] | None:
    """Returns the positions in which the first output has derivatives; None if it has none."""
    constant, given = _CONSTANT.get(name, []), arguments(name)
    positions = [i for i, each in enumerate(given) if is_floating(each) and i not in constant]
    for position in positions:
        given[position].requires_grad_()
    output = first(getattr(torch.ops.mluop_omp, name)(*given))
    if not is_floating(output):
        return []
    try:
        output.sum().backward()
    except NotImplementedError:
        return None
    return positions


_POSITIONS = {name: _positions(name) for name in NAMES}
# Positions of the arguments in which operators have derivatives.
DIFFERENTIABLE = {name: positions for name, positions in _POSITIONS.items() if positions}
# The operators whose first output has no derivative, although it is of floats.
WITHOUT_GRADIENT = [name for name, positions in _POSITIONS.items() if positions is None]


def with_gradients(name: str, **given: Any) -> tuple[Any, ...]:
    positions = DIFFERENTIABLE.get(name, [])
    return tuple(
        argument.requires_grad_() if position in positions else argument
        for position, argument in enumerate(arguments(name, **given))
    )
