"""The operators in the namespace mluop_omp of PyTorch's dispatcher: schemas, kernels and shapes."""

from __future__ import annotations

from typing import Any, Callable

import torch

from mluop_omp._library import MluOpError
from mluop_omp._operators._declaration import Operator, all_operators
from mluop_omp.torch._arrays import TORCH, apply_num_threads, is_channels_last
from mluop_omp.torch._fake import shapes_of
from mluop_omp.torch._precision import dense

NAMESPACE = "mluop_omp"
KERNELS: dict[str, Callable[..., Any]] = {}
OPERATORS = getattr(torch.ops, NAMESPACE)
# torch.library.custom_op would define the same operators, with 7 us more for each call.
LIBRARY = torch.library.Library(NAMESPACE, "DEF")
_STRIDED = torch.strided
_TAGS = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_fixed_stride_order)


def define(name: str, schema: str, kernel: Callable[..., Any], fake: Callable[..., Any]) -> None:
    """Defines an operator of PyTorch's dispatcher. `fake` returns the shapes."""
    LIBRARY.define(name + schema, tags=_TAGS)
    # The kernel of every device, so that the package names a tensor of another device in its error.
    LIBRARY.impl(name, kernel, "CompositeExplicitAutograd")
    torch.library.register_fake(f"{NAMESPACE}::{name}", fake, lib=LIBRARY)


def _define(operator: Operator) -> None:
    """Defines an operator. Operators of images take the memory format channels_last as well."""
    count, of_images = operator.tensors, operator.channels_last

    def run(*arguments: Any) -> Any:
        apply_num_threads()
        tensors = [
            each
            if each is None
            or (each.layout is _STRIDED and each.is_contiguous())
            or (of_images and is_channels_last(each))
            else dense(each)
            for each in arguments[:count]
        ]
        # operator() itself would be a further call.
        try:
            return operator.kernel(TORCH, *tensors, *arguments[count:])
        except MluOpError as error:
            return operator.in_float64(error, TORCH, *tensors, *arguments[count:])

    def fake(*arguments: Any) -> Any:
        return shapes_of(operator.fake or operator.kernel, *arguments)

    KERNELS[operator.name] = run
    define(operator.name, operator.schema, run, fake)


for _operator in all_operators():
    _define(_operator)
