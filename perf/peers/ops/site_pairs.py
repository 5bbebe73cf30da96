"""Site pairs: the kernel maps of MinkowskiEngine and torchsparse."""

import torch

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer


def ours(inputs: Inputs) -> Peer:
    arguments = inputs["inputs"], inputs["outputs"], inputs["offsets"]
    return Peer("ours", lambda: mt.site_pairs(*arguments))


def peers(inputs: Inputs) -> list[Peer]:
    sites, outputs, offsets = (inputs[name].long() for name in ("inputs", "outputs", "offsets"))
    num_inputs, num_offsets = len(sites), len(offsets)

    def keys_of(rows: torch.Tensor, low: torch.Tensor, extents: list[int]) -> torch.Tensor:
        """One number for each row, in the order of the rows."""
        key = torch.zeros(rows.shape[:-1], dtype=torch.int64)
        for column, extent in enumerate(extents):
            key = key * extent + (rows[..., column] - low[column])
        return key

    def sort_search() -> Outputs:
        shifted = outputs.expand(num_offsets, *outputs.shape).clone()
        shifted[:, :, 1:] += offsets.unsqueeze(1)
        low = torch.minimum(sites.amin(0), shifted.amin((0, 1)))
        high = torch.maximum(sites.amax(0), shifted.amax((0, 1)))
        extents = (high - low + 1).tolist()
        # Stable: of equal inputs the first is found.
        known, rows = keys_of(sites, low, extents).sort(stable=True)
        wanted = keys_of(shifted, low, extents)
        place = torch.searchsorted(known, wanted).clamp_(max=num_inputs - 1)
        valid = known[place] == wanted
        num = valid.sum(1)
        k, output = valid.nonzero(as_tuple=True)
        position = torch.arange(len(k)) - (num.cumsum(0) - num)[k]
        pairs = torch.full((num_offsets, 2, num_inputs), -1, dtype=torch.int32)
        pairs[k, 0, position] = rows[place[valid]].int()
        pairs[k, 1, position] = output.int()
        return pairs, num.int()

    return [Peer("sort, searchsorted", sort_search, idiomatic=True)]
