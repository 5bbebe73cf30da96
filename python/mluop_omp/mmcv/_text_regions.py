"""The functions of mmcv._ext on regions of text, with the names, arguments and results of mmcv."""

from __future__ import annotations

import torch

from mluop_omp._adapters import Args, compute, takes
from mluop_omp._operators._declaration import operators
from mluop_omp.torch._precision import at_least_float32

# A sum of ones in float32 ends here.
_MAX_COUNT = 2**24


@takes("kernel_mask, internal_kernel_label, min_kernel_area, kernel_num")
def contour_expand(args: Args) -> list[list[int]]:
    """Returns the labels of the pixels, row by row."""
    arguments = args.kernel_mask, args.internal_kernel_label, args.min_kernel_area, args.kernel_num
    return compute(operators.contour_expand, *arguments).tolist()


@takes(
    "score, mask, embedding, kernel_label, kernel_contour, kernel_region_label, distance_threshold"
)
def pixel_group(args: Args) -> list[list[float]]:
    """Returns mean score, number of pixels, and x and y of each pixel in row order, for each label.

    kernel_region_label is mmcv's name for the number of labels.
    """
    score, pixels, text_label = compute(
        operators.pixel_group,
        *(args.score, args.mask, args.embedding, args.kernel_label, args.kernel_contour),
        *(args.kernel_region_label, args.distance_threshold),
        conversion=at_least_float32,
    )
    labels = text_label.flatten()
    # Background, then the pixels of each label in row order.
    places = labels.sort(stable=True)[1][(labels == 0).sum() :]
    width = max(text_label.shape[1], 1)
    points = torch.stack((places % width, places // width), 1).float()
    counts = pixels.tolist()
    return [
        [number, float(min(count, _MAX_COUNT)), *xy.flatten().tolist()]
        for number, count, xy in zip(score.tolist(), counts, points.split(counts))
    ]
