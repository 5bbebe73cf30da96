"""Reads the file of a run. Files are untrusted."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from mluop_omp.golden._numbers import STORED_AS
from mluop_omp.golden._text import counted, listed, name_of, path_of
from mluop_omp.golden.comparison._files import read_member, unique
from mluop_omp.golden.runs import _sampling

FORMAT, VERSION = "mluop_omp run", 1
DESCRIPTION = "run.json"
# Exceptions that zipfile, json and numpy raise for damaged files.
_DAMAGES = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError)


@dataclasses.dataclass(frozen=True)
class Value:
    """An input or output of a call, or a gradient, by the names of recorded tensors.

    Attributes:
        tensor: the dense tensor, or the features of a sparse tensor.
        indices: the sites of a sparse tensor; None for a dense one.
        spatial_shape, batch_size: extents of a sparse tensor, where known.
        inferred: True for a dense tensor that was given the sites of an earlier sparse tensor with
            equally many rows.
    """

    tensor: str
    indices: str | None = None
    spatial_shape: tuple[int, ...] | None = None
    batch_size: int | None = None
    inferred: bool = False


@dataclasses.dataclass(frozen=True)
class Call:
    """A call of a module. Calls are in the order in which they return.

    Attributes:
        module: the name of the module in the model; "" is the model itself.
        number: the number of calls of the module that began before.
        kind: the class of the module.
        inputs, outputs: tensors by path: names and positions within arguments and results.
        state: parameters and buffers of the module itself by name, in its first call.
        not_recorded: values that may contain tensors but were not searched, such as
            "output boxes: generator".
    """

    module: str
    number: int
    kind: str
    inputs: dict[str, Value]
    outputs: dict[str, Value]
    state: dict[str, Value]
    not_recorded: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Gradient:
    """A gradient that a backward pass computed. Gradients are in the order of their computation.

    Attributes:
        value: the gradient.
        backward: the number of gradients of the same tensor that were computed before.
        parameter: the name of the parameter, or None for an input or output of a call.
        module, call, of, path: the call, "input" or "output", and the path in it.
    """

    value: Value
    backward: int
    parameter: str | None = None
    module: str = ""
    call: int = 0
    of: str = ""
    path: str = ""


@dataclasses.dataclass(frozen=True)
class Recorded:
    """A recorded tensor, or a sample of one.

    Attributes:
        name: the name of the tensor; the file has a member of this name with the suffix .npy.
        dtype: the element type. bfloat16 is recorded as uint16, complex32 as complex64, float8 as
            float32.
        shape: the shape of the whole tensor.
        count: the number of elements drawn for a sample of elements, else None.
        limit, checksum: for a sample of sites, the hash below which sites are recorded, and the sum
            of the hashes of all sites; else None.
        has_values: False if the tensor had no memory.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    count: int | None = None
    limit: int | None = None
    checksum: int | None = None
    has_values: bool = True

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_sample(self) -> bool:
        return self.count is not None or self.limit is not None


