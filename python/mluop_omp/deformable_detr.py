"""The deformable attention of Deformable DETR and of code bases that share its extension, on CPUs.

    import mluop_omp.deformable_detr
    mluop_omp.deformable_detr.install()

before the import of their operators provides the extension modules that their setup.py builds with
CUDA: MultiScaleDeformableAttention of Deformable DETR, DINO and Mask2Former, and groundingdino._C
of GroundingDINO. Extensions that were built keep their functions for other devices.
"""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch import Tensor

from mluop_omp import _extensions
from mluop_omp._adapters import Args, takes
from mluop_omp.mmcv import _attention as mmcv


@takes(
    "value, value_spatial_shapes, value_level_start_index, sampling_locations, attention_weights, "
    "grad_output, im2col_step"
)
def ms_deform_attn_backward(args: Args) -> list[Tensor]:
    """Returns the gradients of value, sampling_locations and attention_weights, in their types."""
    *inputs, im2col_step = vars(args).values()
    variables = args.value, args.sampling_locations, args.attention_weights
    gradients = [torch.empty_like(each) for each in variables]
    mmcv.ms_deform_attn_backward(*inputs, *gradients, im2col_step)
    return gradients


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ms_deform_attn_forward": mmcv.ms_deform_attn_forward,
    "ms_deform_attn_backward": ms_deform_attn_backward,
}


def install() -> None:
    """Provides the extension modules for tensors of the CPU; once, if repeated."""
    for name in ("MultiScaleDeformableAttention", "groundingdino._C"):
        _extensions.provide(name, _FUNCTIONS)
