"""The context manager of a check: intercepts functions, repeats each call, collects results."""

from __future__ import annotations

import collections
import contextlib
import copy
import fnmatch
import importlib
import itertools
import os
import sys
import threading
import weakref
from collections.abc import Container, Iterable, Iterator
from typing import Any

import torch
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

from mluop_omp.golden.checking import _cases, _layers, _operations, _places, _report
from mluop_omp.golden.checking._calls import Call, Copies, Findings, Rule
from mluop_omp.golden.checking._report import CheckedCall, CheckFailure
from mluop_omp.golden.checking._rulebooks import SitesOfPairs
from mluop_omp.golden.checking._rules import mmcv_rules, spconv_rules
from mluop_omp.golden.checking._shadows import Function, Shadows
from mluop_omp.golden.comparison._criteria import check_integer, check_tolerance
from mluop_omp.golden.runs._operations import Operation, Operations, is_backward, tensors_of
from mluop_omp.golden.runs._sources import leaves

# `working` is set in a thread while this library computes; its own calls are not checked.
_local = threading.local()


class Check:
    """A check of a block; `mluop_omp.check` returns it.

    Attributes:
        calls: the `CheckedCall`s, in the order in which they end.
        copied_bytes: bytes of arguments and results that were copied to the CPU.
        own_calls: the number of calls that this library computed itself; they are not checked.
        not_compared: the numbers of operations of PyTorch whose results are open, by the reason,
            such as "random", and the name.
    """

    def __init__(
        self,
        model: torch.nn.Module | None,
        operators: str | Iterable[str] | None,
        calls: int | Container[int] | None,
        operations: bool,
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
        self.not_compared: collections.Counter[tuple[str, str]] = collections.Counter()
        self._operations = Operations(self._before, self._after) if operations else None
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
        self._entered = self._ended = False
        self._handles: list[Any] = []
        self._process = os.getpid()

    @property
    def failures(self) -> list[CheckedCall]:
        """The calls with a wrong output."""
        return [call for call in self.calls if call.verdict == _report.DIFFERS]

    def __bool__(self) -> bool:
        return bool(self.calls) and all(call.verdict in _report.CHECKED for call in self.calls)

    def __str__(self) -> str:
        notes = _operations.counted_by_reason(self.not_compared)
        return _report.text_of(self.calls, self.copied_bytes, self.own_calls, list(notes))

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Returns the report in a form that json.dumps accepts."""
        return {
            "agrees": bool(self),
            "calls": [call.to_dict() for call in self.calls],
            "copied_bytes": self.copied_bytes,
            "own_calls": self.own_calls,
            "not_compared": [
                {"reason": reason, "operator": name, "calls": count}
                for (reason, name), count in self.not_compared.items()
            ],
        }

    def __enter__(self) -> Check:
        if self._entered:
            raise RuntimeError("a check serves one block: call mluop_omp.check again")
        functions = list(self._functions())
        if self._cases is not None:
            os.makedirs(self._cases, exist_ok=True)
        self._entered, self._process = True, os.getpid()
        try:
            self._shadows.install(functions)
            if _has_layers():
                self._handles.append(register_module_forward_hook(self._layer, with_kwargs=True))
            if self._operations is not None:
                self._handles += _threads_of_modules(self._operations)
                self._operations.enter(self)
        except BaseException:
            self._shadows.remove()
            for handle in self._handles:
                handle.remove()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self._shadows.remove()
        for handle in self._handles:
            handle.remove()
        if self._operations is not None:
            self._operations.leave(self)
        self._ended = True

    def _functions(self) -> Iterator[tuple[Any, str, Any]]:
        """Yields modules, names of functions and the functions that intercept their calls."""
        rules = [(module, rule) for module, own in _libraries() for rule in own]
        if not rules and not _has_layers() and self._operations is None:
            raise ValueError(
                "neither mmcv.ops nor spconv.pytorch nor MinkowskiEngine nor torchsparse has been "
                "imported: nothing to check"
            )
        known = {rule.name for _, rule in rules} | (
            _layers.RULES.keys() if _has_layers() else set()
        )
        for pattern in self._operators:
            if not fnmatch.filter(known, pattern) and self._operations is None:
                raise ValueError(
                    f"operators has {pattern!r}, expected some of {', '.join(sorted(known))}"
                )
        for module, rule in rules:
            if self._chooses(rule.name) and callable(vars(module).get(rule.name)):
                yield module, rule.name, self._interceptor(rule)

    def _chooses(self, *names: str) -> bool:
        pairs = itertools.product(names, self._operators)
        return any(fnmatch.fnmatch(name, pattern) for name, pattern in pairs)

    def _layer(self, layer: torch.nn.Module, inputs: tuple, named: Any, output: Any) -> None:
        """Checks a call of a layer of MinkowskiEngine or torchsparse."""
        known = _layers.rule_of(layer)
        is_other = getattr(_local, "working", False) or os.getpid() != self._process
        if known is None or is_other or self._ended or not self._chooses(known[0].name):
            return
        rule, is_ours = known
        if is_ours:
            with self._lock:
                self.own_calls += 1
            return
        call = self._begin(rule.name, _places.module(self._names), _places.caller())
        if call is None:
            return
        copies, input = Copies(), inputs[0] if inputs else named["input"]
        with _working():
            try:
                on_cpu = _layers.call_of(rule, layer, input, output, copies)
                on_cpu.rtol, on_cpu.atol = self._rtol, self._atol
                call.tensors = _report.tensors_of(on_cpu.given)
                findings = rule.judge(on_cpu)
                _layers.describe(findings, output)
                self._conclude(call, findings)
            except Exception as error:  # For example, a kernel that no rule describes.
                call.notes.append(_reason(error))
        self._end(call, copies)

    def _before(self, operation: Operation) -> None:
        """Begins the check of an operation of PyTorch."""
        is_other = getattr(_local, "working", False) or os.getpid() != self._process
        names = operation.name, operation.kind
        if is_other or self._ended or is_backward() or not self._chooses(*names):
            return
        if operation.kind.startswith("mluop_omp."):
            with self._lock:
                self.own_calls += 1
            return
        call = self._begin(operation.kind, _places.module(self._names), operation.line)
        if call is None:
            return
        call.is_operation = True
        inputs = tensors_of(operation.inputs)
        call.tensors = _report.tensors_of({f"input {path}": each for path, each in inputs})
        copies = Copies()
        with _working():
            given = None if operation.aliases else _arguments(operation, copies)
        operation.call = _operations.Observed(call, copies, given)

    def _after(self, operation: Operation, result: Any) -> None:
        call, copies, given = operation.call
        if not any(True for _ in leaves(operation.results(result)[0])):
            return  # It computes nothing, such as a property of a tensor.
        with _working():
            try:
                found = copies.of(_operations.outputs_of(operation, result))
                given = _arguments(operation, copies) if given is None else given
                findings = _operations.judge(operation, given, found, self._rtol, self._atol)
                self._conclude(call, findings)
            except _operations.Open as reason:
                with self._lock:
                    self.not_compared[str(reason), operation.kind] += 1
                    self.copied_bytes += copies.bytes
                return
            except Exception as error:  # For example, the CPU has no such kernel.
                call.notes.append(_reason(error))
        self._end(call, copies)

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
            call = self._begin_function(rule.name)
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
        self._end(call, copies)
        return result

    def _end(self, call: CheckedCall, copies: Copies) -> None:
        with self._lock:
            self.copied_bytes += copies.bytes
            self.calls.append(call)
        if self._raise and call.verdict == _report.DIFFERS:
            raise CheckFailure(call)

    def _begin_function(self, name: str) -> CheckedCall | None:
        """Begins a call of mmcv or spconv."""
        module, caller = _places.module(self._names), _places.caller()
        context = _places.autograd_context()
        if context is not None:
            # A backward call is reported at the place of its forward call.
            places = context.__dict__.setdefault("_mluop_omp_places", weakref.WeakKeyDictionary())
            module, caller = places.setdefault(self, (module, caller))
        return self._begin(name, module, caller)

    def _begin(self, name: str, module: str, caller: str) -> CheckedCall | None:
        """Numbers a call; returns it if it is selected."""
        with self._lock:
            number = self._begun
            self._begun += 1
            call = CheckedCall(number, name, module, caller)
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
        is_first = self._conclude(call, findings)
        if self._cases is not None and is_first:
            try:
                call.case = _cases.write(self._cases, call.number, on_cpu, findings)
            except Exception as error:  # For example, the disk is full: the network goes on.
                reason = error if isinstance(error, ValueError) else _reason(error)
                call.notes.append(f"no case is written: {reason}")

    def _conclude(self, call: CheckedCall, findings: Findings) -> bool:
        """Completes a call; returns whether it is the first failure of its site."""
        call.differences, call.notes = findings.differences, findings.notes
        if not findings.differences:
            call.verdict = _report.ROUNDING if findings.rounding else _report.EQUAL
            return False
        call.verdict = _report.DIFFERS
        with self._lock:
            is_first = call.site not in self._failed_sites
            self._failed_sites.add(call.site)
        if not is_first:  # Only the first failure of a site keeps its tensors, for `html`.
            call.differences = copy.deepcopy(call.differences)
        return is_first


def _arguments(operation: Operation, copies: Copies) -> _operations.Arguments:
    """Copies the arguments of an operation."""
    return tuple(map(copies.of, operation.args)), copies.of(operation.kwargs)


def _threads_of_modules(operations: Operations) -> Iterator[Any]:
    """Observes the threads in which modules are called: DataParallel starts some."""
    yield register_module_forward_pre_hook(lambda module, _: operations.enter(module))
    yield register_module_forward_hook(
        lambda module, *_: operations.leave(module), always_call=True
    )


def _libraries() -> Iterator[tuple[Any, list[Rule]]]:
    """Yields the imported modules of operators with the rules of their functions."""
    if "mmcv.ops" in sys.modules or "mmcv._ext" in sys.modules:
        yield importlib.import_module("mmcv._ext"), mmcv_rules()
    if "spconv.pytorch.ops" in sys.modules:
        yield sys.modules["spconv.pytorch.ops"], spconv_rules()


def _has_layers() -> bool:
    return "MinkowskiEngine" in sys.modules or "torchsparse" in sys.modules


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
