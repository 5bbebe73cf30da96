"""Elements of tensors as NumPy arrays, and the rule that decides which elements are right."""

from __future__ import annotations

from typing import Any

import numpy as np

# NumPy types that hold the element types that NumPy lacks: bits, or a type with all their values.
STORED_AS = {
    **{f"float8_{kind}": "float32" for kind in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz")},
    **{"bfloat16": "uint16", "complex32": "complex64"},
}


def to_numpy(tensor: Any) -> np.ndarray:
    """Returns the elements of a PyTorch tensor; bfloat16 elements are returned as bits.

    Raises TypeError for any other type that NumPy lacks.
    """
    import torch

    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(np.uint16)
    return tensor.numpy()


def tolerated(b: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    """Returns the largest permitted error of each expected number."""
    with np.errstate(invalid="ignore", over="ignore"):
        return atol + rtol * np.abs(_wide(b))


def root_mean_square(values: np.ndarray) -> float:
    """Returns the root mean square of the finite nonzero elements, or 0 without any."""
    magnitudes = np.abs(_wide(values))
    magnitudes = magnitudes[np.isfinite(magnitudes) & (magnitudes != 0)]
    largest = float(magnitudes.max(initial=0.0))
    # Scaled by the largest magnitude, squares neither overflow nor all underflow.
    return largest * float(np.sqrt(np.mean((magnitudes / largest) ** 2))) if largest else 0.0


def relative_atol(b: np.ndarray, factor: float) -> float:
    """Returns an absolute tolerance: `factor` times the root mean square of the expected numbers.

    For short rows the root mean square counts as at most 1, as in the library: their columns differ
    in magnitude.
    """
    rms = root_mean_square(b)
    has_short_rows = b.ndim in (2, 3) and 2 <= b.shape[-1] <= 16
    return factor * (min(rms, 1.0) if has_short_rows else rms)


def right_elements(e: np.ndarray, b: np.ndarray, tolerance: np.ndarray | float = 0) -> np.ndarray:
    """Returns which numbers are equal, both NaN, or finite and within the tolerance."""
    right = (e == b) | ((e != e) & (b != b))
    if np.any(tolerance):
        with np.errstate(invalid="ignore", over="ignore"):
            within = np.abs(_wide(e) - _wide(b)) <= tolerance
        right |= within & np.isfinite(e) & np.isfinite(b)
    return right


def _wide(values: np.ndarray) -> np.ndarray:
    return values.astype(np.result_type(values, np.float64), copy=False)
