"""Judges of boxes and voxels, whose results change at a threshold or at a face."""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch import Tensor

from mluop_omp.golden.checking._calls import Call, Findings
from mluop_omp.golden.checking._differences import exact, exact_unless

# Relative margin of IoUs and box extents within which both results are right.
_RELATIVE = 1e-5


def inside(boxes: str) -> Callable[[Call], Findings]:
    """Judges which points are in boxes; a point at a face may be inside or outside."""

    def judge(call: Call) -> Findings:
        findings = exact(call)
        ((name, found),) = call.found.items()
        if not findings.differences or found.shape != call.expected[name].shape:
            return findings
        at_face = torch.zeros_like(found, dtype=torch.bool)
        for factor in (1 - _RELATIVE, 1 + _RELATIVE):
            scaled = call.given[boxes].clone()
            scaled[..., 3:6] *= factor
            at_face |= found == call.changed(**{boxes: scaled}).expected[name]
        return exact_unless(call, name, at_face)

    return judge


def kept(threshold: str, scores: str = "") -> Callable[[Call], Findings]:
    """Judges the boxes that a suppression keeps.

    An IoU at the threshold may be on either side. Boxes of equal scores may be in any order.
    """

    def judge(call: Call) -> Findings:
        findings = exact(call)
        if not findings.differences:
            return findings
        limit = float(call.given[threshold])
        margin = limit * _RELATIVE + 1e-7
        for change in ({}, {threshold: limit - margin}, {threshold: limit + margin}):
            is_same = not exact(call.changed(**change)).differences
            if is_same or (scores and _is_result_of_ties(call, scores, change)):
                return Findings(rounding=1)
        return findings

    return judge


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
    reordered = call.changed(**arguments, **{boxes: call.given[boxes][order]})
    (result,) = reordered.expected.values()
    expected = order[result.long()]
    same_set = torch.equal(expected.sort().values, found.long().sort().values)
    return same_set and torch.equal(values[expected], values[found.long()])


def voxels(call: Call) -> Findings:
    """Judges hard voxelization.

    If `deterministic` is False, voxels and their points may be in any order, and any of them may
    remain when max_voxels or max_points is reached.
    """
    found, right = call.found, call.expected
    counts = [int(values["voxel_num"]) for values in (found, right)]
    if counts[0] != counts[1]:
        return Findings({"voxel_num": f"is {counts[0]}, expected {counts[1]}"})
    if not call.given.get("deterministic", True):
        if counts[0] == int(call.given["max_voxels"]):
            return Findings()
        found, right = (_sorted(**values) for values in (found, right))
        full = right["num_points_per_voxel"] == int(call.given["max_points"])
        found["voxels"] = torch.where(full.view(-1, 1, 1), right["voxels"], found["voxels"])
    return exact(call, found, right)


def _sorted(
    voxels: Tensor, coors: Tensor, num_points_per_voxel: Tensor, **_: Tensor
) -> dict[str, Tensor]:
    """Returns voxels sorted by their coordinates, with sorted points."""
    _, places = torch.unique(coors, dim=0, return_inverse=True)
    order = places.argsort(stable=True)
    points = voxels[order]
    for column in reversed(range(points.shape[2])):
        by_column = points[:, :, column].argsort(dim=1, stable=True)
        points = points.gather(1, by_column.unsqueeze(2).expand_as(points))
    return {
        "voxels": points,
        "coors": coors[order],
        "num_points_per_voxel": num_points_per_voxel[order],
    }
