"""Graphs with one node, and their outputs in onnx.reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from mluop_omp import onnx as mluop_onnx

OPSET = 17


def value_info(name: str, array: np.ndarray) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
    )


def one_node(
    domain: str,
    name: str,
    inputs: Sequence[np.ndarray | None],
    attributes: dict[str, Any] | None = None,
    outputs: int = 1,
) -> onnx.ModelProto:
    """Returns a model of a node with the inputs "input0" and so on and the outputs "output0"...

    None is an input that the node leaves out.
    """
    names = ["" if each is None else f"input{index}" for index, each in enumerate(inputs)]
    results = [f"output{index}" for index in range(outputs)]
    node = helper.make_node(name, names, results, name="node", domain=domain, **(attributes or {}))
    infos = [value_info(*each) for each in zip(names, inputs) if each[0]]
    # Neither element type nor shape of an output is given.
    graph = helper.make_graph(
        [node], "graph", infos, [onnx.ValueInfoProto(name=n) for n in results]
    )
    opsets = {"": OPSET, domain: 1} if domain else {"": OPSET}
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid(*each) for each in opsets.items()], ir_version=10
    )


def feeds(inputs: Sequence[np.ndarray | None]) -> dict[str, np.ndarray]:
    return {f"input{index}": each for index, each in enumerate(inputs) if each is not None}


def evaluate(
    domain: str,
    name: str,
    inputs: Sequence[np.ndarray | None],
    attributes: dict[str, Any] | None = None,
    outputs: int = 1,
    **coordinates: Any,
) -> list[np.ndarray]:
    """Returns the outputs of a node, as onnx.reference computes it.

    coordinates: the arguments of mluop_omp.onnx.references.
    """
    model = one_node(domain, name, inputs, attributes, outputs)
    new_ops = mluop_onnx.references(**coordinates)
    return ReferenceEvaluator(model, new_ops=new_ops).run(None, feeds(inputs))
