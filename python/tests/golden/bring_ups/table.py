"""Prints the table of defects x models: what the instruments name.

A reference and a device are recorded as a user records them; `compare_runs` compares both, and
for a device that fuses or computes in half precision, `replay` judges its run by the reference.

    python python/tests/golden/bring_ups/table.py [--model M] [--defect D] [--variant V] [-v]
"""

from __future__ import annotations

import argparse
import collections
import copy
import dataclasses
import math
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))  # of detectors.py

import numpy as np
import torch
from defects import DEFECTS, Defect, fused_with
from devices import DEVICES, Device, as_type
from networks import NETWORKS, build
from torch import nn

import mluop_omp

# The devices that get defects.
VARIANTS = ("eager", "bf16", "fused", "fused bf16")
WRONG = "WwEFD!mP"
# Modules that are tried for an effect.
_TRIED = 6
# Outputs with fewer elements, or along one dimension, need not have a pattern.
_FEW = 256
MEANING = {
    "C": "named by compare_runs",
    "R": "named by replay only; compare_runs does not say equal",
    "m": "named by neither; compare_runs says undecided, or that all agrees within rounding",
    "E": "FALSE EQUAL: compare_runs says equal, or agrees in float32",
    "W": "WRONG NAME",
    "w": "named by replay; compare_runs names another module",
    "P": "named by compare_runs, without the pattern of the elements",
    "D": "a difference without the name of a module",
    "a": "agrees (right device)",
    "F": "FALSE DIFFERS (right device)",
    "!": "the instrument raises an exception",
    ".": "no such layer, or no effect",
}


@dataclasses.dataclass
class Cell:
    """The verdict about one device: a letter, and what the instruments said."""

    letter: str
    compare: str = ""
    replay: str = ""
    expected: tuple[str, ...] = ()


