"""Nodes of mmcv's own symbolic functions against formulas in PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="requires torch")
pytest.importorskip("onnx", reason="requires onnx")

import examples_mmcv as examples  # noqa: E402
import onnx_formulas as plain  # noqa: E402
from onnx_graph import evaluate  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from mluop_omp import MluOpError  # noqa: E402


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def assert_close(found, expected, tolerance=2e-5):
    np.testing.assert_allclose(found, expected.numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("method", [0, 1, 2])
def test_soft_nms(method, dtype):
    (boxes, scores), attributes = examples.soft_nms(rng())
    attributes["method"] = method
    inputs = [boxes.astype(dtype), scores.astype(dtype)]
    dets, inds = evaluate("mmcv", "SoftNonMaxSuppression", inputs, attributes, outputs=2)
    chosen, decayed = plain.soft_nms(*inputs, 0.25, 0.5, 0.05, method)
    assert inds.dtype == np.int64 and inds.tolist() == chosen
    assert dets.dtype == dtype and (dets[:, :4] == inputs[0][chosen]).all()
    np.testing.assert_allclose(dets[:, 4], decayed, rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mask_dtype", [np.float32, np.bool_, np.int64])
def test_masked_conv(mask_dtype, dtype):
    inputs, attributes = examples.masked_conv(rng(1))
    features, mask, weight, bias = (each.astype(dtype) for each in inputs)
    given = [features, inputs[1].astype(mask_dtype), weight, bias]
    (found,) = evaluate("mmcv", "MMCVMaskedConv2d", given, attributes)
    assert found.dtype == dtype
    image, filters, shift = plain.doubles(features, weight, bias)
    assert_close(found, F.conv2d(image, filters, shift, padding=1) * plain.doubles(mask)[0])


def test_masked_conv_of_another_size():
    (features, _, weight, bias), _ = examples.masked_conv(rng(2))
    mask = np.zeros((1, 6, 7), np.float32)
    mask[0, :4, :5] = 1
    (found,) = evaluate("mmcv", "MMCVMaskedConv2d", [features, mask, weight, bias], {"padding": 0})
    assert_close(found, F.conv2d(*plain.doubles(features, weight, bias)))
    (empty,) = evaluate(
        "mmcv", "MMCVMaskedConv2d", [features, 0 * mask, weight, bias], {"padding": 0}
    )
    assert empty.shape == (1, 5, 4, 5) and (empty == 0).all()


def test_masked_conv_in_half_precision_is_rounded_once():
    inputs, attributes = examples.masked_conv(rng(3))
    half = [each.astype(np.float16) for each in inputs]
    (found,) = evaluate("mmcv", "MMCVMaskedConv2d", half, attributes)
    single = [each.astype(np.float32) for each in half]
    (expected,) = evaluate("mmcv", "MMCVMaskedConv2d", single, attributes)
    np.testing.assert_array_equal(found, expected.astype(np.float16), strict=True)


def test_border_align():
    inputs, attributes = examples.border_align(rng(4))
    (found,) = evaluate("mmcv", "MMCVBorderAlign", inputs, attributes)
    assert_close(found, plain.border_align(*inputs, 4))


@pytest.mark.parametrize("name", ["MMCVCARAFE", "MMCVCARAFENaive"])
@pytest.mark.parametrize("scale", [2, 2.0])
def test_carafe(name, scale):
    inputs, attributes = examples.carafe(rng(5))
    attributes["scale_factor"] = scale
    (found,) = evaluate("mmcv", name, inputs, attributes)
    assert_close(found, plain.carafe(*inputs, 3, 2, 2))


@pytest.mark.parametrize("ratio", [0.0, 2.0])
def test_deform_roi_pool(ratio):
    (image, rois, offset), attributes = examples.deform_roi_pool(rng(6))
    attributes["sampling_ratio"] = ratio
    numbers = (3, 4), 0.25, int(ratio), 0.2
    (found,) = evaluate("mmcv", "MMCVDeformRoIPool", [image, rois, offset], attributes)
    assert_close(found, plain.deform_roi_pool(image, rois, offset, *numbers))
    (found,) = evaluate("mmcv", "MMCVDeformRoIPool", [image, rois], attributes)
    assert_close(found, plain.deform_roi_pool(image, rois, 0 * offset, *numbers))


def test_precise_roi_pool():
    inputs, attributes = examples.prroi_pool(rng(7))
    (found,) = evaluate("mmcv", "PrRoIPool", inputs, attributes)
    assert_close(found, plain.precise_roi_pool(*inputs, (3, 4), 0.25), 1e-4)


@pytest.mark.parametrize("psa_type", [0, 1])
def test_psa_mask(psa_type):
    (masks,), _ = examples.psa_mask(rng(8))
    attributes = {"psa_type": psa_type, "mask_size": [3, 5]}
    (found,) = evaluate("mmcv", "MMCVPSAMask", [masks], attributes)
    np.testing.assert_array_equal(found, plain.psa_mask(masks, psa_type, (3, 5)).numpy())


@pytest.mark.parametrize("points", [1, 5])
def test_rotated_feature_align(points):
    inputs, attributes = examples.rotated_feature_align(rng(9))
    attributes["points"] = points
    (found,) = evaluate("mmcv", "MMCVRotatedFeatureAlign", inputs, attributes)
    assert_close(found, plain.rotated_feature_align(*inputs, 0.125, points))


@pytest.mark.parametrize(
    "name, change, match",
    [
        ("SoftNonMaxSuppression", {"method": 3}, "attribute method is 3, expected 0 or 1 or 2"),
        ("MMCVMaskedConv2d", {"stride": 2}, "attribute stride is .2., expected 1"),
        ("MMCVMaskedConv2d", {"padding": [1, 1, 1]}, "attribute padding has 3 elements"),
        ("MMCVMaskedConv2d", {"padding": -1}, "attribute padding is .-1."),
        ("MMCVCARAFE", {"scale_factor": 1.5}, "attribute scale_factor is 1.5, expected a whole"),
        ("MMCVCARAFE", {"scale_factor": float("inf")}, "attribute scale_factor is inf"),
        ("MMCVCARAFE", {"kernel_size": 2}, ""),
        ("MMCVDeformRoIPool", {"sampling_ratio": 0.5}, "attribute sampling_ratio is 0.5"),
        ("MMCVPSAMask", {"psa_type": 2}, "attribute psa_type is 2, expected 0 or 1"),
        ("MMCVPSAMask", {"mask_size": [3, 3]}, ""),
        ("MMCVRotatedFeatureAlign", {"points": 2}, ""),
        ("MMCVBorderAlign", {"pool_size": 0}, ""),
    ],
)
def test_wrong_attributes(name, change, match):
    inputs, attributes = examples.EXAMPLES[name](rng())
    outputs = 2 if name == "SoftNonMaxSuppression" else 1
    with pytest.raises(MluOpError, match=f"^{name}: {match}"):
        evaluate("mmcv", name, inputs, {**attributes, **change}, outputs)
