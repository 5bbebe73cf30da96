"""Pairs the calls of two runs: by name, by inputs, by class and shapes.

A model that is called several times makes several steps, the calls that return before the model
does. Steps are paired first, then the calls of each module in a pair of steps, then calls whose
names are in one run only.
"""

from __future__ import annotations

import collections
import dataclasses
import difflib
from collections.abc import Iterable, Sequence
from typing import Callable, NamedTuple

from mluop_omp.golden._text import counted, listed, name_of
from mluop_omp.golden.runs._names import NameMap
from mluop_omp.golden.runs._run import Call, Run, Value

# Calls of a module that are paired by their inputs, and sequences of calls without a name in
# common, are at most this long: the time grows with the square.
_MAX_REPEATED, _MAX_UNNAMED = 16, 4096
# Later calls with outputs of one shape that are tried.
_MAX_TRIED = 8
_MAX_RULES = 8


class Pair(NamedTuple):
    found: Call
    expected: Call


@dataclasses.dataclass
class Alignment:
    """Calls that are compared.

    Attributes:
        pairs: in the order in which the expected calls return.
        only_found, only_expected: calls without a counterpart.
        rules: how calls were paired other than by name and number, one a line.
    """

    pairs: list[Pair]
    only_found: list[Call]
    only_expected: list[Call]
    rules: list[str]


def align(
    found: Run, expected: Run, names: NameMap, agree: Callable[[Value, Value], bool]
) -> Alignment:
    """agree: whether two values are equal up to rounding."""
    aligner = _Aligner(found, expected, names, agree)
    return aligner.align()


class _Aligner:
    def __init__(
        self, found: Run, expected: Run, names: NameMap, agree: Callable[[Value, Value], bool]
    ) -> None:
        self._runs, self._names, self._agree = (found, expected), names, agree
        self._rules: list[str] = []
        # Calls of the expected run after the last call of the model that found has.
        self._unpaired: list[Call] = []

    def align(self) -> Alignment:
        found, expected = self._runs
        modules = {call.module for call in found.calls}
        rule = self._names.adapt(modules, {call.module for call in expected.calls})
        if rule:
            self._rules.append(rule)
        named = {module: self._names(module) for module in modules}
        _require_distinct(named)
        sides = [
            _steps(found.calls, lambda call: named[call.module]),
            _steps(expected.calls, lambda call: call.module),
        ]
        has_model = all(
            "" in names for names in (named.values(), {c.module for c in expected.calls})
        )
        steps = self._steps(*(sides if has_model else ([sum(each, [])] for each in sides)))
        pairs, left = list[Pair](), (list[Call](), list[Call]())
        for mine, others in steps:
            matched = self._by_name(mine, others, named)
            matched += self._by_shape(mine, others, matched)
            order = {id(call): k for k, call in enumerate(others)}
            pairs += sorted(matched, key=lambda pair: order[id(pair.expected)])
            for side, calls in enumerate((mine, others)):
                known = {id(pair[side]) for pair in matched}
                left[side].extend(call for call in calls if id(call) not in known)
        left[1].extend(self._unpaired)
        return Alignment(pairs, *left, self._rules)

    def _steps(
        self, found: list[list[Call]], expected: list[list[Call]]
    ) -> list[tuple[list[Call], list[Call]]]:
        """Pairs steps: where one run has more of them, by the inputs of the model."""
        if len(found) == len(expected):
            return list(zip(found, expected))
        is_found = len(found) > len(expected)
        longer, shorter = (found, expected) if is_found else (expected, found)
        # From the end, as calls that warm up come first.
        chosen: list[int] = []
        for position in reversed(range(len(shorter))):
            last = chosen[-1] - 1 if chosen else len(longer) - 1
            fitting = (
                k
                for k in range(last, position - 1, -1)
                if self._have_equal_inputs(
                    *(longer[k][-1], shorter[position][-1])[:: 1 if is_found else -1]
                )
            )
            chosen.append(next(fitting, last))
        chosen.reverse()
        side = "found" if is_found else "expected"
        extra = [k for k in range(len(longer)) if k not in chosen]
        self._rules.append(
            f"{side} calls the model {counted(len(extra), 'time')} more: "
            f"call {listed(extra)} of the model is not compared"
        )
        if not is_found:
            self._unpaired = [c for k in extra if k > chosen[-1] for c in longer[k]]
        steps = [(longer[k], step) for k, step in zip(chosen, shorter)]
        return steps if is_found else [(step, each) for each, step in steps]

    def _have_equal_inputs(self, found: Call, expected: Call) -> bool:
        values = tuple(found.inputs.values()), tuple(expected.inputs.values())
        if self._shapes(0, found)[0] != self._shapes(1, expected)[0]:
            return False
        return all(self._agree(*pair) for pair in zip(*values))

    def _by_name(
        self, found: list[Call], expected: list[Call], named: dict[str, str]
    ) -> list[Pair]:
        mine, others = collections.defaultdict(list), collections.defaultdict(list)
        # Operations of one name have other arguments if they are of other kinds, as in exported
        # graphs.
        for call in found:
            mine[named[call.module], "::" in call.module and call.kind].append(call)
        for call in expected:
            others[call.module, "::" in call.module and call.kind].append(call)
        pairs = []
        for key, calls in others.items():
            pairs += self._of_module(mine.get(key, []), calls)
        # Where a Sequential has lost a module, the numbers of the others mean other modules.
        shifted = {
            parent + dot
            for pair in pairs
            for parent, dot, name in [pair.expected.module.rpartition(".")]
            if name.isdecimal()
            and pair.found.kind != pair.expected.kind
            and not any(each.kind.endswith(".Identity") for each in pair)
            and not self._have_equal_outputs(*pair)
        }
        return [
            pair
            for pair in pairs
            if not any(pair.expected.module.startswith(each) for each in shifted)
        ]

    def _of_module(self, found: list[Call], expected: list[Call]) -> list[Pair]:
        """Pairs the calls of a module: in order, unless their inputs say otherwise."""
        in_order = list(map(Pair, found, expected))
        if max(len(found), len(expected)) == 1 or not in_order:
            return in_order
        is_even = len(found) == len(expected)
        if max(len(found), len(expected)) > _MAX_REPEATED:
            return in_order
        if is_even and all(self._have_equal_inputs(*pair) for pair in in_order):
            return in_order
        pairs, left = list[Pair](), list(found)
        for call in expected:
            equal = next((each for each in left if self._have_equal_inputs(each, call)), None)
            if equal is not None:
                left.remove(equal)
                pairs.append(Pair(equal, call))
        # Calls whose inputs agree with none stay in order.
        known = {id(pair.expected) for pair in pairs}
        rest = (call for call in expected if id(call) not in known)
        pairs += map(Pair, left, rest)
        order = [pair.found.number for pair in sorted(pairs, key=lambda p: p.expected.number)]
        if order != [pair.found.number for pair in in_order]:
            text = ", ".join(map(str, order))
            module = name_of(expected[0].module)
            self._rules.append(f"{module}: paired by inputs, with calls {text} of found")
        return pairs

    def _by_shape(self, found: list[Call], expected: list[Call], matched: list[Pair]) -> list[Pair]:
        """Pairs calls of modules with different names."""
        known = [{id(pair[side]): k for k, pair in enumerate(matched)} for side in (0, 1)]
        sides = found, expected
        if any(len(calls) == len(ids) for calls, ids in zip(sides, known)):
            return []
        if max(map(len, sides)) > _MAX_UNNAMED:
            return []

        def tokens(side: int) -> list[object]:
            ids = known[side]
            return [
                ids.get(id(call), (call.kind.rpartition(".")[2], self._shapes(side, call)))
                for call in sides[side]
            ]

        matcher = difflib.SequenceMatcher(None, tokens(0), tokens(1), autojunk=False)
        pairs = [
            Pair(found[i + k], expected[j + k])
            for i, j, size in matcher.get_matching_blocks()
            for k in range(size)
            if id(found[i + k]) not in known[0]
        ]
        taken = {id(call) for pair in (*matched, *pairs) for call in pair}
        others = [call for call in expected if id(call) not in taken]
        for call in found:
            if id(call) in taken:
                continue
            shapes = self._shapes(0, call)
            fitting = [each for each in others if self._shapes(1, each) == shapes][:_MAX_TRIED]
            equal = next((each for each in fitting if self._have_equal_outputs(call, each)), None)
            if equal is not None:
                others.remove(equal)
                pairs.append(Pair(call, equal))
        self._rules += _renamed(pairs)
        return pairs

    def _have_equal_outputs(self, found: Call, expected: Call) -> bool:
        values = tuple(found.outputs.values()), tuple(expected.outputs.values())
        return bool(values[0]) and all(self._agree(*pair) for pair in zip(*values))

    def _shapes(self, side: int, call: Call) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """side: 0 for a call of found."""
        tensors = self._runs[side].tensors
        return tuple(
            tuple(tensors[value.tensor].shape for value in values.values())
            for values in (call.inputs, call.outputs)
        )


