"""How adapters declare the functions of other libraries' extension modules.

    @writes("out_tensor", "points_tensor, idx_tensor, out_tensor, **sizes")
    def gather_points_forward(args: Args) -> Any:
        return operators.gather_points, args.points_tensor, args.idx_tensor

The parameters are the library's, in its order and as Python writes them. The function gets the
arguments by name and returns an operator and the operator's arguments, whose tensors are
converted: tensors of floating-point numbers to the element type in which the operator computes, all
to dense ones. `writes` and `adds` store the results in the tensors of the caller. A function that
returns None has nothing to compute. A function that is declared with `takes` returns the result.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Iterable, Sequence
from typing import Any, Callable

import torch
from torch import Tensor

from mluop_omp._library import bad_param
from mluop_omp.torch._arrays import TORCH, add, apply_num_threads, to_int32, write
from mluop_omp.torch._precision import at_least_float32, dense, widened

Function = Callable[..., Any]
# Converts tensors of floating-point numbers: a function of torch/_precision.py.
Conversion = Callable[..., "list[Tensor]"]
# Every conversion keeps tensors that have one of these types in common, also under autocast.
_KEPT = {torch.float32, torch.float64}


class Args(types.SimpleNamespace):
    """The arguments of a call, by the names of the parameters."""

    def int32(self, name: str) -> Tensor:
        """Returns integers as int32. Raises MluOpError if one does not fit."""
        return to_int32(name, getattr(self, name))

    def rows_of_three(self, name: str) -> Tensor:
        return rows_of_three(name, getattr(self, name))


def rows_of_three(name: str, tensor: Tensor) -> Tensor:
    """Returns the points that mmcv's kernel reads of a tensor [B, N, C]: rows of three numbers.

    If C is not 3, they are other points. mmdetection3d's DGCNN calls knn with features of 64
    channels, and its SA-SSD calls three_nn with four columns, of which the first is the scene; so
    their weights belong to these neighbors.
    """
    if tensor.dim() != 3 or tensor.shape[2] == 3:
        return tensor  # The operator refuses other dimensions.
    B, N, C = tensor.shape
    if C < 3:
        raise bad_param(f"{name} has {C} columns, expected x, y and z")
    return tensor.reshape(B * N * C)[: B * N * 3].view(B, N, 3)


def word(words: Iterable[str], number: int) -> str | int:
    """Returns the word that an operator has for a library's number; other numbers as they are."""
    return dict(enumerate(words)).get(number, number)


def takes(parameters: str) -> Callable[[Function], Function]:
    """Declares a function that is called with these parameters, and gets their `Args`."""

    def declare(function: Function) -> Function:
        # As collections.namedtuple does: Python binds the arguments, and refuses others.
        bind = eval(f"lambda {parameters}: locals()")
        bind.__name__ = bind.__qualname__ = function.__name__

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            apply_num_threads()
            return function(Args(**bind(*arguments, **named)))

        call.__signature__ = inspect.signature(bind)  # type: ignore[attr-defined]
        return call

    return declare


def writes(
    outputs: str, parameters: str, conversion: Conversion = widened
) -> Callable[[Function], Function]:
    """Declares a function that writes the operator's results to these parameters."""
    return _stores(write, outputs, parameters, conversion)


def adds(
    outputs: str, parameters: str, conversion: Conversion = widened
) -> Callable[[Function], Function]:
    """Declares a function that adds the operator's results to these parameters."""

    def store(outputs: dict[str, Tensor], _: torch.dtype, operator: Any, *arguments: Any) -> None:
        add(outputs, operator(TORCH, *arguments))

    return _stores(store, outputs, parameters, conversion)


def _stores(
    store: Function, outputs: str, parameters: str, conversion: Conversion
) -> Callable[[Function], Function]:
    names = outputs.split(", ")

    def declare(function: Function) -> Function:
        @takes(parameters)
        @functools.wraps(function)
        def call(args: Args) -> None:
            called = function(args)
            if called is None:
                return
            operator, *arguments = called
            dtype, converted = _converted(arguments, conversion)
            # The function may have replaced an output by a view.
            store({name: getattr(args, name) for name in names}, dtype, operator, *converted)

        return call

    return declare


def compute(operator: Any, *arguments: Any, conversion: Conversion = widened) -> Any:
    """Returns the results of an operator."""
    apply_num_threads()
    return operator(TORCH, *_converted(arguments, conversion)[1])


def write_kept(nms: Any, boxes: Tensor, keep: Tensor, *arguments: Any) -> int:
    """Writes the indices of the boxes that an operator keeps to the first elements of keep [N];
    returns their number.
    """
    if keep.shape != boxes.shape[:1]:
        raise bad_param(f"keep has shape {list(keep.shape)}, expected {list(boxes.shape[:1])}")
    kept = compute(nms, boxes, *arguments, conversion=at_least_float32)
    keep[: len(kept)] = kept
    return len(kept)


def _converted(arguments: Sequence[Any], conversion: Conversion) -> tuple[torch.dtype, list[Any]]:
    """Returns the element type in which an operator computes, and its arguments."""
    converted, numbers, dtypes = list(arguments), [], set()
    for place, each in enumerate(arguments):
        if isinstance(each, Tensor):
            converted[place] = dense(each)
            if each.is_floating_point():
                numbers.append(place)
                dtypes.add(each.dtype)
    if not numbers:
        return torch.int32, converted
    if len(dtypes) > 1 or not dtypes <= _KEPT:
        for place, each in zip(numbers, conversion(*[arguments[place] for place in numbers])):
            converted[place] = each
    return converted[numbers[0]].dtype, converted
