"""Sums and maxima of rows by bag, in a fixed order.

Row p of a list belongs to bag bags[p], 0 to count - 1, in any order. A bag without a row is 0.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

# Pairs whose products of rows are in memory at a time.
_PAIRS_AT_A_TIME = 1 << 16
# Candidates for a maximum that are compared one after the other.
_GROUP = 64


def all_rows(tensor: Tensor) -> Tensor:
    """Returns 0 .. rows - 1."""
    return torch.arange(len(tensor), device=tensor.device)


class Sum(torch.autograd.Function):
    """Adds weights[p] * values[rows[p]] to row bags[p] of the result, in the order of p."""

    @staticmethod
    def forward(
        ctx: Any, values: Tensor, weights: Tensor | None, rows: Tensor, bags: Tensor, count: int
    ) -> Tensor:
        needed = values if ctx.needs_input_grad[1] else None
        ctx.save_for_backward(needed, weights, rows, bags)
        ctx.size, values = len(values), values.contiguous()
        if len(rows) == 0 or values.shape[1] == 0:
            return values.new_zeros(count, values.shape[1])
        if not (bags[1:] >= bags[:-1]).all():
            bags, order = bags.sort(stable=True)
            rows, weights = rows[order], None if weights is None else weights[order]
        lengths = bags.bincount(minlength=count)
        return torch.nn.functional.embedding_bag(
            *(rows, values, lengths.cumsum(0) - lengths),
            mode="sum",
            per_sample_weights=weights,
        )

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        values, weights, rows, bags = ctx.saved_tensors
        grad_values = grad_weights = None
        if ctx.needs_input_grad[0]:
            grad_values = Sum.apply(grad, weights, bags, rows, ctx.size)
        if ctx.needs_input_grad[1]:
            grad_weights = _Products.apply(grad, values, bags, rows)
        return grad_values, grad_weights, None, None, None


class _Products(torch.autograd.Function):
    """Computes the dot products of a[rows_of_a[p]] and b[rows_of_b[p]]."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, rows_of_a: Tensor, rows_of_b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b, rows_of_a, rows_of_b)
        chunks = zip(rows_of_a.split(_PAIRS_AT_A_TIME), rows_of_b.split(_PAIRS_AT_A_TIME))
        return torch.cat(
            [
                (a.index_select(0, rows) * b.index_select(0, others)).sum(1)
                for rows, others in chunks
            ]
        )

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        a, b, rows_of_a, rows_of_b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = Sum.apply(b, grad, rows_of_b, rows_of_a, len(a))
        if ctx.needs_input_grad[1]:
            grad_b = Sum.apply(a, grad, rows_of_a, rows_of_b, len(b))
        return grad_a, grad_b, None, None


def means(sums: Tensor, bags: Tensor) -> Tensor:
    """Divides the sum of each bag by the number of its rows."""
    counts = bags.bincount(minlength=len(sums)).clamp(min=1)
    return sums / counts.to(sums.dtype).unsqueeze(1)


def maxima(feats: Tensor, offsets: Tensor, rows: Tensor, bags: Tensor, count: int) -> Tensor:
    """Returns the maximum of each bag and channel, [count, C], whose gradient goes to one row.

    Candidates are feats[rows[p]] at offsets[p]. Among equal ones, the lowest offset is selected,
    then the lowest row. NaN is greater than all numbers.
    """
    winners = _winners(feats.detach(), offsets, rows, bags, count)
    # The row past the last is 0: the winner of outputs without an input.
    return torch.nn.functional.pad(feats, (0, 0, 0, 1)).gather(0, winners)


def _winners(feats: Tensor, offsets: Tensor, rows: Tensor, bags: Tensor, count: int) -> Tensor:
    """Returns the row of the maximum of each bag and channel, or the number of rows."""
    order = (offsets * len(feats) + rows).argsort(stable=True)
    order = order[bags[order].argsort(stable=True)]
    bags, places = bags[order], rows[order]
    # Candidate p of bag bags[p] has values[places[p]]; labels are the rows that these come from.
    values, labels = feats, all_rows(feats).unsqueeze(1)
    while (bags[1:] == bags[:-1]).any():
        lengths = bags.bincount(minlength=count)
        rank = all_rows(bags) - (lengths.cumsum(0) - lengths)[bags]
        starts = (rank % _GROUP == 0).nonzero()[:, 0]
        values, labels, starts = _maxima_of_groups(values, labels, places, starts)
        places = starts.argsort()
        bags = bags[starts[places]]
    winners = labels.index_select(0, places).expand(len(places), feats.shape[1])
    return bags.new_full((count, feats.shape[1]), len(feats)).index_copy_(0, bags, winners)


def _maxima_of_groups(
    values: Tensor, labels: Tensor, places: Tensor, starts: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the first maximum of each group of candidates, its label, and the starts of groups.

    A group has the candidates from its start to the next. The groups are returned by length, the
    longest first, so that the groups with an r-th candidate are the first ones.
    """
    lengths = starts.diff(append=starts.new_tensor([len(places)]))
    lengths, order = lengths.sort(descending=True, stable=True)
    starts = starts[order]
    first = places[starts]
    greatest = values.index_select(0, first)
    winners = labels.index_select(0, first).expand_as(greatest).contiguous()
    for r in range(1, int(lengths[0])):
        count = int((lengths > r).sum())
        place, maximum, winner = places[starts[:count] + r], greatest[:count], winners[:count]
        other = values.index_select(0, place)
        is_greater = (other > maximum) | (other.isnan() & ~maximum.isnan())
        torch.where(is_greater, other, maximum, out=maximum)
        torch.where(is_greater, labels.index_select(0, place), winner, out=winner)
    return greatest, winners, starts
