"""Runs that msprobe and Polygraphy write, and the RunResults that a run writes."""

from __future__ import annotations

import base64
import io
import json
import os
import random
import re
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import torch
from torch import nn

import mluop_omp
from mluop_omp import Run, compare_runs


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 4, 3)

    def forward(self, x, scale=1.0):
        return self.conv2(torch.relu(self.conv1(x))) * scale


@pytest.fixture
def net():
    model = Net().eval()
    for parameter in model.parameters():
        parameter.data = torch.arange(parameter.numel()).view_as(parameter) % 9 - 2.0
    return model


IMAGE = torch.arange(3 * 64).view(1, 3, 8, 8) % 7 - 3.0


class Dump:
    """Writes the files of msprobe."""

    def __init__(self, folder, *, framework="pytorch", suffix=".pt"):
        self.folder, self.suffix = folder, suffix
        self.head = {"task": "tensor", "level": "mix", "framework": framework}
        self.data, self.construct, self.stack = {}, {}, {}
        (folder / "dump_tensor_data").mkdir(parents=True)

    def leaf(self, name, tensor, dtype=None, write=True):
        path = self.folder / "dump_tensor_data" / f"{name}{self.suffix}"
        if write:
            np.save(path, tensor) if self.suffix == ".npy" else torch.save(tensor, path)
        leaf = {"type": "Tensor", "dtype": dtype or str(tensor.dtype), "shape": list(tensor.shape)}
        return {**leaf, "Max": 1.0, "requires_grad": False, "data_name": path.name}

    def write(self):
        # An absolute path of another machine.
        text = json.dumps({**self.head, "dump_data_dir": "/elsewhere", "data": self.data}, indent=1)
        (self.folder / "dump.json").write_text(text)
        for name, value in (("construct", self.construct), ("stack", self.stack)):
            if value:
                (self.folder / f"{name}.json").write_text(json.dumps(value))
        return self.folder


def small_dump(folder) -> Dump:
    dump, ones = Dump(folder), torch.ones(2, 3)
    conv = "Module.layer1.0.conv1.Conv2d"
    dump.data = {
        "Functional.conv2d.0.forward": {
            "input_args": [
                dump.leaf("Functional.conv2d.0.forward.input.0", ones),
                [{"type": "int", "value": 1}, {"type": "int", "value": 2}],
                None,
                {"type": "str", "value": "zeros"},
            ],
            "input_kwargs": {
                "a.b": {"type": "bool", "value": True},
                "size": {"type": "torch.Size", "value": [2, 3]},
                "dtype": {"type": "torch.dtype", "value": "torch.float32"},
            },
            "output": [dump.leaf("Functional.conv2d.0.forward.output.0", ones.bfloat16())],
        },
        f"{conv}.forward.0": {
            "input_args": [dump.leaf(f"{conv}.forward.0.input.0", ones)],
            "input_kwargs": {"mask": dump.leaf(f"{conv}.forward.0.input.mask", ones > 0)},
            "output": [
                dump.leaf(f"{conv}.forward.0.output.0", ones),
                {"boxes": dump.leaf("boxes", ones, write=False)},
            ],
            "parameters": {"weight": dump.leaf(f"{conv}.forward.0.parameters.weight", ones)},
        },
        f"{conv}.forward.1": {"input_args": [], "input_kwargs": {}, "output": []},
        "Torch.relu.5.forward": {
            "input_args": [],
            "input_kwargs": {},
            "output": [{"type": "float", "value": 0.5}],
        },
        "Torch.relu.5.backward": {"input": [dump.leaf("g0", ones)], "output": [None]},
        f"{conv}.backward.1": {
            "input": [dump.leaf("g1", ones)],
            "output": [None, dump.leaf("g2", ones)],
        },
        f"{conv}.parameters_grad.0": {"weight": [dump.leaf("g3", ones)]},
        "unknown": {"output": []},
    }
    dump.construct = {
        "Functional.conv2d.0.forward": f"{conv}.forward.0",
        "Torch.relu.5.forward": None,
    }
    dump.stack = {
        "0": [
            ["Functional.conv2d.0.forward"],
            [
                "File /a/model.py, line 12, in forward, \n y = f(x)",
                "File /a/b.py, line 1, in g, \n",
            ],
        ],
    }
    return dump


