"""Records every node of a graph, in the format of `mluop_omp.record`; docs/onnx.md has an example.

A call is a node: its module is the node's name, its paths are names of tensors, its parameters are
the constants that it takes. The last call is the graph.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mluop_omp import _requirements
from mluop_omp._library import bad_param
from mluop_omp.golden._output import written
from mluop_omp.golden.comparison import SparseSites
from mluop_omp.golden.runs._budget import Budget
from mluop_omp.golden.runs._graphs import Node
from mluop_omp.golden.runs._writer import RunWriter
from mluop_omp.onnx._graph import constants_of, feeds_of, nodes_of
from mluop_omp.onnx._references import evaluator, imported
from mluop_omp.onnx._session import session

if TYPE_CHECKING:
    import onnx

    from mluop_omp.onnx._references import Model

RUNTIMES = ("reference", "onnxruntime")
MAX_BYTES = 2**30


def record(
    model: Model,
    inputs: Mapping[str, np.ndarray],
    path: str | os.PathLike[str],
    *,
    runtime: str = "reference",
    indices: np.ndarray | None = None,
    spatial_shape: Sequence[int] | None = None,
    batch_size: int | None = None,
    max_bytes: int = MAX_BYTES,
    seed: int = 0,
) -> dict[str, np.ndarray]:
    """Runs a graph and records the inputs and outputs of all its nodes in a file.

    `mluop_omp.compare_runs` compares the file with the run of another graph, and with tensors that
    a device returns by their names. Nodes in branches and loops are not recorded.

    Args:
        model: a file, its bytes, or the ModelProto.
        inputs: the inputs of the graph by their names.
        path: the file to write.
        runtime: "reference" for onnx.reference, "onnxruntime" for `session`.
        indices, spatial_shape, batch_size: see `references`.
        max_bytes, seed: see `mluop_omp.recording`.

    Returns:
        The outputs of the graph by their names.

    Raises:
        MluOpError: an input is missing or unknown; a node refuses its inputs.
        ValueError: max_bytes is less than what the descriptions of the calls take.
        OSError: the file cannot be written.
        ImportError: a package is not installed.

    Source: docs/record.md defines the file.
    """
    if runtime not in RUNTIMES:
        raise bad_param(f"runtime is {runtime!r}, expected one of {', '.join(RUNTIMES)}")
    _requirements.require("onnx")
    graph = imported(model)
    feeds = feeds_of(graph, inputs)
    sites = {"indices": indices, "spatial_shape": spatial_shape, "batch_size": batch_size}
    compute = _by_reference if runtime == "reference" else _by_onnxruntime
    values = {**feeds, **compute(graph, feeds, sites)}
    constants = constants_of(graph)
    sizes = [each.nbytes for each in constants.values()]
    head = f"graph {graph.graph.name}", seed, max_bytes, Budget(sizes, len(values))
    with written(path) as stream, RunWriter(stream, *head) as writer:
        for call in _calls(graph, values, constants, writer):
            writer.line("calls", call)
    return {each.name: np.asarray(values[each.name]) for each in graph.graph.output}


def _by_reference(
    model: onnx.ModelProto, feeds: dict[str, np.ndarray], sites: dict[str, Any]
) -> dict[str, Any]:
    found: dict[str, Any] = evaluator(model, **sites).run(None, feeds, intermediate=True)
    return found


def _by_onnxruntime(
    model: onnx.ModelProto, feeds: dict[str, np.ndarray], sites: dict[str, Any]
) -> dict[str, Any]:
    import onnx

    every = onnx.ModelProto()
    every.CopyFrom(model)
    known = {each.name for each in every.graph.output}
    names = [name for node in every.graph.node for name in node.output if name]
    every.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names if n not in known)
    outputs = [each.name for each in every.graph.output]
    return dict(zip(outputs, session(every, **sites).run(outputs, feeds)))


def _calls(
    model: onnx.ModelProto,
    values: Mapping[str, Any],
    constants: Mapping[str, np.ndarray],
    writer: RunWriter,
) -> Iterator[dict[str, Any]]:
    graph = model.graph
    inputs, outputs = ([e.name for e in each] for each in (graph.input, graph.output))
    whole = Node("", "onnx.Graph", tuple(inputs), tuple(outputs))
    for node in (*nodes_of(model), whole):
        state = [name for name in node.inputs if name in constants]
        call: dict[str, Any] = {"module": node.name, "call": 0, "class": node.kind}
        call["scope"] = node.scope
        call["state"] = [
            {"path": name, **writer.add(name, constants[name], is_state=True)[0]} for name in state
        ]
        for role, names in (("input", node.inputs), ("output", node.outputs)):
            entries, skipped = [], []
            for name in names:
                if name in state:
                    continue
                leaf = _leaf(values.get(name))
                if leaf is not None:
                    entries.append({"path": name, **writer.add(name, leaf)[0]})
                elif name in values:
                    kind = type(values[name]).__name__
                    skipped.append({"of": role, "path": name, "type": kind})
            call[f"{role}s"] = entries
            if skipped:
                call["not_recorded"] = [*call.get("not_recorded", ()), *skipped]
        yield call


def _leaf(value: Any) -> Any:
    """Returns a tensor to record, with its sites if they are known; None for any other value."""
    sites = getattr(value, "sites", None)
    if sites is not None:
        shape = sites.spatial_shape, sites.batch_size
        return SparseSites(np.asarray(value), sites.indices, *shape)
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        return array if array.dtype.kind in "biufc" else None
    return None
