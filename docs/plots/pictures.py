"""Draws the worked pictures of docs/operators: python docs/plots/pictures.py.

All numbers are results of mluop_omp.
"""

from __future__ import annotations

from pathlib import Path

import boxes
import grids
import losses
import matplotlib.pyplot as plt
import points

FOLDER = Path(__file__).parent
PICTURES = (
    grids.voxel_pooling,
    grids.bev_pool,
    grids.voxelization,
    grids.dynamic_scatter,
    grids.masked_im2col,
    grids.masked_col2im,
    grids.deform_conv,
    grids.sparse_convolution,
    grids.indice_convolution,
    grids.indice_maxpool,
    points.furthest_point_sampling,
    points.gather_points,
    points.ball_query,
    points.knn,
    points.three_nn,
    points.three_interpolate,
    points.assign_score_withk,
    points.stack_ball_query,
    points.stack_group_points,
    points.points_in_boxes,
    points.min_area_polygons,
    boxes.roi_align,
    points.roiaware_pool3d,
    points.roipoint_pool3d,
    boxes.box_iou_rotated,
    boxes.box_iou_quadri,
    boxes.boxes_overlap_bev,
    boxes.nms,
    boxes.nms_rotated,
    boxes.nms3d_normal,
    boxes.soft_nms,
    boxes.nms_match,
    boxes.ms_deform_attn,
    losses.sigmoid_focal_loss,
)

if __name__ == "__main__":
    for draw in PICTURES:
        figure = draw()
        path = FOLDER / f"{draw.__name__.replace('_', '-')}.svg"
        figure.savefig(path, bbox_inches="tight", facecolor="white", metadata={"Date": None})
        plt.close(figure)
