"""The extension modules of BEVFusion, called as its Python calls them."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
import torch
from test_pcdet import sample_by_definition, tensor, zeros

import mluop_omp
import mluop_omp.bevfusion


@pytest.fixture
def ops():
    mluop_omp.bevfusion.install()
    torch.manual_seed(40)
    names = [f"mmdet3d.ops.{name}" for name in mluop_omp.bevfusion._MODULES]
    yield {name.rpartition(".")[2]: sys.modules[name] for name in names}
    for name in names:
        del sys.modules[name]


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


def test_points(ops, rng):
    B, N, M, S, C = 1, 30, 4, 5, 3
    xyz, features = rng.integers(-3, 4, (B, N, 3)).astype(np.float32), torch.randn(B, C, N)
    sample, temp = zeros(B, M), torch.full((B, N), 1e10)
    sampling = ops["furthest_point_sample_ext"]
    sampling.furthest_point_sampling_wrapper(B, N, M, tensor(xyz), temp, sample)
    assert sample[0].tolist() == sample_by_definition(xyz[0], M, 1024, False)
    dist = torch.cdist(tensor(xyz), tensor(xyz)).square().round()
    found = zeros(B, M)
    sampling.furthest_point_sampling_with_dist_wrapper(B, N, M, dist, temp, found)
    assert torch.equal(found, sample)

    centers = tensor(xyz)[:, sample[0].long()]
    idx = zeros(B, M, S)
    arguments = (B, N, M, 1.5, 3.0, S, centers, tensor(xyz), idx)
    ops["ball_query_ext"].ball_query_wrapper(*arguments)
    for m in range(M):
        d2 = dist[0, sample[0, m]]
        members = ((d2 == 0) | ((d2 >= 2.25) & (d2 < 9))).nonzero().flatten().tolist()
        assert idx[0, m].tolist() == (members[:S] + members[:1] * S)[:S]
    grouped = torch.zeros(B, C, M, S)
    ops["group_points_ext"].forward(B, C, N, M, S, features, idx, grouped)
    assert torch.equal(grouped[0], features[0][:, idx[0].long()])
    grads = torch.zeros(B, C, N), torch.zeros(B, C, N)
    ops["group_points_ext"].backward(B, C, N, M, S, grouped, idx, grads[0])
    grads[1][0].index_add_(1, idx.flatten(), grouped[0].flatten(1))
    torch.testing.assert_close(*grads)
    gathered = torch.zeros(B, C, M)
    ops["gather_points_ext"].gather_points_wrapper(B, C, N, M, features, sample, gathered)
    assert torch.equal(gathered[0], features[0][:, sample[0].long()])
    ops["gather_points_ext"].gather_points_grad_wrapper(
        B, C, N, M, gathered, sample, grads[0].zero_()
    )
    assert torch.equal(grads[0].sum(2), gathered.sum(2))

    known = torch.randn(B, N, 3)
    idx, dist2 = zeros(B, M, 3), torch.zeros(B, M, 3)
    ops["knn_ext"].knn_wrapper(B, N, M, 3, known, centers, idx, dist2)
    nearest = (centers[:, :, None] - known[:, None]).square().sum(3).topk(3, largest=False)
    assert torch.equal(idx.long(), nearest.indices)
    ops["interpolate_ext"].three_nn_wrapper(B, M, N, centers, known, dist2, found := zeros(B, M, 3))
    assert torch.equal(found, idx)
    weight, out = torch.rand(B, M, 3), torch.zeros(B, C, M)
    arguments = (features, idx, weight, out)
    ops["interpolate_ext"].three_interpolate_wrapper(B, C, N, M, *arguments)
    torch.testing.assert_close(out[0], (features[0][:, idx[0].long()] * weight[0]).sum(2))


def test_scores(ops):
    B, N, P, M, K, C = 1, 6, 3, 2, 4, 5
    shapes = ((B, N, M, C), (B, N, M, C), (B, P, K, M))
    points, centers, scores = (torch.randn(shape, requires_grad=True) for shape in shapes)
    idx = torch.randint(0, N, (B, P, K))
    at, of = points[0][idx[0]], centers[0][idx[0][:, :1]]
    expected = torch.einsum("pkm,pkmc->cpk", scores[0], at - of).unsqueeze(0)
    inputs, output = [each.detach() for each in (points, centers, scores)], torch.zeros(B, C, P, K)
    module = ops["assign_score_withk_ext"]
    module.assign_score_withk_forward_wrapper(B, N, P, M, K, C, 0, *inputs, idx, output)
    torch.testing.assert_close(output, expected)
    grads = [torch.zeros_like(each) for each in inputs]
    arguments = (torch.ones_like(output), *inputs, idx, *grads)
    module.assign_score_withk_backward_wrapper(B, N, P, M, K, C, 0, *arguments)
    torch.testing.assert_close(
        grads, list(torch.autograd.grad(expected.sum(), (points, centers, scores)))
    )


def test_sparse_convolution(ops):
    module = ops["sparse_conv_ext"]
    dense = torch.randn(1, 4, 5, 6, 2)
    mask = torch.rand(1, 4, 5, 6) < 0.5
    sites, features = mask.nonzero().int(), dense[mask]
    dense = dense * mask.unsqueeze(-1)
    filters = torch.randn(3, 3, 3, 2, 3)
    shape, three, one = [4, 5, 6], [3, 3, 3], [1, 1, 1]
    geometry = (sites, 1, shape, shape, three, one, one, one, [0, 0, 0], 1, 0)
    out_sites, pairs, num = module.get_indice_pairs_3d(*geometry)
    assert torch.equal(out_sites, sites)
    found = module.indice_conv_fp32(features, filters, pairs, num, len(sites), 0, 1)
    weight = filters.permute(4, 3, 0, 1, 2)
    expected = torch.nn.functional.conv3d(dense.permute(0, 4, 1, 2, 3), weight, padding=1)
    expected = expected.permute(0, 2, 3, 4, 1)[mask]
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    grads = module.indice_conv_backward_fp32(
        features, filters, torch.ones_like(found), pairs, num, 0, 1
    )
    assert [each.shape for each in grads] == [features.shape, filters.shape]
    half = module.indice_conv_half(features.half(), filters.half(), pairs, num, len(sites), 0, 1)
    torch.testing.assert_close(half.float(), expected, rtol=0.05, atol=0.05)


def test_functions_without_a_kernel_say_so(ops):
    functions = {
        "sparse_conv_ext": "get_indice_pairs_grid_3d",
        "feature_decorator_ext": "feature_decorator_forward",
    }
    for module, function in functions.items():
        with pytest.raises(mluop_omp.MluOpError, match=f"{function} has no CPU kernel"):
            getattr(ops[module], function)(torch.zeros(1, 3))
