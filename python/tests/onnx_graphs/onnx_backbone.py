"""A sparse network of Lidar_AI_Solution with features only."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper, numpy_helper

INDICES = np.array([[0, 1, 1, 1], [0, 1, 1, 2], [0, 3, 2, 2], [0, 0, 3, 1]], np.int32)


def backbone() -> onnx.ModelProto:
    """Submanifold, activation, strided, and dense."""
    random = np.random.default_rng(3)
    weights = [
        numpy_helper.from_array(random.standard_normal(shape, np.float32), name)
        for name, shape in (("w1", (4, 3, 3, 3, 2)), ("w2", (3, 3, 3, 3, 4)))
    ]
    shared = {"kernel_size": [3] * 3, "padding": [1] * 3, "dilation": [1] * 3}
    conv, name = "SparseConvolution", "conv2"
    nodes = [
        helper.make_node(
            *(conv, ["0", "w1"], ["1"], "conv1"),
            **{"input_spatial_shape": [4] * 3, "stride": [1] * 3, "subm": 1, **shared},
        ),
        helper.make_node("Relu", ["1"], ["2"], "relu"),
        helper.make_node(
            *(conv, ["2", "w2"], ["3"], name),
            **{"input_spatial_shape": [4] * 3, "stride": [2] * 3, **shared},
        ),
        helper.make_node("ScatterDense", ["3"], ["4"], "dense", format="zyx"),
    ]
    infos = [
        helper.make_tensor_value_info("0", onnx.TensorProto.FLOAT, (None, 2)),
        helper.make_tensor_value_info("4", onnx.TensorProto.FLOAT, (1, 3, 2, 2, 2)),
    ]
    graph = helper.make_graph(nodes, "scn", infos[:1], infos[1:], weights)
    opsets = [helper.make_opsetid("ai.onnx", 11)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def features() -> np.ndarray:
    return np.random.default_rng(4).standard_normal((len(INDICES), 2), np.float32)
