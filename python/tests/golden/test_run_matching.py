"""Runs whose calls do not correspond by name: fused, renamed, repeated, in half precision."""

from __future__ import annotations

import copy
import re

import cases
import pytest

torch = pytest.importorskip("torch", reason="requires PyTorch")
nn = torch.nn

from torch.nn.utils.fusion import fuse_conv_bn_eval  # noqa: E402

import mluop_omp  # noqa: E402


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU())
        self.body = nn.Sequential(nn.Conv2d(16, 24, 3), nn.BatchNorm2d(24), nn.ReLU())
        self.head = nn.Linear(24, 8)
        self.unused = nn.Parameter(torch.zeros(4))

    def forward(self, x):
        return self.head(self.body(self.stem(x)).mean((2, 3)))


class Shared(nn.Module):
    def __init__(self, order):
        super().__init__()
        self.layer, self.order = nn.Linear(6, 6), order

    def forward(self, x):
        outputs = {k: self.layer(x[k]) for k in self.order}
        return torch.stack([outputs[k] for k in range(3)])


@pytest.fixture
def net():
    torch.manual_seed(3)
    net = Net().eval()
    for norm in (net.stem[1], net.body[1]):
        norm.running_mean.uniform_(-0.2, 0.2)
        norm.running_var.uniform_(0.5, 1.5)
    return net


@pytest.fixture
def image():
    return torch.randn(4, 3, 14, 14, generator=cases.generator())


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def runs_of(found, expected, *inputs, **options):
    with torch.no_grad():
        for name, model in (("found.npz", found), ("expected.npz", expected)):
            dtype = next(model.parameters()).dtype
            mluop_omp.record(model, tuple(each.to(dtype) for each in inputs), name)
    return mluop_omp.compare_runs("found.npz", "expected.npz", **options)


def fused(net):
    net = copy.deepcopy(net)
    for part in (net.stem, net.body):
        part[0], part[1] = fuse_conv_bn_eval(part[0], part[1]), nn.Identity()
    return net


def with_defect(net, name, change):
    net = copy.deepcopy(net)
    net.get_submodule(name).register_forward_hook(lambda module, args, output: change(output))
    return net


def channel(factor):
    return lambda x: x * torch.ones_like(x[0, :, :1, :1]).index_fill(0, torch.tensor([5]), factor)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("is_found", [True, False])
def test_fused_layers_are_compared_with_later_outputs(net, image, dtype, is_found):
    device, pair = fused(net).to(dtype), (net, net)
    pair = (device, net) if is_found else (net, device)
    result = runs_of(*pair, image)
    side = "found" if is_found else "expected"
    assert result and f"fused in {side}: 2: stem.0 with stem.1, body.0 with body.1" in str(result)
    assert "the output of the model agrees: relative error " in str(result)
    word = "equal" if dtype == torch.float32 else "agree"
    assert f"\n{word}: 10 calls of both runs" in str(result)
    found = with_defect(pair[0], "body.0", channel(1.25))
    assert (first := runs_of(found, pair[1], image).first) is not None
    assert (first.call.module, first.fused_with) == ("body.0", "body.1")


def test_a_normalization_that_is_lost_is_not_fused(net, image):
    lost = copy.deepcopy(net)
    lost.body[1] = nn.Identity()
    result = runs_of(lost, net, image)
    assert result.first is not None and result.first.call.module == "body.1"


