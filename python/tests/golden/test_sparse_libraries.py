"""compare, record, replay and check on the tensors of MinkowskiEngine and torchsparse.

The stand-ins have the attributes of the tensors that the libraries return on a GPU.
"""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest
import torch
from torch import nn

from mluop_omp import Run, SparseSites, check, compare, compare_runs, record, replay
from mluop_omp.filters import convert_filters
from mluop_omp.golden.comparison._values import sparse_sites
from mluop_omp.minkowski import _modules as minkowski
from mluop_omp.torchsparse import _modules as torchsparse

LIMIT = 40  # Coordinates are -40 to 39.


class Manager:
    """Has the sites by key, as MinkowskiEngine's coordinate manager."""

    def __init__(self):
        self.sites = {}


class MinkowskiTensor:
    """MinkowskiEngine.SparseTensor: the sites are in the manager; `coordinates` copies them."""

    def __init__(self, features, coordinates=None, manager=None):
        self._F, self._C, self.coordinate_manager = features, None, manager or Manager()
        if coordinates is not None:
            self.coordinate_manager.sites["1"] = coordinates

    F = features = property(lambda self: self._F)

    @property
    def coordinates(self):
        if self._C is None:
            self._C = self.coordinate_manager.sites["1"].clone()
        return self._C

    C = coordinates


class TensorField(MinkowskiTensor):
    """MinkowskiEngine.TensorField: the coordinates are floating-point numbers."""


class Torchsparse14:
    """torchsparse.SparseTensor 1.4 and 2.0: the batch is the last column."""

    def __init__(self, feats, coords):
        self.feats, self.coords, self.stride = feats, coords, (1, 1, 1)
        self.cmaps, self.kmaps = {(1, 1, 1): coords}, {}

    F, C = property(lambda self: self.feats), property(lambda self: self.coords)


class Torchsparse21:
    """torchsparse.SparseTensor 2.1: the batch is the first column."""

    def __init__(self, feats, coords):
        self.feats, self.coords, self.stride, self.spatial_range = feats, coords, (1, 1, 1), None
        self._caches = types.SimpleNamespace(cmaps={}, kmaps={}, hashmaps={})

    F, C = property(lambda self: self.feats), property(lambda self: self.coords)


class PointTensor:
    """torchsparse.PointTensor."""

    def __init__(self, feats, coords):
        self.F, self.C = feats, coords
        self.idx_query, self.weights, self.additional_features = {}, {}, {}


def last(sites):
    """Returns sites with the batch in the last column."""
    return sites[:, [1, 2, 3, 0]]


# By name, what makes a tensor of features and sites with the batch first.
KINDS = {
    "MinkowskiEngine": MinkowskiTensor,
    "torchsparse 1.4": lambda feats, sites: Torchsparse14(feats, last(sites)),
    "torchsparse 2.1": Torchsparse21,
}
POINTS = {
    "TensorField": TensorField,
    "PointTensor": lambda feats, sites: PointTensor(feats, last(sites)),
}


def sites_of(count=300, seed=0):
    """Returns features and distinct sites of two batches, also negative ones."""
    random = np.random.default_rng(seed)
    linear = random.permutation(2 * (2 * LIMIT) ** 3)[:count]
    sites = np.stack(np.unravel_index(linear, (2, *3 * [2 * LIMIT])), 1) - [0, *3 * [LIMIT]]
    features = torch.from_numpy(random.standard_normal((count, 6)).astype(np.float32))
    return features, torch.from_numpy(sites.astype(np.int32))


def points_of(count=300):
    features, sites = sites_of(count)
    moved = sites.float()
    moved[:, 1:] += torch.rand(count, 3, generator=torch.Generator().manual_seed(1))
    return features, moved


def order_of(count, seed=3):
    return torch.from_numpy(np.random.default_rng(seed).permutation(count))


