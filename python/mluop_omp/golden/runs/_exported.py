"""Runs an exported graph node by node, so that the calls of its modules are seen.

torch.export leaves one graph without modules. Each node has the names and classes of the modules
that contained it: consecutive nodes of a module are a call of it. The inputs of a call are the
values from outside that its nodes use, its outputs are the values that nodes outside use.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any, Callable

from torch import fx, nn
from torch.fx import _pytree as fx_pytree

from mluop_omp.golden.runs._operations import called_at, place

_FRAME = re.compile(r'File "(.+)", line (\d+), in (\S+)')
_PACKAGES = re.compile(r".*/(?:site|dist)-packages/")
# Operations of nodes; other nodes are arguments, parameters and checks of arguments.
_RUNS = ("call_function", "call_method")


@dataclasses.dataclass
class _Call:
    """A call of a module: its name, its class, a key that differs between calls, and its nodes."""

    name: str
    kind: str
    key: Any
    nodes: dict[fx.Node, None] = dataclasses.field(default_factory=dict)

    @property
    def inputs(self) -> list[fx.Node]:
        used = (each for node in self.nodes for each in node.all_input_nodes)
        outside = (each for each in used if each not in self.nodes and each.op != "get_attr")
        return list(dict.fromkeys(outside))

    @property
    def outputs(self) -> list[fx.Node]:
        return [node for node in self.nodes if any(user not in self.nodes for user in node.users)]


def is_exported(module: nn.Module) -> bool:
    """Returns whether a module is a graph whose nodes have the names of modules."""
    nodes = module.graph.nodes if isinstance(module, fx.GraphModule) else ()
    return any(node.meta.get("nn_module_stack") for node in nodes)


class Seen:
    """Runs a graph so that its calls are seen, until remove()."""

    def __init__(
        self, module: Any, before: Callable[..., None], after: Callable[..., None]
    ) -> None:
        """before, after: called with the name of a module and the arguments of hooks."""
        calls = _calls(module.graph.nodes)
        stand_ins = [_stand_in(module, call) for call in calls]
        self._module, signature = module, inspect.signature(module.forward)

        @functools.wraps(module.forward)
        def forward(*args: Any, **kwargs: Any) -> Any:
            run = _Interpreter(module, list(zip(calls, stand_ins)), before, after)
            info = getattr(module.graph._codegen, "pytree_info", None)
            if info is None:
                return run.run(*args, **kwargs)
            named = signature.bind(*args, **kwargs).arguments
            count = info.in_spec.child(0).num_children
            names = list(named)
            keyword = {name: named[name] for name in names[count:]}
            positional = tuple(named[name] for name in names[:count])
            flat = fx_pytree.tree_flatten_spec((positional, keyword), info.in_spec)
            return module.graph.process_outputs(run.run(*flat, enable_io_processing=False))

        module.forward = forward

    def remove(self) -> None:
        del self._module.forward


class _Interpreter(fx.Interpreter):
    def __init__(
        self,
        module: fx.GraphModule,
        calls: list[tuple[_Call, nn.Module]],
        before: Callable[..., None],
        after: Callable[..., None],
    ) -> None:
        super().__init__(module)
        self._calls, self._before, self._after = calls, before, after
        self._open: list[tuple[_Call, nn.Module]] = []

    def run_node(self, n: fx.Node) -> Any:
        if n.op in _RUNS or n.op == "output":
            while self._open and n not in self._open[-1][0].nodes:
                call, module = self._open.pop()
                values = [self.env[each] for each in call.outputs]
                self._after(call.name, module, (), {}, values[0] if len(values) == 1 else values)
        for call, module in self._calls:
            if next(iter(call.nodes)) is n:
                self._before(call.name, module, tuple(self.env[e] for e in call.inputs), {})
                self._open.append((call, module))
        with called_at(_line(n)):
            return super().run_node(n)


def _calls(nodes: Iterable[fx.Node]) -> list[_Call]:
    """Returns the calls in the order in which they begin, without the call of the graph itself."""
    calls: list[_Call] = []
    running: list[_Call] = []
    for node in nodes:
        if node.op not in _RUNS:
            continue
        stack = [(key, *v) for key, v in (node.meta.get("nn_module_stack") or {}).items() if v[0]]
        common = 0
        while common < min(len(stack), len(running)) and running[common].key == stack[common][0]:
            common += 1
        del running[common:]
        for key, name, kind in stack[common:]:
            text = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
            running.append(_Call(name.partition("@")[0], text, key))
            calls.append(running[-1])
        for call in running:
            call.nodes[node] = None
    return calls


def _stand_in(graph: nn.Module, call: _Call) -> nn.Module:
    """Returns a module of this class name with the parameters and buffers of the original one."""
    package, _, name = call.kind.rpartition(".")
    module: nn.Module = type(name, (nn.Module,), {"__module__": package})()
    try:
        own = graph.get_submodule(call.name)
    except AttributeError:  # A module without parameters and buffers.
        return module
    module._parameters, module._buffers = own._parameters, own._buffers
    return module


def _line(node: fx.Node) -> str:
    """Returns the innermost line outside of PyTorch of the program that was exported."""
    for file, line, function in reversed(_FRAME.findall(node.meta.get("stack_trace") or "")):
        path, is_package = _PACKAGES.subn("", file)
        parts = PurePath(path).parts
        if parts[0] != "torch" or not is_package:
            return place(path, int(line), function, len(parts) if is_package else 1)
    return f"node {node.name} of the graph"
