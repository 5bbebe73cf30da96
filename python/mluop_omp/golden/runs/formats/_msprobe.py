"""Dumps of msprobe (mindstudio-probe): dump.json, dump_tensor_data/, construct.json, stack.json.

Source: msprobe/core/dump/data_dump of mindstudio-probe.
"""

from __future__ import annotations

import collections
import contextlib
import glob
import json
import os
import re
from collections.abc import Iterator
from typing import Any, Callable

import numpy as np

from mluop_omp.golden._text import below, listed
from mluop_omp.golden.comparison import _files
from mluop_omp.golden.runs._objects import Invalid, Object
from mluop_omp.golden.runs.formats._arrays import host_array, is_supported

_NAME, _FOLDER = "dump.json", "dump_tensor_data"
# Module.layer1.0.conv1.Conv2d.forward.0: of MindSpore, Cell instead of Module.
_MODULE = re.compile(
    r"(?:Module|Cell)\.(?:(?P<name>.*)\.)?(?P<kind>[^.]+)\."
    r"(?P<role>forward|backward|parameters_grad)\.(?P<call>\d{1,9})"
)
# Functional.conv2d.0.forward
_OPERATION = re.compile(
    r"(?P<kind>\w+)\.(?P<name>.+)\.(?P<call>\d{1,9})\.(?P<role>forward|backward)"
)
_FRAME = re.compile(r"File (.*), line (\d+), in (.*?),")


def is_dump(path: str) -> bool:
    return bool(_dumps(path))


def _dumps(path: str) -> list[str]:
    """Returns the dump.json of a folder, or those in its ranks, or in its steps and their ranks."""
    if not os.path.isdir(path):
        return [path] if os.path.basename(path) == _NAME and _is_description(path) else []
    for depth in range(3):
        pattern = os.path.join(glob.escape(path), *["*"] * depth, _NAME)
        found = sorted(filter(_is_description, glob.glob(pattern)))
        if found:
            return found
    return []


