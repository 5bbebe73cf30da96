"""mmcv's classes on CPUs, with mmcv-lite: forward and backward.

test_table.py compares the functions of mmcv._ext with the definitions, for each kind of argument.
Here the functions of mmcv.ops call them.
"""

from __future__ import annotations

import functools
import importlib
import math
import re
import subprocess
import sys

import cases
import numpy as np
import pytest
import torch
import torch.nn.functional as F

import mluop_omp
import mluop_omp.torch as mt
from mluop_omp.torch import rulebooks

pytest.importorskip("mmcv", reason="requires mmcv-lite")
importlib.import_module("mluop_omp.mmcv.auto")
ops = importlib.import_module("mmcv.ops")
ext = importlib.import_module("mmcv._ext")
sparse_conv = importlib.import_module("mmcv.ops.sparse_conv")


def gradients(outputs, variables):
    return torch.autograd.grad(outputs.square().sum(), variables)


def transposed(tensor):
    return tensor.transpose(0, -1).contiguous().transpose(0, -1)


def scattered(feats, coors, reduce):
    module = ops.DynamicScatter([1, 1, 1], [0, 0, 0, 3, 3, 3], reduce == "mean")
    return module(feats, coors)


# The function of mmcv.ops by the arguments of the operator.
FUNCTIONS = {
    "assign_score_withk": lambda *a: ops.assign_score_withk(*a[:3], a[3].long(), "sum"),
    "ball_query": lambda new_xyz, xyz, low, high, nsample: ops.ball_query(
        low, high, nsample, xyz, new_xyz
    ),
    "bbox_overlaps": ops.bbox_overlaps,
    "boxes_overlap_bev": ops.boxes_overlap_bev,
    # mmcv returns the GIoU and its gradient.
    "convex_giou": lambda *a: torch.column_stack(ops.convex_giou(*a)[::-1]),
    "convex_iou": ops.convex_iou,
    "dynamic_scatter": scattered,
    "contour_expand": lambda *a: torch.tensor(ops.contour_expand(*a), dtype=torch.int32),
    "furthest_point_sample": ops.furthest_point_sample,
    "furthest_point_sample_with_dist": ops.furthest_point_sample_with_dist,
    "gather_points": lambda features, indices: ops.gather_points(features, indices),
    "min_area_polygons": ops.min_area_polygons,
    "points_in_boxes_all": ops.points_in_boxes_all,
    "points_in_boxes_part": ops.points_in_boxes_part,
    "stack_ball_query": lambda centers, centers_cnt, xyz, cnt, radius, nsample: ops.ball_query(
        0, radius, nsample, xyz, centers, cnt, centers_cnt
    ),
    "stack_group_points": lambda feats, cnt, idx, idx_cnt: ops.grouping_operation(
        feats, idx, cnt, idx_cnt
    ),
    "three_interpolate": ops.three_interpolate,
    "voxelization": lambda points, *geometry: ops.Voxelization(*geometry)(points),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, dtype):
    arguments = [
        each.detach().to(dtype).requires_grad_(each.requires_grad)
        if torch.is_tensor(each) and each.is_floating_point()
        else each
        for each in cases.with_gradients(name)
    ]
    variables = [each for each in arguments if torch.is_tensor(each) and each.requires_grad]
    found, expected = FUNCTIONS[name](*arguments), getattr(mt, name)(*arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for output, right in zip(found if isinstance(found, tuple) else (found,), expected):
        torch.testing.assert_close(output, right)
    variables = variables[:1] if name == "three_interpolate" else variables  # in mmcv, features
    if variables:
        found = found[0] if isinstance(found, tuple) else found
        torch.testing.assert_close(gradients(found, variables), gradients(expected[0], variables))


def test_groups():
    feats, idx = cases.with_gradients("gather_points")
    groups = idx.view(2, 3, 3)
    for each in (feats, transposed(feats)):
        expected = mt.gather_points(feats, groups)
        actual = ops.grouping_operation(each, groups)
        assert torch.equal(actual, expected)
        torch.testing.assert_close(gradients(actual, feats), gradients(expected, feats))


def test_three_nn():
    unknown, known = cases.arguments("three_nn")
    distance, idx = ops.three_nn(unknown, known)
    dist2, expected = mt.three_nn(unknown, known)
    torch.testing.assert_close(distance, dist2.sqrt())
    assert torch.equal(idx, expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_chamfer_distance(dtype):
    """Both distances have gradients. Some versions of mmcv return float32 for half."""
    sets = [each.to(dtype).requires_grad_() for each in cases.arguments("chamfer_distance")]
    found, expected = (function(*sets) for function in (ops.chamfer_distance, mt.chamfer_distance))
    tolerance = 1e-3 if dtype is torch.float16 else 1e-5
    same = functools.partial(
        torch.testing.assert_close, rtol=tolerance, atol=tolerance, check_dtype=False
    )
    same(found, expected)
    of_both = [gradients(torch.cat((each[0], each[1]), 1), sets) for each in (found, expected)]
    same(*of_both)


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
    distances = torch.cdist(points, points)
    for each in (distances, distances.half(), distances.bfloat16(), distances.double()):
        found = ops.furthest_point_sample_with_dist(each, 5)
        assert torch.equal(found, mt.furthest_point_sample_with_dist(each.float(), 5))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_prroi_pool(dtype):
    """mmcv's function asks for float32."""
    image, rois, *others = cases.arguments("prroi_pool")
    inputs = [(image.to(dtype), rois.to(dtype)) for _ in range(2)]
    outputs = []
    for function, tensors in zip((ops.prroi_pool, mt.prroi_pool), inputs):
        outputs.append(function(*(each.requires_grad_() for each in tensors), *others))
        outputs[-1].sum().backward()
        outputs += [each.grad for each in tensors]
    assert all(map(torch.equal, outputs[:3], outputs[3:]))
    assert outputs[0].dtype is dtype


@pytest.mark.parametrize("aggregate", ["avg", "max"])
def test_the_aggregate_of_scores_has_no_effect(aggregate):
    arguments = cases.arguments("assign_score_withk")
    found = ops.assign_score_withk(*arguments[:3], arguments[3].long(), aggregate)
    assert torch.equal(found, mt.assign_score_withk(*arguments))


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


@pytest.mark.parametrize("name", ["CARAFE", "CARAFENaive"])
def test_carafe(name):
    """mmcv's gradient of carafe reads what the forward pass keeps of the features."""
    features, masks, *numbers = cases.arguments("carafe")
    variables = [each.clone().requires_grad_() for each in (features, masks)]
    actual, expected = getattr(ops, name)(*numbers)(*variables), mt.carafe(*variables, *numbers)
    assert torch.equal(actual, expected)
    assert all(map(torch.equal, gradients(actual, variables), gradients(expected, variables)))


def test_correlation():
    images = [cases.floats(2, 4, 7, 8).requires_grad_() for _ in range(2)]
    geometry = {"kernel_size": 3, "padding": 2, "stride": 2, "dilation": 2, "dilation_patch": 2}
    actual = ops.Correlation(max_displacement=2, **geometry)(*images)
    pairs = {name: (number, number) for name, number in geometry.items()}
    expected = mt.correlation(*images, patch_size=(5, 5), **pairs)
    assert torch.equal(actual, expected)
    # The gradient of a sum has strides of 0.
    found, right = (torch.autograd.grad(each.sum(), images) for each in (actual, expected))
    assert all(map(torch.equal, found, right))


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
    function = getattr(ext, name)
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
    xyz, centers, k = cases.arguments("knn")
    numbers = 2, 20, 5, k
    for after in (True, False):
        idx, dist2 = torch.zeros(2, 5, k, dtype=torch.int32), torch.zeros(2, 5, k)
        tensors = xyz, centers, idx, dist2
        ext.knn_forward(*(tensors + numbers if after else numbers + tensors))
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
    assert (mt.points_in_boxes_part(points, boxes) >= 0).any()
    for each in (points, transposed(points)):
        found = ops.points_in_boxes_cpu(each, boxes)
        assert torch.equal(found, mt.points_in_boxes_all(points, boxes))
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


@pytest.mark.parametrize("mode", ["iou", "iof"])
@pytest.mark.parametrize("name", ["bbox_overlaps", "box_iou_quadri", "box_iou_rotated"])
def test_overlaps_in_a_plane(name, mode):
    first, second, *_ = cases.arguments(name)
    of_mmcv, ours = getattr(ops, name), getattr(mt, name)
    for boxes, aligned in ((second, False), (first.flip(0), True)):
        expected = ours(first, boxes, mode, aligned)
        assert torch.equal(of_mmcv(first, boxes, mode, aligned), expected)
        halves = of_mmcv(first.half(), boxes.half(), mode, aligned)
        assert halves.dtype is torch.half
        torch.testing.assert_close(halves.float(), expected, rtol=1e-2, atol=1e-2)
    assert of_mmcv(first[:0], second).shape == (0, len(second))


def slopes(function, boxes, step=1e-6):
    """Returns the derivatives of function(boxes) [N] for the numbers of boxes [N, C]."""
    steps = step * torch.eye(boxes.shape[1], dtype=boxes.dtype)
    differences = [function(boxes + each) - function(boxes - each) for each in steps]
    return torch.stack(differences, 1) / (2 * step)


@pytest.mark.parametrize("dtype", [torch.float, torch.double])
def test_diff_iou_rotated(dtype):
    """IoUs and gradients of generic boxes agree with the exact intersection."""
    first, second, *_ = (each[:7].double() for each in cases.arguments("box_iou_rotated")[:2])

    def exact(boxes):
        return mt.box_iou_rotated(boxes, second, aligned=True)

    boxes = first.to(dtype).requires_grad_()
    ious = ops.diff_iou_rotated_2d(boxes[None], second[None].to(dtype))[0]
    torch.testing.assert_close(ious.double(), exact(first), rtol=0, atol=1e-6)
    (grad,) = torch.autograd.grad(ious.sum(), boxes)
    torch.testing.assert_close(grad.double(), slopes(exact, first), rtol=0, atol=1e-5)
    assert ious.gt(0.1).any() and grad.any()

    # Boxes of height 1; the second is higher by 0.25.
    place, height = torch.zeros(7, 1, dtype=dtype), torch.ones(7, 1, dtype=dtype)
    solids = [
        torch.cat((each[:, :2], place + z, each[:, 2:4], height, each[:, 4:]), 1)[None]
        for each, z in ((boxes, 0), (second.to(dtype), 0.25))
    ]
    shared = 0.75 * first[:, 2:4].prod(1) * mt.box_iou_rotated(first, second, "iof", aligned=True)
    volumes = first[:, 2:4].prod(1) + second[:, 2:4].prod(1)
    found = ops.diff_iou_rotated_3d(*solids)[0].double()
    torch.testing.assert_close(found, shared / (volumes - shared), rtol=0, atol=1e-6)


def test_diff_iou_rotated_of_mmcv():
    """The pairs of mmcv's test; and calls without pairs, whose results have the usual shape."""
    first = torch.tensor([[0.5, 0.5, 1, 1, 0]] * 5)
    others = ((0.5, 0), (0.5, math.pi / 2), (0.5, math.pi / 4), (1, 0), (1.5, 0))
    second = torch.tensor([[place, place, 1, 1, angle] for place, angle in others])
    ious = ops.diff_iou_rotated_2d(first[None], second[None])
    expected = torch.tensor([[1, 1, 0.7071, 1 / 7, 0]])
    torch.testing.assert_close(ious, expected, rtol=0, atol=1e-4)
    vertices, mask = torch.zeros(2, 3, 24, 2), torch.zeros(2, 3, 24, dtype=torch.bool)
    sort = ext.diff_iou_rotated_sort_vertices_forward
    for rows, columns in ((slice(0, 0), slice(0, 3)), (slice(0, 2), slice(0, 0))):
        given = vertices[rows, columns], mask[rows, columns], mask[rows, columns].sum(2).int()
        idx = sort(*given)
        assert idx.dtype is torch.int32 and idx.shape == (*given[0].shape[:2], 9)


def test_bbox_overlaps_writes_outputs_of_any_memory_format():
    first, second, *_ = cases.arguments("bbox_overlaps")
    ious = torch.full((len(second), len(first)), torch.nan).t()
    ext.bbox_overlaps(first, second, ious, mode=1, aligned=False, offset=1)
    assert torch.equal(ious, mt.bbox_overlaps(first, second, "iof", offset=1))
    with pytest.raises(mluop_omp.MluOpError, match="ious has 2 elements, expected 63"):
        ext.bbox_overlaps(first, second, ious[0, :2], mode=0, aligned=False, offset=0)
    with pytest.raises(mluop_omp.MluOpError, match="mode is 2, expected one of iou, iof"):
        ext.bbox_overlaps(first, second, ious, mode=2, aligned=False, offset=0)
    with pytest.raises(mluop_omp.MluOpError, match="offset is 2, expected 0 or 1"):
        ext.bbox_overlaps(first, second, ious, mode=0, aligned=False, offset=2)


@pytest.mark.parametrize("dtype", [torch.float, torch.double, torch.half, torch.bfloat16])
def test_points_in_polygons(dtype):
    """mmcv's output is of float32 for all of them."""
    points, polygons = (each.to(dtype) for each in cases.arguments("points_in_polygons"))
    found = ops.points_in_polygons(points, polygons)
    wide = torch.promote_types(dtype, torch.float)
    expected = mt.points_in_polygons(points.to(wide), polygons.to(wide))
    assert found.dtype is torch.float and torch.equal(found, expected.float()) and found.any()
    assert ops.points_in_polygons(points, polygons[:0]).shape == (20, 0)


@pytest.mark.parametrize("dtype", [torch.half, torch.bfloat16])
def test_point_sets_of_lower_precision(dtype):
    """They are computed in float32."""
    points, polygons = (each.to(dtype) for each in cases.arguments("convex_giou"))
    giou, grad = ops.convex_giou(points, polygons)
    expected = mt.convex_giou(points.float(), polygons.float()).to(dtype)
    assert torch.equal(giou, expected[:, 18]) and torch.equal(grad, expected[:, :18])
    expected = mt.convex_iou(points.float(), polygons.float()).to(dtype)
    assert torch.equal(ops.convex_iou(points, polygons), expected)
    expected = mt.min_area_polygons(points.float()).to(dtype)
    assert torch.equal(ops.min_area_polygons(points), expected)


def test_box_iou_rotated_writes_outputs_of_two_dimensions():
    first, second, *_ = cases.arguments("box_iou_rotated")
    ious = torch.full((len(second), len(first)), torch.nan).t()
    ext.box_iou_rotated(first, second, ious, mode_flag=0, aligned=False)
    assert torch.equal(ious, mt.box_iou_rotated(first, second))
    with pytest.raises(mluop_omp.MluOpError, match="ious has 2 elements, expected 63"):
        ext.box_iou_rotated(first, second, ious[0, :2], mode_flag=0, aligned=False)
    with pytest.raises(mluop_omp.MluOpError, match="mode is 2, expected one of iou, iof"):
        ext.box_iou_rotated(first, second, ious, mode_flag=2, aligned=False)


# Boxes that overlap only if the angles have the opposite direction.
DIRECTION = (
    (1010.5, 860.00012207, 12.20655537, 48.82622528, 0.960070372),
    (1022, 870.49993896, 10.81665134, 43.26660919, 0.9827936607),
)


def test_the_direction_of_angles():
    boxes, scores = torch.tensor(DIRECTION), torch.tensor([0.5, 0.9])
    for clockwise, iou, kept in ((True, 0, [1, 0]), (False, 0.3687586, [1])):
        found = ops.box_iou_rotated(boxes[:1], boxes[1:], clockwise=clockwise)
        torch.testing.assert_close(found, torch.tensor([[iou]], dtype=torch.float32))
        dets, keep = ops.nms_rotated(boxes, scores, 0.3, clockwise=clockwise)
        assert keep.tolist() == kept
        assert torch.equal(dets, torch.cat((boxes, scores[:, None]), 1)[keep])


SUPPRESSION = {
    "nms": ops.nms,
    "nms_quadri": ops.nms_quadri,
    "nms_rotated": ops.nms_rotated,
    "soft_nms": ops.soft_nms,
    "nms3d": lambda *a: (None, ops.nms3d(*a)),
    "nms3d_normal": lambda *a: (None, ops.nms3d_normal(*a)),
}


@pytest.mark.parametrize("name", SUPPRESSION)
def test_suppression(name):
    """The rows of the kept boxes, of any memory format and element type, with their scores."""
    boxes, scores, *others = cases.arguments(name)
    for each in (boxes, transposed(boxes), boxes.bfloat16()):
        dets, keep = SUPPRESSION[name](each, scores, *others)
        expected = getattr(mt, name)(each.float(), scores, *others)
        right_dets, right = expected if name == "soft_nms" else (None, expected)
        assert keep.dtype is torch.int64 and torch.equal(keep, right.long())
        if name == "soft_nms":
            assert torch.equal(dets, right_dets.to(dets.dtype))
            continue
        assert 1 < len(keep) < len(boxes)
        assert dets is None or torch.equal(dets, torch.cat((each, scores[:, None]), 1)[keep])
    dets, keep = SUPPRESSION[name](boxes[:0], scores[:0], *others)
    assert (keep is None or keep.shape == (0,)) and (dets is None or len(dets) == 0)


def test_arguments_of_suppression_that_are_refused():
    boxes, scores, *numbers, _, _ = cases.arguments("soft_nms", N=3)
    for rows, method, text in ((2, 1, "dets has shape"), (3, 3, "method is 3, expected one of")):
        with pytest.raises(mluop_omp.MluOpError, match=text):
            ext.softnms(boxes, scores, torch.zeros(rows, 5), *numbers, method=method, offset=0)


@pytest.mark.parametrize("make", [torch.as_tensor, np.asarray])
def test_text_regions(make):
    """The example of mmcv's tests, as arrays and tensors."""
    mask, label, contour = (np.zeros((10, 10), np.int32) for _ in range(3))
    mask[3:7, 1:9], label[3:7, 2:5], label[3:7, 8] = 1, 1, 2
    contour[:], contour[4:6, 3] = label > 0, 0
    embedding = np.full((10, 10, 8), 0.9, np.float32)
    embedding[:, 7:] = 10
    masks = np.stack((mask, label > 0)).astype(np.uint8)
    expected = np.zeros((10, 10), int)
    expected[3:7, 1:7], expected[3:7, 7:9] = 1, 2
    found = ops.contour_expand(make(masks), make(label), 1, 3)
    assert type(found[0][0]) is int and (np.array(found) == expected).all()
    maps = mask.astype(np.float32) * np.float32(0.9), mask > 0, embedding, label
    given = *map(make, maps), make(contour.astype(np.uint8)), 3, 0.8
    regions = ops.pixel_group(*given)
    assert regions[0] == [0, 0] and {type(each) for each in regions[1]} == {float}
    # The means of mmcv's kernel, with their rounding.
    for region, score, (rows, columns) in (
        (regions[1], 0.8999997973442078, np.nonzero((expected == 1) & (mask > 0))),
        (regions[2], 0.9000000357627869, np.nonzero((expected == 2) & (mask > 0))),
    ):
        assert region == [score, len(rows), *np.stack((columns, rows), 1).ravel()]
    if make is torch.as_tensor:
        *tensors, count, threshold = given
        named = {"kernel_region_label": count, "distance_threshold": threshold}
        assert ext.pixel_group(*tensors, **named) == regions


def test_nms_match():
    dets, threshold = cases.arguments("nms_match")
    members, sizes = mt.nms_match(dets, threshold)
    expected = [group.tolist() for group in members.split(sizes.tolist())]
    for each in (dets, transposed(dets), dets.numpy()):
        assert [group.tolist() for group in ops.nms_match(each, threshold)] == expected
    assert ops.nms_match(dets[:0], 0.5) == [] and ext.nms_match(dets[:0], 0.5) == []


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


def test_nms_quadri_does_not_read_labels():
    """The IoU is 0.5; mmcv's kernel for CPUs also suppresses a box whose IoU is the threshold."""
    boxes = torch.tensor([[0.0, 0, 4, 0, 4, 2, 4, 2], [0, 2, 4, 2, 4, 0, 0, 0]])
    scores, labels = torch.tensor([0.7, 0.9]), torch.tensor([1, 0])
    for threshold, kept in ((0.5, [1, 0]), (0.49, [1])):
        assert ops.nms_quadri(boxes, scores, threshold, labels=labels)[1].tolist() == kept
    _, keep = ops.batched_nms(boxes, scores, labels, {"type": "nms_quadri", "iou_threshold": 0.49})
    assert keep.tolist() == [1, 0]


@pytest.mark.parametrize("name", ["iou3d_nms3d_forward", "iou3d_nms3d_normal_forward"])
def test_what_is_past_the_kept_boxes_is_left(name):
    function = getattr(ext, name)
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
    assert ops.boxes_iou3d(first[:0], second).shape == (0, 1)


def test_maxima_of_dynamic_scatter():
    feats, coors, _ = cases.with_gradients("dynamic_scatter")
    (actual, _), (expected, *_) = scattered(feats, coors, "max"), mt.dynamic_scatter(feats, coors)
    assert torch.equal(actual, expected)
    torch.testing.assert_close(gradients(actual, feats), gradients(expected, feats))


def test_dynamic_scatter_in_double():
    feats = torch.tensor([[16777217.0], [1.0]], dtype=torch.float64)
    coors = torch.zeros(2, 3, dtype=torch.int64)
    maxima, voxels = scattered(feats, coors, "max")
    assert maxima.item() == 16777217 and maxima.dtype is torch.float64
    assert voxels.dtype is torch.int64
    with pytest.raises(mluop_omp.MluOpError, match=r"coors\[1, 2\] is 4294967296"):
        coors[1, 2] = 2**32
        ops.dynamic_scatter(feats, coors, "max")


def test_extents_of_a_half_cell_are_rounded_away_from_zero():
    module = ops.Voxelization([0.5, 0.5, 8], [0, -2, -3, 4, 2, 1], -1)
    points = torch.tensor([[0.6, 0.1, 0.0], [0.0, -2.0, -3.0], [4.0, 0.0, 0.0]])
    assert module(points).tolist() == [[0, 4, 1], [0, 0, 0], [-1, -1, -1]]


@pytest.mark.parametrize("dtype", [torch.half, torch.bfloat16])
def test_points_of_lower_precision_are_located_in_float32(dtype):
    points, size, bounds = cases.floats(99, 3).to(dtype) * 9, torch.full((3,), 0.3), torch.ones(6)
    bounds[:3], bounds[3:] = -20, 21
    tensors = [each.to(dtype) for each in (points, size, bounds)]
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
    module = getattr(sparse_conv, f"SubMConv{axes}d")
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
    layers = [getattr(sparse_conv, f"{kind}{axes}d") for kind in ("SubMConv", "SparseConv")]
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
    for kind in ("SubMConv4d", "SparseConv4d"):
        for site in ([1, 0, 0, 0, 0], [0, 0, 0, 0, 3], [0, 0, -1, 0, 0]):
            x = ops.SparseConvTensor(torch.ones(1, 1), torch.tensor([site]).int(), [3] * 4, 1)
            with pytest.raises(mluop_omp.MluOpError, match=r"indices\[0\] is \["):
                getattr(sparse_conv, kind)(1, 1, 3)(x)


def test_voxelization_without_points():
    outputs = ops.Voxelization([1.0] * 3, [0.0] * 3 + [4.0] * 3, 2, 5)(torch.zeros(0, 4))
    assert [len(each) for each in outputs] == [0, 0, 0]


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


# Stride, padding, dilation.
@pytest.mark.parametrize("geometry", [(1, 1, 2), (2, 0, 1), (2, 1, 1), ((3, 2, 1), (0, 1, 1), 1)])
@pytest.mark.parametrize("kernel", [2, 3, (1, 3, 2)])
@pytest.mark.parametrize("axes", [2, 3])
def test_transposed_convolutions(axes, kernel, geometry):
    """As PyTorch's, in a space whose size does not depend on the dilation, as in mmcv."""
    torch.manual_seed(0)
    numbers = (n[:axes] if isinstance(n, tuple) else n for n in (kernel, *geometry))
    kernel, *geometry = numbers
    layer = getattr(ops, f"SparseConvTranspose{axes}d")(4, 6, kernel, *geometry, bias=False)
    stride, padding, dilation = geometry
    space, features = cases.SPACE[:axes], cases.floats(12, 4).requires_grad_()
    input = ops.SparseConvTensor(features, cases.sites(12, 2, space), list(space), 2)
    output = layer(input)

    def convolve(dense, filters):
        function = getattr(F, f"conv_transpose{axes}d")
        whole = function(dense, filters, None, stride, padding, dilation=dilation)
        return whole[(..., *map(slice, output.spatial_shape))]

    filters = layer.weight.permute(axes, axes + 1, *range(axes))
    expected = convolve(input.dense(), filters)
    ones = ops.SparseConvTensor(torch.ones(12, 1), input.indices, list(space), 2).dense()
    reached = convolve(ones, torch.ones_like(filters[:1, :1])) > 0.5
    assert torch.equal(output.indices.long(), reached.squeeze(1).nonzero())
    torch.testing.assert_close(output.dense(), expected, rtol=1e-4, atol=1e-5)
    found, expected = (gradients(y, [features, layer.weight]) for y in (output.features, expected))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_transposed_convolutions_of_nothing_and_outside_of_the_space():
    layer, indices = ops.SparseConvTranspose3d(4, 6, 3, 2), torch.zeros(0, 4, dtype=torch.int32)
    output = layer(ops.SparseConvTensor(torch.zeros(0, 4), indices, [3, 3, 3], 0))
    assert output.features.shape == (0, 6) and output.spatial_shape == [7, 7, 7]
    outside = torch.tensor([[0, 0, 3, 0]], dtype=torch.int32)
    with pytest.raises(mluop_omp.MluOpError, match=r"indices\[0\] is \[0, 0, 3, 0\]"):
        layer(ops.SparseConvTensor(torch.zeros(1, 4), outside, [3, 3, 3], 1))


@pytest.mark.parametrize("kind", ["SubMConv3d", "SparseConv3d", "SparseConvTranspose3d"])
def test_a_grid_is_left_alone(kind):
    layer = getattr(ops, kind)(4, 6, 3)
    input = sparse_input()
    expected = layer(input)
    cells = 2 * math.prod(expected.spatial_shape)
    input.grid = torch.full((cells,), -1, dtype=torch.int32)
    found = layer(input)
    assert torch.equal(found.features, expected.features) and found.grid is input.grid
    assert torch.equal(found.indices, expected.indices) and (input.grid == -1).all()
    input.grid = input.grid[1:]
    with pytest.raises(mluop_omp.MluOpError, match=f"gridOut has {cells - 1} elements, expected"):
        layer(input)


@pytest.mark.parametrize("kind", ["SparseConv3d", "SparseConvTranspose3d"])
@pytest.mark.parametrize("pad", [1, 0])
def test_the_inverse_convolution_is_the_transpose(pad, kind):
    """<inverse(y), x> = <y, forward(x)> with the same filters, whose channels are exchanged."""
    torch.manual_seed(0)
    forward = getattr(ops, kind)(4, 6, 3, 2, pad, bias=False, indice_key="down")
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


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("three_nn_forward", "got no tensor of the CPU, and mmcv-lite has no other kernel"),
        ("bias_act", "got no tensor of the CPU, and mmcv-lite has no other kernel"),
        ("line_nms_forward", "has no CPU kernel in mluop_omp or mmcv-lite: compute it on another"),
    ],
)
def test_functions_without_kernel_say_so(name, reason):
    pattern = rf"^mmcv\._ext\.{name} {reason}.*; docs/mmcv\.md lists what runs on a CPU$"
    with pytest.raises(NotImplementedError, match=pattern):
        getattr(ext, name)(torch.zeros(1, device="meta"))
    assert not hasattr(ext, "__path__")


