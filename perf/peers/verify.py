"""Comparison of results. A NaN is a difference unless the tensors are equal bit by bit."""

import torch

from peer import Outputs

# Limits of diff1 and diff2, the mean and root relative error. Other types must be equal bit by bit.
TOLERANCES = {torch.float32: 2e-5, torch.float16: 3e-3, torch.bfloat16: 8e-3}


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.view({2: torch.int16, 4: torch.int32}[tensor.element_size()])


def _difference(found: torch.Tensor, expected: torch.Tensor) -> str:
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"is {found.dtype} {list(found.shape)}"
    if not found.is_contiguous():
        return "is not contiguous"
    if torch.equal(_bits(found), _bits(expected)):
        return ""
    if expected.dtype not in TOLERANCES:
        return "differs"
    error, baseline = found.double() - expected.double(), expected.double()
    diff1 = (error.abs().sum() / baseline.abs().sum()).item()
    diff2 = (error.square().sum() / baseline.square().sum()).sqrt().item()
    tolerance = TOLERANCES[expected.dtype]
    return "" if diff1 <= tolerance and diff2 <= tolerance else f"has diff1 {diff1:.1e}, diff2 {diff2:.1e}"


def difference(found: Outputs, expected: Outputs) -> str:
    """Returns an empty string if the results agree within the tolerance, else the first difference."""
    for one, other in zip(found, expected, strict=True):
        if problem := _difference(one, other):
            return problem
    return ""
