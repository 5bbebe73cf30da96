"""Hooks that record the calls of the modules of a model."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import re
import threading
import traceback
from collections.abc import Iterator
from typing import Any, Callable, NamedTuple

import torch
from torch import Tensor, nn
from torch._dynamo import eval_frame

from mluop_omp.golden._text import module_label
from mluop_omp.golden.comparison import SparseSites
from mluop_omp.golden.runs._changes import Watched
from mluop_omp.golden.runs._exported import Seen, is_exported
from mluop_omp.golden.runs._names import contains
from mluop_omp.golden.runs._operations import Operation, Operations, Unchanged, is_backward
from mluop_omp.golden.runs._sources import described, leaves
from mluop_omp.golden.runs._state import RecordedState
from mluop_omp.golden.runs._writer import RunWriter, Sites

Entry = dict[str, Any]
_MAX_SPARSE = 16
_WITHOUT_HOOKS = torch.jit.ScriptModule


def _hook(function: Callable[..., None]) -> Callable[..., None]:
    """Makes an exception of a hook end the recording, even if the model handles it."""

    @functools.wraps(function)
    def hook(self: Recorder, *arguments: Any) -> None:
        with self._lock, torch._C.DisableTorchFunction():
            if not self._handles or self._failure is not None:
                return
            try:
                function(self, *arguments)
            except BaseException as error:
                self._failure = error
                raise

    return hook


class _Begun(NamedTuple):
    """A call that has begun, and its inputs by path."""

    module: nn.Module
    call: Entry
    inputs: dict[str, Watched]


class Recorder:
    """Records the calls in the block of `recording()`. Calls may come from several threads.

    Attributes:
        ended: the exception that ended the block, which is recorded; None if none, or if the
            recording itself has failed.
    """

    def __init__(
        self, writer: RunWriter, *, state: bool, gradients: bool, operations: bool
    ) -> None:
        self._writer, self._gradients = writer, gradients
        self._operations = Operations(self._begins, self._ends) if operations else None
        self.ended: BaseException | None = None
        # The exception of a hook that ended the recording.
        self._failure: BaseException | None = None
        self._modules, self._read = re.compile(""), Unchanged()
        self._lock = threading.RLock()
        self._handles: list[Any] = []
        self._counts: collections.Counter[Any] = collections.Counter()
        # The latest sparse tensors by number of rows.
        self._sparse: dict[int, SparseSites] = {}
        # The calls that have begun in each thread.
        self._begun: dict[int, list[_Begun]] = collections.defaultdict(list)
        self._state = RecordedState(writer) if state else None

    @contextlib.contextmanager
    def recording(self, model: nn.Module, modules: re.Pattern[str]) -> Iterator[None]:
        """Records the calls of the modules whose names match."""
        self._modules = modules
        try:
            self._install(model, modules)
            try:
                with contextlib.nullcontext() if self._operations is None else self._operations:
                    yield
            except BaseException as error:
                self.ended = error
        finally:
            with self._lock:
                for handle in self._handles:
                    handle.remove()
                self._handles.clear()
                self._sparse.clear()
        if isinstance(self._failure, Exception):
            self.ended = None
            raise self._failure
        # An interrupt of a hook is one of the block, even if the model handles it.
        self.ended = self.ended or self._failure
        if self.ended is not None:
            self._end(self.ended)
        elif self._state is not None:
            self._state.record_changes()

    def _end(self, error: BaseException) -> None:
        """Records the calls that an exception has ended, and the exception."""
        inside = _modules_of(error)
        innermost = None
        for thread, begun in self._begun.items():
            # Without calls that ended by an exception which the model handled.
            is_own = thread == threading.get_ident()
            for module, call, _ in reversed(begun):
                if is_own and id(module) not in inside:
                    continue
                if is_own and innermost is None:
                    innermost = call
                self._writer.line("calls", {**call, "outputs": []})
        reason = class_name(type(error))
        with contextlib.suppress(Exception):
            reason += f": {error}" if str(error) else ""
        if innermost is not None:
            kind = innermost["class"].rpartition(".")[2]
            reason += f", in {module_label(innermost['module'], kind)}"
        self._writer.end(" ".join(reason.split()))

    def _install(self, model: nn.Module, modules: re.Pattern[str]) -> None:
        graphs = {name: each for name, each in model.named_modules() if is_exported(each)}
        for name, module in model.named_modules():
            if modules.fullmatch(name) is None or isinstance(module, _WITHOUT_HOOKS):
                continue
            if any(contains(graph, name) for graph in graphs):  # Holds parameters of a graph.
                continue
            before = functools.partial(self._before, name)
            after = functools.partial(self._after, name)
            self._handles.append(module.register_forward_pre_hook(before, with_kwargs=True))
            self._handles.append(module.register_forward_hook(after, with_kwargs=True))
        for name, graph in graphs.items():
            hooks = (self._within(each, name, modules) for each in (self._before, self._after))
            self._handles.append(Seen(graph, *hooks))
        if not self._handles:
            raise ValueError(
                f"modules is {modules.pattern!r}, which matches no module that can be "
                "recorded; modules of torch.jit cannot"
            )
        for name, parameter in model.named_parameters():
            self._observe(parameter, {"parameter": name}, f"{name}.gradient", None)

    @staticmethod
    def _within(hook: Callable[..., None], graph: str, modules: re.Pattern[str]) -> Any:
        """Returns a hook for the calls in an exported graph."""

        def of_graph(name: str, *arguments: Any) -> None:
            whole = f"{graph}.{name}" if graph else name
            if modules.fullmatch(whole):
                hook(whole, *arguments)

        return of_graph

    @_hook
    def _before(self, name: str, module: nn.Module, args: tuple, kwargs: dict) -> None:
        if is_backward():
            return
        kind = class_name(type(module))
        call: Entry = {"module": name, "call": self._counts[name], "class": kind}
        self._counts[name] += 1
        if self._state is not None and call["call"] == 0:
            call["state"] = self._state.record(name, module)
        if name == "" and call["call"] == 0:
            # As replay() calls the model again.
            with contextlib.suppress(TypeError):
                positional = [described(each, str(k)) for k, each in enumerate(args)]
                call["arguments"] = {"tuple": [{"tuple": positional}, described(kwargs)]}
        inputs = self._record(call, "input", {**dict(enumerate(args)), **kwargs})
        self._begun[threading.get_ident()].append(_Begun(module, call, inputs))
        if self._operations is not None:
            self._operations.enter(module)

    @_hook
    def _after(self, name: str, module: nn.Module, args: tuple, kwargs: dict, output: Any) -> None:
        if is_backward():
            return
        begun = self._begun[threading.get_ident()]
        # Drops calls that ended by an exception which the model handled; they have no output.
        while begun and begun[-1].module is not module:
            begun.pop()
        if not begun:
            return  # begun before the recording
        _, call, inputs = begun[-1]
        if self._operations is not None:
            self._operations.leave(module)
        self._record(call, "output", output)
        self._record_written(call, inputs)
        self._writer.line("calls", call)
        begun.pop()

    @_hook
    def _begins(self, operation: Operation) -> None:
        begun = self._begun[threading.get_ident()]
        if is_backward() or not (begun or self._modules.fullmatch("")):
            return
        name = f"{begun[-1][1]['module'] if begun else ''}::{operation.name}"
        operation.call = {"module": name, "call": self._counts[name]}
        operation.call.update({"class": operation.kind, "line": operation.line})
        self._counts[name] += 1
        if not operation.aliases:
            self._record(operation.call, "input", operation.inputs)

    @_hook
    def _ends(self, operation: Operation, result: Any) -> None:
        outputs, written = operation.results(result)
        if all(not isinstance(each, Tensor) for _, each in leaves(outputs)):
            return
        call = operation.call
        if operation.aliases:
            self._record(call, "input", operation.inputs)
        self._record(call, "output", outputs)
        if written:
            label = f"{call['module']}.{call['call']}.written"
            entries = ((path, self._writer.add(label, each)[0]) for path, each in written.items())
            call["written"] = [{"path": path, **entry} for path, entry in entries]
        self._writer.line("calls", call)

    @_hook
    def _gradient(self, description: Entry, label: str, sites: Sites | None, grad: Any) -> None:
        if grad is None:
            return
        key = tuple(description.values())
        numbered = {**description, "backward": self._counts[key]}
        self._counts[key] += 1
        for _, leaf in leaves(grad):
            entry, _ = self._writer.add(label, leaf, sites)
            self._writer.line("gradients", {**numbered, **entry})

    def _record(self, call: Entry, role: str, value: Any) -> dict[str, Watched]:
        """Records the tensors in the inputs or outputs of a call, and returns them by path."""
        entries: dict[str, Entry] = {}
        recorded: dict[str, Watched] = {}
        skipped: list[Entry] = []
        for path, leaf in leaves(value):
            # Different keys of a dict may have the same text.
            while path in entries:
                path += "'"
            if isinstance(leaf, type):
                entries[path] = {}
                skipped.append({"of": role, "path": path, "type": class_name(leaf)})
                continue
            parts = (call["module"], str(call["call"]), role, path)
            label = ".".join(part for part in parts if part)
            known = self._known_sites(leaf)
            # PyTorch may not know of a change of other tensors.
            is_parameter = isinstance(leaf, nn.Parameter) and "line" in call
            earlier = self._read.get(leaf) if is_parameter else None
            source = leaf if known is None else known
            entry, sites = self._writer.add(label, source) if earlier is None else earlier
            if role == "input" and "line" not in call:
                recorded[path] = Watched(source)
            if is_parameter:
                self._read.add(leaf, (entry, sites))
            entries[path] = {"path": path, **entry}
            if known is not None and sites is not None:
                entries[path]["inferred"] = True
            place = {"module": call["module"], "call": call["call"], "of": role, "path": path}
            self._observe(leaf, place, f"{label}.gradient", sites)
        call[f"{role}s"] = list(filter(None, entries.values()))
        if skipped:
            call["not_recorded"] = [*call.get("not_recorded", ()), *skipped]
        return recorded

    def _record_written(self, call: Entry, inputs: dict[str, Watched]) -> None:
        """Records the inputs that a call has changed in place."""
        recorded = {entry["path"]: entry for entry in call["inputs"]}
        written = []
        for path, watched in inputs.items():
            leaf = watched.changed()
            if leaf is None:
                continue
            parts = (call["module"], str(call["call"]), "written", path)
            entry, _ = self._writer.add(".".join(part for part in parts if part), leaf)
            before = recorded[path]
            if any(
                entry[part] != before.get(part) for part in ("tensor", "indices") if part in entry
            ):
                written.append({**before, **entry})
        if written:
            call["written"] = written

    def _known_sites(self, leaf: Any) -> SparseSites | None:
        """Returns a dense tensor at the sites of the latest sparse tensor with equally many rows.

        Layers such as normalizations take and return features without their sites.
        """
        if isinstance(leaf, SparseSites):
            self._sparse.pop(len(leaf.features), None)
            self._sparse[len(leaf.features)] = dataclasses.replace(leaf, features=None)
            if len(self._sparse) > _MAX_SPARSE:
                self._sparse.pop(next(iter(self._sparse)))
        elif isinstance(leaf, Tensor) and leaf.dim() == 2 and len(leaf) > 1:
            known = self._sparse.get(len(leaf))
            if known is not None and leaf.is_floating_point():
                return dataclasses.replace(known, features=leaf)
        return None

    def _observe(self, leaf: Any, place: Entry, label: str, sites: Sites | None) -> None:
        """Records the gradients of a tensor that requires one."""
        variable = _variable(leaf)
        if self._gradients and variable is not None:
            hook = functools.partial(self._gradient, place, label, sites)
            self._handles.append(variable.register_hook(hook))


def class_name(kind: type) -> str:
    is_builtin = kind.__module__ == "builtins"
    return kind.__qualname__ if is_builtin else f"{kind.__module__}.{kind.__qualname__}"


def _modules_of(error: BaseException) -> set[int]:
    """Returns the identities of the objects whose methods an exception has passed."""
    frames = traceback.walk_tb(error.__traceback__)
    return {id(frame.f_locals.get("self")) for frame, _ in frames}


def _variable(leaf: Any) -> Tensor | None:
    """Returns the tensor of a leaf if it requires a gradient."""
    tensor = leaf.features if isinstance(leaf, SparseSites) else leaf
    return tensor if isinstance(tensor, Tensor) and tensor.requires_grad else None


def require_eager(model: nn.Module) -> None:
    """Raises ValueError if a module runs compiled: torch.compile bypasses hooks."""
    if eval_frame._stance.stance == "force_eager":
        return
    for name, module in model.named_modules():
        is_wrapper = type(module).__module__.startswith("torch._dynamo")
        if is_wrapper or getattr(module, "_compiled_call_impl", None) is not None:
            which = f"module {name!r}" if name else "model"
            raise ValueError(
                f"{which} is compiled by torch.compile, which bypasses hooks: record the model "
                "before it is compiled, or its _orig_mod, or use a block of "
                "torch.compiler.set_stance('force_eager')"
            )


def differentiate(model: nn.Module, inputs: Any, outputs: Any) -> None:
    """Computes the gradients of the sum of the outputs without changing any `grad`."""
    targets = [each for each in _variables(outputs) if each.is_floating_point()]
    if not targets:
        raise ValueError(
            "gradients is True, but no output requires a gradient: torch.no_grad or "
            "torch.inference_mode is on, or no parameter requires one"
        )
    sources = [parameter for parameter in model.parameters() if parameter.requires_grad]
    sources += [each for each in _variables(inputs) if each.is_leaf]
    ones = [torch.ones_like(target) for target in targets]
    torch.autograd.grad(targets, sources, ones, allow_unused=True)


def _variables(value: Any) -> list[Tensor]:
    return [each for _, leaf in leaves(value) if (each := _variable(leaf)) is not None]
