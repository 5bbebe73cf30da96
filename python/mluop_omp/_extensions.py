"""Extension modules of other libraries, which their setup.py builds with CUDA."""

from __future__ import annotations

import functools
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
        # The package of the extension is the caller, so it is imported.
        package = sys.modules.get(module.rpartition(".")[0])
        spec = (
            importlib.machinery.PathFinder.find_spec(module, package.__path__) if package else None
        )
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


def provide(name: str, functions: dict[str, Callable[..., Any]]) -> None:
    """Provides an extension module whose functions compute tensors of the CPU; once, if repeated.

    An extension that was built keeps its functions for other devices.
    """
    if name not in sys.modules:
        module = types.ModuleType(name)
        for function in functions:
            setattr(module, function, _original(name, function))
        sys.modules[name] = module
    for function, ours in functions.items():
        _dispatch.replace(sys.modules[name], function, ours)
