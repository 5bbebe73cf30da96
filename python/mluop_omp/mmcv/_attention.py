"""The functions of mmcv._ext on attention, with the names, arguments and outputs of mmcv."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from mluop_omp._adapters import Args, compute, takes, writes
from mluop_omp._library import bad_param
from mluop_omp._operators._declaration import operators
from mluop_omp.torch._precision import at_least_float32

_INPUTS = (
    "value, value_spatial_shapes, value_level_start_index, sampling_locations, attention_weights"
)


def _arguments(args: Args) -> tuple[Tensor, ...]:
    levels = args.int32("value_spatial_shapes"), args.int32("value_level_start_index")
    return args.value, *levels, args.sampling_locations, args.attention_weights


@takes(f"{_INPUTS}, im2col_step")
def ms_deform_attn_forward(args: Args) -> Tensor:
    """Half and bfloat16 are computed in float32. im2col_step has no effect."""
    arguments = _arguments(args)
    output = compute(operators.ms_deform_attn, *arguments, conversion=at_least_float32)
    return output.flatten(2).to(args.value.dtype)


@writes(
    "grad_value, grad_sampling_loc, grad_attn_weight",
    f"{_INPUTS}, grad_output, grad_value, grad_sampling_loc, grad_attn_weight, im2col_step",
    at_least_float32,
)
def ms_deform_attn_backward(args: Args) -> Any:
    """Writes all elements of the gradients, to which mmcv's kernel adds."""
    grad = args.grad_output.view(*args.grad_output.shape[:2], *args.value.shape[2:])
    return operators.ms_deform_attn_backward, grad, *_arguments(args)


_MASK = "psa_type, num_, h_feature, w_feature, h_mask, w_mask, half_h_mask, half_w_mask"


def _mask(args: Args) -> tuple[Any, ...]:
    for name, size in (("half_h_mask", args.h_mask), ("half_w_mask", args.w_mask)):
        if getattr(args, name) != (size - 1) // 2:
            raise bad_param(f"{name} is {getattr(args, name)}, expected {(size - 1) // 2}")
    return (args.h_mask, args.w_mask), "distribute" if args.psa_type else "collect"


@writes("output", f"input, output, {_MASK}")
def psamask_forward(args: Args) -> Any:
    """Writes all elements of output. psa_type is 0, or any other number for "distribute"."""
    return operators.psamask, args.input, *_mask(args)


@writes("grad_input", f"grad_output, grad_input, {_MASK}")
def psamask_backward(args: Args) -> Any:
    """Writes all elements of grad_input."""
    return operators.psamask_backward, args.grad_output, *_mask(args)
