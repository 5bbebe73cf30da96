"""What hosts of repositories read: issue forms, the workflow, CITATION.cff; and the version."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mluop_omp

yaml = pytest.importorskip("yaml", reason="requires PyYAML")

ROOT = Path(__file__).resolve().parents[2]
# The issue forms, and the field that each requires beside the environment.
FORMS = {"build": "output", "slow": "measurement", "wrong_result": "case"}


def read(path: str) -> str:
    return (ROOT / path).read_text()


def test_issue_forms_are_complete():
    folder = ROOT / ".github/ISSUE_TEMPLATE"
    assert {path.stem for path in folder.glob("*.yml")} == FORMS.keys() | {"config"}
    for name, asked in FORMS.items():
        form = yaml.safe_load((folder / f"{name}.yml").read_text())
        assert form["name"] and form["description"] and form["labels"]
        fields = {each["id"]: each for each in form["body"] if each["type"] != "markdown"}
        assert len(fields) == sum(each["type"] != "markdown" for each in form["body"])
        assert all(field["attributes"]["label"] for field in fields.values())
        for field in (asked, "environment"):
            assert fields[field]["validations"]["required"], name


def test_pages_and_options_that_forms_name_exist():
    text = "".join(read(f".github/ISSUE_TEMPLATE/{name}.yml") for name in FORMS)
    for page in re.findall(r"docs/\w+\.md|SECURITY\.md", text):
        assert (ROOT / page).exists(), page
    documentation = "".join(path.read_text() for path in ROOT.glob("docs/*.md"))
    commands = re.findall(r"`(mluop_(?:case|perf) [^`]*)`", text)
    assert len(commands) > 2
    for option in re.findall(r"(?<= )(?:--[a-z]+|run|reduce)\b", " ".join(commands)):
        assert option in documentation, option
    assert "MLUOP_GEN_CASE=2" in documentation


def test_workflows_run_the_scripts_of_the_repository():
    names = {path.stem for path in ROOT.glob(".github/workflows/*.yml")}
    assert names == {"ci", "wheels"}
    workflows = [yaml.safe_load(read(f".github/workflows/{name}.yml")) for name in names]
    steps = [s for flow in workflows for job in flow["jobs"].values() for s in job["steps"]]
    scripts = re.findall(r"(?:cmake|\.ci)/[\w.-]+", "\n".join(s.get("run", "") for s in steps))
    assert all((ROOT / script).exists() for script in scripts)
    assert {".ci/run", "cmake/wheels.sh", "cmake/test_wheels.py"} <= set(scripts)
    for action in [step["uses"] for step in steps if "uses" in step]:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action
    line = "sh cmake/install-deps.sh && cmake --workflow --preset test"
    assert line in read("README.md") and line in read(".ci/run")


def test_the_workflow_has_the_steps_of_the_script():
    script = read(".ci/run")
    known = set(re.findall(r'^  \[([\w-]+)\]="', script, flags=re.M))
    _, whole_run = script.split("\nfi\n", 1)
    # The names of rows are no steps.
    lines = re.findall(r"^ *(?:run_steps|start_row [\w-]+) ([a-z0-9 -]+)$", whole_run, flags=re.M)
    of_the_workflow = {"big", "coverage", *(step for step in known if step.endswith("-all"))}
    assert set(" ".join(lines).split()) == known - of_the_workflow
    (job,) = yaml.safe_load(read(".github/workflows/ci.yml"))["jobs"].values()
    steps = set(re.findall(r"[\w-]+", " ".join(job["strategy"]["matrix"]["step"])))
    assert steps >= known and steps - known <= {"github", "event_name", "schedule"}
    assert job["timeout-minutes"] <= 15


def test_the_version_is_stated_in_one_place():
    (version,) = re.findall(r"VERSION ([\d.]+) LANG", read("CMakeLists.txt"))
    assert mluop_omp.__version__ == version
    citation = yaml.safe_load(read("CITATION.cff"))
    assert {"cff-version", "message", "title", "authors", "license"} <= set(citation)
    # A second statement of the version has to equal CMakeLists.txt.
    assert "version" not in citation and "date-released" not in citation
    _, unreleased, newest, *_ = re.split(r"^## \[", read("CHANGELOG.md"), flags=re.M)
    assert newest.startswith(f"{version}]") or f"The version is {version}:" in unreleased


def test_paths_that_pages_name_exist():
    folders, checked = {path.name for path in ROOT.iterdir()} - {"build", "dist"}, 0
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")):
        for code in re.findall(r"`([^`\n]+)`", page.read_text()):
            for path in re.findall(r"(?<![\w./-])[\w.-]+/[\w./-]*\w(?![\w*<{%$|=])", code):
                if path.split("/")[0] in folders:
                    assert (ROOT / path).exists(), f"{page.relative_to(ROOT)}: {path}"
                    checked += 1
    assert checked > 50
