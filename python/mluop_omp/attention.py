"""Multi-scale deformable attention, on NumPy arrays."""

from __future__ import annotations

import numpy as np

from mluop_omp._arrays import NUMPY
from mluop_omp._operators import attention as _attention


def ms_deform_attn(
    value: np.ndarray,
    spatial_shapes: np.ndarray,
    level_start_index: np.ndarray,
    sampling_locations: np.ndarray,
    attention_weights: np.ndarray,
) -> np.ndarray:
    """Adds samples of the values of several levels for each query and head (Deformable DETR).

    A level of H x W pixels has the keys from its start on, row by row. A sample (x, y) is at
    ``(x W - 0.5, y H - 0.5)``, interpolated from the four pixels around it, of which those outside
    of the level are 0. One that is a pixel outside, or NaN, is not used.

    Args:
        value: float32 [B, K, M, D]: K keys of M heads.
        spatial_shapes: int32 [L, 2]: H, W.
        level_start_index: int32 [L]: the first key of each level.
        sampling_locations: float32 [B, Q, M, L, P, 2]: x, y; 0 to 1 are in the level.
        attention_weights: float32 [B, Q, M, L, P].

    Returns:
        float32 [B, Q, M, D]: the sums over L and P of weights times samples. It is empty if B, Q, M
            or D is 0, which the C API refuses. mmcv returns [B, Q, M D].

    Raises:
        MluOpError: a level has keys outside of value; shapes or dtypes differ from those above.

    Source: mluOpMsDeformAttnForward; arXiv:2010.04159; mmcv MultiScaleDeformableAttention.
    """
    levels = spatial_shapes, level_start_index
    return _attention.ms_deform_attn(NUMPY, value, *levels, sampling_locations, attention_weights)


def ms_deform_attn_backward(
    grad_output: np.ndarray,
    value: np.ndarray,
    spatial_shapes: np.ndarray,
    level_start_index: np.ndarray,
    sampling_locations: np.ndarray,
    attention_weights: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the gradients of `ms_deform_attn`.

    Args:
        grad_output: float32 [B, Q, M, D].
        value: as in `ms_deform_attn`, and so are the further arguments.

    Returns:
        grad_value: [B, K, M, D]; 0 for keys of no sample. Sums are in the order of queries: the
            same bits in every run and at any number of threads.
        grad_sampling_locations: [B, Q, M, L, P, 2]; 0 for samples that are not used.
        grad_attention_weights: [B, Q, M, L, P]; 0 for samples that are not used.

    Raises:
        MluOpError: a level has keys outside of value; shapes or dtypes differ from those above.

    Source: mluOpMsDeformAttnBackward; mmcv MultiScaleDeformableAttention.
    """
    arguments = (grad_output, value, spatial_shapes, level_start_index)
    samples = sampling_locations, attention_weights
    return _attention.ms_deform_attn_backward(NUMPY, *arguments, *samples)
