"""Functions of other libraries, replaced for a while."""

from __future__ import annotations

import functools
import sys
import threading
import types
import weakref
from collections.abc import Iterator
from typing import Any, Callable

Function = Callable[..., Any]
# Is given the original and the arguments of a call, and returns its result.
Intercept = Callable[[Function, tuple, dict[str, Any]], Any]

_LOCK = threading.RLock()
# The set that a shadow belongs to, and the function that it stands for.
_OF_SHADOW: weakref.WeakKeyDictionary[Function, tuple[Shadows, Function]] = (
    weakref.WeakKeyDictionary()
)


class Shadows:
    """Replaces functions of modules, and their copies in other modules, until `remove`.

    Sets may be nested, and removed in any order: what has been removed no longer intercepts, and is
    out of the modules as soon as no other set stands before it.
    """

    def __init__(self) -> None:
        self._active = True
        self._shadows: list[Function] = []

    def install(self, functions: list[tuple[Any, str, Intercept]]) -> None:
        """Replaces functions, each given as module, name and what intercepts its calls."""
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
    """Yields the global variables of all modules but those of this package."""
    for module in list(sys.modules.values()):
        if isinstance(module, types.ModuleType) and not _is_ours(module):
            for name, value in list(vars(module).items()):
                yield module, name, value


def _is_ours(module: types.ModuleType) -> bool:
    return module.__name__.partition(".")[0] == "mluop_omp"


def _live(function: Function) -> Function:
    """Returns what a function stands for once removed shadows are gone."""
    while function in _OF_SHADOW and not _OF_SHADOW[function][0]._active:
        function = _OF_SHADOW[function][1]
    return function
