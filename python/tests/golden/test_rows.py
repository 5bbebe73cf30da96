"""Rows in another order: voxels, points, rulebooks, and defects behind them."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="requires PyTorch")
from torch import nn  # noqa: E402

import mluop_omp.torch as mt  # noqa: E402
from mluop_omp import Run, compare_runs, recording  # noqa: E402

SPACE, BATCHES, POINTS, CHANNELS = (5, 16, 12), 2, 4, 6


class Voxelizer(nn.Module):
    """Returns voxels [M, P, 4], coordinates [M, 4] (batch, z, y, x) and numbers of points [M]."""

    def __init__(self, rows=None, points=False):
        super().__init__()
        self.rows, self.points = rows, points

    def forward(self, points):
        batch, rest = points[:, :1], points[:, 1:]
        cells = torch.cat((batch, rest[:, [2, 1, 0]].floor()), 1).int()
        coors, owner = cells.unique(dim=0, return_inverse=True)
        voxels = rest.new_zeros(len(coors), POINTS, rest.shape[1])
        count = torch.zeros(len(coors), dtype=torch.int32)
        for point, voxel in enumerate(owner.tolist()):
            if count[voxel] < POINTS:
                voxels[voxel, count[voxel]] = rest[point]
                count[voxel] += 1
        if self.points:
            for voxel, number in enumerate(count.tolist()):
                voxels[voxel, :number] = voxels[voxel, :number].flip(0)
        order = torch.arange(len(coors))
        if self.rows is not None:
            order = self.rows(len(coors))
        place = torch.empty_like(order)
        place[order] = torch.arange(len(order))
        return voxels[order], coors[order], count[order], place[owner]


class Layer(nn.Module):
    """As in PointPillars: a linear layer, a normalization of [M, C, P], the maximum of points."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(4, CHANNELS), nn.BatchNorm1d(CHANNELS)

    def forward(self, voxels):
        return self.norm(self.linear(voxels).transpose(1, 2).contiguous()).transpose(1, 2)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Layer()

    def forward(self, voxels, count):
        is_point = torch.arange(POINTS) < count[:, None]
        return (self.layer(voxels) * is_point[..., None]).amax(1)


class Scatter(nn.Module):
    def forward(self, features, coors):
        canvas = features.new_zeros(BATCHES, *SPACE[1:], features.shape[1])
        index = tuple(coors[:, [0, 2, 3]].long().T)
        return canvas.index_put(index, features, accumulate=True).permute(0, 3, 1, 2)


class PointFeatures(nn.Module):
    def forward(self, features, owner):
        return features[owner]


class Net(nn.Module):
    """An encoder of voxels, scattered to pillars, and sparse convolutions of the voxels."""

    def __init__(self):
        super().__init__()
        self.voxelize, self.encoder, self.scatter = Voxelizer(), Encoder(), Scatter()
        self.points = PointFeatures()
        self.first = mt.SubMConv3d(CHANNELS, 8, 3, indice_key="a")
        self.norm = nn.BatchNorm1d(8)
        self.second = mt.SparseConv3d(8, 6, 3, 2, 1)
        self.head = nn.Conv2d(CHANNELS, 3, 3)

    def forward(self, points):
        voxels, coors, count, owner = self.voxelize(points)
        features = self.encoder(voxels, count)
        x = self.first(mt.SparseTensor(features, coors, SPACE, BATCHES))
        x = self.second(x.replace_feature(self.norm(x.features)))
        return self.head(self.scatter(features, coors)), x, self.points(features, owner)


def cloud(count=400):
    rng = np.random.default_rng(3)
    points = rng.uniform(0, 1, (count, 5)) * [BATCHES, SPACE[2], SPACE[1], SPACE[0], 1]
    points[:, 0] = np.floor(points[:, 0])
    return torch.from_numpy(points).float()


