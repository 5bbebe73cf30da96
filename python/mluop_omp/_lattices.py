"""The function of k2 and fast_rnnt on lattices, for arrays and tensors."""

from __future__ import annotations

import importlib
from typing import Any, TypeVar

import numpy as np

from mluop_omp._operators import mutual_information, mutual_information_backward

Array = TypeVar("Array", bound=Any)


def mutual_information_recursion(
    px: Array, py: Array, boundary: Array | None = None, return_grad: bool = False
) -> Any:
    """Returns what the functions of this name in k2 and fast_rnnt return.

    Args:
        px, py, boundary: as in `mutual_information`; NumPy arrays or tensors. px is [B, S, T + 1];
            the modified recursion, where px is [B, S, T], is an error.
        return_grad: also returns the gradients: for each step, the probability that a path takes
            it.

    Returns:
        ans [B], which has derivatives if it is a tensor; with return_grad
        ``(ans, (px_grad, py_grad))``: the gradients for ans_grad 1, with the shapes of px and py,
        without derivatives.

    Raises:
        MluOpError: as `mutual_information`.

    Source: mluOpMutualInformationForward, mluOpMutualInformationBackward; k2
    mutual_information_recursion.
    """
    if isinstance(px, np.ndarray):
        ans, p = mutual_information(px, py, boundary)
        if not return_grad:
            return ans
        return ans, mutual_information_backward(px, py, p, np.ones_like(ans), boundary)
    torch = importlib.import_module("torch")
    functional = importlib.import_module("mluop_omp.torch.functional")
    ans, p = functional.mutual_information(px, py, boundary)
    if not return_grad:
        return ans
    with torch.no_grad():
        ones = torch.ones_like(ans)
        return ans, functional.mutual_information_backward(px, py, p, ones, boundary)
