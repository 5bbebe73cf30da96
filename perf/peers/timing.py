"""Times several things in turns, so that whatever drifts on the machine meets all of them alike."""

import random
import statistics
import time
from collections.abc import Callable, Sequence

_REPETITION_SECONDS = 0.005
# Threads of a team spin for some milliseconds after their work: those of spconv, which brings an OpenMP runtime of
# its own, would take the cores from whoever is next.
_SETTLE_SECONDS = 0.01


def _seconds(run: Callable[[], object], calls: int) -> float:
    begin = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - begin) / calls


def medians(runs: Sequence[Callable[[], object]], repetitions: int) -> list[float]:
    """Median seconds of a call of each. Every repetition takes all in random order, each after a call that does
    not count."""
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
