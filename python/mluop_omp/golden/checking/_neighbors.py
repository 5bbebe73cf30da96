"""Judges of chosen points: neighbors, balls and samples.

The definition states which of two points at the same distance is chosen. Devices may round
distances differently, for example by fused multiply-add: where distances differ only by rounding,
both choices are right.
"""

from __future__ import annotations

from typing import Callable

import torch
from torch import Tensor

from mluop_omp.golden.checking._calls import Call, Findings
from mluop_omp.golden.checking._differences import (
    difference,
    exact_unless,
    other_shape,
    tolerance_of,
)
from mluop_omp.mmcv import rows_of_three

# Rounding errors of a squared distance: three differences, three products and two sums, doubled.
_ROUNDINGS = 16


def _squares(points: Tensor, others: Tensor) -> Tensor:
    """Returns squared distances, as the definition rounds them."""
    x, y, *rest = (points - others).unbind(-1)
    return sum((z * z for z in rest), x * x + y * y)


def _points(tensor: Tensor) -> Tensor:
    return rows_of_three("points", tensor).to(torch.promote_types(tensor.dtype, torch.float32))


def _eps(tensor: Tensor) -> float:
    return _ROUNDINGS * torch.finfo(tensor.dtype).eps


def _take(points: Tensor, idx: Tensor) -> Tensor:
    """Returns the points [B, ..., D] of rows idx [B, ...] of points [B, N, D]."""
    flat = idx.long().flatten(1).unsqueeze(2).expand(-1, -1, points.shape[2])
    return points.gather(1, flat).view(*idx.shape, points.shape[2])


def _invalid(idx: Tensor, right: Tensor, count: int | Tensor) -> str | None:
    """Returns an error if indices have another shape, or are not below the count."""
    if idx.shape != right.shape:
        return other_shape(idx, right)
    counts = torch.as_tensor(count).expand(idx.shape)
    for first in ((idx < 0) | (idx >= counts)).nonzero()[:1].tolist():
        at = tuple(first)
        return f"idx{first} is {int(idx[at])}, expected 0 to {int(counts[at]) - 1}"
    return None


def nearest(centers: str, points: str) -> Callable[[Call], Findings]:
    """Judges neighbors idx [B, M, k] in the order of their distances, and squared distances."""

    def judge(call: Call) -> Findings:
        name, dist2 = "idx_tensor", "dist2_tensor"
        found_idx, right_idx = call.found[name], call.expected[name]
        distances = call.expected[dist2].double()
        tolerance = tolerance_of(call, distances, _eps(call.found[dist2]) * distances)
        of_dist2 = difference(call.found[dist2], call.expected[dist2], tolerance)
        cloud, queries = _points(call.given[points]), _points(call.given[centers]).unsqueeze(2)
        invalid = _invalid(found_idx, right_idx, cloud.shape[1])
        if invalid or torch.equal(found_idx.long(), right_idx.long()):
            return Findings().add(dist2, of_dist2).add(name, invalid)
        wrong = found_idx.long() != right_idx.long()
        found, right = (_squares(queries, _take(cloud, each)) for each in (found_idx, right_idx))
        tie = wrong & (found == right)
        # Includes the rounding of half coordinates.
        near = wrong & ~tie & ((found - right).abs() <= _eps(call.given[points]) * right)
        # The choice among equal distances depends on the whole row.
        is_open = near | (tie & near.any(-1, keepdim=True))
        findings = exact_unless(call, name, is_open).add(dist2, of_dist2)
        wrong &= ~is_open
        if wrong.any() and not (wrong & ~tie).any():
            findings.notes.append(_tie_note(wrong, found_idx, right_idx))
        return findings

    return judge


def _tie_note(wrong: Tensor, found: Tensor, right: Tensor) -> str:
    first = tuple(wrong.nonzero()[0].tolist())
    return (
        f"wrong tie: each wrong neighbor is as near as the right one; at {list(first)} the "
        f"definition chooses {int(right[first])}, found {int(found[first])}"
    )


def nearest_in_plane(call: Call) -> Findings:
    """Judges the nearest points of two sets in a plane, and their squared distances."""
    findings, sets = Findings(), [call.given["xyz1"], call.given["xyz2"]]
    wide = [each.to(torch.promote_types(each.dtype, torch.float32)) for each in sets]
    for side, (queries, points) in enumerate((wide, wide[::-1])):
        dist, name = f"dist{side + 1}", f"idx{side + 1}"
        found_idx, right_idx = call.found[name], call.expected[name]
        distances = call.expected[dist].double()
        tolerance = tolerance_of(call, distances, _eps(call.found[dist]) * distances)
        findings.add(dist, difference(call.found[dist], call.expected[dist], tolerance))
        invalid = _invalid(found_idx, right_idx, max(points.shape[1], 1))
        if invalid or torch.equal(found_idx.long(), right_idx.long()):
            findings.add(name, invalid)
            continue
        found, right = (_squares(queries, _take(points, each)) for each in (found_idx, right_idx))
        # Includes the rounding of half coordinates.
        is_near = (found != right) & ((found - right).abs() <= _eps(sets[side]) * right)
        of_idx = exact_unless(call, name, is_near)
        findings.differences.update(of_idx.differences)
        findings.rounding += of_idx.rounding
    return findings


