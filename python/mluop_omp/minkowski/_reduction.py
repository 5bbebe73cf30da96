"""Arguments of tensors and fields, and the features of sites from rows, points and cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor as Features
from torch import nn

from mluop_omp._library import bad_param
from mluop_omp.minkowski._coordinates import CoordinateManager, CoordinateMapKey
from mluop_omp.minkowski._points import dimension_of, sites_of_points
from mluop_omp.minkowski._settings import SparseTensorQuantizationMode, manager_of_new_tensor
from mluop_omp.torch import site_maps

_Mode = SparseTensorQuantizationMode
# How features of the rows in a slice became rows of sites.
MODES_OF_SLICES = _Mode.RANDOM_SUBSAMPLE, _Mode.UNWEIGHTED_AVERAGE


def _require_features(features: Any) -> None:
    """Raises MluOpError unless features is a matrix."""
    if not isinstance(features, Features) or features.dim() != 2:
        found = list(features.shape) if isinstance(features, Features) else type(features).__name__
        raise bad_param(f"features is {found}, expected a tensor [N, C]")


def _require_key(
    coordinates: Any,
    key: CoordinateMapKey | None,
    manager: CoordinateManager | None,
    name: str,
) -> None:
    """Raises unless there are either coordinates, or a key that is set and its manager."""
    if coordinates is None and (key is None or manager is None):
        raise ValueError(
            f"expected either coordinates, or both {name} and coordinate_manager; found neither"
        )
    if coordinates is not None and key is not None:
        raise bad_param(f"found both coordinates and {name}, expected one of them")
    if manager is not None and not isinstance(manager, CoordinateManager):
        raise bad_param(
            f"coordinate_manager is a {type(manager).__name__}, expected a CoordinateManager"
        )
    if key is not None and not key.is_key_set():
        raise bad_param(f"{name} is not set, expected a key of the manager")


def checked(
    features: Features,
    coordinates: Features | None,
    key: CoordinateMapKey | None,
    manager: CoordinateManager | None,
    device: Any,
    name: str,
    size: Callable[[CoordinateManager, CoordinateMapKey], int],
) -> tuple[Features, CoordinateManager]:
    """Checks the arguments of a tensor or a field.

    name: the parameter that is the key; size returns the rows of a key.

    Returns:
        The features on the device, and the manager; without one, the manager of a new tensor.

    Raises:
        ValueError: neither coordinates, nor a key and its manager are given.
        MluOpError: other arguments that do not fit.
    """
    _require_features(features)
    _require_key(coordinates, key, manager, name)
    if coordinates is not None:
        dimension, rows, given = dimension_of(coordinates), len(coordinates), "coordinates"
        manager = manager or manager_of_new_tensor(dimension)
    else:
        assert key is not None and manager is not None
        rows, given = size(manager, key), str(key)
    if len(features) != rows:
        raise bad_param(f"features has {len(features)} rows, expected {rows}, as {given}")
    return features if device is None else features.to(device), manager


def reduced(
    features: Features, first: Features, inverse: Features, count: int, mode: _Mode
) -> Features:
    """Returns a row for each of `count` sites.

    first: the first row of each site; inverse: the site of each row.
    """
    if mode is _Mode.RANDOM_SUBSAMPLE:
        return features[first]
    if mode is _Mode.UNWEIGHTED_AVERAGE:
        return site_maps.segment_mean(features, inverse, count)
    if mode is _Mode.UNWEIGHTED_SUM:
        return site_maps.segment_sum(features, inverse, count)
    if mode is _Mode.MAX_POOL:
        return site_maps.segment_max(features, inverse, count)
    if len(first) != len(features):
        raise bad_param(
            f"quantization_mode is {mode.name}, expected another one: {len(features)} rows have "
            f"{len(first)} sites. TensorField.splat spreads features over several sites"
        )
    return features[first]


def require_mode(mode: Any, modes: tuple[_Mode, ...]) -> None:
    if mode not in modes:
        names = ", ".join(each.name for each in modes)
        raise bad_param(f"quantization_mode is {mode}, expected one of {names}")


def reduced_to(
    features: Features,
    manager: CoordinateManager,
    field_key: CoordinateMapKey,
    voxels: CoordinateMapKey,
    mode: _Mode,
) -> Features:
    """Returns a row for each site of a key from the points that it holds; 0 without a point."""
    rows, points = manager.field_to_sparse_map(field_key, voxels)
    if mode is not _Mode.RANDOM_SUBSAMPLE:
        return reduced(features[points], points, rows, manager.size(voxels), mode)
    first, _ = manager.get_field_to_sparse_map(field_key, voxels)
    return torch.where(first.unsqueeze(1) >= 0, features[first.clamp(min=0)], 0)


def splatted(
    features: Features, manager: CoordinateManager, points: Features
) -> tuple[CoordinateMapKey, Features]:
    """Stores the corners of the cells of points, and adds the weighted features to them."""
    D = manager.D
    steps = site_maps.cube_offsets([2] * D, False, [0] * D, [1] * D)
    corners = sites_of_points("coordinates", points).unsqueeze(1) + nn.functional.pad(steps, (1, 0))
    key, (first, _) = manager.insert_and_map(corners.flatten(0, 1))
    rows, samples, weights = manager.interpolation_map_weight(key, points)
    weighted = features[samples.long()] * weights.to(features.dtype).unsqueeze(1)
    return key, site_maps.segment_sum(weighted, rows, len(first))
