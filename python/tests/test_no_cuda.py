"""`mluop_omp.no_cuda()`."""

from __future__ import annotations

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="requires PyTorch")

import mluop_omp  # noqa: E402

if torch.cuda.is_available():
    pytest.skip("requires a machine without a GPU", allow_module_level=True)


def test_devices_mean_the_cpu():
    module = torch.nn.Linear(2, 3)
    with mluop_omp.no_cuda():
        assert module.cuda() is module and module.cuda(0) is module
        assert module.to("cuda") is module and module.to(torch.device("cuda:1")) is module
        tensor = torch.ones(2, requires_grad=True)
        for same in (tensor.cuda(), tensor.cuda(0, non_blocking=True), tensor.cuda(device="cuda")):
            assert same is tensor
        assert tensor.to("cuda") is tensor and tensor.to(0) is tensor
        assert tensor.to(device="cuda:0", dtype=torch.float64).dtype is torch.float64
        assert tensor.to(torch.device("cuda"), torch.float16).dtype is torch.float16
        assert tensor.to(tensor) is tensor and tensor.to(torch.int32).dtype is torch.int32
        created = [
            *(torch.zeros(2, device="cuda"), torch.arange(3, device=torch.device("cuda", 1))),
            *(torch.tensor([1], device=0), torch.randn(2, device="cuda"), tensor.new_zeros(2)),
            *(tensor.new_zeros(2, device="cuda"), torch.zeros_like(tensor, device="cuda")),
            *(torch.as_tensor([1.0], device="cuda"), torch.nn.Linear(1, 1, device="cuda").weight),
        ]
        with torch.device("cuda"):
            created.append(torch.zeros(1))
        assert all(each.is_cpu for each in created)
        tensor.cuda().sum().backward()
        assert tensor.grad.tolist() == [1, 1]


def test_types_and_functions_of_torch_cuda():
    with mluop_omp.no_cuda():
        assert torch.cuda.IntTensor(2, 3).zero_().tolist() == [[0] * 3] * 2
        assert torch.cuda.FloatTensor(torch.Size((2,))).fill_(1).tolist() == [1, 1]
        assert torch.cuda.LongTensor([4]).dtype is torch.int64
        torch.cuda.set_device(0)
        torch.cuda.synchronize()
        assert torch.cuda.current_device() == 0
        assert not torch.cuda.is_available()


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_binary_cross_entropy_of_any_target(reduction):
    loss = torch.nn.functional.binary_cross_entropy
    input = torch.tensor([0.2, 0.9, 0.5, 0.7], requires_grad=True)
    target, weight = torch.tensor([0, 1, -1, 0.5]), torch.tensor([1.0, 2, 3, 4])
    losses = -weight * (target * input.log() + (1 - target) * (1 - input).log())
    expected = {"none": losses, "mean": losses.mean(), "sum": losses.sum()}[reduction]
    with mluop_omp.no_cuda():
        found = loss(input, target, weight, reduction=reduction)
        valid = loss(input, target.abs(), reduction=reduction)
    torch.testing.assert_close(found, expected)
    (grad,) = torch.autograd.grad(found.sum(), input)
    torch.testing.assert_close(grad, torch.autograd.grad(expected.sum(), input)[0])
    assert torch.equal(valid, loss(input, target.abs(), reduction=reduction))


def test_what_it_lasts_for():
    def raises():
        with pytest.raises((AssertionError, RuntimeError)):
            torch.zeros(1, device="cuda")
        with pytest.raises((AssertionError, RuntimeError)):
            torch.zeros(1).cuda()
        with pytest.raises((TypeError, RuntimeError)):
            torch.cuda.FloatTensor(1)

    raises()
    with pytest.raises(ZeroDivisionError), mluop_omp.no_cuda(), mluop_omp.no_cuda():
        1 / 0  # noqa: B018
    raises()
    # Without a with statement, for the rest of the program.
    code = """
import mluop_omp, torch
mluop_omp.no_cuda()
assert torch.nn.Linear(2, 3).cuda()(torch.cuda.FloatTensor(1, 2)).shape == (1, 3)
torch.optim.Adam(torch.nn.Linear(2, 3).cuda().parameters())
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=300)
