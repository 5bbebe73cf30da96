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
from mluop_omp.golden.checking._differences import difference, other_shape, tolerance_of
from mluop_omp.mmcv import rows_of_three

# Rounding errors of a squared distance: three differences, three products and two sums, doubled.
_ROUNDINGS = 16


def _squares(points: Tensor, others: Tensor) -> Tensor:
    """Returns squared distances, as the definition rounds them."""
    x, y, z = (points - others).unbind(-1)
    return x * x + y * y + z * z


def _points(tensor: Tensor) -> Tensor:
    return rows_of_three("points", tensor).to(torch.promote_types(tensor.dtype, torch.float32))


def _eps(tensor: Tensor) -> float:
    return _ROUNDINGS * torch.finfo(tensor.dtype).eps


def _take(points: Tensor, idx: Tensor) -> Tensor:
    """Returns the points [B, ..., 3] of rows idx [B, ...] of points [B, N, 3]."""
    flat = idx.long().flatten(1).unsqueeze(2).expand(-1, -1, 3)
    return points.gather(1, flat).view(*idx.shape, 3)


def _is_settled(
    findings: Findings, name: str, idx: Tensor, right: Tensor, count: int | Tensor
) -> bool:
    """Adds an error if indices are invalid; returns whether nothing is left to judge."""
    invalid = other_shape(idx, right)
    if invalid is None:
        counts = torch.as_tensor(count).expand(idx.shape)
        outside = ((idx < 0) | (idx >= counts)).nonzero()
        if len(outside):
            first = tuple(outside[0].tolist())
            invalid = f"idx{list(first)} is {int(idx[first])}, expected 0 to {counts[first] - 1}"
    findings.add(name, invalid)
    return invalid is not None or torch.equal(idx.long(), right.long())


def nearest(centers: str, points: str, idx: str, dist2: str) -> Callable[[Call], Findings]:
    """Judges neighbors idx [B, M, k] in the order of their distances, and squared distances."""

    def judge(call: Call) -> Findings:
        findings, expected = Findings(), call.expected
        found_idx, right_idx, found_dist = call.found[idx], expected[idx], call.found[dist2]
        distances = expected[dist2].double()
        tolerance = tolerance_of(call, distances, _eps(found_dist) * distances)
        findings.add(dist2, difference(found_dist, expected[dist2], tolerance))
        cloud, queries = _points(call.given[points]), _points(call.given[centers]).unsqueeze(2)
        if _is_settled(findings, idx, found_idx, right_idx, cloud.shape[1]):
            return findings
        wrong = found_idx.long() != right_idx.long()
        found, right = (_squares(queries, _take(cloud, each)) for each in (found_idx, right_idx))
        tie = wrong & (found == right)
        # Includes the rounding of half coordinates.
        near = wrong & ~tie & ((found - right).abs() <= _eps(call.given[points]) * right)
        # The choice among equal distances depends on the whole row.
        open_rows = near.any(-1, keepdim=True)
        wrong = wrong & ~near & ~(tie & open_rows)
        merged = torch.where(wrong, right_idx, found_idx)
        findings.rounding = int((near | (tie & open_rows)).sum())
        findings.add(idx, difference(found_idx, merged))
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


def ball(call: Call) -> Findings:
    """Judges the first nsample points within a ball, in the order of their rows."""
    findings = Findings()
    found, right = call.found["idx_tensor"], call.expected["idx_tensor"]
    count = call.given["xyz_tensor"].shape[1]
    if not _is_settled(findings, "idx_tensor", found, right, count):
        _judge_balls(call, findings, found, right, torch.zeros(found.shape[:2], dtype=torch.long))
    return findings


