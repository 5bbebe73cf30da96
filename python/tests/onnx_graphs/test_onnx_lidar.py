"""Nodes of Lidar_AI_Solution against dense convolutions, and their sites through a graph."""

from __future__ import annotations

import examples_lidar as examples
import numpy as np
import onnx_sparse as plain
import pytest
import torch
from examples_lidar import STRIDED, SUBM
from examples_spconv import BATCH, SPACE, floats, sites
from onnx.helper import make_node
from onnx_graph import evaluate
from onnx_sparse import assert_near, vectors
from torch.nn import functional as F

from mluop_omp import MluOpError
from mluop_omp.onnx import evaluator, references, session

ACTIVATIONS = {"None": lambda x: x, "ReLU": torch.relu, "Sigmoid": torch.sigmoid}
GEOMETRIES = {
    "submanifold": SUBM,
    "dilated submanifold": {**SUBM, "dilation": [2, 1, 2]},
    "strided": STRIDED,
    "of one cell": {**SUBM, "subm": 0, "kernel_size": [1, 1, 1]},
}
INDICES = sites(np.random.default_rng(3))
GIVEN = {"indices": INDICES, "spatial_shape": SPACE}


def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def convolved(features, indices, space, weight, attributes) -> tuple[np.ndarray, np.ndarray]:
    """Returns output sites and features in double precision."""
    out = indices
    if not attributes["subm"]:
        kernel = attributes["kernel_size"]
        out = plain.active(indices, BATCH, space, kernel, *vectors(attributes))
    grid = plain.dense(np.asarray(features, np.float64), indices, BATCH, space)
    convolution = plain.convolution(grid, weight.astype(np.float64), *vectors(attributes))
    return out, plain.at(convolution, out)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_convolutions_equal_dense_convolutions(name, has_bias, dtype):
    attributes, features = GEOMETRIES[name], floats(rng(), 40, 5).astype(dtype)
    weight, bias = examples.weights(rng(), attributes), floats(rng(), 7).astype(np.float16)
    inputs = [features, weight, bias][: 3 if has_bias else 2]
    out, wanted = convolved(features, INDICES, SPACE, weight, attributes)
    if name == "of one cell":  # spconv keeps the order of the rows.
        out, wanted = convolved(features, INDICES, SPACE, weight, {**attributes, "subm": 1})
    for activation, function in ACTIVATIONS.items():
        given = {**attributes, "activation": activation}
        (found,) = evaluate("", "SparseConvolution", inputs, given, **GIVEN)
        sums = torch.from_numpy(wanted + bias.astype(float) if has_bias else wanted)
        assert_near(np.asarray(found), function(sums).numpy(), dtype)
        np.testing.assert_array_equal(found.sites.indices, out)


def network(dtype=np.float16, key="down", **changes):
    """Returns a model with a residual block, a strided and an inverse convolution, and weights."""
    features = floats(rng(), 40, 5).astype(dtype)
    block = {**SUBM, "in_channels": 5, "out_channels": 5, "rulebook": "subm"}
    down = {**STRIDED, "rulebook": key, "activation": "ReLU"}
    up = {**STRIDED, "rulebook": "down", "inverse": 1, "in_channels": 7, "out_channels": 5}
    up.update(input_spatial_shape=[3, 3, 2], output_spatial_shape=list(SPACE))
    layers = {"a": block, "b": {**block, **changes}, "down": down, "up": up}
    weights = {
        name: examples.weights(rng(), each, each["in_channels"], each["out_channels"])
        for name, each in layers.items()
    }

    def layer(name, source, target):
        return make_node("SparseConvolution", [source, name], [target], name, **layers[name])

    nodes = [
        *(layer("a", "0", "1"), make_node("Relu", ["1"], ["2"]), layer("b", "2", "3")),
        *(make_node("Add", ["3", "0"], ["4"]), make_node("Relu", ["4"], ["5"])),
        *(layer("down", "5", "6"), layer("up", "6", "7")),
        make_node("ScatterDense", ["7"], ["8"], output_shape=[BATCH, 5, *SPACE]),
        make_node("Reshape", ["8"], ["9"], dims=[BATCH, -1, *SPACE[1:]]),
        make_node("Transpose", ["9"], ["10"], dims=[0, 1, 3, 2]),
    ]
    return examples.model(nodes, weights, features, "10"), features, weights


