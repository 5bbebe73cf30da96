"""Compares two runs and finds the first call whose outputs differ although its inputs agree."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Callable, TypeVar

from mluop_omp.golden._progress import track
from mluop_omp.golden._text import listed, module_label, name_of, path_of
from mluop_omp.golden.comparison import Comparison
from mluop_omp.golden.comparison._criteria import Criteria, Options
from mluop_omp.golden.runs._names import NameMap, Names, contains, suggest
from mluop_omp.golden.runs._result import CallDifference, GradientDifference, RunComparison
from mluop_omp.golden.runs._run import Call, Gradient, Run, RunSource, Value, opened
from mluop_omp.golden.runs._values import compare_recorded, require_equal_seeds

_Key = tuple
_K = TypeVar("_K")
_V = TypeVar("_V")


def compare_runs(
    found: RunSource,
    expected: RunSource,
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
    with opened(found) as found_run, opened(expected) as expected_run:
        return _RunComparer(found_run, expected_run, NameMap(names), options).compare()


class _RunComparer:
    def __init__(self, found: Run, expected: Run, names: NameMap, options: Options) -> None:
        require_equal_seeds(found, expected)
        self._found, self._expected, self._names = found, expected, names
        # Each pair of values is compared once.
        compare = functools.partial(compare_recorded, (found, expected), options)
        self._compare_values = functools.lru_cache(maxsize=None)(compare)
        self._found_calls = self._mapped(found.calls)
        self._expected_calls = {(call.module, call.number): call for call in expected.calls}
        # Modules with several calls; their labels state the number of the call.
        self._repeated = {call.module for call in (*found.calls, *expected.calls) if call.number}

    def compare(self) -> RunComparison:
        found, expected = self._found_calls, self._expected_calls
        common = _pairs(found, expected)
        only_found = [key for key in found if key not in common]
        only_expected = [key for key in expected if key not in common]
        suggestion = suggest(*({key[0] for key in keys} for keys in (only_found, only_expected)))
        if not common:
            raise ValueError(
                f"no call of {self._found.path} is in {self._expected.path}: "
                f"found {_modules(found)}, expected {_modules(expected)}; "
                f"{suggestion or 'names of modules can be mapped'}"
            )
        compared = (self._difference(*common[key]) for key in track(list(common), "comparing"))
        differences = tuple(each for each in compared if each is not None)
        first = next((each for each in differences if each.inputs_agree), None)
        outputs = sum(len(_matched(f.outputs, e.outputs)) for f, e in common.values())
        found_gradients = {self._key(each, self._names): each for each in self._found.gradients}
        expected_gradients = {self._key(each, str): each for each in self._expected.gradients}
        gradients = _pairs(found_gradients, expected_gradients)
        total = len(found_gradients.keys() | expected_gradients.keys())
        compared_gradients = itertools.starmap(self._gradient_difference, gradients.values())
        different_gradients = tuple(each for each in compared_gradients if each is not None)
        is_complete = not only_found and not only_expected and len(gradients) == total
        return RunComparison(
            equal=is_complete and outputs > 0 and not differences and not different_gradients,
            compared=len(common),
            calls=len(common) + len(only_found) + len(only_expected),
            compared_outputs=outputs,
            differences=differences,
            first=first,
            first_input=None if first is None else self._first_input(first.call, common),
            gradients=different_gradients,
            compared_gradients=len(gradients),
            total_gradients=total,
            only_found=tuple(self._label(found[key]) for key in only_found),
            only_expected=tuple(self._label(expected[key]) for key in only_expected),
            notes=tuple(self._notes(suggestion)),
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

    def _difference(self, found: Call, expected: Call) -> CallDifference | None:
        outputs = self._differing(_matched(found.outputs, expected.outputs))
        changed = _only_in_one("output", found.outputs, expected.outputs)
        if not outputs and not changed:
            return None
        # The first call of a module has its state.
        key = expected.module, 0
        firsts = self._found_calls.get(key), self._expected_calls.get(key)
        state = _pairs(*({} if call is None else call.state for call in firsts))
        return CallDifference(
            expected,
            self._label(expected),
            found.module,
            outputs,
            inputs=self._differing(_matched(found.inputs, expected.inputs)),
            changed=(*_only_in_one("input", found.inputs, expected.inputs), *changed),
            state=self._differing(state),
            compared_state=len(state),
        )

    def _differing(self, pairs: dict[str, tuple[Value, Value]]) -> dict[str, Comparison]:
        results = {path: self._compare_values(*pair) for path, pair in pairs.items()}
        return {path: each for path, each in results.items() if not each}

    def _first_input(self, first: Call, common: dict[_Key, tuple[Call, Call]]) -> str | None:
        """Returns the first input that differs among the calls inside of a module."""
        below = f"{first.module}." if first.module else ""
        for found, expected in common.values():
            if expected is first:
                break
            if expected.module.startswith(below):
                for path in self._differing(_matched(found.inputs, expected.inputs)):
                    return f"{path_of('input', path)} of {self._label(expected)}"
        return None

    def _gradient_difference(
        self, found: Gradient, expected: Gradient
    ) -> GradientDifference | None:
        result = self._compare_values(found.value, expected.value)
        if result:
            return None
        if expected.parameter is not None:
            module = name_of(expected.parameter.rpartition(".")[0])
            return GradientDifference(expected.parameter, result, (module,))
        call = self._expected_calls.get((expected.module, expected.call))
        label = name_of(expected.module) if call is None else self._label(call)
        gradients = self._expected.gradients
        readers = (g for g in gradients if g.of == "input" and g.value == expected.value)
        modules = dict.fromkeys(each.module for each in readers)
        # A module that contains another one passes inputs on to it.
        inner = [m for m in modules if not any(contains(m, each) for each in modules)]
        name = f"{path_of(expected.of, expected.path)} of {label}"
        return GradientDifference(name, result, computed_by=tuple(map(name_of, inner)))

    def _key(self, gradient: Gradient, names: Callable[[str], str]) -> _Key:
        """Returns what two gradients have in common that are compared."""
        if gradient.parameter is not None:
            module, _, name = gradient.parameter.rpartition(".")
            return names(module), name, gradient.backward
        place = gradient.call, gradient.of, gradient.path, gradient.backward
        return (names(gradient.module), *place)

    def _label(self, call: Call) -> str:
        label = module_label(call.module, call.kind.rpartition(".")[2])
        return f"{label}, call {call.number}" if call.module in self._repeated else label

    def _notes(self, suggestion: str) -> Iterator[str]:
        yield from (f"map {pattern} matches no module" for pattern in self._names.unused)
        if suggestion:
            yield suggestion
        runs = {"found": self._found, "expected": self._expected}
        count = sum(each.is_sample for run in runs.values() for each in run.tensors.values())
        if count:
            yield f"samples of {count} tensors are compared: larger than their share of bytes"
        for side, run in runs.items():
            yield from (f"{side}: {line}" for line in run.not_recorded())


def _modules(keys: Iterable[_Key]) -> str:
    return listed(name_of(key[0]) for key in keys) or "none"


def _pairs(found: dict[_K, _V], expected: dict[_K, _V]) -> dict[_K, tuple[_V, _V]]:
    """Returns the pairs of values with equal keys, in the order of expected."""
    return {key: (found[key], expected[key]) for key in expected if key in found}


def _matched(found: dict[str, Value], expected: dict[str, Value]) -> dict[str, tuple[Value, Value]]:
    """Returns the pairs of tensors with equal paths, or in equal positions if all are in both."""
    if found.keys() != expected.keys() and len(found) == len(expected):
        return dict(zip(expected, zip(found.values(), expected.values())))
    return _pairs(found, expected)


def _only_in_one(role: str, found: dict[str, Value], expected: dict[str, Value]) -> list[str]:
    """Names the tensors without a counterpart."""
    if len(found) == len(expected):
        return []
    sides = (("found", found, expected), ("expected", expected, found))
    return [
        f"{path_of(role, path)} is only in {side}"
        for side, own, other in sides
        for path in own
        if path not in other
    ]
