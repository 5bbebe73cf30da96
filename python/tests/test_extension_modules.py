"""The extension modules of OpenPCDet, PointNet++ and BEVFusion, called as by their Python.

The definitions are loops over points, boxes and voxels, as in the kernels. A function that computes
an operator alone is compared with it; test_table.py compares operators with their definitions.
"""

from __future__ import annotations

import importlib
import math
import sys

import cases
import numpy as np
import pytest
import torch

import mluop_omp
import mluop_omp.bevfusion
import mluop_omp.pcdet
import mluop_omp.pointnet2
from mluop_omp.mmcv import FUNCTIONS as MMCV

MODULES = {
    "iou3d": "pcdet.ops.iou3d_nms.iou3d_nms_cuda",
    "roiaware": "pcdet.ops.roiaware_pool3d.roiaware_pool3d_cuda",
    "roipoint": "pcdet.ops.roipoint_pool3d.roipoint_pool3d_cuda",
    "batch": "pcdet.ops.pointnet2.pointnet2_batch.pointnet2_batch_cuda",
    "stack": "pcdet.ops.pointnet2.pointnet2_stack.pointnet2_stack_cuda",
    "bev_pool": "pcdet.ops.bev_pool.bev_pool_ext",
    "ingroup": "pcdet.ops.ingroup_inds.ingroup_inds_cuda",
    "pointnet2": "pointnet2_ops._ext",
    **{name.rpartition(".")[2]: f"mmdet3d.ops.{name}" for name in mluop_omp.bevfusion._MODULES},
}
f32 = np.float32


@pytest.fixture
def ops():
    for library in (mluop_omp.bevfusion, mluop_omp.pcdet, mluop_omp.pointnet2):
        library.install()
    torch.manual_seed(40)
    yield {key: sys.modules[name] for key, name in MODULES.items()}
    for name in (*MODULES.values(), "pointnet2._ext"):
        del sys.modules[name]


def tensor(array):
    return torch.from_numpy(np.ascontiguousarray(array))


def zeros(*shape):
    return torch.zeros(shape, dtype=torch.int32)


def grouped(operator):
    """Returns arguments of an operator on points as groups of three."""
    *tensors, last = cases.arguments(operator)
    if operator == "gather_points":
        return tensors[0], last.view(2, 3, 3)
    grad, indices = tensors
    return grad.view(2, 4, 3, 3), indices.view(2, 3, 3), last


def sized(count):
    """Returns how a function is called that takes sizes, which tensors have, before the tensors."""

    def call(function, arguments, outputs):
        function(*[0] * count, *filter(torch.is_tensor, arguments), *outputs)

    return call


def sampled(function, arguments, outputs):
    function(0, 0, 0, arguments[0], torch.full(arguments[0].shape[:2], 1e10), *outputs)


def of_scores(function, arguments, outputs):
    *grad, scores, points, centers, idx = arguments
    function(*[0] * 7, *grad, points, centers, scores, idx, *outputs[1:], *outputs[:1])


# By operator: module, function and how it is called with the operator's arguments and outputs.
CALLS = {
    "ball_query": [
        ("batch", "ball_query_wrapper", lambda f, a, out: f(0, 0, 0, *a[3:], *a[:2], *out)),
        (
            "ball_query_ext",
            "ball_query_wrapper",
            lambda f, a, out: f(0, 0, 0, *a[2:], *a[:2], *out),
        ),
    ],
    "furthest_point_sample": [
        ("furthest_point_sample_ext", "furthest_point_sampling_wrapper", sampled)
    ],
    "furthest_point_sample_with_dist": [
        ("furthest_point_sample_ext", "furthest_point_sampling_with_dist_wrapper", sampled)
    ],
    "gather_points": [
        ("batch", "gather_points_wrapper", sized(4)),
        ("gather_points_ext", "gather_points_wrapper", sized(4)),
        ("batch", "group_points_wrapper", sized(5)),
        ("group_points_ext", "forward", sized(5)),
    ],
    "gather_points_backward": [
        ("batch", "gather_points_grad_wrapper", sized(4)),
        ("gather_points_ext", "gather_points_grad_wrapper", sized(4)),
        ("batch", "group_points_grad_wrapper", sized(5)),
        ("group_points_ext", "backward", sized(5)),
    ],
    "stack_group_points_backward": [("stack", "group_points_grad_wrapper", sized(5))],
    "knn": [("knn_ext", "knn_wrapper", lambda f, a, out: f(0, 0, 0, a[2], *a[:2], *out[::-1]))],
    "three_nn": [(module, "three_nn_wrapper", sized(3)) for module in ("batch", "interpolate_ext")],
    "three_interpolate": [
        (module, "three_interpolate_wrapper", sized(4)) for module in ("batch", "interpolate_ext")
    ],
    "three_interpolate_backward": [
        (module, "three_interpolate_grad_wrapper", sized(4))
        for module in ("batch", "interpolate_ext")
    ],
    "assign_score_withk": [
        ("assign_score_withk_ext", "assign_score_withk_forward_wrapper", of_scores)
    ],
    "assign_score_withk_backward": [
        ("assign_score_withk_ext", "assign_score_withk_backward_wrapper", of_scores)
    ],
}


