"""Multi-scale deformable attention, as mmdeploy and plugins of TensorRT have it."""

from __future__ import annotations

import numpy as np

from mluop_omp._library import bad_param
from mluop_omp._operators.attention import ms_deform_attn
from mluop_omp.onnx._nodes._checks import as_single, require_same_dtype, rounded
from mluop_omp.onnx._table import TENSORRT, node

_INPUTS = (
    "value",
    "spatial_shapes",
    "level_start_index",
    "sampling_locations",
    "attention_weights",
)
_LEVELS = ("spatial_shapes", "level_start_index")
_SHAPES = {
    "value": "N S M D",
    "spatial_shapes": "L 2",
    "level_start_index": "L",
    "sampling_locations": "N Q M L P 2",
    "attention_weights": "N Q M L P",
}
_OPERATORS = ("ms_deform_attn",)
_OFFSET_INPUTS = (
    "value",
    "spatial_shapes",
    "reference_points",
    "sampling_offsets",
    "attention_weights",
)
_OFFSET_SHAPES = {
    "value": "N S M D",
    "spatial_shapes": "L 2",
    "reference_points": "N Q 1 _",
    "sampling_offsets": "N Q M _",
    "attention_weights": "N Q M _",
}


def _attend(
    value: np.ndarray,
    shapes: np.ndarray,
    starts: np.ndarray,
    locations: np.ndarray,
    weights: np.ndarray,
) -> np.ndarray:
    """Returns [N, Q, M, D]. Half precision is computed in single and rounded once."""
    require_same_dtype("value", value, "sampling_locations", locations)
    require_same_dtype("value", value, "attention_weights", weights)
    output = ms_deform_attn(
        as_single(value), shapes, starts, as_single(locations), as_single(weights)
    )
    return rounded(output, value.dtype)


@node(
    "custom_op",
    *TENSORRT,
    name="MultiScaleDeformableAttentionPlugin",
    inputs=_INPUTS,
    shapes=_SHAPES,
    integers=_LEVELS,
    operators=_OPERATORS,
    source="NVIDIA/DL4AGX",
)
@node(
    "mmdeploy",
    name="MMCVMultiScaleDeformableAttention",
    inputs=_INPUTS,
    shapes=_SHAPES,
    integers=_LEVELS,
    attributes={"im2col_step": 64},
    operators=_OPERATORS,
    source="open-mmlab/mmdeploy",
)
def attend_in_columns(
    value: np.ndarray,
    spatial_shapes: np.ndarray,
    level_start_index: np.ndarray,
    sampling_locations: np.ndarray,
    attention_weights: np.ndarray,
    *,
    im2col_step: int = 64,
) -> tuple[np.ndarray]:
    """Adds weighted samples of the values of all levels (Deformable DETR); returns [N, Q, M * D].

    spatial_shapes are (h, w). A location (x, y), 0 to 1 in the level, lies at pixel (x w - 0.5,
    y h - 0.5); it is interpolated from four pixels, and pixels outside of the level are 0. The
    weights have passed the softmax already. im2col_step has no effect.

    autoware_universe has MultiScaleDeformableAttentionPlugin, too.
    """
    levels = spatial_shapes, level_start_index
    return (_joined(_attend(value, *levels, sampling_locations, attention_weights)),)


def _joined(output: np.ndarray) -> np.ndarray:
    N, Q, M, D = output.shape
    return output.reshape(N, Q, M * D)


@node(
    *TENSORRT,
    name="MultiscaleDeformableAttnPlugin_TRT",
    inputs=_INPUTS,
    shapes=_SHAPES,
    integers=_LEVELS,
    operators=_OPERATORS,
    source="NVIDIA/TensorRT",
)
def attend(
    value: np.ndarray,
    spatial_shapes: np.ndarray,
    level_start_index: np.ndarray,
    sampling_locations: np.ndarray,
    attention_weights: np.ndarray,
) -> tuple[np.ndarray]:
    """As MMCVMultiScaleDeformableAttention, but returns [N, Q, M, D]."""
    levels = spatial_shapes, level_start_index
    return (_attend(value, *levels, sampling_locations, attention_weights),)


