"""Recorded runs of models, and the first module that differs."""

from __future__ import annotations

import collections
import copy
import dataclasses
import errno
import importlib
import json
import os
import zipfile
from pathlib import Path

import cases
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="requires PyTorch")
from torch import nn  # noqa: E402

import mluop_omp.torch as mt  # noqa: E402
from mluop_omp import Run, compare, compare_runs, record, recording  # noqa: E402
from mluop_omp.golden.runs import _sampling  # noqa: E402
from mluop_omp.golden.runs._sources import Source  # noqa: E402


@dataclasses.dataclass
class Boxes:
    tensor: torch.Tensor
    names: tuple


class Sample:
    """Has tensors in attributes, like the samples of mmdetection3d."""

    def __init__(self, boxes):
        self._pred, self.itself = boxes, self


class Head(nn.Module):
    def forward(self, x, *, scale=1.0):
        pooled = x.mean((2, 3)) * scale
        return pooled, {"max": x.amax((2, 3)), "none": None, "n": 3}, Boxes(pooled[:, :2], ("a",))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.act = nn.ReLU(inplace=True)
        self.shared = nn.Conv2d(8, 8, 1)

    def forward(self, x):
        x = self.act(self.conv(x))
        return self.shared(self.shared(x)) * 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.head, self.last = Encoder(), Head(), nn.Linear(8, 4)

    def forward(self, x, shift=0):
        pooled, extra, boxes = self.head(self.encoder(x) + shift, scale=0.5)
        return Sample(self.last(pooled)), extra


