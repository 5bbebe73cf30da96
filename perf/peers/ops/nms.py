"""NMS of axis-aligned boxes (mmcv, torchvision) and of 3-D boxes (mmcv)."""

import torch

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer

try:
    import torchvision
except (ImportError, RuntimeError):  # its wheel is for another version of PyTorch
    torchvision = None


def ours(inputs: Inputs) -> Peer:
    boxes, scores, threshold = inputs["boxes"], inputs["confidence"], float(inputs["iou_threshold"])
    if boxes.shape[1] == 7:
        descending = -torch.arange(len(boxes), dtype=torch.float32)
        return Peer("ours", lambda: (mt.nms3d(boxes, descending, threshold),))
    return Peer("ours", lambda: (mt.nms(boxes, scores, threshold),))


def peers(inputs: Inputs) -> list[Peer]:
    boxes, scores, threshold = inputs["boxes"], inputs["confidence"], float(inputs["iou_threshold"])

    def greedy() -> Outputs:
        """Compares each kept box with all remaining boxes."""
        order, keep = scores.sort(descending=True, stable=True).indices, []
        areas = (boxes[:, 2:] - boxes[:, :2]).prod(1)
        while len(order) > 0:
            best, order = order[0], order[1:]
            keep.append(best)
            left = boxes[order]
            sides = torch.minimum(boxes[best, 2:], left[:, 2:]) - torch.maximum(boxes[best, :2], left[:, :2])
            common = sides.clamp(min=0).prod(1)
            order = order[~(common / (areas[best] + areas[order] - common) > threshold)]
        return (torch.stack(keep).int(),)

    if boxes.shape[1] == 7:
        return []
    all_peers = [Peer("greedy loop", greedy, idiomatic=True)]
    if torchvision is not None:
        all_peers.append(Peer("torchvision", lambda: (torchvision.ops.nms(boxes, scores, threshold).int(),)))
    return all_peers
