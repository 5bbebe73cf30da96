"""Finds filter layouts and orders of offsets that reproduce a wrong convolution."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from mluop_omp._library import MluOpError
from mluop_omp.golden.filters import FILTER_LAYOUTS, convert_filters


def readings(filters: Tensor, layout: str) -> Iterator[tuple[str, Tensor]]:
    """Yields other readings of the same memory, each distinct tensor once."""
    readings = []
    for name, reading in _of_layouts(filters, layout):
        text = "" if name == layout else f"filters that are read as {name}"
        reverse = f"{text} and " if text else "filters with "
        axes = _kernel_axes(reading, layout)
        readings.append((f"{reverse}the offsets reversed", reading.flip(axes)))
        readings.append((text, reading))
    return distinct(filters, readings)


def distinct(
    original: Tensor, others: Iterable[tuple[str, Tensor]]
) -> Iterator[tuple[str, Tensor]]:
    """Yields the tensors that equal neither the original nor one before them."""
    seen = [original]
    for text, other in others:
        if not any(torch.equal(other, each) for each in seen):
            seen.append(other)
            yield text, other


def _of_layouts(filters: Tensor, layout: str) -> Iterator[tuple[str, Tensor]]:
    yield layout, filters
    kernel = [filters.shape[axis] for axis in _kernel_axes(filters, layout)]
    for name in FILTER_LAYOUTS:
        try:
            shape = convert_filters(filters, layout, name).shape
            size = kernel[::-1] if len(shape) < filters.dim() else None
            yield name, convert_filters(filters.reshape(shape), name, layout, kernel_size=size)
        except MluOpError:  # This layout has no such kernel.
            continue


def _kernel_axes(filters: Tensor, layout: str) -> list[int]:
    first = 1 if layout == "KRSC" else 0
    return list(range(first, first + filters.dim() - 2))