def _is_description(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return b'"dump_data_dir"' in file.read(4096)
    return False


def read(path: str, _: contextlib.ExitStack) -> tuple[dict[str, Any], Callable[[str], np.ndarray]]:
    dumps = _dumps(path)
    if len(dumps) > 1:
        folders = (os.path.relpath(os.path.dirname(each), path) for each in dumps)
        raise Invalid(f"has several dumps, expected one of these folders: {listed(folders)}")
    folder = os.path.dirname(dumps[0])
    head = _load(folder, _NAME)
    dump = _Dump(folder)
    for key, entry in head.object("data").entries():
        dump.add(key, entry)
    task, level = (head.members.get(name) for name in ("task", "level"))
    if not dump.files:
        raise Invalid(
            f"has no elements of tensors in {_FOLDER}: the task of the dump is {task!r}, expected "
            "'tensor'"
        )
    model = f"a model that msprobe dumped at level {level}"
    parts = {"tensors": dump.tensors, "calls": dump.calls, "gradients": dump.gradients}
    return {"model": model, "seed": "0", **parts}, dump.read


class _Dump:
    def __init__(self, folder: str) -> None:
        self._folder = folder
        # The module that contains each entry, and the line of Python that calls it.
        self._parents = _load(folder, "construct.json", {}).members
        self._lines = dict(_lines(_load(folder, "stack.json", {})))
        self._numbers: dict[str, int] = collections.Counter()
        self._operations: dict[str, tuple[str, int]] = {}
        self._values: dict[str, np.ndarray] = {}
        self._dtypes: dict[str, str] = {}
        self.files: dict[str, str] = {}
        self.tensors: list[dict[str, Any]] = []
        self.calls: list[dict[str, Any]] = []
        self.gradients: list[dict[str, Any]] = []

    def read(self, name: str) -> np.ndarray:
        if name in self._values:
            return self._values[name]
        path = os.path.join(self._folder, _FOLDER, self.files[name])
        value = _files.read(path, _files.RawFormat())
        return host_array(value, self._dtypes[name], self.files[name])

    def add(self, key: str, entry: Object) -> None:
        """Adds a line of dump.json."""
        match = _MODULE.fullmatch(key)
        if match is not None:
            module, number = match["name"] or "", int(match["call"])
        else:
            match = _OPERATION.fullmatch(key)
            module, number = self._operation(key, match)
        role = "forward" if match is None else match["role"]
        if role == "forward":
            kind = "entry" if match is None else match["kind"]
            if match is not None and match.re is _OPERATION:
                kind += f".{match['name']}"
            self._add_call(key, entry, {"module": module, "call": number, "class": kind})
        elif role == "parameters_grad":
            for name, value in entry.members.items():
                for item in self._tensors(f"{key}.{name}", _only(value)):
                    parameter = f"{module}.{name}" if module else name
                    del item["path"]
                    gradient = {"parameter": parameter, "backward": number}
                    self.gradients.append({**item, **gradient})
        else:
            # The inputs of the backward pass are the gradients of the outputs.
            for part, of in (("input", "output"), ("output", "input")):
                value = (
                    _only(entry.members.get(part)) if of == "output" else entry.members.get(part)
                )
                for item in self._tensors(f"{key}.{part}", value):
                    place = {"module": module, "call": number, "of": of, "backward": 0}
                    self.gradients.append({**item, **place})

    def _operation(self, key: str, match: re.Match[str] | None) -> tuple[str, int]:
        """Returns the name of an operation, with the module that contains it, and its number."""
        call = key if match is None else f"{match['kind']}.{match['name']}.{match['call']}"
        if call not in self._operations:
            parent = self._parents.get(key)
            parent = parent[0] if isinstance(parent, list) and parent else parent
            outer = _MODULE.fullmatch(parent) if isinstance(parent, str) else None
            module = "" if outer is None else outer["name"] or ""
            module += f"::{key if match is None else match['name']}"
            self._operations[call] = module, self._numbers[module]
            self._numbers[module] += 1
        return self._operations[call]

    def _add_call(self, key: str, entry: Object, head: dict[str, Any]) -> None:
        members = entry.members
        arguments = members.get("input_args", members.get("input"))
        inputs = self._tensors(f"{key}.input", arguments)
        inputs += self._tensors(f"{key}.input", members.get("input_kwargs"))
        outputs = self._tensors(f"{key}.output", _only(members.get("output")))
        parameters = members.get("parameters") if head["call"] == 0 else None
        state = self._tensors(f"{key}.parameters", parameters)
        line = {"line": self._lines.get(key, "")} if "::" in head["module"] else {}
        self.calls.append({**head, "inputs": inputs, "outputs": outputs, "state": state, **line})

    def _tensors(self, label: str, value: Any) -> list[dict[str, Any]]:
        """Describes the tensors in a value, and returns their paths and names."""
        return [
            {"path": path, "tensor": self._tensor(below(label, path) if path else label, leaf)}
            for path, leaf in _leaves(value)
        ]

    def _tensor(self, label: str, leaf: dict[str, Any] | np.ndarray) -> str:
        if isinstance(leaf, np.ndarray):
            self._values[label] = leaf
            self._describe(label, leaf.dtype.name, list(leaf.shape), True)
            return label
        item = Object(leaf, f"{_NAME}: {label}")
        # torch.float32, Float32 in MindSpore.
        dtype = item.get("dtype", str).rpartition(".")[2].lower()
        name = item.get("data_name", str, "") or label
        if os.path.basename(name) != name:
            raise Invalid(f"{item.where}: data_name is {name!r}, expected the name of a file")
        has_file = os.path.isfile(os.path.join(self._folder, _FOLDER, name))
        if has_file and is_supported(dtype):
            self.files[name] = name
            self._dtypes[name] = dtype
        self._describe(name, dtype, item.get("shape", list), name in self.files)
        return name

    def _describe(self, name: str, dtype: str, shape: list[Any], has_values: bool) -> None:
        sample = {} if has_values else {"sample": {"values": False}}
        self.tensors.append({"name": name, "dtype": dtype, "shape": shape, **sample})


def _load(folder: str, name: str, *default: Any) -> Object:
    path = os.path.join(folder, name)
    if default and not os.path.isfile(path):
        return Object(default[0], name)
    with open(path, "rb") as file:
        text = file.read()
    try:
        return Object(json.loads(text, object_pairs_hook=_files.unique), name)
    except (UnicodeDecodeError, RecursionError) as error:
        raise Invalid(f"{name} is not JSON: {error}") from None


def _lines(stack: Object) -> Iterator[tuple[str, str]]:
    """Yields the line of Python that makes each call: the first of its frames."""
    for key, value in stack.members.items():
        names, frames = [key], value
        if isinstance(value, list) and len(value) == 2 and isinstance(value[0], list):
            names, frames = value
        first = frames[0] if isinstance(frames, list) and frames else None
        match = _FRAME.match(first) if isinstance(first, str) else None
        if match is not None:
            line = f"{os.path.basename(match[1])}:{match[2]} in {match[3]}"
            yield from ((name, line) for name in names if isinstance(name, str))


def _only(value: Any) -> Any:
    """Returns the only element of a list: msprobe makes a list of a single output."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the tensors in arguments or results: their descriptions, or arrays of numbers."""
    numbers = _numbers(value)
    if numbers is not None:
        yield path, numbers
    elif isinstance(value, list):
        for number, member in enumerate(value):
            yield from _leaves(member, below(path, number))
    elif isinstance(value, dict) and isinstance(value.get("type"), str):
        if "shape" in value and "dtype" in value:
            yield path, value
    elif isinstance(value, dict):
        for name, member in value.items():
            yield from _leaves(member, below(path, name))


def _numbers(value: Any) -> np.ndarray | None:
    """Returns a number, or a list of numbers, as a run holds it; None for anything else."""
    leaves = value if isinstance(value, list) and value else [value]
    numbers = [each.get("value") if isinstance(each, dict) else None for each in leaves]
    if not isinstance(value, list) and isinstance(numbers[0], list) and numbers[0]:
        value = numbers = numbers[0]  # torch.Size
    if not all(isinstance(each, (bool, int, float)) for each in numbers):
        return None
    array = np.asarray(numbers if isinstance(value, list) else numbers[0])
    return array if array.dtype.kind in "biuf" else None
