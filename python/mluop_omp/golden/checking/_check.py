"""The context manager of a check: intercepts functions, repeats each call, collects results."""

from __future__ import annotations

import collections
import contextlib
import copy
import fnmatch
import importlib
import os
import sys
import threading
import weakref
from collections.abc import Container, Iterable, Iterator
from typing import Any

import torch

from mluop_omp.golden.checking import _cases, _places, _report
from mluop_omp.golden.checking._calls import Call, Copies, Rule
from mluop_omp.golden.checking._report import CheckedCall, CheckFailure
from mluop_omp.golden.checking._rulebooks import SitesOfPairs
from mluop_omp.golden.checking._rules import mmcv_rules, spconv_rules
from mluop_omp.golden.checking._shadows import Function, Shadows
from mluop_omp.golden.comparison._criteria import check_integer, check_tolerance

# `working` is set in a thread while this library computes; its own calls are not checked.
_local = threading.local()


class Check:
    """A check of a block; `mluop_omp.check` returns it.

    Attributes:
        calls: the `CheckedCall`s, in the order in which they end.
        copied_bytes: bytes of arguments and results that were copied to the CPU.
        own_calls: the number of calls that this library computed itself; they are not checked.
    """

    def __init__(
        self,
        model: torch.nn.Module | None,
        operators: str | Iterable[str] | None,
        calls: int | Container[int] | None,
        raise_on_failure: bool,
        cases: str | os.PathLike[str] | None,
        rtol: float | None,
        atol: float | None,
    ) -> None:
        if model is not None and not isinstance(model, torch.nn.Module):
            raise TypeError(f"model is of type {type(model).__name__}, expected torch.nn.Module")
        if operators is not None and not isinstance(operators, Iterable):
            raise TypeError(f"operators is of type {type(operators).__name__}, expected names")
        if calls is not None and (isinstance(calls, str) or not isinstance(calls, Container)):
            calls = check_integer("calls", calls, 0, sys.maxsize)
        self.calls: list[CheckedCall] = []
        self.copied_bytes = self.own_calls = 0
        names = (operators,) if isinstance(operators, str) else operators
        self._operators = ("*",) if names is None else tuple(names)
        self._selected, self._raise = calls, raise_on_failure
        self._cases = None if cases is None else os.fspath(cases)
        self._rtol, self._atol = check_tolerance("rtol", rtol), check_tolerance("atol", atol)
        modules = () if model is None else model.named_modules()
        self._names = {module: name for name, module in modules}
        self._shadows = Shadows()
        self._sites = SitesOfPairs()
        self._lock = threading.Lock()
        self._begun = 0
        self._of_site: collections.Counter[tuple[str, str, str]] = collections.Counter()
        self._failed_sites: set[tuple[str, str, str]] = set()
        self._entered = False
        self._process = os.getpid()

    @property
    def failures(self) -> list[CheckedCall]:
        """The calls with a wrong output."""
        return [call for call in self.calls if call.verdict == _report.DIFFERS]

    def __bool__(self) -> bool:
        return bool(self.calls) and all(call.verdict in _report.CHECKED for call in self.calls)

    def __str__(self) -> str:
        return _report.text_of(self.calls, self.copied_bytes, self.own_calls)

    __repr__ = __str__

    def __enter__(self) -> Check:
        if self._entered:
            raise RuntimeError("a check serves one block: call mluop_omp.check again")
        functions = list(self._functions())
        if self._cases is not None:
            os.makedirs(self._cases, exist_ok=True)
        self._entered, self._process = True, os.getpid()
        try:
            self._shadows.install(functions)
        except BaseException:
            self._shadows.remove()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self._shadows.remove()

    def _functions(self) -> Iterator[tuple[Any, str, Any]]:
        """Yields modules, names of functions and the functions that intercept their calls."""
        rules = [(module, rule) for module, own in _libraries() for rule in own]
        if not rules:
            raise ValueError(
                "neither mmcv.ops nor spconv.pytorch has been imported: nothing to check"
            )
        known = {rule.name for _, rule in rules}
        for pattern in self._operators:
            if not fnmatch.filter(known, pattern):
                raise ValueError(
                    f"operators has {pattern!r}, expected some of {', '.join(sorted(known))}"
                )
        for module, rule in rules:
            is_chosen = any(fnmatch.fnmatch(rule.name, pattern) for pattern in self._operators)
            if is_chosen and callable(vars(module).get(rule.name)):
                yield module, rule.name, self._interceptor(rule)

    def _interceptor(self, rule: Rule) -> Any:
        def intercept(original: Function, arguments: tuple, named: dict[str, Any]) -> Any:
            if getattr(_local, "working", False) or os.getpid() != self._process:
                return original(*arguments, **named)
            # The installed function computes CPU tensors itself.
            is_ours = getattr(original, "is_ours", None)
            if is_ours is not None and is_ours(arguments, named):
                with self._lock:
                    self.own_calls += 1
                return original(*arguments, **named)
            call = self._begin(rule)
            if call is None:
                return original(*arguments, **named)
            return self._run(call, rule, original, arguments, named)

        return intercept

    def _run(
        self,
        call: CheckedCall,
        rule: Rule,
        original: Function,
        arguments: tuple,
        named: dict[str, Any],
    ) -> Any:
        copies, given = Copies(), None
        try:
            bound = rule.bind(arguments, named)
            call.tensors = _report.tensors_of(bound)
            given = copies.of(bound)
        except Exception as error:  # Uncopyable or unexpected arguments: the call is not checked.
            call.notes.append(_reason(error))
        result = original(*arguments, **named)
        if given is not None:
            with _working():
                self._judge(call, rule, given, bound, result, copies)
        with self._lock:
            self.copied_bytes += copies.bytes
            self.calls.append(call)
        if self._raise and call.verdict == _report.DIFFERS:
            raise CheckFailure(call)
        return result

    def _begin(self, rule: Rule) -> CheckedCall | None:
        """Numbers a call; returns it if it is selected."""
        module, caller = _places.module(self._names), _places.caller()
        context = _places.autograd_context()
        if context is not None:
            # A backward call is reported at the place of its forward call.
            places = context.__dict__.setdefault("_mluop_omp_places", weakref.WeakKeyDictionary())
            module, caller = places.setdefault(self, (module, caller))
        with self._lock:
            number = self._begun
            self._begun += 1
            call = CheckedCall(number, rule.name, module, caller)
            self._of_site[call.site] += 1
            if isinstance(self._selected, int):
                return call if self._of_site[call.site] <= self._selected else None
            return call if self._selected is None or number in self._selected else None

    def _judge(
        self,
        call: CheckedCall,
        rule: Rule,
        given: dict[str, Any],
        bound: dict[str, Any],
        result: Any,
        copies: Copies,
    ) -> None:
        try:
            of_device = rule.collect(bound, result)
            on_cpu = Call(rule, given, copies.of(of_device), self._rtol, self._atol)
            if rule.sites:
                sites = given["indices"], on_cpu.found[rule.sites]
                self._sites.add(of_device[rule.pairs], *sites)
            findings = rule.judge(on_cpu)
            if rule.pairs and not rule.sites:
                self._sites.describe(on_cpu, bound[rule.pairs], findings)
        except Exception as error:  # For example, the library refuses the arguments.
            call.notes.append(_reason(error))
            return
        call.differences, call.notes = findings.differences, findings.notes
        if not findings.differences:
            call.verdict = _report.ROUNDING if findings.rounding else _report.EQUAL
            return
        call.verdict = _report.DIFFERS
        with self._lock:
            is_first = call.site not in self._failed_sites
            self._failed_sites.add(call.site)
        if not is_first:  # Only the first failure of a site keeps its tensors, for `html`.
            call.differences = copy.deepcopy(call.differences)
        if self._cases is not None and is_first:
            try:
                call.case = _cases.write(self._cases, call.number, on_cpu, findings)
            except Exception as error:  # For example, the disk is full: the network goes on.
                reason = error if isinstance(error, ValueError) else _reason(error)
                call.notes.append(f"no case is written: {reason}")


def _libraries() -> Iterator[tuple[Any, list[Rule]]]:
    """Yields the imported modules of operators with the rules of their functions."""
    if "mmcv.ops" in sys.modules or "mmcv._ext" in sys.modules:
        yield importlib.import_module("mmcv._ext"), mmcv_rules()
    if "spconv.pytorch.ops" in sys.modules:
        yield sys.modules["spconv.pytorch.ops"], spconv_rules()


def _reason(error: Exception) -> str:
    first = (str(error).splitlines() or [""])[0]
    return f"{type(error).__name__}: {first}"


@contextlib.contextmanager
def _working() -> Iterator[None]:
    """Computes on the CPU outside of the network: without gradients, autocast or default device."""
    _local.working = True
    try:
        with torch.device("cpu"), torch.no_grad(), torch.autocast("cpu", enabled=False):
            yield
    finally:
        _local.working = False
