"""MinkowskiEngine's norms, pointwise layers and functions, and blocks, against PyTorch."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
import torch.nn.functional as F
from minkowski_sites import ME, random_tensor, tensor
from torch import nn

from mluop_omp.minkowski import _pointwise


def field_of(x):
    return ME.TensorField(x.F.detach(), coordinates=x.C.float() + 0.25)


def test_instance_norm_of_known_values():
    rows = torch.tensor([[0, -1], [1, -2], [0, 5], [1, 3], [1, 7]], dtype=torch.int32)
    values = torch.tensor([[1.0], [0], [3], [3], [6]], dtype=torch.float64)
    output = ME.MinkowskiInstanceNorm(1).double()(ME.SparseTensor(values, coordinates=rows))
    expected = torch.tensor([[-1, -1.224745, 1, 0, 1.224745]], dtype=torch.float64).t()
    torch.testing.assert_close(output.F, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("make", "eps"), [(ME.MinkowskiInstanceNorm, 1e-8), (ME.MinkowskiStableInstanceNorm, 1e-6)]
)
def test_instance_norm(make, eps):
    x = random_tensor(3, 4)
    layer = make(4).double()
    assert {name: each.shape for name, each in layer.state_dict().items()} == {
        "weight": (1, 4),
        "bias": (1, 4),
    }
    nn.init.normal_(layer.weight)
    nn.init.normal_(layer.bias)
    output = layer(x)
    expected = torch.empty_like(output.F)
    for rows in x.decomposition_permutations:
        own = F.instance_norm(x.F[rows].t()[None], eps=eps)[0].t()
        expected = expected.index_put((rows,), own * layer.weight + layer.bias)
    torch.testing.assert_close(output.F, expected)
    grad = torch.rand(output.shape, dtype=torch.float64)
    inputs = x.F, layer.weight, layer.bias
    found = torch.autograd.grad(output.F, inputs, grad)
    torch.testing.assert_close(found, torch.autograd.grad(expected, inputs, grad))
    layer.reset_parameters()
    assert layer.weight.eq(1).all() and layer.bias.eq(0).all()


def test_second_derivatives_of_instance_norm():
    x = random_tensor(2, 2, count=9)
    layer = ME.MinkowskiInstanceNorm(2).double()
    values = torch.rand(x.F.shape, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda each: layer(x._with(each)).F, (values,))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_instance_norm_of_lower_precision(dtype):
    x = random_tensor(2, 3)
    layer = ME.MinkowskiInstanceNorm(3)
    found = layer(x._with(x.F.detach().to(dtype))).F
    assert found.dtype is dtype
    expected = layer(x.float()).F
    torch.testing.assert_close(found.float(), expected, rtol=0.01, atol=0.01)


@pytest.mark.parametrize("make", [ME.MinkowskiBatchNorm, ME.MinkowskiSyncBatchNorm])
def test_batch_norm(make):
    x = random_tensor(2, 3)
    layer, plain = make(3, momentum=0.3).double(), nn.BatchNorm1d(3, momentum=0.3).double()
    assert list(layer.state_dict()) == [f"bn.{name}" for name in plain.state_dict()]
    for is_training in (True, False):
        layer.train(is_training)
        plain.train(is_training)
        output = layer(x)
        assert output.coordinate_map_key == x.coordinate_map_key
        torch.testing.assert_close(output.F, plain(x.F))
        field = field_of(x)
        assert isinstance(layer(field), ME.TensorField)
        plain(field.F)
    torch.testing.assert_close(layer.bn.running_var, plain.running_var)


def test_convert_sync_batchnorm():
    block = ME.modules.resnet_block.BasicBlock(3, 3, dimension=2).double().eval()
    network = nn.Sequential(block, ME.MinkowskiBatchNorm(3, affine=False).double().eval())
    block.norm1.bn.running_mean.fill_(0.5)
    x = random_tensor(2, 3)
    expected, weight = network(x).F, block.norm1.bn.weight
    converted = ME.MinkowskiSyncBatchNorm.convert_sync_batchnorm(network)
    assert converted is network and isinstance(block.norm1, ME.MinkowskiSyncBatchNorm)
    assert block.norm1.bn.weight is weight and not block.norm1.training
    assert torch.equal(network(x).F, expected)


ARGUMENTS = {"Threshold": (0.5, -1.0)}


@pytest.mark.parametrize("name", _pointwise._MODULES)
def test_activations(name):
    x = random_tensor(2, 3)
    arguments = ARGUMENTS.get(name, ())
    named = {"dim": 1} if name in ("Softmin", "Softmax", "LogSoftmax") else {}
    layer = getattr(ME, f"Minkowski{name}")(*arguments, **named).double()
    plain = getattr(nn, name)(*arguments, **named).double()
    assert type(layer.module) is type(plain)
    for input in (x, field_of(x)):
        torch.manual_seed(3)
        output = layer(input)
        torch.manual_seed(3)
        assert torch.equal(output.F, plain(input.F))
        assert type(output) is type(input)
        assert output.coordinate_key == input.coordinate_key
    assert str(layer) == f"Minkowski{name}()"


def test_layers_are_copied_and_pickled():
    layer = ME.MinkowskiLeakyReLU(0.25)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert type(other) is ME.MinkowskiLeakyReLU and other.module.negative_slope == 0.25
    layer = ME.MinkowskiConvolution(1, 1, kernel_size=3, dimension=2)
    assert torch.equal(pickle.loads(pickle.dumps(layer)).kernel, layer.kernel)


def test_linear_and_sinusoidal():
    x = random_tensor(2, 3)
    linear = ME.MinkowskiLinear(3, 5, bias=False).double()
    assert list(linear.state_dict()) == ["linear.weight"]
    assert torch.equal(linear(x).F, F.linear(x.F, linear.linear.weight))
    assert str(linear) == "MinkowskiLinear(in_features=3, out_features=5, bias=False)"
    wave = ME.MinkowskiSinusoidal(3, 5).double()
    assert list(wave.state_dict()) == ["kernel", "bias", "coef"]
    expected = torch.sin(x.F @ wave.kernel + wave.bias) * wave.coef
    torch.testing.assert_close(wave(x).F, expected)


def test_functional():
    x = random_tensor(2, 4)
    functional = ME.MinkowskiFunctional
    assert torch.equal(functional.relu(x).F, x.F.relu())
    assert torch.equal(functional.leaky_relu(x, 0.5).F, F.leaky_relu(x.F, 0.5))
    assert torch.equal(functional.normalize(x, dim=1).F, F.normalize(x.F, dim=1))
    assert torch.equal(functional.dropout(x, p=0.5, training=False).F, x.F)
    assert functional.glu(x).shape == (len(x), 2)
    target = torch.ones_like(x.F)
    assert torch.equal(functional.mse_loss(x, target), F.mse_loss(x.F, target))
    labels = torch.zeros(len(x), dtype=torch.int64)
    assert torch.equal(functional.cross_entropy(x, labels), F.cross_entropy(x.F, labels))
    assert functional.relu(x).coordinate_map_key == x.coordinate_map_key
    assert isinstance(functional.tanh(field_of(x)), ME.TensorField)


def test_in_place_activation():
    x = tensor({-1: -2, 3: 4})
    output = ME.MinkowskiReLU(inplace=True)(x)
    assert output.F.data_ptr() == x.F.data_ptr()
    assert x.F.flatten().tolist() == [0, 4]


def normalized(layer, features):
    return F.batch_norm(features, None, None, layer.bn.weight, layer.bn.bias, training=True)


def test_blocks():
    x = random_tensor(2, 8)
    blocks = ME.modules.resnet_block
    down = nn.Sequential(
        ME.MinkowskiConvolution(8, 8, kernel_size=1, stride=2, dimension=2),
        ME.MinkowskiBatchNorm(8),
    )
    block = blocks.BasicBlock(8, 8, stride=2, downsample=down, dimension=2).double()
    assert [name for name, _ in block.named_children()] == [
        *("conv1", "norm1", "conv2", "norm2", "relu", "downsample"),
    ]
    output = block(x)
    middle = block.conv1(x)
    middle = middle._with(normalized(block.norm1, middle.F).relu())
    branch = normalized(block.norm2, block.conv2(middle).F)
    shortcut = normalized(down[1], down[0](x).F)
    torch.testing.assert_close(output.F, (branch + shortcut).relu())
    assert output.tensor_stride == [2, 2]
    bottleneck = blocks.Bottleneck(8, 2, dimension=2).double()
    assert bottleneck(x).coordinate_map_key == x.coordinate_map_key
    assert len(list(bottleneck.children())) == 7 and bottleneck.expansion == 4


def test_squeeze_and_excitation():
    blocks = ME.modules.senet_block
    x = random_tensor(2, 16)
    layer = blocks.SELayer(16, reduction=4, D=2).double()
    output = layer(x)
    expected = torch.empty_like(output.F)
    for rows in x.decomposition_permutations:
        first, _, last, _ = layer.fc
        scale = last.linear(first.linear(x.F[rows].mean(0)).relu()).sigmoid()
        expected = expected.index_put((rows,), x.F[rows] * scale)
    torch.testing.assert_close(output.F, expected)
    for make, planes in ((blocks.SEBasicBlock, 16), (blocks.SEBottleneck, 4)):
        block = make(16, planes, D=2).double()
        block(random_tensor(2, 16)).F.sum().backward()
        assert block.conv1.kernel.grad is not None


def test_a_network_has_a_forward():
    class Network(ME.MinkowskiNetwork):
        def forward(self, x):
            return x

    assert Network(3).D == 3
    with pytest.raises(TypeError, match="abstract"):
        ME.MinkowskiNetwork(3)
