"""Judges of index pairs: sites, and the pairs of each offset, may be in any order."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from mluop_omp.golden._text import listed
from mluop_omp.golden.checking._calls import Call, Difference, Findings, Rulebook
from mluop_omp.golden.checking._differences import difference
from mluop_omp.golden.comparison import Comparison, SparseSites, compare
from mluop_omp.torch.rulebooks import fit_columns


def pairs(call: Call) -> Findings:
    """Judges output sites and index pairs.

    Rows of output sites may be in any order, and a pair may name any row of a repeated site, as the
    hash tables of devices decide. Pairs are therefore compared by the coordinates of their rows.
    """
    rulebook, inputs, findings = call.rule.rulebook, call.given["indices"], Findings()
    assert rulebook is not None
    found_sites, *found = rulebook(call, call.found)
    right_sites, *right = rulebook(call, call.expected)
    findings.add("sites", _site_difference(found_sites, right_sites))
    invalid = _invalid(*found, len(inputs), len(found_sites))
    if invalid:
        findings.add("pairs", invalid)
        return findings
    if found[0].shape[0] != right[0].shape[0]:
        offsets = found[0].shape[0], right[0].shape[0]
        findings.add("pairs", "have {} offsets, expected {}".format(*offsets))
        return findings
    keys = torch.cat([each.long() for each in (inputs, found_sites, right_sites)])
    _, places = torch.unique(keys, dim=0, return_inverse=True)
    sizes = [len(inputs), len(found_sites), len(right_sites)]
    of_input, of_found, of_right = places.split(sizes)
    codes = _Codes(of_input, int(places.max()) + 1 if len(places) else 1)
    found_codes = codes.of(*found, of_found)
    right_codes = codes.of(*right, of_right)
    if torch.equal(found_codes, right_codes):
        return findings
    findings.add("pairs", codes.difference(found_codes, right_codes))
    kernel = call.given["kernelSize" if "kernelSize" in call.given else "ksize"]
    for text, order in _orders(kernel):
        if torch.equal(codes.of(found[0][order], found[1][order], of_found), right_codes):
            findings.notes.append(f"the pairs are right with {text}")
            break
    return findings


def _site_difference(found: Tensor, right: Tensor) -> Difference | None:
    if found.shape[1:] != right.shape[1:]:
        return difference(found, right)
    sparse = (SparseSites(torch.zeros(len(each), 1), each) for each in (found, right))
    result = compare(*sparse)
    return None if result.equal else result


def _invalid(pairs: Tensor, num: Tensor, inputs: int, outputs: int) -> str | None:
    if pairs.dim() != 3 or pairs.shape[1] != 2 or num.shape != pairs.shape[:1]:
        return f"have shapes {list(pairs.shape)} and {list(num.shape)}, expected [K, 2, L] and [K]"
    for k, count in enumerate(num.tolist()):
        if not 0 <= count <= pairs.shape[2]:
            return f"offset {k} has {count} pairs, expected 0 to {pairs.shape[2]}"
        for side, rows in ((0, inputs), (1, outputs)):
            used = pairs[k, side, :count]
            if count and not 0 <= int(used.min()) <= int(used.max()) < rows:
                name = ("input", "output")[side]
                bad = int(used.min()) if int(used.min()) < 0 else int(used.max())
                return f"offset {k} has the {name} row {bad}, expected 0 to {rows - 1}"
    return None


class _Codes:
    """Pairs as ascending integers: offset, input site, output site."""

    def __init__(self, of_input: Tensor, sites: int) -> None:
        self._of_input, self._sites = of_input, sites

    def of(self, pairs: Tensor, num: Tensor, of_output: Tensor) -> Tensor:
        used = torch.arange(pairs.shape[2]) < num.unsqueeze(1)
        k, place = used.nonzero(as_tuple=True)
        inputs = self._of_input[pairs[k, 0, place].long()]
        outputs = of_output[pairs[k, 1, place].long()]
        return ((k * self._sites + inputs) * self._sites + outputs).sort().values

    def difference(self, found: Tensor, right: Tensor) -> str:
        codes, places = torch.unique(torch.cat((found, right)), return_inverse=True)
        counts = [
            torch.bincount(each, minlength=len(codes))
            for each in places.split([len(found), len(right)])
        ]
        extra, missing = counts[0] > counts[1], counts[1] > counts[0]
        offsets = (codes[extra | missing] // self._sites**2).unique().tolist()
        return (
            f"differ: {int(missing.sum())} of {len(right)} pairs are missing, {int(extra.sum())} "
            f"are additional; offsets {listed(offsets)}"
        )


def _orders(kernel: Sequence[int]) -> Iterator[tuple[str, Tensor]]:
    """Yields other orders of the offsets, each distinct order once."""
    offsets = torch.arange(int(torch.tensor(list(kernel)).prod())).view(*kernel)
    seen = [offsets.flatten()]
    for axes in itertools.permutations(range(len(kernel))):
        if [kernel[axis] for axis in axes] != list(kernel):
            continue
        for reversed_offsets in (True, False):
            order = offsets.permute(*axes).flatten()
            text = [] if axes == tuple(sorted(axes)) else [f"the axes in the order {list(axes)}"]
            if reversed_offsets:
                order = order.flip(0)
                text.append("the offsets reversed")
            if not any(torch.equal(order, other) for other in seen):
                seen.append(order)
                yield " and ".join(text), order


def ordered(found: Rulebook, expected: Rulebook, rows: int) -> Rulebook:
    """Returns found sites, pairs [K, 2, rows] and their numbers in the order of the C API: sites in
    the order of the expected ones, all others last; the pairs of each offset in the order of their
    input rows, followed by -1.
    """
    sites, pairs, num = found[0], fit_columns(found[1], rows), found[2]
    _, places = torch.unique(torch.cat((expected[0], sites)), dim=0, return_inverse=True)
    of_expected, of_found = places.split([len(expected[0]), len(sites)])
    ranks = torch.full((len(places),), len(places))
    ranks[of_expected] = torch.arange(len(of_expected))
    order = ranks[of_found].argsort(stable=True)
    row = order.argsort()
    used = torch.arange(rows) < num.unsqueeze(1)
    inputs, outputs = pairs.long().unbind(1)
    outputs = torch.where(used, row[torch.where(used, outputs, 0)], -1)
    by_input = torch.where(used, inputs, rows).argsort(dim=1, stable=True)
    pairs = torch.stack((torch.where(used, inputs, -1), outputs), 1)
    return sites[order], pairs.gather(2, by_input.unsqueeze(1).expand_as(pairs)), num


class SitesOfPairs:
    """Remembers the sites of index pairs while the pairs exist on the device."""

    def __init__(self) -> None:
        # By address of the pairs.
        self._known: dict[int, tuple[weakref.ref[Tensor], Tensor, Tensor]] = {}

    def add(self, pairs: Tensor, inputs: Tensor, outputs: Tensor) -> None:
        known = {key: value for key, value in self._known.items() if value[0]() is not None}
        known[pairs.data_ptr()] = weakref.ref(pairs), inputs, outputs
        self._known = known

    def describe(self, call: Call, pairs: Any, findings: Findings) -> None:
        """Adds a note with the sites of the worst rows."""
        known = self._known.get(pairs.data_ptr()) if isinstance(pairs, Tensor) else None
        if known is None or known[0]() is None:
            return
        is_inverse = any(call.given.get(name) for name in ("inverse", "_inverse"))
        for name, side in (("output", 2), ("grad_features", 1)):
            compared = findings.differences.get(name)
            if not isinstance(compared, Comparison):
                continue
            sites = known[3 - side if is_inverse else side]
            rows = list(dict.fromkeys(worst.index[0] for worst in compared.worst))
            if rows and max(rows) < len(sites):
                texts = (f"row {row} is the site {tuple(sites[row].tolist())}" for row in rows)
                findings.notes.append(f"{name}: {', '.join(texts)}")
