"""Pruning: a part of the sites of a tensor."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor as Features
from torch import nn

from mluop_omp._library import bad_param
from mluop_omp.minkowski._tensors import SparseTensor


class MinkowskiPruning(nn.Module):
    """Keeps the sites of a tensor whose mask is True, in their order."""

    def forward(self, input: SparseTensor, mask: Features) -> SparseTensor:
        """mask: torch.bool [N]. The key is (t, "pruned"), with five characters if that is taken."""
        if not isinstance(input, SparseTensor):
            raise bad_param(f"input is a {type(input).__name__}, expected a SparseTensor")
        rows = len(input)
        if mask.dtype not in (torch.bool, torch.uint8) or mask.shape != (rows,):
            raise bad_param(
                f"mask has dtype {mask.dtype} and shape {list(mask.shape)}, expected torch.bool "
                f"[{rows}]"
            )
        (kept,) = mask.nonzero(as_tuple=True)
        if rows and not len(kept):
            warnings.warn("mask is False for all sites: the result has none", stacklevel=2)
        key = input._manager.pruned(input.coordinate_map_key, kept)
        return input._with(input._F[kept], key)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