class Run:
    """A run that `mluop_omp.record` has written to a file.

    Attributes:
        path: the path of the file.
        model: the class of the model.
        seed: the seed of the samples.
        calls, gradients: the recorded calls and gradients.
        tensors: the recorded tensors by name; `array()` reads one.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raises ValueError if the file is not a run, OSError if it cannot be opened."""
        self.path = os.fspath(path)
        if os.path.exists(path) and not os.path.isfile(path):
            raise ValueError(f"{self.path} is not a regular file")
        with _errors(self.path):
            # Stays open until close().
            self._zip = zipfile.ZipFile(self.path)  # noqa: SIM115
        try:
            with _errors(self.path):
                self._read()
        except BaseException:
            self._zip.close()
            raise

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        self._zip.close()

    def __str__(self) -> str:
        sampled = sum(each.is_sample for each in self.tensors.values())
        lines = [
            f"run of {self.model}: {counted(len(self.calls), 'call')}, "
            f"{counted(len(self.tensors), 'tensor')}, {counted(len(self.gradients), 'gradient')}",
            *([f"samples: {counted(sampled, 'tensor')}"] if sampled else []),
        ]
        return "\n".join([*lines, *self.not_recorded()])

    def not_recorded(self) -> list[str]:
        """Returns a line that lists values that were not recorded; nothing if there are none."""
        texts = [
            f"{name_of(call.module)} {each}" for call in self.calls for each in call.not_recorded
        ]
        return [f"not recorded: {listed(dict.fromkeys(texts))}"] if texts else []

    def array(self, name: str) -> np.ndarray:
        """Returns the elements of a tensor, or of its sample: elements [K] or rows [K, ...].

        Raises ValueError if the file is damaged, KeyError if it has no tensor of this name.
        """
        recorded = self.tensors[name]
        with _errors(self.path):
            array = read_member(self._zip, self._zip.getinfo(f"{name}.npy"))
            expected = STORED_AS.get(recorded.dtype, recorded.dtype)
            if array.dtype.name != expected:
                raise _Invalid(f"{name}.npy has dtype {array.dtype}, expected {expected}")
            if recorded.count is not None:
                if recorded.count > 2 * array.size:
                    raise _Invalid(f"{name}.npy has {array.size} of {recorded.count} elements")
                indices = _sampling.elements(self.seed, recorded.count, recorded.size)
                shape: tuple[int, ...] = indices.shape
            elif recorded.limit is not None:
                shape = (len(array) if array.ndim else -1, *recorded.shape[1:])
            else:
                shape = recorded.shape
            if array.shape != shape:
                raise _Invalid(f"{name}.npy has shape {list(array.shape)}, expected {list(shape)}")
            return array.astype(array.dtype.newbyteorder("="), copy=False)

    def _read(self) -> None:
        if DESCRIPTION not in self._zip.namelist():
            raise _Invalid(f"has no {DESCRIPTION}, expected a file written by mluop_omp.record")
        members = unique((name, None) for name in self._zip.namelist())
        try:
            text = json.loads(self._zip.read(DESCRIPTION), object_pairs_hook=unique)
        except (UnicodeDecodeError, RecursionError) as error:
            raise _Invalid(f"{DESCRIPTION} is not JSON: {error}") from None
        head = _Object(text, DESCRIPTION)
        if head.get("format", str) != FORMAT:
            raise _Invalid(f"{DESCRIPTION} has format {text['format']!r}, expected {FORMAT!r}")
        if head.get("version", int) != VERSION:
            raise _Invalid(f"has version {text['version']} of the format, expected {VERSION}")
        self.model = head.get("model", str)
        self.seed = _number(head.get("seed", str), 10, f"{DESCRIPTION}: seed")
        self.tensors: dict[str, Recorded] = {}
        for item in head.objects("tensors"):
            recorded = _recorded(item)
            if recorded.has_values and f"{recorded.name}.npy" not in members:
                raise _Invalid(f"has no {recorded.name}.npy, which {item.where} names")
            if recorded.name in self.tensors:
                raise _Invalid(f"describes the tensor {recorded.name!r} twice")
            self.tensors[recorded.name] = recorded
        self.calls = tuple(self._call(item) for item in head.objects("calls"))
        self.gradients = tuple(self._gradient(item) for item in head.objects("gradients"))

    def _call(self, item: _Object) -> Call:
        inputs, outputs, state = (
            {each.get("path", str): self._value(each) for each in item.objects(part)}
            if part != "state" or part in item.members
            else {}
            for part in ("inputs", "outputs", "state")
        )
        kind, number = item.get("class", str), item.get("call", int)
        unrecorded = item.objects("not_recorded") if "not_recorded" in item.members else []
        texts = ([each.get(name, str) for name in ("of", "path", "type")] for each in unrecorded)
        not_recorded = tuple(f"{path_of(of, path)}: {type_}" for of, path, type_ in texts)
        return Call(item.get("module", str), number, kind, inputs, outputs, state, not_recorded)

    def _gradient(self, item: _Object) -> Gradient:
        value, backward = self._value(item), item.get("backward", int)
        if "parameter" in item.members:
            return Gradient(value, backward, parameter=item.get("parameter", str))
        texts = (item.get(name, str) for name in ("module", "of", "path"))
        module, of, path = texts
        return Gradient(value, backward, None, module, item.get("call", int), of, path)

    def _value(self, item: _Object) -> Value:
        tensor = item.get("tensor", str)
        indices = item.get("indices", str) if "indices" in item.members else None
        for name in (tensor, indices):
            if name is not None and name not in self.tensors:
                raise _Invalid(f"{item.where} names the tensor {name!r}, which is not described")
        if indices is not None:
            features, sites = self.tensors[tensor], self.tensors[indices]
            if features.limit != sites.limit or len(sites.shape) != 2:
                raise _Invalid(f"{item.where} has features and indices of different samples")
            if features.shape[:1] != sites.shape[:1]:
                raise _Invalid(
                    f"{item.where} has features {list(features.shape)} and indices "
                    f"{list(sites.shape)}, expected equal numbers of rows"
                )
        shape = item.integers("spatial_shape") if "spatial_shape" in item.members else None
        batch = item.get("batch_size", int) if "batch_size" in item.members else None
        return Value(tensor, indices, shape, batch, item.members.get("inferred") is True)


