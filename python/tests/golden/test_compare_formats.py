"""python -m mluop_omp compare: tensors in files of other tools, lists of shapes, sparse tensors."""

from __future__ import annotations

import json
import re
import struct

import numpy as np
import pytest
import torch

from mluop_omp.golden.comparison import SparseSites, _files
from mluop_omp.golden.comparison._values import Tensor, convert

VALUES = np.arange(24, dtype=np.float32).reshape(4, 6) / 8
LIDAR_DTYPES = {
    **{1: "int32", 2: "float16", 3: "float32", 4: "int64", 5: "uint64"},
    **{6: "uint32", 7: "int8", 8: "uint8", 9: "uint16", 10: "int16"},
}


def lidar(array: np.ndarray, code: int) -> bytes:
    return struct.pack(f"<{3 + array.ndim}i", 0x33FF1101, array.ndim, code, *array.shape) + (
        array.tobytes()
    )


def varint(value: int) -> bytes:
    value, encoded = value % 2**64, b""
    while value >= 128:
        value, encoded = value >> 7, encoded + bytes([value & 127 | 128])
    return encoded + bytes([value])


def field(number: int, content: int | bytes) -> bytes:
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def proto(shape: tuple[int, ...], code: int, *fields: bytes) -> bytes:
    return b"".join([*(field(1, extent) for extent in shape), field(2, code), *fields])


def packed(*values: int) -> bytes:
    return b"".join(map(varint, values))


def read(path, contents: bytes):
    path.write_bytes(contents)
    return convert(_files.read(path, _files.RawFormat()))


@pytest.mark.parametrize("code", list(LIDAR_DTYPES))
def test_the_files_of_lidar_ai_solution(tmp_path, code):
    array = VALUES.astype(LIDAR_DTYPES[code])
    found = read(tmp_path / "a.tensor", lidar(array, code))
    assert found.dtype == array.dtype.name and np.array_equal(found.array, array)


FLOATS = np.array([1, -2.5, 0.1], "<f4")
HALVES = FLOATS.astype("<f2").view("<u2").tolist()
BITS = (FLOATS.view(np.uint32) >> 16).tolist()
# A tensor of three elements for each way in which a TensorProto holds elements.
PROTOS = {
    "raw": (proto((3,), 1, field(9, FLOATS.tobytes())), "float32", FLOATS),
    "float_data": (proto((3,), 1, field(4, FLOATS.tobytes())), "float32", FLOATS),
    "not packed": (
        proto((3,), 1, *(b"\x25" + each.tobytes() for each in FLOATS)),
        *("float32", FLOATS),
    ),
    "int8": (proto((3,), 3, field(5, packed(-1, -128, 127))), "int8", [-1, -128, 127]),
    "uint16": (proto((3,), 4, field(5, packed(0, 1, 65535))), "uint16", [0, 1, 65535]),
    "int64": (proto((3,), 7, field(7, packed(-1, -(2**63), 300))), "int64", [-1, -(2**63), 300]),
    "bool": (proto((3,), 9, field(5, packed(1, 0, 1))), "bool", [True, False, True]),
    "float16": (proto((3,), 10, field(5, packed(*HALVES))), "float16", FLOATS.astype("f2")),
    "bfloat16": (proto((3,), 16, field(5, packed(*BITS))), "bfloat16", BITS),
    "raw bfloat16": (
        proto((3,), 16, field(9, np.array(BITS, "<u2").tobytes())),
        *("bfloat16", BITS),
    ),
    "float64": (proto((3,), 11, field(10, FLOATS.astype("f8").tobytes())), "float64", FLOATS),
    "uint64": (proto((3,), 13, field(11, packed(0, 1, 2**64 - 1))), "uint64", [0, 1, 2**64 - 1]),
    "complex64": (
        proto((1,), 14, field(4, FLOATS[:2].tobytes())),
        *("float32", FLOATS[:2].reshape(1, 2)),
    ),
    "named": (proto((3,), 1, field(8, b"name"), field(4, FLOATS.tobytes())), "float32", FLOATS),
    "no elements": (proto((0, 2), 1), "float32", np.empty((0, 2))),
}


