"""TensorField: points to voxels and back, interpolation and its transpose."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from minkowski_lines import ME

from mluop_omp import MluOpError

Mode = ME.SparseTensorQuantizationMode


def field(points, **named):
    """Returns a field of one batch and channel from values by coordinate or tuple."""
    sites = [(0, *(each if isinstance(each, tuple) else (each,))) for each in points]
    features = torch.tensor(list(points.values()), dtype=torch.float64).view(-1, 1)
    return ME.TensorField(features, torch.tensor(sites, dtype=torch.float64), **named)


def column(tensor):
    return tensor.F.flatten().tolist()


def random_field(D, count=40, channels=2):
    """Returns points of both signs in three batches, the middle one without a point."""
    generator = torch.Generator().manual_seed(D)
    points = torch.rand(count, 1 + D, generator=generator).double() * 6 - 3
    points[:, 0] = torch.randint(0, 2, (count,), generator=generator) * 2
    features = torch.randn(count, channels, generator=generator).double().requires_grad_()
    return ME.TensorField(features, points)


POINTS = {-0.2: -1, -0.9: -2, 0.5: -3, 3.7: 4}


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (Mode.UNWEIGHTED_AVERAGE, [-1.5, -3, 4]),
        (Mode.UNWEIGHTED_SUM, [-3, -3, 4]),
        (Mode.RANDOM_SUBSAMPLE, [-1, -3, 4]),
        (Mode.MAX_POOL, [-1, -3, 4]),
    ],
)
def test_points_become_voxels(mode, expected):
    for x in (
        field(POINTS, quantization_mode=mode).sparse(),
        field(POINTS).sparse(quantization_mode=mode),
    ):
        assert x.C.tolist() == [[0, -1], [0, 0], [0, 3]]
        assert column(x) == expected and x.tensor_stride == [1]
    coarse = field(POINTS, quantization_mode=mode).sparse(tensor_stride=2)
    assert coarse.C.tolist() == [[0, -2], [0, 0], [0, 2]] and column(coarse) == expected


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (Mode.UNWEIGHTED_AVERAGE, [0.5, 0.5, 2, 3]),
        (Mode.UNWEIGHTED_SUM, [1, 1, 2, 3]),
        (Mode.RANDOM_SUBSAMPLE, [1, 0, 2, 3]),
        (Mode.MAX_POOL, [1, 0, 2, 3]),
    ],
)
def test_gradients_of_voxels(mode, expected):
    x = field(POINTS, requires_grad=True)
    (x.sparse(quantization_mode=mode).F * torch.tensor([[1.0], [2], [3]])).sum().backward()
    assert x.F.grad.flatten().tolist() == expected


@pytest.mark.parametrize("mode", [Mode.NO_QUANTIZATION, Mode.SPLAT_LINEAR_INTERPOLATION, 1])
def test_modes_of_a_field(mode):
    with pytest.raises(MluOpError, match="quantization_mode is"):
        field(POINTS, quantization_mode=mode)
    with pytest.raises(MluOpError, match="quantization_mode is"):
        field(POINTS).sparse(quantization_mode=mode)


def test_voxels_of_a_given_key():
    x = field(POINTS)
    sites = torch.tensor([[0, 8], [0, -2], [0, 2]], dtype=torch.int32)
    key, _ = x.coordinate_manager.insert_and_map(sites, 2)
    for mode, expected in (
        (Mode.UNWEIGHTED_AVERAGE, [0, -1.5, 4]),
        (Mode.UNWEIGHTED_SUM, [0, -3, 4]),
        (Mode.RANDOM_SUBSAMPLE, [0, -1, 4]),
        (Mode.MAX_POOL, [0, -1, 4]),
    ):
        found = x.sparse(coordinate_map_key=key, quantization_mode=mode)
        assert found.coordinate_map_key == key and column(found) == expected
    manager, own = x.coordinate_manager, x.coordinate_field_map_key
    rows, points = manager.field_to_sparse_map(own, key)
    assert rows.tolist() == [1, 1, 2] and points.tolist() == [0, 1, 3]
    first, inverse = manager.get_field_to_sparse_map(own, key)
    assert first.tolist() == [-1, 0, 3] and inverse.tolist() == [1, 1, -1, 2]
    with pytest.raises(MluOpError, match=r"the point \[0.0, 0.5\] \(row 2\) is in no site"):
        x.inverse_mapping(key)


def test_attributes():
    x = field({(-1.5, 2.0): 1, (0.25, -7.0): 2}, tensor_stride=2)
    assert x.D == x.dimension == 2 and len(x) == 2 and x.tensor_stride == [2, 2]
    assert x.C is x.coordinates and x.C.dtype == torch.float64
    assert x.coordinate_key is x.coordinate_field_map_key
    assert x.coordinate_field_map_key.get_key() == ([2, 2], "")
    other = ME.TensorField(x.F, x.C, 2, coordinate_manager=x.coordinate_manager)
    assert len(other.coordinate_field_map_key.get_key()[1]) == 5
    like = ME.TensorField(
        x.F * 2,
        coordinate_field_map_key=x.coordinate_field_map_key,
        coordinate_manager=x.coordinate_manager,
    )
    assert torch.equal(like.C, x.C) and column(x + like) == [3, 6]
    assert column(x * 2 - 1) == [1, 3] and column(ME.sum(x, like)) == [3, 6]
    assert ME.cat(x, like).shape == (2, 2)
    like += x
    assert column(like) == [3, 6] and "coordinates=" in repr(like)
    with pytest.raises(MluOpError, match="points have no union"):
        x + other
    with pytest.raises(MluOpError, match="different coordinate map keys"):
        ME.cat(x, other)
    with pytest.raises(TypeError):
        x + x.sparse()


def test_points_of_other_types():
    """Integers and float64 keep their precision; half points are float32."""
    exact = torch.tensor([[0, 16777219], [0, -16777219]])
    x = ME.TensorField(torch.ones(2, 1), exact)
    assert x.sparse().C.tolist() == exact.tolist()
    assert x.sparse(2).C[:, 1].tolist() == [16777218, -16777220]
    half = ME.TensorField(torch.ones(1, 1), torch.tensor([[0, -1.5]]).half())
    assert half.coordinate_manager.get_coordinate_field(half.coordinate_key).dtype == torch.float32
    assert half.sparse().C.tolist() == [[0, -2]]
    near = ME.TensorField(
        torch.ones(1, 1), torch.tensor([[0.9999, 2 - 1e-12]], dtype=torch.float64)
    )
    assert near.sparse().C.tolist() == [[1, 1]]
    with pytest.raises(MluOpError, match=r"coordinates\[0, 1\] is nan"):
        ME.TensorField(torch.ones(1, 1), torch.tensor([[0, torch.nan]]))


def test_arguments_of_a_field():
    x = field(POINTS)
    with pytest.raises(ValueError, match="coordinate_field_map_key and coordinate_manager"):
        ME.TensorField(x.F)
    with pytest.raises(MluOpError, match="3 rows, expected 4"):
        ME.TensorField(x.F[:3], x.C)
    key = {"coordinate_field_map_key": x.coordinate_key, "device": "cpu"}
    with pytest.raises(MluOpError, match="3 rows, expected 4"):
        ME.TensorField(x.F[:3], coordinate_manager=x.coordinate_manager, **key)
    with pytest.raises(MluOpError, match="is not a field of this manager"):
        ME.TensorField(x.F, coordinate_manager=ME.CoordinateManager(D=1), **key)


@pytest.mark.parametrize("D", [1, 2, 3, 4])
def test_rows_by_batch(D):
    x = random_field(D)
    expected = [(x.C[:, 0] == batch).nonzero().flatten().tolist() for batch in range(3)]
    assert [each.tolist() for each in x.decomposition_permutations] == expected
    assert [len(each) for each in x.decomposed_features] == [len(each) for each in expected]
    assert torch.equal(x.decomposed_coordinates[2], x.C[expected[2], 1:])
    # Voxels of a field have the same batches.
    assert [len(each) > 0 for each in x.sparse().decomposed_features] == [True, False, True]


@pytest.mark.parametrize("D", [1, 2, 3, 4])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_voxels_and_slices(D, stride):
    x = random_field(D)
    sparse = x.sparse(tensor_stride=stride)
    voxels = (x.C[:, 1:] / stride).floor() * stride
    cells = [tuple(row) for row in torch.cat((x.C[:, :1], voxels), 1).int().tolist()]
    distinct = list(dict.fromkeys(cells))
    assert [tuple(row) for row in sparse.C.tolist()] == distinct
    index = torch.tensor([distinct.index(cell) for cell in cells])
    assert torch.equal(x.inverse_mapping(sparse.coordinate_map_key), index)
    means = torch.stack([x.F[index == row].mean(0) for row in range(len(distinct))])
    assert torch.allclose(sparse.F, means, rtol=1e-12)
    points = sparse.slice(x)
    assert isinstance(points, ME.TensorField) and torch.equal(points.F, sparse.F[index])
    assert points.coordinate_field_map_key == x.coordinate_field_map_key
    joined = sparse.cat_slice(x)
    assert torch.equal(joined.F, torch.cat((sparse.F[index], x.F), 1))
    inputs = [x.F.detach().requires_grad_()]
    assert torch.autograd.gradcheck(lambda f: x._with(f).sparse(stride).slice(x).F, inputs)


def test_slices_of_a_strided_tensor():
    x = field({0: 0, 1: 1, 2: 2, 3: 3, 8: 4, 9: 5})
    pooled = ME.MinkowskiAvgPooling(2, 2, dimension=1)(x.sparse())
    assert column(pooled.slice(x)) == [0.5, 0.5, 2.5, 2.5, 4.5, 4.5]
    assert column(pooled.cat_slice(x)) == [0.5, 0, 0.5, 1, 2.5, 2, 2.5, 3, 4.5, 4, 4.5, 5]
    total = ME.MinkowskiGlobalSumPooling()(x.sparse())
    assert column(total.slice(x)) == [15] * 6
    # Voxels in another order than the strided sites.
    x = field({9: 5, -3: 1, -4: 2, 8: 3})
    pooled = ME.MinkowskiAvgPooling(2, 2, dimension=1)(x.sparse())
    assert pooled.C[:, 1].tolist() == [-4, 8]
    assert column(pooled.slice(x)) == [4, 1.5, 1.5, 4]


def test_slices_of_a_tensor_of_another_manager():
    x = field({9.5: 5, -3.5: 1, -4: 2})
    sites = torch.tensor([[0, 8], [0, -4]], dtype=torch.int32)
    other = ME.SparseTensor(torch.tensor([[1.0], [2]]), sites, tensor_stride=2)
    assert column(other.slice(x)) == [1, 2, 2]
    other = ME.SparseTensor(torch.tensor([[1.0], [2]]), sites)
    with pytest.raises(MluOpError, match=r"the point \[0.0, 9.5\] \(row 0\) is in no site"):
        other.slice(x)


def test_slices_of_tensors_made_from_coordinates():
    sites = torch.tensor([[0, 2], [0, -1], [0, 2]], dtype=torch.int32)
    x = ME.SparseTensor(torch.tensor([[1.0], [2], [3]]), sites)
    y = x._with(x.F * 10)
    assert column(y.slice(x)) == [10, 20, 10] and y.slice(x).C.tolist() == sites.tolist()
    assert y.cat_slice(x).F.tolist() == [[10, 1], [20, 2], [10, 1]]
    other = ME.SparseTensor(x.F, x.C, coordinate_manager=x.coordinate_manager)
    with pytest.raises(MluOpError, match="the tensors have different keys"):
        other.slice(x)
    total = ME.SparseTensor(x.F, x.C, quantization_mode=Mode.UNWEIGHTED_SUM)
    with pytest.raises(MluOpError, match="quantization_mode is SparseTensorQuantizationMode.UNW"):
        total.slice(total)
    with pytest.raises(MluOpError, match="X has .* no rows of coordinates"):
        y.slice(y._with(y.F))
    with pytest.raises(MluOpError, match="X is a Tensor, expected a TensorField"):
        y.slice(y.F)


def test_maps_of_a_field():
    x = field(POINTS)
    manager, own = x.coordinate_manager, x.coordinate_field_map_key
    assert manager.field_to_sparse_keys(own) == []
    key, (first, inverse) = manager.field_to_sparse_insert_and_map(own, 1)
    assert first.tolist() == [0, 2, 3] and inverse.tolist() == [0, 0, 1, 2]
    assert manager.exists_field_to_sparse(own, key) and manager.field_to_sparse_keys(own) == [key]
    again, _ = manager.field_to_sparse_insert_and_map(own, [1], "name")
    assert again.get_key() == ([1], "name")
    strided = manager.stride(key, 2)
    assert not manager.exists_field_to_sparse(own, strided)
    with pytest.raises(MluOpError, match="has no map to"):
        manager.get_field_to_sparse_map(own, strided)
    assert x.inverse_mapping(strided).tolist() == [0, 0, 1, 2]
    batches, by_number = manager.origin_field_map(own)
    assert batches.tolist() == [0] and by_number[0].tolist() == [0, 1, 2, 3]


# Interpolation.


def square():
    features = torch.tensor([[1.0], [3], [10]], dtype=torch.float64)
    sites = torch.tensor([[0, 0, 0], [0, 2, 0], [0, 0, 2]], dtype=torch.int32)
    return ME.SparseTensor(features, sites, tensor_stride=2)


def test_missing_corners_count_zero():
    x = square()
    points = torch.tensor([[0, 1, 0], [0, 1, 1], [0, -1, 0], [0, 2, 2], [1, 0, 0]]).double()
    assert x.features_at_coordinates(points).flatten().tolist() == [2, 3.5, 0.5, 0, 0]
    assert x.features_at_coordinates(points.float()).dtype == torch.float64
    layer = ME.MinkowskiInterpolation(return_kernel_map=True, return_weights=True)
    found, (rows, samples), weights = layer(x, points)
    assert torch.equal(found, x.features_at_coordinates(points))
    sums = torch.zeros(5, 1).double()
    sums.index_add_(0, samples, weights.unsqueeze(1) * x.F[rows])
    assert torch.equal(sums, found)
    assert torch.equal(ME.MinkowskiInterpolation()(x, points), found)
    (found, weights) = ME.MinkowskiInterpolation(return_weights=True)(x, points)
    assert len(weights) == len(rows)
    with pytest.raises(MluOpError, match=r"has shape \[5, 2\]"):
        x.features_at_coordinates(points[:, :2])


@pytest.mark.parametrize("D", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_interpolation(D, dtype):
    generator = torch.Generator().manual_seed(D)
    sites = torch.randint(-2, 3, (30, 1 + D), generator=generator).int() * 2
    sites[:, 0] = torch.randint(0, 2, (30,), generator=generator)
    x = ME.SparseTensor(torch.randn(30, 3, generator=generator).to(dtype), sites, 2)
    points = torch.rand(20, 1 + D, generator=generator) * 10 - 5
    points[:, 0] = torch.randint(0, 2, (20,), generator=generator)
    at = {tuple(site): row for site, row in zip(x.C.tolist(), x.F.double())}
    expected = torch.zeros(20, 3).double()
    for n, (batch, *point) in enumerate(points.tolist()):
        for bits in itertools.product((0, 1), repeat=D):
            corner = [(math.floor(p / 2) + bit) * 2 for p, bit in zip(point, bits)]
            weight = math.prod(1 - abs(p - c) / 2 for p, c in zip(point, corner))
            expected[n] += weight * at.get((int(batch), *corner), 0)
    found = x.features_at_coordinates(points)
    assert found.dtype == dtype
    tolerance = {torch.float32: 1e-5, torch.float64: 1e-6, torch.float16: 2e-3}[dtype]
    assert torch.allclose(found.double(), expected, atol=tolerance, rtol=tolerance)


def test_the_gradient_of_an_interpolation():
    x = square()
    points = torch.tensor([[0, 1, 0], [0, 1.25, 1], [0, -1, 0.5]]).double().requires_grad_()
    features = x.F.clone().requires_grad_()

    def interpolate(f):
        return x._with(f).features_at_coordinates(points)

    assert torch.autograd.gradcheck(interpolate, features)
    assert torch.autograd.gradgradcheck(lambda f: interpolate(f) ** 2, features)
    interpolate(features).sum().backward()
    assert points.grad is None


def test_splat_and_back():
    x = field({0.25: 4, 1.5: 8})
    sparse = x.splat()
    assert sparse.C.tolist() == [[0, 0], [0, 1], [0, 2]] and column(sparse) == [3, 5, 4]
    assert column(sparse.interpolate(x)) == [3.5, 4.5]
    assert sparse.interpolate(x).coordinate_field_map_key == x.coordinate_field_map_key


@pytest.mark.parametrize("D", [1, 2, 3, 4])
def test_splat_is_the_transpose_of_interpolation(D):
    x = random_field(D, count=12)
    sparse = x.splat()
    assert torch.allclose(sparse.F.sum(0), x.F.sum(0))
    weights = torch.randn_like(sparse.F)
    (gradient,) = torch.autograd.grad((sparse.F * weights).sum(), x.F)
    back = sparse._with(weights).interpolate(x)
    assert torch.allclose(gradient, back.F)
