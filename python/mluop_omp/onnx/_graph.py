"""The nodes, constants and inputs of a model."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mluop_omp._library import bad_param
from mluop_omp.golden.runs._graphs import Node

if TYPE_CHECKING:
    import onnx

# What torch.onnx writes about the modules that contain a node.
_SCOPES = "pkg.torch.onnx.name_scopes"


def nodes_of(model: onnx.ModelProto) -> list[Node]:
    """Returns the nodes of a graph other than constants, with names that differ.

    A node without a name of its own is named after its first output.
    """
    graph, nodes, taken = model.graph, list[Node](), set[str]()
    for each in graph.node:
        if _is_constant(each):
            continue
        outputs = tuple(name for name in each.output if name)
        name = each.name
        if not name or name in taken:
            name = outputs[0] if outputs else f"{each.op_type} {len(nodes)}"
        while name in taken:
            name += "'"
        taken.add(name)
        kind = f"{each.domain or 'ai.onnx'}.{each.op_type}"
        inputs = dict.fromkeys((*filter(None, each.input), *_captured(each)))
        nodes.append(Node(name, kind, tuple(inputs), outputs, _scope(each)))
    return nodes


def proto_of(model: onnx.ModelProto) -> dict[str, onnx.NodeProto]:
    """Returns the node that computes each tensor, by the tensor's name."""
    return {name: each for each in model.graph.node for name in each.output if name}


def constants_of(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """Returns the weights and constants of a graph by their names, other than texts."""
    from onnx import numpy_helper

    found = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    for each in model.graph.node:
        if _is_constant(each):
            found[each.output[0]] = _value_of(each)
    return {name: each for name, each in found.items() if each.dtype.kind in "biufc"}


def _value_of(constant: onnx.NodeProto) -> np.ndarray:
    """Returns the value of a Constant; texts for a sparse one."""
    from onnx import TensorProto, numpy_helper
    from onnx.helper import get_attribute_value

    (attribute,) = constant.attribute
    value = get_attribute_value(attribute)
    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    kinds = {"value_float": np.float32, "value_floats": np.float32}
    kinds.update({"value_int": np.int64, "value_ints": np.int64})
    return np.asarray(value, kinds.get(attribute.name, np.str_))


def feeds_of(model: onnx.ModelProto, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Checks that the inputs of a graph are there."""
    weights = {each.name for each in model.graph.initializer}
    names = [each.name for each in model.graph.input]
    required = [name for name in names if name not in weights]
    expected = ", ".join(required) or "none"
    for name in required:
        if name not in inputs:
            raise bad_param(f"input {name} of the graph is missing, expected: {expected}")
    for name in inputs:
        if name not in names:
            raise bad_param(f"the graph has no input {name}, expected: {expected}")
    return {name: np.asarray(inputs[name]) for name in names if name in inputs}


def part_of(
    model: onnx.ModelProto, nodes: Sequence[Node], outputs: Sequence[str]
) -> tuple[onnx.ModelProto, list[str]]:
    """Returns a model that consists of some nodes, and the inputs of these that others compute."""
    import onnx

    producers = proto_of(model)
    chosen = {id(producers[n]) for node in nodes for n in node.outputs}
    taken = dict.fromkeys(name for node in nodes for name in node.inputs)
    protos = [
        each
        for each in model.graph.node
        if id(each) in chosen or (_is_constant(each) and each.output[0] in taken)
    ]
    weights = [each for each in model.graph.initializer if each.name in taken]
    inner = {name for each in protos for name in each.output} | {each.name for each in weights}
    inputs = [name for name in taken if name not in inner]
    part = onnx.ModelProto()
    part.ir_version, part.graph.name = model.ir_version, model.graph.name
    part.opset_import.extend(model.opset_import)
    part.functions.extend(model.functions)
    part.graph.initializer.extend(weights)
    part.graph.node.extend(protos)
    part.graph.input.extend(onnx.ValueInfoProto(name=name) for name in inputs)
    part.graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs)
    return part, inputs


def _is_constant(each: onnx.NodeProto) -> bool:
    return each.op_type == "Constant" and each.domain in ("", "ai.onnx")


def _captured(each: onnx.NodeProto) -> list[str]:
    """Returns the tensors of the graph that branches and loops of a node take."""
    names = []
    for attribute in each.attribute:
        for graph in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
            own = {e.name for e in (*graph.input, *graph.initializer)}
            own |= {name for inner in graph.node for name in inner.output}
            for inner in graph.node:
                taken = (*inner.input, *_captured(inner))
                names += [name for name in taken if name and name not in own]
    return names


def _scope(each: onnx.NodeProto) -> str:
    """Returns the name of the module of PyTorch that a node was exported from; "" if unknown."""
    for entry in each.metadata_props:
        if entry.key == _SCOPES:
            try:
                *_, scope, _ = ast.literal_eval(entry.value)
            except (ValueError, SyntaxError, TypeError):
                return ""
            return str(scope)
    if not each.name.startswith("/"):
        return ""
    # From a name such as /layer1/layer1.0/conv/Conv, where a sequence repeats its name.
    parts: list[str] = []
    for part in each.name.split("/")[1:-1]:
        if parts and part.startswith(f"{parts[-1]}."):
            parts.pop()
        parts.append(part)
    return ".".join(parts)
