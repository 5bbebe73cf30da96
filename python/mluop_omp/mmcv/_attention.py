"""Multi-scale deformable attention with the names, arguments and outputs of mmcv."""

from __future__ import annotations

import torch
from torch import Tensor

from mluop_omp._operators import attention as operators
from mluop_omp.torch import functional
from mluop_omp.torch._arrays import TORCH, apply_num_threads, to_int32, write
from mluop_omp.torch._precision import at_least_float32

__all__ = ["ms_deform_attn_backward", "ms_deform_attn_forward"]


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
    write(outputs, torch.float32, operator, grad, inputs[0], *levels, *inputs[1:])


def multi_scale_deformable_attn(
    value: Tensor,
    value_spatial_shapes: Tensor,
    sampling_locations: Tensor,
    attention_weights: Tensor,
) -> Tensor:
    """multi_scale_deformable_attn_pytorch, which mmcv applies on CPUs.

    Half and bfloat16 are computed in float32.
    """
    shapes = to_int32("value_spatial_shapes", torch.as_tensor(value_spatial_shapes))
    sizes = shapes.prod(1, dtype=torch.int32)
    starts = sizes.cumsum(0, dtype=torch.int32) - sizes
    single, *samples = at_least_float32(value, sampling_locations, attention_weights)
    output = functional.ms_deform_attn(single, shapes, starts, *samples)
    return output.flatten(2).to(value.dtype)