@node(
    *TENSORRT,
    name=("MultiScaleDeformableAttnTRT", "MultiScaleDeformableAttnTRT2"),
    inputs=_OFFSET_INPUTS,
    shapes=_OFFSET_SHAPES,
    integers=("spatial_shapes",),
    operators=_OPERATORS,
    source="DerryHub/BEVFormer_tensorrt",
)
def attend_at_offsets(
    value: np.ndarray,
    spatial_shapes: np.ndarray,
    reference_points: np.ndarray,
    sampling_offsets: np.ndarray,
    attention_weights: np.ndarray,
) -> tuple[np.ndarray]:
    """Adds samples near reference points, weighted by the softmax of the weights.

    As MMCVMultiScaleDeformableAttention, with

    - locations = reference + offset / (w, h) of the level: offsets are (x, y) in pixels,
    - the softmax over all L * P weights of a head, which the function that is traced lacks and the
      plugin computes,
    - levels that follow each other in value, as spatial_shapes has them.

    reference_points [N, Q, 1, 2 G] holds G points (x, y); point p belongs to reference p modulo G.
    sampling_offsets is [N, Q, M, L * P * 2], attention_weights [N, Q, M, L * P]. value is
    [N, S, M, D], as the plugin reads it; the docstring of its exporter exchanges S and M. Returns
    [N, Q, M, D]. Half precision is computed in single and rounded once.
    """
    require_same_dtype("value", value, "reference_points", reference_points)
    require_same_dtype("value", value, "sampling_offsets", sampling_offsets)
    require_same_dtype("value", value, "attention_weights", attention_weights)
    L, G = len(spatial_shapes), reference_points.shape[3] // 2
    (N, Q, M, samples), offsets = attention_weights.shape, sampling_offsets.shape[3]
    _check_points(L, reference_points.shape[3], samples, offsets)
    by_reference = as_single(sampling_offsets).reshape(N, Q, M, L, samples // (L * G), G, 2)
    references = as_single(reference_points).reshape(N, Q, 1, 1, 1, G, 2)
    sizes = spatial_shapes[:, ::-1].astype(references.dtype).reshape(L, 1, 1, 2)
    with np.errstate(all="ignore"):
        locations = references + by_reference / sizes
        weights = _softmax(as_single(attention_weights))
    P = samples // L
    output = _attend(
        as_single(value),
        *(spatial_shapes, _starts(spatial_shapes, value.shape[1])),
        *(locations.reshape(N, Q, M, L, P, 2), weights.reshape(N, Q, M, L, P)),
    )
    return (rounded(output, value.dtype),)


def _starts(spatial_shapes: np.ndarray, keys: int) -> np.ndarray:
    """Returns the first key of each level, of levels that follow each other."""
    ends = np.cumsum([height * width for height, width in spatial_shapes.tolist()])
    if spatial_shapes.min() < 0 or ends[-1] > keys:
        raise bad_param(
            f"input spatial_shapes is {spatial_shapes.tolist()}, expected sizes of at most {keys} "
            "keys: value dim 1"
        )
    return np.concatenate(([0], ends[:-1])).astype(np.int32)


def _check_points(L: int, references: int, samples: int, offsets: int) -> None:
    if references < 2 or references % 2:
        raise bad_param(
            f"input reference_points dim 3 is {references}, expected 2, 4, 6 ...: x and y"
        )
    parts = L * (references // 2)
    if L == 0 or samples == 0 or samples % parts:
        raise bad_param(
            f"input attention_weights dim 3 is {samples}, expected a positive multiple of {parts}: "
            f"{L} levels, {references // 2} references"
        )
    if offsets != 2 * samples:
        raise bad_param(
            f"input sampling_offsets dim 3 is {offsets}, expected {2 * samples}: x and y"
        )


def _softmax(weights: np.ndarray) -> np.ndarray:
    powers = np.exp(weights - weights.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)
