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
        return _text(self)

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
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        lists = {name: list(each) for name, each in values.items() if isinstance(each, tuple)}
        gradients = [
            {"name": each.name, "comparison": each.comparison.to_dict()} for each in self.gradients
        ]
        return {
            **values,
            **lists,
            "first": None if self.first is None else _to_dict(self.first),
            "differences": list(map(_to_dict, self.differences)),
            "gradients": gradients,
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
    call, parts = difference.call, ("outputs", "inputs", "state")
    return {
        "module": call.module,
        "call": call.number,
        "class": call.kind,
        "found_module": difference.found_module,
        "inputs_agree": difference.inputs_agree,
        **{
            part: {path: each.to_dict() for path, each in getattr(difference, part).items()}
            for part in parts
        },
        "changed": list(difference.changed),
    }


def _text(result: RunComparison) -> str:
    lines = []
    outputs = counted(result.compared_outputs, "output")
    if result.equal:
        lines.append(f"equal: {counted(result.compared, 'call')} of both runs, {outputs}")
    elif not result.comparable:
        lines.append(f"not all was compared: {result.compared} of {counted(result.calls, 'call')}")
        lines[-1] += (
            f", {outputs}; what was compared agrees" if result.compared_outputs else ", no output"
        )
    elif not result.differences:
        lines.append(f"outputs agree: {counted(result.compared, 'call')} of both runs, {outputs}")
    if result.first is not None:
        lines += _first(result.first, result.first_input)
        lines.append(_later(result))
    elif result.differences:
        lines += _only_inputs(result)
    if result.total_gradients:
        lines += _gradient_lines(result)
    for side in ("found", "expected"):
        calls = getattr(result, f"only_{side}")
        if calls:
            lines.append(f"calls only in {side}: {len(calls)}: {listed(calls)}")
    return "\n".join([*lines, *result.notes])


def _first(first: CallDifference, first_input: str | None) -> list[str]:
    lines = [f"first difference: {first.label}"]
    if first.found_module != first.call.module:
        lines.append(f"  in found: {name_of(first.found_module)}")
    lines.append(f"  inputs agree: {counted(len(first.call.inputs), 'tensor')}")
    if first.compared_state and not first.state:
        lines.append(f"  parameters and buffers agree: {counted(first.compared_state, 'tensor')}")
    for path, comparison in first.state.items():
        lines.append(f"  {path}: {verdict_of(comparison)}")
    if first_input is not None:
        lines.append(f"  its own code computes the first tensor that differs: {first_input}")
    lines += [f"  {each}" for each in first.changed]
    return lines + _comparisons("output", first.outputs)


def _comparisons(role: str, comparisons: dict[str, Comparison]) -> list[str]:
    pairs = comparisons.items()
    return [f"  {line}" for path, each in pairs for line in labeled(path_of(role, path), each)]


def _later(result: RunComparison) -> str:
    assert result.first is not None
    later = result.differences[result.differences.index(result.first) + 1 :]
    module = result.first.call.module
    containing = [each for each in later if contains(each.call.module, module)]
    others = [each for each in later if each.inputs_agree and each not in containing]
    text = f"later calls that differ: {len(later)}"
    if containing:
        text += f"; {len(containing)} contain {name_of(module)}"
    if others:
        text += f"; inputs also agree in {listed(each.label for each in others)}"
    return text


def _only_inputs(result: RunComparison) -> list[str]:
    first = result.differences[0]
    lines = [
        f"no first difference: {len(result.differences)} calls differ, all in their inputs too; "
        f"the first is {first.label}"
    ]
    lines += [f"  {each}" for each in first.changed]
    return lines + _comparisons("input", first.inputs)


def _gradient_lines(result: RunComparison) -> list[str]:
    count, total = result.compared_gradients, result.total_gradients
    if not result.gradients:
        others = f"; {total - count} more in one run only" if total > count else ""
        return [f"{counted(count, 'gradient')} agree{others}"]
    first = result.gradients[0]
    if result.differences:
        return [f"gradients that differ: {len(result.gradients)} of {count}"]
    lines = [f"first gradient that differs: gradient of {first.name}"]
    if first.computed_by:
        lines.append(f"  computed by the backward pass of {listed(first.computed_by)}")
    lines += [f"  {line}" for line in str(first.comparison).splitlines()]
    return [*lines, f"gradients that differ: {len(result.gradients)} of {count}"]
