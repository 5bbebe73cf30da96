"""The modules against the dense layers of PyTorch."""

from __future__ import annotations

import cases
import pytest
import torch
import torch.nn.functional as F

import mluop_omp.torch as mt


def check(found, expected, variables, tolerance):
    """The values and the gradients of the variables."""
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=1e-5)
    losses = found.square().sum(), expected.square().sum()
    gradients = [torch.autograd.grad(loss, variables) for loss in losses]
    torch.testing.assert_close(*gradients, rtol=tolerance, atol=tolerance)


def test_voxel_pooling():
    geom_xyz, feats, voxel_num = cases.arguments("voxel_pooling")
    module = mt.VoxelPooling(voxel_num)
    expected = mt.voxel_pooling(geom_xyz, feats, voxel_num)[0].permute(0, 3, 1, 2)
    torch.testing.assert_close(module(geom_xyz.view(2, 5, 6, 3), feats.view(2, 5, 6, 4)), expected)
    assert "voxel_num=(3, 3, 3)" in repr(module)


def test_three_interpolate_at_the_known_points_is_the_identity():
    known, features = cases.floats(2, 10, 3), cases.floats(2, 5, 10)
    torch.testing.assert_close(mt.ThreeInterpolate()(known, known, features), features)


def test_dynamic_scatter_of_batches():
    feats, coors, _ = cases.arguments("dynamic_scatter")
    batch = torch.arange(40).remainder(2).int().unsqueeze(1)
    voxel_feats, voxel_coors = mt.DynamicScatter("sum")(feats, torch.cat([batch, coors], 1))
    for b in (0, 1):
        expected = mt.dynamic_scatter(feats[b::2].contiguous(), coors[b::2].contiguous(), "sum")
        own = voxel_coors[:, 0] == b
        torch.testing.assert_close(voxel_feats[own], expected[0])
        torch.testing.assert_close(voxel_coors[own][:, 1:], expected[1])


@pytest.mark.parametrize(("bias", "most"), [(True, 2), (False, 2), (True, 1)])
def test_masked_conv2d_is_the_convolution_at_the_mask(bias, most):
    torch.manual_seed(0)
    module = mt.MaskedConv2d(3, 4, 3, padding=1, bias=bias)
    input = cases.floats(1, 3, 6, 5).requires_grad_()
    mask = cases.integers(0, most, 1, 6, 5)
    assert mask.any() == (most > 1)
    check(module(input, mask), module(input) * mask, [input, *module.parameters()], 1e-5)


def sparse(channels=4):
    indices = cases.sites()
    return mt.SparseTensor(
        cases.floats(len(indices), channels).requires_grad_(), indices, cases.SPACE, 2
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: mt.SubMConv3d(4, 6, 3),
        lambda: mt.SubMConv3d(4, 6, (1, 3, 5), bias=False),
        lambda: mt.SparseConv3d(4, 6, 3, stride=2, padding=1, bias=False),
        lambda: mt.SparseConv3d(4, 6, (3, 1, 2), stride=(2, 1, 1), padding=(0, 1, 1), bias=False),
        lambda: mt.SparseConv3d(4, 6, 3, padding=2, dilation=2, bias=False),
    ],
)
def test_sparse_convolutions_are_dense_ones_at_the_active_sites(make):
    torch.manual_seed(0)
    module, input = make(), sparse()
    output = module(input)
    weight = module.weight.permute(4, 3, 0, 1, 2)
    arguments = (weight, module.bias, module.stride, module.padding, module.dilation)
    expected = F.conv3d(input.dense(), *arguments)
    if module.subm:
        active = mt.SparseTensor(torch.ones(20, 1), input.indices, cases.SPACE, 2).dense()
        expected = expected * active
    check(output.dense(), expected, [input.features, *module.parameters()], 1e-4)


def test_an_indice_key_shares_a_rulebook():
    first = mt.SubMConv3d(4, 4, 3, indice_key="a")
    input = sparse()
    output = first(mt.SubMConv3d(4, 4, 3, indice_key="a")(input))
    assert list(output.rulebooks) == ["a"]
    with pytest.raises(ValueError, match="another convolution"):
        mt.SparseConv3d(4, 4, 3, indice_key="a")(output)
    assert output.replace_feature(output.features * 2).indices is output.indices
    other = mt.SparseTensor(output.features, input.indices.flip(0), cases.SPACE, 2, input.rulebooks)
    with pytest.raises(ValueError, match="other sites"):
        first(other)
    equal = mt.SparseTensor(output.features, input.indices.clone(), cases.SPACE, 2, input.rulebooks)
    assert torch.equal(first(equal).features, first(output).features)


def test_an_even_kernel_is_refused():
    with pytest.raises(ValueError, match="odd"):
        mt.SubMConv3d(4, 4, 2)
