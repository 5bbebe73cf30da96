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
differentiates, which is multi-scale deformable attention / the whole. plain: one step with the definitions of the
operators in place of the kernels, in NumPy, partly in double; ratio: plain / step.
losses: largest relative difference between the losses of the first step with mluop_omp and with the definitions.

--autocast compares the step with one under torch.autocast("cpu", torch.bfloat16) instead. ratio: step / autocast. The
sums of all losses: in float32, under autocast with mluop_omp, and under autocast with the definitions, which have no
number where NumPy has no bfloat16. loss: the relative difference of the first two. Where it is large and the last two
are equal, bfloat16 changes what the network selects.

--inference compares the prediction with predictions of what prepare_for_inference makes in float32 and in bfloat16.
ratios: predict / prepared. folded: normalizations in convolutions / all. bfloat16 is measured on processors with
instructions for it.
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


@contextlib.contextmanager
def _by_definition() -> Iterator[None]:
    """Replaces the kernels of the operators by their definitions; these are imported by then."""
    from mluop_omp._operators import all_operators

    defined = sys.modules["definitions"].defined
    with contextlib.ExitStack() as stack:
        for operator in all_operators():
            stack.enter_context(mock.patch.object(operator, "kernel", defined(operator)))
        yield


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


def _measure(run: Callable[[], Any]) -> tuple[float, float, Any]:
    """Returns seconds, the share of mluop_omp's functions of mmcv in them, and the result."""
    from mluop_omp.mmcv import FUNCTIONS

    inside, extension = _Stopwatch(), sys.modules["mmcv._ext"]
    with contextlib.ExitStack() as stack:
        for name in FUNCTIONS:
            timed = inside.timed(getattr(extension, name))
            stack.enter_context(mock.patch.object(extension, name, timed))
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


def _row(network: tuple, detectors: ModuleType, repetitions: int) -> tuple[str, float]:
    """Returns the columns of a network, and the difference of its losses."""
    model, data, test_data = network

    def step() -> tuple[float, float, Any]:
        copied = copy.deepcopy(model)
        return _measure(lambda: detectors.train(copied, data))

    def predict() -> tuple[float, float, Any]:
        return _measure(lambda: detectors.predict(model, test_data))

    _, _, (losses, _) = step()
    steps = [step() for _ in range(repetitions)]
    predict()
    predictions = [predict() for _ in range(repetitions)]
    with _by_definition():
        plain, _, (expected, _) = step()
    difference = _largest_difference(losses, expected)
    seconds, share = _medians(steps)
    columns = [f"{seconds:9.3f}{share:7.1%}", "{:11.3f}{:7.1%}".format(*_medians(predictions))]
    columns.append(f"{plain:9.3f}{plain / seconds:7.1f}{difference:9.0e}")
    return "".join(columns), difference


def _autocast_row(network: tuple, detectors: ModuleType, repetitions: int) -> tuple[str, float]:
    """Returns the columns of a network, and the difference of its loss from float32, or from the definitions."""
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
    with _by_definition(), contextlib.suppress(TypeError):
        plain = step(True)[1]
    from_float, from_plain = (abs(totals[1] / other - 1) for other in (totals[0], plain))
    columns = f"{seconds[0]:9.3f}{seconds[1]:12.3f}{seconds[0] / seconds[1]:7.2f}"
    columns += f"{totals[0]:12.5g}{totals[1]:12.5g}{plain:12.5g}{from_float:9.2%}"
    return columns, from_plain if from_plain < from_float else from_float


def _inference_row(network: tuple, detectors: ModuleType, repetitions: int) -> tuple[str, float]:
    """Returns the columns of a network; the three models take turns."""
    from mluop_omp.torch.inference import prepare_for_inference

    model, _, data = network
    model.eval()

    def run(model: torch.nn.Module) -> Any:
        return detectors.predict(model, data)

    # Boxes of random weights have scores that differ in the last bits.
    prepared = prepare_for_inference(model, run, tolerance=None)
    models = [model, prepared.model]
    if torch.ops.mkldnn._is_mkldnn_bf16_supported():
        models.append(prepare_for_inference(model, run, dtype=torch.bfloat16).model)
    seconds: list[list[float]] = [[] for _ in models]
    for _ in range(repetitions):
        for each, samples in zip(models, seconds):
            begin = time.perf_counter()
            run(each)
            samples.append(time.perf_counter() - begin)
    eager, folded, bfloat16 = *map(statistics.median, seconds), *[math.nan] * (3 - len(models))
    columns = f"{eager:11.3f}{folded:12.3f}{eager / folded:7.2f}{bfloat16:12.3f}{eager / bfloat16:7.2f}"
    columns += f"{len(prepared.folded):7}/{len(prepared.folded) + len(prepared.left)}"
    return columns, 0


_TITLE = f"{'step s':>9}{'share':>7}{'predict s':>11}{'share':>7}{'plain s':>9}{'ratio':>7}{'losses':>9}"
_AUTOCAST_TITLE = f"{'step s':>9}{'autocast s':>12}{'ratio':>7}{'float32':>12}{'autocast':>12}{'plain':>12}{'loss':>9}"
_INFERENCE_TITLE = f"{'predict s':>11}{'prepared s':>12}{'ratio':>7}{'bfloat16 s':>12}{'ratio':>7}{'folded':>8}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", default="", help="select networks whose name contains TEXT", metavar="TEXT")
    parser.add_argument("--repetitions", type=int, default=3, help="default: %(default)s", metavar="N")
    parser.add_argument("--threads", type=int, help="default: OMP_NUM_THREADS, or all cores", metavar="N")
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--autocast", action="store_true", help="compare with a step in bfloat16")
    modes.add_argument("--inference", action="store_true", help="compare predictions of prepared models")
    parser.add_argument("--full-size", action="store_true", help="extents and samples of the configurations: minutes")
    arguments = parser.parse_args()
    if missing := [name for name in _REQUIREMENTS if not find_spec(name)]:
        parser.exit(2, f"{parser.prog} requires {', '.join(missing)}: see --help for their installation\n")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    # PyTorch and the packages warn of their own code.
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(_TESTS))  # Before the folder of this file, which has the same name.
    import definitions  # noqa: F401  _by_definition() finds it in sys.modules
    import detectors

    packages = detectors.load()
    row, title = (_autocast_row, _AUTOCAST_TITLE) if arguments.autocast else (_row, _TITLE)
    if arguments.inference:
        row, title = _inference_row, _INFERENCE_TITLE
    largest = _LARGEST_OF_AUTOCAST if arguments.autocast else _LARGEST_DIFFERENCE
    print(f"{'network':27}{title}")
    worst = 0.0
    for name in detectors.NETWORKS:
        if arguments.network not in name:
            continue
        network = detectors.network(packages, name, arguments.full_size)
        columns, difference = row(network, detectors, arguments.repetitions)
        worst = max(worst, difference)
        print(f"{name:27}{columns}", flush=True)
    print(f"torch {torch.__version__}, threads: {torch.get_num_threads()}, medians of {arguments.repetitions}")
    return 0 if worst <= largest else 1


if __name__ == "__main__":
    sys.exit(main())
