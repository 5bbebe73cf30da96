"""NMS of rotated boxes (mmcv)."""

import torch
from ops.box_iou_rotated import polygons, shapely

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer


def ours(inputs: Inputs) -> Peer:
    arguments = inputs["boxes"], inputs["scores"], float(inputs["iou_threshold"])
    return Peer("ours", lambda: (mt.nms_rotated(*arguments),))


def peers(inputs: Inputs) -> list[Peer]:
    boxes, scores, threshold = inputs["boxes"], inputs["scores"], float(inputs["iou_threshold"])

    def greedy() -> Outputs:
        """Intersects each kept box with the boxes that a tree of bounding boxes finds."""
        shapes = polygons(boxes)
        areas, tree = shapely.area(shapes), shapely.STRtree(shapes)
        alive, keep = torch.ones(len(boxes), dtype=torch.bool).numpy(), []
        for i in scores.sort(descending=True, stable=True).indices.tolist():
            if not alive[i]:
                continue
            keep.append(i)
            near = tree.query(shapes[i])
            near = near[alive[near]]
            common = shapely.area(shapely.intersection(shapes[i], shapes[near]))
            alive[near[common > threshold * (areas[i] + areas[near] - common)]] = False
        return (torch.tensor(keep, dtype=torch.int32),)

    return [] if shapely is None else [Peer("shapely", greedy, idiomatic=True)]
