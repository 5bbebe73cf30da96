"""The element types in which operators compute, also under torch.autocast.

An operator computes the widest element type of its tensors. Under torch.autocast,
    - convolutions compute its type, as PyTorch's do;
    - operators that copy, pool and interpolate features compute the widest type of their tensors,
      as without it;
    - all others, on coordinates, boxes and losses, compute float32 at least.
Tensors of float64 remain so.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any, Callable

import torch
from torch import Tensor

# What torch.autocast computes in place of float32.
LOWER_PRECISION = {torch.float16, torch.bfloat16}

# Returns the element type in which to compute, given the widest one of the tensors.
_Rule = Callable[[torch.dtype], torch.dtype]

_CONVOLUTIONS = {
    *("deform_conv2d", "deform_conv2d_backward_data", "deform_conv2d_backward_weight"),
    *("indice_conv", "indice_conv_backward_data", "indice_conv_backward_filter"),
}
_OF_FEATURES = {
    *("assign_score_withk", "assign_score_withk_backward"),
    *("bev_pool", "bev_pool_backward"),
    *("gather_points", "gather_points_backward"),
    *("indice_maxpool", "indice_maxpool_backward"),
    *("masked_col2im", "masked_im2col"),
    *("roi_align", "roi_align_backward", "roipoint_pool3d"),
    *("roiaware_pool3d", "roiaware_pool3d_backward"),
    *("stack_group_points", "stack_group_points_backward"),
    *("three_interpolate", "three_interpolate_backward"),
    *("voxel_pooling", "voxel_pooling_backward"),
}


def _of_features(widest: torch.dtype) -> torch.dtype:
    return widest


def _of_convolution(widest: torch.dtype) -> torch.dtype:
    if torch.is_autocast_enabled("cpu") and widest is not torch.float64:
        return torch.get_autocast_dtype("cpu")
    return widest


def _precise(widest: torch.dtype) -> torch.dtype:
    return _single(widest) if torch.is_autocast_enabled("cpu") else widest


def _single(widest: torch.dtype) -> torch.dtype:
    return torch.promote_types(widest, torch.float32)


def _element_type(tensors: Sequence[Tensor], rule: _Rule) -> torch.dtype:
    return rule(functools.reduce(torch.promote_types, [tensor.dtype for tensor in tensors]))


def dense(tensor: Tensor) -> Tensor:
    """Returns the tensor, or a copy, whose elements are consecutive in memory."""
    return tensor.contiguous().resolve_neg() if tensor.layout is torch.strided else tensor


def _converted(tensors: Sequence[Tensor], rule: _Rule) -> list[Tensor]:
    if not all(tensor.is_floating_point() for tensor in tensors):
        return [dense(tensor) for tensor in tensors]  # An operator refuses them by name.
    dtype = _element_type(tensors, rule)
    return [dense(tensor.to(dtype)) for tensor in tensors]


# For adapters of other libraries, which PyTorch's dispatcher does not precede: dense tensors of one
# element type.


def widened(*tensors: Tensor) -> list[Tensor]:
    """Returns those of an operator of features: of the widest element type."""
    return _converted(tensors, _of_features)


def precise(*tensors: Tensor) -> list[Tensor]:
    """Returns those of coordinates, boxes and losses: under autocast, of float32 at least."""
    return _converted(tensors, _precise)


def at_least_float32(*tensors: Tensor) -> list[Tensor]:
    """Returns those of an operator that takes neither half nor bfloat16."""
    return _converted(tensors, _single)


def of_convolution(*tensors: Tensor) -> list[Tensor]:
    """Returns those of a convolution: under autocast, of its type."""
    return _converted(tensors, _of_convolution)


def of_gradients(grad: Tensor, *tensors: Tensor) -> list[Tensor]:
    """Returns those of the gradients of a convolution: of the type that it computed, which is that
    of the gradient of its output, although autocast has ended.
    """
    return _converted((grad, *tensors), lambda _: grad.dtype)


def in_float32(formula: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a formula of PyTorch's operators that computes half and bfloat16 in float32, and
    rounds the results once, as the operators of the library do.

    The first tensor of floating-point numbers, also in a tuple, has the type of the results.
    """

    @functools.wraps(formula)
    def compute(*arguments: Any) -> Any:
        dtype = next((each.dtype for each in _floating(arguments)), None)
        if dtype not in LOWER_PRECISION:
            return formula(*arguments)
        return _cast(formula(*_cast(arguments, torch.float32)), dtype)

    return compute


def _is_floating(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def _floating(values: tuple) -> Iterator[Tensor]:
    for value in values:
        if type(value) is tuple:
            yield from _floating(value)
        elif _is_floating(value):
            yield value


def _cast(value: Any, dtype: Any) -> Any:
    if type(value) is tuple:
        return tuple(_cast(each, dtype) for each in value)
    return value.to(dtype) if _is_floating(value) else value


def autocast_arguments(name: str) -> Callable[[tuple], tuple]:
    """Returns a function that converts the arguments of an operator under torch.autocast. Tensors
    keep their memory format.
    """
    rule = _precise
    if name in _CONVOLUTIONS:
        rule = _of_convolution
    elif name in _OF_FEATURES:
        rule = _of_features

    def convert(arguments: tuple) -> tuple:
        tensors = list(_floating(arguments))
        return _cast(arguments, _element_type(tensors, rule)) if tensors else arguments

    return convert
