"""RunResults of Polygraphy in JSON, whose tensors are .npy files in base64.

Source: polygraphy/comparator/struct.py and polygraphy/json/serde.py.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import mmap
import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any, Callable

import numpy as np

from mluop_omp import _requirements
from mluop_omp.golden import _output
from mluop_omp.golden._numbers import STORED_AS
from mluop_omp.golden._text import listed
from mluop_omp.golden.comparison import _files
from mluop_omp.golden.runs._objects import Invalid, Object
from mluop_omp.golden.runs.formats._arrays import host_array, is_supported

# The texts in base64: of NumPy arrays, and of PyTorch tensors.
_TEXTS = re.compile(rb'"(array|tensor)"\s*:\s*"([A-Za-z0-9+/]*={0,2})"')
_BEGIN = re.compile(rb'\s*\{\s*"lst"\s*:')
# A file for each iteration, as `polygraphy run --save-outputs FOLDER` writes them.
_ITERATION = re.compile(r"\d{10}\.json")
_CHARACTERS = 1 << 18  # holds the header of any .npy


def is_results(path: str) -> bool:
    return bool(_files_of(_split(path)[0]))


def _split(path: str) -> tuple[str, str]:
    """Splits path#runner."""
    places = (k for k, each in enumerate(path) if each == "#" and os.path.exists(path[:k]))
    end = None if os.path.exists(path) else next(places, None)
    return (path, "") if end is None else (path[:end], path[end + 1 :])


def _files_of(path: str) -> list[str]:
    """Returns the file, or the files of iterations in a folder; [] if they are not results."""
    names = [path]
    if os.path.isdir(path):
        names = [os.path.join(path, each) for each in sorted(os.listdir(path))]
        names = [each for each in names if _ITERATION.fullmatch(os.path.basename(each))]
    elif not path.lower().endswith(".json"):
        return []
    return names if names and _is_results(names[0]) else []


