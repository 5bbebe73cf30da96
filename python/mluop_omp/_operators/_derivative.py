"""The derivative of an operator, for reverse and forward mode.

The first output of an operator has a derivative, or several of the first. Formulas consist of
operators that have derivatives themselves, so that derivatives of any order follow.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any, Callable

from mluop_omp._operators._torch import Tensor, ops, torch

# What is kept for the gradients: tensors, and other values before and after them.
Kept = tuple[Sequence[Any], Sequence[Any], Sequence[Any]]


class Derivative:
    """The derivative of an operator.

    gradients(needs, grad, *kept) returns the gradients of the first inputs; the others have none.
        `needs` tells which inputs require a gradient. With several outputs, the gradient of each
        takes the place of `grad`.
    jvp(inputs, tangents, outputs) returns the tangent of the first output; with several outputs, a
        tuple of tangents. The tangents of some inputs are None.
    keep(inputs, outputs) returns what is kept: the inputs, unless it is given.
    outputs: how many outputs have a derivative.
    """

    name: str

    def __init__(
        self,
        gradients: Callable[..., Sequence[Tensor | None]],
        jvp: Callable[..., Tensor | tuple[Tensor, ...]],
        keep: Callable[[tuple, Any], Kept] | None = None,
        outputs: int = 1,
    ) -> None:
        self.gradients = gradients
        self.jvp = jvp
        self.keep: Any = keep
        self.outputs = outputs

    def declare(self, name: str, inputs: list[str], tensors: int) -> None:
        """Receives the name of the operator, the names of its inputs, and how many are tensors."""
        self.name = name
        if self.keep is None:
            self.keep = lambda inputs, outputs: ((), inputs[:tensors], inputs[tensors:])

    def save(self, ctx: Any, inputs: tuple, outputs: Any) -> None:
        if isinstance(outputs, tuple):
            ctx.mark_non_differentiable(*outputs[self.outputs :])
        before, tensors, after = self.keep(inputs, outputs)
        ctx.kept = before, after
        if tensors:
            ctx.save_for_backward(*tensors)

    def backward(self, ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        before, after = ctx.kept
        kept = (*before, *ctx.saved_tensors, *after)
        gradients = self.gradients(ctx.needs, *grads[: self.outputs], *kept)
        return (*gradients, *[None] * (len(ctx.needs) - len(gradients)))


class Linear(Derivative):
    """The derivative of an operator that is linear in each of the named inputs.

    Each has a function of the gradient and of what is kept, which returns its gradient. Kept are
    the inputs; of the only input in which an operator is linear, its shape, before the others.

    tangent(tangent, *kept) returns the tangent of an operator that is linear in one input once its
        further outputs are known. The operator itself computes the tangents of others.
    """

    def __init__(
        self,
        keep: Callable[[tuple, Any], Kept] | None = None,
        tangent: Callable[..., Tensor] | None = None,
        **transposed: Callable[..., Tensor],
    ) -> None:
        super().__init__(self._gradients, self._jvp, keep)
        self._tangent = tangent
        self._transposed = transposed

    def declare(self, name: str, inputs: list[str], tensors: int) -> None:
        first, *others = self._positions = [inputs.index(each) for each in self._transposed]
        if self.keep is None and not others:
            self.keep = lambda inputs, outputs: (
                (inputs[first].shape,),
                inputs[:first] + inputs[first + 1 : tensors],
                inputs[tensors:],
            )
        super().declare(name, inputs, tensors)

    def _gradients(self, needs: Sequence[bool], grad: Tensor, *kept: Any) -> list[Tensor | None]:
        gradients: list[Tensor | None] = [None] * len(needs)
        for position, transposed in zip(self._positions, self._transposed.values()):
            if needs[position]:
                gradients[position] = transposed(grad, *kept)
        return gradients

    def _jvp(self, inputs: tuple, tangents: tuple, outputs: Any) -> Tensor:
        if self._tangent is None:
            return total(linear_terms(self.name, inputs, tangents, self._positions), outputs)
        (tangent,) = (tangents[position] for position in self._positions)
        if tangent is None:
            return torch.zeros_like(_first(outputs))
        before, tensors, after = self.keep(inputs, outputs)
        return self._tangent(tangent, *before, *tensors, *after)


class NoDerivative(Derivative):
    """The derivative of an operator on real numbers that has none."""

    def __init__(self) -> None:
        super().__init__(self._refuse, self._refuse)

    def save(self, ctx: Any, inputs: tuple, outputs: Any) -> None:
        pass

    def backward(self, ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return self._refuse()

    def _refuse(self, *_: Any) -> Any:
        raise NotImplementedError(f"mluop_omp::{self.name} has no gradient")


def linear_terms(
    name: str, inputs: tuple, tangents: tuple, positions: Sequence[int]
) -> list[Tensor]:
    """Returns the terms of the tangent of an operator that is linear in each of these inputs."""
    return [
        _first(getattr(ops, name)(*inputs[:position], tangents[position], *inputs[position + 1 :]))
        for position in positions
        if tangents[position] is not None
    ]


def total(terms: list[Tensor], outputs: Any) -> Tensor:
    """Returns the sum of the terms of a tangent."""
    if not terms:
        return torch.zeros_like(_first(outputs))
    return torch.stack(terms).sum(0) if len(terms) > 1 else terms[0]


def _first(output: Any) -> Tensor:
    return output[0] if isinstance(output, tuple) else output


def differentiable(name: str, formula: Callable[..., Any], *arguments: Any) -> Any:
    """Returns the results of an operator that has no derivative.

    If they may be differentiated, a formula of PyTorch's operators computes them.
    """
    return (formula if torch.is_grad_enabled() else getattr(ops, name))(*arguments)


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
