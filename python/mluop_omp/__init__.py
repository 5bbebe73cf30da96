"""The operators of 3-D perception networks on CPUs.

The functions of this module take and return NumPy arrays, which must be contiguous; those on
layouts of filters, and `mutual_information_recursion`, take tensors, too.
`mluop_omp.torch` provides the operators to PyTorch, `mluop_omp.mmcv`, `mluop_omp.spconv`,
`mluop_omp.pcdet`, `mluop_omp.pointnet2`, `mluop_omp.pointops`, `mluop_omp.deformable_detr`,
`mluop_omp.bevdepth`, `mluop_omp.bevdet` and `mluop_omp.bevfusion` to these libraries. An argument
that an operator refuses raises `MluOpError`; no element type is converted to a narrower one.

The package ml_dtypes provides arrays of bfloat16. float64 is for tests such as gradcheck: it is
computed in plain NumPy. The library computes the other types.

Functions may be called from any thread, and from signal handlers and finalizers that interrupt
another call. An exception that interrupts a call, such as KeyboardInterrupt, affects no other.

Settings of the library, such as OMP_NUM_THREADS, are described in docs/settings.md and mlu_op.h.
MLUOP_LOG_LEVEL is off unless it is set, as exceptions carry the messages of the log.
"""

# mypy: implicit-reexport
# ruff: noqa: F401, F403
from typing import TYPE_CHECKING

from mluop_omp import _operators
from mluop_omp._install import install, no_cuda
from mluop_omp._lattices import mutual_information_recursion
from mluop_omp._library import MluOpError, Status
from mluop_omp._operators import *
from mluop_omp._settings import __version__, algorithm, info, release_memory, threads
from mluop_omp.filters import FILTER_LAYOUTS, convert_filters, matching_layouts
from mluop_omp.golden import (
    CheckedCall,
    CheckFailure,
    Comparison,
    Replay,
    ReplayedCall,
    Run,
    RunComparison,
    SparseSites,
    check,
    compare,
    compare_runs,
    record,
    recording,
    replay,
)

_NAMES = [
    "CheckFailure",
    "CheckedCall",
    "Comparison",
    "FILTER_LAYOUTS",
    "MluOpError",
    "Replay",
    "ReplayedCall",
    "Run",
    "RunComparison",
    "SparseSites",
    "Status",
    "__version__",
    "algorithm",
    "check",
    "compare",
    "compare_runs",
    "convert_filters",
    "info",
    "install",
    "matching_layouts",
    "mutual_information_recursion",
    "no_cuda",
    "record",
    "recording",
    "release_memory",
    "replay",
    "threads",
]
if not TYPE_CHECKING:  # mypy takes a list of literals for the whole of __all__.
    __all__ = _NAMES + _operators.__all__