def expected_of_network(features, weights, indices) -> np.ndarray:
    """Every tensor of the graph is rounded to float16, as its nodes do."""

    def rounded(x):
        return np.asarray(x).astype(np.float16).astype(np.float64)

    def layer(name, x, sites, attributes):
        return convolved(x, sites, SPACE, weights[name], attributes)

    x = rounded(features)
    y = np.maximum(rounded(layer("a", x, indices, SUBM)[1]), 0)
    y = np.maximum(rounded(rounded(layer("b", y, indices, SUBM)[1]) + x), 0)
    out, y = layer("down", y, indices, STRIDED)
    grid = plain.dense(rounded(np.maximum(y, 0)), out, BATCH, (3, 3, 2))
    # [Co, k0, k1, k2, Ci] as PyTorch has the weights of transposed convolutions.
    weight = torch.from_numpy(weights["up"].astype(np.float64)).movedim(-1, 0)
    stride, padding, _ = vectors(STRIDED)
    up = F.conv_transpose3d(grid, weight, None, stride, padding, output_padding=(0, 1, 0))
    dense = plain.dense(rounded(plain.at(up, indices)), indices, BATCH, SPACE)
    return dense.flatten(1, 2).transpose(2, 3).numpy()


def test_a_graph_of_features():
    """The sites of the inverse convolution are the ones of the convolution with its key."""
    model, features, weights = network()
    (found,) = evaluator(model, **GIVEN).run(None, {"0": features})
    wanted = expected_of_network(features, weights, INDICES)
    assert type(found) is np.ndarray and found.dtype == np.float16
    # A float16 tensor between two layers may be rounded the other way.
    np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=2e-3 * np.abs(wanted).max())


def test_the_import_of_ai_onnx():
    """NVIDIA's exporter imports the opset as ai.onnx, though its nodes have no domain."""
    model, features, _ = network()
    wanted = evaluator(model, **GIVEN).run(None, {"0": features})
    model.opset_import[0].domain = "ai.onnx"
    found = evaluator(model, **GIVEN).run(None, {"0": features})
    np.testing.assert_array_equal(found, wanted)


def test_each_run_has_its_own_rulebooks():
    """One list of classes serves two clouds of equal size; a key of the first does not last."""
    model, features, weights = network()
    state = references(**GIVEN)
    other = sites(np.random.default_rng(4))
    results = []
    for indices in (INDICES, other, INDICES):
        results.append(evaluator(model, indices, SPACE).run(None, {"0": features})[0])
    np.testing.assert_array_equal(results[0], results[2])
    wanted = expected_of_network(features, weights, other)
    np.testing.assert_allclose(results[1], wanted, rtol=2e-3, atol=2e-3 * np.abs(wanted).max())
    twice = evaluator(model, new_ops=state)
    for _ in range(2):
        np.testing.assert_array_equal(twice.run(None, {"0": features})[0], results[0])


def test_the_grid_may_be_in_the_graph_alone():
    model, features, _ = network()
    wanted = evaluator(model, **GIVEN).run(None, {"0": features})
    found = evaluator(model, INDICES).run(None, {"0": features})
    np.testing.assert_array_equal(found, wanted)


def test_int64_indices():
    inputs, attributes = examples.sparse_convolution(rng())
    wanted = evaluate("", "SparseConvolution", inputs, attributes, **GIVEN)
    given = {**GIVEN, "indices": INDICES.astype(np.int64)}
    np.testing.assert_array_equal(
        evaluate("", "SparseConvolution", inputs, attributes, **given), wanted
    )


