#!/usr/bin/env python3
"""Measures networks of mmdetection3d and mmdetection on mluop_omp: a step of training and a prediction.

  pip install .                 installs mluop_omp
  pip install -r python/tests/requirements.txt
  pip install --no-deps -r python/tests/requirements-no-deps.txt
  detectors.py                  measures

Networks and scenes come from python/tests/detectors.py: code and configurations of the packages, random weights,
two synthetic scenes, extents and numbers of samples divided for the tests. --full-size does not divide them.

step: copy of the scenes, voxelization, forward and backward passes, SGD. predict: both scenes, one at a time. share:
the time inside of functions of mmcv that mluop_omp provides, without the gradients of those that PyTorch
differentiates, which is multi-scale deformable attention / the whole. plain: one step with the formulations of
python/tests/definitions.py in place of these functions, in PyTorch and NumPy, partly in double; ratio: plain / step.
losses: largest relative difference between the losses of the first step with mluop_omp and with plain formulations.

--autocast compares the step with one under torch.autocast("cpu", torch.bfloat16) instead. ratio: step / autocast. The
sums of all losses: in float32, under autocast with mluop_omp, and under autocast with plain formulations, which have no
number where NumPy has no bfloat16. loss: the relative difference of the first two. Where it is large and the last two
are equal, bfloat16 changes what the network selects.
"""

import argparse
import contextlib
import copy
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import torch

_TESTS = Path(__file__).resolve().parents[2] / "python" / "tests"
_REQUIREMENTS = ("mmcv", "mmdet", "mmdet3d", "shapely")
_LARGEST_OF_AUTOCAST = 0.02
_LARGEST_DIFFERENCE = 1e-3  # A proposal whose box is rounded differently contains other points.

Functions = dict[str, Callable[..., Any]]


@contextlib.contextmanager
def _replaced(functions: Functions) -> Iterator[None]:
    """Replaces functions of mmcv by their names."""
    with contextlib.ExitStack() as stack:
        for name, function in functions.items():
            stack.enter_context(mock.patch.object(_owner(name), name, function))
        yield


def _owner(name: str) -> ModuleType:
    """Returns the module of a function; definitions is imported by then."""
    return sys.modules["definitions"].owner(name)


