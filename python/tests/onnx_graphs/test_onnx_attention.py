"""Nodes of deformable attention against grid_sample of PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="requires torch")
pytest.importorskip("onnx", reason="requires onnx")

import examples_attention as examples  # noqa: E402
import onnx_formulas as plain  # noqa: E402
from onnx_graph import evaluate  # noqa: E402

from mluop_omp import MluOpError  # noqa: E402

JOINED = [
    ("mmdeploy", "MMCVMultiScaleDeformableAttention"),
    ("custom_op", "MultiScaleDeformableAttentionPlugin"),
    ("", "MultiScaleDeformableAttentionPlugin"),
]
SPLIT = [("", "MultiscaleDeformableAttnPlugin_TRT"), ("TRT", "MultiscaleDeformableAttnPlugin_TRT")]
OFFSETS = [("", "MultiScaleDeformableAttnTRT"), ("", "MultiScaleDeformableAttnTRT2")]
INTEGERS = [np.int32, np.int64]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def assert_close(found, expected, tolerance=1e-5):
    np.testing.assert_allclose(found, expected.numpy(), rtol=tolerance, atol=tolerance)


def as_half(inputs: list[np.ndarray]) -> list[np.ndarray]:
    return [each.astype(np.float16) if each.dtype.kind == "f" else each for each in inputs]


def as_single(inputs: list[np.ndarray]) -> list[np.ndarray]:
    return [each.astype(np.float32) if each.dtype.kind == "f" else each for each in inputs]


@pytest.mark.parametrize("integer", INTEGERS)
@pytest.mark.parametrize("domain, name", JOINED + SPLIT)
def test_attention(domain, name, integer):
    inputs = examples.at_locations(rng(), integer)
    (found,) = evaluate(domain, name, inputs)
    expected = plain.attention(*inputs)
    assert found.dtype == np.float32
    assert_close(found, expected if (domain, name) in SPLIT else expected.flatten(2))


@pytest.mark.parametrize("integer", INTEGERS)
@pytest.mark.parametrize("references", [1, 2, 4])
@pytest.mark.parametrize("domain, name", OFFSETS)
def test_attention_at_offsets(domain, name, references, integer):
    inputs = examples.at_offsets(rng(1), references, integer)
    (found,) = evaluate(domain, name, inputs)
    assert_close(found, plain.attention_at_offsets(*inputs))


@pytest.mark.parametrize("domain, name", [*JOINED, *SPLIT, *OFFSETS])
def test_half_precision_is_rounded_once(domain, name):
    make = examples.at_offsets if (domain, name) in OFFSETS else examples.at_locations
    inputs = as_half(make(rng(2)))
    (found,) = evaluate(domain, name, inputs)
    (expected,) = evaluate(domain, name, as_single(inputs))
    np.testing.assert_array_equal(found, expected.astype(np.float16), strict=True)


def test_double_precision():
    inputs = [
        each.astype(np.float64) if each.dtype.kind == "f" else each
        for each in examples.at_locations(rng(3))
    ]
    (found,) = evaluate("", "MultiscaleDeformableAttnPlugin_TRT", inputs)
    assert_close(found, plain.attention(*inputs), 1e-12)


def test_im2col_step_has_no_effect():
    inputs = examples.at_locations(rng(4))
    name = "MMCVMultiScaleDeformableAttention"
    outputs = [evaluate("mmdeploy", name, inputs, {"im2col_step": step}) for step in (1, 64)]
    np.testing.assert_array_equal(*outputs)


@pytest.mark.parametrize("empty", ["N", "Q"])
@pytest.mark.parametrize("domain, name", [*JOINED, *SPLIT, *OFFSETS])
def test_empty_inputs(domain, name, empty):
    has_offsets = (domain, name) in OFFSETS
    inputs = (examples.at_offsets if has_offsets else examples.at_locations)(rng())
    of_queries = (2, 3, 4) if has_offsets else (3, 4)
    for index in of_queries if empty == "Q" else (0, *of_queries):
        inputs[index] = inputs[index][:, :0] if empty == "Q" else inputs[index][:0]
    (found,) = evaluate(domain, name, inputs)
    N, Q = (2, 0) if empty == "Q" else (0, 7)
    assert found.shape == ((N, Q, 12) if (domain, name) in JOINED else (N, Q, 3, 4))


def test_large_weights_do_not_overflow():
    inputs = examples.at_offsets(rng(5))
    inputs[4] = 1000 * inputs[4]
    (found,) = evaluate("", "MultiScaleDeformableAttnTRT", inputs)
    assert_close(found, plain.attention_at_offsets(*inputs))


@pytest.mark.parametrize(
    "index, change, match",
    [
        (1, lambda a: a + 1, "input spatial_shapes is .* expected sizes of at most 44 keys"),
        (1, lambda a: -a, "input spatial_shapes is"),
        (1, lambda a: a[:0], "input attention_weights dim 3 is 12, expected a positive multiple"),
        (1, lambda a: a.astype(np.float32), "input spatial_shapes has dtype float32"),
        (2, lambda a: a[..., :1], "input reference_points dim 3 is 1, expected 2, 4"),
        (2, lambda a: np.repeat(a, 3, 2), "input reference_points has dimension 2 of size 3"),
        (2, lambda a: np.repeat(a, 5, 3), "input attention_weights dim 3 is 12"),
        (3, lambda a: a[..., :-1], "input sampling_offsets dim 3 is 23, expected 24"),
        (3, lambda a: a.astype(np.float64), "input sampling_offsets has dtype float64"),
        (4, lambda a: a[:, :, :2], "input attention_weights has dimension 2 of size 2, expected 3"),
        (4, lambda a: a[..., :0], "input attention_weights dim 3 is 0"),
    ],
)
def test_wrong_offsets(index, change, match):
    inputs = examples.at_offsets(rng())
    inputs[index] = change(inputs[index])
    with pytest.raises(MluOpError, match=f"^MultiScaleDeformableAttnTRT: {match}"):
        evaluate("", "MultiScaleDeformableAttnTRT", inputs)


@pytest.mark.parametrize(
    "index, change, match",
    [
        (0, lambda a: a[:, 1:], "level"),
        (1, lambda a: a[:2], "input level_start_index has dimension 0 of size 3, expected 2"),
        (1, lambda a: a + 2**40, "input spatial_shapes has the value .*, expected 32-bit integers"),
        (2, lambda a: a + 1, "level"),
        (3, lambda a: a[..., :1], "input sampling_locations has dimension 5 of size 1, expected 2"),
        (4, lambda a: a.astype(np.float16), "input attention_weights has dtype float16"),
    ],
)
def test_wrong_locations(index, change, match):
    inputs = examples.at_locations(rng())
    inputs[index] = change(inputs[index])
    with pytest.raises(MluOpError, match=f"^MMCVMultiScaleDeformableAttention: .*{match}"):
        evaluate("mmdeploy", "MMCVMultiScaleDeformableAttention", inputs)
