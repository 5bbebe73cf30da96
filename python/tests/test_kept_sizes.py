"""Workspace sizes and descriptors that are kept for later calls."""

from __future__ import annotations

import cases
import numpy as np
import pytest
import torch

import mluop_omp
from mluop_omp import _arrays, _library
from mluop_omp.torch import _operators

NAMES = sorted(_operators.KERNELS)
SETTINGS = [("native", 1), ("device", 2), ("native", 3), ("device", 1), ("native", 2)]


@pytest.fixture
def restored_settings():
    before = mluop_omp.algorithm(), mluop_omp.threads()
    yield
    mluop_omp.algorithm(before[0])
    mluop_omp.threads(before[1])


def with_nothing_kept(function, *arguments):
    """Calls the function with a handle of its own."""
    mluop_omp.release_memory()
    return function(*arguments)


def kept_sizes():
    """Returns the sizes that the handles of both algorithms keep."""
    return [len(handle._sizes) for handles in _library.idle.values() for handle in handles]


@pytest.mark.parametrize("name", NAMES)
def test_settings_may_change_between_calls(name, restored_settings):
    operator, arguments = getattr(torch.ops.mluop_omp, name), cases.arguments(name)
    for algorithm, threads in SETTINGS:
        mluop_omp.algorithm(algorithm)
        torch.set_num_threads(threads)
        expected = with_nothing_kept(operator, *arguments)
        torch.testing.assert_close(operator(*arguments), expected, rtol=1e-6, atol=1e-6)
        assert mluop_omp.threads() == threads


@pytest.mark.parametrize("name", NAMES)
def test_a_refused_call_does_not_change_later_ones(name):
    operator, arguments = getattr(torch.ops.mluop_omp, name), cases.arguments(name)
    expected = with_nothing_kept(operator, *arguments)
    tensors = [i for i, each in enumerate(arguments) if isinstance(each, torch.Tensor)]
    for position in tensors:
        tensor = arguments[position]
        for wrong in (tensor[..., :-1].contiguous(), tensor.double(), tensor[None]):
            changed = list(arguments)
            changed[position] = wrong
            try:
                operator(*changed)
            except mluop_omp.MluOpError:
                torch.testing.assert_close(operator(*arguments), expected, rtol=0, atol=0)
    torch.testing.assert_close(operator(*arguments), expected, rtol=0, atol=0)


def test_a_refused_call_keeps_nothing(rng):
    unknown = rng.random((1, 4, 3), np.float32)
    mluop_omp.release_memory()
    with pytest.raises(mluop_omp.MluOpError, match="known"):
        mluop_omp.three_nn(unknown, np.zeros((0, 7, 3), np.float32))
    assert kept_sizes() == []


def test_sizes_follow_the_numbers_of_pairs():
    """All pairs are (0, 0). The workspace of the filter gradient depends on their numbers."""
    features, pairs = np.ones((4000, 2), np.float32), np.zeros((2, 2, 4000), np.int32)
    for counts in ([1, 1], [4000, 4000], [0, 4000], [1, 1]):
        arguments = (features, features, pairs, np.array(counts, np.int32), (2, 1, 1))
        found = mluop_omp.indice_conv_backward_filter(*arguments)
        expected = np.broadcast_to(np.reshape(counts, (2, 1, 1, 1, 1)), (2, 1, 1, 2, 2))
        np.testing.assert_array_equal(found, expected)


def test_sizes_follow_the_geometry_of_the_convolution():
    sites = cases.sites().numpy()
    ones = (1, 1, 1)
    for _ in range(2):
        for kernel, pad in (((3, 3, 3), ones), (ones, (0, 0, 0)), ((1, 3, 1), (0, 1, 0))):
            arguments = (sites, 2, cases.SPACE, kernel, ones, pad, ones, True)
            expected = with_nothing_kept(mluop_omp.indice_pairs, *arguments)
            assert all(map(np.array_equal, mluop_omp.indice_pairs(*arguments), expected))


def test_the_number_of_kept_sizes_is_limited(rng, monkeypatch):
    monkeypatch.setattr(_library, "_MAX_SIZES", 3)
    unknown = rng.random((1, 4, 3)).astype(np.float16)
    known = rng.random((1, 40, 3)).astype(np.float16)
    mluop_omp.release_memory()
    for count in (*range(1, 40), *range(1, 40)):
        part = known[:, :count].copy()
        dist2, _ = mluop_omp.three_nn(unknown, part)
        nearest = ((unknown[:, :, None] - part[:, None]).astype(np.float32) ** 2).sum(-1).min(2)
        np.testing.assert_allclose(dist2[..., 0], nearest, atol=1e-2)
    assert kept_sizes() == [3]


def test_descriptors_that_are_dropped_may_be_in_use(rng):
    arguments = rng.random((1, 6, 3)).astype(np.float16), rng.random((1, 7, 3)).astype(np.float16)
    expected = mluop_omp.three_nn(*arguments)
    for shape in np.ndindex(100, 50):
        _arrays.describe(_arrays.ARRAY, _arrays.DTYPES["float16"], shape)
    assert all(map(np.array_equal, mluop_omp.three_nn(*arguments), expected))
