"""Prior boxes of SSD, and boxes from the outputs of YOLOv3."""

from __future__ import annotations

from typing import Any

from mluop_omp._arrays import ARRAY, Arrays, describe, int32, size
from mluop_omp._definitions import priors as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, operator
from mluop_omp._operators._derivative import NoDerivative

__all__ = ["prior_box", "yolo_box"]

_prior_box = function("mluOpPriorBox", "p" + "pp" * 4 + "iiiifffbb" + "pppp")
_yolo_box = function("mluOpYoloBox", "p" + "pp" * 3 + "ifibfbf" + "pppp")


@operator(definitions, derivative=NoDerivative())
def prior_box(
    arrays: Arrays,
    min_sizes: Array,
    aspect_ratios: Array,
    variances: Array,
    max_sizes: Array | None,
    height: int,
    width: int,
    im_height: int,
    im_width: int,
    step_h: float,
    step_w: float,
    offset: float = 0.5,
    clip: bool = False,
    min_max_aspect_ratios_order: bool = False,
) -> tuple[Array, Array]:
    """Returns the default boxes of each pixel of a feature map (SSD).

    A min size s and a ratio a give a box of width ``s * sqrt(a)`` and height ``s / sqrt(a)``; s and
    its max size t a square of side ``sqrt(s * t)``. The center of the boxes of pixel (x, y) is
    ``((x + offset) * step_w, (y + offset) * step_h)``.

    Args:
        min_sizes: float32 or float64 [m], in pixels of the image.
        aspect_ratios: [r] of the dtype of min_sizes, taken as they are: Paddle adds 1, and 1 / a
            with flip.
        variances: [4] of the dtype of min_sizes.
        max_sizes: [m] of the dtype of min_sizes, or None.
        height: of the feature map, in its own pixels.
        width: likewise.
        im_height: of the image.
        im_width: likewise.
        step_h: pixels of the image for each row of the feature map.
        step_w: pixels of the image for each column.
        offset: of the center in a pixel of the feature map.
        clip: limits coordinates to 0 to 1.
        min_max_aspect_ratios_order: the boxes of a min size are its square, the square with the max
            size, then the ratios except 1; exactly one ratio must be 1. If False, all ratios, then
            the square with the max size.

    Returns:
        output: [height, width, P, 4] of the dtype of min_sizes: x1, y1, x2, y2 as fractions of the
            image. P is ``m * r``, or ``m * (r + 1)`` with max_sizes. Exact: operations are rounded
            to the dtype, half widths and heights are computed in double.
        var: as output, variances for each box.

    Raises:
        MluOpError: m or r is 0; a step is not positive; min_max_aspect_ratios_order, and the number
            of ratios within 1e-6 of 1 is not one.

    Source: mluOpPriorBox; SSD, arXiv:1512.02325; Paddle prior_box.
    """
    sizes_tensor = arrays.tensor("min_sizes", min_sizes, "m")
    ratios_tensor = arrays.tensor("aspect_ratios", aspect_ratios, "r")
    variances_tensor = arrays.tensor("variances", variances, "4")
    max_sizes_tensor: tuple[Any, Any] = describe(ARRAY, sizes_tensor[0].dtype, (0,)), None
    if max_sizes is not None:
        max_sizes_tensor = arrays.tensor("max_sizes", max_sizes, "m")
    height, width = size("height", height), size("width", width)
    squares = 0 if max_sizes is None else 1
    P = sizes_tensor[0].shape[0] * (ratios_tensor[0].shape[0] + squares)
    output, *output_tensor = arrays.output("output", (height, width, P, 4), min_sizes)
    var, *var_tensor = arrays.output("var", (height, width, P, 4), min_sizes)
    with arrays.handle() as own:
        own.call(
            _prior_box,
            *(*sizes_tensor, *ratios_tensor, *variances_tensor, *max_sizes_tensor),
            *(height, width, int32("im_height", im_height), int32("im_width", im_width)),
            *(float(step_h), float(step_w), float(offset)),
            *(bool(clip), bool(min_max_aspect_ratios_order), *output_tensor, *var_tensor),
        )
    return output, var


@operator(definitions, derivative=NoDerivative())
def yolo_box(
    arrays: Arrays,
    x: Array,
    img_size: Array,
    anchors: Array,
    class_num: int,
    conf_thresh: float,
    downsample_ratio: int,
    clip_bbox: bool = True,
    scale: float = 1.0,
    iou_aware: bool = False,
    iou_aware_factor: float = 0.5,
) -> tuple[Array, Array]:
    """Returns the boxes and scores that the output of a network stands for (YOLOv3).

    x has 5 + class_num channels for each of S anchors: px, py, pw, ph, the confidence and the
    classes; with iou_aware, S channels of IoUs precede them. mluOpYoloBox states the formulas.
    Cells whose confidence is less than conf_thresh have boxes and scores of 0.

    Args:
        x: float32 or float64 [N, S (5 + class_num), H, W]; [N, S (6 + class_num), H, W] with
            iou_aware.
        img_size: int32 [N, 2]: height and width of each image, in pixels.
        anchors: int32 [2 S]: width and height of each, in pixels of the network's input.
        class_num: number of classes.
        conf_thresh: the lowest confidence that is kept.
        downsample_ratio: pixels of the network's input for each cell.
        clip_bbox: limits x1 and y1 to at least 0, x2 and y2 to at most the last pixel.
        scale: of the offsets in a cell, scale_x_y in Paddle.
        iou_aware: the confidence is ``conf ** (1 - f) * iou ** f`` with f = iou_aware_factor.
        iou_aware_factor: 0 to 1.

    Returns:
        boxes: [N, S, 4, H W] of the dtype of x: x1, y1, x2, y2 in pixels of the image.
        scores: [N, S, class_num, H W]: confidence times probability of the class. Both are the same
            in every run and at any number of threads. Paddle returns [N, S H W, 4] and [N, S H W,
            class_num].

    Raises:
        MluOpError: class_num is less than 1; the number of anchors is 0 or odd; iou_aware, and
            iou_aware_factor is not from 0 to 1.

    Source: mluOpYoloBox; YOLOv3, arXiv:1804.02767; Paddle yolo_box.
    """
    x_tensor = arrays.tensor("x", x, "N C H W")
    img_size_tensor = arrays.tensor("img_size", img_size, "N 2")
    anchors_tensor = arrays.tensor("anchors", anchors, "2S")
    (N, _, H, W), S = x_tensor[0].shape, anchors_tensor[0].shape[0] // 2
    class_num = size("class_num", class_num)
    boxes, *boxes_tensor = arrays.output("boxes", (N, S, 4, H * W), x)
    scores, *scores_tensor = arrays.output("scores", (N, S, class_num, H * W), x)
    with arrays.handle() as own:
        own.call(
            _yolo_box,
            *(*x_tensor, *img_size_tensor, *anchors_tensor, class_num, float(conf_thresh)),
            *(int32("downsample_ratio", downsample_ratio), bool(clip_bbox), float(scale)),
            *(bool(iou_aware), float(iou_aware_factor), *boxes_tensor, *scores_tensor),
        )
    return boxes, scores
