"""Attention: samples of several levels, and the masks of PSANet."""

from __future__ import annotations

import itertools
from typing import Any

from mluop_omp._arrays import NHWC, Arrays, enumerator, extent
from mluop_omp._definitions import attention as definitions
from mluop_omp._library import function
from mluop_omp._operators._bilinear import corners
from mluop_omp._operators._declaration import Array, Pair, Precision, operator
from mluop_omp._operators._derivative import (
    Derivative,
    Linear,
    NoDerivative,
    differentiable,
    linear_terms,
    total,
)
from mluop_omp._operators._tensors import require_sizes
from mluop_omp._operators._torch import Tensor, ops, torch

__all__ = ["ms_deform_attn", "ms_deform_attn_backward", "psamask", "psamask_backward"]

_attend = function("mluOpMsDeformAttnForward", "pppppppppppipp")
_attend_backward = function("mluOpMsDeformAttnBackward", "pppppppppppppipppppp")
# Results do not depend on it.
_IM2COL_STEP = 2**31 - 1
_INPUTS = (
    "value B K M D, spatial_shapes: L 2, level_start_index: L, "
    "sampling_locations B Q M L P 2, attention_weights B Q M L P"
)


def _inputs(
    arrays: Arrays, value: Any, shapes: Any, starts: Any, locations: Any, weights: Any
) -> tuple[tuple[Any, int], ...]:
    return (
        arrays.tensor("value", value, "B K M D"),
        arrays.tensor("spatial_shapes", shapes, "L 2"),
        arrays.tensor("level_start_index", starts, "L"),
        arrays.tensor("sampling_locations", locations, "B Q M L P 2"),
        arrays.tensor("attention_weights", weights, "B Q M L P"),
    )


def _samples(
    value: Tensor, shapes: Tensor, starts: Tensor, locations: Tensor
) -> tuple[tuple[Tensor, ...], Tensor, Tensor, Tensor]:
    """Returns the pixels around the samples of ms_deform_attn, by operators of PyTorch:

    the index of their keys in value, their weights, 0 outside of the level, and the derivatives of
    the weights with respect to x and y of the location. All are [4, B, Q, M, S].
    """
    P = locations.shape[4]
    height, width, start = (
        each.repeat_interleave(P).long() for each in (*shapes.unbind(1), starts)
    )
    x, y = locations.flatten(3, 4).unbind(4)
    pixels = []
    for corner in corners(y * height - 0.5, x * width - 0.5, height, width):
        along_y, along_x = corner.slopes
        found = start + corner.pixel, corner.weight, along_x * width, along_y * height
        pixels.append([torch.where(corner.exists, each, 0) for each in found])
    keys, weights, along_x, along_y = map(torch.stack, zip(*pixels))
    B, _, M, _ = value.shape
    batch = torch.arange(B, device=value.device).view(1, B, 1, 1, 1)
    head = torch.arange(M, device=value.device).view(1, 1, 1, M, 1)
    return (batch, keys, head), weights, along_x, along_y


def _formula(
    grad: Tensor, value: Tensor, shapes: Tensor, starts: Tensor, locations: Tensor, weights: Tensor
) -> tuple[Tensor, ...]:
    """Returns the result of ms_deform_attn_backward, by operators of PyTorch."""
    if value.numel() == 0 or weights.numel() == 0:
        return torch.zeros_like(value), torch.zeros_like(locations), torch.zeros_like(weights)
    index, of_pixels, *slopes = _samples(value, shapes, starts, locations)
    attention = weights.flatten(3)
    product = (value[index] * grad.unsqueeze(3)).sum(-1)
    of_weights = (of_pixels * product).sum(0).view(weights.shape)
    of_locations = torch.stack([attention * (each * product).sum(0) for each in slopes], -1)
    terms = (of_pixels * attention).unsqueeze(-1) * grad.unsqueeze(3)
    of_value = torch.zeros_like(value).index_put(index, terms, accumulate=True)
    return of_value, of_locations.view(locations.shape), of_weights


def _gradients(needs: Any, *arguments: Tensor) -> tuple[Tensor | None, ...]:
    of_value, *others = differentiable("ms_deform_attn_backward", _formula, *arguments)
    return of_value, None, None, *others


