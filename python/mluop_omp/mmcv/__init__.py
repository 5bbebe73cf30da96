"""mmcv's operators on CPUs.

    import mluop_omp.mmcv
    mluop_omp.mmcv.install()

or `import mluop_omp.mmcv.auto`, before or after the import of mmcv.ops, makes the Python classes
and functions of mmcv compute tensors of the CPU with this library; docs/mmcv.md lists each of them.
It works with mmcv-lite, which has no kernels. A full mmcv keeps its kernels for other devices, and
for float64 in deformable convolutions, RoI align and its forms, active_rotated_filter and
nms_rotated.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
import types
from collections.abc import Callable
from typing import Any

from mluop_omp import _dispatch, _requirements
from mluop_omp._adapters import rows_of_three
from mluop_omp.mmcv import (
    _attention,
    _batch_norm,
    _bezier_rois,
    _boxes,
    _build,
    _deform_conv,
    _filters,
    _functions,
    _losses,
    _mmdet,
    _neighborhoods,
    _ops,
    _point_sets,
    _points,
    _rois,
    _rotated_rois,
    _stylegan,
    _text_regions,
    _videos,
)

__all__ = ["FUNCTIONS", "install", "rows_of_three"]

_MODULE = "mmcv._ext"
_MODULES = (
    _attention,
    _batch_norm,
    _bezier_rois,
    _boxes,
    _deform_conv,
    _filters,
    _functions,
    _losses,
    _neighborhoods,
    _point_sets,
    _points,
    _rois,
    _rotated_rois,
    _text_regions,
    _videos,
)


def _of_modules(*modules: types.ModuleType) -> dict[str, Callable[..., Any]]:
    """Returns the public functions of modules by name."""
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if name[0] != "_" and getattr(value, "__module__", "") == module.__name__
    }


# What computes the functions of mmcv._ext for tensors of the CPU, by name.
FUNCTIONS = _of_modules(*_MODULES)
# Functions that mmcv does not call for tensors of the CPU: PyTorch computes direct calls.
_FORMULATIONS = _of_modules(_stylegan)
# Functions without tensors, of an mmcv without kernels; a full mmcv keeps its own.
_ANSWERS = _of_modules(_build)
# The functions provided here of which a full mmcv has a CPU kernel, and the element types that are
# computed here. contour_expand, on integers, is not among them: all its calls are computed here.
_CPU_KERNELS = {
    "active_rotated_filter_backward": _dispatch.SINGLE,
    "active_rotated_filter_forward": _dispatch.SINGLE,
    "bbox_overlaps": _dispatch.SINGLE_AND_DOUBLE,
    "bezier_align_backward": _dispatch.SINGLE,
    "bezier_align_forward": _dispatch.SINGLE,
    "box_iou_quadri": _dispatch.SINGLE_AND_DOUBLE,
    "box_iou_rotated": _dispatch.SINGLE_AND_DOUBLE,
    **{name: _dispatch.SINGLE for name in FUNCTIONS if "deform_conv" in name},
    "dynamic_voxelize_forward": _dispatch.SINGLE_AND_DOUBLE,
    "hard_voxelize_forward": _dispatch.SINGLE_AND_DOUBLE,
    "nms_match": _dispatch.SINGLE_AND_DOUBLE,
    "nms": _dispatch.SINGLE_AND_DOUBLE,
    "nms_quadri": _dispatch.SINGLE_AND_DOUBLE,
    "nms_rotated": _dispatch.SINGLE,
    "pixel_group": _dispatch.SINGLE_AND_DOUBLE,
    "points_in_boxes_cpu_forward": _dispatch.SINGLE_AND_DOUBLE,
    "roi_align_backward": _dispatch.SINGLE,
    "roi_align_forward": _dispatch.SINGLE,
    "roi_align_rotated_backward": _dispatch.SINGLE,
    "roi_align_rotated_forward": _dispatch.SINGLE,
    "rotated_feature_align_backward": _dispatch.SINGLE,
    "rotated_feature_align_forward": _dispatch.SINGLE,
    "softnms": _dispatch.SINGLE_AND_DOUBLE,
}


def _without_kernel(name: str) -> str:
    """Returns the message of a function of an mmcv without kernels, with what to do next.

    All functions of mmcv 2.1 and 2.2 are provided; other versions may have more.
    """
    # Such as mmcv-lite.
    installed = (_requirements.installed("mmcv") or "mmcv").split()[0].rstrip(",")
    if name in FUNCTIONS or name in _FORMULATIONS:
        reason = f"got no tensor of the CPU, and {installed} has no other kernel: use the CPU"
    else:
        reason = f"has no CPU kernel in mluop_omp or {installed}: compute it on another device"
    return f"{_MODULE}.{name} {reason}; docs/mmcv.md lists what runs on a CPU"


class _StandIn(types.ModuleType):
    """mmcv._ext where mmcv has none: functions that are not provided raise when called."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def missing(*_: Any, **__: Any) -> Any:
            raise NotImplementedError(_without_kernel(name))

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
    vars(stand_in).update(_ANSWERS)
    sys.modules[_MODULE] = stand_in
    # As the import of a submodule does.
    setattr(sys.modules["mmcv"], "_ext", stand_in)  # noqa: B010
    return stand_in


def install() -> None:
    """Provides functions of mmcv._ext for tensors of the CPU; once, if repeated."""
    extension = _extension()
    cpu_kernels = {} if isinstance(extension, _StandIn) else _CPU_KERNELS
    for name, ours in (FUNCTIONS | _FORMULATIONS).items():
        _dispatch.replace(extension, name, ours, cpu_kernels.get(name))
    # Other modules have copies of the functions, but apply the classes.
    for module, name in (
        ("masked_conv", "masked_conv2d"),
        ("points_in_boxes", "points_in_boxes_all"),
        ("points_in_boxes", "points_in_boxes_part"),
    ):
        of_mmcv = importlib.import_module(f"mmcv.ops.{module}")
        _dispatch.replace_copies(of_mmcv, name, getattr(_ops, name))
    attention = importlib.import_module("mmcv.ops.multi_scale_deform_attn")
    name, ours = "multi_scale_deformable_attn_pytorch", _ops.multi_scale_deformable_attn
    # A formulation in PyTorch, for any device and element type.
    _dispatch.replace(attention, name, ours, _dispatch.SINGLE, is_formulation=True)
    sampling = importlib.import_module("mmcv.ops.furthest_point_sample")
    for function, ours in (
        (sampling.FurthestPointSampling, _ops.furthest_point_sampling),
        (sampling.FurthestPointSamplingWithDist, _ops.furthest_point_sampling_with_dist),
        (importlib.import_module("mmcv.ops.knn").KNN, _ops.knn),
        (importlib.import_module("mmcv.ops.prroi_pool").PrRoIPoolFunction, _ops.prroi_pool),
    ):
        _dispatch.replace(function, "forward", ours)
    naive = importlib.import_module("mmcv.ops.carafe").CARAFENaiveFunction
    _dispatch.replace(naive, "backward", _ops.carafe_naive_backward)
    sparse_ops = importlib.import_module("mmcv.ops.sparse_ops")
    for name in ("indice_conv", "indice_maxpool"):
        for function in (name, f"{name}_backward"):
            _dispatch.replace(sparse_ops, function, getattr(_ops, function))
    _mmdet.install()
