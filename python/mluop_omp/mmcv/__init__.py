"""mmcv's operators on CPUs.

    import mluop_omp.mmcv
    mluop_omp.mmcv.install()

or `import mluop_omp.mmcv.auto`, before or after the import of mmcv.ops, makes the Python classes of
mmcv compute tensors of the CPU with this library: ThreeInterpolate, three_nn, BallQuery,
DynamicScatter, Voxelization, MaskedConv2d, the sparse convolutions SparseConv2d, SparseConv3d,
SparseConv4d, SubMConv2d, SubMConv3d, SubMConv4d, SparseInverseConv2d and SparseInverseConv3d, and
the functions nms, soft_nms, nms_match, batched_nms, nms_rotated, nms3d, nms3d_normal,
box_iou_rotated, boxes_overlap_bev and boxes_iou3d. It works with mmcv-lite, which has no kernels,
and with a full mmcv, whose kernels remain those of all other functions and devices, and of float64
in those on boxes. Transposed sparse convolutions and sparse pooling have no kernel here.
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
# The functions provided here of which a full mmcv has a CPU kernel, and the element types that are
# computed here.
_CPU_KERNELS = {
    "box_iou_rotated": _dispatch.SINGLE,
    "dynamic_voxelize_forward": _dispatch.SINGLE_AND_DOUBLE,
    "hard_voxelize_forward": _dispatch.SINGLE_AND_DOUBLE,
    "nms_match": _dispatch.SINGLE,
    "nms": _dispatch.SINGLE,
    "nms_rotated": _dispatch.SINGLE,
    "softnms": _dispatch.SINGLE,
}


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
    cpu_kernels = {} if isinstance(extension, _StandIn) else _CPU_KERNELS
    for name in _functions.__all__:
        ours = getattr(_functions, name)
        _dispatch.replace(extension, name, ours, cpu_kernels.get(name))
