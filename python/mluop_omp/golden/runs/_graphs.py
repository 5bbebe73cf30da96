"""Runs of ONNX graphs, and tensors of other runs as the tensors of a graph.

A device returns some tensors of a graph by their names. `compare` and `replay` need calls: each
tensor that is known is computed by a part of the graph from other known tensors. A part is a node,
with the nodes before it whose outputs the device does not return, since it has fused them.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Callable, NamedTuple

from mluop_omp.golden._text import counted, listed
from mluop_omp.golden.runs._names import NameMap, contains
from mluop_omp.golden.runs._run import Call, Run, RunSource, Value, is_run


class Node(NamedTuple):
    """A node of a graph, with the names of the tensors that it takes and computes."""

    name: str
    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    scope: str = ""


class Part(NamedTuple):
    """Nodes that compute known tensors of the last of them from other known tensors.

    Attributes:
        node: the last node.
        inputs, outputs: the known tensors.
        others: the other nodes.
    """

    node: Node
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    others: tuple[Node, ...]


class Ends(NamedTuple):
    """The names of the inputs and outputs of a graph."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def is_graph(run: Run) -> bool:
    return any(call.scope is not None for call in run.calls)


def nodes_of(run: Run) -> list[Node]:
    """Returns the nodes of the graph that a run has recorded, in their order."""
    return [
        Node(call.module, call.kind, tuple(call.inputs), tuple(call.outputs), call.scope)
        for call in run.calls
        if call.scope is not None and call.module and call.number == 0
    ]


def parts_of(nodes: Sequence[Node], known: Iterable[str]) -> tuple[list[Part], list[Node]]:
    """Divides a graph into parts; also returns the nodes from which no known tensor follows."""
    known, parts = set(known), list[Part]()
    # For each tensor, the known ones that it is computed from, and the nodes that do so.
    sources: dict[str, tuple[dict[str, None], dict[Node, None]]] = {}
    left = dict.fromkeys(nodes)
    for node in nodes:
        inputs, others = dict[str, None](), dict[Node, None]()
        for name in node.inputs:
            if name in known:
                inputs[name] = None
            elif name in sources:
                inputs.update(sources[name][0])
                others.update(sources[name][1])
        outputs = tuple(name for name in node.outputs if name in known)
        if outputs:
            parts.append(Part(node, tuple(inputs), outputs, tuple(others)))
            for each in (node, *others):
                left.pop(each, None)
        for name in node.outputs:
            sources[name] = inputs, {**others, node: None}
    return parts, list(left)


def tensors_in(
    run: Run, nodes: Sequence[Node], ends: Ends, rename: Callable[[str], str] = str
) -> tuple[dict[str, Value], list[Call]]:
    """Returns the values of a run by the names of a graph's tensors, and the calls without one.

    A call is matched by its name: of a tensor, of a node with one output, or of the module of
    PyTorch whose nodes compute one tensor. Characters such as "/" may be "_". The call of a model
    has the inputs and outputs of the graph in their order.

    rename: maps the names of the run.
    """
    names = _names(nodes, ends.inputs)
    values: dict[str, Value] = {}
    left = []
    for call in run.calls:
        module, is_known = rename(call.module), call.scope is not None
        found = {}
        for path, value in call.outputs.items():
            only = [module] if len(call.outputs) == 1 else []
            texts = [path] if is_known else [*only, *([f"{module}:{path}"] if path else [])]
            name = next((names[t] for each in texts for t in _forms(each) if t in names), None)
            if name is not None:
                found[name] = value
        if module == "" and not is_known:
            for known, own in ((ends.inputs, call.inputs), (ends.outputs, call.outputs)):
                if len(known) == len(own):
                    found.update(zip(known, own.values()))
        if is_known:
            found.update(call.inputs)
        if call.number == 0:
            values.update((k, v) for k, v in found.items() if k not in values)
        if not found:
            left.append(call)
    return values, left


def _names(nodes: Sequence[Node], inputs: Iterable[str]) -> dict[str, str]:
    """Returns the tensors that names refer to, the surest first."""
    names = {name: name for name in inputs}
    names.update((name, name) for node in nodes for name in node.outputs)
    for node in nodes:
        if len(node.outputs) == 1:
            names.setdefault(node.name, node.outputs[0])
        for name in node.outputs:
            names.setdefault(f"{node.name}:{name}", name)
    for scope, name in _of_modules(nodes).items():
        names.setdefault(scope, name)
    plain: dict[str, set[str]] = {}
    for text, name in names.items():
        plain.setdefault(_forms(text)[-1], set()).add(name)
    for text, same in plain.items():
        if len(same) == 1:
            names.setdefault(text, *same)
    return names


def _forms(name: str) -> tuple[str, str]:
    """Returns a name, and the form without characters that file names lack."""
    return name, re.sub(r"\W", "_", name).strip("_")