def test_a_dump_of_msprobe(tmp_path):
    path = small_dump(tmp_path / "dump").write()
    with Run(path) as run:
        lines = [(call.module, call.number, call.kind, call.line) for call in run.calls]
        assert lines == [
            ("layer1.0.conv1::conv2d", 0, "Functional.conv2d", "model.py:12 in forward"),
            ("layer1.0.conv1", 0, "Conv2d", ""),
            ("layer1.0.conv1", 1, "Conv2d", ""),
            ("::relu", 0, "Torch.relu", ""),
            ("::unknown", 0, "entry", ""),
        ]
        function, module = run.calls[:2]
        assert [*function.inputs] == ["0", "1", '"a.b"', "size"] and [*function.outputs] == [""]
        values = {path: run.array(value.tensor).tolist() for path, value in function.inputs.items()}
        assert values == {"0": [[1.0] * 3] * 2, "1": [1, 2], '"a.b"': True, "size": [2, 3]}
        output = function.outputs[""].tensor
        assert run.tensors[output].dtype == "bfloat16" and run.array(output)[0, 0] == 0x3F80
        assert [*module.inputs] == ["0", "mask"] and [*module.outputs] == ["0", "1.boxes"]
        assert [*module.state] == ["weight"]
        assert not run.tensors[module.outputs["1.boxes"].tensor].has_values
        gradients = [(g.parameter, g.module, g.call, g.of, g.path) for g in run.gradients]
        assert gradients == [
            (None, "::relu", 0, "output", ""),
            (None, "layer1.0.conv1", 1, "output", ""),
            (None, "layer1.0.conv1", 1, "input", "1"),
            ("layer1.0.conv1.weight", "", 0, "", ""),
        ]
        assert "5 calls" in str(run) and "level mix" in str(run)
        result = compare_runs(run, run)
        assert not result.equal and "recorded without its elements" in str(result)


def test_where_a_dump_is(tmp_path, command):
    for step in ("step0", "step1"):
        small_dump(tmp_path / "all" / step / "rank0").write()
    for path in ("all/step0", "all/step0/rank0", "all/step0/rank0/dump.json"):
        assert len(Run(tmp_path / path).calls) == 5
    status, _, err = command(tmp_path / "all", tmp_path / "all" / "step0")
    assert status == 2 and "expected one of these folders: step0/rank0, step1/rank0" in err


def test_a_dump_of_statistics_is_not_compared(tmp_path, command):
    dump = small_dump(tmp_path / "dump")
    dump.head["task"] = "statistics"
    for file in (dump.folder / "dump_tensor_data").iterdir():
        file.unlink()
    path = dump.write()
    status, _, err = command(path, path)
    assert status == 2 and "the task of the dump is 'statistics', expected 'tensor'" in err


def test_a_dump_of_mindspore(tmp_path):
    dump = Dump(tmp_path / "dump", framework="mindspore", suffix=".npy")
    array = np.float32([[1, -2.5]])
    dump.data = {
        "Cell.net.conv1.Conv2d.forward.0": {
            "input_args": [dump.leaf("a", array, "Float32")],
            "output": [dump.leaf("b", array, "BFloat16")],
        }
    }
    with Run(dump.write()) as run:
        (call,) = run.calls
        assert (call.module, call.kind) == ("net.conv1", "Conv2d")
        assert np.array_equal(run.array(call.inputs["0"].tensor), array)
        assert run.array(call.outputs[""].tensor).tolist() == [[0x3F80, 0xC020]]


