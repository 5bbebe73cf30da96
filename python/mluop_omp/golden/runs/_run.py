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
from typing import Any, Callable, NamedTuple, Union

import numpy as np

from mluop_omp.golden._numbers import STORED_AS
from mluop_omp.golden._text import counted, listed, name_of, path_of
from mluop_omp.golden.comparison import SparseSites
from mluop_omp.golden.comparison._files import read_member, unique
from mluop_omp.golden.runs import _sampling
from mluop_omp.golden.runs._objects import Invalid as _Invalid
from mluop_omp.golden.runs._objects import Object as _Object
from mluop_omp.golden.runs.formats import read_named, reader_of, write_polygraphy

FORMAT, VERSION = "mluop_omp run", 2
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

    @property
    def is_sparse(self) -> bool:
        return self.indices is not None and not self.inferred

    def features(self) -> Value:
        """Returns the features of a sparse tensor as a dense one that was given its sites."""
        return dataclasses.replace(self, inferred=self.indices is not None)


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
        arguments: how the tensors make up the arguments, for `mluop_omp.replay`; None if unknown.
        written: inputs that the call changes in place, by path, with their values afterwards.
        line: for an operation of PyTorch, the line of Python that calls it, such as
            "model.py:12 in forward"; "" for a module. Its module is the name of the module that
            contains it, "::", and the name of the operation.
        scope: for a node of an ONNX graph, whose paths are names of tensors, the module that it was
            exported from, "" if unknown; None for other calls.
    """

    module: str
    number: int
    kind: str
    inputs: dict[str, Value]
    outputs: dict[str, Value]
    state: dict[str, Value]
    not_recorded: tuple[str, ...] = ()
    arguments: Any = None
    written: dict[str, Value] = dataclasses.field(default_factory=dict)
    line: str = ""
    scope: str | None = None


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
        count: for a sample of elements, the largest number of indices of a dimension that it has;
            else None.
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

    @property
    def is_whole(self) -> bool:
        """Whether all elements are recorded."""
        return self.has_values and not self.is_sample


class Sample(NamedTuple):
    """The recorded part of a tensor.

    Attributes:
        values: the recorded elements [K] in the order of the tensor, or rows [K, ...].
        positions: the position of each element [K, dims]; None for rows.
    """

    values: np.ndarray
    positions: np.ndarray | None


class Contents(NamedTuple):
    """What the reader of a format returns: the attributes of `Run`; read() reads a tensor."""

    model: str
    seed: int
    tensors: dict[str, Recorded]
    calls: tuple[Call, ...]
    gradients: tuple[Gradient, ...]
    read: Callable[[str], np.ndarray]
    changed: dict[str, Value] = {}
    ended: str = ""


class Run:
    """A run that `mluop_omp.record` or another tool has written to a file or folder.

    Other tools are msprobe, with the folder of a dump.json, and Polygraphy, with a RunResults in
    JSON. Where that has several runners, `path#runner` names one by the beginning of its name.

    Attributes:
        path: the path of the file or folder.
        model: the class of the model.
        seed: the seed of the samples.
        calls, gradients: the recorded calls and gradients.
        tensors: the recorded tensors by name; `array()` reads one.
        changed: the parameters and buffers that differ at the end of the recording from their first
            values, by name, with their last values.
        ended: the exception that ended the recording, and the module that raised it; "" if none.
        is_closed: whether the file has been closed.
    """

    def __init__(self, path: str | os.PathLike[str], *, has_names: bool = False) -> None:
        """Raises ValueError if the file is not a run, OSError if it cannot be opened.

        has_names: the file is a .npz of tensors by their names in a graph.
        """
        self.path, self._has_names = os.fspath(path), has_names
        with _errors(self.path), contextlib.ExitStack() as resources:
            read = read_named if has_names else reader_of(self.path)
            if read is None:
                contents = _read_zip(self.path, resources)
            else:
                description, read_tensor = read(self.path, resources)
                head = _Object(description, "its description")
                tensors = unique(
                    (each.name, each) for each in map(_recorded, head.objects("tensors"))
                )
                contents = _contents(head, tensors, read_tensor)
            self.model, self.seed, self.tensors, self.calls, self.gradients = contents[:5]
            self.changed, self.ended, self._read = contents.changed, contents.ended, contents.read
            self._resources = resources.pop_all()
        self.is_closed = False

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        self.is_closed = True
        self._resources.close()

    def reopened(self, path: str) -> Run:
        """Opens the file again, whose absolute path is given."""
        return Run(path, has_names=self._has_names)

    def __str__(self) -> str:
        sampled = sum(each.is_sample for each in self.tensors.values())
        lines = [
            f"run of {self.model}: {counted(len(self.calls), 'call')}, "
            f"{counted(len(self.tensors), 'tensor')}, {counted(len(self.gradients), 'gradient')}",
            *([f"samples: {counted(sampled, 'tensor')}"] if sampled else []),
            *([f"changed by the end: {listed(self.changed)}"] if self.changed else []),
            *([f"ended by {self.ended}"] if self.ended else []),
        ]
        return "\n".join([*lines, *self.not_recorded()])

    def not_recorded(self) -> list[str]:
        """Returns a line that lists values that were not recorded; nothing if there are none."""
        texts = [
            f"{name_of(call.module)} {each}" for call in self.calls for each in call.not_recorded
        ]
        return [f"not recorded: {listed(dict.fromkeys(texts))}"] if texts else []

    def array(self, name: str) -> np.ndarray:
        """Returns the elements of a tensor.

        Raises ValueError if only a sample is recorded or the file is damaged, KeyError if it has no
        tensor of this name.
        """
        recorded = self.tensors[name]
        if recorded.is_sample:
            raise ValueError(
                f"{self.path}: only a sample of {name}, {recorded.dtype} {list(recorded.shape)}, "
                "is recorded: use sample(), or record with more max_bytes"
            )
        return self.stored(name)

    def value(self, value: Value) -> np.ndarray | SparseSites:
        """Returns an input, output or gradient: an array, or the parts of a sparse tensor.

        Raises ValueError and KeyError as `array` does.
        """
        if value.indices is None:
            return self.array(value.tensor)
        parts = self.array(value.tensor), self.array(value.indices)
        return SparseSites(*parts, value.spatial_shape, value.batch_size)

    def sample(self, name: str) -> Sample:
        """Returns the recorded elements of a tensor with their positions.

        The sites of a sparse tensor are a tensor too: samples of both have the same rows. Raises
        ValueError if the tensor is recorded as a whole, otherwise as `array` does.
        """
        recorded = self.tensors[name]
        if not recorded.is_sample:
            raise ValueError(f"{self.path}: all of {name} is recorded: use array()")
        values = self.stored(name)
        if recorded.count is None:
            return Sample(values, None)
        positions, places = _sampling.elements(self.seed, recorded.count, recorded.shape)
        indices = np.unravel_index(positions, recorded.shape)
        return Sample(values[places], np.stack(indices, axis=1))

    def stored(self, name: str) -> np.ndarray:
        """Returns what the file has of a tensor: its elements, or the elements or rows of a sample.

        docs/record.md describes their order. Raises ValueError if the file is damaged, KeyError if
        it has no tensor of this name.
        """
        recorded = self.tensors[name]
        with _errors(self.path):
            array = self._read(name)
            expected = STORED_AS.get(recorded.dtype, recorded.dtype)
            if array.dtype.name != expected:
                raise _Invalid(f"{name}.npy has dtype {array.dtype}, expected {expected}")
            shape = recorded.shape
            if recorded.count is not None:
                shape = (_sampling.size(recorded.count, shape),)
            elif recorded.limit is not None:
                shape = (len(array) if array.ndim else -1, *shape[1:])
            if array.shape != shape:
                raise _Invalid(f"{name}.npy has shape {list(array.shape)}, expected {list(shape)}")
            return array.astype(array.dtype.newbyteorder("="), copy=False)

    def to_polygraphy(self, path: str | os.PathLike[str], *, runner: str = "mluop_omp") -> None:
        """Writes the outputs of all calls as the RunResults of Polygraphy, in JSON.

        The n-th calls of all modules make up the n-th iteration. An output is named after its
        module, followed by a colon and its path if it has one, and ":indices" for the sites of a
        sparse tensor; the model itself is "(model)".

        Args:
            path: the file to write.
            runner: the name of the runner.

        Raises:
            ValueError: a tensor was recorded as a sample or without its elements; the run is
                damaged.
            ImportError: an output is bfloat16, float8 or complex32, which Polygraphy holds as
                tensors of PyTorch, and PyTorch is not installed.
            OSError: the file cannot be written.

        Source: polygraphy.comparator.RunResults, polygraphy.json.
        """
        iterations: dict[int, dict[str, Recorded]] = {}
        for call in self.calls:
            iteration = iterations.setdefault(call.number, {})
            for below, value in call.outputs.items():
                name = name_of(call.module) + f":{below}" * bool(below)
                parts = {name: value.tensor, f"{name}:indices": value.indices}
                for part, tensor in parts.items():
                    if tensor is not None:
                        iteration[part] = self._whole(tensor)
        ordered = [iterations[number] for number in sorted(iterations)]
        write_polygraphy(path, runner, ordered, lambda each: self.array(each.name))

    def _whole(self, name: str) -> Recorded:
        recorded = self.tensors[name]
        if not recorded.is_whole:
            raise ValueError(f"{self.path} has not recorded all of {name}: raise max_bytes")
        return recorded


RunSource = Union[str, "os.PathLike[str]", Run]


@contextlib.contextmanager
def opened(source: RunSource) -> Iterator[Run]:
    """Opens the file of a run; a `Run` stays open."""
    if isinstance(source, Run):
        yield source
        return
    with Run(source) as run:
        yield run


def is_run(path: str | os.PathLike[str]) -> bool:
    """Returns whether a file or folder claims to be a run, of any tool."""
    if reader_of(os.fspath(path)) is not None:
        return True
    if not os.path.isfile(path):
        return False
    try:
        with zipfile.ZipFile(path) as file:
            return DESCRIPTION in file.namelist()
    except (OSError, *_DAMAGES):
        return False


@contextlib.contextmanager
def _errors(path: str) -> Iterator[None]:
    """Turns exceptions that a damaged file causes into ValueError with its path."""
    try:
        yield
    except _Invalid as error:
        raise ValueError(f"{path} {error}") from None
    except _DAMAGES as error:
        raise ValueError(f"{path} is damaged or not a run: {error}") from None


def _read_zip(path: str, resources: contextlib.ExitStack) -> Contents:
    """Reads a file of `mluop_omp.record`; formats/ describes files of other tools in its terms."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise _Invalid("is not a regular file")
    file = resources.enter_context(zipfile.ZipFile(path))
    if DESCRIPTION not in file.namelist():
        raise _Invalid(f"has no {DESCRIPTION}, expected a file written by mluop_omp.record")
    members = unique((name, None) for name in file.namelist())
    try:
        text = json.loads(file.read(DESCRIPTION), object_pairs_hook=unique)
    except (UnicodeDecodeError, RecursionError) as error:
        raise _Invalid(f"{DESCRIPTION} is not JSON: {error}") from None
    head = _Object(text, DESCRIPTION)
    if head.get("format", str) != FORMAT:
        raise _Invalid(f"{DESCRIPTION} has format {text['format']!r}, expected {FORMAT!r}")
    if head.get("version", int) != VERSION:
        raise _Invalid(
            f"has version {text['version']} of the format, expected {VERSION}: record it again"
        )
    tensors: dict[str, Recorded] = {}
    for item in head.objects("tensors"):
        recorded = _recorded(item)
        if recorded.has_values and f"{recorded.name}.npy" not in members:
            raise _Invalid(f"has no {recorded.name}.npy, which {item.where} names")
        if recorded.name in tensors:
            raise _Invalid(f"describes the tensor {recorded.name!r} twice")
        tensors[recorded.name] = recorded
    return _contents(head, tensors, lambda name: read_member(file, file.getinfo(f"{name}.npy")))