def _of_modules(nodes: Sequence[Node]) -> dict[str, str]:
    """Returns the tensor that the nodes of each module of PyTorch compute for other nodes."""
    scopes = {node.scope for node in nodes if node.scope}
    for scope in list(scopes):
        parts = scope.split(".")
        scopes.update(".".join(parts[:k]) for k in range(1, len(parts)))
    found = {}
    for scope in scopes:
        inner = [n for n in nodes if n.scope == scope or contains(scope, n.scope)]
        inside = set(inner)
        taken = {name for n in nodes if n not in inside for name in n.inputs}
        computed = {name for n in inner for name in n.outputs}
        used = {name for n in inner for name in n.inputs}
        # The outputs of the graph are taken by no node.
        leaving = (computed & taken) | (computed - used)
        if len(leaving) == 1:
            found[scope] = leaving.pop()
    return found


class _View(Run):
    """A run with other calls."""

    def __init__(self, run: Run, calls: Iterable[Call]) -> None:
        vars(self).update(vars(run))
        self._run, self.calls, self.gradients = run, tuple(calls), ()

    @property
    def is_closed(self) -> bool:  # type: ignore[override]
        return self._run.is_closed


@contextlib.contextmanager
def opened_pair(found: RunSource, expected: RunSource) -> Iterator[tuple[Run, Run]]:
    """Opens two runs. A .npz of tensors is one if the other run is of a graph."""
    with contextlib.ExitStack() as stack:
        sources = found, expected
        runs: list[Run | None] = [
            each
            if isinstance(each, Run)
            else stack.enter_context(Run(each))
            if is_run(each) or not os.fspath(each).lower().endswith(".npz")
            else None
            for each in sources
        ]
        has_names = any(run is not None and is_graph(run) for run in runs)
        first, second = (
            stack.enter_context(Run(source, has_names=has_names)) if run is None else run
            for run, source in zip(runs, sources)
        )
        yield first, second


def matched(found: Run, expected: Run, names: NameMap) -> tuple[Run, Run, list[str]]:
    """Returns two runs with calls for the tensors of both, if one of them is of a graph.

    Also returns findings, one a line. Other runs, and two runs of graphs, are returned as they are.
    """
    if is_graph(found) == is_graph(expected):
        return found, expected, []
    is_found = is_graph(found)
    graph, other = (found, expected) if is_found else (expected, found)
    nodes, model = nodes_of(graph), _model_call(graph)
    ends = Ends((), ()) if model is None else Ends(tuple(model.inputs), tuple(model.outputs))
    values, left = tensors_in(other, nodes, ends, str if is_found else names)
    if not values:
        return found, expected, []
    own = _values(graph)
    parts, unused = parts_of(nodes, values)
    calls = [_calls(part, own, values, other) for part in parts]
    unnamed = [call for call in graph.calls if call.module in {node.name for node in unused}]
    if model is not None and any(name in values for name in model.outputs):
        calls.append(_calls(_whole(model, values), own, values, other))
    sides = (
        _View(graph, [*unnamed, *(own_call for own_call, _ in calls)]),
        _View(other, [*left, *(other_call for _, other_call in calls)]),
    )
    side = "expected" if is_found else "found"
    notes = [*_notes(parts, other, side), *(f"map {each} matches no name" for each in names.unused)]
    return (*(sides if is_found else sides[::-1]), notes)


def _notes(parts: Sequence[Part], other: Run, side: str) -> Iterator[str]:
    joined = [part for part in parts if part.others]
    if joined:
        count = len({node.name for part in joined for node in part.others})
        names = listed(part.node.name for part in joined)
        yield (
            f"{side} has no tensor of {counted(count, 'node')}: these are part of the next "
            f"nodes with one: {names}"
        )
    count = len({call.number for call in other.calls})
    if count > 1:
        yield f"{side} has {count} iterations: the first is compared"


def _model_call(graph: Run) -> Call | None:
    return next((c for c in graph.calls if c.module == "" and c.scope is not None), None)


def _whole(model: Call, known: Mapping[str, Value]) -> Part:
    inputs, outputs = (
        tuple(name for name in each if name in known) for each in (model.inputs, model.outputs)
    )
    return Part(Node("", model.kind, (), ()), inputs, outputs, ())


def _values(graph: Run) -> dict[str, Value]:
    """Returns the values of a graph's run by the names of the tensors."""
    return {
        name: value
        for call in graph.calls
        for each in (call.inputs, call.outputs)
        for name, value in each.items()
    }


def _calls(
    part: Part, own: Mapping[str, Value], values: Mapping[str, Value], other: Run
) -> tuple[Call, Call]:
    """Returns the calls of a part in the graph's run and in the other one."""
    head = part.node.name, 0, part.node.kind
    pairs = [
        {name: _alike(own[name], values[name]) for name in each if name in own}
        for each in (part.inputs, part.outputs)
    ]
    first, second = (
        Call(*head, *({n: pair[k] for n, pair in each.items()} for each in pairs), {})
        for k in (0, 1)
    )
    return first, second


def _alike(own: Value, other: Value) -> tuple[Value, Value]:
    """Takes the features of a sparse tensor where the other run has a dense one."""
    if own.is_sparse == other.is_sparse:
        return own, other
    return own.features(), other.features()
