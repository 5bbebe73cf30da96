"""The operators in PyTorch: registration, results, gradients, compilation, errors."""

from __future__ import annotations

import threading
from operator import is_

import cases
import numpy as np
import pytest
import torch
from torch.utils._pytree import tree_map

import mluop_omp
import mluop_omp.torch as mt
from mluop_omp._operators._declaration import operators
from mluop_omp.torch import _operators

NAMES = sorted(_operators.KERNELS)


def operator(name):
    return getattr(torch.ops.mluop_omp, name).default


@pytest.mark.parametrize(
    ("name", "make"),
    [
        *((name, cases.arguments) for name in NAMES),
        *((name, cases.with_gradients) for name in sorted(cases.DIFFERENTIABLE)),
    ],
)
def test_opcheck(name, make):
    torch.library.opcheck(operator(name), make(name))


@pytest.mark.parametrize("name", NAMES)
def test_results_are_the_same_as_on_numpy_arrays(name):
    expected = getattr(mluop_omp, name)(*cases.of_numpy(name, cases.arguments(name)))
    found = tree_map(torch.Tensor.numpy, operator(name)(*cases.arguments(name)))
    tree_map(np.testing.assert_array_equal, found, expected)


@pytest.fixture
def compiled():
    def compile(name):
        return torch.compile(lambda *a: operator(name)(*a), backend="aot_eager", fullgraph=True)

    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        yield compile


@pytest.mark.parametrize("name", NAMES)
def test_compiled_functions_give_the_same(name, compiled):
    arguments = cases.arguments(name)
    expected = operator(name)(*arguments)
    torch.testing.assert_close(compiled(name)(*arguments), expected, rtol=0, atol=0)


@pytest.mark.parametrize("name", NAMES)
def test_compiled_functions_refuse_the_same_integers(name, compiled):
    """Element types are checked when the program runs; no value is read when it is compiled."""
    arguments, given = [], cases.arguments(name)
    for each in given:
        is_int32 = isinstance(each, torch.Tensor) and each.dtype is torch.int32
        arguments.append(each.long() if is_int32 else each)
    if all(map(is_, arguments, given)):
        return
    for function in (operator(name), compiled(name)):
        with pytest.raises(mluop_omp.MluOpError, match="has data type INT64, expected INT32"):
            function(*arguments)


@pytest.mark.parametrize(
    ("name", "number", "message"),
    [
        ("bev_pool", -1, "num_cells is -1, expected at least 0"),
        ("furthest_point_sample", -1, "num_points is -1, expected at least 0"),
        ("gather_points_backward", -1, "N is -1, expected at least 0"),
        ("knn", 0, "k is 0, expected 1 to 100"),
    ],
)
def test_the_compiler_names_a_wrong_number(name, number, message, compiled):
    with pytest.raises(Exception, match=message):
        compiled(name)(*cases.arguments(name)[:-1], number)


def test_inductor_compiles_forward_and_backward():
    torch._dynamo.reset()
    geom_xyz, feats, voxel_num = cases.arguments("voxel_pooling")

    def loss(features):
        return mt.voxel_pooling(geom_xyz, features.sin(), voxel_num)[0].square().sum()

    gradients = []
    for function in (loss, torch.compile(loss)):
        features = feats.clone().requires_grad_()
        function(features).backward()
        gradients.append(features.grad)
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize(
    ("change", "exception", "text"),
    [
        (torch.Tensor.double, mluop_omp.MluOpError, "DOUBLE"),
        (torch.Tensor.bfloat16, mluop_omp.MluOpError, "BFLOAT16"),
        (lambda t: t.to(torch.complex128), mluop_omp.MluOpError, "complex128"),
        (torch.Tensor.to_sparse, Exception, None),
        (lambda t: t[0], mluop_omp.MluOpError, "dimensions"),
        (torch.Tensor.numpy, Exception, None),
    ],
)
def test_a_tensor_that_does_not_fit_is_refused(change, exception, text):
    unknown, known = cases.arguments("three_nn")
    with pytest.raises(exception, match=text):
        mt.three_nn(unknown, change(known))


def test_a_tensor_of_another_device_is_refused():
    with pytest.raises(mluop_omp.MluOpError, match="known is on device meta, expected cpu"):
        operators.three_nn(
            _operators.TORCH, torch.zeros(1, 2, 3), torch.zeros(1, 2, 3, device="meta")
        )


def test_set_num_threads_holds_in_every_thread_of_the_program():
    before = torch.get_num_threads()
    arguments = cases.arguments("three_nn")
    seen = []

    def run():
        mt.three_nn(*arguments)
        seen.append(mluop_omp.threads())

    try:
        for count in (1, 3):
            torch.set_num_threads(count)
            for _ in range(2):
                thread = threading.Thread(target=run)
                thread.start()
                thread.join()
            run()
    finally:
        torch.set_num_threads(before)
    assert seen == [1, 1, 1, 3, 3, 3]


def test_contiguous_inputs_are_not_copied(monkeypatch):
    """The library gets the addresses of the tensors."""
    arguments = cases.arguments("three_interpolate")
    addresses = []
    tensor = type(_operators.TORCH).tensor

    def record(arrays, name, array, *others):
        addresses.append(array.data_ptr())
        return tensor(arrays, name, array, *others)

    monkeypatch.setattr(type(_operators.TORCH), "tensor", record)
    mt.three_interpolate(*arguments)
    assert addresses == [each.data_ptr() for each in arguments]


def test_what_the_adapters_require_of_tensors():
    buffer = torch.zeros(9, dtype=torch.uint8)
    misaligned = torch.frombuffer(bytearray(buffer.numpy()), dtype=torch.float32, count=2, offset=1)
    for tensor, text in (
        (torch.zeros(2, 3).t(), "contiguous"),
        (torch._neg_view(torch.zeros(2)), "contiguous"),
        (torch.zeros(2).to_sparse(), "layout torch.sparse_coo"),
        (misaligned, "aligned"),
    ):
        with pytest.raises(mluop_omp.MluOpError, match=text):
            _operators.TORCH.tensor("tensor", tensor)


def test_a_mode_sees_the_operators():
    class Names(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), named=None):
            names.append(str(function))
            return function(*arguments, **(named or {}))

    names: list[str] = []
    for arguments in (cases.arguments("three_nn"), cases.with_gradients("three_nn")):
        with Names():
            mt.three_nn(*arguments)
    assert names.count("mluop_omp.three_nn.default") == 2
