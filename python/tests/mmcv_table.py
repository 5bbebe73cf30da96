"""The table of docs/mmcv.md: what of mmcv.ops runs on a CPU, read from the Python of mmcv.ops and
of mluop_omp.mmcv.

    python python/tests/mmcv_table.py --write
"""

from __future__ import annotations

import ast
import itertools
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

import mluop_omp.mmcv
from mluop_omp.mmcv import _ANSWERS, _FORMULATIONS, FUNCTIONS

ROOT = Path(__file__).resolve().parents[2]
OPS = Path(find_spec("mmcv").origin).parent / "ops"
OURS = Path(mluop_omp.mmcv.__file__).parent
TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
HEADERS = {
    "docs/mmcv.md": "name | on a CPU | dtypes | gradient",
    "docs/zh/mmcv.md": "名称 | 在 CPU 上 | 类型 | 梯度",
}
CHINESE = {"yes": "有", "no": "无"}
# The types of functions that compute integers.
OF_INTEGERS = {"contour_expand": "uint8, int32"}
# mluop_omp.mmcv computes a gradient that mmcv lacks.
ADDED_GRADIENTS = {"MaskedConv2d", "masked_conv2d"}
# PyTorch computes their gradients.
GRADIENTS_OF_PYTORCH = {"diff_iou_rotated_2d", "diff_iou_rotated_3d"}


class Sources:
    """The definitions of Python files, and what an imported name is: file and definition."""

    def __init__(self, files: Iterable[Path]) -> None:
        self.definitions: dict[str, dict[str, ast.AST]] = {}
        self.imports: dict[str, dict[str, tuple[str, str]]] = {}
        for file in files:
            tree = ast.parse(file.read_text(encoding="utf-8"))
            definitions = self.definitions[file.stem] = {}
            imports = self.imports[file.stem] = {}
            for node in (
                *tree.body,
                *(n for each in tree.body for n in getattr(each, "orelse", ())),
            ):
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                    definitions[node.name] = node
                elif isinstance(node, ast.Assign):
                    definitions[ast.unparse(node.targets[0])] = node.value
            for node in ast.walk(tree):
                for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                    source = (node.module or alias.name).rpartition(".")[2]
                    imports[alias.asname or alias.name] = source, alias.name

    def names(self, file: str, name: str) -> set[tuple[str, bool]]:
        """Returns the names, attributes and keywords in a definition, and in all that it refers to,
        each with whether a gradient, a method `backward`, contains it.
        """
        found, seen, references = set(), set(), [(file, name, False)]
        while references:
            reference = references.pop()
            if reference in seen:
                continue
            seen.add(reference)
            file, name, in_backward = reference
            if name in self.imports.get(file, {}):
                references.append((*self.imports[file][name], in_backward))
            for node, late in _nodes(self.definitions.get(file, {}).get(name), in_backward):
                text = ast.unparse(node)
                owner, _, attribute = text.partition(".")
                found.add((text, late))
                references.append((file, owner, late))
                references.append((self.imports[file].get(owner, ("", ""))[0], attribute, late))
        return found


def _nodes(node: ast.AST | None, in_backward: bool) -> Iterator[tuple[ast.AST, bool]]:
    in_backward |= getattr(node, "name", "") == "backward"
    if isinstance(node, (ast.Name, ast.Attribute, ast.keyword)):
        yield node, in_backward
    for child in ast.iter_child_nodes(node) if node else ():
        yield from _nodes(child, in_backward)


MMCV = Sources(OPS.glob("*.py"))
ADAPTERS = Sources((*OURS.glob("*.py"), OURS.parent / "_adapters.py"))
NAMES = ast.literal_eval(MMCV.definitions["__init__"]["__all__"])


def is_in_float32(function: str) -> bool:
    """Returns whether mluop_omp converts half and bfloat16 to float32."""
    file = FUNCTIONS[function].__module__.rpartition(".")[2]
    return ("at_least_float32", False) in ADAPTERS.names(file, function)


def facts(name: str) -> tuple[str, str, str]:
    """Returns the cells of a name of mmcv.ops."""
    found = MMCV.names("__init__", name)
    if ("eval", False) in found:  # batched_nms calls a function that an argument names.
        found = found.union(*(MMCV.names("nms", each) for each in NAMES))
    calls = [(text[11:], late) for text, late in found if text.startswith("ext_module.")]
    functions = {each for each, _ in calls}
    gradients = {each for each, late in calls if late}
    if functions <= _FORMULATIONS.keys():  # test_stylegan.py: mmcv calls PyTorch's functions.
        return "mmcv", "PyTorch", "PyTorch"
    if functions <= _ANSWERS.keys():
        return "mluop_omp", "", ""
    types = "float32, float64"
    if not any(map(is_in_float32, functions)):
        types = f"float16, bfloat16, {types}"
    types = OF_INTEGERS.get(name, types)
    is_added = name in ADDED_GRADIENTS | GRADIENTS_OF_PYTORCH
    has_gradient = is_added or (gradients and gradients <= FUNCTIONS.keys())
    return "mluop_omp", types, "yes" if has_gradient else "no"


def table(page: str) -> str:
    """Returns the table of a page: a row for the names of a file of mmcv.ops with equal cells."""
    keys = {name: (MMCV.imports["__init__"][name][0], facts(name)) for name in NAMES}
    lines = [f"| {HEADERS[page]} |", "|---" * 4 + "|"]
    for (_, cells), names in itertools.groupby(sorted(NAMES, key=keys.get), keys.get):
        cells = (", ".join(f"`{name}`" for name in names), *cells)
        if "zh" in page:
            cells = (CHINESE.get(cell, cell).replace("`, `", "`、`") for cell in cells)
        lines.append("|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|")
    return "\n".join(lines) + "\n"


if __name__ == "__main__" and "--write" in sys.argv:
    for page in HEADERS:
        text = (ROOT / page).read_text(encoding="utf-8")
        new = TABLE.sub(lambda _, page=page: table(page), text)
        (ROOT / page).write_text(new, encoding="utf-8")