@pytest.mark.parametrize("name", list(PROTOS))
def test_tensors_of_onnx(tmp_path, name):
    contents, dtype, expected = PROTOS[name]
    found = read(tmp_path / "a.pb", contents)
    assert found.dtype == dtype and np.array_equal(found.array, expected)


def test_tensors_that_onnx_writes(tmp_path):
    onnx = pytest.importorskip("onnx", reason="requires onnx")
    for code in range(1, 17):
        if code == onnx.TensorProto.STRING:
            continue
        values = [True, False, True] if code == onnx.TensorProto.BOOL else [1, 0, 3]
        typed = onnx.helper.make_tensor("x", code, [3, 1], values)
        expected = onnx.numpy_helper.to_array(typed)
        for tensor in (typed, onnx.numpy_helper.from_array(expected)):
            found = read(tmp_path / "a.pb", tensor.SerializeToString())
            assert found.dtype == convert(expected).dtype
            assert np.array_equal(found.array, convert(expected).array)


# Files that cannot be read, and what the message says.
FILES = {
    "empty.tensor": (b"", "has 0 bytes, expected at least the 12"),
    "magic.tensor": (bytes(12), "begins with 0x0, expected 0x33ff1101"),
    "dims.tensor": (struct.pack("<3i", 0x33FF1101, 2**30, 3), "dimensions is 1073741824, expected"),
    "type.tensor": (struct.pack("<4i", 0x33FF1101, 1, 11, 1), "element type is 11, expected 1"),
    "cut.tensor": (struct.pack("<4i", 0x33FF1101, 2, 3, 1), "found 4 bytes of dimensions"),
    "huge.tensor": (lidar(VALUES, 3)[:-1], "found 95 bytes of elements, expected 96"),
    "negative.tensor": (struct.pack("<5i", 0x33FF1101, 2, 3, -1, -1), r"\[-1, -1\]"),
    "empty.pb": (b"", "data_type is 0, expected 1"),
    "model.pb": (field(1, 7) + field(7, b"graph"), "data_type is 0, expected 1"),
    "string.pb": (proto((1,), 8, field(6, b"a")), "data_type is 8, expected 1"),
    "strings.pb": (proto((1,), 1, field(6, b"a")), "float32 elements are not in float_data"),
    "external.pb": (proto((1,), 1, field(13, b""), field(14, 1)), "external_data"),
    "cut.pb": (proto((3,), 1, field(9, bytes(12)))[:-1], "at byte 6 to 18 of 17"),
    "short.pb": (proto((3,), 1, field(9, bytes(11))), "11 bytes of elements, expected 12"),
    "count.pb": (proto((2**40,), 7, field(7, b"\0\0")), "16 bytes of elements, expected 87960930"),
    "both.pb": (proto((1,), 1, field(9, bytes(4)), field(4, bytes(4))), "raw_data and in a field"),
    "wrong.pb": (proto((1,), 1, field(7, b"\0")), "are not in float_data"),
    "range.pb": (proto((1,), 3, field(5, packed(128))), "from -128 to 128, expected -128 to 127"),
    "varint.pb": (proto((1,), 7, field(7, b"\x80")), "ends within a number|0 bytes of elements"),
    "long.pb": (proto((1,), 7, field(7, b"\x80" * 11 + b"\0")), "number of 12 bytes"),
    "group.pb": (b"\x0b", "field 1 of wire type 3"),
    "negative.pb": (proto((-1,), 1), r"\[-1\]"),
}


@pytest.mark.parametrize("name", list(FILES))
def test_a_file_that_cannot_be_read_is_refused(tmp_path, command, name):
    contents, text = FILES[name]
    (tmp_path / name).write_bytes(contents)
    np.save(tmp_path / "good.npy", VALUES)
    status, _, err = command(tmp_path / name, tmp_path / "good.npy")
    assert status == 2 and str(tmp_path / name) in err and re.search(text, err), err


