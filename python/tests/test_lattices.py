"""mutual_information_recursion: the arguments and results of k2's function."""

from __future__ import annotations

import cases
import numpy as np
import pytest
import torch

import mluop_omp
import mluop_omp.torch as mt


def lattices():
    px, py, _ = cases.arguments("mutual_information", B=3, S=5, T=8, bounded=False)
    return px, py, torch.tensor([(0, 0, 5, 8), (1, 2, 4, 8), (3, 5, 2, 8)])


def paths(px, py, boundary):
    """Yields the log-probability of each path of a lattice."""
    s, t, s_end, t_end = boundary
    if (s, t) == (s_end, t_end):
        yield 0.0
    if s < s_end:
        yield from (px[s][t] + each for each in paths(px, py, (s + 1, t, s_end, t_end)))
    if t < t_end:
        yield from (py[s][t] + each for each in paths(px, py, (s, t + 1, s_end, t_end)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_sums_over_paths(dtype):
    px, py, boundary = lattices()
    px, py = (each.to(dtype).requires_grad_() for each in (px, py))
    found, grads = mluop_omp.mutual_information_recursion(px, py, boundary, return_grad=True)
    expected = [
        np.logaddexp.reduce(list(paths(x.tolist(), y.tolist(), bounds)))
        for x, y, bounds in zip(px[:2], py[:2], boundary.tolist())
    ]
    np.testing.assert_allclose(found.detach(), [*expected, 0], rtol=1e-5)
    torch.testing.assert_close(torch.autograd.grad(found.sum(), (px, py)), grads)
    assert not any(each.requires_grad or each[2].any() for each in grads)
    # A path has a step for each symbol and each frame.
    steps = [each.sum((1, 2)) for each in grads]
    torch.testing.assert_close(steps[0], torch.tensor([5.0, 3, 0], dtype=dtype))
    torch.testing.assert_close(steps[1], torch.tensor([8.0, 6, 0], dtype=dtype))


@pytest.mark.parametrize("is_bounded", [False, True])
def test_arrays_and_tensors_agree(is_bounded):
    px, py, boundary = lattices()
    boundary = boundary if is_bounded else None
    arrays = [None if each is None else each.numpy() for each in (px, py, boundary)]
    ans = mluop_omp.mutual_information_recursion(*arrays)
    np.testing.assert_array_equal(ans, mluop_omp.mutual_information_recursion(px, py, boundary))
    np.testing.assert_array_equal(ans, mt.mutual_information(px, py, boundary)[0])
    found = mluop_omp.mutual_information_recursion(*arrays, True)
    expected = mluop_omp.mutual_information_recursion(px, py, boundary, True)
    np.testing.assert_array_equal(found[0], expected[0])
    for one, other in zip(found[1], expected[1]):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("convert", [torch.Tensor.numpy, torch.Tensor.clone])
def test_the_modified_recursion_is_refused(convert):
    px, py, _ = lattices()
    with pytest.raises(mluop_omp.MluOpError, match="the modified recursion of k2 is not supported"):
        mluop_omp.mutual_information_recursion(convert(px[..., 1:].contiguous()), convert(py))
