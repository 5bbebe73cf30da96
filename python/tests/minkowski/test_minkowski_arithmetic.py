"""Pruning, unions and arithmetic."""

from __future__ import annotations

import warnings

import pytest
import torch
from minkowski_lines import ME, line, rows, values

from mluop_omp import MluOpError


@pytest.mark.parametrize("D", [1, 2, 3, 4])
def test_pruning_keeps_the_order(D):
    sites = torch.tensor([[0, *[c] * D] for c in (5, -6, 2, -5, 0)], dtype=torch.int32)
    features = torch.arange(5.0, dtype=torch.float64).view(-1, 1).requires_grad_()
    x = ME.SparseTensor(features, sites, tensor_stride=3)
    mask = torch.tensor([True, False, True, True, False])
    y = ME.MinkowskiPruning()(x, mask)
    assert torch.equal(y.C, x.C[mask]) and torch.equal(y.F, x.F[mask])
    assert y.coordinate_map_key.get_key() == ([3] * D, "pruned")
    again = ME.MinkowskiPruning()(y, torch.tensor([False, True, True]))
    stride, string_id = again.coordinate_map_key.get_key()
    assert string_id.startswith("pruned-") and len(string_id) == 12
    assert [site[1] for site in again.C.tolist()] == [2, -5]
    (again.F * 2).sum().backward()
    assert features.grad.flatten().tolist() == [0, 0, 2, 2, 0]


def test_pruning_all_sites():
    x = line({-1: 1, 2: 2})
    with pytest.warns(UserWarning, match="mask is False for all sites"):
        y = ME.MinkowskiPruning()(x, torch.zeros(2, dtype=torch.bool))
    assert y.shape == (0, 1) and y.C.shape == (0, 2)
    assert ME.MinkowskiSumPooling(2, 2, dimension=1)(y).shape == (0, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(ME.MinkowskiPruning()(y, torch.zeros(0, dtype=torch.bool))) == 0


def test_masks():
    x = line({-1: 1, 2: 2})
    assert values(ME.MinkowskiPruning()(x, torch.tensor([0, 1], dtype=torch.uint8))) == {2: 2}
    for mask in (torch.tensor([True]), torch.tensor([1.0, 0.0])):
        with pytest.raises(MluOpError, match="mask has dtype"):
            ME.MinkowskiPruning()(x, mask)
    with pytest.raises(MluOpError, match="input is a Tensor"):
        ME.MinkowskiPruning()(x.F, mask)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda a, b: a + b, [1, 12, 20]),
        (lambda a, b: a - b, [1, -8, -20]),
        (lambda a, b: a * b, [1, 20, 0]),
        (lambda a, b: a / b, [1, 0.2, 0]),
    ],
)
def test_operators_of_different_sites(function, expected):
    a = line({0: 1, -1: 2})
    b = line({-1: 10, 2: 20}, stride=4, like=a)
    result = function(a, b)
    # Sites that only a has keep its features.
    assert values(result) == pytest.approx(dict(zip((0, -1, 2), expected)))
    stride, string_id = result.coordinate_map_key.get_key()
    assert stride == [1] and string_id.startswith("merge-") and len(string_id) == 11
    assert function(a, b).coordinate_map_key != result.coordinate_map_key


def test_gradients_of_operators_of_different_sites():
    a = line({0: 1, -1: 2})
    b = line({-1: 10, 2: 20}, like=a)

    def product(x, y):
        return (a._with(x) * b._with(y)).F + (a._with(x) + b._with(y)).F ** 2

    inputs = [each.F.clone().requires_grad_() for each in (a, b)]
    assert torch.autograd.gradcheck(product, inputs)
    assert torch.autograd.gradgradcheck(product, inputs)


def test_operators_of_equal_sites_numbers_and_features():
    a = line({-1: 1, 2: 2})
    b = a._with(a.F * 10)
    assert values(a + b) == {-1: 11, 2: 22} and values(a - b) == {-1: -9, 2: -18}
    assert values(a * b) == {-1: 10, 2: 40} and values(b / a) == {-1: 10, 2: 10}
    assert (a + b).coordinate_map_key == a.coordinate_map_key
    assert values(a + 1) == values(1 + a) == {-1: 2, 2: 3}
    assert values(1 - a) == {-1: 0, 2: -1} and values(a * 2.5) == values(2.5 * a)
    assert values(4 / a) == {-1: 4, 2: 2} and values(a**2) == {-1: 1, 2: 4}
    assert values(-a) == {-1: -1, 2: -2}
    scale = torch.tensor([[2.0], [3.0]])
    assert values(a * scale) == values(scale * a) == {-1: 2, 2: 6}
    assert values(torch.tensor(2.0).numpy()[()] * a) == {-1: 2, 2: 4}
    a += b
    a -= 1
    a *= scale
    a /= 2
    assert values(a) == {-1: 10, 2: 31.5}
    with pytest.raises(TypeError):
        a + "1"
    with pytest.raises(TypeError):
        a += object()


