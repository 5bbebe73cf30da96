"""Examples of the operators of mluop_omp as nodes: the arguments of their self-tests."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from mluop_omp import _self_test
from mluop_omp._operators._declaration import Operator
from mluop_omp.onnx._nodes.own import exported


def _example(operator: Operator) -> Callable[[np.random.Generator], tuple[list, dict[str, Any]]]:
    def example(_: np.random.Generator) -> tuple[list, dict[str, Any]]:
        arguments = operator._bound(_self_test.arguments(operator.name), {})
        tensors, others = arguments[: operator.tensors], arguments[operator.tensors :]
        names = list(operator.signature.parameters)[operator.tensors :]
        return list(tensors), dict(zip(names, others))

    return example


EXAMPLES = {operator.name: _example(operator) for operator in exported()}
