"""What hosts of repositories read: issue forms, the workflow, CITATION.cff; and the version."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mluop_omp

yaml = pytest.importorskip("yaml", reason="requires PyYAML")

ROOT = Path(__file__).resolve().parents[2]
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml"))


def load(path: Path) -> dict:
    return yaml.safe_load(path.read_text())


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_issue_forms_are_complete(path):
    form = load(path)
    assert form["name"] and form["description"] and form["labels"]
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    identifiers = [field["id"] for field in fields]
    assert len(set(identifiers)) == len(identifiers)
    assert all(field["attributes"]["label"] for field in fields)
    required = {field["id"] for field in fields if field.get("validations", {}).get("required")}
    asked = {"build": "output", "slow": "measurement", "wrong_result": "case"}
    assert {asked[path.stem], "environment"} <= required


def test_pages_and_options_that_forms_name_exist():
    text = "".join(path.read_text() for path in FORMS)
    for page in re.findall(r"docs/\w+\.md|SECURITY\.md", text):
        assert (ROOT / page).exists(), page
    documentation = "".join(path.read_text() for path in ROOT.glob("docs/*.md"))
    commands = re.findall(r"`(mluop_(?:case|perf) [^`]*)`", text)
    assert len(FORMS) == 3 and len(commands) > 2
    for option in re.findall(r"(?<= )(?:--[a-z]+|run|reduce)\b", " ".join(commands)):
        assert option in documentation, option
    assert "MLUOP_GEN_CASE=2" in documentation


def test_workflows_run_the_scripts_of_the_repository():
    workflows = {path.stem: load(path) for path in ROOT.glob(".github/workflows/*.yml")}
    assert set(workflows) == {"ci", "wheels"}
    jobs = [job for workflow in workflows.values() for job in workflow["jobs"].values()]
    steps = [step for job in jobs for step in job["steps"]]
    run = "\n".join(step.get("run", "") for step in steps)
    scripts = re.findall(r"(?:cmake|\.ci)/[\w.-]+", run)
    assert all((ROOT / script).exists() for script in scripts)
    assert {".ci/run", "cmake/wheels.sh", "cmake/test_wheels.py"} <= set(scripts)
    for action in [step["uses"] for step in steps if "uses" in step]:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action
    line = "sh cmake/install-deps.sh && cmake --workflow --preset test"
    for place in ("README.md", ".ci/run"):
        assert line in (ROOT / place).read_text()


def test_the_workflow_has_the_steps_of_the_script():
    script = (ROOT / ".ci/run").read_text()
    known = set(re.findall(r'^  \[([\w-]+)\]="', script, flags=re.M))
    _, whole_run = script.split("\nfi\n", 1)
    # The names of rows are no steps.
    lines = re.findall(r"^ *(?:run_steps|start_row [\w-]+) ([a-z0-9 -]+)$", whole_run, flags=re.M)
    assert set(" ".join(lines).split()) == known - {"tidy-all"}
    (job,) = load(ROOT / ".github/workflows/ci.yml")["jobs"].values()
    matrix = job["strategy"]["matrix"]
    steps = set(re.findall(r"[\w-]+", " ".join(matrix["step"])))
    assert steps >= known and steps - known <= {"github", "event_name", "schedule"}
    assert job["timeout-minutes"] <= 15


def test_the_version_is_stated_in_one_place():
    (version,) = re.findall(r"VERSION ([\d.]+) LANG", (ROOT / "CMakeLists.txt").read_text())
    assert mluop_omp.__version__ == version
    citation = load(ROOT / "CITATION.cff")
    assert {"cff-version", "message", "title", "authors", "license"} <= set(citation)
    # A second statement of the version has to equal CMakeLists.txt.
    assert "version" not in citation and "date-released" not in citation
    unreleased, newest, *_ = re.split(r"^## \[", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)[
        1:
    ]
    assert newest.startswith(f"{version}]") or f"The version is {version}:" in unreleased


def test_paths_that_pages_name_exist():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    folders = {path.name for path in ROOT.iterdir()} - {"build", "dist"}
    checked = 0
    for page in pages:
        for code in re.findall(r"`([^`\n]+)`", page.read_text()):
            for path in re.findall(r"(?<![\w./-])[\w.-]+/[\w./-]*\w(?![\w*<{%$|=])", code):
                if path.split("/")[0] in folders:
                    assert (ROOT / path).exists(), f"{page.relative_to(ROOT)}: {path}"
                    checked += 1
    assert checked > 50
