"""Replays a run: each node of a graph computes on the tensors that a device has recorded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mluop_omp import _requirements
from mluop_omp._library import MluOpError, bad_param
from mluop_omp.golden import Replay, ReplayedCall, Run, SparseSites, compare
from mluop_omp.golden._text import listed, path_of
from mluop_omp.golden.runs._graphs import Ends, Node, Part, parts_of, tensors_in
from mluop_omp.golden.runs._names import NameMap, Names
from mluop_omp.golden.runs._rounding import error_in, short_type
from mluop_omp.golden.runs._run import Call, RunSource, Value, is_run
from mluop_omp.onnx._element_types import element_types
from mluop_omp.onnx._graph import nodes_of, part_of
from mluop_omp.onnx._references import evaluator, imported
from mluop_omp.onnx._sites import Sites, attach
from mluop_omp.onnx._table import by_domain

if TYPE_CHECKING:
    import onnx

    from mluop_omp.onnx._references import Model

_FLOATING = ("float16", "float32", "float64")


def replay(
    model: Model,
    run: RunSource,
    inputs: Mapping[str, np.ndarray] | None = None,
    *,
    node: str | None = None,
    names: Names = None,
    indices: np.ndarray | None = None,
    spatial_shape: Sequence[int] | None = None,
    batch_size: int | None = None,
) -> Replay:
    """Computes each node of a graph on recorded inputs, and compares its outputs with the recorded.

    Errors do not add up along the graph, and all nodes that differ show at once. Nodes whose
    outputs the run lacks, since a device has fused them, are computed with the next node that has
    one. A node stands out if rounding does not explain its error, as in `mluop_omp.replay`.

    Args:
        model: a file, its bytes, or the ModelProto.
        run: a file of `record`, RunResults of Polygraphy, a dump of msprobe, or a .npz of tensors
            by their names; or a `Run`.
        inputs: inputs of the graph that the run lacks, by their names.
        node: the name of the only node to compute; None: all.
        names: maps the names of the run to the names of tensors or nodes, as in `compare_runs`.
        indices, spatial_shape, batch_size: see `references`.

    Returns:
        A `mluop_omp.Replay`.

    Raises:
        MluOpError: the graph has no node or input of a name.
        ValueError: the file is not a run or is damaged; it has no tensor of the graph.
        OSError: the file cannot be read.
        ImportError: onnx is not installed.
    """
    _requirements.require("onnx")
    graph = imported(model)
    sites = {"indices": indices, "spatial_shape": spatial_shape, "batch_size": batch_size}
    with _opened(run) as source:
        replayer = _Replayer(graph, source, NameMap(names), inputs or {}, sites)
        return replayer.replay(node)


@contextlib.contextmanager
def _opened(run: RunSource) -> Iterator[Run]:
    if isinstance(run, Run):
        yield run
        return
    with Run(run, has_names=not is_run(run)) as source:
        yield source


class _Replayer:
    def __init__(
        self,
        model: onnx.ModelProto,
        run: Run,
        names: NameMap,
        inputs: Mapping[str, np.ndarray],
        sites: dict[str, Any],
    ) -> None:
        graph = model.graph
        ends = Ends(*(tuple(e.name for e in each) for each in (graph.input, graph.output)))
        for name in inputs:
            if name not in ends.inputs:
                expected = ", ".join(ends.inputs)
                raise bad_param(f"the graph has no input {name}, expected: {expected}")
        self._model, self._run, self._sites = model, run, sites
        self._nodes, self._given = nodes_of(model), inputs
        self._types = element_types(model, by_domain())
        values, _ = tensors_in(run, self._nodes, ends, names)
        self._values = {name: each for name, each in values.items() if self._is_whole(each)}
        if not self._values:
            raise ValueError(f"{run.path} has no tensor of the graph: names can be mapped")
        dtypes = (run.tensors[each.tensor].dtype for each in self._values.values())
        self._coarsest = short_type(*dtypes)
        self._names = names
        # The rulebooks that the nodes of the recorded sites share.
        self._rulebooks: dict[str, Any] = {}

    def replay(self, only: str | None) -> Replay:
        parts, left = parts_of(self._nodes, {*self._values, *self._given})
        if only is not None:
            if all(each.name != only for each in self._nodes):
                expected = ", ".join(each.name for each in self._nodes[:8])
                raise bad_param(f"the graph has no node {only}, expected one such as {expected}")
            left = [each for each in left if each.name == only]
            parts = [
                part for part in parts if only in [each.name for each in (part.node, *part.others)]
            ]
        skipped = [f"{each.name}: its outputs are not recorded" for each in left]
        calls = []
        for part in parts:
            try:
                calls.append(self._replayed(part))
            except MluOpError as error:
                skipped.append(f"{part.node.name}: {error.message}")
        notes = [f"map {pattern} matches no tensor" for pattern in self._names.unused]
        joined = [f"{n.name} with {part.node.name}" for part in parts for n in part.others]
        if joined:
            head = f"computed together, as the run has no tensor between: {len(joined)}"
            notes.append(f"{head}: {listed(joined)}")
        return Replay.of(calls, {}, [], [], notes, skipped)

    def _is_whole(self, value: Value) -> bool:
        tensors = (value.tensor, value.indices)
        return all(
            self._run.tensors[name].is_whole and self._run.tensors[name].dtype != "bfloat16"
            for name in tensors
            if name is not None
        )

    def _replayed(self, part: Part) -> ReplayedCall:
        nodes = [*part.others, part.node]
        outputs = [name for name in part.outputs if name in self._values]
        model, inputs = part_of(self._model, nodes, outputs)
        for name in inputs:
            if name not in self._values and name not in self._given:
                raise bad_param(f"its input {name} is not recorded")
        feeds = {name: self._fed(name) for name in inputs}
        found = evaluator(model, **self._sites).run(outputs, feeds)
        result = ReplayedCall(_call(part.node))
        for name, value in zip(outputs, found):
            comparison = compare(*self._pair(value, self._values[name]))
            result.errors[path_of("output", name)] = error_in(comparison, self._coarsest)
        return result

    def _fed(self, name: str) -> np.ndarray:
        """Returns a recorded tensor in the element type that it has in the graph."""
        if name in self._given:
            return np.asarray(self._given[name])
        value = self._run.value(self._values[name])
        array = np.asarray(value.features if isinstance(value, SparseSites) else value)
        kind = self._types.get(name, array.dtype.name)
        if array.dtype.name in _FLOATING and kind in _FLOATING:
            array = array.astype(kind)
        if not isinstance(value, SparseSites) or value.spatial_shape is None:
            return array
        indices = np.ascontiguousarray(value.indices, np.int32)
        batch = int(value.batch_size or indices[:, 0].max(initial=0) + 1)
        return attach(array, Sites(indices, tuple(value.spatial_shape), batch, self._rulebooks))

    def _pair(self, found: Any, recorded: Value) -> tuple[Any, Any]:
        expected = self._run.value(recorded)
        sites = getattr(found, "sites", None)
        array = np.asarray(found)
        if isinstance(expected, SparseSites):
            if sites is None:
                return array, np.asarray(expected.features)
            return SparseSites(array, sites.indices), expected
        return array, expected


def _call(node: Node) -> Call:
    return Call(node.name, 0, node.kind, {}, {}, {})