def _require_distinct(named: dict[str, str]) -> None:
    """Raises ValueError if two modules of found are mapped to one."""
    modules: dict[str, str] = {}
    for module, name in named.items():
        if modules.setdefault(name, module) != module:
            raise ValueError(
                f"{name_of(modules[name])} and {name_of(module)} are both mapped to {name_of(name)}"
            )


def _steps(calls: Iterable[Call], name: Callable[[Call], str]) -> list[list[Call]]:
    """Returns the calls of each call of the model, which is the last one."""
    steps: list[list[Call]] = [[]]
    for call in calls:
        steps[-1].append(call)
        if name(call) == "":
            steps.append([])
    last = steps.pop()
    if steps:
        # Modules that are called outside of the model.
        steps[-1][:0] = last
    else:
        steps = [last]
    return [step for step in steps if step]


def _renamed(pairs: Sequence[Pair]) -> list[str]:
    """Returns what renames most modules: prefixes that differ before a common rest."""
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    for pair in {(pair.found.module, pair.expected.module) for pair in pairs}:
        mine, others = (module.split(".") for module in pair)
        while len(mine) > 1 and len(others) > 1 and mine[-1] == others[-1]:
            mine, others = mine[:-1], others[:-1]
        if mine != others:
            counts[".".join(mine), ".".join(others)] += 1
    lines = [
        f"found {name_of(mine)} is expected {name_of(other)}: "
        f"{counted(count, 'module')} paired by class and shapes"
        for (mine, other), count in counts.most_common(_MAX_RULES)
    ]
    more = len(counts) - len(lines)
    return lines + [f"{more} more modules are paired by class and shapes"] * bool(more)
