"""Judges the calls of two runs: which ones differ by more than their inputs and rounding explain.

An error grows along a model. A call differs by itself if the error of an output exceeds what
rounding explains and a multiple of the errors of what it was computed from.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterable, Iterator
from typing import Callable, TypeVar

from mluop_omp.golden._progress import track
from mluop_omp.golden._text import call_label, listed, path_of
from mluop_omp.golden.comparison import Comparison
from mluop_omp.golden.runs._alignment import Alignment, Pair
from mluop_omp.golden.runs._amplification import amplification
from mluop_omp.golden.runs._fusion import Flow, is_identity
from mluop_omp.golden.runs._names import NameMap, contains
from mluop_omp.golden.runs._result import ComparedCall
from mluop_omp.golden.runs._rounding import GROWTH, LARGE, NO_GROWTH, Error, Level
from mluop_omp.golden.runs._run import Call, Run, Value

_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclasses.dataclass
class _Node:
    """A call, and the calls that it makes."""

    pair: Pair
    children: list[_Node]


class Judge:
    """Compares pairs of calls in the order of the computation.

    Attributes:
        calls: the calls that were compared, in the order in which they return.
        first: the first call that differs by itself, or None.
        output: the errors of the outputs of the model, by path; in several calls, the largest.
        notes: findings, one a line.
    """

    def __init__(
        self,
        runs: tuple[Run, Run],
        alignment: Alignment,
        error: Callable[[Value, Value], Error],
    ) -> None:
        self.calls: list[ComparedCall] = []
        self.first: ComparedCall | None = None
        self.output: dict[str, Error] = {}
        self.notes: list[str] = []
        self._runs, self._alignment, self._error = runs, alignment, error
        # The largest error so far, and the largest one before the first difference.
        self._seen = Level()
        self._drift: Level | None = None
        self._repeated = {call.module for run in runs for call in run.calls if call.number}
        self._firsts = [{c.module: c for c in run.calls if c.number == 0} for run in runs]
        self._roots = _tree(alignment.pairs, runs[1])
        containers = [set[str](), set[str]()]
        for node in _all(self._roots):
            if node.children:
                for side in (0, 1):
                    containers[side].add(node.pair[side].module)
        self._flows = [Flow(run, each) for run, each in zip(runs, containers)]
        self._vanished = _vanished(alignment)
        # Recorded tensors of both runs that were compared.
        self._compared = (set[str](), set[str]())
        self._fused: dict[tuple[str, str], str] = {}
        # The tensors of the other run that outputs of fused modules agree with, by their names.
        self._counterparts: tuple[dict[str, Value], dict[str, Value]] = ({}, {})

    @property
    def differences(self) -> list[ComparedCall]:
        return [each for each in self.calls if each.differs]

    def judge(self) -> None:
        for node in track(self._roots, "comparing"):
            self._judge(node, None)
        for title, texts in self._fused_texts().items():
            self.notes.append(f"{title}: {len(texts)}: {listed(texts)}")

    def label(self, call: Call) -> str:
        label = call_label(call.module, call.kind, call.line)
        return f"{label}, call {call.number}" if call.module in self._repeated else label

    def differs(self, error: Error) -> bool:
        """Returns whether a tensor that is computed after all calls differs."""
        is_new = self._jumps(error, self._seen)
        if is_new:
            self._taint()
        self._seen = self._seen.joined(error.level)
        return is_new or not self._agrees(error)

    def left(self) -> tuple[list[Call], list[Call]]:
        """Returns the calls of each run without a counterpart, or a tensor that was compared."""
        sides = self._alignment.only_found, self._alignment.only_expected
        # The modules of each run whose outputs agree: what operations they consist of is theirs.
        agreeing = [each for each in self.calls if not each.differs]
        modules = {each.found_module for each in agreeing}, {e.call.module for e in agreeing}
        found, expected = (
            [
                call
                for call in calls
                if not (call.outputs and {v.tensor for v in call.outputs.values()} <= compared)
                and not (call.line and call.module.partition("::")[0] in names)
            ]
            for calls, compared, names in zip(sides, self._compared, modules)
        )
        return found, expected

    def state(self, names: NameMap) -> dict[str, Comparison]:
        """Returns parameters and buffers that differ: in agreeing calls, or after all calls."""
        differing = {}
        for each in self.calls:
            if not each.differs:
                prefix = f"{each.call.module}." if each.call.module else ""
                differing.update({prefix + name: c for name, c in each.state.items()})
        changed = []
        for run, rename in zip(self._runs, (names, str)):
            split = {name: name.rpartition(".") for name in run.changed}
            changed.append(
                {
                    ".".join(filter(None, (rename(module), own))): run.changed[name]
                    for name, (module, _, own) in split.items()
                }
            )
        levels: dict[str, Level] = {}
        for each in self.calls:
            known = (levels.get(each.call.module, Level()), *_levels(each))
            levels[each.call.module] = functools.reduce(Level.joined, known)
        for name, pair in pairs_of(*changed).items():
            error = self._error(*pair)
            if self._jumps(error, levels.get(name.rpartition(".")[0], self._seen)):
                assert error.comparison is not None
                differing[f"{name} at the end"] = error.comparison
        for side, own, other in zip(("found", "expected"), changed, changed[::-1]):
            only = [name for name in own if name not in other]
            if only:
                self.notes.append(f"changed at the end of {side} only: {listed(only)}")
        return differing

    def _judge(self, node: _Node, outer: ComparedCall | None) -> None:
        found, expected = node.pair
        is_absorbed = is_identity(found) != is_identity(expected)
        call = ComparedCall(expected, self.label(expected), found.module)
        inputs = {} if is_absorbed else matched(found.inputs, expected.inputs)
        if not is_absorbed:
            call.changed += _only_in_one("input", *self._tensors(node.pair))
        for path, pair in inputs.items():
            error = self._error(*pair)
            if self._jumps(error, self._seen):
                error = self._of_fused(pair, error)
            call.input_errors[path] = error
            self._note_choice(error, self._seen, f"{path_of('input', path)} of {call.label}")
            self._remember(*pair)
            if self._jumps(error, self._seen):
                if outer is None:
                    self._taint()
                else:
                    outer.first_input = (
                        outer.first_input or f"{path_of('input', path)} of {call.label}"
                    )
                    self._found(outer)
            self._seen = self._seen.joined(error.level)
        for child in node.children:
            self._judge(child, call)
        is_direct = not (node.children or is_absorbed or expected.not_recorded) and inputs
        known = functools.reduce(Level.joined, _levels(call), Level()) if is_direct else self._seen
        call.is_judged = known.whole <= LARGE
        for path, pair in matched(found.outputs, expected.outputs).items():
            error = self._error(*pair)
            self._remember(*pair)
            if self._jumps(error, known) and not error.is_choice:
                error = self._fusion(node.pair, pair, error, known, call)
            if self._jumps(error, known) and not node.children:
                known = self._amplified(node.pair, pair, error, known)
            call.output_errors[path] = error
            self._note_choice(error, known, f"{path_of('output', path)} of {call.label}")
            if self._jumps(error, known):
                self._found(call)
            self._seen = self._seen.joined(error.level)
        call.changed += _only_in_one("output", found.outputs, expected.outputs)
        if any(each.startswith("output") for each in call.changed):
            self._found(call)
        self._judge_writes(node.pair, call)
        if not (is_absorbed or call.fused_with):
            self._compare_state(node.pair, call)
        call.inputs = self._differing(call.input_errors)
        call.outputs = self._differing(call.output_errors)
        call.differs = call.differs or bool(call.outputs)
        if expected.module == "":
            for path, error in call.output_errors.items():
                known_error = self.output.get(path, error)
                self.output[path] = max(known_error, error, key=lambda each: each.value)
        self.calls.append(call)

    def _tensors(self, calls: Pair) -> list[dict[str, Value]]:
        """Returns the inputs without numbers, which are constants in exported graphs."""
        return [
            {path: v for path, v in call.inputs.items() if run.tensors[v.tensor].shape}
            for run, call in zip(self._runs, calls)
        ]

    def _amplified(
        self, calls: Pair, values: tuple[Value, Value], error: Error, known: Level
    ) -> Level:
        """Returns known errors as a module amplifies them, whose parameters either run may have."""
        scales = (
            amplification(run, call, getattr(firsts.get(call.module), "state", {}), value)
            for run, call, firsts, value in zip(self._runs, calls, self._firsts, values)
        )
        scale = max(scales)
        if not scale > 1:
            return known
        return Level(*(scale * max(own, error.limit / 2) for own in known))

    def _note_choice(self, error: Error, known: Level, place: str) -> None:
        """States where a detector first keeps other boxes as rounding explains."""
        is_first = self._drift is None and not math.isinf(self._seen.whole)
        if error.is_choice and is_first and not self._jumps(error, known):
            self.notes.append(f"{place}: {error}; what follows is not judged")

    def _jumps(self, error: Error, known: Level) -> bool:
        is_decided = known.whole <= LARGE or math.isinf(error.value)
        return is_decided and error.exceeds(known, GROWTH)

    def _agrees(self, error: Error) -> bool:
        if self._drift is None:
            return True
        return not error.exceeds(self._drift, NO_GROWTH)

    def _differing(self, errors: dict[str, Error]) -> dict[str, Comparison]:
        wrong = {path: each for path, each in errors.items() if not self._agrees(each)}
        return {path: e.comparison for path, e in wrong.items() if e.comparison is not None}

    def _taint(self) -> None:
        if self._drift is None:
            self._drift = self._seen

    def _found(self, call: ComparedCall) -> None:
        call.differs = True
        self._taint()
        if self.first is None and not any(not self._agrees(e) for e in call.input_errors.values()):
            self.first = call

    def _remember(self, found: Value, expected: Value) -> None:
        self._compared[0].add(found.tensor)
        self._compared[1].add(expected.tensor)

    def _fusion(
        self, calls: Pair, values: tuple[Value, Value], error: Error, known: Level, to: ComparedCall
    ) -> Error:
        """Returns the error of an output against the later tensor that a fused module computes."""
        for side, run in ((1, "found"), (0, "expected")):
            chain = self._flows[side].fused(calls[side], values[side], self._vanished[side])
            later = [(call.module, value) for call, value in chain]
            later += self._flows[side].later(calls[side], values[side])
            missing = {call.module for call, _ in chain}
            best, counterpart = error, values[side]
            for module, value in later:
                pair = (values[0], value) if side else (value, values[1])
                if pair[0].is_sparse != pair[1].is_sparse:
                    # A normalization takes the features of a sparse tensor.
                    pair = (pair[0].features(), pair[1].features())
                other = self._error(*pair)
                is_closer = module in missing and other.value < best.value / 2
                if self._jumps(other, known) and not is_closer:
                    continue
                best, counterpart = other, value
                to.fused_with = module
                if not self._jumps(other, known):
                    break
            if best is not error:
                self._remember(*values)
                self._compared[side].add(counterpart.tensor)
                self._counterparts[1 - side][values[1 - side].tensor] = counterpart
                self._fused[calls[1 - side].module, to.fused_with] = run
                for call, value in chain:
                    self._compared[side].add(value.tensor)
                    if call.module == to.fused_with:
                        break
                return best
        return error

    def _of_fused(self, pair: tuple[Value, Value], error: Error) -> Error:
        """Returns the error of the output of a fused module, which another module takes."""
        for side in (0, 1):
            other = self._counterparts[side].get(pair[side].tensor)
            if other is not None:
                fused = (other, pair[1]) if side else (pair[0], other)
                error = min(error, self._error(*fused), key=lambda each: each.value)
        return error

    def _fused_texts(self) -> dict[str, list[str]]:
        texts: dict[str, list[str]] = {}
        for (module, last), run in self._fused.items():
            texts.setdefault(f"fused in {run}", []).append(f"{module} with {last}")
        return texts

    def _judge_writes(self, calls: Pair, to: ComparedCall) -> None:
        """Names calls that write into an input, other than with their output."""
        for side, name in enumerate(("found", "expected")):
            own, other = calls[side], calls[1 - side]
            outputs = {value.tensor for value in own.outputs.values()}
            for path, value in own.written.items():
                if value.tensor in outputs or path in other.written:
                    continue
                to.changed += (f"{path_of('input', path)} is written in place in {name}",)
                if side == 0:
                    self._found(to)
        for path, pair in pairs_of(calls[0].written, calls[1].written).items():
            error = self._error(*pair)
            if self._jumps(error, self._seen):
                to.output_errors[f"(written to input {path})"] = error
                self._found(to)

    def _compare_state(self, calls: Pair, to: ComparedCall) -> None:
        firsts = [self._firsts[side].get(calls[side].module) for side in (0, 1)]
        state = pairs_of(*({} if call is None else call.state for call in firsts))
        to.compared_state = len(state)
        for path, pair in state.items():
            error = self._error(*pair)
            if error.ratio > 1 and error.comparison is not None and not self._is_folded(calls):
                to.state[path] = error.comparison

    def _is_folded(self, calls: Pair) -> bool:
        """Returns whether one run lacks a module that follows, whose parameters it has folded."""
        return any(
            self._flows[side].fused(calls[side], value, self._vanished[side])
            for side in (0, 1)
            for value in calls[side].outputs.values()
        )


def _levels(call: ComparedCall) -> list[Level]:
    return [error.level for error in call.input_errors.values()]


def _tree(pairs: Iterable[Pair], expected: Run) -> list[_Node]:
    """Returns the outermost calls: a module returns after the modules that it calls.

    A module inside of another one is not called by it if it computes its inputs, as a preprocessor
    does.
    """
    roots: list[_Node] = []
    for pair in pairs:
        module = pair.expected.module
        inputs = {
            v.tensor for v in pair.expected.inputs.values() if expected.tensors[v.tensor].shape
        }
        node = _Node(
            pair,
            [
                each
                for each in roots
                if contains(module, each.pair.expected.module)
                and not _produced(each.pair.expected) & inputs
            ],
        )
        if node.children:
            inner = set(map(id, node.children))
            roots = [each for each in roots if id(each) not in inner]
        roots.append(node)
    return roots


def _produced(call: Call) -> set[str]:
    """Returns the outputs of a call without its inputs."""
    outputs, inputs = ({v.tensor for v in each.values()} for each in (call.outputs, call.inputs))
    return outputs - inputs


def _all(nodes: Iterable[_Node]) -> Iterator[_Node]:
    for node in nodes:
        yield node
        yield from _all(node.children)


def _vanished(alignment: Alignment) -> tuple[set[int], set[int]]:
    """Returns the calls of each run that the other one lacks, or has as an identity."""
    sides = alignment.only_found, alignment.only_expected
    found, expected = ({id(call) for call in calls} for calls in sides)
    for pair in alignment.pairs:
        is_found, is_expected = map(is_identity, pair)
        if is_found and not is_expected:
            expected.add(id(pair.expected))
        if is_expected and not is_found:
            found.add(id(pair.found))
    return found, expected


def matched(found: dict[str, Value], expected: dict[str, Value]) -> dict[str, tuple[Value, Value]]:
    """Returns the pairs of tensors with equal paths, or in equal positions if all are in both."""
    if found.keys() != expected.keys() and len(found) == len(expected):
        return dict(zip(expected, zip(found.values(), expected.values())))
    return pairs_of(found, expected)


def pairs_of(found: dict[_K, _V], expected: dict[_K, _V]) -> dict[_K, tuple[_V, _V]]:
    """Returns the pairs of values with equal keys, in the order of expected."""
    return {key: (found[key], expected[key]) for key in expected if key in found}


def _only_in_one(role: str, found: dict[str, Value], expected: dict[str, Value]) -> tuple[str, ...]:
    """Names the tensors without a counterpart."""
    if len(found) == len(expected) or (role == "input" and not (found and expected)):
        # A run without inputs, such as the results of another tool.
        return ()
    sides = (("found", found, expected), ("expected", expected, found))
    return tuple(
        f"{path_of(role, path)} is only in {side}"
        for side, own, other in sides
        for path in own
        if path not in other
    )
