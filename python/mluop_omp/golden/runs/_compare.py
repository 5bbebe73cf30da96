"""Compares two runs and finds the first call whose outputs differ although its inputs agree."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Union

from mluop_omp.golden._progress import track
from mluop_omp.golden._text import counted, listed, module_label, name_of, path_of
from mluop_omp.golden.comparison import Comparison
from mluop_omp.golden.comparison._criteria import Criteria, Options
from mluop_omp.golden.runs._names import NameMap, Names, contains, suggest
from mluop_omp.golden.runs._result import CallDifference, GradientDifference, RunComparison
from mluop_omp.golden.runs._run import Call, Gradient, Run, Value
from mluop_omp.golden.runs._values import ValueComparer

_Source = Union[str, "os.PathLike[str]", Run]
_Key = tuple


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
    """Compares two runs written by `mluop_omp.record`, call by call.

    The n-th call of a module is compared with the n-th call of the module of the same name; inputs
    and outputs are matched by path, or by position where paths differ. The first difference is the
    first call whose outputs differ although its inputs agree, in the order in which the calls of
    the expected run return: a module returns after the modules that it calls, so the innermost one
    comes first. Where a run holds a sample of a tensor, the sample is compared. Runs are equal if
    all calls and gradients of both were compared, at least one output among them, and none differs.

    Args:
        found, expected: files of runs, or `Run` objects.
        names: renames modules of the found run: a dict of regular expressions and replacements,
            such as {r"module\\.(.*)": r"\\1"}, pairs of them, or texts r"module\\.(.*)=\\1". The
            first expression that matches a whole name applies.
        rtol, atol, criteria, worst, axes: as in `mluop_omp.compare`, which compares the tensors.

    Returns:
        A `RunComparison`.

    Raises:
        ValueError: a file is not a run or is damaged; the runs have no call in common; the seeds of
            samples differ; two modules are mapped to one name; a name or an option is invalid.
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
        # Outputs that both runs have.
        self._outputs = 0
        self._compare_values = ValueComparer(found, expected, options)
        self._found, self._expected, self._names = found, expected, names
        self._found_calls = self._mapped(found.calls)
        self._expected_calls = {(call.module, call.number): call for call in expected.calls}
        # Modules with several calls; their labels state the number of the call.
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
        gradients, count, total = self._gradients()
        calls = len(self._found_calls.keys() | self._expected_calls.keys())
        is_complete = len(common) == calls and count == total and self._outputs > 0
        notes = [f"map {pattern} matches no module" for pattern in self._names.unused]
        notes += self._suggestion()
        return RunComparison(
            equal=is_complete and not differences and not gradients,
            compared=len(common),
            calls=calls,
            compared_outputs=self._outputs,
            differences=differences,
            first=first,
            first_input=None if first is None else self._first_input(first, common),
            gradients=gradients,
            compared_gradients=count,
            total_gradients=total,
            only_found=self._only(self._found_calls, self._expected_calls),
            only_expected=self._only(self._expected_calls, self._found_calls),
            notes=(*notes, *self._samples(), *self._not_recorded()),
        )

    def _mapped(self, calls: Iterable[Call]) -> dict[_Key, Call]:
        """Returns calls by their names in the expected run."""
        mapped: dict[_Key, Call] = {}
        for call in calls:
            key = self._names(call.module), call.number
            other = mapped.setdefault(key, call)
            if other is not call:
                raise ValueError(
                    f"{name_of(other.module)} and {name_of(call.module)} are both mapped to "
                    f"{name_of(key[0])}"
                )
        return mapped

    def _difference(self, key: _Key) -> CallDifference | None:
        found, expected = self._found_calls[key], self._expected_calls[key]
        outputs, changed, count = self._values("output", found.outputs, expected.outputs)
        self._outputs += count
        if not outputs and not changed:
            return None
        inputs, changed_inputs, _ = self._values("input", found.inputs, expected.inputs)
        changes = (*changed_inputs, *changed)
        state, count = self._state((key[0], 0))
        label = self._label(expected)
        return CallDifference(expected, label, found.module, outputs, inputs, changes, state, count)

    def _state(self, key: _Key) -> tuple[dict[str, Comparison], int]:
        """Returns the parameters and buffers of a module that differ, and the number compared."""
        calls = self._found_calls.get(key), self._expected_calls.get(key)
        found, expected = ({} if call is None else call.state for call in calls)
        pairs = _pairs(found, expected)
        return self._differing(pairs), len(pairs)

    def _differing(self, pairs: dict[str, tuple[Value, Value]]) -> dict[str, Comparison]:
        results = {path: self._compare_values(*pair) for path, pair in pairs.items()}
        return {path: each for path, each in results.items() if not each}

    def _values(
        self, role: str, found: dict[str, Value], expected: dict[str, Value]
    ) -> tuple[dict[str, Comparison], tuple[str, ...], int]:
        """Returns the tensors that differ, those in one run only, and the number in both."""
        if found.keys() != expected.keys() and len(found) == len(expected):
            pairs = dict(zip(expected, zip(found.values(), expected.values())))
        else:
            pairs = _pairs(found, expected)
        changed = []
        if len(found) != len(expected):
            sides = (("found", found, expected), ("expected", expected, found))
            for side, own, other in sides:
                changed += [path_of(role, p) + f" is only in {side}" for p in own if p not in other]
        return self._differing(pairs), tuple(changed), len(pairs)

    def _first_input(self, first: CallDifference, common: list[_Key]) -> str | None:
        """Returns the first input that differs among the calls inside of a module."""
        below = f"{first.call.module}." if first.call.module else ""
        for key in common:
            call = self._expected_calls[key]
            if call is first.call:
                break
            if call.module.startswith(below):
                inputs, _, _ = self._values("input", self._found_calls[key].inputs, call.inputs)
                for path in inputs:
                    return f"{path_of('input', path)} of {self._label(call)}"
        return None

    def _gradients(self) -> tuple[tuple[GradientDifference, ...], int, int]:
        """Returns the gradients that differ, the number in both runs and the number in either."""
        found = {self._gradient_key(each, True): each for each in self._found.gradients}
        expected = {self._gradient_key(each, False): each for each in self._expected.gradients}
        pairs, differences = _pairs(found, expected), []
        for other, gradient in pairs.values():
            result = self._compare_values(other.value, gradient.value)
            if not result:
                name, computed_by = self._gradient_name(gradient), self._computed_by(gradient)
                differences.append(GradientDifference(name, result, computed_by))
        return tuple(differences), len(pairs), len(found.keys() | expected.keys())

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
        label = name_of(gradient.module) if call is None else self._label(call)
        return f"{path_of(gradient.of, gradient.path)} of {label}"

    def _computed_by(self, gradient: Gradient) -> tuple[str, ...]:
        if gradient.parameter is not None:
            return (name_of(gradient.parameter.rpartition(".")[0]),)
        gradients = self._expected.gradients
        readers = (g for g in gradients if g.of == "input" and g.value == gradient.value)
        modules = dict.fromkeys(each.module for each in readers)
        # A module that contains another one passes inputs on to it.
        inner = [m for m in modules if not any(contains(m, each) for each in modules)]
        return tuple(map(name_of, inner))

    def _only(self, calls: dict[_Key, Call], others: dict[_Key, Call]) -> tuple[str, ...]:
        return tuple(self._label(call) for key, call in calls.items() if key not in others)

    def _label(self, call: Call) -> str:
        label = module_label(call.module, call.kind.rpartition(".")[2])
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
        text = f"samples of {count} tensors are compared: larger than their share of bytes"
        return [text] if count else []

    def _not_recorded(self) -> list[str]:
        runs = (("found", self._found), ("expected", self._expected))
        return [f"{side}: {line}" for side, run in runs for line in run.not_recorded()]


def _modules(keys: Iterable[_Key]) -> str:
    return listed(name_of(key[0]) for key in keys) or "none"


def _pairs(found: dict[Any, Any], expected: dict[Any, Any]) -> dict[Any, tuple[Any, Any]]:
    """Returns the pairs of values with equal keys, in the order of expected."""
    return {key: (found[key], expected[key]) for key in expected if key in found}
