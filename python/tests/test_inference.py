"""prepare_for_inference: what is folded, what is left, and that the result is the model's."""

from __future__ import annotations

import importlib
import math

import cases
import pytest
import torch
from torch import nn

import mluop_omp
from mluop_omp.torch import SparseConv3d, SparseTensor, SubMConv3d
from mluop_omp.torch.inference import prepare_for_inference


def trained(model: nn.Module) -> nn.Module:
    """Draws statistics and weights of normalizations; returns the model in evaluation mode."""
    torch.manual_seed(1)
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
            if module.affine:
                nn.init.normal_(module.weight)
                nn.init.normal_(module.bias)
    return model.eval()


class Sequence(nn.Sequential):
    """Layers over sparse tensors, normalizations and activations over their features."""

    def forward(self, input):
        for module in self:
            is_dense = isinstance(module, (nn.BatchNorm1d, nn.ReLU, nn.Identity))
            input = input.replace_feature(module(input.features)) if is_dense else module(input)
        return input


DENSE = {
    "Conv1d": (lambda: nn.Conv1d(4, 6, 3), nn.BatchNorm1d, (2, 4, 9)),
    "Conv2d, bias": (lambda: nn.Conv2d(4, 6, 3, bias=True), nn.BatchNorm2d, (2, 4, 9, 8)),
    "Conv2d, groups": (
        lambda: nn.Conv2d(4, 6, 3, groups=2, bias=False),
        nn.BatchNorm2d,
        (2, 4, 9, 8),
    ),
    "Conv3d": (lambda: nn.Conv3d(4, 6, 2), nn.BatchNorm3d, (2, 4, 3, 4, 5)),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(4, 6, 3), nn.BatchNorm1d, (2, 4, 9)),
    "ConvTranspose2d, groups": (
        lambda: nn.ConvTranspose2d(4, 6, 2, 2, groups=2, bias=False),
        nn.BatchNorm2d,
        (2, 4, 3, 5),
    ),
    "ConvTranspose3d": (lambda: nn.ConvTranspose3d(4, 6, 2), nn.BatchNorm3d, (2, 4, 3, 4, 5)),
    "Linear": (lambda: nn.Linear(4, 6), nn.BatchNorm1d, (5, 4)),
    "SyncBatchNorm": (lambda: nn.Conv2d(4, 6, 3), nn.SyncBatchNorm, (2, 4, 9, 8)),
}


@pytest.mark.parametrize("name", DENSE)
@pytest.mark.parametrize("affine", [True, False])
def test_dense_layers(name, affine):
    make, norm, shape = DENSE[name]
    model = trained(nn.Sequential(make(), norm(6, affine=affine), nn.ReLU()))
    input, state = (
        cases.floats(*shape),
        {key: value.clone() for key, value in model.state_dict().items()},
    )
    prepared = prepare_for_inference(model, lambda each: each(input))
    assert prepared.folded == [("0", "1")] and not prepared.left
    expected = model(input)
    torch.testing.assert_close(prepared.model(input), expected, rtol=1e-5, atol=1e-5)
    assert isinstance(prepared.model[1], nn.Identity)
    assert set(prepared.model.state_dict()) == {"0.weight", "0.bias"}
    # The model is as it was.
    assert all(torch.equal(value, state[key]) for key, value in model.state_dict().items())


def check_sparse(model, run):
    """The two convolutions have one normalization each."""
    prepared = prepare_for_inference(trained(model), run)
    assert len(prepared.folded) == 2 and not prepared.left
    assert prepared.difference < 1e-5
    return prepared


def test_layers_of_this_package():
    layers = [SubMConv3d(4, 6, 3, bias=False), nn.BatchNorm1d(6), nn.ReLU()]
    layers += [SparseConv3d(6, 5, 3, 2, 1), nn.BatchNorm1d(5), nn.ReLU()]
    sites = cases.sites(60, 2, (6, 7, 8))
    input = SparseTensor(cases.floats(60, 4), sites, (6, 7, 8), 2)
    check_sparse(Sequence(*layers), lambda model: model(input).features)


@pytest.mark.parametrize("library", ["mmcv.ops", "spconv.pytorch"])
def test_layers_of_sparse_libraries(library):
    pytest.importorskip(library.partition(".")[0], reason=f"requires {library}")
    mluop_omp.install()
    module = importlib.import_module(library)
    layers = [module.SubMConv3d(4, 6, 3, bias=False), nn.BatchNorm1d(6), nn.ReLU()]
    layers += [module.SparseConv3d(6, 5, 3, 2, 1), nn.BatchNorm1d(5), nn.ReLU()]
    features, sites = cases.floats(60, 4), cases.sites(60, 2, (6, 7, 8))

    def run(model):
        return model(module.SparseConvTensor(features.clone(), sites, [6, 7, 8], 2)).features

    check_sparse(module.SparseSequential(*layers), run)


