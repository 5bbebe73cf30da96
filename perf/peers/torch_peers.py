#!/usr/bin/env python3
"""Compares the operators of mluop-omp, and networks of them, with PyTorch and spconv, on the inputs of the perf suite,
in one process.

  pip install .                 installs mluop_omp
  mluop_perf --all --dump INPUTS      writes the inputs
  torch_peers.py INPUTS         measures

Verifies each implementation against the library, then times all of them interleaved. Tolerance: diff1 and diff2
of 1e-5 for float, 3e-3 for half and 8e-3 for bfloat16; integers must be equal. Indices are int32, as the operators
require; where PyTorch requires int64, the conversion is not timed. All other work that depends on the indices (masks,
sorting) is timed. A peer that has no kernel for the data type is not timed; the reason follows the table.
"""

import argparse
import ctypes
import os
import sys
from pathlib import Path


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", type=Path, help="folder written by mluop_perf --dump")
    parser.add_argument("--op", default="", help="select operators whose name contains TEXT", metavar="TEXT")
    parser.add_argument("--case", default="", help="select cases whose NAME_DTYPE contains TEXT", metavar="TEXT")
    parser.add_argument("--repetitions", type=int, default=7, help="default: %(default)s", metavar="N")
    parser.add_argument("--threads", type=int, help="default: OMP_NUM_THREADS, or all cores", metavar="N")
    parser.add_argument(
        "--algorithm", choices=("native", "device"), default="native", help="algorithm of the library; default: %(default)s"
    )
    parser.add_argument(
        "--keep-memory",
        action="store_true",
        help="make malloc keep freed memory, so that temporaries cause no page faults",
    )
    return parser.parse_args()


def _keep_memory() -> None:
    mmap_max, trim_threshold = -4, -1
    mallopt = ctypes.CDLL(None).mallopt
    if not (mallopt(mmap_max, 0) and mallopt(trim_threshold, 2**31 - 1)):
        raise RuntimeError("mallopt failed: this malloc does not support --keep-memory")


def main() -> int:
    arguments = _arguments()
    # Before the imports: an OpenMP runtime reads the variable when it is loaded, and spconv may load another.
    if arguments.threads:
        os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    if arguments.keep_memory:
        _keep_memory()
    import torch

    if "OMP_NUM_THREADS" in os.environ:
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    import mluop_omp
    from suite import measure_all

    mluop_omp.algorithm(arguments.algorithm)
    verified = measure_all(arguments.inputs, arguments.op, arguments.case, arguments.repetitions)
    versions = f"mluop_omp {mluop_omp.__version__}, torch {torch.__version__}"
    print(f"{versions}, algorithm: {arguments.algorithm}, threads: {torch.get_num_threads()}, memory kept: {arguments.keep_memory}")
    print("OpenMP runtimes: " + ", ".join(mluop_omp.info()["openmp"]))
    return 0 if verified else 1


if __name__ == "__main__":
    sys.exit(main())