def ball(call: Call) -> Findings:
    """Judges the first nsample points within a ball, in the order of their rows.

    In stacked clouds, -1 marks a ball without points.
    """
    name, is_stacked = "idx_tensor", "xyz_batch_cnt" in call.given
    cloud, centers = (_points(call.given[each]) for each in ("xyz_tensor", "new_xyz_tensor"))
    if is_stacked:
        names = "xyz_batch_cnt", "new_xyz_batch_cnt"
        points, balls = (call.given[each].long() for each in names)
    else:
        points, balls = (torch.full((len(each),), each.shape[1]) for each in (cloud, centers))
        cloud, centers = cloud.flatten(0, 1), centers.flatten(0, 1)
    first, counts = (each.repeat_interleave(balls) for each in (points.cumsum(0) - points, points))
    shape = call.expected[name].shape
    rows = [values[name].long() for values in (call.found, call.expected)]
    if is_stacked:
        rows = [torch.where((each == -1) & (each[:, :1] == -1), 0, each) for each in rows]
    invalid = _invalid(rows[0], rows[1], counts.clamp(min=1).view(*shape[:-1], 1))
    if invalid:
        return Findings().add(name, invalid)
    found, right = (each.reshape(-1, shape[-1]) for each in rows)
    is_open, same_sets = torch.zeros_like(found, dtype=torch.bool), True
    radii = call.given.get("min_radius", 0.0), call.given["max_radius"]
    low, high = (float(radius) ** 2 for radius in radii)
    eps = _eps(call.given["xyz_tensor"])
    for ball in (found != right).any(-1).nonzero().flatten().split(4096):
        pair = found[ball], right[ball]
        explained, at_any_bound = (torch.full((len(ball),), value) for value in (True, False))
        for one, other in (pair, pair[::-1]):
            missing = ~(one.unsqueeze(2) == other.unsqueeze(1)).any(2)
            same_sets = same_sets and not bool(missing.any())
            members = cloud[first[ball].unsqueeze(1) + one]
            squares = _squares(centers[ball].unsqueeze(1), members)
            is_inside = ((squares >= low) & (squares < high)) | (squares == 0)
            at_bound = (squares != 0) & (
                ((squares - low).abs() <= eps * low) | ((squares - high).abs() <= eps * high)
            )
            # A point at a bound displaces the last point. A ball without points is all 0.
            is_displaced = is_inside & (one > other.max(1, keepdim=True).values)
            is_empty = ((one == 0) & ~is_inside).all(1, keepdim=True)
            explained &= (~missing | at_bound | is_displaced | is_empty).all(1)
            at_any_bound |= (missing & at_bound).any(1)
        is_open[ball] = (explained & at_any_bound).unsqueeze(1)
    findings = exact_unless(call, name, is_open.view(shape))
    if findings.differences and same_sets:
        findings.notes.append(
            "wrong order: each ball has the right points; the definition takes them in the order "
            "of their rows and repeats the first"
        )
    return findings


def samples(with_distances: bool) -> Callable[[Call], Findings]:
    """Judges furthest point sampling: of a cloud [B, N, 3], or of distances [B, N, N]."""

    def judge(call: Call) -> Findings:
        name, cloud, notes = "idx_tensor", call.given["points_tensor"], []
        found, right = call.found[name], call.expected[name]
        invalid = _invalid(found, right, cloud.shape[1])
        if invalid:
            return Findings().add(name, invalid)
        cloud = cloud.float() if with_distances else _points(cloud)
        is_open = torch.zeros_like(found, dtype=torch.bool)
        for b in (found != right).any(1).nonzero().flatten().tolist():
            fault = _first_fault(cloud[b], found[b].tolist(), right[b].tolist(), with_distances)
            is_open[b] = fault is None
            if fault is not None:
                notes.append(f"first in batch {b}: {fault}")
        findings = exact_unless(call, name, is_open)
        findings.notes = notes[:1]
        return findings

    return judge


def _first_fault(cloud: Tensor, found: list[int], right: list[int], is_matrix: bool) -> str | None:
    """Returns a text on the first sample that is not the furthest one within rounding, or None."""
    if found[0] != 0:
        return f"sample 0 is {found[0]}, expected 0"
    nearest_square = torch.full((len(cloud),), 1e10)
    eps, same = _eps(cloud), True
    for step in range(1, len(found)):
        last = found[step - 1]
        squares = cloud[last] if is_matrix else _squares(cloud, cloud[last])
        nearest_square = torch.fmin(nearest_square, squares)
        best, chosen = float(nearest_square.max()), float(nearest_square[found[step]])
        if chosen < best * (1 - eps):
            return (
                f"sample {step} is at the squared distance {chosen:.9g}, the furthest at {best:.9g}"
            )
        if same and found[step] != right[step]:
            if chosen == best == float(nearest_square[right[step]]):
                return (
                    f"wrong tie: samples {right[step]} and {found[step]} are both the furthest; at "
                    f"{step} the definition chooses {right[step]}"
                )
            same = False
    return None
