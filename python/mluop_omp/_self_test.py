"""The self-test of `python -m mluop_omp`: each operator against its definition.

The arguments are the random ones that stand beside the definitions.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import types
from collections.abc import Iterator
from typing import Any, Callable

import numpy as np

import mluop_omp
from mluop_omp._definitions._random import Random
from mluop_omp._library import ALGORITHMS
from mluop_omp._operators import all_operators, operators
from mluop_omp._operators._declaration import Operator

OPERATORS = tuple(each.name for each in all_operators())
_TOLERANCE = 1e-4


def _defined(operator: Operator) -> Callable[..., Any]:
    """Returns the definition with the default values of the declaration."""

    def compute(*arguments: Any, **named: Any) -> Any:
        bound = operator.signature.bind(*arguments, **named)
        bound.apply_defaults()
        return operator.definition(*bound.args)

    return compute


# The definition of each operator, by its name.
definitions = types.SimpleNamespace(**{each.name: _defined(each) for each in all_operators()})


def generator(operator: str) -> Callable[..., tuple[Any, ...]]:
    """Returns the function of the random arguments of an operator."""
    module = sys.modules[getattr(operators, operator).definition.__module__]
    return getattr(module, f"{operator}_arguments")


def _choices(operator: str) -> dict[str, tuple[Any, ...]]:
    """Returns the values of each parameter that has several, the usual one first."""
    parameters = inspect.signature(generator(operator)).parameters.values()
    return {each.name: each.default for each in parameters if isinstance(each.default, tuple)}


def variants(operator: str) -> list[dict[str, Any]]:
    """Returns {} for the usual arguments, and {parameter: value} for each other value."""
    choices = _choices(operator).items()
    return [{}, *({name: value} for name, values in choices for value in values[1:])]


def arguments(operator: str, **given: Any) -> tuple[Any, ...]:
    """Returns random arguments of the given sizes and values, the same in every run."""
    usual = {name: values[0] for name, values in _choices(operator).items()}
    return generator(operator)(Random(), **{**usual, **given})


def failures() -> Iterator[str]:
    """Yields an operator, the algorithm, and what is wrong, for each that fails."""
    for operator in OPERATORS:
        yield from failures_of(operator)


def failures_of(operator: str) -> Iterator[str]:
    for algorithm in ALGORITHMS:
        with _algorithm(algorithm):
            problems = (_difference(operator, variant) for variant in variants(operator))
            problem = next(filter(None, problems), None)
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


def outputs_of(function: Callable[..., Any], *arguments: Any) -> tuple[np.ndarray, ...]:
    result = function(*arguments)
    return result if isinstance(result, tuple) else (result,)


def _difference(operator: str, variant: dict[str, Any]) -> str | None:
    given = arguments(operator, **variant)
    expected = outputs_of(getattr(definitions, operator), *given)
    try:
        found = outputs_of(getattr(mluop_omp, operator), *given)
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
