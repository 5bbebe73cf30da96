"""Neighborhoods of pixels: weighted sums (CARAFE) and products (correlation)."""

from __future__ import annotations

import functools
from typing import Any

from mluop_omp._arrays import NHWC, Arrays, extent, int32
from mluop_omp._definitions import neighborhoods as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, Pair, Precision, operator
from mluop_omp._operators._derivative import (
    Derivative,
    NoDerivative,
    differentiable,
    in_float32,
    linear_terms,
    total,
)
from mluop_omp._operators._descriptors import descriptors
from mluop_omp._operators._torch import Tensor, torch
from mluop_omp._operators.deform_conv import output_size

__all__ = ["carafe", "carafe_backward", "correlation", "correlation_backward"]

_reassembly = functools.lru_cache(maxsize=256)(
    descriptors("Carafe", "mluOpSetCarafeDescriptor", "piiii")
)
_carafe = function("mluOpCarafeForward", "pppppppp")
_carafe_backward = function("mluOpCarafeBackward", "pppppppppppp")
_correlate = function("mluOpOmpCorrelationForward", "piiiiiiiiiiiipppppp")
_correlate_backward = function("mluOpOmpCorrelationBackward", "piiiiiiiiiiiipppppppppp")


@in_float32
def _carafe_gradients(
    grad: Tensor, features: Tensor, masks: Tensor, kernel_size: int, group_size: int, scale: int
) -> tuple[Tensor, Tensor]:
    """Returns the result of carafe_backward, by operators of PyTorch."""
    (N, C, H, W), k, r = features.shape, kernel_size, kernel_size // 2
    groups = N, group_size, C // group_size
    pad = torch.nn.functional.pad
    padded = pad(features, (r, r, r, r))
    taps = [(i, j) for i in range(k) for j in range(k)]
    neighbors = torch.stack([padded[:, :, i : i + H, j : j + W] for i, j in taps], 2)
    neighbors = neighbors.repeat_interleave(scale, 3).repeat_interleave(scale, 4)
    grad, pixels = grad.reshape(*groups, 1, H * scale, W * scale), (k * k, H * scale, W * scale)
    grad_masks = (neighbors.reshape(*groups, *pixels) * grad).sum(2).reshape(masks.shape)
    products = grad * masks.reshape(N, group_size, 1, *pixels)
    products = products.reshape(N, C, k * k, H, scale, W, scale).sum((4, 6))
    margin = 2 * r
    sums = sum(
        pad(each, (j, margin - j, i, margin - i)) for (i, j), each in zip(taps, products.unbind(2))
    )
    return sums[:, :, r : r + H, r : r + W], grad_masks


def _numbers(kernel_size: int, group_size: int, scale_factor: int) -> tuple[int, ...]:
    return (
        int32("kernel_size", kernel_size),
        int32("group_size", group_size),
        int32("scale_factor", scale_factor),
    )


@operator(
    definitions,
    derivative=Derivative(
        lambda needs, grad, *inputs: differentiable(
            "carafe_backward", _carafe_gradients, grad, *inputs
        ),
        lambda inputs, tangents, output: total(
            linear_terms("carafe", inputs, tangents, (0, 1)), output
        ),
    ),
    precision=Precision.WIDEST,
    channels_last=True,
)
def carafe(
    arrays: Arrays,
    features: Array,
    masks: Array,
    kernel_size: int,
    group_size: int = 1,
    scale_factor: int = 2,
) -> Array:
    """Upsamples images with kernels that are predicted for each pixel of the output (CARAFE).

    With k = kernel_size, s = scale_factor, r = (k - 1) // 2 and q = c // (C // group_size),
    ``output[n, c, y, x]`` is the sum over i and j of ``features[n, c, y // s + i - r, x // s + j -
    r] * masks[n, (q * k + i) * k + j, y, x]``. Pixels outside of the image are skipped. The output
    has derivatives with respect to features and masks.

    Args:
        features: float16, bfloat16, float32 or float64 [N, C, H, W]. Tensors in the memory format
            channels_last are taken as they are. Messages of errors call features and masks input
            and mask, and number dimensions as N, H, W, C, as the library does.
        masks: [N, group_size * k * k, s * H, s * W] of the dtype of features.
        kernel_size: k, an odd number.
        group_size: groups of channels with kernels of their own.
        scale_factor: s.

    Returns:
        [N, C, s * H, s * W] of the dtype of features. Sums are fp32 (fp64 for float64), in the
            order of i and j: bit-identical across runs and thread counts.

    Raises:
        MluOpError: kernel_size is even; C is not a multiple of group_size; a number is not
            positive.

    Source: mluOpCarafeForward; CARAFE, arXiv:1905.02188; mmcv carafe, carafe_naive.
    """
    reassembly = arrays.made(_reassembly, 4, *_numbers(kernel_size, group_size, scale_factor))
    held, *features_tensor = arrays.to_nhwc("features", features)
    held_masks, *masks_tensor = arrays.to_nhwc("masks", masks)
    (N, _, _, C), (_, height, width, _) = features_tensor[0].shape, masks_tensor[0].shape
    output, *output_tensor = arrays.output("output", (N, height, width, C), held, layout=NHWC)
    with arrays.handle() as own:
        own.call(_carafe, reassembly, *features_tensor, *masks_tensor, *output_tensor)
    return arrays.from_nhwc(output, features)


