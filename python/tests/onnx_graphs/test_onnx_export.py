"""Modules of PyTorch that are exported with operators of mluop_omp as nodes."""

from __future__ import annotations

import pytest

onnx = pytest.importorskip("onnx", reason="requires onnx")
torch = pytest.importorskip("torch", reason="requires torch")

import mluop_omp  # noqa: E402
from mluop_omp import onnx as mluop_onnx  # noqa: E402
from mluop_omp import torch as mt  # noqa: E402


class Pooled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.linear = torch.nn.Linear(16, 5)

    def forward(self, image, rois):
        features = self.conv(image).relu()
        pooled, _, _ = mt.roi_align(features, rois, (2, 2), 0.5, sampling_ratio=2)
        return self.linear(pooled.flatten(1)).softmax(-1)


class Deformed(torch.nn.Module):
    """The optional tensors are None, or are there."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4, 3, 3, 3))
        self.bias = torch.nn.Parameter(torch.randn(4))

    def forward(self, x, offset, mask):
        options = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1)}
        plain = mt.deform_conv2d(x, offset, self.weight, None, None, **options)
        biased = mt.deform_conv2d(x, offset, self.weight, None, self.bias, **options)
        modulated = mt.deform_conv2d(x, offset, self.weight, mask, None, **options)
        return plain + biased, modulated


def exported(tmp_path, model, inputs, **options):
    """Returns the ONNX model, and its outputs in onnx.reference."""
    path = tmp_path / "model.onnx"
    names = [f"input{k}" for k in range(len(inputs))]
    mluop_onnx.export(model.eval(), inputs, path, input_names=names, **options)
    graph = onnx.load(path)
    onnx.checker.check_model(graph)
    return graph


def results(graph, inputs):
    feeds = {f"input{k}": each.numpy() for k, each in enumerate(inputs)}
    return mluop_onnx.evaluator(graph).run(None, feeds)


def assert_close(found, expected):
    for one, other in zip(found, expected):
        torch.testing.assert_close(torch.from_numpy(one), other, rtol=1e-5, atol=1e-5)


def test_an_operator_is_a_node_with_attributes(tmp_path):
    torch.manual_seed(0)
    model = Pooled()
    inputs = torch.randn(1, 3, 8, 8), torch.tensor([[0, 0, 0, 6, 6], [0, 2, 2, 14, 9.0]])
    axes = {"input0": {2: "h", 3: "w"}, "input1": {0: "rois"}}
    graph = exported(tmp_path, model, inputs, dynamic_axes=axes)
    (node,) = [each for each in graph.graph.node if each.domain == "mluop_omp"]
    assert node.op_type == "roi_align" and len(node.input) == 2
    found = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    assert found == {
        **{"output_size": [2, 2], "spatial_scale": 0.5, "sampling_ratio": 2},
        **{"method": b"mean", "aligned": 1},
    }
    # Other sizes than the traced ones.
    others = torch.randn(1, 3, 9, 12), torch.tensor([[0, 1, 1, 9, 8.0]])
    for each in (inputs, others):
        with torch.no_grad():
            assert_close(results(graph, each), [model(*each)])


def test_optional_tensors(tmp_path):
    torch.manual_seed(1)
    model = Deformed()
    inputs = torch.randn(2, 3, 6, 6), torch.randn(2, 18, 6, 6), torch.rand(2, 9, 6, 6)
    graph = exported(tmp_path, model, inputs)
    nodes = [each for each in graph.graph.node if each.domain == "mluop_omp"]
    assert sorted([len(each.input), *map(bool, each.input)] for each in nodes) == [
        [3, True, True, True],
        [4, True, True, True, True],
        [5, True, True, True, False, True],
    ]
    with torch.no_grad():
        assert_close(results(graph, inputs), model(*inputs))


class Sized(torch.nn.Module):
    def forward(self, x, rois):
        height = x.shape[2]
        return mt.roi_align(x, rois, (height // 4, 2), 1 / height, sampling_ratio=height)[0]


@pytest.mark.parametrize("dynamic_axes", [None, {"input0": {2: "h"}}])
def test_sizes_become_constants(tmp_path, dynamic_axes):
    inputs = torch.randn(1, 3, 8, 8), torch.zeros(1, 5)
    with pytest.warns(torch.jit.TracerWarning) as warned:
        graph = exported(tmp_path, Sized(), inputs, dynamic_axes=dynamic_axes)
    messages = [str(each.message) for each in warned]
    for name, number in (("output_size", 2), ("spatial_scale", 0.125), ("sampling_ratio", 8)):
        text = f"roi_align: {name} depends on the inputs of the model, and becomes the constant"
        assert f"{text} {number}" in messages
    assert_close(results(graph, inputs), [Sized()(*inputs)])


def test_the_exporter_of_torch_export_is_refused(tmp_path):
    with pytest.raises(mluop_omp.MluOpError, match="dynamo is True"):
        exported(tmp_path, Pooled(), (), dynamo=True)
