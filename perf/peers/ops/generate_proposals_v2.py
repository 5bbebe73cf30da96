"""Proposals of a region proposal network (PaddlePaddle)."""

import math

import torch

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer

try:
    import torchvision
except (ImportError, RuntimeError):  # its wheel is for another version of PyTorch
    torchvision = None

TENSORS = ("scores", "bbox_deltas", "im_shape", "anchors", "variances")


def ours(inputs: Inputs) -> Peer:
    tensors = [inputs[name] for name in TENSORS]
    limits = [int(inputs[name]) for name in ("pre_nms_top_n", "post_nms_top_n")]
    numbers = [float(inputs[name]) for name in ("nms_thresh", "min_size")]
    return Peer("ours", lambda: mt.generate_proposals_v2(*tensors, *limits, *numbers))


def peers(inputs: Inputs) -> list[Peer]:
    scores, deltas, im_shape, anchors, variances = (inputs[name] for name in TENSORS)
    first, last = int(inputs["pre_nms_top_n"]), int(inputs["post_nms_top_n"])
    threshold, least = float(inputs["nms_thresh"]), max(float(inputs["min_size"]), 1)

    def decoded() -> Outputs:
        """Returns the boxes of the highest scores of one picture, and their scores."""
        best, indices = scores.flatten().topk(first)
        low, high = anchors.view(-1, 4)[indices].chunk(2, 1)
        shift, scale = (deltas.view(-1, 4)[indices] * variances.view(-1, 4)[indices]).chunk(2, 1)
        sides = high - low
        center, half = low + sides / 2 + shift * sides, scale.clamp(max=math.log(1000 / 16)).exp() * sides / 2
        boxes = torch.stack((center - half, center + half), 1)
        boxes = boxes.minimum(im_shape[0].flip(0)).clamp(min=0).flatten(1)
        remain = (boxes[:, 2:] - boxes[:, :2] >= least).all(1)
        return boxes[remain], best[remain]

    def with_nms(nms) -> Outputs:
        boxes, best = decoded()
        keep = nms(boxes, best, threshold)[:last]
        return boxes[keep], best[keep].unsqueeze(1), torch.tensor([len(keep)], dtype=torch.int32)

    if len(scores) != 1:
        return []
    # Among equal scores, topk takes any.
    found = [Peer("topk, decode, nms of mluop_omp", lambda: with_nms(mt.nms), may_differ=True)]
    if torchvision is not None:
        nms = torchvision.ops.nms
        found.append(Peer("topk, decode, nms of torchvision", lambda: with_nms(nms), idiomatic=True, may_differ=True))
    return found
