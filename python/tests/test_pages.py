"""The code blocks of README.md, CONTRIBUTING.md and docs/: Python examples, each a program of its
own, pages whose blocks run in order, and a list of the blocks that do not run.
"""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mluop_omp

ROOT = Path(__file__).resolve().parents[2]
DOCS, README = ROOT / "docs", ROOT / "README.md"
# Pages whose blocks run one after another in one folder.
WALK_THROUGHS = [
    *(
        DOCS / f"{page}.md"
        for page in ("cases", "check", "compare", "record", "recording", "replay")
    ),
    *(DOCS / f"{page}.md" for page in ("onnx", "statistics", "walkthrough")),
    *sorted(DOCS.glob("guide/*.md")),
    *sorted(page for page in DOCS.glob("operators/*.md") if page.stem != "index"),
]
# What the blocks of a page import.
REQUIREMENTS = {
    "check": ("mmcv",),
    "frameworks": ("mmcv", "spconv"),
    "onnx": ("onnx_graphsurgeon", "onnxruntime_extensions", "polygraphy", "torch"),
}
# Sphinx reads the first three, the tests below check the others; test/package compiles the C and
# CMake blocks of README.md.
LANGUAGE = re.compile(r"\{toctree\}|\{eval-rst\}|math|python|console|sh|text|c|cmake|json|")
# How the blocks without a language begin. No test runs them, as
NOT_RUN = {
    # ... .ci/run and ctest do.
    "README.md": ["sh cmake/install-deps.sh && cmake", "mluop_case run test/cases"],
    "docs/python.md": ["sh cmake/install-deps.sh python"],
    # ... .ci/run does, and these are folders.
    "CONTRIBUTING.md": [
        *("cmake --workflow --preset test", "include/ ", "sh cmake/install-deps.sh python-tests"),
        "MMCV_WITH_OPS=0 build/venv/bin/pip install",
    ],
    # ... test/package does.
    "docs/mlu-ops.md": ["sh cmake/install-deps.sh\n", "g++ -std=c++11"],
    # ... they require files of the reader, and a cluster.
    "docs/cases.md": ["mluop_case run test/cases", "# A SLURM job"],
    # ... test/package, cmake/debian/check.sh and a build in another root do.
    "docs/packages.md": [
        *("cc example.c $(pkg-config", "sh cmake/install-deps.sh deb"),
        "sh cmake/clean-root.sh trixie",
    ],
    # ... they measure for minutes.
    "docs/perf.md": [
        *("mluop_perf  ", "mluop_perf --dtype float --algorithm"),
        *("mluop_perf --op voxel --benchmark", "sh cmake/install-deps.sh python"),
    ],
    # ... it is a formula.
    "docs/record.md": ["x = x + 0x9E3779B97F4A7C15"],
    # ... its last digits depend on the processor.
    "docs/replay.md": ["2 of 19 calls stand out"],
}
COMMANDS = {"mluop_case": "case/main.cpp", "mluop_perf": "perf/options.cpp"}
EXAMPLES = [
    code
    for page in (README, *DOCS.glob("*.md"))
    if page not in WALK_THROUGHS
    for code in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)
]
# A regular expression of what each prints.
OUTPUTS = {
    "mluop_omp.torch": r"Size\(\[1, 64, 2, 2, 2\]\) torch.Size\(\[3, 3, 3, 16, 32\]\)",
    "torch.amp": r"torch\.bfloat16 torch\.float32",
    "mmcv": r"Size\(\[\d+, 4\]\) torch.Size\(\[\d+, 3\]\)",
    "spconv": r"Size\(\[3, 32\]\)",
    "numpy": r"\[11\. 22\.\]",
    "mluop_omp.minkowski": r"\[-4, -2, 0, 4\] \[3\.0, 21\.0, 3200\.0, 30000\.0\]",
    "mluop_omp.torchsparse": r"\[-2, 0, 2, 4, 6\] \[21\.0, 3200\.0, 1000\.0, 30000\.0, 10000\.0\]",
    "mluop_omp.torch.inference": r"folded: 2 normalizations .*\nlargest difference: [0-9.e-]+ of",
    "mluop_omp.filters": r"Size\(\[27, 16, 32\]\) equal after .* and reversal of the offsets",
}


def require(*modules: str) -> None:
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"requires {module}")


PROGRAM = """import os, sys
os.chdir({folder!r})
sys.path.insert(0, "")
sys.stdout = open("stdout", "w")
exec({code!r}, {{"__name__": "__main__"}})
"""


