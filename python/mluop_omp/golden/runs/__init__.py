"""Records the tensors of the modules of a model in a file, compares two such runs, replays one.

Start with _recording.py, the functions that record: the hooks of _recorder.py find tensors through
_sources.py and write them through _writer.py; _operations.py finds the operations between modules,
_exported.py runs exported graphs, _sampling.py chooses parts of large tensors, _budget.py shares
the bytes of the file, _state.py records parameters and buffers, _changes.py notices writes to
tensors. _run.py reads the file; formats/ reads the files of other tools.
_graphs.py matches runs of ONNX graphs with the tensors of other runs, by name.

_compare.py compares two runs: _alignment.py pairs their calls, _values.py compares tensors with
_rows.py (what joins rows in another order), _orders.py (how) and _sample_patterns.py, _rounding.py
measures errors, and _judge.py finds the calls that differ, with _fusion.py for fused modules.
_result.py is the result and its report. _replay.py runs a model on recorded inputs: _replayer.py
has the hooks, _replay_result.py the report.
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
