"""The instruments: they compare, record, replay and check results, and convert filters.

They call the operators as any user does; no operator and no adapter imports them. README.md says
where to start.
"""

from mluop_omp.golden.checking import CheckedCall, CheckFailure, check
from mluop_omp.golden.comparison import Comparison, SparseSites, compare
from mluop_omp.golden.filters import FILTER_LAYOUTS, convert_filters, matching_layouts
from mluop_omp.golden.runs import (
    Replay,
    ReplayedCall,
    Run,
    RunComparison,
    compare_runs,
    record,
    recording,
    replay,
)

__all__ = [
    "FILTER_LAYOUTS",
    "CheckFailure",
    "CheckedCall",
    "Comparison",
    "Replay",
    "ReplayedCall",
    "Run",
    "RunComparison",
    "SparseSites",
    "check",
    "compare",
    "compare_runs",
    "convert_filters",
    "matching_layouts",
    "record",
    "recording",
    "replay",
]
