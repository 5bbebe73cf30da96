"""The gradients of the operators."""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch import Tensor

from mluop_omp.torch import _operators

call, _ops = _operators.call, _operators.OPERATORS


def _save_pos_memo(ctx: Any, inputs: tuple, output: tuple) -> None:
    ctx.save_for_backward(output[1])


def _voxel_pooling(ctx: Any, grad: Tensor, _: Any) -> tuple:
    (pos_memo,) = ctx.saved_tensors
    return None, call(_ops.voxel_pooling_backward, grad.contiguous(), pos_memo), None


def _save_scatter(ctx: Any, inputs: tuple, output: tuple) -> None:
    feats, _, ctx.reduce = inputs
    voxel_feats, _, voxel_map, count = output
    ctx.save_for_backward(feats, voxel_feats, voxel_map, count)


def _dynamic_scatter(ctx: Any, grad: Tensor, *_: Any) -> tuple:
    grad_feats = call(
        _ops.dynamic_scatter_backward, grad.contiguous(), *ctx.saved_tensors, ctx.reduce
    )
    return grad_feats, None, None


def _save_neighbors(ctx: Any, inputs: tuple, output: tuple) -> None:
    ctx.save_for_backward(*inputs, *output)


def _three_nn(ctx: Any, grad: Tensor, _: Any) -> tuple:
    unknown, known, dist2, idx = ctx.saved_tensors
    B, N, _ = unknown.shape
    flat = idx.reshape(B, 3 * N, 1).expand(-1, -1, 3).long()
    if known.shape[1] == 0:
        return torch.zeros_like(unknown), torch.zeros_like(known)
    difference = unknown.unsqueeze(2) - known.gather(1, flat).view(B, N, 3, 3)
    # An infinite distance is that of no known point.
    weight = torch.where(dist2.isfinite(), 2 * grad, 0).unsqueeze(3)
    grads = torch.where(weight == 0, 0, weight * difference)
    grad_known = torch.zeros_like(known).scatter_add(1, flat, -grads.view(B, 3 * N, 3))
    return grads.sum(2), grad_known


def _save_interpolation(ctx: Any, inputs: tuple, output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _three_interpolate(ctx: Any, grad: Tensor) -> tuple:
    feats, idx, weight = ctx.saved_tensors
    grad_feats = grad_weight = None
    if ctx.needs_input_grad[0]:
        grad_feats = call(
            _ops.three_interpolate_backward, grad.contiguous(), idx, weight, feats.shape[2]
        )
    if ctx.needs_input_grad[2]:
        B, C, N = grad.shape
        flat = idx.reshape(B, 1, 3 * N).expand(-1, C, -1).long()
        grad_weight = (feats.gather(2, flat).view(B, C, N, 3) * grad.unsqueeze(3)).sum(1)
    return grad_feats, None, grad_weight


def _save_windows(ctx: Any, inputs: tuple, output: Tensor) -> None:
    im, mask_h, mask_w, ctx.kernel, ctx.pad = inputs
    ctx.size = im.shape[1:]
    ctx.save_for_backward(mask_h, mask_w)


def _masked_im2col(ctx: Any, grad: Tensor) -> tuple:
    mask_h, mask_w = ctx.saved_tensors
    C, H, W = ctx.size
    (kernel_h, kernel_w), (pad_h, pad_w) = ctx.kernel, ctx.pad
    h = mask_h.long() - pad_h + torch.arange(kernel_h).view(-1, 1, 1)
    w = mask_w.long() - pad_w + torch.arange(kernel_w).view(1, -1, 1)
    inside = (h >= 0) & (h < H) & (w >= 0) & (w < W)
    # The last column collects what is outside.
    pixel = torch.where(inside, h * W + w, H * W).flatten()
    sums = grad.new_zeros(C, H * W + 1).index_add(1, pixel, grad.reshape(C, -1))
    return sums[:, :-1].reshape(1, C, H, W), None, None, None, None


def _save_masks(ctx: Any, inputs: tuple, output: Tensor) -> None:
    _, mask_h, mask_w, ctx.size = inputs
    ctx.save_for_backward(mask_h, mask_w)


def _masked_col2im(ctx: Any, grad: Tensor) -> tuple:
    mask_h, mask_w = (mask.long() for mask in ctx.saved_tensors)
    H, W = ctx.size
    pixel = mask_h * W + mask_w
    # Of equal masks, the last determines the pixel.
    number = torch.arange(pixel.shape[0])
    last = number.new_full((H * W,), -1).scatter_reduce(0, pixel, number, "amax")
    grad_col = grad.reshape(grad.shape[1], -1)[:, pixel] * (last[pixel] == number)
    return grad_col, None, None, None


def _save_convolution(ctx: Any, inputs: tuple, output: Tensor) -> None:
    feats, filters, pairs, num, _, ctx.subm, ctx.layout = inputs
    ctx.save_for_backward(feats, filters, pairs, num)


# The gradient of the filters is [D, H, W, Ci, Co].
_FILTER_AXES = {"ARRAY": (0, 1, 2, 3, 4), "NDHWC": (4, 0, 1, 2, 3), "NCDHW": (4, 3, 0, 1, 2)}


def _indice_conv(ctx: Any, grad: Tensor) -> tuple:
    feats, filters, pairs, num = ctx.saved_tensors
    grad = grad.contiguous()
    grad_feats = grad_filters = None
    if ctx.needs_input_grad[0]:
        grad_feats = call(
            _ops.indice_conv_backward_data, grad, filters, pairs, num, False, ctx.layout
        )
    if ctx.needs_input_grad[1]:
        first = {"ARRAY": 0, "NDHWC": 1, "NCDHW": 2}[ctx.layout]
        kernel = filters.shape[first : first + 3]
        grad_filters = call(_ops.indice_conv_backward_filter, feats, grad, pairs, num, kernel)
        grad_filters = grad_filters.permute(_FILTER_AXES[ctx.layout])
    return grad_feats, grad_filters, None, None, None, None, None


def _refuse(ctx: Any, *_: Any) -> tuple:
    raise NotImplementedError(f"mluop_omp::{ctx.operator} has no gradient")


def _save_name(name: str) -> Callable[..., None]:
    def save(ctx: Any, inputs: tuple, output: Any) -> None:
        ctx.operator = name

    return save


_GRADIENTS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "voxel_pooling": (_voxel_pooling, _save_pos_memo),
    "dynamic_scatter": (_dynamic_scatter, _save_scatter),
    "three_nn": (_three_nn, _save_neighbors),
    "three_interpolate": (_three_interpolate, _save_interpolation),
    "masked_im2col": (_masked_im2col, _save_windows),
    "masked_col2im": (_masked_col2im, _save_masks),
    "indice_conv": (_indice_conv, _save_convolution),
}
for _name in _operators.SCHEMAS:
    _backward, _save = _GRADIENTS.get(_name, (_refuse, _save_name(_name)))
    torch.library.register_autograd(
        f"{_operators.NAMESPACE}::{_name}", _backward, setup_context=_save, lib=_operators.LIBRARY
    )
