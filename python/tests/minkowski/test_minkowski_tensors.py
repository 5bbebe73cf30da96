"""SparseTensor: repeated sites, attributes, rows by batch, arguments."""

from __future__ import annotations

import pytest
import torch
from minkowski_lines import ME, line, rows, values

from mluop_omp import MluOpError

Mode = ME.SparseTensorQuantizationMode
REPEATED = rows([2, 1, 2, 1, 7])
FEATURES = torch.arange(1.0, 6).view(-1, 1)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (Mode.RANDOM_SUBSAMPLE, [1, 2, 5]),
        (Mode.UNWEIGHTED_AVERAGE, [2, 3, 5]),
        (Mode.UNWEIGHTED_SUM, [4, 6, 5]),
        (Mode.MAX_POOL, [3, 4, 5]),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_repeated_sites_become_one_row(mode, expected, dtype):
    x = ME.SparseTensor(FEATURES.to(dtype), REPEATED, quantization_mode=mode)
    assert x.C.tolist() == rows([2, 1, 7]).tolist()
    assert x.dtype == dtype and x.F.flatten().tolist() == expected
    assert x.unique_index.tolist() == [0, 1, 4]
    assert x.inverse_mapping.tolist() == [0, 1, 0, 1, 2]
    assert x.quantization_mode is mode


@pytest.mark.parametrize("mode", [Mode.NO_QUANTIZATION, Mode.SPLAT_LINEAR_INTERPOLATION])
def test_modes_that_reduce_nothing(mode):
    with pytest.raises(MluOpError, match=f"{mode.name}.*5 rows have 3 sites"):
        ME.SparseTensor(FEATURES, REPEATED, quantization_mode=mode)
    x = ME.SparseTensor(FEATURES[:2], REPEATED[:2], quantization_mode=mode)
    assert x.F.flatten().tolist() == [1, 2]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (Mode.RANDOM_SUBSAMPLE, [1, 2, 0, 0, 3]),
        (Mode.UNWEIGHTED_AVERAGE, [0.5, 1, 0.5, 1, 3]),
        (Mode.UNWEIGHTED_SUM, [1, 2, 1, 2, 3]),
        (Mode.MAX_POOL, [0, 0, 1, 2, 3]),
    ],
)
def test_gradients_of_repeated_sites(mode, expected):
    features = FEATURES.double().requires_grad_()
    x = ME.SparseTensor(features, REPEATED, quantization_mode=mode)
    (x.F * torch.tensor([[1.0], [2], [3]])).sum().backward()
    assert features.grad.flatten().tolist() == expected
    assert torch.autograd.gradgradcheck(
        lambda f: ME.SparseTensor(f, REPEATED, quantization_mode=mode).F ** 2, features
    )


@pytest.mark.parametrize("D", [1, 2, 3, 4])
def test_attributes(D):
    sites = torch.tensor([[1, *range(-2, D - 2)], [0, *range(5, 5 + D)]], dtype=torch.int32)
    x = ME.SparseTensor(torch.ones(2, 3), sites, tensor_stride=2)
    assert torch.equal(x.C, sites) and x.coordinates is x.C
    assert x.features is x.F and x.requires_grad is False
    assert x.D == x.dimension == D and x.tensor_stride == [2] * D
    assert x.coordinate_key is x.coordinate_map_key
    assert x.coordinate_manager is x._manager and x.coordinate_manager.D == D
    assert x.shape == x.size() == (2, 3) and len(x) == 2
    assert x.device.type == "cpu" and x.dtype == torch.float32
    assert x.double() is x and x.dtype == torch.float64
    assert x.half().dtype == torch.float16 and x.bfloat16().dtype == torch.bfloat16
    assert x.cpu().to(torch.float64).float().dtype == torch.float32
    x.requires_grad_()
    assert x.requires_grad and x.detach() is x and not x.requires_grad
    assert "coordinates=" in repr(x) and f"spatial dimension={D}" in repr(x)


def test_features_of_the_caller_are_not_changed():
    features = torch.ones(2, 1)
    x = ME.SparseTensor(features, rows([-1, 4]), requires_grad=False)
    x += x
    assert features.flatten().tolist() == [1, 1] and x.F.flatten().tolist() == [2, 2]
    y = ME.SparseTensor(features, rows([-1, 4]), requires_grad=True, device="cpu")
    assert y.requires_grad