@pytest.mark.parametrize("format", ["xyz", "zyx"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_scatter_dense(dtype, format):
    features = floats(rng(), 40, 5).astype(dtype)
    (found,) = evaluate("", "ScatterDense", [features], {"format": format}, **GIVEN)
    wanted = plain.dense(features, INDICES, BATCH, SPACE).numpy().astype(dtype)
    np.testing.assert_array_equal(found, wanted, strict=True)


def test_no_sites():
    given = {"indices": np.zeros((0, 4), np.int32), "spatial_shape": SPACE}
    features = np.zeros((0, 5), np.float16)
    for attributes in (SUBM, STRIDED):
        inputs = [features, examples.weights(rng(), attributes), np.ones(7, np.float16)]
        (found,) = evaluate("", "SparseConvolution", inputs, attributes, **given)
        assert found.shape == (0, 7) and found.dtype == np.float16
    attributes = {"output_shape": [1, 5, *SPACE]}
    (found,) = evaluate("", "ScatterDense", [features], attributes, **given)
    assert found.shape == (1, 5, *SPACE) and not found.any()


def test_operators_of_onnx_with_these_names():
    """Reshape and Transpose without dims are ONNX's operators."""
    data = floats(rng(), 2, 3, 4)
    for shape, wanted in (([0, -1], (2, 12)), ([4, 6], (4, 6)), ([0, 0, 2, 2], (2, 3, 2, 2))):
        (found,) = evaluate("", "Reshape", [data, np.array(shape)])
        np.testing.assert_array_equal(found, data.reshape(wanted))
    empty = np.zeros((2, 0), np.int64)
    (found,) = evaluate("", "Reshape", [empty, np.array([0, 5])], {"allowzero": 1})
    assert found.shape == (0, 5) and found.dtype == np.int64
    for order, wanted in (({}, (2, 1, 0)), ({"perm": [1, 0, 2]}, (1, 0, 2))):
        (found,) = evaluate("", "Transpose", [data], order)
        np.testing.assert_array_equal(found, data.transpose(wanted))
    (found,) = evaluate("", "Transpose", [data], {"dims": [0, -1, 1]})
    np.testing.assert_array_equal(found, data.transpose(0, 2, 1))


REFUSED = [
    ("SparseConvolution", {"precision": "int8"}, "precision is int8, expected fp16"),
    ("SparseConvolution", {"output_precision": "int8"}, "output_precision is int8"),
    ("SparseConvolution", {"transposed": 1}, "transposed is 1, expected 0"),
    ("SparseConvolution", {"groups": 2}, "groups is 2, expected 1"),
    ("SparseConvolution", {"ndim": 2}, "ndim is 2, expected 3"),
    ("SparseConvolution", {"activation": "LeakyReLU"}, "LeakyReLU, whose slope the graph lacks"),
    ("SparseConvolution", {"activation": "GELU"}, "activation is 'GELU', expected None, ReLU"),
    ("SparseConvolution", {"in_channels": 4}, "in_channels is 4, expected 5"),
    ("SparseConvolution", {"out_channels": 4}, "out_channels is 4, expected 7"),
    ("SparseConvolution", {"kernel_size": [3, 3, 1]}, r"expected \[3, 3, 3\], as weight has"),
    ("SparseConvolution", {"stride": [2, 2]}, "stride has 2 elements, expected 3"),
    ("SparseConvolution", {"inverse": 1}, "expected the key of a convolution before"),
    (
        "SparseConvolution",
        {"input_spatial_shape": [5, 6, 5]},
        r"input_spatial_shape is \[5, 6, 5\], expected \[5, 6, 4\]",
    ),
    (
        "SparseConvolution",
        {"output_spatial_shape": list(SPACE)},
        r"output_spatial_shape is \[5, 6, 4\], expected \[3, 3, 2\]",
    ),
    ("ScatterDense", {"output_layout": "NCHW32"}, "output_layout is 'NCHW32', expected NCHW"),
    ("ScatterDense", {"format": "yxz"}, "format is 'yxz', expected xyz or zyx"),
    ("ScatterDense", {"output_shape": [1, 5, *SPACE]}, r"indices\[\d+\] is \[1, .*less than \[1, "),
    ("ScatterDense", {"output_shape": [2, 4, *SPACE]}, r"output_shape is \[2, 4, 5, 6, 4\], exp"),
    ("Reshape", {"dims": [2, 13]}, r"the shape is \[2, 13\], expected 24 elements"),
    ("Reshape", {"dims": [-1, -1]}, r"the shape is \[-1, -1\]"),
    ("Reshape", {"dims": [24, 1, 1, 0]}, "whose 0 has no dimension"),
    ("Transpose", {"dims": [0, 2, 2]}, r"order of dimensions is \[0, 2, 2\]"),
    ("Transpose", {"perm": [0, 2, 1]}, "either the attribute dims or the attribute perm"),
]


@pytest.mark.parametrize(("name", "changes", "message"), REFUSED)
def test_refused(name, changes, message):
    inputs, attributes = examples.EXAMPLES[name](rng())
    given = GIVEN if name in examples.STATES else {}
    with pytest.raises(MluOpError, match=f"{name}: .*{message}"):
        evaluate("", name, inputs, {**attributes, **changes}, **given)


def test_coordinates_are_required():
    inputs, attributes = examples.sparse_convolution(rng())
    with pytest.raises(MluOpError, match=r"coordinates are required, .*references\(indices=.*"):
        evaluate("", "SparseConvolution", inputs, attributes)
    with pytest.raises(MluOpError, match="has 40 rows, expected 39"):
        evaluate("", "SparseConvolution", inputs, attributes, indices=INDICES[:39].copy())
    del attributes["input_spatial_shape"]
    with pytest.raises(MluOpError, match="input_spatial_shape is missing: the grid is required"):
        evaluate("", "SparseConvolution", inputs, attributes, indices=INDICES)


@pytest.mark.parametrize(
    "changes", [{"dilation": [1, 2, 1]}, {"kernel_size": [3, 3, 1]}, {"subm": 0}]
)
def test_a_rulebook_of_another_geometry_is_refused(changes):
    model, features, _ = network(**changes)
    with pytest.raises(MluOpError, match="rulebook is 'subm', the key of a convolution with other"):
        evaluator(model, **GIVEN).run(None, {"0": features})


def test_an_inverse_convolution_without_its_rulebook_is_refused():
    model, features, _ = network(key="another")
    with pytest.raises(MluOpError, match="rulebook is 'down', expected the key of a convolution"):
        evaluator(model, **GIVEN).run(None, {"0": features})


def test_features_of_different_sites_are_not_added():
    """Two convolutions may have as many outputs at other sites."""
    features = floats(rng(), 2, 5)
    one = {**STRIDED, "kernel_size": [1, 1, 1], "stride": [2, 2, 2]}
    weight = examples.weights(rng(), one)
    del one["output_spatial_shape"]
    nodes = [
        make_node("SparseConvolution", ["0", "w"], [out], **{**one, "padding": [0, 0, padding]})
        for out, padding in (("1", 0), ("2", 1))
    ]
    nodes.append(make_node("Add", ["1", "2"], ["3"]))
    indices = np.array([[0, 0, 0, 0], [0, 4, 4, 1]], np.int32)
    model = examples.model(nodes, {"w": weight}, features, "3")
    with pytest.raises(MluOpError, match="two tensors of features belong to different sites"):
        evaluator(model, indices, SPACE).run(None, {"0": features})


def test_a_node_that_moves_rows_loses_the_sites():
    """Whether or not its result has as many rows as the input of the graph."""
    features = floats(rng(), 40, 5)
    subm = {**SUBM, "out_channels": 5}
    nodes = [
        make_node("SparseConvolution", ["0", "w"], ["1"], **subm),
        make_node("Gather", ["1", "order"], ["2"], axis=0),
        make_node("SparseConvolution", ["2", "w"], ["3"], **subm),
    ]
    tensors = {"w": examples.weights(rng(), subm, 5, 5), "order": np.arange(40)[::-1].copy()}
    model = examples.model(nodes, tensors, features, "3")
    with pytest.raises(MluOpError, match="the sites of input x are unknown"):
        evaluator(model, **GIVEN).run(None, {"0": features})


def test_onnxruntime_runs_the_graph():
    pytest.importorskip("onnxruntime_extensions", reason="requires onnxruntime-extensions")
    model, features, _ = network()
    (wanted,) = evaluator(model, **GIVEN).run(None, {"0": features})
    run = session(model, **GIVEN).run
    for _ in range(2):
        np.testing.assert_array_equal(run(None, {"0": features})[0], wanted)
