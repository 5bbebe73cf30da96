"""Settings of the process: which manager a tensor gets, and how repeated sites are reduced."""

from __future__ import annotations

import enum
import warnings
from typing import TYPE_CHECKING, Any

from mluop_omp._library import bad_param

if TYPE_CHECKING:
    from mluop_omp.minkowski._coordinates import CoordinateManager


class SparseTensorOperationMode(enum.Enum):
    """Whether tensors made from coordinates get managers of their own or share one."""

    SEPARATE_COORDINATE_MANAGER = 0
    SHARE_COORDINATE_MANAGER = 1


class SparseTensorQuantizationMode(enum.Enum):
    """How the features of a repeated site, or of the points of a voxel, become one row.

    RANDOM_SUBSAMPLE takes the first row, MAX_POOL the maximum of each channel. NO_QUANTIZATION and
    SPLAT_LINEAR_INTERPOLATION refuse repeated sites.
    """

    RANDOM_SUBSAMPLE = 0
    UNWEIGHTED_AVERAGE = 1
    UNWEIGHTED_SUM = 2
    NO_QUANTIZATION = 3
    MAX_POOL = 4
    SPLAT_LINEAR_INTERPOLATION = 5


class _Settings:
    operation_mode = SparseTensorOperationMode.SEPARATE_COORDINATE_MANAGER
    manager: CoordinateManager | None = None


def set_sparse_tensor_operation_mode(operation_mode: SparseTensorOperationMode) -> None:
    """Sets whether tensors made from coordinates share a manager.

    A shared manager keeps all sites until `clear_global_coordinate_manager`.
    """
    if not isinstance(operation_mode, SparseTensorOperationMode):
        raise bad_param(
            f"operation_mode is {operation_mode!r}, expected a SparseTensorOperationMode"
        )
    _Settings.operation_mode = operation_mode


def sparse_tensor_operation_mode() -> SparseTensorOperationMode:
    return _Settings.operation_mode


def global_coordinate_manager() -> CoordinateManager | None:
    """Returns the manager that tensors share, or None before the first of them."""
    return _Settings.manager


def set_global_coordinate_manager(coordinate_manager: CoordinateManager | None) -> None:
    _Settings.manager = coordinate_manager


def clear_global_coordinate_manager() -> None:
    """Lets the next shared tensor make a new manager."""
    _Settings.manager = None


def manager_of_new_tensor(dimension: int) -> CoordinateManager:
    """Returns the shared manager, or a new one, for a tensor without a given manager."""
    from mluop_omp.minkowski._coordinates import CoordinateManager

    is_shared = _Settings.operation_mode is SparseTensorOperationMode.SHARE_COORDINATE_MANAGER
    if is_shared and _Settings.manager is not None:
        return _Settings.manager
    manager = CoordinateManager(D=dimension)
    if is_shared:
        _Settings.manager = manager
    return manager


# Accepted; they have no effect on a CPU.


def set_coordinate_map_type(coordinate_map_type: Any) -> None:
    """Has no effect: sites are on the CPU."""


def set_gpu_allocator(backend: Any) -> None:
    """Has no effect: nothing is allocated on a GPU."""


def set_memory_manager_backend(backend: Any) -> None:
    """Has no effect, as `set_gpu_allocator`, whose deprecated name this is."""
    message = "`set_memory_manager_backend` is deprecated. Use `set_gpu_allocator` instead."
    warnings.warn(message, stacklevel=2)