def test_layers_of_minkowski():
    importlib.import_module("mluop_omp.minkowski").install()
    me = importlib.import_module("MinkowskiEngine")
    layers = [me.MinkowskiConvolution(4, 6, kernel_size=3, dimension=3), me.MinkowskiBatchNorm(6)]
    layers += [me.MinkowskiReLU(), me.MinkowskiConvolution(6, 5, 2, 2, bias=True, dimension=3)]
    model = nn.Sequential(*layers, me.MinkowskiBatchNorm(5))
    coordinates, features = cases.sites(60, 2, (6, 7, 8)), cases.floats(60, 4)
    check_sparse(model, lambda each: each(me.SparseTensor(features, coordinates)).F)


def test_layers_of_torchsparse():
    names = importlib.import_module("mluop_omp.torchsparse._modules").namespaces("2.0")
    ts, of_nn = names[""], names["nn"]
    layers = [of_nn["Conv3d"](4, 6, 3), of_nn["BatchNorm"](6), of_nn["ReLU"](True)]
    layers += [of_nn["Conv3d"](6, 5, 2, 2, bias=True), of_nn["BatchNorm"](5)]
    coordinates, features = cases.sites(60, 2, (6, 7, 8)).roll(-1, 1), cases.floats(60, 4)

    def run(model):
        return model(ts["SparseTensor"](features.clone(), coordinates)).F

    check_sparse(nn.Sequential(*layers), run)


def test_deformable_convolution():
    pytest.importorskip("mmcv", reason="requires mmcv-lite")
    mluop_omp.install()
    ops = importlib.import_module("mmcv.ops")
    torch.manual_seed(0)
    layer = ops.ModulatedDeformConv2dPack(4, 6, 3, padding=1, bias=False)
    nn.init.normal_(layer.conv_offset.weight)
    model = trained(nn.Sequential(layer, nn.BatchNorm2d(6)))
    input = cases.floats(2, 4, 7, 8)
    prepared = prepare_for_inference(model, lambda each: each(input))
    assert prepared.folded == [("0", "1")] and prepared.difference < 1e-5


class Net(nn.Module):
    """A convolution and a normalization, between which `forward` may do something."""

    def __init__(self, run, **further):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4)
        for name, module in further.items():
            setattr(self, name, module)
        self._run = run

    def forward(self, x):
        return self._run(self, x)


def reads_twice(net, x):
    y = net.conv(x)
    return net.norm(y) + y


def returns_both(net, x):
    y = net.conv(x)
    return {"boxes": [net.norm(y), y]}


def changes(net, x):
    return net.norm(net.conv(x) * 2)


def uses_two_norms(net, x):
    return net.norm(net.conv(x)) + net.other(net.conv(2 * x))


def uses_two_convolutions(net, x):
    return net.norm(net.conv(x)) + net.norm(net.other(x))


def ends_without_norm(net, x):
    return net.norm(net.conv(x)) + net.conv(2 * x).relu()


def norm_alone(net, x):
    return net.norm(x) + net.conv(x)


def view_is_read(net, x):
    y = net.conv(x)
    return net.norm(y).flatten(1) + y.flatten(1)


LEFT = [
    (reads_twice, {}, "the output of conv is also read by the model"),
    (returns_both, {}, "the output of conv is also read by the result"),
    (changes, {}, "it does not follow a convolution directly"),
    (uses_two_norms, {"other": nn.BatchNorm2d(4)}, "the output of conv is also read by other"),
    (uses_two_convolutions, {"other": nn.Conv2d(4, 4, 1)}, "it follows several convolutions"),
    (ends_without_norm, {}, "the output of conv is also read by the model"),
    (norm_alone, {}, "it does not follow a convolution directly"),
    (view_is_read, {}, "the output of conv is also read by the model"),
    (lambda net, x: net.conv(x), {}, "it does not run"),
]


@pytest.mark.parametrize("run, further, reason", LEFT)
def test_what_is_left(run, further, reason):
    input = cases.floats(2, 4, 5, 6)
    model = trained(Net(run, **further))
    prepared = prepare_for_inference(model, lambda each: each(input))
    assert prepared.left["norm"] == reason and not any("norm" in pair for pair in prepared.folded)
    assert f"left: norm: {reason}" in str(prepared) and prepared.difference < 1e-5


def test_a_shared_weight_is_left():
    model = nn.Sequential(nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4), nn.Conv2d(4, 4, 1))
    model[2].weight = model[0].weight
    input = cases.floats(1, 4, 3, 3)
    prepared = prepare_for_inference(trained(model), lambda each: each(input))
    assert prepared.left == {"1": "a parameter belongs to several modules"}


