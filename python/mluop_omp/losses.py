"""The loss of classifications, on NumPy arrays."""

from __future__ import annotations

import numpy as np

from mluop_omp._arrays import NUMPY
from mluop_omp._operators import losses as _losses


def sigmoid_focal_loss(
    input: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    gamma: float = 2.0,
    alpha: float = 0.25,
) -> np.ndarray:
    """Returns the sigmoid focal loss of each class of each row (RetinaNet).

    With p = 1 / (1 + exp(-input)), the loss of the class that is the target of its row is
    ``-w alpha (1 - p)^gamma log(p)``, that of another class
    ``-w (1 - alpha) p^gamma log(1 - p)``. mmcv takes gamma and alpha before weight, and sums or
    averages the losses.

    Args:
        input: float16, bfloat16, float32 or float64 [N, C], logits. float16 and bfloat16 are
            computed in float32.
        target: int32 [N]: the class of a row, 0 to C - 1; other values, such as C, are background.
        weight: [C], of the dtype of input: w is the weight of the target of the row; 1 for
            background, and for all rows if weight is None.
        gamma: the exponent, from 0 on.
        alpha: the share of targets.

    Returns:
        [N, C], of the dtype of input. The argument of a logarithm is at least 2^-126, as in mmcv's
        kernels: from input = 17.33 on (float64: 36.74), p is 1, and the loss of a class that is not
        the target is ``87.3 w (1 - alpha)``, where the definition gives ``input w (1 - alpha)``.
        mmcv's kernels, which also round 1 + exp(-input), reach this value from 16.64 on.

    Raises:
        MluOpError: gamma is negative; shapes or dtypes differ from those above.

    Source: mluOpFocalLossSigmoidForward; arXiv:1708.02002; mmcv sigmoid_focal_loss.
    """
    return _losses.sigmoid_focal_loss(NUMPY, input, target, weight, gamma, alpha)


def sigmoid_focal_loss_backward(
    input: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    gamma: float = 2.0,
    alpha: float = 0.25,
) -> np.ndarray:
    """Returns the derivative of each loss of `sigmoid_focal_loss` with respect to its input.

    Args:
        input: float16, bfloat16, float32 or float64 [N, C].
        target: int32 [N].
        weight: [C], of the dtype of input, or None.
        gamma: the exponent, 0 to 10000.
        alpha: the share of targets.

    Returns:
        [N, C], of the dtype of input: for the target of a row
        ``-w alpha (1 - p)^gamma (1 - p - gamma p log(p))``, else
        ``w (1 - alpha) p^gamma (p - gamma (1 - p) log(1 - p))``.

    Raises:
        MluOpError: gamma is out of range; shapes or dtypes differ from those above.

    Source: mluOpFocalLossSigmoidBackward; mmcv sigmoid_focal_loss.
    """
    return _losses.sigmoid_focal_loss_backward(NUMPY, input, target, weight, gamma, alpha)