def dump_of(folder, run_path):
    """Writes a recorded run as msprobe would dump it: modules, without the call of the model."""
    dump = Dump(folder)
    with Run(run_path) as run:
        for call in run.calls[:-1]:
            key = f"Module.{call.module}.{call.kind.rpartition('.')[2]}.forward.{call.number}"
            entry = {"input_kwargs": {}}
            for part, values in (("input_args", call.inputs), ("output", call.outputs)):
                arrays = (torch.from_numpy(run.array(each.tensor)) for each in values.values())
                entry[part] = [dump.leaf(f"{key}.{part}.{k}", a) for k, a in enumerate(arrays)]
            dump.data[key] = entry
    return dump.write()


def test_a_dump_against_a_recorded_run(tmp_path, command, net):
    mluop_omp.record(net, IMAGE, tmp_path / "a.npz")
    status, out, _ = command(dump_of(tmp_path / "good", tmp_path / "a.npz"), tmp_path / "a.npz")
    assert status == 0 and "\nequal: 2 calls of both runs, 2 outputs\n" in out

    def defect(module, args, output):
        output[:, 3] += 1

    hook = net.conv2.register_forward_hook(defect)
    mluop_omp.record(net, IMAGE, tmp_path / "b.npz")
    hook.remove()
    device = dump_of(tmp_path / "device", tmp_path / "b.npz")
    page = tmp_path / "page.html"
    options = "--axes", "n,c,h,w", "--html", page
    status, out, _ = command(device, tmp_path / "a.npz", *options)
    assert status == 1 and "\nfirst difference: conv2 (Conv2d)\n" in out
    assert "pattern: one c: 3 of 4" in out and "conv2" in page.read_text()
    replayed = mluop_omp.replay(net, device, IMAGE)
    assert [each.call.module for each in replayed.suspects] == ["conv2"]
    with pytest.raises(ValueError, match="has no call of the model, expected inputs"):
        mluop_omp.replay(net, device)


def array_text(array: np.ndarray) -> dict[str, object]:
    file = io.BytesIO()
    np.save(file, array)
    text = base64.b64encode(file.getvalue()).decode()
    return {"array": text, "polygraphy_class": "ndarray"}


def results(**runners) -> dict[str, object]:
    """RunResults of Polygraphy: for each runner, the outputs of each iteration."""
    pairs = []
    for name, iterations in runners.items():
        outputs = (
            {
                "outputs": {
                    k: {"values": v if isinstance(v, dict) else array_text(v)}
                    for k, v in each.items()
                },
                "runtime": None,
                "runner_name": name,
            }
            for each in iterations
        )
        pairs.append([name, list(outputs)])
    return {"lst": pairs, "polygraphy_class": "RunResults"}


VALUES = np.arange(6, dtype=np.float32).reshape(2, 3)
ORT = [{"array": VALUES, "y": VALUES.T}, {"array": VALUES + 1}]
TRT = [{"array": VALUES.astype("f2"), "y": VALUES.T.astype(">f4")}, {"array": VALUES + 2}]


def test_results_of_polygraphy(tmp_path, command):
    path = tmp_path / "all.json"
    path.write_text(json.dumps(results(**{"trt-N0": TRT, "ort-N1": ORT}), indent=4))
    with Run(f"{path}#ort") as run:
        assert [(call.module, call.number) for call in run.calls] == [
            *(("array", 0), ("y", 0), ("array", 1))
        ]
        arrays = [run.array(call.outputs[""].tensor) for call in run.calls]
        assert all(map(np.array_equal, arrays, (VALUES, VALUES.T, VALUES + 1)))
        assert "runner ort-N1" in str(run)
    status, out, _ = command(f"{path}#trt-N0", f"{path}#ort")
    assert status == 1 and "\nfirst difference: array (output), call 1\n" in out
    for runner in ("", "#t", "#o"):
        status, _, err = command(f"{path}{runner}", f"{path}#ort")
        assert (status == 2) == (runner == "")
    assert (
        f"has 2 runners, expected one of: {path}#trt-N0, {path}#ort-N1"
        in (command(path, f"{path}#ort")[2])
    )
    assert "has no runner 'cuda', expected one of" in command(f"{path}#cuda", f"{path}#ort")[2]


