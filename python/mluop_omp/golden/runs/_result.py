"""The result of a comparison of runs, and its text."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterator
from typing import Any

from mluop_omp.golden._text import counted, labeled, listed, name_of, path_of
from mluop_omp.golden.comparison import Comparison
from mluop_omp.golden.comparison._report import figures_table, summary_of
from mluop_omp.golden.runs._names import contains
from mluop_omp.golden.runs._rounding import LARGE, Error, short_type
from mluop_omp.golden.runs._run import Call


@dataclasses.dataclass(eq=False)
class ComparedCall:
    """A call of both runs.

    Attributes:
        call: the call in the expected run.
        label: the name of the module, its class and, if it has several calls, their number.
        found_module: the name of the module in the found run.
        input_errors, output_errors: the errors of all inputs and outputs, by path.
        inputs, outputs: comparisons of the inputs and outputs that differ, by path.
        differs: whether the call has a wrong output, or passes a wrong input to an inner call.
        is_judged: False if the errors before it could explain any error.
        first_input: the first wrong input that the module's own code passes to an inner call, such
            as "input 0 of head", or None.
        fused_with: the module whose output the output is compared with, or "".
        changed: inputs and outputs in one run only, such as "input 1 is only in found".
        state: comparisons of the parameters and buffers of the module that differ, by name.
        compared_state: the number of parameters and buffers that both runs have.
    """

    call: Call
    label: str
    found_module: str
    input_errors: dict[str, Error] = dataclasses.field(default_factory=dict)
    output_errors: dict[str, Error] = dataclasses.field(default_factory=dict)
    inputs: dict[str, Comparison] = dataclasses.field(default_factory=dict)
    outputs: dict[str, Comparison] = dataclasses.field(default_factory=dict)
    differs: bool = False
    is_judged: bool = True
    first_input: str | None = None
    fused_with: str = ""
    changed: tuple[str, ...] = ()
    state: dict[str, Comparison] = dataclasses.field(default_factory=dict)
    compared_state: int = 0

    @property
    def inputs_agree(self) -> bool:
        is_changed = any(each.startswith("input") and "only" in each for each in self.changed)
        return not self.inputs and not is_changed


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
        equal: whether all calls, gradients and parameters of both runs were compared, at least one
            output among them, and none differs by more than rounding explains.
        compared: the number of calls that were compared.
        calls: the number of calls that either run has, without calls that are part of another one.
        compared_outputs: the number of outputs that were compared.
        all_calls: the calls that were compared, in the order in which they return.
        differences: the calls that differ.
        first: the first of these calls whose inputs agree, or None.
        first_input: the first input that differs inside of the module of `first`, or None. The
            module's own code computes it, as no output before it differs.
        output: the errors of the outputs of the model, by path; {} if it was not recorded.
        state: parameters and buffers that differ although the outputs agree, by name.
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
    all_calls: tuple[ComparedCall, ...] = ()
    differences: tuple[ComparedCall, ...] = ()
    first: ComparedCall | None = None
    first_input: str | None = None
    output: dict[str, Error] = dataclasses.field(default_factory=dict)
    state: dict[str, Comparison] = dataclasses.field(default_factory=dict)
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
        return self.equal or bool(self.differences or self.gradients or self.state)

    @property
    def is_undecided(self) -> bool:
        """Whether no call explains large errors of the output of the model, or other boxes."""
        return any(error.value > LARGE or error.is_choice for error in self.output.values())

    def text(self, every: bool = False) -> str:
        """Returns the report. every: appends a table of the tensors with their figures."""
        table = ["", *figures_table(_every(self))] if every else []
        return "\n".join([*_lines(self), *table])

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    @property
    def drift(self) -> Error:
        """The largest error of an output that agrees, in multiples of what rounding explains."""
        errors = (
            error
            for each in self.all_calls
            for error in each.output_errors.values()
            if each.is_judged and not (each.differs or error.is_choice)
        )
        return max(errors, key=lambda error: error.ratio, default=Error(0.0, 1.0))

    def html(self, path: str | os.PathLike[str]) -> None:
        """Writes the report as `Comparison.html` does.

        Draws the outputs of the first difference; without one, the inputs of the first call that
        differs, or the first gradient. Tensors are read again from the files of both runs.
        """
        from mluop_omp.golden.comparison import page

        parts = (part for name, each in _shown(self) for part in page.parts_of(each, name))
        page.write(path, self, parts, _every(self))

    def to_dict(self) -> dict[str, Any]:
        """Returns the attributes in a form that json.dumps accepts."""
        return {
            **{name: list(v) if isinstance(v, tuple) else v for name, v in vars(self).items()},
            "all_calls": list(map(_to_dict, self.all_calls)),
            "differences": list(map(_to_dict, self.differences)),
            "first": None if self.first is None else _to_dict(self.first),
            "output": {path: each.to_dict() for path, each in self.output.items()},
            "state": {name: each.to_dict() for name, each in self.state.items()},
            "gradients": [
                {"name": each.name, "comparison": each.comparison.to_dict()}
                for each in self.gradients
            ],
        }


def _every(result: RunComparison) -> Iterator[tuple[str, Comparison, str]]:
    """Yields the names, comparisons and verdicts of all outputs, and of what differs besides."""
    for call in result.all_calls:
        rows = [("output", call.output_errors, call.outputs)]
        rows += [("input", call.input_errors, call.inputs)] if call.inputs else []
        for role, errors, differing in rows:
            for path, error in errors.items():
                if error.comparison is None:
                    continue
                is_equal = error.comparison.equal and not error.comparison.figures.get("wrong")
                verdict = "differs" if path in differing else "equal" if is_equal else "agrees"
                yield f"{path_of(role, path)} of {call.label}", error.comparison, verdict
    for name, comparison in result.state.items():
        yield name, comparison, "differs"
    for gradient in result.gradients:
        yield f"gradient of {gradient.name}", gradient.comparison, "differs"


def _shown(result: RunComparison) -> Iterator[tuple[str, Comparison]]:
    """Yields the names and comparisons of the tensors that the report shows."""
    if result.differences:
        call = result.first or result.differences[0]
        role = "input" if result.first is None else "output"
        shown = call.inputs if result.first is None else call.outputs
        for path, each in shown.items():
            yield f"{path_of(role, path)} of {call.label}", each
    elif result.gradients:
        yield f"gradient of {result.gradients[0].name}", result.gradients[0].comparison
    else:
        yield from result.state.items()


def _to_dict(compared: ComparedCall) -> dict[str, Any]:
    call = compared.call
    return {
        "module": call.module,
        "call": call.number,
        "class": call.kind,
        **({"line": call.line} if call.line else {}),
        "found_module": compared.found_module,
        "fused_with": compared.fused_with,
        "differs": compared.differs,
        "is_judged": compared.is_judged,
        "inputs_agree": compared.inputs_agree,
        "errors": {
            part: {path: each.to_dict() for path, each in errors.items()}
            for part, errors in (
                ("outputs", compared.output_errors),
                ("inputs", compared.input_errors),
            )
        },
        **{
            part: {path: each.to_dict() for path, each in values.items()}
            for part, values in (
                ("outputs", compared.outputs),
                ("inputs", compared.inputs),
                ("state", compared.state),
            )
        },
        "changed": list(compared.changed),
    }


def _lines(result: RunComparison) -> Iterator[str]:
    calls = counted(result.compared, "call")
    outputs = counted(result.compared_outputs, "output")
    yield _output(result)
    if result.equal:
        yield f"{'equal' if _is_equal(result) else 'agree'}: {calls} of both runs, {outputs}"
    elif result.is_undecided and not (result.differences or result.state or result.gradients):
        yield f"undecided: {calls} of both runs, {outputs}; no call differs by itself"
        yield "`replay` judges each call on equal inputs"
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
    for name, each in result.state.items():
        yield from labeled(f"parameter {name}, although outputs agree", each)
    if result.total_gradients:
        yield from _gradient_lines(result)
    if result.equal or not result.differences:
        yield from _rounding(result)
    for side, only in (("found", result.only_found), ("expected", result.only_expected)):
        if only:
            yield f"calls only in {side}: {len(only)}: {listed(only)}"
    yield from result.notes


def _is_equal(result: RunComparison) -> bool:
    """Returns whether no element of any output is outside the tolerance, or in half precision other
    than expected.
    """
    errors = (error for call in result.all_calls for error in call.output_errors.values())
    compared = [error.comparison for error in errors if error.comparison is not None]
    return all(
        each.equal and not (short_type(*each.dtypes) and each.figures.get("differing"))
        for each in compared
    )


def _output(result: RunComparison) -> str:
    output = result.output
    if not output:
        return "the output of the model is not in both runs"
    path, worst = max(output.items(), key=lambda each: (each[1].is_choice, each[1].ratio))
    where = "" if len(output) == 1 else f" in {path_of('output', path)} of {len(output)}"
    if worst.value == 0:
        return "the output of the model is equal"
    if any(each.call.module == "" and each.outputs for each in result.differences):
        verdict = "differs"
    else:
        verdict = "is undecided" if result.is_undecided else "agrees"
    error = worst if worst.is_choice else f"relative error {worst}"
    return f"the output of the model {verdict}: {error}{where}"


def _rounding(result: RunComparison) -> Iterator[str]:
    """States how far errors have grown, below what could hide a defect."""
    drift = result.drift
    if _is_equal(result) or math.isinf(drift.value):
        return
    where = next(c.label for c in result.all_calls if drift in c.output_errors.values())
    dtypes = () if drift.comparison is None else drift.comparison.dtypes
    replayed = "; `replay` finds smaller defects" if short_type(*dtypes) else ""
    yield (
        f"errors grow to {drift.value:.2g} in {where}, {drift.ratio:.2g} times what rounding "
        f"explains in one call{replayed}"
    )


def _first(first: ComparedCall, first_input: str | None) -> Iterator[str]:
    yield f"first difference: {first.label}"
    if first.found_module != first.call.module:
        yield f"  in found: {name_of(first.found_module)}"
    count = len(first.input_errors)
    yield f"  inputs agree: {counted(count, 'tensor')}" if count else "  no inputs to compare"
    if first.fused_with:
        yield f"  fused: its output is compared with the output of {first.fused_with}"
    elif first.compared_state and not first.state:
        yield f"  parameters and buffers agree: {counted(first.compared_state, 'tensor')}"
    for path, comparison in first.state.items():
        yield f"  {path}: {summary_of(comparison)}"
    if first_input is not None:
        yield f"  its own code computes the first tensor that differs: {first_input}"
    yield from (f"  {each}" for each in first.changed)
    yield from _comparisons("output", first.outputs)


def _comparisons(role: str, comparisons: dict[str, Comparison]) -> Iterator[str]:
    for path, each in comparisons.items():
        yield from (f"  {line}" for line in labeled(path_of(role, path), each))


def _later(differences: tuple[ComparedCall, ...], first: ComparedCall) -> str:
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