def _contents(
    head: _Object, tensors: dict[str, Recorded], read: Callable[[str], np.ndarray]
) -> Contents:
    """head: the content of run.json, as docs/record.md describes it."""
    return Contents(
        head.get("model", str),
        head.number("seed", 10),
        tensors,
        tuple(_call(item, tensors) for item in head.objects("calls")),
        tuple(_gradient(item, tensors) for item in head.objects("gradients")),
        read,
        {each.get("name", str): _value(each, tensors) for each in head.objects("changed", ())},
        head.get("ended", str, ""),
    )


def _recorded(item: _Object) -> Recorded:
    recorded = Recorded(item.get("name", str), item.get("dtype", str), item.sizes("shape"))
    if "sample" not in item.members:
        return recorded
    sample = _Object(item.members["sample"], f"{item.where}: sample")
    if "values" in sample.members:
        return dataclasses.replace(recorded, has_values=False)
    count, size = sample.get("count", int, None), recorded.size
    if count is None:
        limit, checksum = (sample.number(name, 16) for name in ("limit", "checksum"))
        return dataclasses.replace(recorded, limit=limit, checksum=checksum)
    if not (0 < count < 2**63 and 1 < size < 2**63):
        raise _Invalid(
            f"{sample.where}: count is {count} for {size} elements, expected more than 0"
        )
    return dataclasses.replace(recorded, count=count)


