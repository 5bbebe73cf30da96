"""Indice convolution forward (mmcv, spconv, CenterPoint)."""

import torch
import torch.nn.functional as F

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer


def ours(inputs: Inputs) -> Peer:
    names = "features", "filters", "indice_pairs", "indice_num"
    num_act_out, sub_m = inputs["num_act_out"].item(), bool(inputs["sub_m"].item())
    arguments = *(inputs[name] for name in names), num_act_out, sub_m
    return Peer("ours", lambda: (mt.indice_conv(*arguments),))


def _spconv(inputs: Inputs) -> list[Peer]:
    """spconv's gather, mm, scatter_add for CPUs, float only. Empty if spconv is not installed."""
    if inputs["features"].dtype != torch.float32:
        return []
    try:
        from spconv.core import ConvAlgo
        from spconv.pytorch.ops import indice_conv
    except ImportError:
        return []
    num_act_out, sub_m = inputs["num_act_out"].item(), bool(inputs["sub_m"].item())
    # Layouts of spconv: [Co, D, H, W, Ci] and [2, K, N].
    filters = inputs["filters"].permute(4, 0, 1, 2, 3).contiguous()
    pairs = inputs["indice_pairs"].transpose(0, 1).contiguous()
    num = inputs["indice_num"].int()

    def run() -> Outputs:
        algo = ConvAlgo.Native
        return (indice_conv(inputs["features"], filters, pairs, num, num_act_out, False, sub_m, algo),)

    # spconv has data races: with several threads, some elements are wrong.
    return [Peer("spconv, Native", run, idiomatic=True, may_differ=True)]


def peers(inputs: Inputs) -> list[Peer]:
    features, filters, pairs = inputs["features"], inputs["filters"], inputs["indice_pairs"]
    num_act_in, num_act_out, dtype = features.shape[0], inputs["num_act_out"].item(), features.dtype
    in_channels, out_channels = filters.shape[-2:]
    matrices = filters.view(-1, in_channels, out_channels)
    counts = inputs["indice_num"].tolist()
    used = [(k, pairs[k, 0, :count], pairs[k, 1, :count]) for k, count in enumerate(counts) if count > 0]
    gathered = torch.empty(max(counts), in_channels, dtype=dtype)
    products = torch.empty(max(counts), out_channels, dtype=dtype)
    all_products = torch.empty(sum(counts), out_channels, dtype=dtype)
    all_outputs = torch.arange(num_act_out + 1, dtype=torch.int32)
    used_long = [outputs.long() for _, _, outputs in used]

    def gather_mm_index_add() -> Outputs:
        sums = torch.zeros(num_act_out, out_channels, dtype=dtype)
        for k, rows, outputs in used:
            sums.index_add_(0, outputs, features[rows] @ matrices[k])
        return (sums,)

    def in_place() -> Outputs:
        sums = torch.zeros(num_act_out, out_channels, dtype=dtype)
        for k, rows, outputs in used:
            count = rows.numel()
            factors = torch.index_select(features, 0, rows, out=gathered[:count])
            sums.index_add_(0, outputs, torch.mm(factors, matrices[k], out=products[:count]))
        return (sums,)

    def sort_embedding_bag() -> Outputs:
        end = 0
        for k, rows, _ in used:
            begin, end = end, end + rows.numel()
            factors = torch.index_select(features, 0, rows, out=gathered[: end - begin])
            torch.mm(factors, matrices[k], out=all_products[begin:end])
        keys, order = torch.cat([outputs for _, _, outputs in used]).sort(stable=True)
        starts = torch.searchsorted(keys, all_outputs, out_int32=True)
        return (F.embedding_bag(order.int(), all_products, starts, mode="sum", include_last_offset=True),)

    def wide_mm_embedding_bag() -> Outputs:
        all_of_all = torch.mm(features, matrices.transpose(0, 1).reshape(in_channels, -1)).view(-1, out_channels)
        keys, order = torch.cat([outputs for _, _, outputs in used]).sort(stable=True)
        rows = torch.cat([rows * len(counts) + k for k, rows, _ in used])[order]
        starts = torch.searchsorted(keys, all_outputs, out_int32=True)
        return (F.embedding_bag(rows, all_of_all, starts, mode="sum", include_last_offset=True),)

    def im2col_mm() -> Outputs:
        # In chunks of outputs that fit in the caches. Missing pairs refer to a row of zeros.
        rows_of = torch.full((num_act_out, len(counts)), num_act_in, dtype=torch.int32)
        for (k, rows, _), outputs in zip(used, used_long):
            rows_of[outputs, k] = rows
        padded = torch.cat((features, torch.zeros(1, in_channels, dtype=dtype)))
        matrix = matrices.view(-1, out_channels)
        sums = torch.empty(num_act_out, out_channels, dtype=dtype)
        for chunk, out in zip(rows_of.split(1024), sums.split(1024)):
            torch.mm(padded.index_select(0, chunk.view(-1)).view(chunk.shape[0], -1), matrix, out=out)
        return (sums,)

    return [
        Peer("gather, mm, index_add", gather_mm_index_add, idiomatic=True),
        Peer("gather, mm, index_add, in place", in_place),
        Peer("gather, mm, sort + embedding_bag", sort_embedding_bag),
        Peer("mm with all filters, sort + embedding_bag", wide_mm_embedding_bag),
        Peer("im2col, mm", im2col_mm),
        *_spconv(inputs),
    ]
