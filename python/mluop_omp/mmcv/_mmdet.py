"""The loss of mmdetection that computes targets of -1 on CUDA only."""

from __future__ import annotations

import functools
import types
from typing import Any, Callable

from torch import Tensor

from mluop_omp import _dispatch, _imports

_MODULE = "mmdet.models.losses.focal_loss"


def _with_negative_targets(module: types.ModuleType) -> Callable[..., Any]:
    """Returns what makes `FocalLoss.forward` take negative targets on a CPU, as on CUDA.

    There, mmdetection calls mmcv's kernel, in which a row with such a target is background. On a
    CPU it one-hot encodes targets, which raises RuntimeError for negative ones; only then does this
    function call mmcv's operator. All other calls remain as they are.
    """

    def make(forward: Callable[..., Tensor]) -> Callable[..., Tensor]:
        @functools.wraps(forward)
        def call(
            self: Any,
            pred: Tensor,
            target: Tensor,
            weight: Tensor | None = None,
            avg_factor: Any = None,
            reduction_override: str | None = None,
        ) -> Tensor:
            try:
                return forward(self, pred, target, weight, avg_factor, reduction_override)
            except RuntimeError:
                is_encoded = pred.dim() == target.dim() + 1 == 2 and not self.activated
                if not is_encoded or not pred.is_cpu or not bool((target < 0).any()):
                    raise
            loss = module.sigmoid_focal_loss(
                pred,
                target,
                weight,
                gamma=self.gamma,
                alpha=self.alpha,
                reduction=reduction_override or self.reduction,
                avg_factor=avg_factor,
            )
            product: Tensor = self.loss_weight * loss
            return product

        return call

    return make


def install() -> None:
    """Changes the loss now or when it is imported; once, if repeated."""

    def change(module: types.ModuleType) -> None:
        _dispatch.wrap(module.FocalLoss, "forward", _with_negative_targets(module))

    _imports.after_import(_MODULE, change)
