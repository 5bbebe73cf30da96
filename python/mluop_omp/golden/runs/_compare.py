"""Compares two runs and finds the first call whose outputs differ although its inputs agree."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Callable

from mluop_omp.golden._text import listed, name_of, path_of
from mluop_omp.golden.comparison import Comparison
from mluop_omp.golden.comparison._criteria import Criteria, Options
from mluop_omp.golden.comparison._sites import Columns, check_columns
from mluop_omp.golden.runs._alignment import Alignment, align
from mluop_omp.golden.runs._graphs import matched, opened_pair
from mluop_omp.golden.runs._judge import Judge, pairs_of
from mluop_omp.golden.runs._names import NameMap, Names, contains
from mluop_omp.golden.runs._result import GradientDifference, RunComparison
from mluop_omp.golden.runs._rounding import Error, error_in, outputs_of, short_type
from mluop_omp.golden.runs._rows import Rows
from mluop_omp.golden.runs._run import Gradient, Run, RunSource, Value
from mluop_omp.golden.runs._values import compare_recorded, require_equal_seeds


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
    columns: Columns = None,
) -> RunComparison:
    """Compares two runs, call by call, and finds the first call that differs by itself.

    Calls are paired by the names of their modules and their numbers; where these differ, by the
    prefix of a wrapper, by the inputs of repeated calls, and by class and shapes. Inputs and
    outputs are matched by path, or by position where paths differ. Rows in another order are joined
    by coordinates, boxes by overlap; samples are compared where a run holds a sample. If one run is
    of an ONNX graph, the tensors of the other one are matched by their names in the graph.

    The error of a tensor is the root mean square of the differences over the root mean square of
    the expected numbers, or 1/16 of the relative error of an element. A call differs if its error
    is more than rounding explains and more than twice the errors of its inputs; integers of equal
    inputs must be equal. The limit is 1.5 times the distance of neighboring numbers in float16 and
    bfloat16, also for other types in a run that has these, and 64 times in float32 and float64. An
    output that does not agree is compared with later tensors of its shape, as a device may have
    fused modules. A module that contains others is judged by the inputs that its own code passes to
    them, and by its outputs.

    The first difference is the first of these calls in the order of the computation. Runs are equal
    if all calls and gradients of both were compared, at least one output among them, and none
    differs, nor a parameter or buffer.

    Args:
        found, expected: runs: files of `mluop_omp.record` or of other tools, or `Run` objects. A
            .npz of tensors is compared with the run of a graph.
        names: renames modules of the found run: a dict of regular expressions and replacements,
            such as {r"module\\.(.*)": r"\\1"}, pairs of them, or texts r"module\\.(.*)=\\1". The
            first expression that matches a whole name applies.
        rtol, atol, criteria: as in `mluop_omp.compare`; if given, they decide in place of rounding.
        worst, axes: as in `mluop_omp.compare`, which compares the tensors.
        columns: as in `mluop_omp.compare`, for all coordinates of the found run.

    Returns:
        A `RunComparison`.

    Raises:
        ValueError: a file is not a run or is damaged; the runs have no call in common; the seeds of
            samples differ; two modules are mapped to one name; a name or an option is invalid.
        OSError: a file cannot be read.

    Source: mluOpOmpCompare; docs/record.md.
    """
    options = Options.of(rtol, atol, criteria, worst, axes)
    options = dataclasses.replace(options, columns=check_columns(columns))
    with opened_pair(found, expected) as runs:
        renamed = NameMap(names)
        found_run, expected_run, notes = matched(*runs, renamed)
        # The calls of matched runs have the names of the graph.
        rules = renamed if found_run is runs[0] else NameMap(None)
        result = _RunComparer(found_run, expected_run, rules, options).compare()
        return dataclasses.replace(result, notes=(*notes, *result.notes))


class _RunComparer:
    def __init__(self, found: Run, expected: Run, names: NameMap, options: Options) -> None:
        require_equal_seeds(found, expected)
        self._found, self._expected, self._names = found, expected, names
        is_strict = (options.rtol, options.atol) != (None, None) or bool(options.criteria)
        coarsest = short_type(*(t.dtype for run in (found, expected) for t in outputs_of(run)))
        self._rows = Rows(found, expected, options)
        self._options = options
        # The values of comparisons, which have no statements until the report shows them.
        self._compared: dict[int, tuple[Value, Value]] = {}

        def error(mine: Value, other: Value) -> Error:
            comparison = self._comparison(mine, other, has_statements=False)
            self._compared[id(comparison)] = mine, other
            return Error.of_verdict(comparison) if is_strict else error_in(comparison, coarsest)

        # Each pair of values is compared once.
        self._error = functools.lru_cache(maxsize=None)(error)

    def _comparison(self, mine: Value, other: Value, has_statements: bool) -> Comparison:
        options = dataclasses.replace(self._options, has_statements=has_statements)
        return compare_recorded((self._found, self._expected), options, self._rows, mine, other)

    def _stated(self, comparison: Comparison) -> Comparison:
        """Returns a comparison of this run with what its wrong elements have in common."""
        return self._comparison(*self._compared[id(comparison)], has_statements=True)

    def compare(self) -> RunComparison:
        alignment = align(
            self._found, self._expected, self._names, lambda *pair: self._error(*pair).ratio <= 1
        )
        if not alignment.pairs:
            runs = (self._found, self._expected)
            texts = [listed(dict.fromkeys(name_of(c.module) for c in run.calls)) for run in runs]
            raise ValueError(
                f"no call of {self._found.path} is in {self._expected.path}: found "
                f"{texts[0] or 'none'}, expected {texts[1] or 'none'}; "
                "names of modules can be mapped"
            )
        judge = Judge((self._found, self._expected), alignment, self._error)
        judge.judge()
        mine = {self._key(each, self._names): each for each in self._found.gradients}
        others = {self._key(each, str): each for each in self._expected.gradients}
        gradients, total = pairs_of(mine, others), len(mine.keys() | others.keys())
        different_gradients = tuple(self._gradients(judge, gradients.values()))
        for call in judge.differences:
            for comparisons in (call.inputs, call.outputs, call.state):
                comparisons.update({k: self._stated(each) for k, each in comparisons.items()})
        only_found, only_expected = judge.left()
        ended = [run.ended for run in (self._found, self._expected) if run.ended]
        is_complete = not (only_found or only_expected or ended) and len(gradients) == total
        compared = sum(len(each.output_errors) for each in judge.calls)
        state = {name: self._stated(each) for name, each in judge.state(self._names).items()}
        count = sum(map(len, (judge.calls, only_found, only_expected)))
        found = judge.differences or different_gradients or state
        result = RunComparison(
            equal=is_complete and compared > 0 and not found,
            compared=len(judge.calls),
            calls=count,
            compared_outputs=compared,
            all_calls=tuple(judge.calls),
            differences=tuple(judge.differences),
            first=judge.first,
            first_input=None if judge.first is None else judge.first.first_input,
            output=judge.output,
            state=state,
            gradients=different_gradients,
            compared_gradients=len(gradients),
            total_gradients=total,
            only_found=tuple(map(judge.label, only_found)),
            only_expected=tuple(map(judge.label, only_expected)),
            notes=tuple(self._notes(alignment, judge)),
        )
        return dataclasses.replace(result, equal=result.equal and not result.is_undecided)

    def _gradients(
        self, judge: Judge, pairs: Iterable[tuple[Gradient, Gradient]]
    ) -> Iterator[GradientDifference]:
        for found, expected in pairs:
            error = self._error(found.value, expected.value)
            if judge.differs(error):
                yield self._gradient_difference(judge, error, expected)

    def _gradient_difference(
        self, judge: Judge, error: Error, expected: Gradient
    ) -> GradientDifference:
        assert error.comparison is not None
        comparison = self._stated(error.comparison)
        if expected.parameter is not None:
            module = name_of(expected.parameter.rpartition(".")[0])
            return GradientDifference(expected.parameter, comparison, (module,))
        calls = (c for c in self._expected.calls if c.module == expected.module)
        call = next((each for each in calls if each.number == expected.call), None)
        label = name_of(expected.module) if call is None else judge.label(call)
        gradients = self._expected.gradients
        readers = (g for g in gradients if g.of == "input" and g.value == expected.value)
        modules = dict.fromkeys(each.module for each in readers)
        # A module that contains another one passes inputs on to it.
        inner = [m for m in modules if not any(contains(m, each) for each in modules)]
        name = f"{path_of(expected.of, expected.path)} of {label}"
        return GradientDifference(name, comparison, computed_by=tuple(map(name_of, inner)))

    def _key(self, gradient: Gradient, names: Callable[[str], str]) -> tuple:
        """Returns what two gradients have in common that are compared."""
        if gradient.parameter is not None:
            module, _, name = gradient.parameter.rpartition(".")
            return names(module), name, gradient.backward
        place = gradient.call, gradient.of, gradient.path, gradient.backward
        return (names(gradient.module), *place)

    def _notes(self, alignment: Alignment, judge: Judge) -> Iterator[str]:
        yield from alignment.rules
        yield from judge.notes
        yield from (f"map {pattern} matches no module" for pattern in self._names.unused)
        yield from self._rows.notes()
        runs = {"found": self._found, "expected": self._expected}
        count = sum(each.is_sample for run in runs.values() for each in run.tensors.values())
        if count:
            yield f"samples of {count} tensors are compared: larger than their share of bytes"
        for side, run in runs.items():
            if run.ended:
                yield f"{side} was ended by {run.ended}"
            yield from (f"{side}: {line}" for line in run.not_recorded())
