"""MinkowskiEngine.utils: collation, quantization, initialization."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from minkowski_lines import ME

from mluop_omp import MluOpError

utils = ME.utils


@pytest.mark.parametrize("container", [np.array, torch.tensor])
def test_batched_coordinates(container):
    scans = [container([[-0.5, 1.0], [2.9, -3.0]]), container([[7.0, 7.5]])]
    found = utils.batched_coordinates(scans)
    assert found.dtype == torch.int32
    assert found.tolist() == [[0, -1, 1], [0, 2, -3], [1, 7, 7]]
    found = utils.batched_coordinates(scans, dtype=torch.float32, device="cpu")
    assert found.dtype == torch.float32 and found[0].tolist() == [0, -0.5, 1]
    integers = [container([[-2, 16777219]]), container([[3, 4]])]
    assert utils.batched_coordinates(integers).tolist() == [[0, -2, 16777219], [1, 3, 4]]


def test_errors_of_batched_coordinates():
    with pytest.raises(MluOpError, match="dtype is torch.int64"):
        utils.batched_coordinates([torch.ones(1, 2)], dtype=torch.int64)
    with pytest.raises(MluOpError, match=r"shapes \[\[1, 2\], \[1, 3\]\]"):
        utils.batched_coordinates([torch.ones(1, 2), torch.ones(1, 3)])
    with pytest.raises(MluOpError, match=r"coords\[0\]\[0, 1\] is inf"):
        utils.batched_coordinates([torch.tensor([[0, torch.inf]])])
    with pytest.raises(MluOpError, match="coords has shapes"):
        utils.batched_coordinates([torch.ones(3)])


@pytest.mark.parametrize("container", [np.array, torch.tensor])
def test_collation(container):
    coords = [container([[-1.5, 2.0]]), container([[3.0, 4.0], [5.0, -6.5]])]
    feats = [container([[1.0]]), container([[2.0], [3.0]])]
    labels = [container([7]), container([8, 9])]
    expected = [[0, -2, 2], [1, 3, 4], [1, 5, -7]]
    sites, features = utils.sparse_collate(coords, feats)
    assert sites.tolist() == expected and features.flatten().tolist() == [1, 2, 3]
    sites, features, found = utils.sparse_collate(coords, feats, labels)
    assert found.tolist() == [7, 8, 9]
    assert utils.sparse_collate(coords, feats, ["a", "b"])[2] == ["a", "b"]
    assert utils.batch_sparse_collate(list(zip(coords, feats)))[0].tolist() == expected
    scans = list(zip(coords, feats, labels))
    assert utils.batch_sparse_collate(scans, dtype=torch.float32)[0][0].tolist() == [0, -1.5, 2]
    assert utils.SparseCollation()(scans)[2].tolist() == [7, 8, 9]
    assert utils.SparseCollation(limit_numpoints=2)(scans)[0].tolist() == expected[:1]
    assert utils.SparseCollation(limit_numpoints=3)(scans)[0].tolist() == expected
    with pytest.raises(MluOpError, match="the first element has 2 points"):
        utils.SparseCollation(limit_numpoints=1)(scans[1:])
    with pytest.raises(MluOpError, match="coords and feats have 3 and 1 rows"):
        utils.sparse_collate(coords, feats[:1])


POINTS = [[5.2, 5.0, -3.1], [5.9, 5.4, -3.9], [7.0, 5.0, -3.5], [-0.1, 0.0, 2.0]]
VOXELS = [[5, 5, -4], [7, 5, -4], [-1, 0, 2]]


@pytest.mark.parametrize("container", [np.array, torch.tensor])
def test_quantization(container):
    points = container(POINTS)
    features = container([[1.0], [2.0], [3.0], [4.0]])
    assert utils.sparse_quantize(points).tolist() == VOXELS
    assert isinstance(utils.sparse_quantize(points), torch.Tensor)
    found, kept = utils.sparse_quantize(points, features)
    assert found.tolist() == VOXELS and kept.tolist() == [[1], [3], [4]]
    assert type(kept) is type(features)
    _, _, index, inverse = utils.sparse_quantize(
        points, features, return_index=True, return_inverse=True
    )
    assert index.tolist() == [0, 2, 3] and inverse.tolist() == [0, 0, 1, 2]
    only = {"return_maps_only": True}
    assert utils.sparse_quantize(points, **only).tolist() == [0, 2, 3]
    maps = utils.sparse_quantize(points, return_index=True, return_inverse=True, **only)
    assert maps[1].tolist() == [0, 0, 1, 2]
    assert all(isinstance(each, torch.Tensor) for each in (index, inverse, *maps))


@pytest.mark.parametrize("container", [np.array, torch.tensor])
@pytest.mark.parametrize(
    "size", [2, 2.0, [2, 2, 2], np.array([2.0, 2, 2]), torch.tensor([2, 2, 2])]
)
def test_sizes_of_voxels(container, size):
    found = utils.sparse_quantize(container(POINTS), quantization_size=size)
    assert found.tolist() == [[2, 2, -2], [3, 2, -2], [-1, 0, 1]]
    integers = container([[16777219, -3], [16777218, -4]])
    size = 2 if np.ndim(size) == 0 else [2, 2]
    found = utils.sparse_quantize(integers, quantization_size=size)
    assert found.tolist() == [[8388609, -2]]
    found = utils.sparse_quantize(integers, quantization_size=0.5)
    assert found.tolist() == [[33554438, -6], [33554436, -8]]


@pytest.mark.parametrize("container", [np.array, torch.tensor])
def test_conflicting_labels(container):
    points = container([[-1, 0], [-1, 0], [4, 4], [4, 4], [9, 9]])
    labels = container([1, 1, 2, 3, 5])
    found, kept = utils.sparse_quantize(points, labels=labels)
    assert found.tolist() == [[-1, 0], [4, 4], [9, 9]] and kept.tolist() == [1, -100, 5]
    assert type(found) is type(kept) is type(points)
    results = utils.sparse_quantize(
        points, points * 2, labels, ignore_label=255, return_index=True, return_inverse=True
    )
    assert [each.tolist() for each in results] == [
        [[-1, 0], [4, 4], [9, 9]],
        [[-2, 0], [8, 8], [18, 18]],
        [1, 255, 5],
        [0, 2, 4],
        [0, 0, 1, 1, 2],
    ]
    assert all(type(each) is type(points) for each in results)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64, np.float64])
def test_types_of_labels(dtype):
    points = np.array([[-1, 0], [-1, 0]])
    _, kept = utils.sparse_quantize(points, labels=np.array([1, 2], dtype))
    assert kept.tolist() == [-100]
    assert kept.dtype == (np.int64 if dtype is np.int64 else np.int32)
    labels = torch.from_numpy(np.array([1, 2], dtype))
    _, kept = utils.sparse_quantize(torch.from_numpy(points), labels=labels)
    assert kept.tolist() == [-100] and kept.dtype == torch.int64


def test_errors_of_quantization():
    points = torch.tensor(POINTS)
    for message, named in (
        ("features has 1 rows, expected 4", {"features": points[:1]}),
        ("labels has 2 rows, expected 4", {"labels": torch.ones(2)}),
        ("labels has numbers that are not integers", {"labels": torch.full((4,), 0.5)}),
        (r"labels has shape \[4, 1\]", {"labels": torch.ones(4, 1, dtype=torch.int32)}),
        ("ignore_label is 2147483648", {"labels": torch.ones(4).int(), "ignore_label": 2**31}),
        ("return_index is False", {"return_inverse": True}),
        ("expected positive numbers", {"quantization_size": 0}),
        ("expected a number or 3 of them", {"quantization_size": [1, 2]}),
    ):
        with pytest.raises(MluOpError, match=message):
            utils.sparse_quantize(points, **named)
    with pytest.raises(MluOpError, match=r"coordinates\[0, 0\] is nan"):
        utils.sparse_quantize(torch.tensor([[torch.nan]]))
    with pytest.raises(MluOpError, match=r"coordinates has shape \[4\]"):
        utils.sparse_quantize(points[:, 0])


def test_arrays_of_any_layout():
    points = np.array(POINTS)[::-1]
    assert utils.sparse_quantize(points).tolist() == VOXELS[::-1]
    points = np.array(POINTS)
    points.flags.writeable = False
    assert utils.sparse_quantize(points[:, :2]).tolist() == [[5, 5], [7, 5], [-1, 0]]


@pytest.mark.parametrize("container", [np.array, torch.tensor])
def test_maps_of_integers(container):
    from MinkowskiEngine.utils import quantization

    points = container([[-1, 0], [3, 4], [-1, 0]])
    first, inverse = quantization.quantize(points)
    assert first.tolist() == [0, 1] and inverse.tolist() == [0, 1, 0]
    assert type(first) is type(points)
    first, inverse, labels = quantization.quantize_label(points, container([1, 2, 3]), -1)
    assert labels.tolist() == [-1, 2] and type(labels) is type(points)


def test_unique_coordinate_map():
    from MinkowskiEngine.utils.quantization import unique_coordinate_map

    sites = torch.tensor([[0, -1, 2], [0, -1, 2], [1, -1, 2]], dtype=torch.int32)
    first, inverse = unique_coordinate_map(sites, 2)
    assert first.tolist() == [0, 2] and inverse.tolist() == [0, 0, 1]
    with pytest.raises(MluOpError, match="tensor_stride"):
        unique_coordinate_map(sites, [2])
    with pytest.raises(MluOpError, match="coordinates has shape"):
        unique_coordinate_map(sites[0])


def test_hashes():
    from MinkowskiEngine.utils.quantization import fnv_hash_vec, ravel_hash_vec

    rows = np.array([[-1, 5], [3, 4], [-1, 4]])
    assert ravel_hash_vec(rows).tolist() == [1, 8, 0]
    hashes = fnv_hash_vec(rows)
    assert hashes.dtype == np.uint64 and len(set(hashes.tolist())) == 3
    first = 14695981039346656037 * 1099511628211 % 2**64 ^ 3
    assert hashes[1] == first * 1099511628211 % 2**64 ^ 4


@pytest.mark.parametrize(
    ("shape", "mode", "fan"),
    [
        ((27, 16, 32), "fan_in", 27 * 16),
        ((27, 16, 32), "fan_out", 27 * 32),
        # A matrix is taken for a linear layer's, as in MinkowskiEngine.
        ((256, 64), "fan_in", 64),
        ((256, 64), "FAN_OUT", 256),
    ],
)
def test_kaiming_normal(shape, mode, fan):
    torch.manual_seed(0)
    kernel = torch.nn.Parameter(torch.empty(shape))
    assert utils.kaiming_normal_(kernel, mode=mode, nonlinearity="relu") is kernel
    torch.manual_seed(0)
    assert torch.equal(kernel, torch.empty(shape).normal_(0, math.sqrt(2 / fan)))


def test_errors_of_kaiming_normal():
    with pytest.raises(ValueError, match="mode is 'fan'"):
        utils.kaiming_normal_(torch.empty(2, 3), mode="fan")
    with pytest.raises(MluOpError, match="tensor has 1 dimensions"):
        utils.kaiming_normal_(torch.empty(2))


@pytest.mark.parametrize("size", [0.05, (0.05, 0.05)])
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_sizes_keep_their_precision(size, dtype):
    """In float32, 0.05 is greater, and 1 / 0.05 less than 20."""
    points = np.array([[1, -1], [2, -3]], dtype)
    for each in (points, torch.from_numpy(points)):
        found = utils.sparse_quantize(each, quantization_size=size)
        assert found.tolist() == [[20, -20], [40, -60]]
