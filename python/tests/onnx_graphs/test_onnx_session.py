"""Graphs in onnxruntime, with the nodes as Python operators of onnxruntime-extensions."""

from __future__ import annotations

import contextlib
import gc
import weakref

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="requires onnx")
pytest.importorskip("onnxruntime_extensions", reason="requires onnxruntime-extensions")
import onnx_examples  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402
from onnx_backbone import INDICES, backbone, features  # noqa: E402
from onnx_graph import evaluate, feeds, one_node  # noqa: E402

import mluop_omp  # noqa: E402
from mluop_omp import onnx as mluop_onnx  # noqa: E402
from mluop_omp.onnx import _session, nodes  # noqa: E402
from mluop_omp.onnx._element_types import output_types  # noqa: E402

NODES = {onnx_examples.key_of(node): node for node in nodes()}
OWN = [key for key, node in NODES.items() if "mluop_omp" in node.domains]


def assert_equal(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        other = np.asarray(other)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("key", [key for key in NODES if key not in OWN] + OWN[::8])
def test_a_session_equals_the_evaluator(key):
    node = NODES[key]
    inputs, attributes, given = onnx_examples.example(node)
    count = sum(not each.endswith("?") for each in node.outputs)
    domain = node.domains[-1]
    expected = evaluate(domain, node.name, inputs, attributes, count, **given)
    model = one_node(domain, node.name, inputs, attributes, count)
    assert_equal(mluop_onnx.session(model, **given).run(None, feeds(inputs)), expected)


@pytest.mark.parametrize("key", OWN)
def test_element_types_of_operators(key):
    """The session knows the types of the outputs before it has the inputs."""
    node = NODES[key]
    inputs, attributes, _ = onnx_examples.example(node)
    types = [each.dtype.name for each in inputs if each is not None]
    found = [each.dtype.name for each in mluop_onnx.run(node, inputs, attributes)]
    assert output_types(node, types) == found


def sampler(dtype: type, *, is_chained: bool = False) -> onnx.ModelProto:
    """Two samplers around nodes of ONNX."""
    code = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    options = {"domain": "mmdeploy", "interpolation_mode": 0, "align_corners": 1}
    sampled = [
        helper.make_node("Add", ["x", "one"], ["y"]),
        helper.make_node("grid_sampler", ["y", "grid"], ["z"], "first", **options),
    ]
    if is_chained:
        sampled.append(helper.make_node("Relu", ["z"], ["w"]))
        sampled.append(helper.make_node("grid_sampler", ["w", "grid"], ["v"], "second", **options))
    last = sampled[-1].output[0]
    infos = [
        helper.make_tensor_value_info("x", code, (None, 2, None, None)),
        helper.make_tensor_value_info("grid", code, (None, None, None, 2)),
        # The exporter may state another type than the node returns.
        helper.make_tensor_value_info(last, onnx.TensorProto.FLOAT, None),
    ]
    one = numpy_helper.from_array(np.ones((), dtype), "one")
    graph = helper.make_graph(sampled, "sampler", infos[:2], infos[2:], [one])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mmdeploy", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def sampler_feeds(dtype: type, batch: int = 2) -> dict[str, np.ndarray]:
    random = np.random.default_rng(2)
    grid = random.uniform(-1.2, 1.2, (batch, 4, 5, 2))
    x = random.standard_normal((batch, 2, 6, 7))
    return {"x": x.astype(dtype), "grid": grid.astype(dtype)}


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_element_types_and_sizes(dtype):
    """float16 does not pass onnxruntime-extensions; empty tensors do."""
    model = sampler(dtype, is_chained=True)
    session = mluop_onnx.session(model)
    assert [each.name for each in session.get_outputs()] == ["v"]
    for batch in (2, 0, 1):
        given = sampler_feeds(dtype, batch)
        (found,) = session.run(["v"], given)
        assert found.dtype == dtype and len(found) == batch
        np.testing.assert_array_equal(found, mluop_onnx.evaluator(model).run(None, given)[0])


def test_special_values_keep_their_bits():
    given = sampler_feeds(np.float32)
    given["x"][0, 0] = [[np.nan, np.inf, -np.inf, -0.0, 1e-45, 3e38, 1.1]] * 6
    model = sampler(np.float32)
    (found,), (expected,) = (
        each.run(None, given) for each in (mluop_onnx.session(model), mluop_onnx.evaluator(model))
    )
    assert np.array_equal(found.view(np.int32), expected.view(np.int32))


def test_an_error_of_a_node_does_not_end_the_process():
    session = mluop_onnx.session(sampler(np.float32, is_chained=True))
    given = sampler_feeds(np.float32)
    for _ in range(2):
        with pytest.raises(mluop_omp.MluOpError, match="^grid_sampler: input grid has"):
            session.run(None, {**given, "grid": given["grid"][:1]})
        assert session.run(None, given)[0].shape == (2, 2, 4, 5)


def test_a_node_in_a_branch():
    branches = {}
    for name, model in (("then_branch", sampler(np.float32)), ("else_branch", None)):
        inner = (
            model.graph.node
            if model is not None
            else [helper.make_node("Mul", ["x", "one"], ["z"])]
        )
        info = onnx.ValueInfoProto(name="z")
        branches[name] = helper.make_graph(inner, name, [], [info])
    chosen = helper.make_node("If", ["flag"], ["out"], **branches)
    model = sampler(np.float32)
    del model.graph.node[:]
    model.graph.node.append(chosen)
    model.graph.input.append(helper.make_tensor_value_info("flag", onnx.TensorProto.BOOL, ()))
    model.graph.output[0].name = "out"
    session, given = mluop_onnx.session(model), sampler_feeds(np.float32)
    for flag in (True, False):
        every = {**given, "flag": np.array(flag)}
        (found,) = session.run(None, every)
        expected = mluop_onnx.session(sampler(np.float32)).run(None, given)[0]
        np.testing.assert_array_equal(found, expected if flag else given["x"])


def test_what_cannot_run_is_refused():
    model = sampler(np.float32)
    model.graph.node[0].op_type, model.graph.node[0].domain = "Unknown", "elsewhere"
    with pytest.raises(mluop_omp.MluOpError, match="grid_sampler: the element type of input y"):
        mluop_onnx.session(model)


def test_a_session_leaves_nothing_behind():
    session = mluop_onnx.session(sampler(np.float32))
    known = len(_session._functions)
    del session
    gc.collect()
    assert len(_session._functions) == known - 1


def test_a_failed_session_is_freed_at_once():
    """A session that the last collection of the process finds would crash in onnxruntime."""
    session, given = mluop_onnx.session(sampler(np.float32)), sampler_feeds(np.float32)
    gc.disable()
    try:
        with contextlib.suppress(mluop_omp.MluOpError):
            session.run(None, {**given, "grid": given["grid"][:1]})
        freed = weakref.ref(session)
        del session
        assert freed() is None
    finally:
        gc.enable()


def test_sites_reach_the_next_sparse_node():
    model, given = backbone(), {"0": features()}
    expected = mluop_onnx.evaluator(model, indices=INDICES).run(None, given)
    session = mluop_onnx.session(model, indices=INDICES)
    for _ in range(2):
        assert_equal(session.run(None, given), expected)
    # A node that moves rows.
    model.graph.node[1].CopyFrom(helper.make_node("Concat", ["1", "1"], ["2"], axis=0))
    with pytest.raises(mluop_omp.MluOpError, match="the sites of input x are unknown"):
        mluop_onnx.session(model, indices=INDICES).run(None, given)