def test_a_folder_of_iterations(tmp_path):
    for number, outputs in enumerate(ORT):
        text = json.dumps(results(ort=[outputs]))
        (tmp_path / f"{number:010}.json").write_text(text)
    (tmp_path / "all.json").write_text(json.dumps(results(ort=ORT)))
    assert compare_runs(tmp_path, tmp_path / "all.json").equal


def test_a_run_writes_the_results_of_polygraphy(tmp_path, net):
    sites = torch.tensor([[0, 1, 2], [1, 0, 0]])

    class Outputs(nn.Module):
        def forward(self, x):
            sparse = mluop_omp.SparseSites(x[0, 0, :2], sites)
            return {"x": x.bfloat16(), "sparse": sparse, "n": 3}

    mluop_omp.record(nn.Sequential(net, Outputs()), IMAGE, tmp_path / "a.npz")
    with Run(tmp_path / "a.npz") as run:
        run.to_polygraphy(tmp_path / "a.json", runner="reference")
        arrays = {c.module: run.array(c.outputs[""].tensor) for c in run.calls if "" in c.outputs}
    with Run(f"{tmp_path}/a.json#ref") as run:
        written = {call.module: call.outputs[""].tensor for call in run.calls}
        parts = [f"{name}:{part}" for name in ("1", "(model)") for part in ("x", "sparse", "n")]
        sparse = [f"{name}:sparse:indices" for name in ("1", "(model)")]
        assert {*written} == {"0.conv1", "0.conv2", "0", *parts, *sparse}
        assert run.tensors[written["1:x"]].dtype == "bfloat16"
        assert run.array(written["1:sparse:indices"]).tolist() == sites.tolist()
        assert all(np.array_equal(run.array(written[name]), arrays[name]) for name in arrays)
    mluop_omp.record(net, torch.ones(1, 3, 64, 64), tmp_path / "small.npz", max_bytes=20000)
    with Run(tmp_path / "small.npz") as run, pytest.raises(ValueError, match="not recorded all of"):
        run.to_polygraphy(tmp_path / "small.json")
    assert not (tmp_path / "small.json").exists()


def damaged_dump(change):
    def write(folder):
        dump = small_dump(folder)
        change(dump)
        return dump.write()

    return write


def damaged_results(text):
    def write(folder):
        folder.mkdir()
        (folder / "a.json").write_text(text)
        return folder / "a.json"

    return write


CONV = "Functional.conv2d.0.forward"


def leaf_of(**members):
    return damaged_dump(lambda dump: dump.data[CONV]["output"][0].update(members))


def stored(tensor):
    def change(dump):
        path = dump.folder / "dump_tensor_data" / f"{CONV}.output.0.pt"
        path.write_bytes(tensor) if isinstance(tensor, bytes) else torch.save(tensor, path)

    return damaged_dump(change)


def output(**values):
    return damaged_results(json.dumps(results(a=[{"y": values}])))


def saved(value) -> bytes:
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


def tensor_text(data: bytes):
    return output(tensor=base64.b64encode(data).decode())


def compressed(data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name), zipfile.ZIP_DEFLATED)
    return file.getvalue()


