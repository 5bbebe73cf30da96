"""Changes of modules before and after their import."""

from __future__ import annotations

import importlib
import inspect
import sys

import pytest

from mluop_omp import _imports


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The name of a module that can be imported."""
    name = "module_of_test_imports"
    (tmp_path / f"{name}.py").write_text("def value():\n    return 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield name
    sys.modules.pop(name, None)
    _imports._Finder.changes.pop(name, None)


def change(module):
    module.original, module.value = module.value, lambda: 2


def test_a_module_is_changed_when_it_is_imported(module):
    _imports.after_import(module, change)
    imported = importlib.import_module(module)
    assert imported.value() == 2
    assert inspect.getsource(imported.original).startswith("def value")
    assert importlib.reload(imported).value() == 2


def test_an_imported_module_is_changed_at_once(module):
    imported = importlib.import_module(module)
    assert imported.value() == 1
    _imports.after_import(module, change)
    assert imported.value() == 2


def test_a_module_that_does_not_exist(module):
    _imports.after_import("module_that_does_not_exist", change)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("module_that_does_not_exist")
    _imports._Finder.changes.pop("module_that_does_not_exist")