@pytest.mark.parametrize("found", KINDS)
@pytest.mark.parametrize("expected", [*KINDS, "sites"])
def test_rows_are_joined_by_coordinate(found, expected):
    features, sites = sites_of()
    order = order_of(len(features))
    right = {**KINDS, "sites": SparseSites}[expected](features, sites)
    assert compare(KINDS[found](features[order], sites[order]), right)
    wrong = features.clone()
    wrong[7, 4] += 1
    result = compare(KINDS[found](wrong[order], sites[order]), right)
    (worst,) = result.worst
    assert worst.index == (7, 4) and worst.site == tuple(sites[7].tolist())
    result = compare(KINDS[found](features[1:], sites[1:]), right)
    assert result.sites.only_expected == 1
    assert result.sites.examples["only_expected"] == [tuple(sites[0].tolist())]


@pytest.mark.parametrize("kind", POINTS)
def test_points_are_joined_by_exact_coordinates(kind):
    features, points = points_of()
    points[5, 2], points[6, 3] = 0.0, float("nan")
    order = order_of(len(features))
    right = POINTS[kind](features, points)
    moved = points[order].clone()
    moved[moved == 0] = -0.0  # equals 0
    moved[:, 0] = points[order, 0]
    assert compare(POINTS[kind](features[order], moved), right)
    wrong = features.clone()
    wrong[9, 1] -= 1
    result = compare({"x": POINTS[kind](wrong[order], moved)}, {"x": right})
    assert not result and f"{points[9, 1].item()!r}"[:6] in str(result)
    moved = points.clone()
    moved[:, 1:] += 1
    result = compare(POINTS[kind](features, moved), right)
    assert result.sites.common <= 1 and result.sites.mapping is None


def test_points_are_drawn_at_their_cells(tmp_path):
    features, points = points_of()
    wrong = features.clone()
    wrong[:50, 2] += 1
    points[3, 1] = float("inf")
    result = compare(TensorField(wrong, points), TensorField(features, points))
    assert len(result.worst) == 5 and not result
    result.html(tmp_path / "page.html")
    assert "from above" in (tmp_path / "page.html").read_text()


def test_points_and_a_dense_tensor_are_refused():
    features, points = points_of(4)
    with pytest.raises(ValueError, match="found is dense, and the coordinates of expected are not"):
        compare(torch.zeros(2, 6, 9, 9, 9), TensorField(features, points))


@pytest.mark.parametrize(
    ("version", "is_last"), [("1.4.0", True), ("2.0.0", True), ("2.1.0", False), (None, True)]
)
def test_a_point_tensor_has_the_columns_of_its_library(monkeypatch, version, is_last):
    library = (
        types.SimpleNamespace() if version is None else types.SimpleNamespace(__version__=version)
    )
    monkeypatch.setitem(sys.modules, "torchsparse", library)
    features, points = points_of()
    order = order_of(len(features))
    columns = last(points) if is_last else points
    assert compare(PointTensor(features[order], columns[order]), TensorField(features, points))


@pytest.mark.parametrize("columns", [(0, 1, 2), (0, 1, 2, 2), (1, 2, 3, 4)])
def test_invalid_columns_are_refused(columns):
    with pytest.raises(ValueError, match="expected each of the 4 columns once"):
        compare(SparseSites(*sites_of(), columns=columns), SparseSites(*sites_of()))


class Layer(nn.Module):
    """Takes and returns a tensor of a library; the rows keep their order."""

    def __init__(self, channels):
        super().__init__()
        self.linear = nn.Linear(*channels)

    def forward(self, x):
        features = self.linear(x.F)
        if isinstance(x, MinkowskiTensor):
            return type(x)(features, manager=x.coordinate_manager)
        return type(x)(features, x.C)


class Network(nn.Sequential):
    def __init__(self):
        torch.manual_seed(0)
        super().__init__(Layer((6, 8)), Layer((8, 5)), Layer((5, 3)))


