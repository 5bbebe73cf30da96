"""Outputs of detectors: boxes with scores and labels, matched by overlap.

A detection is a tensor of boxes [N, 4..9], found by its name or beside scores [N] and labels [N],
or as an unnamed tensor of a module that takes or returns proposals.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any, Callable, NamedTuple

import numpy as np

from mluop_omp import _arrays, _library
from mluop_omp.golden._text import listed
from mluop_omp.golden.comparison._result import Comparison
from mluop_omp.golden.comparison._values import Tensor

_box_iou_rotated = _library.function("mluOpBoxIouRotated", "pibpppppp")

# Boxes that belong together, and boxes that are the same but for rounding.
_MIN_OVERLAP, _SAME_OVERLAP = 0.5, 0.75
# Pairs of boxes whose overlap is computed.
_MAX_PAIRS = 1 << 22
_BOXES = re.compile(r"box|proposal|^dets?$|^rois?$", re.I)
# Arguments and targets of a regression are not boxes, although their names contain the word.
_NOT_BOXES = re.compile(r"bbox_pred|delta|target|offset|reg|weight|score|label", re.I)
_SCORES, _LABELS = re.compile(r"score|conf", re.I), re.compile(r"label|class|cls", re.I)
# Classes of modules whose unnamed tensors [N, 4] or [N, 5] are boxes, the latter with their batch.
_OF_PROPOSALS = re.compile(r"RPN|RegionProposal|Proposals|RoI(?!Head)", re.I)
_SUFFIX = re.compile(r"\.(npy|npz|pt|pth|bin|raw|tensor)$")


class Names(NamedTuple):
    """The names of the tensors of a detection; "" for one that it lacks."""

    boxes: str
    scores: str
    labels: str


class Shape(NamedTuple):
    dtype: str
    shape: tuple[int, ...]


class Detection(NamedTuple):
    boxes: np.ndarray
    scores: np.ndarray | None
    labels: np.ndarray | None


def find(tensors: Mapping[str, Shape], kind: str = "") -> Iterator[Names]:
    """Yields the detections among the tensors of a container or a call, by their names or paths.

    kind: the class of the module that is called.
    """
    has_proposals = bool(_OF_PROPOSALS.search(kind.rpartition(".")[2]))
    parents: dict[str, dict[str, str]] = {}
    for name in tensors:
        # "pred.bboxes_3d.tensor" is a member of "pred", as is "pred.scores_3d".
        parent, _, member = _SUFFIX.sub("", name).rpartition(".")
        parents.setdefault(parent, {})[member] = name
    for members in parents.values():
        named = {member: name for member, name in members.items() if _is_boxes(tensors[name])}
        for member, name in named.items():
            rows = tensors[name].shape[0]
            scores = [
                (each, other)
                for each, other in members.items()
                if tensors[other].shape == (rows,) and "float" in tensors[other].dtype
            ]
            labels = [
                (each, other)
                for each, other in members.items()
                if tensors[other].shape == (rows,) and "int" in tensors[other].dtype
            ]
            if _BOXES.search(member) and not _NOT_BOXES.search(member):
                of_scores = [other for each, other in scores if _SCORES.search(each)]
                of_labels = [other for each, other in labels if _LABELS.search(each)]
                yield Names(name, next(iter(of_scores), ""), next(iter(of_labels), ""))
            elif member.isdecimal() and len(named) == len(scores) == len(labels) == 1:
                yield Names(name, scores[0][1], labels[0][1])
            elif (
                has_proposals and (member.isdecimal() or not member) and tensors[name].shape[1] < 6
            ):
                yield Names(name, "", "")


def _is_boxes(tensor: Shape) -> bool:
    return "float" in tensor.dtype and len(tensor.shape) == 2 and 4 <= tensor.shape[1] <= 9


@dataclasses.dataclass(frozen=True, eq=False)
class Matching:
    """The boxes of found and of expected that belong together.

    Attributes:
        rows: [K, 2], a row of found and a row of expected, ascending in the latter.
        unmatched: the share of boxes without a counterpart.
        others: the share of boxes without a counterpart of the same label at about the same place.
        is_close: whether half of the boxes of the shorter side have one, at least one box.
        has_order: False if the scores of expected descend but the scores of found do not.
        turns: multiples of a whole turn to add to the yaw of each matched box of found.
        notes: what differs, one finding a line.
    """

    rows: np.ndarray
    unmatched: float
    others: float
    is_close: bool
    has_order: bool
    turns: np.ndarray | None
    notes: tuple[str, ...]

    @property
    def is_identity(self) -> bool:
        return not self.unmatched and bool((self.rows[:, 0] == self.rows[:, 1]).all())

    def taken(self, tensor: Tensor, side: int, is_boxes: bool) -> Tensor:
        """Returns the matched rows of a tensor of found (side 0) or expected (side 1)."""
        taken = tensor[self.rows[:, side]]
        if side == 0 and is_boxes and self.turns is not None and self.turns.any():
            column = 4 if tensor.shape[1] == 5 else 6
            numbers = taken.numbers().copy()
            numbers[:, column] += self.turns
            dtype = "float32" if tensor.dtype == "bfloat16" else tensor.dtype
            return Tensor(numbers.astype(dtype), dtype)
        return taken

    def judged(self, result: Comparison, is_boxes: bool) -> Comparison:
        """Returns the comparison of matched rows as the comparison of all boxes."""
        is_unsorted = is_boxes and not self.has_order
        equal = result.equal and not (self.unmatched or is_unsorted)
        notes = (*(self.notes if is_boxes else self.notes[:1]), *result.notes)
        return dataclasses.replace(
            result,
            equal=equal,
            notes=notes,
            other_boxes=self.others,
            is_unsorted=is_unsorted,
        )


def match(found: Detection, expected: Detection) -> Matching | None:
    """Matches boxes greedily, equal labels and large overlaps first; None if there are too many."""
    counts = len(found.boxes), len(expected.boxes)
    if found.boxes.shape[1] != expected.boxes.shape[1] or counts[0] * counts[1] > _MAX_PAIRS:
        return None
    overlaps = _overlaps(found, expected)
    own, other = np.nonzero(overlaps >= _MIN_OVERLAP)
    label = _difference(found.labels, expected.labels, own, other) != 0
    score = np.abs(_difference(found.scores, expected.scores, own, other))
    # Boxes of several classes may be equal but for their labels and scores.
    order = np.lexsort((score, -overlaps[own, other].round(3), label))
    partner = np.full(counts[1], -1)
    is_free = np.ones(counts[0], bool)
    for i, j in zip(own[order].tolist(), other[order].tolist()):
        if is_free[i] and partner[j] < 0:
            partner[j], is_free[i] = i, False
    matched = np.flatnonzero(partner >= 0)
    is_close = 2 * len(matched) >= min(counts) > 0
    rows = np.stack([partner[matched], matched], axis=1)
    descends = [
        each.scores is None or bool((np.diff(each.scores) <= 0).all()) for each in (found, expected)
    ]
    has_order = descends[0] or not descends[1]
    turns = _turns(found, expected, rows) if is_close else None
    notes = tuple(_notes(found, expected, rows, turns, has_order)) if is_close else ()
    same = overlaps[rows[:, 0], rows[:, 1]] >= _SAME_OVERLAP
    same &= _difference(found.labels, expected.labels, rows[:, 0], rows[:, 1]) == 0
    unmatched, others = (1 - 2 * count / max(sum(counts), 1) for count in (len(rows), same.sum()))
    return Matching(rows, unmatched, float(others), is_close, has_order, turns, notes)


def _difference(
    found: np.ndarray | None, expected: np.ndarray | None, own: np.ndarray, other: np.ndarray
) -> Any:
    if found is None or expected is None:
        return np.zeros(len(own))
    return np.subtract(found[own], expected[other], dtype=np.float64)


def _overlaps(found: Detection, expected: Detection) -> np.ndarray:
    """Returns intersection over union [N, M]; equal boxes of any size have 1."""
    a, b = found.boxes, expected.boxes
    columns = a.shape[1]
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        if _has_corners(found, expected):
            overlaps = _aligned(a[:, :2], a[:, 2:4], b[:, :2], b[:, 2:4])
        elif columns == 4 or columns == 6:
            # Centers and sizes.
            half = columns // 2
            ends = [
                each[:, :half] + sign * each[:, half:] / 2 for each in (a, b) for sign in (-1, 1)
            ]
            overlaps = _aligned(*ends)
        else:
            overlaps = _rotated(a, b)
        is_equal = np.ones(overlaps.shape, bool)
        for column in range(columns):
            is_equal &= a[:, None, column] == b[None, :, column]
    return np.where(is_equal, 1.0, np.nan_to_num(overlaps))


def _has_corners(found: Detection, expected: Detection) -> bool:
    """Returns whether boxes are x1, y1, x2, y2, with their score and label as further columns."""
    columns = found.boxes.shape[1]
    if not (columns == 4 or (columns in (5, 6) and found.scores is None)):
        return False
    boxes = np.concatenate([found.boxes, expected.boxes])
    is_scored = columns == 4 or bool(((boxes[:, 4] >= 0) & (boxes[:, 4] <= 1)).all())
    return is_scored and bool((boxes[:, 2:4] >= boxes[:, :2]).all())


def _aligned(a0: np.ndarray, a1: np.ndarray, b0: np.ndarray, b1: np.ndarray) -> np.ndarray:
    """Returns the overlaps of boxes between corners [N, dims] and [M, dims]."""
    shared = np.ones((len(a0), len(b0)))
    sizes = np.ones(len(a0)), np.ones(len(b0))
    for low_a, high_a, low_b, high_b in zip(a0.T, a1.T, b0.T, b1.T):
        high, low = np.minimum.outer(high_a, high_b), np.maximum.outer(low_a, low_b)
        shared *= np.maximum(high - low, 0)
        sizes = sizes[0] * (high_a - low_a), sizes[1] * (high_b - low_b)
    overlaps: np.ndarray = shared / (np.add.outer(*sizes) - shared)
    return overlaps


def _rotated(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns the overlaps of boxes x, y, w, h, angle, or x, y, z, dx, dy, dz, yaw, ..."""
    is_flat = a.shape[1] == 5
    planes = [
        np.ascontiguousarray(each if is_flat else each[:, [0, 1, 3, 4, 6]], np.float32)
        for each in (a, b)
    ]
    overlaps = _rotated_in_plane(planes[0], planes[1])
    if is_flat:
        return overlaps
    areas = [each[:, 3] * each[:, 4] for each in (a, b)]
    shared = overlaps / (1 + overlaps) * np.add.outer(*areas)
    ends = [each[:, 2] + sign * each[:, 5] / 2 for each in (a, b) for sign in (-1, 1)]
    height = np.minimum.outer(ends[1], ends[3]) - np.maximum.outer(ends[0], ends[2])
    shared = shared * np.maximum(height, 0)
    volumes = [area * each[:, 5] for area, each in zip(areas, (a, b))]
    solid: np.ndarray = shared / (np.add.outer(*volumes) - shared)
    return solid


