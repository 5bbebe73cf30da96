"""The report of a check."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from mluop_omp.golden._text import counted, labeled, table
from mluop_omp.golden.comparison import Comparison

# Verdicts of a call, and the ones of a call that is right.
EQUAL, ROUNDING, DIFFERS, UNCHECKED = "equal", "rounding", "differs", "not checked"
CHECKED = EQUAL, ROUNDING


@dataclasses.dataclass
class CheckedCall:
    """A call of an operator.

    Attributes:
        number: the position in the order of all calls, counted from 0.
        operator: the name of the function.
        module: the innermost running module, with its class; "" outside of modules.
        caller: the "file:line" outside of the libraries. Module and caller of a gradient are the
            ones of its forward call.
        tensors: type and dimensions of the tensor arguments, by name.
        verdict: "equal"; "rounding", equal except for choices that rounding decides; "differs";
            "not checked".
        differences: a `Comparison` or a text for each wrong output.
        notes: what reproduces or explains the differences, or why the call is not checked.
        case: the file of the operator case, "" if none was written.
        is_operation: whether it is an operation of PyTorch; `caller` then names the function, too.
    """

    number: int
    operator: str
    module: str
    caller: str
    tensors: dict[str, tuple[str, tuple[int, ...]]] = dataclasses.field(default_factory=dict)
    verdict: str = UNCHECKED
    differences: dict[str, Comparison | str] = dataclasses.field(default_factory=dict)
    notes: list[str] = dataclasses.field(default_factory=list)
    case: str = ""
    is_operation: bool = False

    @property
    def site(self) -> tuple[str, str, str]:
        return self.operator, self.module, self.caller

    def __str__(self) -> str:
        place = "".join(f", {each}" for each in (self.module, self.caller) if each)
        tensors = (f"{name} {dtype} {list(shape)}" for name, (dtype, shape) in self.tensors.items())
        lines = [f"{self.operator}, call {self.number}{place}: {self.verdict}"]
        lines += [f"  {', '.join(tensors)}", *(f"  {note}" for note in self.notes)]
        for name, difference in self.differences.items():
            lines += labeled(f"  {name}", difference)
        if self.case:
            lines.append(f"  run the case: mluop_case run {shlex.quote(self.case)}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Returns the attributes in a form that json.dumps accepts."""
        differences = {
            name: each if isinstance(each, str) else each.to_dict()
            for name, each in self.differences.items()
        }
        return {**vars(self), "differences": differences}


class CheckFailure(RuntimeError):
    """A call with a wrong output.

    Attributes:
        call: the `CheckedCall` that failed.
    """

    def __init__(self, call: CheckedCall) -> None:
        super().__init__(str(call))
        self.call = call


def text_of(calls: Sequence[CheckedCall], copied_bytes: int, own: int, notes: list[str]) -> str:
    sites: dict[tuple[str, str, str], list[CheckedCall]] = {}
    for call in calls:
        sites.setdefault(call.site, []).append(call)
    failures = [call for call in calls if call.verdict == DIFFERS]
    lines = [_verdict(calls, failures), f"copied to the CPU: {_size(copied_bytes)}"]
    if own:
        lines.append(f"computed by mluop_omp itself, not checked: {counted(own, 'call')}")
    lines += notes
    # The table leaves out operations of PyTorch that agree: a network has hundreds.
    right = [all(c.is_operation and c.verdict in CHECKED for c in each) for each in sites.values()]
    if any(right):
        count = sum(len(each) for each, is_right in zip(sites.values(), right) if is_right)
        places = counted(sum(right), "place")
        lines.append(f"operations of PyTorch that agree: {count}, at {places}")
    if not all(right):
        listed = (each for each, is_right in zip(sites.values(), right) if not is_right)
        lines += ["", *_table(listed)]
    # Calls of an operator that are not checked for one reason are reported once.
    unchecked: dict[tuple[str, ...], list[CheckedCall]] = {}
    for of_site in sites.values():
        failed = [call for call in of_site if call.verdict == DIFFERS]
        if failed:
            lines += ["", str(failed[0])]
        for call in () if failed else of_site:
            if call.verdict == UNCHECKED:
                unchecked.setdefault((call.operator, *call.notes), []).append(call)
    for first, *others in unchecked.values():
        lines += ["", str(first)]
        if others:
            places = len({call.site for call in (first, *others)})
            lines.append(
                f"  {counted(len(others), 'more call')} for the same reason, at "
                f"{counted(places, 'call site')} in all"
            )
    return "\n".join(lines)


def _verdict(calls: Sequence[CheckedCall], failures: Sequence[CheckedCall]) -> str:
    count = counted(len(calls), "call")
    if failures:
        first = failures[0]
        place = f" in {first.module}" if first.module else ""
        return f"differ: {len(failures)} of {count}, first {first.operator}{place}"
    unchecked = sum(call.verdict == UNCHECKED for call in calls)
    if not calls:
        return "nothing was checked: no operator was called"
    if unchecked == len(calls):
        return f"nothing was checked: none of {count}"
    if unchecked:
        return f"not all was checked: {len(calls) - unchecked} of {count} agree"
    return f"equal: {count}"


def _table(sites: Iterable[list[CheckedCall]]) -> list[str]:
    rows = [("calls", "verdict", "operator", "module", "caller", "shapes")]
    for calls in sites:
        verdicts = [call.verdict for call in calls]
        # The worst verdict and the number of calls with it.
        worst = next(v for v in (DIFFERS, UNCHECKED, ROUNDING, EQUAL) if v in verdicts)
        count = verdicts.count(worst)
        verdict = worst if count == len(calls) else f"{worst}: {count}"
        shown = next(call for call in calls if call.verdict == worst)
        shapes = ("x".join(map(str, shape)) for _, shape in shown.tensors.values())
        place = (shown.operator, shown.module, shown.caller)
        rows.append((str(len(calls)), verdict, *place, ", ".join(shapes)))
    return table(rows, "><<<<<")


def _size(count: int) -> str:
    power = min(max(count.bit_length() - 1, 0) // 10, 4)
    return f"{count / 1024**power:.1f} {'KMGT'[power - 1]}iB" if power else f"{count} bytes"


def tensors_of(arguments: dict[str, Any]) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Returns type and dimensions of the tensors among the arguments."""
    tensors = ((n, v) for n, v in arguments.items() if hasattr(v, "dtype") and hasattr(v, "shape"))
    return {
        name: (str(each.dtype).removeprefix("torch."), tuple(map(int, each.shape)))
        for name, each in tensors
    }
