"""The table in onnx.reference and in Polygraphy: domains, imports, optional inputs, comparisons."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Callable

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="requires onnx")

from onnx import helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnx.reference.op_run import OpRun  # noqa: E402
from onnx_graph import evaluate, feeds, one_node, value_info  # noqa: E402

import mluop_omp  # noqa: E402
from mluop_omp.onnx import _table, evaluator, nodes, references  # noqa: E402
from mluop_omp.onnx._references import coordinates, imported, register_polygraphy  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
RNG = np.random.default_rng(69)
X = RNG.standard_normal((1, 4, 6, 6)).astype(np.float32)
OFFSET = RNG.standard_normal((1, 18, 4, 4)).astype(np.float32)
MASK = RNG.random((1, 9, 4, 4)).astype(np.float32)
WEIGHT = RNG.standard_normal((4, 4, 3, 3)).astype(np.float32)
BIAS = RNG.standard_normal(4).astype(np.float32)


def two_domains() -> onnx.ModelProto:
    """Returns mmdeploy's convolution, a Relu and mmcv's convolution, one after another."""
    first = helper.make_node(
        "MMCVDeformConv2d", ["x", "offset", "weight"], ["a"], domain="mmdeploy", padding=[1, 1]
    )
    relu = helper.make_node("Relu", ["a"], ["b"])
    second = helper.make_node("MMCVDeformConv2d", ["b", "offset2", "weight"], ["y"], domain="mmcv")
    offset = RNG.standard_normal((1, 18, 6, 6)).astype(np.float32)
    arrays = {"x": X, "offset": offset, "offset2": OFFSET, "weight": WEIGHT}
    infos = [value_info(name, array) for name, array in arrays.items()]
    constants = [onnx.numpy_helper.from_array(arrays[name], name) for name in arrays if name != "x"]
    graph = helper.make_graph(
        [first, relu, second], "two", infos[:1], [value_info("y", X[..., :4, :4])], constants
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mmdeploy", 1)]
    opsets.append(helper.make_opsetid("mmcv", 1))
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def without_imports(model: onnx.ModelProto, *domains: str) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    kept = [each for each in copy.opset_import if each.domain not in domains]
    del copy.opset_import[:]
    copy.opset_import.extend(kept)
    return copy


def test_there_is_a_class_for_each_domain():
    found = {(each.op_domain, each.__name__) for each in references()}
    assert found == {(domain, node.name) for node in nodes() for domain in node.domains}
    assert all(issubclass(each, OpRun) for each in references())


def test_a_graph_may_have_several_domains():
    model = two_domains()
    (found,) = ReferenceEvaluator(model, new_ops=references()).run(None, {"x": X})
    constants = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
    first = mluop_omp.deform_conv2d(X, constants["offset"], WEIGHT, padding=(1, 1))
    second = mluop_omp.deform_conv2d(np.maximum(first, 0), OFFSET, WEIGHT)
    np.testing.assert_array_equal(found, second)


@pytest.mark.parametrize("form", ["file", "bytes", "model"])
def test_imports_that_a_model_lacks_are_added(form, tmp_path):
    complete = two_domains()
    (expected,) = evaluator(complete).run(None, {"x": X})
    model = without_imports(complete, "mmdeploy", "mmcv")
    kept = model.SerializeToString()
    if form == "file":
        onnx.save(model, tmp_path / "model.onnx")
    forms = {"file": tmp_path / "model.onnx", "bytes": kept, "model": model}
    (found,) = evaluator(forms[form]).run(None, {"x": X})
    np.testing.assert_array_equal(found, expected)
    assert model.SerializeToString() == kept
    with pytest.raises(RuntimeError, match="mmdeploy"):
        ReferenceEvaluator(model, new_ops=references())


def test_an_import_of_ai_onnx_counts_as_the_default_domain():
    model = two_domains()
    model.opset_import[0].domain = "ai.onnx"
    assert {(each.domain, each.version) for each in imported(model).opset_import} == {
        *(("", 17), ("mmdeploy", 1), ("mmcv", 1))
    }
    evaluator(model).run(None, {"x": X})


def test_domains_inside_of_branches_are_imported():
    node = helper.make_node("MMCVDeformConv2d", ["x", "o", "w"], ["y"], domain="mmdeploy")
    branch = helper.make_graph([node], "branch", [], [onnx.ValueInfoProto(name="y")])
    condition = helper.make_node("If", ["c"], ["z"], then_branch=branch, else_branch=branch)
    arrays = {"c": np.array(True), "x": X, "o": OFFSET, "w": WEIGHT}
    infos = [value_info(name, array) for name, array in arrays.items()]
    graph = helper.make_graph([condition], "graph", infos, [onnx.ValueInfoProto(name="z")])
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    (found,) = evaluator(model).run(None, arrays)
    np.testing.assert_array_equal(found, mluop_omp.deform_conv2d(X, OFFSET, WEIGHT))


def test_optional_inputs_may_be_absent_or_empty():
    arguments = "mmdeploy", "MMCVModulatedDeformConv2d"
    inputs = [X, OFFSET, MASK, WEIGHT]
    (absent,) = evaluate(*arguments, inputs)
    (empty,) = evaluate(*arguments, [*inputs, None])
    (zero,) = evaluate(*arguments, [*inputs, np.zeros_like(BIAS)])
    (given,) = evaluate(*arguments, [*inputs, BIAS])
    np.testing.assert_array_equal(absent, empty)
    np.testing.assert_array_equal(absent, zero)
    np.testing.assert_allclose(given, absent + BIAS[:, None, None], rtol=1e-5, atol=1e-5)


def test_own_classes_take_precedence():
    class MMCVDeformConv2d(OpRun):
        op_domain = "mmcv"

        def _run(self, x, offset, weight):
            return (x[..., :4, :4],)

    model = two_domains()
    (found,) = evaluator(model, new_ops=[MMCVDeformConv2d]).run(None, {"x": X})
    (all_own,) = evaluator(model).run(None, {"x": X})
    assert found.shape == all_own.shape and not np.array_equal(found, all_own)


def test_a_node_of_onnx_keeps_its_own_defaults():
    """The class of a node is not given the defaults of ONNX's operator of its name."""
    data, updates = np.zeros((4, 3), np.float32), np.ones((2, 3), np.float32)
    indices = np.array([[1], [3]], np.int64)
    (found,) = evaluate("", "ScatterND", [data, indices, updates])
    np.testing.assert_array_equal(found[:, 0], [0, 1, 0, 1])


