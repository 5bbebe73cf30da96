"""Names under which files hold the parts of a sparse tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from mluop_omp.golden.comparison._values import Deferred, SparseSites, Tensor, convert

# Features [N, C] and indices [N, 1 + dims] with the batch first.
_PARTS = (
    ("features", "indices"),  # spconv, mmcv, mluop_omp.torch
    ("voxel_features", "voxel_coords"),  # OpenPCDet
    ("feats", "coors"),  # mmdetection3d
    ("feats", "coords"),  # torchsparse, MinkowskiEngine
)
_EXTENTS = {"spatial_shape", "batch_size"}


def sparse_or_named(values: dict[str, Any]) -> Any:
    """Returns a sparse tensor if the names are the parts of one, else the values by name."""
    pair = next((pair for pair in _PARTS if {*pair} <= values.keys() <= {*pair, *_EXTENTS}), None)
    if pair is None:
        return values
    parts = {name: convert(value) for name, value in values.items()}
    extents: dict[str, Any] = {}
    if "spatial_shape" in parts:
        extents["spatial_shape"] = _integers(parts["spatial_shape"])
    if "batch_size" in parts:
        extents["batch_size"] = _integers(parts["batch_size"])[0]
    features, indices = (parts[name] for name in pair)
    return SparseSites(features, _whole(indices, pair[1]), **extents)


def sparse_folder(files: dict[str, Deferred]) -> Any:
    """Returns the sparse tensor whose parts are the files of a folder; None if they are not."""
    if not all(name.endswith(".npy") for name in files):
        return None
    found = sparse_or_named({name.removesuffix(".npy"): value for name, value in files.items()})
    return found if isinstance(found, SparseSites) else None


def _integers(value: Any) -> list[int]:
    if not isinstance(value, Tensor) or not value.is_integer() or not value.array.size:
        raise ValueError(f"spatial_shape or batch_size is {value}, expected integers")
    return np.atleast_1d(value.array).ravel().tolist()


def _whole(indices: Any, name: str) -> Any:
    """Returns indices as integers: OpenPCDet converts them to float32."""
    if not isinstance(indices, Tensor) or indices.is_integer():
        return indices
    numbers = indices.numbers()
    if not (np.isfinite(numbers) & (numbers == np.round(numbers)) & (abs(numbers) < 2**63)).all():
        raise ValueError(f"{name} has dtype {indices.dtype} and fractions, expected integers")
    return numbers.astype(np.int64)
