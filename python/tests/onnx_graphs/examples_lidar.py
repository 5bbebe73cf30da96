"""Inputs and attributes of the nodes of Lidar_AI_Solution, and a graph of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from examples_spconv import SPACE, floats, sites
from onnx import helper, numpy_helper

Example = tuple[list[np.ndarray], dict[str, Any]]

SUBM = {
    "ndim": 3,
    "input_spatial_shape": list(SPACE),
    "output_spatial_shape": list(SPACE),
    "in_channels": 5,
    "out_channels": 7,
    "kernel_size": [3, 3, 3],
    "stride": [1, 1, 1],
    "padding": [0, 0, 0],
    "dilation": [1, 1, 1],
    "output_padding": [0, 0, 0],
    "transposed": 0,
    "inverse": 0,
    "groups": 1,
    "subm": 1,
    "activation": "None",
    "output_bound": 200000,
    "input_shape": [1, 5],
    "output_shape": [1, 7],
}
STRIDED = {
    **SUBM,
    "subm": 0,
    "stride": [2, 2, 1],
    "padding": [1, 1, 0],
    "output_spatial_shape": [3, 3, 2],
}


def weights(
    rng: np.random.Generator, attributes: dict[str, Any], Ci: int = 5, Co: int = 7
) -> np.ndarray:
    """Returns weights as the graph stores them."""
    return (floats(rng, Co, *attributes["kernel_size"], Ci) / 4).astype(np.float16)


def sparse_convolution(rng: np.random.Generator) -> Example:
    features = floats(rng, 40, 5).astype(np.float16)
    return [features, weights(rng, STRIDED), floats(rng, 7).astype(np.float16)], dict(STRIDED)


def scatter_dense(rng: np.random.Generator) -> Example:
    attributes = {"input_spatial_shape": list(SPACE), "format": "zyx"}
    return [floats(rng, 40, 5).astype(np.float16)], {**attributes, "output_shape": [2, 5, *SPACE]}


EXAMPLES = {
    "SparseConvolution": sparse_convolution,
    "ScatterDense": scatter_dense,
    "Reshape": lambda rng: ([floats(rng, 2, 3, 4)], {"dims": [2, 12]}),
    "Transpose": lambda rng: ([floats(rng, 2, 3, 4)], {"dims": [0, 2, 1]}),
}


def given(_: list[np.ndarray]) -> dict[str, Any]:
    return {"indices": sites(np.random.default_rng(3)), "spatial_shape": SPACE}


STATES = {"SparseConvolution": given, "ScatterDense": given}


def model(
    nodes: list[onnx.NodeProto],
    initializers: dict[str, np.ndarray],
    input: np.ndarray,
    output: str,
    domain: str = "",
) -> onnx.ModelProto:
    """Returns a graph from features "0" to an output."""
    kind = helper.np_dtype_to_tensor_dtype(input.dtype)
    graph = helper.make_graph(
        nodes,
        "scn",
        [helper.make_tensor_value_info("0", kind, input.shape)],
        [helper.make_tensor_value_info(output, kind, None)],
        [numpy_helper.from_array(each, name) for name, each in initializers.items()],
    )
    opsets = [helper.make_opsetid(domain, 11)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)
