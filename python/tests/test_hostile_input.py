"""Whatever the arguments are, a call returns or raises a Python exception: a crash ends the run."""

from __future__ import annotations

import contextlib
import random
import resource
from collections.abc import Iterator
from pathlib import Path

import cases
import numpy as np
import pytest
import torch
from hypothesis import strategies as st
from ml_dtypes import bfloat16
from test_properties import many_examples

import mluop_omp
from mluop_omp.torch import _operators

NAMES = sorted(_operators.KERNELS)
# What a call may raise: the errors of the library, of PyTorch's dispatcher and of NumPy's
# allocation.
EXCEPTIONS = (mluop_omp.MluOpError, TypeError, ValueError, RuntimeError, MemoryError, OverflowError)
DTYPES = [
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
    *(torch.int32, torch.int64, torch.bool, torch.complex64, torch.complex128),
]
INTEGERS = st.one_of(
    st.integers(-3, 9), st.sampled_from([-(2**31), 2**31 - 1, 2**31, 2**40, -(2**63), 2**63 - 1])
)


@st.composite
def tensors(draw, like: torch.Tensor):
    """Draws a tensor related to a valid one: another shape, element type, strides or contents."""
    kind = draw(st.sampled_from(["same", "shape", "dtype", "contents", "strided", "missing"]))
    if kind == "same":
        return like
    if kind == "missing":
        return draw(st.sampled_from([None, 3, "x", [1, 2]]))
    if kind == "shape":
        shape = draw(st.lists(st.integers(0, 6), min_size=0, max_size=6))
        return torch.ones(shape).to(like.dtype)
    if kind == "dtype":
        return like.to(draw(st.sampled_from(DTYPES)))
    if kind == "strided":
        return torch.cat([like, like], -1)[..., ::2] if like.dim() else like
    limit = 2**31 - 1
    values = draw(st.lists(st.integers(-limit, limit), min_size=1, max_size=8))
    small = draw(st.booleans())
    source = torch.tensor([v % 7 - 2 if small else v for v in values])
    flat = source.repeat(-(-like.numel() // len(values)) or 1)[: like.numel()]
    return flat.view(like.shape).to(like.dtype)


def sequences(like):
    same = st.just(list(like))
    element = st.floats() if any(isinstance(v, float) for v in like) else INTEGERS
    return st.one_of(same, st.lists(element, min_size=0, max_size=4))


def argument(valid):
    if isinstance(valid, torch.Tensor):
        return tensors(valid)
    if isinstance(valid, bool):
        return st.booleans()
    if isinstance(valid, int):
        return st.one_of(st.just(valid), INTEGERS)
    if isinstance(valid, float):
        return st.floats()
    if isinstance(valid, str):
        return st.sampled_from([valid, "", "max", "NHWC"])
    return sequences(valid)


@pytest.fixture(autouse=True)
def limited_memory() -> Iterator[None]:
    """Makes the allocation of outputs of many gigabytes fail on every machine."""
    status = Path("/proc/self/statm").read_text().split()
    used = int(status[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**32, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("name", NAMES)
def test_tensors(name):
    valid = cases.arguments(name)
    function = getattr(torch.ops.mluop_omp, name)

    @many_examples(50)
    def run(data):
        arguments = list(valid)
        for position in data.draw(st.sets(st.integers(0, len(valid) - 1), min_size=1, max_size=2)):
            arguments[position] = data.draw(argument(valid[position]))
        with contextlib.suppress(EXCEPTIONS):
            function(*arguments)

    run()


def test_numpy_arrays():
    points = np.zeros((1, 4, 3), np.float32)
    misaligned = np.zeros(13, np.uint8)[1:].view(np.float32).reshape(1, 1, 3)
    arrays = [points, points[::-1], np.ma.array(points), points.astype("M8[s]"), misaligned]
    arrays += [np.float32(1), np.zeros(0), np.zeros((2,) * 12), np.array([object()]), np.array("x")]
    arrays += [None, "text", 3, []]
    dtype = np.dtype(bfloat16)
    arrays += [points.astype(each) for each in (dtype, dtype.newbyteorder())]
    arrays += [points.astype(dtype).view("V2")]
    for first in arrays:
        for second in arrays:
            with contextlib.suppress(EXCEPTIONS):
                mluop_omp.three_nn(first, second)


def test_indices_out_of_range_are_refused():
    rng = random.Random(20)
    for _ in range(50):
        values = [rng.choice([-1, 0, 5, 6, 2**31 - 1, -(2**31)]) for _ in range(3)]
        indices = np.array([[values]], np.int32)
        arguments = np.ones((1, 2, 6), np.float32), indices, np.ones((1, 1, 3), np.float32)
        if ((indices >= 0) & (indices < 6)).all():
            mluop_omp.three_interpolate(*arguments)
        else:
            with pytest.raises(mluop_omp.MluOpError, match="indices"):
                mluop_omp.three_interpolate(*arguments)


def test_a_rulebook_with_wrong_numbers_is_refused():
    feats, filters, pairs, num, *rest = cases.arguments("indice_conv")
    for wrong in (num[:-1], num + 100, -num, num.float(), torch.zeros(0, dtype=torch.int32)):
        with pytest.raises(mluop_omp.MluOpError, match="indice_num"):
            torch.ops.mluop_omp.indice_conv(feats, filters, pairs, wrong, *rest)