def test_operators_refuse_other_managers_and_keys():
    a, other = line({-1: 1}), line({-1: 1})
    with pytest.raises(MluOpError, match="different coordinate managers"):
        a + other
    with pytest.raises(MluOpError, match="different coordinate managers"):
        ME.cat(a, other)
    b = line({2: 1}, like=a)
    with pytest.raises(MluOpError, match="different coordinate map keys"):
        a += b
    with pytest.raises(MluOpError, match="different coordinate map keys"):
        ME.cat(a, b)
    wide = ME.SparseTensor(torch.ones(1, 2), rows([3]), coordinate_manager=a.coordinate_manager)
    with pytest.raises(MluOpError, match="1 and 2 channels"):
        a + wide


def test_functions_of_several_tensors():
    a = line({-1: 1, 2: 2})
    b, c = a._with(a.F * 3), a._with(a.F * 5)
    assert ME.cat(a, b, c).F.tolist() == [[1, 3, 5], [2, 6, 10]] == ME.cat([a, b, c]).F.tolist()
    assert ME.sum(a, b, c).F.tolist() == [[9], [18]]
    assert ME.mean((a, b, c)).F.tolist() == [[3], [6]]
    assert ME.var(a, b, c).F.flatten().tolist() == pytest.approx([8 / 3, 32 / 3])
    assert ME.cat(a, b).coordinate_map_key == a.coordinate_map_key
    with pytest.raises(MluOpError, match="found 1 tensors"):
        ME.cat([a])
    with pytest.raises(ValueError, match="SparseTensor, Tensor, expected all of"):
        ME.cat(a, a.F)
    double = torch.nn.Sequential()
    for stack, expected in (
        (ME.MinkowskiStackCat, [[1, 1], [2, 2]]),
        (ME.MinkowskiStackSum, [[2], [4]]),
        (ME.MinkowskiStackMean, [[1], [2]]),
        (ME.MinkowskiStackVar, [[0], [0]]),
    ):
        assert stack(double, double)(a).F.tolist() == expected


@pytest.mark.parametrize("D", [1, 2, 3, 4])
def test_union(D):
    generator = torch.Generator().manual_seed(D)
    manager = ME.CoordinateManager(D=D)

    def random(count):
        sites = torch.randint(-2, 2, (count, 1 + D), generator=generator).int()
        features = torch.randn(count, 2, generator=generator).double()
        return ME.SparseTensor(features, sites, coordinate_manager=manager)

    tensors = [random(count) for count in (12, 9, 15)]
    features = [each.F.requires_grad_() for each in tensors]
    result = ME.MinkowskiUnion()(*tensors)
    expected: dict[tuple[int, ...], torch.Tensor] = {}
    for each in tensors:
        for site, row in zip(each.C.tolist(), each.F):
            expected[tuple(site)] = expected.get(tuple(site), 0) + row
    assert result.C.tolist() == [list(site) for site in expected]
    assert torch.equal(result.F, torch.stack(list(expected.values())))
    weights = torch.randn(result.F.shape, generator=generator).double()
    found = torch.autograd.grad((result.F * weights).sum(), features)
    at = {tuple(site): row for site, row in zip(result.C.tolist(), weights)}
    for gradient, each in zip(found, tensors):
        assert torch.equal(gradient, torch.stack([at[tuple(site)] for site in each.C.tolist()]))


def test_unions_of_different_types():
    a = line({0: 1, -1: 2}).float()
    b = line({-1: 10, 2: 20}, like=a)
    expected = {0: 1, -1: 12, 2: 20}
    for result in (ME.MinkowskiUnion()(a, b), a + b):
        assert result.dtype == torch.float64 and values(result) == expected


def test_union_map():
    a = line({0: 1, -1: 2}, stride=4)
    b = line({-1: 10, 2: 20}, stride=2, like=a)
    manager, key = a.coordinate_manager, ME.CoordinateMapKey(2)
    keys = [a.coordinate_map_key, b.coordinate_map_key]
    maps = manager.union_map(keys, key)
    assert [each.tolist() for each in maps] == [[[0, 1], [0, 1]], [[0, 1], [1, 2]]]
    assert all(each.dtype == torch.int64 for each in maps)
    assert key.get_tensor_stride() == [2] and manager.size(key) == 3
    with pytest.raises(MluOpError, match="expected a key that is not set"):
        manager.union_map(keys, key)
    with pytest.raises(MluOpError, match="in_keys has 1 keys"):
        manager.union_map(keys[:1], ME.CoordinateMapKey(2))
    with pytest.raises(ValueError, match="TensorField, SparseTensor, expected all of SparseTensor"):
        ME.MinkowskiUnion()(ME.TensorField(a.F, a.C.float()), b)
