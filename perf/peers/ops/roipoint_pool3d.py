"""RoI-point pooling (PointRCNN): the first points of each box, with their features."""

import torch
from ops.points_in_boxes_part import located

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer


def ours(inputs: Inputs) -> Peer:
    names = "points", "point_features", "boxes3d"
    arguments = *(inputs[name] for name in names), inputs["num_sampled_points"].item()
    return Peer("ours", lambda: mt.roipoint_pool3d(*arguments))


# Points at a face may differ by the rounding of the sine and cosine.
def peers(inputs: Inputs) -> list[Peer]:
    points, features, boxes = inputs["points"], inputs["point_features"], inputs["boxes3d"]
    samples = torch.arange(inputs["num_sampled_points"].item())
    shape = *boxes.shape[:2], len(samples), 3 + features.shape[2]

    def each_box() -> Outputs:
        pooled, is_empty = torch.zeros(shape), torch.zeros(shape[:2], dtype=torch.int32)
        for b, row in enumerate(torch.cat((points, features), 2)):
            for m, box in enumerate(boxes[b].split(1)):
                found = located(points[b], box)[3].squeeze(1).nonzero().squeeze(1)
                if len(found) == 0:
                    is_empty[b, m] = 1
                else:
                    pooled[b, m] = row[found[samples % len(found)]]
        return pooled, is_empty

    def all_boxes() -> Outputs:
        """Appends a row of zeros to the rows of the points."""
        pooled, is_empty = torch.empty(shape), torch.empty(shape[:2], dtype=torch.int32)
        for b, row in enumerate(torch.cat((points, features), 2)):
            inside = torch.cat([located(points[b], chunk)[3].t() for chunk in boxes[b].split(4)])
            counts = inside.sum(1, keepdim=True)
            found = torch.cat((inside.nonzero()[:, 1], torch.tensor([len(row)])))
            starts = torch.where(counts == 0, len(found) - 1, counts.cumsum(0) - counts)
            index = found[starts + samples % counts.clamp(min=1)]
            padded = torch.cat((row, row.new_zeros(1, shape[3])))
            torch.index_select(padded, 0, index.view(-1), out=pooled[b].view(-1, shape[3]))
            is_empty[b] = (counts == 0).view(-1)
        return pooled, is_empty

    return [
        Peer("nonzero, index of each box", each_box, idiomatic=True, may_differ=True),
        Peer("nonzero, index_select of all boxes", all_boxes, may_differ=True),
    ]
