"""IoU of rotated boxes (mmcv)."""

import numpy as np
import torch

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer

try:
    import shapely
except ImportError:
    shapely = None


def polygons(boxes: torch.Tensor) -> np.ndarray:
    """The boxes [N, 5] as polygons of shapely."""
    x, y, w, h, angle = (column.double().numpy()[:, None] for column in boxes.unbind(1))
    u, v = w / 2 * [-1, 1, 1, -1], h / 2 * [-1, -1, 1, 1]
    cos, sin = np.cos(angle), np.sin(angle)
    return shapely.polygons(np.stack([x + u * cos - v * sin, y + u * sin + v * cos], 2))


def ours(inputs: Inputs) -> Peer:
    arguments = inputs["bbox1"], inputs["bbox2"], "iou", bool(inputs["aligned"])
    return Peer("ours", lambda: (mt.box_iou_rotated(*arguments),))


def peers(inputs: Inputs) -> list[Peer]:
    bbox1, bbox2, aligned = inputs["bbox1"], inputs["bbox2"], bool(inputs["aligned"])

    def tree() -> Outputs:
        """Intersects the pairs that a tree of bounding boxes finds."""
        first, second = polygons(bbox1), polygons(bbox2)
        pairs = np.arange(len(first))[None].repeat(2, 0) if aligned else shapely.STRtree(second).query(first)
        common = shapely.area(shapely.intersection(first[pairs[0]], second[pairs[1]]))
        ious = common / (shapely.area(first)[pairs[0]] + shapely.area(second)[pairs[1]] - common)
        output = torch.zeros(len(bbox1), 1 if aligned else len(bbox2))
        output[pairs[0], 0 if aligned else pairs[1]] = torch.from_numpy(ious).float()
        return (output.squeeze(1) if aligned else output,)

    return [] if shapely is None else [Peer("shapely", tree, idiomatic=True)]
