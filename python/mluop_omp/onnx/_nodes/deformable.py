"""Deformable convolution, as mmcv, mmdeploy and BEVFormer_tensorrt export it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mluop_omp._library import not_supported
from mluop_omp._operators.deform_conv import deform_conv2d
from mluop_omp.onnx._nodes._checks import pair
from mluop_omp.onnx._table import TENSORRT, node

_GEOMETRY = {
    "stride": (1, 1),
    "padding": (0, 0),
    "dilation": (1, 1),
    "groups": 1,
    "deform_groups": 1,
}
_SHAPES = {"input": "N _ H W", "offset": "N _ Ho Wo", "weight": "Co _ _ _"}
_MODULATED = {**_SHAPES, "mask": "N _ Ho Wo", "bias": "Co"}
_INPUTS = ("input", "offset", "mask", "weight", "bias?")


@node(
    "mmdeploy",
    "mmcv",
    name="MMCVDeformConv2d",
    inputs=("input", "offset", "weight"),
    shapes=_SHAPES,
    # mmcv alone writes the last two.
    attributes={**_GEOMETRY, "bias": 0, "im2col_step": 32},
    operators=("deform_conv2d",),
    source="open-mmlab/mmdeploy",
)
def convolve(
    input: np.ndarray,
    offset: np.ndarray,
    weight: np.ndarray,
    *,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    deform_groups: int,
    bias: int,
    im2col_step: int,
) -> tuple[np.ndarray]:
    """Convolves images at positions that offsets move (DCNv1), as torchvision's deform_conv2d.

    weight is [Co, Ci / groups, kernel_h, kernel_w]. offset [N, 2 * deform_groups * kernel_h *
    kernel_w, Ho, Wo] holds y, then x, of each kernel point of each deformable group. Half
    precision, single and double; sums are single for half.

    padding is (h, w), or (h, h, w, w) as mmdeploy exports it. mmdeploy's plugins read its first two
    elements as (h, w), so that they pad the width by h. The node pads as the exported PyTorch layer
    does. im2col_step has no effect; a bias is not supported.
    """
    if bias:
        raise not_supported(f"attribute bias is {bias}, expected 0: the node has no bias")
    along = pair("stride", stride), _padding(padding), pair("dilation", dilation)
    return (deform_conv2d(input, offset, weight, None, None, *along, groups, deform_groups),)


def _padding(values: Sequence[int]) -> tuple[int, int]:
    if len(values) != 4:
        return pair("padding", values)
    top, bottom, left, right = values
    if top != bottom or left != right:
        raise not_supported(f"attribute padding is {list(values)}, expected [h, h, w, w]")
    return top, left


@node(
    *TENSORRT,
    name=("ModulatedDeformableConv2dTRT", "ModulatedDeformableConv2dTRT2"),
    inputs=_INPUTS,
    shapes=_MODULATED,
    attributes=_GEOMETRY,
    operators=("deform_conv2d",),
    source="DerryHub/BEVFormer_tensorrt",
)
@node(
    "mmdeploy",
    "mmcv",
    name="MMCVModulatedDeformConv2d",
    inputs=_INPUTS,
    shapes=_MODULATED,
    attributes=_GEOMETRY,
    operators=("deform_conv2d",),
    source="open-mmlab/mmdeploy",
)
def convolve_modulated(
    input: np.ndarray,
    offset: np.ndarray,
    mask: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None,
    *,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    deform_groups: int,
) -> tuple[np.ndarray]:
    """Convolves as MMCVDeformConv2d, each sample multiplied by a mask (DCNv2).

    mask [N, deform_groups * kernel_h * kernel_w, Ho, Wo] has passed the sigmoid already. bias is
    [Co]; without it, nothing is added. padding is (h, w).
    """
    along = pair("stride", stride), pair("padding", padding), pair("dilation", dilation)
    return (deform_conv2d(input, offset, weight, mask, bias, *along, groups, deform_groups),)
