"""OpenPCDet's operators on CPUs.

    import mluop_omp.pcdet
    mluop_omp.pcdet.install()

before the import of OpenPCDet's operators provides the extension modules that its setup.py builds
with CUDA: iou3d_nms_cuda, roiaware_pool3d_cuda, roipoint_pool3d_cuda, pointnet2_batch_cuda,
pointnet2_stack_cuda, bev_pool_ext and ingroup_inds_cuda of the packages in pcdet.ops. Extensions
that were built keep their functions for other devices. OpenPCDet calls `.cuda()` everywhere:
`mluop_omp.no_cuda()` lets it run where there is no GPU.

The vector pools of PV-RCNN++ have no kernel here, and say so when they are called.
"""

from __future__ import annotations

from typing import Any, Callable

from mluop_omp import _extensions
from mluop_omp.bevfusion import _bev_pool
from mluop_omp.pcdet import _boxes, _points, _rois

# By the name in the package pcdet.ops.
_MODULES: dict[str, dict[str, Callable[..., Any]]] = {
    "iou3d_nms.iou3d_nms_cuda": _boxes.FUNCTIONS,
    "roiaware_pool3d.roiaware_pool3d_cuda": _rois.ROIAWARE_FUNCTIONS,
    "roipoint_pool3d.roipoint_pool3d_cuda": {"forward": _rois.roipoint_pool3d_forward},
    "pointnet2.pointnet2_batch.pointnet2_batch_cuda": _points.BATCH_FUNCTIONS,
    "pointnet2.pointnet2_stack.pointnet2_stack_cuda": _points.STACK_FUNCTIONS,
    "bev_pool.bev_pool_ext": _bev_pool.FUNCTIONS,
    "ingroup_inds.ingroup_inds_cuda": {"forward": _points.ingroup_inds},
}


def install() -> None:
    """Provides the extension modules of OpenPCDet for tensors of the CPU; once, if repeated."""
    for name, functions in _MODULES.items():
        _extensions.provide(f"pcdet.ops.{name}", functions)
