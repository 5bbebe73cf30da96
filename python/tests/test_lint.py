"""`.ci/lint commits` judges the subjects of a branch, in any clone."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Callable

import pytest

ROOT = Path(__file__).resolve().parents[2]
GOOD = "boxes: float64 through the definition"

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or not (ROOT / ".ci").is_dir(), reason="no git, or no repository"
)


@pytest.fixture
def git(tmp_path) -> Callable[..., None]:
    """Runs git in a repository with the scripts of .ci/ and a commit on main."""
    folder = tmp_path / "origin"
    shutil.copytree(ROOT / ".ci", folder / ".ci")
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.com")

    def run(*arguments: str) -> None:
        subprocess.run(["git", *identity, *arguments], cwd=folder, check=True)

    run("init", "--quiet", "--initial-branch=main")
    run("add", ".")
    run("commit", "--quiet", "-m", "a commit before the rule")
    return run


@pytest.fixture
def commit(git) -> Callable[[str], None]:
    def run(subject: str) -> None:
        git("commit", "--quiet", "--allow-empty", "-m", subject + "\n\nWhy: a body is free.")

    return run


def lint(folder: Path) -> str:
    """The message, empty where all subjects pass."""
    command = [folder / ".ci" / "lint", "commits"]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    assert (done.returncode == 0) == (done.stderr == ""), done
    return done.stderr


def test_subjects(tmp_path, commit):
    for subject, is_good in (
        (GOOD, True),
        ("three nn: " + "x" * 62, True),
        ("three nn: " + "x" * 63, False),
        ("Merge: boxes, CI", True),
        ("Merge: /tmp/copy into main", False),
        ("Merge branch 'boxes'", False),
        ("Merge branch 'main' of https://example.com/repository", False),
        ("Comment", False),
        ("boxes:float64", False),
        (": float64", False),
    ):
        commit(subject)
        message = lint(tmp_path / "origin")
        assert (message == "") == is_good, subject
        assert is_good or subject in message


def test_commits_of_the_branch(tmp_path, git, commit):
    git("checkout", "--quiet", "-b", "topic")
    commit("Second reading")
    commit(GOOD)
    assert "Second reading" in lint(tmp_path / "origin")
    # On main, once merged, as well; not after the next commit.
    git("checkout", "--quiet", "main")
    git("merge", "--quiet", "--no-ff", "-m", "Merge: boxes", "topic")
    assert "Second reading" in lint(tmp_path / "origin")
    commit(GOOD)
    assert lint(tmp_path / "origin") == ""


def test_clones(tmp_path, git, commit):
    git("branch", "topic")
    for branch in ("topic", "main"):
        git("checkout", "--quiet", branch)
        commit(GOOD)
    for options in ((), ("--depth=1",), ("--depth=1", "--branch=topic"), ("--single-branch",)):
        clone = tmp_path / "-".join(("clone", *options))
        git("clone", "--quiet", *options, f"file://{tmp_path}/origin", str(clone))
        assert lint(clone) == "", options
