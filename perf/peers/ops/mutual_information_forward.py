"""Mutual information forward (k2): the log-probability of all monotone paths through lattices."""

import torch
import torch.nn.functional as F

import mluop_omp.torch as mt
from peer import Inputs, Peer


def by_diagonals(scores: torch.Tensor, rows: int, nothing: float) -> torch.Tensor:
    """Returns [D, B, rows]: the element (s, d - s) for each diagonal d of [B, s, t], `nothing` outside."""
    scores = F.pad(scores, (0, rows, 0, rows - scores.shape[1]), value=nothing)
    B, _, columns = scores.shape
    skewed = scores.flatten(1)[:, : rows * (columns - 1)].view(B, rows, columns - 1)
    return skewed.permute(2, 0, 1).contiguous()


def recursion(px: torch.Tensor, py: torch.Tensor, nothing: float = float("-inf")) -> list[torch.Tensor]:
    """Returns the diagonals of p, each [B, S + 1]. nothing: the logarithm of 0."""
    S, T = px.shape[1], py.shape[2]
    # Indexing would have a gradient of the size of all diagonals.
    x, y = by_diagonals(px, S + 1, nothing).unbind(), by_diagonals(py, S + 1, nothing).unbind()
    row = px.new_full((px.shape[0], S + 1), nothing)
    row[:, 0] = 0
    diagonals = [row]
    for d in range(S + T):
        along_s = F.pad((row + x[d])[:, :-1], (1, 0), value=nothing)
        row = torch.logaddexp(along_s, row + y[d])
        diagonals.append(row)
    return diagonals


def cells(diagonals: list[torch.Tensor], T: int) -> torch.Tensor:
    """Returns p [B, S + 1, T + 1]."""
    skewed = torch.stack(diagonals, 2)
    B, rows, columns = skewed.shape
    return F.pad(skewed.flatten(1), (0, rows)).view(B, rows, columns + 1)[..., : T + 1].contiguous()


def ours(inputs: Inputs) -> Peer:
    px, py = inputs["px"], inputs["py"]
    return Peer("ours", lambda: mt.mutual_information(px, py))


def peers(inputs: Inputs) -> list[Peer]:
    px, py = inputs["px"], inputs["py"]

    def run() -> tuple[torch.Tensor, torch.Tensor]:
        diagonals = recursion(px, py)
        return diagonals[-1][:, -1].contiguous(), cells(diagonals, py.shape[2])

    return [Peer("logaddexp of anti-diagonals", run, idiomatic=True)]