COMPRESSED = compressed(saved(torch.zeros(1000)))
# Runs that cannot be read, and what the message says.
DAMAGES = {
    "data": (damaged_dump(lambda dump: dump.data.update(x=3)), "dump.json: data: x is int"),
    "dtype": (leaf_of(dtype=3), "output: dtype is 3, expected str"),
    "shape": (leaf_of(shape=[-1]), r"shape is \[-1\], expected sizes"),
    "other shape": (leaf_of(shape=[3, 2]), r"has shape \[2, 3\], expected \[3, 2\]"),
    "other dtype": (leaf_of(dtype="torch.float32"), "has bfloat16 in .*, expected float32"),
    "name": (leaf_of(data_name="../x.pt"), "data_name is '../x.pt', expected the name of a file"),
    "file": (stored(b"no file"), "weights_only=True"),
    "content": (stored({"a": 1}), "has dict in .*, expected a dense tensor"),
    "stride": (
        stored(torch.ones(1, 1).bfloat16().expand(2, 3)),
        "a tensor of 6 elements in .*, but not as many stored",
    ),
    "cut": (damaged_results('{"lst": ['), "Expecting"),
    "deep": (damaged_results('{"lst": ' + "[" * 100000), "recursion|nested"),
    "twice": (damaged_results('{"lst": [["a", []], ["a", []]]}'), "the name 'a' occurs twice"),
    "pairs": (damaged_results('{"lst": [3]}'), "is not of runners"),
    "no runner": (damaged_results('{"lst": []}'), "has no runner '', expected one of: none"),
    "outputs": (damaged_results('{"lst": [["a", [{}]]]}'), "outputs is missing, expected dict"),
    "values": (output(array=3), "array is 3, expected base64"),
    "no base64": (output(array="%"), "array is '%', expected int"),
    "no .npy": (output(array="AAAA"), "magic|EOF"),
    "texts": (
        output(**array_text(np.array(["a"]))),
        "has elements of str32 in y, expected numbers",
    ),
    "size": (
        output(array=array_text(np.zeros(3))["array"][:-12]),
        "16 bytes of elements, expected 24",
    ),
    "torch": (output(tensor="AAAA"), "not a zip file"),
    "compressed": (tensor_text(COMPRESSED), "compressed elements in y, expected"),
    "sparse": (tensor_text(saved(torch.ones(2).to_sparse())), "expected a dense tensor"),
    "float8": (
        tensor_text(saved(torch.ones(2).to(torch.float8_e8m0fnu))),
        "has elements of float8_e8m0fnu in y, expected numbers",
    ),
    "no tensor": (tensor_text(saved({"a": 1})), "has dict in y, expected a tensor"),
}


@pytest.mark.parametrize("name", list(DAMAGES))
def test_a_run_that_cannot_be_read_is_refused(tmp_path, name):
    write, text = DAMAGES[name]
    path = write(tmp_path / "run")
    with pytest.raises(ValueError, match=text) as error, Run(path) as run:
        for each in run.tensors.values():
            if each.has_values:
                run.array(each.name)
    assert str(path) in str(error.value)