DAMAGED = {"a.tensor": lidar(VALUES[:1], 3), **{f"{k}.pb": each[0] for k, each in PROTOS.items()}}


@pytest.mark.parametrize("name", list(DAMAGED))
def test_damaged_files_give_a_message(tmp_path, name):
    """Whatever a reader does with a damaged file: it raises ValueError with the path."""
    path, contents = tmp_path / name, DAMAGED[name]
    flipped = (
        contents[:k] + bytes([contents[k] ^ flip]) + contents[k + 1 :]
        for k in range(len(contents))
        for flip in (1, 0x80, 0xFF)
    )
    cut = (contents[:k] for k in range(0, len(contents), 7))
    refused = 0
    for each in (*cut, *flipped):
        try:
            read(path, each)
        except ValueError as error:
            assert str(path) in str(error)
            refused += 1
    assert refused > 3


LISTS = {
    "text": "# comment\nconv1 4,6\n\nlayer/Relu 2x12 half\nscore [] float32\nids 4 int8\n",
    "json": json.dumps(
        {
            "conv1": [4, 6],
            "layer/Relu": {"shape": [2, 12], "dtype": "float16"},
            "score": [],
            "ids": {"shape": [4], "dtype": "int8"},
        }
    ),
}


@pytest.mark.parametrize("kind", list(LISTS))
def test_folders_of_raw_elements_with_a_list_of_shapes(tmp_path, command, kind):
    """The names of qnn-net-run and snpe-net-run, against other raw folders, .npz and .npy."""
    tensors = {
        "conv1": VALUES,
        "layer/Relu": VALUES.reshape(2, 12).astype(np.float16),
        "score": np.float32(0.5),
        "ids": np.arange(4, dtype=np.int8),
    }
    suffixes = {"qnn": ".raw", "snpe": ":0.raw"}
    for folder, suffix in suffixes.items():
        for name, array in tensors.items():
            path = tmp_path / folder / "Result_0" / f"{name}{suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            array.tofile(path)
    (tmp_path / "npy" / "layer").mkdir(parents=True)
    for name, array in tensors.items():
        np.save(tmp_path / "npy" / f"{name}.npy", array)
    np.savez(tmp_path / "all.npz", **tensors)
    (tmp_path / "list").write_text(LISTS[kind])
    options = "--shapes", tmp_path / "list"
    status, out, _ = command(tmp_path / "qnn", tmp_path / "snpe", *options)
    assert status == 0 and out == "equal: all 4\n", out
    result = tmp_path / "qnn" / "Result_0"
    for expected in ("npy", "all.npz"):
        status, out, err = command(result, tmp_path / expected, *options)
        assert status == 0 and out == "equal: all 4\n", out + err
    assert command(result / "conv1.raw", tmp_path / "npy" / "conv1.npy", *options)[0] == 0
    (VALUES + 1).tofile(result / "conv1.raw")
    status, out, _ = command(result, tmp_path / "all.npz", *options)
    assert status == 1 and "conv1: differ: float32 [4, 6]" in out
    VALUES.tofile(result / "other.raw")
    status, out, _ = command(result, tmp_path / "qnn" / "Result_0", *options)
    assert status == 2 and "the list of --shapes has no other" in out


