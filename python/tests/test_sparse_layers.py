"""The sparse layers of this package, mmcv and spconv: scans without sites, element types, memory
formats, autocast.
"""

from __future__ import annotations

import importlib
from contextlib import nullcontext

import cases
import pytest
import torch
from torch.autograd import forward_ad

import mluop_omp.torch as mt

SITES = cases.sites()


@pytest.fixture(params=["ours", "mmcv", "spconv"])
def layers(request):
    """The layers of a library, and a function that makes its tensor of two batches."""
    if request.param == "ours":
        return mt, lambda features, sites, space: mt.SparseTensor(features, sites, space, 2)
    pytest.importorskip(request.param)
    importlib.import_module(f"mluop_omp.{request.param}").install()
    modules = {"mmcv": "mmcv.ops", "spconv": "spconv.pytorch"}
    ops = importlib.import_module(modules[request.param])
    return ops, lambda features, sites, space: ops.SparseConvTensor(features, sites, list(space), 2)


def loss_and_gradients(modules, input):
    variables = [p for module in modules for p in module.parameters()]
    output = torch.nn.Sequential(*modules)(input)
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
@pytest.mark.parametrize("autocast", [True, False])
def test_element_types(layers, autocast, dtype):
    """Autocast computes its type, whatever the type of the features that other layers compute."""
    ops, tensor = layers
    features = cases.floats(20, 4).to(dtype).requires_grad_()
    exact = features.detach().float().requires_grad_()
    of_weights = torch.float32 if autocast else dtype
    modules = [each.to(of_weights) for each in network(ops)]
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        output, gradients = loss_and_gradients(modules, tensor(features, SITES, cases.SPACE))
    assert output.dtype is (torch.bfloat16 if autocast else dtype)
    assert [each.dtype for each in gradients] == [dtype] + [of_weights] * (len(gradients) - 1)
    modules = [each.float() for each in modules]
    expected = loss_and_gradients(modules, tensor(exact, SITES, cases.SPACE))
    torch.testing.assert_close(output.float(), expected[0], rtol=2e-2, atol=2e-2)
    for found, right in zip(gradients, expected[1]):
        scale = right.abs().max()
        torch.testing.assert_close(found.float() / scale, right / scale, rtol=0, atol=2e-2)


def losses_of_training(layers, autocast):
    ops, tensor = layers
    model = torch.nn.Sequential(*network(ops))
    head, sites = torch.nn.Linear(5, 3), cases.sites(200, 2, (8, 8, 8))
    parameters = [*model.parameters(), *head.parameters()]
    optimizer = torch.optim.SGD(parameters, 0.1)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            scores = head(model(tensor(cases.floats(200, 4), sites, (8, 8, 8))).features.relu())
            targets = torch.arange(len(scores)) % 3
            loss = torch.nn.functional.cross_entropy(scores, targets)
        loss.backward()
        assert all(each.grad.dtype is torch.float32 for each in parameters)
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_losses_under_autocast_are_those_of_float32(layers):
    expected, found = losses_of_training(layers, False), losses_of_training(layers, True)
    assert expected[-1] < expected[0] and found != expected
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=0)


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

    transforms = {
        "jvp": lambda: torch.func.jvp(function, (features,), (features,)),
        "grad": lambda: torch.func.grad(function)(features),
        "vmap": lambda: torch.vmap(function)(features.unsqueeze(0)),
        "dual": lambda: function(forward_ad.make_dual(features, features)),
    }
    level = forward_ad.dual_level() if transform == "dual" else nullcontext()
    with pytest.raises(RuntimeError), level:
        transforms[transform]()


def test_gradients_in_double(layers):
    ops, tensor = layers
    modules = [each.double() for each in network(ops)]
    variables = [p for module in modules for p in module.parameters()]

    def function(features, *_):
        return torch.nn.Sequential(*modules)(tensor(features, SITES, cases.SPACE)).features

    features = cases.floats(20, 4).double().requires_grad_()
    assert torch.autograd.gradcheck(function, (features, *variables), fast_mode=True)
