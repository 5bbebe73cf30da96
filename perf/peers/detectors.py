#!/usr/bin/env python3
"""Measures networks of mmdetection3d and mmdetection on mluop_omp: a step of training and a prediction.

  pip install .                 installs mluop_omp
  pip install -r python/tests/requirements.txt
  pip install --no-deps -r python/tests/requirements-no-deps.txt
  detectors.py                  measures

Networks and scenes are those of python/tests/detectors.py: code and configurations of the packages, random weights,
two synthetic scenes, extents and numbers of samples divided for the tests. --full-size does not divide them.

step: copy of the scenes, voxelization, forward and backward passes, SGD. predict: both scenes, one at a time. share:
the time inside of functions of mmcv that mluop_omp provides, without the gradients of those that PyTorch
differentiates, which is multi-scale deformable attention / the whole. plain: one step with the formulations of
python/tests/definitions.py in place of these functions, in PyTorch and NumPy, partly in double; ratio: plain / step.
losses: largest relative difference between the losses of the first step with mluop_omp and with plain formulations.
"""

import argparse
import contextlib
import copy
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
_LARGEST_DIFFERENCE = 1e-3  # A proposal whose box is rounded otherwise has other points.

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
    """Adds up the seconds inside of functions, which do not call each other."""

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
    """A loss that is NaN on one side only is infinitely far."""
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", default="", help="select networks whose name contains TEXT", metavar="TEXT")
    parser.add_argument("--repetitions", type=int, default=3, help="default: %(default)s", metavar="N")
    parser.add_argument("--threads", type=int, help="default: OMP_NUM_THREADS, else all cores", metavar="N")
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
    print(
        f"{'network':27}{'step s':>9}{'share':>7}{'predict s':>11}{'share':>7}{'plain s':>9}{'ratio':>7}{'losses':>9}"
    )
    worst = 0.0
    for name in detectors.NETWORKS:
        if arguments.network not in name:
            continue
        network = detectors.network(packages, name, arguments.full_size)
        columns, difference = _row(network, detectors, definitions.ALL, arguments.repetitions)
        worst = max(worst, difference)
        print(f"{name:27}{columns}", flush=True)
    print(f"torch {torch.__version__}, threads: {torch.get_num_threads()}, medians of {arguments.repetitions}")
    return 0 if worst <= _LARGEST_DIFFERENCE else 1


if __name__ == "__main__":
    sys.exit(main())
