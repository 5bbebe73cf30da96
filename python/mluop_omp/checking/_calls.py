"""A call of an operator: its arguments and what the device found, on the CPU."""

from __future__ import annotations

import collections
import dataclasses
import functools
import inspect
from typing import Any, Callable, Union

import numpy as np
import torch

from mluop_omp.comparison import Comparison
from mluop_omp.torch._precision import LOWER_PRECISION


@dataclasses.dataclass(frozen=True)
class Rule:
    """An operator of mmcv or spconv.

    Attributes:
        name: that of the function that is replaced.
        ours: computes it, with the arguments of the original, tensors of the CPU.
        judge: compares what the device has found with it.
        outputs: the arguments that it writes.
        results: the name of what it returns; or names of the first elements of a tuple or list,
            the others of which are not compared.
        axes: names of the dimensions of an output.
        widened: ours is computed in float32 where the arguments are half or bfloat16.
        subtracted: the arguments whose products are subtracted from the sums.
        terms: the most terms of a sum.
        layout: that of filters, of `FILTER_LAYOUTS`.
        linear: arguments without which the results are sums of products.
        pairs: of a rulebook, the result with its index pairs; else the argument.
        sites: of a rulebook, the result with the output sites.
    """

    name: str
    ours: Callable[..., Any]
    judge: Callable[[Call], Findings]
    outputs: tuple[str, ...] = ()
    results: str | tuple[str, ...] = ()
    axes: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    widened: bool = False
    subtracted: tuple[str, ...] = ()
    terms: Callable[[Call], int] = lambda _: 1
    layout: str = ""
    linear: dict[str, Any] = dataclasses.field(default_factory=dict)
    pairs: str = ""
    sites: str = ""

    @functools.cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self.ours)

    def bind(self, arguments: tuple, named: dict[str, Any]) -> dict[str, Any]:
        """Returns the arguments by name. Raises TypeError if ours has others."""
        return dict(self._signature.bind(*arguments, **named).arguments)

    def call(self, arguments: dict[str, Any]) -> Any:
        bound = inspect.BoundArguments(self._signature, collections.OrderedDict(arguments))
        return self.ours(*bound.args, **bound.kwargs)

    def collect(self, arguments: dict[str, Any], result: Any) -> dict[str, Any]:
        """Returns outputs and results by name."""
        outputs = {name: arguments[name] for name in self.outputs}
        if isinstance(self.results, str):
            return {**outputs, self.results: result}
        return outputs | dict(zip(self.results, result if self.results else ()))


# How an output differs.
Difference = Union[Comparison, str]


@dataclasses.dataclass
class Findings:
    """What a judge finds.

    Attributes:
        differences: of outputs that are wrong.
        notes: what reproduces or explains them.
        rounding: the number of elements that differ where rounding decides, which is no difference.
    """

    differences: dict[str, Difference] = dataclasses.field(default_factory=dict)
    notes: list[str] = dataclasses.field(default_factory=list)
    rounding: int = 0

    def add(self, name: str, difference: Difference | None) -> None:
        if difference is not None:
            self.differences[name] = difference


@dataclasses.dataclass
class Call:
    """A call on the CPU.

    Attributes:
        rule: the operator.
        given: arguments by name, as they were before the call.
        found: outputs and results by name.
        rtol, atol: the tolerance of the user.
    """

    rule: Rule
    given: dict[str, Any]
    found: dict[str, Any]
    rtol: float | None = None
    atol: float | None = None

    @functools.cached_property
    def expected(self) -> dict[str, Any]:
        return self.compute()

    def compute(self, absolute: bool = False, **changes: Any) -> dict[str, Any]:
        """Returns outputs and results of ours, of other arguments, or sums of absolute values."""
        arguments = {**self.given, **changes, **(self.rule.linear if absolute else {})}
        for name in self.rule.outputs:
            arguments[name] = arguments[name].clone()
        for name, value in arguments.items():
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                if self.rule.widened and value.dtype in LOWER_PRECISION:
                    value = value.float()
                if absolute:
                    value = -value.abs() if name in self.rule.subtracted else value.abs()
                arguments[name] = value
        result = self.rule.call(dict(arguments))
        values = self.rule.collect(arguments, result)
        return {name: abs(value) for name, value in values.items()} if absolute else values


class Copies:
    """Copies of arguments on the CPU, and the bytes that they take."""

    def __init__(self) -> None:
        self.bytes = 0

    def of(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
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
