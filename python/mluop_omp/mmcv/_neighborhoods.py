"""The functions of mmcv._ext on neighborhoods of pixels, with the names, arguments and outputs of
mmcv.
"""

from __future__ import annotations

from typing import Any

from mluop_omp._adapters import Args, writes
from mluop_omp._operators._declaration import operators

_REASSEMBLY = "kernel_size, group_size, scale_factor"


def _reassembly(args: Args) -> tuple[int, ...]:
    return args.kernel_size, args.group_size, args.scale_factor


@writes("output", f"features, masks, rfeatures, routput, rmasks, output, {_REASSEMBLY}")
def carafe_forward(args: Args) -> Any:
    """Stores features in rfeatures, as [N, H, W, C]: mmcv passes them to carafe_backward. routput
    and rmasks are not used.
    """
    N, C, H, W = args.features.shape
    args.rfeatures.resize_(N, H, W, C).copy_(args.features.permute(0, 2, 3, 1))
    return operators.carafe, args.features, args.masks, *_reassembly(args)


@writes(
    "bottom_grad, mask_grad",
    "top_grad, rfeatures, masks, rtop_grad, rbottom_grad_hs, rbottom_grad, rmask_grad, "
    f"bottom_grad, mask_grad, {_REASSEMBLY}",
)
def carafe_backward(args: Args) -> Any:
    """Writes all elements of the gradients. rfeatures are [N, H, W, C], or [N, C, H, W], as mmcv
    keeps them on accelerators of Cambricon. The tensors from rtop_grad to rmask_grad are not used.
    """
    N, C, H, W = args.bottom_grad.shape
    is_last = args.rfeatures.shape == (N, H, W, C)
    features = args.rfeatures.permute(0, 3, 1, 2) if is_last else args.rfeatures
    return operators.carafe_backward, args.top_grad, features, args.masks, *_reassembly(args)


@writes("output", f"features, masks, output, {_REASSEMBLY}")
def carafe_naive_forward(args: Args) -> Any:
    return operators.carafe, args.features, args.masks, *_reassembly(args)


@writes(
    "bottom_grad, mask_grad",
    f"top_grad, features, masks, bottom_grad, mask_grad, {_REASSEMBLY}",
)
def carafe_naive_backward(args: Args) -> Any:
    """Writes all elements of the gradients, to which mmcv's kernel adds."""
    tensors = args.top_grad, args.features, args.masks
    return operators.carafe_backward, *tensors, *_reassembly(args)


_CORRELATION = (
    "kH, kW, patchH, patchW, padH, padW, dilationH, dilationW, "
    "dilation_patchH, dilation_patchW, dH, dW"
)


def _displacements(args: Args) -> tuple[tuple[int, int], ...]:
    return (
        (args.kH, args.kW),
        (args.patchH, args.patchW),
        (args.dH, args.dW),
        (args.padH, args.padW),
        (args.dilationH, args.dilationW),
        (args.dilation_patchH, args.dilation_patchW),
    )


@writes("output", f"input1, input2, output, {_CORRELATION}")
def correlation_forward(args: Args) -> Any:
    """Sums of half and bfloat16 are computed in float32; mmcv's kernel for GPUs uses half."""
    return operators.correlation, args.input1, args.input2, *_displacements(args)


@writes(
    "grad_input1, grad_input2",
    f"grad_output, input1, input2, grad_input1, grad_input2, {_CORRELATION}",
)
def correlation_backward(args: Args) -> Any:
    """Writes all elements of the gradients."""
    tensors = args.grad_output, args.input1, args.input2
    return operators.correlation_backward, *tensors, *_displacements(args)
