"""Points in boxes (mmcv): the first box of each point."""

import torch

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer


def located(points: torch.Tensor, boxes: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Returns, for each point [..., N, 3] and box [..., M, 7], the coordinates of the point along the axes of the box,
    from the center of the bottom, and whether it is inside."""
    x, y, z, dx, dy, dz, yaw = boxes.unsqueeze(-3).unbind(-1)
    px, py, pz = (each.unsqueeze(-1) for each in points.unbind(-1))
    cos, sin = yaw.cos(), yaw.sin()
    lx = (px - x) * cos + (py - y) * sin
    ly = (py - y) * cos - (px - x) * sin
    inside = (lx.abs() < dx / 2) & (ly.abs() < dy / 2) & ((pz - (z + dz / 2)).abs() <= dz / 2)
    return lx, ly, pz - z, inside


def ours(inputs: Inputs) -> Peer:
    arguments = inputs["points"], inputs["boxes"]
    return Peer("ours", lambda: (mt.points_in_boxes_part(*arguments),))


# Points at a face may differ by the rounding of the sine and cosine.
def peers(inputs: Inputs) -> list[Peer]:
    points, boxes = inputs["points"], inputs["boxes"]

    def all_pairs() -> Outputs:
        inside = located(points, boxes)[3]
        return (torch.where(inside.any(2), inside.int().argmax(2), -1).int(),)

    return [Peer("all pairs, argmax", all_pairs, idiomatic=True, may_differ=True)]
