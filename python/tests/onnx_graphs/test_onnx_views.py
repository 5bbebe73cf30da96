"""Nodes of bird's-eye views, pillars and rows against PyTorch and plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="requires torch")
pytest.importorskip("onnx", reason="requires onnx")

import examples_views as examples  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnx_graph import evaluate, feeds, one_node  # noqa: E402

from mluop_omp import MluOpError  # noqa: E402

POOLS = [("mmdeploy", "bev_pool_v2"), ("", "BEVPoolV2TRT"), ("", "BEVPoolV2TRT2")]
GRID = {"out_height": 6, "out_width": 5}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def pooled(
    depth, feat, ranks_depth, ranks_feat, ranks_bev, starts, lengths, *, out_height, out_width
):
    """The sums of depth times feature over the points of intervals, in double."""
    points = np.concatenate([np.arange(s, s + n) for s, n in zip(starts, lengths)] + [[]])
    points = torch.from_numpy(points).long()
    ranks_depth, ranks_feat, ranks_bev = (
        torch.from_numpy(each).long()[points] for each in (ranks_depth, ranks_feat, ranks_bev)
    )
    rows = torch.from_numpy(feat).double().flatten(0, 2)[ranks_feat]
    products = torch.from_numpy(depth).double().flatten()[ranks_depth][:, None] * rows
    cells = torch.zeros(out_height * out_width, rows.shape[1], dtype=torch.double)
    return cells.index_add(0, ranks_bev, products).view(1, out_height, out_width, -1).numpy()


@pytest.mark.parametrize("domain, name", POOLS)
@pytest.mark.parametrize("dtype, tolerance", [("f4", 1e-5), ("f2", 2e-3), ("f8", 1e-12)])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_bev_pool_v2(domain, name, dtype, tolerance, index):
    depth, feat, *ranks = examples.bev_pool(rng(1))
    inputs = [each.astype(dtype) for each in (depth, feat)] + [each.astype(index) for each in ranks]
    (found,) = evaluate(domain, name, inputs, GRID)
    assert found.dtype == dtype and found.shape == (1, 6, 5, 7)
    expected = pooled(*inputs, **GRID)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    assert 0 < (expected == 0).all(-1).sum() < 30


def test_default_grid():
    inputs = examples.bev_pool(rng(2), 128, 128)
    (found,) = evaluate("mmdeploy", "bev_pool_v2", inputs)
    expected = pooled(*inputs, out_height=128, out_width=128)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_points_outside_intervals_are_not_read():
    *inputs, starts, lengths = examples.bev_pool(rng(3))
    skipped = starts[2]
    for ranks in inputs[2:]:
        ranks[skipped] = -1
    starts[2] += 1
    lengths[2] -= 1
    (found,) = evaluate("mmdeploy", "bev_pool_v2", [*inputs, starts, lengths], GRID)
    expected = pooled(*inputs, starts, lengths, **GRID)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_the_last_of_intervals_with_one_cell_counts():
    inputs = examples.bev_pool(rng(4))
    expected = evaluate("mmdeploy", "bev_pool_v2", inputs, GRID)[0]
    *points, starts, lengths = inputs
    # Repeated, and without points: as if padded to a fixed number of intervals.
    starts = np.concatenate((starts[:1], starts, starts[-1:], starts[:1]))
    lengths = np.concatenate((lengths[:1] - 1, lengths, lengths[-1:], [0])).astype(np.int32)
    (found,) = evaluate("mmdeploy", "bev_pool_v2", [*points, starts, lengths], GRID)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("sizes", [(0, 0), (80, 0)])
def test_bev_pool_without_points(sizes):
    points, intervals = sizes
    depth, feat, *ranks = examples.bev_pool(rng())
    inputs = [depth, feat, *(each[:points] for each in ranks[:3])]
    inputs += [each[:intervals] for each in ranks[3:]]
    (found,) = evaluate("mmdeploy", "bev_pool_v2", inputs, GRID)
    assert found.shape == (1, 6, 5, 7) and not found.any()


@pytest.mark.parametrize("dtype, tolerance", [("f4", 1e-5), ("f2", 4e-3), ("f8", 1e-12)])
def test_quick_cumsum(dtype, tolerance):
    (x, *rest), attributes = examples.quick_cumsum(rng(5))
    x, geometry = x.astype(dtype), torch.from_numpy(rest[0]).long()
    (found,) = evaluate("autoware", "QuickCumsumCuda", [x, *rest], attributes)
    batch_size, dimension, height, width = attributes.values()
    expected = torch.zeros(batch_size, dimension, height, width, 6, dtype=torch.double)
    row, column, depth, batch = geometry.T
    expected.index_put_((batch, depth, row, column), torch.from_numpy(x).double(), accumulate=True)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected.numpy(), rtol=tolerance, atol=tolerance)


def test_quick_cumsum_without_points():
    inputs, attributes = examples.quick_cumsum(rng())
    (found,) = evaluate("autoware", "QuickCumsumCuda", [each[:0] for each in inputs], attributes)
    assert found.shape == (2, 3, 4, 5, 6) and not found.any()


@pytest.mark.parametrize("dtype", ["f4", "f2", "f8"])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("channels", [9, 64, 0])
def test_pillar_scatter(dtype, index, channels):
    (voxels, coords, counts), attributes = examples.pillar_scatter(rng(6))
    voxels = np.resize(voxels, (*voxels.shape[:2], channels)).astype(dtype)
    # Rows past the pillars are not read.
    coords[1, 13:] = -1
    inputs = [voxels, coords.astype(index), counts.astype(index)]
    (found,) = evaluate("", "PillarScatterPlugin", inputs, attributes)
    expected = np.zeros((2, channels, 6, 8), dtype)
    for n in range(2):
        for p in range(counts[n]):
            _, _, y, x = coords[n, p]
            expected[n, :, y, x] = voxels[n, p]
    np.testing.assert_array_equal(found, expected, strict=True)


def test_pillar_scatter_without_pillars():
    inputs, attributes = examples.pillar_scatter(rng())
    inputs = [inputs[0][:, :0], inputs[1][:, :0], inputs[2] * 0]
    (found,) = evaluate("trt.plugins", "PillarScatterPlugin", inputs, attributes)
    assert found.shape == (2, 9, 6, 8) and not found.any()


def pillars(points: np.ndarray, **given) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Features and cells (y, x) of the pillars of a frame."""
    low, high = np.split(np.array(given["point_cloud_range"]), 2)
    size, cells = np.array(given["voxel_size"]), {}
    for point in points.astype(np.float64):
        if ((low <= point[:3]) & (point[:3] < high)).all():
            x, y = (math.floor(v) for v in ((point[:3] - low) / size)[:2])
            cells.setdefault((y, x), []).append(point)
    kept = list(cells)[: given["max_voxels"]]
    features = np.zeros((len(kept), given["max_num_points_per_voxel"], points.shape[1] + 6))
    for pillar, (y, x) in zip(features, kept):
        members = cells[y, x][: len(pillar)]
        mean = np.mean(members, 0)[:3] if members else 0
        center = low + (np.array([x, y, 0]) + 0.5) * size
        for row, point in zip(pillar, members):
            row[:] = [*point, *(point[:3] - mean), *(point[:3] - center)]
    return features[..., : given["voxel_feature_num"]], kept


