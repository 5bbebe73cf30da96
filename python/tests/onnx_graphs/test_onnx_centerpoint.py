"""CenterPoint's sparse backbone, exported by python/examples, in onnx.reference and in PyTorch."""

from __future__ import annotations

import collections
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import onnx
import pytest

from mluop_omp.onnx import nodes

PACKAGES = ("mmdet3d", "mmdet", "spconv")
EXAMPLE = Path(__file__).resolve().parents[2] / "examples/export_centerpoint.py"


@pytest.mark.skipif(not all(map(find_spec, PACKAGES)), reason="requires mmdet3d and spconv")
def test_the_graph_equals_the_pytorch_model(tmp_path):
    file = tmp_path / "centerpoint.scn.onnx"
    command = [sys.executable, str(EXAMPLE), str(file), "--space", "41", "32", "24"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    half, single = (line.rpartition(": ") for line in done.stdout.splitlines()[-2:])
    assert (half[0], single[0]) == ("float16 [1, 256, 4, 3]", "float32 [1, 256, 4, 3]")
    differences = [float(line[2].removeprefix("largest difference ")) for line in (half, single)]
    assert 0 < differences[0] < 5e-3 and differences[1] < 1e-5, done.stdout
    model = onnx.load(file)
    kinds = collections.Counter(node.op_type for node in model.graph.node)
    expected = {"SparseConvolution": 21, "Add": 8, "Relu": 8, "ScatterDense": 1, "Reshape": 1}
    assert kinds == expected
    assert [each.name for each in model.graph.input] == ["0"]
    assert {each.data_type for each in model.graph.initializer} == {onnx.TensorProto.FLOAT16}
    declared = next(node for node in nodes() if node.name == "SparseConvolution").attributes
    (first, *_) = model.graph.node
    attributes = {each.name: onnx.helper.get_attribute_value(each) for each in first.attribute}
    assert attributes.keys() <= declared.keys() and attributes["rulebook"] == b"subm1"
