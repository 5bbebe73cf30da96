"""The self-test of `python -m mluop_omp`: each operator against its definition.

`_cases.py` has the arguments.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator

import numpy as np

import mluop_omp
from mluop_omp._library import ALGORITHMS
from mluop_omp._operators import all_operators
from mluop_omp._self_test import _cases

OPERATORS = _cases.OPERATORS
# The definition of each operator, by its name.
definitions = types.SimpleNamespace(**{each.name: each.definition for each in all_operators()})
_TOLERANCE = 1e-4


def failures() -> Iterator[str]:
    """Yields an operator, the algorithm, and what is wrong, for each that fails."""
    for operator in OPERATORS:
        yield from failures_of(operator)


def failures_of(operator: str) -> Iterator[str]:
    expected = _outputs(definitions, operator)
    for algorithm in ALGORITHMS:
        with _algorithm(algorithm):
            problem = _difference(operator, expected)
        if problem is not None:
            yield f"{operator}, {algorithm}: {problem}"


@contextlib.contextmanager
def _algorithm(name: str) -> Iterator[None]:
    before = mluop_omp.algorithm()
    mluop_omp.algorithm(name)
    try:
        yield
    finally:
        mluop_omp.algorithm(before)


def _outputs(module: object, operator: str) -> tuple[np.ndarray, ...]:
    result = getattr(module, operator)(*_cases.arguments(operator))
    return result if isinstance(result, tuple) else (result,)


def _difference(operator: str, expected: tuple[np.ndarray, ...]) -> str | None:
    try:
        found = _outputs(mluop_omp, operator)
    except mluop_omp.MluOpError as error:
        return str(error)
    for position, (output, definition) in enumerate(zip(found, expected)):
        if output.shape != definition.shape:
            return f"output {position} has shape {output.shape}, expected {definition.shape}"
        tolerance = _TOLERANCE if output.dtype.kind == "f" else 0
        is_wrong = ~np.isclose(output, definition, tolerance, tolerance)
        if is_wrong.any():
            place = tuple(int(index) for index in np.argwhere(is_wrong)[0])
            return (
                f"{is_wrong.sum()} of {is_wrong.size} elements of output {position} are wrong; "
                f"{list(place)} is {output[place]}, expected {definition[place]}"
            )
    return None
