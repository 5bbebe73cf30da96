"""Operator cases of index pairs: the results of the device in the order of the C API."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mluop_omp.golden.checking._calls import Call, Findings
from mluop_omp.torch.rulebooks import complete_pairs, output_space, pairs_by_output

# Output sites, pairs [K, 2, L] and their numbers.
_Pairs = tuple[Tensor, Tensor, Tensor]
_GEOMETRY = ("input_space", "filter_space", "stride", "pad", "dilation")


def of_pairs(call: Call, _: Findings) -> tuple[str, dict, dict, dict]:
    """Raises ValueError if the C API does not compute these pairs."""
    given = call.given
    is_of_mmcv = "batchSize" in given
    names = _MMCV if is_of_mmcv else _SPCONV
    batch, subm, transposed, *geometry = (given.get(name, False) for name in names)
    indices = given["indices"]
    space, kernel, stride, pad, dilation = geometry
    if transposed or indices.shape[1] not in (3, 4) or (subm and max(dilation) > 1):
        raise ValueError(
            "the operator has 2 or 3 axes, neither transposed nor dilated submanifold convolutions"
        )
    if len(torch.unique(indices, dim=0)) < len(indices):
        raise ValueError("sites are repeated")
    if subm:
        stride, pad = [1] * len(kernel), [size // 2 for size in kernel]
    if is_of_mmcv:
        out_space = given["outSpatialShape"]
    else:
        out_space = output_space(space, kernel, stride, pad, dilation)
    parameters = dict(zip(_GEOMETRY, (space, kernel, stride, pad, dilation)))
    sites, pairs, num = _ordered(*(_found(call, values) for values in (call.found, call.expected)))
    return (
        "get_indice_pairs",
        {"indices": indices},
        {"out_indices": sites, "indice_pairs": pairs, "indice_num": num},
        {
            "dimnb": indices.shape[1] + 1,
            "batch": int(batch),
            **{name: list(map(int, values)) for name, values in parameters.items()},
            "output_space": list(map(int, out_space)),
            "sub_m": int(subm),
            "num_act_out": len(call.found[call.rule.sites]),
        },
    )


_MMCV = ("batchSize", "_subM", "_transpose", "spatialShape", "kernelSize")
_MMCV += ("stride", "padding", "dilation")
_SPCONV = ("batch_size", "subm", "transpose", "spatial_shape", "ksize")
_SPCONV += ("stride", "padding", "dilation")


def _found(call: Call, values: dict[str, Any]) -> _Pairs:
    sites, rows = values[call.rule.sites], len(call.given["indices"])
    if "pair_fwd" in values:
        return sites, *pairs_by_output(values["pair_fwd"], rows)
    if "num" not in values:
        return sites, values["indice_pairs"], values["indice_num"]
    subm = bool(call.given.get("subm", False))
    pairs, num = complete_pairs(values["pairs"], values["num"], rows, subm)
    return sites, pairs.transpose(0, 1), num


def _ordered(found: _Pairs, expected: _Pairs) -> _Pairs:
    """Returns the found sites in the order of the expected sites, all others last, and the pairs of
    each offset in the order of their input rows, followed by -1.
    """
    sites, pairs, num = found
    _, places = torch.unique(torch.cat((expected[0], sites)), dim=0, return_inverse=True)
    of_expected, of_found = places.split([len(expected[0]), len(sites)])
    ranks = torch.full((len(places),), len(places))
    ranks[of_expected] = torch.arange(len(of_expected))
    order = ranks[of_found].argsort(stable=True)
    row = torch.empty_like(order)
    row[order] = torch.arange(len(order))
    used = torch.arange(pairs.shape[2]) < num.unsqueeze(1)
    inputs, outputs = pairs.long().unbind(1)
    outputs = torch.where(used, row[torch.where(used, outputs, 0)], -1)
    by_input = torch.where(used, inputs, pairs.shape[2]).argsort(dim=1, stable=True)
    pairs = torch.stack((torch.where(used, inputs, -1), outputs), 1)
    # The operator requires room for its sites.
    missing = max(len(expected[0]) - len(sites), 0)
    sites = torch.cat((sites[order], sites.new_full((missing, sites.shape[1]), -1)))
    return sites, pairs.gather(2, by_input.unsqueeze(1).expand_as(pairs)), num
