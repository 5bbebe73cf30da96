"""Comparison of two runs: the first call whose output differs although its inputs agree."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Union

from mluop_omp._progress import track
from mluop_omp._text import counted, labeled, listed
from mluop_omp.comparison import Comparison
from mluop_omp.comparison._criteria import Criteria, Options
from mluop_omp.comparison._report import verdict_of
from mluop_omp.runs._names import NameMap, Names, suggest
from mluop_omp.runs._run import Call, Gradient, Run, Value
from mluop_omp.runs._values import ValueComparer

_Source = Union[str, "os.PathLike[str]", Run]
_Key = tuple


@dataclasses.dataclass(frozen=True, eq=False)
class CallDifference:
    """A call whose outputs differ.

    Attributes:
        call: in the expected run.
        label: the name of the module, its class and, if there are several, the number of the call.
        found_module: the name of the module in the found run.
        outputs: the comparison of each output that differs, by path.
        inputs: of each input that differs.
        changed: what is in one run only: "input 1 is only in found".
        state: of each parameter and buffer of the module that differs.
        compared_state: how many of them both runs have.
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
        name: whose gradient it is.
        comparison: how it differs.
        computed_by: the modules whose backward passes computed it, as far as they were recorded.
    """

    name: str
    comparison: Comparison
    computed_by: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class RunComparison:
    """The result of `mluop_omp.compare_runs`; its text is a report.

    bool() is the verdict.

    Attributes:
        equal: whether all outputs and gradients that both runs have are equal.
        compared: how many calls both runs have.
        differences: the calls whose outputs differ, in the order in which they return.
        first: the first of these whose inputs agree, or None.
        first_input: the name of the first input that differs within the module of `first`, where
            no output of the modules before differs: the module's own code computes it; or None.
        gradients: the gradients that differ, in the order of their computation.
        compared_gradients: how many gradients both runs have.
        only_found, only_expected: calls of one run only.
        notes: further findings, a line each.
    """

    equal: bool
    compared: int
    differences: tuple[CallDifference, ...] = ()
    first: CallDifference | None = None
    first_input: str | None = None
    gradients: tuple[GradientDifference, ...] = ()
    compared_gradients: int = 0
    only_found: tuple[str, ...] = ()
    only_expected: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.equal

    def __str__(self) -> str:
        return "\n".join(_report(self))

    __repr__ = __str__

    def html(self, path: str | os.PathLike[str]) -> None:
        """Writes the report as `Comparison.html` does.

        It draws the outputs of the first difference; without one, the inputs of the first call that
        differs, or the first gradient. Tensors are read again from the files of both runs.
        """
        from mluop_omp.comparison import page

        page.write(path, self, (p for name, c in _shown(self) for p in page.parts_of(c, name)))

    def to_dict(self) -> dict[str, Any]:
        """Returns what json.dumps takes: the verdict and the attributes."""
        first = None if self.first is None else _to_dict(self.first)
        return {
            "equal": self.equal,
            "compared": self.compared,
            "first": first,
            "first_input": self.first_input,
            "differences": [_to_dict(each) for each in self.differences],
            "compared_gradients": self.compared_gradients,
            "gradients": [
                {"name": each.name, "comparison": each.comparison.to_dict()}
                for each in self.gradients
            ],
            **{
                name: list(getattr(self, name)) for name in ("only_found", "only_expected", "notes")
            },
        }


def _shown(result: RunComparison) -> Iterator[tuple[str, Comparison]]:
    """Yields the names and comparisons of the tensors that the report shows."""
    if result.differences:
        call = result.first or result.differences[0]
        role = "input" if result.first is None else "output"
        for path, each in (call.inputs if result.first is None else call.outputs).items():
            yield f"{_path(role, path)} of {call.label}", each
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


def compare_runs(
    found: _Source,
    expected: _Source,
    *,
    names: Names = None,
    rtol: float | None = None,
    atol: float | None = None,
    criteria: Criteria = None,
    worst: int = 5,
    axes: Sequence[str] | None = None,
) -> RunComparison:
    """Compares two runs that `mluop_omp.record` has written, call by call.

    The n-th call of a module is compared with the n-th call of the module of its name; outputs and
    inputs by path, or by position where paths differ. The first difference is the first call, in
    the order in which calls of the expected run return, whose outputs differ although its inputs
    agree. As a module returns after those that it calls, the innermost is first. Of tensors of
    which a run has a sample, that sample is compared.

    Args:
        found, expected: files of runs, or `Run` objects.
        names: for modules of other names in the expected run: a dict of regular expressions and
            replacements, such as {r"module\\.(.*)": r"\\1"}; pairs of them; or texts
            r"module\\.(.*)=\\1". The first expression that matches a whole name of the found run
            replaces it.
        rtol, atol, criteria, worst, axes: those of `mluop_omp.compare`, which compares the tensors.

    Returns:
        A `RunComparison`.

    Raises:
        ValueError: a file is not that of a run, or damaged; no call is in both runs; two modules
            are mapped to one name; a name or an option is not valid.
        OSError: a file cannot be read.

    Source: mluOpOmpCompare; docs/record.md.
    """
    options = Options.of(rtol, atol, criteria, worst, axes)
    with _opened(found) as found_run, _opened(expected) as expected_run:
        return _RunComparer(found_run, expected_run, NameMap(names), options).compare()


@contextlib.contextmanager
def _opened(source: _Source) -> Iterator[Run]:
    if isinstance(source, Run):
        yield source
        return
    with Run(source) as run:
        yield run


class _RunComparer:
    def __init__(self, found: Run, expected: Run, names: NameMap, options: Options) -> None:
        self._compare_values = ValueComparer(found, expected, options)
        self._found, self._expected, self._names = found, expected, names
        self._found_calls = self._mapped(found.calls)
        self._expected_calls = {(call.module, call.number): call for call in expected.calls}
        # Modules of several calls, whose number a report states.
        self._repeated = {call.module for call in (*found.calls, *expected.calls) if call.number}

    def compare(self) -> RunComparison:
        common = [key for key in self._expected_calls if key in self._found_calls]
        if not common:
            raise ValueError(
                f"no call of {self._found.path} is in {self._expected.path}: "
                f"found {_modules(self._found_calls)}, expected {_modules(self._expected_calls)}; "
                f"{', '.join(self._suggestion()) or 'names of modules can be mapped'}"
            )
        compared = (self._difference(key) for key in track(common, "comparing"))
        differences = tuple(each for each in compared if each is not None)
        first = next((each for each in differences if each.inputs_agree), None)
        gradients, count = self._gradients()
        notes = [f"map {pattern} matches no module" for pattern in self._names.unused]
        notes += self._suggestion()
        return RunComparison(
            equal=not differences and not gradients,
            compared=len(common),
            differences=differences,
            first=first,
            first_input=None if first is None else self._first_input(first, common),
            gradients=gradients,
            compared_gradients=count,
            only_found=self._only(self._found_calls, self._expected_calls),
            only_expected=self._only(self._expected_calls, self._found_calls),
            notes=(*notes, *self._samples()),
        )

    def _mapped(self, calls: Iterable[Call]) -> dict[_Key, Call]:
        """Returns calls by their names in the expected run."""
        mapped: dict[_Key, Call] = {}
        for call in calls:
            key = self._names(call.module), call.number
            other = mapped.setdefault(key, call)
            if other is not call:
                raise ValueError(
                    f"{_name(other.module)} and {_name(call.module)} are both mapped to "
                    f"{_name(key[0])}"
                )
        return mapped

    def _difference(self, key: _Key) -> CallDifference | None:
        found, expected = self._found_calls[key], self._expected_calls[key]
        outputs, changed = self._values("output", found.outputs, expected.outputs)
        if not outputs and not changed:
            return None
        inputs, changed_inputs = self._values("input", found.inputs, expected.inputs)
        changes = (*changed_inputs, *changed)
        state, count = self._state((key[0], 0))
        label = self._label(expected)
        return CallDifference(expected, label, found.module, outputs, inputs, changes, state, count)

    def _state(self, key: _Key) -> tuple[dict[str, Comparison], int]:
        """Returns the comparisons of the parameters and buffers of a module that differ."""
        calls = self._found_calls.get(key), self._expected_calls.get(key)
        found, expected = ({} if call is None else call.state for call in calls)
        pairs = _pairs(found, expected)
        return self._differing(pairs), len(pairs)

    def _differing(self, pairs: dict[str, tuple[Value, Value]]) -> dict[str, Comparison]:
        results = {path: self._compare_values(*pair) for path, pair in pairs.items()}
        return {path: each for path, each in results.items() if not each}

    def _values(
        self, role: str, found: dict[str, Value], expected: dict[str, Value]
    ) -> tuple[dict[str, Comparison], tuple[str, ...]]:
        """Returns the comparisons of those that differ, and what is in one only."""
        if found.keys() != expected.keys() and len(found) == len(expected):
            pairs = dict(zip(expected, zip(found.values(), expected.values())))
        else:
            pairs = _pairs(found, expected)
        changed = []
        if len(found) != len(expected):
            sides = (("found", found, expected), ("expected", expected, found))
            for side, own, other in sides:
                changed += [_path(role, p) + f" is only in {side}" for p in own if p not in other]
        return self._differing(pairs), tuple(changed)

    def _first_input(self, first: CallDifference, common: list[_Key]) -> str | None:
        """Returns the first input that differs of the calls within a module."""
        below = f"{first.call.module}." if first.call.module else ""
        for key in common:
            call = self._expected_calls[key]
            if call is first.call:
                break
            if call.module.startswith(below):
                inputs, _ = self._values("input", self._found_calls[key].inputs, call.inputs)
                for path in inputs:
                    return f"{_path('input', path)} of {self._label(call)}"
        return None

    def _gradients(self) -> tuple[tuple[GradientDifference, ...], int]:
        found = {self._gradient_key(each, True): each for each in self._found.gradients}
        expected = {self._gradient_key(each, False): each for each in self._expected.gradients}
        pairs, differences = _pairs(found, expected), []
        for other, gradient in pairs.values():
            result = self._compare_values(other.value, gradient.value)
            if not result:
                name, computed_by = self._gradient_name(gradient), self._computed_by(gradient)
                differences.append(GradientDifference(name, result, computed_by))
        return tuple(differences), len(pairs)

    def _gradient_key(self, gradient: Gradient, is_found: bool) -> _Key:
        names = self._names if is_found else str
        if gradient.parameter is not None:
            module, _, name = gradient.parameter.rpartition(".")
            return names(module), name, gradient.backward
        parts = (gradient.call, gradient.of, gradient.path, gradient.backward)
        return (names(gradient.module), *parts)

    def _gradient_name(self, gradient: Gradient) -> str:
        if gradient.parameter is not None:
            return gradient.parameter
        call = self._expected_calls.get((gradient.module, gradient.call))
        label = _name(gradient.module) if call is None else self._label(call)
        return f"{_path(gradient.of, gradient.path)} of {label}"

    def _computed_by(self, gradient: Gradient) -> tuple[str, ...]:
        if gradient.parameter is not None:
            return (_name(gradient.parameter.rpartition(".")[0]),)
        gradients = self._expected.gradients
        readers = (g for g in gradients if g.of == "input" and g.value == gradient.value)
        modules = dict.fromkeys(each.module for each in readers)
        # Those that contain another one take its inputs.
        inner = [m for m in modules if not any(_contains(m, each) for each in modules)]
        return tuple(map(_name, inner))

    def _only(self, calls: dict[_Key, Call], others: dict[_Key, Call]) -> tuple[str, ...]:
        return tuple(self._label(call) for key, call in calls.items() if key not in others)

    def _label(self, call: Call) -> str:
        label = f"{_name(call.module)} ({call.kind.rpartition('.')[2]})"
        return f"{label}, call {call.number}" if call.module in self._repeated else label

    def _suggestion(self) -> list[str]:
        keys = self._found_calls.keys(), self._expected_calls.keys()
        only = ({key[0] for key in own - other} for own, other in (keys, keys[::-1]))
        suggestion = suggest(*only)
        if suggestion is None:
            return []
        return [f"{counted(suggestion[0], 'more module')} would match by --map '{suggestion[1]}'"]

    def _samples(self) -> list[str]:
        tensors = (*self._found.tensors.values(), *self._expected.tensors.values())
        count = sum(each.is_sample for each in tensors)
        text = f"samples are compared of {count} tensors larger than their share of bytes"
        return [text] if count else []


def _pairs(found: dict[Any, Any], expected: dict[Any, Any]) -> dict[Any, tuple[Any, Any]]:
    """Returns what both have by the same key, in the order of expected."""
    return {key: (found[key], expected[key]) for key in expected if key in found}


def _name(module: str) -> str:
    return module or "(model)"


def _path(role: str, path: str) -> str:
    return f"{role} {path}" if path else role


def _modules(keys: Iterable[_Key]) -> str:
    return listed(_name(key[0]) for key in keys) or "none"


def _report(result: RunComparison) -> list[str]:
    lines = []
    if result.equal:
        lines.append(f"equal: {counted(result.compared, 'call')} of both runs")
    elif not result.differences:
        lines.append(f"outputs agree: {counted(result.compared, 'call')} of both runs")
    if result.first is not None:
        lines += _first(result.first, result.first_input)
        lines.append(_later(result))
    elif result.differences:
        lines += _only_inputs(result)
    if result.compared_gradients:
        lines += _gradient_lines(result)
    for side in ("found", "expected"):
        calls = getattr(result, f"only_{side}")
        if calls:
            lines.append(f"calls only in {side}: {len(calls)}: {listed(calls)}")
    return [*lines, *result.notes]


def _first(first: CallDifference, first_input: str | None) -> list[str]:
    lines = [f"first difference: {first.label}"]
    if first.found_module != first.call.module:
        lines.append(f"  in found: {_name(first.found_module)}")
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
    return [f"  {line}" for path, each in pairs for line in labeled(_path(role, path), each)]


def _later(result: RunComparison) -> str:
    assert result.first is not None
    later = result.differences[result.differences.index(result.first) + 1 :]
    module = result.first.call.module
    containing = [each for each in later if _contains(each.call.module, module)]
    others = [each for each in later if each.inputs_agree and each not in containing]
    text = f"later calls that differ: {len(later)}"
    if containing:
        text += f"; {len(containing)} contain {_name(module)}"
    if others:
        text += f"; inputs agree, too, of {listed(each.label for each in others)}"
    return text


def _contains(module: str, inner: str) -> bool:
    return inner.startswith(f"{module}." if module else "") and module != inner


def _only_inputs(result: RunComparison) -> list[str]:
    first = result.differences[0]
    lines = [
        f"no first difference: no call whose inputs agree has other outputs; of "
        f"{len(result.differences)} calls that differ, the first is {first.label}"
    ]
    lines += [f"  {each}" for each in first.changed]
    return lines + _comparisons("input", first.inputs)


def _gradient_lines(result: RunComparison) -> list[str]:
    count = result.compared_gradients
    if not result.gradients:
        return [f"{counted(count, 'gradient')} agree"]
    first = result.gradients[0]
    if result.differences:
        return [f"gradients that differ: {len(result.gradients)} of {count}"]
    lines = [f"first gradient that differs: of {first.name}"]
    if first.computed_by:
        lines.append(f"  computed by the backward pass of {listed(first.computed_by)}")
    lines += [f"  {line}" for line in str(first.comparison).splitlines()]
    return [*lines, f"gradients that differ: {len(result.gradients)} of {count}"]
