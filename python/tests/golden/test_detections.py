"""Outputs of detectors, matched by overlap: in containers, files and runs."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="requires PyTorch")
from torch import nn  # noqa: E402

from mluop_omp import compare, compare_runs, recording, replay  # noqa: E402
from mluop_omp.__main__ import main  # noqa: E402

COUNT = 40


def boxes_of(kind, rng):
    """Returns boxes that hardly overlap."""
    place = np.stack(np.unravel_index(rng.permutation(64)[:COUNT], (8, 8)), 1) * 10.0
    size = rng.uniform(2, 8, (COUNT, 2))
    deep = rng.uniform(1, 2, (COUNT, 2))
    yaw = rng.uniform(-3, 3, (COUNT, 1))
    columns = {
        "corners": [place, place + size],
        "centers": [place, -size],
        "rotated": [place, size, yaw],
        "3-D": [place, deep[:, :1], size, deep[:, 1:], yaw],
        "upright": [place, deep[:, :1], size, deep[:, 1:]],
        "velocities": [place, deep[:, :1], size, deep[:, 1:], yaw, deep],
    }[kind]
    boxes = np.concatenate(columns, 1)
    return np.abs(boxes).astype(np.float32) if kind == "centers" else boxes.astype(np.float32)


@pytest.fixture
def expected(rng):
    return detections(rng)


def detections(rng, kind="3-D"):
    scores = np.sort(rng.uniform(0.05, 1, COUNT))[::-1].round(1).astype(np.float32)
    return {
        "bboxes_3d": boxes_of(kind, rng),
        "scores_3d": scores,
        "labels_3d": rng.integers(0, 3, COUNT),
    }


def ordered_by_ties(scores, rng):
    """Returns an order in which scores descend, too."""
    return np.lexsort((rng.permutation(len(scores)), -scores))


def taken(value, rows):
    return {name: each[rows] for name, each in value.items()}


@pytest.mark.parametrize("kind", ["corners", "centers", "rotated", "3-D", "upright", "velocities"])
def test_boxes_of_equal_scores_in_another_order_agree(rng, kind):
    expected = detections(rng, kind)
    found = taken(expected, ordered_by_ties(expected["scores_3d"], rng))
    found["bboxes_3d"] = found["bboxes_3d"] + np.float32(1e-6)
    result = compare(found, expected)
    assert result, str(result)
    notes = result.children["bboxes_3d"].notes
    assert "40 of 40 boxes are matched (IoU >= 0.5)" in notes
    assert "boxes are in another order" in notes
    found["bboxes_3d"][3, 1] += 0.1
    result = compare(found, expected)
    assert not result and result.children["bboxes_3d"].figures["wrong"] == 1
    assert result.children["scores_3d"].equal


def replaced(value, **changes):
    return {**value, **changes}


# What a device returns instead of the boxes in the order of ties, and what the report states.
WRONG = {
    "a box more": (
        lambda x: {
            k: np.concatenate([v, v[-1:] + v.dtype.type(k[0] == "b")]) for k, v in x.items()
        },
        ["40 of 40 boxes are matched", "1 only in found with scores 0.1"],
    ),
    "a box fewer": (lambda x: taken(x, slice(0, -1)), ["39 of 40", "1 only in expected with"]),
    "a label": (
        lambda x: replaced(x, labels_3d=x["labels_3d"] + (np.arange(COUNT) == 5)),
        ["labels_3d: differ: int64 [40], 1 of 40 elements", "40 of 40 boxes are matched"],
    ),
    "a yaw": (
        lambda x: replaced(x, bboxes_3d=x["bboxes_3d"] + np.eye(7, dtype="f4")[6] * 0.1),
        ["largest differences: centers 0, sizes 0, yaw 0.1"],
    ),
    "scores of other boxes": (
        lambda x: replaced(x, bboxes_3d=np.roll(x["bboxes_3d"], 7, 0)),
        ["scores_3d: differ", "40 of 40 boxes are matched"],
    ),
    "scores that do not descend": (
        lambda x: taken(x, slice(None, None, -1)),
        ["the scores of found do not descend, the expected scores do"],
    ),
    "other boxes": (lambda x: replaced(x, bboxes_3d=x["bboxes_3d"] + 500), ["outside rtol"]),
}


@pytest.mark.parametrize("name", list(WRONG))
def test_wrong_boxes_differ(rng, expected, name):
    change, texts = WRONG[name]
    found = change(taken(expected, ordered_by_ties(expected["scores_3d"], rng)))
    result = compare(found, expected)
    assert not result
    for text in texts:
        assert text in str(result)


def test_a_whole_turn_is_no_difference(rng, expected):
    found = taken(expected, ordered_by_ties(expected["scores_3d"], rng))
    found["bboxes_3d"] = found["bboxes_3d"] + np.float32(2 * np.pi) * np.eye(7, dtype="f4")[6]
    assert compare(found, expected, atol=1e-5)


def test_equal_boxes_of_several_classes(rng, expected):
    twice = {k: np.repeat(v, 2, 0) for k, v in expected.items()}
    twice["labels_3d"][1::2] += 3
    found = taken(twice, ordered_by_ties(twice["scores_3d"], rng))
    assert compare(found, twice)


class Boxes3D:
    """As LiDARInstance3DBoxes of mmdet3d."""

    def __init__(self, tensor):
        self.tensor = torch.from_numpy(np.ascontiguousarray(tensor))


# Containers with detections.
CONTAINERS = {
    "a dict": dict,
    "a list": lambda x: list(x.values()),
    "nested": lambda x: [{"pred": x}, {"pred": x}],
    "boxes of mmdet3d": lambda x: replaced(x, bboxes_3d=Boxes3D(x["bboxes_3d"])),
    "boxes alone": lambda x: {"proposals": x["bboxes_3d"]},
    "instances": lambda x: SimpleNamespace(items=x.items, keys=x.keys),
}


@pytest.mark.parametrize("name", list(CONTAINERS))
def test_containers_with_boxes(rng, expected, name):
    found = taken(expected, ordered_by_ties(expected["scores_3d"], rng))
    wrong = replaced(found, bboxes_3d=found["bboxes_3d"] + np.float32(0.1))
    pair = (CONTAINERS[name](each) for each in (found, expected))
    assert compare(*pair)
    assert not compare(CONTAINERS[name](wrong), CONTAINERS[name](expected))


def test_files_with_boxes(rng, expected, tmp_path, capsys):
    found = taken(expected, ordered_by_ties(expected["scores_3d"], rng))
    for name, value in (("found", found), ("expected", expected)):
        np.savez(tmp_path / f"{name}.npz", **value)
        (tmp_path / name).mkdir()
        for part, array in value.items():
            np.save(tmp_path / name / f"{part}.npy", array)
    for suffix in (".npz", ""):
        arguments = [str(tmp_path / f"{name}{suffix}") for name in ("found", "expected")]
        assert main(["compare", *arguments]) == 0
    assert "equal: all 3" in capsys.readouterr().out


class Detector(nn.Module):
    """Returns boxes with scores and labels; `change` plays another device."""

    def __init__(self):
        super().__init__()
        self.head, self.change = nn.Linear(7, 7), None

    def forward(self, boxes, scores, labels):
        named = {"bboxes": boxes + self.head(boxes) * 0, "scores": scores * 1, "labels": labels + 0}
        named = {name: each[4:] for name, each in named.items()}
        return [self.change(named) if self.change else named]


def run(model, path, value):
    with torch.no_grad(), recording(model, path):
        model(*(torch.from_numpy(np.ascontiguousarray(each)) for each in value.values()))
    return path


def test_runs_with_boxes(rng, expected, tmp_path):
    model = Detector()
    paths = [run(model, tmp_path / "expected.npz", expected)]
    order = torch.from_numpy(ordered_by_ties(expected["scores_3d"][4:], rng))

    def result(change):
        model.change = change
        return compare_runs(run(model, tmp_path / "found.npz", expected), paths[0])

    moved = result(lambda x: taken(x, order))
    assert moved.equal, str(moved)
    assert "joined by the overlap of (model) output 0.bboxes: 2 tensors" in str(moved)
    more = result(
        lambda x: {k: torch.cat([v[order], v[-1:] + (k == "bboxes") * 90]) for k, v in x.items()}
    )
    assert "36 of 36 boxes are matched" in str(more) and "1 only in found with scores" in str(more)
    for wrong in (
        lambda x: replaced(x, bboxes=x["bboxes"].roll(5, 0)),
        lambda x: replaced(x, scores=x["scores"].flip(0)),
        lambda x: taken(x, torch.arange(36).flip(0)),
        lambda x: replaced(taken(x, order), labels=x["labels"]),
    ):
        assert not result(wrong)
    # Rounding errors explain neither an order of scores nor more boxes of another label.
    for wrong in (
        lambda x: replaced(taken(x, torch.arange(36).flip(0)), bboxes=x["bboxes"].flip(0) + 1e-3),
        lambda x: replaced(x, labels=x["labels"] + (torch.arange(36) < 12)),
    ):
        assert not result(wrong)
    model.change = None
    model.head.register_forward_hook(lambda m, i, out: out.flip(0))
    assert "first difference: head" in str(result(None))


class RoIPool(nn.Module):
    """Computes from boxes with their batch, as the modules of this name do."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 8)

    def forward(self, rois):
        return self.layer(rois[:, 1:])