@pytest.mark.parametrize("dtype, tolerance", [("f4", 1e-5), ("f8", 1e-6)])
@pytest.mark.parametrize(
    "columns, variant",
    [
        (4, {}),
        (4, {"voxel_feature_num": 9, "max_voxels": 500}),
        (4, {"voxel_feature_num": 3, "max_num_points_per_voxel": 1}),
        (5, {"voxel_feature_num": 11, "max_voxels": 7}),
        (5, {"voxel_feature_num": 10, "voxel_size": [2.0, 1.5, 4.0], "max_voxels": 100}),
        (4, {"max_voxels": 0}),
        (4, {"max_num_points_per_voxel": 0}),
    ],
)
def test_voxel_generator(dtype, tolerance, columns, variant):
    attributes = {**examples.VOXELS, **variant}
    points = rng(7).uniform(-4.5, 4.5, (2, 300, columns)).astype(np.float32)
    points[0, :2, :3] = [-4, -3, -2], [4, 3, 2]  # the range: inside, outside
    points, counts = points.astype(dtype), np.array([300, 90], np.int32)
    found = evaluate("", "VoxelGeneratorPlugin", [points, counts], attributes, outputs=3)
    voxels, coords, num_pillar = found
    shape = [attributes[name] for name in ("max_voxels", "max_num_points_per_voxel")]
    assert voxels.shape == (2, *shape, attributes["voxel_feature_num"]) and voxels.dtype == dtype
    assert coords.dtype == num_pillar.dtype == np.int32
    for n, count in enumerate(counts):
        features, cells = pillars(points[n, :count], **attributes)
        assert num_pillar[n] == len(cells)
        np.testing.assert_allclose(
            voxels[n, : len(cells)], features, rtol=tolerance, atol=tolerance
        )
        assert coords[n, : len(cells)].tolist() == [[0, 0, *cell] for cell in cells]
        assert not voxels[n, len(cells) :].any() and not coords[n, len(cells) :].any()


