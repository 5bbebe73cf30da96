"""The text of a comparison of runs, and the names in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mluop_omp._text import counted, labeled, listed, name_of, path_of
from mluop_omp.comparison._report import verdict_of

if TYPE_CHECKING:
    from mluop_omp.comparison import Comparison
    from mluop_omp.runs._result import CallDifference, RunComparison


def contains(module: str, inner: str) -> bool:
    return inner.startswith(f"{module}." if module else "") and module != inner


def text_of(result: RunComparison) -> str:
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
        text += f"; inputs agree, too, of {listed(each.label for each in others)}"
    return text


def _only_inputs(result: RunComparison) -> list[str]:
    first = result.differences[0]
    lines = [
        f"no first difference: no call whose inputs agree has other outputs; of "
        f"{len(result.differences)} calls that differ, the first is {first.label}"
    ]
    lines += [f"  {each}" for each in first.changed]
    return lines + _comparisons("input", first.inputs)


def _gradient_lines(result: RunComparison) -> list[str]:
    count, total = result.compared_gradients, result.total_gradients
    if not result.gradients:
        others = f"; {total - count} others are in one run only" if total > count else ""
        return [f"{counted(count, 'gradient')} agree{others}"]
    first = result.gradients[0]
    if result.differences:
        return [f"gradients that differ: {len(result.gradients)} of {count}"]
    lines = [f"first gradient that differs: of {first.name}"]
    if first.computed_by:
        lines.append(f"  computed by the backward pass of {listed(first.computed_by)}")
    lines += [f"  {line}" for line in str(first.comparison).splitlines()]
    return [*lines, f"gradients that differ: {len(result.gradients)} of {count}"]
