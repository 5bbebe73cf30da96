"""Version, threads, algorithm and memory."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from mluop_omp import _library
from mluop_omp._library import ALGORITHMS, functions


def _version(function: str) -> str:
    numbers = [ctypes.c_int() for _ in range(3)]
    getattr(functions, function)(*(ctypes.byref(number) for number in numbers))
    return ".".join(str(number.value) for number in numbers)


__version__ = _version("mluOpOmpGetVersion")


def threads(count: int | None = None) -> int:
    """Returns the maximum number of OpenMP threads of the calling thread; `count` sets it.

    It starts as OMP_NUM_THREADS, or the number of processors. torch.set_num_threads sets the same
    number. Small calls use fewer threads. Results of the native algorithm do not depend on their
    number.
    """
    if count is not None:
        if not 1 <= count < 2**31:
            raise ValueError(f"count is {count}, expected at least 1")
        functions.omp_set_num_threads(ctypes.c_int(count))
    return functions.omp_get_max_threads()


def algorithm(name: str | None = None) -> str:
    """Returns the algorithm of the process, after setting it to `name`: "native" or "device".

    It starts as MLUOP_OMP_ALGORITHM, or "native". mlu_op_omp.h describes the two. A call that
    another thread has begun uses the algorithm that it began with.
    """
    if name is not None:
        if name not in ALGORITHMS:
            raise ValueError(f"algorithm is {name!r}, expected one of {', '.join(ALGORITHMS)}")
        _library.algorithm = name
    return _library.algorithm


def release_memory() -> None:
    """Frees the memory that calls keep for later ones. Calls in progress keep theirs."""
    for handles in list(_library.idle.values()):
        handles.clear()


def _openmp_runtimes() -> list[str]:
    lines = Path("/proc/self/maps").read_text().splitlines()
    files = {line.split(maxsplit=5)[5] for line in lines if "/" in line}
    return sorted(
        file for file in files if Path(file).name.startswith(("libgomp", "libomp", "libiomp"))
    )


def info() -> dict[str, Any]:
    """Returns versions, settings, the instruction set, and the OpenMP runtimes of the process.

    If all is well, there is one runtime.
    """
    return {
        "version": __version__,
        "mlu_ops_version": _version("mluOpGetLibVersion"),
        "library": functions._name,
        "instruction_set": functions.mluOpOmpGetInstructionSet().decode(),
        "openmp": _openmp_runtimes(),
        "threads": threads(),
        "algorithm": algorithm(),
    }
