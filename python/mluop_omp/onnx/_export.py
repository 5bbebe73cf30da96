"""Exports modules of PyTorch whose operators of mluop_omp become nodes of the domain mluop_omp."""

from __future__ import annotations

import functools
import inspect
import warnings
from typing import TYPE_CHECKING, Any, Callable

from mluop_omp import _requirements
from mluop_omp._library import not_supported
from mluop_omp._operators._declaration import Operator
from mluop_omp.onnx._attributes import Kind
from mluop_omp.onnx._nodes.own import DOMAIN, KINDS, exported

if TYPE_CHECKING:
    import torch

# How torch.onnx calls the kinds: in its parser of constants, and at the end of attributes' names.
_PARSED = {
    Kind.INTEGER: ("i", "_i"),
    Kind.FLOAT: ("f", "_f"),
    Kind.TEXT: ("s", "_s"),
    Kind.INTS: ("is", "_i"),
    Kind.FLOATS: ("fs", "_f"),
}
_OPSET = 17
# The version of the domain mluop_omp.
_VERSION = 1


def export(
    model: torch.nn.Module,
    args: tuple[Any, ...],
    path: Any,
    *,
    opset_version: int = _OPSET,
    **options: Any,
) -> None:
    """Writes a module of PyTorch as an ONNX model.

    Calls `torch.onnx.export(model, args, path, dynamo=False)`, for which each operator of
    torch.ops.mluop_omp that is not a gradient is a node of the domain mluop_omp. Its arguments that
    are not tensors are attributes: constants of the graph.

    Args:
        model, args, path: as for torch.onnx.export.
        opset_version: the version of ONNX's operators.
        options: further arguments of torch.onnx.export, such as input_names and dynamic_axes.

    Raises:
        MluOpError: `dynamo` is True; a scripted part of the model computes an argument of an
            operator that is not a tensor.
        ImportError: PyTorch or onnx is not installed.
    """
    for package in ("torch", "onnx"):
        _requirements.require(package)
    import torch

    from mluop_omp import torch as _  # noqa: F401  defines the operators

    if options.pop("dynamo", False):
        raise not_supported(
            "dynamo is True, expected False: only nodes of the traced graph are written"
        )
    _register()
    versions = {DOMAIN: _VERSION, **(options.pop("custom_opsets", None) or {})}
    with warnings.catch_warnings(), _constants():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.onnx.export(
            model,
            args,
            path,
            dynamo=False,
            opset_version=opset_version,
            custom_opsets=versions,
            **options,
        )


def _constants() -> Any:
    """Returns a mode that makes traced sizes constants, where torch.jit.trace does so without a
    warning, or fails for the ones in tuples.
    """
    import torch
    from torch.overrides import TorchFunctionMode

    operators = {f"{DOMAIN}::{each.name}": each for each in exported()}

    class Constants(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
        ) -> Any:
            packet = getattr(func, "overloadpacket", func)
            operator = operators.get(getattr(packet, "_qualified_op_name", ""))
            given = kwargs or {}
            if operator is None or not torch.jit.is_tracing():
                return func(*args, **given)
            names = list(operator.signature.parameters)
            fixed = {*names[operator.tensors :]}
            args = tuple(
                _fixed(operator, name, value) if name in fixed else value
                for name, value in zip(names, args)
            )
            return func(
                *args, **{n: _fixed(operator, n, v) if n in fixed else v for n, v in given.items()}
            )

    return Constants()


def _fixed(operator: Operator, name: str, value: Any) -> Any:
    """Returns an argument without traced numbers."""
    import torch

    if isinstance(value, (tuple, list)):
        return type(value)(_fixed(operator, name, each) for each in value)
    if not isinstance(value, torch.Tensor):
        return value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.jit.TracerWarning)
        number = value.item()
    warnings.warn(
        f"{operator.name}: {name} depends on the inputs of the model, and becomes the constant "
        f"{number}",
        torch.jit.TracerWarning,
        stacklevel=2,
    )
    return number


@functools.cache
def _register() -> None:
    from torch.onnx import register_custom_op_symbolic

    for operator in exported():
        name = f"{DOMAIN}::{operator.name}"
        register_custom_op_symbolic(name, _symbolic(operator), _VERSION)


def _symbolic(operator: Operator) -> Callable[..., Any]:
    """Returns the function by which torch.onnx writes an operator."""
    parameters = list(operator.signature.parameters.values())[operator.tensors :]
    count = operator.signature.return_annotation.count("Array")

    def symbolic(g: Any, *values: Any) -> Any:
        tensors = _tensors(g, values[: operator.tensors])
        attributes = {}
        for parameter, value in zip(parameters, values[operator.tensors :]):
            kind, suffix = _PARSED[KINDS[parameter.annotation]]
            attributes[parameter.name + suffix] = _constant(operator, parameter, value, kind)
        results = g.op(f"{DOMAIN}::{operator.name}", *tensors, **attributes, outputs=count)
        outputs = [results] if count == 1 else list(results)
        for output, traced in zip(outputs, g.original_node.outputs()):
            _set_type(output, traced)
        return results

    return symbolic


def _tensors(g: Any, values: tuple[Any, ...]) -> list[Any]:
    """Returns inputs of a node; None becomes an empty name, and is left out at the end."""
    from torch.onnx import symbolic_helper

    is_none = [symbolic_helper._is_none(each) for each in values]
    while is_none and is_none[-1]:
        is_none.pop()
    return [
        symbolic_helper._optional_input_placeholder_tensor(g) if none else value
        for value, none in zip(values, is_none)
    ]


def _constant(operator: Operator, parameter: inspect.Parameter, value: Any, kind: str) -> Any:
    from torch.onnx import symbolic_helper

    try:
        found = symbolic_helper._parse_arg(value, kind)
    except Exception as error:
        raise not_supported(
            f"{operator.name}: {parameter.name} depends on the inputs of the model, expected a "
            "constant, which is an attribute of the node"
        ) from error
    return int(found) if parameter.annotation == "bool" else found


def _set_type(output: Any, traced: Any) -> None:
    """Gives an output the element type and rank of the traced tensor; sizes may be others."""
    import torch

    known = traced.type()
    if isinstance(known, torch._C.TensorType) and known.dim() is not None:
        output.setType(known.with_sizes([None] * known.dim()))
