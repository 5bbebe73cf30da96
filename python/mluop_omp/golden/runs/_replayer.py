"""Hooks that give modules their recorded inputs and compare what they compute."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mluop_omp.golden._numbers import root_mean_square
from mluop_omp.golden._text import name_of
from mluop_omp.golden.comparison import compare
from mluop_omp.golden.comparison._boxes import Shape, compare_matched, find
from mluop_omp.golden.comparison._values import MappedSites, SparseSites
from mluop_omp.golden.comparison._values import Tensor as Elements
from mluop_omp.golden.runs import _sampling
from mluop_omp.golden.runs._amplification import amplification
from mluop_omp.golden.runs._mapped_rows import MappedRows, rows_at
from mluop_omp.golden.runs._names import NameMap
from mluop_omp.golden.runs._orders import by_coordinates
from mluop_omp.golden.runs._recorder import class_name
from mluop_omp.golden.runs._replay_result import Replay, ReplayedCall
from mluop_omp.golden.runs._rounding import Error, error_in, error_of, outputs_of, short_type
from mluop_omp.golden.runs._run import Call, Run, Value
from mluop_omp.golden.runs._sources import Source, leaves, replaced, restored
from mluop_omp.golden.runs._state import own_state

Key = tuple[str, int]
_Pairs = dict[str, tuple[np.ndarray, np.ndarray]]
_IDENTITY = class_name(nn.Identity)
# The share of the error that is left where a later module completes a fused one.
_COMPLETED = 0.25
# The share of boxes that a detector may choose otherwise from equal numbers. On a device that
# computes in half precision, any number of scores may be equal.
_OTHER_BOXES = 0.05
# Tensors beyond their limit that are compared element by element, to name channels and patterns.
_MAX_COMPARED = 16


@contextlib.contextmanager
def restored_buffers(model: nn.Module) -> Iterator[None]:
    """Normalizations in training mode change their buffers."""
    saved = [(buffer, buffer.detach().clone()) for buffer in model.buffers()]
    try:
        yield
    finally:
        for buffer, values in saved:
            buffer.detach().copy_(values)


@dataclasses.dataclass
class _Frame:
    """A call that has begun.

    Attributes:
        name: the name of the module in the run.
        result: None for a module that the run lacks, and for a muted call.
        has_fused: whether the run lacks a module inside of it, perhaps fused with another one.
        is_rest: whether the run has what is left of a module whose parameters are fused.
        open: outputs of inner modules that differ, by the recorded tensor: those that a fused
            module follows, which is expected to compute the rest.
        passed: what the model passes on in place of an open output, by the recorded tensor: the
            output itself, or what the modules that the run lacks compute of it.
        unfused: recorded outputs of inner modules that no fused module completes. What follows
            cannot be compared with them.
        is_other: whether tensors inside of it have other shapes than the recorded ones, such as
            another number of proposals. What its own code then computes cannot be compared.
        is_muted: whether it has other inputs than the recorded call, which was made before it.
    """

    module: nn.Module
    name: str
    result: ReplayedCall | None
    has_fused: bool = False
    open: dict[str, list[tuple[ReplayedCall, str]]] = dataclasses.field(
        default_factory=lambda: collections.defaultdict(list)
    )
    passed: dict[str, Tensor] = dataclasses.field(default_factory=dict)
    unfused: set[str] = dataclasses.field(default_factory=set)
    is_rest: bool = False
    is_other: bool = False
    is_muted: bool = False


class Replayer:
    """One run of the model.

    Attributes:
        unfused: calls whose outputs differ and that no following module completes.
        fused: calls with other parameters than the module has, and the module that comes nearest to
            completing them.
    """

    def __init__(self, run: Run, names: NameMap, unfused: set[Key], fused: dict[Key, str]) -> None:
        """unfused, fused: the calls that have turned out to be."""
        self.unfused: set[Key] = set()
        self.fused: dict[Key, str] = {}
        self._run, self._names = run, names
        self._known_unfused, self._known_fused = unfused, fused
        # Errors of the modules behind a fused one, and their names.
        self._completions: dict[Key, list[tuple[float, str]]] = collections.defaultdict(list)
        self._recorded = {(call.module, call.number): call for call in run.calls if not call.line}
        self._counts: collections.Counter[str] = collections.Counter()
        self._begun: list[_Frame] = []
        self._calls: list[ReplayedCall] = []
        # Calls with tensors of other shapes.
        self._others: list[ReplayedCall] = []
        self._state: dict[str, Error] = {}
        self._samples: set[str] = set()
        # An output is compared, replaced, and often the input of the next module.
        self._read = functools.lru_cache(maxsize=4)(
            lambda name: _numbers(run.stored(name), run.tensors[name].dtype)
        )
        self._compared = 0
        self._mapped = MappedRows()
        # Other tensors may have been rounded to this type before.
        self._has_state = any(each.state for each in run.calls)
        self._coarsest = short_type(*(each.dtype for each in outputs_of(run)))

    def arguments(self, model: nn.Module) -> tuple[tuple, dict[str, Any]]:
        """Returns the recorded arguments of the model, in the element type of its parameters."""
        path, call = self._run.path, self._recorded.get((self._names(""), 0))
        # Only the outermost call has them; it may be the call of a wrapper.
        outermost = self._recorded.get(("", 0))
        if call is not None and call.arguments is None and outermost is not None:
            call = outermost
        if call is None:
            raise ValueError(f"{path} has no call of the model, expected inputs")
        dtypes = (each.dtype for each in model.parameters() if each.is_floating_point())
        dtype = next(dtypes, torch.float32)
        inputs = call.inputs

        def tensor(name: str) -> Tensor:
            array = self._array(inputs[name].tensor) if name in inputs else None
            if array is None:
                raise ValueError(f"{path} has not recorded all of input {name}, expected inputs")
            is_short = self._run.tensors[inputs[name].tensor].dtype in ("float16", "bfloat16")
            return torch.tensor(array, dtype=dtype if is_short else None)

        return restored(call.arguments, tensor, path)

    @contextlib.contextmanager
    def installed(self, model: nn.Module) -> Iterator[None]:
        with contextlib.ExitStack() as handles:
            for name, module in model.named_modules():
                if isinstance(module, torch.jit.ScriptModule):
                    continue
                children = [
                    (self._names(f"{name}.{inner}".lstrip(".")), child)
                    for inner, child in module.named_children()
                ]
                has_fused = any(self._is_fused(*e) or self._is_rest(*e) for e in children)
                before = functools.partial(self._before, self._names(name), has_fused)
                for handle in (
                    module.register_forward_pre_hook(before, with_kwargs=True),
                    module.register_forward_hook(self._after, with_kwargs=True),
                ):
                    handles.callback(handle.remove)
            yield

    def result(self, notes: list[str]) -> Replay:
        """notes: findings about the names of the modules."""
        made = {(each.call.module, each.call.number) for each in self._calls}
        left = (call for key, call in self._recorded.items() if key not in made)
        fused = {each.call.module for each in self._calls if each.fused_with}
        state = {
            name: each
            for name, each in self._state.items()
            if each.ratio > 1 and name.rpartition(".")[0] not in fused
        }
        notes = notes + [f"map {pattern} matches no module" for pattern in self._names.unused]
        if self._samples:
            notes.append(
                f"{len(self._samples)} tensors are samples: modules keep the inputs and outputs "
                "that they compute; record more bytes or fewer modules"
            )
        # A wrapper returns what the model inside of it does.
        known = {value.tensor for each in self._calls for value in each.call.outputs.values()}
        left = (c for c in left if not {v.tensor for v in c.outputs.values()} <= known)
        missing = [_label(call) for call in left if call.kind != _IDENTITY]
        return Replay.of(self._calls, state, missing, self._others, notes)

    def _is_fused(self, name: str, module: nn.Module) -> bool:
        """Returns whether the recorded model lacks a module, or has an Identity in its place."""
        call = self._recorded.get((name, 0))
        is_identity = call is not None and call.kind == _IDENTITY
        return call is None or (is_identity and not isinstance(module, nn.Identity))

    def _is_rest(self, name: str, module: nn.Module) -> bool:
        """Returns whether the recorded module has another class, and none of the parameters."""
        call = self._recorded.get((name, 0))
        if call is None or call.state or call.kind == class_name(type(module)):
            return False
        return self._has_state and next(own_state(module), None) is not None

    def _before(
        self, name: str, has_fused: bool, module: nn.Module, args: tuple, kwargs: dict
    ) -> Any:
        if self._begun and self._begun[-1].is_muted:
            self._begun.append(_Frame(module, name, None, is_muted=True))
            return None
        number = self._counts[name]
        self._counts[name] += 1
        call = self._recorded.get((name, number))
        if call is None or self._is_fused(name, module):
            self._begun.append(_Frame(module, name, None, has_fused))
            return None
        if self._is_rest(name, module):
            frame = _Frame(module, name, ReplayedCall(call), has_fused, is_rest=True)
            self._begun.append(frame)
            return None
        given = {**dict(enumerate(args)), **kwargs}
        outer = next((each for each in reversed(self._begun) if each.result is not None), None)
        if outer is not None:
            self._compare(outer, f"input {{}} of {_label(call)}", given, call.inputs, call.kind)
        values = self._replaced(given, call.inputs)
        args, kwargs = tuple(values[k] for k in range(len(args))), {k: values[k] for k in kwargs}
        if not self._fit(given, call.inputs):
            if outer is not None:
                outer.is_other = True
            if not self._fit(values, call.inputs):
                frame = _Frame(module, name, ReplayedCall(call), has_fused, is_other=True)
                self._begun.append(frame)
                return None
            self._counts[name] = number
            module(*args, **kwargs)
            self._begun.append(_Frame(module, name, None, is_muted=True))
            return None
        self._begun.append(_Frame(module, name, ReplayedCall(call), has_fused))
        if number == 0:
            for path, tensor in own_state(module):
                if path in call.state:
                    label = f"{name}.{path}".lstrip(".")
                    self._state[label] = self._error(tensor, call.state[path])
        return args, kwargs

    def _after(self, module: nn.Module, args: tuple, kwargs: dict, output: Any) -> Any:
        # Drops calls that ended by an exception which the model handled.
        while self._begun[-1].module is not module:
            self._begun.pop()
        frame = self._begun.pop()
        if frame.is_muted:
            return None
        outer = self._begun[-1] if self._begun else None
        for opened_by in frame.open.values():
            for opened, _ in opened_by:
                self._close(opened.call)
        if frame.result is None:
            return None if outer is None else self._completed(outer, frame.name, args, output)
        self._calls.append(frame.result)
        call, errors = frame.result.call, frame.result.errors
        self._compare(frame, "output {}", output, call.outputs, call.kind)
        if frame.is_rest and outer is not None:
            self._complete_rest(frame.result, outer)
        if frame.is_other:
            self._others.append(frame.result)
        if outer is not None and outer.has_fused:
            places = {f"output {path}".rstrip(): each for path, each in call.outputs.items()}
            wrong = [place for place, error in errors.items() if error.ratio > 1]
            differing = {place: places[place].tensor for place in wrong if place in places}
            if (call.module, call.number) in self._known_unfused:
                outer.unfused.update(differing.values())
            elif differing:
                for place, tensor in differing.items():
                    outer.open[tensor].append((frame.result, place))
                    if isinstance(output, Tensor):
                        outer.passed[tensor] = output
                return None
        return self._replaced(output, call.outputs)

    def _error_of_weight(self, call: Call) -> Error | None:
        """Returns the error of a module's weight against the recorded one; None without one."""
        return self._state.get(f"{call.module}.weight".lstrip("."))

    def _amplified(self, error: Error, call: Call, output: Value) -> Error:
        """Scales the limit of a module whose parameters the device has rounded or fused."""
        known = self._error_of_weight(call)
        is_short = short_type(self._run.tensors[output.tensor].dtype)
        if error.ratio <= 1 or not (is_short and known is not None and known.value > 0):
            return error
        first = self._recorded.get((call.module, 0), call)
        scale = amplification(self._run, call, first.state, output)
        return dataclasses.replace(error, limit=scale * error.limit) if scale > 1 else error

    def _complete_rest(self, result: ReplayedCall, outer: _Frame) -> None:
        """Judges modules that are fused with a part of this one by its outputs."""
        tensors = {value.tensor for value in result.call.inputs.values()} & outer.open.keys()
        for other, place in (each for name in tensors for each in outer.open.pop(name)):
            other.errors[place] = result.worst[1]
            other.fused_with = result.call.module
        if tensors:
            result.errors.clear()

    def _pairs(self, values: Any, recorded: dict[str, Value]) -> _Pairs:
        """Returns the numbers of tensors and the recorded ones, by path."""
        pairs = {}
        for path, leaf in leaves(values):
            value = recorded.get(path)
            array = None if value is None else self._array(value.tensor)
            if array is not None and isinstance(leaf, Tensor):
                pairs[path] = _numbers_of(leaf)[0], array
        return pairs

    def _of_boxes(self, pairs: _Pairs, kind: str) -> Iterator[tuple[str, Error]]:
        """Yields the errors of the boxes of a detector, which are compared by overlap."""
        found, expected = (
            {path: Elements(pair[k], pair[k].dtype.name) for path, pair in pairs.items()}
            for k in (0, 1)
        )
        shapes = {path: Shape(each.dtype, each.shape) for path, each in expected.items()}
        paths = [path for names in find(shapes, kind) for path in filter(None, names)]
        children = compare(found, expected).children if paths else {}
        children = {**children, **compare_matched(found, expected, children, compare, kind)}
        for path in paths:
            error = error_in(children[path], self._coarsest)
            if error.is_choice and not self._coarsest:
                error = dataclasses.replace(error, limit=_OTHER_BOXES)
            yield path, error

    def _of_voxels(self, pairs: _Pairs, recorded: dict[str, Value]) -> Iterator[tuple[str, Error]]:
        """Yields the errors of dense tensors whose rows coordinates beside them join."""
        pairs = {path: pair for path, pair in pairs.items() if pair[0].shape == pair[1].shape}
        for found, expected in pairs.values():
            is_sites = found.dtype.kind == "i" and found.ndim == 2 and 2 <= found.shape[1] <= 5
            rows = by_coordinates(found, expected) if is_sites else None
            if rows is None or len(rows) < len(found):
                continue
            for path, (own, other) in pairs.items():
                if own.ndim and len(own) == len(found):
                    dtypes = own.dtype.name, self._run.tensors[recorded[path].tensor].dtype
                    yield path, error_of(own[rows[:, 0]], other[rows[:, 1]], *dtypes)

    def _fit(self, values: Any, recorded: dict[str, Value]) -> bool:
        """Returns whether values have the shapes of the recorded tensors."""
        pairs = ((leaf, recorded.get(path)) for path, leaf in leaves(values))
        shapes = (
            (tuple(leaf.shape), self._run.tensors[value.tensor].shape)
            for leaf, value in pairs
            if isinstance(leaf, Tensor) and value is not None
        )
        return all(own == other for own, other in shapes)

    def _close(self, call: Call) -> None:
        """Decides about a call whose output no module has completed."""
        key = call.module, call.number
        known = self._error_of_weight(call)
        if self._completions[key] and known is not None and known.ratio > 1:
            self.fused[key] = min(self._completions[key])[1]
        else:
            self.unfused.add(key)

    def _completed(self, outer: _Frame, name: str, args: tuple, output: Any) -> Any:
        """Returns the recorded tensor if a module that the run lacks completes an open output."""
        if not isinstance(output, Tensor):
            return None
        for tensor, opened_by in list(outer.open.items()):
            value, call = Value(tensor), opened_by[0][0].call
            key = call.module, call.number
            error = self._amplified(self._error(output, value), call, value)
            if any(outer.passed.get(tensor) is each for each in args):
                outer.passed[tensor] = output
                self._completions[key].append((error.value, name))
            # A fused module with a defect agrees with no output, but far better with this one.
            direct = min(result.errors[place].value for result, place in opened_by)
            is_known = self._known_fused.get(key) == name
            if error.ratio > 1 and not (error.value < _COMPLETED * direct or is_known):
                continue
            for result, place in opened_by:
                result.errors[place], result.fused_with = error, name
            del outer.open[tensor]
            array = self._array(tensor)
            return None if array is None else _like(array, output)
        return None

    def _compare(
        self, frame: _Frame, place: str, values: Any, recorded: dict[str, Value], kind: str
    ) -> None:
        """Compares tensors with the recorded ones and adds the errors to the call of a frame.

        kind: the class of the module that takes or returns the tensors.
        """
        assert frame.result is not None
        if frame.is_other:
            return
        skipped = frame.open.keys() | frame.unfused
        errors: dict[str, Error] = {}
        for path, leaf in leaves(values):
            value = recorded.get(path)
            if value is not None and value.tensor not in skipped and not isinstance(leaf, type):
                error = self._error(leaf, value)
                errors[path] = self._amplified(error, frame.result.call, value)
        if any(each.ratio > 1 for each in errors.values()):
            pairs = self._pairs(values, recorded)
            joined = self._of_boxes(pairs, kind), self._of_voxels(pairs, recorded)
            for path, error in itertools.chain(*joined):
                errors[path] = min(error, errors.get(path, error), key=lambda each: each.ratio)
        for path, error in errors.items():
            name = place.format(path) if path else place.replace(" {}", "")
            frame.result.errors[name] = error

    def _replaced(self, values: Any, recorded: dict[str, Value]) -> Any:
        """Returns values with the recorded tensors in place of those that were computed."""

        def new(path: str, leaf: Any) -> Any:
            value = recorded.get(path)
            is_sparse = isinstance(leaf, SparseSites)
            if value is None or (is_sparse and value.indices is None):
                return leaf
            array = self._array(value.tensor)
            if array is None:
                return leaf
            if not is_sparse:
                return _like(self._mapped.moved(value, array), leaf)
            sites = self._array(value.indices or "")
            if sites is None:
                return leaf
            if isinstance(leaf, MappedSites):
                rows = self._mapped.add(value.indices or "", sites, _sites_of(leaf))
                if rows is None:
                    return leaf
                return dataclasses.replace(leaf, features=_like(array[rows], leaf.features))
            features = _like(array, leaf.features)
            indices = _like(leaf.in_columns(sites), leaf.indices)
            return dataclasses.replace(leaf, features=features, indices=indices)

        return replaced(values, new)

    def _array(self, name: str) -> np.ndarray | None:
        """Returns the numbers of a recorded tensor, or None if the run has only a sample."""
        recorded = self._run.tensors[name]
        if recorded.is_sample:
            self._samples.add(name)
        if recorded.is_sample or not recorded.has_values:
            return None
        return self._read(name)

    def _error(self, leaf: Any, value: Value) -> Error:
        """Compares a tensor with the recorded one; sites of a sparse tensor may have any order."""
        recorded = self._run.tensors[value.tensor]
        is_sparse = isinstance(leaf, SparseSites)
        found, dtype = _numbers_of(leaf.features if is_sparse else leaf)
        dtypes = recorded.dtype, dtype
        if not recorded.has_values or recorded.limit is not None:
            return Error.without_numbers(math.nan, "", *dtypes)
        if found.shape != recorded.shape:
            shapes = f"shape {list(found.shape)}, recorded {list(recorded.shape)}"
            return Error.without_numbers(math.inf, shapes, *dtypes)
        expected = self._read(value.tensor)
        if recorded.count is not None:
            parts = _sampling.parts(self._run.seed, recorded.count, recorded.shape)
            found = np.concatenate([found[np.ix_(*part)].reshape(-1) for part in parts])
        elif is_sparse and value.indices is not None:
            rows = rows_at(self._run.array(value.indices), _sites_of(leaf))
            if rows is None:
                return Error.without_numbers(math.inf, "other sites", *dtypes)
            expected = expected[rows]
        else:
            expected = self._mapped.moved(value, expected)
        if self._coarsest and all("float" in each for each in dtypes):
            dtypes = (*dtypes, self._coarsest)
        error = error_of(found, expected, *dtypes)
        if error.ratio <= 1 or math.isinf(error.value) or self._compared == _MAX_COMPARED:
            return error
        self._compared += 1
        atol = error.limit * root_mean_square(expected) / 4
        comparison = compare(found, expected, rtol=error.limit, atol=atol, worst=3)
        return dataclasses.replace(error, comparison=comparison)


def _label(call: Call) -> str:
    name = name_of(call.module)
    return f"{name}, call {call.number}" if call.number else name


def _like(array: np.ndarray, leaf: Any) -> Any:
    """Returns a copy, which modules may change in place, in the element type of a tensor."""
    if isinstance(leaf, Tensor):
        return torch.tensor(array, device=leaf.device, dtype=leaf.dtype)
    return array.astype(leaf.dtype)


def _numbers(array: np.ndarray, dtype: str) -> np.ndarray:
    """Returns the numbers of a recorded array, whose bfloat16 elements are bits."""
    return Elements(array, dtype).numbers().astype(np.float32) if dtype == "bfloat16" else array


def _sites_of(leaf: SparseSites) -> np.ndarray:
    return _numbers_of(leaf.batch_first())[0]


def _numbers_of(leaf: Any) -> tuple[np.ndarray, str]:
    """Returns the numbers of a tensor that was computed, and its element type."""
    source = Source(leaf)
    return _numbers(source.read(), source.dtype), source.dtype
