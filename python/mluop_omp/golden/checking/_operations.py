"""Judges of the operations of PyTorch: each is repeated on the CPU, in float64 if it can be."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Callable, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from mluop_omp.golden._numbers import tolerated
from mluop_omp.golden.checking._calls import HALF_TYPES, Copies, Findings
from mluop_omp.golden.checking._differences import difference, other_shape
from mluop_omp.golden.checking._report import CheckedCall
from mluop_omp.golden.comparison import compare
from mluop_omp.golden.comparison._values import convert
from mluop_omp.golden.runs._operations import Operation, tensors_of
from mluop_omp.golden.runs._rounding import Error, error_of

# Operations that choose among values: of equal ones, any may be chosen.
_CHOICES = frozenset(
    (
        *("topk", "sort", "argsort", "max", "min", "argmax", "argmin", "kthvalue", "median"),
        *("nanmedian", "mode", "cummax", "cummin"),
    )
)
# Operations that write values to indices: of those for one index, any may remain.
_WRITES = frozenset(
    (
        *("__setitem__", "index_put", "index_put_", "put_", "index_copy", "index_copy_", "scatter"),
        *("scatter_", "index_fill_"),
    )
)
# Sums of products, whose errors are relative to the sums of the absolute values.
_SUMS = frozenset(
    (
        *(
            "sum",
            "mean",
            "cumsum",
            "linear",
            "matmul",
            "mm",
            "bmm",
            "mv",
            "dot",
            "addmm",
            "baddbmm",
        ),
        *("einsum", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d"),
        *("conv_transpose3d", "bilinear", "index_add", "index_add_", "scatter_add", "scatter_add_"),
        *("__matmul__", "__rmatmul__", "tensordot", "inner", "trace"),
    )
)
# The largest error of a device, as a multiple of the error of the CPU in the same element types.
_MULTIPLE_OF_CPU = 8
# The relative error of sums whose factors are rounded to 11 or 8 bits.
_SHORT_FACTORS = 2.0**-8

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class Open(Exception):
    """The definition leaves the results open, or part of them: they are not compared."""


class Observed(NamedTuple):
    """A call of an operation whose arguments are copied."""

    call: CheckedCall
    copies: Copies
    given: Arguments | None


def judge(
    operation: Operation, given: Arguments, found: dict[str, Tensor], rtol: Any, atol: Any
) -> Findings:
    """Compares the outputs of the device with the outputs of the CPU.

    given: the arguments, on the CPU. found: the outputs, on the CPU, by name.

    Raises Open if the outputs are random or in an unspecified order; any exception that the
    operation raises on the CPU.
    """
    if not found:
        raise TypeError("no output is a dense tensor")
    if given[1].get("sorted") is False:
        raise Open("unsorted")
    # Autocast rounds arguments to the type of the result.
    shorts = [each.dtype for each in found.values() if each.dtype in HALF_TYPES]
    judged = _Judge(operation, given, shorts[0] if shorts else None)
    findings = Findings()
    for name, each in found.items():
        expected = judged.exact[name]
        both_real = each.is_floating_point() and expected.is_floating_point()
        if (rtol is not None or atol is not None) and both_real:
            bound = tolerated(convert(expected).numbers(), rtol or 0, atol or 0)
            findings.add(name, difference(each, expected, bound))
        else:
            judged.compare(findings, name, each)
    return findings


class _Judge:
    """Repeats an operation on the CPU: at once in float64, in its own types where that differs."""

    def __init__(self, operation: Operation, given: Arguments, short: torch.dtype | None) -> None:
        self._operation, self._given, self._short = operation, given, short
        self._native: dict[str, Tensor] | None = None
        try:
            self.exact = self._repeat(self._widened)
        except (TypeError, RuntimeError, ValueError):
            self.exact = self._repeat(lambda each: each.float() if _is_short(each) else each)

    def compare(self, findings: Findings, name: str, found: Tensor) -> None:
        """Adds the difference of an output."""
        expected = self.exact[name]
        if found.shape != expected.shape:
            native = self._in_own_types().get(name)
            if native is None or not _are_equal(found, native):
                findings.add(name, other_shape(found, expected))
        elif not (found.is_floating_point() or found.is_complex()):
            self._compare_integers(findings, name, found, expected)
        else:
            self._compare_numbers(findings, name, found, expected)

    def _compare_integers(
        self, findings: Findings, name: str, found: Tensor, expected: Tensor
    ) -> None:
        expected = expected.to(found.dtype)
        if torch.equal(found, expected):
            return
        native = self._in_own_types().get(name)
        if native is not None and native.shape == found.shape:
            # The type rounds a number that is compared, or divided.
            expected = torch.where(native == found, native.to(found.dtype), expected)
        is_tie = self._operation.name in _CHOICES and self._is_tie(found, expected)
        if is_tie or torch.equal(found, expected):
            findings.rounding += 1
            return
        self._require_one_result()
        findings.add(name, compare(found, expected))

    def _compare_numbers(
        self, findings: Findings, name: str, found: Tensor, expected: Tensor
    ) -> None:
        error = _error(found, expected)
        if error.ratio <= 1 or self._is_of_the_cpu(name, found, error):
            return
        self._require_one_result()
        rounded = expected.to(found.dtype)
        comparison = compare(found, rounded)
        findings.add(name, comparison if not comparison.equal else f"differs by {error}")
        findings.notes.append(
            f"{name}: the error is {error} of the root mean square, {error.limit:.2g} is rounding"
        )
        if found.dtype is torch.float32 and error.value < _SHORT_FACTORS:
            findings.notes.append(
                "an error of this size results from factors rounded to half, bfloat16 or TF32"
            )

    def _is_of_the_cpu(self, name: str, found: Tensor, error: Error) -> bool:
        """Whether the CPU makes a similar error in the types of the device."""
        native = self._in_own_types().get(name)
        if native is not None and native.shape == found.shape and native.dtype == found.dtype:
            of_cpu = _error(native, self.exact[name]).ratio
            if error.ratio <= _MULTIPLE_OF_CPU * of_cpu or _error(found, native).ratio <= 1:
                return True
        if self._operation.name not in _SUMS:
            return False
        magnitudes = self._repeat(lambda each: _abs(self._widened(each)))[name]
        offset = magnitudes + (found.to(magnitudes.dtype) - self.exact[name])
        return _error(offset.to(found.dtype), magnitudes).ratio <= 1

    def _in_own_types(self) -> dict[str, Tensor]:
        if self._native is None:
            self._native = {}
            dtype = self._operation.autocast
            autocast = torch.autocast("cpu", dtype, dtype is not None, cache_enabled=False)
            # CPUs lack kernels for some types.
            with autocast, contextlib.suppress(TypeError, RuntimeError, ValueError):
                self._native = self._repeat(self._rounded)
        return self._native

    def _rounded(self, tensor: Tensor) -> Tensor:
        is_long = self._short is not None and tensor.dtype is torch.float32
        return tensor.to(self._short) if is_long else tensor

    def _widened(self, tensor: Tensor) -> Tensor:
        tensor = self._rounded(tensor)
        if tensor.is_complex():
            return tensor.to(torch.complex128)
        return tensor.double() if tensor.is_floating_point() else tensor

    def _repeat(self, convert: Callable[[Tensor], Tensor]) -> dict[str, Tensor]:
        """Returns the outputs of the CPU for converted arguments; raises Open if random."""
        state = torch.get_rng_state()
        try:
            args, kwargs = _mapped(self._given, convert)
            if self._operation.name in ("to", "cuda"):  # Their devices are not here.
                args = tuple(each for each in args if not isinstance(each, str))
            if self._operation.name == "cuda":
                return outputs_of(self._operation, args[0].clone())
            repeated = Operation(self._operation.function, args, kwargs)
            with _disable_current_modes():
                outputs = outputs_of(repeated, repeated.function(*args, **kwargs))
            if not torch.equal(torch.get_rng_state(), state):
                raise Open("random")
            return outputs
        finally:
            torch.set_rng_state(state)

    def _is_tie(self, found: Tensor, expected: Tensor) -> bool:
        """Whether the values at two indices are equal, along a dimension."""
        args, kwargs = self._given
        if kwargs.get("stable"):
            return False
        values = args[0] if args else kwargs["input"]
        pairs = [(values.reshape(-1), found.reshape(-1), expected.reshape(-1), 0)]
        for dim in range(values.dim()):
            both = (e if e.dim() == values.dim() else e.unsqueeze(dim) for e in (found, expected))
            pairs.append((values, *both, dim))
        return any(_chooses_alike(*each) for each in pairs)

    def _require_one_result(self) -> None:
        """Raises Open if values are written to one index several times."""
        if self._operation.name not in _WRITES or True in self._given[0][3:]:
            return
        if self._given[1].get("accumulate"):
            return
        others = tensors_of((*self._given[0][1:], *self._given[1].values()))
        indices = (e for _, e in others if not e.is_floating_point() and e.dtype is not torch.bool)
        if any(len(each.unique()) < each.numel() for each in indices):
            raise Open("of repeated indices")


def outputs_of(operation: Operation, result: Any) -> dict[str, Tensor]:
    """Returns the outputs of an operation and the other tensors that it has changed, by name."""
    outputs, written = operation.results(result)
    named = {f"output {path}".strip(): each for path, each in tensors_of(outputs)}
    return {**named, **{f"input {path}": each for path, each in written.items()}}


def _mapped(value: Any, convert: Callable[[Tensor], Tensor]) -> Any:
    """Returns arguments with copies of their tensors, for the CPU."""
    if isinstance(value, Tensor):
        converted = convert(value)
        return converted.clone() if converted is value else converted
    if isinstance(value, torch.device):
        return torch.device("cpu")
    if isinstance(value, torch.Generator):
        raise Open("random")
    if isinstance(value, slice):
        return slice(*(_mapped(each, convert) for each in (value.start, value.stop, value.step)))
    if type(value) in (list, tuple):
        return type(value)(_mapped(each, convert) for each in value)
    if type(value) is dict:
        # A device may be given as text.
        pairs = ((k, "cpu" if k == "device" and v is not None else v) for k, v in value.items())
        return {name: _mapped(each, convert) for name, each in pairs}
    return value


def _error(found: Tensor, expected: Tensor) -> Error:
    """Returns the error of an output, against the expected one in its type."""
    rounded = expected.to(found.dtype)
    wide = torch.complex128 if found.is_complex() else torch.float64
    e, b = (each.to(wide).resolve_conj().numpy() for each in (found, rounded))
    with np.errstate(invalid="ignore"):
        return error_of(e, b, str(found.dtype).partition(".")[2])


def _is_short(tensor: Tensor) -> bool:
    return tensor.is_floating_point() and tensor.element_size() < 4


def _abs(tensor: Tensor) -> Tensor:
    return tensor.abs() if tensor.is_floating_point() or tensor.is_complex() else tensor


def _are_equal(found: Tensor, native: Tensor) -> bool:
    if found.shape != native.shape or found.dtype != native.dtype:
        return False
    return bool(((found == native) | ((found != found) & (native != native))).all())


def _chooses_alike(values: Tensor, found: Tensor, expected: Tensor, dim: int) -> bool:
    shapes = (tuple(each.shape[:dim] + each.shape[dim + 1 :]) for each in (values, found))
    if not values.dim() == found.dim() == expected.dim() or len(set(shapes)) > 1:
        return False
    if not ((found >= 0) & (found < values.shape[dim])).all():
        return False
    chosen = (values.gather(dim, each.long()) for each in (found, expected))
    repeats = (_repeats(each, dim) for each in (found, expected))
    return _are_equal(*chosen) and list(repeats) != [True, False]


def _repeats(indices: Tensor, dim: int) -> bool:
    return bool((indices.sort(dim).values.diff(dim=dim) == 0).any())


def counted_by_reason(reasons: dict[tuple[str, str], int]) -> Iterator[str]:
    """Yields a line for each reason why operations are not compared."""
    for reason in dict.fromkeys(each for each, _ in reasons):
        names = [kind for each, kind in reasons if each == reason]
        total = sum(count for (each, _), count in reasons.items() if each == reason)
        yield f"{reason}, not compared: {total} of {', '.join(names)}"