def test_native_files_and_the_model_of_a_converter(tmp_path, command):
    tensors = {"conv1": {"current_dims": [4, 6], "data_type": 0x0408}}
    (tmp_path / "model_net.json").write_text(json.dumps({"graph": {"tensors": tensors}}))
    options = "--shapes", tmp_path / "model_net.json"
    codes = np.arange(24, dtype=np.uint8).reshape(4, 6)
    for name, array in (("native", codes), ("float", VALUES)):
        (tmp_path / name).mkdir()
        np.savez(tmp_path / f"{name}.npz", conv1=array)
        array.tofile(tmp_path / name / f"conv1{'_native' * (name == 'native')}.raw")
        status, out, err = command(tmp_path / name, tmp_path / f"{name}.npz", *options)
        assert status == 0 and out == "equal: all 1\n", out + err
    VALUES.tofile(tmp_path / "native" / "conv1.raw")
    assert "extra: conv1_native" in command(tmp_path / "native", tmp_path / "float", *options)[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("conv1\n", "line 1 is 'conv1', expected a name, a shape"),
        ("conv1 4,-6\n", "line 1 is"),
        ("a 4\nconv1 4,6 float5\n", "dtype is 'float5', expected float16"),
        ("a 4\na 5\n", "the name 'a' occurs twice"),
        ('{"a": 3}', "the entry of 'a' is 3, expected a shape"),
        ('{"a": {"shape": [-1]}}', "expected a shape"),
        ('{"a": {"shape": [1], "dtype": 3}}', "expected a shape"),
        ('{"a": [1], "a": [2]}', "the name 'a' occurs twice"),
        ("{", "Expecting"),
        ("conv2 4,6\n", "the list of --shapes has no conv1"),
        ("conv1 4,5\n", "found 96 bytes of elements, expected 80"),
    ],
)
def test_lists_of_shapes_that_do_not_fit(tmp_path, command, text, message):
    VALUES.tofile(tmp_path / "conv1.raw")
    (tmp_path / "list").write_text(text)
    paths = [tmp_path / "conv1.raw"] * 2
    status, _, err = command(*paths, "--shapes", tmp_path / "list")
    assert status == 2 and message in err, err


SITES = np.stack([np.arange(40) % 2, np.arange(40), np.arange(40) // 3], 1)
FEATURES = np.arange(120, dtype=np.float32).reshape(40, 3)
NAMES = [
    *(("features", "indices"), ("voxel_features", "voxel_coords")),
    *(("feats", "coors"), ("feats", "coords")),
]


@pytest.mark.parametrize("names", NAMES)
def test_names_of_the_parts_of_a_sparse_tensor(tmp_path, command, names):
    order = np.random.default_rng(0).permutation(40)
    np.savez(tmp_path / "a.npz", features=FEATURES, indices=SITES, spatial_shape=[40, 14])
    parts = dict(zip(names, (FEATURES[order], SITES[order])))
    np.savez(tmp_path / "b.npz", **parts, batch_size=2)
    torch.save({name: torch.from_numpy(part) for name, part in parts.items()}, tmp_path / "b.pt")
    (tmp_path / "b").mkdir()
    for name, part in parts.items():
        np.save(tmp_path / "b" / f"{name}.npy", part)
    for found in ("b.npz", "b.pt", "b"):
        status, out, err = command(tmp_path / found, tmp_path / "a.npz")
        assert status == 0 and "rows are in another order" in out, out + err
    np.savez(tmp_path / "b.npz", **parts, more=SITES)
    assert isinstance(_files.read(tmp_path / "b.npz", _files.RawFormat()), dict)


def test_coordinates_in_float32(tmp_path, command):
    """OpenPCDet converts voxel_coords to float32 with the rest of a batch."""
    np.savez(tmp_path / "a.npz", features=FEATURES, indices=SITES)
    parts = {"voxel_features": FEATURES, "voxel_coords": SITES.astype(np.float32)}
    np.savez(tmp_path / "b.npz", **parts)
    assert command(tmp_path / "b.npz", tmp_path / "a.npz")[0] == 0
    found = _files.read(tmp_path / "b.npz", _files.RawFormat())
    assert isinstance(found, SparseSites) and isinstance(found.features, Tensor)
    for wrong in (0.5, np.nan, np.inf):
        np.savez(tmp_path / "b.npz", voxel_features=FEATURES, voxel_coords=SITES + wrong)
        status, _, err = command(tmp_path / "b.npz", tmp_path / "a.npz")
        assert status == 2 and "voxel_coords has dtype float64 and fractions" in err
