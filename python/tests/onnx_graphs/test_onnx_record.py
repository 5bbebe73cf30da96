"""Runs of graphs: recording, comparison with tensors of a device, replay of nodes."""

from __future__ import annotations

import json

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="requires onnx")
from onnx import helper, numpy_helper  # noqa: E402
from onnx_backbone import INDICES, backbone, features  # noqa: E402

import mluop_omp  # noqa: E402
from mluop_omp import Run, compare_runs  # noqa: E402
from mluop_omp import onnx as mluop_onnx  # noqa: E402
from mluop_omp.__main__ import main  # noqa: E402

ROIS = np.float32([[0, 0, 0, 6, 6], [0, 1, 2, 7, 5]])


def detector() -> onnx.ModelProto:
    """conv, relu, a plugin node, flatten, and a layer whose node has no name."""
    random = np.random.default_rng(0)
    weights = {
        "conv.weight": random.standard_normal((4, 3, 3, 3), np.float32),
        "conv.bias": random.standard_normal(4, np.float32),
        "head.weight": random.standard_normal((5, 16), np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["image", "conv.weight", "conv.bias"], ["conv_out"], "/conv/Conv"),
        helper.make_node("Relu", ["conv_out"], ["relu_out"], "/relu/Relu"),
        helper.make_node(
            *("MMCVRoiAlign", ["relu_out", "rois"], ["pooled"], "/roi/MMCVRoiAlign"),
            **{"domain": "mmcv", "output_height": 2, "output_width": 2, "mode": "avg"},
        ),
        helper.make_node("Flatten", ["pooled"], ["flat"], "/Flatten"),
        helper.make_node("Gemm", ["flat", "head.weight"], ["scores"], transB=1),
    ]
    infos = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in (("image", (1, 3, 10, 10)), ("rois", (None, 5)), ("scores", (None, 5)))
    ]
    initializers = [numpy_helper.from_array(each, name) for name, each in weights.items()]
    graph = helper.make_graph(nodes, "detector", infos[:2], infos[2:], initializers)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mmcv", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@pytest.fixture(name="folder")
def fixture_folder(tmp_path, monkeypatch):
    """A folder with the model, its inputs and its run."""
    monkeypatch.chdir(tmp_path)
    onnx.save(detector(), "model.onnx")
    np.savez("in.npz", image=image(), rois=ROIS)
    mluop_onnx.record("model.onnx", {"image": image(), "rois": ROIS}, "run")
    return tmp_path


def image() -> np.ndarray:
    return np.random.default_rng(1).standard_normal((1, 3, 10, 10), np.float32)


def tensors(*, defect: bool = False) -> dict[str, np.ndarray]:
    """Returns the tensors of a device, which has fused conv with relu, and roi with flatten."""
    ops = mluop_onnx.evaluator(detector())
    values = ops.run(None, {"image": image(), "rois": ROIS}, intermediate=True)
    if defect:
        values["flat"] = values["flat"].copy()
        values["flat"][:, 5] += 0.1
        values["scores"] = values["flat"] @ ops.rt_nodes_[-1].run_params.get("w", weight()).T
    return {name: values[name] for name in ("image", "rois", "relu_out", "flat", "scores")}


def weight() -> np.ndarray:
    (found,) = [e for e in detector().graph.initializer if e.name == "head.weight"]
    return numpy_helper.to_array(found)


def save_results(path: str, values: dict[str, np.ndarray]) -> None:
    """Writes tensors as Polygraphy does."""
    comparator = pytest.importorskip("polygraphy.comparator", reason="requires polygraphy")
    results = comparator.RunResults()
    outputs = {name: each for name, each in values.items() if name not in ("image", "rois")}
    results.append(("trt-runner", [comparator.IterationResult(outputs)]))
    results.save(path)


def test_a_run_has_every_node(folder):
    with Run("run") as run:
        assert [(call.module, call.kind) for call in run.calls] == [
            ("/conv/Conv", "ai.onnx.Conv"),
            ("/relu/Relu", "ai.onnx.Relu"),
            ("/roi/MMCVRoiAlign", "mmcv.MMCVRoiAlign"),
            ("/Flatten", "ai.onnx.Flatten"),
            ("scores", "ai.onnx.Gemm"),
            ("", "onnx.Graph"),
        ]
        conv, _, roi, *_ = run.calls
        assert [*conv.inputs] == ["image"] and [*conv.state] == ["conv.weight", "conv.bias"]
        assert [*roi.inputs] == ["relu_out", "rois"] and [*roi.outputs] == ["pooled"]
        assert [each.scope for each in run.calls] == ["conv", "relu", "roi", "", "", ""]
        assert np.array_equal(run.array(conv.inputs["image"].tensor), image())
        outputs = run.array(run.calls[-1].outputs["scores"].tensor)
    assert np.array_equal(outputs, tensors()["scores"])