def is_run(path: str | os.PathLike[str]) -> bool:
    """Returns whether a file claims to be a run."""
    if not os.path.isfile(path):
        return False
    try:
        with zipfile.ZipFile(path) as file:
            return DESCRIPTION in file.namelist()
    except (OSError, *_DAMAGES):
        return False


class _Invalid(Exception):
    pass


@contextlib.contextmanager
def _errors(path: str) -> Iterator[None]:
    """Turns exceptions that a damaged file causes into ValueError with its path."""
    try:
        yield
    except _Invalid as error:
        raise ValueError(f"{path} {error}") from None
    except _DAMAGES as error:
        raise ValueError(f"{path} is damaged or not a run: {error}") from None


@dataclasses.dataclass(frozen=True)
class _Object:
    """A JSON object and its place in the file, for messages."""

    members: dict[str, Any]
    where: str

    def __post_init__(self) -> None:
        if not isinstance(self.members, dict):
            raise _Invalid(f"{self.where} is {type(self.members).__name__}, expected an object")

    def get(self, name: str, kind: type) -> Any:
        value = self.members.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            found = "missing" if value is None else repr(value)[:80]
            raise _Invalid(f"{self.where}: {name} is {found}, expected {kind.__name__}")
        return value

    def objects(self, name: str) -> list[_Object]:
        values = self.get(name, list)
        return [_Object(each, f"{self.where}: {name}[{k}]") for k, each in enumerate(values)]

    def integers(self, name: str) -> tuple[int, ...]:
        values = self.get(name, list)
        if not all(type(each) is int and 0 <= each < 2**63 for each in values):
            raise _Invalid(f"{self.where}: {name} is {values!r:.80}, expected sizes")
        return tuple(values)


def _number(text: str, base: int, where: str) -> int:
    """Parses a 64-bit number. JSON has them as texts, since many readers make numbers doubles."""
    try:
        number = int(text, base)
    except ValueError:
        number = -1
    if not 0 <= number < 2**64:
        raise _Invalid(f"{where} is {text!r}, expected a number of 64 bits")
    return number


def _recorded(item: _Object) -> Recorded:
    name, dtype, shape = item.get("name", str), item.get("dtype", str), item.integers("shape")
    if "sample" not in item.members:
        return Recorded(name, dtype, shape)
    sample = _Object(item.members["sample"], f"{item.where}: sample")
    if "values" in sample.members:
        return Recorded(name, dtype, shape, has_values=False)
    if "count" in sample.members:
        count = sample.get("count", int)
        if not 0 < count <= max(math.prod(shape), 1):
            raise _Invalid(f"{sample.where}: count is {count}, expected 1 to {math.prod(shape)}")
        return Recorded(name, dtype, shape, count)
    limit, checksum = (
        _number(sample.get(part, str), 16, f"{sample.where}: {part}")
        for part in ("limit", "checksum")
    )
    return Recorded(name, dtype, shape, None, limit, checksum)
