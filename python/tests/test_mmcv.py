"""mmcv's classes on CPUs, with mmcv-lite: forward and backward."""

from __future__ import annotations

import importlib
import math
import subprocess
import sys

import cases
import pytest
import test_boxes
import torch
import torch.nn.functional as F
from torch import nn

import mluop_omp
import mluop_omp.torch as mt
from mluop_omp.torch import rulebooks

pytest.importorskip("mmcv", reason="requires mmcv-lite")
importlib.import_module("mluop_omp.mmcv.auto")
ops = importlib.import_module("mmcv.ops")


def gradients(outputs, variables):
    return torch.autograd.grad(outputs.square().sum(), variables)


def test_three_nn_and_three_interpolate():
    unknown, known = cases.floats(2, 9, 3), cases.floats(2, 6, 3) / 2
    distance, idx = ops.three_nn(unknown, known)
    dist2, expected_idx = mt.three_nn(unknown, known)
    torch.testing.assert_close(distance, dist2.sqrt())
    assert torch.equal(idx, expected_idx)
    feats, weight = cases.floats(2, 4, 6).requires_grad_(), cases.floats(2, 9, 3)
    actual = ops.three_interpolate(feats, idx, weight)
    expected = mt.three_interpolate(feats, idx, weight)
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(gradients(actual, feats), gradients(expected, feats))


def test_three_interpolate_in_double():
    feats, idx, weight = cases.arguments("three_interpolate")
    doubles = feats.double().requires_grad_(), idx, weight.double()
    actual = ops.three_interpolate(*doubles)
    torch.testing.assert_close(actual.float(), mt.three_interpolate(feats, idx, weight))
    assert torch.autograd.gradcheck(lambda f: ops.three_interpolate(f, *doubles[1:]), doubles[0])


def test_ball_query():
    new_xyz, xyz, *_ = cases.arguments("ball_query")
    actual = ops.ball_query(0, 1.0, 4, xyz, new_xyz)
    assert torch.equal(actual, mt.ball_query(new_xyz, xyz, 0, 1.0, 4))