def test_both_evaluators_agree(folder, capsys):
    pytest.importorskip("onnxruntime_extensions", reason="requires onnxruntime-extensions")
    arguments = ["record", "model.onnx", "--inputs", "in.npz", "--output", "ort", "--onnxruntime"]
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith("run of graph detector: 6 calls, ")
    assert main(["compare", "ort", "run"]) == 0
    assert "6 calls of both runs, 6 outputs" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["npz", "json"])
def test_tensors_of_a_device(folder, capsys, kind):
    save = save_results if kind == "json" else lambda path, values: np.savez(path, **values)
    right, wrong = f"right.{kind}", f"wrong.{kind}"
    save(right, tensors())
    save(wrong, tensors(defect=True))
    assert main(["compare", right, "run"]) == 0
    out = capsys.readouterr().out
    assert "equal: 4 calls of both runs, 4 outputs" in out
    assert (
        "found has no tensor of 2 nodes: these are part of the next nodes with one: "
        "/relu/Relu, /Flatten" in out
    )
    assert main(["compare", wrong, "run", "--axes", "n,c"]) == 1
    out = capsys.readouterr().out
    assert "first difference: /Flatten (Flatten)" in out
    assert "one c: 5 of 16" in out and "later calls that differ: 2" in out
    # In both orders.
    assert main(["compare", "run", right]) == 0 and main(["compare", "run", wrong]) == 1
    assert "expected has no tensor of 2 nodes" in capsys.readouterr().out


