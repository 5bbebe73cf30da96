#!/usr/bin/env python3
"""Trains a sparse encoder on one process, then data-parallel on two, and prints both losses.

Each process of torch.distributed (gloo) takes its share of the clouds of a batch;
DistributedDataParallel averages the gradients. The losses equal the losses of one process on the
whole batch. For several machines, start a process on each, with the address of the first.
"""

from __future__ import annotations

import multiprocessing
import socket
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

import mluop_omp.torch as mt

SPACE, CLOUDS, SITES, STEPS = (5, 16, 16), 4, 150, 5


class Encoder(nn.Module):
    """A submanifold convolution, a strided one, and a linear classifier of each cloud."""

    def __init__(self) -> None:
        super().__init__()
        self.subm = mt.SubMConv3d(4, 16, 3)
        self.down = mt.SparseConv3d(16, 32, 3, stride=2, padding=1)
        self.head = nn.Linear(32, 1)

    def forward(self, input: mt.SparseTensor) -> Tensor:
        x = self.subm(input)
        x = self.down(x.replace_feature(x.features.relu()))
        return self.head(x.dense().flatten(2).amax(2)).squeeze(1)


def batch(first: int, count: int) -> tuple[mt.SparseTensor, Tensor]:
    """Returns clouds first, ..., first + count - 1 and their labels."""
    indices, features = [], []
    for number in range(count):
        generator = torch.Generator().manual_seed(first + number)
        cells = torch.randperm(SPACE[0] * SPACE[1] * SPACE[2], generator=generator)[:SITES]
        sites = torch.stack(torch.unravel_index(cells, SPACE), 1)
        indices.append(F.pad(sites, (1, 0), value=number))
        features.append(torch.randn(SITES, 4, generator=generator))
    labels = torch.arange(first, first + count).remainder(2).float()
    return mt.SparseTensor(torch.cat(features), torch.cat(indices).int(), SPACE, count), labels


def run(rank: int, processes: int, port: int, losses: Any) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    address = f"tcp://127.0.0.1:{port}"
    dist.init_process_group("gloo", init_method=address, rank=rank, world_size=processes)
    model = nn.parallel.DistributedDataParallel(Encoder())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    share = CLOUDS // processes
    input, labels = batch(rank * share, share)
    for _ in range(STEPS):
        loss = F.binary_cross_entropy_with_logits(model(input), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if rank == 0:
            losses.put(mean.item() / processes)
    dist.destroy_process_group()


def train(processes: int) -> list[float]:
    """Returns the loss of each step."""
    context = multiprocessing.get_context("spawn")
    losses = context.Queue()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    workers = [
        context.Process(target=run, args=(rank, processes, port, losses))
        for rank in range(processes)
    ]
    for worker in workers:
        worker.start()
    result = [losses.get(timeout=120) for _ in range(STEPS)]
    for worker in workers:
        worker.join()
    return result


if __name__ == "__main__":
    for processes in (1, 2):
        print(processes, " ".join(f"{loss:.6f}" for loss in train(processes)))
