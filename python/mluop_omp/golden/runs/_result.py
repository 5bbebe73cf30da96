"""The result of a comparison of runs, and its text."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from typing import Any

from mluop_omp.golden._text import counted, labeled, listed, name_of, path_of
from mluop_omp.golden.comparison import Comparison
from mluop_omp.golden.comparison._report import verdict_of
from mluop_omp.golden.runs._names import contains
from mluop_omp.golden.runs._run import Call


@dataclasses.dataclass(frozen=True, eq=False)
class CallDifference:
    """A call whose outputs differ.

    Attributes:
        call: the call in the expected run.
        label: the name of the module, its class and, if it has several calls, their number.
        found_module: the name of the module in the found run.
        outputs, inputs: comparisons of the outputs and inputs that differ, by path.
        changed: inputs and outputs in one run only, such as "input 1 is only in found".
        state: comparisons of the parameters and buffers of the module that differ, by name.
        compared_state: the number of parameters and buffers that both runs have.
    """

    call: Call
    label: str
    found_module: str
    outputs: dict[str, Comparison]
    inputs: dict[str, Comparison]
    changed: tuple[str, ...] = ()
    state: dict[str, Comparison] = dataclasses.field(default_factory=dict)
    compared_state: int = 0

    @property
    def inputs_agree(self) -> bool:
        return not self.inputs and not any(each.startswith("input") for each in self.changed)


@dataclasses.dataclass(frozen=True)
class GradientDifference:
    """A gradient that differs.

    Attributes:
        name: the tensor or parameter that it belongs to.
        comparison: the comparison of the gradients.
        computed_by: the recorded modules whose backward passes computed it.
    """

    name: str
    comparison: Comparison
    computed_by: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class RunComparison:
    """The result of `mluop_omp.compare_runs`. str() is a report, bool() the verdict.

    Attributes:
        equal: whether both runs have the same calls and gradients, with equal outputs and
            gradients, and at least one output.
        compared: the number of calls that both runs have.
        calls: the number of calls that either run has.
        compared_outputs: the number of outputs that both runs have.
        differences: the calls whose outputs differ, in the order in which they return.
        first: the first of these calls whose inputs agree, or None.
        first_input: the first input that differs inside of the module of `first`, or None. The
            module's own code computes it, as no output before it differs.
        gradients: the gradients that differ, in the order of their computation.
        compared_gradients: the number of gradients that both runs have.
        total_gradients: the number of gradients that either run has.
        only_found, only_expected: calls in one run only.
        notes: further findings, one a line.
    """

    equal: bool
    compared: int
    calls: int = 0
    compared_outputs: int = 0
    differences: tuple[CallDifference, ...] = ()
    first: CallDifference | None = None
    first_input: str | None = None
    gradients: tuple[GradientDifference, ...] = ()
    compared_gradients: int = 0
    total_gradients: int = 0
    only_found: tuple[str, ...] = ()
    only_expected: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.equal

    @property
    def comparable(self) -> bool:
        """False if nothing differs but not everything was compared."""
        return self.equal or bool(self.differences or self.gradients)

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    __repr__ = __str__

    def html(self, path: str | os.PathLike[str]) -> None:
        """Writes the report as `Comparison.html` does.

        Draws the outputs of the first difference; without one, the inputs of the first call that
        differs, or the first gradient. Tensors are read again from the files of both runs.
        """
        from mluop_omp.golden.comparison import page

        page.write(path, self, (p for name, c in _shown(self) for p in page.parts_of(c, name)))

    def to_dict(self) -> dict[str, Any]:
        """Returns the attributes in a form that json.dumps accepts."""
        return {
            **{name: list(v) if isinstance(v, tuple) else v for name, v in vars(self).items()},
            "first": None if self.first is None else _to_dict(self.first),
            "differences": list(map(_to_dict, self.differences)),
            "gradients": [
                {"name": each.name, "comparison": each.comparison.to_dict()}
                for each in self.gradients
            ],
        }


def _shown(result: RunComparison) -> Iterator[tuple[str, Comparison]]:
    """Yields the names and comparisons of the tensors that the report shows."""
    if result.differences:
        call = result.first or result.differences[0]
        role = "input" if result.first is None else "output"
        for path, each in (call.inputs if result.first is None else call.outputs).items():
            yield f"{path_of(role, path)} of {call.label}", each
    elif result.gradients:
        yield f"gradient of {result.gradients[0].name}", result.gradients[0].comparison


def _to_dict(difference: CallDifference) -> dict[str, Any]:
    call, values = difference.call, vars(difference)
    return {
        "module": call.module,
        "call": call.number,
        "class": call.kind,
        "found_module": difference.found_module,
        "inputs_agree": difference.inputs_agree,
        **{
            part: {path: each.to_dict() for path, each in values[part].items()}
            for part in ("outputs", "inputs", "state")
        },
        "changed": list(difference.changed),
    }


def _lines(result: RunComparison) -> Iterator[str]:
    calls = counted(result.compared, "call")
    outputs = counted(result.compared_outputs, "output")
    if result.equal:
        yield f"equal: {calls} of both runs, {outputs}"
    elif not result.comparable:
        rest = f"{outputs}; what was compared agrees" if result.compared_outputs else "no output"
        all_calls = counted(result.calls, "call")
        yield f"not all was compared: {result.compared} of {all_calls}, {rest}"
    elif not result.differences:
        yield f"outputs agree: {calls} of both runs, {outputs}"
    if result.first is not None:
        yield from _first(result.first, result.first_input)
        yield _later(result.differences, result.first)
    elif result.differences:
        first, count = result.differences[0], len(result.differences)
        yield (
            f"no first difference: {count} calls differ, all in their inputs too; "
            f"the first is {first.label}"
        )
        yield from (f"  {each}" for each in first.changed)
        yield from _comparisons("input", first.inputs)
    if result.total_gradients:
        yield from _gradient_lines(result)
    for side, only in (("found", result.only_found), ("expected", result.only_expected)):
        if only:
            yield f"calls only in {side}: {len(only)}: {listed(only)}"
    yield from result.notes


def _first(first: CallDifference, first_input: str | None) -> Iterator[str]:
    yield f"first difference: {first.label}"
    if first.found_module != first.call.module:
        yield f"  in found: {name_of(first.found_module)}"
    yield f"  inputs agree: {counted(len(first.call.inputs), 'tensor')}"
    if first.compared_state and not first.state:
        yield f"  parameters and buffers agree: {counted(first.compared_state, 'tensor')}"
    for path, comparison in first.state.items():
        yield f"  {path}: {verdict_of(comparison)}"
    if first_input is not None:
        yield f"  its own code computes the first tensor that differs: {first_input}"
    yield from (f"  {each}" for each in first.changed)
    yield from _comparisons("output", first.outputs)


def _comparisons(role: str, comparisons: dict[str, Comparison]) -> Iterator[str]:
    for path, each in comparisons.items():
        yield from (f"  {line}" for line in labeled(path_of(role, path), each))


def _later(differences: tuple[CallDifference, ...], first: CallDifference) -> str:
    later, module = differences[differences.index(first) + 1 :], first.call.module
    containing = [each for each in later if contains(each.call.module, module)]
    others = [each.label for each in later if each.inputs_agree and each not in containing]
    text = f"later calls that differ: {len(later)}"
    if containing:
        text += f"; {len(containing)} contain {name_of(module)}"
    return text + (f"; inputs also agree in {listed(others)}" if others else "")


def _gradient_lines(result: RunComparison) -> Iterator[str]:
    count, more = result.compared_gradients, result.total_gradients - result.compared_gradients
    if not result.gradients:
        others = f"; {more} more in one run only" if more else ""
        yield f"{counted(count, 'gradient')} agree{others}"
        return
    if not result.differences:
        first = result.gradients[0]
        yield f"first gradient that differs: gradient of {first.name}"
        if first.computed_by:
            yield f"  computed by the backward pass of {listed(first.computed_by)}"
        yield from (f"  {line}" for line in str(first.comparison).splitlines())
    yield f"gradients that differ: {len(result.gradients)} of {count}"
