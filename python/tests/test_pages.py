"""The Python examples of README.md and docs/, each a program of its own, and pages whose blocks run
in order.
"""

from __future__ import annotations

import importlib.util
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
    *(DOCS / f"{page}.md" for page in ("check", "compare", "record", "walkthrough")),
    *sorted(page for page in DOCS.glob("guide/*.md")),
    *sorted(page for page in DOCS.glob("operators/*.md") if page.stem != "index"),
]
# What the blocks of a page import.
REQUIREMENTS = {"check": ("mmcv",), "frameworks": ("mmcv", "spconv")}
PAGES = "".join(
    page.read_text()
    for page in (ROOT / "README.md", *DOCS.glob("*.md"))
    if page not in WALK_THROUGHS
)
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGES, flags=re.DOTALL)
# A regular expression of what each prints.
OUTPUTS = {
    "mluop_omp.torch": r"Size\(\[1, 64, 2, 2, 2\]\) torch.Size\(\[3, 3, 3, 16, 32\]\)",
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
    is their output. A C block is example.c. In console blocks, the lines after a command are its
    output. CMake blocks are that of README.md.
    """
    for requirement in REQUIREMENTS.get(page.stem, ("numpy",)):
        if importlib.util.find_spec(requirement) is None:
            pytest.skip(f"requires {requirement}")
    text = page.read_text()
    blocks = re.findall(
        r"```(python|console|c|cmake)\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, flags=re.DOTALL
    )
    assert blocks
    environment = {**os.environ, "PREFIX": str(prefix)}
    if mluop_case is not None:
        environment["PATH"] += f":{Path(mluop_case).parent}"

    def output(command: list[str]) -> str:
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
        )
        return done.stdout + done.stderr

    python = shlex.quote(sys.executable)
    for language, block, printed in blocks:
        if language == "python":
            name = re.match(r"# (\w+\.py)\n", block)
            if name is not None:
                (tmp_path / name.group(1)).write_text(block)
            run = subprocess.run(
                [sys.executable, "-c", block],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=120,
            )
            assert run.returncode == 0, run.stderr
            assert run.stdout == printed
        elif language == "c":
            (tmp_path / "example.c").write_text(block)
        elif language == "cmake":
            assert block in (ROOT / "README.md").read_text()
        else:
            for command, expected in re.findall(
                r"^\$ (.*)\n((?:[^$].*\n|\n)*)", block, flags=re.MULTILINE
            ):
                program = re.sub(r"(^|(?<= ))python ", f"{python} ", command, count=1)
                for tool in ("mluop_case", "cc"):
                    if command.startswith(f"{tool} ") and not shutil.which(
                        tool, path=environment["PATH"]
                    ):
                        pytest.skip(f"the rest of the page requires {tool}")
                if " --html " in command and importlib.util.find_spec("matplotlib") is None:
                    pytest.skip("the rest of the page requires matplotlib")
                assert output(["sh", "-c", program]) == expected
