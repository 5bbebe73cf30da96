"""Automatic differentiation, torch.func, torch.vmap and torch.autocast: what PyTorch's dispatcher
calls for the operators before their kernels.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, NamedTuple

import torch
from torch import Tensor
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction
from torch.utils._pytree import tree_map

from mluop_omp._operators._declaration import Operator, all_operators
from mluop_omp._operators._derivative import cast, floating
from mluop_omp.torch import _operators
from mluop_omp.torch._precision import element_type


class _Level(NamedTuple):
    """What the kernel of a level of transformations passes on to the function that it applies."""

    keyset: Any
    grad_enabled: bool
    primals: tuple | None  # the arguments without tangents, if one has a tangent


class _Differentiable:
    """An operator as its autograd kernel calls it."""

    def __init__(self, declared: Operator) -> None:
        self.overload = getattr(_operators.OPERATORS, declared.name).default
        self.kernel = _operators.KERNELS[declared.name]
        self.derivative = declared.derivative
        self._defaults = [argument.default_value for argument in self.overload._schema.arguments]
        self._recorded = _recorded(self)

    def __call__(self, keyset: Any, *arguments: Any) -> Any:
        """The kernel of the dispatch key Autograd."""
        # The dispatcher leaves out arguments that equal their defaults.
        if len(arguments) < len(self._defaults):
            arguments = (*arguments, *self._defaults[len(arguments) :])
        primals = _primals(arguments) if _may_have_tangents() else None
        level = _Level(keyset, torch.is_grad_enabled(), primals)
        if primals is None and not (level.grad_enabled and torch._C._any_requires_grad(*arguments)):
            return self.below_autograd(level, arguments)
        # The dispatcher has separated the levels of torch.func; this is one of them.
        with enable_single_level_autograd_function():
            return self._recorded.apply(level, *arguments)

    def below_autograd(self, level: _Level, arguments: tuple) -> Any:
        if _leads_to_kernel(level.keyset.raw_repr()):
            return self.kernel(*arguments)
        # The modes of the next level are those in which this one was called.
        with (
            torch.set_grad_enabled(level.grad_enabled),
            forward_ad._set_fwd_grad_enabled(True),
            torch._C._AutoDispatchBelowAutograd(),
        ):
            keyset = level.keyset & torch._C._after_autograd_keyset
            return self.overload.redispatch(keyset, *arguments)


def _may_have_tangents() -> bool:
    # Compiled torch.func.jvp enters the level of forward_ad without its Python.
    return forward_ad._current_level >= 0 or torch._C._are_functorch_transforms_active()


def _primals(arguments: tuple) -> tuple | None:
    """Returns the arguments without their tangents; None if none has one."""
    # PyTorch has one level of forward mode; torch.func nests its own in it.
    duals = [
        forward_ad.unpack_dual(each, level=0) if isinstance(each, Tensor) else (each, None)
        for each in arguments
    ]
    has_tangents = any(tangent is not None for _, tangent in duals)
    return tuple(primal for primal, _ in duals) if has_tangents else None


def _recorded(operator: _Differentiable) -> Any:
    """Returns the function that has the derivatives of the operator."""

    class Recorded(_SingleLevelFunction):
        @staticmethod
        def forward(ctx: Any, level: _Level, *arguments: Any) -> Any:
            outputs = operator.below_autograd(level, arguments)
            operator.derivative.save(ctx, arguments, outputs)
            if level.primals is not None:
                ctx.for_jvp = level.primals, outputs
            return outputs

        @staticmethod
        def backward(ctx: Any, *grads: Tensor) -> tuple:
            ctx.needs = ctx.needs_input_grad[1:]
            return None, *operator.derivative.backward(ctx, *grads)

        @staticmethod
        def jvp(ctx: Any, level: Any, *tangents: Any) -> Any:
            inputs, outputs = ctx.for_jvp
            del ctx.for_jvp
            # The inputs and tangents may have tangents of the next level.
            with forward_ad._set_fwd_grad_enabled(True):
                tangent = operator.derivative.jvp(inputs, tangents, outputs)
            if not isinstance(outputs, tuple):
                return tangent
            given = tangent if isinstance(tangent, tuple) else (tangent,)
            return *given, *[None] * (len(outputs) - len(given))

    return Recorded


@functools.cache
def _leads_to_kernel(keyset: int) -> bool:
    """Returns whether nothing but the kernel for tensors of the CPU follows automatic
    differentiation: no other transformation, mode or device.
    """
    rest = torch._C.DispatchKeySet.from_raw_repr(keyset) & torch._C._after_autograd_keyset
    rest = rest.remove(torch._C.DispatchKey.ADInplaceOrView)
    return rest.highestPriorityTypeId() == torch._C.DispatchKey.CPU


def _batching_rule(operator: Any) -> Callable[..., Any]:
    """Returns the rule of torch.vmap: the operator is called for each element of the batch."""

    def rule(info: Any, in_dims: tuple, *arguments: Any) -> tuple[Any, Any]:
        calls = [
            operator(
                *(
                    each.select(dim, i) if isinstance(dim, int) else each
                    for each, dim in zip(arguments, in_dims)
                )
            )
            for i in range(info.batch_size)
        ]
        if calls:
            outputs = tree_map(lambda *each: _stacked(operator, each), *calls)
        else:
            like = next(each for each in arguments if isinstance(each, Tensor))
            outputs = tree_map(
                lambda each: like.new_empty((0, *each.shape), dtype=each.dtype),
                operator(*map(_shape_of_element, arguments, in_dims)),
            )
        return outputs, tree_map(lambda _: 0, outputs)

    return rule


def _shape_of_element(argument: Any, dim: Any) -> Any:
    if not isinstance(argument, Tensor):
        return argument
    shape = list(argument.shape)
    if isinstance(dim, int):
        del shape[dim]
    return torch.empty(shape, dtype=argument.dtype, device="meta")


def _stacked(operator: Any, outputs: tuple[Tensor, ...]) -> Tensor:
    shapes = {tuple(output.shape) for output in outputs}
    if len(shapes) > 1:
        raise ValueError(
            f"vmap of {operator.name()}: the shapes of an output differ between the elements of "
            f"the batch: {', '.join(map(str, sorted(shapes)))}"
        )
    return torch.stack(outputs)


def _autocast_kernel(declared: Operator, operator: Any) -> Callable[..., Any]:
    key = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)

    def kernel(*arguments: Any) -> Any:
        tensors = list(floating(arguments))
        if tensors:  # They keep their memory format.
            arguments = cast(arguments, element_type(tensors, declared.precision))
        with torch._C._ExcludeDispatchKeyGuard(key):
            return operator(*arguments)

    return kernel


for _declared in all_operators():
    _name = _declared.name
    _operator = getattr(_operators.OPERATORS, _name).default
    if _declared.derivative is not None:
        _kernel = _Differentiable(_declared)
        _operators.LIBRARY.impl(_name, _kernel, "Autograd", with_keyset=True)
    _operators.LIBRARY.impl(_name, _autocast_kernel(_declared, _operator), "AutocastCPU")
    torch.library.register_vmap(
        f"{_operators.NAMESPACE}::{_name}", _batching_rule(_operator), lib=_operators.LIBRARY
    )
