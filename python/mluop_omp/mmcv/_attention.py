"""Attention, with the names, arguments and outputs of mmcv."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mluop_omp._library import bad_param
from mluop_omp._operators._declaration import operators
from mluop_omp.torch import _operators, functional
from mluop_omp.torch._arrays import TORCH, apply_num_threads, require_integers, to_int32, write
from mluop_omp.torch._precision import at_least_float32, widened

__all__ = [
    "ms_deform_attn_backward",
    "ms_deform_attn_forward",
    "psamask_backward",
    "psamask_forward",
]

_SHAPES = "value_spatial_shapes"


def _levels(shapes: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
    return to_int32("value_spatial_shapes", shapes), to_int32("value_level_start_index", starts)


def ms_deform_attn_forward(
    value: Tensor,
    value_spatial_shapes: Tensor,
    value_level_start_index: Tensor,
    sampling_locations: Tensor,
    attention_weights: Tensor,
    im2col_step: int,
) -> Tensor:
    """Half and bfloat16 are computed in float32. im2col_step has no effect."""
    apply_num_threads()
    tensors = at_least_float32(value, sampling_locations, attention_weights)
    levels = _levels(value_spatial_shapes, value_level_start_index)
    output = operators.ms_deform_attn(TORCH, tensors[0], *levels, *tensors[1:])
    return output.flatten(2).to(value.dtype)


def ms_deform_attn_backward(
    value: Tensor,
    value_spatial_shapes: Tensor,
    value_level_start_index: Tensor,
    sampling_locations: Tensor,
    attention_weights: Tensor,
    grad_output: Tensor,
    grad_value: Tensor,
    grad_sampling_loc: Tensor,
    grad_attn_weight: Tensor,
    im2col_step: int,
) -> None:
    """Writes all elements of the gradients, to which mmcv's kernel adds."""
    apply_num_threads()
    tensors = (grad_output.view(*grad_output.shape[:2], *value.shape[2:]), value)
    samples = sampling_locations, attention_weights
    grad, *inputs = at_least_float32(*tensors, *samples)
    levels = _levels(value_spatial_shapes, value_level_start_index)
    outputs = {
        "grad_value": grad_value,
        "grad_sampling_loc": grad_sampling_loc,
        "grad_attn_weight": grad_attn_weight,
    }
    operator = operators.ms_deform_attn_backward
    write(outputs, grad.dtype, operator, grad, inputs[0], *levels, *inputs[1:])


def _tensor(shapes: Tensor | Sequence[Sequence[int | Tensor]]) -> Tensor:
    """Returns the shapes as a tensor, also if they are a sequence of levels."""
    if not isinstance(shapes, (list, tuple)):
        return torch.as_tensor(shapes)
    sizes = [size for level in shapes for size in level]
    if any(isinstance(size, Tensor) for size in sizes):
        return torch.stack([torch.as_tensor(size) for size in sizes]).view(len(shapes), 2)
    return torch.as_tensor(sizes).view(len(shapes), 2)


def _checked(shapes: Tensor) -> Tensor:
    if shapes.dim() != 2 or shapes.shape[1] != 2:
        raise bad_param(f"{_SHAPES} has shape {list(shapes.shape)}, expected H, W of each level")
    return require_integers(_SHAPES, shapes)


def _levels_of_keys(value_spatial_shapes: Tensor, keys: int) -> tuple[Tensor, Tensor]:
    """Returns shapes and starts of the levels, int32, which have all of the keys."""
    shapes = to_int32(_SHAPES, _checked(value_spatial_shapes))
    starts = [0, *itertools.accumulate(height * width for height, width in shapes.tolist())]
    pixels = starts.pop()
    if pixels != keys:
        raise bad_param(f"{_SHAPES} has {pixels} pixels in all, expected {keys}, as value has keys")
    return shapes, torch.tensor(starts, dtype=torch.int32)


def _levels_of_keys_fake(value_spatial_shapes: Tensor, keys: int) -> tuple[Tensor, Tensor]:
    shapes = _checked(value_spatial_shapes)
    starts = shapes.new_empty(len(shapes), dtype=torch.int32)
    return torch.empty_like(shapes, dtype=torch.int32), starts


# An operator, so that compiled programs read the shapes when they run.
_operators.define(
    "ms_deform_attn_levels",
    "(Tensor spatial_shapes, SymInt keys) -> (Tensor shapes, Tensor starts)",
    _levels_of_keys,
    _levels_of_keys_fake,
)


def multi_scale_deformable_attn(
    value: Tensor,
    value_spatial_shapes: Tensor | Sequence[Sequence[int]],
    sampling_locations: Tensor,
    attention_weights: Tensor,
) -> Tensor:
    """multi_scale_deformable_attn_pytorch, which mmcv applies on CPUs.

    Half and bfloat16 are computed in float32. The result has the element type of mmcv's: float32
    under torch.autocast, else the wider one of value and attention_weights.
    """
    shapes = _tensor(value_spatial_shapes)
    levels = _operators.OPERATORS.ms_deform_attn_levels(shapes, value.shape[1])
    single, *samples = at_least_float32(value, sampling_locations, attention_weights)
    output = functional.ms_deform_attn(single, *levels, *samples).flatten(2)
    dtype = single.dtype if torch.is_autocast_enabled("cpu") else value.dtype
    return output.to(torch.promote_types(dtype, attention_weights.dtype))


def _psamask(
    operator: Any,
    outputs: dict[str, Tensor],
    tensor: Tensor,
    psa_type: int,
    h_mask: int,
    w_mask: int,
    **halves: int,
) -> None:
    for name, size in (("half_h_mask", h_mask), ("half_w_mask", w_mask)):
        if halves[name] != (size - 1) // 2:
            raise bad_param(f"{name} is {halves[name]}, expected {(size - 1) // 2}")
    apply_num_threads()
    (moved,) = widened(tensor)
    word = "distribute" if psa_type else "collect"
    write(outputs, moved.dtype, operator, moved, (h_mask, w_mask), word)


def psamask_forward(
    input: Tensor,
    output: Tensor,
    psa_type: int,
    num_: int,
    h_feature: int,
    w_feature: int,
    h_mask: int,
    w_mask: int,
    half_h_mask: int,
    half_w_mask: int,
) -> None:
    """Writes all elements of output. psa_type is 0, or any other number for "distribute"."""
    halves = {"half_h_mask": half_h_mask, "half_w_mask": half_w_mask}
    outputs = {"output": output}
    _psamask(operators.psamask, outputs, input, psa_type, h_mask, w_mask, **halves)


def psamask_backward(
    grad_output: Tensor,
    grad_input: Tensor,
    psa_type: int,
    num_: int,
    h_feature: int,
    w_feature: int,
    h_mask: int,
    w_mask: int,
    half_h_mask: int,
    half_w_mask: int,
) -> None:
    """Writes all elements of grad_input."""
    halves = {"half_h_mask": half_h_mask, "half_w_mask": half_w_mask}
    outputs = {"grad_input": grad_input}
    _psamask(operators.psamask_backward, outputs, grad_output, psa_type, h_mask, w_mask, **halves)
