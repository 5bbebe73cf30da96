"""Numbers: the elements of tensors as NumPy's, and which of them are right."""

from __future__ import annotations

from typing import Any

import numpy as np

# How arrays hold elements of types that NumPy lacks: as bits, or in a type with all their values.
STORED_AS = {
    **{f"float8_{kind}": "float32" for kind in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz")},
    **{"bfloat16": "uint16", "complex32": "complex64"},
}


def to_numpy(tensor: Any) -> np.ndarray:
    """Returns the elements of a tensor of PyTorch, those of bfloat16 as bits.

    Raises TypeError for other types that NumPy lacks.
    """
    import torch

    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(np.uint16)
    return tensor.numpy()


def tolerated(b: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    """Returns the largest error of each expected number."""
    with np.errstate(invalid="ignore", over="ignore"):
        return atol + rtol * np.abs(_wide(b))


def root_mean_square(values: np.ndarray) -> float:
    """Returns the root mean square of the finite elements other than 0, 0 if there are none."""
    magnitudes = np.abs(_wide(values))
    magnitudes = magnitudes[np.isfinite(magnitudes) & (magnitudes != 0)]
    largest = float(magnitudes.max(initial=0.0))
    # Squares of these neither overflow nor all underflow.
    return largest * float(np.sqrt(np.mean((magnitudes / largest) ** 2))) if largest else 0.0


def relative_atol(b: np.ndarray, factor: float) -> float:
    """Returns an absolute tolerance in root mean squares of what is expected.

    As in the library, rows of a few numbers count at most 1: columns have other magnitudes.
    """
    rms = root_mean_square(b)
    has_short_rows = b.ndim in (2, 3) and 2 <= b.shape[-1] <= 16
    return factor * (min(rms, 1.0) if has_short_rows else rms)


def right_elements(e: np.ndarray, b: np.ndarray, tolerance: np.ndarray | float = 0) -> np.ndarray:
    """Returns which numbers are equal, both NaN, or finite and no further apart than tolerated."""
    right = (e == b) | ((e != e) & (b != b))
    if np.any(tolerance):
        with np.errstate(invalid="ignore", over="ignore"):
            within = np.abs(_wide(e) - _wide(b)) <= tolerance
        right |= within & np.isfinite(e) & np.isfinite(b)
    return right


def _wide(values: np.ndarray) -> np.ndarray:
    return values.astype(np.result_type(values, np.float64), copy=False)
