"""The modules of the package import in one direction: no circles, and no room imports one above it.

Imports inside of functions and under TYPE_CHECKING count too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import mluop_omp

PACKAGE = Path(mluop_omp.__file__).parent
# From below to above. A module is in the room that names it or the longest part of its path.
ROOMS = {
    "library": ("_library", "_arrays", "_requirements", "_settings"),
    "operators": ("*", "_self_test._definitions"),
    "torch": ("torch",),
    "adapters": (
        *("_adapters", "_dispatch", "_extensions", "_point_extensions"),
        *("bevdepth", "bevdet", "bevfusion", "mmcv", "pcdet", "pointnet2", "spconv"),
    ),
    "golden": ("golden",),
    "top": ("", "__main__", "_install", "_self_test", "_status", "filters"),
}
# What passes the instruments on to users.
USERS_OF_GOLDEN = {"", "__main__", "filters"}
Graph = dict[str, set[str]]


def modules(package: Path) -> dict[str, Path]:
    """The files of a package by their names in it; "" is the package itself."""
    names = {}
    for file in package.rglob("*.py"):
        parts = file.relative_to(package).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
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
        graph[name] = set()
        for target in imported(ast.parse(file.read_text())):
            first, _, path = target.partition(".")
            if first == package.name:
                # What is no module is a name in the module before it.
                found = path if path in files else path.rpartition(".")[0]
                graph[name].add(found)
        graph[name].discard(name)
    return graph


def circles(graph: Graph) -> list[list[str]]:
    """Groups of modules that reach each other, and thereby themselves."""
    reached: Graph = {}
    for name in graph:
        reached[name], open_names = set(), list(graph[name])
        while open_names:
            target = open_names.pop()
            if target not in reached[name]:
                reached[name].add(target)
                open_names += graph.get(target, ())
    groups = {tuple(sorted(t for t in reached[n] if n in reached[t])) for n in graph}
    return [list(group) for group in sorted(groups) if group]


def room(name: str) -> str:
    rooms = {path: room for room, paths in ROOMS.items() for path in paths}
    if name == "":
        return rooms[name]
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        if ".".join(parts[:count]) in rooms:
            return rooms[".".join(parts[:count])]
    return rooms["*"]


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
    assert "golden.comparison._tensors" in graph and "_library" in graph["_arrays"]
    assert circles(graph) == []
    assert violations(graph) == []


@pytest.mark.parametrize(
    ("importer", "line", "rule"),
    [
        ("_library.py", "from mluop_omp import points", "library are below operators"),
        ("points.py", "import mluop_omp.torch.functional", "operators are below torch"),
        (
            "points.py",
            "def f():\n    from mluop_omp.golden import compare",
            "operators are below",
        ),
        ("torch/functional.py", "from mluop_omp.mmcv import install", "torch are below adapters"),
        (
            "mmcv/__init__.py",
            "from mluop_omp.golden._text import table",
            "adapters are below",
        ),
        ("_status.py", "from mluop_omp.golden import compare", "golden is for users"),
        ("golden/_text.py", "from mluop_omp.mmcv import _points", "golden uses what is public"),
        ("golden/_text.py", "from mluop_omp import mmcv, points, _library", None),
        ("filters.py", "from mluop_omp.golden.filters import convert_filters", None),
        ("__init__.py", "from mluop_omp.golden import compare", None),
    ],
)
def test_violations_are_reported(tmp_path, importer, line, rule):
    package = tmp_path / "mluop_omp"
    names = ("_library", "points", "filters", "_status", "torch/functional", "golden/_text")
    for name in (*names, "mmcv/_points", "__init__", "mmcv/__init__", "golden/__init__"):
        (package / name).parent.mkdir(exist_ok=True, parents=True)
        (package / f"{name}.py").touch()
    (package / importer).write_text(line + "\n")
    found = violations(read_graph(package))
    assert len(found) == (rule is not None) and (rule is None or rule in found[0])


def test_circles_are_reported(tmp_path):
    package = tmp_path / "mluop_omp"
    package.mkdir()
    (package / "one.py").write_text("from mluop_omp import two\n")
    (package / "two.py").write_text("def f():\n    from mluop_omp.three import name\n")
    (package / "three.py").write_text("if TYPE_CHECKING:\n    import mluop_omp.one\n")
    (package / "four.py").write_text("import importlib\nimportlib.import_module('mluop_omp.one')\n")
    assert circles(read_graph(package)) == [["one", "three", "two"]]
