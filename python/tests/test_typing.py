"""Type annotations: the interface's, and a user's program under mypy --strict."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import mluop_omp

PROGRAM = Path(__file__).with_name("typed_program.py")


def test_the_package_is_marked_as_typed():
    assert Path(mluop_omp.__file__).with_name("py.typed").exists()


@pytest.mark.parametrize("module", ["mluop_omp", "mluop_omp.torch"])
def test_every_function_and_method_is_annotated(module):
    if module.endswith("torch"):
        pytest.importorskip("torch", reason="requires PyTorch")
    interface = importlib.import_module(module)
    for name in interface.__all__:
        value = getattr(interface, name)
        own = vars(value).values() if inspect.isclass(value) else (value,)
        for function in filter(inspect.isfunction, own):
            # Generated methods have no annotations.
            if function.__name__.startswith("_"):
                continue
            signature = inspect.signature(function)
            parameters = [p for p in signature.parameters.values() if p.name != "self"]
            annotations = [p.annotation for p in parameters] + [signature.return_annotation]
            assert inspect.Signature.empty not in annotations, function


def test_a_program_passes_mypy_strict(tmp_path):
    pytest.importorskip("mypy", reason="requires mypy")
    pytest.importorskip("torch", reason="requires PyTorch")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path, PROGRAM]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_program_runs():
    pytest.importorskip("torch", reason="requires PyTorch")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", PROGRAM], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
