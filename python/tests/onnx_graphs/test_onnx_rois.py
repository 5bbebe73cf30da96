"""Nodes of RoI align against formulas in PyTorch."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="requires torch")
pytest.importorskip("onnx", reason="requires onnx")

import examples_rois as examples  # noqa: E402
import onnx_formulas as plain  # noqa: E402
from onnx_graph import evaluate  # noqa: E402

from mluop_omp import MluOpError  # noqa: E402

TOLERANCES = {np.float16: 1e-2, np.float32: 2e-5, np.float64: 1e-12}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def assert_close(found, expected, dtype=np.float32):
    assert found.dtype == dtype
    tolerance = TOLERANCES[dtype]
    np.testing.assert_allclose(found, expected.numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("aligned, ratio", [(0, 0), (0, 2), (1, 0), (1, 2)])
def test_roi_align(aligned, ratio, mode, dtype):
    inputs, attributes = examples.roi_align(rng())
    inputs = [each.astype(dtype) for each in inputs]
    attributes.update(mode=mode, aligned=aligned, sampling_ratio=ratio)
    (found,) = evaluate("mmcv", "MMCVRoiAlign", inputs, attributes)
    expected = plain.roi_align(*inputs, (3, 4), 0.25, ratio, mode, bool(aligned))
    assert_close(found, expected, dtype)


def test_roi_align_defaults():
    image, rois = examples.roi_align(rng(1))[0]
    rois[:, 1:] /= 4
    (found,) = evaluate("mmdeploy", "MMCVRoiAlign", [image, rois], {"mode": "avg"})
    assert_close(found, plain.roi_align(image, rois, (7, 7)))


@pytest.mark.parametrize("mode, ratio, aligned", [*itertools.product((0, 1), (0, 2), (0, 1))])
def test_roi_align_of_tensorrt(mode, ratio, aligned):
    (X, rois, indices), attributes = examples.roi_align_of_tensorrt(rng(2))
    attributes.update(mode=mode, sampling_ratio=ratio, coordinate_transformation_mode=aligned)
    with_image = np.concatenate((indices[:, None], rois), 1)
    find, reduce = ((plain.largest_corner, "max"), (plain.in_rois, "avg"))[mode]
    for dtype, integer in ((np.float32, np.int32), (np.float64, np.int64)):
        inputs = [X.astype(dtype), rois.astype(dtype), indices.astype(integer)]
        (found,) = evaluate("", "ROIAlign_TRT", inputs, attributes)
        numbers = 0.25, ratio, reduce, bool(aligned), find
        assert_close(found, plain.roi_align(X, with_image, (3, 4), *numbers), dtype)


@pytest.mark.parametrize("mode", [0, 1])
def test_half_precision_of_tensorrt_is_rounded_once(mode):
    (X, rois, indices), attributes = examples.roi_align_of_tensorrt(rng(3))
    attributes["mode"] = mode
    half = [X.astype(np.float16), rois.astype(np.float16), indices]
    single = [*(each.astype(np.float32) for each in half[:2]), indices]
    (found,) = evaluate("", "ROIAlign_TRT", half, attributes)
    (expected,) = evaluate("", "ROIAlign_TRT", single, attributes)
    np.testing.assert_array_equal(found, expected.astype(np.float16), strict=True)


def test_roi_align_of_tensorrt_defaults():
    (X, rois, indices), _ = examples.roi_align_of_tensorrt(rng(4))
    rois /= 4
    (found,) = evaluate("", "ROIAlign_TRT", [X, rois, indices])
    assert_close(found, plain.roi_align(X, np.concatenate((indices[:, None], rois), 1), (1, 1)))


def test_rois_without_samples():
    (X, rois, indices), attributes = examples.roi_align_of_tensorrt(rng(5))
    rois[:, 2:] = rois[:, :2] - 1
    rois[0] = np.inf
    rois[1] = np.nan
    attributes.update(sampling_ratio=0, coordinate_transformation_mode=1)
    (found,) = evaluate("", "ROIAlign_TRT", [X, rois, indices], attributes)
    np.testing.assert_array_equal(found, np.zeros((5, 3, 3, 4)))


@pytest.mark.parametrize("ratio, aligned, clockwise", [*itertools.product((0, 2), (0, 1), (0, 1))])
def test_roi_align_rotated(ratio, aligned, clockwise):
    inputs, attributes = examples.roi_align_rotated(rng(6))
    attributes.update(sampling_ratio=ratio, aligned=aligned, clockwise=clockwise)
    expected = plain.roi_align_rotated(
        *(*inputs, (3, 4), 0.25, ratio, bool(aligned), bool(clockwise))
    )
    for domain, dtype in (("mmdeploy", np.float32), ("mmcv", np.float64)):
        arrays = [each.astype(dtype) for each in inputs]
        (found,) = evaluate(domain, "MMCVRoIAlignRotated", arrays, attributes)
        assert_close(found, expected, dtype)


def _multi_level(rois, maps, attributes):
    """Returns the expected outputs, one RoI after the other, and the levels."""
    outputs, levels = [], []
    strides, factor = attributes["featmap_strides"], attributes["roi_scale_factor"]
    for roi in rois.astype(np.float64):
        image, x1, y1, x2, y2 = roi.tolist()
        area = (x2 - x1) * (y2 - y1)
        scale = math.sqrt(max(area, 0)) / attributes["finest_scale"] + 1e-6
        levels.append(min(max(math.floor(math.log2(scale)), 0), len(maps) - 1))
        if factor > 0:
            w, h = (x2 - x1 + 1) * factor - 1, (y2 - y1 + 1) * factor - 1
            x, y = (x1 + x2) / 2, (y1 + y2) / 2
            x1, y1, x2, y2 = x - w / 2, y - h / 2, x + w / 2, y + h / 2
        box = np.array([[image, x1, y1, x2, y2]])
        size = attributes["output_height"], attributes["output_width"]
        reduce = ("max", "avg")[attributes["pool_mode"]]
        numbers = 1 / strides[levels[-1]], attributes["sampling_ratio"], reduce
        aligned = bool(attributes["aligned"])
        outputs.append(plain.roi_align(maps[levels[-1]], box, size, *numbers, aligned))
    return torch.cat(outputs), levels


@pytest.mark.parametrize(
    "pool_mode, ratio, factor, aligned", [(1, 1, 1.5, 1), (0, 2, -1.0, 0), (1, 0, 0.75, 0)]
)
def test_multi_level_roi_align(pool_mode, ratio, factor, aligned):
    (rois, *maps), attributes = examples.multi_level(rng(7))
    # An aligned RoI of a negative size has the mean of samples in no defined order.
    rois = rois[:-2] if aligned else rois
    attributes.update(
        pool_mode=pool_mode, sampling_ratio=ratio, roi_scale_factor=factor, aligned=aligned
    )
    expected, levels = _multi_level(rois, maps, attributes)
    assert {*levels} == {0, 1, 2}
    (found,) = evaluate("mmdeploy", "MMCVMultiLevelRoiAlign", [rois, *maps], attributes)
    assert_close(found, expected)


def test_multi_level_defaults():
    (rois, *maps), attributes = examples.multi_level(rng(8))
    defaults = {
        "output_height": 7,
        "output_width": 7,
        "pool_mode": 0,
        "sampling_ratio": 2,
        "roi_scale_factor": -1.0,
        "finest_scale": 56,
        "aligned": 0,
    }
    strides = {"featmap_strides": attributes["featmap_strides"]}
    found = [
        evaluate("mmdeploy", "MMCVMultiLevelRoiAlign", [rois, *maps], each)[0]
        for each in (strides, {**strides, **defaults})
    ]
    np.testing.assert_array_equal(*found)
    assert_close(found[0], _multi_level(rois, maps, {**strides, **defaults})[0])


def test_a_power_of_two_is_on_the_upper_level():
    _, *maps = examples.multi_level(rng(9))[0]
    rois = np.array([[0, 0, 0, 32, 32], [0, 0, 0, 31.99, 31.99]], np.float32)
    maps = [np.full_like(each, level) for level, each in enumerate(maps)]
    attributes = {"finest_scale": 16, "featmap_strides": [4.0, 8.0, 16.0], "output_height": 1}
    (found,) = evaluate("mmdeploy", "MMCVMultiLevelRoiAlign", [rois, *maps], attributes)
    assert found[:, 0, 0, 0].tolist() == [1, 0]


@pytest.mark.parametrize("name", examples.EXAMPLES)
def test_empty_inputs(name):
    inputs, attributes = examples.EXAMPLES[name](rng())
    rois = [index for index, each in enumerate(inputs) if each.ndim < 4]
    inputs = [each[:0] if index in rois else each for index, each in enumerate(inputs)]
    domain = {"ROIAlign_TRT": ""}.get(name, "mmdeploy")
    (found,) = evaluate(domain, name, inputs, attributes)
    assert found.shape == (0, 3, attributes["output_height"], attributes["output_width"])


@pytest.mark.parametrize(
    "name, change, match",
    [
        ("MMCVRoiAlign", {"mode": "mean"}, "attribute mode is 'mean', expected 'avg' or 'max'"),
        ("MMCVRoiAlign", {"aligned": 2}, "attribute aligned is 2"),
        ("ROIAlign_TRT", {"mode": 2}, "attribute mode is 2, expected 0 or 1"),
        ("ROIAlign_TRT", {"sampling_ratio": -1}, "attribute sampling_ratio is -1"),
        ("ROIAlign_TRT", {"output_height": -1}, "output_height and output_width are"),
        ("MMCVRoIAlignRotated", {"clockwise": 2}, "attribute clockwise is 2"),
        ("MMCVMultiLevelRoiAlign", {"pool_mode": 2}, "attribute pool_mode is 2"),
        ("MMCVMultiLevelRoiAlign", {"featmap_strides": [4.0, 8.0]}, ".* expected 3"),
        ("MMCVMultiLevelRoiAlign", {"finest_scale": 0}, "attributes finest_scale"),
    ],
)
def test_wrong_attributes(name, change, match):
    inputs, attributes = examples.EXAMPLES[name](rng())
    domain = {"ROIAlign_TRT": ""}.get(name, "mmdeploy")
    with pytest.raises(MluOpError, match=f"^{name}: {match}"):
        evaluate(domain, name, inputs, {**attributes, **change})


def test_images_that_do_not_exist():
    (X, rois, indices), attributes = examples.roi_align_of_tensorrt(rng())
    indices[2] = 2
    for mode in (0, 1):
        attributes["mode"] = mode
        with pytest.raises(MluOpError, match=r"input batch_indices\[2\] is 2, expected 0 to 1"):
            evaluate("", "ROIAlign_TRT", [X, rois, indices], attributes)
    with_image = np.concatenate((indices[:, None].astype(np.float32), rois), 1)
    with pytest.raises(MluOpError, match="^MMCVRoiAlign: "):
        evaluate("mmcv", "MMCVRoiAlign", [X, with_image], {"mode": "max"})
