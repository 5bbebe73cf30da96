"""Get indice pairs (mmcv, spconv, CenterPoint)."""

import torch

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer


def ours(inputs: Inputs) -> Peer:
    space, kernel, stride, pad = (inputs[name].tolist() for name in ("input_space", "kernel", "stride", "pad"))
    sub_m = bool(inputs["sub_m"].item())
    arguments = inputs["indices"], inputs["batch_size"].item(), space, kernel, stride, pad, (1, 1, 1), sub_m

    def run() -> Outputs:
        out_indices, pairs, num = mt.indice_pairs(*arguments)
        return pairs, out_indices, num

    return Peer("ours", run)


def _spconv(inputs: Inputs) -> list[Peer]:
    """spconv's pairs for CPUs, with a serial hash map. Empty if spconv is not installed."""
    try:
        from spconv.core import ConvAlgo
        from spconv.pytorch.ops import get_indice_pairs
    except ImportError:
        return []
    space, kernel, stride, pad = (inputs[name].tolist() for name in ("input_space", "kernel", "stride", "pad"))

    def run() -> Outputs:
        out_indices, pairs, num = get_indice_pairs(
            inputs["indices"], inputs["batch_size"].item(), space, ConvAlgo.Native, kernel, stride, pad,
            [1, 1, 1], [0, 0, 0], bool(inputs["sub_m"].item()),
        )  # fmt: skip
        return pairs, out_indices, num

    # spconv numbers outputs in order of occurrence, and stores half of the pairs of a submanifold convolution.
    return [Peer("spconv, Native", run, idiomatic=True, may_differ=True)]


def peers(inputs: Inputs) -> list[Peer]:
    batch, *site = inputs["indices"].long().unbind(1)
    kernel, stride, pad, space = (inputs[name].tolist() for name in ("kernel", "stride", "pad", "output_space"))
    offsets = torch.cartesian_prod(*map(torch.arange, kernel))
    is_submanifold = bool(inputs["sub_m"].item())
    num_sites = len(batch)

    def linear(b: torch.Tensor, *coordinates: torch.Tensor) -> torch.Tensor:
        for coordinate, extent in zip(coordinates, space):
            b = b * extent + coordinate
        return b

    def candidates() -> tuple[torch.Tensor, torch.Tensor]:
        """The output cell of each offset and site [K, L], and whether there is one."""
        valid = torch.ones(len(offsets), num_sites, dtype=torch.bool)
        outputs = []
        for axis in range(3):
            scaled = site[axis] + pad[axis] - offsets[:, axis : axis + 1]
            output = torch.div(scaled, stride[axis], rounding_mode="floor")
            valid &= (scaled == output * stride[axis]) & (output >= 0) & (output < space[axis])
            outputs.append(output)
        return linear(batch.expand_as(valid), *outputs), valid

    def decode(cells: torch.Tensor) -> torch.Tensor:
        columns = []
        for extent in reversed(space):
            columns.insert(0, cells % extent)
            cells = cells // extent
        return torch.stack([cells, *columns], 1).int()

    def sort_search() -> Outputs:
        cells, valid = candidates()
        if is_submanifold:
            sorted_cells, rows = linear(batch, *site).sort()
            place = torch.searchsorted(sorted_cells, cells).clamp_(max=num_sites - 1)
            valid &= sorted_cells[place] == cells
            outputs, out_indices = rows[place], inputs["indices"]
        else:
            distinct = cells[valid].unique()
            outputs, out_indices = torch.searchsorted(distinct, cells), decode(distinct)
        num = valid.sum(1)
        k, rows = valid.nonzero(as_tuple=True)
        place = torch.arange(len(k)) - (num.cumsum(0) - num)[k]
        pairs = torch.full((len(offsets), 2, num_sites), -1, dtype=torch.int32)
        pairs[k, 0, place] = rows.int()
        pairs[k, 1, place] = outputs[valid].int()
        return pairs, out_indices, num.int()

    return [Peer("sort, searchsorted", sort_search, idiomatic=True), *_spconv(inputs)]