def shuffled(count):
    return torch.randperm(count, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net().eval()


def run(net, path, points=None):
    with torch.no_grad(), recording(net, path):
        net(cloud() if points is None else points)
    return path


# The rows of the voxelizer, and whether points within voxels are in another order.
ORDERS = {
    "voxels": (shuffled, False),
    "points in voxels": (None, True),
    "both": (shuffled, True),
    "reversed": (lambda count: torch.arange(count).flip(0), False),
}


@pytest.mark.parametrize("name", list(ORDERS))
def test_voxels_in_another_order_agree(net, tmp_path, name):
    expected = run(net, tmp_path / "expected.npz")
    net.voxelize.rows, net.voxelize.points = ORDERS[name]
    result = compare_runs(run(net, tmp_path / "found.npz"), expected, rtol=1e-5, atol=1e-5)
    assert result.equal, str(result)
    text = str(result)
    assert ("joined by the coordinates of voxelize output 1" in text) == (
        ORDERS[name][0] is not None
    )
    assert ("joined by the points in voxels of" in text) == ORDERS[name][1]
    assert len(result.notes) == 1 + (name == "both")


def hooked(module, change):
    """Changes the output of a module, in place of a defective kernel."""
    module.register_forward_hook(lambda _, inputs, output: change(output))


def added(output, index, value=1.0):
    output = output.clone()
    output[index] += value
    return output


# A defect behind voxels in another order: the module, what it does, and what the report states.
DEFECTS = {
    "a channel": (
        "encoder",
        lambda out: added(out, (..., 2), 0.5),
        ["first difference: encoder ", "one channel: 2 of 6", "joined by the coordinates of vox"],
    ),
    "a site": (
        "encoder",
        lambda out: added(out, (10, 1)),
        ["first difference: encoder ", "{site} (1) "],
    ),
    "a point": (
        "encoder.layer.linear",
        lambda out: added(out, (10, 1)),
        ["first difference: encoder.layer.linear", "6 of 8520 elements", "the points in voxels"],
    ),
    "a sparse layer": (
        "first",
        lambda out: out.replace_feature(added(out.features, (10, 1))),
        ["first difference: first ", "{site} (1) "],
    ),
    "a normalization": (
        "norm",
        lambda out: added(out, (10, 1)),
        ["first difference: norm ", "{site} (1) "],
    ),
    "an index of a row": (
        "voxelize",
        lambda out: (*out[:3], added(out[3], 5, 1)),
        [
            "first difference: voxelize ",
            "output 3: differ: int64 [400], 1 of 400",
            "values are rows",
        ],
    ),
    "rows of a layer": (
        "norm",
        lambda out: out.flip(0),
        ["first difference: norm ", "are permuted"],
    ),
    "a voxel is lost": (
        "voxelize",
        lambda out: (*(each[1:] for each in out[:3]), (out[3] - 1).clamp(0)),
        [
            "first difference: voxelize ",
            "output 1: differ: 1 site only in expected; ",
            "only in expected: 1: {lost}",
        ],
    ),
    "a canvas": (
        "scatter",
        lambda out: added(out, (0, 3, 5, 5)),
        ["first difference: scatter ", "(0,3,5,5)"],
    ),
}


@pytest.mark.parametrize("name", list(DEFECTS))
def test_a_defect_behind_rows_in_another_order_is_found(net, tmp_path, name):
    expected = run(net, tmp_path / "expected.npz")
    module, change, texts = DEFECTS[name]
    net.voxelize.rows, net.voxelize.points = shuffled, True
    hooked(net.get_submodule(module), change)
    result = compare_runs(run(net, tmp_path / "found.npz"), expected)
    assert result.first is not None
    with Run(tmp_path / "expected.npz") as one:
        call = next(call for call in one.calls if call.module == "voxelize")
        sites = one.array(call.outputs["1"].tensor)
    site, lost = (
        f"({','.join(map(str, sites[shuffled(len(sites))[k]].tolist()))})" for k in (10, 0)
    )
    for text in texts:
        assert text.format(site=site, lost=lost) in str(result), str(result)
    result.html(tmp_path / "page.html")
    assert "cannot be read" not in (tmp_path / "page.html").read_text()


# What a voxelizer returns that must not agree: its outputs in other orders than each other.
INCONSISTENT = {
    "coordinates alone": lambda v, c, n, o: (v, c.flip(0), n, o),
    "voxels alone": lambda v, c, n, o: (v.flip(0), c, n, o),
    "all but the indices": lambda v, c, n, o: (v.flip(0), c.flip(0), n.flip(0), o),
    "two orders": lambda v, c, n, o: (v.flip(0), c.roll(1, 0), n.flip(0), o),
    "points of different voxels": lambda v, c, n, o: (v.flip(0).flip(1), c, n, o),
}


@pytest.mark.parametrize("name", list(INCONSISTENT))
def test_rows_that_other_tensors_contradict_differ(net, tmp_path, name):
    expected = run(net, tmp_path / "expected.npz")
    hooked(net.voxelize, lambda out: INCONSISTENT[name](*out))
    result = compare_runs(run(net, tmp_path / "found.npz"), expected)
    # Only what reads rows at the indices shows that these are wrong.
    first = "points" if name == "all but the indices" else "voxelize"
    assert f"first difference: {first} (" in str(result), str(result)


class Layers(nn.Sequential):
    """Layers whose rows nothing but their values orders."""

    def __init__(self):
        super().__init__(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 4))


