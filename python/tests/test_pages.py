"""The code blocks of README.md, CONTRIBUTING.md and docs/: Python examples, each a program of its
own, pages whose blocks run in order, and a list of the blocks that do not run.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mluop_omp

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# Pages whose blocks run one after another in one folder.
WALK_THROUGHS = [
    *(DOCS / f"{page}.md" for page in ("cases", "check", "compare", "record", "recording")),
    *(DOCS / f"{page}.md" for page in ("statistics", "walkthrough")),
    *sorted(page for page in DOCS.glob("guide/*.md")),
    *sorted(page for page in DOCS.glob("operators/*.md") if page.stem != "index"),
]
# What the blocks of a page import.
REQUIREMENTS = {"check": ("mmcv",), "frameworks": ("mmcv", "spconv")}
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Sphinx reads the first three, the tests below check the others; test/package compiles the C and
# CMake blocks of README.md.
LANGUAGES = {
    "{toctree}",
    "{eval-rst}",
    "math",
    "python",
    "console",
    "sh",
    "text",
    "c",
    "cmake",
    "json",
}
# Blocks without a language: how each begins, and why no test runs it.
NOT_RUN = {
    "README.md": {
        "sh cmake/install-deps.sh && cmake": ".ci/run, its first line",
        "mluop_case run test/cases": "ctest runs the cases",
    },
    "CONTRIBUTING.md": {
        "cmake --workflow --preset test": ".ci/run",
        "include/ ": "folders",
        "sh cmake/install-deps.sh python-tests": ".ci/run",
    },
    "docs/cases.md": {
        "mluop_case run test/cases": "commands with files of the reader",
        "# A SLURM job": "requires a cluster",
    },
    "docs/check.md": {"mluop_case run cases": "finds a difference: its status is 1"},
    "docs/packages.md": {
        "cc example.c $(pkg-config": "test/package",
        "sh cmake/install-deps.sh deb": "cmake/debian/check.sh",
        "sh cmake/clean-root.sh trixie": "a build in another root",
    },
    "docs/perf.md": {
        "mluop_perf  ": "measures for minutes",
        "mluop_perf --dtype float --algorithm": "measures for minutes",
        "mluop_perf --op voxel --benchmark": "measures for minutes",
        "sh cmake/install-deps.sh python": "installs PyTorch and measures for minutes",
    },
    "docs/python.md": {"sh cmake/install-deps.sh python": ".ci/run"},
    "docs/record.md": {"x = x + 0x9E3779B97F4A7C15": "a formula"},
}
COMMANDS = {"mluop_case": "case/main.cpp", "mluop_perf": "perf/options.cpp"}
PAGES = "".join(
    page.read_text()
    for page in (ROOT / "README.md", *DOCS.glob("*.md"))
    if page not in WALK_THROUGHS
)
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGES, flags=re.DOTALL)
# A regular expression of what each prints.
OUTPUTS = {
    "mluop_omp.torch": r"Size\(\[1, 64, 2, 2, 2\]\) torch.Size\(\[3, 3, 3, 16, 32\]\)",
    "torch.amp": r"torch\.bfloat16 torch\.float32",
    "mmcv": r"Size\(\[\d+, 4\]\) torch.Size\(\[\d+, 3\]\)",
    "spconv": r"Size\(\[3, 32\]\)",
    "numpy": r"\[11\. 22\.\]",
    "mluop_omp.filters": r"Size\(\[27, 16, 32\]\) equal after .* and reversal of the offsets",
}


@pytest.mark.parametrize("library", list(OUTPUTS))
def test_example(library):
    module = library.partition(".")[0]
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"requires {module}")
    imports = re.compile(rf"^(from|import) {library}\b", re.MULTILINE)
    assert len(EXAMPLES) == len(OUTPUTS)
    (code,) = filter(imports.search, EXAMPLES)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert re.search(OUTPUTS[library], run.stdout), run.stdout


@pytest.fixture
def prefix(tmp_path) -> Path:
    """Returns a folder with the headers and the library of the package, as an installation."""
    library = Path(mluop_omp.info()["library"])
    folder = tmp_path / "prefix"
    (folder / "lib").mkdir(parents=True)
    (folder / "include").symlink_to(ROOT / "include")
    major_minor = ".".join(mluop_omp.__version__.split(".")[:2])
    for name in ("libmluop_omp.so", f"libmluop_omp.so.{major_minor}"):
        (folder / "lib" / name).symlink_to(library)
    return folder


@pytest.mark.parametrize("page", WALK_THROUGHS, ids=lambda page: page.stem)
def test_walk_through(page, tmp_path, prefix, mluop_case):
    """Python blocks are programs, and files if their first line names one; a text block after them
    is their output. A C block is example.c; a page without one runs README.md's. In
    console blocks, the lines after a command are its output; sh blocks are scripts. CMake blocks
    come from README.md. JSON has the keys of the case of the page.
    """
    for requirement in REQUIREMENTS.get(page.stem, ("numpy",)):
        if importlib.util.find_spec(requirement) is None:
            pytest.skip(f"requires {requirement}")
    text = page.read_text()
    blocks = re.findall(
        r"```(python|console|sh|c|cmake|json)\n(.*?)```(?:\n\n```text\n(.*?)```)?",
        text,
        flags=re.DOTALL,
    )
    assert blocks
    assert sum(bool(printed) for _, _, printed in blocks) == text.count("```text")
    environment = {**os.environ, "PREFIX": str(prefix)}
    if mluop_case is not None:
        environment["PATH"] += f":{Path(mluop_case).parent}"

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
        )

    def output(*command: str) -> str:
        done = run(*command)
        return done.stdout + done.stderr

    python = shlex.quote(sys.executable)
    # The python3 of a script.
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").write_text(f'#!/bin/sh\nexec {python} "$@"\n')
    (tmp_path / "bin" / "python3").chmod(0o755)
    environment["PATH"] = f"{tmp_path / 'bin'}:{environment['PATH']}"
    if "./example\n" in text and "```c\n" not in text:
        if shutil.which("cc") is None:
            pytest.skip("requires cc")
        (code,) = re.findall(r"```c\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
        (tmp_path / "example.c").write_text(code)
        folders = [f"-I{prefix}/include", f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib"]
        assert output("cc", "example.c", *folders, "-lmluop_omp", "-o", "example") == ""
    for language, block, printed in blocks:
        if language == "python":
            name = re.match(r"# (\w+\.py)\n", block)
            if name is not None:
                (tmp_path / name.group(1)).write_text(block)
            program = run(sys.executable, "-c", block)
            assert program.returncode == 0, program.stderr
            assert program.stdout == printed
        elif language == "c":
            (tmp_path / "example.c").write_text(block)
        elif language == "cmake":
            assert block in (ROOT / "README.md").read_text()
        elif language == "json":
            case = json.loads((tmp_path / "pooling" / "case.json").read_text())
            assert json.loads(block).keys() == case.keys()
        elif language == "sh":
            if "mluop_case" in block and mluop_case is None:
                pytest.skip("the rest of the page requires mluop_case")
            script = run("sh", "-e", "-c", block)
            assert script.returncode == 0, script.stdout + script.stderr
        else:
            for command, expected in re.findall(
                r"^\$ (.*)\n((?:[^$].*\n|\n)*)", block, flags=re.MULTILINE
            ):
                line = re.sub(r"(^|(?<= ))python ", f"{python} ", command, count=1)
                for tool in ("mluop_case", "cc"):
                    if command.startswith(f"{tool} ") and not shutil.which(
                        tool, path=environment["PATH"]
                    ):
                        pytest.skip(f"the rest of the page requires {tool}")
                if " --html " in command and importlib.util.find_spec("matplotlib") is None:
                    pytest.skip("the rest of the page requires matplotlib")
                assert output("sh", "-c", line) == expected


def test_blocks_that_do_not_run():
    """A block without a language is listed above; a command in it has the options that it names."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.glob("**/*.md")]
    for page in pages:
        name = page.relative_to(ROOT).as_posix()
        blocks = BLOCK.findall(page.read_text())
        assert {language for language, _ in blocks} - {""} <= LANGUAGES, name
        begins = list(NOT_RUN.get(name.replace("docs/zh/", "docs/"), {}))
        not_run = [block for language, block in blocks if language == ""]
        assert len(not_run) == len(begins), name
        for block, begin in zip(not_run, begins):
            assert block.startswith(begin), name
            for line in block.splitlines():
                command, _, arguments = line.partition("#")[0].partition(" ")
                if command in COMMANDS:
                    source = (ROOT / COMMANDS[command]).read_text()
                    for option in re.findall(r"--[a-z-]+(?!\S*_)", arguments):
                        assert f'"{option}"' in source, f"{name}: {line}"