@pytest.mark.parametrize(
    ("operator", "module", "name", "call"),
    [(operator, *row) for operator, rows in CALLS.items() for row in rows],
)
def test_functions_of_operators(ops, operator, module, name, call):
    is_group = "group" in module + name and operator.startswith("gather")
    arguments = grouped(operator) if is_group else cases.arguments(operator)
    expected = getattr(torch.ops.mluop_omp, operator)(*arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    outputs = [torch.zeros_like(each) for each in expected]
    call(getattr(ops[module], name), arguments, outputs)
    for output, right in zip(outputs, expected):
        assert right.any() and torch.equal(output, right)


def test_functions_of_pointnet2(ops):
    """test_table.py has the others."""
    features, indices = grouped("gather_points")
    found = ops["pointnet2"].group_points(features, indices)
    assert torch.equal(found, torch.ops.mluop_omp.gather_points(features, indices))
    arguments = grouped("gather_points_backward")
    found = ops["pointnet2"].group_points_grad(*arguments)
    assert torch.equal(found, torch.ops.mluop_omp.gather_points_backward(*arguments))
    centers, cloud, _, *numbers = cases.arguments("ball_query")
    found = ops["pointnet2"].ball_query(centers, cloud, *numbers)
    assert torch.equal(found, torch.ops.mluop_omp.ball_query(centers, cloud, 0.0, *numbers))


def test_module_of_votenet(ops):
    """As 3DETR imports it, whose package pointnet2 has nothing else."""
    module = importlib.import_module("pointnet2._ext")
    names = [name for name in vars(ops["pointnet2"]) if name[0] != "_"]
    assert [name for name in vars(module) if name[0] != "_"] == names and len(names) == 9
    for name in names:
        assert getattr(module, name).__wrapped__ is getattr(ops["pointnet2"], name).__wrapped__
    assert not list(importlib.import_module("pointnet2").__path__)
    del sys.modules["pointnet2"]


def test_sparse_convolutions_of_bevfusion(ops):
    functions = {f"get_indice_pairs_{n}d": f"get_indice_pairs_{n}d_forward" for n in (2, 3, 4)}
    for dtype in ("fp32", "half"):
        for name in ("indice_conv", "fused_indice_conv", "indice_maxpool"):
            functions[f"{name}_{dtype}"] = f"{name}_forward"
        for name in ("indice_conv_backward", "indice_maxpool_backward"):
            functions[f"{name}_{dtype}"] = name
    for name, of_mmcv in functions.items():
        assert getattr(ops["sparse_conv_ext"], name).__wrapped__ is MMCV[of_mmcv]


def boxes_of(rng, count, spread=3.0):
    """Boxes x, y, z of the center, dx, dy, dz, yaw."""
    centers = rng.uniform(-spread, spread, (count, 3))
    return np.hstack(
        (centers, rng.uniform(1, 4, (count, 3)), rng.uniform(-4, 4, (count, 1)))
    ).astype(f32)


def local(point, box):
    """The point in the coordinates of the box, in float32."""
    x, y, z = (f32(p) - f32(c) for p, c in zip(point, box))
    cos, sin = f32(np.cos(np.float64(-box[6]))), f32(np.sin(np.float64(-box[6])))
    return x * cos + y * -sin, x * sin + y * cos, z


def is_inside(point, box, margin):
    x, y, z = local(point, box)
    dx, dy, dz = box[3:6].astype(float) / 2
    margin = float(f32(margin))
    return not abs(z) > dz and abs(x) < dx + margin and abs(y) < dy + margin


# Points on each side of the borders and of the margins of a box at (0, 0, 0) of 4 by 2 by 2.
EDGES = np.array(
    [
        *((2.000005, 0, 0.5), (2.00002, 0, 0.5), (2.005, 0, 0), (2.02, 0, 0), (0, 1.000005, 0)),
        *((0, 1.00002, 0), (0, 0, 1), (0, 0, 1.0001), (0, 0, -1), (0, 0, np.nan), (np.nan, 0, 0)),
    ],
    f32,
)


def test_points_in_boxes(ops, rng):
    boxes = np.vstack(([[0, 0, 0, 4, 2, 2, 0]], boxes_of(rng, 5))).astype(f32)
    points = np.vstack((EDGES, rng.uniform(-4, 4, (200, 3)))).astype(f32)
    inside = np.array([[is_inside(p, b, 1e-5) for p in points] for b in boxes])
    assert inside[0, :11].tolist() == [1, 0, 0, 0, 1, 0, 1, 0, 1, 1, 0]
    first = np.where(inside.any(0), inside.argmax(0), -1)
    found = zeros(1, len(points)).fill_(-1)
    ops["roiaware"].points_in_boxes_gpu(tensor(boxes[None]), tensor(points[None]), found)
    assert found[0].tolist() == first.tolist()

    found = zeros(len(boxes), len(points)).fill_(7)
    ops["roiaware"].points_in_boxes_cpu(tensor(boxes), tensor(points), found)
    wide = [[is_inside(p, b, 1e-2) for p in points] for b in boxes]
    assert np.array(wide)[0, :11].tolist() == [1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 0]
    assert np.array_equal(found, np.array(wide))
    for dtype in (torch.float16, torch.bfloat16):  # Computed in float32.
        rounded = [tensor(each).to(dtype) for each in (boxes, points)]
        exact, found = found.clone(), found.fill_(7)
        ops["roiaware"].points_in_boxes_cpu(*(each.float() for each in rounded), exact)
        ops["roiaware"].points_in_boxes_cpu(*rounded, found)
        assert torch.equal(found, exact)


def pool_by_definition(rois, points, sizes, P):
    voxels = np.zeros((len(rois), *sizes, P), np.int32)
    for r, roi in enumerate(rois):
        for p, point in enumerate(points):
            if is_inside(point, roi, 1e-5):
                place = [
                    int((at + extent / f32(2)) / (extent / f32(size)))
                    for at, extent, size in zip(local(point, roi), roi[3:6], sizes)
                ]
                slots = voxels[r][tuple(min(max(i, 0), size - 1) for i, size in zip(place, sizes))]
                if slots[0] < P - 1:
                    slots[0] += 1
                    slots[slots[0]] = p
    return voxels


@pytest.mark.parametrize("method", [0, 1])
def test_roiaware_pool3d(ops, rng, method):
    sizes, P, C = (3, 2, 4), 5, 6
    rois = boxes_of(rng, 6)
    rois[-1, :3] += 100  # without points
    points = np.vstack((rng.uniform(-4, 4, (500, 3)), rois[:1, :3].repeat(9, 0))).astype(f32)
    features = rng.standard_normal((len(points), C)).astype(f32)
    voxels = pool_by_definition(rois, points, sizes, P)
    assert (voxels[..., 0] == P - 1).any() and (voxels[..., 0] == 0).any()
    pooled, argmax = torch.zeros(len(rois), *sizes, C), zeros(len(rois), *sizes, C)
    indices = zeros(*voxels.shape)
    arguments = (tensor(rois), tensor(points), tensor(features), argmax, indices, pooled, method)
    ops["roiaware"].forward(*arguments)
    assert np.array_equal(indices, voxels)

    variable = torch.from_numpy(features).requires_grad_()
    expected = torch.zeros(len(rois), *sizes, C)
    for at in np.argwhere(voxels[..., 0]):
        count, *members = voxels[tuple(at)]
        rows = variable[torch.tensor(members[:count])]
        expected[tuple(at)] = rows.max(0).values if method == 0 else rows.mean(0)
    torch.testing.assert_close(pooled, expected)
    grad, found = torch.randn(*expected.shape), torch.zeros(len(points), C)
    ops["roiaware"].backward(indices, argmax, grad, found, method)
    torch.testing.assert_close(found, torch.autograd.grad(expected, variable, grad)[0])


def test_roiaware_pool3d_without_points_in_rois(ops):
    rois, features = torch.tensor([[50.0, 0, 0, 2, 2, 2, 0]]), torch.ones(3, 2)
    pooled, argmax, indices = torch.ones(1, 2, 2, 2, 2), zeros(1, 2, 2, 2, 2), zeros(1, 2, 2, 2, 4)
    ops["roiaware"].forward(rois, torch.zeros(3, 3), features, argmax, indices, pooled, 0)
    assert not pooled.any() and not indices.any() and (argmax == -1).all()


def test_roipoint_pool3d(ops, rng):
    B, N, M, S, C = 2, 90, 5, 4, 3
    points = rng.uniform(-4, 4, (B, N, 3)).astype(f32)
    boxes = np.stack([boxes_of(rng, M) for _ in range(B)])
    boxes[1, 2, 0] = 100
    features = rng.standard_normal((B, N, C)).astype(f32)
    pooled, empty = torch.zeros(B, M, S, 3 + C), zeros(B, M)
    ops["roipoint"].forward(tensor(points), tensor(boxes), tensor(features), pooled, empty)
    counts = set()
    for b in range(B):
        for m in range(M):
            members = [n for n in range(N) if is_inside(points[b, n], boxes[b, m], 1e-5)]
            counts.add(min(len(members), S))
            assert empty[b, m] == (not members)
            rows = [members[s % len(members)] for s in range(S)] if members else []
            expected = np.hstack((points[b], features[b]))[rows] if rows else np.zeros((S, 3 + C))
            assert np.array_equal(pooled[b, m], expected)
    assert {0, S} < counts


def test_overlaps_of_boxes(ops, rng):
    a, b = boxes_of(rng, 140, 2), boxes_of(rng, 40, 2)
    overlaps, ious = torch.zeros(140, 40), torch.zeros(140, 40)
    ops["iou3d"].boxes_overlap_bev_gpu(tensor(a), tensor(b), overlaps)
    for function in ("boxes_iou_bev_gpu", "boxes_iou_bev_cpu"):
        getattr(ops["iou3d"], function)(tensor(a), tensor(b), ious.fill_(0))
        areas = (a[:, 3] * a[:, 4])[:, None] + b[:, 3] * b[:, 4]
        assert np.array_equal(ious, overlaps.numpy() / np.maximum(areas - overlaps.numpy(), 1e-8))
    paired = boxes_of(rng, 140, 2)
    ops["iou3d"].boxes_overlap_bev_gpu(tensor(a), tensor(paired), every := torch.zeros(140, 140))
    for function in ("boxes_aligned_overlap_bev_gpu", "paired_boxes_overlap_bev_gpu"):
        getattr(ops["iou3d"], function)(tensor(a), tensor(paired), found := torch.zeros(140, 1))
        assert torch.equal(found[:, 0], every.diagonal()) and found.any()
    ops["iou3d"].boxes_iou_bev_gpu(tensor(a), tensor(paired), every)
    ops["iou3d"].boxes_aligned_iou_bev_cpu(tensor(a), tensor(paired), found)
    assert torch.equal(found[:, 0], every.diagonal())
    with pytest.raises(mluop_omp.MluOpError, match="boxes_b has 40 rows, expected 140"):
        ops["iou3d"].boxes_aligned_overlap_bev_gpu(tensor(a), tensor(b), found)


def sample_by_definition(cloud, count, threads, skip):
    """Simulates the threads of a block of the kernels of furthest point sampling."""
    T = min(1 << (len(cloud).bit_length() - 1), threads)
    x, y, z = (cloud * cloud).T
    skipped = (x + y + z).astype(float) <= 1e-3 if skip else np.zeros(len(cloud), bool)
    temp, samples = np.full(len(cloud), 1e10, f32), [0]
    for _ in range(1, count):
        dx, dy, dz = ((cloud - cloud[samples[-1]]) ** 2).T
        temp = np.where(skipped, temp, np.fmin(dx + dy + dz, temp))
        best = []
        for thread in range(T):
            own = [(f32(-1), 0)]
            for k in range(thread, len(cloud), T):
                if not skipped[k] and temp[k] > own[0][0]:
                    own = [(temp[k], k)]
            best += own
        while len(best) > 1:
            half = len(best) // 2
            best = [q if q[0] > p[0] else p for p, q in zip(best[:half], best[half:])]
        samples.append(best[0][1])
    return samples


@pytest.mark.parametrize("N", [1, 2, 5, 40, 700, 1030, 1600])
def test_sampling(ops, rng, N):
    # Coarse coordinates have ties; every fourth point is near the origin.
    clouds = rng.integers(-3, 4, (2, N, 3)).astype(f32)
    clouds[:, ::4] *= f32(0.004)
    clouds[1, 0] = 1
    count = 12
    expected = [sample_by_definition(cloud, count, 1024, False) for cloud in clouds]
    for key in ("batch", "stack"):
        out, temp = zeros(2, count), torch.full((2, N), 1e10)
        ops[key].farthest_point_sampling_wrapper(2, N, count, tensor(clouds), temp, out)
        assert out.tolist() == expected
    expected = [sample_by_definition(cloud, count, 512, True) for cloud in clouds]
    assert ops["pointnet2"].furthest_point_sampling(tensor(clouds), count).tolist() == expected


def test_sampling_near_the_origin(ops):
    cloud = torch.tensor([[[0.01, 0, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0]]])
    sample = ops["pointnet2"].furthest_point_sampling
    assert sample(cloud, 5).tolist() == [[0, 3, 2, 2, 2]]
    assert sample(cloud[:, :2].contiguous(), 3).tolist() == [[0, 0, 0]]
    assert sample(cloud[:, [2, 0, 3]].contiguous(), 4).tolist() == [[0, 2, 0, 0]]
    assert sample(torch.full((1, 3, 3), np.nan), 3).tolist() == [
        sample_by_definition(np.full((3, 3), np.nan, f32), 3, 512, True)
    ]


def test_ties_of_more_points_than_threads(ops):
    cloud = torch.ones(1, 1030, 3)
    cloud[0, [512, 1024]] = 5
    assert ops["pointnet2"].furthest_point_sampling(cloud, 2).tolist() == [[0, 512]]
    out, temp = zeros(1, 2), torch.full((1, 1030), 1e10)
    ops["batch"].farthest_point_sampling_wrapper(1, 1030, 2, cloud, temp, out)
    assert out.tolist() == [[0, 1024]]


def test_stacked_sampling(ops, rng):
    sizes, samples = [30, 7, 12], [6, 3, 12]
    cloud = rng.integers(-2, 3, (49, 3)).astype(f32)
    out, counts = zeros(21), torch.tensor(samples).int()
    arguments = (torch.tensor(sizes).int(), out, counts)
    ops["stack"].stack_farthest_point_sampling_wrapper(tensor(cloud), torch.zeros(49), *arguments)
    expected, start = [], 0
    for size, count in zip(sizes, samples):
        of_cloud = sample_by_definition(cloud[start : start + size], count, 1024, False)
        expected += [start + k for k in of_cloud]
        start += size
    assert out.tolist() == expected
    with pytest.raises(mluop_omp.MluOpError, match="npoint has the sum 20, expected 21"):
        counts[0] -= 1
        ops["stack"].stack_farthest_point_sampling_wrapper(tensor(cloud), None, *arguments)


def test_stacked_interpolation(ops):
    of_unknown, of_known = torch.tensor([7, 0, 5]).int(), torch.tensor([4, 3, 2]).int()
    unknown, known, features = torch.randn(12, 3), torch.randn(9, 3), torch.randn(9, 5)
    dist2, idx = torch.zeros(12, 3), zeros(12, 3)
    ops["stack"].three_nn_wrapper(unknown, of_unknown, known, of_known, dist2, idx)
    first = (unknown[:7, None] - known[:4]).square().sum(2).topk(3, largest=False)
    last = (unknown[7:, None] - known[7:]).square().sum(2).topk(2, largest=False)
    torch.testing.assert_close(dist2[:7], first.values)
    torch.testing.assert_close(dist2[7:, :2], last.values)
    assert torch.equal(idx[:7].long(), first.indices)
    assert torch.equal(idx[7:, :2].long(), last.indices + 7)
    assert dist2[7:, 2].isinf().all() and (idx[7:, 2] == 7).all()

    weight, grad = torch.randn(12, 3), torch.randn(12, 5)
    variable = features.clone().requires_grad_()
    expected = (variable[idx.long()] * weight[..., None]).sum(1)
    ops["stack"].three_interpolate_wrapper(features, idx, weight, out := torch.zeros(12, 5))
    torch.testing.assert_close(out, expected)
    found = torch.zeros(9, 5)
    ops["stack"].three_interpolate_grad_wrapper(grad, idx, weight, found)
    torch.testing.assert_close(found, torch.autograd.grad(expected, variable, grad)[0])
    with pytest.raises(mluop_omp.MluOpError, match="known_batch_cnt has 2 elements, expected 3"):
        two = torch.tensor([4, 5]).int()
        ops["stack"].three_nn_wrapper(unknown, of_unknown, known, two, dist2, idx)


@pytest.mark.parametrize("block", [1, 10**6])
def test_voxel_query(ops, rng, monkeypatch, block):
    monkeypatch.setattr(mluop_omp.pcdet._points, "_BLOCK", block)
    (B, Z, Y, X), (z_range, y_range, x_range), S, radius = (2, 4, 5, 6), (1, 2, 1), 5, 1.5
    point_indices = np.full((B, Z, Y, X), -1, np.int32)
    sites = np.argwhere(rng.random((B, Z, Y, X)) < 0.4)
    point_indices[tuple(sites.T)] = np.arange(len(sites))
    # Places of the grid, so that distances equal to the radius occur.
    xyz = (sites[:, :0:-1] * f32(0.75)).astype(f32)
    coords = np.stack([rng.integers(0, size, 30) for size in (B, Z, Y, X)], 1).astype(np.int32)
    centers = (coords[:, :0:-1] * f32(0.75)).astype(f32)
    centers[5] = 99
    expected = np.zeros((30, S), np.int32)
    for m, (b, z, y, x) in enumerate(coords):
        members = [
            k
            for k, (b2, z2, y2, x2) in enumerate(sites)
            if b2 == b and abs(z2 - z) <= z_range and abs(y2 - y) <= y_range
            if abs(x2 - x) <= x_range and ((xyz[k] - centers[m]) ** 2).sum() <= radius**2
        ]
        expected[m] = ((members[:S] + members[:1] * S) or [-1] + [0] * S)[:S]
    idx = zeros(30, S)
    sizes = (30, Z, Y, X, S, radius, z_range, y_range, x_range)
    tensors = [tensor(each) for each in (centers, xyz, coords, point_indices)]
    ops["stack"].voxel_query_wrapper(*sizes, *tensors, idx)
    assert np.array_equal(idx, expected)
    coords[3, 0] = 2
    with pytest.raises(mluop_omp.MluOpError, match=r"new_coords\[:, 0\]\[3\] is 2, expected 0"):
        ops["stack"].voxel_query_wrapper(*sizes, *tensors, idx)


def test_places_in_groups(ops):
    groups, out = torch.tensor([7, 2, 7, 7, 2]), torch.full((5,), -1)
    ops["ingroup"].forward(groups, out)
    assert out.tolist() == [0, 0, 1, 2, 1]


def test_voxels(ops):
    assert "projects.BEVFusion.bevfusion.ops.voxel.voxel_layer" in sys.modules
    points = torch.tensor([[0.5, 2.5, 1.5, 7], [9, 0, 0, 0], [0.5, 2.5, 1.5, 8], [3, 0, 0, 9]])
    size, limits = [1.0, 1.0, 1.0], [0, 0, 0, 4, 3, 2]
    voxels, coors, counts = torch.zeros(5, 2, 4), zeros(5, 3), zeros(5)
    arguments = (points, voxels, coors, counts, size, limits, 2, 5, 3, True)
    assert ops["voxel_layer"].hard_voxelize(*arguments) == 2
    assert coors[:2].tolist() == [[0, 2, 1], [3, 0, 0]] and counts[:2].tolist() == [2, 1]
    assert voxels[:2, :, 3].tolist() == [[7, 8], [9, 0]]
    cells = zeros(4, 3)
    ops["voxel_layer"].dynamic_voxelize(points, cells, size, limits, 3)
    assert cells.tolist() == [[0, 2, 1], [-1] * 3, [0, 2, 1], [3, 0, 0]]
    results = ops["voxel_layer"].dynamic_point_to_voxel_forward(points, cells, "max")
    assert results[0][:, 3].tolist() == [8, 9] and results[2].tolist() == [0, -1, 0, 1]
    grad = torch.zeros(4, 4)
    arguments = (torch.ones(2, 4), points, results[0], *results[2:], "max")
    ops["voxel_layer"].dynamic_point_to_voxel_backward(grad, *arguments)
    assert grad[:, 3].tolist() == [0, 0, 1, 1]


def test_boxes_of_the_plane(ops):
    # The second is the first, moved along its own x axis, which turns to -y, by half its length.
    x, y = 2 * math.cos(0.4), -2 * math.sin(0.4)
    boxes = torch.tensor(
        [
            *([0, 0, 4, 2, 0.4], [x, y, x + 4, y + 2, 0.4]),
            *([20, 0, 24, 2, 0], [0.5, 0, 4.5, 2, 0.4]),
        ]
    )
    overlaps = torch.zeros(2, 4)
    ops["iou3d_cuda"].boxes_overlap_bev_gpu(boxes[:2], boxes, overlaps)
    assert overlaps[:, :3].flatten().tolist() == pytest.approx([8, 4, 0, 4, 8, 0], abs=1e-5)
    ops["iou3d_cuda"].boxes_iou_bev_gpu(boxes[:2], boxes, overlaps)
    assert overlaps[:, :3].flatten().tolist() == pytest.approx([1, 1 / 3, 0, 1 / 3, 1, 0], abs=1e-6)
    for thresh, kept in ((0.3, [0, 2]), (0.34, [0, 1, 2])):
        keep = torch.zeros(4, dtype=torch.int64)
        assert ops["iou3d_cuda"].nms_gpu(boxes, keep, thresh, None) == len(kept)
        assert keep[: len(kept)].tolist() == kept
    assert ops["iou3d_cuda"].nms_normal_gpu(boxes[[0, 3, 2]], keep[:3], 0.7, None) == 2
    assert keep[:2].tolist() == [0, 2]


def test_boxes_of_space(ops):
    # w 1 along the angle 0, here x after the turn by pi / 2: l 3 along y.
    boxes, features = torch.tensor([[[5.0, 6, 1, 1, 3, 2, 0]]]), torch.arange(8.0).view(4, 2)
    points = torch.tensor([[[5.4, 7.4, 1], [5.6, 6, 2], [5, 7.6, 2], [4.6, 4.6, 2.9]]])
    inside = [1, 0, 0, 1]
    found = zeros(1, 4)
    ops["roiaware_pool3d_ext"].points_in_boxes_gpu(boxes, points, found)
    assert found.tolist() == [[each - 1 for each in inside]]
    ops["roiaware_pool3d_ext"].points_in_boxes_batch(boxes, points, found.view(1, 4, 1))
    assert found.tolist() == [inside]
    ops["roiaware_pool3d_ext"].points_in_boxes_cpu(boxes[0], points[0], found.zero_())
    assert found.tolist() == [inside]
    pooled, argmax, indices = torch.zeros(1, 3, 1, 2, 2), zeros(1, 3, 1, 2, 2), zeros(1, 3, 1, 2, 4)
    arguments = (argmax, indices, pooled)
    ops["roiaware_pool3d_ext"].forward(boxes[0], points[0], features, *arguments, 0)
    # Voxels lie along l: local x is -y, as the angle of l is the box's plus pi / 2.
    assert {(v, z): indices[0, v, 0, z, :2].tolist() for v, z in ((0, 0), (2, 1))} == {
        (0, 0): [1, 0],
        (2, 1): [1, 3],
    }
    assert indices.sum() == 5 and pooled[0, 2, 0, 1].tolist() == [6, 7]
    grad = torch.zeros(4, 2)
    ops["roiaware_pool3d_ext"].backward(indices, argmax, torch.ones_like(pooled), grad, 0)
    assert grad.tolist() == [[1, 1], [0, 0], [0, 0], [1, 1]]


@pytest.mark.parametrize(
    ("module", "function"),
    [
        ("stack", "vector_pool_wrapper"),
        ("stack", "query_three_nn_by_stacked_local_idxs_wrapper_stack"),
        ("sparse_conv_ext", "get_indice_pairs_grid_3d"),
        ("feature_decorator_ext", "feature_decorator_forward"),
    ],
)
def test_functions_without_a_kernel_say_so(ops, module, function):
    with pytest.raises(mluop_omp.MluOpError, match=f"{function} has no CPU kernel"):
        getattr(ops[module], function)(torch.zeros(1, 3))
