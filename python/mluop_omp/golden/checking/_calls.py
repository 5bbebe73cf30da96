"""A call of an operator: rule, arguments and results of the device, copied to the CPU."""

from __future__ import annotations

import collections
import dataclasses
import functools
import inspect
from typing import Any, Callable, NamedTuple, Union

import numpy as np
import torch
from torch import Tensor

from mluop_omp.golden.comparison import Comparison

# Element types that the operators of mmcv and spconv widen to float32.
HALF_TYPES = frozenset((torch.float16, torch.bfloat16))


class Rulebook(NamedTuple):
    """Output sites, pairs [K, 2, L] and their numbers."""

    sites: Tensor
    pairs: Tensor
    num: Tensor


@dataclasses.dataclass(frozen=True)
class Rule:
    """An operator of mmcv or spconv.

    Attributes:
        name: the name of the intercepted function.
        ours: the function of this library, with the same arguments, for CPU tensors.
        judge: compares the results of the device with the results of `ours`.
        outputs: names of the arguments that the function writes.
        results: the name of its result, or of the first elements of a tuple or list; the other
            elements are not compared.
        axes: names of the dimensions of all outputs that have as many, or by output.
        widened: `ours` computes half and bfloat16 arguments in float32.
        subtracted: the argument whose products are subtracted from the sums.
        terms: returns the largest number of terms of a sum.
        layout: the layout of the filters, a key of `FILTER_LAYOUTS`.
        rows: the output that counts the valid rows of the others: its only element, or its rows.
        pairs: the argument with index pairs; in functions that compute them, the result.
        rulebook: in functions that compute index pairs, returns the rulebook in the results, given
            the call and the results.
        transposed: the output whose first dimension is the last one in the C API.
    """

    name: str
    ours: Callable[..., Any]
    judge: Callable[[Call], Findings]
    outputs: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    axes: str | dict[str, str] = ""
    widened: bool = False
    subtracted: str = ""
    terms: Callable[[Call], int] = lambda _: 1
    layout: str = ""
    rows: str = ""
    pairs: str = ""
    rulebook: Any = None
    transposed: str = ""

    @property
    def sites(self) -> str:
        """The result with the output sites, in functions that compute index pairs."""
        return self.results[0] if self.rulebook is not None else ""

    @functools.cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self.ours)

    def bind(self, arguments: tuple, named: dict[str, Any]) -> dict[str, Any]:
        """Returns the arguments by name. Raises TypeError if `ours` does not take them."""
        # knn of mmcv takes its four numbers after the tensors or before them.
        if arguments and not isinstance(arguments[0], Tensor):
            arguments = arguments[4:] + arguments[:4]
        try:
            return dict(self._signature.bind(*arguments, **named).arguments)
        except TypeError as error:
            expected = ", ".join(self._signature.parameters)
            raise TypeError(f"{error}, expected arguments {expected}") from None

    def call(self, arguments: dict[str, Any]) -> Any:
        bound = inspect.BoundArguments(self._signature, collections.OrderedDict(arguments))
        return self.ours(*bound.args, **bound.kwargs)

    def run(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Returns the outputs and results of `ours`; the arguments remain as they are."""
        copied = {name: arguments[name].clone() for name in self.outputs}
        arguments = {**arguments, **copied}
        return self.collect(arguments, self.call(arguments))

    def collect(self, arguments: dict[str, Any], result: Any) -> dict[str, Any]:
        """Returns outputs and results by name, without unspecified rows."""
        is_single = len(self.results) == 1 and not isinstance(result, tuple)
        values = {name: arguments[name] for name in self.outputs}
        values.update(zip(self.results, (result,) if is_single else result or ()))
        if not self.rows:
            return values
        counter = values[self.rows]
        count = max(int(counter), 0) if self.rows in self.outputs else len(counter)
        return {n: each if n == self.rows else each[:count] for n, each in values.items()}

    def axes_of(self, output: str) -> tuple[str, ...] | None:
        text = self.axes if isinstance(self.axes, str) else self.axes.get(output, "")
        return tuple(text.split()) or None


# The difference of an output.
Difference = Union[Comparison, str]


@dataclasses.dataclass
class Findings:
    """The findings of a judge.

    Attributes:
        differences: the differences of wrong outputs, by name.
        notes: what reproduces or explains them.
        rounding: the number of elements that differ only because rounding decides; they are right.
    """

    differences: dict[str, Difference] = dataclasses.field(default_factory=dict)
    notes: list[str] = dataclasses.field(default_factory=list)
    rounding: int = 0

    def add(self, name: str, difference: Difference | None) -> Findings:
        if difference is not None:
            self.differences[name] = difference
        return self


@dataclasses.dataclass
class Call:
    """A call on the CPU.

    Attributes:
        rule: the rule of the operator.
        given: arguments by name, as they were before the call.
        found: outputs and results of the device, by name.
        rtol, atol: the tolerance given by the user.
    """

    rule: Rule
    given: dict[str, Any]
    found: dict[str, Any]
    rtol: float | None = None
    atol: float | None = None

    @functools.cached_property
    def expected(self) -> dict[str, Any]:
        """The outputs and results of `ours`."""
        return self._compute(lambda _, value: value)

    @functools.cached_property
    def magnitudes(self) -> dict[str, Any]:
        """The sums of the absolute values of all products."""

        def absolute(name: str, value: Tensor) -> Tensor:
            return -value.abs() if name == self.rule.subtracted else value.abs()

        linear = self.changed(act_type=None) if "act_type" in self.given else self
        return {name: abs(value) for name, value in linear._compute(absolute).items()}

    def changed(self, **arguments: Any) -> Call:
        """Returns the call with other arguments."""
        return dataclasses.replace(self, given={**self.given, **arguments})

    def _compute(self, convert: Callable[[str, Tensor], Tensor]) -> dict[str, Any]:
        arguments = dict(self.given)
        for name, value in arguments.items():
            if isinstance(value, Tensor) and value.is_floating_point():
                is_widened = self.rule.widened and value.dtype in HALF_TYPES
                arguments[name] = convert(name, value.float() if is_widened else value)
        return self.rule.run(arguments)


class Copies:
    """Copies values to the CPU and counts the bytes."""

    def __init__(self) -> None:
        self.bytes = 0

    def of(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            copy = value.detach().to("cpu", copy=True)
            self.bytes += copy.numel() * copy.element_size()
            return copy
        if isinstance(value, np.ndarray):
            self.bytes += value.nbytes
            return value.copy()
        if type(value) in (list, tuple):
            return type(value)(map(self.of, value))
        if type(value) is dict:
            return {name: self.of(each) for name, each in value.items()}
        return value
