"""Records the tensors of the modules of a model in a file, compares two such runs, replays one.

Start with _recording.py, the functions that record: the hooks of _recorder.py find tensors through
_sources.py and write them through _writer.py. _run.py reads the file; formats/ reads the files of
other tools. _compare.py compares two runs: _names.py maps their modules, _values.py compares their
tensors, _result.py is the result and its report. _sampling.py chooses elements and sites of large
tensors. _replay.py runs a model on recorded inputs: _replayer.py has the hooks, _replay_result.py
the limits and the report.
"""

from mluop_omp.golden.runs._compare import compare_runs
from mluop_omp.golden.runs._recording import record, recording
from mluop_omp.golden.runs._replay import replay
from mluop_omp.golden.runs._replay_result import Replay, ReplayedCall
from mluop_omp.golden.runs._result import RunComparison
from mluop_omp.golden.runs._run import Run

__all__ = [
    "Replay",
    "ReplayedCall",
    "Run",
    "RunComparison",
    "compare_runs",
    "record",
    "recording",
    "replay",
]