def _rotated_in_plane(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Calls mluOpBoxIouRotated on float32 boxes [N, 5] and [M, 5]."""
    overlaps = np.zeros((len(a), len(b)), np.float32)
    if overlaps.size:
        arguments: list[Any] = []
        for array in (a, b, overlaps):
            kind = _arrays.ARRAY, _arrays.DTYPES["float32"]
            arguments += [_arrays.describe(*kind, array.shape), array.ctypes.data]
        with _library.handle() as handle:
            handle.call(_box_iou_rotated, 0, False, *arguments)
    return overlaps.astype(np.float64)


def _turns(found: Detection, expected: Detection, rows: np.ndarray) -> np.ndarray | None:
    columns = found.boxes.shape[1]
    if columns in (4, 6) or _has_corners(found, expected):
        return None
    column = 4 if columns == 5 else 6
    difference = expected.boxes[rows[:, 1], column] - found.boxes[rows[:, 0], column]
    turns: np.ndarray = np.round(np.nan_to_num(difference) / (2 * np.pi)) * (2 * np.pi)
    return turns


def _notes(
    found: Detection,
    expected: Detection,
    rows: np.ndarray,
    turns: np.ndarray | None,
    has_order: bool,
) -> Iterator[str]:
    counts = len(found.boxes), len(expected.boxes)
    if not has_order:
        yield "the scores of found do not descend, the expected scores do"
    yield f"{len(rows)} of {counts[1]} boxes are matched (IoU >= {_MIN_OVERLAP})"
    e, b = found.boxes[rows[:, 0]], expected.boxes[rows[:, 1]]
    if turns is not None:
        e[:, 4 if e.shape[1] == 5 else 6] += turns
    with np.errstate(invalid="ignore"):
        error = np.abs(e - b).max(axis=0)
    parts = [f"{name} {error[part].max():.3g}" for name, part in _parts(found, expected)]
    if found.scores is not None and expected.scores is not None:
        scores = np.abs(found.scores[rows[:, 0]] - expected.scores[rows[:, 1]])
        parts.append(f"scores {scores.max():.3g}")
    yield f"largest differences: {', '.join(parts)}"
    if found.labels is not None and expected.labels is not None:
        wrong = int((found.labels[rows[:, 0]] != expected.labels[rows[:, 1]]).sum())
        if wrong:
            yield f"labels that differ: {wrong}"
    for side, own, matched in (("found", found, rows[:, 0]), ("expected", expected, rows[:, 1])):
        alone = np.setdiff1d(np.arange(len(own.boxes)), matched)
        if len(alone):
            scores = () if own.scores is None else (f"{x:.3g}" for x in own.scores[alone][:9])
            scored = f" with scores {listed(scores, len(alone))}" if own.scores is not None else ""
            yield f"{len(alone)} only in {side}{scored}"
    if not (np.diff(rows[:, 0]) > 0).all():
        yield "boxes are in another order"


def _parts(found: Detection, expected: Detection) -> Iterator[tuple[str, slice]]:
    columns = found.boxes.shape[1]
    if _has_corners(found, expected):
        yield "corners", slice(0, 4)
        if columns > 4:
            yield "further columns", slice(4, None)
        return
    dims = 2 if columns in (4, 5) else 3
    yield "centers", slice(0, dims)
    yield "sizes", slice(dims, 2 * dims)
    if columns > 2 * dims:
        yield "yaw", slice(2 * dims, 2 * dims + 1)
    if columns > 2 * dims + 1:
        yield "further columns", slice(2 * dims + 1, None)


def detection(names: Names, read: Callable[[str], Tensor]) -> Detection:
    scores, labels = (read(name).numbers() if name else None for name in names[1:])
    scores = None if scores is None else scores.astype(np.float64)
    boxes = read(names.boxes).numbers().astype(np.float64)
    if scores is None and labels is None and _are_regions(boxes):
        return Detection(boxes[:, 1:], None, boxes[:, 0])
    return Detection(boxes, scores, labels)


def _are_regions(boxes: np.ndarray) -> bool:
    """Returns whether boxes are batch, x1, y1, x2, y2."""
    if boxes.shape[1] != 5:
        return False
    batch, corners = boxes[:, 0], boxes[:, 1:]
    has_batch = bool(((batch >= 0) & (batch == np.floor(batch))).all())
    return has_batch and bool((corners[:, 2:] >= corners[:, :2]).all())


def compare_matched(
    found: Mapping[str, Any],
    expected: Mapping[str, Any],
    children: Mapping[str, Comparison],
    compare: Callable[[Tensor, Tensor], Comparison],
    kind: str = "",
) -> dict[str, Comparison]:
    """Compares the detections of two containers by their matched boxes, where they differ in place.

    Args:
        found, expected: the tensors of both containers by name.
        children: their comparisons in place.
        compare: compares two tensors of one shape.
        kind: the class of the module that takes or returns the tensors.

    Returns:
        The comparisons that replace some of the children.
    """
    pair = [
        {name: each for name, each in side.items() if isinstance(each, Tensor)}
        for side in (found, expected)
    ]
    detections = [
        list(find({name: Shape(each.dtype, each.shape) for name, each in side.items()}, kind))
        for side in pair
    ]
    results: dict[str, Comparison] = {}
    for names in detections[1]:
        if names not in detections[0] or all(children[name].equal for name in names if name):
            continue
        sides = [detection(names, side.__getitem__) for side in pair]
        matching = match(sides[0], sides[1])
        if matching is None or (matching.is_identity and matching.turns is None):
            continue
        if not matching.is_close:
            for name in filter(None, names):
                share = matching.others
                results[name] = dataclasses.replace(children[name], other_boxes=share)
            continue
        for name in filter(None, names):
            is_boxes = name == names.boxes
            tensors = [matching.taken(side[name], k, is_boxes) for k, side in enumerate(pair)]
            results[name] = matching.judged(compare(tensors[0], tensors[1]), is_boxes)
    return results
