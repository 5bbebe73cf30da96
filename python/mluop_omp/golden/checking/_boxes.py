"""Judges of boxes and voxels, whose results change at a threshold or at a face."""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch import Tensor

from mluop_omp.golden.checking._calls import Call, Findings
from mluop_omp.golden.checking._differences import difference, exact

# Relative margin of IoUs and box extents within which both results are right.
_RELATIVE = 1e-5


def inside(boxes: str) -> Callable[[Call], Findings]:
    """Judges which points are in boxes; a point at a face may be inside or outside."""

    def judge(call: Call) -> Findings:
        findings = exact(call)
        if not findings.differences:
            return findings
        (name, found), scaled = next(iter(call.found.items())), []
        for factor in (1 - _RELATIVE, 1 + _RELATIVE):
            other = call.given[boxes].clone()
            other[..., 3:6] *= factor
            scaled.append(call.compute(**{boxes: other})[name])
        if found.shape != scaled[0].shape:
            return findings
        right = call.expected[name]
        at_face = (found != right) & ((found == scaled[0]) | (found == scaled[1]))
        result = Findings(rounding=int(at_face.sum()))
        result.add(name, difference(found, torch.where(at_face, found, right)))
        return result

    return judge


def kept(threshold: str, count: str = "", scores: str = "") -> Callable[[Call], Findings]:
    """Judges the boxes that a suppression keeps.

    An IoU at the threshold may be on either side. Boxes of equal scores may be in any order.
    """

    def judge(call: Call) -> Findings:
        found, expected = _cut(call.found, count), _cut(call.expected, count)
        findings = Findings()
        for name, each in found.items():
            findings.add(name, difference(each, expected[name]))
        if not findings.differences:
            return findings
        limit = float(call.given[threshold])
        margin = limit * _RELATIVE + 1e-7
        for change in ({}, {threshold: limit - margin}, {threshold: limit + margin}):
            is_same = _same(found, _cut(call.compute(**change), count))
            if is_same or (scores and _is_result_of_ties(call, scores, change)):
                return Findings(rounding=1)
        return findings

    return judge


def _cut(values: dict[str, Any], count: str) -> dict[str, Any]:
    """Returns outputs cut to the number of boxes; the rest is unspecified."""
    if not count:
        return values
    number = int(values[count])
    return {
        name: each if name == count else each[: max(number, 0)] for name, each in values.items()
    }


def _same(found: dict[str, Any], others: dict[str, Any]) -> bool:
    return all(difference(each, others[name]) is None for name, each in found.items())


def _is_result_of_ties(call: Call, scores: str, change: dict[str, Any]) -> bool:
    """Whether another order of boxes with equal scores gives the found result."""
    values, (found,) = call.given[scores].double(), call.found.values()
    if len(values.unique()) == len(values) or not ((found >= 0) & (found < len(values))).all():
        return False
    is_found = torch.zeros(len(values), dtype=torch.bool)
    is_found[found.long()] = True
    # Among equal scores, found boxes come first.
    order = torch.argsort(~is_found, stable=True)
    order = order[torch.argsort(values[order], descending=True, stable=True)]
    ranks = torch.arange(len(values), 0, -1, dtype=torch.float32)
    arguments = {**change, scores: ranks}
    boxes = next(iter(call.given))
    (result,) = call.compute(**arguments, **{boxes: call.given[boxes][order]}).values()
    expected = order[result.long()]
    same_set = torch.equal(expected.sort().values, found.long().sort().values)
    return same_set and torch.equal(values[expected], values[found.long()])


def voxels(call: Call) -> Findings:
    """Judges hard voxelization.

    If `deterministic` is False, voxels and their points may be in any order, and any of them may
    remain when max_voxels or max_points is reached.
    """
    names = ("voxels", "coors", "num_points_per_voxel")
    counts = [int(values["voxel_num"].reshape(-1)[0]) for values in (call.found, call.expected)]
    findings = Findings()
    if counts[0] != counts[1]:
        findings.add("voxel_num", f"is {counts[0]}, expected {counts[1]}")
        return findings
    found, right = (
        [values[name][: counts[0]] for name in names] for values in (call.found, call.expected)
    )
    if not call.given.get("deterministic", True):
        if counts[0] == int(call.given["max_voxels"]):
            return findings
        found, right = (_sorted(*each) for each in (found, right))
        full = (right[2] == int(call.given["max_points"])).view(-1, 1, 1)
        found[0] = torch.where(full, right[0], found[0])
    for name, each, other in zip(names, found, right):
        findings.add(name, difference(each, other, axes=call.rule.axes.get(name)))
    return findings


def _sorted(points: Tensor, coors: Tensor, num: Tensor) -> list[Tensor]:
    """Returns voxels sorted by their coordinates, with sorted points."""
    distinct, places = torch.unique(coors, dim=0, return_inverse=True)
    order = places.argsort(stable=True)
    points = points[order]
    for column in reversed(range(points.shape[2])):
        by_column = points[:, :, column].argsort(dim=1, stable=True)
        points = points.gather(1, by_column.unsqueeze(2).expand_as(points))
    return [points, coors[order], num[order]]