class Renamed(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.backbone, self.neck, self.fc = net.stem, net.body, net.head

    def forward(self, x):
        return self.fc(self.neck(self.backbone(x)).mean((2, 3)))


def test_modules_with_other_names_are_paired_by_class_and_shapes(net, image):
    result = runs_of(Renamed(net), net, image)
    assert result and result.compared == 10 and not result.only_found
    assert {re.match(r"found \w+ is expected \w+: \d", each).group() for each in result.notes} == {
        *("found backbone is expected stem: 4", "found neck is expected body: 4"),
        "found fc is expected head: 1",
    }
    wrong = runs_of(with_defect(Renamed(net), "neck.0", channel(1.1)), net, image)
    assert (wrong.first.call.module, wrong.first.found_module) == ("body.0", "neck.0")


@pytest.mark.parametrize("is_found", [True, False])
def test_a_call_that_warms_up_is_left_out(net, image, is_found):
    names = ["found.npz", "expected.npz"][:: 1 if is_found else -1]
    with torch.no_grad():
        with mluop_omp.recording(net, names[0]):
            net(torch.zeros_like(image))
            net(image)
        mluop_omp.record(net, image, names[1])
    result = mluop_omp.compare_runs("found.npz", "expected.npz")
    side = "found" if is_found else "expected"
    assert result and f"{side} calls the model 1 time more: call 0 of the model" in str(result)


def test_calls_that_are_missing_at_the_end_are_not_equal(net, image):
    with torch.no_grad():
        mluop_omp.record(net, image, "found.npz")
        with mluop_omp.recording(net, "expected.npz"):
            net(image)
            net(image + 1)
    result = mluop_omp.compare_runs("found.npz", "expected.npz")
    assert not result and not result.comparable and len(result.only_expected) == 10


def test_repeated_calls_are_paired_by_their_inputs():
    torch.manual_seed(1)
    found, expected = Shared((2, 0, 1)), Shared((0, 1, 2))
    found.load_state_dict(expected.state_dict())
    result = runs_of(found, expected, torch.randn(3, 2, 6))
    assert result and "layer: paired by inputs, with calls 1, 2, 0 of found" in result.notes


def test_parameters_that_differ_although_outputs_agree(net, image):
    other = copy.deepcopy(net)
    other.unused.data[2] = 1
    result = runs_of(other, net, image)
    assert not result and result.comparable and list(result.state) == ["unused"]
    assert "parameter unused, although outputs agree: differ" in str(result)


def test_state_after_a_step_is_compared(net, image):
    found, expected = copy.deepcopy(net).train(), net.train()
    found.body[1].momentum = 0.5
    result = runs_of(found, expected, image)
    names = {f"body.1.running_{each} at the end" for each in ("mean", "var")}
    assert not result and not result.differences and set(result.state) == names


def test_a_module_that_writes_into_its_input_is_named(net, image):
    def writes(module, args, output):
        args[0][0, 0] += 1

    wrong = copy.deepcopy(net)
    wrong.body[0].register_forward_hook(writes)
    result = runs_of(wrong, net, image)
    assert result.first.call.module == "body.0"
    assert "input 0 is written in place in found" in str(result)
    inplace = copy.deepcopy(net)
    inplace.stem[2].inplace = inplace.body[2].inplace = True
    assert runs_of(inplace, net, image)


@pytest.mark.parametrize("factor", [1.03, 1.1])
def test_a_factor_is_found_below_the_errors_of_bfloat16(net, image, factor):
    device = copy.deepcopy(net).bfloat16()
    assert runs_of(device, net, image)
    change = channel(1.3) if factor == 1.1 else (lambda output: output * factor)
    result = runs_of(with_defect(device, "body.0", change), net, image)
    assert result.first is not None and result.first.call.module == "body.0"


def test_the_table_lists_all_outputs_with_their_verdicts(net, image):
    result = runs_of(with_defect(net, "body.0", channel(1.1)), net, image)
    rows = {line.split("  ")[0]: line for line in result.text(every=True).splitlines()}
    assert " equal " in rows["output of stem.0 (Conv2d)"]
    assert " differs " in rows["output of body.0 (Conv2d)"]


def test_a_run_that_an_exception_ended_is_not_equal(net, image):
    with torch.no_grad():
        mluop_omp.record(net, image, "expected.npz")
        handle = net.head.register_forward_pre_hook(lambda module, args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            mluop_omp.record(net, image, "found.npz")
        handle.remove()
    result = mluop_omp.compare_runs("found.npz", "expected.npz")
    assert not result and "found was ended by ZeroDivisionError" in str(result)
