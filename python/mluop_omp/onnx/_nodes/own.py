"""The operators of mluop_omp as nodes of the domain mluop_omp, as `export` writes them.

The nodes follow from the declarations of the operators: tensors are inputs, all other arguments are
attributes of the same names, with the same defaults.
"""

from __future__ import annotations

import inspect
from typing import Any, Callable

import numpy as np

from mluop_omp import _operators
from mluop_omp._operators import all_operators
from mluop_omp._operators._declaration import Operator
from mluop_omp.onnx._attributes import Attribute, Kind
from mluop_omp.onnx._table import node

DOMAIN = "mluop_omp"
KINDS = {
    "int": Kind.INTEGER,
    "bool": Kind.INTEGER,
    "float": Kind.FLOAT,
    "str": Kind.TEXT,
    "Pair": Kind.INTS,
    "Triple": Kind.INTS,
    "Sequence[int]": Kind.INTS,
    "Sequence[float]": Kind.FLOATS,
}


def exported() -> list[Operator]:
    """Returns the operators that are nodes. Gradients are not among them."""
    return [each for each in all_operators() if "_backward" not in each.name]


def _attribute(parameter: inspect.Parameter) -> Attribute:
    kind, default = KINDS[parameter.annotation], parameter.default
    if default is parameter.empty:
        return Attribute(kind, is_required=True)
    is_several = kind in (Kind.INTS, Kind.FLOATS)
    return Attribute(kind, tuple(default) if is_several else default)


def _outputs(operator: Operator) -> tuple[str, ...]:
    count = operator.signature.return_annotation.count("Array")
    return ("output",) if count == 1 else tuple(f"output{k}" for k in range(count))


def _compute(operator: Operator) -> Callable[..., tuple[np.ndarray, ...]]:
    function = getattr(_operators, operator.name)
    parameters = operator.signature.parameters
    flags = [name for name, each in parameters.items() if each.annotation == "bool"]

    def compute(*inputs: Any, **attributes: Any) -> tuple[np.ndarray, ...]:
        given = {**attributes, **{name: bool(attributes[name]) for name in flags}}
        results = function(*inputs, **given)
        return results if isinstance(results, tuple) else (results,)

    compute.__doc__ = operator.doc
    return compute


def _declare(operator: Operator) -> None:
    parameters = list(operator.signature.parameters.values())
    tensors, others = parameters[: operator.tensors], parameters[operator.tensors :]
    inputs = [p.name + "?" * p.annotation.endswith("None") for p in tensors]
    node(
        DOMAIN,
        name=operator.name,
        inputs=inputs,
        # The function checks their element types.
        untyped=[p.name for p in tensors],
        attributes={p.name: _attribute(p) for p in others},
        outputs=_outputs(operator),
        operators=(operator.name,),
        source="mluop_omp",
    )(_compute(operator))


for _operator in exported():
    _declare(_operator)
