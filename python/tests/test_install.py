"""`mluop_omp.install()`, and messages where a library is missing."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys

import pytest

import mluop_omp
from mluop_omp import _requirements

pytest.importorskip("torch", reason="requires PyTorch")


def test_install_says_what_it_does():
    code = """
import mluop_omp
done = mluop_omp.install()
assert done == mluop_omp.install()
for library, text in done.items(): print(library, text)
"""
    command = [sys.executable, "-W", "ignore", "-c", code]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    for library in ("mmcv", "spconv"):
        if _requirements.missing(library) is None:
            version = importlib.import_module(library).__version__
            assert f"{library} functions of {version}\n" in output
    for library in ("bevfusion", "deformable_detr", "pointops"):
        assert f"{library} extension modules\n" in output
    for library in ("MinkowskiEngine", "torchsparse"):
        assert re.search(
            rf"^{library} (modules|functions) of {library} [\d.]+", output, re.MULTILINE
        )


@pytest.mark.parametrize(
    ("module", "command"),
    [
        ("torch", "pip install 'torch>=2.8'"),
        ("mmcv", "pip install .* mmcv-lite==2.1.0 mmengine==0.10.7"),
        ("spconv", "pip install .* spconv==2.3.8"),
        ("onnxruntime_extensions", "pip install 'onnx>=[^ ]*' .*'onnxruntime-extensions"),
    ],
)
def test_a_missing_library_is_named(module, command, monkeypatch):
    monkeypatch.setattr(_requirements, "find_spec", lambda _: None)
    with pytest.raises(ImportError, match=command):
        _requirements.require(module)
    with pytest.raises(ImportError, match="pip install 'torch"):
        mluop_omp.install()
