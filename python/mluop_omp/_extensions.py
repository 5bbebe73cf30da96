"""Extension modules of other libraries, which their setup.py builds with CUDA."""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from typing import Any, Callable

from mluop_omp import _dispatch
from mluop_omp._library import not_supported


def _original(module: str, function: str) -> Callable[..., Any]:
    """Returns a function that calls the extension that was built, for other devices."""

    @functools.cache
    def built() -> Any:
        # The package of the extension, if it has one, is the caller, so it is imported.
        package = module.rpartition(".")[0]
        path = getattr(sys.modules.get(package), "__path__", []) if package else None
        spec = importlib.machinery.PathFinder.find_spec(module, path)
        if spec is None or spec.loader is None:
            raise not_supported(
                f"{function}: tensors are not on the CPU, and {module} is not built"
            )
        extension = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(extension)
        return extension

    return lambda *arguments: getattr(built(), function)(*arguments)


def refusal(function: str) -> Callable[..., Any]:
    """Returns a function that raises: one of an extension that has no kernel here."""

    def refuse(*_: Any) -> Any:
        raise not_supported(f"{function} has no CPU kernel in mluop_omp")

    return refuse


class _Packages(importlib.abc.MetaPathFinder):
    """Finds packages of extension modules where no other finder does: as packages without files."""

    names: set[str] = set()

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self.names:
            return None
        return importlib.machinery.ModuleSpec(fullname, None, is_package=True)


def provide_package(name: str) -> None:
    """Lets an extension module be imported whose package has nothing else; once, if repeated."""
    if not _Packages.names:
        sys.meta_path.append(_Packages())
    _Packages.names.add(name)


def provide(name: str, functions: dict[str, Callable[..., Any]]) -> None:
    """Provides an extension module whose functions compute tensors of the CPU; once, if repeated.

    An extension that was built keeps its functions for other devices.
    """
    if name not in sys.modules:
        module = types.ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        for function in functions:
            setattr(module, function, _original(name, function))
        sys.modules[name] = module
    for function, ours in functions.items():
        _dispatch.replace(sys.modules[name], function, ours)
