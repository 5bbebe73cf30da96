#!/usr/bin/env python3
"""Measures the overhead of calls from Python: each operator on inputs of a few elements.

  pip install .                 installs mluop_omp
  call_overhead.py              measures, with one thread

Microseconds of the C function, of NumPy arrays, of tensors, and of tensors that require gradients (the forward pass).
`empty` is an operator of the same schema that allocates the same outputs and computes nothing, with an empty formula
for the gradient: the cost of PyTorch's dispatcher, automatic differentiation and allocation. Each is the least of
many short repetitions, because other work of the machine only adds to a time.
"""

import ctypes
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import mluop_omp
import mluop_omp.torch as mt
from mluop_omp._library import Handle, functions

_CALLS, _REPETITIONS = 50, 100
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
    pooling = (integers(4, 1, 8, 3), floats(1, 8, 4), (4, 4, 1))
    scatter = (floats(8, 4), integers(2, 8, 3), "sum")
    voxels, _, mapping, counts = mluop_omp.dynamic_scatter(*scatter)
    neighbors = (integers(8, 1, 4, 3), floats(1, 4, 3))
    boxes, scores = floats(8, 7), floats(8)
    return {
        "voxel_pooling": pooling,
        "voxel_pooling_backward": (floats(1, 4, 4, 4), mluop_omp.voxel_pooling(*pooling)[1]),
        "voxelization": (floats(8, 4), [1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 4.0, 4.0, 4.0], 4, 8),
        "dynamic_scatter": scatter,
        "dynamic_scatter_backward": (voxels.copy(), scatter[0], voxels.copy(), mapping, counts.copy(), "sum"),
        "ball_query": (floats(1, 4, 3), floats(1, 8, 3), 0.0, 0.5, 4),
        "three_nn": (floats(1, 4, 3), floats(1, 8, 3)),
        "three_interpolate": (floats(1, 4, 8), *neighbors),
        "three_interpolate_backward": (floats(1, 4, 4), *neighbors, 8),
        "masked_im2col": (floats(1, 2, 4, 4), integers(4, 3), integers(4, 3), (3, 3), (1, 1)),
        "masked_col2im": (floats(2, 3), integers(4, 3), integers(4, 3), (4, 4)),
        "box_iou_rotated": (floats(8, 5), floats(8, 5)),
        "boxes_overlap_bev": (boxes, boxes),
        "nms": (floats(8, 4), scores, 0.5),
        "nms_rotated": (floats(8, 5), scores, 0.5),
        "nms3d": (boxes, scores, 0.5),
        "soft_nms": (floats(8, 4), scores),
        "nms_match": (floats(8, 5), 0.5),
        "points_in_boxes": (floats(1, 8, 3), boxes[None]),
        "indice_pairs": convolution,
        "indice_conv": (floats(3, 4), floats(1, 1, 1, 4, 4), pairs, num, 3, True),
        "indice_conv_backward_data": (floats(3, 4), floats(1, 1, 1, 4, 4), pairs, num),
        "indice_conv_backward_filter": (floats(3, 4), floats(3, 4), pairs, num, ones),
    }


def _microseconds(*calls: tuple[Callable[..., object], tuple]) -> list[float]:
    """Returns the time of each call. They alternate, so that the machine is in the same state for all."""
    best = [float("inf")] * len(calls)
    for _ in range(_REPETITIONS):
        for i, (run, arguments) in enumerate(calls):
            begin = time.perf_counter()
            for _ in range(_CALLS):
                run(*arguments)
            best[i] = min(best[i], time.perf_counter() - begin)
    return [each / _CALLS * 1e6 for each in best]


def _c_microseconds(operator: Callable[..., object], arguments: tuple) -> float:
    """Returns the time of the operator's C function, minus the time of an empty call through ctypes."""
    nothing = ctypes.CDLL(functions._name)["omp_get_max_threads"]
    call, times = Handle.call, []

    def measure(own: Handle, function: Callable[..., int], *of_c: Any) -> None:
        nothing.argtypes, of_handle = function.argtypes, (own.pointer, *of_c)
        times.append(_microseconds((function, of_handle), (nothing, of_handle)))
        call(own, function, *of_c)

    Handle.call = measure
    try:
        operator(*arguments)
    finally:
        Handle.call = call
    return sum(both - ctypes_only for both, ctypes_only in times)


def _empty(name: str, arguments: tuple) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Returns empty operators without and with a formula for the gradient."""
    schema = str(getattr(torch.ops.mluop_omp, name).default._schema).partition("(")[2]
    outputs = getattr(torch.ops.mluop_omp, name)(*arguments)
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
    print(f"{'operator':28}{'C':>6}{'NumPy':>8}{'tensors':>9}{'empty':>8}{'gradient':>10}{'empty':>8}")
    for name, arrays in _cases().items():
        tensors = tuple(torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arrays)
        empty, empty_grad = _empty(name, tensors)
        of_numpy = getattr(mluop_omp, name)
        # Gradient operators are not functions of mluop_omp.torch.
        of_tensors = getattr(mt, name, getattr(torch.ops.mluop_omp, name).default)
        calls = [(of_numpy, arrays), (of_tensors, tensors), (empty, tensors)]
        variables = tuple(map(_differentiable, tensors))
        if hasattr(mt, name) and any(isinstance(each, torch.Tensor) and each.requires_grad for each in variables):
            calls += [(of_tensors, variables), (empty_grad, variables)]
        c, of_python = _c_microseconds(of_numpy, arrays), _microseconds(*calls)
        line = f"{name:28}{c:6.1f}" + "".join(f"{each:{w}.1f}" for each, w in zip(of_python, (8, 9, 8, 10, 8)))
        print(line, flush=True)
    print(f"mluop_omp {mluop_omp.__version__}, torch {torch.__version__}, threads: {torch.get_num_threads()}")


if __name__ == "__main__":
    main()
