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
from collections.abc import Sequence

import torch
from torch import Tensor

from mluop_omp._operators._declaration import Precision

# What torch.autocast computes in place of float32.
LOWER_PRECISION = {torch.float16, torch.bfloat16}


def _single(widest: torch.dtype) -> torch.dtype:
    return torch.promote_types(widest, torch.float32)


def _widest(tensors: Sequence[Tensor]) -> torch.dtype:
    return functools.reduce(torch.promote_types, [tensor.dtype for tensor in tensors])


def element_type(tensors: Sequence[Tensor], precision: Precision) -> torch.dtype:
    """Returns the type in which an operator computes tensors of floating-point numbers."""
    widest = _widest(tensors)
    if precision is Precision.WIDEST or not torch.is_autocast_enabled("cpu"):
        return widest
    if precision is Precision.CONVOLUTION and widest is not torch.float64:
        return torch.get_autocast_dtype("cpu")
    return _single(widest)


def dense(tensor: Tensor) -> Tensor:
    """Returns the tensor, or a copy, whose elements are consecutive in memory."""
    return tensor.contiguous().resolve_neg() if tensor.layout is torch.strided else tensor


def _converted(tensors: Sequence[Tensor], dtype: torch.dtype) -> list[Tensor]:
    if all(tensor.is_floating_point() for tensor in tensors):
        return [dense(tensor.to(dtype)) for tensor in tensors]
    return [dense(tensor) for tensor in tensors]  # An operator refuses them by name.


# For adapters of other libraries, which PyTorch's dispatcher does not precede: dense tensors of one
# element type.


def widened(*tensors: Tensor) -> list[Tensor]:
    """Converts the tensors of an operator on features to their widest element type."""
    return _converted(tensors, _widest(tensors))


def precise(*tensors: Tensor) -> list[Tensor]:
    """Converts coordinates, boxes, logits to the widest type; under autocast float32 at least."""
    return _converted(tensors, element_type(tensors, Precision.SINGLE))


def at_least_float32(*tensors: Tensor) -> list[Tensor]:
    """Converts the tensors of an operator that takes neither half nor bfloat16."""
    return _converted(tensors, _single(_widest(tensors)))


def of_convolution(*tensors: Tensor) -> list[Tensor]:
    """Converts the tensors of a convolution to their widest type; under autocast, to its type."""
    return _converted(tensors, element_type(tensors, Precision.CONVOLUTION))


def of_gradients(grad: Tensor, *tensors: Tensor) -> list[Tensor]:
    """Converts the tensors of a convolution's backward pass to the type that the forward pass
    computed, which the gradient of its output has, although autocast has ended.
    """
    return _converted((grad, *tensors), grad.dtype)
