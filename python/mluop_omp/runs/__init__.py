"""Runs: what the modules of a model computed, in a file, and the first module that differs.

_recording.py has the functions that record; their hooks are in _recorder.py, which finds tensors by
_sources.py and writes by _writer.py. _run.py reads the file. _compare.py compares two runs: their
modules, whose names _names.py maps, and their tensors by _values.py; _result.py has the result,
_report.py its text. _sampling.py chooses elements and sites of large tensors.
"""

from mluop_omp.runs._compare import compare_runs
from mluop_omp.runs._recording import record, recording
from mluop_omp.runs._result import RunComparison
from mluop_omp.runs._run import Run

__all__ = ["Run", "RunComparison", "compare_runs", "record", "recording"]