@pytest.mark.parametrize("shape", [(0, 5, 4), (2, 0, 5)])
def test_voxel_generator_without_points(shape):
    inputs = [np.zeros(shape, np.float32), np.zeros(shape[0], np.int32)]
    found = evaluate("", "VoxelGeneratorPlugin", inputs, examples.VOXELS, outputs=3)
    assert [each.shape for each in found] == [(shape[0], 30, 4, 10), (shape[0], 30, 4), shape[:1]]
    assert not any(each.any() for each in found)


@pytest.mark.parametrize("reduce", ["sum", "mean", "min", "max"])
@pytest.mark.parametrize("dtype, tolerance", [("f4", 1e-6), ("f2", 2e-3), ("f8", 1e-14)])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_segment_csr(reduce, dtype, tolerance, index):
    src, indptr = examples.segment_csr(rng(8))[0]
    src, indptr = src.astype(dtype), indptr.astype(index)
    (found,) = evaluate("autoware", "SegmentCSR", [src, indptr], {"reduce": reduce})
    first, last = indptr[0], indptr[-1]
    rows = torch.from_numpy(src[first:last]).double()
    lengths = torch.from_numpy(np.diff(indptr)).long()
    expected = torch.segment_reduce(rows, reduce, lengths=lengths, initial=None, axis=0)
    expected[lengths == 0] = 0
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected.numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    "rows, indptr, shape", [(0, [0, 0, 0], (2, 4)), (5, [3], (0, 4)), (5, [5, 5], (1, 4))]
)
def test_segment_csr_without_rows(rows, indptr, shape):
    inputs = [np.ones((rows, 4), np.float32), np.array(indptr)]
    (found,) = evaluate("autoware", "SegmentCSR", inputs, {"reduce": "min"})
    np.testing.assert_array_equal(found, np.zeros(shape, np.float32), strict=True)


def test_segment_csr_with_nan():
    src = np.array([[1, np.nan], [np.nan, np.nan], [-2, np.nan]], np.float32)
    for reduce, expected in (("max", 1), ("min", -2)):
        inputs = [src, np.array([0, 3])]
        (found,) = evaluate("autoware", "SegmentCSR", inputs, {"reduce": reduce})
        np.testing.assert_array_equal(found, [[expected, np.nan]])


