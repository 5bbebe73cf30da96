"""Writes calls as operator cases.

The library records its own calls (docs/cases.md). The function of this library runs once more on
the arguments of a call; in the case that is recorded, the results of the device replace the results
of this library. Outputs are matched by their elements, so that a case is written only if the
operator alone computes what the function returns.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from mluop_omp import _library
from mluop_omp._arrays import Arrays
from mluop_omp.golden import _output
from mluop_omp.golden._numbers import to_numpy
from mluop_omp.golden.checking._calls import Call, Findings, Rulebook
from mluop_omp.golden.checking._rulebooks import ordered
from mluop_omp.golden.comparison import Comparison

_DTYPES = {
    "HALF": torch.float16,
    "BFLOAT16": torch.bfloat16,
    "FLOAT": torch.float32,
    "COMPLEX_FLOAT": torch.complex64,
    "INT32": torch.int32,
}
# A handle reads these variables when it is created: it records elements in files of their own.
_VARIABLES = {
    "MLUOP_GEN_CASE": "2",
    "MLUOP_GEN_CASE_OP_NAME": "",
    "MLUOP_GEN_CASE_DUMP_DATA": "",
    "MLUOP_GEN_CASE_DUMP_DATA_OUTPUT": "",
    "MLUOP_GEN_CASE_DUMP_DATA_FILE": "1",
}
# One thread records at a time; no other thread creates a handle while the variables are set.
_RECORDING, _CREATING = threading.RLock(), threading.RLock()
# A result of this library and the result of the device.
_Pair = tuple[Tensor, Tensor]


def write(folder: str, number: int, call: Call, findings: Findings) -> str:
    """Writes the arguments and results of the device; returns the name of the text file.

    Raises ValueError if no single operator of the C API computes the call.
    """
    with tempfile.TemporaryDirectory(prefix=".mluop_omp.", dir=folder) as recorded:
        results = _results(call, recorded)
        paths = sorted(Path(recorded).rglob("*.prototxt"))
        for path in paths:
            text, names = _replace(path, results, call.rule.transposed)
            if not names.isdisjoint(findings.differences):
                break
        else:
            operators = [entry.name for entry in Path(recorded).glob("gen_case/*")]
            if operators and not paths:
                raise OSError(f"{operators[0]} cannot be recorded in {folder}")
            raise ValueError(_reason(", ".join(findings.differences), sorted(operators)))
        name = f"{number:04}-{call.rule.name}"
        for file in path.parent.glob(f"{path.stem}_*.bin"):
            suffix = file.name.removeprefix(f"{path.stem}_")
            os.replace(file, os.path.join(folder, f"{name}.{suffix}"))
        text = text.replace(f"{path.stem}_", f"{name}.")
    if call.rule.rulebook is not None:
        sites = len(results["sites"][1])
        text = re.sub("num_act_out: .*", f"num_act_out: {sites}", text)
    threshold = _threshold(findings) if call.rule.widened else None
    if threshold is not None:
        criterion = f"error_func: DIFF3_2 error_threshold: {threshold!r}"
        text += f"test_param {{ {criterion} baseline_device: CPU }}\n"
    target = os.path.join(folder, f"{name}.prototxt")
    _output.write_text(target, text)
    return target


def _reason(wrong: str, operators: list[str]) -> str:
    if not operators:
        return f"no operator of the C API computes {wrong}"
    return (
        f"{' and '.join(operators)} of the C API alone does not compute {wrong}: the function adds "
        "the result to other numbers, for example, or applies an activation"
    )


def _threshold(findings: Findings) -> float | None:
    """Half of the largest error; sums in another order have smaller errors."""
    errors = [
        difference.worst[0].absolute
        for difference in findings.differences.values()
        if isinstance(difference, Comparison) and difference.worst
    ]
    finite = [error for error in errors if math.isfinite(error)]
    return max(finite) / 2 if finite else None


def _results(call: Call, folder: str) -> dict[str, _Pair]:
    """Computes the call once more, recorded in the folder; returns its results by name."""
    given, found = call.given, call.found
    bias = given.get("bias") if call.rule.layout else None
    if bias is not None:  # The operator has none.
        given = {**given, "bias": torch.zeros_like(bias)}
        found = {
            name: (each.double() - bias.double()).to(each.dtype) for name, each in found.items()
        }
    for name, each in found.items():
        if isinstance(each, Tensor) and each.dtype is torch.float64:
            raise ValueError(
                f"{name} has dtype {each.dtype}, expected float16, bfloat16 or float32"
            )
    with _recorded(folder):
        computed = call.rule.run(given)
    if call.rule.rulebook is not None:
        if len(torch.unique(given["indices"], dim=0)) < len(given["indices"]):
            raise ValueError("sites are repeated")
        parts = [call.rule.rulebook(call, values) for values in (computed, found)]
        both = (ordered(each, parts[0], len(given["indices"])) for each in parts)
        return dict(zip(Rulebook._fields, zip(*both)))
    pairs = {name: (computed[name], each) for name, each in found.items()}
    if "groups" in pairs:  # Lists of members.
        members, sizes = zip(*map(_flat, pairs["groups"]))
        pairs = {"members": members, "groups": sizes}
    if "labels" in pairs:  # Rows of labels.
        pairs["labels"] = tuple(map(torch.tensor, pairs["labels"]))
    if "regions" in pairs:  # Score, number of pixels, and coordinates, for each label.
        shape = given["score"].shape
        maps = zip(*(_regions(each, shape) for each in pairs["regions"]))
        pairs = dict(zip(("region_score", "region_pixels", "regions"), maps))
    return pairs


def _flat(groups: list) -> tuple[Tensor, Tensor]:
    """Returns the members of all groups, and the numbers of their members."""
    members = [int(member) for group in groups for member in group]
    return torch.tensor(members), torch.tensor(list(map(len, groups)))


def _regions(regions: list, shape: torch.Size) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the scores of regions, the numbers of their pixels, and the map of their labels."""
    scores = torch.tensor([region[0] for region in regions], dtype=torch.float32)
    counts = torch.tensor([int(region[1]) for region in regions], dtype=torch.int32)
    labels = torch.zeros(shape, dtype=torch.int32)
    for label, (_, _, *numbers) in enumerate(regions):
        x, y = torch.tensor(numbers, dtype=torch.int64).view(-1, 2).T
        labels[y, x] = label
    return scores, counts, labels


