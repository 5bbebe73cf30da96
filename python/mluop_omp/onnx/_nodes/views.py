"""Pooling of points into the cells of a bird's-eye view."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mluop_omp._library import bad_param
from mluop_omp._operators.bev_pools import bev_pool
from mluop_omp.onnx._nodes._checks import require_at_least, require_range, require_same_dtype
from mluop_omp.onnx._table import REQUIRED, TENSORRT, Integer, node

_POOLED: dict[str, Any] = {
    "inputs": (
        *("depth", "feat", "ranks_depth", "ranks_feat", "ranks_bev"),
        *("interval_starts", "interval_lengths"),
    ),
    "integers": (
        *("ranks_depth", "ranks_feat", "ranks_bev", "interval_starts", "interval_lengths"),
    ),
    "shapes": {
        "depth": "N D H W",
        "feat": "N H W C",
        **{name: "P" for name in ("ranks_depth", "ranks_feat", "ranks_bev")},
        **{name: "I" for name in ("interval_starts", "interval_lengths")},
    },
    "operators": ("bev_pool",),
}


def _intervals(
    starts: np.ndarray, lengths: np.ndarray, cells: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the points of all intervals, and for each the cell of its interval.

    cells [P] holds the cell of each point, 0 to count - 1; an interval has the cell of its first
    point. If several intervals have one cell, the last one counts, as if the kernel wrote the sums
    one after the other.
    """
    require_range("interval_starts", starts, len(cells) + 1)
    require_range("interval_lengths", lengths, len(cells) + 1)
    require_range("interval_starts + interval_lengths", starts + lengths, len(cells) + 1)
    starts, lengths = (each[lengths > 0].astype(np.int64) for each in (starts, lengths))
    require_range("cell of interval", cells[starts], count)
    last = len(starts) - 1 - np.unique(cells[starts][::-1], return_index=True)[1]
    starts, lengths = starts[np.sort(last)], lengths[np.sort(last)]
    first = np.cumsum(lengths) - lengths
    points = np.arange(lengths.sum()) + np.repeat(starts - first, lengths)
    return points, np.repeat(cells[starts], lengths).astype(np.int32)


@node(
    *TENSORRT,
    name=("BEVPoolV2TRT", "BEVPoolV2TRT2"),
    attributes={"out_height": REQUIRED(Integer), "out_width": REQUIRED(Integer)},
    source="DerryHub/BEVFormer_tensorrt",
    **_POOLED,
)
@node(
    "mmdeploy",
    name="bev_pool_v2",
    attributes={"out_height": 128, "out_width": 128},
    source="HuangJunJie2017/BEVDet",
    **_POOLED,
)
def bev_pool_v2(
    depth: np.ndarray,
    feat: np.ndarray,
    ranks_depth: np.ndarray,
    ranks_feat: np.ndarray,
    ranks_bev: np.ndarray,
    interval_starts: np.ndarray,
    interval_lengths: np.ndarray,
    *,
    out_height: int,
    out_width: int,
) -> tuple[np.ndarray]:
    """Sums the features of the points of each cell, weighted by depth.

    With p over the points interval_starts[i] to interval_starts[i] + interval_lengths[i] - 1, and m
    the ranks_bev of the interval's first point, ``output[0, m / out_width, m % out_width]`` is the
    sum of ``depth[ranks_depth[p]] * feat[ranks_feat[p]]``: an element of depth [N, D, H, W], and a
    row of feat [N, H, W, C], numbered in memory order. Cells without an interval are 0, and points
    outside all intervals are not read. If several intervals have one cell, the last one counts; on
    a device, any of them may.

    Returns [1, out_height, out_width, C]. Products and sums are float32 (float64 for float64),
    rounded once.
    """
    require_same_dtype("depth", depth, "feat", feat)
    require_at_least("attribute out_height", out_height, 0)
    require_at_least("attribute out_width", out_width, 0)
    cells = out_height * out_width
    points, cell = _intervals(interval_starts, interval_lengths, ranks_bev, cells)
    rows = feat.reshape(math.prod(feat.shape[:3]), feat.shape[3])
    ranks = ranks_depth[points], ranks_feat[points], cell
    output = bev_pool(depth.reshape(-1), rows, *ranks, cells)
    return (output.reshape(1, out_height, out_width, feat.shape[3]),)


@node(
    "autoware",
    name="QuickCumsumCuda",
    inputs=("x", "geom_feats", "interval_lengths", "interval_starts"),
    integers=("geom_feats", "interval_lengths", "interval_starts"),
    shapes={
        "x": "n C",
        "geom_feats": "n 4",
        "interval_lengths": "I",
        "interval_starts": "I",
    },
    attributes={name: REQUIRED(Integer) for name in ("batch_size", "dimension", "height", "width")},
    operators=("bev_pool",),
    source="tier4/AWML",
)
def quick_cumsum(
    x: np.ndarray,
    geom_feats: np.ndarray,
    interval_lengths: np.ndarray,
    interval_starts: np.ndarray,
    *,
    batch_size: int,
    dimension: int,
    height: int,
    width: int,
) -> tuple[np.ndarray]:
    """Sums the rows of x of each interval in a cell (BEVFusion).

    The columns of geom_feats are (row, column, depth, batch). ``output[batch, depth, row, column]``
    is the sum of the rows interval_starts[i] to interval_starts[i] + interval_lengths[i] - 1 of x,
    whose first row has that cell. The lengths are given before the starts, unlike in bev_pool_v2.
    Cells without an interval are 0. If several intervals have one cell, the last one counts.

    Returns [batch_size, dimension, height, width, C]. Sums are float32 (float64 for float64),
    rounded once.
    """
    extents = (height, width, dimension, batch_size)
    for name, extent in zip(("height", "width", "dimension", "batch_size"), extents):
        require_at_least(f"attribute {name}", extent, 0)
    cells = batch_size * dimension * height * width
    row, column, depth, batch = geom_feats.astype(np.int64).T
    flat = ((batch * dimension + depth) * height + row) * width + column
    # Only the first point of an interval needs a cell.
    is_inside = ((geom_feats >= 0) & (geom_feats < extents)).all(1)
    first = interval_starts[(interval_lengths > 0) & (interval_starts >= 0)]
    first = first[first < len(x)]
    outside = first[~is_inside[first]]
    if len(outside):
        found, expected = geom_feats[outside[0]].tolist(), ", ".join(map(str, extents))
        raise bad_param(f"geom_feats[{outside[0]}] is {found}, expected below ({expected})")
    points, cell = _intervals(interval_starts, interval_lengths, flat, cells)
    ranks = np.zeros(len(points), np.int32), points.astype(np.int32), cell
    output = bev_pool(np.ones(1, x.dtype), x, *ranks, cells)
    return (output.reshape(batch_size, dimension, height, width, x.shape[1]),)
