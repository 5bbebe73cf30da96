"""The sites of sparse features, which travel between the nodes of a graph on the arrays.

A graph of Lidar_AI_Solution has tensors of features only. The sites of its input are in the State;
the nodes return `SparseFeatures`, arrays that know their sites. Additions and activations of
onnx.reference keep them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mluop_omp._library import bad_param
from mluop_omp.onnx._state import State


@dataclass(frozen=True, eq=False)
class Sites:
    """Active sites of a grid.

    Attributes:
        indices: int32 [n, 4], batch and coordinates of each row of features.
        spatial_shape: the cells along each axis, in the order of the coordinates.
        batch_size: the number of samples.
        rulebooks: rulebooks by the key that nodes share. All sites that one run of a graph derives
            from its input have the same dictionary; another run has its own.
    """

    indices: np.ndarray
    spatial_shape: tuple[int, ...]
    batch_size: int
    rulebooks: dict[str, Any] = field(default_factory=dict)

    def equal(self, other: Sites) -> bool:
        """Returns whether rows of both belong to the same sites."""
        return self is other or (
            self.spatial_shape == other.spatial_shape
            and self.batch_size == other.batch_size
            and np.array_equal(self.indices, other.indices)
        )


class SparseFeatures(np.ndarray):
    """Features [n, C] with their sites.

    Element-wise functions of NumPy, astype and copy keep the sites. Any other function may select
    or move rows: its result has None.
    """

    sites: Sites | None

    def __array_finalize__(self, array: Any) -> None:
        self.sites = None

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        given = [each.sites for each in inputs if isinstance(each, SparseFeatures)]
        plain = [_plain(each) for each in inputs]
        if options.get("out"):
            options["out"] = tuple(map(_plain, options["out"]))
        result = getattr(ufunc, method)(*plain, **options)
        known = [sites for sites in given if sites is not None]
        if not known or not _has_row_for_each(result, known[0]):
            return result
        if not all(known[0].equal(sites) for sites in known[1:]):
            raise bad_param(f"{ufunc.__name__}: two tensors of features belong to different sites")
        return attach(result, known[0])

    def astype(self, *arguments: Any, **options: Any) -> Any:
        return _with_sites(super().astype(*arguments, **options), self.sites)

    def copy(self, *arguments: Any, **options: Any) -> Any:
        return _with_sites(super().copy(*arguments, **options), self.sites)


def _plain(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, SparseFeatures) else value


def _has_row_for_each(result: Any, sites: Sites) -> bool:
    return isinstance(result, np.ndarray) and result.shape[:1] == (len(sites.indices),)


def _with_sites(features: Any, sites: Sites | None) -> SparseFeatures:
    features.sites = sites
    kept: SparseFeatures = features
    return kept


def attach(features: np.ndarray, sites: Sites) -> SparseFeatures:
    """Returns features that know their sites; the memory is shared."""
    if len(features) != len(sites.indices):
        raise bad_param(
            f"the features have {len(features)} rows, expected {len(sites.indices)}: a row for "
            "each of the indices"
        )
    return _with_sites(features.view(SparseFeatures), sites)


def sites_of(features: np.ndarray, spatial_shape: Sequence[int] | None, state: State) -> Sites:
    """Returns the sites of an input of a node.

    spatial_shape: of the node's input, as the graph states it; None if it does not. Features
    without sites are the input of the graph, whose sites are in the state.
    """
    shape = None if spatial_shape is None else tuple(spatial_shape)
    sites: Sites | None = getattr(features, "sites", None)
    if sites is None:
        sites = _sites_of_graph(features, shape, state)
    if shape is not None and shape != sites.spatial_shape:
        raise bad_param(
            f"attribute input_spatial_shape is {list(shape)}, expected "
            f"{list(sites.spatial_shape)}, the grid of its input"
        )
    if len(features) != len(sites.indices):
        raise bad_param(
            f"input x has {len(features)} rows, expected {len(sites.indices)}: a row for each of "
            "the indices"
        )
    return sites


def _sites_of_graph(features: np.ndarray, shape: tuple[int, ...] | None, state: State) -> Sites:
    if isinstance(features, SparseFeatures):
        raise bad_param("the sites of input x are unknown: a node before it selects or moves rows")
    if state.indices is None:
        raise bad_param(
            "the graph has features only: their coordinates are required, as in "
            "mluop_omp.onnx.references(indices=..., spatial_shape=...)"
        )
    grid = state.spatial_shape if state.spatial_shape is not None else shape
    if grid is None:
        raise bad_param(
            "attribute input_spatial_shape is missing: the grid is required, as in "
            "mluop_omp.onnx.references(indices=..., spatial_shape=...)"
        )
    # Only the input of the graph has no sites; a tensor of another grid has lost them.
    if state.kept.setdefault("grid of the input", grid) != grid:
        raise bad_param(
            f"the sites of input x are unknown, whose grid is {list(grid)}: the input of the graph "
            f"has {list(state.kept['grid of the input'])}, and a node between them is not "
            "element-wise"
        )
    return Sites(state.indices, grid, _batch_size(state, state.indices))


def _batch_size(state: State, indices: np.ndarray) -> int:
    if state.batch_size is not None:
        return state.batch_size
    return int(indices[:, 0].max(initial=0)) + 1
