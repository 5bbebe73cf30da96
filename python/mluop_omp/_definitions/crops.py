"""RoI crop."""

from __future__ import annotations

import numpy as np

from mluop_omp._definitions._bilinear import corners
from mluop_omp._definitions._precision import at_least_float32


def _pixels(grid, images, H, W):
    """Yields the places of the points for which one of the four pixels around them is in the image,
    and images, pixels and weights.
    """
    grid = at_least_float32(grid)
    number = grid.dtype.type
    y, x = ((grid[..., i] + number(1)) * number(n - 1) / number(2) for i, n in ((0, H), (1, W)))
    image = np.arange(len(grid)) // max(len(grid) // max(images, 1), 1)
    for corner in corners(y, x, H, W):
        place = np.nonzero(corner.exists)
        yield place, image[place[0]], corner.index[place], corner.weight[place]


@np.errstate(all="ignore")
def roi_crop(input, grid):
    B, C, H, W = input.shape
    pixels, output = input.reshape(B, C, H * W), np.zeros((*grid.shape[:3], C))
    for place, image, pixel, weight in _pixels(grid, B, H, W):
        output[place] += weight[:, np.newaxis] * pixels[image, :, pixel]
    return output.transpose(0, 3, 1, 2)


@np.errstate(all="ignore")
def roi_crop_backward(grad_output, grid, image_size):
    (B, H, W), C = image_size, grad_output.shape[1]
    grads, grad_input = grad_output.transpose(0, 2, 3, 1), np.zeros((B, H * W, C))
    for place, image, pixel, weight in _pixels(grid, B, H, W):
        np.add.at(grad_input, (image, pixel), weight[:, np.newaxis] * grads[place])
    return grad_input.transpose(0, 2, 1).reshape(B, C, H, W)


def roi_crop_arguments(random, B=2, C=3, H=4, W=5, grids=2, OH=3, OW=2):
    return random.floats(B, C, H, W), 0.8 * random.floats(B * grids, OH, OW, 2)


def roi_crop_backward_arguments(random, B=2, C=3, H=4, W=5, grids=2, OH=3, OW=2):
    grid = 0.8 * random.floats(B * grids, OH, OW, 2)
    return random.floats(B * grids, C, OH, OW), grid, (B, H, W)