@pytest.mark.parametrize("reduction", [None, "none", "add", "mul", "max", "min"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "i4"])
def test_scatter_nd(reduction, dtype):
    """As onnx.reference's own operator, which takes int64 indices, and as PyTorch."""
    data, indices, updates = examples.scatter_nd(rng(9))[0]
    data, updates = ((each * 9).astype(dtype) for each in (data, updates))
    indices[0, 1] -= (4, 5)
    attributes = {} if reduction is None else {"reduction": reduction}
    for domain in ("", "mmdeploy"):
        (found,) = evaluate(domain, "ScatterND", [data, indices, updates], attributes)
        assert found.dtype == dtype
        inputs = [data, indices.astype(np.int64), updates]
        (wide,) = evaluate(domain, "ScatterND", inputs, attributes)
        np.testing.assert_array_equal(wide, found)
    model = one_node("", "ScatterND", inputs, attributes)
    model.opset_import[0].version = 18
    (own,) = ReferenceEvaluator(model).run(None, feeds(inputs))
    np.testing.assert_array_equal(found, own)


def test_scatter_nd_adds_to_equal_indices():
    data, indices, updates = np.zeros((3, 2), "f2"), np.zeros((4, 1), "i4"), np.ones((4, 2), "f2")
    updates[0] = 2048  # 2048 + 1 is 2048 in float16.
    (found,) = evaluate("", "ScatterND", [data, indices, updates], {"reduction": "add"})
    assert found.tolist() == [[2052, 2052], [0, 0], [0, 0]]
    (found,) = evaluate("", "ScatterND", [data, indices, updates])
    assert found.tolist() == [[1, 1], [0, 0], [0, 0]]


def test_scatter_nd_without_updates():
    data = np.ones((3, 2), np.float32)
    inputs = [data, np.zeros((0, 1), np.int32), np.zeros((0, 2), np.float32)]
    (found,) = evaluate("", "ScatterND", inputs)
    np.testing.assert_array_equal(found, data)


def selected(feat, flag, invalid, P):
    """The function that VAD traces: rows of a flag, padded."""
    rows = [each[chosen.bool()] for each, chosen in zip(feat, flag)]
    return torch.stack([torch.cat((each, invalid.repeat(P - len(each), 1))) for each in rows])


@pytest.mark.parametrize("dtype", ["f4", "f2", "f8"])
@pytest.mark.parametrize("P", [9, 12])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_select_and_pad(dtype, P, index):
    feat, flags, invalid = examples.select_and_pad(rng(10))[0]
    feat, invalid = feat.astype(dtype), invalid.astype(dtype)
    flags[0, 3] = -5
    expected = selected(*map(torch.from_numpy, (feat, flags, invalid)), P).numpy()
    inputs = [feat, flags.astype(index), invalid]
    (found,) = evaluate("custom_op", "SelectAndPadPlugin", inputs, {"P": P})
    np.testing.assert_array_equal(found, expected, strict=True)
    (one,) = evaluate("", "SelectAndPadPlugin", [feat[1:], flags[1], invalid], {"P": P})
    np.testing.assert_array_equal(one, expected[1:], strict=True)


def test_select_and_pad_keeps_the_first():
    feat, flags, invalid = examples.select_and_pad(rng(11))[0]
    (found,) = evaluate("", "SelectAndPadPlugin", [feat, flags * 0 + 1, invalid], {"P": 4})
    np.testing.assert_array_equal(found, feat[:, :4])
    (found,) = evaluate("", "SelectAndPadPlugin", [feat[:, :0], flags[:, :0], invalid], {"P": 3})
    np.testing.assert_array_equal(found, np.broadcast_to(invalid, (2, 3, 5)))


def changed(name: str, index: int, change) -> tuple[str, list, dict]:
    inputs, attributes = examples.EXAMPLES[name](rng())
    inputs[index] = change(inputs[index])
    return name, inputs, attributes


def with_attribute(name: str, **changes) -> tuple[str, list, dict]:
    inputs, attributes = examples.EXAMPLES[name](rng())
    return name, inputs, {**attributes, **changes}


