"""Checks of inputs and attributes that the table does not make."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from mluop_omp._library import bad_param


def require_same_dtype(first: str, array: np.ndarray, second: str, other: np.ndarray) -> None:
    if array.dtype != other.dtype:
        raise bad_param(
            f"input {second} has dtype {other.dtype}, expected {array.dtype}, as {first}"
        )


def require_not_half(name: str, array: np.ndarray) -> None:
    if array.dtype == np.float16:
        raise bad_param(f"input {name} has dtype float16, expected float32 or float64")


def require_range(name: str, values: np.ndarray, below: int) -> None:
    """Requires integers from 0 to below - 1."""
    wrong = np.flatnonzero((values < 0) | (values >= below))
    if len(wrong):
        at = ", ".join(str(each) for each in np.unravel_index(wrong[0], values.shape))
        found, expected = values.flat[wrong[0]], f"0 to {below - 1}" if below else "no elements"
        raise bad_param(f"{name}[{at}] is {found}, expected {expected}")


def require_at_least(name: str, value: float, least: float) -> None:
    if not value >= least:
        raise bad_param(f"{name} is {value}, expected at least {least}")


def require_one_of(name: str, value: object, expected: Collection[object]) -> None:
    if value not in expected:
        raise bad_param(
            f"attribute {name} is {value!r}, expected {' or '.join(map(repr, expected))}"
        )


def pair(name: str, values: Sequence[int]) -> tuple[int, int]:
    """Returns the integers of an attribute along height and width; one integer counts for both."""
    if len(values) not in (1, 2):
        raise bad_param(f"attribute {name} has {len(values)} elements, expected 1 or 2")
    return values[0], values[-1]


def as_single(array: np.ndarray) -> np.ndarray:
    """Returns float16 as float32, and all other types as they are."""
    return array.astype(np.float32) if array.dtype == np.float16 else array


def rounded(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Returns an array that `as_single` has widened in its own type."""
    with np.errstate(over="ignore"):
        return array.astype(dtype, copy=False)
