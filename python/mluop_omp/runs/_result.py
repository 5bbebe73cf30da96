"""The result of a comparison of runs."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from typing import Any

from mluop_omp._text import path_of
from mluop_omp.comparison import Comparison
from mluop_omp.runs import _report
from mluop_omp.runs._run import Call


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
        equal: whether all calls and gradients are in both runs, and their outputs and gradients are
            equal: at least one output.
        compared, calls: how many calls both runs have, and any of them.
        compared_outputs: how many outputs of these calls both runs have.
        differences: the calls whose outputs differ, in the order in which they return.
        first: the first of these whose inputs agree, or None.
        first_input: the name of the first input that differs within the module of `first`, where
            no output of the modules before differs: the module's own code computes it; or None.
        gradients: the gradients that differ, in the order of their computation.
        compared_gradients, total_gradients: how many gradients both runs have, and any of them.
        only_found, only_expected: calls of one run only.
        notes: further findings, a line each.
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
        """False if nothing differs, but not all was compared."""
        return self.equal or bool(self.differences or self.gradients)

    def __str__(self) -> str:
        return _report.text_of(self)

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
            "calls": self.calls,
            "compared_outputs": self.compared_outputs,
            "first": first,
            "first_input": self.first_input,
            "differences": [_to_dict(each) for each in self.differences],
            "compared_gradients": self.compared_gradients,
            "total_gradients": self.total_gradients,
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
