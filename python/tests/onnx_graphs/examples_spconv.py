"""Inputs and attributes of Autoware's nodes of sparse convolution."""

from __future__ import annotations

from typing import Any

import numpy as np

from mluop_omp.onnx import nodes, run

Example = tuple[list[np.ndarray], dict[str, Any]]

SPACE, BATCH = (5, 6, 4), 2
SUBM = {
    "batch_size": BATCH,
    "spatial_shape": list(SPACE),
    "algo": 0,
    "ksize": [3, 3, 3],
    "stride": [1, 1, 1],
    "padding": [0, 0, 0],
    "dilation": [1, 1, 1],
    "out_padding": [0, 0, 0],
    "subm": 1,
    "transpose": 0,
}
STRIDED = {**SUBM, "stride": [2, 2, 1], "padding": [1, 1, 0], "ksize": [3, 3, 2], "subm": 0}
GEOMETRIES = {
    "submanifold": SUBM,
    "dilated submanifold": {**SUBM, "dilation": [1, 2, 1], "ksize": [3, 3, 1]},
    "strided": STRIDED,
    "dilated": {**SUBM, "subm": 0, "padding": [2, 1, 1], "dilation": [2, 1, 1]},
}


def sites(rng: np.random.Generator, count: int = 40) -> np.ndarray:
    """Returns distinct sites of all batches, in no order."""
    cells = rng.permutation(BATCH * int(np.prod(SPACE)))[:count]
    return np.stack(np.unravel_index(cells, (BATCH, *SPACE)), 1).astype(np.int32)


def floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def filters(rng: np.random.Generator, attributes: dict[str, Any], Ci: int, Co: int) -> np.ndarray:
    return floats(rng, Co, *attributes["ksize"], Ci) / 4


def outputs(name: str, inputs: list[np.ndarray], attributes: dict[str, Any]) -> list[np.ndarray]:
    (node,) = (each for each in nodes() if each.name == name)
    return run(node, inputs, attributes)


def get_indice_pairs(rng: np.random.Generator) -> Example:
    return [sites(rng)], dict(STRIDED)


def get_indice_pairs_implicit_gemm(rng: np.random.Generator) -> Example:
    return [sites(rng)], {**STRIDED, "algo": 1, "is_train": 0, "do_sort": 1}


def indice_conv(rng: np.random.Generator) -> Example:
    indices = sites(rng)
    _, pairs, num, count = outputs("GetIndicePairs", [indices], SUBM)
    features = floats(rng, len(indices), 4)
    return [features, filters(rng, SUBM, 4, 6), pairs, num, count], {"is_subm": 1}


def implicit_gemm(rng: np.random.Generator) -> Example:
    indices, attributes = sites(rng), {**STRIDED, "algo": 1}
    _, *rulebook, _ = outputs("GetIndicePairsImplicitGemm", [indices], attributes)
    features = floats(rng, len(indices), 4)
    inputs = [features, filters(rng, attributes, 4, 6), *rulebook, floats(rng, 6)]
    return inputs, {"act_type": 3, "act_alpha": 0.1}


EXAMPLES = {
    "GetIndicePairs": get_indice_pairs,
    "GetIndicePairsImplicitGemm": get_indice_pairs_implicit_gemm,
    "IndiceConv": indice_conv,
    "ImplicitGemm": implicit_gemm,
}
