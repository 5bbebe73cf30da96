"""Converts filters of sparse convolutions between the layouts of libraries, and recognizes them."""

from mluop_omp.golden.filters import (
    FILTER_LAYOUTS,
    LayoutMatch,
    convert_filters,
    matching_layouts,
)

__all__ = ["FILTER_LAYOUTS", "LayoutMatch", "convert_filters", "matching_layouts"]
