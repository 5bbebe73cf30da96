"""Grid sampling and rotation of images, as mmdeploy and plugins of TensorRT have them."""

from __future__ import annotations

import numpy as np

from mluop_omp._library import bad_param
from mluop_omp.onnx._nodes._checks import as_single, require_one_of, require_same_dtype, rounded
from mluop_omp.onnx._nodes._grid import LINEAR, NEAREST, sample
from mluop_omp.onnx._table import REQUIRED, TENSORRT, Integer, node

_MODES = {"interpolation_mode": 0, "padding_mode": 0, "align_corners": 0}
# The unit of the grids of BEVFormer_tensorrt.
_UNIT = 10


@node(
    "mmdeploy",
    "mmcv",
    name="grid_sampler",
    inputs=("input", "grid"),
    attributes=_MODES,
    source="open-mmlab/mmdeploy",
)
def sample_grid(
    input: np.ndarray,
    grid: np.ndarray,
    *,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: int,
) -> tuple[np.ndarray]:
    """Samples images at the points of a grid, as torch.nn.functional.grid_sample.

    input is [N, C, H, W] and grid [N, Ho, Wo, 2], x and y from -1 to 1; or [N, C, D, H, W] and
    [N, Do, Ho, Wo, 3], x, y and z, which the TensorRT plugin alone takes. interpolation_mode is 0
    bilinear, 1 nearest, 2 bicubic (images only); padding_mode is 0 zeros, 1 border, 2 reflection.

    The nearest pixel of a half is the even one, as in PyTorch; CUDA kernels take the one away from
    0. A position that is not finite lies outside of the image, as in the kernels. Half precision is
    computed in single and rounded once.
    """
    if input.ndim not in (4, 5) or grid.ndim != input.ndim:
        raise bad_param(
            f"input and grid have shapes {list(input.shape)} and {list(grid.shape)}, expected 4 or "
            "5 dimensions each"
        )
    return (_sampled(input, grid, interpolation_mode, padding_mode, align_corners),)


def _sampled(
    input: np.ndarray, grid: np.ndarray, interpolation: int, padding: int, align_corners: int
) -> np.ndarray:
    require_same_dtype("input", input, "grid", grid)
    require_one_of("interpolation_mode", interpolation, (0, 1, 2))
    require_one_of("padding_mode", padding, (0, 1, 2))
    require_one_of("align_corners", align_corners, (0, 1))
    modes = interpolation, padding, bool(align_corners)
    return rounded(sample(as_single(input), as_single(grid), *modes), input.dtype)


@node(
    *TENSORRT,
    name=("GridSampler2DTRT", "GridSampler2DTRT2"),
    inputs=("input", "grid"),
    shapes={"input": "N _ _ _", "grid": "N 2 _ _"},
    attributes=_MODES,
    source="DerryHub/BEVFormer_tensorrt",
)
@node(
    *TENSORRT,
    name=("GridSampler3DTRT", "GridSampler3DTRT2"),
    inputs=("input", "grid"),
    shapes={"input": "N _ _ _ _", "grid": "N 3 _ _ _"},
    attributes=_MODES,
    source="DerryHub/BEVFormer_tensorrt",
)
def sample_plane_grid(
    input: np.ndarray,
    grid: np.ndarray,
    *,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: int,
) -> tuple[np.ndarray]:
    """Samples as grid_sampler, with a grid of planes whose unit is a tenth.

    grid is [N, 2, Ho, Wo] or [N, 3, Do, Ho, Wo]: x, y (and z), from -10 to 10. Half precision is
    computed in single and rounded once.
    """
    points = np.ascontiguousarray(np.moveaxis(grid, 1, -1))
    scaled = as_single(points) / _UNIT
    require_same_dtype("input", input, "grid", grid)
    modes = interpolation_mode, padding_mode, align_corners
    return (rounded(_sampled(as_single(input), scaled, *modes), input.dtype),)


@node(
    *TENSORRT,
    name=("RotateTRT", "RotateTRT2"),
    inputs=("img", "angle", "center"),
    shapes={"img": "C H W", "center": "2"},
    attributes={"interpolation": REQUIRED(Integer)},
    source="DerryHub/BEVFormer_tensorrt",
)
@node(
    "custom_op",
    *TENSORRT,
    name="RotatePlugin",
    inputs=("img", "angle", "center"),
    shapes={"img": "C H W", "center": "2"},
    attributes={"interpolation": 1},
    source="NVIDIA/DL4AGX",
)
def rotate(
    img: np.ndarray, angle: np.ndarray, center: np.ndarray, *, interpolation: int
) -> tuple[np.ndarray]:
    """Rotates an image by an angle in degrees, counter-clockwise on the screen, about a center.

    With a = -angle, and with x, y and the center (cx, cy) measured from the middle of the image,
    pixel (x, y) of the output samples the image at (cos a (x - cx) + sin a (y - cy) + cx,
    -sin a (x - cx) + cos a (y - cy) + cy). Pixels outside of the image are 0. center is (x, y) in
    pixels from the upper left corner; angle has one element. interpolation is 0 bilinear, 1
    nearest: of a half the even pixel, as in PyTorch and in the half-precision kernel; the kernels
    of single precision take the one away from 0.

    Half precision is computed in single and rounded once. RotatePlugin declares no attribute to
    TensorRT, whose engines hence always take the nearest pixel; an exported interpolation counts
    here.
    """
    require_one_of("interpolation", interpolation, (LINEAR, NEAREST))
    if angle.size != 1:
        raise bad_param(f"input angle has shape {list(angle.shape)}, expected one element")
    image = as_single(img)
    grid = _rotated_grid(img.shape[1:], angle.astype(image.dtype), center.astype(image.dtype))
    return (rounded(sample(image[None], grid, interpolation)[0], img.dtype),)


def _rotated_grid(size: tuple[int, ...], angle: np.ndarray, center: np.ndarray) -> np.ndarray:
    """Returns [1, H, W, 2], in the precision of the angle."""
    real = angle.dtype
    H, W = size
    radians = -angle.reshape(()) * real.type(np.pi) / real.type(180)
    cos, sin = np.cos(radians), np.sin(radians)
    x_center, y_center = center - np.array([W, H], real) / 2
    x = np.arange(W, dtype=real) - (W - 1) / 2
    y = (np.arange(H, dtype=real) - (H - 1) / 2)[:, None]
    x_offset = -x_center * cos - y_center * sin + x_center
    y_offset = x_center * sin - y_center * cos + y_center
    x_source, y_source = x * cos + y * sin + x_offset, -x * sin + y * cos + y_offset
    scale = 2 / np.array([max(W, 1), max(H, 1)], real)
    return (np.stack((x_source, y_source), -1) * scale)[None]
