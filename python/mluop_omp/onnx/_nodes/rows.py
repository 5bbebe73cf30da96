"""Reduction, selection and scatter of rows."""

from __future__ import annotations

import numpy as np

from mluop_omp._library import bad_param
from mluop_omp.onnx._nodes._checks import (
    as_single,
    require_at_least,
    require_one_of,
    require_range,
    require_same_dtype,
)
from mluop_omp.onnx._table import REQUIRED, TENSORRT, Integer, Text, node

_SEGMENT: dict[str, np.ufunc] = {"sum": np.add, "mean": np.add, "min": np.fmin, "max": np.fmax}
_SCATTER: dict[str, np.ufunc] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


@node(
    "autoware",
    name="SegmentCSR",
    inputs=("src", "indptr"),
    integers=("indptr",),
    shapes={"src": "n C", "indptr": "_"},
    attributes={"reduce": REQUIRED(Text)},
    source="autowarefoundation/autoware_universe",
)
def segment_csr(src: np.ndarray, indptr: np.ndarray, *, reduce: str) -> tuple[np.ndarray]:
    """Reduces consecutive rows: ``output[s]`` is the sum, mean, minimum or maximum of the rows
    indptr[s] to indptr[s + 1] - 1 of src.

    Segments without rows give 0 for every reduction, as torch_scatter does. Minimum and maximum are
    NaN only if a segment holds nothing else; the plugin then returns the largest or the lowest
    finite number. float16 is summed in float32 and rounded once; the plugin rounds each sum.

    Returns [S, C], with indptr [S + 1]. (The exporter declares n rows.)
    """
    require_one_of("reduce", reduce, _SEGMENT)
    if len(indptr) == 0:
        raise bad_param("input indptr has no elements, expected at least 1")
    require_range("indptr", indptr, len(src) + 1)
    lengths = np.diff(indptr)
    falling = np.flatnonzero(lengths < 0)
    if len(falling):
        at, before = falling[0] + 1, indptr[falling[0]]
        raise bad_param(f"indptr[{at}] is {indptr[at]}, expected at least {before}, as before it")
    rows = as_single(src[: indptr[-1]])
    values = np.zeros((len(lengths), src.shape[1]), rows.dtype)
    is_used = lengths > 0
    if is_used.any():
        values[is_used] = _SEGMENT[reduce].reduceat(rows, indptr[:-1][is_used], axis=0)
    if reduce == "mean":
        values /= np.fmax(lengths, 1).astype(values.dtype)[:, None]
    return (values.astype(src.dtype, copy=False),)


@node(
    *("mmdeploy", *TENSORRT),
    name="ScatterND",
    inputs=("data", "indices", "updates"),
    integers=("indices",),
    untyped=("data", "updates"),
    attributes={"reduction": "none"},
    source="NVIDIA/TensorRT",
)
def scatter_nd(
    data: np.ndarray, indices: np.ndarray, updates: np.ndarray, *, reduction: str
) -> tuple[np.ndarray]:
    """ONNX's ScatterND, also with int32 indices: ``output[indices[i]] = updates[i]`` in a copy of
    data, for every index i of all dimensions of indices but the last.

    indices[i] has k numbers, positions along the first k dimensions of data; a negative number
    counts from the end. reduction is "none", "add", "mul", "max" or "min". For "none" and equal
    indices, which ONNX leaves undefined, the last update counts. float16 is added and multiplied in
    float32 and rounded once. data and updates have one dtype, any.
    """
    require_one_of("reduction", reduction, ("none", *_SCATTER))
    require_same_dtype("data", data, "updates", updates)
    k = indices.shape[-1] if indices.ndim else 0
    if not 1 <= k <= data.ndim:
        found = f"input indices has shape {list(indices.shape)}"
        raise bad_param(f"{found}, expected a last dimension from 1 to {data.ndim}")
    shape = indices.shape[:-1] + data.shape[k:]
    if updates.shape != shape:
        expected = f"{list(shape)} for indices of shape {list(indices.shape)}"
        raise bad_param(f"input updates has shape {list(updates.shape)}, expected {expected}")
    for axis, extent in enumerate(data.shape[:k]):
        positions = np.where(indices[..., axis] < 0, extent, 0) + indices[..., axis]
        require_range(f"position along axis {axis}", positions, extent)
    at = tuple(np.moveaxis(indices, -1, 0))
    if reduction == "none":
        output = data.copy()
        output[at] = updates
        return (output,)
    output = as_single(data).copy()
    _SCATTER[reduction].at(output, at, as_single(updates))
    return (output.astype(data.dtype, copy=False),)


@node(
    *("custom_op", *TENSORRT),
    name="SelectAndPadPlugin",
    inputs=("feat", "flags", "invalid"),
    integers=("flags",),
    shapes={"feat": "B Q C", "invalid": "C"},
    attributes={"P": REQUIRED(Integer)},
    source="NVIDIA/DL4AGX",
)
def select_and_pad(
    feat: np.ndarray, flags: np.ndarray, invalid: np.ndarray, *, P: int
) -> tuple[np.ndarray]:
    """Moves the rows with a flag other than 0 to the front, in order, and fills up to P rows with
    `invalid`.

    flags [B, Q], or [Q] if B is 1. If a batch has more than P such rows, the first P are returned,
    as by the kernel; the function that VAD traces fails. The kernel is defined for one batch and P
    up to Q only; for others, this node computes what the traced function does.

    Returns [B, P, C].
    """
    require_at_least("attribute P", P, 0)
    require_same_dtype("feat", feat, "invalid", invalid)
    B, Q, C = feat.shape
    if flags.shape != (B, Q) and (B, *flags.shape) != (1, Q):
        found = f"input flags has shape {list(flags.shape)}"
        raise bad_param(f"{found}, expected [{B}, {Q}]" + (f" or [{Q}]" if B == 1 else ""))
    output = np.empty((B, P, C), feat.dtype)
    output[...] = invalid
    for padded, rows, flag in zip(output, feat, flags.reshape(B, Q)):
        selected = rows[flag != 0][:P]
        padded[: len(selected)] = selected
    return (output,)
