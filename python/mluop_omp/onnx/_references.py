"""The table of nodes for onnx.reference and for Polygraphy's reference of plugins."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable, Union

import numpy as np

from mluop_omp import _requirements
from mluop_omp._library import bad_param, not_supported
from mluop_omp.onnx._state import State
from mluop_omp.onnx._table import Node, nodes, run

if TYPE_CHECKING:
    import onnx
    from onnx.reference import ReferenceEvaluator

    Model = Union[str, "os.PathLike[str]", bytes, onnx.ModelProto]


def references(
    indices: np.ndarray | None = None,
    spatial_shape: Sequence[int] | None = None,
    batch_size: int | None = None,
) -> list[type]:
    """Returns the nodes for `onnx.reference.ReferenceEvaluator(model, new_ops=references())`.

    There is a class for each domain of each node. Each domain must be among the opset imports of
    the model; `evaluator` adds the ones that are missing.

    Args:
        indices: the coordinates of the features that the graph of a sparse network takes, integers
            [n, 4]: batch, then one for each entry of spatial_shape. Graphs of Lidar_AI_Solution
            have features only.
        spatial_shape: the sizes of their grid.
        batch_size: the number of samples; by default one more than the largest batch of indices.
    """
    _requirements.require("onnx")
    state = coordinates(indices, spatial_shape, batch_size)
    return [_class(node, domain, state) for node in nodes() for domain in node.domains]


def coordinates(
    indices: np.ndarray | None = None,
    spatial_shape: Sequence[int] | None = None,
    batch_size: int | None = None,
) -> State:
    """Returns the state of a graph whose features belong to coordinates; see `references`."""
    if indices is None:
        return State(None, None if spatial_shape is None else tuple(spatial_shape), batch_size)
    found = np.asarray(indices)
    if found.ndim != 2 or found.dtype.kind not in "iu":
        raise bad_param(
            f"indices has shape {list(found.shape)} and dtype {found.dtype}, "
            "expected [n, 4] of integers: batch and coordinates"
        )
    if spatial_shape is not None and len(spatial_shape) != found.shape[1] - 1:
        raise bad_param(
            f"spatial_shape has {len(spatial_shape)} elements, expected {found.shape[1] - 1}: "
            f"indices has {found.shape[1]} columns"
        )
    shape = None if spatial_shape is None else tuple(int(size) for size in spatial_shape)
    return State(np.ascontiguousarray(found, np.int32), shape, batch_size)


def _class(node: Node, domain: str, state: State) -> type:
    from onnx.reference.op_run import OpRun

    def _run(self: Any, *inputs: Any, **attributes: Any) -> tuple[np.ndarray, ...]:
        # Without the defaults that ONNX's operator of the same name has.
        own = {each.name for each in self.onnx_node.attribute}
        given = {name: value for name, value in attributes.items() if name in own}
        return tuple(_outputs(node, inputs, given, state, len(self.output)))

    attributes = {"op_domain": domain, "op_schema": None, "_run": _run}
    return type(node.name, (OpRun,), {**attributes, "__module__": __name__, "node": node})


def _outputs(
    node: Node, inputs: Sequence[Any], attributes: dict[str, Any], state: State, count: int
) -> list[np.ndarray]:
    """Returns as many outputs as the graph has."""
    outputs = run(node, inputs, attributes, state)
    if len(outputs) < count:
        raise bad_param(f"{node.name}: {count} outputs in the graph, expected {len(outputs)}")
    return outputs[:count]


def evaluator(
    model: Model,
    indices: np.ndarray | None = None,
    spatial_shape: Sequence[int] | None = None,
    batch_size: int | None = None,
    **options: Any,
) -> ReferenceEvaluator:
    """Returns onnx's ReferenceEvaluator of a model with the nodes.

    Args:
        model: a file, its bytes, or the ModelProto, which is not changed. Domains of nodes that
            the opset imports lack are added; an import of ai.onnx counts as the default domain.
        indices, spatial_shape, batch_size: see `references`.
        options: further arguments of ReferenceEvaluator, such as verbose. `new_ops` are classes
            that take precedence.
    """
    _requirements.require("onnx")
    from onnx.reference import ReferenceEvaluator

    own = references(indices, spatial_shape, batch_size)
    new_ops = [*(options.pop("new_ops", None) or ()), *own]
    taken = {(each.op_domain, each.__name__): each for each in reversed(new_ops)}
    return ReferenceEvaluator(imported(model), new_ops=list(taken.values()), **options)


def imported(model: Model) -> onnx.ModelProto:
    """Returns a copy of a model, with an opset import for the domain of each node."""
    import onnx

    if isinstance(model, bytes):
        copy = onnx.load_model_from_string(model)
    elif isinstance(model, onnx.ModelProto):
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
    else:
        copy = onnx.load(model)
    versions = {each.domain: each.version for each in copy.opset_import}
    if "" not in versions and "ai.onnx" in versions:
        versions[""] = versions.pop("ai.onnx")
    for domain in _domains(copy):
        versions.setdefault(domain, onnx.defs.onnx_opset_version() if domain == "" else 1)
    del copy.opset_import[:]
    copy.opset_import.extend(onnx.helper.make_opsetid(*each) for each in versions.items())
    return copy


def _domains(model: onnx.ModelProto) -> list[str]:
    """Returns the domains of all nodes, in the order in which they occur."""
    found: dict[str, None] = {}
    graphs = [model.graph]
    while graphs:
        for node in graphs.pop().node:
            found[node.domain] = None
            for attribute in node.attribute:
                # Branches and loops; an attribute of another kind has an empty graph.
                graphs += [attribute.g, *attribute.graphs]
    return list(found)


def register_polygraphy(
    indices: np.ndarray | None = None,
    spatial_shape: Sequence[int] | None = None,
    batch_size: int | None = None,
) -> None:
    """Registers the nodes with Polygraphy's runner pluginref: PluginRefRunner and --pluginref.

    Polygraphy finds a reference by the node's name. Among nodes with one name, the domain decides.
    Its own references, such as Identity, remain. The arguments are explained at `references`;
    another call replaces them.
    """
    _requirements.require("polygraphy")
    from polygraphy.backend.pluginref.references import OP_REGISTRY

    state = coordinates(indices, spatial_shape, batch_size)
    named: dict[str, list[Node]] = {}
    for node in nodes():
        named.setdefault(node.name, []).append(node)
    for name, same in named.items():
        known = OP_REGISTRY.get(name)
        if known is None or hasattr(known, "is_own"):
            OP_REGISTRY[name] = _reference(same, state)


def _reference(same: list[Node], state: State) -> Callable[..., dict[str, np.ndarray]]:
    """Returns a function as Polygraphy's registry holds it: of a node of onnx_graphsurgeon and the
    tensors so far, by name.
    """

    def reference(graph_node: Any, tensors: dict[str, Any]) -> dict[str, np.ndarray]:
        node = _of_domain(same, graph_node.domain or "")
        inputs = [_input(node, each, tensors) for each in graph_node.inputs]
        outputs = _outputs(node, inputs, graph_node.attrs, state, len(graph_node.outputs))
        return {each.name: value for each, value in zip(graph_node.outputs, outputs)}

    reference.is_own = True  # type: ignore[attr-defined]
    return reference


def _of_domain(same: list[Node], domain: str) -> Node:
    """Returns the node of a domain. The only one of its name has every domain, as in Polygraphy."""
    found = [node for node in same if domain in node.domains]
    if not found and len(same) > 1:
        domains = ", ".join(repr(each) for node in same for each in node.domains)
        raise not_supported(f"{same[0].name}: domain {domain!r}, expected one of {domains}")
    return (found or same)[0]


def _input(node: Node, tensor: Any, tensors: dict[str, Any]) -> Any:
    """Returns the value of a tensor of onnx_graphsurgeon; None for one that is left out."""
    if tensor.is_empty():
        return None
    if hasattr(tensor, "values"):
        return tensor.values
    if tensor.name not in tensors:
        raise bad_param(f"{node.name}: input {tensor.name} has no value")
    return tensors[tensor.name]
