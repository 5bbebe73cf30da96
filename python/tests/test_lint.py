"""`.ci/lint commits` judges the subjects of a branch, in any clone."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GOOD = "boxes: float64 through the definition"

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or not (ROOT / ".ci").is_dir(), reason="no git, or no repository"
)


class Repository:
    """A repository with the scripts of .ci/ and a commit on main."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        shutil.copytree(ROOT / ".ci", folder / ".ci")
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("add", ".")
        self.commit("a commit before the rule")

    def git(self, *arguments: str) -> None:
        identity = ("-c", "user.name=test", "-c", "user.email=test@example.com")
        subprocess.run(["git", *identity, *arguments], cwd=self.folder, check=True)

    def commit(self, subject: str) -> None:
        self.git("commit", "--quiet", "--allow-empty", "-m", subject + "\n\nWhy: a body is free.")

    def lint(self) -> str:
        """The message, empty where all subjects pass."""
        command = [self.folder / ".ci" / "lint", "commits"]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        assert (done.returncode == 0) == (done.stderr == ""), done
        return done.stderr


@pytest.mark.parametrize(
    ("subject", "is_good"),
    [
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
    ],
)
def test_subjects(tmp_path: Path, subject: str, is_good: bool) -> None:
    repository = Repository(tmp_path / "on_main")
    repository.commit(subject)
    message = repository.lint()
    assert (message == "") == is_good
    assert is_good or subject in message


def test_commits_of_the_branch(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "branch")
    repository.git("checkout", "--quiet", "-b", "topic")
    repository.commit("Second reading")
    repository.commit(GOOD)
    assert "Second reading" in repository.lint()
    # On main, once merged, as well; not after the next commit.
    repository.git("checkout", "--quiet", "main")
    repository.git("merge", "--quiet", "--no-ff", "-m", "Merge: boxes", "topic")
    assert "Second reading" in repository.lint()
    repository.commit(GOOD)
    assert repository.lint() == ""


@pytest.mark.parametrize(
    "options", [[], ["--depth=1"], ["--depth=1", "--branch=topic"], ["--single-branch"]]
)
def test_clones(tmp_path: Path, options: list[str]) -> None:
    repository = Repository(tmp_path / "origin")
    repository.git("branch", "topic")
    for branch in ("topic", "main"):
        repository.git("checkout", "--quiet", branch)
        repository.commit(GOOD)
    clone = tmp_path / "clone"
    repository.git("clone", "--quiet", *options, f"file://{repository.folder}", str(clone))
    command = [clone / ".ci" / "lint", "commits"]
    assert subprocess.run(command, stderr=subprocess.PIPE, text=True).stderr == ""
