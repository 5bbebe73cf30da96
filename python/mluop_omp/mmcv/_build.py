"""The functions of mmcv._ext that say how it was compiled: here, how this library was."""

from __future__ import annotations

from mluop_omp._library import functions


def get_compiler_version() -> str:
    return functions.mluOpOmpGetCompiler().decode()


def get_compiling_cuda_version() -> str:
    """Returns what mmcv returns that was compiled without CUDA."""
    return "not available"
