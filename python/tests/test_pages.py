"""The Python examples of README.md and docs/, each a program of its own, and walk-throughs."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Pages whose blocks run one after another in one folder.
WALK_THROUGHS = ("check", "compare", "record", "walkthrough")
# What the blocks of a page import.
REQUIREMENTS = {"check": "mmcv"}
PAGES = "".join(
    page.read_text()
    for page in (ROOT / "README.md", *ROOT.glob("docs/*.md"))
    if page.stem not in WALK_THROUGHS
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


@pytest.mark.parametrize("page", WALK_THROUGHS)
def test_walk_through(page, tmp_path, mluop_case):
    """Python blocks are programs, and files if their first line names one; in console blocks, the
    lines after a command are its output.
    """
    requirement = REQUIREMENTS.get(page, "numpy")
    if importlib.util.find_spec(requirement) is None:
        pytest.skip(f"requires {requirement}")
    text = (ROOT / "docs" / f"{page}.md").read_text()
    blocks = re.findall(r"```(python|console)\n(.*?)```", text, flags=re.DOTALL)
    assert blocks
    environment = dict(os.environ)
    if mluop_case is not None:
        environment["PATH"] += f":{Path(mluop_case).parent}"

    def output(command: list[str]) -> str:
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
        )
        return done.stdout + done.stderr

    python = shlex.quote(sys.executable)
    for language, block in blocks:
        if language == "python":
            name = re.match(r"# (\w+\.py)\n", block)
            if name is not None:
                (tmp_path / name.group(1)).write_text(block)
            assert output([sys.executable, "-c", block]) == ""
            continue
        for command, expected in re.findall(
            r"^\$ (.*)\n((?:[^$].*\n|\n)*)", block, flags=re.MULTILINE
        ):
            program = re.sub(r"(^|(?<= ))python ", f"{python} ", command, count=1)
            if command.startswith("mluop_case ") and mluop_case is None:
                pytest.skip("the rest of the page requires mluop_case")
            if " --html " in command and importlib.util.find_spec("matplotlib") is None:
                pytest.skip("the rest of the page requires matplotlib")
            assert output(["sh", "-c", program]) == expected