def test_parametrized_weights_and_statistics_of_the_batch_are_left():
    layers = nn.utils.parametrizations.weight_norm(nn.Conv2d(4, 4, 1)), nn.BatchNorm2d(4)
    others = nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4, track_running_stats=False)
    input = cases.floats(2, 4, 3, 3)
    model = nn.Sequential(trained(nn.Sequential(*layers)), *others).eval()
    prepared = prepare_for_inference(model, lambda each: each(input))
    assert prepared.left == {
        "0.1": "0.0 has a parametrization or hooks",
        "2": "it has no running statistics",
    }


def test_hooks_run_as_before():
    model = trained(nn.Sequential(nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4), nn.ReLU()))
    read = []
    model[1].register_forward_hook(lambda module, arguments, output: read.append(output))
    input = cases.floats(2, 4, 3, 3)
    prepared = prepare_for_inference(model, lambda each: each(input))
    assert prepared.left == {"1": "1 has a parametrization or hooks"}
    read.clear()
    prepared.model(input)
    assert len(read) == 1


def test_rows_of_several_dimensions_are_left():
    """The layer has its channels last, the normalization second."""
    model = trained(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)))
    input = cases.floats(3, 4, 4)
    prepared = prepare_for_inference(model, lambda each: each(input))
    assert prepared.left == {"1": "it does not follow a convolution directly"}


def test_channels_last():
    model, input = (
        trained(nn.Sequential(nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6))),
        cases.floats(2, 4, 9, 8),
    )
    for channels_last in (True, False):
        prepared = prepare_for_inference(
            model, lambda each: each(input), channels_last=channels_last
        ).model
        output = prepared(input)
        assert output.is_contiguous(memory_format=torch.channels_last) == channels_last


def test_channels_last_where_tensors_have_to_be_contiguous():
    def contiguous(net, x):
        y = net.norm(net.conv(x))
        assert y.is_contiguous()
        return y

    model, input = trained(Net(contiguous)), cases.floats(2, 4, 5, 6)
    prepared = prepare_for_inference(model, lambda each: each(input))
    assert prepared.folded == [("conv", "norm")]
    assert list(prepared.left) == ["channels last"]
    assert prepared.left["channels last"].startswith("run raises AssertionError")
    assert prepared.model.conv.weight.is_contiguous()


def test_bfloat16():
    model, input = (
        trained(nn.Sequential(nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6))),
        cases.floats(2, 4, 9, 8),
    )
    prepared = prepare_for_inference(model, lambda each: each(input), dtype=torch.bfloat16)
    assert prepared.model(input).dtype == torch.bfloat16
    assert 1e-5 < prepared.difference < 0.03


def test_results_in_structures():
    """Of dictionaries, lists and objects that have tensors as attributes."""

    class Boxes:
        def __init__(self, tensor):
            self.tensor, self.itself = tensor, self

    model, input = (
        trained(nn.Sequential(nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6))),
        cases.floats(2, 4, 9, 8),
    )
    prepared = prepare_for_inference(model, lambda each: [{"boxes": Boxes(each(input))}, 3, None])
    assert prepared.folded and 0 < prepared.difference < 1e-5


def test_bad_arguments():
    model, input = (
        trained(nn.Sequential(nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6))),
        cases.floats(2, 4, 9, 8),
    )
    with pytest.raises(ValueError, match="1 is in training mode, expected model.eval()"):
        model[1].train()
        prepare_for_inference(model, lambda each: each(input))
    model.eval()
    with pytest.raises(ValueError, match="dtype is torch.float16, expected torch.float32 or"):
        prepare_for_inference(model, lambda each: each(input), dtype=torch.float16)
    with pytest.raises(ValueError, match="run returns no tensor, expected the result"):
        prepare_for_inference(model, lambda each: None)
    with pytest.raises(ValueError, match="run returns values that differ by .* after folding"):
        prepare_for_inference(model, lambda each: each(torch.randn(2, 4, 9, 8)))
    sizes = iter((9, 8, 9, 8))
    with pytest.raises(ValueError, match="that have the shapes .* instead of .* after folding"):
        prepare_for_inference(model, lambda each: each(cases.floats(2, 4, next(sizes), 8)))
    accepted = prepare_for_inference(
        model, lambda each: each(cases.floats(2, 4, next(sizes), 8)), tolerance=None
    )
    assert accepted.folded and math.isnan(accepted.difference)
    with pytest.raises(RuntimeError, match="channels"):
        prepare_for_inference(model, lambda each: each(cases.floats(2, 3, 9, 8)))
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model)