@operator(definitions, derivative=NoDerivative(), precision=Precision.WIDEST, channels_last=True)
def carafe_backward(
    arrays: Arrays,
    grad_output: Array,
    features: Array,
    masks: Array,
    kernel_size: int,
    group_size: int = 1,
    scale_factor: int = 2,
) -> tuple[Array, Array]:
    """Returns the gradients of `carafe`.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [N, C, s * H, s * W].
        features, masks, kernel_size, group_size, scale_factor: as in `carafe`.

    Returns:
        grad_features: [N, C, H, W]: sums in the order of the pixels of the output.
        grad_masks: [N, group_size * k * k, s * H, s * W]; 0 for weights outside of the image. Both
            have the dtype of grad_output. Sums are fp32 (fp64 for float64): bit-identical across
            runs and thread counts.

    Source: mluOpCarafeBackward; CARAFE, arXiv:1905.02188; mmcv carafe, carafe_naive.
    """
    reassembly = arrays.made(_reassembly, 4, *_numbers(kernel_size, group_size, scale_factor))
    held_grad, *grad_tensor = arrays.to_nhwc("grad_output", grad_output)
    held, *features_tensor = arrays.to_nhwc("features", features)
    held_masks, *masks_tensor = arrays.to_nhwc("masks", masks)
    outputs: list[Any] = [
        arrays.output(name, tensor[0].shape, held_grad, layout=NHWC)
        for name, tensor in (("grad_features", features_tensor), ("grad_masks", masks_tensor))
    ]
    (grad_features, *to_features), (grad_masks, *to_masks) = outputs
    with arrays.handle() as own:
        own.call(
            *(_carafe_backward, reassembly, *features_tensor, *masks_tensor, *grad_tensor),
            *(*to_features, *to_masks),
        )
    return arrays.from_nhwc(grad_features, features), arrays.from_nhwc(grad_masks, masks)


def _geometry(arrays: Arrays, **pairs: Any) -> dict[str, tuple[int, ...]]:
    return {name: arrays.int32s(name, pair, 2) for name, pair in pairs.items()}


@in_float32
def _correlation_gradients(
    grad: Tensor,
    input1: Tensor,
    input2: Tensor,
    kernel_size: Pair,
    patch_size: Pair,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    dilation_patch: Pair,
) -> tuple[Tensor, Tensor]:
    """Returns the result of correlation_backward, by operators of PyTorch."""
    if grad.numel() == 0 or input1.numel() == 0:
        return torch.zeros_like(input1), torch.zeros_like(input2)
    (N, _, H, W), pad = input1.shape, torch.nn.functional.pad
    geometry = list(zip((H, W), kernel_size, stride, padding, dilation))
    rest = [(size + 2 * p - d * (k - 1) - 1) % s for size, k, s, p, d in geometry]
    # The weight of each pixel of input1: the sum of the gradients of the products that contain it.
    weights = torch.nn.functional.conv_transpose2d(
        grad.reshape(-1, 1, *grad.shape[3:]),
        grad.new_ones(1, 1, *kernel_size),
        None,
        stride,
        padding,
        rest,
        1,
        dilation,
    ).reshape(N, -1, 1, H, W)
    (down, right), (ph, pw) = dilation_patch, patch_size
    y, x = ph // 2 * down, pw // 2 * right
    padded = pad(input2, (x, x, y, y))
    of_input1, of_padded = torch.zeros_like(input1), torch.zeros_like(padded)
    for (p, q), weight in zip(((p, q) for p in range(ph) for q in range(pw)), weights.unbind(1)):
        top, left = p * down, q * right
        of_input1 = of_input1 + weight * padded[:, :, top : top + H, left : left + W]
        margins = left, 2 * x - left, top, 2 * y - top
        of_padded = of_padded + pad(weight * input1, margins)
    return of_input1, of_padded[:, :, y : y + H, x : x + W]


