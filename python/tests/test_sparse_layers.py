"""The sparse layers of this package, mmcv and spconv: scans without sites, element types, memory
formats, autocast.
"""

from __future__ import annotations

import importlib
from typing import Any, Callable

import cases
import pytest
import torch
from torch.autograd import forward_ad

import mluop_omp.torch as mt

SITES = cases.sites()
LIBRARIES: dict[str, Callable[[], tuple[Any, Any]]] = {}


def library(function: Callable[[], tuple[Any, Any]]) -> Callable[[], tuple[Any, Any]]:
    LIBRARIES[function.__name__] = function
    return function


@library
def ours():
    return mt, lambda features, sites, space: mt.SparseTensor(features, sites, space, 2)


@library
def mmcv():
    pytest.importorskip("mmcv", reason="requires mmcv-lite")
    importlib.import_module("mluop_omp.mmcv.auto")
    ops = importlib.import_module("mmcv.ops")
    return ops, lambda features, sites, space: ops.SparseConvTensor(features, sites, list(space), 2)


@library
def spconv():
    layers = pytest.importorskip("spconv.pytorch", reason="requires spconv")
    importlib.import_module("mluop_omp.spconv").install()

    def tensor(features, sites, space):
        return layers.SparseConvTensor(features, sites, list(space), 2)

    return layers, tensor


@pytest.fixture(params=list(LIBRARIES))
def layers(request):
    return LIBRARIES[request.param]()


def loss_and_gradients(modules, input):
    variables = [p for module in modules for p in module.parameters()]
    output = input
    for module in modules:
        output = module(output)
    loss = output.features.float().square().sum()
    return output.features, torch.autograd.grad(loss, [input.features, *variables])


# A site that no offset of a filter reaches, and none at all.
@pytest.mark.parametrize("sites", [torch.tensor([[0, 7, 7, 7]]), torch.zeros(0, 4)])
def test_the_gradients_of_a_scan_without_output_sites_are_zero(layers, sites, poisoned_memory):
    ops, tensor = layers
    features = cases.floats(len(sites), 3).requires_grad_()
    module = ops.SparseConv3d(3, 4, 3, 2)
    output, gradients = loss_and_gradients([module], tensor(features, sites.int(), (8, 8, 8)))
    assert output.shape == (0, 4)
    assert all(torch.equal(each, torch.zeros_like(each)) for each in gradients)


def test_training_on_a_scan_without_sites_leaves_the_weights(layers, poisoned_memory):
    ops, tensor = layers
    module = ops.SubMConv3d(3, 4, 3)
    before = [each.clone() for each in module.parameters()]
    optimizer = torch.optim.SGD(module.parameters(), 1e-3)
    input = tensor(torch.zeros(0, 3), torch.zeros(0, 4, dtype=torch.int32), (8, 8, 8))
    module(input).features.sum().backward()
    optimizer.step()
    assert all(map(torch.equal, module.parameters(), before))


def network(ops):
    torch.manual_seed(0)
    return [ops.SubMConv3d(4, 6, 3), ops.SparseConv3d(6, 5, 3, 2, 1)]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_layers_train_under_autocast(layers, dtype):
    """In float32, whatever the type of the features that other layers compute."""
    ops, tensor = layers
    features = cases.floats(20, 4).to(dtype).requires_grad_()
    exact = features.detach().float().requires_grad_()
    expected, expected_gradients = loss_and_gradients(
        network(ops), tensor(exact, SITES, cases.SPACE)
    )
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output, gradients = loss_and_gradients(network(ops), tensor(features, SITES, cases.SPACE))
    assert output.dtype is torch.float32
    torch.testing.assert_close(output, expected)
    assert gradients[0].dtype is dtype
    torch.testing.assert_close(gradients[0].float(), expected_gradients[0], rtol=1e-2, atol=1e-2)
    torch.testing.assert_close(gradients[1:], expected_gradients[1:])


def test_memory_formats(layers):
    ops, tensor = layers
    features = cases.floats(20, 4).requires_grad_()
    expected = loss_and_gradients(network(ops), tensor(features, SITES, cases.SPACE))
    modules = [each.to(memory_format=torch.channels_last_3d) for each in network(ops)]
    transposed = features.detach().t().contiguous().t().requires_grad_()
    sites = SITES.t().contiguous().t()
    found = loss_and_gradients(modules, tensor(transposed, sites, cases.SPACE))
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("layers", ["mmcv", "spconv"], indirect=True)
@pytest.mark.parametrize("transform", ["jvp", "grad", "vmap", "dual"])
def test_layers_of_other_libraries_refuse_transformations(layers, transform):
    ops, tensor = layers
    module, features = ops.SubMConv3d(4, 6, 3), cases.floats(20, 4)

    def function(values):
        return module(tensor(values, SITES, cases.SPACE)).features.sum()

    with pytest.raises(RuntimeError):
        if transform == "jvp":
            torch.func.jvp(function, (features,), (features,))
        elif transform == "grad":
            torch.func.grad(function)(features)
        elif transform == "vmap":
            torch.vmap(function)(features.unsqueeze(0))
        else:
            with forward_ad.dual_level():
                function(forward_ad.make_dual(features, features))


@pytest.mark.parametrize("layers", ["ours", "spconv"], indirect=True)
def test_gradients_in_double(layers):
    """mmcv's own indice_conv takes float32 and float16 alone."""
    ops, tensor = layers
    modules = [each.double() for each in network(ops)]
    variables = [p for module in modules for p in module.parameters()]

    def function(features, *_):
        output = tensor(features, SITES, cases.SPACE)
        for module in modules:
            output = module(output)
        return output.features

    features = cases.floats(20, 4).double().requires_grad_()
    assert torch.autograd.gradcheck(function, (features, *variables), fast_mode=True)