def _value(item: _Object, tensors: dict[str, Recorded]) -> Value:
    tensor, indices = item.get("tensor", str), item.get("indices", str, None)
    for name in (tensor, indices):
        if name is not None and name not in tensors:
            raise _Invalid(f"{item.where} names the tensor {name!r}, which is not described")
    if indices is not None:
        features, sites = tensors[tensor], tensors[indices]
        if features.limit != sites.limit or len(sites.shape) != 2:
            raise _Invalid(f"{item.where} has features and indices of different samples")
        if features.shape[:1] != sites.shape[:1]:
            raise _Invalid(
                f"{item.where} has features {list(features.shape)} and indices "
                f"{list(sites.shape)}, expected equal numbers of rows"
            )
    extents = item.sizes("spatial_shape", None), item.get("batch_size", int, None)
    return Value(tensor, indices, *extents, inferred=item.members.get("inferred") is True)


def _call(item: _Object, tensors: dict[str, Recorded]) -> Call:
    inputs, outputs, state, written = (
        {each.get("path", str): _value(each, tensors) for each in item.objects(*part)}
        for part in (["inputs"], ["outputs"], ["state", ()], ["written", ()])
    )
    skipped = (
        [each.get(name, str) for name in ("of", "path", "type")]
        for each in item.objects("not_recorded", ())
    )
    texts = tuple(f"{path_of(role, path)}: {kind}" for role, path, kind in skipped)
    head = item.get("module", str), item.get("call", int), item.get("class", str)
    arguments, line = item.members.get("arguments"), item.get("line", str, "")
    scope = item.get("scope", str, None)
    return Call(*head, inputs, outputs, state, texts, arguments, written, line, scope)


def _gradient(item: _Object, tensors: dict[str, Recorded]) -> Gradient:
    value, backward = _value(item, tensors), item.get("backward", int)
    if "parameter" in item.members:
        return Gradient(value, backward, item.get("parameter", str))
    place = {name: item.get(name, str) for name in ("module", "of", "path")}
    return Gradient(value, backward, call=item.get("call", int), **place)
