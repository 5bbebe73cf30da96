"""What each node of the table satisfies, by the example of its kind in examples_*.py."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="requires onnx")

import onnx_examples  # noqa: E402
from onnx_graph import evaluate, feeds, one_node  # noqa: E402

import mluop_omp  # noqa: E402
from mluop_omp.onnx import Node, nodes, run, session  # noqa: E402
from mluop_omp.onnx._attributes import Kind  # noqa: E402

NODES = {onnx_examples.key_of(node): node for node in nodes()}
# A value of another kind.
WRONG = {
    Kind.INTEGER: "one",
    Kind.FLOAT: "one",
    Kind.TEXT: 1,
    Kind.INTS: [0.5, 1.5],
    Kind.FLOATS: ["one", "two"],
}


@pytest.fixture(params=NODES, name="node")
def fixture_node(request) -> Node:
    return NODES[request.param]


def outputs_of(node: Node, inputs: list, attributes: dict, given: dict) -> list[np.ndarray]:
    return run(node, inputs, attributes, onnx_examples.state(given))


def refused(node: Node, inputs: list, attributes: dict, given: dict) -> str:
    """Returns the message of the error, which begins with the node's name."""
    with pytest.raises(mluop_omp.MluOpError) as caught:
        outputs_of(node, inputs, attributes, given)
    assert caught.value.message.startswith(f"{node.name}: ")
    return caught.value.message


def titles(node: Node, inputs: list) -> list[str]:
    """Returns the name of each input of an example."""
    names = [each.rstrip("?*") for each in node.inputs]
    return names + [names[-1]] * (len(inputs) - len(names))


