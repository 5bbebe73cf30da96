"""Records the parameters and buffers of modules, and those that a run changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from torch import Tensor, nn

from mluop_omp.golden.runs._changes import Watched
from mluop_omp.golden.runs._writer import RunWriter


class _First(NamedTuple):
    """The first value of a parameter or buffer, by the name of the recorded tensor."""

    module: nn.Module
    path: str
    tensor: str
    watched: Watched


class RecordedState:
    """The recorded parameters and buffers by name."""

    def __init__(self, writer: RunWriter) -> None:
        self._writer = writer
        self._first: dict[str, _First] = {}

    def record(self, name: str, module: nn.Module) -> list[dict[str, Any]]:
        """Records the state of a module and returns its entries in run.json."""
        entries = []
        for path, tensor in own_state(module):
            label = f"{name}.{path}".lstrip(".")
            entry, _ = self._writer.add(label, tensor, is_state=True)
            self._first[label] = _First(module, path, entry["tensor"], Watched(tensor))
            entries.append({"path": path, **entry})
        return entries

    def record_changes(self) -> None:
        """Records the parameters and buffers whose values are not the first ones."""
        for label, first in self._first.items():
            tensor = dict(own_state(first.module)).get(first.path)
            if tensor is None or not first.watched.differs(tensor):
                continue
            entry, _ = self._writer.add(f"{label}.changed", tensor)
            if entry["tensor"] != first.tensor:
                self._writer.line("changed", {"name": label, **entry})


def own_state(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yields the parameters and buffers of the module itself."""
    yield from module.named_parameters(recurse=False)
    yield from module.named_buffers(recurse=False)
