"""Files that the package writes: complete under their name, whatever else happens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from mluop_omp.golden import _output

OLD, NEW = "old\n", "new\n"


@pytest.mark.parametrize("name", ["file", "link"])
@pytest.mark.parametrize("before", [OLD, None])
def test_a_file_is_replaced_once_it_is_complete(tmp_path, name, before):
    path, name = tmp_path / "file", tmp_path / name
    if name != path:
        name.symlink_to("file")
    if before is not None:
        path.write_text(before)
    with pytest.raises(KeyboardInterrupt), _output.written(name) as stream:
        stream.write(b"part")
        stream.flush()
        assert (path.read_text() if path.exists() else None) == before
        raise KeyboardInterrupt
    assert (path.read_text() if path.exists() else None) == before
    _output.write_text(name, NEW)
    assert path.read_text() == NEW
    assert {each.name for each in tmp_path.iterdir()} == {"file", name.name}
    assert name == path or name.is_symlink()


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_permissions(tmp_path, mask):
    path = tmp_path / "file"
    former = os.umask(mask)
    try:
        _output.write_text(path, OLD)
        assert path.stat().st_mode & 0o777 == 0o666 & ~mask
        path.chmod(0o640)
        _output.write_text(path, NEW)
        assert path.stat().st_mode & 0o777 == 0o640 and path.read_text() == NEW
    finally:
        os.umask(former)


def test_a_pipe_is_written_in_place(tmp_path):
    pipe, texts = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: texts.append(pipe.read_text()))
    reader.start()
    _output.write_text(pipe, NEW)
    reader.join(60)
    assert texts == [NEW] and pipe.is_fifo()


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_is_written_in_place(tmp_path, name):
    path = tmp_path / "out"
    code = f"from mluop_omp.golden import _output; _output.write_text({name!r}, 'new'); print('er')"
    with path.open("w") as out:
        inode = path.stat().st_ino
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert path.stat().st_ino == inode and path.read_text()


@pytest.mark.parametrize("path", ["missing/file", "."])
def test_an_error_names_the_file(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError, match=path):
        _output.write_text(path, NEW)


def test_two_processes_write_one_file(tmp_path):
    """Each reads as one of both, whenever it is read."""
    for name, number in (("a", 1), ("b", 2)):
        np.savez(tmp_path / name, **{f"{k}": np.full(9, number) for k in range(300)})
    arguments = ["compare", "a.npz", "b.npz", "--json", "x.json"]
    command = [sys.executable, "-m", "mluop_omp", *arguments]
    started = [subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL) for _ in range(2)]
    while any(process.poll() is None for process in started):
        if (tmp_path / "x.json").exists():
            json.loads((tmp_path / "x.json").read_text())
    assert json.loads((tmp_path / "x.json").read_text())["equal"] is False
    assert not list(tmp_path.glob(".*"))
