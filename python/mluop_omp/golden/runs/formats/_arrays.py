"""Elements of tensors of other tools, in the NumPy types in which a run holds them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mluop_omp.golden._numbers import STORED_AS
from mluop_omp.golden.runs._objects import Invalid


def is_supported(dtype: str) -> bool:
    """Returns whether a run can hold tensors of an element type."""
    try:
        return dtype in STORED_AS or np.dtype(dtype).kind in "biufc"
    except TypeError:
        return False


def host_array(value: Any, dtype: str, name: str) -> np.ndarray:
    """Returns the elements of an array or of a PyTorch tensor with this element type."""
    if isinstance(value, np.ndarray):
        if value.dtype == np.dtype("V2"):
            return value.view(np.uint16)
        if dtype == "bfloat16" and value.dtype == np.float32:
            # As MindSpore saves bfloat16; the low bits are 0.
            return (value.view(np.uint32) >> 16).astype(np.uint16)
        return value
    import torch

    from mluop_omp.golden.runs._sources import Source

    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        raise Invalid(f"has {type(value).__name__} in {name}, expected a dense tensor")
    # A stride of 0 makes a tensor of any size of a few bytes.
    if value.untyped_storage().nbytes() < value.numel() * value.element_size():
        raise Invalid(f"has a tensor of {value.numel()} elements in {name}, but not as many stored")
    source = Source(value)
    if source.dtype != dtype:
        raise Invalid(f"has {source.dtype} in {name}, expected {dtype}")
    return source.read()
