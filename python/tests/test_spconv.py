"""spconv's layers against dense convolutions, and against spconv itself on one thread."""

from __future__ import annotations

import cases
import pytest
import torch
import torch.nn.functional as F

spconv = pytest.importorskip("spconv.pytorch", reason="requires spconv")
from spconv.core import ConvAlgo  # noqa: E402
from spconv.pytorch import ops  # noqa: E402

import mluop_omp.spconv  # noqa: E402

mluop_omp.spconv.install()
NATIVE = {"algo": ConvAlgo.Native}


def sparse_input(features=None):
    indices = cases.sites()
    features = cases.floats(20, 4).requires_grad_() if features is None else features
    return spconv.SparseConvTensor(features, indices, list(cases.SPACE), 2)


def gradients(outputs, variables):
    return torch.autograd.grad(outputs.square().sum(), variables)


@pytest.mark.parametrize(
    "make",
    [
        lambda: spconv.SubMConv3d(4, 6, 3, **NATIVE),
        lambda: spconv.SubMConv3d(4, 6, (1, 3, 5), bias=False, **NATIVE),
        lambda: spconv.SparseConv3d(4, 6, 3, 2, 1, bias=False, **NATIVE),
        lambda: spconv.SparseConv3d(4, 6, (3, 1, 1), (2, 1, 1), bias=False, **NATIVE),
    ],
)
def test_layers_are_dense_convolutions_at_the_active_sites(make):
    torch.manual_seed(0)
    module, input = make(), sparse_input()
    module.train()
    actual = module(input).dense()
    # spconv's filters are [Co, D, H, W, Ci].
    weight = module.weight.permute(0, 4, 1, 2, 3)
    padding = [size // 2 for size in module.kernel_size] if module.subm else module.padding
    expected = F.conv3d(input.dense(), weight, module.bias, stride=module.stride, padding=padding)
    if module.subm:
        expected = expected * sparse_input(torch.ones(20, 1)).dense()
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)
    variables = [input.features, *module.parameters()]
    torch.testing.assert_close(
        gradients(actual, variables), gradients(expected, variables), rtol=1e-4, atol=1e-4
    )


def original(name):
    return getattr(ops, name).original


@pytest.mark.parametrize("subm", [True, False])
def test_the_rulebooks_of_spconv_are_understood(subm, monkeypatch):
    """Pairs of submanifold convolutions lack the middle offset and half of the numbers."""
    # spconv's backward on the CPU asks for the current CUDA stream.
    monkeypatch.setattr(ops, "get_current_stream", lambda: 0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    triple = [1, 1, 1]
    arguments = (
        cases.sites(),
        2,
        list(cases.SPACE),
        ConvAlgo.Native,
        [3, 3, 3],
        triple,
        triple,
        triple,
    )
    try:
        sites, pairs, num = original("get_indice_pairs")(*arguments, [0, 0, 0], subm)
        features, filters = cases.floats(20, 4), cases.floats(6, 3, 3, 3, 4)
        call = (features, filters, pairs, num, len(sites), False, subm)
        torch.testing.assert_close(ops.indice_conv(*call), original("indice_conv")(*call))
        grad = cases.floats(len(sites), 6)
        call = (features, filters, grad, pairs, num, False, subm)
        for a, e in zip(ops.indice_conv_backward(*call), original("indice_conv_backward")(*call)):
            torch.testing.assert_close(a, e, rtol=1e-4, atol=1e-4)
    finally:
        torch.set_num_threads(threads)


def test_the_inverse_convolution_is_the_transpose():
    torch.manual_seed(0)
    forward = spconv.SparseConv3d(4, 6, 3, 2, 1, bias=False, indice_key="down", **NATIVE)
    inverse = spconv.SparseInverseConv3d(6, 4, 3, indice_key="down", bias=False, **NATIVE)
    with torch.no_grad():
        inverse.weight.copy_(forward.weight.transpose(0, 4))
    input = sparse_input()
    down = forward(input)
    y = cases.floats(*down.features.shape).requires_grad_()
    up = inverse(down.replace_feature(y))
    torch.testing.assert_close((up.features * input.features).sum(), (down.features * y).sum())
    assert torch.equal(up.indices, input.indices)
    (up.features * input.features.detach()).sum().backward()
    torch.testing.assert_close(y.grad, down.features.detach(), rtol=1e-4, atol=1e-4)


def test_the_bias_of_inference():
    torch.manual_seed(0)
    module, input = spconv.SubMConv3d(4, 6, 3, **NATIVE), sparse_input(cases.floats(20, 4))
    trained = module.train()(input).features
    torch.testing.assert_close(module.eval()(input).features, trained)


def test_max_pooling_of_spconv_remains():
    module = spconv.SparseMaxPool3d(3, 2, 1, algo=ConvAlgo.Native)
    features = cases.floats(20, 4).abs() + 1
    actual = module(sparse_input(features)).dense()
    expected = F.max_pool3d(sparse_input(features).dense(), 3, 2, 1)
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_same_bits_at_any_number_of_threads(threads, set_threads):
    torch.manual_seed(0)
    cells = torch.randperm(40**3)[:12000]
    indices = torch.stack((cells * 0, *torch.unravel_index(cells, (40, 40, 40))), 1).int()
    module = spconv.SubMConv3d(16, 16, 3, **NATIVE)
    features = torch.randn(12000, 16)

    def run(count):
        before = torch.get_num_threads()
        torch.set_num_threads(count)
        try:
            input = spconv.SparseConvTensor(features, indices, [40, 40, 40], 1)
            return module(input).features
        finally:
            torch.set_num_threads(before)

    assert torch.equal(run(threads), run(1))