def stack_ball(call: Call) -> Findings:
    """Judges balls of stacked clouds, where -1 marks a ball without points."""
    findings, name = Findings(), "idx_tensor"
    found, right = call.found[name], call.expected[name]
    counts, centers = (call.given[name].long() for name in ("xyz_batch_cnt", "new_xyz_batch_cnt"))
    cloud = torch.arange(len(counts)).repeat_interleave(centers)
    numbers = counts[cloud].clamp(min=1).unsqueeze(1)
    rows = [torch.where((each == -1) & (each[:, :1] == -1), 0, each) for each in (found, right)]
    if _is_settled(findings, name, *rows, numbers):
        findings.add(name, findings.differences.get(name) or difference(found, right))
        return findings
    starts = (counts.cumsum(0) - counts)[cloud]
    _judge_balls(call, findings, *(each.unsqueeze(0) for each in (*rows, starts)))
    return findings


def _judge_balls(call: Call, findings: Findings, found: Tensor, right: Tensor, starts: Tensor):
    """found, right: rows [B, M, nsample] of the clouds that begin at the rows starts [B, M]."""
    cloud, centers = (
        _points(call.given[name]).view(len(found), -1, 3)
        for name in ("xyz_tensor", "new_xyz_tensor")
    )
    batch, row = (found != right).any(-1).nonzero(as_tuple=True)
    merged = found.clone()
    radii = call.given.get("min_radius", 0.0), call.given["max_radius"]
    low, high = (float(radius) ** 2 for radius in radii)
    eps, same_sets, chunk = _eps(call.given["xyz_tensor"]), True, 4096
    for begin in range(0, len(batch), chunk):
        b, m = batch[begin : begin + chunk], row[begin : begin + chunk]
        pair = found[b, m], right[b, m]
        explained, at_any_bound = (torch.full((len(b),), value) for value in (True, False))
        for one, other in (pair, pair[::-1]):
            missing = ~(one.unsqueeze(2) == other.unsqueeze(1)).any(2)
            same_sets = same_sets and not bool(missing.any())
            members = cloud[b.unsqueeze(1), starts[b, m].unsqueeze(1) + one]
            squares = _squares(centers[b, m].unsqueeze(1), members)
            is_inside = ((squares >= low) & (squares < high)) | (squares == 0)
            at_bound = (squares != 0) & (
                ((squares - low).abs() <= eps * low) | ((squares - high).abs() <= eps * high)
            )
            # A point at a bound displaces the last point. A ball without points is all 0.
            is_displaced = is_inside & (one > other.max(1, keepdim=True).values)
            is_empty = ((one == 0) & ~is_inside).all(1, keepdim=True)
            explained &= (~missing | at_bound | is_displaced | is_empty).all(1)
            at_any_bound |= (missing & at_bound).any(1)
        excused = explained & at_any_bound
        findings.rounding += int(excused.sum())
        merged[b[~excused], m[~excused]] = pair[1][~excused].to(merged.dtype)
    shape, axes = call.found["idx_tensor"].shape, call.rule.axes_of("idx_tensor")
    findings.add("idx_tensor", difference(found.view(shape), merged.view(shape), axes=axes))
    if findings.differences and same_sets:
        findings.notes.append(
            "wrong order: each ball has the right points; the definition takes them in the order "
            "of their rows and repeats the first"
        )


def samples(with_distances: bool) -> Callable[[Call], Findings]:
    """Judges furthest point sampling: of a cloud [B, N, 3], or of distances [B, N, N]."""

    def judge(call: Call) -> Findings:
        findings, name = Findings(), "idx_tensor"
        found, right = call.found[name], call.expected[name]
        cloud = call.given["points_tensor"]
        if _is_settled(findings, name, found, right, cloud.shape[1]):
            return findings
        cloud = cloud.float() if with_distances else _points(cloud)
        merged = found.clone()
        for b in (found != right).any(1).nonzero().flatten().tolist():
            fault = _first_fault(cloud[b], found[b].tolist(), right[b].tolist(), with_distances)
            if fault is None:
                findings.rounding += int((found[b] != right[b]).sum())
                continue
            merged[b] = right[b].to(merged.dtype)
            if not findings.notes:
                findings.notes.append(f"first in batch {b}: {fault}")
        findings.add(name, difference(found, merged, axes=call.rule.axes_of(name)))
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