def spoil(model, name):
    """Adds 1 to a channel of a module's output."""

    def change(_, __, output):
        with torch.no_grad():
            output.F[11, 2] += 1

    model.get_submodule(name).register_forward_hook(change)
    return model


@pytest.mark.parametrize("found", [*KINDS, *POINTS])
def test_runs_are_joined_by_coordinate(found, tmp_path):
    parts, kinds = (points_of(), POINTS) if found in POINTS else (sites_of(), KINDS)
    order = order_of(len(parts[0]))
    expected = next(name for name in kinds if name != found)
    record(Network(), kinds[expected](*parts), tmp_path / "expected.npz")
    moved = kinds[found](*(each[order] for each in parts))
    record(Network(), moved, tmp_path / "found.npz")
    assert compare_runs(tmp_path / "found.npz", tmp_path / "expected.npz")
    record(spoil(Network(), "1"), moved, tmp_path / "wrong.npz")
    result = compare_runs(tmp_path / "wrong.npz", tmp_path / "expected.npz")
    assert result.first.call.module == "1"
    (worst,) = result.first.outputs[""].worst
    assert worst.site == tuple(parts[1][order[11]].tolist())
    with Run(tmp_path / "found.npz") as run:
        sites = run.value(run.calls[0].inputs["0"])
        assert np.array_equal(sites.indices, parts[1][order])


@pytest.mark.parametrize("found", [*KINDS, *POINTS])
def test_samples_have_the_same_sites(found, tmp_path):
    parts, kinds = (points_of(3000), POINTS) if found in POINTS else (sites_of(3000), KINDS)
    order = order_of(len(parts[0]))
    record(Network(), kinds[found](*parts), tmp_path / "a.npz", max_bytes=60_000)
    moved = kinds[found](*(each[order] for each in parts))
    record(Network(), moved, tmp_path / "b.npz", max_bytes=40_000)
    assert (tmp_path / "b.npz").stat().st_size <= 40_000
    result = compare_runs(tmp_path / "b.npz", tmp_path / "a.npz")
    assert result and "sample" in str(result)
    # A site outside of the sample.
    other = parts[1][order].clone()
    other[:, 1:] += torch.ones(1).to(other.dtype) * (torch.arange(3000) == 5)[:, None]
    record(Network(), kinds[found](parts[0][order], other), tmp_path / "c.npz", max_bytes=40_000)
    assert not compare_runs(tmp_path / "c.npz", tmp_path / "a.npz")


@pytest.mark.parametrize("kind", [*KINDS, *POINTS])
def test_replay_keeps_the_rows_of_the_library(kind, tmp_path):
    """The library's maps refer to rows: recorded features move to the rows of their sites."""
    parts, kinds = (points_of(), POINTS) if kind in POINTS else (sites_of(), KINDS)
    order = order_of(len(parts[0]))
    record(Network(), kinds[kind](*(each[order] for each in parts)), tmp_path / "run.npz")
    model, inputs = Network(), kinds[kind](*parts)
    given = []
    model[1].register_forward_pre_hook(lambda _, args: given.append(args[0]))
    assert replay(model, tmp_path / "run.npz", inputs)
    assert torch.equal(given[0].C, inputs.C)
    result = replay(spoil(Network(), "1"), tmp_path / "run.npz", inputs)
    assert not result and "1" in str(result)
    others = parts[1] + torch.ones(1).to(parts[1].dtype)
    assert not replay(Network(), tmp_path / "run.npz", kinds[kind](parts[0], others))


def random_tensors(kind, count=90):
    """Returns a tensor of this library's MinkowskiEngine, or of a version of torchsparse."""
    generator = torch.Generator().manual_seed(5)
    sites = torch.randint(-4, 4, (count, 4), generator=generator).int()
    sites[:, 0] = torch.arange(count) % 2
    sites = sites.unique(dim=0)
    features = torch.randn(len(sites), 6, generator=generator)
    if kind == "MinkowskiEngine":
        return minkowski.names()["SparseTensor"](features, sites)
    if kind == "2.1":
        sites[:, 1:] += 4
    sites = last(sites) if kind == "1.4" else sites
    return torchsparse.namespaces(kind)[""]["SparseTensor"](features, sites)


