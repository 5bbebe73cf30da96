"""A table of kinds of arguments x interfaces x operators: each cell has the right value, or an
error that names an argument. The counts are printed at the end of the tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable

import cases
import numpy as np
import pytest
import torch
from interfaces import INTERFACES
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

import mluop_omp
from mluop_omp._arrays import Arrays as NumpyArrays
from mluop_omp._operators._declaration import all_operators
from mluop_omp._self_test import definitions as reference
from mluop_omp._self_test import outputs_of, variants
from mluop_omp.torch._arrays import TorchArrays

REFUSED = (mluop_omp.MluOpError, TypeError)
# As in "[mluOpVoxelPoolingForward] num_points is 0, expected at least 1".
NAMES_AN_ARGUMENT = re.compile(r"^(\[\w+\] )?[\w.]+(\[[-\w:, ]*\]| dim \d)* (is|has)\b.*")
TOLERANCES = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 8e-3}
# These compute in the element type of the arguments. Others copy, or compute in float64.
ROUNDED = {
    *("bbox_overlaps", "border_align", "boxes_overlap_bev", "chamfer_distance"),
    *("generate_proposals_v2", "knn", "roi_align", "soft_nms", "three_nn"),
}
Arguments = tuple[Any, ...]


def numpy_of(tensor: Any) -> Any:
    if not isinstance(tensor, torch.Tensor):
        is_bfloat16 = isinstance(tensor, np.ndarray) and tensor.dtype.name == "bfloat16"
        return tensor.astype(np.float32) if is_bfloat16 else tensor
    return tensor.float().numpy() if tensor.dtype is torch.bfloat16 else tensor.numpy(force=True)


def expected_outputs(name: str, arguments: Arguments) -> tuple:
    """Returns the outputs of the definition. None for arguments that it does not define."""
    try:
        return outputs_of(getattr(reference, name), *map(numpy_of, arguments))
    except (IndexError, ZeroDivisionError, ValueError, OverflowError):
        return None


def floating_type(arguments: Arguments) -> torch.dtype:
    return next((a.dtype for a in arguments if cases.is_floating(a)), torch.float32)


def is_right(
    interface: str, name: str, arguments: Arguments, tolerance: float | None = None
) -> bool:
    """Returns whether the value is right; False if the call refuses an argument by its name."""
    given = cases.of_numpy(name, arguments) if interface == "NumPy" else arguments
    before = [a.clone() for a in arguments if isinstance(a, torch.Tensor)]
    try:
        found = INTERFACES[interface][name](*given)
    except REFUSED as error:
        text = error.message if isinstance(error, mluop_omp.MluOpError) else str(error)
        assert NAMES_AN_ARGUMENT.match(text), text
        return False
    after = [a for a in arguments if isinstance(a, torch.Tensor)]
    assert all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(after, before))
    expected = expected_outputs(name, arguments)
    assert expected is not None, "accepted what the definition excludes"
    dtype = floating_type(arguments)
    # AVX512-BF16 rounds the samples of deformable convolutions.
    rounds_samples = dtype is torch.bfloat16 and name.startswith("deform_conv2d")
    tolerance = tolerance or (3e-2 if rounds_samples else TOLERANCES[dtype])
    for output, each in zip(found, expected):
        value = numpy_of(output)
        assert value.shape == each.shape
        is_copy = each.dtype != np.float64 and name not in ROUNDED
        error = 0 if is_copy or each.dtype.kind != "f" else tolerance
        np.testing.assert_allclose(value, each, rtol=error, atol=error)
    return True


Change = Callable[[torch.Tensor], torch.Tensor]


def on_tensors(
    change: Change, concerns: Callable[[torch.Tensor], bool] = lambda _: True
) -> Callable[[Arguments], Arguments]:
    return lambda arguments: tuple(
        change(a) if isinstance(a, torch.Tensor) and concerns(a) else a for a in arguments
    )


def on_floats(change: Change) -> Callable[[Arguments], Arguments]:
    return on_tensors(change, torch.Tensor.is_floating_point)


def on_integers(change: Change) -> Callable[[Arguments], Arguments]:
    return on_tensors(change, lambda a: not a.is_floating_point())


def transposed(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.transpose(0, -1).contiguous().transpose(0, -1)


def channels_last(tensor: torch.Tensor) -> torch.Tensor:
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    if tensor.dim() not in formats:
        return transposed(tensor)
    return tensor.contiguous(memory_format=formats[tensor.dim()])


def strided(tensor: torch.Tensor) -> torch.Tensor:
    return torch.stack((tensor, torch.zeros_like(tensor)), -1)[..., 0]


def offset(tensor: torch.Tensor) -> torch.Tensor:
    return torch.cat((tensor.flatten()[:1], tensor.flatten()))[1:].view(tensor.shape)


def beyond_int32(tensor: torch.Tensor) -> torch.Tensor:
    tensor = tensor.long()
    tensor.view(-1)[tensor.numel() // 2 :] += 2**32
    return tensor


def negative(tensor: torch.Tensor) -> torch.Tensor:
    return torch._neg_view(-tensor)


KINDS: dict[str, Callable[[Arguments], Arguments]] = {
    "contiguous": lambda arguments: arguments,
    "float64": on_floats(torch.Tensor.double),
    "float16": on_floats(torch.Tensor.half),
    "bfloat16": on_floats(torch.Tensor.bfloat16),
    "int64": on_integers(torch.Tensor.long),
    "int64 beyond int32": on_integers(beyond_int32),
    "floats as int32": on_floats(torch.Tensor.int),
    "transposed": on_tensors(transposed),
    "channels last": on_tensors(channels_last),
    "strided": on_tensors(strided),
    "expanded": on_floats(lambda t: t[..., :1].expand_as(t)),
    "offset": on_tensors(offset),
    "negative bit": on_floats(negative),
}
MEMORY_FORMATS = {"transposed", "channels last", "strided", "expanded", "offset", "negative bit"}
# The operators whose documentation lists no half.
WITHOUT_HALF = {each.name for each in all_operators() if "float16" not in each.doc}


def must_be_right(kind: str, interface: str, name: str) -> bool:
    """Returns whether an error would be wrong."""
    if kind in MEMORY_FORMATS:
        return interface != "NumPy" or kind == "offset"
    if kind == "float64":
        return True
    if kind in ("float16", "bfloat16"):
        return interface not in ("NumPy", "PyTorch") or name not in WITHOUT_HALF
    return kind == "contiguous"


CELLS = [(interface, name) for interface, names in INTERFACES.items() for name in names]
# The cells of a test are the calls of one operator: a test for each would cost more than the calls.
each_operator = pytest.mark.parametrize(("interface", "name"), CELLS)


@contextmanager
def cell(*names: object) -> Iterator[None]:
    """Errors name the cell."""
    try:
        yield
    except Exception as error:
        raise AssertionError(f"{', '.join(map(str, names))}: {error}") from error


@each_operator
def test_kinds(interface, name, table):
    for kind, change in KINDS.items():
        if interface == "NumPy" and kind == "negative bit":
            continue
        with cell(kind):
            right = is_right(interface, name, change(cases.arguments(name)))
            assert right or not must_be_right(kind, interface, name)
        table.add(kind, interface, right)


@each_operator
def test_values_of_parameters(interface, name, table):
    for variant in variants(name)[1:]:
        for kind in ("contiguous", "float64", "float16", "bfloat16"):
            with cell(variant, kind):
                right = is_right(interface, name, KINDS[kind](cases.arguments(name, **variant)))
                assert right or not must_be_right(kind, interface, name)
            table.add(f"parameters, {kind}", interface, right)


# Computed in float32, and by PyTorch.
NOT_NATIVE = {("mmcv", "nms"), ("BEVFusion", "voxel_pooling_backward")}


@pytest.mark.parametrize(
    ("interface", "name"),
    [each for each in CELLS if each[1] not in WITHOUT_HALF and each not in NOT_NATIVE],
)
def test_the_library_computes_lower_precision(interface, name, monkeypatch):
    """Nothing is converted to another element type."""
    seen = set()
    arrays = NumpyArrays if interface == "NumPy" else TorchArrays
    tensor = arrays.tensor

    def record(self, name, array, *others, **named):
        seen.add(str(array.dtype).removeprefix("torch."))
        return tensor(self, name, array, *others, **named)

    monkeypatch.setattr(arrays, "tensor", record)
    for dtype in ("bfloat16", "float16"):
        seen.clear()
        arguments = KINDS[dtype](cases.arguments(name))
        given = cases.of_numpy(name, arguments) if interface == "NumPy" else arguments
        for each in INTERFACES[interface][name](*given):
            if interface in ("NumPy", "PyTorch"):
                seen.add(str(each.dtype).removeprefix("torch."))
        assert seen - {"int32", "int64"} == {dtype}


# For clouds without points these have values that the definition lacks: see test_addresses.py.
BY_ADDRESS = {
    (interface, name)
    for interface in ("mmcv", "OpenPCDet")
    for name in ("stack_group_points", "stack_group_points_backward")
}


@each_operator
def test_sizes_of_zero(interface, name, table, poisoned_memory):
    """A call is refused only where the definition has no value."""
    for sizes in cases.subsets_of_extents(name):
        arguments = cases.arguments(name, **sizes)
        has_value = expected_outputs(name, arguments) is not None
        if not has_value and (interface, name) in BY_ADDRESS:
            continue
        assert is_right(interface, name, arguments) is has_value, sizes
        table.add("sizes of 0", interface, has_value)


@each_operator
def test_sizes_of_zero_of_element_types(interface, name, table, poisoned_memory):
    for kind in ("float64", "float16", "bfloat16"):
        for size in cases.extents(name):
            arguments = KINDS[kind](cases.arguments(name, **{size: 0}))
            if expected_outputs(name, arguments) is None:
                continue
            with cell(kind, size):
                right = is_right(interface, name, arguments)
                assert right or not must_be_right(kind, interface, name)
            table.add(f"sizes of 0, {kind}", interface, right)


@pytest.mark.parametrize("name", cases.NAMES)
def test_shapes_and_gradients_of_sizes_of_zero(name):
    """Fake tensors have the shapes of the results; gradients of what is summed nowhere are 0."""
    operator = getattr(torch.ops.mluop_omp, name)
    for size in cases.extents(name):
        arguments = cases.arguments(name, **{size: 0})
        if expected_outputs(name, arguments) is None:
            continue
        with FakeTensorMode(shape_env=ShapeEnv()) as mode:
            fakes = (mode.from_tensor(a) if isinstance(a, torch.Tensor) else a for a in arguments)
            shapes = [each.shape for each in outputs_of(operator, *fakes)]
        variables = [
            argument.requires_grad_()
            for position, argument in enumerate(arguments)
            if position in cases.DIFFERENTIABLE.get(name, [])
        ]
        outputs = outputs_of(operator, *arguments)
        for output, shape in zip(outputs, shapes):
            assert len(output.shape) == len(shape)
            assert all(type(s) is not int or s == o for s, o in zip(shape, output.shape))
        if not variables:
            continue
        gradients = torch.autograd.grad(outputs[0].sum(), variables, allow_unused=True)
        for variable, gradient in zip(variables, gradients):
            assert gradient is None or gradient.shape == variable.shape
            is_bias = name == "deform_conv2d" and variable is arguments[4]
            assert gradient is None or is_bias or not gradient.any(), size


@pytest.mark.parametrize("name", cases.NAMES)
def test_masked_arrays_are_refused(name, table):
    arguments = cases.of_numpy(name, cases.arguments(name))
    for position, argument in enumerate(arguments):
        if not isinstance(argument, np.ndarray):
            continue
        changed = list(arguments)
        changed[position] = np.ma.array(argument, mask=np.ones(argument.shape, bool))
        with pytest.raises(TypeError, match="MaskedArray"):
            getattr(mluop_omp, name)(*changed)
        table.add("masked arrays", "NumPy", False)


AUTOCAST = [each for each in CELLS if each[0] != "NumPy"]
CONVOLUTIONS = {name for name in cases.NAMES if name.startswith(("indice_conv", "deform_conv2d"))}
# Operators on coordinates, boxes and losses, and the ones without half.
AT_LEAST_FLOAT32 = {
    *("bbox_overlaps", "chamfer_distance", "chamfer_distance_backward", "sigmoid_focal_loss"),
    *("sigmoid_focal_loss_backward", "softmax_focal_loss", "softmax_focal_loss_backward"),
    *("three_nn", *WITHOUT_HALF),
}


@pytest.mark.parametrize(("interface", "name"), AUTOCAST)
def test_autocast(interface, name, table):
    for kind in ("bfloat16", "float16", "contiguous"):
        arguments = KINDS[kind](cases.arguments(name))
        with cell(kind), torch.autocast("cpu", dtype=torch.bfloat16):
            # Convolutions round their factors.
            right = is_right(interface, name, arguments, 3e-2 if name in CONVOLUTIONS else None)
            assert right
        table.add("autocast", interface, right)


@pytest.mark.parametrize("name", cases.NAMES)
def test_element_types_under_autocast(name):
    operator = getattr(torch.ops.mluop_omp, name)
    for autocast in (torch.bfloat16, torch.float16):
        for dtype in (torch.bfloat16, torch.float16, torch.float32):
            arguments = on_floats(lambda t, dtype=dtype: t.to(dtype))(cases.arguments(name))
            with torch.autocast("cpu", dtype=autocast):
                found = outputs_of(operator, *arguments)
            expected = torch.float32 if name in AT_LEAST_FLOAT32 else dtype
            expected = autocast if name in CONVOLUTIONS else expected
            assert {each.dtype for each in found} <= {expected, torch.int32}, (autocast, dtype)


def test_features_of_several_types_under_autocast():
    features, idx, weight = cases.arguments("three_interpolate")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = torch.ops.mluop_omp.three_interpolate(features.bfloat16(), idx, weight)
    expected = torch.ops.mluop_omp.three_interpolate(features.bfloat16().float(), idx, weight)
    assert torch.equal(found, expected)


@pytest.mark.parametrize("name", sorted(CONVOLUTIONS))
def test_convolutions_of_float64_remain_so_under_autocast(name):
    arguments = KINDS["float64"](cases.arguments(name))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert is_right("PyTorch", name, arguments)