@pytest.mark.parametrize("dims", [2, 3])
def test_arguments_of_the_model_agree_as_a_set_of_rows(tmp_path, dims):
    torch.manual_seed(0)
    net = Layers()
    rows = torch.randn(2, 60, 5) if dims == 3 else torch.randn(60, 5)
    expected = run(net, tmp_path / "expected.npz", rows)
    order = torch.stack([torch.randperm(60), torch.randperm(60)])
    moved = torch.stack([each[k] for each, k in zip(rows, order)]) if dims == 3 else rows[order[0]]
    found = run(net, tmp_path / "found.npz", moved)
    result = compare_runs(found, expected)
    assert result.equal and "by the values of 0 input 0 as a set of rows" in str(result)
    # A defect behind them, and layers that write right rows to wrong places.
    for module, change in [
        (net[0], lambda out: added(out, (..., 7, 3))),
        (net[2], lambda out: out.flip(-2)),
    ]:
        handle = module.register_forward_hook(lambda m, i, out, change=change: change(out))
        assert not compare_runs(run(net, tmp_path / "defect.npz", moved), expected)
        found = run(net, tmp_path / "defect.npz", rows)
        handle.remove()
        assert not compare_runs(found, expected).equal
    text = str(compare_runs(found, expected))
    assert "first difference: 2 (Linear)" in text


@pytest.mark.parametrize("columns", [(0, 3, 2, 1), (3, 2, 1, 0)])
def test_coordinates_of_runs_in_another_order_of_axes(tmp_path, columns):
    torch.manual_seed(0)
    layer, back = nn.Linear(4, 4), np.argsort(columns)

    class Wrapped(nn.Module):
        def __init__(self, columns, rows):
            super().__init__()
            self.layer, self.columns, self.rows = layer, columns, rows

        def forward(self, x, sites):
            sites, x = sites[self.rows][:, self.columns].contiguous(), self.layer(x)[self.rows]
            space = [SPACE[column - 1] for column in self.columns if column]
            return mt.SparseTensor(x, sites, space, BATCHES), sites, x

    linear = np.random.default_rng(0).permutation(BATCHES * np.prod(SPACE))[:90]
    sites = torch.from_numpy(np.stack(np.unravel_index(linear, (BATCHES, *SPACE)), 1)).int()
    paths = []
    for order, rows in (((0, 1, 2, 3), torch.arange(90)), (back.tolist(), shuffled(90))):
        paths.append(tmp_path / f"{len(paths)}.npz")
        model = Wrapped(order, rows)
        with torch.no_grad(), recording(model, paths[-1]):
            model(torch.ones(90, 4) * torch.arange(90)[:, None], sites)
    assert not compare_runs(paths[1], paths[0])
    assert f"--columns {','.join(map(str, columns))}" in str(compare_runs(paths[1], paths[0]))
    result = compare_runs(paths[1], paths[0], columns=columns)
    assert result.equal, str(result)


