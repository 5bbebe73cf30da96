"""The functions of mmcv for StyleGAN: mmcv computes them with PyTorch, and direct calls agree."""

from __future__ import annotations

import importlib

import cases
import pytest
import torch

import mluop_omp

pytest.importorskip("mmcv", reason="requires mmcv-lite")
importlib.import_module("mluop_omp.mmcv.auto")
ops = importlib.import_module("mmcv.ops")
ext = importlib.import_module("mmcv._ext")
# The functions of mmcv.ops have the names of their modules.
bias_act, filtered_lrelu, fused, upfirdn2d = (
    importlib.import_module(f"mmcv.ops.{name}")
    for name in ("bias_act", "filtered_lrelu", "fused_bias_leakyrelu", "upfirdn2d")
)
NAMES = sorted(mluop_omp.mmcv._FORMULATIONS)
FILTER = torch.tensor([[1.0, 2], [3, 4]])


def image(*shape, dtype=torch.float64):
    return cases.floats(*shape).to(dtype).requires_grad_()


def assert_equal_derivatives(function, expected, *inputs):
    """Compares values, gradients, and the gradients of the first of these."""
    results = []
    for each in (function, expected):
        output = each(*inputs)
        weights = image(*output.shape)
        first = torch.autograd.grad(output, inputs, weights, create_graph=True)
        variables = weights, *inputs
        second = torch.autograd.grad(first[0].square().sum(), variables, allow_unused=True)
        second = [torch.zeros_like(v) if g is None else g for g, v in zip(second, variables)]
        results.append([output, *first, *second])
    torch.testing.assert_close(*results, rtol=1e-6, atol=1e-7)


ON_A_CPU = {
    **{
        act: lambda x, act=act: ops.bias_act(x, torch.ones(2), act=act, clamp=1.0)
        for act in bias_act.activation_funcs
    },
    "filter2d": lambda x: ops.filter2d(x, FILTER),
    "filtered_lrelu": lambda x: ops.filtered_lrelu(x, FILTER, FILTER, torch.ones(2), 2, 2),
    "FusedBiasLeakyReLU": ops.FusedBiasLeakyReLU(2),
    "upfirdn2d": lambda x: ops.upfirdn2d(x, FILTER, 2),
    "upsample2d": lambda x: ops.upsample2d(x, FILTER),
}


