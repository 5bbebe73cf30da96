"""The operators for PyTorch: differentiable functions, also as torch.ops.mluop_omp, and modules."""

from typing import TYPE_CHECKING

from mluop_omp import _operators as _declarations
from mluop_omp import _requirements

_requirements.require("torch")
# mypy: implicit-reexport
# ruff: noqa: E402, F401, F403
from mluop_omp.torch import functional
from mluop_omp.torch.modules import DynamicScatter, MaskedConv2d, ThreeInterpolate, VoxelPooling
from mluop_omp.torch.sparse import SparseConv3d, SparseTensor, SubMConv3d

_NAMES = [
    "DynamicScatter",
    "MaskedConv2d",
    "SparseConv3d",
    "SparseTensor",
    "SubMConv3d",
    "ThreeInterpolate",
    "VoxelPooling",
]

if TYPE_CHECKING:  # mypy takes a list of literals for the whole of __all__.
    from mluop_omp._operators import *
else:
    globals().update((name, getattr(functional, name)) for name in _declarations.__all__)
    __all__ = _NAMES + _declarations.__all__
