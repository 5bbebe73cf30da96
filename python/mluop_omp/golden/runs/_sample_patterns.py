"""The pattern of wrong elements in a sample, in terms of the whole tensor.

The part of a dimension shows which of its indices have wrong elements. These are described for each
dimension, among those elements of the other dimensions with which any is wrong.
"""

from __future__ import annotations

import re
from typing import Callable, Optional

import numpy as np

from mluop_omp.golden.comparison import Comparison
from mluop_omp.golden.runs._sampling import Part, Shape

Axes = Optional[tuple[str, ...]]
# Compares two tensors with these names of their dimensions.
Compare = Callable[[np.ndarray, np.ndarray, Axes], Comparison]
_COUNT = re.compile(r", \d+ of (its|their|all) \d+ elements$")
_ONE = re.compile(r"(one .*: )(\d+) of \d+")
_SOME = re.compile(r"(\d+ of )\d+( indices of .*: )(\d+ to \d+|[\d, .]+)")


def describe(
    compare: Compare,
    sample: list[Part],
    tensors: list[tuple[np.ndarray, ...]],
    shape: Shape,
    axes: Axes,
) -> tuple[str, list[str]]:
    """Returns the pattern and notes.

    tensors: found, expected, and which elements are wrong, of each part of the sample, and of what
    all parts have in common.
    """
    # There, dimensions with equal extents have the same indices.
    common = compare(tensors[-1][0], tensors[-1][1], None).pattern
    axes = axes if axes is not None and len(axes) == len(shape) else ("index",) * len(shape)
    dims = [dim for dim, extent in enumerate(shape) if extent > 1]
    locations, notes, traits = {}, [], set()
    for dim, (found, expected, wrong), part in zip(dims, tensors, sample):
        if not wrong.any():
            continue
        whole = compare(found, expected, axes)
        notes += [each for each in whole.notes if f"(dim {dim})" in each]
        # The indices of the dimension as rows; columns without wrong elements say nothing.
        e, b, rows = (
            np.moveaxis(each, dim, 0).reshape(each.shape[dim], -1)
            for each in (found, expected, wrong)
        )
        columns = rows.any(axis=0)
        result = compare(e[:, columns], b[:, columns], (axes[dim], "position"))
        location, _, trait = result.pattern.partition("; ")
        traits.add(trait)
        locations[dim] = _in_whole(_COUNT.sub("", location), dim, part[dim], shape[dim])
    if common.startswith("transposed"):
        return common, notes
    trait = traits.pop() if len(traits) == 1 else ""
    if len(locations) == len(dims) and set(locations.values()) == {"everything"}:
        return "; ".join(filter(None, ("everything", trait))), notes
    text = " and ".join(each for each in locations.values() if each not in ("", "everything"))
    return "; ".join(filter(None, (text, trait))), notes


def _in_whole(text: str, dim: int, indices: np.ndarray, extent: int) -> str:
    """Returns what a pattern says about a dimension of the whole tensor; "" if nothing.

    indices: the indices of the dimension that the sample has.
    """
    location, named, rest = text.partition(" (dim 0)")
    if not named:
        return text if text == "everything" else ""
    one, some = _ONE.fullmatch(location), _SOME.fullmatch(location)
    if one is not None:
        return f"{one[1]}{indices[int(one[2])]} of {extent} (dim {dim})"
    if len(indices) == extent:
        return f"{location} (dim {dim}){rest}"
    if some is None:
        return ""
    listed = re.sub(r"\d+", lambda each: str(indices[int(each[0])]), some[3])
    return f"{some[1]}{len(indices)} sampled{some[2]}{listed} (dim {dim})"
