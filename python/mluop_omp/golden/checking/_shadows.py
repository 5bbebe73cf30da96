"""Temporary replacements of functions of other libraries."""

from __future__ import annotations

import functools
import sys
import threading
import types
import weakref
from collections.abc import Iterator
from typing import Any, Callable

Function = Callable[..., Any]
# Takes the original function and the arguments of a call, and returns the result.
Intercept = Callable[[Function, tuple, dict[str, Any]], Any]

_LOCK = threading.RLock()
# For each shadow, the set that it belongs to and the function that it replaces.
_OF_SHADOW: weakref.WeakKeyDictionary[Function, tuple[Shadows, Function]] = (
    weakref.WeakKeyDictionary()
)


class Shadows:
    """Replaces functions of modules, and their copies in other modules, until `remove`.

    Sets may be nested and removed in any order. A removed set stops intercepting at once; its
    functions leave the modules when no other set wraps them.
    """

    def __init__(self) -> None:
        self._active = True
        self._shadows: list[Function] = []

    def install(self, functions: list[tuple[Any, str, Intercept]]) -> None:
        """Replaces functions, each given as module, name and intercepting function."""
        with _LOCK:
            shadows = {}
            for owner, name, intercept in functions:
                original = vars(owner)[name]
                shadows[id(original)] = self._shadow(original, intercept)
            for module, name, value in _globals():
                if id(value) in shadows:
                    setattr(module, name, shadows[id(value)])

    def _shadow(self, original: Function, intercept: Intercept) -> Function:
        @functools.wraps(original)
        def shadow(*arguments: Any, **named: Any) -> Any:
            if not self._active:
                return original(*arguments, **named)
            return intercept(original, arguments, named)

        _OF_SHADOW[shadow] = self, original
        self._shadows.append(shadow)
        return shadow

    def remove(self) -> None:
        with _LOCK:
            self._active = False
            mine = {id(shadow) for shadow in self._shadows}
            for module, name, value in _globals():
                if id(value) in mine:
                    setattr(module, name, _live(value))
            self._shadows = []


def _globals() -> Iterator[tuple[types.ModuleType, str, Any]]:
    """Yields the global variables of all modules outside of this package."""
    for module in list(sys.modules.values()):
        if isinstance(module, types.ModuleType) and not _is_ours(module):
            for name, value in list(vars(module).items()):
                yield module, name, value


def _is_ours(module: types.ModuleType) -> bool:
    return module.__name__.partition(".")[0] == "mluop_omp"


def _live(function: Function) -> Function:
    """Returns the function that remains once removed shadows are skipped."""
    while function in _OF_SHADOW and not _OF_SHADOW[function][0]._active:
        function = _OF_SHADOW[function][1]
    return function
