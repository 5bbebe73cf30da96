#!/usr/bin/env python3
"""Measures a call of each operator from Python on inputs of some elements: what Python costs.

  pip install .                 installs mluop_omp
  call_overhead.py              measures, with one thread

Microseconds of NumPy arrays, of tensors, and of tensors that require gradients (the forward pass). `empty` is an
operator of the same schema that allocates the same outputs and computes nothing, with an empty formula for the
gradient: the cost of PyTorch's dispatcher, automatic differentiation and allocation.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import mluop_omp
import mluop_omp.torch as mt

_CALLS, _REPETITIONS = 2000, 7
_LIBRARY = torch.library.Library("call_overhead", "DEF")


def _cases() -> dict[str, tuple]:
    generator = np.random.default_rng(1)

    def floats(*shape: int) -> np.ndarray:
        return generator.random(shape, np.float32)

    def integers(high: int, *shape: int) -> np.ndarray:
        return generator.integers(0, high, shape, np.int32)

    sites = np.array([[0, 1, 1, 1], [0, 1, 1, 2], [0, 3, 2, 2]], np.int32)
    ones = (1, 1, 1)
    convolution = (sites, 1, (4, 4, 4), ones, ones, (0, 0, 0), ones, True)
    _, pairs, num = mluop_omp.indice_pairs(*convolution)
    return {
        "voxel_pooling": (integers(4, 1, 8, 3), floats(1, 8, 4), (4, 4, 1)),
        "voxelization": (floats(8, 4), [1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 4.0, 4.0, 4.0], 4, 8),
        "dynamic_scatter": (floats(8, 4), integers(2, 8, 3), "sum"),
        "ball_query": (floats(1, 4, 3), floats(1, 8, 3), 0.0, 0.5, 4),
        "three_nn": (floats(1, 4, 3), floats(1, 8, 3)),
        "three_interpolate": (floats(1, 4, 8), integers(8, 1, 4, 3), floats(1, 4, 3)),
        "masked_im2col": (floats(1, 2, 4, 4), integers(4, 3), integers(4, 3), (3, 3), (1, 1)),
        "masked_col2im": (floats(2, 3), integers(4, 3), integers(4, 3), (4, 4)),
        "indice_pairs": convolution,
        "indice_conv": (floats(3, 4), floats(1, 1, 1, 4, 4), pairs, num, 3, True),
    }


def _microseconds(run: Callable[..., object], arguments: tuple) -> float:
    """The least of some repetitions: other work of the machine only adds to a time."""
    best = float("inf")
    for _ in range(_REPETITIONS):
        begin = time.perf_counter()
        for _ in range(_CALLS):
            run(*arguments)
        best = min(best, time.perf_counter() - begin)
    return best / _CALLS * 1e6


def _empty(name: str, arguments: tuple) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Returns empty operators without and with a formula for the gradient."""
    schema = str(getattr(torch.ops.mluop_omp, name).default._schema).partition("(")[2]
    outputs = getattr(mt, name)(*arguments)
    is_tuple = isinstance(outputs, tuple)
    shapes = [(tuple(each.shape), each.dtype) for each in (outputs if is_tuple else (outputs,))]

    def kernel(*_: Any) -> Any:
        tensors = tuple(torch.empty(*shape, dtype=dtype) for shape, dtype in shapes)
        return tensors if is_tuple else tensors[0]

    for suffix in ("", "_grad"):
        _LIBRARY.define(f"{name}{suffix}({schema}")
        _LIBRARY.impl(name + suffix, kernel, "CPU")
    torch.library.register_autograd(
        f"call_overhead::{name}_grad", lambda *_: None, setup_context=lambda **_: None, lib=_LIBRARY
    )
    operators = torch.ops.call_overhead
    return getattr(operators, name).default, getattr(operators, name + "_grad").default


def _differentiable(value: Any) -> Any:
    is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.clone().requires_grad_() if is_float else value


def main() -> None:
    torch.set_num_threads(1)
    print(f"{'operator':20}{'NumPy':>8}{'tensors':>9}{'empty':>8}{'gradient':>10}{'empty':>8}")
    for name, arrays in _cases().items():
        tensors = tuple(torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arrays)
        variables = tuple(map(_differentiable, tensors))
        empty, empty_grad = _empty(name, tensors)
        numpy_time = _microseconds(getattr(mluop_omp, name), arrays)
        function = getattr(mt, name)
        line = f"{name:20}{numpy_time:8.1f}{_microseconds(function, tensors):9.1f}{_microseconds(empty, tensors):8.1f}"
        if any(isinstance(each, torch.Tensor) and each.requires_grad for each in variables):
            line += f"{_microseconds(function, variables):10.1f}{_microseconds(empty_grad, variables):8.1f}"
        print(line, flush=True)
    print(f"mluop_omp {mluop_omp.__version__}, torch {torch.__version__}, threads: {torch.get_num_threads()}")


if __name__ == "__main__":
    main()
