"""Functions of an installed MinkowskiEngine that read other rows than they name, for tensors of the
CPU: the voxels of points, broadcasts, the labels of voxels.
"""

from __future__ import annotations

import types
from typing import Any, Callable

import numpy as np
import torch
from torch import Tensor

from mluop_omp import _dispatch, _imports
from mluop_omp.minkowski._global import spread
from mluop_omp.minkowski._points import floored, rows_of, rows_of_batches, sites_of_points

Function = Callable[..., Any]


def _inverse_mapping(original: Function) -> Function:
    """Returns the row of each point's voxel, also for the key of a strided tensor."""

    def inverse_mapping(self: Any, sparse_tensor_map_key: Any) -> Tensor:
        if self.F.is_cpu:
            sites = self.coordinate_manager.get_coordinates(sparse_tensor_map_key)
            voxels = sites_of_points("coordinates", self.C)
            rows = rows_of(sites, floored(voxels, sparse_tensor_map_key.get_tensor_stride()))
            if (rows >= 0).all():
                return rows
        mapping: Tensor = original(self, sparse_tensor_map_key)
        return mapping

    return inverse_mapping


def _broadcast(module: types.ModuleType, name: str) -> None:
    """Lets a layer take the row that has the batch of each site."""

    def make(original: Function) -> Function:
        def forward(self: Any, input: Any, input_glob: Any) -> Any:
            if not input.F.is_cpu:
                return original(self, input, input_glob)
            features = spread(input_glob.F, rows_of_batches(input.C[:, 0], input_glob.C[:, 0]))
            if name.endswith("Concatenation"):
                features = torch.cat((input.F, features), 1)
            return type(input)(
                features,
                coordinate_map_key=input.coordinate_map_key,
                coordinate_manager=input.coordinate_manager,
            )

        return forward

    _dispatch.wrap(getattr(module, name), "forward", make)


def _broadcasts(module: types.ModuleType) -> None:
    # The first is the base of the second, which has its own forward.
    for name in ("MinkowskiBroadcastConcatenation", "MinkowskiBroadcast"):
        _broadcast(module, name)


def _fields(module: types.ModuleType) -> None:
    _dispatch.wrap(module.TensorField, "inverse_mapping", _inverse_mapping)


def quantize_label_th(coords: Tensor, labels: Tensor, ignore_label: int) -> tuple[Tensor, ...]:
    """Returns the first row of each voxel, the voxel of each row, and the label of each voxel."""
    from mluop_omp.minkowski._quantization import quantize_label

    return tuple(each.long() for each in quantize_label(coords, labels, ignore_label))


def quantize_label_np(coords: Any, labels: Any, ignore_label: int) -> list[np.ndarray]:
    """As `quantize_label_th`, of arrays of int32."""
    tensors = torch.from_numpy(np.ascontiguousarray(coords)), torch.from_numpy(labels.copy())
    return [each.int().numpy() for each in quantize_label_th(*tensors, ignore_label)]


def install(build: Any) -> None:
    """Replaces functions of the compiled part, and of modules once they are imported."""
    for function in (quantize_label_th, quantize_label_np):
        _dispatch.wrap(build, function.__name__, lambda _, ours=function: _called(ours))
    _imports.after_import("MinkowskiTensorField", _fields)
    _imports.after_import("MinkowskiBroadcast", _broadcasts)


def _called(function: Function) -> Function:
    """Returns a function of its own, which the replacement marks."""
    return lambda *arguments: function(*arguments)
