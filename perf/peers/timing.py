"""Interleaved timing: drift of the machine affects all implementations alike."""

import random
import statistics
import time
from collections.abc import Callable, Sequence

_REPETITION_SECONDS = 0.005
# Threads of a team spin for some milliseconds after their work. spconv brings its own OpenMP runtime, whose
# threads would compete with the next implementation for the cores.
_SETTLE_SECONDS = 0.01


def _seconds(run: Callable[[], object], calls: int) -> float:
    begin = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - begin) / calls


def medians(runs: Sequence[Callable[[], object]], repetitions: int) -> list[float]:
    """Returns the median seconds per call of each function. A repetition runs all functions in random order, each
    after an untimed call."""
    for run in runs:
        run()
    calls = [int(_REPETITION_SECONDS / _seconds(run, 1)) + 1 for run in runs]
    samples: list[list[float]] = [[] for _ in runs]
    order = list(range(len(runs)))
    shuffle = random.Random(1).shuffle
    for _ in range(repetitions):
        shuffle(order)
        for i in order:
            time.sleep(_SETTLE_SECONDS)
            runs[i]()
            samples[i].append(_seconds(runs[i], calls[i]))
    return [statistics.median(each) for each in samples]
