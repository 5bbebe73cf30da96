"""Functions of points and voxels: examples by hand, gradients, loops over points."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
import torch.nn.functional as torch_functional
from torchsparse_cases import dense, integers, sites

from mluop_omp import MluOpError

HASHES = {
    (0, 0, 0, 0): 947293587111810033,
    (1, 0, 0, 0): 948793285165995886,
    (0, 0, 1, 0): 946337011995455688,
    (0, 0, 0, 1): 947292487600181830,
    (-1, 0, 0, 0): 1063469984710930292,
}


def ints(*rows):
    return torch.tensor(rows, dtype=torch.int32)


def fnv(row):
    """FNV-1a over four words of 32 bits, the highest 4 bits of 64 folded."""
    value = 14695981039346656037
    for word in row:
        value = (value ^ (word % 2**32)) * 1099511628211 % 2**64
    return (value >> 60) ^ (value % 2**60)


def test_sphash(any_version):
    found = any_version.F.sphash(ints(*HASHES))
    assert found.dtype is torch.int64 and found.tolist() == list(HASHES.values())
    rows = torch.randint(-(2**31), 2**31 - 1, (50, 4), dtype=torch.int32)
    assert any_version.F.sphash(rows).tolist() == list(map(fnv, rows.tolist()))


def test_sphash_of_offsets(any_version):
    """Offsets are added to x, y and z, which follow the batch in version 2.1."""
    first = 1 if any_version.ts.SparseTensor._batch == 0 else 0
    rows, offsets = ints((5, -2, 3, 1), (-4, 0, 2, 7)), ints((0, 0, 0), (-1, 2, 9), (3, -3, 1))
    found = any_version.F.sphash(rows, offsets)
    assert found.shape == (3, 2)
    for k, i in itertools.product(range(3), range(2)):
        moved = rows[i].clone()
        moved[first : first + 3] += offsets[k]
        assert found[k, i] == fnv(moved.tolist())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((torch.zeros(2, 4),), "coords is torch.float32"),
        ((ints((0, 0, 0)),), r"coords is torch.int32 \[1, 3\]"),
        ((ints((0, 0, 0, 0)), ints((0, 0))), "offsets is torch.int32"),
    ],
)
def test_what_sphash_refuses(arguments, message, any_version):
    with pytest.raises(MluOpError, match=message):
        any_version.F.sphash(*arguments)


def test_sphashquery(any_version):
    """The first row of equal references."""
    references = torch.tensor([7, -3, 7, 2**60, -3])
    queries = torch.tensor([[7, 2**60, 1], [-3, 0, 2**62]])
    found = any_version.F.sphashquery(queries, references)
    assert found.dtype is torch.int64 and found.tolist() == [[0, 3, -1], [1, -1, -1]]
    assert any_version.F.sphashquery(queries.t(), references).tolist() == found.t().tolist()
    assert any_version.F.sphashquery(queries, references[:0]).tolist() == [[-1] * 3] * 2
    with pytest.raises(MluOpError, match="references has 2 dimensions"):
        any_version.F.sphashquery(queries, queries)


def test_spcount(any_version):
    found = any_version.F.spcount(ints(0, 2, -1, 0, -5), 4)
    assert found.dtype is torch.int32 and found.tolist() == [2, 0, 1, 0]
    assert any_version.F.spcount(ints(0, 2), torch.tensor(3)).tolist() == [1, 0, 1]
    with pytest.raises(MluOpError, match="expected 0 to 1"):
        any_version.F.spcount(ints(0, 2), 2)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_spvoxelize(dtype, any_version):
    feats = torch.tensor([[1.0], [3], [5], [9]], dtype=dtype, requires_grad=True)
    output = any_version.F.spvoxelize(feats, torch.tensor([0, 0, 1, -1]), ints(2, 1, 0))
    assert output.dtype is dtype and output.flatten().tolist() == [2, 5, 0]
    grad = torch.tensor([[4.0], [6], [8]], dtype=dtype)
    (found,) = torch.autograd.grad(output, feats, grad)
    assert found.dtype is dtype and found.flatten().tolist() == [2, 2, 6, 0]


def test_gradients_of_spvoxelize(any_version):
    feats = torch.randn(20, 3, dtype=torch.float64, requires_grad=True)
    index = torch.randint(-1, 5, (20,))
    counts = any_version.F.spcount(index.int(), 5)
    voxelize = any_version.F.spvoxelize
    assert torch.autograd.gradcheck(lambda x: voxelize(x, index, counts), feats)
    assert torch.autograd.gradgradcheck(lambda x: voxelize(x, index, counts).square(), feats)
    means = torch.stack([feats[index == voxel].sum(0) for voxel in range(5)])
    torch.testing.assert_close(voxelize(feats, index, counts), means / counts.clamp(min=1)[:, None])


@pytest.mark.parametrize("index", [torch.zeros(2, dtype=torch.int32), torch.full((3,), 5)])
def test_what_spvoxelize_refuses(index, any_version):
    with pytest.raises(MluOpError, match="coords"):
        any_version.F.spvoxelize(torch.ones(3, 2), index, ints(1, 1))


def weights_of(names, coords, index, **named):
    """calc_ti_weights as [N, 8] from [N, 8] in every version."""
    if names.ts.SparseTensor._batch == 0:
        return names.F.calc_ti_weights(coords, index, **named)
    return names.F.calc_ti_weights(coords, index.t().contiguous(), **named).t()


def test_two_points_between_three_voxels(any_version):
    points = torch.tensor([[0.25, 0, 0], [0.5, 0.5, 0]])
    # Corners 4 dx + 2 dy + dz of voxels (0, 0, 0), (1, 0, 0), (0, 1, 0).
    index = torch.full((2, 8), -1)
    index[:, 0], index[:, 4], index[:, 2] = 0, 1, 2
    weights = weights_of(any_version, points, index)
    third = 1 / 3
    expected = torch.zeros(2, 8)
    expected[0, 0], expected[0, 4] = 0.75, 0.25
    expected[1, [0, 2, 4]] = third
    torch.testing.assert_close(weights, expected)
    voxels = torch.tensor([[10.0], [20], [40]])
    output = any_version.F.spdevoxelize(voxels, index, weights.contiguous())
    torch.testing.assert_close(output.flatten(), torch.tensor([12.5, 70 / 3]))


@pytest.mark.parametrize("scale", [1, 2, 4])
def test_devoxelization_is_an_interpolation_of_the_voxels_that_there_are(scale, any_version):
    """grid_sample of the features, divided by grid_sample of the occupancy."""
    cells = sites(-3, 2, 80, 1) * torch.tensor([1, *(scale,) * 3])
    feats = integers(80, 2).requires_grad_()
    points = (torch.rand(50, 3).double() * 4 - 3) * scale
    low = torch.floor(points / scale).int() * scale
    last = torch.cat([low, torch.zeros(50, 1, dtype=torch.int32)], 1)
    functional, is_last = any_version.F, any_version.ts.SparseTensor._batch == 3
    order = [1, 2, 3, 0] if is_last else [0, 1, 2, 3]
    offsets = any_version.nn_utils.get_kernel_offsets(2, scale)
    hashes = functional.sphash(last if is_last else last[:, [3, 0, 1, 2]], offsets)
    index = functional.sphashquery(hashes, functional.sphash(cells[:, order].int())).t()
    weights = weights_of(any_version, points, index, scale=scale).contiguous()
    assert not weights.requires_grad
    output = functional.spdevoxelize(feats, index.contiguous(), weights)
    units = torch.div(cells, torch.tensor([1, *(scale,) * 3]), rounding_mode="floor")
    both = torch.cat([feats, torch.ones(80, 1)], 1)
    volume = dense(units, both, [-3] * 3, [6] * 3)
    grid = ((points / scale + 3) / 5 * 2 - 1).flip(1).view(1, 50, 1, 1, 3)
    sampled = torch_functional.grid_sample(volume, grid, align_corners=True)[0, :, :, 0, 0].t()
    expected = sampled[:, :2] / (sampled[:, 2:] + 1e-8)
    torch.testing.assert_close(output, expected)
    grad = integers(50, 2)
    results = [
        torch.autograd.grad(each, feats, grad, retain_graph=True) for each in (output, expected)
    ]
    torch.testing.assert_close(*results)


def test_gradients_of_spdevoxelize(any_version):
    feats = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    weights = torch.rand(9, 8, dtype=torch.float64)
    index = torch.randint(-1, 6, (9, 8))
    devoxelize = any_version.F.spdevoxelize
    assert torch.autograd.gradcheck(lambda x: devoxelize(x, index, weights), feats)
    grad = torch.randn(9, 3, dtype=torch.float64)
    (found,) = torch.autograd.grad(devoxelize(feats, index, weights), feats, grad)
    expected = torch.zeros(6, 3, dtype=torch.float64)
    for n, j in itertools.product(range(9), range(8)):
        if index[n, j] >= 0:
            expected[index[n, j]] += weights[n, j] * grad[n]
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(
    ("size", "stride", "dilation"), [(1, 1, 1), (2, 1, 1), (3, 2, 1), (4, 1, 2), ((2, 1, 3), 2, 3)]
)
def test_kernel_offsets(size, stride, dilation, any_version):
    """x varies fastest if the number of offsets is odd, else z."""
    found = any_version.nn_utils.get_kernel_offsets(size, stride, dilation, device="cpu")
    sizes = (size,) * 3 if isinstance(size, int) else size
    axes = [[(i - (k - 1) // 2) * stride * dilation for i in range(k)] for k in sizes]
    if math.prod(sizes) % 2:
        expected = [[x, y, z] for z, y, x in itertools.product(*reversed(axes))]
    else:
        expected = [list(each) for each in itertools.product(*axes)]
    assert found.dtype is torch.int32 and found.tolist() == expected


def test_spdownsample_of_1_4(batch_last):
    coords = ints((-3, 0, 0, 1), (-2, 0, 0, 1), (0, 0, 0, 0), (1, 0, 0, 0), (5, 0, 0, 0))
    found = batch_last.F.spdownsample(coords, 2, 2)
    assert found.tolist() == [[0, 0, 0, 0], [4, 0, 0, 0], [-4, 0, 0, 1], [-2, 0, 0, 1]]
    found = batch_last.F.spdownsample(coords * ints((2, 2, 2, 1)), (2, 1, 1), (3, 1, 1), 2)
    assert found.tolist() == [[x, 0, 0, b] for x, b in [(0, 0), (4, 0), (8, 0), (12, 0), (-4, 1)]]


def test_spdownsample_of_2_1(batch_first):
    coords = ints((0, 0, 0, 0), (0, 1, 0, 0), (0, 5, 0, 0))
    downsample = batch_first.F.spdownsample
    geometry = (2, 1, 1), (3, 1, 1)
    assert downsample(coords, *geometry)[:, 1].tolist() == [0]
    assert downsample(coords, *geometry, (1, 0, 0))[:, 1].tolist() == [0, 1, 2]
    assert downsample(coords, *geometry, (1, 0, 0), (1, 2, 1, 1))[:, 1].tolist() == [0, 1]
    assert downsample(coords, *geometry, 0, None, "minkowski")[:, 1].tolist() == [0, 2]
    assert downsample(coords, 2, 2)[:, 1].tolist() == [0, 2]
    with pytest.raises(MluOpError, match="downsample_mode"):
        downsample(coords, downsample_mode="other")


def test_kernel_maps(batch_last, batch_first):
    coords = ints((0, 0, 0, 0), (1, 0, 0, 0), (5, 0, 0, 0))
    nbmaps, nbsizes, *others = batch_last.F.build_kernel_map(coords, (3, 1, 1), 1)
    assert nbmaps.tolist() == [[0, 1], [0, 0], [1, 1], [2, 2], [1, 0]]
    assert nbsizes.tolist() == [1, 3, 1] and others == [None, None]
    nbmaps, nbsizes, outputs, *_ = batch_last.F.build_kernel_map(coords, 2, 2)
    assert outputs.tolist() == [[0, 0, 0, 0], [4, 0, 0, 0]]
    assert nbmaps.tolist() == [[0, 0], [1, 0], [2, 1]] and nbsizes.tolist() == [
        1,
        0,
        0,
        0,
        2,
        0,
        0,
        0,
    ]
    first = coords[:, [3, 0, 1, 2]]
    found = batch_first.F.build_kernel_map(first, 3, 2, 2, spatial_range=(1, 6, 2, 2))
    assert found["sizes"] == (3, 2) and found["coords"][:, 1].tolist() == [0, 2]
    assert found["spatial_range"] == (1, 3, 1, 1)
    generative = batch_first.F.build_kernel_map(
        first, 3, 2, 2, spatial_range=(1, 20, 2, 2), generative=True
    )
    assert generative["coords"][:, 1].tolist() == [0, 1, 2, 3, 9]


def test_hash_tables_of_2_1(batch_first):
    table = batch_first.backend.GPUHashTable(torch.zeros(8).long(), torch.zeros(8).int())
    with pytest.raises(MluOpError, match="lookup_coords without insert_coords"):
        table.lookup_coords(ints((0, 0, 0, 0)), 1, 1, 1)
    with pytest.raises(MluOpError, match="lookup_vals without insert_vals"):
        table.lookup_vals(torch.tensor([3]))
    table.insert_coords(ints((-1, 0, 0, 0), (2, 0, 1, 0), (2, 0, 1, 0), (2, 0, 1, 1)))
    queries = ints((2, 0, 0, 0), (-1, 0, 0, 0), (2, 0, 0, 0), (2, 0, 0, 1), (9, 9, 9, 0))
    size, ones = ints(2, 2, 2), ints(1, 1, 1)
    found = table.lookup_coords(queries, size, ones, 8)
    assert found.shape == (128, 8) and found.dtype is torch.int32 and not found[5:].any()
    # Corner (0, 0, 1) is offset 1.
    assert found[[0, 2], 1].tolist() == [2, 2] and found[1, 0] == 1 and found[3, 1] == 4
    assert (found != 0).sum() == 4
    odd = table.lookup_coords(ints((1, 0, 0, 0)), ints(1, 1, 3), ints(2, 1, 1), torch.tensor(3))
    assert odd[0].tolist() == [0, 0, 2]
    with pytest.raises(MluOpError, match="kernel_volume is 7, expected 8"):
        table.lookup_coords(queries, size, ones, 7)
    with pytest.raises(MluOpError, match="coords has shape"):
        table.insert_coords(ints((0, 0, 0)))
    values = batch_first.backend.GPUHashTable(64)
    values.insert_vals(torch.tensor([5, -7]))
    found = values.lookup_vals(torch.tensor([-7, 1, 5]))
    assert found.shape == (128,) and found[:3].tolist() == [2, 0, 1]
