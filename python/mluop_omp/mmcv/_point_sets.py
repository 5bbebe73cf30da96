"""The functions of mmcv._ext on point sets, with the names, arguments and outputs of mmcv."""

from __future__ import annotations

from typing import Any

from mluop_omp._adapters import Args, writes
from mluop_omp._operators._declaration import operators
from mluop_omp.torch._precision import at_least_float32


@writes("ious", "pointsets, polygons, ious", at_least_float32)
def convex_iou(args: Args) -> Any:
    """Writes ious [N, K]."""
    return operators.convex_iou, args.pointsets, args.polygons


@writes("output", "pointsets, polygons, output", at_least_float32)
def convex_giou(args: Args) -> Any:
    """Writes the 18 derivatives and the GIoU of each pair to output [N, 19]."""
    return operators.convex_giou, args.pointsets, args.polygons


@writes("polygons", "pointsets, polygons", at_least_float32)
def min_area_polygons(args: Args) -> Any:
    """Writes the rectangles to polygons [N, 8]."""
    return operators.min_area_polygons, args.pointsets
