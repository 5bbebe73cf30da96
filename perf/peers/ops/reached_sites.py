"""Reached sites of a sparse convolution (MinkowskiEngine, torchsparse)."""

import torch

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer


def ours(inputs: Inputs) -> Peer:
    arguments = inputs["sites"], inputs["offsets"], inputs["multiples"].tolist()
    return Peer("ours", lambda: (mt.reached_sites(*arguments),))


def peers(inputs: Inputs) -> list[Peer]:
    sites, offsets, multiples = (inputs[name] for name in ("sites", "offsets", "multiples"))

    def sums() -> torch.Tensor:
        """Returns the sums at multiples, [sums, 1 + D]."""
        moved = sites.unsqueeze(1).repeat(1, len(offsets), 1)
        moved[..., 1:] += offsets
        rows = moved.flatten(0, 1)
        if (multiples == 1).all():
            return rows
        return rows[(rows[:, 1:] % multiples == 0).all(1)]

    def unique_rows() -> Outputs:
        return (sums().unique(dim=0),)

    def unique_keys() -> Outputs:
        """Sorts int64 keys of mixed radix, and decodes the distinct ones."""
        rows = sums().long()
        low, extents = rows.amin(0), rows.amax(0) - rows.amin(0) + 1
        keys = torch.zeros(len(rows), dtype=torch.int64)
        for column, extent in zip((rows - low).unbind(1), extents):
            keys = keys * extent + column
        distinct = keys.unique()
        columns = []
        for extent in reversed(extents):
            columns.insert(0, distinct % extent)
            distinct = distinct // extent
        return ((torch.stack(columns, 1) + low).int(),)

    return [
        Peer("torch.unique of rows", unique_rows, idiomatic=True),
        Peer("torch.unique of int64 keys", unique_keys),
    ]