def _jvp(inputs: tuple, tangents: tuple, output: Tensor) -> Tensor:
    value, *_, weights = inputs
    terms = linear_terms("ms_deform_attn", inputs, tangents, (0, 4))
    if tangents[3] is not None and value.numel() and weights.numel():
        index, _, along_x, along_y = _samples(*inputs[:4])
        attention = weights.flatten(3)
        # Unlike flatten, reshape has a rule for the batched tangents of gradcheck.
        x, y = (each.reshape(attention.shape) for each in tangents[3].unbind(5))
        factor = attention * (along_x * x + along_y * y)
        terms.append((factor.unsqueeze(-1) * value[index]).sum((0, 4)))
    return total(terms, output)


@operator(definitions, derivative=Derivative(_gradients, _jvp))
def ms_deform_attn(
    arrays: Arrays,
    value: Array,
    spatial_shapes: Array,
    level_start_index: Array,
    sampling_locations: Array,
    attention_weights: Array,
) -> Array:
    """Adds samples of the values of several levels for each query and head (Deformable DETR).

    A level of H x W pixels has the keys from its start on, row by row. A sample (x, y) is at
    ``(x W - 0.5, y H - 0.5)``, interpolated from the four pixels around it; pixels outside of the
    level are 0. A sample that is a pixel outside, or NaN, is not used. The output has derivatives
    with respect to value, sampling_locations and attention_weights.

    Args:
        value: float32 or float64 [B, K, M, D]: K keys of M heads.
        spatial_shapes: int32 [L, 2]: H, W.
        level_start_index: int32 [L]: the first key of each level.
        sampling_locations: [B, Q, M, L, P, 2] of the dtype of value: x, y; 0 to 1 are in the level.
        attention_weights: [B, Q, M, L, P] of the dtype of value.

    Returns:
        [B, Q, M, D] of the dtype of value: the sums over L and P of weights times samples. It is
        empty if B, Q, M or D is 0, which the C API refuses. mmcv returns [B, Q, M D].

    Raises:
        MluOpError: a level has keys outside of value.

    Source: mluOpMsDeformAttnForward; arXiv:2010.04159; mmcv MultiScaleDeformableAttention.
    """
    levels = spatial_shapes, level_start_index
    inputs = _inputs(arrays, value, *levels, sampling_locations, attention_weights)
    (B, _, M, D), Q = inputs[0][0].shape, inputs[3][0].shape[1]
    output, *output_tensor = arrays.output("output", (B, Q, M, D), value)
    if output_tensor[0].is_empty:
        require_sizes(f"{_INPUTS}, output B Q M D", *inputs, output_tensor)
        return output
    with arrays.handle() as own:
        own.call(_attend, *itertools.chain(*inputs), _IM2COL_STEP, *output_tensor)
    return output


@operator(definitions, derivative=NoDerivative())
def ms_deform_attn_backward(
    arrays: Arrays,
    grad_output: Array,
    value: Array,
    spatial_shapes: Array,
    level_start_index: Array,
    sampling_locations: Array,
    attention_weights: Array,
) -> tuple[Array, Array, Array]:
    """Returns the gradients of `ms_deform_attn`.

    Args:
        grad_output: float32 or float64 [B, Q, M, D].
        value, spatial_shapes, level_start_index, sampling_locations, attention_weights: as in
            `ms_deform_attn`.

    Returns:
        grad_value: [B, K, M, D]; 0 for keys of no sample. Sums are in the order of queries:
            bit-identical across runs and thread counts.
        grad_sampling_locations: [B, Q, M, L, P, 2]; 0 for samples that are not used.
        grad_attention_weights: [B, Q, M, L, P]; 0 for samples that are not used.

    Raises:
        MluOpError: a level has keys outside of value.

    Source: mluOpMsDeformAttnBackward; mmcv MultiScaleDeformableAttention.
    """
    grad = arrays.tensor("grad_output", grad_output, "B Q M D")
    levels = spatial_shapes, level_start_index
    inputs = _inputs(arrays, value, *levels, sampling_locations, attention_weights)
    of_value, *value_tensor = arrays.output("grad_value", inputs[0][0].shape, grad_output)
    of_locations, *locations_tensor = arrays.output(
        "grad_sampling_locations", inputs[3][0].shape, grad_output
    )
    of_weights, *weights_tensor = arrays.output(
        "grad_attention_weights", inputs[4][0].shape, grad_output
    )
    gradients, tensors = (
        (of_value, of_locations, of_weights),
        (value_tensor, locations_tensor, weights_tensor),
    )
    if grad[0].is_empty:
        declaration = (
            f"{_INPUTS}, grad_output B Q M D, grad_value B K M D, "
            "grad_sampling_locations B Q M L P 2, grad_attention_weights B Q M L P"
        )
        require_sizes(declaration, *inputs, grad, *tensors)
        for each in gradients:
            arrays.fill(each, 0)
        return gradients
    with arrays.handle() as own:
        own.call(
            *(_attend_backward, *itertools.chain(*inputs), *grad, _IM2COL_STEP),
            *itertools.chain(*tensors),
        )
    return gradients


