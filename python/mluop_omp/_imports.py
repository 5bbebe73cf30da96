"""Changes of modules that may be imported later."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from typing import Any, Callable

Change = Callable[[types.ModuleType], None]


class _Loader(importlib.abc.Loader):
    """Loads a module as its own loader does, then changes it."""

    def __init__(self, loader: Any, change: Change) -> None:
        self._loader, self._change = loader, change

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        module: types.ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        self._loader.exec_module(module)
        self._change(module)

    def __getattr__(self, name: str) -> Any:
        """Readers of resources and sources use the loader's own attributes."""
        return getattr(self._loader, name)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules that are changed, through the other finders."""

    changes: dict[str, Change] = {}

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        change = self.changes.get(fullname)
        if change is None:
            return None
        others = (finder for finder in sys.meta_path if not isinstance(finder, _Finder))
        specs = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((each for each in specs if each is not None), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, change)
        return spec


def after_import(name: str, change: Change) -> None:
    """Calls a function with a module: now if it is imported, else once its code has run.

    The function may be called several times, for example if the module is reloaded.
    """
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    _Finder.changes[name] = change
    if name in sys.modules:
        change(sys.modules[name])
