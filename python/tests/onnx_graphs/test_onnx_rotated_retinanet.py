"""A rotated RetinaNet, exported as mmdeploy does, in onnx.reference against PyTorch."""

from __future__ import annotations

import math

import numpy as np
import onnx_boxes as plain
import pytest

torch = pytest.importorskip("torch", reason="requires torch")
pytest.importorskip("onnx", reason="requires onnx")

from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnx_export import exported, nodes  # noqa: E402

from mluop_omp.onnx import references  # noqa: E402

CLASSES, ANCHORS, PRE, KEEP = 3, 2, 30, 20
THRESHOLDS = {"iou_threshold": 0.1, "score_threshold": 0.45}


class NMSRotated(torch.autograd.Function):
    @staticmethod
    def forward(ctx, boxes, scores):
        rows = plain.rows_of_rotated(
            boxes.detach().numpy(), scores.detach().numpy(), *THRESHOLDS.values()
        )
        return torch.tensor(rows, dtype=torch.int64).reshape(-1, 3)

    @staticmethod
    def symbolic(g, boxes, scores):
        attributes = {f"{name}_f": value for name, value in THRESHOLDS.items()}
        return g.op("mmdeploy::NMSRotated", boxes, scores, **attributes)


class TRTBatchedRotatedNMS(torch.autograd.Function):
    ATTRIBUTES = {"num_classes": CLASSES, "background_label_id": -1, "topk": -1, "keep_topk": KEEP}
    FLAGS = {"is_normalized": 0, "clip_boxes": 0}

    @classmethod
    def forward(cls, ctx, boxes, scores):
        arrays = boxes.detach().numpy(), scores.detach().numpy()
        attributes = {**cls.ATTRIBUTES, **cls.FLAGS, **THRESHOLDS}
        dets, labels, _ = plain.batched(*arrays, plain.iou_of_rotated, **attributes)
        return torch.from_numpy(dets), torch.from_numpy(labels)

    @classmethod
    def symbolic(cls, g, boxes, scores):
        attributes = {f"{name}_i": value for name, value in {**cls.ATTRIBUTES, **cls.FLAGS}.items()}
        attributes |= {f"{name}_f": value for name, value in THRESHOLDS.items()}
        return g.op("mmdeploy::TRTBatchedRotatedNMS", boxes, scores, **attributes, outputs=2)


def selected(scores, boxes, rows):
    """The best detections of each image: dets [N, KEEP, 6] and labels [N, KEEP]."""
    batch, label, box = rows.unbind(1)
    found = torch.cat((boxes[batch, box], scores[batch, label, box].unsqueeze(1)), 1)
    is_own = batch == torch.arange(2).unsqueeze(1)
    dets = torch.where(is_own.unsqueeze(-1), found, found.new_zeros(1))
    labels = torch.where(is_own, label, label.new_full((1,), -1))
    # Topk of an image without detections needs a row.
    dets = torch.cat((dets, dets.new_zeros(2, 1, 6)), 1)
    labels = torch.cat((labels, labels.new_zeros(2, 1)), 1)
    order = dets[..., -1].topk(KEEP, 1).indices
    image = torch.arange(2).unsqueeze(1)
    return dets[image, order], labels[image, order]


def in_half_turn(angle):
    return (angle + math.pi / 2) % math.pi - math.pi / 2


def decoded(anchors, deltas):
    """Boxes of deltas along the sides of anchors, with the longer side as the width."""
    x, y, w, h, a = anchors.unbind(-1)
    dx, dy, dw, dh, da = deltas.unbind(-1)
    cos, sin = a.cos(), a.sin()
    x, y = x + dx * w * cos - dy * h * sin, y + dx * w * sin + dy * h * cos
    w, h, a = w * dw.exp(), h * dh.exp(), a + da
    is_wide = w > h
    sides = torch.where(is_wide, w, h), torch.where(is_wide, h, w)
    angle = in_half_turn(torch.where(is_wide, a, a + math.pi / 2))
    return torch.stack((x, y, *sides, angle), -1)


class RotatedRetinaNet(torch.nn.Module):
    """The heads of two levels and the post-processing."""

    def __init__(self, is_batched: bool) -> None:
        super().__init__()
        self.is_batched = is_batched
        self.scores = torch.nn.Conv2d(8, ANCHORS * CLASSES, 3, padding=1)
        self.deltas = torch.nn.Conv2d(8, ANCHORS * 5, 3, padding=1)
        for index, (size, stride) in enumerate(((6, 8), (3, 16))):
            places = (torch.arange(size) + 0.5) * stride
            y, x = torch.meshgrid(places, places, indexing="ij")
            sides = torch.tensor([[3.0, 2.0], [2.0, 4.0]]) * stride
            grid = torch.stack((x, y), -1)[:, :, None].expand(size, size, ANCHORS, 2)
            sides = sides.expand(size, size, ANCHORS, 2)
            anchors = torch.cat((grid, sides, torch.zeros(size, size, ANCHORS, 1)), -1)
            self.register_buffer(f"anchors{index}", anchors.reshape(1, -1, 5))

    def forward(self, *levels):
        candidates = [self.candidates(index, level) for index, level in enumerate(levels)]
        anchors, deltas, scores = (torch.cat(each, 1) for each in zip(*candidates))
        boxes = decoded(anchors, deltas)
        if self.is_batched:
            return TRTBatchedRotatedNMS.apply(boxes.unsqueeze(2), scores)
        scores = scores.permute(0, 2, 1)
        return selected(scores, boxes, NMSRotated.apply(boxes, scores))

    def candidates(self, index, level):
        """Anchors, deltas and scores of a level, the PRE with the best scores."""
        scores = self.scores(level).permute(0, 2, 3, 1).reshape(2, -1, CLASSES).sigmoid()
        deltas = self.deltas(level).permute(0, 2, 3, 1).reshape(2, -1, 5)
        anchors = getattr(self, f"anchors{index}")
        if anchors.shape[1] <= PRE:
            return anchors.expand(2, -1, 5), deltas, scores
        best = scores.max(-1).values.topk(PRE).indices
        image = torch.arange(2).unsqueeze(1)
        return anchors[0][best], deltas[image, best], scores[image, best]


@pytest.mark.parametrize("is_batched", [False, True])
def test_rotated_retinanet(is_batched):
    torch.manual_seed(1)
    model = RotatedRetinaNet(is_batched).eval()
    levels = tuple(torch.randn(2, 8, size, size) for size in (6, 3))
    names = ("level0", "level1")
    graph = exported(model, levels, names, ("dets", "labels"), ["mmdeploy"])
    assert nodes(graph, "mmdeploy") == ["TRTBatchedRotatedNMS" if is_batched else "NMSRotated"]
    # Other inputs than those that were traced.
    levels = tuple(torch.randn_like(each) for each in levels)
    with torch.no_grad():
        expected = model(*levels)
    feeds = {name: each.numpy() for name, each in zip(names, levels)}
    dets, labels = ReferenceEvaluator(graph, new_ops=references()).run(None, feeds)
    np.testing.assert_array_equal(labels, expected[1].numpy(), strict=True)
    np.testing.assert_allclose(dets, expected[0].numpy(), rtol=1e-4, atol=1e-4, strict=True)
    assert (dets[..., -1] > 0).all() and len(np.unique(labels)) == CLASSES
