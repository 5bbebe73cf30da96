"""The extension modules of BEVDet and BEVFusion, called as their Python calls them."""

from __future__ import annotations

import sys

import cases
import pytest
import torch

import mluop_omp
import mluop_omp.bevdet
import mluop_omp.bevfusion


@pytest.fixture
def extensions():
    mluop_omp.bevdet.install()
    mluop_omp.bevfusion.install()
    names = ("mmdet3d.ops.bev_pool_v2.bev_pool_v2_ext", "mmdet3d.ops.bev_pool.bev_pool_ext")
    yield [sys.modules[name] for name in names]
    for name in names:
        del sys.modules[name]


def intervals(ranks):
    """Returns lengths and starts of the runs of equal ranks."""
    lengths = torch.unique_consecutive(ranks, return_counts=True)[1]
    return lengths.int(), (lengths.cumsum(0) - lengths).int()


def test_bevdet(extensions):
    cams, D, H, W, C, shape = 2, 3, 2, 4, 5, (1, 1, 3, 4)
    depth, feat = cases.floats(1, cams, D, H, W), cases.floats(1, cams, H, W, C)
    points = torch.arange(depth.numel(), dtype=torch.int32)[::2]
    pixel = points // (D * H * W) * (H * W) + points % (H * W)
    cell, order = cases.integers(0, 12, len(points)).sort()
    ranks = points[order], pixel[order], cell
    out = torch.zeros(*shape, C)
    extensions[0].bev_pool_v2_forward(depth, feat, out, *ranks, *intervals(cell))

    variables = depth.clone().requires_grad_(), feat.clone().requires_grad_()
    rows = variables[0].flatten()[ranks[0]].unsqueeze(1) * variables[1].view(-1, C)[ranks[1]]
    expected = torch.zeros(12, C).index_add(0, cell, rows).view(*shape, C)
    torch.testing.assert_close(out, expected)

    grad = cases.floats(*shape, C)
    pixels, order = ranks[1].sort()
    ranks = ranks[0][order], pixels, ranks[2][order]
    for name in ("bev_pool_v2_backward", "bev_pool_v2_backward_opt"):
        grads = torch.zeros_like(depth), torch.zeros_like(feat)
        getattr(extensions[0], name)(grad, *grads, depth, feat, *ranks, *intervals(pixels))
        torch.testing.assert_close(
            grads, torch.autograd.grad(expected, variables, grad, retain_graph=True)
        )


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


def test_no_points(extensions):
    none = torch.zeros(0, dtype=torch.int32)
    out = extensions[1].bev_pool_forward(
        torch.zeros(0, 5), torch.zeros(0, 4, dtype=torch.int32), none, none, 1, 1, 2, 2
    )
    assert torch.equal(out, torch.zeros(1, 1, 2, 2, 5))
