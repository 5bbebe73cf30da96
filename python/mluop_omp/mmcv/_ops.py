"""Functions of mmcv.ops, in place of those that use CUDA, or require more than mmcv._ext does,
before they call it.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Sequence
from typing import Any, Callable

import torch
from torch import Tensor

from mluop_omp._adapters import Args, takes
from mluop_omp._library import bad_param
from mluop_omp.torch import _operators, functional, modules
from mluop_omp.torch._arrays import require_integers, to_int32
from mluop_omp.torch._precision import at_least_float32

_SHAPES = "value_spatial_shapes"


def _extension() -> Any:
    return importlib.import_module("mmcv._ext")


def _sampling(name: str) -> Callable[..., Tensor]:
    """The forward function of a class that samples points or, given their distances, rows."""

    def forward(ctx: Any, points: Tensor, num_points: int) -> Tensor:
        B, N = points.shape[:2]
        output = points.new_empty((B, num_points), dtype=torch.int32)
        temp = points.new_full((B, N), 1e10, dtype=torch.float32)
        getattr(_extension(), name)(points, temp, output, b=B, n=N, m=num_points)
        ctx.mark_non_differentiable(output)
        return output

    return forward


# FurthestPointSampling.forward, and FurthestPointSamplingWithDist.forward, which refuses half.
furthest_point_sampling = _sampling("furthest_point_sampling_forward")
furthest_point_sampling_with_dist = _sampling("furthest_point_sampling_with_dist_forward")


def knn(
    ctx: Any, k: int, xyz: Tensor, center_xyz: Tensor | None = None, transposed: bool = False
) -> Tensor:
    """KNN.forward."""
    if center_xyz is None:
        center_xyz = xyz
    if transposed:
        xyz, center_xyz = xyz.transpose(1, 2), center_xyz.transpose(1, 2)
    (B, M, _), N = center_xyz.shape, xyz.shape[1]
    idx = center_xyz.new_zeros((B, M, k), dtype=torch.int32)
    dist2 = center_xyz.new_zeros((B, M, k), dtype=torch.float32)
    sizes = {"b": B, "n": N, "m": M, "nsample": k}
    _extension().knn_forward(xyz.contiguous(), center_xyz.contiguous(), idx, dist2, **sizes)
    idx = idx.transpose(1, 2).contiguous()
    ctx.mark_non_differentiable(idx)
    return idx


def prroi_pool(
    ctx: Any, features: Tensor, rois: Tensor, output_size: Sequence[int], spatial_scale: float = 1.0
) -> Tensor:
    """PrRoIPoolFunction.forward, which asks for float32; this one takes any element type."""
    ctx.params = (*map(int, output_size), float(spatial_scale))
    output = features.new_empty(len(rois), features.shape[1], *ctx.params[:2])
    _extension().prroi_pool_forward(features, rois, output, *ctx.params)
    ctx.save_for_backward(features, rois, output)
    return output


def carafe_naive_backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
    """CARAFENaiveFunction.backward, which requires tensors of CUDA."""
    features, masks = ctx.saved_tensors
    gradients = torch.zeros_like(features), torch.zeros_like(masks)
    names = "kernel_size", "group_size", "scale_factor"
    numbers = {name: getattr(ctx, name) for name in names}
    _extension().carafe_naive_backward(grad_output, features, masks, *gradients, **numbers)
    return *gradients, None, None, None


def points_in_boxes_part(points: Tensor, boxes: Tensor) -> Tensor:
    output = points.new_full(points.shape[:2], -1, dtype=torch.int32)
    _extension().points_in_boxes_part_forward(boxes.contiguous(), points.contiguous(), output)
    return output


def points_in_boxes_all(points: Tensor, boxes: Tensor) -> Tensor:
    output = points.new_zeros((*points.shape[:2], boxes.shape[1]), dtype=torch.int32)
    _extension().points_in_boxes_all_forward(boxes.contiguous(), points.contiguous(), output)
    return output


def _of_extension(name: str, parameters: str) -> Callable[..., Any]:
    """A function of sparse_ops, which asks for float32 or half; this one takes any element type."""

    def call(args: Args) -> Any:
        return getattr(_extension(), name)(*vars(args).values())

    call.__name__ = name
    return takes(parameters)(call)


_PAIRS = "indice_pairs, indice_pair_num"
indice_conv = _of_extension(
    "indice_conv_forward",
    f"features, filters, {_PAIRS}, num_activate_out, inverse=False, subm=False",
)
indice_conv_backward = _of_extension(
    "indice_conv_backward", f"features, filters, out_bp, {_PAIRS}, inverse=False, subm=False"
)
indice_maxpool = _of_extension("indice_maxpool_forward", f"features, {_PAIRS}, num_activate_out")
indice_maxpool_backward = _of_extension(
    "indice_maxpool_backward", f"features, out_features, out_bp, {_PAIRS}"
)


def masked_conv2d(
    features: Tensor,
    mask: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Unlike mmcv's, takes no bias too, and weights of any memory format, and has gradients.

    mmcv calls no kernel for a mask without pixels.
    """
    if any(each != 1 for each in _pair(stride)):
        raise ValueError(f"stride is {stride}, expected 1")
    if mask.numel() == 0 or not (mask > 0).any():
        function = importlib.import_module("mmcv.ops.masked_conv").MaskedConv2dFunction
        return function.apply(features, mask, weight, bias, padding)
    return modules.masked_conv2d(features, mask, weight, bias, _pair(padding))


