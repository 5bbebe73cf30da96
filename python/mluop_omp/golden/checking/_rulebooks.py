"""Judges of index pairs: sites, and the pairs of each offset, may be in any order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from mluop_omp.golden._text import listed
from mluop_omp.golden.checking._calls import Call, Difference, Findings, Rulebook
from mluop_omp.golden.checking._differences import difference
from mluop_omp.golden.checking._filters import distinct
from mluop_omp.golden.comparison import Comparison, SparseSites, compare
from mluop_omp.torch.rulebooks import directed_pairs


def pairs(call: Call) -> Findings:
    """Judges output sites and index pairs.

    Rows of output sites may be in any order, and a pair may name any row of a repeated site, as the
    hash tables of devices decide. Pairs are therefore compared by the coordinates of their rows.
    """
    inputs, findings = call.given["indices"], Findings()
    found, right = (call.rule.rulebook(call, values) for values in (call.found, call.expected))
    findings.add("sites", _site_difference(found.sites, right.sites))
    invalid = _invalid(found, len(inputs), len(right.pairs))
    if invalid:
        return findings.add("pairs", invalid)
    keys = [each.long() for each in (inputs, found.sites, right.sites)]
    _, places = torch.unique(torch.cat(keys), dim=0, return_inverse=True)
    of_input, of_found, of_right = places.split(list(map(len, keys)))
    codes = _Codes(of_input, int(places.max()) + 1 if len(places) else 1)
    found_codes = codes.of(found, of_found)
    right_codes = codes.of(right, of_right)
    if torch.equal(found_codes, right_codes):
        return findings
    findings.add("pairs", codes.difference(found_codes, right_codes))
    kernel = call.given["kernelSize" if "kernelSize" in call.given else "ksize"]
    for text, order in _orders(kernel):
        reordered = found._replace(pairs=found.pairs[order], num=found.num[order])
        if torch.equal(codes.of(reordered, of_found), right_codes):
            findings.notes.append(f"the pairs are right with {text}")
            break
    return findings


def _site_difference(found: Tensor, right: Tensor) -> Difference | None:
    if found.shape[1:] != right.shape[1:]:
        return difference(found, right)
    sparse = (SparseSites(torch.zeros(len(each), 1), each) for each in (found, right))
    result = compare(*sparse)
    return None if result.equal else result


def _invalid(found: Rulebook, inputs: int, offsets: int) -> str | None:
    _, pairs, num = found
    if pairs.dim() != 3 or pairs.shape[1] != 2 or num.shape != pairs.shape[:1]:
        return f"have shapes {list(pairs.shape)} and {list(num.shape)}, expected [K, 2, L] and [K]"
    for k, count in enumerate(num.tolist()):
        if not 0 <= count <= pairs.shape[2]:
            return f"offset {k} has {count} pairs, expected 0 to {pairs.shape[2]}"
        for side, used, rows in zip(
            ("input", "output"), pairs[k, :, :count], (inputs, len(found.sites))
        ):
            for bad in used[(used < 0) | (used >= rows)][:1].tolist():
                return f"offset {k} has the {side} row {bad}, expected 0 to {rows - 1}"
    return None if len(pairs) == offsets else f"have {len(pairs)} offsets, expected {offsets}"


class _Codes:
    """Pairs as ascending integers: offset, input site, output site."""

    def __init__(self, of_input: Tensor, sites: int) -> None:
        self._of_input, self._sites = of_input, sites

    def of(self, rulebook: Rulebook, of_output: Tensor) -> Tensor:
        _, pairs, num = rulebook
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
    offsets = torch.arange(math.prod(kernel)).view(*kernel)
    orders = []
    for axes in itertools.permutations(range(len(kernel))):
        if [kernel[axis] for axis in axes] == list(kernel):
            order = offsets.permute(*axes).flatten()
            text = [] if axes == tuple(sorted(axes)) else [f"the axes in the order {list(axes)}"]
            orders.append((" and ".join([*text, "the offsets reversed"]), order.flip(0)))
            orders.append((text[0] if text else "", order))
    return distinct(offsets.flatten(), orders)


def ordered(found: Rulebook, expected: Rulebook, rows: int) -> Rulebook:
    """Returns found sites, pairs [K, 2, rows] and their numbers in the order of the C API: sites in
    the order of the expected ones, all others last; the pairs of each offset in the order of their
    input rows, followed by -1.
    """
    sites, pairs, num = found.sites, directed_pairs(found.pairs, False, rows), found.num
    _, places = torch.unique(torch.cat((expected.sites, sites)), dim=0, return_inverse=True)
    of_expected, of_found = places.split([len(expected.sites), len(sites)])
    ranks = torch.full((len(places),), len(places))
    ranks[of_expected] = torch.arange(len(of_expected))
    order = ranks[of_found].argsort(stable=True)
    row = order.argsort()
    used = torch.arange(rows) < num.unsqueeze(1)
    inputs, outputs = pairs.long().unbind(1)
    outputs = torch.where(used, row[torch.where(used, outputs, 0)], -1)
    by_input = torch.where(used, inputs, rows).argsort(dim=1, stable=True)
    pairs = torch.stack((torch.where(used, inputs, -1), outputs), 1)
    return Rulebook(sites[order], pairs.gather(2, by_input.unsqueeze(1).expand_as(pairs)), num)


class SitesOfPairs:
    """Remembers the sites of index pairs while the pairs exist on the device."""

    def __init__(self) -> None:
        self._known = WeakTensorKeyDictionary()

    def add(self, pairs: Tensor, inputs: Tensor, outputs: Tensor) -> None:
        self._known[pairs] = inputs, outputs

    def describe(self, call: Call, pairs: Tensor, findings: Findings) -> None:
        """Adds a note with the sites of the worst rows."""
        if pairs not in self._known:
            return
        of_input, of_output = self._known[pairs]
        if call.given.get("inverse") or call.given.get("_inverse"):
            of_input, of_output = of_output, of_input
        for name, sites in (("output", of_output), ("grad_features", of_input)):
            compared = findings.differences.get(name)
            if not isinstance(compared, Comparison):
                continue
            rows = list(dict.fromkeys(worst.index[0] for worst in compared.worst))
            if rows and max(rows) < len(sites):
                texts = (f"row {row} is the site {tuple(sites[row].tolist())}" for row in rows)
                findings.notes.append(f"{name}: {', '.join(texts)}")
