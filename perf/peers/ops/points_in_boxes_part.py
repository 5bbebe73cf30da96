"""Points in boxes (mmcv): the first box of each point."""

import torch

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer


def ours(inputs: Inputs) -> Peer:
    arguments = inputs["points"], inputs["boxes"]
    return Peer("ours", lambda: (mt.points_in_boxes_part(*arguments),))


# Points at a face may differ by the rounding of the sine and cosine.
def peers(inputs: Inputs) -> list[Peer]:
    points, boxes = inputs["points"], inputs["boxes"]

    def all_pairs() -> Outputs:
        x, y, z, dx, dy, dz, yaw = boxes.unsqueeze(1).unbind(3)
        px, py, pz = (each.unsqueeze(2) for each in points.unbind(2))
        cos, sin = yaw.cos(), yaw.sin()
        lx = (px - x) * cos + (py - y) * sin
        ly = (py - y) * cos - (px - x) * sin
        inside = (lx.abs() < dx / 2) & (ly.abs() < dy / 2) & ((pz - (z + dz / 2)).abs() <= dz / 2)
        return (torch.where(inside.any(2), inside.int().argmax(2), -1).int(),)

    return [Peer("all pairs, argmax", all_pairs, idiomatic=True, may_differ=True)]