@pytest.mark.parametrize(
    "case, message",
    [
        (changed("bev_pool_v2", 1, lambda each: each.astype("f2")), "feat has dtype float16"),
        (changed("bev_pool_v2", 2, lambda each: each - 200), "ranks_depth"),
        (changed("bev_pool_v2", 3, lambda each: each + 30), "ranks_feat"),
        (changed("bev_pool_v2", 4, lambda each: each - 30), r"is -\d+, expected 0 to 29"),
        (changed("bev_pool_v2", 5, lambda each: each + 80), r"starts\[\d+\] is \d+, expected 0 to"),
        (changed("bev_pool_v2", 6, lambda each: each + 70), r"starts \+ interval_lengths\["),
        (with_attribute("bev_pool_v2", out_width=-1), "out_width is -1, expected at least 0"),
        (changed("QuickCumsumCuda", 1, lambda each: each + 4), r"geom_feats\[0\] is \["),
        (with_attribute("QuickCumsumCuda", height=1), r"expected below \(1, 5, 3, 2\)"),
        (with_attribute("PillarScatterPlugin", dense_shape=[6]), r"dense_shape is \[6\]"),
        (with_attribute("PillarScatterPlugin", dense_shape=[6, 5]), "coords x.*expected 0 to 4"),
        (
            changed("PillarScatterPlugin", 2, lambda each: each + 1),
            "pillar.* is 21, expected 0 to 20",
        ),
        (with_attribute("VoxelGeneratorPlugin", voxel_feature_num=11), "is 11, expected 1 to 10"),
        (changed("VoxelGeneratorPlugin", 0, lambda each: each.astype("f2")), "points has dtype f"),
        (with_attribute("VoxelGeneratorPlugin", voxel_size=[1.0]), "has 1 elements, expected 3"),
        (with_attribute("VoxelGeneratorPlugin", voxel_size=[0.0, 1.0, 1.0]), "voxel_size"),
        (with_attribute("VoxelGeneratorPlugin", max_voxels=-1), "max_voxels is -1"),
        (
            changed("VoxelGeneratorPlugin", 0, lambda each: each[..., :3]),
            "dim 2 is 3, expected 4 or",
        ),
        (
            changed("VoxelGeneratorPlugin", 1, lambda each: each + 9),
            "num_points.* is 159, expected",
        ),
        (
            changed("SegmentCSR", 1, lambda each: each[::-1]),
            r"indptr\[2\] is 14, expected at least 20",
        ),
        (changed("SegmentCSR", 1, lambda each: each + 9), "expected 0 to 23"),
        (changed("SegmentCSR", 1, lambda each: each[:0]), "indptr has no elements"),
        (with_attribute("SegmentCSR", reduce="mul"), "reduce is 'mul', expected 'sum' or"),
        (changed("ScatterND", 1, lambda each: each + 4), "position along axis .* expected 0 to"),
        (changed("ScatterND", 2, lambda each: each[..., :2]), r"updates has shape \[2, 3, 2\]"),
        (changed("ScatterND", 2, lambda each: each.astype("f8")), "updates has dtype float64"),
        (changed("ScatterND", 1, lambda each: each[..., :0]), "a last dimension from 1 to 3"),
        (with_attribute("ScatterND", reduction="div"), "reduction is 'div', expected 'none' or"),
        (with_attribute("SelectAndPadPlugin", P=-1), "P is -1, expected at least 0"),
        (
            changed("SelectAndPadPlugin", 1, lambda each: each[0]),
            r"has shape \[9\], expected \[2, 9",
        ),
        (changed("SelectAndPadPlugin", 2, lambda each: each.astype("f2")), "invalid has dtype f"),
    ],
)
def test_errors(case, message):
    name, inputs, attributes = case
    inputs = [np.ascontiguousarray(each) for each in inputs]
    domains = {"bev_pool_v2": "mmdeploy", "QuickCumsumCuda": "autoware", "SegmentCSR": "autoware"}
    outputs = 3 if name == "VoxelGeneratorPlugin" else 1
    with pytest.raises(MluOpError, match=f"^{name}: .*{message}"):
        evaluate(domains.get(name, ""), name, inputs, attributes, outputs=outputs)
