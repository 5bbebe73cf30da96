"""The derivative of an operator, for reverse and forward mode.

An operator has one output with a derivative, its first. Formulas consist of operators that have
derivatives themselves, so that derivatives of any order follow.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from mluop_omp._operators._torch import ops, torch

if TYPE_CHECKING:
    from torch import Tensor


class Derivative(NamedTuple):
    # save(ctx, inputs, outputs) keeps what backward(ctx, grad) needs. It returns the gradients of
    # the inputs; `ctx.needs` tells which are required.
    save: Callable[..., None]
    backward: Callable[..., tuple[Tensor | None, ...]]
    # jvp(inputs, tangents, outputs) returns the tangent of the first output. The tangents of some
    # inputs are None.
    jvp: Callable[..., Tensor]


def no_derivative(name: str) -> Derivative:
    """Returns the derivative of an operator on real numbers that has none."""

    def refuse(*_: Any) -> Any:
        raise NotImplementedError(f"mluop_omp::{name} has no gradient")

    return Derivative(lambda *_: None, refuse, refuse)


def linear_in(name: str, *positions: int) -> Callable[..., Tensor]:
    """Returns the jvp of an operator that is linear in each of these inputs."""

    def jvp(inputs: tuple, tangents: tuple, outputs: Any) -> Tensor:
        terms = [
            _first(
                getattr(ops, name)(*inputs[:position], tangents[position], *inputs[position + 1 :])
            )
            for position in positions
            if tangents[position] is not None
        ]
        return torch.stack(terms).sum(0) if len(terms) > 1 else terms[0]

    return jvp


def _first(output: Any) -> Tensor:
    return output[0] if isinstance(output, tuple) else output


def save_inputs(ctx: Any, inputs: tuple, output: Any) -> None:
    ctx.save_for_backward(*[each for each in inputs if isinstance(each, torch.Tensor)])


def in_float32(formula: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a formula of PyTorch's operators that computes half and bfloat16 in float32, and
    rounds the results once, as the operators of the library do.

    The first tensor of floating-point numbers, also in a tuple, has the type of the results.
    """

    @functools.wraps(formula)
    def compute(*arguments: Any) -> Any:
        dtype = next((each.dtype for each in floating(arguments)), None)
        if dtype not in (torch.float16, torch.bfloat16):
            return formula(*arguments)
        return cast(formula(*cast(arguments, torch.float32)), dtype)

    return compute


def _is_floating(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def floating(values: tuple) -> Iterator[Tensor]:
    """Yields the tensors of floating-point numbers, also of tuples."""
    for value in values:
        if type(value) is tuple:
            yield from floating(value)
        elif _is_floating(value):
            yield value


def cast(value: Any, dtype: Any) -> Any:
    """Converts a tensor of floating-point numbers, or each one of a tuple, to the element type."""
    if type(value) is tuple:
        return tuple(cast(each, dtype) for each in value)
    return value.to(dtype) if _is_floating(value) else value


@in_float32
def sum_by_index(terms: Tensor, index: Tensor, size: int) -> Tensor:
    """Returns the sums of the terms [N, ...] of each index [N]: [size, ...]."""
    return terms.new_zeros(size, *terms.shape[1:]).index_add(0, index, terms)