def test_replay_finds_every_wrong_node(folder, capsys):
    values = tensors(defect=True)
    values["scores"][:, 2] *= 1.1
    np.savez("device.npz", **values)
    arguments = ["replay", "model.onnx", "device.npz"]
    assert main([*arguments, "--json", "result.json"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("2 of 3 calls stand out")
    assert (
        "computed together, as the run has no tensor between: 2: /conv/Conv with /relu/Relu" in out
    )
    result = json.loads((folder / "result.json").read_text())
    assert {each["module"] for each in result["suspects"]} == {"/Flatten", "scores"}
    assert main([*arguments, "--node", "/relu/Relu"]) == 0
    assert capsys.readouterr().out.startswith("agrees: 1 call")
    assert main([*arguments, "--node", "/Flatten"]) == 1
    assert main([*arguments, "--node", "none"]) == 2
    assert "the graph has no node none" in capsys.readouterr().err


def test_replay_of_a_run_and_of_results(folder, capsys):
    assert main(["replay", "model.onnx", "run"]) == 0
    assert capsys.readouterr().out.startswith("agrees: 5 calls")
    save_results("device.json", tensors())
    # Polygraphy holds no inputs.
    assert main(["replay", "model.onnx", "device.json"]) == 2
    out = capsys.readouterr().out
    assert "not all was compared" in out and "its input image is not recorded" in out
    assert main(["replay", "model.onnx", "device.json", "--inputs", "in.npz"]) == 0


def test_names_of_a_device(folder):
    """Names of nodes, names with "_" in place of other characters, and names that are mapped."""
    values = tensors()
    found = {"_relu_Relu": values["relu_out"], "/Flatten": values["flat"], "y": values["scores"]}
    np.savez("device.npz", **found)
    result = compare_runs("device.npz", "run", names="y=scores")
    assert result.equal and result.compared == 4
    partial = compare_runs("device.npz", "run")
    assert not partial.equal and [*partial.only_found] == ["y (output)"]
    with pytest.raises(ValueError, match="no call of other.npz is in run"):
        np.savez("other.npz", y=values["scores"])
        compare_runs("other.npz", "run")


def test_a_dump_of_msprobe(folder):
    values, dump = tensors(defect=True), folder / "dump"
    (dump / "dump_tensor_data").mkdir(parents=True)
    data = {}
    for name, module in (("relu_out", "relu.ReLU"), ("flat", "roi.RoIAlign")):
        key = f"Cell.{module}.forward.0"
        array = values[name] if name == "relu_out" else values[name].reshape(2, 4, 2, 2)
        np.save(dump / "dump_tensor_data" / f"{key}.output.0.npy", array)
        leaf = {"type": "mindspore.Tensor", "dtype": "Float32", "shape": list(array.shape)}
        leaf["data_name"] = f"{key}.output.0.npy"
        data[key] = {"input_args": [], "output": [leaf]}
    head = {"task": "tensor", "level": "L0", "framework": "mindspore", "dump_data_dir": "/x"}
    (dump / "dump.json").write_text(json.dumps({**head, "data": data}))
    result = compare_runs(dump, "run")
    assert result.first is not None and result.first.call.module == "/roi/MMCVRoiAlign"
    assert [each.call.module for each in result.all_calls] == ["/relu/Relu", "/roi/MMCVRoiAlign"]


def test_modules_of_pytorch(folder):
    """A run of the model in PyTorch, or a dump of msprobe, has modules in place of nodes."""
    torch = pytest.importorskip("torch", reason="requires torch")
    from mluop_omp import torch as mt

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.Sequential(
                torch.nn.Conv2d(3, 4, 3), torch.nn.Sequential(torch.nn.Conv2d(4, 4, 1))
            )
            self.act, self.head = torch.nn.ReLU(), torch.nn.Linear(16, 5)

        def forward(self, image, rois):
            pooled = mt.roi_align(self.act(self.layers(image)), rois, (2, 2))[0]
            return self.head(pooled.flatten(1))

    torch.manual_seed(0)
    net, inputs = Net().eval(), (torch.from_numpy(image()), torch.from_numpy(ROIS))
    mluop_onnx.export(net, inputs, "net.onnx", input_names=["image", "rois"])
    mluop_onnx.record("net.onnx", {"image": image(), "rois": ROIS}, "net")
    with torch.no_grad():
        mluop_omp.record(net, inputs, "torch.npz")
    result = compare_runs("torch.npz", "net")
    modules = [each.call.module for each in result.all_calls]
    assert [each.scope for each in Run("net").calls[:2]] == ["layers.0", "layers.1.0"]
    assert len(modules) == 5 and not result.differences, str(result)
    assert result.equal, str(result)

    def defect(module, args, output):
        output[:, 2] *= 1.1

    net.layers[1][0].register_forward_hook(defect)
    with torch.no_grad():
        mluop_omp.record(net, inputs, "defect.npz")
    wrong = compare_runs("defect.npz", "net")
    assert wrong.first is not None and wrong.first.call.module == modules[1], str(wrong)


def test_inputs_are_checked(folder, capsys):
    def message(**inputs):
        with pytest.raises(mluop_omp.MluOpError) as caught:
            mluop_onnx.record("model.onnx", inputs, "no")
        return caught.value.message

    assert message(image=image()) == ("input rois of the graph is missing, expected: image, rois")
    assert "the graph has no input x" in message(image=image(), rois=ROIS, x=ROIS)
    assert "MMCVRoiAlign: input rois has" in message(image=image(), rois=ROIS[:, :4])
    assert not (folder / "no").exists()
    np.save("array.npy", ROIS)
    for path, text in (("array.npy", "expected a .npz"), ("model.onnx", "model.onnx: ")):
        assert main(["record", "model.onnx", "--inputs", path, "--output", "no"]) == 2
        assert text in capsys.readouterr().err
    assert main(["replay", "model.onnx", "array.npy"]) == 2
    assert "is not a run, expected one" in capsys.readouterr().err


def test_a_sparse_network(tmp_path, monkeypatch, capsys):
    """A run has the sites, with which nodes are replayed; a device returns features only."""
    monkeypatch.chdir(tmp_path)
    onnx.save(backbone(), "scn.onnx")
    np.save("indices.npy", INDICES)
    np.savez("in.npz", **{"0": features()})
    sites = ["--indices", "indices.npy"]
    assert main(["record", "scn.onnx", "--inputs", "in.npz", "--output", "run", *sites]) == 0
    with Run("run") as run:
        assert [value.is_sparse for c in run.calls[:-1] for value in c.outputs.values()] == [
            *(True, True, True, False)
        ]
    assert main(["replay", "scn.onnx", "run", *sites]) == 0
    assert "agrees: 4 calls" in capsys.readouterr().out
    values = mluop_onnx.evaluator(backbone(), indices=INDICES).run(
        None, {"0": features()}, intermediate=True
    )
    device = {name: np.array(values[name]) for name in "01234"}
    device["2"][:, 1] += 0.5
    np.savez("device.npz", **device)
    assert main(["compare", "device.npz", "run"]) == 1
    assert "first difference: relu (Relu)" in capsys.readouterr().out