def test_errors_name_the_node():
    with pytest.raises(mluop_omp.MluOpError) as caught:
        evaluate("mmcv", "MMCVDeformConv2d", [X, OFFSET, WEIGHT], {"strides": [1, 1]})
    assert str(caught.value).startswith("MMCVDeformConv2d: unknown attribute strides, expected")
    # The operator's own message follows the name of the node.
    with pytest.raises(mluop_omp.MluOpError) as caught:
        evaluate("mmcv", "MMCVDeformConv2d", [X, OFFSET[:, :17], WEIGHT])
    assert str(caught.value).startswith("MMCVDeformConv2d: ")
    with pytest.raises(mluop_omp.MluOpError, match="2 outputs in the graph, expected 1"):
        evaluate("mmcv", "MMCVDeformConv2d", [X, OFFSET, WEIGHT], outputs=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"indices": np.zeros(4, int)},
            r"indices has shape \[4\] and dtype int64, expected \[n, 4",
        ),
        ({"indices": np.zeros((1, 4), np.float32)}, "dtype float32"),
        (
            {"indices": np.zeros((1, 4), int), "spatial_shape": (8, 8)},
            "spatial_shape has 2 elements, expected 3: indices has 4 columns",
        ),
    ],
)
def test_coordinates_are_checked(arguments, message):
    with pytest.raises(mluop_omp.MluOpError, match=message):
        references(**arguments)


def test_coordinates_reach_the_state():
    state = coordinates(np.array([[0, 1, 2, 3]], np.int64), [8, 8, 8], 2)
    assert state.indices.dtype == np.int32 and state.spatial_shape == (8, 8, 8)
    assert state.batch_size == 2 and coordinates().indices is None


def test_a_declaration_with_an_unknown_input_is_refused():
    with pytest.raises(TypeError, match=r"Sum has no inputs \['z'\]"):
        _table.node(name="Sum", inputs=("x", "y"), source="a/b", integers=("z",))