def test_coordinates_that_are_not_int32_are_floored():
    with pytest.warns(UserWarning, match="torch.float64"):
        x = ME.SparseTensor(
            torch.ones(3, 1), torch.tensor([[0, -0.5], [0, 2.9], [1, -2.0]]).double()
        )
    assert x.C.tolist() == [[0, -1], [0, 2], [1, -2]]
    with pytest.warns(UserWarning, match="torch.int64"):
        x = ME.SparseTensor(torch.ones(1, 1), torch.tensor([[0, 16777219]]))
    assert x.C.tolist() == [[0, 16777219]]
    for bad in (torch.inf, torch.nan, 2.0**31):
        with pytest.warns(UserWarning), pytest.raises(MluOpError, match=r"coordinates\[0, 1\]"):
            ME.SparseTensor(torch.ones(1, 1), torch.tensor([[0, bad]]))
    with pytest.warns(UserWarning), pytest.raises(MluOpError, match=r"coordinates\[0, 1\]"):
        ME.SparseTensor(torch.ones(1, 1), torch.tensor([[0, 2**31]]))


def test_coordinates_need_not_be_multiples_of_the_stride():
    x = line({3: 1, 4: 2}, stride=2)
    assert values(x) == {3: 1, 4: 2}


def test_rows_by_batch():
    sites = torch.tensor([[3, -1], [0, 5], [3, 2], [0, 1], [0, -7]], dtype=torch.int32)
    x = ME.SparseTensor(torch.arange(5.0).view(-1, 1), sites)
    assert [each.tolist() for each in x.decomposition_permutations] == [[1, 3, 4], [], [], [0, 2]]
    assert [each.tolist() for each in x.decomposed_coordinates] == [
        [[5], [1], [-7]], [], [], [[-1], [2]]
    ]  # fmt: skip
    assert [len(each) for each in x.decomposed_features] == [3, 0, 0, 2]
    coordinates, features = x.decomposed_coordinates_and_features
    assert coordinates[0].tolist() == [[5], [1], [-7]] and features[3].tolist() == [[0], [2]]
    assert x.coordinates_at(3).tolist() == [[-1], [2]] and x.features_at(1).shape == (0, 1)
    assert x.coordinates_and_features_at(0)[1].tolist() == [[1], [3], [4]]
    # A batch without sites keeps its place.
    y = ME.MinkowskiPruning()(x, x.C[:, 0] == 0)
    assert [len(each) for each in y.decomposed_features] == [3, 0, 0, 0]


def test_arguments_of_a_tensor():
    x = line({-1: 1, 2: 2})
    key, manager = x.coordinate_map_key, x.coordinate_manager
    with pytest.raises(ValueError, match="either coordinates"):
        ME.SparseTensor(FEATURES)
    with pytest.raises(ValueError, match="either coordinates"):
        ME.SparseTensor(FEATURES, coordinate_map_key=key)
    for message, named in (
        ("found both coordinates", {"coordinates": REPEATED, "coordinate_map_key": key}),
        ("5 rows, expected 2", {"coordinate_map_key": key}),
        ("is not set", {"coordinate_map_key": ME.CoordinateMapKey(2)}),
        ("is not in this manager", {"coordinate_map_key": ME.CoordinateMapKey([9], "")}),
        ("5 rows, expected 3", {"coordinates": REPEATED[:3]}),
        ("is a str, expected a CoordinateManager", {"coordinates": REPEATED, "manager": "m"}),
        ("expected a SparseTensorQuantizationMode", {"coordinates": REPEATED, "mode": 1}),
        (r"has shape \[5, 3\], expected \[N, 2\]", {"coordinates": torch.zeros(5, 3).int()}),
    ):
        named = {"coordinate_manager": named.pop("manager", manager), **named}
        if "mode" in named:
            named["quantization_mode"] = named.pop("mode")
        with pytest.raises(MluOpError, match=message):
            ME.SparseTensor(FEATURES, **named)
    with pytest.raises(MluOpError, match=r"features is \[5\]"):
        ME.SparseTensor(FEATURES[:, 0], REPEATED)
    with pytest.raises(MluOpError, match="features is list"):
        ME.SparseTensor([1.0], REPEATED)
    with pytest.raises(MluOpError, match=r"coordinates is \[5\], expected a tensor \[N, 1 \+ D\]"):
        ME.SparseTensor(FEATURES, REPEATED[:, 0])
    with pytest.raises(MluOpError, match="coordinates is list"):
        ME.TensorField(FEATURES, [1])
