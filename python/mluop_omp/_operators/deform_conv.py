"""Deformable convolution."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Callable

from mluop_omp._arrays import DTYPES, NHWC, Arrays, extent, int32
from mluop_omp._definitions import deform_conv as definitions
from mluop_omp._library import Object, bad_param, function
from mluop_omp._operators import _deformable
from mluop_omp._operators._declaration import Array, Pair, Precision, operator
from mluop_omp._operators._deformable import Geometry
from mluop_omp._operators._derivative import Derivative, Kept, NoDerivative, linear_terms, total
from mluop_omp._operators._descriptors import descriptors
from mluop_omp._operators._tensors import require_sizes
from mluop_omp._operators._torch import Tensor, ops, torch
from mluop_omp._operators.sparse_conv import output_space

__all__ = ["deform_conv2d", "deform_conv2d_backward_data", "deform_conv2d_backward_weight"]

_create = descriptors("DCN", "mluOpSetDCNDescriptor", "pipppiiii")
_query = function("mluOpGetDCNForwardWorkspaceSize", "ppppppppp")
_convolve = function("mluOpDCNForward", "pppppppppppppspp")
_query_data = function("mluOpGetDCNBakcwardDataWorkspaceSize", "ppppppppppp")
_convolve_data = function("mluOpDCNBackwardData", "pppppppppppppspppppp")
_query_weight = function("mluOpGetDCNBackwardWeightWorkspaceSize", "ppppppppp")
_convolve_weight = function("mluOpDCNBackwardWeight", "pppppppppppspppp")
# An array, its descriptor and its address.
_Held = tuple[Any, Any, Any]
_NONE: _Held = (None, None, None)


@functools.lru_cache(maxsize=256)
def _descriptor(geometry: Geometry) -> Object:
    stride, (ph, pw), dilation, groups, deformable_groups = geometry
    numbers = deformable_groups, groups, 1, DTYPES["float32"]
    return _create(4, (ph, ph, pw, pw), stride, dilation, *numbers)


def output_size(*geometry: Sequence[int]) -> list[int]:
    """As `output_space`: the extents to allocate along height and width."""
    return [extent(size) for size in output_space(*geometry)]


def _convolution(
    arrays: Arrays, stride: Any, padding: Any, dilation: Any, groups: int, deformable_groups: int
) -> tuple[Geometry, Object]:
    geometry = Geometry(
        arrays.int32s("stride", stride, 2),
        arrays.int32s("padding", padding, 2),
        arrays.int32s("dilation", dilation, 2),
        int32("groups", groups),
        int32("deformable_groups", deformable_groups),
    )
    return geometry, arrays.made(_descriptor, geometry)


def _to_nhwc(arrays: Arrays, **images: Any) -> dict[str, _Held]:
    """Returns the arrays, but for a missing mask, as [N, H, W, C]: held until the call returns."""
    return {
        name: _NONE if name == "mask" and image is None else arrays.to_nhwc(name, image)
        for name, image in images.items()
    }


def _is_empty(geometry: Geometry, filters: Sequence[int], inputs: dict[str, _Held]) -> bool:
    """Returns whether no product has a factor, although outputs may have elements.

    `filters` are Co, kh, kw, Ci / groups.
    """
    N, H, W, Ci = inputs["input"][1].shape
    Co, kh, kw, Cg = filters
    stride, padding, dilation, groups, deformable_groups = geometry
    Ho, Wo = output_size((H, W), (kh, kw), stride, padding, dilation)
    if 0 in (Ho, Wo):
        return False  # The library refuses an output without pixels.
    for name, count, parts in (("weight", Co, groups), ("input", Ci, deformable_groups)):
        if count % parts:
            raise bad_param(f"{name} has {count} channels, expected a multiple of {parts}")
    samples = deformable_groups * kh * kw
    sizes = {
        "input": f"{N} {H} {W} {Cg * groups}",
        "offset": f"{N} {Ho} {Wo} {2 * samples}",
        "mask": f"{N} {Ho} {Wo} {samples}",
        "weight": f"{Co} {kh} {kw} {Cg}",
        "bias": f"{Co}",
        "grad_output": f"{N} {Ho} {Wo} {Co}",
    }
    found = {name: tensor for name, (_, *tensor) in inputs.items() if tensor[0] is not None}
    require_sizes(", ".join(f"{name} {sizes[name]}" for name in found), *found.values())
    return True


def _computes(
    arrays: Arrays,
    convolution: tuple[Geometry, Object],
    function: Callable[..., int],
    query: Callable[..., int],
    filters: Any,
    inputs: dict[str, _Held],
    *outputs: _Held,
) -> bool:
    """Calls a function of the library, unless no product has a factor; returns whether it did.

    `filters` is the descriptor of the filters, or of their gradients.
    """
    geometry, descriptor = convolution
    has_products = not (inputs["input"][1].is_empty or filters.is_empty)
    if not has_products and _is_empty(geometry, filters.shape, inputs):
        return False
    passed = [part for each in inputs.values() for part in each[1:]]
    written = [part for each in outputs for part in each[1:]]
    with arrays.handle() as own:
        workspace = own.workspace(query, descriptor, *passed[::2], *written[::2])
        own.call(function, descriptor, *passed, *workspace, *written)
    return True


def _keep(inputs: tuple, output: Tensor) -> Kept:
    return (), inputs[:4], (inputs[5:],)


def _gradients(
    needs: Sequence[bool],
    grad: Tensor,
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    mask: Tensor | None,
    geometry: tuple,
) -> tuple[Tensor | None, ...]:
    grad_bias = grad.sum((0, 2, 3)) if needs[4] else None
    if torch.is_grad_enabled():
        # The gradients have no derivatives of their own: derivatives of higher order are PyTorch's.
        *gradients, grad_mask = _deformable.backward(
            grad, input, offset, weight, mask, Geometry(*geometry)
        )
        return *gradients, None if mask is None else grad_mask, grad_bias
    grad_input = grad_offset = grad_weight = grad_mask = None
    if needs[0] or needs[1] or needs[3]:
        grad_input, grad_offset, grad_mask = ops.deform_conv2d_backward_data(
            grad, input, offset, weight, mask, *geometry
        )
    if needs[2]:
        grad_weight, grad_bias = ops.deform_conv2d_backward_weight(
            grad, input, offset, mask, weight.shape[2:], *geometry
        )
    of_mask, of_bias = (g if n else None for g, n in zip((grad_mask, grad_bias), needs[3:]))
    return grad_input, grad_offset, grad_weight, of_mask, of_bias


def _jvp(inputs: tuple, tangents: tuple, output: Tensor) -> Tensor:
    input, offset, weight, mask, _, *geometry = inputs
    of_offset, of_bias = tangents[1], tangents[4]
    without_bias = (input, offset, weight, mask, None, *geometry)
    terms = linear_terms("deform_conv2d", without_bias, tangents, (0, 2, 3))
    if of_offset is not None:
        arguments = (of_offset, input, offset, weight, mask, Geometry(*geometry))
        terms.append(_deformable.tangent_along_offset(*arguments))
    if of_bias is not None:
        terms.append(of_bias[:, None, None].expand_as(output))
    return total(terms, output)


@operator(
    definitions,
    derivative=Derivative(_gradients, _jvp, _keep),
    precision=Precision.CONVOLUTION,
    channels_last=True,
)
def deform_conv2d(
    arrays: Arrays,
    input: Array,
    offset: Array,
    weight: Array,
    mask: Array | None = None,
    bias: Array | None = None,
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
) -> Array:
    """Convolves images at positions that offsets move: DCNv1, and with mask DCNv2.

    Output pixel ``(ho, wo)`` reads channel c, of deformable group d, for offset ``(i, j)`` of the
    filter, number ``k = i * kernel_w + j`` of K, at the position

    - ``y = ho * stride[0] - padding[0] + i * dilation[0] + offset[n, 2 * s, ho, wo]``,
    - ``x = wo * stride[1] - padding[1] + j * dilation[1] + offset[n, 2 * s + 1, ho, wo]``,

    s = d * K + k, and multiplies the bilinear interpolation there by ``mask[n, s, ho, wo]``. Pixels
    outside of the image count as 0, and so does a sample unless ``-1 < y < H`` and ``-1 < x < W``.

    Args:
        input: float16, bfloat16, float32 or float64 [N, Ci, H, W]. Images in the memory format
            channels_last are taken as they are. Messages of errors number the dimensions of all
            arrays as N, H, W, C, the order of the library.
        offset: [N, deformable_groups * K * 2, Ho, Wo], in pixels, along height and width.
        weight: [Co, Ci / groups, kernel_h, kernel_w].
        mask: [N, deformable_groups * K, Ho, Wo]; None: 1.
        bias: [Co]; None: 0. All arrays have the dtype of input.
        stride, padding, dilation: along height and width, in pixels.
        groups: groups of channels that are convolved independently.
        deformable_groups: groups of channels of input with positions of their own.

    Returns:
        [N, Co, Ho, Wo], of the dtype of input. Ho is
            (H + 2 * padding[0] - dilation[0] * (kernel_h - 1) - 1) // stride[0] + 1, Wo likewise.
            Sums are fp32 (fp64 for float64): on a given instruction set, bit-identical across runs
            and thread counts.

    Raises:
        MluOpError: a number of channels is not a multiple of a number of groups; the filter exceeds
            the padded image.

    Source: mluOpDCNForward; arXiv:1703.06211, arXiv:1811.11168; mmcv deform_conv2d and
    modulated_deform_conv2d.
    """
    convolution = _convolution(arrays, stride, padding, dilation, groups, deformable_groups)
    inputs = _to_nhwc(arrays, input=input, offset=offset, mask=mask, weight=weight)
    inputs["bias"] = _NONE if bias is None else (bias, *arrays.tensor("bias", bias, "Co"))
    images, filters = inputs["input"][0], inputs["weight"][1]
    (N, H, W, _), (Co, *kernel, _) = inputs["input"][1].shape, filters.shape
    shape = N, *output_size((H, W), kernel, *convolution[0][:3]), Co
    output = arrays.output("output", shape, images, layout=NHWC)
    if not _computes(arrays, convolution, _convolve, _query, filters, inputs, output):
        output[0][...] = 0 if bias is None else bias
    return arrays.from_nhwc(output[0], input)


@operator(
    definitions,
    derivative=NoDerivative(),
    precision=Precision.CONVOLUTION,
    channels_last=True,
)
def deform_conv2d_backward_data(
    arrays: Arrays,
    grad_output: Array,
    input: Array,
    offset: Array,
    weight: Array,
    mask: Array | None = None,
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
) -> tuple[Array, Array, Array]:
    """Returns the gradients of `deform_conv2d` for input, offset and mask.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [N, Co, Ho, Wo].
        input, offset, weight, mask, stride, padding, dilation, groups, deformable_groups: as in
            `deform_conv2d`.

    Returns:
        grad_input: [N, Ci, H, W].
        grad_offset: [N, deformable_groups * K * 2, Ho, Wo]: the gradient of the interpolation,
            whose slope at a pixel is the slope to the next one.
        grad_mask: [N, deformable_groups * K, Ho, Wo], without channels if mask is None. All have
            the dtype of grad_output. Sums are as in `deform_conv2d`.

    Source: mluOpDCNBackwardData; mmcv deform_conv_backward_input, modulated_deform_conv_backward.
    """
    convolution = _convolution(arrays, stride, padding, dilation, groups, deformable_groups)
    images = {"input": input, "offset": offset, "mask": mask, "weight": weight}
    inputs = _to_nhwc(arrays, **images, grad_output=grad_output)
    shapes = {name: inputs[name][1].shape for name in ("input", "offset")}
    # Without mask, its gradient has no channels.
    shapes["mask"] = (*shapes["offset"][:3], 0) if mask is None else inputs["mask"][1].shape
    outputs = [
        arrays.output(f"grad_{name}", shape, inputs["input"][0], layout=NHWC)
        for name, shape in shapes.items()
    ]
    grad_input, grad_offset, grad_mask = outputs
    written = grad_input, grad_offset, _NONE if mask is None else grad_mask
    filters = inputs["weight"][1]
    if not _computes(arrays, convolution, _convolve_data, _query_data, filters, inputs, *written):
        for gradient, _, _ in outputs:
            arrays.fill(gradient, 0)
    return (
        arrays.from_nhwc(grad_input[0], input),
        arrays.from_nhwc(grad_offset[0], offset),
        arrays.from_nhwc(grad_mask[0], offset if mask is None else mask),
    )


@operator(
    definitions,
    derivative=NoDerivative(),
    precision=Precision.CONVOLUTION,
    channels_last=True,
)
def deform_conv2d_backward_weight(
    arrays: Arrays,
    grad_output: Array,
    input: Array,
    offset: Array,
    mask: Array | None,
    kernel: Pair,
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
) -> tuple[Array, Array]:
    """Returns the gradients of `deform_conv2d` for weight and bias.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [N, Co, Ho, Wo].
        kernel: (kernel_h, kernel_w), of weight.
        input, offset, mask, stride, padding, dilation, groups, deformable_groups: as in
            `deform_conv2d`.

    Returns:
        grad_weight: [Co, Ci / groups, kernel_h, kernel_w].
        grad_bias: [Co]. Both have the dtype of grad_output. Sums are as in `deform_conv2d`.

    Source: mluOpDCNBackwardWeight; mmcv deform_conv_backward_parameters,
    modulated_deform_conv_backward.
    """
    convolution = _convolution(arrays, stride, padding, dilation, groups, deformable_groups)
    inputs = _to_nhwc(arrays, input=input, offset=offset, mask=mask, grad_output=grad_output)
    images, grads = inputs["input"][0], inputs["grad_output"][0]
    sizes = [extent(size) for size in arrays.int32s("kernel", kernel, 2)]
    Co, Ci = inputs["grad_output"][1].shape[3], inputs["input"][1].shape[3]
    shape = Co, *sizes, Ci // groups
    grad_weight = arrays.output("grad_weight", shape, images, layout=NHWC)
    grad_bias = arrays.output("grad_bias", (Co,), images)
    if not _computes(
        *(arrays, convolution, _convolve_weight, _query_weight, grad_weight[1], inputs),
        *(grad_weight, grad_bias),
    ):
        arrays.fill(grad_weight[0], 0)
        grad_bias[0][...] = arrays.sum_rows(grads)
    return arrays.from_nhwc(grad_weight[0], grad_output), grad_bias[0]
