"""mmcv's SyncBatchNorm: two processes against batch normalization of the whole batch; the arguments
that mmcv passes.
"""

from __future__ import annotations

import importlib
import os

import cases
import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

import mluop_omp
import mluop_omp.torch as mt

pytest.importorskip("mmcv", reason="requires mmcv-lite")
EXT = importlib.import_module("mluop_omp.mmcv").FUNCTIONS
CHANNELS = 5


def batch(dtype=torch.float):
    """Returns the batch of both processes and the gradients of its output."""
    return tuple(each.to(dtype) for each in cases.floats(2, 6, CHANNELS, 3, 4) + 3)


def settings(module):
    with torch.no_grad():
        module.weight.copy_(torch.arange(1.0, CHANNELS + 1))
        module.bias.copy_(torch.arange(CHANNELS) / 4)
    return module


# The options of the module, the memory format and the element type of the batch.
RUNS = [
    ({}, torch.contiguous_format, torch.float),
    ({"stats_mode": "N"}, torch.channels_last, torch.float),
    ({"momentum": None}, torch.channels_last, torch.half),
]


def normalize(rank, folder):
    """A process: writes the results of its part of the batches to files."""
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    rendezvous = f"file://{folder}/rendezvous"
    dist.init_process_group("gloo", init_method=rendezvous, rank=rank, world_size=2)
    importlib.import_module("mluop_omp.mmcv.auto")
    ops = importlib.import_module("mmcv.ops")
    for run, (options, memory_format, dtype) in enumerate(RUNS):
        module = settings(ops.SyncBatchNorm(CHANNELS, **options))
        x, grad = (e.chunk(2)[rank].contiguous(memory_format=memory_format) for e in batch(dtype))
        output = module(x.requires_grad_())
        output.backward(grad)
        results = output.detach(), x.grad, module.weight.grad, module.bias.grad
        statistics = module.running_mean, module.running_var
        torch.save((*results, *statistics), f"{folder}/{run} {rank}.pt")
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def folder_of_results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes")
    mp.spawn(normalize, (folder,), nprocs=2)
    return folder


@pytest.mark.skipif(not dist.is_available(), reason="requires torch.distributed")
@pytest.mark.parametrize("run", range(len(RUNS)))
def test_two_processes(run, folder_of_results):
    """mmcv averages the gradients of weight and bias over the processes."""
    options, memory_format, dtype = RUNS[run]
    found = [torch.load(folder_of_results / f"{run} {rank}.pt") for rank in (0, 1)]
    x, grad = (each.float() for each in batch(dtype))
    momentum = {key: value for key, value in options.items() if key == "momentum"}
    whole = settings(nn.BatchNorm2d(CHANNELS, **momentum))
    output = whole(x.requires_grad_())
    output.backward(grad)
    error = 1e-5 if dtype is torch.float else 5e-3
    tolerance = {"rtol": 10 * error, "atol": error}
    for place, expected in enumerate((output.detach(), x.grad)):
        halves = torch.cat([each[place] for each in found])
        torch.testing.assert_close(halves.float(), expected, **tolerance)
    statistics = whole.running_mean, whole.running_var
    expected = whole.weight.grad / 2, whole.bias.grad / 2, *statistics
    for results in found:
        assert results[0].is_contiguous(memory_format=memory_format)
        for each, one in zip(results[2:], expected):
            torch.testing.assert_close(each, one, **tolerance)


def test_arguments_of_mmcv():
    """momentum is a tensor; weight, bias and the running statistics may be absent."""
    x, mean, var, weight, bias, eps = cases.arguments("sync_bn_forward_output")
    expected = mt.sync_bn_forward_output(x, mean, var, weight, bias, eps)
    running = torch.zeros(CHANNELS), torch.ones(CHANNELS)
    outputs = [torch.zeros_like(each) for each in expected]
    numbers = {"eps": eps, "momentum": torch.tensor([0.25]), "group_size": 2}
    function = EXT["sync_bn_forward_output"]
    function(x, mean, var, weight, bias, *running, *outputs, **numbers)
    assert all(map(torch.equal, outputs, expected))
    count = 2 * x.numel() / CHANNELS
    torch.testing.assert_close(running[0], mean / 4)
    torch.testing.assert_close(running[1], 0.75 + var / 4 * count / (count - 1))
    function(x, mean, var, None, None, None, None, *outputs, **numbers)
    assert torch.equal(outputs[2], mt.sync_bn_forward_output(x, mean, var, eps=eps)[2])
    # A single element: the variance is biased. An empty batch leaves the outputs.
    ones = torch.ones(1, CHANNELS, 1)
    images = torch.zeros_like(ones), torch.zeros(CHANNELS), torch.zeros_like(ones)
    function(ones, mean, var, None, None, None, running[1].fill_(1), *images, eps, 0.5, 1)
    torch.testing.assert_close(running[1], (1 + var) / 2)
    norm, std, output = outputs
    numbers = mean, var, None, None, None, None, norm[:0], std.zero_(), output[:0]
    function(x[:0], *numbers, eps, 0.5, 1)
    torch.testing.assert_close(std, expected[1])


@pytest.mark.parametrize("dtype", [torch.float, torch.half, torch.bfloat16])
def test_outputs_of_other_memory_formats(dtype):
    """Views of channels_last, of other strides, and pairs of both."""
    x, mean, var, weight, bias, eps = cases.arguments("sync_bn_forward_output")
    x = x.to(dtype)
    expected = mt.sync_bn_forward_output(x.float(), mean, var, weight, bias, eps)[2].to(dtype)

    def channels_last(tensor):
        return tensor.mT.contiguous().mT

    def strided(tensor):
        return torch.stack((tensor, tensor), -1)[..., 0]

    for of_input in (torch.Tensor.contiguous, channels_last, strided):
        for of_output in (torch.Tensor.contiguous, channels_last, strided):
            norm, output = of_input(torch.zeros(x.shape)), of_output(torch.zeros_like(x))
            numbers = mean, var, weight, bias, None, None, norm, torch.zeros(CHANNELS), output
            EXT["sync_bn_forward_output"](of_input(x), *numbers, eps, 0.1, 1)
            assert torch.equal(output, expected)


def test_refused_arguments():
    x = cases.floats(2, CHANNELS, 3)
    with pytest.raises(mluop_omp.MluOpError, match="mean dim 0 is 4, expected 5"):
        EXT["sync_bn_forward_mean"](x, torch.zeros(4))
    with pytest.raises(mluop_omp.MluOpError, match="input has 1 dimensions, expected 2 or 3"):
        mt.sync_bn_forward_mean(x.flatten())
