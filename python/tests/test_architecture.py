"""The modules of the package import in one direction: no circles, and no room imports one above it.

Imports inside of functions and under TYPE_CHECKING count too.
"""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import mluop_omp

PACKAGE = Path(mluop_omp.__file__).parent
# From below to above. A module is in the room that names it or the longest part of its path, others
# are operators.
ROOMS = {
    "library": ("_library", "_arrays", "_requirements", "_settings"),
    "operators": (),
    "torch": ("torch",),
    "adapters": (
        *("_adapters", "_dispatch", "_extensions", "_point_extensions"),
        *("bevdepth", "bevdet", "bevfusion", "deformable_detr", "minkowski", "mmcv"),
        *("pcdet", "pointnet2", "pointops", "spconv", "torchsparse"),
    ),
    "golden": ("golden",),
    # The recorded runs of graphs are runs of the instruments.
    "onnx": ("onnx", "_onnx_command"),
    "top": (
        *("__init__", "__main__", "_case", "_install", "_lattices", "_self_test", "_status"),
        "filters",
    ),
}
# What passes the instruments on to users.
USERS_OF_GOLDEN = {"__init__", "__main__", "filters"}
Graph = dict[str, set[str]]


def modules(package: Path) -> dict[str, Path]:
    """The files of a package by their names in it."""
    names = {}
    for file in package.rglob("*.py"):
        name = ".".join(file.relative_to(package).with_suffix("").parts)
        names[name.removesuffix(".__init__")] = file
    return names


def imported(tree: ast.AST) -> Iterator[str]:
    """Full names that a file imports, of modules or of what is in them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "import_module":
            yield from (str(each.value) for each in node.args if isinstance(each, ast.Constant))


def read_graph(package: Path) -> Graph:
    """The modules that each module of a package imports from it."""
    files, graph = modules(package), {}
    for name, file in files.items():
        targets = (target.partition(".") for target in imported(ast.parse(file.read_text())))
        paths = {path for first, _, path in targets if first == package.name}
        # What is no module is a name in the module before it.
        found = {path if path in files else path.rpartition(".")[0] for path in paths}
        graph[name] = {path or "__init__" for path in found} - {name}
    return graph


def circle(graph: Graph) -> list[str]:
    """Returns modules that import each other in turn; [] if none do."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def room(name: str) -> str:
    rooms = {path: room for room, paths in ROOMS.items() for path in paths}
    while name and name not in rooms:
        name = name.rpartition(".")[0]
    return rooms.get(name, "operators")


def broken_rule(name: str, target: str) -> str:
    """The rule that an import breaks; "" if none."""
    order, own, other = list(ROOMS), room(name), room(target)
    if order.index(own) < order.index(other):
        return f"{own} are below {other}"
    if own == "top" and other == "golden" and name not in USERS_OF_GOLDEN:
        return f"golden is for users: of these only {', '.join(sorted(USERS_OF_GOLDEN))} import it"
    is_private = any(part.startswith("_") for part in target.split("."))
    if own == "golden" and other not in ("golden", "library") and is_private:
        return "golden uses what is public"
    return ""


def violations(graph: Graph) -> list[str]:
    imports = ((name, target) for name, targets in graph.items() for target in sorted(targets))
    return [f"{n} imports {t}: {broken_rule(n, t)}" for n, t in imports if broken_rule(n, t)]


def test_the_package_follows_the_rules():
    graph = read_graph(PACKAGE)
    assert "golden.comparison" in graph and "_library" in graph["_arrays"]
    assert circle(graph) == []
    assert violations(graph) == []


@pytest.mark.parametrize(
    ("importer", "target", "rule"),
    [
        ("_library", "points", "library are below operators"),
        ("points", "torch.functional", "operators are below torch"),
        ("_operators.points", "golden", "operators are below golden"),
        ("torch.functional", "mmcv", "torch are below adapters"),
        ("mmcv", "golden._text", "adapters are below golden"),
        ("_status", "golden", "golden is for users"),
        ("golden._text", "onnx", "golden are below onnx"),
        ("golden._text", "mmcv._points", "golden uses what is public"),
        *(("golden._text", target, "") for target in ("mmcv", "points", "_library")),
        *((importer, "golden.filters", "") for importer in ("filters", "__init__", "onnx._runs")),
    ],
)
def test_violations_are_reported(importer, target, rule):
    found = violations({importer: {target}})
    assert len(found) == bool(rule) and rule in "".join(found)


def test_circles_are_reported(tmp_path):
    (tmp_path / "one.py").write_text(f"from {tmp_path.name} import two\n")
    (tmp_path / "two.py").write_text(f"def f():\n    from {tmp_path.name}.three import name\n")
    (tmp_path / "three.py").write_text("import importlib\n")
    (tmp_path / "four.py").write_text(
        f"import importlib\nimportlib.import_module('{tmp_path.name}.one')\n"
    )
    assert circle(read_graph(tmp_path)) == []
    for line in ("if TYPE_CHECKING:\n    import {}.one\n", "importlib.import_module('{}.one')\n"):
        (tmp_path / "three.py").write_text("import importlib\n" + line.format(tmp_path.name))
        assert set(circle(read_graph(tmp_path))) == {"one", "two", "three"}