class Bench:
    """Runs of one network: the reference is recorded once."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self._folder, self._net = name, folder, build(name)
        self._references: dict[Any, Path] = {}
        self._targets: dict[str, str | None] = {}
        self._called = self._order_of_calls()

    def device(self, variant: str, defect: Defect | None = None, target: str = "") -> Device | None:
        net = copy.deepcopy(self._net)
        if defect is not None:
            net.model.train(defect.training)
            defect.insert(net.model.get_submodule(target))
        return DEVICES[variant](net)

    def target(self, defect: Defect) -> str | None:
        """Returns the module nearest to the middle of the calls where a defect has an effect."""
        if defect.name not in self._targets:
            modules = dict(self._net.model.named_modules())
            names = [each for each in self._called if defect.needs(each, modules[each])]
            middle = len(names) // 2
            names = sorted(names, key=lambda each: abs(names.index(each) - middle))
            chosen = (each for each in names[:_TRIED] if self._has_effect(defect, each))
            self._targets[defect.name] = next(chosen, None)
        return self._targets[defect.name]

    def reference(self, dtype: torch.dtype, training: bool) -> nn.Module:
        model = copy.deepcopy(self._net.model).train(training)
        return model if dtype == torch.float32 else model.to(dtype).float()

    def reference_run(
        self, training: bool, weights: torch.dtype = torch.float32, inputs: Any = torch.float32
    ) -> Path:
        key = weights, inputs, training
        if key not in self._references:
            path = self._folder / f"{len(self._references)}.reference.npz"
            self._record(self.reference(weights, training), self._inputs(inputs), path)
            self._references[key] = path
        return self._references[key]

    def record(self, device: Device) -> Path:
        path = self._folder / "device.npz"
        with device.context():
            self._record(device.model, device.inputs, path, device.warm_up)
        return path

    def cell(self, variant: str, defect: Defect | None = None) -> Cell:
        target = None if defect is None else self.target(defect)
        if defect is not None and target is None:
            return Cell(".")
        # A fused normalization has neither statistics to update nor buffers without effect.
        if defect is not None and (defect.training or defect.of_state) and "fused" in variant:
            return Cell(".")
        device = self.device(variant, defect, target or "")
        if device is None:
            return Cell(".")
        training = defect is not None and defect.training
        expected = ()
        if target is not None:
            is_fused = "fused" in variant
            expected = tuple(fused_with(self._net.model, target) if is_fused else {target})
        try:
            run = self.record(device)
        except (RuntimeError, TypeError, NotImplementedError, AssertionError) as error:
            return Cell(".", f"does not run: {error!r}")
        reference = self.reference_run(training, device.weights, device.dtype)
        compared, replayed = None, None
        try:
            compared = mluop_omp.compare_runs(run, reference, names=device.names)
            is_named = compared.first is not None and compared.first.call.module in expected
            # A user replays what the comparison of runs leaves open.
            if not is_named and (not compared or device.is_half):
                model = self.reference(device.weights, training)
                replayed = mluop_omp.replay(model, run, self._inputs(device.dtype))
        except Exception as error:
            return Cell("!", f"{compared}", f"{type(error).__name__}: {error}", expected)
        letter = judge(compared, replayed, device, defect, set(expected))
        if letter == "C" and variant == "eager" and not _has_pattern(compared, defect):
            letter = "P"
        return Cell(letter, str(compared), "" if replayed is None else str(replayed), expected)

    def _inputs(self, dtype: torch.dtype) -> tuple:
        """Returns the inputs in float32, as a device of this element type has rounded them."""
        if dtype == torch.float32:
            return self._net.inputs
        return as_type(as_type(self._net.inputs, dtype), torch.float32)

    def _record(self, model: nn.Module, inputs: tuple, path: Path, warm_up: int = 0) -> None:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with mluop_omp.recording(model, path):
                for _ in range(warm_up + 1):
                    model(*copy.deepcopy(inputs))

    def _has_effect(self, defect: Defect, target: str) -> bool:
        """Returns whether a run differs from the run of the reference by more than rounding."""
        if defect.of_state and not defect.training:
            return True
        try:
            path = self.record(self.device("eager", defect, target))
            reference = self.reference_run(defect.training)
        except Exception:  # It does not run, as a detector without targets in training mode.
            return False
        with mluop_omp.Run(path) as found, mluop_omp.Run(reference) as expected:
            return any(
                _differ(found.array(value.tensor), expected.array(expected.changed[name].tensor))
                for name, value in found.changed.items()
            ) or any(
                one.outputs.keys() != other.outputs.keys()
                or any(
                    _differ(found.array(value.tensor), expected.array(other.outputs[k].tensor))
                    for k, value in one.outputs.items()
                )
                for one, other in zip(found.calls, expected.calls)
            )

    def _order_of_calls(self) -> list[str]:
        run = mluop_omp.Run(self.reference_run(False))
        with run:
            return list(dict.fromkeys(call.module for call in run.calls))


def _differ(found: np.ndarray, expected: np.ndarray) -> bool:
    if found.shape != expected.shape:
        return True
    errors = found.astype(float) - expected
    return bool(np.mean(errors**2) > 1e-9 * np.mean(expected.astype(float) ** 2))


def _has_pattern(result: Any, defect: Defect) -> bool:
    """Returns whether a report states the pattern, which small tensors need not have."""
    outputs = {} if result.first is None else result.first.outputs
    shapes = [each.shape for each in outputs.values()]
    is_small = all(math.prod(each) < _FEW or max(each) == math.prod(each) for each in shapes)
    return (bool(shapes) and is_small) or bool(re.search(defect.pattern, str(result)))


def judge(result: Any, replayed: Any, device: Device, defect: Defect | None, names: set) -> str:
    """Returns the letter of a cell: what the reader of both reports believes."""
    first = None if result.first is None else result.first.call.module
    is_equal = bool(result)
    differs = bool(result.differences or result.gradients)
    suspects = [] if replayed is None else [each.call.module for each in replayed.suspects]
    states = [] if replayed is None else [name.rpartition(".")[0] for name in replayed.state]
    if defect is None:
        return "F" if differs or suspects or states else "a"
    if defect.of_state:
        text = str(result)
        if any(name in text for name in names) and not is_equal:
            return "C"
        return "R" if set(states) & names else "E" if "\nequal: " in text else "m"
    if first in names:
        return "C"
    if "\nequal: " in str(result) or (is_equal and not device.is_half):
        return "E"
    if suspects:
        return (
            "R"
            if suspects[0] in names and first is None
            else "W"
            if suspects[0] not in names
            else "w"
        )
    if first is not None:
        return "W"
    return "D" if differs else "m"


def cells(
    models: list[str], defects: list[str], variants: list[str], rights: list[str]
) -> Iterator:
    """Yields the model, the row, the variant and the cell."""
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(model, Path(folder))
            for variant in rights:
                yield model, f"right: {variant}", "", bench.cell(variant)
            for defect in defects:
                for variant in variants:
                    yield model, defect, variant, bench.cell(variant, DEFECTS[defect])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", action="append", choices=list(NETWORKS), default=[])
    parser.add_argument("--defect", action="append", choices=[*DEFECTS, "none"], default=[])
    parser.add_argument("--variant", action="append", choices=list(DEVICES), default=[])
    parser.add_argument("-v", "--verbose", action="store_true", help="also prints the reports")
    options = parser.parse_args()
    torch.set_num_threads(1)  # Operations are small.
    models = options.model or list(NETWORKS)
    defects = [each for each in options.defect or DEFECTS if each != "none"]
    variants = [each for each in options.variant or VARIANTS if each in VARIANTS]
    rights = (
        [] if options.defect and "none" not in options.defect else options.variant or list(DEVICES)
    )
    rows: dict[str, dict[str, str]] = collections.defaultdict(dict)
    counts: collections.Counter[str] = collections.Counter()
    for model, row, variant, cell in cells(models, defects, variants, rights):
        letters = rows[row].get(model, "") + cell.letter
        rows[row][model] = letters
        counts[cell.letter] += 1
        if options.verbose and cell.letter != ".":
            print(f"--- {model}, {row}, {variant}: {cell.letter}, expected {cell.expected}")
            print(cell.compare, cell.replay, sep="\n", flush=True)
        elif cell.letter in WRONG:
            said = " / ".join(cell.compare.splitlines()[:2])
            then = " / ".join(" ".join(line.split()) for line in cell.replay.splitlines()[:3])
            print(f"{cell.letter} {model}, {row}, {variant}: expected {cell.expected}")
            print(f"    compare_runs: {said}\n    replay: {then}", flush=True)
    print(f"cells: {', '.join(variants)}; of right devices one")
    for number, model in enumerate(models):
        print(f"{number:>2} = {model}")
    print(f"{'':36}" + "".join(f"{number:>5}" for number, _ in enumerate(models)))
    for row, letters in rows.items():
        print(f"{row:36}" + "".join(f"{letters.get(each, ''):>5}" for each in models))
    for letter, count in sorted(counts.items()):
        print(f"{count:5} {letter} {MEANING[letter]}")


if __name__ == "__main__":
    main()
