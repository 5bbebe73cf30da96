"""Files that other processes see either complete or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_MAX_LINKS = 40


class OutputFile:
    """Writes a temporary file beside its target, which `commit()` replaces.

    Keeps the permissions of an existing target and follows links. A target that is not a regular
    file, such as a pipe or /dev/stdout, or whose folder is read-only, is written in place.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raises OSError, with the path, if the file cannot be written."""
        self._target, self._part = _replaceable(Path(path)), None
        if self._target is None:
            self.stream: BinaryIO = open(path, "wb")  # noqa: SIM115
            return
        replaced = self._target.stat() if self._target.exists() else None
        if replaced is not None and not os.access(self._target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        part = self._target.with_name(f".mluop_omp.{secrets.token_hex(8)}.part")
        try:
            self.stream = open(part, "xb")  # noqa: SIM115
        except OSError as error:
            if replaced is None:
                raise type(error)(error.errno, error.strerror, str(path)) from None
            self.stream = open(self._target, "wb")  # noqa: SIM115
            return
        self._part = part
        if replaced is not None:
            with contextlib.suppress(OSError):
                os.fchown(self.stream.fileno(), replaced.st_uid, replaced.st_gid)
            os.fchmod(self.stream.fileno(), stat.S_IMODE(replaced.st_mode))

    def commit(self) -> None:
        self.stream.close()
        if self._part is None or self._target is None:
            return
        try:
            os.replace(self._part, self._target)
        except OSError:
            # The target is a mount point, for example.
            shutil.copyfile(self._part, self._target)
            self._part.unlink()
        self._part = None

    def discard(self) -> None:
        """Removes the temporary file. A committed file and one written in place remain."""
        with contextlib.suppress(Exception):
            self.stream.close()
        if self._part is not None:
            self._part.unlink(missing_ok=True)


@contextlib.contextmanager
def written(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Commits the file at the end of the block; discards it if the block raises an exception."""
    file = OutputFile(path)
    try:
        yield file.stream
        file.commit()
    finally:
        file.discard()


def write_text(path: str | os.PathLike[str], text: str) -> None:
    with written(path) as stream:
        stream.write(text.encode())


def _replaceable(path: Path) -> Path | None:
    """Returns the file that a path names, links resolved; None if it must be written in place."""
    for _ in range(_MAX_LINKS):
        if not path.is_symlink():
            return None if path.exists() and not path.is_file() else path
        # Links in /proc refer to open files, whose names may now belong to other files.
        if path.parent.resolve().is_relative_to("/proc"):
            return None
        path = path.parent / os.readlink(path)
    return None