def test_the_compiler_is_known():
    assert re.fullmatch(r"GCC \d+\.\d+|clang \d+\.\d+\.\d+", ops.get_compiler_version())
    assert ops.get_compiling_cuda_version() == "not available"


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
extension.get_compiler_version(points)
extension.three_nn_forward(points.to("meta"), points.to("meta"), None, None)
assert calls == ["get_compiler_version", "three_nn"], calls
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
quad = torch.tensor([[0, 0, 4, 0, 4, 2, 4, 2.0]])
for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
    keep = extension.nms_quadri(quad.to(dtype), score.to(dtype), none, quad, 0.3, False)
    assert keep.tolist() == [0]
    boxes, iou = torch.tensor([[0, 0, 4, 0, 4, 2, 0, 2.0]]).to(dtype), torch.zeros(1, dtype=dtype)
    extension.box_iou_quadri(quad.to(dtype), boxes, iou, mode_flag=0, aligned=True)
    assert iou.item() == 0.5
    extension.bbox_overlaps(box[:, :4].to(dtype), box[:, :4].to(dtype), iou, 0, True, 0)
    assert iou.item() == 1
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
    indices, batch, space, *_ = cases.arguments("indice_pairs")
    feats = cases.floats(len(indices), 4)
    flat = ops.SparseConvTensor(feats, indices, space, batch)
    deep = ops.SparseConvTensor(feats, F.pad(indices, (0, 1)), [*space, 1], batch)
    for kind, arguments in (("SubMConv", {}), ("SparseConv", {"padding": 1})):
        three = getattr(sparse_conv, f"{kind}3d")(4, 5, 3, bias=False, **arguments)
        four = getattr(sparse_conv, f"{kind}4d")(4, 5, 3, bias=False, **arguments)
        with torch.no_grad():
            four.weight[:, :, :, 1].copy_(three.weight)
        expected, actual = three(flat), four(deep)
        assert torch.equal(actual.indices[:, :-1], expected.indices)
        torch.testing.assert_close(actual.features, expected.features)
        (grad,) = gradients(actual.features, [four.weight])
        (expected_grad,) = gradients(expected.features, [three.weight])
        torch.testing.assert_close(grad[:, :, :, 1], expected_grad)
