"""RoI crop: samples an image at the points of grids."""

from __future__ import annotations

from mluop_omp._arrays import NHWC, Arrays, extent
from mluop_omp._definitions import crops as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, Precision, Triple, operator
from mluop_omp._operators._derivative import Linear
from mluop_omp._operators._torch import ops

__all__ = ["roi_crop", "roi_crop_backward"]

_crop = function("mluOpRoiCropForward", "ppppppp")
_crop_backward = function("mluOpRoiCropBackward", "ppppppp")


@operator(
    definitions,
    derivative=Linear(
        input=lambda grad, shape, grid: ops.roi_crop_backward(grad, grid, [shape[0], *shape[2:]])
    ),
    precision=Precision.WIDEST,
    channels_last=True,
)
def roi_crop(arrays: Arrays, input: Array, grid: Array) -> Array:
    """Samples an image at the points of grids, by bilinear interpolation (CoupleNet).

    A point (gy, gx) is at ``y = (gy + 1) * (H - 1) / 2`` and ``x = (gx + 1) * (W - 1) / 2``,
    between four pixels; pixels outside of the image are 0. A point that is not finite gives 0. Grid
    k samples the image ``k // (n // B)``. The output has a derivative with respect to input; the
    derivative for grid is 0. torch.nn.functional.grid_sample with align_corners has x before y.

    Args:
        input: float16, bfloat16, float32 or float64 [B, C, H, W]. float16 and bfloat16 are computed
            in float32. Images in the memory format channels_last are taken as they are. Messages of
            errors number the dimensions as N, H, W, C, the order of the library.
        grid: [n, OH, OW, 2] of the dtype of input: y, x; -1 to 1 are in the image.

    Returns:
        [n, C, OH, OW] of the dtype of input.

    Raises:
        MluOpError: n is not a multiple of B.

    Source: mluOpRoiCropForward; CoupleNet, arXiv:1708.02863.
    """
    held, *tensor = arrays.to_nhwc("input", input)
    grid = arrays.to_nchw(grid)  # Not an image.
    grid_tensor = arrays.tensor("grid", grid, "n OH OW 2")
    shape = (*grid_tensor[0].shape[:3], tensor[0].shape[3])
    output, *output_tensor = arrays.output("output", shape, held, layout=NHWC)
    with arrays.handle() as own:
        own.call(_crop, *tensor, *grid_tensor, *output_tensor)
    return arrays.from_nhwc(output, input)


@operator(
    definitions,
    derivative=Linear(grad_output=lambda grad, _, grid, image_size: ops.roi_crop(grad, grid)),
    precision=Precision.WIDEST,
    channels_last=True,
)
def roi_crop_backward(arrays: Arrays, grad_output: Array, grid: Array, image_size: Triple) -> Array:
    """Returns the gradient of `roi_crop` for input.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [n, C, OH, OW].
        grid: [n, OH, OW, 2], of the dtype of grad_output.
        image_size: B, H, W of input.

    Returns:
        [B, C, H, W], of the dtype of grad_output. Sums are fp32 (fp64 for float64), in the order of
            points: bit-identical across runs and thread counts.

    Source: mluOpRoiCropBackward; CoupleNet, arXiv:1708.02863.
    """
    held, *tensor = arrays.to_nhwc("grad_output", grad_output)
    grid = arrays.to_nchw(grid)  # Not an image.
    grid_tensor = arrays.tensor("grid", grid, "n OH OW 2")
    B, H, W = arrays.int32s("image_size", image_size, 3)
    shape = (extent(B), extent(H), extent(W), tensor[0].shape[3])
    grad_input, *input_tensor = arrays.output("grad_input", shape, held, layout=NHWC)
    with arrays.handle() as own:
        own.call(_crop_backward, *tensor, *grid_tensor, *input_tensor)
    return arrays.from_nhwc(grad_input, grad_output)
