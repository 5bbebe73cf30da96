"""Hooks that record the calls of the modules of a model."""

from __future__ import annotations

import collections
import functools
import re
import threading
from typing import Any, Callable

import torch
from torch import Tensor, nn

from mluop_omp.golden.runs._sources import Source, SparseLeaf, Unrecorded, leaves
from mluop_omp.golden.runs._writer import RunWriter, Sites

Entry = dict[str, Any]
_MAX_SPARSE = 16
_WITHOUT_HOOKS = torch.jit.ScriptModule


def _hook(function: Callable[..., None]) -> Callable[..., None]:
    """Makes an exception of a hook end the recording, even if the model handles it."""

    @functools.wraps(function)
    def hook(self: Recorder, *arguments: Any) -> None:
        with self._lock:
            if not self._handles or self.failure is not None:
                return
            try:
                function(self, *arguments)
            except BaseException as error:
                self.failure = error
                raise

    return hook


class Recorder:
    """Records calls from `install()` until `remove()`. Calls may come from several threads.

    Attributes:
        failure: the exception that ended the recording.
    """

    def __init__(
        self,
        model: nn.Module,
        writer: RunWriter,
        *,
        state: bool,
        gradients: bool,
        modules: str | None,
    ) -> None:
        self.failure: BaseException | None = None
        self._state = state
        self._model, self._writer, self._gradients = model, writer, gradients
        try:
            self._modules = re.compile(".*" if modules is None else modules)
        except TypeError:
            raise TypeError(f"modules is {modules!r}, expected a regular expression") from None
        except re.error as error:
            raise ValueError(
                f"modules is {modules!r}, expected a regular expression: {error}"
            ) from None
        self._lock = threading.RLock()
        self._handles: list[Any] = []
        self._counts: collections.Counter[Any] = collections.Counter()
        # The latest sparse tensors by number of rows.
        self._sparse: dict[int, tuple] = {}
        # The calls that have begun in each thread.
        self._begun = threading.local()

    def install(self) -> None:
        for name, module in self._model.named_modules():
            if self._modules.fullmatch(name) is None or isinstance(module, _WITHOUT_HOOKS):
                continue
            before = functools.partial(self._before, name)
            after = functools.partial(self._after, name)
            self._handles.append(module.register_forward_pre_hook(before, with_kwargs=True))
            self._handles.append(module.register_forward_hook(after, with_kwargs=True))
        if not self._handles:
            raise ValueError(
                f"modules is {self._modules.pattern!r}, which matches no module that can be "
                "recorded; modules of torch.jit cannot"
            )
        if self._gradients:
            for name, parameter in self._model.named_parameters():
                if parameter.requires_grad:
                    self._observe(parameter, {"parameter": name}, f"{name}.gradient", None)

    def remove(self) -> None:
        with self._lock:
            for handle in self._handles:
                handle.remove()
            self._handles.clear()
            self._sparse.clear()

    @_hook
    def _before(self, name: str, module: nn.Module, args: tuple, kwargs: dict) -> None:
        if _is_recomputation():
            return
        number = self._counts[name]
        self._counts[name] += 1
        found = [leaf for k, each in enumerate(args) for leaf in leaves(each, str(k))]
        call: Entry = {"module": name, "call": number}
        if self._state and number == 0:
            state = (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False))
            call["state"] = [
                {"path": path, **self._writer.dense(f"{name}.{path}", Source(tensor))}
                for path, tensor in state
            ]
        self._record(call, [*found, *leaves(kwargs)], "input")
        self._stack().append((module, call))

    @_hook
    def _after(self, name: str, module: nn.Module, args: tuple, kwargs: dict, output: Any) -> None:
        if _is_recomputation():
            return
        stack = self._stack()
        # Drops calls that ended by an exception which the model handled; they have no output.
        while stack and stack[-1][0] is not module:
            stack.pop()
        if not stack:
            return  # begun before the recording
        _, call = stack.pop()
        call["class"] = f"{type(module).__module__}.{type(module).__qualname__}"
        self._record(call, leaves(output), "output")
        self._writer.call(call)

    @_hook
    def _gradient(self, description: Entry, label: str, sites: Sites | None, grad: Any) -> None:
        if grad is None:
            return
        key = tuple(description.values())
        numbered = {**description, "backward": self._counts[key]}
        self._counts[key] += 1
        for _, leaf in leaves(grad):
            entry, _ = self._add(label, leaf, sites)
            self._writer.gradient({**numbered, **entry})

    def _record(self, call: Entry, found: Any, role: str) -> None:
        name, number = call["module"], call["call"]
        entries: list[Entry] = []
        call[f"{role}s"] = entries
        used: set[str] = set()
        for path, each in found:
            # Different keys of a dict may have the same text.
            while path in used:
                path += "'"
            used.add(path)
            if isinstance(each, Unrecorded):
                unrecorded = {"of": role, "path": path, "type": each.kind}
                call.setdefault("not_recorded", []).append(unrecorded)
                continue
            leaf = self._with_sites(each)
            label = ".".join(part for part in (name, str(number), role, path) if part)
            entry, sites = self._add(label, leaf)
            entries.append({"path": path, **entry})
            variable = leaf.features if isinstance(leaf, SparseLeaf) else leaf
            if self._gradients and isinstance(variable, Tensor) and variable.requires_grad:
                description = {"module": name, "call": number, "of": role, "path": path}
                self._observe(variable, description, f"{label}.gradient", sites)

    def _add(self, label: str, leaf: Any, sites: Sites | None = None) -> tuple[Entry, Sites | None]:
        if sites is not None:
            return self._writer.features(label, Source(leaf), sites), sites
        if not isinstance(leaf, SparseLeaf):
            return self._writer.dense(label, Source(leaf)), None
        features, indices = Source(leaf.features), Source(leaf.indices)
        if not (features.has_values and indices.has_values):
            return self._writer.dense(label, features), None
        sites = self._writer.sites(f"{label}.indices", indices, features)
        entry = self._writer.features(f"{label}.features", features, sites)
        extents = {"spatial_shape": leaf.spatial_shape, "batch_size": leaf.batch_size}
        entry.update({name: extent for name, extent in extents.items() if extent is not None})
        if leaf.inferred:
            entry["inferred"] = True
        return entry, sites

    def _with_sites(self, leaf: Any) -> Any:
        """Returns a dense tensor with the sites of the latest sparse tensor with equally many rows.

        Layers such as normalizations take and return features without their sites.
        """
        if isinstance(leaf, SparseLeaf):
            self._sparse.pop(len(leaf.features), None)
            self._sparse[len(leaf.features)] = leaf.indices, leaf.spatial_shape, leaf.batch_size
            if len(self._sparse) > _MAX_SPARSE:
                self._sparse.pop(next(iter(self._sparse)))
        elif isinstance(leaf, Tensor) and leaf.dim() == 2 and len(leaf) > 1:
            known = self._sparse.get(len(leaf))
            if known is not None and leaf.is_floating_point():
                return SparseLeaf(leaf, *known, inferred=True)
        return leaf

    def _observe(self, variable: Tensor, entry: Entry, label: str, sites: Sites | None) -> None:
        hook = functools.partial(self._gradient, entry, label, sites)
        self._handles.append(variable.register_hook(hook))

    def _stack(self) -> list[tuple[nn.Module, Entry]]:
        if not hasattr(self._begun, "stack"):
            self._begun.stack = []
        return self._begun.stack


def require_eager(model: nn.Module) -> None:
    """Raises ValueError if a module is compiled: torch.compile bypasses hooks."""
    for name, module in model.named_modules():
        is_wrapper = type(module).__module__.startswith("torch._dynamo")
        if is_wrapper or getattr(module, "_compiled_call_impl", None) is not None:
            which = f"module {name!r}" if name else "model"
            raise ValueError(
                f"{which} is compiled by torch.compile, which bypasses hooks: record the model "
                "before it is compiled, or its _orig_mod"
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
    found = (leaf.features if isinstance(leaf, SparseLeaf) else leaf for _, leaf in leaves(value))
    return [each for each in found if isinstance(each, Tensor) and each.requires_grad]


def _is_recomputation() -> bool:
    """Returns whether a backward pass is running, where torch.utils.checkpoint repeats calls."""
    task = getattr(torch._C, "_current_graph_task_id", None)
    return task is not None and task() != -1
