"""Pillars of points, and the image that they form: TensorRT's plugins for PointPillars."""

from __future__ import annotations

import numpy as np

from mluop_omp._library import bad_param
from mluop_omp._operators.voxels import voxelization
from mluop_omp.onnx._nodes._checks import require_at_least, require_not_half, require_range
from mluop_omp.onnx._table import REQUIRED, TENSORRT, Floats, Integer, Ints, node


@node(
    *TENSORRT,
    name="PillarScatterPlugin",
    inputs=("voxels", "voxel_coords", "num_pillar"),
    integers=("voxel_coords", "num_pillar"),
    shapes={"voxels": "N P C", "voxel_coords": "N P 4", "num_pillar": "N"},
    attributes={"dense_shape": REQUIRED(Ints)},
    source="NVIDIA/TensorRT",
)
def pillar_scatter(
    voxels: np.ndarray,
    voxel_coords: np.ndarray,
    num_pillar: np.ndarray,
    *,
    dense_shape: tuple[int, ...],
) -> tuple[np.ndarray]:
    """Writes the features of each pillar to its cell of an image.

    The columns of voxel_coords are (frame, z, y, x), dense_shape is (h, w):
    ``output[n, :, y, x] = voxels[n, p]`` for the first num_pillar[n] pillars p of frame n. The
    frame and z are not read; other cells are 0. If several pillars have one cell, the last one
    counts.

    Returns [N, C, h, w]. The plugin's kernel copies exactly 64 channels; here, as its documentation
    says, C is any number.
    """
    if len(dense_shape) != 2 or min(dense_shape) < 0:
        raise bad_param(f"attribute dense_shape is {list(dense_shape)}, expected [h, w]")
    N, P, C = voxels.shape
    height, width = dense_shape
    require_range("num_pillar", num_pillar, P + 1)
    output = np.zeros((N, height, width, C), voxels.dtype)
    for image, features, coords, count in zip(output, voxels, voxel_coords, num_pillar):
        y, x = coords[:count, 2], coords[:count, 3]
        require_range("voxel_coords y", y, height)
        require_range("voxel_coords x", x, width)
        image[y, x] = features[:count]
    return (np.ascontiguousarray(output.transpose(0, 3, 1, 2)),)


@node(
    *TENSORRT,
    name="VoxelGeneratorPlugin",
    inputs=("points", "num_points"),
    integers=("num_points",),
    shapes={"points": "N M _", "num_points": "N"},
    attributes={
        "max_num_points_per_voxel": REQUIRED(Integer),
        "max_voxels": REQUIRED(Integer),
        "point_cloud_range": REQUIRED(Floats),
        "voxel_feature_num": REQUIRED(Integer),
        "voxel_size": REQUIRED(Floats),
    },
    outputs=("voxels", "voxel_coords", "num_pillar"),
    operators=("voxelization",),
    source="NVIDIA/TensorRT",
)
def voxel_generator(
    points: np.ndarray,
    num_points: np.ndarray,
    *,
    max_num_points_per_voxel: int,
    max_voxels: int,
    point_cloud_range: tuple[float, ...],
    voxel_feature_num: int,
    voxel_size: tuple[float, ...],
) -> tuple[np.ndarray, ...]:
    """Collects the points of each pillar, with their distances to its mean and center.

    The first num_points[n] points of frame n take part that satisfy minimum <= p < maximum along x,
    y and z; point_cloud_range has the minima, then the maxima. The pillar of a point is
    ``floor((p - minimum) / voxel_size)`` along x and y. Points are [N, M, 4] (x, y, z, intensity)
    or [N, M, 5] with a time. The features of a point are its 4 or 5 numbers, then

    - x, y, z minus their means over the points of the pillar that are kept;
    - x, y, z minus the center of the cell, in z of the lowest cell;

    cut to the first voxel_feature_num, at most 10 or 11. Returns

    - voxels [N, max_voxels, max_num_points_per_voxel, voxel_feature_num], 0 without a point;
    - voxel_coords [N, max_voxels, 4]: (0, 0, y, x), as the kernel writes; its documentation says
      that the first column is the frame;
    - num_pillar [N], at most max_voxels.

    The order of pillars and of points in a pillar, and which are kept of too many, are undefined on
    a device. Here pillars are in the order of their first points, points in ascending order, and
    the first ones are kept. The last feature of 11 is the distance in z, which the kernel writes to
    another index. Distances are float32, for float64 float64.
    """
    require_not_half("points", points)
    _check_voxels(points, num_points, point_cloud_range, voxel_feature_num, voxel_size)
    require_at_least("attribute max_voxels", max_voxels, 0)
    require_at_least("attribute max_num_points_per_voxel", max_num_points_per_voxel, 0)
    N, sizes = len(points), (max_voxels, max_num_points_per_voxel)
    voxels = np.zeros((N, *sizes, voxel_feature_num), points.dtype)
    coords = np.zeros((N, max_voxels, 4), np.int32)
    num_pillar = np.zeros(N, np.int32)
    geometry = np.asarray((*point_cloud_range, *voxel_size), points.dtype)
    for n, count in enumerate(num_points):
        features, yx = _pillars(points[n, :count], geometry, *sizes)
        num_pillar[n] = len(features)
        voxels[n, : len(features)] = features[..., :voxel_feature_num]
        coords[n, : len(features), 2:] = yx
    return voxels, coords, num_pillar


def _check_voxels(
    points: np.ndarray,
    num_points: np.ndarray,
    point_cloud_range: tuple[float, ...],
    voxel_feature_num: int,
    voxel_size: tuple[float, ...],
) -> None:
    F = points.shape[2]
    if F not in (4, 5):
        raise bad_param(f"input points dim 2 is {F}, expected 4 or 5")
    require_range("num_points", num_points, points.shape[1] + 1)
    for name, values, count in (
        ("point_cloud_range", point_cloud_range, 6),
        ("voxel_size", voxel_size, 3),
    ):
        if len(values) != count:
            raise bad_param(f"attribute {name} has {len(values)} elements, expected {count}")
    if not 0 < voxel_feature_num <= F + 6:
        raise bad_param(
            f"attribute voxel_feature_num is {voxel_feature_num}, expected 1 to {F + 6}"
        )


def _pillars(
    points: np.ndarray, geometry: np.ndarray, max_voxels: int, max_points: int
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the features [V, max_points, F + 6] of the pillars of a frame, and their y, x."""
    low, high, size = geometry.reshape(3, 3)
    xyz = points[:, :3]
    inside = points[((xyz >= low) & (xyz < high)).all(1)]
    # One layer of cells in z, whatever z is.
    flat = np.insert(inside, 2, 0, axis=1)
    bounds = (*low[:2], -1, *high[:2], 1)
    found, cells, counts = voxelization(flat, (*size[:2], 2), bounds, max_points, max_voxels)
    numbers = np.delete(found, 2, axis=2)
    is_point = (np.arange(max_points) < counts[:, None])[..., None]
    means = numbers[..., :3].sum(1) / np.fmax(counts, 1).astype(points.dtype)[:, None]
    centers = size / 2 + cells[:, ::-1].astype(points.dtype) * size + low
    offsets = [numbers[..., :3] - each[:, None] for each in (means, centers)]
    return np.concatenate((numbers, *offsets), 2) * is_point, cells[:, 1:]