class Sparse(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = mt.SubMConv3d(4, 8, 3, indice_key="a")
        self.second = mt.SparseConv3d(8, 6, 3, 2, 1)
        self.third = mt.SubMConv3d(6, 5, 3)

    def forward(self, x):
        return self.third(self.second(self.first(x)))


class Returns(nn.Module):
    """Returns a function of its argument."""

    def __init__(self, result, *layers):
        super().__init__()
        self.scale, self.result = nn.Parameter(torch.ones(1)), result
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        return self.result(x * self.scale, *self.layers)


def spoiled(model, name, defect):
    """Returns a copy whose module of this name has a defect of its output."""
    model = copy.deepcopy(model)
    model.get_submodule(name).register_forward_hook(lambda module, args, output: defect(output))
    return model


def add(channel, value):
    """A defect of a channel."""

    def defect(output):
        features = output if isinstance(output, torch.Tensor) else output.features
        changed = features.clone()
        changed[:, channel] += value
        return changed if features is output else output.replace_feature(changed)

    return defect


class Backward(torch.autograd.Function):
    """Identity, whose derivative is wrong."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


def with_wrong_backward(model):
    model = copy.deepcopy(model)
    forward = model.encoder.shared.forward
    model.encoder.shared.forward = lambda x: Backward.apply(forward(x))
    return model


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Net()


@pytest.fixture
def image():
    return torch.rand(2, 3, 6, 5, generator=cases.generator())


def sparse_input(order=None, library=None, sites=40):
    indices, features = cases.sites(sites, 2, (8, 8, 8)), cases.floats(sites, 4)
    if order is not None:
        indices, features = indices[order], features[order]
    if library is None:
        return mt.SparseTensor(features, indices, (8, 8, 8), 2)
    return library.SparseConvTensor(features, indices, [8, 8, 8], 2)


ORDER = torch.randperm(40, generator=cases.generator())


def recorded(model, inputs, path="run.npz", **options):
    record(model, inputs, path, **options)
    return Run(path)


def both(found, expected, inputs, **options):
    """Records two models, and compares the runs."""
    inputs = inputs if isinstance(inputs, list) else [inputs, inputs]
    for name, model, values in zip(("found.npz", "expected.npz"), (found, expected), inputs):
        record(model, values, name, **options)
    return compare_runs("found.npz", "expected.npz")


def hooks_of(model):
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def test_calls_are_recorded_in_the_order_in_which_they_return(model, image):
    output = record(model, image, "run.npz")
    assert torch.equal(output[0]._pred, model(image)[0]._pred) and hooks_of(model) == 0
    with Run("run.npz") as run:
        names = ["encoder.conv", "encoder.act", "encoder.shared", "encoder.shared", "encoder"]
        assert [call.module for call in run.calls] == [*names, "head", "last", ""]
        assert [call.number for call in run.calls] == [0, 0, 0, 1, 0, 0, 0, 0]
        conv, act, first, second, encoder, head, last, whole = run.calls
        # The input of the in-place module is the output of the convolution, before it is changed.
        assert act.inputs["0"] == conv.outputs[""]
        assert (run.array(conv.outputs[""].tensor) < 0).any()
        assert run.array(act.outputs[""].tensor).min() == 0
        assert second.inputs["0"] == first.outputs[""]
        assert list(head.inputs) == ["0", "scale"] and run.array(head.inputs["scale"].tensor) == 0.5
        assert list(head.outputs) == ["0", "1.max", "1.n", "2.tensor"]
        assert list(whole.outputs) == ["0._pred", "1.max", "1.n"]
        assert head.kind == "test_record.Head" and run.model == "Net"


def test_the_file_is_read_with_numpy_alone(image):
    record(nn.Conv2d(3, 2, 1).bfloat16(), image.bfloat16(), "run.npz")
    with np.load("run.npz", allow_pickle=False) as file:
        description = json.loads(file["run.json"])
        (call,) = description["calls"]
        tensors = {each["name"]: each for each in description["tensors"]}
        name = call["inputs"][0]["tensor"]
        assert tensors[name] == {"name": name, "dtype": "bfloat16", "shape": [2, 3, 6, 5]}
        widened = (file[name].astype(np.uint32) << 16).view(np.float32)
        assert (widened == image.bfloat16().float().numpy()).all()


ELEMENTS = ("float16", "int64", "bool", "complex64", "complex32", "float8_e5m2", "uint8")
NUMBERS = torch.arange(6).view(2, 3).t()


def kinds(x, script, embedding):
    """Tensors of any kind."""
    x = script(x) + embedding(torch.tensor([1, 2, 1]))
    sparse = torch.eye(4).to_sparse()
    quantized = torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)
    mirrored = torch._neg_view(x.detach()), x.detach().to(torch.complex64).conj()
    return {"x": x, "coo": sparse, "csr": sparse.to_sparse_csr(), "quantized": quantized} | {
        "nested": torch.nested.nested_tensor([x, x[:1]]), "mirrored": mirrored,
        "meta": x.to("meta"), "list": [1, 2.5],
        "types": {each: NUMBERS.to(getattr(torch, each)) for each in ELEMENTS},
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore")  # of prototypes and what is deprecated
def test_tensors_of_any_kind():
    embedding = nn.Embedding(9, 4, sparse=True)
    model = Returns(kinds, torch.jit.script(nn.Linear(4, 4)), embedding)
    loss = lambda output: output["x"].sum()  # noqa: E731
    output = record(model, torch.ones(3, 4), "run.npz", gradients=True, loss=loss)
    with Run("run.npz") as run:
        assert [call.module for call in run.calls] == ["layers.1", ""]
        outputs = dict(run.calls[1].outputs)
        assert not run.tensors[outputs.pop("meta").tensor].has_values and outputs["coo"].indices
        weight = next(g for g in run.gradients if g.parameter == "layers.1.weight")
        for each in ELEMENTS:
            name = outputs.pop(f"types.{each}").tensor
            assert run.tensors[name].dtype == each
            np.testing.assert_array_equal(
                run.array(name), NUMBERS.to(getattr(torch, each)).cfloat()
            )
        values = {**outputs, "embedding": weight.value}
        arrays = {path: run.array(each.tensor) for path, each in values.items()}
    np.testing.assert_array_equal(arrays["csr"], np.eye(4))
    np.testing.assert_array_equal(arrays["quantized"], output["quantized"].dequantize())
    np.testing.assert_array_equal(arrays["nested.1"], output["x"][:1].detach())
    np.testing.assert_array_equal(arrays["mirrored.0"], -output["x"].detach())
    np.testing.assert_array_equal(arrays["mirrored.1"], output["x"].detach())
    np.testing.assert_array_equal(arrays["list"], [1, 2.5])
    np.testing.assert_array_equal(arrays["embedding"][:3, 0], [0, 2, 1])
    assert "recorded without its elements" in str(compare_runs("run.npz", "run.npz"))


DEFECTS = {"encoder.conv": 1.0, "encoder.shared": 1.0, "last": 0.5}


@pytest.mark.parametrize("name", list(DEFECTS))
def test_the_first_difference_is_the_spoiled_module(name, model, image):
    result = both(spoiled(model, name, add(2, DEFECTS[name])), model, image)
    assert not result
    assert result.first.call.module == name and result.first.call.number == 0
    output, first, *_ = str(result).splitlines()
    assert output.startswith("the output of the model differs: relative error ")
    assert first.startswith(f"first difference: {name} (") and f"contain {name}" in str(result)
    comparison = result.first.outputs[""]
    assert comparison.pattern and {each.index[1] for each in comparison.worst} == {2}
    assert sum(each.inputs_agree for each in result.differences) > 1  # the modules that contain it


def test_a_later_module_that_differs_more_is_not_the_first(model, image):
    found = spoiled(spoiled(model, "encoder.conv", add(1, 0.01)), "last", add(0, 1e6))
    assert both(found, model, image).first.call.module == "encoder.conv"


def test_parameters_and_buffers_of_the_first_difference_are_compared(image):
    model = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)).eval()
    loaded = copy.deepcopy(model)
    loaded[1].running_mean[2] += 1
    result = both(loaded, model, image)
    assert result.first.call.module == "1" and list(result.first.state) == ["running_mean"]
    assert "  running_mean: differ" in str(result) and result.first.compared_state == 5
    result = both(spoiled(model, "1", add(2, 1.0)), model, image)
    assert "parameters and buffers agree: 5 tensors" in str(result)
    assert not both(loaded, model, image, state=False).first.state


def test_code_between_modules_is_the_code_of_the_module_around_them(model, image):
    found = copy.deepcopy(model)
    forward = found.encoder.forward
    found.encoder.forward = lambda x: forward(x) * 1.5
    assert both(found, model, image).first.call.module == "encoder"
    found = copy.deepcopy(model)
    found.forward = lambda x: Net.forward(found, x, shift=1)
    result = both(found, model, image)
    assert result.first.call.module == "" and result.first_input == "input 0 of head (Head)"
    assert "first difference: (model) (Net)" in str(result)


def test_equal_runs_are_equal_files(model, image):
    assert both(model, copy.deepcopy(model), image)
    assert Path("found.npz").read_bytes() == Path("expected.npz").read_bytes()


def test_structures_that_differ(image):
    pair = Returns(lambda x: (x, x + 1)), Returns(lambda x: {"a": x, "b": x + 1})
    assert both(*pair, [(image,), {"x": image}])
    more = Returns(lambda x: (x, x + 1, x + 2))
    assert "output 2 is only in found" in str(both(more, pair[0], image))
    assert "output 2 is only in expected" in str(both(pair[0], more, image))
    result = both(pair[0], Returns(lambda x: (x[:1], x + 1)), image)
    assert "output 0: cannot be compared: shapes differ: found [2, " in str(result)


@dataclasses.dataclass
class Slotted:
    __slots__ = ("boxes", "scores", "unset")
    boxes: torch.Tensor
    scores: torch.Tensor


class Inherited(Slotted):
    def __init__(self, boxes, scores):
        super().__init__(boxes, scores)
        self.extra = boxes + 1


def members(x):
    """Every kind of container, and what cannot be looked into."""
    return {
        "slots": Slotted(x, x + 1), "inherited": Inherited(x, x), "deque": collections.deque([x]),
        "range": range(3), "complex": 1j, "frozen": frozenset({1}), "set": {x}, "object": object(),
        "generator": (each for each in [x]), "map": map(abs, [x]), "views": {"a": x}.values(),
        "texts": np.array(["a"]), "a.b": x + 2, "a": {"b": x + 3}, 0: x, "0": x + 4, "": x + 5,
        'a."b': x + 6, "text": "a", "none": None, "words": {"a"},
    }  # fmt: skip


def test_what_is_not_recorded_is_named_and_names_are_unique(image):
    output = record(Returns(members), image, "run.npz", state=False)
    assert next(output["generator"]) is not None  # is not consumed
    assert next(output["map"]) is not None
    expected = {
        **{"slots.boxes": 0, "slots.scores": 1, "inherited.boxes": 0, "inherited.scores": 0},
        **{"inherited.extra": 1, "deque.0": 0, '"a.b"': 2, "a.b": 3, "0": 0, "0'": 4, '""': 5},
        r'"a.\"b"': 6,
    }
    skipped = ("frozen", "set", "object", "generator", "map", "views", "texts")
    kinds = ("frozenset", "set", "object", "generator", "map", "dict_values", "numpy.ndarray")
    with Run("run.npz") as run:
        (call,) = run.calls
        assert set(call.outputs) == {*expected, "range", "complex"}
        for path, added in expected.items():
            array = run.array(call.outputs[path].tensor)
            np.testing.assert_array_equal(array, image + added, err_msg=path)
        lines = tuple(f"output {path}: {kind}" for path, kind in zip(skipped, kinds))
        assert call.not_recorded == lines
        assert "not recorded: (model) output frozen: frozenset, (model) output set" in str(run)
    result = compare_runs("run.npz", "run.npz")
    assert result and "found: not recorded: (model) output frozen: frozenset" in str(result)


@pytest.mark.parametrize("result", [lambda x: "a", lambda x: {x}])
def test_runs_without_tensors_are_not_equal(result, image):
    compared = both(Returns(result), Returns(result), image)
    assert not compared and not compared.comparable
    assert "\nnot all was compared: 1 of 1 call, no output" in str(compared)


def test_a_backward_pass_that_is_wrong_by_a_factor_differs_whatever_the_loss(model):
    """The gradients of a mean over many elements are about 1e-6."""
    image = torch.rand(8, 3, 64, 64, generator=cases.generator())
    options = {"gradients": True, "loss": lambda output: 1e-4 * output[0]._pred.mean()}
    result = both(with_wrong_backward(model), model, image, **options)
    assert not result and not result.differences
    assert {each.name for each in result.gradients} >= {"encoder.conv.weight", "encoder.conv.bias"}
    for each in result.gradients:
        assert each.comparison.figures["rms"] < 2e-5
        assert "of the root mean square" in str(each.comparison)
    # The images in another order: sums of gradients are rounded otherwise.
    with Run("expected.npz") as run, recorded(model, image.flip(0), **options) as other:
        sides = [{g.parameter: r.array(g.value.tensor) for g in r.gradients} for r in (run, other)]
        for name, _ in model.named_parameters():
            assert compare(sides[0][name], sides[1][name]), name


def test_without_calls_whose_inputs_agree_the_inputs_are_shown(model, image):
    result = both(model, model, [image + 1, image])
    assert not result and result.first is None
    assert "\nno first difference" in str(result) and "input 0: differ" in str(result)


@pytest.mark.parametrize("library", ["ours", "spconv"])
def test_rows_of_sparse_tensors_have_no_order(library):
    layers, model, names = None, Sparse(), ["second"]
    if library == "spconv":
        layers = pytest.importorskip("spconv.pytorch", reason="requires spconv")
        importlib.import_module("mluop_omp.spconv").install()
        # Normalizations take the features alone.
        convolutions = layers.SubMConv3d(4, 8, 3), layers.SparseConv3d(8, 6, 3, 2, 1)
        middle = nn.BatchNorm1d(8), nn.ReLU()
        model = layers.SparseSequential(convolutions[0], *middle, convolutions[1])
        names = ["3", "1"]
    inputs = [sparse_input(ORDER, layers), sparse_input(None, layers)]
    assert both(copy.deepcopy(model), model, inputs)
    for name in names:
        result = both(spoiled(model, name, add(3, 1.0)), model, inputs)
        assert result.first.call.module == name
        worst = result.first.outputs[""].worst
        assert all(each.index[-1] == 3 and len(each.site) == 4 for each in worst)


def test_a_missing_site_is_reported():
    def drop(output):
        return mt.SparseTensor(output.features[1:], output.indices[1:], (8, 8, 8), 2)

    model = Sparse()
    result = both(spoiled(model, "first", drop), model, sparse_input())
    assert result.first.call.module == "first" and "only in expected: 1" in str(result)


def test_gradients_are_recorded_and_compared(model, image):
    image.requires_grad_()
    with recorded(model, image, gradients=True) as run:
        assert image.grad is None and all(each.grad is None for each in model.parameters())
        output = model(image)
        (output[0]._pred.sum() + output[1]["max"].sum()).backward()
        found = {each.parameter: run.array(each.value.tensor) for each in run.gradients}
        for name, parameter in model.named_parameters():
            np.testing.assert_allclose(found[name], parameter.grad.numpy(), 1e-6, 1e-6)
        inputs = [each for each in run.gradients if (each.module, each.of) == ("", "input")]
        np.testing.assert_allclose(run.array(inputs[0].value.tensor), image.grad, 1e-6, 1e-6)


def test_the_first_gradient_that_differs_names_the_backward_pass(model, image):
    result = both(with_wrong_backward(model), model, image.requires_grad_(), gradients=True)
    assert result.first is None and not result
    first = result.gradients[0]
    assert first.name == "output of encoder.shared (Conv2d), call 0"
    assert first.computed_by == ("encoder.shared",)
    of_image = [each for each in result.gradients if each.name == "input 0 of (model) (Net)"]
    assert of_image[0].computed_by == ("encoder.conv",)
    assert str(result).startswith("the output of the model is equal\noutputs agree: ")
    assert "first gradient that differs" in str(result)


def test_gradients_of_sparse_tensors_have_sites():
    model, inputs = Sparse(), [sparse_input(ORDER), sparse_input()]
    for each in inputs:
        each.features.requires_grad_()
    result = both(model, model, inputs, gradients=True)
    assert result and result.compared_gradients > 10


def test_a_loss_and_several_backward_passes(model, image):
    loss = lambda output: output[0]._pred.square().sum()  # noqa: E731
    record(model, image, "a.npz", gradients=True, loss=loss)
    with recording(model, "b.npz", gradients=True):
        for _ in range(2):
            loss(model(image)).backward()
    with Run("b.npz") as run:
        assert {each.backward for each in run.gradients if each.parameter} == {0, 1}
    result = compare_runs("a.npz", "b.npz")
    assert not result and not result.differences and not result.comparable
    assert result.total_gradients == 2 * result.compared_gradients
    assert "expected calls the model 1 time more: call 0 of the model is not" in str(result)


@pytest.mark.parametrize("sparse", [False, True])
def test_large_tensors_are_sampled_alike(sparse, model):
    inputs, name = torch.rand(2, 3, 40, 50, generator=cases.generator()), "encoder.conv"
    if sparse:
        inputs, model, name = sparse_input(sites=900), Sparse(), "second"
    record(spoiled(model, name, add(2, 1.0)), inputs, "found.npz", max_bytes=30_000)
    record(model, inputs, "expected.npz", max_bytes=60_000)
    record(model, inputs, "whole.npz")
    record(model, inputs, "seed.npz", max_bytes=60_000, seed=1)
    assert os.path.getsize("whole.npz") > 60_000
    for path, limit in (("found.npz", 30_000), ("expected.npz", 60_000)):
        assert os.path.getsize(path) <= limit
        with Run(path) as run:
            # The input of a module is the sample of the output before it.
            assert run.calls[0].outputs[""] == run.calls[1].inputs["0"]
    assert compare_runs("expected.npz", "whole.npz")
    with pytest.raises(ValueError, match=r"seeds: 1 in seed.npz, 0 in expected.npz; rec"):
        compare_runs("seed.npz", "expected.npz")
    for other in ("expected.npz", "whole.npz"):
        result = compare_runs("found.npz", other)
        assert result.first.call.module == name and "a sample: " in str(result)
        assert all(each.index[1] == 2 for each in result.first.outputs[""].worst)
    assert sparse or "pattern: one index: 2 of 8 (dim 1)\n" in str(result)


def test_sites_outside_of_the_sample_are_compared_by_their_checksum():
    def move(output):
        # Sites of the largest hashes are in no sample.
        indices = output.indices.clone()
        others = torch.cartesian_prod(torch.arange(2), *3 * [torch.arange(4, 9)])
        largest = [_sampling.site_hashes(0, each.numpy()).argmax() for each in (indices, others)]
        indices[largest[0]] = others[largest[1]].int()
        return mt.SparseTensor(output.features, indices, (8, 8, 8), 2)

    model = Sparse()
    result = both(spoiled(model, "third", move), model, sparse_input(sites=500), max_bytes=40_000)
    assert result.first.call.module == "third" and "outside of the sample" in str(result)


def test_the_generators_are_as_documented():
    gamma = 0x9E3779B97F4A7C15

    def splitmix64(x):
        x = (x + gamma) % 2**64
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
        return x ^ (x >> 31)

    sites = np.array([[0, -1, 5], [2**31 - 1, 7, -(2**31)]], np.int32)
    for hashed, site in zip(_sampling.site_hashes(9, sites).tolist(), sites.tolist()):
        expected = 9
        for column in site:
            expected = splitmix64(expected ^ (column % 2**64))
        assert hashed == expected
    # SplitMix64 of the seed 1234567: the first value published with its source.
    assert splitmix64(1234567) == 6457827717110365317
    for extent, count in ((9, 4), (1000, 150), (2**40 + 1, 70), (2**62 + 3, 6)):
        hashes = ((splitmix64(5) + j * gamma) % 2**64 for j in range(3 * count))
        order = [h * extent >> 64 for h in hashes]
        order[3:3] = [extent - 1, 0]
        expected = sorted(list(dict.fromkeys(order))[:count])
        assert _sampling.chosen(5, extent, count).tolist() == expected


def test_samples_are_as_documented_and_nested():
    shape, seed = (3, 1, 90, 200), 7
    whole, before = np.arange(3 * 90 * 200).reshape(shape), set()
    for count in (1, 2, 50, 64, 65, 200, 1000):
        few, parts = [1 + (count - 1 + 64 * r // 3) // 64 for r in (0, 1, 1, 2)], []
        for own in (0, 2, 3):
            counts = [count if dim == own else few[dim] for dim in range(4)]
            part = [_sampling.chosen(seed, n, min(n, k)) for n, k in zip(shape, counts)]
            parts.append(whole[np.ix_(*part)].ravel())
        sample = Source(whole).sample(_sampling.parts(seed, count, shape))
        assert sample.tolist() == np.concatenate(parts).tolist()
        assert len(sample) == _sampling.size(count, shape) and before <= set(sample.tolist())
        before = set(sample.tolist())
        transposed = torch.from_numpy(whole).transpose(2, 3).contiguous().transpose(2, 3)
        assert Source(transposed).sample(_sampling.parts(seed, count, shape)).tolist() == [*sample]
    for elements in (1, 100, 3000, 20_000):
        count = _sampling.fitting(elements, shape)
        assert count == 1 or _sampling.size(count, shape) <= elements
        assert _sampling.size(count + 1, shape) > elements


def test_a_sample_is_read_with_positions_and_never_as_the_tensor():
    image = torch.rand(1, 6, 40, 50, generator=cases.generator())
    with recorded(nn.Identity(), image, max_bytes=20_000) as run:
        value = run.calls[0].outputs[""]
        for read in (run.array, lambda _: run.value(value)):
            with pytest.raises(ValueError, match=r"only a sample of .* is recorded: use sample"):
                read(value.tensor)
        sample = run.sample(value.tensor)
        assert sample.positions.shape == (len(sample.values), 4) and len(sample.values) > 800
        assert (sample.values == image.numpy()[tuple(sample.positions.T)]).all()
    model, inputs = Sparse(), sparse_input(sites=400)
    with recorded(model, inputs, max_bytes=30_000) as run:
        value = run.calls[0].inputs["0"]
        rows = [run.sample(name) for name in (value.tensor, value.indices)]
        assert rows[0].positions is None and len(rows[0].values) == len(rows[1].values) < 400
    with recorded(model, inputs) as run:
        found = run.value(run.calls[0].inputs["0"])
        assert (found.indices == inputs.indices.numpy()).all() and found.batch_size == 2
        assert (found.features == inputs.features.numpy()).all()
        assert (
            run.value(run.calls[0].state["weight"]) == model.first.weight.detach().numpy()
        ).all()
        with pytest.raises(ValueError, match="is recorded: use array"):
            run.sample(run.calls[0].inputs["0"].tensor)


def changed_at(where, change):
    def defect(x):
        x = x.clone()
        x[where] = change(x[where])
        return x

    return defect


# A defect of a tensor [1, 12, 70, 140], and the pattern that the report on a sample of it states.
SAMPLED_DEFECTS = {
    "a channel": (changed_at(np.s_[:, 7], lambda x: x + 1), "one index: 7 of 12 (dim 1)"),
    "its factor": (
        changed_at(np.s_[:, 7], lambda x: 1.5 * x),
        "one index: 7 of 12 (dim 1); each is 1.5 times what is expected",
    ),
    "channels": (
        lambda x: x[:, [0, 2, 1, *range(3, 12)]],
        "2 of 12 indices of index (dim 1) are permuted: 1 -> 2, 2 -> 1",
    ),
    "the last row": (changed_at(np.s_[:, :, -1], lambda x: x + 1), "one index: 69 of 70 (dim 2)"),
    "a tile": (
        changed_at(np.s_[..., 32:48, :60], lambda x: x + 1),
        "16 of 70 indices of index: 32 to 47 (dim 2) and "
        "60 of 140 indices of index: 0 to 59 (dim 3)",
    ),
    "every 8th row": (
        changed_at(np.s_[:, :, 3::8], lambda x: x + 1), "every 8th index from 3 (dim 2)"
    ),
    "everything": (lambda x: 2 * x, "everything; each is 2 times what is expected"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(SAMPLED_DEFECTS))
def test_patterns_are_found_in_samples(name):
    defect, expected = SAMPLED_DEFECTS[name]
    image = torch.rand(1, 12, 70, 140, generator=cases.generator()) + 1
    model = Returns(lambda x: x * 3)
    result = both(spoiled(model, "", defect), model, image, max_bytes=90_000)
    assert result.first.outputs[""].pattern == expected and "a sample: " in str(result)


def test_a_transposition_and_lines_of_channels_are_found_in_samples():
    image = torch.rand(4, 20, 200, 200, generator=cases.generator()) + 1
    model = Returns(lambda x: x * 3)
    found = spoiled(model, "", lambda x: x.transpose(2, 3))
    result = both(found, model, image, max_bytes=100_000)
    assert result.first.outputs[""].pattern.startswith("transposed: found has the dims of expected")
    factors = torch.linspace(0.5, 1.5, 20).view(20, 1, 1)
    result = both(spoiled(model, "", lambda x: x * factors + 1), model, image, max_bytes=100_000)
    assert "20 of 20 channels (dim 1) of found are a * expected + b, a 0.5 to 1.5" in str(result)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
@pytest.mark.parametrize("training", [False, True])
def test_modes_are_left_as_they_are(mode, training, image):
    model = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4), nn.ReLU(True), nn.Dropout(0.5))
    model.train(training)
    other = copy.deepcopy(model)
    with mode(), torch.autocast("cpu", torch.bfloat16):
        torch.manual_seed(1)
        found = record(model, image, "run.npz")
        torch.manual_seed(1)
        expected = other(image)
    assert torch.equal(found, expected) and found.requires_grad == expected.requires_grad
    assert model.training == training and not hooks_of(model)
    for name, value in other.state_dict().items():
        assert torch.equal(model.state_dict()[name], value)
    with Run("run.npz") as run:
        relu = next(call for call in run.calls if call.module == "2")
        # Changed in place, also where tensors have no version.
        assert run.array(relu.outputs[""].tensor).astype(np.int16).min() >= 0
        assert relu.inputs["0"] != relu.outputs[""]


def test_repeated_calls_of_checkpoints_are_not_recorded(image):
    def checkpointed(x, layer):
        return torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)

    model = Returns(checkpointed, nn.Conv2d(3, 4, 1))
    with recording(model, "run.npz", gradients=True):
        for _ in range(2):
            model(image).sum().backward()
    with Run("run.npz") as run:
        calls = [(call.module, call.number) for call in run.calls]
        assert calls == [("layers.0", 0), ("", 0), ("layers.0", 1), ("", 1)]
        assert {each.parameter for each in run.gradients} >= {"layers.0.weight", "layers.0.bias"}


class Fails(nn.Module):
    """Raises an exception after its layer has returned."""

    def __init__(self, error):
        super().__init__()
        self.error, self.layer = error, nn.Linear(5, 4)

    def forward(self, x):
        raise self.error(f"with {len(self.layer(x))} rows\nof the layer")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, torch.OutOfMemoryError])
def test_a_run_survives_an_exception(error, image):
    path = Path("run.npz")
    path.write_bytes(b"earlier")
    failing = Fails(error)
    model = Returns(lambda x, *layers: layers[1](tries(x, *layers)), nn.Linear(7, 7), failing)
    model.result = lambda x, wrong, right: tries(x, wrong, right)
    with pytest.raises(error, match=r"^with 2 rows\nof the layer$") as raised:
        record(model, image, path)
    assert raised.value.__cause__ is None and os.listdir() == ["run.npz"] and not hooks_of(model)
    with Run(path) as run:
        # layers.0 has failed too, which the model handled.
        names = ["layers.1.layer", "layers.1", ""]
        assert [call.module for call in run.calls] == names
        assert [len(call.outputs) for call in run.calls] == [1, 0, 0]
        assert (run.value(run.calls[2].inputs["0"]) == image.numpy()).all()
        kind = "torch.OutOfMemoryError" if error is torch.OutOfMemoryError else error.__name__
        assert run.ended == f"{kind}: with 2 rows of the layer, in layers.1 (Fails)"
        assert f"ended by {run.ended}" in str(run)
    failing.forward = failing.layer.forward
    record(model, image, "whole.npz")
    result = compare_runs(path, "whole.npz")
    assert result.first.call.module == "layers.1" and "only in expected" in str(result)


def test_an_exception_outside_of_the_model_and_an_interrupt_of_a_hook(model, image, monkeypatch):
    with pytest.raises(ZeroDivisionError), recording(model, "run.npz"):
        model(image)
        1 / 0  # noqa: B018
    with Run("run.npz") as run:
        assert len(run.calls) == 8 and run.ended == "ZeroDivisionError: division by zero"
    write, count = np.lib.format.write_array, [0]

    def write_array(file, array, **options):
        count[0] += 1
        if count[0] == 6:
            file.write(b"a part")
            raise KeyboardInterrupt
        write(file, array, **options)

    monkeypatch.setattr(np.lib.format, "write_array", write_array)
    with pytest.raises(KeyboardInterrupt):
        record(model, image, "run.npz")
    with Run("run.npz") as run:
        assert run.ended.startswith("KeyboardInterrupt") and len(run.tensors) == 5
        assert all(run.array(name).size for name in run.tensors)


def test_an_exception_remains_if_the_run_cannot_be_written(image, monkeypatch):
    def fail(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    model = Fails(ValueError)
    monkeypatch.setattr(os, "replace", fail)
    monkeypatch.setattr("shutil.copyfile", fail)
    with (
        pytest.warns(UserWarning, match=r"run\.npz was not written: .* No space left"),
        pytest.raises(ValueError, match="rows"),
    ):
        record(model, image, "run.npz")
    assert os.listdir() == []


def behind_the_back(x):
    x.detach().numpy()[1, 2] += 1


class Writes(nn.Module):
    def __init__(self, write):
        super().__init__()
        self.write = write

    def forward(self, x, other):
        self.write(x)
        return x * 2 + other["b"][0]


# What writes an input, and whether its version changes.
WRITES = {
    "in place": lambda x: x.add_(1),
    "a view": lambda x: x[:1].zero_(),
    "a kernel of another library": behind_the_back,
    "rows exchanged by it": lambda x: x.numpy().__setitem__([0, 1], x.numpy()[[1, 0]]),
}


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("name", list(WRITES))
def test_inputs_that_a_call_writes_are_recorded(name, mode, image):
    with mode():
        x, other = image.clone(), {"b": [image + 2, torch.ones(3)]}
        model, given = Writes(WRITES[name]), x.clone()
        with recorded(model, (given, other), "run.npz") as run:
            (call,) = run.calls
            assert list(call.inputs) == ["0", "1.b.0", "1.b.1"] and list(call.written) == ["0"]
            assert (run.value(call.inputs["0"]) == x.numpy()).all()
            assert (run.value(call.written["0"]) == given.numpy()).all()
        with recorded(Writes(len), (given, other)) as run:
            assert run.calls[0].written == {}


def test_what_an_in_place_module_writes_is_its_output(image):
    with recorded(nn.Sequential(nn.Conv2d(3, 2, 1), nn.ReLU(True)), image) as run:
        conv, relu, _ = run.calls
        assert relu.written == {"0": relu.outputs[""]} and conv.written == {}
        assert len(run.tensors) == 5
    sparse = Writes(lambda x: x.features.mul_(2))
    sparse.forward = lambda x: sparse.write(x)
    with recorded(sparse, sparse_input()) as run:
        (call,) = run.calls
        assert call.written["0"].indices == call.inputs["0"].indices
        assert (2 * run.array(call.inputs["0"].tensor) == run.array(call.written["0"].tensor)).all()


def step(model, image):
    model.train()(image).square().mean().backward()
    torch.optim.SGD(model.parameters(), 0.1).step()


STATISTICS = {"1.running_mean", "1.running_var", "1.num_batches_tracked"}
PARAMETERS = {"0.weight", "0.bias", "1.weight", "1.bias"}
# What a block does after it has called the model, and the parameters and buffers that it changes.
STEPS = {
    "nothing": (lambda model, image: None, set()),
    "train": (lambda model, image: model.train()(image), STATISTICS),
    "step": (step, STATISTICS | PARAMETERS),
    "data": (lambda model, image: setattr(model[0].bias, "data", torch.ones(4)), {"0.bias"}),
    "equal": (lambda model, image: model[0].bias.data.mul_(1), set()),
    "replaced": (
        lambda model, image: setattr(model[1], "running_var", torch.zeros(4)), {"1.running_var"}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(STEPS))
def test_state_that_a_block_changes_is_recorded(name, image):
    act, changed = STEPS[name]
    model = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4))
    first = copy.deepcopy(model.state_dict())
    model.eval()
    with recording(model, "run.npz"):
        model(image)
        act(model, image)
    with Run("run.npz") as run:
        assert run.changed.keys() == changed
        assert not changed or "changed by the end: " in str(run)
        for path, value in run.changed.items():
            assert (run.value(value) == model.state_dict()[path].numpy()).all()
        states = [
            (f"{call.module}.{path}", v) for call in run.calls for path, v in call.state.items()
        ]
        for path, value in states:
            assert (run.value(value) == first[path].numpy()).all()
    with recording(model, "run.npz", state=False):
        act(model, image)
    with Run("run.npz") as run:
        assert run.changed == {}


def tries(x, wrong, right):
    try:
        return wrong(x + 1)
    except (RuntimeError, OSError):
        return right(x)


def test_an_exception_that_the_model_handles_is_no_failure(image):
    with recorded(Returns(tries, nn.Linear(7, 7), nn.Conv2d(3, 2, 1)), image) as run:
        right, whole = run.calls
        assert (right.module, whole.module) == ("layers.1", "") and right.inputs == whole.inputs


def test_a_full_disk_is_a_failure_whatever_the_model_handles(image, monkeypatch):
    write, sizes = np.lib.format.write_array, []

    def write_array(file, array, **options):
        sizes.append(array.size)
        if len(sizes) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(file, array, **options)

    monkeypatch.setattr(np.lib.format, "write_array", write_array)
    model = Returns(tries, nn.Linear(7, 7), nn.Conv2d(3, 2, 1))
    with pytest.raises(OSError, match="No space left"):
        record(model, image, "run.npz")
    assert os.listdir() == [] and hooks_of(model) == 0 and len(sizes) == 3


class Renamed(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.module, self.extra = model, nn.Identity()

    def forward(self, x):
        return self.module(self.extra(x))


def test_names_are_mapped(model, image):
    files = "a.npz", "b.npz"
    record(Renamed(spoiled(model, "last", add(1, 1.0))), image, files[0], modules="(?!$).*")
    record(model, image, files[1])
    for names in (
        {r"module\.(.*)": r"\1", "module": ""},
        [r"module\.?(.*)=\1"],
        [(r"module\.?(?P<rest>.*)", r"\g<rest>"), ("unused", "x")],
    ):
        result = compare_runs(*files, names=names)
        assert result.first.call.module == "last" and result.first.found_module == "module.last"
        assert result.only_found == result.only_expected == ()
    assert result.notes == ("map unused matches no module",)
    for pair, text in (
        (files, "found has the prefix module"),
        (files[::-1], "found lacks the prefix"),
    ):
        found = compare_runs(*pair)
        assert found.compared == 8 and found.first.label.endswith("last (Linear)")
        assert text in found.notes[0] and found.notes[0].endswith(": 6 modules")
    for names, message in (
        ({".*": "x"}, "both mapped to x"),
        *((each, "map ") for each in ("a", {"(": "b"}, {"a": r"\1"}, {"a": r"\g<x>"})),
    ):
        with pytest.raises(ValueError, match=message):
            compare_runs(*files, names=names)
    for each, path in zip((Renamed(model), model), files):
        record(each, image, path, gradients=True)
    result = compare_runs(*files, names=[r"module\.(.*)=\1"])
    assert result.compared_gradients == 21 < result.total_gradients
    assert not (result.only_found or result.differences or result.gradients)
    assert not result and "8 of 8 calls, 13 outputs; what was compared agrees" in str(result)


def test_the_command_compares_runs(model, image, command):
    record(Renamed(spoiled(model, "last", add(1, 1.0))), image, "a.npz", modules="module.*")
    record(model, image, "b.npz")
    Path("names.txt").write_text("# DataParallel\n\nmodule\\.?(.*)=\\1\n")
    text = "the output of the model is equal\nequal: 8 calls of both runs, 13 outputs\n"
    assert command("b.npz", "b.npz") == (0, text, "")
    with recorded(model, image, "part.npz", modules="las.") as run:
        assert [call.module for call in run.calls] == ["last"]
    for pair in (("part.npz", "b.npz"), ("b.npz", "part.npz")):
        status, out, _ = command(*pair)
        assert status == 2 and "not all was compared: 1 of 8 calls, 1 output; " in out
    mapped = ["a.npz", "b.npz", "--map", "@names.txt"]
    status, out, _ = command(*mapped, "--json", "result.json", "--worst", 1)
    assert status == 1 and "first difference: last (Linear)\n  in found: module.last" in out
    result = json.loads(Path("result.json").read_text())
    assert result["first"]["module"] == "last" and len(result["first"]["outputs"]) == 1
    assert command(*mapped, "--criterion", "max_absolute=1.5")[0] == 0
    np.savez("c.npz", a=1)
    for arguments, message in (
        (["a.npz", "c.npz"], "c.npz has no run.json"),
        (["c.npz", "c.npz", "--map", "a=b"], "--map applies to runs"),
        (["a.npz", "b.npz", "--map", "a"], "map is 'a', expected OLD=NEW"),
        (["a.npz", "b.npz", "--map", "@none"], "none"),
        (["a.npz", "b.npz", "--rtol", "-1"], "rtol is -1"),
    ):
        status, _, err = command(*arguments)
        assert status == 2 and message in err


def compiled_in_place():
    layer = nn.Linear(2, 2)
    layer.compile()
    return nn.Sequential(layer)


def compiled():
    return nn.Sequential(torch.compile(nn.Linear(2, 2)))


BAD_CALLS = {
    "no module": (lambda: len, {}, TypeError, "model is of type builtin_function"),
    "folder": (nn.Identity, {"path": "."}, OSError, "is a folder"),
    "no folder": (nn.Identity, {"path": "x/y.npz"}, FileNotFoundError, "x/y.npz"),
    "seed": (nn.Identity, {"seed": -1}, ValueError, "seed is -1, expected an integer from 0"),
    "no integer": (nn.Identity, {"seed": 1.5}, ValueError, "seed is 1.5, expected an integer"),
    "no bytes": (nn.Identity, {"max_bytes": "1"}, ValueError, "max_bytes is '1', expected an int"),
    "too large a seed": (nn.Identity, {"seed": 2**64}, ValueError, "seed is 1844674407370955"),
    "max_bytes": (nn.Identity, {"max_bytes": 300}, ValueError, "max_bytes is 300"),
    "type of modules": (nn.Identity, {"modules": 3}, TypeError, "modules is 3, expected"),
    "type of loss": (nn.Identity, {"loss": 3}, TypeError, "loss is 3, expected a function"),
    "modules": (nn.Identity, {"modules": "a"}, ValueError, "modules is 'a', which matches"),
    "script": (lambda: torch.jit.script(nn.ReLU()), {}, ValueError, "modules of torch.jit cannot"),
    "expression": (nn.Identity, {"modules": "("}, ValueError, r"modules is '\('"),
    "no gradient": (nn.Identity, {"gradients": True}, ValueError, "no output requires a gradient"),
    "torch.compile": (compiled, {}, ValueError, "'0' is compiled by torch.compile"),
    "compile()": (compiled_in_place, {}, ValueError, "'0' is compiled by torch.compile"),
}


@pytest.mark.parametrize("name", list(BAD_CALLS))
def test_bad_arguments_of_record(name):
    make, options, error, message = BAD_CALLS[name]
    with pytest.raises(error, match=message):
        record(make(), torch.ones(3, 2), **{"path": "run.npz", **options})
    # The model has run where no output requires a gradient.
    assert os.listdir() == ["run.npz"] * (name == "no gradient")


def header(descr, shape):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


HUGE, OBJECTS = header("<f4", (4000000000, 4000000000)), header("|O", (2, 3, 6, 5))
# Changes of run.json, d, or of the members, m, and the message; m["json"] replaces run.json.
BAD_FILES = {
    "version": (lambda d, m: d.update(version=1), "version 1 of the format, expected 2: record"),
    "format": (lambda d, m: d.update(format="x"), "format 'x', expected 'mluop_omp run'"),
    "no calls": (lambda d, m: d.pop("calls"), "calls is missing, expected list"),
    "a call": (lambda d, m: d["calls"].__setitem__(0, 3), r"calls\[0\] is int, expected an object"),
    "a name": (lambda d, m: d["calls"][0].update(module=3), "module is 3, expected str"),
    "a tensor": (
        lambda d, m: d["calls"][0]["outputs"][0].update(tensor="x"),
        "names the tensor 'x', which is not described",
    ),
    "a shape": (lambda d, m: d["tensors"][0].update(shape=[-1]), "shape is .-1., expected sizes"),
    "another shape": (lambda d, m: d["tensors"][0].update(shape=[7]), r"expected \[7\]"),
    "a dtype": (lambda d, m: d["tensors"][0].update(dtype="int8"), "float32, expected int8"),
    "a sample": (lambda d, m: d["tensors"][0].update(sample={"count": 0}), "count is 0"),
    "a large sample": (
        lambda d, m: d["tensors"][0].update(shape=[2**60], sample={"count": 2**60}),
        r"has shape \[2, 3, 6, 5\], expected \[1152921504606846976\]",
    ),
    "seed": (lambda d, m: d.update(seed="-1"), "seed is '-1', expected a number of 64 bits"),
    "not JSON": (lambda d, m: m.update(json=b"{"), "is damaged or not a run"),
    "a name twice": (lambda d, m: m.update(json=b'{"a": 1, "a": 2}'), "'a' occurs twice"),
    "a tensor twice": (lambda d, m: d["tensors"].append(d["tensors"][0]), "describes .* twice"),
    "huge": (lambda d, m: m.update({first(m): HUGE}), "found 0 bytes of elements"),
    "objects": (lambda d, m: m.update({first(m): OBJECTS}), "expected numbers"),
    "no member": (lambda d, m: m.pop(first(m)), "has no 00000.*npy, which"),
}


def first(members):
    return next(name for name in members if name.endswith(".npy"))


@pytest.mark.parametrize("name", list(BAD_FILES))
def test_damaged_files(name, image):
    change, message = BAD_FILES[name]
    record(nn.Identity(), image, "run.npz")  # one tensor, input and output
    with zipfile.ZipFile("run.npz") as file:
        members = {name: file.read(name) for name in file.namelist()}
    description = json.loads(members.pop("run.json"))
    change(description, members)
    members["run.json"] = members.pop("json", json.dumps(description).encode())
    with zipfile.ZipFile("run.npz", "w") as file:
        for member, data in members.items():
            file.writestr(member, data)
    with pytest.raises(ValueError, match=message) as raised:
        compare_runs("run.npz", "run.npz")
    assert str(raised.value).startswith("run.npz ")


def test_truncated_files_are_refused(image):
    path = Path("run.npz")
    record(nn.Conv2d(3, 2, 1), image, path)
    data = path.read_bytes()
    for size in range(0, len(data), 97):
        path.write_bytes(data[:size])
        with pytest.raises(ValueError, match=r"run\.npz is damaged or not a run"):
            Run(path)
    for position in range(200, len(data) - 400, 311):
        path.write_bytes(data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :])
        with pytest.raises(ValueError, match=r"run\.npz"):  # noqa: PT012, SIM117
            with Run(path) as run:
                for name in run.tensors:
                    run.array(name)
    os.mkfifo("pipe")
    for name in ("pipe", "/dev/zero", "."):
        with pytest.raises(ValueError, match="is not a regular file"):
            Run(name)
        with pytest.raises(OSError, match="regular file|is a folder"):
            record(nn.Identity(), image, name)