def printed_by(code: str, folder: Path) -> str:
    """Runs a program in a folder, in a process that has imported the package and PyTorch."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["mluop_omp.torch", "pytest"])
    process = context.Process(target=exec, args=(PROGRAM.format(folder=str(folder), code=code),))
    process.start()
    process.join(120)
    assert process.exitcode == 0, code
    return (folder / "stdout").read_text()


@pytest.mark.parametrize("library", list(OUTPUTS))
def test_example(library, tmp_path):
    require(library.partition(".")[0])
    imports = re.compile(rf"^(from|import) {library}\b(?!\.inference)", re.MULTILINE)
    assert len(EXAMPLES) == len(OUTPUTS)
    (code,) = filter(imports.search, EXAMPLES)
    printed = printed_by(code, tmp_path)
    assert re.search(OUTPUTS[library], printed), printed


class Reader:
    """A reader of pages with a folder, an installed library, and a method a language of blocks."""

    def __init__(self, folder: Path, mluop_case: str | None) -> None:
        self.folder = folder
        major_minor = ".".join(mluop_omp.__version__.split(".")[:2])
        for name in ("prefix/lib", "bin"):
            (folder / name).mkdir(parents=True)
        (folder / "prefix/include").symlink_to(ROOT / "include")
        for name in ("libmluop_omp.so", f"libmluop_omp.so.{major_minor}"):
            (folder / "prefix/lib" / name).symlink_to(mluop_omp.info()["library"])
        programs = {"python": sys.executable, "python3": sys.executable, "mluop_case": mluop_case}
        for name, program in programs.items():
            if program is not None:
                (folder / "bin" / name).write_text(f'#!/bin/sh\nexec "{program}" "$@"\n')
                (folder / "bin" / name).chmod(0o755)
        self.path = f"{folder}/bin:{os.environ['PATH']}"

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PREFIX": f"{self.folder}/prefix", "PATH": self.path}
        options = {"capture_output": True, "text": True, "timeout": 120}
        return subprocess.run(command, cwd=self.folder, env=environment, **options)

    def output(self, *command: str) -> str:
        done = self.run(*command)
        return done.stdout + done.stderr

    def require(self, tool: str) -> None:
        if shutil.which(tool, path=self.path) is None:
            pytest.skip(f"the rest of the page requires {tool}")

    def compile_example(self) -> None:
        self.require("cc")
        self.c(*re.findall(r"```c\n(.*?)```", README.read_text(), re.DOTALL))
        options = '-I"$PREFIX/include" -L"$PREFIX/lib" -Wl,-rpath,"$PREFIX/lib" -lmluop_omp'
        assert self.output("sh", "-c", f"cc example.c {options} -o example") == ""

    def python(self, block: str, printed: str) -> None:
        for name in re.findall(r"\A# (\w+\.py)\n", block):
            (self.folder / name).write_text(block)
        assert printed_by(block, self.folder) == printed

    def console(self, block: str) -> None:
        for command, printed in re.findall(r"^\$ (.*)\n((?:[^$].*\n|\n)*)", block, re.MULTILINE):
            if command.startswith(("mluop_case ", "cc ")):
                self.require(command.split()[0])
            assert self.output("sh", "-c", command) == printed

    def sh(self, block: str) -> None:
        if "mluop_case" in block:
            self.require("mluop_case")
        script = self.run("sh", "-e", "-c", block)
        assert script.returncode == 0, script.stdout + script.stderr

    def c(self, block: str) -> None:
        (self.folder / "example.c").write_text(block)

    def cmake(self, block: str) -> None:
        assert block in README.read_text()

    def json(self, block: str) -> None:
        case = json.loads((self.folder / "pooling" / "case.json").read_text())
        assert json.loads(block).keys() == case.keys()


@pytest.mark.parametrize("page", WALK_THROUGHS, ids=lambda page: page.stem)
def test_walk_through(page, tmp_path, mluop_case):
    """Python blocks are programs, and files if their first line names one; a text block after them
    is their output. A C block is example.c; a page without one runs README.md's. In
    console blocks, the lines after a command are its output; sh blocks are scripts. CMake blocks
    come from README.md. JSON has the keys of the case of the page.
    """
    require(*REQUIREMENTS.get(page.stem, ()))
    text = page.read_text()
    block = r"```(python|console|sh|c|cmake|json)\n(.*?)```(?:\n\n```text\n(.*?)```)?"
    blocks = re.findall(block, text, flags=re.DOTALL)
    assert blocks
    assert sum(bool(printed) for _, _, printed in blocks) == text.count("```text")
    reader = Reader(tmp_path, mluop_case)
    if "./example\n" in text and "```c\n" not in text:
        reader.compile_example()
    for language, block, printed in blocks:
        arguments = (block, printed) if language == "python" else (block,)
        getattr(reader, language)(*arguments)


def test_blocks_that_do_not_run():
    """A block without a language is listed above; a command in it has the options that it names."""
    for page in (README, ROOT / "CONTRIBUTING.md", *DOCS.glob("**/*.md")):
        name = page.relative_to(ROOT).as_posix()
        blocks = re.findall(r"^```([^\n]*)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
        assert all(LANGUAGE.fullmatch(language) for language, _ in blocks), name
        begins = NOT_RUN.get(name.replace("docs/zh/", "docs/"), [])
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
