"""Element types of a graph's tensors, which onnxruntime needs before it runs the graph.

onnx infers the types behind ONNX's own nodes. A plugin node returns the type of its first
floating-point input, except for the integers below.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mluop_omp import _operators
from mluop_omp._definitions._random import Random
from mluop_omp._operators import operators
from mluop_omp.onnx._table import Node

if TYPE_CHECKING:
    import onnx

# Outputs of integers by the names of their nodes.
_INTEGERS = {
    "NMSRotated": {"indices": "int64"},
    "NMSMatch": {"indices": "int64"},
    "TRTBatchedNMS": {"labels": "int64", "index": "int64"},
    "TRTBatchedRotatedNMS": {"labels": "int64"},
    "SoftNonMaxSuppression": {"inds": "int64"},
    "VoxelGeneratorPlugin": {"voxel_coords": "int32", "num_pillar": "int32"},
    **{
        name: dict.fromkeys(("out_indices", *outputs, "num_act_out"), "int32")
        for name, outputs in {
            "GetIndicePairs": ("indice_pairs", "indice_pair_num"),
            "GetIndicePairsImplicitGemm": ("pair_fwd", "pair_mask_fwd", "mask_argsort_fwd"),
        }.items()
    },
}
_FLOATING = ("float16", "float32", "float64", "bfloat16")
_OWN_DOMAIN = "mluop_omp"


def type_name(code: int) -> str:
    """Returns the NumPy name of an element type of ONNX."""
    from onnx.helper import tensor_dtype_to_np_dtype

    return str(tensor_dtype_to_np_dtype(code).name)


def type_code(name: str) -> int:
    """Returns the element type of ONNX of a NumPy name."""
    from onnx.helper import np_dtype_to_tensor_dtype

    return int(np_dtype_to_tensor_dtype(np.dtype(name)))


def output_types(node: Node, inputs: Sequence[str]) -> list[str]:
    """Returns the element types of all outputs. inputs: the types of the inputs that are there."""
    default = next((each for each in inputs if each in _FLOATING), inputs[0] if inputs else "")
    if _OWN_DOMAIN in node.domains:
        return [default if each in _FLOATING else each for each in _types_of_operator(node.name)]
    integers = _INTEGERS.get(node.name, {})
    return [integers.get(name.rstrip("?"), default) for name in node.outputs]


def _types_of_operator(name: str) -> list[str]:
    """Returns the element types of an operator's outputs for the arguments of its self-test."""
    definitions = sys.modules[getattr(operators, name).definition.__module__]
    arguments = getattr(definitions, f"{name}_arguments")
    usual = {key: each[0] for key, each in _choices(arguments).items()}
    results = getattr(_operators, name)(*arguments(Random(), **usual))
    return [each.dtype.name for each in (results if isinstance(results, tuple) else (results,))]


def _choices(function: Any) -> dict[str, tuple[Any, ...]]:
    parameters = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in parameters if isinstance(each.default, tuple)}


def is_of_onnx(each: onnx.NodeProto, types: Sequence[str]) -> bool:
    """Returns whether a node without a domain is as ONNX defines the operator of its name.

    types: the element types of the inputs that are there. Plugins such as Reshape of
    Lidar_AI_Solution have other attributes or other inputs.
    """
    from onnx import defs

    if each.domain or not defs.has(each.op_type):
        return False
    schema = defs.get_schema(each.op_type)
    fixed = [parameter.type_str for parameter in schema.inputs]
    return (
        len(types) >= schema.min_input
        and all(attribute.name in schema.attributes for attribute in each.attribute)
        and all("tensor" not in e or e == f"tensor({kind})" for e, kind in zip(fixed, types))
    )


def graphs_of(model: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    """Yields the graph of a model, and the graphs of branches and loops, from the outside."""
    graphs = [model.graph]
    while graphs:
        graph = graphs.pop(0)
        yield graph
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    graphs.append(attribute.g)
                graphs += attribute.graphs


def element_types(model: onnx.ModelProto, table: Mapping[tuple[str, str], Node]) -> dict[str, str]:
    """Returns the element types of tensors by their names.

    table: the plugin nodes by domain and name. A tensor whose type is unknown is left out.
    """
    import onnx

    skeleton = _without_values(model)
    types = _known(skeleton)
    while True:
        of_onnx = _without_plugins(skeleton, table, types)
        types.update(_known(onnx.shape_inference.infer_shapes(of_onnx)))
        found = _of_plugins(skeleton, table, types)
        if not found.keys() - types.keys():
            return types
        types.update(found)
        for name in found:
            skeleton.graph.value_info.append(_info(name, found[name]))


def _without_plugins(
    model: onnx.ModelProto, table: Mapping[tuple[str, str], Node], types: Mapping[str, str]
) -> onnx.ModelProto:
    """Returns a copy without the nodes that onnx refuses or does not know."""
    import onnx

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for graph in graphs_of(copy):
        kept = [
            each
            for each in graph.node
            if (each.domain, each.op_type) not in table
            or is_of_onnx(each, [types[name] for name in each.input if name in types])
        ]
        del graph.node[:]
        graph.node.extend(kept)
    return copy


def _of_plugins(
    model: onnx.ModelProto, table: Mapping[tuple[str, str], Node], types: Mapping[str, str]
) -> dict[str, str]:
    """Returns the types of the outputs of plugin nodes all of whose inputs have a type."""
    found: dict[str, str] = {}
    for graph in graphs_of(model):
        for each in graph.node:
            node, inputs = table.get((each.domain, each.op_type)), [*filter(None, each.input)]
            if node is not None and all(name in types for name in inputs):
                results = output_types(node, [types[name] for name in inputs])
                found.update((n, t) for n, t in zip(each.output, results) if n and t)
    return found


def _without_values(model: onnx.ModelProto) -> onnx.ModelProto:
    """Returns a copy whose weights are inputs, without the types that the exporter inferred."""
    import onnx

    skeleton = onnx.ModelProto()
    skeleton.ir_version = model.ir_version
    skeleton.opset_import.extend(model.opset_import)
    skeleton.functions.extend(model.functions)
    graph = skeleton.graph
    graph.name = model.graph.name
    graph.node.extend(model.graph.node)
    graph.input.extend(model.graph.input)
    known = {each.name for each in graph.input}
    for tensor in model.graph.initializer:
        if tensor.name not in known:
            graph.input.append(_info(tensor.name, type_name(tensor.data_type), tensor.dims))
    for each in graphs_of(skeleton):
        del each.value_info[:]
    return skeleton


def _info(name: str, kind: str, dims: Sequence[int] | None = None) -> onnx.ValueInfoProto:
    from onnx.helper import make_tensor_value_info

    return make_tensor_value_info(name, type_code(kind), dims)


def _known(model: onnx.ModelProto) -> dict[str, str]:
    found = {}
    for graph in graphs_of(model):
        for tensor in graph.initializer:
            found[tensor.name] = type_name(tensor.data_type)
        for each in (*graph.input, *graph.value_info):
            code = each.type.tensor_type.elem_type
            if code:
                found[each.name] = type_name(code)
    return found