class _Stopwatch:
    """Adds up the seconds inside functions that do not call each other."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed_function(*arguments: Any, **named: Any) -> Any:
            begin = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                self.seconds += time.perf_counter() - begin

        return timed_function


def _measure(run: Callable[[], Any], names: list[str]) -> tuple[float, float, Any]:
    """Returns seconds, the share of the functions in them, and the result."""
    inside = _Stopwatch()
    with _replaced({name: inside.timed(getattr(_owner(name), name)) for name in names}):
        begin = time.perf_counter()
        result = run()
        seconds = time.perf_counter() - begin
    return seconds, inside.seconds / seconds, result


def _medians(measured: list[tuple[float, float, Any]]) -> tuple[float, float]:
    seconds, shares, _ = zip(*measured)
    return statistics.median(seconds), statistics.median(shares)


def _largest_difference(losses: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> float:
    """Returns the largest relative difference; infinity if a loss is NaN on one side only."""
    worst = 0.0
    for name, loss in losses.items():
        difference = (loss - expected[name]).abs() / expected[name].abs().clamp(min=1e-30)
        is_same = torch.equal(loss.nan_to_num(), expected[name].nan_to_num())
        worst = max(worst, 0.0 if is_same else difference.nan_to_num(nan=float("inf")).item())
    return worst


def _row(network: tuple, detectors: ModuleType, definitions: Functions, repetitions: int) -> tuple[str, float]:
    """Returns the columns of a network, and the difference of its losses."""
    model, data, test_data = network

    def step() -> tuple[float, float, Any]:
        copied = copy.deepcopy(model)
        return _measure(lambda: detectors.train(copied, data), list(definitions))

    def predict() -> tuple[float, float, Any]:
        return _measure(lambda: detectors.predict(model, test_data), list(definitions))

    _, _, (losses, _) = step()
    steps = [step() for _ in range(repetitions)]
    predict()
    predictions = [predict() for _ in range(repetitions)]
    with _replaced(definitions):
        plain, _, (expected, _) = step()
    difference = _largest_difference(losses, expected)
    seconds, share = _medians(steps)
    columns = [f"{seconds:9.3f}{share:7.1%}", "{:11.3f}{:7.1%}".format(*_medians(predictions))]
    columns.append(f"{plain:9.3f}{plain / seconds:7.1f}{difference:9.0e}")
    return "".join(columns), difference


def _autocast_row(
    network: tuple, detectors: ModuleType, definitions: Functions, repetitions: int
) -> tuple[str, float]:
    """Returns the columns of a network, and the difference of its loss from float32, or from plain formulations."""
    model, data, _ = network

    def step(autocast: bool) -> tuple[float, float]:
        copied = copy.deepcopy(model)
        begin = time.perf_counter()
        losses, _ = detectors.train(copied, data, autocast)
        return time.perf_counter() - begin, losses["loss"].item()

    seconds, totals = [], []
    for autocast in (False, True):
        try:
            totals.append(step(autocast)[1])
        except (AssertionError, RuntimeError) as error:
            return f"  fails in the network's own code: {error}", 0
        seconds.append(statistics.median(step(autocast)[0] for _ in range(repetitions)))
    plain = math.nan
    with _replaced(definitions), contextlib.suppress(TypeError):
        plain = step(True)[1]
    from_float, from_plain = (abs(totals[1] / other - 1) for other in (totals[0], plain))
    columns = f"{seconds[0]:9.3f}{seconds[1]:12.3f}{seconds[0] / seconds[1]:7.2f}"
    columns += f"{totals[0]:12.5g}{totals[1]:12.5g}{plain:12.5g}{from_float:9.2%}"
    return columns, from_plain if from_plain < from_float else from_float


_TITLE = f"{'step s':>9}{'share':>7}{'predict s':>11}{'share':>7}{'plain s':>9}{'ratio':>7}{'losses':>9}"
_AUTOCAST_TITLE = f"{'step s':>9}{'autocast s':>12}{'ratio':>7}{'float32':>12}{'autocast':>12}{'plain':>12}{'loss':>9}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", default="", help="select networks whose name contains TEXT", metavar="TEXT")
    parser.add_argument("--repetitions", type=int, default=3, help="default: %(default)s", metavar="N")
    parser.add_argument("--threads", type=int, help="default: OMP_NUM_THREADS, or all cores", metavar="N")
    parser.add_argument("--autocast", action="store_true", help="compare with a step in bfloat16")
    parser.add_argument("--full-size", action="store_true", help="extents and samples of the configurations: minutes")
    arguments = parser.parse_args()
    if missing := [name for name in _REQUIREMENTS if not find_spec(name)]:
        parser.exit(2, f"{parser.prog} requires {', '.join(missing)}: see --help for their installation\n")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    # PyTorch and the packages warn of their own code.
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(_TESTS))  # Before the folder of this file, which has the same name.
    import definitions
    import detectors

    packages = detectors.load()
    row, title = (_autocast_row, _AUTOCAST_TITLE) if arguments.autocast else (_row, _TITLE)
    largest = _LARGEST_OF_AUTOCAST if arguments.autocast else _LARGEST_DIFFERENCE
    print(f"{'network':27}{title}")
    worst = 0.0
    for name in detectors.NETWORKS:
        if arguments.network not in name:
            continue
        network = detectors.network(packages, name, arguments.full_size)
        columns, difference = row(network, detectors, definitions.ALL, arguments.repetitions)
        worst = max(worst, difference)
        print(f"{name:27}{columns}", flush=True)
    print(f"torch {torch.__version__}, threads: {torch.get_num_threads()}, medians of {arguments.repetitions}")
    return 0 if worst <= largest else 1


if __name__ == "__main__":
    sys.exit(main())