def device_layer(kind, name, *arguments, spoil=None, **named):
    """Returns a layer as a device has it: its rows are in another order."""
    names = minkowski.names() if kind == "MinkowskiEngine" else torchsparse.namespaces(kind)["nn"]
    base = names[name]

    def forward(self, *inputs):
        output = base.forward(self, *inputs)
        order, features = order_of(len(output.F)), output.F.clone()
        if spoil is not None:
            spoil(features)
        members = {"F": features[order], "C": output.C[order]}
        if kind == "MinkowskiEngine":
            members.update(tensor_stride=output.tensor_stride, coordinate_manager=None)
        else:
            members.update(
                stride=output.stride, **{"1.4": {"cmaps": {}}}.get(kind, {"_caches": {}})
            )
        return types.SimpleNamespace(**members)

    library = "MinkowskiConvolution" if kind == "MinkowskiEngine" else "torchsparse.nn.modules.conv"
    torch.manual_seed(2)
    return type(name, (base,), {"forward": forward, "__module__": library})(*arguments, **named)


def minkowski_layers():
    size, region = {"dimension": 3}, minkowski.names()["RegionType"].HYPER_CROSS
    generator = minkowski.names()["KernelGenerator"]
    yield "MinkowskiConvolution", (6, 5, 3), {"bias": True, **size}
    yield "MinkowskiConvolution", (6, 5, 1), size
    yield "MinkowskiConvolution", (6, 5, 1, 2), size
    yield "MinkowskiConvolution", (6, 5, (2, 3, 4), 2, 2), size
    cross = generator(kernel_size=3, region_type=region, dimension=3)
    yield "MinkowskiConvolution", (6, 5), {"kernel_generator": cross, **size}
    yield "MinkowskiGenerativeConvolutionTranspose", (6, 5, 3, 2), size
    yield "MinkowskiSumPooling", (3, 2), size
    yield "MinkowskiAvgPooling", (2, 2), size
    yield "MinkowskiMaxPooling", (3, 3), size


def layers():
    yield from (("MinkowskiEngine", *each) for each in minkowski_layers())
    for version in ("1.4", "2.1"):
        for arguments in ((6, 5, 3), (6, 5, 1), (6, 5, 2, 2), (6, 5, (3, 2, 3), (1, 2, 2))):
            yield version, "Conv3d", arguments, {"bias": True}


def fine_input(kind, name, x):
    """Transposed layers go from stride 2 to 1."""
    if name != "MinkowskiGenerativeConvolutionTranspose":
        return x
    down = minkowski.names()["MinkowskiConvolution"](6, 6, 2, 2, dimension=3)
    return down(x)


@pytest.fixture
def libraries(monkeypatch):
    """The libraries are imported, as a network does."""
    for name in ("MinkowskiEngine", "torchsparse"):
        module = types.ModuleType(name)
        module.__version__ = "1.4.0"
        monkeypatch.setitem(sys.modules, name, module)


@pytest.mark.parametrize(
    ("kind", "name", "arguments", "named"),
    [pytest.param(*each, id=" ".join(map(str, each[:3]))) for each in layers()],
)
def test_layers_are_checked_at_the_sites_of_the_device(libraries, kind, name, arguments, named):
    x = fine_input(kind, name, random_tensors(kind))
    with torch.no_grad(), check() as report:
        device_layer(kind, name, *arguments, **named)(x)
    (call,) = report.calls
    assert report and call.verdict == "equal" and call.operator == name, str(report)

    def spoil(features):
        features[3, 1] += 0.5

    with torch.no_grad(), check() as report:
        output = device_layer(kind, name, *arguments, spoil=spoil, **named)(x)
    (call,) = report.failures
    (worst,) = call.differences["output"].worst
    site = sparse_sites(output).batch_first()[worst.index[0]].tolist()
    assert worst.index[1] == 1
    assert f"row {worst.index[0]} is the site {tuple(site)}" in str(report)
    assert output.F[worst.index] - worst.expected == pytest.approx(0.5, abs=1e-4)


