"""The operators by their definitions: `install` puts them in place of the kernels."""

from __future__ import annotations

import sys

import torch

from mluop_omp._operators._declaration import all_operators, operators
from mluop_omp._operators.sparse_conv import output_space
from mluop_omp._self_test import definitions
from mluop_omp.mmcv import _functions
from mluop_omp.torch._arrays import TORCH


def dynamic_voxelize_forward(points, size, bounds, coors, NDim):
    """mluop_omp computes it by operators of PyTorch."""
    low, high = bounds.view(2, 3)
    cell = ((points[:, :3] - low) / size).floor()
    inside = (cell >= 0) & (cell < ((high - low) / size).round())
    coors.copy_(torch.where(inside.all(1, keepdim=True), cell, -1).flip(1))


def find_pairs(arrays, indices, batch, space, kernel, stride, pad, dilation, subm, out_space):
    geometry = space, kernel, stride, pad, dilation
    assert list(out_space) == list(space if subm else output_space(*geometry))
    return operators.indice_pairs(arrays, indices, batch, *geometry, subm)


def numpy_of(value):
    return value.detach().contiguous().numpy() if isinstance(value, torch.Tensor) else value


def as_tuple(results):
    return results if isinstance(results, tuple) else (results,)


def defined(operator, compare=lambda *_: None):
    """Returns the definition as a kernel. compare(arguments, results): called with its results."""

    def compute(arrays, *arguments):
        found = getattr(definitions, operator.name)(*map(numpy_of, arguments))
        floats = (a.dtype for a in arguments if getattr(a, "is_floating_point", bool)())
        dtype = next(floats, torch.float32)
        results = [torch.as_tensor(each) for each in as_tuple(found)]
        results = [each.to(dtype) if each.is_floating_point() else each for each in results]
        compare(arguments, results)
        outputs = arrays.adopted(tuple(each.numpy() for each in results))
        return outputs if isinstance(found, tuple) else outputs[0]

    return compute


def checked(operator, called):
    """Returns the definition as a kernel, which compares what the kernel computes: it differs by
    rounding only, which the layers of a network amplify.
    """
    kernel = operator.kernel

    def compare(arguments, results):
        called.add(operator.name)
        close = {"rtol": 1e-4, "atol": 1e-4, "equal_nan": True}
        for actual, expected in zip(as_tuple(kernel(TORCH, *arguments)), results):
            torch.testing.assert_close(actual.detach().contiguous(), expected, **close)

    return defined(operator, compare)


def install(patch):
    """Returns the set of the operators that have been called."""
    called, extension = set(), sys.modules["mmcv._ext"]
    for operator in all_operators():
        patch.setattr(operator, "kernel", checked(operator, called))
    patch.setattr(_functions, "find_pairs", find_pairs)
    kernel = extension.dynamic_voxelize_forward

    def dynamic_voxelize(points, size, bounds, coors, NDim):
        called.add("dynamic_voxelize_forward")
        found = torch.empty_like(coors)
        kernel(points, size, bounds, found, NDim)
        dynamic_voxelize_forward(points, size, bounds, coors, NDim)
        assert torch.equal(found, coors)

    patch.setattr(extension, "dynamic_voxelize_forward", dynamic_voxelize)
    return called
