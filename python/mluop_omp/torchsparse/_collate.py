"""Batches of tensors and of dictionaries of them: torchsparse.utils.collate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from mluop_omp._library import bad_param
from mluop_omp.torchsparse._tensors import BatchFirstTensor, Sparse, SparseTensor


def _tensors_of(input: Any) -> None:
    """Makes tensors of a tensor's NumPy arrays, in place."""
    for name in ("coords", "feats"):
        value = getattr(input, name)
        if isinstance(value, np.ndarray):
            setattr(input, name, torch.tensor(value))


def _collated(kind: Any, inputs: Sequence[Any]) -> Any:
    coords = []
    for batch, input in enumerate(inputs):
        _tensors_of(input)
        if input.stride != inputs[0].stride:
            raise bad_param(f"inputs[{batch}]: stride {input.stride}, expected {inputs[0].stride}")
        column = torch.full((len(input.coords), 1), batch, dtype=torch.int32)
        parts = [input.coords, column] if kind._batch else [column, input.coords]
        coords.append(torch.cat(parts, 1))
    feats = torch.cat([input.feats for input in inputs])
    return kind(feats, torch.cat(coords), inputs[0].stride)


def sparse_collate(inputs: Sequence[Any]) -> Any:
    """Returns the tensor of a list of scenes, whose coordinates [N, 3] get the batch as their last
    column. NumPy arrays of the scenes become tensors.
    """
    return _collated(SparseTensor, inputs)


def sparse_collate_batch_first(inputs: Sequence[Any]) -> Any:
    """As `sparse_collate`; the batch is the first column."""
    return _collated(BatchFirstTensor, inputs)


def _collated_all(collate: Callable[..., Any], inputs: Sequence[Any]) -> Any:
    if not isinstance(inputs[0], dict):
        return inputs
    return {
        name: _collated_values(collate, [input[name] for input in inputs]) for name in inputs[0]
    }


def _collated_values(collate: Callable[..., Any], values: list[Any]) -> Any:
    first = values[0]
    if isinstance(first, dict):
        return _collated_all(collate, values)
    if isinstance(first, np.ndarray):
        return torch.stack([torch.tensor(value) for value in values])
    if isinstance(first, torch.Tensor):
        return torch.stack(values)
    return collate(values) if isinstance(first, Sparse) else values


def sparse_collate_fn(inputs: Sequence[Any]) -> Any:
    """Returns the batch of a list of dictionaries: arrays and tensors are stacked, SparseTensors
    joined by `sparse_collate`, the values of other types are lists. Other lists are returned.
    """
    return _collated_all(sparse_collate, inputs)


def sparse_collate_fn_batch_first(inputs: Sequence[Any]) -> Any:
    """As `sparse_collate_fn`; the batch is the first column."""
    return _collated_all(sparse_collate_batch_first, inputs)