class TwoStages(nn.Module):
    """Its own code chooses boxes: all but the first `dropped` ones."""

    def __init__(self):
        super().__init__()
        self.head, self.pool, self.dropped = nn.Linear(4, 4), RoIPool(), 0

    def forward(self, boxes):
        boxes = (boxes + self.head(boxes) * 0.01)[self.dropped :]
        return self.pool(torch.cat([torch.zeros_like(boxes[:, :1]), boxes], 1))


@pytest.fixture
def two_stages(rng, tmp_path):
    """Returns the model, its input, and a function that records what another device computes."""
    torch.manual_seed(0)
    model = TwoStages().requires_grad_(False)
    boxes = torch.from_numpy(boxes_of("corners", rng))

    def device(name, dropped=0, rounding=0.0, factor=1.0, dtype=torch.float32, **options):
        made = copy.deepcopy(model).to(dtype)
        made.dropped = dropped
        made.head.register_forward_hook(lambda m, i, out: out * (1 + rounding))
        made.pool.layer.register_forward_hook(lambda m, i, out: out * factor)
        with recording(made, tmp_path / name, **options):
            made(boxes.to(dtype))
        return tmp_path / name

    return model, boxes, device


@pytest.mark.parametrize(
    "dropped, rounding, dtype, verdict",
    [
        (2, 0.0, torch.float32, "first difference: (model)"),
        (2, 1e-6, torch.float32, "undecided"),
        (30, 1e-6, torch.float32, "first difference: (model)"),
        (30, 0.0, torch.bfloat16, "undecided"),
        (0, 1e-6, torch.float32, "equal"),
    ],
)
def test_rounding_explains_other_boxes(two_stages, dropped, rounding, dtype, verdict):
    *_, device = two_stages
    expected = device("expected.npz")
    result = compare_runs(device("found.npz", dropped, rounding, dtype=dtype), expected)
    assert str(result).splitlines()[1].startswith(verdict), str(result)
    assert bool(result) is (verdict == "equal")
    is_stated = "input 0 of pool (RoIPool): 2.56 % of the boxes are others" in str(result)
    assert is_stated == (verdict == "undecided" and dropped == 2)


def test_replay_calls_modules_on_the_recorded_boxes(two_stages):
    model, boxes, device = two_stages
    right = replay(model, device("right.npz", dropped=1))
    assert not right.suspects and not right, str(right)
    assert "not all was compared: 3 of 4 agree" in str(right)
    assert "not compared, as tensors have other shapes: 1: (model)" in str(right)
    wrong = replay(model, device("wrong.npz", dropped=1, factor=1.1))
    assert [each.call.module for each in wrong.suspects] == ["pool.layer"]
    sampled = replay(model, device("sampled.npz", dropped=1, max_bytes=9500), boxes)
    assert "not compared, as tensors have other shapes: 2: pool.layer" in str(sampled)
    many = replay(model, device("many.npz", dropped=10))
    assert [each.call.module for each in many.suspects] == [""]
    assert "14.3 % of the boxes are others" in str(many)
