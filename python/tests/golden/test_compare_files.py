"""python -m mluop_omp compare: formats, exit status, untrusted files."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pytest
import torch

from mluop_omp import compare

VALUES = np.arange(24, dtype=np.float32).reshape(4, 6) / 7


def safetensors(header: object, data: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(dtype: str, shape: list[int], first: int, last: int) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [first, last]}


def write_safetensors(path, tensors: dict[str, torch.Tensor]) -> None:
    names = {torch.float32: "F32", torch.bfloat16: "BF16", torch.int64: "I64"}
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in tensors.items():
        raw = tensor.contiguous().view(torch.uint8).numpy().tobytes()
        place = len(data), len(data) + len(raw)
        header[name] = entry(names[tensor.dtype], list(tensor.shape), *place)
        data += raw
    path.write_bytes(safetensors(header, data))


WRITERS = {
    "npy": lambda path, array: np.save(path, array),
    "npz": lambda path, array: np.savez(path, x=array),
    "pt": lambda path, array: torch.save(torch.from_numpy(array.copy()), path),
    "pth": lambda path, array: torch.save({"x": torch.from_numpy(array.copy())}, path),
    "safetensors": lambda path, array: write_safetensors(path, {"x": torch.from_numpy(array)}),
    "bin": lambda path, array: array.tofile(path),
}


@pytest.mark.parametrize("expected", list(WRITERS))
@pytest.mark.parametrize("found", list(WRITERS))
def test_each_format_with_each(tmp_path, command, found, expected):
    paths = tmp_path / f"found.{found}", tmp_path / f"expected.{expected}"
    WRITERS[found](paths[0], VALUES)
    WRITERS[expected](paths[1], VALUES)
    options = ["--dtype", "float", "--shape", "4,6"] if "bin" in (found, expected) else []
    status, out, _ = command(*paths, *options)
    assert status == 0 and out.startswith("equal")
    WRITERS[found](paths[0], VALUES + (np.arange(6) == 2).astype(np.float32))
    status, out, _ = command(*paths, *options)
    assert status == 1 and "4 of 24 elements are outside" in out


def test_bfloat16_in_files(tmp_path, command):
    tensor = torch.from_numpy(VALUES).bfloat16()
    bits = tensor.view(torch.int16).numpy()
    write_safetensors(tmp_path / "a.safetensors", {"x": tensor})
    torch.save(tensor, tmp_path / "b.pt")
    bits.tofile(tmp_path / "c.bin")
    np.save(tmp_path / "d.npy", bits.view("V2"))
    np.save(tmp_path / "e.npy", VALUES)
    for name in ("b.pt", "c.bin", "d.npy", "e.npy"):
        options = ["--dtype", "bfloat16", "--shape", "4,6"] if name == "c.bin" else []
        status, out, _ = command(tmp_path / "a.safetensors", tmp_path / name, *options)
        assert status == 0 and "bfloat16" in out, name


@pytest.mark.parametrize("array", [VALUES.T, VALUES[:0], VALUES[0, 0], np.arange(3), VALUES > 1])
def test_npy_of_any_order_and_shape(tmp_path, command, array):
    np.save(tmp_path / "a.npy", np.array(array, order="F"))
    np.savez_compressed(tmp_path / "b.npz", x=array)
    assert command(tmp_path / "a.npy", tmp_path / "b.npz")[0] == 0


def test_folders(tmp_path, command):
    for side, names in (("a", "xyz"), ("b", "xyw")):
        (tmp_path / side / "sub").mkdir(parents=True)
        (tmp_path / side / "notes.txt").write_text(side)
        for name in names:
            np.save(tmp_path / side / "sub" / f"{name}.npy", VALUES + (side + name == "by"))
    status, out, _ = command(tmp_path / "a", tmp_path / "b")
    lines = out.splitlines()
    assert status == 1 and lines[0] == "differ: 1 missing, 1 extra, 1 of 2 differ"
    assert lines[1:3] == ["missing: sub/w.npy", "extra: sub/z.npy"]
    assert lines[3].startswith("sub/y.npy: differ: ")
    assert command(tmp_path / "a", tmp_path / "a")[0] == 0
    np.save(tmp_path / "b" / "sub" / "x.npy", VALUES[:2])
    (tmp_path / "b" / "sub" / "z.npy").symlink_to("nowhere")
    status, out, _ = command(tmp_path / "a", tmp_path / "b")
    assert status == 2 and "sub/x.npy: cannot be compared: shapes differ" in out
    assert "sub/z.npy: cannot be compared: [Errno 2]" in out


def test_a_sparse_tensor_in_a_file(tmp_path, command, rng):
    features, order = rng.random((40, 3)), rng.permutation(40)
    indices = np.stack([np.arange(40) % 2, np.arange(40), np.arange(40) // 3], 1)
    extras = {"spatial_shape": [41, 20], "batch_size": 2}
    np.savez(tmp_path / "a.npz", features=features, indices=indices, **extras)
    np.savez(tmp_path / "b.npz", features=features[order], indices=indices[order])
    status, out, _ = command(tmp_path / "b.npz", tmp_path / "a.npz")
    assert status == 0 and "rows are in another order" in out
    parts = {"features": features[order].astype(np.float32), "indices": indices[order]}
    tensors = {name: torch.from_numpy(part) for name, part in parts.items()}
    torch.save(
        {**tensors, "spatial_shape": torch.Size([41, 20]), "batch_size": 2}, tmp_path / "c.pt"
    )
    write_safetensors(tmp_path / "d.safetensors", tensors)
    for name in ("c.pt", "d.safetensors"):
        assert command(tmp_path / name, tmp_path / "a.npz")[0] == 0, name
    np.savez(tmp_path / "b.npz", features=features[order][1:], indices=indices[order][1:])
    assert command(tmp_path / "b.npz", tmp_path / "a.npz")[0] == 1


def test_criteria_worst_axes_and_json(tmp_path, command):
    np.save(tmp_path / "a.npy", VALUES * np.float32(1.001))
    np.save(tmp_path / "b.npy", VALUES)
    paths = tmp_path / "a.npy", tmp_path / "b.npy"
    assert command(*paths)[0] == 1 and command(*paths, "--rtol", 0.01)[0] == 0
    assert command(*paths, "--criterion", "pcc>=0.99", "--criterion", "diff1=2e-3")[0] == 0
    status, out, _ = command(*paths, "--criterion", "diff1=1e-4", "--worst", 2, "--axes", "n,c")
    assert status == 1 and out.startswith("differ: diff1 0.001 > 0.0001")
    assert sum(line.startswith("(") for line in out.splitlines()) == 2
    command(*paths, "--json", tmp_path / "result.json")
    assert json.loads((tmp_path / "result.json").read_text())["equal"] is False


def npy(shape: str, data: bytes = b"", dtype: str = "<f4") -> bytes:
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


def single(shape: list[int], size: int = 96, dtype: str = "F32", end: int = 96) -> bytes:
    return safetensors({"x": entry(dtype, shape, 0, end)}, bytes(size))


def placed(*places: tuple[int, int]) -> bytes:
    """A .safetensors of 96 bytes with int8 tensors at these places."""
    named = {
        f"x{k}": entry("I8", [end - begin], begin, end) for k, (begin, end) in enumerate(places)
    }
    return safetensors(named, bytes(96))


def npz(*members: bytes, names: tuple[str, ...] = ("x.npy", "x.npy")) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that repeat
        for name, member in zip(names, members):
            archive.writestr(name, member)
    return file.getvalue()


class Evil:
    def __reduce__(self):
        return (print, ("unpickled",))


# Files that cannot be read, and what the message says.
FILES = {
    "empty.npy": (b"", "EOF|magic"),
    "text.npy": (b"hello, this is no array", "magic"),
    "version.npy": (b"\x93NUMPY\x09\x00", "version"),
    "cut header.npy": (npy("(2,)")[:30], "EOF|header"),
    "truncated.npy": (npy("(4, 6)", bytes(95)), "95 bytes of elements, expected 96"),
    "trailing.npy": (npy("(4, 6)", bytes(97)), "97 bytes of elements, expected 96"),
    "huge.npy": (npy(f"({2**40}, {2**40})", bytes(8)), "8 bytes of elements, expected 48357"),
    "negative.npy": (npy("(-1, -4)", bytes(16)), r"\[-1, -4\]"),
    "objects.npy": (npy("(1,)", pickle.dumps(Evil()), "|O"), "Python objects"),
    "code.npy": (npy("(__import__('os').abort(),)"), "header"),
    "dtype.npy": (npy("(1,)", bytes(8), "<M8[s]"), "dtype datetime64"),
    "text.npz": (b"PK no archive", "zip"),
    "truncated.npz": (npz(npy("(4, 6)", bytes(96)))[:-30], "zip"),
    "huge.npz": (npz(npy(f"({2**40},)", bytes(96))), "96 bytes of elements, expected"),
    "objects.npz": (npz(npy("(1,)", pickle.dumps(Evil()), "|O")), "Python objects"),
    "version.npz": (npz(b"").replace(b"PK\1\2\x14\3\x14", b"PK\1\2\x14\3\xc8"), "zip file version"),
    "none.npz": (b"PK\x05\x06" + bytes(18), "no arrays"),
    "pickle.pt": (pickle.dumps(Evil(), 2), "weights_only=True"),
    "text.pt": (b"hello", "weights_only=True"),
    "twice.npz": (npz(*[npy("(4, 6)", bytes(96))] * 2), "'x' occurs twice"),
    "both names.npz": (npz(*[npy("()", bytes(4))] * 2, names=("x", "x.npy")), "'x' occurs twice"),
    "twice.pt": (npz(b"", b"", names=("a/data.pkl",) * 2), "'a/data.pkl' occurs twice"),
    "empty.safetensors": (b"", "has 0 bytes, expected at least the 8"),
    "none.safetensors": (safetensors({}), "has no tensors"),
    "metadata.safetensors": (safetensors({"__metadata__": {"a": "b"}}), "has no tensors"),
    "twice.safetensors": (safetensors({"x": {}, "y": {}}).replace(b"y", b"x"), "'x' occurs twice"),
    "overlap.safetensors": (placed((0, 60), (40, 96)), "x1 begins at byte 40, expected 60"),
    "gap.safetensors": (placed((0, 40), (60, 96)), "x1 begins at byte 60, expected 40"),
    "start.safetensors": (placed((8, 96)), "x0 begins at byte 8, expected 0"),
    "end.safetensors": (placed((0, 90)), "end at byte 90, expected 96"),
    "order.safetensors": (placed((96, 0)), "x0 is at 96 to 0 of 96 bytes"),
    "huge.safetensors": ((2**60).to_bytes(8, "little"), "header has 1152921504606846976 bytes"),
    "text.safetensors": ((4).to_bytes(8, "little") + b"oops", "Expecting value"),
    "list.safetensors": ((2).to_bytes(8, "little") + b"[]", "not an object"),
    "deep.safetensors": ((200000).to_bytes(8, "little") + b"[" * 200000, "recursion|nested"),
    "entry.safetensors": (safetensors({"x": 3}), "entry of x is 3"),
    "dtype.safetensors": (single([1], 1, "F8_E4M3", 1), "F8_E4M3"),
    "range.safetensors": (single([24], 95), "x is at 0 to 96 of 95 bytes"),
    "size.safetensors": (single([2**62, 4]), "96 bytes of elements, expected 7378"),
    "negative.safetensors": (single([-24]), r"\[-24\]"),
    "short.bin": (bytes(95), "95 bytes of elements, expected 96"),
    "name.xyz": (bytes(96), "name ends in '.xyz'"),
}


@pytest.mark.parametrize("name", list(FILES))
def test_a_file_that_cannot_be_read_is_refused(tmp_path, command, name):
    contents, text = FILES[name]
    path, good = tmp_path / name, tmp_path / "good.npy"
    path.write_bytes(contents)
    np.save(good, VALUES)
    options = ["--dtype", "float", "--shape", "4,6"] if name.endswith("bin") else []
    for pair in ((path, good), (good, path)):
        status, out, err = command(*pair, *options)
        assert status == 2 and "unpickled" not in out
        assert re.search(text, err), err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["a.npy"], "EXPECTED"),
        (["a.npy", "missing.npy"], "No such file"),
        (["a.npy", "b.npy"], "shapes differ: found [4, 6], expected [4, 5]"),
        (["a.npy", "c.bin"], "requires --dtype"),
        (["a.npy", "c.bin", "--dtype", "float5"], "dtype is 'float5', expected float16"),
        (["a.npy", "odd.bin", "--dtype", "half"], "has 3 bytes, expected a multiple of 2"),
        (["a.npy", "pipe.npy"], "pipe.npy: is neither a regular file nor a folder"),
        (["pipe.npy", "a.npy"], "pipe.npy: is neither a regular file nor a folder"),
        (["/dev/zero", "a.npy", "--dtype", "half"], "zero: is neither a regular file nor a folder"),
        (["/proc/version", "a.npy", "--dtype", "uint8"], "more bytes than its size, 0, states"),
        (["a.npy", "c.bin", "--dtype", "half", "--shape", "x"], "invalid shape"),
        (["a.npy", "c.bin", "--dtype", "half", "--shape", "-4"], "--shape"),
        (["a.npy", "a.npy", "--rtol", "-1"], "rtol is -1"),
        (["a.npy", "a.npy", "--criterion", "no=1"], "criterion is 'no'"),
        (["a.npy", "a.npy", "--worst", "x"], "worst"),
        (["a.npy", "empty"], "the folder has no files"),
        (["a.npy", "a.npy", "--json", "missing/file"], "No such file"),
        (["a.npy", "folder"], "expected is a container"),
    ],
)
def test_bad_arguments_give_a_message_and_status_2(tmp_path, command, monkeypatch, arguments, text):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", VALUES)
    np.save("b.npy", VALUES[:, :5])
    VALUES.tofile("c.bin")
    (tmp_path / "odd.bin").write_bytes(b"odd")
    os.mkfifo("pipe.npy")
    for name in ("empty", "folder"):
        (tmp_path / name).mkdir()
    for name in "xy":
        np.save(tmp_path / "folder" / name, VALUES)
    status, _, err = command(*arguments)
    assert status == 2 and text in err, err


def test_the_order_of_a_header_is_free(tmp_path, command):
    (tmp_path / "a.safetensors").write_bytes(placed((40, 96), (0, 40), (40, 40)))
    assert command(tmp_path / "a.safetensors", tmp_path / "a.safetensors")[0] == 0


def test_names_in_files_do_not_control_the_terminal(tmp_path, command):
    for name, number in (("a", 1), ("b", 2)):
        np.savez(tmp_path / name, **{"\x1b[31mred": np.float32(number)})
    text = (tmp_path / "a.npz").read_bytes()
    assert b"\x1b" in text
    write_safetensors(tmp_path / "c.safetensors", {"\ud800": torch.zeros(2)})
    status, out, _ = command(tmp_path / "a.npz", tmp_path / "b.npz")
    assert status == 1 and "?[31mred: differ" in out
    status, out, _ = command(tmp_path / "a.npz", tmp_path / "c.safetensors")
    assert status == 2 and "expected has 1: ?" in out


def test_a_pt_file_without_pytorch(tmp_path, command, monkeypatch):
    torch.save(torch.zeros(3), tmp_path / "a.pt")
    monkeypatch.setattr("mluop_omp._requirements.find_spec", lambda name: None)
    status, _, err = command(tmp_path / "a.pt", tmp_path / "a.pt")
    assert status == 2 and "PyTorch is not installed: pip install 'torch>=2.8'" in err


def test_the_module_runs_as_a_program(tmp_path):
    np.save(tmp_path / "a.npy", VALUES)
    np.save(tmp_path / "b.npy", -VALUES)
    program = [sys.executable, "-m", "mluop_omp"]
    for name, status in (("a.npy", 0), ("b.npy", 1), ("c.npy", 2)):
        done = subprocess.run(
            [*program, "compare", "a.npy", name], cwd=tmp_path, capture_output=True
        )
        assert done.returncode == status
    done = subprocess.run([*program, "--help"], capture_output=True)
    assert done.returncode == 0 and b"compare" in done.stdout


def test_a_reader_that_stops_early(tmp_path):
    """A closed pipe, as in `compare ... | head -n 1`, does not change the exit status."""
    for name in ("a", "b"):
        arrays = {f"tensor {number}": VALUES * (name == "a") for number in range(500)}
        np.savez(tmp_path / f"{name}.npz", **arrays)
    command = [sys.executable, "-m", "mluop_omp", "compare", "a.npz", "b.npz"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as process:
        process.stdout.close()
        assert process.stderr.read() == b"" and process.wait() == 1


def test_the_directory_of_an_archive_is_read_once(tmp_path, command, monkeypatch):
    opened, archive = [], zipfile.ZipFile
    monkeypatch.setattr(zipfile, "ZipFile", lambda *a, **k: opened.append(a) or archive(*a, **k))
    for name in ("a", "b"):
        np.savez(tmp_path / f"{name}.npz", **{f"{number}": VALUES for number in range(100)})
    opened.clear()
    assert command(tmp_path / "a.npz", tmp_path / "b.npz")[0] == 0
    assert len(opened) <= 4  # Both, which may be runs.


TABLE = """\
tensor verdict wrong elements diff1 diff2 max_absolute max_ulp cosine
a differs, NaN or infinity 1 6 0 0 0 0 1
b differs 1 4 0.167 0.267 1 1 0.99146
c not compared - - - - - - -
d missing - - - - - - -
e extra - - - - - - -"""


def test_a_table_of_all_tensors(tmp_path, command):
    expected = {
        "a": np.ones((2, 3), np.float32),
        "b": np.arange(4),
        "c": np.ones(2),
        "d": np.ones(1),
    }
    found = {**expected, "b": np.arange(4) + (np.arange(4) > 2), "c": np.ones(3)}
    found["a"] = np.array([[1, 1, 1], [1, np.nan, 1]], np.float32)
    found["e"] = found.pop("d")
    for name, arrays in (("found", found), ("expected", expected)):
        np.savez(tmp_path / name, **arrays)
    paths = [tmp_path / f"{name}.npz" for name in ("found", "expected")]
    status, out, _ = command(*paths, "--all")
    assert status == 2
    table = out[out.index("tensor ") :].splitlines()
    assert [" ".join(line.split()) for line in table] == TABLE.splitlines()
    assert len({len(line) for line in table}) == 1
    assert "tensor " not in command(*paths)[1]


def test_names_without_a_counterpart_are_one_line(normal):
    tensors = {f"conv{k}": np.ones(2) for k in range(45)}
    text = str(compare({f"module.{name}": each for name, each in tensors.items()}, tensors))
    assert text.startswith("cannot be compared: no common name; found has 45: module.conv0, ")
    assert (
        text.endswith("; 45 would match without the prefix 'module.' of found") and "\n" not in text
    )
    result = compare({"a": 1}, {"b": 1})
    assert not result.comparable and (result.extra, result.missing) == (("a",), ("b",))


def test_parts_that_differ_alike_are_one_line():
    tensors = {f"conv{k}": np.random.default_rng(k).random((1, 4 + k, 6, 7)) for k in range(45)}
    found = {name: each.transpose(0, 2, 3, 1) for name, each in tensors.items()}
    verdict, line = str(compare({**found, "z": 1}, {**tensors, "z": 1})).splitlines()
    assert verdict == "differ: 45 cannot be compared"
    assert line.startswith("45 cannot be compared: conv0, conv1, ")
    assert (
        "; the first: shapes differ: found [1, 6, 7, 4], expected [1, 4, 6, 7]; with found" in line
    )


def test_patterns_are_stated_in_one_line_each():
    b = {f"a{k}": np.random.default_rng(k).random((8, 9, 9)) for k in range(30)}
    lines = str(compare({n: each.swapaxes(1, 2) for n, each in b.items()}, b)).splitlines()
    assert sum("pattern: transposed: found has the dims" in line for line in lines) == 25
    assert lines[-1] == "5 more differ; --all, or text(every=True), lists all tensors"