def test_layers_that_return_to_finer_sites_are_checked(libraries):
    x = random_tensors("MinkowskiEngine")
    coarse = minkowski.names()["MinkowskiConvolution"](6, 6, 2, 2, dimension=3)(x)
    for name in ("MinkowskiConvolutionTranspose", "MinkowskiPoolingTranspose"):
        channels = (6, 5) if "Convolution" in name else ()
        with torch.no_grad(), check() as report:
            device_layer("MinkowskiEngine", name, *channels, 2, 2, dimension=3)(coarse)
        assert report and len(report.calls) == 1, str(report)
    for version in ("1.4", "2.1"):
        x = random_tensors(version)
        nn_of = torchsparse.namespaces(version)["nn"]
        coarse = nn_of["Conv3d"](6, 6, 2, 2)(nn_of["Conv3d"](6, 6, 3)(x))
        with torch.no_grad(), check() as report:
            device_layer(version, "Conv3d", 6, 5, 2, 2, transposed=True)(coarse)
        assert report and len(report.calls) == 1, str(report)


def test_a_maximum_without_an_input_is_open(libraries):
    """MinkowskiEngine's is the lowest number."""
    x = random_tensors("MinkowskiEngine")

    def empty(features):
        features[features == 0] = -3.4e38

    with torch.no_grad(), check() as report:
        layer = "MinkowskiMaxPooling", 1, 2
        output = device_layer("MinkowskiEngine", *layer, spoil=empty, dimension=3)(x)
    assert report and (output.F < -1e38).any() and (output.F > -1e38).any()


def test_layers_without_a_rule_are_not_checked(libraries):
    x = random_tensors("MinkowskiEngine")
    pool = minkowski.names()["MinkowskiGlobalSumPooling"]()
    layer = device_layer("MinkowskiEngine", "MinkowskiConvolution", 6, 6, 3, dimension=3)
    with check() as report:
        layer(pool(x))
        layer.kernel_generator.region_type = types.SimpleNamespace(name="CUSTOM")
        with pytest.raises(Exception, match="CUSTOM"):
            layer(x)
    assert not report and "the tensor stride is [0, 0, 0], expected at least 1" in str(report)


def test_own_layers_and_selections(libraries):
    x = random_tensors("MinkowskiEngine")
    own = minkowski.names()["MinkowskiConvolution"](6, 6, 3, dimension=3)
    layer = device_layer("MinkowskiEngine", "MinkowskiConvolution", 6, 6, 3, dimension=3)
    with check(nn.Sequential(own, layer), operators="Minkowski*") as report:
        own(x)
        layer(x)
    assert report.own_calls == 1 and len(report.calls) == 1
    assert report.calls[0].module == "1 (MinkowskiConvolution)"
    with pytest.raises(ValueError, match="MinkowskiMaxPooling"), check(operators="no_such"):
        pass
    custom = x.coordinate_manager.insert_and_map(x.C[:9], [2, 2, 2], "other")[0]
    with check(operators="MinkowskiConvolution") as report:
        layer(x, custom)
    assert report, str(report)


class UNet(nn.Module):
    """Layers of this library's MinkowskiEngine, with shared keys."""

    def __init__(self):
        super().__init__()
        names, size = minkowski.names(), {"dimension": 3}
        torch.manual_seed(4)
        self.first = names["MinkowskiConvolution"](6, 8, 3, **size)
        self.norm = names["MinkowskiBatchNorm"](8)
        self.down = names["MinkowskiConvolution"](8, 8, 2, 2, **size)
        self.up = names["MinkowskiConvolutionTranspose"](8, 8, 2, 2, **size)
        self.cat = names["cat"]

    def forward(self, x):
        x = self.norm(self.first(x))
        return self.cat(self.up(self.down(x)), x)


