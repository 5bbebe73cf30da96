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


@contextlib.contextmanager
def written(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yields a stream to a temporary file, which replaces the target at the end of the block.

    An exception leaves the target as it is. Keeps the permissions of an existing target and follows
    links. A target that is not a regular file, such as a pipe or /dev/stdout, or whose folder is
    read-only, is written in place. Raises OSError, with the path, if the file cannot be written.
    """
    target = _replaceable(Path(path))
    stream = None if target is None else _create_beside(target, path)
    if target is None or stream is None:
        with open(target or path, "wb") as stream:
            yield stream
        return
    part = Path(stream.name)
    try:
        with stream:
            yield stream
        try:
            os.replace(part, target)
        except OSError:
            # The target is a mount point, for example.
            shutil.copyfile(part, target)
    finally:
        part.unlink(missing_ok=True)


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


def _create_beside(target: Path, path: str | os.PathLike[str]) -> BinaryIO | None:
    """Creates a temporary file with the permissions of its target; None in a read-only folder."""
    replaced = target.stat() if target.exists() else None
    if replaced is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    try:
        part = target.with_name(f".mluop_omp.{secrets.token_hex(8)}.part")
        stream = open(part, "xb")  # noqa: SIM115
    except OSError as error:
        if replaced is not None:
            return None
        raise type(error)(error.errno, error.strerror, str(path)) from None
    if replaced is not None:
        with contextlib.suppress(OSError):
            os.fchown(stream.fileno(), replaced.st_uid, replaced.st_gid)
        os.fchmod(stream.fileno(), stat.S_IMODE(replaced.st_mode))
    return stream
