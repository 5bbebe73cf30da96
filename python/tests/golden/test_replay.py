"""mluop_omp.replay, and `python -m mluop_omp replay`."""

from __future__ import annotations

import copy
import dataclasses
import json

import pytest
import torch
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

import mluop_omp
from mluop_omp import __main__ as program

SEED = torch.Generator().manual_seed


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.scale = width**-0.5

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return self.proj((self.scale * q @ k.transpose(1, 2)).softmax(-1) @ v)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.attn, self.norm2 = (
            nn.LayerNorm(width),
            Attention(width),
            nn.LayerNorm(width),
        )
        self.mlp = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, width))
        self.residual = 1.0

    def forward(self, x):
        x = self.residual * x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Stem(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)
        self.conv2, self.bn2 = nn.Conv2d(8, 32, 3, bias=False), nn.BatchNorm2d(32)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.act(self.bn2(self.conv2(self.act(self.bn1(self.conv1(x))))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.blocks = Stem(), nn.ModuleList(Block(32) for _ in range(6))
        self.head = nn.Linear(32, 10)

    def forward(self, image, options=None):
        x = self.stem(image).flatten(2).transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        return {"logits": self.head(x.mean(1)), "classes": self.head(x.mean(1)).argmax(1)}


def fused(net):
    for name in "1", "2":
        conv, norm = (getattr(net.stem, each + name) for each in ("conv", "bn"))
        setattr(net.stem, "conv" + name, fuse_conv_bn_eval(conv, norm))
        setattr(net.stem, "bn" + name, nn.Identity())
    return net


@pytest.fixture(scope="module")
def net():
    net, generator = Net().eval(), SEED(1)
    for tensor in [*net.parameters(), *net.buffers()]:
        if tensor.dim() > 1:
            tensor.data.normal_(0, tensor[0].numel() ** -0.5, generator=generator)
        elif tensor.is_floating_point():
            tensor.data.uniform_(0.5, 1.5, generator=generator)
    return net


@pytest.fixture
def image():
    return torch.randn(2, 3, 10, 10, generator=SEED(2))


@pytest.fixture
def run(tmp_path):
    return tmp_path / "run"


@torch.no_grad()
def record(model, inputs, path, **options):
    mluop_omp.record(model, inputs, path, **options)


def scaled(index, factor):
    """Returns a hook, in place of a wrong kernel: elements of the output are scaled."""

    def defect(module, inputs, output):
        output = output.clone()
        output[index] *= factor
        return output

    return lambda module: module.register_forward_hook(defect)


def with_attributes(**values):
    return lambda module: [setattr(module, name, value) for name, value in values.items()]


DEVICES = {
    "float32": lambda net: net,
    "bfloat16": lambda net: net.bfloat16(),
    "float16": lambda net: net.half(),
    "fused": fused,
    "fused, bfloat16": lambda net: fused(net).bfloat16(),
}
EVERYTHING = (...,)
CHANNEL = (slice(None), 5)
# The module with the defect, the defect, and what the module computes wrongly.
DEFECTS = {
    "a channel": ("stem.conv2", scaled(CHANNEL, 1.1), "output"),
    "a border": ("stem.conv1", scaled((..., -1), 0), "output"),
    "a wrong sign": ("stem.conv1", scaled((..., slice(0, 6)), -1), "output"),
    "all": ("blocks.3.mlp.0", scaled(EVERYTHING, 1.03), "output"),
    "a row": ("head", scaled((0,), 1.1), "output"),
    "a small column": ("blocks.2.attn.qkv", scaled((..., 7), 1.1), "output"),
    "epsilon": ("blocks.1.norm2", with_attributes(eps=0.1), "output"),
    "the scale of attention": (
        *("blocks.4.attn", with_attributes(scale=1.5 * 32**-0.5)),
        "input 0 of blocks.4.attn.proj",
    ),
    "a residual": ("blocks.5", with_attributes(residual=0.97), "input 0 of blocks.5.norm2"),
}


@pytest.mark.parametrize("device", DEVICES)
def test_right_devices_agree(net, image, run, device):
    wrong = DEVICES[device](copy.deepcopy(net))
    dtype = wrong.head.weight.dtype
    record(wrong, image.to(dtype), run)
    # The same weights, in a wider type.
    reference = copy.deepcopy(net).to(dtype).float()
    result = mluop_omp.replay(reference, run)
    assert result and not result.suspects and len(result.calls) == (70 - 2 * ("fused" in device))
    assert str(result).startswith(f"agrees: {len(result.calls)} calls, each on its recorded inputs")
    names = [(each.call.module, each.fused_with) for each in result.calls if each.fused_with]
    assert names == ([(f"stem.conv{k}", f"stem.bn{k}") for k in "12"] if "fused" in device else [])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("defect", DEFECTS)
def test_defects_are_named(net, image, run, device, defect):
    name, change, computed = DEFECTS[defect]
    wrong = DEVICES[device](copy.deepcopy(net))
    change(wrong.get_submodule(name))
    dtype = wrong.head.weight.dtype
    record(wrong, image.to(dtype), run)
    result = mluop_omp.replay(copy.deepcopy(net).to(dtype).float(), run)
    assert not result
    (suspect,) = result.suspects if name != "head" else result.suspects[:1]
    assert (suspect.call.module, suspect.worst[0]) == (name, computed)
    assert str(result).startswith("1 of" if name != "head" else "2 of")


def test_all_defects_are_named_at_once_with_their_patterns(net, image, run):
    wrong = copy.deepcopy(net)
    for name, change in (
        ("stem.conv2", scaled(CHANNEL, 1.5)),
        ("blocks.2.mlp.0", scaled((0, 3), 0)),
        ("blocks.4.attn", with_attributes(scale=0.1)),
    ):
        change(wrong.get_submodule(name))
    record(wrong, image, run)
    result = mluop_omp.replay(net, run)
    modules = {each.call.module for each in result.suspects}
    assert modules == {"stem.conv2", "blocks.2.mlp.0", "blocks.4.attn"}
    pattern = "one index: 5 of 32 (dim 1), 72 of its 72 elements; each is 0.666667 times what is"
    assert pattern in str(result) and "pattern: a tile: [0:1, 3:4, 0:64]" in str(result)
    assert str(result).endswith("(found: computed by the model; expected: recorded in the run)")


def test_a_call_far_above_its_class_stands_out(net, image, run):
    record(net, image, run)
    wrong = copy.deepcopy(net)
    scaled(EVERYTHING, 1 + 3e-6)(wrong.blocks[3].mlp[1])
    (suspect,) = mluop_omp.replay(wrong, run).suspects
    assert suspect.call.module == "blocks.3.mlp.1" and suspect.ratio < 1


def test_names_and_wrappers(net, image, run):
    record(nn.DataParallel(net), image, run)
    assert mluop_omp.replay(nn.DataParallel(net), run)
    result = mluop_omp.replay(net, run)
    assert result and len(result.calls) == 70
    assert str(result).endswith("the model lacks the prefix module: 67 modules")


def test_arguments_are_recorded(run):
    class Sum(nn.Module):
        def forward(self, tensors, scale=1.0, *, words=(), mode="sum"):
            assert words == ("a", None) and mode == "mean"
            return scale * (tensors["a"] + tensors["b.c"][0])

    tensors = {"a": torch.ones(3), "b.c": [torch.arange(3)]}
    with mluop_omp.recording(model := Sum(), run):
        model(tensors, 2.0, words=("a", None), mode="mean")
    assert mluop_omp.replay(model, run)
    with mluop_omp.Run(run) as opened:
        assert mluop_omp.replay(model, opened)


@dataclasses.dataclass
class Sites:
    features: torch.Tensor
    indices: torch.Tensor
    spatial_shape: tuple = (4, 4)
    batch_size: int = 1


class SparseLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, sites):
        return dataclasses.replace(sites, features=self.linear(sites.features))


def test_sites_may_have_another_order(run):
    model = nn.Sequential(SparseLayer(), SparseLayer())
    sites = torch.cartesian_prod(torch.arange(1), torch.arange(4), torch.arange(4))
    inputs, order = Sites(torch.randn(16, 4, generator=SEED(3)), sites), torch.arange(15, -1, -1)
    permuted = Sites(inputs.features[order], inputs.indices[order])
    record(model, permuted, run)
    with pytest.raises(ValueError, match="does not describe the arguments of the model"):
        mluop_omp.replay(model, run)
    assert mluop_omp.replay(model, run, inputs)
    record(model.double(), Sites(inputs.features.double(), sites), run)
    model[1].linear.bias.data[2] += 0.5
    (suspect,) = mluop_omp.replay(model, run, Sites(inputs.features.double(), sites)).suspects
    assert suspect.label == "1.linear (Linear)"
    inputs = Sites(inputs.features[:9].double(), sites[:9])
    record(model, inputs, run)
    assert mluop_omp.replay(model, run, Sites(torch.zeros(16, 4).double(), sites))


class SlottedSites:
    __slots__ = ("features", "indices")

    def __init__(self, features, indices):
        self.features, self.indices = features, indices


def test_sites_may_have_slots(run):
    class Layer(nn.Module):
        def forward(self, sites):
            return SlottedSites(2 * sites.features, sites.indices)

    inputs = SlottedSites(torch.randn(4, 2, generator=SEED(4)), torch.arange(8).view(4, 2))
    record(model := nn.Sequential(Layer(), Layer()), inputs, run)
    assert mluop_omp.replay(model, run, inputs)


def test_state_that_differs_is_named_although_outputs_agree(net, image, run):
    record(net, image, run)
    other = copy.deepcopy(net)
    other.stem.bn1.num_batches_tracked += 1
    result = mluop_omp.replay(other, run)
    assert (
        not result
        and not result.suspects
        and list(result.state) == ["stem.bn1.num_batches_tracked"]
    )
    assert "parameters and buffers that differ: 1: stem.bn1.num_batches_tracked by 1" in str(result)


def test_a_model_in_training_keeps_its_buffers(net, image, run):
    model = copy.deepcopy(net).train()
    before = copy.deepcopy(model.state_dict())
    record(copy.deepcopy(model), image, run)
    assert mluop_omp.replay(model, run)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert not any(each._forward_hooks or each._forward_pre_hooks for each in model.modules())


def test_samples_and_missing_calls_are_stated(net, image, run):
    record(net, image, run, max_bytes=100_000, state=False)
    result = mluop_omp.replay(net, run, image)
    assert result and "tensors are samples: modules keep the inputs" in str(result)
    record(net, image, run, modules="head|stem.*")
    assert mluop_omp.replay(net, run, image)
    short = copy.deepcopy(net)
    del short.blocks[5]
    record(net, image, run)
    result = mluop_omp.replay(short, run)
    assert not result and "blocks.5.attn.proj" in result.missing
    assert str(result).startswith("1 of 60 calls stands out")
    assert "calls of the run that the model did not make: 10: blocks.5.norm1" in str(result)
    result = mluop_omp.replay(nn.Identity(), run, image, names="=nothing")
    assert not result and str(result).startswith("nothing was compared")


def test_refused_arguments(net, image, run):
    record(net, image, run)
    with pytest.raises(TypeError, match="model is of type int, expected torch.nn.Module"):
        mluop_omp.replay(1, run)
    with pytest.raises(ValueError, match="is compiled by torch.compile"):
        mluop_omp.replay(torch.compile(copy.deepcopy(net)), run)
    with pytest.raises(FileNotFoundError):
        mluop_omp.replay(net, run.with_name("other"))
    with pytest.raises(ValueError, match="has no call of the model, expected inputs"):
        mluop_omp.replay(net, run, names="=other")


MODEL = """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
make = lambda: net
wrong = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
number = 1
"""


def test_the_command(tmp_path, run, capsys):
    file, found = tmp_path / "models.py", tmp_path / "found.json"
    file.write_text(MODEL)
    variables: dict = {}
    exec(MODEL, variables)
    record(variables["net"], torch.ones(3, 4), run)
    torch.save(torch.ones(3, 4), tmp_path / "inputs.pt")
    for options, status in (
        ([f"{file}:net", run], 0),
        ([f"{file}:make", run, "--inputs", tmp_path / "inputs.pt", "--all"], 0),
        ([f"{file}:wrong", run, "--json", found], 1),
        ([f"{file}:net", run, "--inputs", tmp_path / "inputs.pt", "--map", "(.*)=x.\\1"], 2),
        ([f"{file}:number", run], 2),
        ([f"{file}:other", run], 2),
        (["no_module:net", run], 2),
        (["net", run], 2),
    ):
        assert program.main(["replay", *map(str, options)]) == status
    assert {each["module"] for each in json.loads(found.read_text())["suspects"]} == {"0", "2"}
    out, err = capsys.readouterr()
    assert out.count("agrees: 4 calls, each on its recorded inputs") == 2
    assert f"MODEL is '{file}:other', but {file} has no other" in err
    assert "MODEL is 'no_module:net': No module named 'no_module'" in err
    assert "MODEL is 'net', expected FILE.py:NAME or PACKAGE.MODULE:NAME" in err