def assert_equal(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_names_and_domains_are_unique():
    pairs = [(domain, node.name) for node in nodes() for domain in node.domains]
    assert len(pairs) == len(set(pairs)) > 40


def test_each_node_has_an_example_and_each_example_a_node():
    names = {key.rpartition("::")[2] for key in onnx_examples.EXAMPLES}
    assert names == {node.name for node in nodes()}
    assert {*onnx_examples.STATES} <= {*onnx_examples.EXAMPLES}


def test_the_declaration_is_complete(node):
    assert node.compute.__doc__ and len(node.compute.__doc__) > 40
    assert all(hasattr(mluop_omp, operator) for operator in node.operators)
    assert node.source == "mluop_omp" or re.fullmatch(r"[\w.-]+/[\w.-]+", node.source)
    assert node.inputs and node.outputs and node.domains


def test_every_domain_of_the_evaluator_has_the_outputs_of_run(node):
    inputs, attributes, given = onnx_examples.example(node)
    expected = outputs_of(node, inputs, attributes, given)
    assert all(type(each) is np.ndarray or node.has_state for each in expected)
    for domain in node.domains:
        found = evaluate(domain, node.name, inputs, attributes, len(expected), **given)
        assert_equal([np.asarray(each) for each in found], [np.asarray(each) for each in expected])


def test_onnxruntime_has_the_outputs_of_run(node):
    pytest.importorskip("onnxruntime_extensions", reason="requires onnxruntime-extensions")
    inputs, attributes, given = onnx_examples.example(node)
    expected = outputs_of(node, inputs, attributes, given)
    model = one_node(node.domains[0], node.name, inputs, attributes, len(expected))
    found = session(model, **given).run(None, feeds(inputs))
    assert_equal(found, [np.asarray(each) for each in expected])


def test_inputs_are_unchanged_and_may_have_any_strides(node):
    inputs, attributes, given = onnx_examples.example(node)
    copies = [each if each is None else each.copy() for each in inputs]
    expected = outputs_of(node, inputs, attributes, given)
    for found, kept in zip(inputs, copies):
        np.testing.assert_array_equal(found, kept)
    strided = [strided_copy(each) for each in inputs]
    assert_equal(outputs_of(node, strided, attributes, given), expected)


def strided_copy(array: Any) -> Any:
    """Returns an array of the same elements that is not contiguous, if it has at least two."""
    if array is None or array.ndim == 0 or type(array) is not np.ndarray:
        return array
    double = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    double[..., ::2] = array
    return double[..., ::2]


def test_integers_are_int32_or_int64(node):
    inputs, attributes, given = onnx_examples.example(node)
    names = titles(node, inputs)
    expected = outputs_of(node, inputs, attributes, given)
    for dtype in (np.int32, np.int64):
        cast = [
            each.astype(dtype) if name in node.integers and each is not None else each
            for name, each in zip(names, inputs)
        ]
        assert_equal(outputs_of(node, cast, attributes, given), expected)


def test_defaults_may_be_written(node):
    inputs, attributes, given = onnx_examples.example(node)
    defaults = {
        name: each.default
        for name, each in node.attributes.items()
        if not each.is_required and each.default is not None
    }
    absent = {
        name: value
        for name, value in attributes.items()
        if name not in defaults or not same(value, defaults[name])
    }
    written = {**defaults, **attributes}
    expected = outputs_of(node, inputs, absent, given)
    assert_equal(outputs_of(node, inputs, written, given), expected)


def same(value: Any, default: Any) -> bool:
    if isinstance(value, bytes):
        return value.decode() == default
    if isinstance(default, str):
        return value == default
    return np.array_equal(np.asarray(value, np.float32), np.asarray(default, np.float32))


def test_an_unknown_attribute_is_refused(node):
    inputs, attributes, given = onnx_examples.example(node)
    message = refused(node, inputs, {**attributes, "unheard_of": 1}, given)
    assert "unknown attribute unheard_of" in message
    # Attributes with which TensorRT's parser selects a plugin.
    selected = {**attributes, "plugin_version": "1", "plugin_namespace": ""}
    outputs_of(node, inputs, selected, given)


def test_a_missing_attribute_is_refused(node):
    inputs, attributes, given = onnx_examples.example(node)
    for name, attribute in node.attributes.items():
        if attribute.is_required:
            others = {key: value for key, value in attributes.items() if key != name}
            assert f"attribute {name} is missing" in refused(node, inputs, others, given)


def test_an_attribute_of_another_kind_is_refused(node):
    inputs, attributes, given = onnx_examples.example(node)
    for name, attribute in node.attributes.items():
        wrong = {**attributes, name: WRONG[attribute.kind]}
        message = refused(node, inputs, wrong, given)
        assert f"attribute {name} is " in message
        assert message.endswith(f"expected {attribute.kind.value}")


def test_a_missing_input_is_refused(node):
    inputs, attributes, given = onnx_examples.example(node)
    required = [each for each in node.inputs if not each.endswith("?")]
    for index, name in enumerate(required):
        fewer = [*inputs[:index], None, *inputs[index + 1 :]]
        message = refused(node, fewer, attributes, given)
        assert f"input {name.rstrip('*')} is missing" in message
    refused(node, inputs[: len(required) - 1], attributes, given)


def test_a_further_input_is_refused(node):
    inputs, attributes, given = onnx_examples.example(node)
    if not node.inputs[-1].endswith("*"):
        further = [*inputs, *[None] * (len(node.inputs) - len(inputs)), inputs[0]]
        message = refused(node, further, attributes, given)
        assert f"{len(further)} inputs, expected at most {len(node.inputs)}" in message


def test_an_input_of_another_dtype_is_refused(node):
    inputs, attributes, given = onnx_examples.example(node)
    for index, (name, array) in enumerate(zip(titles(node, inputs), inputs)):
        if array is None or name in node.untyped:
            continue
        for dtype in (np.float32, bool) if name in node.integers else (np.int32, np.complex64):
            wrong = [*inputs[:index], array.astype(dtype), *inputs[index + 1 :]]
            message = refused(node, wrong, attributes, given)
            assert f"input {name} has dtype {np.dtype(dtype)}, expected" in message


def test_an_input_of_another_rank_is_refused(node):
    """An untyped input may have any rank; one number may, too."""
    inputs, attributes, given = onnx_examples.example(node)
    for index, (name, array) in enumerate(zip(titles(node, inputs), inputs)):
        if array is None or name in node.untyped or array.size == 1:
            continue
        wrong = [*inputs[:index], np.asarray(array)[None, None], *inputs[index + 1 :]]
        assert name in refused(node, wrong, attributes, given)


def test_sizes_of_zero_give_outputs_or_an_error(node):
    """No size of 0 raises another exception, or ends the process."""
    inputs, attributes, given = onnx_examples.example(node)
    names = titles(node, inputs)
    letters = {letter for shape in node.shapes.values() for letter in shape.split()}
    for letter in sorted(letters - {"_"}):
        empty = [
            array if array is None else emptied(array, node.shapes.get(name, ""), letter)
            for name, array in zip(names, inputs)
        ]
        try:
            outputs = outputs_of(node, empty, attributes, given)
        except mluop_omp.MluOpError as error:
            assert error.message.startswith(f"{node.name}: ")
        else:
            assert all(isinstance(each, np.ndarray) for each in outputs)


def emptied(array: np.ndarray, dimensions: str, letter: str) -> np.ndarray:
    """Returns the array with a size of 0 in each dimension of a letter."""
    if array.ndim != len(dimensions.split()):
        return array
    return array[tuple(slice(0 if each == letter else None) for each in dimensions.split())]