def variants(data: bytes, count: int = 50):
    """Truncated files, and files with a wrong byte or token."""
    rng = random.Random(0)
    yield from (data[:end] for end in range(0, len(data), max(len(data) // count, 7)))
    for _ in range(count):
        place = rng.randrange(len(data))
        yield data[:place] + bytes([data[place] ^ rng.choice((1, 4, 0x80))]) + data[place + 1 :]
        token = rng.choice((b"null", b"-1", b'"x"', b"[]", b"{}", b"1" * 30, b"1e400"))
        yield data[:place] + token + data[place + rng.randrange(12) :]


@pytest.mark.parametrize("name", ["dump.json", "construct.json", "stack.json", "tensor", "results"])
def test_damaged_runs_give_a_message(tmp_path, name):
    if name == "results":
        path = file = tmp_path / "a.json"
        path.write_text(json.dumps(results(ort=ORT)))
    else:
        path = small_dump(tmp_path / "dump").write()
        tensor = f"dump_tensor_data/{CONV}.output.0.pt"
        file = path / (tensor if name == "tensor" else name)
    for data in variants(file.read_bytes()):
        file.write_bytes(data)
        try:
            with Run(path) as run:
                for each in run.tensors.values():
                    if each.has_values:
                        run.array(each.name)
        except ValueError as error:
            assert str(path) in str(error)


MSPROBE = """
import importlib.util, json, sys, types
from unittest import mock
import torch, torch._dynamo.convert_frame
# What msprobe imports and this program does not use.
for name in ("pandas", "einops", "pytz", "tensorboard"):
    if importlib.util.find_spec(name) is None:
        sys.modules[name] = mock.MagicMock()
        if name == "tensorboard":
            module = mock.MagicMock(SummaryWriter=type("SummaryWriter", (), {}))
            sys.modules["torch.utils.tensorboard"] = module
from msprobe.pytorch import PrecisionDebugger
from test_run_formats import IMAGE, Net
import mluop_omp

model = Net()
for parameter in model.parameters():
    parameter.data = torch.arange(parameter.numel()).view_as(parameter) % 9 - 2.0
mluop_omp.record(model, IMAGE, "reference.npz", gradients=True)
debugger = PrecisionDebugger(config_path="config.json")
for factor in (1.0, 1.01):
    model.conv2.forward = lambda x: torch.nn.Conv2d.forward(model.conv2, x) * factor
    debugger.start(model=model)
    model(IMAGE).sum().backward()
    debugger.stop()
    debugger.step()
"""


def test_dumps_that_msprobe_writes(tmp_path, command):
    pytest.importorskip("msprobe", reason="requires mindstudio-probe")
    config = {"task": "tensor", "dump_path": str(tmp_path), "rank": [], "step": [], "level": "mix"}
    config["tensor"] = {"scope": [], "list": [], "data_mode": ["all"]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", MSPROBE],
        **{"cwd": tmp_path, "capture_output": True, "text": True},
        env={**os.environ, "PYTHONPATH": ":".join([*sys.path, os.path.dirname(__file__)])},
    )
    assert done.returncode == 0, done.stderr
    good, device = tmp_path / "step0", tmp_path / "step1"
    status, out, err = command(good, tmp_path / "reference.npz")
    assert status == 2 and "2 outputs; what was compared agrees" in out, out + err
    assert "(model)::sum (sum)" in out and "7 gradients agree" in out
    status, out, _ = command(device, tmp_path / "reference.npz")
    assert status == 1 and "\nfirst difference: conv2 (Conv2d)\n" in out, out
    status, out, _ = command(device, good)
    assert status == 1 and "each is 1.01 times what is expected" in out
    with Run(good) as run:
        lines = {call.module: call.line for call in run.calls}
        assert re.fullmatch(r"test_run_formats.py:\d+ in forward", lines["::relu"])
        assert lines["conv1"] == ""
        assert {g.parameter for g in run.gradients} >= {"conv1.weight", "conv2.bias"}


def test_results_that_polygraphy_writes_and_reads(tmp_path, net):
    comparator = pytest.importorskip("polygraphy.comparator", reason="requires polygraphy")
    saved = comparator.RunResults()
    tensors = {"y": torch.ones(2).bfloat16(), "z": torch.ones(3).to(torch.float8_e5m2)}
    saved.add([{"x": VALUES}, {"x": VALUES + 1, **tensors}], runner_name="trt-runner-N0-11/29/26")
    saved.save(str(tmp_path / "trt.json"))
    with Run(f"{tmp_path}/trt.json#trt-runner-N0-11/29/26") as run:
        found = [(c.module, c.number, run.array(c.outputs[""].tensor).tolist()) for c in run.calls]
        assert found == [
            *(("x", 0, VALUES.tolist()), ("x", 1, (VALUES + 1).tolist())),
            *(("y", 1, [0x3F80] * 2), ("z", 1, [1.0] * 3)),
        ]
        run.to_polygraphy(tmp_path / "again.json", runner="trt-runner-N0-11/29/26")
    again = comparator.RunResults.load(str(tmp_path / "again.json"))
    assert list(again.keys()) == ["trt-runner-N0-11/29/26"] and again == saved
    mluop_omp.record(net, IMAGE, tmp_path / "a.npz")
    with Run(tmp_path / "a.npz") as run:
        run.to_polygraphy(tmp_path / "a.json")
    (iteration,) = comparator.RunResults.load(str(tmp_path / "a.json"))["mluop_omp"]
    with torch.no_grad():
        assert np.array_equal(iteration["(model)"], net(IMAGE).numpy())
