"""The extension modules of Deformable DETR and GroundingDINO, called as their Python calls them."""

from __future__ import annotations

import importlib
import sys

import cases
import pytest
import torch
from torch.nn.functional import grid_sample

import mluop_omp.deformable_detr

MODULES = ["MultiScaleDeformableAttention", "groundingdino._C"]


@pytest.fixture
def modules():
    mluop_omp.deformable_detr.install()
    yield [sys.modules[name] for name in MODULES]
    for name in MODULES:
        del sys.modules[name]


def attended(value, shapes, locations, weights):
    """The attention, by grid_sample for each level."""
    B, _, M, D = value.shape
    Q, P = locations.shape[1], locations.shape[4]
    total = 0
    for level, keys in enumerate(value.split([h * w for h, w in shapes.tolist()], 1)):
        image = keys.permute(0, 2, 3, 1).reshape(B * M, D, *shapes[level].tolist())
        grid = 2 * locations[:, :, :, level].transpose(1, 2).reshape(B * M, Q, P, 2) - 1
        samples = grid_sample(image, grid, align_corners=False).view(B, M, D, Q, P)
        total = total + torch.einsum("bmdqp,bqmp->bqmd", samples, weights[:, :, :, level])
    return total.flatten(2)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("place", range(len(MODULES)))
def test_attention(modules, place, dtype):
    value, shapes, starts, *samples = cases.arguments("ms_deform_attn")
    leaves = [each.to(dtype).double().requires_grad_() for each in (value, *samples)]
    expected = attended(leaves[0], shapes, *leaves[1:])
    grad = cases.floats(*expected.shape).to(dtype)
    gradients = torch.autograd.grad(expected, leaves, grad.double())
    value, *samples = (each.detach().to(dtype) for each in leaves)
    arguments = value, shapes.long(), starts.long(), *samples
    found = modules[place].ms_deform_attn_forward(*arguments, 64)
    of_inputs = modules[place].ms_deform_attn_backward(*arguments, grad, 64)
    tolerance = {torch.float16: 5e-3, torch.float32: 1e-4, torch.float64: 1e-10}[dtype]
    for each, right in zip((found, *of_inputs), (expected, *gradients)):
        assert each.dtype is dtype
        close = {"rtol": tolerance, "atol": tolerance * float(right.detach().abs().max())}
        torch.testing.assert_close(each.double(), right, **close)
    with pytest.raises(mluop_omp.MluOpError, match="level_start_index"):
        starts = starts.long() + value.shape[1]
        modules[place].ms_deform_attn_forward(value, shapes.long(), starts, *samples, 64)


def test_tensors_of_other_devices_need_an_extension_that_was_built(modules, tmp_path, monkeypatch):
    meta = [torch.zeros(1, device="meta")] * 5
    for module in modules:
        with pytest.raises(mluop_omp.MluOpError, match=f"{module.__name__} is not built"):
            module.ms_deform_attn_forward(*meta, 64)
    source = "def ms_deform_attn_forward(*arguments): raise KeyError('built')"
    (tmp_path / f"{MODULES[0]}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert importlib.import_module(MODULES[0]) is modules[0]
    with pytest.raises(KeyError, match="built"):
        modules[0].ms_deform_attn_forward(*meta, 64)
