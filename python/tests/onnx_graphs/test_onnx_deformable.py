"""Nodes of deformable convolution against grid_sample, unfold and conv2d of PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="requires torch")
pytest.importorskip("onnx", reason="requires onnx")

import examples_deformable as examples  # noqa: E402
import onnx_formulas as plain  # noqa: E402
from onnx_graph import evaluate  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from mluop_omp import MluOpError, Status  # noqa: E402

DEFAULTS = {
    "stride": [1, 1],
    "padding": [0, 0],
    "dilation": [1, 1],
    "groups": 1,
    "deform_groups": 1,
}
MODULATED = [
    ("mmdeploy", "MMCVModulatedDeformConv2d"),
    ("mmcv", "MMCVModulatedDeformConv2d"),
    ("", "ModulatedDeformableConv2dTRT"),
    ("", "ModulatedDeformableConv2dTRT2"),
    ("trt.plugins", "ModulatedDeformableConv2dTRT"),
]
TOLERANCES = {np.float16: 2e-2, np.float32: 1e-5, np.float64: 1e-12}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def assert_close(found: np.ndarray, expected: torch.Tensor, dtype: type = np.float32) -> None:
    assert found.dtype == dtype
    tolerance = TOLERANCES[dtype]
    np.testing.assert_allclose(found, expected.numpy(), rtol=tolerance, atol=8 * tolerance)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("attributes", [{}, DEFAULTS, examples.GEOMETRY])
@pytest.mark.parametrize("domain", ["mmdeploy", "mmcv"])
def test_deform_conv(domain, attributes, dtype):
    geometry = {**DEFAULTS, **attributes}
    image, offset, _, weight, _ = (
        each.astype(dtype) for each in examples.modulated(rng(), geometry)
    )
    inputs = [image, offset, weight]
    (found,) = evaluate(domain, "MMCVDeformConv2d", inputs, attributes)
    assert_close(found, plain.deform_conv(*inputs, **geometry), dtype)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("attributes", [{}, DEFAULTS, examples.GEOMETRY])
@pytest.mark.parametrize("domain, name", MODULATED)
def test_modulated_deform_conv(domain, name, attributes, dtype):
    geometry = {**DEFAULTS, **attributes}
    inputs = [each.astype(dtype) for each in examples.modulated(rng(1), geometry)]
    image, offset, mask, weight, bias = inputs
    (found,) = evaluate(domain, name, inputs, attributes)
    expected = plain.deform_conv(image, offset, weight, mask, bias, **geometry)
    assert_close(found, expected, dtype)
    for without in (inputs[:4], [*inputs[:4], None]):
        (found,) = evaluate(domain, name, without, attributes)
        expected = plain.deform_conv(image, offset, weight, mask, **geometry)
        assert_close(found, expected, dtype)


def test_without_offsets_it_is_a_convolution():
    image, weight = examples.singles(rng(2), (2, 4, 9, 8), (6, 4, 3, 3))
    offset = np.zeros((2, 18, 9, 8), np.float32)
    attributes = {"padding": [1, 1]}
    (found,) = evaluate("mmcv", "MMCVDeformConv2d", [image, offset, weight], attributes)
    pixels, filters = plain.doubles(image, weight)
    assert_close(found, F.conv2d(pixels, filters, padding=1))
    columns = F.unfold(pixels, 3, padding=1)
    assert_close(found, (filters.flatten(1) @ columns).reshape(2, 6, 9, 8))


def test_four_paddings_of_mmdeploy():
    geometry = {**DEFAULTS, "padding": [1, 1, 2, 2]}
    image, offset, _, weight, _ = examples.modulated(rng(3), geometry)
    inputs = [image, offset, weight]
    (found,) = evaluate("mmdeploy", "MMCVDeformConv2d", inputs, {"padding": [1, 1, 2, 2]})
    assert_close(found, plain.deform_conv(*inputs, padding=(1, 2)))
    for padding in ([1, 2, 1, 2], [1, 1, 2, 1], [1, 1, 1]):
        with pytest.raises(MluOpError, match="MMCVDeformConv2d: attribute padding"):
            evaluate("mmdeploy", "MMCVDeformConv2d", inputs, {"padding": padding})


def test_attributes_of_mmcv_without_effect():
    inputs, geometry = examples.deform_conv(rng(4))
    run = [
        evaluate("mmcv", "MMCVDeformConv2d", inputs, {**geometry, "im2col_step": step, "bias": 0})
        for step in (1, 64)
    ]
    np.testing.assert_array_equal(*run)
    with pytest.raises(MluOpError, match="attribute bias is 1") as caught:
        evaluate("mmcv", "MMCVDeformConv2d", inputs, {**geometry, "bias": 1})
    assert caught.value.status is Status.NOT_SUPPORTED


def test_one_integer_counts_for_both_axes():
    geometry = {**DEFAULTS, "stride": [2, 2], "padding": [1, 1]}
    inputs = examples.modulated(rng(5), geometry)
    short = {"stride": 2, "padding": 1, "dilation": 1}
    both = [
        evaluate("mmcv", "MMCVModulatedDeformConv2d", inputs, each) for each in (geometry, short)
    ]
    np.testing.assert_array_equal(*both)


@pytest.mark.parametrize("empty", ["N", "Co"])
def test_empty_inputs(empty):
    image, offset, mask, weight, bias = examples.modulated(rng(6), DEFAULTS)
    if empty == "N":
        inputs = [image[:0], offset[:0], mask[:0], weight, bias]
    else:
        inputs = [image, offset, mask, weight[:0], bias[:0]]
    (found,) = evaluate("mmcv", "MMCVModulatedDeformConv2d", inputs)
    assert found.shape == (len(inputs[0]), len(inputs[3]), *offset.shape[2:])


@pytest.mark.parametrize(
    "changed, match",
    [
        ({0: (2, 3, 8, 7)}, "Ci|channels|dim"),
        ({1: (2, 6, 6, 6)}, "offset"),
        ({2: (2, 6, 5, 6)}, "input mask has dimension 2 of size 5, expected 6"),
        ({3: (6, 4, 3)}, "input weight has shape .*, expected 4 dimensions"),
        ({4: (5,)}, "input bias has dimension 0 of size 5, expected 6, as dimension Co of weight"),
    ],
)
def test_wrong_shapes(changed, match):
    inputs = examples.modulated(rng(), DEFAULTS)
    for index, shape in changed.items():
        inputs[index] = np.zeros(shape, np.float32)
    with pytest.raises(MluOpError, match=f"^MMCVModulatedDeformConv2d: .*({match})"):
        evaluate("mmcv", "MMCVModulatedDeformConv2d", inputs)