def _pair(value: int | Sequence[int]) -> tuple[int, ...]:
    return (value, value) if isinstance(value, int) else tuple(value)


def _tensor(shapes: Tensor | Sequence[Sequence[int | Tensor]]) -> Tensor:
    """Returns the shapes as a tensor, also if they are a sequence of levels."""
    if not isinstance(shapes, (list, tuple)):
        return torch.as_tensor(shapes)
    sizes = [size for level in shapes for size in level]
    if any(isinstance(size, Tensor) for size in sizes):
        return torch.stack([torch.as_tensor(size) for size in sizes]).view(len(shapes), 2)
    return torch.as_tensor(sizes).view(len(shapes), 2)


def _checked(shapes: Tensor) -> Tensor:
    if shapes.dim() != 2 or shapes.shape[1] != 2:
        raise bad_param(f"{_SHAPES} has shape {list(shapes.shape)}, expected H, W of each level")
    return require_integers(_SHAPES, shapes)


def _levels_of_keys(value_spatial_shapes: Tensor, keys: int) -> tuple[Tensor, Tensor]:
    """Returns shapes and starts of the levels, int32, which have all of the keys."""
    shapes = to_int32(_SHAPES, _checked(value_spatial_shapes))
    starts = [0, *itertools.accumulate(height * width for height, width in shapes.tolist())]
    pixels = starts.pop()
    if pixels != keys:
        raise bad_param(f"{_SHAPES} has {pixels} pixels in all, expected {keys}, as value has keys")
    return shapes, torch.tensor(starts, dtype=torch.int32)


def _levels_of_keys_fake(value_spatial_shapes: Tensor, keys: int) -> tuple[Tensor, Tensor]:
    shapes = _checked(value_spatial_shapes)
    starts = shapes.new_empty(len(shapes), dtype=torch.int32)
    return torch.empty_like(shapes, dtype=torch.int32), starts


# An operator, so that compiled programs read the shapes when they run.
_operators.define(
    "ms_deform_attn_levels",
    "(Tensor spatial_shapes, SymInt keys) -> (Tensor shapes, Tensor starts)",
    _levels_of_keys,
    _levels_of_keys_fake,
)


def multi_scale_deformable_attn(
    value: Tensor,
    value_spatial_shapes: Tensor | Sequence[Sequence[int]],
    sampling_locations: Tensor,
    attention_weights: Tensor,
) -> Tensor:
    """multi_scale_deformable_attn_pytorch, which mmcv applies on CPUs.

    Half and bfloat16 are computed in float32. The result has the element type of mmcv's: float32
    under torch.autocast, else the wider one of value and attention_weights.
    """
    shapes = _tensor(value_spatial_shapes)
    levels = _operators.OPERATORS.ms_deform_attn_levels(shapes, value.shape[1])
    single, *samples = at_least_float32(value, sampling_locations, attention_weights)
    output = functional.ms_deform_attn(single, *levels, *samples).flatten(2)
    dtype = single.dtype if torch.is_autocast_enabled("cpu") else value.dtype
    return output.to(torch.promote_types(dtype, attention_weights.dtype))