def test_networks_of_this_library_are_joined(tmp_path):
    x = random_tensors("MinkowskiEngine")
    order = order_of(len(x.F))
    moved = minkowski.names()["SparseTensor"](x.F[order], x.C[order])
    assert compare(moved, x) and compare(moved, SparseSites(x.F, x.C))
    field = minkowski.names()["TensorField"](x.F, x.C.float() + 0.25)
    points = torchsparse.namespaces("1.4")[""]["PointTensor"](x.F[order], last(field.C[order]))
    assert compare(points, field)
    for version, columns in (("1.4", (3, 0, 1, 2)), ("2.1", None)):
        other = random_tensors(version)
        assert compare(other, SparseSites(other.F, other.C, columns=columns))
    model = UNet().eval()
    record(model, moved, tmp_path / "a.npz")
    record(model, x, tmp_path / "b.npz")
    assert compare_runs(tmp_path / "a.npz", tmp_path / "b.npz")
    assert replay(model, tmp_path / "a.npz", x)
    with torch.no_grad():
        model.down.kernel[:, :, 2] *= 1.5
    result = replay(model, tmp_path / "a.npz", x)
    assert [each.label.split()[0] for each in result.suspects] == ["down"]


def dense_convolution(features, sites, filters, lowest):
    """Convolves with filters [Co, Ci, Z, Y, X], whose first offsets are lowest, at the sites."""
    low = sites[:, 1:].min(0).values
    places = (sites[:, 1:] - low).long()
    grid = torch.zeros(2, features.shape[1], *(places.max(0).values + 1).tolist())
    grid[sites[:, 0].long(), :, places[:, 0], places[:, 1], places[:, 2]] = features
    filters = filters.permute(0, 1, 4, 3, 2)  # x, y, z, as the grid
    pads = [(-low, size + low - 1) for size, low in zip(filters.shape[2:], lowest)]
    grid = nn.functional.pad(grid, [each for pair in pads[::-1] for each in pair])
    dense = nn.functional.conv3d(grid, filters)
    return dense[sites[:, 0].long(), :, places[:, 0], places[:, 1], places[:, 2]]


@pytest.mark.parametrize("kind", ["MinkowskiEngine", "1.4", "2.1"])
@pytest.mark.parametrize("size", [(1, 1, 1), (3, 1, 5), (2, 2, 2), (2, 1, 3), (4, 3, 2)])
def test_converted_filters_are_the_weights_of_the_layers(kind, size):
    x = random_tensors(kind)
    if kind == "MinkowskiEngine":
        layer = minkowski.names()["MinkowskiConvolution"](6, 5, size, dimension=3)
        lowest = [-(k // 2) if k % 2 else 0 for k in size]
    else:
        layer = torchsparse.namespaces(kind)["nn"]["Conv3d"](6, 5, size)
        is_last = kind == "1.4" or all(k % 2 for k in size)
        lowest = [-((k - 1) // 2) if is_last else 0 for k in size]
    layout = "minkowski" if kind == "MinkowskiEngine" else "torchsparse"
    kernel = layer.kernel.detach()
    assert kernel.dim() == (2 if size == (1, 1, 1) else 3)
    filters = convert_filters(kernel, layout, "torch", kernel_size=size)
    assert filters.shape == (5, 6, *size[::-1])
    assert torch.equal(convert_filters(filters, "torch", layout), kernel)
    sites = x.C[:, [3, 0, 1, 2]] if kind == "1.4" else x.C
    with torch.no_grad():
        torch.testing.assert_close(layer(x).F, dense_convolution(x.F, sites, filters, lowest))
