"""Neighborhoods of pixels: weighted sums (CARAFE) and products (correlation)."""

from __future__ import annotations

import functools
from typing import Any

from mluop_omp._arrays import NHWC, Arrays, int32
from mluop_omp._definitions import neighborhoods as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, Precision, operator
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

__all__ = ["carafe", "carafe_backward"]

_reassembly = functools.lru_cache(maxsize=256)(
    descriptors("Carafe", "mluOpSetCarafeDescriptor", "piiii")
)
_carafe = function("mluOpCarafeForward", "pppppppp")
_carafe_backward = function("mluOpCarafeBackward", "pppppppppppp")


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
