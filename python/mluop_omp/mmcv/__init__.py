"""mmcv's operators on CPUs.

    import mluop_omp.mmcv
    mluop_omp.mmcv.install()

or `import mluop_omp.mmcv.auto`, before or after the import of mmcv.ops, makes the Python classes of
mmcv compute tensors of the CPU with this library: ThreeInterpolate, three_nn, BallQuery,
DynamicScatter, Voxelization, MaskedConv2d, and the sparse convolutions SparseConv2d, SparseConv3d,
SparseConv4d, SubMConv2d, SubMConv3d, SubMConv4d, SparseInverseConv2d and SparseInverseConv3d. It
works with mmcv-lite, which has no kernels, and with a full mmcv, whose kernels remain those of all
other functions and devices. Transposed sparse convolutions and sparse pooling have no kernel here.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
import types
from typing import Any

from mluop_omp import _dispatch, _requirements
from mluop_omp.mmcv import _functions

_MODULE = "mmcv._ext"
# Those that a full mmcv has of the functions provided here.
_CPU_KERNELS = ("dynamic_voxelize_forward", "hard_voxelize_forward")


class _StandIn(types.ModuleType):
    """mmcv._ext where mmcv has none: functions that are not provided raise when called."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def missing(*_: Any, **__: Any) -> Any:
            raise NotImplementedError(
                f"{_MODULE}.{name} has no CPU kernel in mluop_omp, "
                "and mmcv is installed without its own"
            )

        return missing


def _extension() -> types.ModuleType:
    if _MODULE in sys.modules:
        return sys.modules[_MODULE]
    _requirements.require("mmcv")
    try:
        return importlib.import_module(_MODULE)
    except ModuleNotFoundError as error:
        if error.name != _MODULE:
            raise
    stand_in = _StandIn(_MODULE)
    stand_in.__spec__ = importlib.machinery.ModuleSpec(_MODULE, None)
    sys.modules[_MODULE] = stand_in
    # As the import of a submodule does.
    setattr(sys.modules["mmcv"], "_ext", stand_in)  # noqa: B010
    return stand_in


def install() -> None:
    """Provides functions of mmcv._ext for tensors of the CPU; once, if repeated."""
    extension = _extension()
    masked_conv = importlib.import_module("mmcv.ops.masked_conv")
    _dispatch.replace(masked_conv, "masked_conv2d", _functions.masked_conv2d)
    setattr(sys.modules["mmcv.ops"], "masked_conv2d", masked_conv.masked_conv2d)  # noqa: B010
    for name in _functions.__all__:
        has_cpu_kernel = name in _CPU_KERNELS and not isinstance(extension, _StandIn)
        _dispatch.replace(extension, name, getattr(_functions, name), has_cpu_kernel)
