"""The remaining nodes of mmcv's own symbolic functions, in the domain mmcv."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mluop_omp._library import bad_param, not_supported
from mluop_omp._operators.attention import psamask
from mluop_omp._operators.deformable_rois import deform_roi_pool
from mluop_omp._operators.masked_conv import masked_col2im, masked_im2col
from mluop_omp._operators.neighborhoods import carafe
from mluop_omp._operators.pixel_bins import prroi_pool
from mluop_omp._operators.rotated_rois import border_align, rotated_feature_align
from mluop_omp._operators.suppression import soft_nms
from mluop_omp.onnx._nodes._checks import (
    as_single,
    pair,
    require_one_of,
    require_same_dtype,
    rounded,
)
from mluop_omp.onnx._table import REQUIRED, Float, Integer, Ints, node

_MMCV = "open-mmlab/mmcv"
_METHODS = ("naive", "linear", "gaussian")


@node(
    "mmcv",
    name="SoftNonMaxSuppression",
    inputs=("boxes", "scores"),
    shapes={"boxes": "N 4", "scores": "N"},
    attributes={
        "iou_threshold": REQUIRED(Float),
        "sigma": REQUIRED(Float),
        "min_score": REQUIRED(Float),
        "method": REQUIRED(Integer),
        "offset": REQUIRED(Integer),
    },
    outputs=("dets", "inds"),
    operators=("soft_nms",),
    source=_MMCV,
)
def suppress_softly(
    boxes: np.ndarray,
    scores: np.ndarray,
    *,
    iou_threshold: float,
    sigma: float,
    min_score: float,
    method: int,
    offset: int,
) -> tuple[np.ndarray, ...]:
    """Decays the scores of boxes (x1, y1, x2, y2) that overlap one of a higher score.

    method is 0 naive, 1 linear, 2 gaussian. Returns dets [K, 5], boxes and decayed scores, and
    inds [K] in int64, for the K boxes whose decayed scores reach min_score. mmcv's function returns
    N rows of dets; the graph drops all but K. float32 or float64.
    """
    require_one_of("method", method, (0, 1, 2))
    numbers = iou_threshold, sigma, min_score, _METHODS[method], offset
    dets, inds = soft_nms(boxes, scores, *numbers)
    return dets, inds.astype(np.int64)


@node(
    "mmcv",
    name="MMCVMaskedConv2d",
    inputs=("features", "mask", "weight", "bias"),
    shapes={"features": "1 Ci H W", "mask": "1 H W", "weight": "Co Ci _ _", "bias": "Co"},
    untyped=("mask",),
    attributes={"padding": REQUIRED(Ints), "stride": (1,)},
    operators=("masked_im2col", "masked_col2im"),
    source=_MMCV,
)
def convolve_masked(
    features: np.ndarray,
    mask: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
    *,
    padding: Sequence[int],
    stride: Sequence[int],
) -> tuple[np.ndarray]:
    """Convolves an image at the pixels where mask is positive; all other pixels are 0.

    The pixels of the mask are the pixels of the output: their windows begin padding pixels before
    them. weight is [Co, Ci, kernel_h, kernel_w]. mask holds numbers or booleans. stride is 1. Half
    precision is computed in single and rounded once.
    """
    require_same_dtype("features", features, "weight", weight)
    require_same_dtype("features", features, "bias", bias)
    if mask.dtype.kind not in "biuf":
        raise bad_param(f"input mask has dtype {mask.dtype}, expected numbers or booleans")
    if pair("stride", stride) != (1, 1):
        raise not_supported(f"attribute stride is {list(stride)}, expected 1")
    along = pair("padding", padding)
    kernel = weight.shape[2:]
    sizes = zip(features.shape[2:], kernel, along)
    out = [size - extent + 2 * pad + 1 for size, extent, pad in sizes]
    if min(along) < 0 or min(out) < 0:
        raise bad_param(
            f"attribute padding is {list(padding)}, input features has shape "
            f"{list(features.shape)}, weight {list(weight.shape)}; expected a window in the image"
        )
    rows, columns = (each.astype(np.int32) for each in np.nonzero(mask[0] > 0))
    windows = masked_im2col(as_single(features), rows, columns, kernel, along)
    filters = as_single(weight).reshape(len(weight), np.prod(weight.shape[1:], dtype=int))
    products = filters @ windows + as_single(bias)[:, None]
    return (rounded(masked_col2im(products, rows, columns, out), features.dtype),)


@node(
    "mmcv",
    name="MMCVBorderAlign",
    inputs=("input", "boxes"),
    shapes={"input": "N _ H W", "boxes": "N K 4"},
    attributes={"pool_size": REQUIRED(Integer)},
    operators=("border_align",),
    source=_MMCV,
)
def align_borders(input: np.ndarray, boxes: np.ndarray, *, pool_size: int) -> tuple[np.ndarray]:
    """Returns the maximum of pool_size + 1 samples along each border of each box (BorderDet).

    input has the channels of the borders top, left, bottom and right, one after the other; boxes
    are (x1, y1, x2, y2) in pixels. Returns [N, C / 4, K, 4].
    """
    return border_align(input, boxes, pool_size)[:1]


@node(
    "mmcv",
    name=("MMCVCARAFE", "MMCVCARAFENaive"),
    inputs=("features", "masks"),
    shapes={"features": "N C H W", "masks": "N _ _ _"},
    attributes={
        "kernel_size": REQUIRED(Integer),
        "group_size": REQUIRED(Integer),
        "scale_factor": REQUIRED(Float),
    },
    operators=("carafe",),
    source=_MMCV,
)
def upsample(
    features: np.ndarray,
    masks: np.ndarray,
    *,
    kernel_size: int,
    group_size: int,
    scale_factor: float,
) -> tuple[np.ndarray]:
    """Upsamples images with kernels that are predicted for each pixel of the output (CARAFE).

    masks is [N, group_size * kernel_size^2, H scale_factor, W scale_factor], group by group, each
    kernel row by row. scale_factor is exported as a float; it is a whole number.
    """
    scale = _whole("scale_factor", scale_factor)
    return (carafe(features, masks, kernel_size, group_size, scale),)


def _whole(name: str, value: float) -> int:
    if not value.is_integer():
        raise bad_param(f"attribute {name} is {value}, expected a whole number")
    return int(value)


@node(
    "mmcv",
    name="MMCVDeformRoIPool",
    inputs=("input", "rois", "offset?"),
    shapes={"input": "N C H W", "rois": "R 5", "offset": "R 2 _ _"},
    attributes={
        "pooled_height": REQUIRED(Integer),
        "pooled_width": REQUIRED(Integer),
        "spatial_scale": REQUIRED(Float),
        "sampling_ratio": REQUIRED(Float),
        "gamma": REQUIRED(Float),
    },
    operators=("deform_roi_pool",),
    source=_MMCV,
)
def pool_deformed(
    input: np.ndarray,
    rois: np.ndarray,
    offset: np.ndarray | None,
    *,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    sampling_ratio: float,
    gamma: float,
) -> tuple[np.ndarray]:
    """Averages interpolated samples of an image in each bin of each RoI, which offsets move.

    rois are (image, x1, y1, x2, y2), aligned as in MMCVRoiAlign. offset [R, 2, PH, PW] moves bin
    (i, j) by gamma times width times offset[:, 0], and by gamma times height times offset[:, 1].
    sampling_ratio is exported as a float; it is a whole number.
    """
    size = pooled_height, pooled_width
    numbers = spatial_scale, _whole("sampling_ratio", sampling_ratio), gamma
    return (deform_roi_pool(input, rois, offset, size, *numbers),)


@node(
    "mmcv",
    name="PrRoIPool",
    inputs=("features", "rois"),
    shapes={"features": "N C H W", "rois": "R 5"},
    attributes={
        "pooled_height": REQUIRED(Integer),
        "pooled_width": REQUIRED(Integer),
        "spatial_scale": REQUIRED(Float),
    },
    operators=("prroi_pool",),
    source=_MMCV,
)
def pool_precisely(
    features: np.ndarray,
    rois: np.ndarray,
    *,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
) -> tuple[np.ndarray]:
    """Returns the mean of the interpolated image over each bin of each RoI (IoU-Net).

    The mean is the exact integral. rois are (image, x1, y1, x2, y2); pixels are at integers.
    """
    return (prroi_pool(features, rois, (pooled_height, pooled_width), spatial_scale),)


@node(
    "mmcv",
    name="MMCVPSAMask",
    inputs=("input",),
    shapes={"input": "N _ H W"},
    attributes={"psa_type": REQUIRED(Integer), "mask_size": REQUIRED(Ints)},
    operators=("psamask",),
    source=_MMCV,
)
def move_masks(input: np.ndarray, *, psa_type: int, mask_size: Sequence[int]) -> tuple[np.ndarray]:
    """Moves the mask of each pixel to the pixels that its elements belong to (PSANet).

    psa_type is 0 collect, 1 distribute. input is [N, mask_h * mask_w, H, W], the output
    [N, H * W, H, W].
    """
    require_one_of("psa_type", psa_type, (0, 1))
    return (psamask(input, pair("mask_size", mask_size), ("collect", "distribute")[psa_type]),)


@node(
    "mmcv",
    name="MMCVRotatedFeatureAlign",
    inputs=("features", "best_rbboxes"),
    shapes={"features": "N C H W", "best_rbboxes": "N H W 5"},
    attributes={"spatial_scale": REQUIRED(Float), "points": REQUIRED(Integer)},
    operators=("rotated_feature_align",),
    source=_MMCV,
)
def align_features(
    features: np.ndarray, best_rbboxes: np.ndarray, *, spatial_scale: float, points: int
) -> tuple[np.ndarray]:
    """Adds to each pixel samples of the image at the center of its box, and at the corners (R3Det).

    best_rbboxes are (y, x, w, h, angle in radians), as mmcv's kernel reads them; points is 1, the
    center, or 5.
    """
    return (rotated_feature_align(features, best_rbboxes, spatial_scale, points),)
