"""The extension modules of OpenPCDet and pointnet2_ops, called as their Python calls them.

The definitions are loops over points, boxes and voxels, as in the kernels.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch

import mluop_omp
import mluop_omp.pcdet
import mluop_omp.pointnet2

MODULES = {
    "iou3d": "pcdet.ops.iou3d_nms.iou3d_nms_cuda",
    "roiaware": "pcdet.ops.roiaware_pool3d.roiaware_pool3d_cuda",
    "roipoint": "pcdet.ops.roipoint_pool3d.roipoint_pool3d_cuda",
    "batch": "pcdet.ops.pointnet2.pointnet2_batch.pointnet2_batch_cuda",
    "stack": "pcdet.ops.pointnet2.pointnet2_stack.pointnet2_stack_cuda",
    "bev_pool": "pcdet.ops.bev_pool.bev_pool_ext",
    "ingroup": "pcdet.ops.ingroup_inds.ingroup_inds_cuda",
    "pointnet2": "pointnet2_ops._ext",
}
f32 = np.float32


@pytest.fixture
def ops():
    mluop_omp.pcdet.install()
    mluop_omp.pointnet2.install()
    torch.manual_seed(40)
    yield {key: sys.modules[name] for key, name in MODULES.items()}
    for name in MODULES.values():
        del sys.modules[name]


def tensor(array):
    return torch.from_numpy(np.ascontiguousarray(array))


def zeros(*shape):
    return torch.zeros(shape, dtype=torch.int32)


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
    assert np.array_equal(overlaps, mluop_omp.boxes_overlap_bev(a, b))
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


@pytest.mark.parametrize("normal", [False, True])
def test_nms(ops, rng, normal):
    boxes, thresh = boxes_of(rng, 90), 0.3
    keep = torch.zeros(90, dtype=torch.int64)
    function = "nms_normal_gpu" if normal else "nms_gpu"
    count = getattr(ops["iou3d"], function)(tensor(boxes), keep, thresh)
    ious = torch.zeros(90, 90)
    upright = np.hstack((boxes[:, :6], np.zeros((90, 1), f32))) if normal else boxes
    ops["iou3d"].boxes_iou_bev_gpu(tensor(upright), tensor(upright), ious)
    expected = []
    for box in range(90):
        if not (ious[expected, box] > thresh).any():
            expected.append(box)
    assert keep[:count].tolist() == expected and 0 < count < 90


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


def test_balls_and_groups(ops, rng):
    B, N, M, C, S, radius = 2, 40, 9, 5, 6, 1.2
    xyz, centers = (torch.randn(B, size, 3) for size in (N, M))
    features = torch.randn(B, C, N)
    idx = zeros(B, M, S)
    ops["batch"].ball_query_wrapper(B, N, M, radius, S, centers, xyz, idx)
    d2 = (centers[:, :, None] - xyz[:, None]).square().sum(3)
    for b in range(B):
        for m in range(M):
            members = (d2[b, m] < radius**2).nonzero().flatten().tolist()[:S]
            assert idx[b, m].tolist() == (members + members[:1] * S + [0] * S)[:S]
    assert torch.equal(ops["pointnet2"].ball_query(centers, xyz, radius, S), idx)

    expected = torch.stack([features[b][:, idx[b].long()] for b in range(B)])
    out = torch.empty(B, C, M, S)
    ops["batch"].group_points_wrapper(B, C, N, M, S, features, idx, out)
    assert torch.equal(out, expected)
    assert torch.equal(ops["pointnet2"].group_points(features, idx), expected)
    grad, sums = torch.randn(B, C, M, S), torch.zeros(B, C, N)
    for b in range(B):
        sums[b].index_add_(1, idx[b].flatten(), grad[b].flatten(1))
    ops["batch"].group_points_grad_wrapper(B, C, N, M, S, grad, idx, found := torch.zeros(B, C, N))
    torch.testing.assert_close(found, sums)
    torch.testing.assert_close(ops["pointnet2"].group_points_grad(grad, idx, N), sums)

    idx, grad = idx[..., 0].contiguous(), grad[..., 0].contiguous()
    ops["batch"].gather_points_wrapper(B, C, N, M, features, idx, out := torch.empty(B, C, M))
    assert torch.equal(out, expected[..., 0])
    assert torch.equal(ops["pointnet2"].gather_points(features, idx), out)
    ops["batch"].gather_points_grad_wrapper(B, C, N, M, grad, idx, found.zero_())
    assert torch.equal(found, ops["pointnet2"].gather_points_grad(grad, idx, N))
    torch.testing.assert_close(found.sum(2), grad.sum(2))


def test_interpolation(ops):
    B, N, M, C = 2, 17, 6, 4
    unknown, known, features = torch.randn(B, N, 3), torch.randn(B, M, 3), torch.randn(B, C, M)
    dist2, idx = torch.empty(B, N, 3), zeros(B, N, 3)
    ops["batch"].three_nn_wrapper(B, N, M, unknown, known, dist2, idx)
    nearest = (unknown[:, :, None] - known[:, None]).square().sum(3).topk(3, largest=False)
    torch.testing.assert_close(dist2, nearest.values)
    assert torch.equal(idx.long(), nearest.indices)
    found = ops["pointnet2"].three_nn(unknown, known)
    assert torch.equal(found[0], dist2) and torch.equal(found[1], idx)

    weight, grad, out = torch.randn(B, N, 3), torch.randn(B, C, N), torch.empty(B, C, N)
    variable = features.clone().requires_grad_()
    expected = torch.stack([(variable[b][:, idx[b].long()] * weight[b]).sum(2) for b in range(B)])
    ops["batch"].three_interpolate_wrapper(B, C, M, N, features, idx, weight, out)
    torch.testing.assert_close(out, expected)
    assert torch.equal(ops["pointnet2"].three_interpolate(features, idx, weight), out)
    (sums,) = torch.autograd.grad(expected, variable, grad)
    found = torch.zeros(B, C, M)
    ops["batch"].three_interpolate_grad_wrapper(B, C, N, M, grad, idx, weight, found)
    torch.testing.assert_close(found, sums)
    of_pointnet2 = ops["pointnet2"].three_interpolate_grad(grad, idx, weight, M)
    assert torch.equal(of_pointnet2, found)


def test_stacked_balls_and_groups(ops):
    C, S, radius = 5, 4, 1.0
    counts, centers_of = torch.tensor([20, 9]).int(), torch.tensor([4, 6]).int()
    xyz, centers, features = torch.randn(29, 3), torch.randn(10, 3), torch.randn(29, C)
    centers[3] = 50
    idx = zeros(10, S)
    ops["stack"].ball_query_wrapper(2, 10, radius, S, centers, centers_of, xyz, counts, idx)
    for m in range(10):
        start, stop = (0, 20) if m < 4 else (20, 29)
        d2 = (centers[m] - xyz[start:stop]).square().sum(1)
        members = (d2 < radius**2).nonzero().flatten().tolist()[:S]
        assert idx[m].tolist() == ((members + members[:1] * S) or [-1] + [0] * S)[:S]
    idx[idx[:, 0] == -1] = 0

    rows = idx.long() + torch.tensor([0] * 4 + [20] * 6).unsqueeze(1)
    out, grad, sums = torch.empty(10, C, S), torch.randn(10, C, S), torch.zeros(29, C)
    sums.index_add_(0, rows.flatten(), grad.transpose(1, 2).reshape(-1, C))
    ops["stack"].group_points_wrapper(2, 10, C, S, features, counts, idx, centers_of, out)
    assert torch.equal(out, features[rows].transpose(1, 2))
    arguments = (grad, idx, centers_of, counts, found := torch.zeros(29, C))
    ops["stack"].group_points_grad_wrapper(2, 10, C, 29, S, *arguments)
    torch.testing.assert_close(found, sums)


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


def test_bev_pool(ops):
    x, geom = torch.ones(4, 2), torch.tensor([[0, 1, 0, 0]] * 3 + [[1, 0, 0, 0]])
    lengths, starts = torch.tensor([3, 1]).int(), torch.tensor([0, 3]).int()
    arguments = (geom, lengths, starts, 1, 1, 2, 2)
    out = ops["bev_pool"].bev_pool_forward(x, *arguments)
    assert out[0, 0, :, :, 0].tolist() == [[0, 3], [1, 0]]
    grad = ops["bev_pool"].bev_pool_backward(out, *arguments)
    assert grad.tolist() == [[3, 3]] * 3 + [[1, 1]]


def test_places_in_groups(ops):
    groups, out = torch.tensor([7, 2, 7, 7, 2]), torch.full((5,), -1)
    ops["ingroup"].forward(groups, out)
    assert out.tolist() == [0, 0, 1, 2, 1]


def test_functions_without_a_kernel_say_so(ops):
    for name in ("vector_pool_wrapper", "query_three_nn_by_stacked_local_idxs_wrapper_stack"):
        with pytest.raises(mluop_omp.MluOpError, match=rf"{name} has no CPU kernel"):
            getattr(ops["stack"], name)(torch.zeros(1, 3))


def test_empty_inputs(ops):
    found = torch.zeros(0, 3)
    ops["iou3d"].boxes_iou_bev_gpu(torch.zeros(0, 7), torch.zeros(3, 7), found)
    ops["iou3d"].boxes_aligned_overlap_bev_gpu(torch.zeros(0, 7), torch.zeros(0, 7), found[:, :1])
    assert ops["iou3d"].nms_gpu(torch.zeros(0, 7), torch.zeros(0, dtype=torch.int64), 0.5) == 0
    none = torch.zeros(0, 3)
    sizes = (0, 2, 2, 2, 4, 1.0, 1, 1, 1)
    voxels = zeros(1, 2, 2, 2) - 1
    ops["stack"].voxel_query_wrapper(*sizes, none, none, zeros(0, 4), voxels, zeros(0, 4))