def test_points_sampler():
    points, features = cases.floats(2, 40, 3), cases.floats(2, 5, 40)
    sampler = ops.PointsSampler([6, 4], ["FS", "D-FPS"], [30, -1])
    both = torch.cat((points[:, :30], features[..., :30].transpose(1, 2)), 2)
    expected = [
        mt.furthest_point_sample_with_dist(torch.cdist(both, both).square(), 6),
        mt.furthest_point_sample(points[:, :30], 6),
        mt.furthest_point_sample(points[:, 30:], 4) + 30,
    ]
    assert torch.equal(sampler(points, features), torch.cat(expected, 1))
    # The name that other modules have copied.
    for each in (points, points.half(), points.bfloat16(), points.transpose(0, 1)):
        found = ops.furthest_point_sample(each, 5)
        assert found.dtype is torch.int32
        assert torch.equal(found, mt.furthest_point_sample(each.float(), 5))
    assert ops.furthest_point_sample(points, 0).shape == (2, 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gather_points(dtype):
    feats, idx = cases.arguments("gather_points")
    feats = feats.to(dtype).requires_grad_()
    groups = idx.view(2, 3, 3)
    for actual, expected in (
        (ops.gather_points(feats, idx), mt.gather_points(feats, idx)),
        (ops.grouping_operation(feats, groups), mt.gather_points(feats, groups)),
        (ops.grouping_operation(feats.mT.contiguous().mT, groups), mt.gather_points(feats, groups)),
    ):
        assert torch.equal(actual, expected)
        torch.testing.assert_close(gradients(actual, feats), gradients(expected, feats))


def test_stacked_clouds():
    centers, centers_cnt, xyz, cnt, radius, nsample = cases.arguments("stack_ball_query")
    idx = ops.ball_query(0, radius, nsample, xyz, centers, cnt, centers_cnt)
    assert torch.equal(idx, mt.stack_ball_query(centers, centers_cnt, xyz, cnt, radius, nsample))
    feats, feats_cnt, idx, idx_cnt = cases.with_gradients("stack_group_points")
    actual = ops.grouping_operation(feats, idx, feats_cnt, idx_cnt)
    expected = mt.stack_group_points(feats, feats_cnt, idx, idx_cnt)
    assert torch.equal(actual, expected)
    torch.testing.assert_close(gradients(actual, feats), gradients(expected, feats))


def test_assign_score_withk():
    scores, points, centers, knn_idx = cases.with_gradients("assign_score_withk")
    for aggregate in ("sum", "avg", "max"):  # It has no effect.
        actual = ops.assign_score_withk(scores, points, centers, knn_idx.long(), aggregate)
        expected = mt.assign_score_withk(scores, points, centers, knn_idx)
        assert torch.equal(actual, expected)
        tensors = scores, points, centers
        torch.testing.assert_close(gradients(actual, tensors), gradients(expected, tensors))


@pytest.mark.parametrize("name", ["DeformConv2dPack", "ModulatedDeformConv2dPack"])
@pytest.mark.parametrize("groups", [1, 2])
def test_deform_conv(name, groups):
    layer = getattr(ops, name)(4, 6, 3, stride=2, padding=1, groups=groups, deform_groups=groups)
    torch.nn.init.normal_(layer.conv_offset.weight, generator=cases.generator())
    image = cases.floats(2, 4, 9, 8).requires_grad_()
    actual, offset, mask = layer(image), layer.conv_offset(image), None
    if name.startswith("Modulated"):
        *offsets, mask = offset.chunk(3, 1)
        offset, mask = torch.cat(offsets, 1), mask.sigmoid()
    weight, bias = layer.weight, getattr(layer, "bias", None)
    geometry = ((2, 2), (1, 1), (1, 1), groups, groups)
    expected = mt.deform_conv2d(image, offset, weight, mask, bias, *geometry)
    assert torch.equal(actual, expected)
    tensors = (image, *layer.parameters())
    torch.testing.assert_close(gradients(actual, tensors), gradients(expected, tensors))


@pytest.mark.parametrize("name", ["DeformConv2dPack", "ModulatedDeformConv2dPack"])
def test_deform_conv_under_autocast(name):
    """The type of the offsets."""
    torch.manual_seed(0)
    layer = getattr(ops, name)(4, 6, 3, stride=2, padding=1)
    torch.nn.init.normal_(layer.conv_offset.weight, 0, 0.02, generator=cases.generator())
    image = cases.floats(2, 4, 9, 8).requires_grad_()
    losses, found = [], []
    for autocast in (False, True):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            output = layer(image)
        assert output.dtype is (torch.bfloat16 if autocast else torch.float32)
        losses.append(output.float().square().mean())
        found.append(torch.autograd.grad(losses[-1], (image, *layer.parameters())))
    torch.testing.assert_close(losses[1], losses[0], rtol=2e-2, atol=0)
    for each, right in zip(found[1], found[0]):
        assert each.dtype is torch.float32
        torch.testing.assert_close(
            each / right.abs().max(), right / right.abs().max(), rtol=0, atol=5e-2
        )


def test_sparse_max_pooling():
    sites = cases.sites(30)
    feats = cases.floats(30, 4).requires_grad_()
    pooled = ops.SparseMaxPool3d(2, 2)(ops.SparseConvTensor(feats, sites, cases.SPACE, 2))
    dense = ops.SparseConvTensor(feats.clamp(min=0), sites, cases.SPACE, 2).dense()
    expected = torch.nn.functional.max_pool3d(dense, 2, 2)
    assert torch.equal(pooled.dense(), expected)
    grad = torch.autograd.grad(pooled.features.sum(), feats)[0]
    assert grad.sum() == (pooled.features > 0).sum()


@pytest.mark.parametrize("name", ["gather_points_backward", "group_points_backward"])
def test_gradients_are_added(name):
    function = getattr(importlib.import_module("mmcv._ext"), name)
    grad, idx = torch.tensor([[[1.0, 2, 4]]]), torch.tensor([[1, 1, 0]], dtype=torch.int32)
    if name == "group_points_backward":
        grad, idx = grad[..., None], idx[..., None]
    for dtype in (torch.float32, torch.half, torch.bfloat16):
        sums = torch.tensor([[[10, 20, 30]]], dtype=dtype)
        function(grad.to(dtype), idx, sums, b=1, c=1, n=3, npoints=3)
        assert sums.tolist() == [[[14, 23, 30]]]
    with pytest.raises(mluop_omp.MluOpError, match="grad_points_tensor has shape"):
        function(grad, idx, torch.zeros(2, 1, 3), b=1, c=1, n=3, npoints=3)
    with pytest.raises(mluop_omp.MluOpError, match="indices"):
        function(grad, idx, sums[..., :1], b=1, c=1, n=1, npoints=3)


def test_knn():
    xyz, centers, k = cases.arguments("knn")
    expected = mt.knn(xyz, centers, k)[1].transpose(1, 2)
    for found in (
        ops.knn(k, xyz, centers),
        ops.knn(k, xyz.mT.contiguous(), centers.mT.contiguous(), True),
        ops.knn(k, xyz.mT.contiguous().mT, centers),
        ops.knn(k, xyz.double().float(), centers.requires_grad_()),
    ):
        assert found.dtype is torch.int32 and found.is_contiguous()
        assert torch.equal(found, expected)
    assert torch.equal(ops.knn(3, xyz), mt.knn(xyz, xyz, 3)[1].transpose(1, 2))
    halves = ops.knn(k, xyz.half(), centers.half())
    assert torch.equal(halves, mt.knn(xyz.half().float(), centers.half().float(), k)[1].mT)
    grouped = ops.QueryAndGroup(None, k)(xyz, centers.detach(), cases.floats(2, 5, 20))
    assert grouped.shape == (2, 8, 5, k)


def test_both_orders_of_the_arguments_of_knn():
    function = importlib.import_module("mmcv._ext").knn_forward
    xyz, centers, k = cases.arguments("knn")
    numbers = 2, 20, 5, k
    for after in (True, False):
        idx, dist2 = torch.zeros(2, 5, k, dtype=torch.int32), torch.zeros(2, 5, k)
        tensors = xyz, centers, idx, dist2
        function(*(tensors + numbers if after else numbers + tensors))
        expected_dist2, expected = mt.knn(xyz, centers, k)
        assert torch.equal(idx, expected) and torch.equal(dist2, expected_dist2)


@pytest.mark.parametrize("name", ["knn", "three_nn"])
def test_neighbors_of_features_are_those_of_rows_of_three(name):
    """As of mmcv's kernels, with whose neighbors DGCNN and SA-SSD have been trained."""

    def neighbors(points):
        return ops.knn(4, points) if name == "knn" else torch.stack(ops.three_nn(points, points))

    feats = cases.floats(2, 9, 8)
    points = feats.flatten()[:54].view(2, 9, 3)
    assert torch.equal(neighbors(feats), neighbors(points))
    with pytest.raises(mluop_omp.MluOpError, match="has 2 columns, expected x, y and z"):
        neighbors(feats[..., :2])


def test_points_in_boxes():
    points, boxes = cases.arguments("points_in_boxes_all")
    part, all_of = mt.points_in_boxes_part(points, boxes), mt.points_in_boxes_all(points, boxes)
    assert (part >= 0).any() and (part < 0).any()
    for each in (points, points.transpose(0, 1).contiguous().transpose(0, 1)):
        assert torch.equal(ops.points_in_boxes_part(each, boxes), part)
        assert torch.equal(ops.points_in_boxes_all(each, boxes), all_of)
        assert torch.equal(ops.points_in_boxes_cpu(each, boxes), all_of)
    rounded = points.half(), boxes.half()
    expected = mt.points_in_boxes_part(*(each.float() for each in rounded))
    assert torch.equal(ops.points_in_boxes_part(*rounded), expected)
    assert (ops.points_in_boxes_part(points, boxes[:, :0]) == -1).all()
    assert ops.points_in_boxes_all(points, boxes[:, :0]).shape == (2, 20, 0)


COPIES = """
import sys, types, torch
extension = types.ModuleType("mmcv._ext")
extension.__getattr__ = lambda name: None
sys.modules["mmcv._ext"] = extension
import mmcv.ops
user = types.ModuleType("user")
exec("from mmcv.ops import furthest_point_sample, knn, points_in_boxes_all", vars(user))
exec("from mmcv.ops import points_in_boxes_part, masked_conv2d", vars(user))
sys.modules["user"] = user
import mluop_omp.mmcv.auto
points = torch.rand(1, 9, 3)
assert user.furthest_point_sample(points, 9).unique().numel() == 9
assert user.knn(1, points).flatten().tolist() == list(range(9))
boxes = torch.tensor([[[0.5, 0.5, -1, 9, 9, 9, 0]]])
assert not user.points_in_boxes_part(points, boxes).any()
assert user.points_in_boxes_all(points, boxes).all()
assert user.masked_conv2d is mmcv.ops.masked_conv2d
original = mmcv.ops.points_in_boxes_all.original
assert original.__module__ == "mmcv.ops.points_in_boxes"
mluop_omp.mmcv.install()
assert user.points_in_boxes_all.original is original
"""


def test_modules_that_have_imported_functions_before():
    subprocess.run([sys.executable, "-c", COPIES], check=True, timeout=120)


def test_box_iou_rotated():
    first, second, *_ = cases.arguments("box_iou_rotated")
    for mode in ("iou", "iof"):
        for boxes, aligned in ((second, False), (first.flip(0), True)):
            expected = mt.box_iou_rotated(first, boxes, mode, aligned)
            for a, b in ((first, boxes), (first.t().contiguous().t(), boxes.t().contiguous().t())):
                assert torch.equal(ops.box_iou_rotated(a, b, mode, aligned), expected)
            halves = ops.box_iou_rotated(first.half(), boxes.half(), mode, aligned)
            assert halves.dtype is torch.half
            torch.testing.assert_close(halves.float(), expected, rtol=1e-2, atol=1e-2)
    assert ops.box_iou_rotated(first[:0], second).shape == (0, len(second))


def test_box_iou_rotated_writes_outputs_of_two_dimensions():
    first, second, *_ = cases.arguments("box_iou_rotated")
    ious = torch.full((len(second), len(first)), torch.nan).t()
    extension = importlib.import_module("mmcv._ext")
    extension.box_iou_rotated(first, second, ious, mode_flag=0, aligned=False)
    assert torch.equal(ious, mt.box_iou_rotated(first, second))
    with pytest.raises(mluop_omp.MluOpError, match="ious has 2 elements, expected 63"):
        extension.box_iou_rotated(first, second, ious[0, :2], mode_flag=0, aligned=False)
    with pytest.raises(mluop_omp.MluOpError, match="mode is 2, expected one of iou, iof"):
        extension.box_iou_rotated(first, second, ious, mode_flag=2, aligned=False)


def test_the_direction_of_angles():
    a, b, _ = test_boxes.EXAMPLES["direction"]
    boxes, scores = torch.tensor([a, b]), torch.tensor([0.5, 0.9])
    for clockwise, iou, kept in ((True, 0, [1, 0]), (False, 0.3687586, [1])):
        found = ops.box_iou_rotated(boxes[:1], boxes[1:], clockwise=clockwise)
        torch.testing.assert_close(found, torch.tensor([[iou]], dtype=torch.float32))
        dets, keep = ops.nms_rotated(boxes, scores, 0.3, clockwise=clockwise)
        assert keep.tolist() == kept
        assert torch.equal(dets, torch.cat((boxes, scores[:, None]), 1)[keep])


@pytest.mark.parametrize("threshold", [0.3, 0.7])
def test_nms_rotated(threshold):
    boxes, scores = torch.tensor(test_boxes.NMS_BOXES), torch.tensor(test_boxes.NMS_SCORES)
    kept = test_boxes.NMS_KEPT[threshold]
    labels = torch.arange(6)
    for each in (boxes, boxes.t().contiguous().t(), boxes.bfloat16()):
        for options in ({}, {"labels": labels}):
            dets, keep = ops.nms_rotated(each, scores, threshold, **options)
            assert keep.dtype is torch.int64 and keep.tolist() == kept
            assert torch.equal(dets, torch.cat((each[keep], scores[keep, None]), 1))
    dets, keep = ops.nms_rotated(boxes[:0], scores[:0], threshold)
    assert dets.shape == (0, 5) and keep is None
    # batched_nms moves the boxes of each class to a place of their own.
    _, keep = ops.batched_nms(boxes, scores, labels, {"type": "nms_rotated", "iou_threshold": 0.3})
    assert sorted(keep.tolist()) == list(range(6))


@pytest.mark.parametrize("method", test_boxes.SOFT_NMS_CHOSEN)
def test_soft_nms(method):
    boxes = torch.tensor(test_boxes.SOFT_NMS_BOXES, dtype=torch.float32)
    scores = torch.tensor(test_boxes.SOFT_NMS_SCORES)
    for each in (boxes, boxes.t().contiguous().t(), boxes.bfloat16()):
        dets, inds = ops.soft_nms(each, scores, 0.3, 0.5, 1e-3, method)
        expected_dets, expected_inds = mt.soft_nms(boxes, scores, 0.3, 0.5, 1e-3, method)
        assert inds.dtype is torch.int64 and inds.tolist() == expected_inds.tolist()
        assert torch.equal(dets, expected_dets.to(each.dtype))
    dets, inds = ops.soft_nms(boxes[:0], scores[:0], method=method)
    assert dets.shape == (0, 5) and inds.shape == (0,)
    extension = importlib.import_module("mmcv._ext")
    dets = torch.zeros(3, 5)
    with pytest.raises(mluop_omp.MluOpError, match="dets has shape"):
        extension.softnms(boxes, scores, dets, 0.3, 0.5, 1e-3, method=1, offset=0)
    with pytest.raises(mluop_omp.MluOpError, match="method is 3, expected one of"):
        extension.softnms(boxes[:3], scores[:3], dets, 0.3, 0.5, 1e-3, method=3, offset=0)


def test_nms_match():
    dets = torch.tensor(test_boxes.MATCHED)
    for each in (dets, dets.t().contiguous().t()):
        groups = ops.nms_match(each, 0.5)
        assert [group.tolist() for group in groups] == test_boxes.GROUPS[0.5]
    groups = ops.nms_match(dets.numpy(), 0.5)
    assert [group.tolist() for group in groups] == test_boxes.GROUPS[0.5]
    assert ops.nms_match(dets[:0], 0.5) == []
    assert importlib.import_module("mmcv._ext").nms_match(dets[:0], 0.5) == []


@pytest.mark.parametrize(("threshold", "offset"), [(0.3, 0), (0.65, 0), (0.65, 1)])
def test_nms(threshold, offset):
    boxes, scores = torch.tensor(test_boxes.CORNERS).float(), torch.tensor(test_boxes.CORNER_SCORES)
    kept = test_boxes.CORNERS_KEPT[threshold, offset]
    for each in (boxes, boxes.t().contiguous().t(), boxes.half(), boxes.bfloat16()):
        dets, keep = ops.nms(each, scores, threshold, offset)
        assert keep.dtype is torch.int64 and keep.tolist() == kept
        assert torch.equal(dets, torch.cat((each[keep], scores[keep, None]), 1))
    _, keep = ops.nms(boxes, scores, threshold, offset, score_threshold=0.85)
    assert keep.tolist() == [0]
    dets, keep = ops.nms(boxes[:0], scores[:0], threshold, offset)
    assert dets.shape == (0, 5) and keep.shape == (0,)


def test_batched_nms():
    boxes, scores, *_ = cases.arguments("nms", N=60)
    labels = cases.integers(0, 3, 60)
    dets, keep = ops.batched_nms(boxes, scores, labels, {"type": "nms", "iou_threshold": 0.3})
    members = [(labels == label).nonzero()[:, 0] for label in range(3)]
    kept = torch.cat([each[mt.nms(boxes[each], scores[each], 0.3)] for each in members])
    assert torch.equal(keep, kept[scores[kept].argsort(descending=True)])
    assert torch.equal(dets, torch.cat((boxes, scores[:, None]), 1)[keep])


@pytest.mark.parametrize(
    ("dtype", "kept"), [(torch.float, [0]), (torch.bfloat16, [0]), (torch.half, [0, 1])]
)
def test_batched_nms_beyond_half(dtype, kept):
    boxes = torch.tensor([[0, 0, 1000, 1000]] * 2, dtype=dtype)
    scores, labels = torch.tensor([0.9, 0.8], dtype=dtype), torch.tensor([66, 66])
    _, keep = ops.batched_nms(boxes, scores, labels, {"type": "nms", "iou_threshold": 0.5})
    assert keep.tolist() == kept


def test_nms_rotated_does_not_read_labels():
    boxes = torch.tensor([[0, 0, 4, 2, 0], [0, 0, 4, 2, 0.1]])
    scores, labels = torch.tensor([0.7, 0.9]), torch.tensor([1, 0])
    assert ops.nms_rotated(boxes, scores, 0.5, labels=labels)[1].tolist() == [1]
    _, keep = ops.batched_nms(boxes, scores, labels, {"type": "nms_rotated", "iou_threshold": 0.5})
    assert keep.tolist() == [1, 0]


@pytest.mark.parametrize("name", ["nms3d", "nms3d_normal"])
def test_nms3d(name):
    boxes, scores, threshold = cases.arguments(name)
    expected = getattr(mt, name)(boxes, scores, threshold)
    assert 1 < len(expected) < len(boxes)
    for each in (boxes, boxes.t().contiguous().t()):
        keep = getattr(ops, name)(each, scores, threshold)
        assert keep.dtype is torch.int64 and torch.equal(keep, expected.long())
    rounded = boxes.bfloat16()
    expected = getattr(mt, name)(rounded.float(), scores, threshold)
    assert torch.equal(getattr(ops, name)(rounded, scores, threshold), expected.long())
    assert getattr(ops, name)(boxes[:0], scores[:0], threshold).shape == (0,)


@pytest.mark.parametrize("name", ["iou3d_nms3d_forward", "iou3d_nms3d_normal_forward"])
def test_what_is_past_the_kept_boxes_is_left(name):
    function = getattr(importlib.import_module("mmcv._ext"), name)
    boxes = torch.tensor([[0.0, 0, 0, 4, 2, 1, 0], [0.5, 0, 0, 4, 2, 1, 0], [9, 0, 0, 4, 2, 1, 0]])
    keep, num_out = torch.full((3,), 7), torch.tensor(7)
    function(boxes, keep, num_out, nms_overlap_thresh=0.5)
    assert keep.tolist() == [0, 2, 7] and num_out.item() == 2
    with pytest.raises(mluop_omp.MluOpError, match=r"keep has shape \[2\], expected \[3\]"):
        function(boxes, keep[:2], num_out, nms_overlap_thresh=0.5)


def test_overlaps_of_boxes():
    first = torch.tensor([[0, 0, 0, 4, 2, 1.5, math.pi / 6]])
    second = torch.tensor([[1, 0.5, 0.5, 4, 2, 1.5, -math.pi / 6]])
    overlap = torch.tensor([[4.0514428415]])
    torch.testing.assert_close(ops.boxes_overlap_bev(first, second), overlap)
    torch.testing.assert_close(ops.boxes_iou3d(first, second), overlap / (24 - overlap))
    boxes_a, boxes_b = cases.arguments("boxes_overlap_bev")
    expected = mt.boxes_overlap_bev(boxes_a, boxes_b)
    assert torch.equal(ops.boxes_overlap_bev(boxes_a.t().contiguous().t(), boxes_b), expected)
    halves = ops.boxes_overlap_bev(boxes_a.half(), boxes_b.half())
    torch.testing.assert_close(halves.float(), expected, rtol=1e-2, atol=1e-2)
    assert ops.boxes_iou3d(boxes_a[:0], boxes_b).shape == (0, len(boxes_b))


@pytest.mark.parametrize("average", [True, False])
def test_dynamic_scatter(average):
    feats, coors, _ = cases.with_gradients("dynamic_scatter")
    module = ops.DynamicScatter([1, 1, 1], [0, 0, 0, 3, 3, 3], average)
    actual, voxels = module(feats, coors)
    expected, expected_voxels, _, _ = mt.dynamic_scatter(feats, coors, "mean" if average else "max")
    torch.testing.assert_close(actual, expected)
    assert torch.equal(voxels, expected_voxels)
    torch.testing.assert_close(gradients(actual, feats), gradients(expected, feats))


def test_dynamic_scatter_in_double():
    feats = torch.tensor([[16777217.0], [1.0]], dtype=torch.float64)
    coors = torch.zeros(2, 3, dtype=torch.int64)
    maxima, voxels = ops.DynamicScatter([1, 1, 1], [0, 0, 0, 3, 3, 3], False)(feats, coors)
    assert maxima.item() == 16777217 and maxima.dtype is torch.float64
    assert voxels.dtype is torch.int64
    coors = cases.integers(0, 2, 12, 3)
    feats = cases.floats(12, 2).double().requires_grad_()
    for reduce in ("max", "mean"):
        assert torch.autograd.gradcheck(
            lambda f, r=reduce: ops.dynamic_scatter(f, coors, r)[0], feats
        )
    with pytest.raises(mluop_omp.MluOpError, match=r"coors\[1, 2\] is 4294967296"):
        coors = torch.tensor([[0, 0, 0], [0, 0, 2**32]])
        ops.dynamic_scatter(feats[:2], coors, "max")


def test_extents_of_a_half_cell_are_rounded_away_from_zero():
    module = ops.Voxelization([0.5, 0.5, 8], [0, -2, -3, 4, 2, 1], -1)
    points = torch.tensor([[0.6, 0.1, 0.0], [0.0, -2.0, -3.0], [4.0, 0.0, 0.0]])
    assert module(points).tolist() == [[0, 4, 1], [0, 0, 0], [-1, -1, -1]]


@pytest.mark.parametrize("dtype", [torch.half, torch.bfloat16])
def test_points_of_lower_precision_are_located_in_float32(dtype):
    points, size, bounds = cases.floats(99, 3).to(dtype) * 9, torch.full((3,), 0.3), torch.ones(6)
    bounds[:3], bounds[3:] = -20, 21
    ext, tensors = sys.modules["mmcv._ext"], [each.to(dtype) for each in (points, size, bounds)]
    found, expected = (torch.zeros(99, 3, dtype=torch.int32) for _ in range(2))
    ext.dynamic_voxelize_forward(*tensors, found, 3)
    ext.dynamic_voxelize_forward(*(each.float() for each in tensors), expected, 3)
    assert torch.equal(found, expected) and (found >= 0).any()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_masked_conv2d_of_any_bias_padding_and_memory_format(bias, padding, memory_format):
    torch.manual_seed(0)
    for module in (ops.MaskedConv2d, mt.MaskedConv2d):
        layer = module(3, 4, 3, padding=padding, bias=bias).to(memory_format=memory_format)
        input = cases.floats(1, 3, 6, 5).to(memory_format=memory_format)
        mask = cases.integers(0, 2, 1, 6, 5)
        with torch.no_grad():
            expected = layer(input)
            expected = expected * mask[:, : expected.shape[2], : expected.shape[3]]
            torch.testing.assert_close(layer(input, mask), expected)


def test_filters_of_more_offsets_than_the_pairs_of_a_key():
    """The first filters count; the others have no gradient."""
    torch.manual_seed(0)
    small = ops.SubMConv3d(4, 4, (1, 3, 3), bias=False, indice_key="a")
    large = ops.SubMConv3d(4, 5, 3, bias=False, indice_key="a")
    features = cases.floats(20, 4)
    output = large(small(sparse_input(features)))
    first = ops.SubMConv3d(4, 5, (1, 3, 3), bias=False, indice_key="a")
    with torch.no_grad():
        first.weight.view(9, 4, 5).copy_(large.weight.view(27, 4, 5)[:9])
    expected = first(small(sparse_input(features)))
    torch.testing.assert_close(output.features, expected.features)
    (grad,) = gradients(output.features, [large.weight])
    (expected_grad,) = gradients(expected.features, [first.weight])
    torch.testing.assert_close(grad.view(27, 4, 5)[:9], expected_grad.view(9, 4, 5))
    assert not grad.view(27, 4, 5)[9:].any()


@pytest.mark.parametrize("axes", [2, 3, 4])
def test_repeated_sites_are_their_own_centers(axes):
    module = getattr(importlib.import_module("mmcv.ops.sparse_conv"), f"SubMConv{axes}d")
    layer = module(1, 1, 3, bias=False)
    with torch.no_grad():
        layer.weight.zero_()
        layer.weight.view(-1)[layer.weight.numel() // 2] = 1
    indices = torch.tensor([[0] + [1] * axes, [0] + [1] * axes, [0] + [1] * (axes - 1) + [2]])
    features = torch.tensor([[1.0], [10.0], [100.0]])
    x = ops.SparseConvTensor(features, indices.int(), [4] * axes, 1)
    assert layer(x).features.flatten().tolist() == [1, 10, 100]


@pytest.mark.parametrize("axes", [2, 3, 4])
def test_sparse_layers_of_no_samples(axes):
    modules = importlib.import_module("mmcv.ops.sparse_conv")
    layers = [getattr(modules, f"{kind}{axes}d") for kind in ("SubMConv", "SparseConv")]
    features = torch.zeros(0, 3, requires_grad=True)
    none = torch.zeros(0, axes + 1, dtype=torch.int32)
    x = ops.SparseConvTensor(features, none, [8] * axes, 0)
    x = layers[1](4, 5, 3, 2)(layers[0](3, 4, 3)(x))
    assert x.features.shape == (0, 5) and x.indices.shape == none.shape
    assert x.dense().shape == (0, 5, *[3] * axes)
    x.features.sum().backward()
    assert features.grad.shape == features.shape
    x = ops.SparseConvTensor(torch.zeros(1, 3), torch.zeros(1, axes + 1).int(), [8] * axes, 0)
    with pytest.raises(mluop_omp.MluOpError, match="batch|indices"):
        layers[0](3, 4, 3)(x)


def test_four_dimensional_sites_outside_the_space_are_refused():
    modules = importlib.import_module("mmcv.ops.sparse_conv")
    for kind in ("SubMConv4d", "SparseConv4d"):
        for site in ([1, 0, 0, 0, 0], [0, 0, 0, 0, 3], [0, 0, -1, 0, 0]):
            x = ops.SparseConvTensor(torch.ones(1, 1), torch.tensor([site]).int(), [3] * 4, 1)
            with pytest.raises(mluop_omp.MluOpError, match=r"indices\[0\] is \["):
                getattr(modules, kind)(1, 1, 3)(x)


@pytest.mark.parametrize("dtype", [torch.half, torch.bfloat16])
def test_dynamic_scatter_of_lower_precision(dtype):
    feats, coors, _ = cases.arguments("dynamic_scatter")
    actual, _ = ops.DynamicScatter([1, 1, 1], [0, 0, 0, 3, 3, 3], False)(feats.to(dtype), coors)
    expected = mt.dynamic_scatter(feats.to(dtype).float(), coors, "max")[0]
    assert torch.equal(actual, expected.to(dtype))


def test_hard_voxelization():
    points, size, bounds, max_points, max_voxels = cases.arguments("voxelization")
    actual = ops.Voxelization(size, bounds, max_points, max_voxels)(points)
    expected = mt.voxelization(points, size, bounds, max_points, max_voxels)
    for a, e in zip(actual, expected):
        assert torch.equal(a, e)


def test_voxelization_without_points():
    voxels, coors, counts = ops.Voxelization([1.0] * 3, [0.0] * 3 + [4.0] * 3, 2, 5)(
        torch.zeros(0, 4)
    )
    assert len(voxels) == len(coors) == len(counts) == 0


def test_dynamic_voxelization_agrees_with_hard_voxelization():
    points, size, bounds, *_ = cases.arguments("voxelization")
    points[0] = float("nan")
    points[1] = 1e30
    coors = ops.Voxelization(size, bounds, -1)(points)
    assert (coors[:2] == -1).all()
    cells = coors[(coors >= 0).all(1)]
    hard = mt.voxelization(points, size, bounds, 50, 200)
    assert torch.equal(torch.unique(cells, dim=0), torch.unique(hard[1], dim=0))
    assert len(cells) == hard[2].sum()


def test_masked_conv2d():
    torch.manual_seed(0)
    module = ops.MaskedConv2d(3, 4, 3, padding=1)
    input, mask = cases.floats(1, 3, 6, 5), cases.integers(0, 2, 1, 6, 5)
    with torch.no_grad():
        torch.testing.assert_close(module(input, mask), module(input) * mask)


def sparse_input(features=None):
    indices = cases.sites()
    features = cases.floats(len(indices), 4).requires_grad_() if features is None else features
    return ops.SparseConvTensor(features, indices, list(cases.SPACE), 2)


@pytest.mark.parametrize("subm", [True, False])
def test_sparse_convolutions(subm):
    torch.manual_seed(0)
    # mmcv centers the filter of a submanifold convolution without padding.
    module = ops.SubMConv3d(4, 6, 3) if subm else ops.SparseConv3d(4, 6, 3, 2, 1, bias=False)
    input = sparse_input()
    actual = module(input).dense()
    stride, bias = (1, module.bias) if subm else (2, None)
    expected = F.conv3d(
        input.dense(), module.weight.permute(4, 3, 0, 1, 2), bias, stride=stride, padding=1
    )
    if subm:
        expected = expected * sparse_input(torch.ones(20, 1)).dense()
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)
    variables = [input.features, *module.parameters()]
    torch.testing.assert_close(
        gradients(actual, variables), gradients(expected, variables), rtol=1e-4, atol=1e-4
    )


def test_two_dimensional_convolutions():
    torch.manual_seed(0)
    indices = torch.tensor([[0, 0, 0], [0, 1, 2], [1, 3, 3]], dtype=torch.int32)
    module = ops.SparseConv2d(2, 3, 3, 2, 1, bias=False)
    input = ops.SparseConvTensor(cases.floats(3, 2), indices, [4, 4], 2)
    expected = F.conv2d(input.dense(), module.weight.permute(3, 2, 0, 1), stride=2, padding=1)
    torch.testing.assert_close(module(input).dense(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("pad", [1, 0])
def test_the_inverse_convolution_is_the_transpose(pad):
    """<inverse(y), x> = <y, forward(x)> with the same filters, whose channels are exchanged."""
    torch.manual_seed(0)
    forward = ops.SparseConv3d(4, 6, 3, 2, pad, bias=False, indice_key="down")
    inverse = ops.SparseInverseConv3d(6, 4, 3, indice_key="down", bias=False)
    with torch.no_grad():
        inverse.weight.copy_(forward.weight.transpose(3, 4))
    input = sparse_input()
    down = forward(input)
    y = cases.floats(*down.features.shape).requires_grad_()
    features, down.features = down.features, y
    up = inverse(down)
    torch.testing.assert_close((up.features * input.features).sum(), (features * y).sum())
    assert torch.equal(up.indices, input.indices)
    (up.features * input.features.detach()).sum().backward()
    torch.testing.assert_close(y.grad, features.detach(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.half, torch.bfloat16])
def test_convolution_of_lower_precision(dtype):
    torch.manual_seed(0)
    module = ops.SubMConv3d(4, 6, 3, bias=False)
    input = sparse_input(cases.floats(20, 4))
    expected = module(input).features
    found = module.to(dtype)(sparse_input(cases.floats(20, 4).to(dtype))).features
    assert found.dtype is dtype
    torch.testing.assert_close(found.float(), expected, rtol=1e-2, atol=1e-2)


class Encoder(nn.Module):
    """A sparse encoder as CenterPoint's, with mmcv's modules: two stages, then a dense head."""

    def __init__(self):
        super().__init__()

        def block(convolution):
            channels = convolution.out_channels
            return ops.SparseSequential(convolution, nn.BatchNorm1d(channels), nn.ReLU())

        self.layers = ops.SparseSequential(
            block(ops.SubMConv3d(4, 16, 3, padding=1, bias=False, indice_key="subm1")),
            block(ops.SubMConv3d(16, 16, 3, padding=1, bias=False, indice_key="subm1")),
            block(ops.SparseConv3d(16, 32, 3, 2, padding=1, bias=False, indice_key="down")),
            block(ops.SubMConv3d(32, 32, 3, padding=1, bias=False, indice_key="subm2")),
        )
        self.head = nn.Linear(32 * 3, 1)

    def forward(self, features, indices, batch_size):
        input = ops.SparseConvTensor(features, indices, [5, 16, 16], batch_size)
        dense = self.layers(input).dense()
        return self.head(dense.flatten(1, 2).amax((2, 3)))


def clouds(batch_size):
    cells = torch.randperm(batch_size * 5 * 16 * 16, generator=cases.generator())[
        : 150 * batch_size
    ]
    indices = torch.stack(torch.unravel_index(cells, (batch_size, 5, 16, 16)), 1).int()
    return cases.floats(len(indices), 4), indices


def test_an_encoder_trains():
    torch.manual_seed(0)
    encoder = Encoder()
    features, indices = clouds(4)
    target = torch.tensor([[0.0], [1.0], [0.0], [1.0]])
    optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-2)
    losses = []
    for _ in range(10):
        loss = F.binary_cross_entropy_with_logits(encoder(features, indices, 4), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2
    assert all(parameter.grad.isfinite().all() for parameter in encoder.parameters())


def test_functions_without_kernel_say_so():
    import mmcv._ext

    with pytest.raises(NotImplementedError, match="roi_pool_forward has no CPU kernel"):
        mmcv._ext.roi_pool_forward(torch.zeros(1))
    assert not hasattr(mmcv._ext, "__path__")


FULL_MMCV = """
import sys, types, torch
calls = []
extension = types.ModuleType("mmcv._ext")
extension.three_nn_forward = lambda *a, **k: calls.append("three_nn")
extension.hard_voxelize_forward = lambda *a, **k: calls.append("hard_voxelize")
extension.nms = lambda *a: calls.append("nms")
extension.nms_rotated = lambda *a: calls.append("nms_rotated")
extension.points_in_boxes_cpu_forward = lambda *a: calls.append("points_in_boxes_cpu")
def missing(name):
    if name.startswith("__"): raise AttributeError(name)
    return lambda *a, **k: calls.append(name)
extension.__getattr__ = missing
sys.modules["mmcv._ext"] = extension
import mmcv.ops
import mluop_omp.mmcv
mluop_omp.mmcv.install()
mluop_omp.mmcv.install()
assert sys.modules["mmcv._ext"] is extension
points = torch.rand(1, 5, 3)
distance, _ = mmcv.ops.three_nn(points, points)
assert not distance[..., 0].any() and not calls
extension.roi_pool_forward(points)
extension.three_nn_forward(points.to("meta"), points.to("meta"), None, None)
assert calls == ["roi_pool_forward", "three_nn"], calls
voxelize = mmcv.ops.Voxelization([1, 1, 1], [0, 0, 0, 4, 4, 4], 2, 5)
cloud = torch.tensor([[1.5, 2.5, 3.5, 9.0]])
for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
    voxels, coors, _ = voxelize(cloud.to(dtype))
    assert voxels[0, 0].tolist() == cloud[0].tolist() and voxels.dtype is dtype
    assert coors.tolist() == [[3, 2, 1]]
assert len(calls) == 2, calls
voxelize(cloud.int())
assert calls[2:] == ["hard_voxelize"], calls
box, score, none = torch.tensor([[0, 0, 4, 2, 0.0]]), torch.ones(1), torch.zeros(0)
for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
    keep = extension.nms_rotated(box.to(dtype), score.to(dtype), none, box, none, 0.3, False)
    assert dtype is torch.float64 or keep.tolist() == [0]
    assert extension.nms(box[:, :4].to(dtype), score.to(dtype), 0.3, 0).tolist() == [0]
assert calls[3:] == ["nms_rotated"], calls
for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
    arguments = torch.ones(2, 7, dtype=dtype), torch.ones(3, 3, dtype=dtype)
    extension.points_in_boxes_cpu_forward(*arguments, torch.zeros(2, 3, dtype=torch.int32))
assert len(calls) == 4, calls
"""


def test_kernels_of_a_full_mmcv_remain():
    subprocess.run([sys.executable, "-c", FULL_MMCV], check=True, timeout=120)


@pytest.mark.parametrize("subm", [True, False])
def test_indice_pairs_of_any_number_of_axes(subm):
    indices, batch, space, *_ = cases.arguments("indice_pairs")
    stride = (1, 1, 1) if subm else (2, 1, 2)
    geometry = (3, 3, 3), stride, (1, 1, 1), (1, 1, 1)
    expected = mt.indice_pairs(indices, batch, space, *geometry, subm)
    out = [(cells - 1) // s + 1 for cells, s in zip(space, stride)]
    actual = rulebooks.general_indice_pairs(indices, batch, space, out, *geometry, subm)
    for a, e in zip(actual, expected):
        assert torch.equal(a, e)


def test_four_dimensional_convolutions():
    # All sites are 0 in the fourth dimension, where only the middle of a filter reaches them.
    modules = importlib.import_module("mmcv.ops.sparse_conv")
    indices, batch, space, *_ = cases.arguments("indice_pairs")
    feats = cases.floats(len(indices), 4)
    flat = ops.SparseConvTensor(feats, indices, space, batch)
    deep = ops.SparseConvTensor(feats, F.pad(indices, (0, 1)), [*space, 1], batch)
    for kind, arguments in (("SubMConv", {}), ("SparseConv", {"padding": 1})):
        three = getattr(modules, f"{kind}3d")(4, 5, 3, bias=False, **arguments)
        four = getattr(modules, f"{kind}4d")(4, 5, 3, bias=False, **arguments)
        with torch.no_grad():
            four.weight[:, :, :, 1].copy_(three.weight)
        expected, actual = three(flat), four(deep)
        assert torch.equal(actual.indices[:, :-1], expected.indices)
        torch.testing.assert_close(actual.features, expected.features)
        (grad,) = gradients(actual.features, [four.weight])
        (expected_grad,) = gradients(expected.features, [three.weight])
        torch.testing.assert_close(grad[:, :, :, 1], expected_grad)