class Pairs(nn.Module):
    """Returns coordinates, and the index pairs between them and others, as [K, 2, N]."""

    def __init__(self, order, axis):
        super().__init__()
        self.order, self.axis, self.wrong = order, axis, 0

    def forward(self, coors):
        coors = coors[self.order]
        out, pairs, _ = mt.functional.indice_pairs(
            *(coors, BATCHES, list(SPACE)), *([2] * 3, [2] * 3, [0] * 3, [1] * 3)
        )
        pairs[0, 1, 0] += self.wrong
        return coors, out, pairs.movedim(1, self.axis).contiguous()


@pytest.mark.parametrize("axis", [0, 1])
def test_index_pairs_of_rows_in_another_order_agree(tmp_path, axis):
    linear = np.random.default_rng(0).permutation(BATCHES * np.prod(SPACE))[:200]
    coors = torch.from_numpy(np.stack(np.unravel_index(linear, (BATCHES, *SPACE)), 1)).int()
    model = Pairs(torch.arange(200), axis)

    def recorded(name):
        with recording(model, tmp_path / name):
            model(coors)
        return tmp_path / name

    expected = recorded("expected.npz")
    model.order = shuffled(200)
    result = compare_runs(recorded("found.npz"), expected)
    assert result.equal, str(result)
    model.wrong = 1
    text = str(compare_runs(recorded("found.npz"), expected))
    assert "output 2: differ" in text and "as sets for each offset" in text


@pytest.mark.parametrize("sizes", [(60_000, 60_000), (60_000, None), (None, 60_000)])
def test_samples_of_rows_in_another_order(tmp_path, sizes):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.voxelize, self.linear, self.order = Returned(), nn.Linear(64, 64), None

        def forward(self, coors, voxels):
            return self.linear(self.voxelize(voxels, coors, self.order)[0])

    class Returned(nn.Module):
        def forward(self, voxels, coors, order):
            return (voxels, coors) if order is None else (voxels[order], coors[order])

    torch.manual_seed(0)
    model, coors = Model(), torch.stack([torch.arange(300) // k % 7 for k in (1, 7, 49)], 1)
    values = coors.int(), torch.randn(300, 2, 64)

    def recorded(name, size, order):
        model.order = order
        options = {} if size is None else {"max_bytes": size}
        with torch.no_grad(), recording(model, tmp_path / name, state=False, **options):
            model(*values)
        return tmp_path / name

    expected = recorded("expected.npz", sizes[0], None)
    result = compare_runs(recorded("found.npz", sizes[1], shuffled(300)), expected)
    assert result.equal, str(result)
    assert "samples of" in str(result)
    hooked(model.linear, lambda out: added(out, (..., slice(3, 9))))
    text = str(compare_runs(recorded("found.npz", sizes[1], shuffled(300)), expected))
    assert "first difference: linear" in text and "rows are joined by the coordinates" in text


class Neighbors(nn.Module):
    def forward(self, points):
        return torch.arange(180, dtype=torch.int32).view(60, 3) + points[:, :1].int() * 0


class Refined(nn.Module):
    def forward(self, points):
        return {"proposals": points.repeat(1, 2)[:, :6] + torch.tensor([0, 0, 0, 9, 9, 9.0])}


@pytest.mark.parametrize("layer", [Neighbors, Refined])
def test_right_rows_in_wrong_places_differ(tmp_path, layer):
    """The rows of the input are in place, and fix the order of rows that look like a set."""
    net, points = nn.Sequential(layer()), torch.rand(60, 4) * 500
    expected = run(net, tmp_path / "expected.npz", points)
    hooked(
        net[0],
        lambda out: (
            {k: v.flip(0) for k, v in out.items()} if isinstance(out, dict) else out.flip(0)
        ),
    )
    result = compare_runs(run(net, tmp_path / "found.npz", points), expected)
    assert "first difference: 0 (" in str(result), str(result)