def _is_results(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return _BEGIN.match(file.read(4096)) is not None
    return False


def read(
    path: str, resources: contextlib.ExitStack
) -> tuple[dict[str, Any], Callable[[str], np.ndarray]]:
    base, chosen = _split(path)
    documents = [_Document(each, resources) for each in _files_of(base)]
    names = list(dict.fromkeys(runner for each in documents for runner in each.runners))
    runner = _choose(names, chosen, base)
    arrays: dict[str, Callable[[], np.ndarray]] = {}
    tensors, calls = [], []
    iterations = (
        (document, outputs)
        for document in documents
        for outputs in document.runners.get(runner, [])
    )
    for number, (document, outputs) in enumerate(iterations):
        for output, item in outputs.entries():
            name = f"{number}.{output}"
            dtype, shape, arrays[name] = document.tensor(item, output)
            tensors.append({"name": name, "dtype": dtype, "shape": list(shape)})
            head = {"module": output, "call": number, "class": "output", "inputs": []}
            calls.append({**head, "outputs": [{"path": "", "tensor": name}]})
    parts = {"tensors": tensors, "calls": calls, "gradients": []}
    return {"model": f"runner {runner}", "seed": "0", **parts}, lambda name: arrays[name]()


def _choose(names: list[str], chosen: str, path: str) -> str:
    if chosen in names:
        return chosen
    matching = [name for name in names if name.startswith(chosen)]
    if len(matching) != 1:
        texts = listed(f"{path}#{name}" for name in matching or names) or "none"
        found = f"no runner {chosen!r}" if not matching else f"{len(matching)} runners"
        raise Invalid(f"has {found}, expected one of: {texts}")
    return matching[0]


class _Document:
    """A file. The texts in base64 stay in it until their tensors are read.

    Attributes:
        runners: the outputs of each iteration, by runner.
    """

    def __init__(self, path: str, resources: contextlib.ExitStack) -> None:
        with open(path, "rb") as file:
            self._text: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        resources.callback(self._text.close)
        self._places: list[tuple[int, int]] = []
        # Each text is replaced by the number of its place.
        text = _TEXTS.sub(self._place, self._text)
        try:
            head = Object(json.loads(text, object_pairs_hook=_files.unique), "its JSON")
        except (UnicodeDecodeError, RecursionError) as error:
            raise Invalid(f"{os.path.basename(path)} is not JSON: {error}") from None
        pairs = head.get("lst", list)
        if not all(isinstance(p, list) and len(p) == 2 and isinstance(p[0], str) for p in pairs):
            raise Invalid("has a list that is not of runners and their results in lst")
        self.runners = _files.unique((name, list(_outputs(name, each))) for name, each in pairs)

    def _place(self, match: re.Match[bytes]) -> bytes:
        self._places.append(match.span(2))
        return b'"%s": %d' % (match[1], len(self._places) - 1)

    def tensor(
        self, item: Object, output: str
    ) -> tuple[str, tuple[int, ...], Callable[[], np.ndarray]]:
        """Returns the element type and shape of an output, and a function that reads it."""
        values = Object(item.members.get("values", item.members), item.where)
        kind = "tensor" if "tensor" in values.members else "array"
        number = values.get(kind, int)
        if not 0 <= number < len(self._places):
            raise Invalid(f"{values.where}: {kind} is {number}, expected base64")
        begin, end = self._places[number]
        if kind == "tensor":
            value = self._torch(begin, end, output)
            dtype, shape = str(value.dtype).partition(".")[2], tuple(value.shape)
        else:
            dtype, shape = self._head(begin, end)
        if not is_supported(dtype):
            raise Invalid(f"has elements of {dtype} in {output}, expected numbers")
        read = self._torch if kind == "tensor" else self._array
        return dtype, shape, lambda: host_array(read(begin, end, output), dtype, output)

    def _decode(self, begin: int, end: int) -> bytes:
        return base64.b64decode(self._text[begin:end], validate=True)

    def _head(self, begin: int, end: int) -> tuple[str, tuple[int, ...]]:
        """Reads the element type and shape of an array from the header of its .npy."""
        file = io.BytesIO(self._decode(begin, min(end, begin + _CHARACTERS)))
        shape, _, element = _files.npy_header(file)
        size = (end - begin) // 4 * 3 - self._text[max(end - 2, begin) : end].count(b"=")
        _files.require_size(size - file.tell(), element, shape)
        return "bfloat16" if element == np.dtype("V2") else element.name, shape

    def _array(self, begin: int, end: int, output: str) -> np.ndarray:
        data = self._decode(begin, end)
        file = io.BytesIO(data)
        shape, order, element = _files.npy_header(file)
        return np.frombuffer(data, element, offset=file.tell()).reshape(shape, order=order)

    def _torch(self, begin: int, end: int, output: str) -> Any:
        message = _requirements.missing("torch")
        if message is not None:
            raise Invalid(f"has a tensor of PyTorch in {output}: {message}")
        import torch

        file = io.BytesIO(self._decode(begin, end))
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
        # A compressed member may take any memory.
        if any(each.compress_type != zipfile.ZIP_STORED for each in members):
            raise Invalid(f"has compressed elements in {output}, expected elements as torch.save")
        file.seek(0)
        try:
            value = torch.load(file, map_location="cpu", weights_only=True)
        except Exception as error:
            reason = str(error).strip().partition("\n")[0]
            raise Invalid(f"{output}: torch.load(weights_only=True): {reason}") from None
        if not isinstance(value, torch.Tensor):
            raise Invalid(f"has {type(value).__name__} in {output}, expected a tensor")
        return value


def _outputs(runner: str, iterations: Any) -> Iterator[Object]:
    """Yields the outputs of each iteration of a runner."""
    where = f"its runner {runner}"
    for item in Object({"iterations": iterations}, where).objects("iterations"):
        yield item.object("outputs")


def write(
    path: str | os.PathLike[str],
    runner: str,
    iterations: Sequence[dict[str, Any]],
    read_tensor: Callable[[Any], np.ndarray],
) -> None:
    """Writes outputs as a RunResults. Tensors, which have a dtype, are read one at a time."""

    def parts() -> Iterator[bytes]:
        yield b'{"lst": [[%s, [' % json.dumps(runner).encode()
        for number, outputs in enumerate(iterations):
            yield b'%s{"outputs": {' % (b", " * bool(number))
            for k, (name, tensor) in enumerate(outputs.items()):
                yield b'%s%s: {"values": ' % (b", " * bool(k), json.dumps(name).encode())
                yield from _encoded(read_tensor(tensor), tensor.dtype)
                yield b', "polygraphy_class": "LazyArray"}'
            tail = f'}}, "runtime": null, "runner_name": {json.dumps(runner)}, '
            yield tail.encode() + b'"polygraphy_class": "IterationResult"}'
        yield b']]], "polygraphy_class": "RunResults"}\n'

    with _output.written(path) as stream:
        for part in parts():
            stream.write(part)


def _encoded(array: np.ndarray, dtype: str) -> Iterator[bytes]:
    file = io.BytesIO()
    if dtype in STORED_AS:
        _requirements.require("torch")
        import torch

        tensor = torch.from_numpy(array.view(np.int16) if dtype == "bfloat16" else array)
        kind = getattr(torch, dtype)
        torch.save(tensor.view(kind) if dtype == "bfloat16" else tensor.to(kind), file)
        kind, name = b"tensor", b"Tensor"
    else:
        np.save(file, array, allow_pickle=False)
        kind, name = b"array", b"ndarray"
    yield b'{"%s": "' % kind
    yield base64.b64encode(file.getbuffer())
    yield b'", "polygraphy_class": "%s"}' % name