class Polygraphy:
    """The parts of Polygraphy that the tests use."""

    def __init__(self) -> None:
        for name in ("polygraphy", "onnx_graphsurgeon"):
            pytest.importorskip(name, reason=f"requires {name}")
        self.onnx = importlib.import_module("polygraphy.backend.onnx")
        self.runner = importlib.import_module("polygraphy.backend.pluginref").PluginRefRunner
        self.references = importlib.import_module("polygraphy.backend.pluginref.references")

    def run(self, model: onnx.ModelProto, feed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        with self.runner(self.onnx.GsFromOnnx(model)) as runner:
            return dict(runner.infer(feed))


@pytest.fixture(name="polygraphy")
def fixture_polygraphy() -> Polygraphy:
    return Polygraphy()


def test_polygraphy_computes_the_nodes(polygraphy):
    register_polygraphy()
    inputs = [X, OFFSET, MASK, WEIGHT]
    for given in (inputs, [*inputs, BIAS]):
        model = one_node("mmdeploy", "MMCVModulatedDeformConv2d", given)
        found = polygraphy.run(model, feeds(given))
        expected = evaluate("mmdeploy", "MMCVModulatedDeformConv2d", given)
        np.testing.assert_array_equal(found["output0"], expected[0])


def test_polygraphy_ignores_an_unknown_domain_as_tensorrt_does(polygraphy):
    register_polygraphy()
    model = one_node("another", "MMCVDeformConv2d", [X, OFFSET, WEIGHT])
    found = polygraphy.run(model, feeds([X, OFFSET, WEIGHT]))
    np.testing.assert_array_equal(found["output0"], mluop_omp.deform_conv2d(X, OFFSET, WEIGHT))


def test_references_of_polygraphy_remain(polygraphy):
    before = dict(polygraphy.references.OP_REGISTRY)
    register_polygraphy()
    register_polygraphy()
    registry = polygraphy.references.OP_REGISTRY
    for name in ("Identity", "InstanceNormalization", "MeanVarianceNormalization"):
        assert registry[name] is before[name]
    assert {node.name for node in nodes()} <= registry.keys()


def test_polygraphy_names_a_missing_output(polygraphy):
    register_polygraphy()
    model = one_node("mmdeploy", "MMCVDeformConv2d", [X, OFFSET, WEIGHT], outputs=2)
    with pytest.raises(mluop_omp.MluOpError, match="2 outputs in the graph, expected 1"):
        polygraphy.run(model, feeds([X, OFFSET, WEIGHT]))


ENTRY_POINT = """\
[polygraphy.run.plugins]
mluop_omp = mluop_omp.onnx._polygraphy:argument_groups
"""


def test_the_package_has_the_entry_point():
    text = (ROOT / "pyproject.toml").read_text()
    section = text.partition('[project.entry-points."polygraphy.run.plugins"]\n')[2]
    assert section.partition("\n")[0].replace('"', "") == ENTRY_POINT.splitlines()[1]


@pytest.fixture(name="command")
def fixture_command(polygraphy, tmp_path, monkeypatch, capsys) -> Callable[..., tuple[int, str]]:
    """Returns `polygraphy run` in a folder, as a function that returns status and output. The
    package counts as installed.
    """
    metadata = tmp_path / "site" / "mluop_omp-0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mluop-omp\nVersion: 0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINT)
    monkeypatch.syspath_prepend(metadata.parent)
    monkeypatch.chdir(tmp_path)
    main = importlib.import_module("polygraphy.tools").main

    def run(*arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        status = main(["run", *arguments])
        printed = capsys.readouterr().out
        print(printed)
        return status, printed

    return run


def test_polygraphy_run_compares_onnxruntime_with_the_references(command):
    pytest.importorskip("onnxruntime_extensions", reason="requires onnxruntime-extensions")
    onnx.save(one_node("mmdeploy", "MMCVDeformConv2d", [X, OFFSET, WEIGHT]), "model.onnx")
    runners = "--mluop-omp-onnxrt", "--mluop-omp", "--pluginref"
    status, printed = command("model.onnx", *runners)
    assert not status and printed.count("Pass Rate: 100.00%") == 2
    assert "Comparing Output: 'output0' (dtype=float32, shape=(1, 4, 4, 4))" in printed
    assert "onnxrt-runner" in printed and "pluginref-runner" in printed


def test_polygraphy_run_compares_each_tensor(command):
    pytest.importorskip("onnxruntime_extensions", reason="requires onnxruntime-extensions")
    onnx.save(two_domains(), "model.onnx")
    runners = "--mluop-omp-onnxrt", "--mluop-omp"
    status, printed = command("model.onnx", *runners, "--onnx-outputs", "mark", "all")
    assert not status and "All outputs matched | Outputs: ['a', 'b', 'y']" in printed


def test_polygraphy_run_fails_where_the_outputs_differ(command):
    """An output of another run, loaded from a file, that differs in one element."""
    onnx.save(one_node("mmdeploy", "MMCVDeformConv2d", [X, OFFSET, WEIGHT]), "model.onnx")
    outputs = "--save-outputs", "outputs.json", "--save-inputs", "inputs.json"
    assert not command("model.onnx", "--mluop-omp", *outputs)[0]
    comparators = importlib.import_module("polygraphy.comparator")
    results = comparators.RunResults.load("outputs.json")
    ((_, iterations),) = results.items()
    wrong = np.array(iterations[0]["output0"])
    wrong[0, 1, 2, 3] += 1
    iterations[0]["output0"] = wrong
    results.save("wrong.json")
    loaded = "--load-inputs", "inputs.json", "--load-outputs", "wrong.json"
    status, printed = command("model.onnx", "--pluginref", *loaded)
    assert status and "Pass Rate: 0.00%" in printed
