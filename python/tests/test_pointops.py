"""The extension module of pointops, called as its Python calls it. Definitions are loops over
points as in its kernels, and products with matrices of zeros and ones. test_table.py has neighbors
and samples of clouds of one size.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import mluop_omp.pointops
import mluop_omp.torch as mt

f32 = np.float32


@pytest.fixture
def ops():
    mluop_omp.pointops.install()
    torch.manual_seed(66)
    yield sys.modules["pointops._C"]
    del sys.modules["pointops._C"]


def integers(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


def results(rows: int, nsample: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.zeros(rows, nsample, dtype=torch.int32), torch.full((rows, nsample), np.nan)


OFFSET, NEW_OFFSET = integers(20, 20, 27), integers(5, 5, 9)


def clouds():
    """Returns points and centers: points of the clouds, so that distances are 0 too."""
    xyz = torch.rand(27, 3)
    return xyz, xyz[[0, 3, 6, 9, 12, 20, 21, 22, 26]]


def test_sampling(ops):
    xyz, idx = clouds()[0], torch.zeros(9, dtype=torch.int32)
    ops.farthest_point_sampling_cuda(3, 20, xyz, OFFSET, NEW_OFFSET, torch.ones(27) * 1e10, idx)
    first, last = (
        mt.furthest_point_sample(xyz[None, rows], count)[0]
        for rows, count in ((slice(20), 5), (slice(20, 27), 4))
    )
    assert torch.equal(idx, torch.cat((first, last + 20)))
    with pytest.raises(mluop_omp.MluOpError, match=r"new_offset\[2\] is 9, expected 0 to 8"):
        ops.farthest_point_sampling_cuda(3, 20, xyz, OFFSET, NEW_OFFSET, None, idx[1:])


def test_knn(ops):
    xyz, centers = clouds()
    idx, dist2 = results(9, 8)
    ops.knn_query_cuda(9, 8, xyz, centers, OFFSET, NEW_OFFSET, idx, dist2)
    for rows, points in ((slice(5), slice(0, 20)), (slice(5, 9), slice(20, 27))):
        squares = (centers[rows, None] - xyz[points]).square().sum(2)
        nearest = squares.topk(min(8, squares.shape[1]), largest=False)
        torch.testing.assert_close(dist2[rows, : squares.shape[1]], nearest.values)
        assert torch.equal(idx[rows, : squares.shape[1]], nearest.indices.int() + points.start)
    assert (idx[5:, 7] == -1).all() and (dist2[5:, 7] == 1e10).all()
    with pytest.raises(mluop_omp.MluOpError, match="nsample is 101, expected 1 to 100"):
        ops.knn_query_cuda(9, 101, xyz, centers, OFFSET, NEW_OFFSET, idx, dist2)


def sorted_by_kernel(members):
    """Sorts pairs of square and index as if they were a heap, which they are not."""
    for size in range(len(members) - 1, 0, -1):
        members[0], members[size] = members[size], members[0]
        root, child = 0, 1
        while child < size:
            child += child + 1 < size and members[child + 1][0] > members[child][0]
            if members[root][0] > members[child][0]:
                break
            members[root], members[child] = members[child], members[root]
            root, child = child, 2 * child + 1
    return members


def ball_by_kernel(center, xyz, order, radii, nsample, is_random):
    members = []
    low, high = (f32(radius) * f32(radius) for radius in radii)
    for point in order:
        dx, dy, dz = (center - xyz[point]) ** 2
        if (d2 := dx + dy + dz) <= 1e-5 or low <= d2 < high:
            members.append((d2, point))
    if not is_random:
        members = sorted_by_kernel(members)
        if len(members) > nsample:
            step = f32(len(members)) / f32(nsample)
            members = [members[int(step * f32(i))] for i in range(nsample)]
    return (members + [(f32(1e10), -1)] * nsample)[:nsample]


@pytest.mark.parametrize("pairs", [1, 10**6])
@pytest.mark.parametrize("is_random", [False, True])
@pytest.mark.parametrize("radii", [(0.0, 0.7), (0.3, 0.6)])
def test_ball_query(ops, radii, is_random, pairs, monkeypatch):
    monkeypatch.setattr(mluop_omp.pointops, "_PAIRS", pairs)
    xyz, centers = clouds()
    idx, dist2 = results(9, 6)
    order = torch.cat((torch.randperm(20), torch.randperm(7) + 20)).int()
    tensors = xyz, centers, OFFSET, NEW_OFFSET, idx, dist2
    if is_random:
        ops.random_ball_query_cuda(9, 6, *radii, order, *tensors)
    else:
        ops.ball_query_cuda(9, 6, *radii, *tensors)
        order = torch.arange(27)
    counts = set()
    for row, center in enumerate(centers.numpy()):
        of_cloud = order[:20] if row < 5 else order[20:]
        arguments = center, xyz.numpy(), of_cloud.tolist(), radii, 6, is_random
        expected = ball_by_kernel(*arguments)
        assert list(zip(dist2[row].tolist(), idx[row].tolist())) == expected
        counts.add(sum(point >= 0 for _, point in expected))
    assert 6 in counts and min(counts) < 6


def selection(index, size):
    """Returns the matrix [*index.shape, size] of the rows that an index selects."""
    return torch.nn.functional.one_hot(index.long(), size).double()


def aggregated(t):
    rows = torch.einsum("nsm,mc->nsc", selection(t.idx, 8), t.input) + t.position
    return sum(
        torch.nn.functional.pad((rows[..., c] * t.weight[..., c % 2]).sum(1)[:, None], (c, 4 - c))
        for c in range(5)
    )


def related(t):
    target, refer = selection(t.index_target, 6), selection(t.index_refer, 7)
    return torch.einsum("mn,ngc,mk,kgc,c->mg", target, t.query, refer, t.key, t.weight)


def fused(t):
    target, refer = selection(t.index_target, 6), selection(t.index_refer, 6)
    return torch.einsum("mt,mg,mn,ngc->tgc", target, t.weight, refer, t.value)


PAIRS = {"index_target": integers(5, 1, 0, 0), "index_refer": integers(2, 0, 5, 2)}
IDX = {"idx": torch.randint(8, (6, 3), generator=torch.Generator().manual_seed(3)).int()}
# By function: its definition; shapes of its variables and its indices; numbers of sizes; tensors of
# forward and of backward, in their order.
FORMULAS = {
    "grouping": (
        lambda t: torch.einsum("msn,nc->msc", selection(t.idx, 8), t.input),
        {"input": (8, 5)},
        IDX,
        3,
        "input idx output",
        "grad_output idx grad_input",
    ),
    "interpolation": (
        lambda t: torch.einsum("nkm,mc,nk->nc", selection(t.idx, 8), t.input, t.weight),
        {"input": (8, 5), "weight": (6, 3)},
        IDX,
        3,
        "input idx weight output",
        "grad_output idx weight grad_input",
    ),
    "subtraction": (
        lambda t: t.input1[:, None] - torch.einsum("nsm,mc->nsc", selection(t.idx, 8), t.input2),
        {"input1": (6, 5), "input2": (8, 5)},
        IDX,
        3,
        "input1 input2 idx output",
        "idx grad_output grad_input1 grad_input2",
    ),
    "aggregation": (
        aggregated,
        {"input": (8, 5), "position": (6, 3, 5), "weight": (6, 3, 2)},
        IDX,
        4,
        "input position weight idx output",
        "input position weight idx grad_output grad_input grad_position grad_weight",
    ),
    "attention_relation_step": (
        related,
        {"query": (6, 2, 5), "key": (7, 2, 5), "weight": (5,)},
        PAIRS,
        3,
        "query key weight index_target index_refer output",
        "query grad_query key grad_key weight grad_weight index_target index_refer grad_output",
    ),
    "attention_fusion_step": (
        fused,
        {"weight": (4, 2), "value": (6, 2, 5)},
        PAIRS,
        3,
        "weight value index_target index_refer output",
        "weight grad_weight value grad_value index_target index_refer grad_output",
    ),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", FORMULAS)
def test_formulas(ops, name, dtype):
    definition, shapes, indices, sizes, forward, backward = FORMULAS[name]
    variables = {each: torch.randn(*shape).double() for each, shape in shapes.items()}
    if dtype is torch.float32:
        variables = {each: value.float().double() for each, value in variables.items()}
    leaves = {each: value.clone().requires_grad_() for each, value in variables.items()}
    expected = definition(SimpleNamespace(**leaves, **indices))
    grad_output = torch.ones_like(expected) + expected.detach().sign()
    grads = torch.autograd.grad(expected, tuple(leaves.values()), grad_output)
    # Outputs are written, whatever they hold.
    tensors = {each: value.to(dtype) for each, value in variables.items()} | indices
    tensors["output"] = torch.full(expected.shape, torch.nan, dtype=dtype)
    tensors["grad_output"] = grad_output.to(dtype)
    tensors |= {f"grad_{each}": torch.full_like(tensors[each], torch.nan) for each in shapes}
    tolerance = (
        {"rtol": 1e-5, "atol": 1e-5} if dtype is torch.float32 else {"rtol": 1e-12, "atol": 1e-12}
    )
    for direction, names in (("forward", forward), ("backward", backward)):
        call = getattr(ops, f"{name}_{direction}_cuda")
        call(*[0] * sizes, *(tensors[each] for each in names.split()))
    torch.testing.assert_close(tensors["output"].double(), expected.detach(), **tolerance)
    for each, grad in zip(shapes, grads):
        if f"grad_{each}" in backward:
            torch.testing.assert_close(tensors[f"grad_{each}"].double(), grad, **tolerance)


def test_arguments_are_checked(ops):
    features, idx = torch.ones(8, 5), IDX["idx"].clone()
    with pytest.raises(mluop_omp.MluOpError, match="output dim 2 is 4, expected 5"):
        ops.grouping_forward_cuda(6, 3, 5, features, idx, torch.zeros(6, 3, 4))
    idx[4, 1] = -1
    output = torch.full((6, 3, 5), 7.0)
    with pytest.raises(mluop_omp.MluOpError, match=r"idx\[4, 1\] is -1, expected 0 to 7"):
        ops.grouping_forward_cuda(6, 3, 5, features, idx, output)
    assert (output == 7).all()
    xyz, centers = clouds()
    for name, offset, expected in (
        ("offset", integers(20, 19, 27), "ascending numbers up to 27"),
        ("offset", integers(20, 20, 26), "ascending numbers up to 27"),
        ("offset", integers(20, 27, 28), "0 to 27"),
        ("new_offset", integers(5, 9), "3"),
        ("new_offset", torch.zeros(0).int(), "3"),
    ):
        offsets = {"offset": OFFSET, "new_offset": NEW_OFFSET, name: offset}
        with pytest.raises(mluop_omp.MluOpError, match=f"^{name}.*, expected {expected}"):
            ops.knn_query_cuda(9, 6, xyz, centers, *offsets.values(), *results(9, 6))
    with pytest.raises(mluop_omp.MluOpError, match="weight dim 2 is 0, expected at least 1"):
        tensors = torch.ones(6, 3, 5), torch.ones(6, 3, 0), IDX["idx"], torch.zeros(6, 5)
        ops.aggregation_forward_cuda(6, 3, 5, 0, features, *tensors)
    with pytest.raises(mluop_omp.MluOpError, match=r"pointops\._C is not built"):
        meta = (each.to("meta") for each in (features, idx, output))
        ops.grouping_forward_cuda(6, 3, 5, *meta)
