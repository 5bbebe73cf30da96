"""Processes: workers of a DataLoader, data-parallel training with gloo."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import cases
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import mluop_omp.torch as mt


class Clouds(Dataset):
    """Voxelizes a cloud in the worker, as the data pipelines of detectors do."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        points = torch.randn(2000, 4, generator=torch.Generator().manual_seed(index))
        return mt.voxelization(points, [0.2] * 3, [-2.0] * 3 + [2.0] * 3, 4, 1000)


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_of_a_data_loader(start):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        # The parent has run parallel operators, and parallel regions of PyTorch.
        mt.three_nn(torch.rand(2, 20000, 3), torch.rand(2, 5000, 3))
        torch.rand(2000, 2000).sum()
        expected = [Clouds()[i] for i in range(8)]
        workers = {"num_workers": 2, "multiprocessing_context": start, "timeout": 60}
        loader = DataLoader(Clouds(), batch_size=None, **workers)
        for actual, each in zip(loader, expected):
            assert all(map(torch.equal, actual, each))
    finally:
        torch.set_num_threads(before)


def test_two_processes_train_as_one():
    example = Path(__file__).resolve().parents[1] / "examples/data_parallel.py"
    command = [sys.executable, str(example)]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    (_, *one), (_, *two) = (map(float, line.split()) for line in output.splitlines())
    assert one[-1] < one[0]
    torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-6)


def test_a_backward_pass_in_another_thread():
    feats, idx, weight = cases.with_gradients("three_interpolate")
    loss = mt.three_interpolate(feats, idx, weight).sum()
    thread = threading.Thread(target=loss.backward)
    thread.start()
    thread.join()
    assert feats.grad is not None
