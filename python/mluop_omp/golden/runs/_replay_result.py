"""The result of a replay, and its text."""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from mluop_omp.golden._text import counted, labeled, listed, module_label, table
from mluop_omp.golden.runs._rounding import Error
from mluop_omp.golden.runs._run import Call

# A call far above all others of its class stands out below the limit: this share of it, this
# multiple of the next, in a class of this many.
_SHARE, _MULTIPLE, _CLASS = 0.25, 5, 5
_SHOWN = 10


@dataclasses.dataclass
class ReplayedCall:
    """A call of a module on its recorded inputs.

    Attributes:
        call: the recorded call.
        errors: by what the call computed: its outputs, such as "output", and the inputs that its
            own code passes to modules inside of it, such as "input 0 of layer.proj".
        fused_with: the module whose output is the recorded output of this one, or "".
    """

    call: Call
    errors: dict[str, Error] = dataclasses.field(default_factory=dict)
    fused_with: str = ""

    @property
    def label(self) -> str:
        label = module_label(self.call.module, self.call.kind.rpartition(".")[2])
        return f"{label}, call {self.call.number}" if self.call.number else label

    @property
    def worst(self) -> tuple[str, Error]:
        """The largest error, by its limit, and what has it."""
        nothing = ("", Error(math.nan, 1))
        return max(self.errors.items(), key=lambda each: each[1].ratio, default=nothing)

    @property
    def ratio(self) -> float:
        return self.worst[1].ratio


@dataclasses.dataclass(frozen=True)
class Replay:
    """The result of `mluop_omp.replay`. str() is a report, bool() the verdict.

    Attributes:
        calls: the calls that were compared, in the order in which they return.
        suspects: the calls whose errors rounding does not explain, the largest error first.
        state: parameters and buffers that differ, of modules that are not fused, by their names.
        missing: calls of the run that the model did not make.
        other: calls that the model made with tensors of other shapes, such as other proposals.
        notes: further findings, one a line.
        skipped: nodes of an ONNX graph that were not computed, and why.
    """

    calls: tuple[ReplayedCall, ...]
    suspects: tuple[ReplayedCall, ...]
    state: dict[str, Error]
    missing: tuple[str, ...]
    other: tuple[str, ...]
    notes: tuple[str, ...]
    skipped: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        calls: list[ReplayedCall],
        state: dict[str, Error],
        missing: list[str],
        others: list[ReplayedCall],
        notes: list[str],
        skipped: Sequence[str] = (),
    ) -> Replay:
        ratios = collections.defaultdict(list)
        for each in calls:
            ratios[each.call.kind].append(each.ratio)
        suspects = [each for each in calls if _stands_out(each.ratio, ratios[each.call.kind])]
        suspects.sort(key=lambda each: -each.ratio)
        other = tuple(each.label for each in others if each not in suspects)
        findings = tuple(missing), other, tuple(notes), tuple(skipped)
        return cls(tuple(calls), tuple(suspects), state, *findings)

    def __bool__(self) -> bool:
        has_errors = any(each.errors for each in self.calls)
        rest = self.state or self.missing or self.other or self.skipped
        return has_errors and not (self.suspects or rest)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def text(self, every_call: bool = False) -> str:
        """Returns the report. every_call: lists all calls, in the order in which they return."""
        lines = [self._headline()]
        others = [each for each in self.calls if each not in self.suspects]
        ranked = sorted(others, key=lambda each: -each.ratio)
        listing = self.calls if every_call else (*self.suspects[:_SHOWN], *ranked[:3])
        heads = ("times rounding", "relative error", "module", "computed")
        rows = [_row(each) for each in listing]
        lines += [f"  {line}" for line in table([heads, *rows], "><<<")]
        shown = [(each.label, *each.worst) for each in self.suspects[:_SHOWN]]
        for label, name, error in shown:
            if error.comparison is not None:
                lines += labeled(f"{name}, {label}", error.comparison)
        if any(error.comparison is not None for _, _, error in shown):
            lines.append("(found: computed by the model; expected: recorded in the run)")
        fused = [f"{e.call.module} with {e.fused_with}" for e in self.calls if e.fused_with]
        state = [f"{name} by {error.value:.2g}" for name, error in self.state.items()]
        for title, names in (
            ("fused in the run", fused),
            ("parameters and buffers that differ", state),
            ("calls of the run that the model did not make", self.missing),
            ("not compared, as tensors have other shapes", self.other),
            ("not computed", self.skipped),
        ):
            if names:
                lines.append(f"{title}: {len(names)}: {listed(names)}")
        return "\n".join([*lines, *self.notes])

    def _headline(self) -> str:
        count, number = counted(len(self.calls), "call"), len(self.suspects)
        if not any(each.errors for each in self.calls):
            return "nothing was compared"
        if not number and (self.missing or self.other or self.skipped):
            agreeing = len(self.calls) - len(self.other)
            total = len(self.calls) + len(self.missing) + len(self.skipped)
            return f"not all was compared: {agreeing} of {total} agree"
        if not number:
            return f"agrees: {count}, each on its recorded inputs"
        return f"{number} of {count} {'stands' if number == 1 else 'stand'} out"

    def to_dict(self) -> dict[str, Any]:
        """Returns the attributes in a form that json.dumps accepts."""
        return {
            "agrees": bool(self),
            "calls": list(map(_to_dict, self.calls)),
            "suspects": list(map(_to_dict, self.suspects)),
            "state": {name: error.value for name, error in self.state.items()},
            "missing": list(self.missing),
            "other": list(self.other),
            "skipped": list(self.skipped),
            "notes": list(self.notes),
        }


def _stands_out(ratio: float, of_class: list[float]) -> bool:
    if ratio > 1:
        return True
    *_, second, largest = [0.0, *sorted(of_class)]
    is_far = ratio == largest and ratio > max(_SHARE, _MULTIPLE * second)
    return is_far and len(of_class) >= _CLASS


def _row(call: ReplayedCall) -> tuple[str, ...]:
    name, error = call.worst
    return f"{error.ratio:.2g}", str(error), call.label, name


def _to_dict(call: ReplayedCall) -> dict[str, Any]:
    errors = {
        name: {"value": each.value, "ratio": each.ratio, "where": each.where}
        for name, each in call.errors.items()
    }
    return {
        **{"module": call.call.module, "call": call.call.number, "class": call.call.kind},
        **{"errors": errors, "fused_with": call.fused_with},
    }
