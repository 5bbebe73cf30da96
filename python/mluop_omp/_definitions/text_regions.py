"""Regions of text in images: kernels that grow over the pixels next to them."""

from __future__ import annotations

from collections import deque

import numpy as np

from mluop_omp._definitions._precision import at_least_float32

_ROWS, _COLUMNS = ((-1, 0), (1, 0)), ((0, -1), (0, 1))


def _grow(labels, seeds, mask, steps, is_near=lambda *_: True):
    """Gives each pixel of the mask the label of the region that reaches it first."""
    queue = deque(zip(*np.nonzero(seeds)))
    while queue:
        y, x = queue.popleft()
        for dy, dx in steps:
            to = y + dy, x + dx
            if not (0 <= to[0] < len(labels) and 0 <= to[1] < len(labels[0])):
                continue
            if mask[to] and labels[to] == 0 and is_near(labels[y, x], to):
                labels[to] = labels[y, x]
                queue.append(to)


def _require_labels(labels, low, high):
    if not all(low <= each <= high for each in labels.flat):
        raise IndexError(f"expected labels from {low} to {high}")


def contour_expand(kernel_mask, internal_kernel_label, min_kernel_area, kernel_num):
    """Reads the first mask only, as mmcv does."""
    labels = internal_kernel_label.astype(np.int32)
    _require_labels(labels, 0, kernel_num)
    if kernel_num < 0:
        raise ValueError(kernel_num)
    areas = np.bincount(labels.ravel(), minlength=1)
    output = labels * (areas[labels] >= min_kernel_area)
    if len(kernel_mask) > 1:
        _grow(output, output, kernel_mask[0], _ROWS + _COLUMNS)
    return output


@np.errstate(all="ignore")
def pixel_group(
    score, mask, embedding, kernel_label, kernel_contour, kernel_region_num, distance_threshold
):
    """Sums in row order, and rounds each squared distance after each channel."""
    score, embedding = map(at_least_float32, (score, embedding))
    number = score.dtype.type
    labels = np.maximum(kernel_label, 0).astype(np.int32)
    _require_labels(labels, 0, max(kernel_region_num - 1, 0))
    limit = number(distance_threshold) * number(distance_threshold)

    def mean(values):
        return np.add.accumulate(values, 0, values.dtype)[-1] / number(len(values))

    means = {each: mean(embedding[labels == each]) for each in np.unique(labels)}

    def is_near(label, to):
        distance = number(0)
        for difference in np.float64(means[label] - embedding[to]):
            distance = number(np.float64(distance) + difference * difference)
            if distance >= limit:
                return False
        return True

    if embedding.shape[2]:
        seeds = (labels > 0) & (kernel_contour != 0)
        _grow(labels, seeds, mask, _COLUMNS + _ROWS, is_near)
    region_score = np.zeros(kernel_region_num, number)
    region_pixels = np.zeros(kernel_region_num, np.int32)
    for each in np.unique(labels[labels > 0]):
        region_score[each] = mean(score[labels == each])
        region_pixels[each] = (labels == each).sum()
    return region_score, region_pixels, labels


def contour_expand_arguments(random, K=3, H=7, W=9, kernel_num=(3, 1), min_kernel_area=(2, 0, 5)):
    labels = random.integers(0, kernel_num + 1, H, W) * (random.integers(0, 4, H, W) == 0)
    mask = (random.floats(K, H, W) > -1).astype(np.uint8)
    return mask, labels.astype(np.int32), min_kernel_area, kernel_num


def pixel_group_arguments(random, H=7, W=9, C=2, R=4, threshold=(1.5, 0.0)):
    labels = random.integers(0, R, H, W) * (random.integers(0, 4, H, W) == 0)
    contour = random.integers(0, 3, H, W).astype(np.uint8)
    inputs = random.floats(H, W), random.floats(H, W) > -1, random.floats(H, W, C)
    return *inputs, labels.astype(np.int32), contour, R, threshold
