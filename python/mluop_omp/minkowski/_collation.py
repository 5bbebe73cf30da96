"""Batches of coordinates, features and labels."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mluop_omp._library import bad_param
from mluop_omp.minkowski._points import floors


def as_tensor(array: Any) -> Tensor:
    """Returns an array, a tensor or numbers as a tensor, which may share memory with it."""
    return torch.as_tensor(np.require(array, None, ["C", "W"]) if is_array(array) else array)


def is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def batched_coordinates(
    coords: Sequence[Any], dtype: torch.dtype = torch.int32, device: Any = None
) -> Tensor:
    """Returns [N, 1 + D]: the rows of all arrays [n, D] of coordinates, after their number.

    Args:
        coords: arrays or tensors.
        dtype: torch.int32, which floors, or torch.float32.
        device: of the result.
    """
    if dtype not in (torch.int32, torch.float32):
        raise bad_param(f"dtype is {dtype}, expected torch.int32 or torch.float32")
    tensors = [as_tensor(each) for each in coords]
    columns = {each.shape[1] if each.dim() == 2 else None for each in tensors}
    if len(columns) != 1 or None in columns:
        shapes = [list(each.shape) for each in tensors]
        raise bad_param(f"coords has shapes {shapes}, expected [n, D] with one D")
    if dtype is torch.int32:
        tensors = [floors(f"coords[{b}]", each) for b, each in enumerate(tensors)]
    rows = torch.cat([each.to(dtype) for each in tensors])
    lengths = torch.tensor([len(each) for each in tensors])
    batches = torch.arange(len(tensors)).repeat_interleave(lengths).to(dtype)
    return torch.cat((batches.unsqueeze(1), rows), 1).to(device or "cpu")


def sparse_collate(
    coords: Sequence[Any],
    feats: Sequence[Any],
    labels: Sequence[Any] | None = None,
    dtype: torch.dtype = torch.int32,
    device: Any = None,
) -> tuple[Any, ...]:
    """Returns the batched coordinates [N, 1 + D], the features, and the labels if there are any.

    Labels that are neither arrays nor tensors are returned as a list.
    """
    batched = batched_coordinates(coords, dtype, device)
    features = torch.cat([as_tensor(each) for each in feats])
    if len(batched) != len(features):
        raise bad_param(f"coords and feats have {len(batched)} and {len(features)} rows")
    if labels is None:
        return batched, features
    if not isinstance(labels[0], (np.ndarray, Tensor)):
        return batched, features, list(labels)
    return batched, features, torch.cat([as_tensor(each) for each in labels])


def batch_sparse_collate(
    data: Sequence[Any], dtype: torch.dtype = torch.int32, device: Any = None
) -> tuple[Any, ...]:
    """Returns `sparse_collate` of a list of (coordinates, features) or with labels."""
    return sparse_collate(*zip(*data), dtype=dtype, device=device)


class SparseCollation:
    """Collates a list of (coordinates, features, labels).

    Args:
        limit_numpoints: the points that a batch may have, if positive; the rest is left out, with a
            warning in the log.
        dtype, device: as of `sparse_collate`.
    """

    def __init__(
        self,
        limit_numpoints: int = -1,
        dtype: torch.dtype = torch.int32,
        device: Any = None,
    ) -> None:
        self.limit_numpoints = limit_numpoints
        self.dtype = dtype
        self.device = device

    def __call__(self, list_data: Sequence[Any]) -> tuple[Any, ...]:
        kept = self._within_limit(list_data)
        coords, feats, labels = zip(*kept)
        return sparse_collate(coords, feats, labels, self.dtype, self.device)

    def _within_limit(self, list_data: Sequence[Any]) -> Sequence[Any]:
        if self.limit_numpoints <= 0:
            return list_data
        points = np.cumsum([len(each[0]) for each in list_data])
        fits = int((points <= self.limit_numpoints).sum())
        if fits < len(list_data):
            logging.warning(
                "%d points exceed the limit of %d: the batch has %d of %d elements",
                *(points[-1], self.limit_numpoints, fits, len(list_data)),
            )
        if fits == 0:
            raise bad_param(
                f"the first element has {points[0]} points, expected at most limit_numpoints, "
                f"{self.limit_numpoints}"
            )
        return list_data[:fits]