PSA_TYPES = {"collect": 0, "distribute": 1}
_psamask = function("mluOpPsamaskForward", "pippiipp")
_psamask_backward = function("mluOpPsamaskBackward", "pippiipp")


def _move(arrays: Arrays, move: Any, name: str, array: Any, *arguments: Any) -> Any:
    """Calls `move`, forward or backward, whose tensors are [N, H, W, channels]."""
    mask_size, psa_type = arguments
    h_mask, w_mask = arrays.int32s("mask_size", mask_size, 2)
    code = enumerator("psa_type", psa_type, PSA_TYPES)
    held, *tensor = arrays.to_nhwc(name, array)
    N, H, W, _ = tensor[0].shape
    channels = H * W if move is _psamask else extent(h_mask) * extent(w_mask)
    output, *output_tensor = arrays.output("output", (N, H, W, channels), held, layout=NHWC)
    with arrays.handle() as own:
        own.call(move, code, *tensor, h_mask, w_mask, *output_tensor)
    return arrays.from_nhwc(output, array)


@operator(
    definitions,
    derivative=Linear(input=lambda grad, _, *numbers: ops.psamask_backward(grad, *numbers)),
    precision=Precision.WIDEST,
    channels_last=True,
)
def psamask(arrays: Arrays, input: Array, mask_size: Pair, psa_type: str = "collect") -> Array:
    """Moves the mask of each pixel to the pixels that its elements belong to (PSANet).

    Element (a, b) of the mask of pixel (h, w) belongs to pixel (i, j), with ``i = h + a -
    (mask_size[0] - 1) // 2`` and ``j = w + b - (mask_size[1] - 1) // 2``. With m = a * mask_size[1]
    + b, "collect" is ``output[n, i * W + j, h, w] = input[n, m, h, w]``, "distribute" is
    ``output[n, h * W + w, i, j] = input[n, m, h, w]``. All other elements of output are 0.

    Args:
        input: float16, bfloat16, float32 or float64 [N, mask_size[0] * mask_size[1], H, W]. Tensors
            in the memory format channels_last are taken as they are. Messages of errors number the
            dimensions as N, H, W, C, the order of the library.
        mask_size: height and width of a mask. A mask of odd size is centered on its pixel; one of
            even size extends one pixel further down and to the right.
        psa_type: "collect" or "distribute".

    Returns:
        [N, H * W, H, W] of the dtype of input: copies, exact.

    Raises:
        MluOpError: psa_type is another word; a size is negative.

    Source: mluOpPsamaskForward; PSANet, ECCV 2018; mmcv psa_mask.
    """
    return _move(arrays, _psamask, "input", input, mask_size, psa_type)


@operator(
    definitions,
    derivative=Linear(grad_output=lambda grad, _, *numbers: ops.psamask(grad, *numbers)),
    precision=Precision.WIDEST,
    channels_last=True,
)
def psamask_backward(
    arrays: Arrays, grad_output: Array, mask_size: Pair, psa_type: str = "collect"
) -> Array:
    """Returns the gradient of the input of `psamask`.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [N, H * W, H, W].
        mask_size, psa_type: as in `psamask`.

    Returns:
        [N, mask_size[0] * mask_size[1], H, W] of the dtype of grad_output: copies, exact; 0 for
            mask elements that belong to no pixel.

    Source: mluOpPsamaskBackward; PSANet, ECCV 2018; mmcv psa_mask.
    """
    return _move(arrays, _psamask_backward, "grad_output", grad_output, mask_size, psa_type)