@operator(
    definitions,
    derivative=Derivative(
        lambda needs, grad, *inputs: differentiable(
            "correlation_backward", _correlation_gradients, grad, *inputs
        ),
        lambda inputs, tangents, output: total(
            linear_terms("correlation", inputs, tangents, (0, 1)), output
        ),
    ),
    precision=Precision.WIDEST,
    channels_last=True,
)
def correlation(
    arrays: Arrays,
    input1: Array,
    input2: Array,
    kernel_size: Pair = (1, 1),
    patch_size: Pair = (3, 3),
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
    dilation_patch: Pair = (1, 1),
) -> Array:
    """Multiplies an image with displacements of another (FlowNetC, PWC-Net).

    ``output[n, p, q, h, w]`` is the sum over c, and i and j of the kernel, of ``input1[n, c, y, x]
    * input2[n, c, y + (p - patch_size[0] // 2) * dilation_patch[0], x + (q - patch_size[1] // 2) *
    dilation_patch[1]]``, with ``y = h * stride[0] - padding[0] + i * dilation[0]``; x likewise. A
    product with a pixel outside of its image is 0. The output has derivatives with respect to
    input1 and input2.

    Args:
        input1, input2: float16, bfloat16, float32 or float64 [N, C, H, W]. Tensors in the memory
            format channels_last are taken as they are. Messages of errors number the dimensions as
            N, H, W, C, the order of the library.
        kernel_size: pixels whose products are added, along height and width.
        patch_size: displacements, odd numbers; mmcv has 2 * max_displacement + 1.
        stride, padding, dilation: along height and width, in pixels.
        dilation_patch: distances of displacements, in pixels.

    Returns:
        [N, patch_size[0], patch_size[1], Ho, Wo] of the dtype of input1. Ho is ``(H + 2 *
            padding[0] - dilation[0] * (kernel_size[0] - 1) - 1) // stride[0] + 1``, or 0 if it is
            negative; Wo likewise. Sums are fp32 (fp64 for float64): bit-identical across runs and
            thread counts.

    Raises:
        MluOpError: a patch_size is even; padding is negative, or another number is not positive.

    Source: mluOpOmpCorrelationForward; FlowNet, arXiv:1504.06852; mmcv correlation.
    """
    numbers = _geometry(
        arrays,
        kernel=kernel_size,
        patch=patch_size,
        pad=padding,
        dilation=dilation,
        dilation_patch=dilation_patch,
        stride=stride,
    )
    held1, *tensor1 = arrays.to_nhwc("input1", input1)
    held2, *tensor2 = arrays.to_nhwc("input2", input2)
    N, *pixels, _ = tensor1[0].shape
    sizes = output_size(
        pixels, *(numbers[each] for each in ("kernel", "stride", "pad", "dilation"))
    )
    shape = (N, *map(extent, numbers["patch"]), *sizes)
    output, *output_tensor = arrays.output("output", shape, held1)
    with arrays.handle() as own:
        own.call(_correlate, *_flat(numbers), *tensor1, *tensor2, *output_tensor)
    return output


def _flat(numbers: dict[str, tuple[int, ...]]) -> list[int]:
    return [each for pair in numbers.values() for each in pair]


@operator(definitions, derivative=NoDerivative(), precision=Precision.WIDEST, channels_last=True)
def correlation_backward(
    arrays: Arrays,
    grad_output: Array,
    input1: Array,
    input2: Array,
    kernel_size: Pair = (1, 1),
    patch_size: Pair = (3, 3),
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
    dilation_patch: Pair = (1, 1),
) -> tuple[Array, Array]:
    """Returns the gradients of `correlation`.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [N, patch_size[0], patch_size[1], Ho,
            Wo].
        input1, input2, kernel_size, patch_size, stride, padding, dilation, dilation_patch: as in
            `correlation`.

    Returns:
        grad_input1, grad_input2: [N, C, H, W] of the dtype of grad_output. Sums are fp32 (fp64 for
            float64), in the order of displacements: bit-identical across runs and thread counts.

    Source: mluOpOmpCorrelationBackward; FlowNet, arXiv:1504.06852; mmcv correlation.
    """
    numbers = _geometry(
        arrays,
        kernel=kernel_size,
        patch=patch_size,
        pad=padding,
        dilation=dilation,
        dilation_patch=dilation_patch,
        stride=stride,
    )
    grad_tensor = arrays.tensor("grad_output", grad_output, "N P Q Ho Wo")
    held1, *tensor1 = arrays.to_nhwc("input1", input1)
    held2, *tensor2 = arrays.to_nhwc("input2", input2)
    outputs: list[Any] = [
        arrays.output(name, tensor[0].shape, held1, layout=NHWC)
        for name, tensor in (("grad_input1", tensor1), ("grad_input2", tensor2))
    ]
    (grad1, *to_grad1), (grad2, *to_grad2) = outputs
    with arrays.handle() as own:
        own.call(
            *(_correlate_backward, *_flat(numbers), *grad_tensor, *tensor1, *tensor2),
            *(*to_grad1, *to_grad2),
        )
    return arrays.from_nhwc(grad1, input1), arrays.from_nhwc(grad2, input2)
