"""Sizes of 0 of the functions of other libraries that compute no operator of mluop_omp alone: each
extent is 0 in turn. Results are empty or have the value of what is not there. For the others, see
test_table.py.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
from cases import floats

import mluop_omp
import mluop_omp.bevdepth
import mluop_omp.bevdet
import mluop_omp.bevfusion
import mluop_omp.pcdet
import mluop_omp.pointnet2
import mluop_omp.pointops

BOXES, ROIS = mluop_omp.pcdet._boxes, mluop_omp.pcdet._rois
STACK = mluop_omp.pcdet._points.STACK_FUNCTIONS
FUSION = mluop_omp.bevfusion._boxes
POINTOPS = mluop_omp.pointops._FUNCTIONS
INFINITY = float("inf")


def boxes(*shape: int) -> torch.Tensor:
    return floats(*shape, 7).abs() + 1


def counts(rows: int, clouds: int) -> torch.Tensor:
    """Returns counts: the first cloud has all rows."""
    numbers = torch.zeros(clouds, dtype=torch.int32)
    numbers[:1] = rows
    return numbers


class Outputs(list):
    """What a call writes, or returns, with the value that it has if an extent is 0."""

    def write(self, value: float | None, *shape: int, dtype: torch.dtype = torch.int32) -> Any:
        self.append((torch.full(shape, 77, dtype=dtype), value))
        return self[-1][0]

    def floats(self, value: float | None, *shape: int) -> torch.Tensor:
        return self.write(value, *shape, dtype=torch.float32)

    def returned(self, found: Any, shape: tuple[int, ...] = ()) -> None:
        found = torch.as_tensor(found)
        assert found.shape == shape
        self.append((found, 0))


# Each builder calls a function. Extents in capitals must not be 0,
# as there would be values to take from nothing.


def roiaware_pool3d(out, rois=2, points=9, channels=3, x=2, y=2, z=2, SLOTS=4, method=0):
    voxels = rois, x, y, z
    listed = out.write(0 if channels else None, *voxels, SLOTS)
    argmax, pooled = out.write(-1, *voxels, channels), out.floats(0, *voxels, channels)
    arrays = boxes(rois), floats(points, 3), floats(points, channels), argmax, listed, pooled
    ROIS.roiaware_pool3d_forward(*arrays, method)


def roipoint_pool3d(out, batch=2, points=9, rois=3, channels=2, samples=4):
    pooled = out.floats(0 if channels else None, batch, rois, samples, 3 + channels)
    flag = out.write(1 if channels else None, batch, rois)
    arrays = floats(batch, points, 3), boxes(batch, rois), floats(batch, points, channels)
    ROIS.roipoint_pool3d_forward(*arrays, pooled, flag)


def points_in_boxes_cpu(out, rois=3, points=9):
    ROIS.points_in_boxes_cpu(boxes(rois), floats(points, 3), out.write(0, rois, points))


def overlaps(out, first=3, second=4):
    for function in ("boxes_iou_bev_gpu", "boxes_iou_bev_cpu"):
        BOXES.FUNCTIONS[function](boxes(first), boxes(second), out.floats(0, first, second))
    for function in (FUSION.boxes_overlap_bev_gpu, FUSION.boxes_iou_bev_gpu):
        function(floats(first, 5), floats(second, 5), out.floats(0, first, second))


def aligned_overlaps(out, rows=3):
    for function in ("boxes_aligned_overlap_bev_gpu", "boxes_aligned_iou_bev_cpu"):
        BOXES.FUNCTIONS[function](boxes(rows), boxes(rows), out.floats(0, rows, 1))


def nms(out, rows=3):
    keep = torch.zeros(rows, dtype=torch.int64)
    for function in (FUSION.nms_gpu, FUSION.nms_normal_gpu):
        out.returned(function(floats(rows, 5), keep, 0.5, 0))


def sampling_of_pointnet2(out, batch=2, POINTS=9, samples=3):
    found = mluop_omp.pointnet2.furthest_point_sampling(floats(batch, POINTS, 3), samples)
    out.returned(found, (batch, samples))


def stacked_sampling(out, POINTS=9, samples=3):
    idx, arrays = out.write(0, samples), (floats(POINTS, 3), floats(POINTS), counts(POINTS, 2))
    STACK["stack_farthest_point_sampling_wrapper"](*arrays, idx, counts(samples, 2))


def voxel_query(out, queries=4, points=5, samples=3, z=2, y=2, x=2):
    voxels = torch.full((1, z, y, x), -1, dtype=torch.int32)
    idx, coords = out.write(None, queries, samples), torch.zeros(queries, 4, dtype=torch.int32)
    sizes = (queries, z, y, x, samples, 1.0, 1, 1, 1)
    arrays = floats(queries, 3), floats(points, 3), coords, voxels, idx
    STACK["voxel_query_wrapper"](*sizes, *arrays)
    out.append((idx[:, :1], -1))


def stacked_three_nn(out, unknown=4, known=5):
    dist2, idx = out.floats(INFINITY, unknown, 3), out.write(0, unknown, 3)
    arrays = floats(unknown, 3), counts(unknown, 2), floats(known, 3), counts(known, 2)
    STACK["three_nn_wrapper"](*arrays, dist2, idx)


def stacked_interpolation(out, unknown=4, KNOWN=5, channels=2):
    idx, weights = torch.zeros(unknown, 3, dtype=torch.int32), floats(unknown, 3)
    found, grad = out.floats(0, unknown, channels), torch.zeros(KNOWN, channels)
    STACK["three_interpolate_wrapper"](floats(KNOWN, channels), idx, weights, found)
    STACK["three_interpolate_grad_wrapper"](floats(unknown, channels), idx, weights, grad)
    out.append((grad, 0))


def places_in_groups(out, elements=5):
    forward = mluop_omp.pcdet._MODULES["ingroup_inds.ingroup_inds_cuda"]["forward"]
    forward(torch.zeros(elements, dtype=torch.int64), out.write(0, elements, dtype=torch.int64))


def pool_of_bevfusion(out, points=6, channels=3, intervals=2):
    geometry = torch.zeros(points, 4, dtype=torch.int32)
    lengths = torch.full((intervals,), min(points, 2), dtype=torch.int32)
    arrays = geometry, lengths, torch.zeros_like(lengths), 1, 1, 2, 2
    forward, backward = mluop_omp.bevfusion.bev_pool_forward, mluop_omp.bevfusion.bev_pool_backward
    pooled = forward(floats(points, channels), *arrays)
    out.returned(pooled, (1, 1, 2, 2, channels))
    out.returned(backward(pooled, *arrays), (points, channels))


def grid_of_bevfusion(out, batch=1, depth=1, height=2, width=2):
    none = torch.zeros(0, dtype=torch.int32)
    arrays = torch.zeros(0, 4, dtype=torch.int32), none, none, batch, depth, height, width
    pooled = mluop_omp.bevfusion.bev_pool_forward(floats(0, 3), *arrays)
    out.returned(pooled, (batch, depth, height, width, 3))
    out.returned(mluop_omp.bevfusion.bev_pool_backward(pooled, *arrays), (0, 3))


def voxels_of_bevfusion(out, points=6, voxels=5, slots=3):
    functions = mluop_omp.bevfusion._voxels.FUNCTIONS
    rows = floats(points, 4)
    geometry = [1.0] * 3, [0.0] * 3 + [4.0] * 3
    # Points that are there are in voxels.
    pooled = out.floats(None if points else 0, voxels, slots, 4)
    arrays = pooled, out.write(None, voxels, 3)
    arrays = *arrays, out.write(0, voxels)
    functions["hard_voxelize"](rows, *arrays, *geometry, slots, voxels)
    functions["dynamic_voxelize"](rows, out.write(None, points, 3), *geometry)


def pool_of_bevdet(out, cameras=2, depth=3, height=1, width=2, channels=4, points=5, intervals=1):
    sizes = (1, cameras, depth, height, width)
    ranks = [torch.zeros(points if 0 not in sizes else 0, dtype=torch.int32) for _ in range(3)]
    lengths = torch.full((intervals,), len(ranks[0]), dtype=torch.int32)
    arrays = *ranks, lengths, torch.zeros_like(lengths)
    tensors = floats(*sizes), floats(1, cameras, height, width, channels)
    bev, grads = torch.full((1, 1, 2, 2, channels), 7.0), [torch.zeros_like(e) for e in tensors]
    mluop_omp.bevdet.bev_pool_v2_forward(*tensors, bev, *arrays)
    mluop_omp.bevdet.bev_pool_v2_backward(bev, *grads, *tensors, *arrays)
    out += [(each, 0) for each in (bev, *grads)]


def pool_of_bevdepth(
    out, batch=1, cameras=2, depth=3, height=2, width=1, channels=4, x=2, y=3, z=1
):
    sizes = batch, cameras, depth, height, width
    geometry = torch.full((*sizes, 3), 0, dtype=torch.int32)
    tensors = (
        floats(batch * cameras, depth, height, width),
        floats(batch * cameras, channels, height, width),
    )
    pooled = out.floats(0, batch, y, x, channels)
    function = mluop_omp.bevdepth.voxel_pooling_inference_forward
    function(*sizes, channels, x, y, z, geometry, *tensors, pooled)


def balls_of_pointops(out, points=9, centers=4, samples=3):
    tensors = floats(points, 3), floats(centers, 3)
    offsets = [counts(len(rows), 2).cumsum(0).int() for rows in tensors]
    order = torch.arange(points)
    for name, arguments in (("ball_query_cuda", ()), ("random_ball_query_cuda", (order,))):
        results = out.write(-1, centers, samples), out.floats(1e10, centers, samples)
        POINTOPS[name](0, 0, 0.0, 1.0, *arguments, *tensors, *offsets, *results)


def grouping_of_pointops(out, POINTS=6, rows=4, samples=3, channels=5):
    idx, features = torch.zeros(rows, samples, dtype=torch.int32), floats(POINTS, channels)
    grouped, grad = out.floats(0, rows, samples, channels), out.floats(0, POINTS, channels)
    POINTOPS["grouping_forward_cuda"](0, 0, 0, features, idx, grouped)
    POINTOPS["grouping_backward_cuda"](0, 0, 0, grouped, idx, grad)
    found, weight = out.floats(0, rows, channels), floats(rows, samples)
    POINTOPS["interpolation_forward_cuda"](0, 0, 0, features, idx, weight, found)
    POINTOPS["interpolation_backward_cuda"](0, 0, 0, found, idx, weight, grad)


def aggregation_of_pointops(out, POINTS=6, rows=4, samples=3, channels=5, WEIGHTS=2):
    shapes = (POINTS, channels), (rows, samples, channels), (rows, samples, WEIGHTS)
    tensors, idx = [floats(*each) for each in shapes], counts(0, rows * samples)
    arguments = *tensors, idx.view(rows, samples), out.floats(0, rows, channels)
    POINTOPS["aggregation_forward_cuda"](0, 0, 0, 0, *arguments)
    grads = [out.floats(0, *each) for each in shapes]
    POINTOPS["aggregation_backward_cuda"](0, 0, 0, 0, *arguments, *grads)


def attention_of_pointops(out, pairs=4, ROWS=5, groups=2, channels=3):
    rows, weight, index = floats(ROWS, groups, channels), floats(channels), counts(0, pairs)
    related, fused = out.floats(0, pairs, groups), out.floats(0, *rows.shape)
    grads = [out.floats(0, *each.shape) for each in (rows, rows, weight, related, rows)]
    POINTOPS["attention_relation_step_forward_cuda"](
        0, 0, 0, rows, rows, weight, index, index, related
    )
    POINTOPS["attention_relation_step_backward_cuda"](
        *(0, 0, 0, rows, grads[0], rows, grads[1], weight, grads[2], index, index, related)
    )
    POINTOPS["attention_fusion_step_forward_cuda"](0, 0, 0, related, rows, index, index, fused)
    POINTOPS["attention_fusion_step_backward_cuda"](
        *(0, 0, 0, related, grads[3], rows, grads[4], index, index, fused)
    )


BUILDERS = [value for value in list(globals().values()) if hasattr(value, "__code__")]
CASES = {
    f"{builder.__name__}-{extent}": (builder, extent)
    for builder in BUILDERS
    if next(iter(inspect.signature(builder).parameters), None) == "out"
    for extent, parameter in inspect.signature(builder).parameters.items()
    if extent not in ("out", "method")
}


@pytest.mark.parametrize(("builder", "extent"), CASES.values(), ids=CASES)
def test_sizes_of_zero(builder, extent):
    has_method = "method" in inspect.signature(builder).parameters
    for named in [{"method": 0}, {"method": 1}] if has_method else [{}]:
        outputs = Outputs()
        if extent.isupper():
            with pytest.raises(mluop_omp.MluOpError, match=" is 0, expected"):
                builder(outputs, **{extent: 0}, **named)
            continue
        builder(outputs, **{extent: 0}, **named)
        for output, value in outputs:
            # The mean has no maxima.
            value = 0 if named.get("method") == 1 and value == -1 else value
            assert value is None or (output == value).all(), output