@pytest.mark.parametrize("name", ON_A_CPU)
def test_mmcv_calls_no_function_of_its_extension(name, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError(name)

    for each in NAMES:
        monkeypatch.setattr(ext, each, refuse)
    input = image(1, 2, 6, 6, dtype=torch.float32)
    output = ON_A_CPU[name](input)
    (grad,) = torch.autograd.grad(output.sum(), input)
    assert output.isfinite().all() and grad.abs().sum() > 0


@pytest.mark.parametrize("clamp", [None, 0.7])
@pytest.mark.parametrize("act", bias_act.activation_funcs)
def test_bias_act(act, clamp):
    """The class of mmcv for GPUs, which calls the extension, against its formula in PyTorch.

    A clamp of the linear activation has no gradient in the former: it keeps no output.
    """
    if act == "linear":
        clamp = None
    inputs = image(2, 3, 4, 5), image(3)
    arguments = {"act": act, "gain": 1.5, "clamp": clamp}
    assert_equal_derivatives(
        bias_act._bias_act_cuda(dim=1, **arguments).apply,
        lambda x, b: bias_act._bias_act_ref(x, b, **arguments),
        *inputs,
    )


@pytest.mark.parametrize("scale", [1, 1.5])
def test_fused_bias_leakyrelu(scale):
    assert_equal_derivatives(
        lambda x, b: fused.FusedBiasLeakyReLUFunction.apply(x, b, 0.2, scale),
        lambda x, b: fused.bias_leakyrelu_ref(x, b, 0.2, scale),
        *(image(2, 3, 4, 5), image(3)),
    )


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("shape", [(3, 4), (5,)])
@pytest.mark.parametrize(
    ("up", "down", "padding"), [(2, [1, 3], [3, 2, 1, 4]), (1, 2, [-1, 2, 1, -1])]
)
def test_upfirdn2d(up, down, padding, shape, flip):
    # The formula multiplies the filters, which are float32, by the square root of the gain.
    filter, arguments = cases.floats(*shape), (up, down, padding, flip, 4)
    assert_equal_derivatives(
        lambda x: upfirdn2d._upfirdn2d_cuda(*arguments).apply(x, filter),
        lambda x: upfirdn2d._upfirdn2d_ref(x, filter, *arguments),
        image(2, 3, 8, 7),
    )


def test_upfirdn2d_of_an_example():
    x = torch.tensor([[[[1.0, 2], [3, 4]]]])
    found = ext.upfirdn2d(x, FILTER, 2, 2, 1, 1, 1, 0, 1, 0, False, 1.0)
    assert found[0, 0].tolist() == [[1, 2, 2, 4], [3, 4, 6, 8], [3, 6, 4, 8], [9, 12, 12, 16]]
    found = ext.upfirdn2d(x.half(), FILTER, 2, 2, 1, 1, 1, 0, 1, 0, True, 1.0)
    assert found[0, 0].tolist() == [[4, 3, 8, 6], [2, 1, 4, 2], [12, 9, 16, 12], [6, 3, 8, 4]]
    last = image(2, 3, 4, 4).to(memory_format=torch.channels_last)
    found = ext.upfirdn2d(last, FILTER, 1, 1, 1, 1, 0, 0, 0, 0, False, 1.0)
    assert found.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.filterwarnings("ignore:filtered_lrelu called with parameters")
@pytest.mark.parametrize("clamp", [None, 0.5])
@pytest.mark.parametrize("flip", [False, True])
def test_filtered_lrelu(clamp, flip):
    """Gradients, and theirs, read the signs that the forward pass writes."""
    filters, arguments = (cases.floats(6), cases.floats(4, 4)), (2, 2, [3, 4, 2, 3])
    numbers = {"gain": 1.5, "slope": 0.2, "clamp": clamp, "flip_filter": flip}
    function = filtered_lrelu._filtered_lrelu_cuda(*arguments, **numbers).apply
    reference = filtered_lrelu._filtered_lrelu_ref
    assert_equal_derivatives(
        lambda x, b: function(x, *filters, b, None, 0, 0),
        lambda x, b: reference(x, *filters, b, *arguments, **numbers),
        *(image(2, 3, 9, 8), image(3)),
    )


def test_filtered_lrelu_by_signs():
    none, inf = torch.zeros(0), float("inf")
    x = torch.tensor([[[[-1.0, 2, -3, 4, 5]]]])
    signs = ext.filtered_lrelu_act_(x, none, 0, 0, 2.0, 0.25, 3.0, True)
    assert x.tolist() == [[[[-0.5, 3, -1.5, 3, 3]]]]
    assert signs.tolist() == [[[[1 + (2 << 2) + (1 << 4) + (2 << 6), 2, 0, 0]]]]
    x = torch.ones(1, 1, 2, 6)
    arguments = -1, -1, 2.0, 0.25, inf, False
    assert ext.filtered_lrelu_act_(x, signs, *arguments).numel() == 0
    assert x.tolist() == [[[[2] * 6, [2, 0.5, 0, 0.5, 0, 0]]]]
    with pytest.raises(mluop_omp.MluOpError, match="si has shape"):
        ext.filtered_lrelu_act_(torch.ones(2, 1, 2, 6), signs, *arguments)
    assert ext.filtered_lrelu(x, *[none] * 4)[2] == -1


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half(dtype):
    """Computed in float32 and rounded once; empty tensors are none."""
    x, none = image(2, 3, 4, dtype=dtype), torch.zeros(0)
    found = ext.bias_act(x, none, none, none, none, 0, 1, 8, 0.0, 3.0, -1.0)
    expected = torch.logaddexp(x.float(), torch.zeros(())) * 3
    assert found.dtype is dtype and torch.equal(found, expected.to(dtype))


def test_refused_arguments():
    x, none = torch.ones(2, 3), torch.zeros(0)
    numbers = 1, 3, 0.2, 1.0, -1.0
    for arguments, text in (
        ((x, torch.ones(4), none, none, none, 0, *numbers), "bias has shape"),
        ((x, none, none, x[:1], none, 1, *numbers), "xref, yref or dy has another shape"),
        ((x, none, none, none, none, 3, *numbers), "act is 3, grad 3, expected 1 to 9, 0 to 2"),
    ):
        with pytest.raises(mluop_omp.MluOpError, match=text):
            ext.bias_act(*arguments)