@contextlib.contextmanager
def _recorded(folder: str) -> Iterator[None]:
    """Records the calls of this thread in the folder."""
    thread = threading.get_ident()

    def recording_handle() -> _library.Handle:
        with _CREATING:
            if threading.get_ident() != thread:
                return handle()
            with _environment(MLUOP_GEN_CASE_DIR=folder, **_VARIABLES):
                own = _library.Handle(_library.algorithm)
            own._idle = []  # No other call gets it.
            return own

    with _RECORDING:
        handle = Arrays.handle
        Arrays.handle = staticmethod(recording_handle)  # type: ignore[method-assign]
        try:
            yield
        finally:
            Arrays.handle = staticmethod(handle)  # type: ignore[method-assign]


@contextlib.contextmanager
def _environment(**variables: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


# The fields of an output that has elements.
_FIELDS = re.compile(
    r"""^output\ \{\n
    \ \ id:\ "(?P<name>\w+)"\n
    \ \ shape\ \{\n (?P<shape>(?:\ +\w+:\ \d+\n)+) \ \ \}\n
    \ \ layout:\ LAYOUT_(?P<layout>\w+)\n
    \ \ dtype:\ DTYPE_(?P<dtype>\w+)\n
    (?:\ \ onchip_dtype:\ \w+\n)?
    (?:\ \ initial\ \{\n .*\n \ \ \}\n)?
    \ \ path:\ "(?P<file>.+)"\n""",
    re.MULTILINE | re.VERBOSE,
)


def _replace(path: Path, results: dict[str, _Pair], transposed: str) -> tuple[str, set[str]]:
    """Replaces the elements of the outputs of a recorded case.

    Returns the text of the case, and the names of the results that it has. Outputs that are no
    result keep their elements, except for the number of rows of other outputs.
    """
    text, left, rows = path.read_text(), dict(results), 0
    for output in _FIELDS.finditer(text):
        file = path.with_name(output["file"])
        shape = [int(size) for size in re.findall(r"dims: (\d+)", output["shape"])]
        elements = torch.from_numpy(np.fromfile(file, np.uint8)).view(_DTYPES[output["dtype"]])
        elements = elements.view(shape)
        # Results of equal elements are matched by their names.
        for name in sorted(left, key=lambda each: each != output["name"]):
            axis = 1 if output["layout"] == "NHWC" else 0 if name == transposed else -1
            right, found = (_rows(each, axis, shape) for each in left[name])
            if right is not None and _equal(elements, right):
                if found is None:
                    expected, other = (list(each.shape) for each in left[name])
                    raise ValueError(f"{name} has shape {other}, expected {expected}")
                elements[: len(right)], elements[: len(found)] = 0, found[: len(elements)]
                rows = len(found)
                del left[name]
                break
        else:
            if elements.numel() == 1:
                elements.fill_(rows)
        to_numpy(elements).tofile(file)
    return text, results.keys() - left.keys()


def _rows(result: Tensor, axis: int, shape: list[int]) -> Tensor | None:
    """Returns the rows of a result, of which an axis is the last one of an output of the shape.

    Returns None if the rows of the output have another size.
    """
    size = math.prod(shape[1:])
    if result.numel() % size:
        return None
    return (result.movedim(axis, -1) if result.dim() else result).reshape(-1, *shape[1:])


def _equal(elements: Tensor, right: Tensor) -> bool:
    """Whether a result begins with the elements, of the type of the operator or of the function."""
    if right.is_floating_point() != elements.is_floating_point():
        return False
    # Filters may have more offsets than there are pairs; their gradient is 0.
    if right[len(elements) :].any():
        return False
    found, right = elements[: len(right)].to(right.dtype).double(), right[: len(elements)].double()
    return torch.allclose(found, right, rtol=0, atol=0, equal_nan=True)
