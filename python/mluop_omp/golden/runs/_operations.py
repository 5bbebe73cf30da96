"""The operations of PyTorch that Python code calls, with the lines that call them.

A TorchFunctionMode sees an operation as Python calls it: `x * 2`, softmax, torch.ops.aten.exp. A
TorchDispatchMode sees what PyTorch makes of it, which depends on the device (fused attention,
normalizations of cuDNN), on autocast and on inference_mode. A model with a Linear, attention, a
normalization and decoding makes the same calls in every mode; the dispatcher gets 56 with no_grad,
102 with bfloat16 autocast, 38 with inference_mode, and 72 with both. So runs of two devices have
the same operations at the level of Python only.

Not seen are: operations of gradients, of graphs that torch.jit or torch.compile runs, of C++
extensions that do not register operators, and of functions that torch.func or torch.vmap transform.
Left out are views and other operations whose outputs are in the memory of an input, and tensors
without values, such as torch.empty.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import types
import weakref
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import (
    TorchFunctionMode,
    _get_current_function_mode_stack,
    resolve_name,
)

from mluop_omp.golden.runs._sources import leaves

# Frames of these packages do not call an operation; they compute it.
_LIBRARIES = frozenset(("torch", "mluop_omp"))
# Operations without a value of a tensor, and derivatives.
_LEFT_OUT = frozenset(
    (
        *("__get__", "__set__", "__delete__", "__len__", "__bool__", "__int__", "__float__"),
        *("__index__", "__repr__", "__format__", "__hash__", "__array__", "__deepcopy__"),
        *("__reduce_ex__", "__setstate__", "size", "stride", "dim", "ndimension", "numel"),
        *("nelement", "element_size", "storage_offset", "data_ptr", "storage", "untyped_storage"),
        *("get_device", "is_contiguous", "is_floating_point", "is_complex", "is_signed"),
        *(
            "is_inference",
            "is_pinned",
            "is_set_to",
            "is_same_size",
            "is_shared",
            "is_nonzero",
            "is_neg",
        ),
        *(
            "_set_grad_enabled",
            "promote_types",
            "result_type",
            "can_cast",
            "item",
            "tolist",
            "numpy",
            "equal",
            "allclose",
            "backward",
        ),
        *("grad", "register_hook", "retain_grad", "requires_grad_", "share_memory_"),
        *("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty"),
        *("new_empty_strided", "new", "resize_", "resize_as_"),
    )
)
# Operations whose outputs may be in the memory of an input. They change no input.
_MAY_ALIAS = frozenset(
    (
        *("view", "view_as", "reshape", "reshape_as", "flatten", "unflatten", "ravel", "permute"),
        *("transpose", "t", "adjoint", "swapaxes", "swapdims", "movedim", "moveaxis", "expand"),
        *("expand_as", "broadcast_to", "broadcast_tensors", "squeeze", "unsqueeze", "narrow"),
        *("select", "slice", "split", "split_with_sizes", "tensor_split", "hsplit", "vsplit"),
        *("dsplit", "chunk", "unsafe_chunk", "unsafe_split", "unbind", "unfold", "diagonal"),
        *("as_strided", "detach", "alias", "lift_fresh", "contiguous", "to", "type", "type_as"),
        *("cpu", "cuda", "float", "double", "half", "bfloat16", "int", "long", "short", "byte"),
        *("char", "bool", "__getitem__", "__iter__", "real", "imag", "conj", "resolve_conj"),
        *("resolve_neg", "view_as_real", "view_as_complex", "as_tensor", "asarray", "from_numpy"),
        *("positive", "pin_memory", "atleast_1d", "atleast_2d", "atleast_3d", "meshgrid"),
    )
)
# Operations that replace all values of their first argument, which may be without values.
_OVERWRITES = frozenset(
    ("copy_", "fill_", "zero_", "uniform_", "normal_", "random_", "bernoulli_", "exponential_")
)
# Functions of PyTorch in Python that call many operations: these are seen one by one.
_COMPOSITE = (functional.multi_head_attention_forward,)
_CHECKS = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")
_local = threading.local()


class Operation:
    """A call of an operation.

    Attributes:
        name: the last part of its name, such as "exp".
        kind: its full name, such as "torch.Tensor.exp" or "aten.exp.default".
        line: the line of Python that calls it, such as "head.py:41 in decode".
        inputs: the arguments that it reads by position and name, without what is neither tensor nor
            number.
        autocast: the type that torch.autocast rounds factors to, None where it is disabled.
        aliases: whether its outputs may be in the memory of an input. Only then do the inputs
            certainly stay as they are.
        function, args, kwargs: to repeat it.
        call: for the observers.
    """

    def __init__(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        self.name, self.kind = _names(function)
        self.line = current_line()
        values = _values({**dict(enumerate(args)), **kwargs})
        unread = "out", 0 if self.name in _OVERWRITES else "out"
        self.inputs = {name: each for name, each in values.items() if name not in unread}
        self.autocast = next((_autocast(each) for _, each in tensors_of(values)), None)
        self.aliases = self.name in _MAY_ALIAS
        self.call: Any = None
        self._versions = [] if self.aliases else [(*e, _version(e[1])) for e in tensors_of(values)]

    def results(self, result: Any) -> tuple[Any, dict[str, Tensor]]:
        """Returns the outputs, and by path the other inputs that the operation has changed.

        An operation without a result has the tensors as outputs that it has changed.
        """
        outputs = _values(result)
        seen = {_memory(each) for _, each in tensors_of(outputs)}
        written = {}
        for path, each, version in self._versions:
            if version is not None and _version(each) != version and _memory(each) not in seen:
                seen.add(_memory(each))
                written[path] = each
        if tensors_of(outputs):
            return outputs, written
        if not written and self.name == "__setitem__":  # A tensor of inference_mode.
            written = dict(tensors_of(self.inputs)[:1])
        values = list(written.values())
        return (values[0] if len(values) == 1 else values), {}

    def is_view(self, result: Any) -> bool:
        """Returns whether all outputs are in the memory of an input."""
        memory = {_memory(each) for _, each in tensors_of(self.inputs)}
        return self.aliases and all(_memory(each) in memory for _, each in tensors_of(result))


class Operations(TorchFunctionMode):
    """Observes the operations of the threads that enter it.

    before(operation) sets `call` of the operations to observe; after(operation, result) follows for
    these, unless the operation raises an exception.
    """

    def __init__(
        self, before: Callable[[Operation], None], after: Callable[[Operation, Any], None]
    ) -> None:
        super().__init__()
        self._before, self._after = before, after
        # For each thread that enter() has entered, for what.
        self._entered: dict[int, Any] = {}

    def enter(self, owner: Any) -> None:
        """Enters the running thread, unless it is entered; owner: a call or block in it."""
        if all(each is not self for each in _get_current_function_mode_stack()):
            self._entered[threading.get_ident()] = owner
            self.__enter__()

    def leave(self, owner: Any) -> None:
        """Leaves the running thread, if it was entered for this owner."""
        if self._entered.get(threading.get_ident()) is owner:
            del self._entered[threading.get_ident()]
            self.__exit__(None, None, None)

    def __torch_function__(
        self,
        function: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if function in _COMPOSITE:
            with self:
                return _opened(function)(*args, **kwargs)
        is_seen = _names(function)[0] not in _LEFT_OUT and not _is_traced(args, kwargs)
        operation = Operation(function, args, kwargs) if is_seen else None
        if operation is not None:
            self._before(operation)
        result = function(*args, **kwargs)
        if operation is not None and operation.call is not None and not operation.is_view(result):
            self._after(operation, result)
        return result


class Unchanged:
    """Remembers what belongs to tensors until they change."""

    def __init__(self) -> None:
        self._of_tensor: dict[int, tuple[weakref.ref[Tensor], int, Any]] = {}

    def add(self, tensor: Any, what: Any) -> None:
        version = _version(tensor) if isinstance(tensor, Tensor) else None
        if version is not None:
            forget = functools.partial(self._forget, id(tensor))
            self._of_tensor[id(tensor)] = weakref.ref(tensor, forget), version, what

    def get(self, tensor: Any) -> Any:
        """Returns None if the tensor is unknown or has changed."""
        if id(tensor) not in self._of_tensor:
            return None
        known, version, what = self._of_tensor[id(tensor)]
        return what if known() is tensor and _version(tensor) == version else None

    def _forget(self, key: int, reference: Any) -> None:
        if key in self._of_tensor and self._of_tensor[key][0] is reference:
            del self._of_tensor[key]


def _autocast(tensor: Tensor) -> torch.dtype | None:
    device = tensor.device.type
    is_enabled = torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)
    return torch.get_autocast_dtype(device) if is_enabled else None


def is_backward() -> bool:
    """Returns whether a backward pass is running, where torch.utils.checkpoint repeats calls."""
    return torch._C._current_graph_task_id() != -1


@contextlib.contextmanager
def called_at(line: str) -> Iterator[None]:
    """Gives the operations of the block a line, for code that a graph represents."""
    earlier, _local.line = getattr(_local, "line", ""), line
    try:
        yield
    finally:
        _local.line = earlier


def current_line() -> str:
    """Returns the innermost running line outside of PyTorch and of this package.

    The path is relative to the folder that the module is imported from, so that it is the same on
    every machine.
    """
    given = getattr(_local, "line", "")
    frame: types.FrameType | None = None if given else sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] not in _LIBRARIES:
            code = frame.f_code
            return place(code.co_filename, frame.f_lineno, code.co_name, module.count(".") + 1)
        frame = frame.f_back
    return given or "unknown line"


def place(file: str, line: int, function: str, parts: int) -> str:
    """parts: how many parts of the path are shown."""
    return f"{'/'.join(PurePath(file).parts[-parts:])}:{line} in {function}"


@functools.cache
def _names(function: Any) -> tuple[str, str]:
    """Returns the last part of the name of an operation, and the full name."""
    plain = getattr(function, "__qualname__", None) or getattr(function, "__name__", "operation")
    kind = resolve_name(function) or f"{getattr(function, '__module__', None) or 'torch'}.{plain}"
    if isinstance(function, torch._ops.OpOverload):
        return function._schema.name.rpartition(":")[2], kind
    return kind.rpartition(".")[2], kind


@functools.cache
def _opened(function: Any) -> Any:
    """Returns a function of PyTorch that does not hand itself to the mode, but what it calls."""
    never = dict.fromkeys(_CHECKS, lambda *_: False)
    copied = types.FunctionType(
        function.__code__,
        {**function.__globals__, **never},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copied.__kwdefaults__ = function.__kwdefaults__
    return copied


def _is_traced(*arguments: Any) -> bool:
    """Returns whether a transformation or a compiler runs the operation, so it has no values."""
    wrapped = torch._C._functorch.is_functorch_wrapped_tensor
    return torch.compiler.is_compiling() or any(
        wrapped(t) for _, t in tensors_of(_values(arguments))
    )


def _values(value: Any) -> Any:
    """Returns a value without what is neither tensor nor number nor contains them."""
    if isinstance(value, dict):
        return {name: _values(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_values(each) for each in value]
    if isinstance(value, slice):
        return [each for each in (value.start, value.stop, value.step) if each is not None]
    is_known = isinstance(value, (Tensor, bool, int, float, complex, np.ndarray, np.generic))
    return value if is_known else None


def tensors_of(value: Any) -> list[tuple[str, Tensor]]:
    """Returns the tensors in a value with their paths, without sparse ones."""
    return [(path, each) for path, each in leaves(value) if isinstance(each, Tensor)]


def _version(tensor: Tensor) -> int | None:
    """Returns a number that in-place operations change; None if PyTorch keeps none."""
    return None if tensor.is_inference() else tensor._version


def _memory(tensor: Tensor) -> Any:
    """Returns what two tensors have in common that share memory."""
    if tensor.layout is not torch.strided or tensor.is_meta:
        return id(tensor)
    return tensor.device, tensor.untyped_storage().data_ptr()
