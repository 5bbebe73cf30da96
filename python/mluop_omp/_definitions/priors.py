"""Prior boxes of SSD, and boxes from the outputs of YOLOv3."""

from __future__ import annotations

import numpy as np

from mluop_omp._definitions._precision import at_least_float32


def _sizes(min_sizes, aspect_ratios, max_sizes, are_squares_first):
    """Returns the widths and heights [P, 2] of the boxes of a pixel, in float64."""
    ratios = aspect_ratios.astype(np.float64)
    if are_squares_first:
        ratios = ratios[~(abs(ratios - 1) < 1e-6)]
    roots, sizes = np.sqrt(ratios), []
    for i, size in enumerate(min_sizes.astype(np.float64)):
        squares = [size] if are_squares_first else []
        if max_sizes is not None:
            squares.append(np.sqrt(size * max_sizes.astype(np.float64)[i]))
        rectangles = [*zip(size * roots, size / roots)]
        squares = [(each, each) for each in squares]
        sizes += [*squares, *rectangles] if are_squares_first else [*rectangles, *squares]
    return np.array(sizes).reshape(len(sizes), 2)


@np.errstate(all="ignore")
def prior_box(
    min_sizes,
    aspect_ratios,
    variances,
    max_sizes,
    height,
    width,
    im_height,
    im_width,
    step_h,
    step_w,
    offset,
    clip,
    min_max_aspect_ratios_order,
):
    if 0 in (len(min_sizes), len(aspect_ratios)):
        raise ValueError
    ones = (abs(aspect_ratios.astype(np.float64) - 1) < 1e-6).sum()
    if min_max_aspect_ratios_order and height and width and ones != 1:
        raise ValueError
    min_sizes, variances = map(at_least_float32, (min_sizes, variances))
    number = min_sizes.dtype.type
    sizes = _sizes(min_sizes, aspect_ratios, max_sizes, min_max_aspect_ratios_order)
    halves = (sizes / 2).astype(number)
    output = np.empty((height, width, len(halves), 4), number)
    for axis, (count, step, extent) in enumerate(
        ((width, step_w, im_width), (height, step_h, im_height))
    ):
        centers = (np.arange(count).astype(number) + number(offset)) * number(step)
        centers = centers.reshape((1, count, 1) if axis == 0 else (count, 1, 1))
        output[..., axis] = (centers - halves[:, axis]) / number(extent)
        output[..., axis + 2] = (centers + halves[:, axis]) / number(extent)
    return output.clip(0, 1) if clip else output, np.broadcast_to(variances, output.shape).copy()


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


@np.errstate(all="ignore")
def yolo_box(
    x,
    img_size,
    anchors,
    class_num,
    conf_thresh,
    downsample_ratio,
    clip_bbox,
    scale,
    iou_aware,
    iou_aware_factor,
):
    if len(anchors) == 0 or class_num == 0:
        raise ValueError
    (N, _, H, W), S = x.shape, len(anchors) // 2
    x = x.astype(np.float64)
    ious, x = x[:, :S], (x[:, S:] if iou_aware else x).reshape(N, S, 5 + class_num, H, W)
    conf = _sigmoid(x[:, :, 4])
    if iou_aware:
        conf = conf ** (1 - iou_aware_factor) * _sigmoid(ious) ** iou_aware_factor
    is_kept = ~(conf < conf_thresh)[:, :, np.newaxis]
    scores = np.where(is_kept, conf[:, :, np.newaxis] * _sigmoid(x[:, :, 5:]), 0)
    lows, highs = [], []
    places = np.arange(W), np.arange(H)[:, np.newaxis]
    for axis, (place, cells) in enumerate(zip(places, (W, H))):
        pixels = img_size[:, 1 - axis].astype(np.float64).reshape(N, 1, 1, 1)
        anchor = anchors.reshape(S, 2)[:, axis].reshape(S, 1, 1)
        center = (place + _sigmoid(x[:, :, axis]) * scale - (scale - 1) / 2) * pixels / cells
        side = np.exp(x[:, :, axis + 2]) * anchor * pixels / np.float64(downsample_ratio * cells)
        low, high = center - side / 2, center + side / 2
        if clip_bbox:
            low, high = np.where(low > 0, low, 0), np.where(high < pixels - 1, high, pixels - 1)
        lows.append(low)
        highs.append(high)
    boxes = np.where(is_kept, np.stack((*lows, *highs), 2), 0)
    return boxes.reshape(N, S, 4, H * W), scores.reshape(N, S, class_num, H * W)


def prior_box_arguments(
    random,
    height=3,
    width=4,
    m=2,
    r=3,
    has_max=(True, False),
    clip=(False, True),
    min_max_aspect_ratios_order=(False, True),
):
    ones, others = np.ones(min(r, 1), np.float32), random.positive(max(r - 1, 0)) + np.float32(1)
    min_sizes = 16 * random.positive(m)
    return (
        *(min_sizes, np.concatenate((ones, others)), random.positive(4)),
        min_sizes + np.float32(20) if has_max else None,
        *(height, width, 30, 40, 8.0, 9.0, 0.5, clip, min_max_aspect_ratios_order),
    )


def yolo_box_arguments(
    random, N=2, S=3, class_num=5, H=3, W=4, clip_bbox=(True, False), iou_aware=(False, True)
):
    x = random.floats(N, S * ((6 if iou_aware else 5) + class_num), H, W)
    img_size, anchors = random.integers(50, 100, N, 2), random.integers(5, 40, 2 * S)
    return x, img_size, anchors, class_num, 0.375, 32, clip_bbox, 1.125, iou_aware, 0.375
