"""bev_pool; the extension modules of BEVDet and BEVFusion, called as their Python calls them."""

from __future__ import annotations

import re
import sys

import cases
import numpy as np
import pytest
import torch

import mluop_omp
import mluop_omp.bevdet
import mluop_omp.bevfusion
import mluop_omp.torch as mt


def bev_pool(depth, features, ranks_depth, ranks_feat, ranks_bev, num_cells):
    """The definition by operators of PyTorch."""
    used = ranks_bev >= 0
    element, row, cell = (each[used].long() for each in (ranks_depth, ranks_feat, ranks_bev))
    products = depth[element].unsqueeze(1) * features[row]
    return features.new_zeros(num_cells, features.shape[1]).index_add(0, cell, products)


@pytest.fixture
def extensions():
    mluop_omp.bevdet.install()
    mluop_omp.bevfusion.install()
    names = ("mmdet3d.ops.bev_pool_v2.bev_pool_v2_ext", "mmdet3d.ops.bev_pool.bev_pool_ext")
    yield [sys.modules[name] for name in names]
    for name in names:
        del sys.modules[name]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_that_are_refused(dtype):
    names, given = ("ranks_depth", "ranks_feat", "ranks_bev"), cases.arguments("bev_pool")
    depth, features, *ranks, num_cells = cases.of_numpy("bev_pool", given)
    depth, features = depth.astype(dtype), features.astype(dtype)
    grad = np.ones((num_cells, features.shape[1]), dtype)
    (point, *_) = np.flatnonzero(ranks[2] >= 0)
    for position, (limit, low) in enumerate(((len(depth), 0), (len(features), 0), (num_cells, -1))):
        for value in (low - 1, limit):
            wrong = [each.copy() for each in ranks]
            wrong[position][point] = value
            text = rf"{names[position]}\[{point}\] is {value}, expected {low} to {limit - 1}"
            with pytest.raises(mluop_omp.MluOpError, match=text):
                mluop_omp.bev_pool(depth, features, *wrong, num_cells)
            with pytest.raises(mluop_omp.MluOpError, match=text):
                mluop_omp.bev_pool_backward(grad, depth, features, *wrong)
    with pytest.raises(mluop_omp.MluOpError, match="num_cells is -1, expected at least 0"):
        mluop_omp.bev_pool(depth, features, *ranks, -1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_points_that_are_skipped(dtype):
    """Neither their numbers nor the elements that only they name have an effect, of any order."""
    depth = torch.tensor([2, torch.nan], dtype=dtype, requires_grad=True)
    features = torch.tensor([[3], [torch.inf]], dtype=dtype, requires_grad=True)
    numbers = [[0, 1, 99], [0, 1, -7], [1, -1, -1]]
    ranks = [torch.tensor(each, dtype=torch.int32) for each in numbers]

    def pool(depth, features):
        output = mt.bev_pool(depth, features, *ranks, 3)
        assert output.tolist() == [[0], [6], [0]]
        return output.square().sum()

    first = torch.autograd.grad(pool(depth, features), (depth, features), create_graph=True)
    pool(depth, features).backward()
    expected = [36, 0], [[24], [0]]
    assert [each.tolist() for each in first] == [*expected]
    assert [depth.grad.tolist(), features.grad.tolist()] == [*expected]
    second = torch.autograd.grad(first[0].sum(), (depth, features))
    assert [each.tolist() for each in second] == [[18, 0], [[24], [0]]]


def test_an_output_without_elements_has_gradients():
    depth, features = torch.ones(2, requires_grad=True), torch.ones(2, 0, requires_grad=True)
    ranks = [torch.tensor([9], dtype=torch.int32)] * 3
    for create_graph in (False, True):
        output = mt.bev_pool(depth, features, *ranks, 4)
        gradients = torch.autograd.grad(
            output.sum(), (depth, features), create_graph=create_graph, allow_unused=True
        )
        assert gradients[0].tolist() == [0, 0] and gradients[1].shape == (2, 0)


def intervals(ranks):
    """Returns lengths and starts of the runs of equal ranks."""
    lengths = torch.unique_consecutive(ranks, return_counts=True)[1]
    return lengths.int(), (lengths.cumsum(0) - lengths).int()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_bevdet(extensions, dtype):
    """Intervals in descending order, elements of depth of several points, an output in strides."""
    depth, feat, *ranks, cells = cases.arguments("bev_pool", M=12, P=60)
    ranks[2] = ranks[2].clamp(min=0).sort()[0]
    lengths, starts = (each.flip(0) for each in intervals(ranks[2]))
    depth, feat = depth.to(dtype).view(1, 1, -1, 1, 1), feat.to(dtype).view(1, 1, 1, -1, 4)
    out = torch.full((1, 1, 4, 3, 4), torch.nan, dtype=dtype).transpose(2, 3)
    extensions[0].bev_pool_v2_forward(depth, feat, out, *ranks, lengths, starts)
    variables = [each.double().requires_grad_() for each in (depth, feat)]
    expected = bev_pool(variables[0].flatten(), variables[1].view(-1, 4), *ranks, cells)
    tolerance = {"rtol": 4 * torch.finfo(dtype).eps, "atol": 4 * torch.finfo(dtype).eps}
    torch.testing.assert_close(out.reshape(cells, 4).double(), expected, **tolerance)
    grad = cases.floats(1, 1, 3, 4, 4).to(dtype)
    right = torch.autograd.grad(expected, variables, grad.view(cells, 4).double())
    for name in ("bev_pool_v2_backward", "bev_pool_v2_backward_opt"):
        grads = [torch.full_like(each, torch.nan) for each in (depth, feat)]
        arguments = (grad, *grads, depth, feat, *ranks, lengths, starts)
        getattr(extensions[0], name)(*arguments)
        torch.testing.assert_close([each.double() for each in grads], list(right), **tolerance)


@pytest.mark.parametrize(
    ("position", "value", "text"),
    [
        (0, 9, "ranks_depth[0] is 9, expected 0 to 1"),
        (1, -1, "ranks_feat[0] is -1, expected 0 to 1"),
        (2, -1, "ranks_bev[0] is -1, expected 0 to 2"),
        (2, 2**32, "ranks_bev[0] is 4294967296, expected 0 to 2"),
    ],
)
def test_bevdet_refuses_ranks(extensions, position, value, text):
    depth, feat, out = torch.ones(1, 1, 2, 1, 1), torch.ones(1, 1, 1, 2, 1), torch.zeros(3, 1)
    ranks = [torch.tensor([value if at == position else 0, 0]) for at in range(3)]
    arguments = (*ranks, torch.tensor([2]), torch.tensor([0]))
    with pytest.raises(mluop_omp.MluOpError, match=re.escape(text)):
        extensions[0].bev_pool_v2_forward(depth, feat, out, *arguments)
    grads = torch.zeros_like(depth), torch.zeros_like(feat)
    with pytest.raises(mluop_omp.MluOpError, match=re.escape(text)):
        extensions[0].bev_pool_v2_backward(out, *grads, depth, feat, *arguments)


def test_bevfusion(extensions):
    B, D, H, W, N, C = 2, 2, 3, 4, 40, 5
    extents = (H, W, D, B)
    geom_feats = torch.stack([cases.integers(0, extent, N) for extent in extents], 1)
    h, w, d, batch = geom_feats.unbind(1)
    cell, order = (((batch * D + d) * H + h) * W + w).sort()
    geom_feats, x = geom_feats[order], cases.floats(N, C)
    arguments = (geom_feats, *intervals(cell), B, D, H, W)
    out = extensions[1].bev_pool_forward(x, *arguments)
    expected = torch.zeros(B * D * H * W, C).index_add(0, cell, x).view(B, D, H, W, C)
    torch.testing.assert_close(out, expected)
    grad = cases.floats(B, D, H, W, C)
    assert torch.equal(extensions[1].bev_pool_backward(grad, *arguments), grad.view(-1, C)[cell])


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("default", [torch.float32, torch.float64])
def test_intervals_that_cover_some_of_the_points(extensions, dtype, default):
    torch.set_default_dtype(default)
    try:
        depth = torch.tensor([1.0, 2, 3, 4, 5], dtype=dtype).view(1, 1, 1, 1, 5)
        feat = torch.tensor([[1.0], [10], [100], [1000], [9]], dtype=dtype).view(1, 1, 1, 5, 1)
        ranks = torch.arange(5).int()
        cells, lengths, starts = (torch.tensor(v).int() for v in ([0, 0, 1, 2, 2], [2, 1], [0, 3]))
        out = torch.full((1, 1, 1, 3, 1), torch.nan, dtype=dtype)
        extensions[0].bev_pool_v2_forward(depth, feat, out, ranks, ranks, cells, lengths, starts)
        assert out.flatten().tolist() == [21, 0, 4000]
        grads = torch.full_like(depth, torch.nan), torch.full_like(feat, torch.nan)
        arguments = (depth, feat, ranks, ranks, cells, lengths, starts)
        extensions[0].bev_pool_v2_backward(torch.ones_like(out), *grads, *arguments)
        assert grads[0].flatten().tolist() == [1, 10, 0, 1000, 0]
        assert grads[1].flatten().tolist() == [1, 2, 0, 4, 0]
        geom = torch.tensor([[0, cell, 0, 0] for cell in cells.tolist()])
        x = feat.view(5, 1)
        pooled = extensions[1].bev_pool_forward(x, geom, lengths, starts, 1, 1, 1, 3)
        assert pooled.flatten().tolist() == [11, 0, 1000]
    finally:
        torch.set_default_dtype(torch.float32)
    with pytest.raises(mluop_omp.MluOpError, match=r"starts \+ interval_lengths\[1\] is 6"):
        wrong = torch.tensor([2, 3]).int()
        extensions[0].bev_pool_v2_forward(depth, feat, out, ranks, ranks, cells, wrong, starts)
    with pytest.raises(
        mluop_omp.MluOpError, match=r"geom_feats\[:, 1\]\[2\] is 3, expected 0 to 2"
    ):
        geom[2, 1] = 3
        every = torch.ones(5).int(), torch.arange(5).int()
        extensions[1].bev_pool_forward(x, geom, *every, 1, 1, 1, 3)
