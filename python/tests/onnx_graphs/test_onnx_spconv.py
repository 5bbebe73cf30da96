"""Autoware's nodes of sparse convolution against dense convolutions and spconv's rulebooks."""

from __future__ import annotations

import examples_spconv as examples
import numpy as np
import onnx_sparse as plain
import pytest
import torch
from examples_spconv import BATCH, GEOMETRIES, SPACE, STRIDED, SUBM
from onnx_graph import evaluate
from onnx_sparse import assert_near, vectors
from torch.nn import functional as F

from mluop_omp import MluOpError

ACTIVATIONS = {
    0: lambda x: x,
    1: torch.relu,
    2: torch.sigmoid,
    3: lambda x: F.leaky_relu(x, 0.25),
}


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def expected(features, indices, out, filters, attributes) -> np.ndarray:
    grid = plain.dense(features, indices, BATCH, SPACE)
    return plain.at(plain.convolution(grid, filters, *vectors(attributes)), out)


def native(indices, attributes):
    return evaluate("autoware", "GetIndicePairs", [indices], attributes, 4)


def implicit(indices, attributes):
    given = {**attributes, "algo": 1, "is_train": 0}
    return evaluate("autoware", "GetIndicePairsImplicitGemm", [indices], given, 5)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("name", GEOMETRIES)
@pytest.mark.parametrize("algorithm", ["native", "implicit"])
def test_convolutions_equal_dense_convolutions(name, dtype, algorithm):
    attributes, indices = GEOMETRIES[name], examples.sites(rng())
    features, filters = examples.floats(rng(), 40, 5), examples.filters(rng(), attributes, 5, 7)
    features, filters = features.astype(dtype), filters.astype(dtype)
    if algorithm == "native":
        out, pairs, num, count = native(indices, attributes)
        inputs, node = [features, filters, pairs, num, count], "IndiceConv"
    else:
        out, pair_fwd, mask, order, count = implicit(indices, attributes)
        inputs, node = [features, filters, pair_fwd, mask, order], "ImplicitGemm"
    (found,) = evaluate("autoware", node, inputs, {"is_subm": attributes["subm"]})
    assert count.shape == () and count == len(out) and count.dtype == np.int32
    if attributes["subm"]:
        np.testing.assert_array_equal(out, indices)
    else:
        reached = plain.active(indices, BATCH, SPACE, attributes["ksize"], *vectors(attributes))
        np.testing.assert_array_equal(out, reached)
    assert_near(found, expected(features, indices, out, filters, attributes), dtype)


def sets_of_pairs(indices, out, pairs, num):
    """Returns for each offset the pairs of sites, which do not depend on the order of rows."""
    return [
        {(*indices[i].tolist(), *out[o].tolist()) for i, o in pairs[:, k, : num[k]].T.tolist()}
        for k in range(len(num))
    ]


@pytest.mark.parametrize("name", GEOMETRIES)
def test_rulebooks_equal_spconv(name):
    """The functions of spconv's own library, which mluop_omp.spconv.install does not replace."""
    pytest.importorskip("spconv", reason="requires spconv")
    from spconv.constants import AllocKeys
    from spconv.core_cc.csrc.sparse.all import SpconvOps
    from spconv.pytorch.cppcore import TorchAllocator, torch_tensor_to_tv

    attributes, indices = GEOMETRIES[name], examples.sites(rng())
    kernel, subm, padding = attributes["ksize"], bool(attributes["subm"]), attributes["padding"]
    geometry = kernel, attributes["stride"], padding, attributes["dilation"]
    memory, tensor = TorchAllocator(torch.device("cpu")), torch.from_numpy(indices)
    given = torch_tensor_to_tv(tensor), BATCH, list(SPACE), 0, *geometry, [0, 0, 0], subm, False
    count = SpconvOps.get_indice_pairs(memory, *given)
    allocated = {key: value.numpy() for key, value in memory.allocated.items()}
    pairs, num = allocated[AllocKeys.PairFwd], allocated[AllocKeys.IndiceNumPerLoc]
    sites = indices if subm else allocated[AllocKeys.OutIndices][:count]
    out, own_pairs, own_num, own_count = native(indices, attributes)
    assert own_count == count and own_pairs.shape == pairs.shape
    np.testing.assert_array_equal(own_num, num)
    every = num
    if subm:  # The pairs of the second half, which spconv does not count.
        middle = len(num) // 2
        every = np.concatenate((num[:middle], [len(indices)], num[:middle][::-1]))
        assert (own_num[middle:] == 0).all()
    assert sets_of_pairs(indices, out, own_pairs, every) == sets_of_pairs(
        indices, sites, pairs, every
    )
    assert all((own_pairs[:, k, num:] == -1).all() for k, num in enumerate(every))


def test_counts_of_every_offset_are_read():
    """A submanifold rulebook may count the pairs of each offset."""
    features, filters, pairs, num, count = examples.indice_conv(rng())[0]
    attributes = {"is_subm": 1}
    (wanted,) = evaluate(
        "autoware", "IndiceConv", [features, filters, pairs, num, count], attributes
    )
    every = (pairs[0] >= 0).sum(1, dtype=np.int32)
    inputs = [features, filters, pairs, every, count.reshape(1)]
    (found,) = evaluate("autoware", "IndiceConv", inputs, attributes)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", GEOMETRIES)
def test_masks_and_their_order(name):
    indices, attributes = examples.sites(rng()), GEOMETRIES[name]
    _, pair_fwd, mask, order, _ = implicit(indices, attributes)
    for m, word in enumerate(mask[:, 0].view(np.uint32).tolist()):
        rows = [k for k in range(len(pair_fwd)) if word >> k & 1]
        assert rows == np.flatnonzero(pair_fwd[:, m] >= 0).tolist()
    words = mask[order, 0].view(np.uint32)
    assert sorted(order.tolist()) == list(range(len(order))) and (words[:-1] <= words[1:]).all()
    unsorted = implicit(indices, {**attributes, "do_sort": 0})
    np.testing.assert_array_equal(unsorted[3], np.arange(len(mask)))
    np.testing.assert_array_equal(unsorted[1], pair_fwd)


def test_a_mask_of_32_offsets():
    attributes = {**SUBM, "subm": 0, "ksize": [4, 4, 2], "padding": [1, 1, 1]}
    indices = examples.sites(rng())
    _, pair_fwd, mask, _, _ = implicit(indices, attributes)
    assert mask.dtype == np.int32 and mask.shape == (pair_fwd.shape[1], 1) and (mask < 0).any()
    with pytest.raises(MluOpError, match="ksize has 36 offsets, expected at most 32"):
        implicit(indices, {**attributes, "ksize": [3, 4, 3]})


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("act_type", ACTIVATIONS)
def test_bias_and_activation(act_type, dtype):
    indices = examples.sites(rng())
    out, pair_fwd, mask, order, _ = implicit(indices, STRIDED)
    arrays = examples.floats(rng(), 40, 4), examples.filters(rng(), STRIDED, 4, 6)
    features, filters, bias = (x.astype(dtype) for x in (*arrays, examples.floats(rng(), 6)))
    attributes = {"is_train": 0, "is_subm": 0, "fp32_accum": 1, "act_type": act_type}
    attributes.update(act_alpha=0.25, act_beta=0.0, output_scale=1.0, output_add_scale=0.0)
    inputs = [features, filters, pair_fwd, mask, order, bias]
    (found,) = evaluate("autoware", "ImplicitGemm", inputs, attributes)
    sums = expected(features, indices, out, filters, STRIDED) + bias.astype(np.float64)
    assert_near(found, ACTIVATIONS[act_type](torch.from_numpy(sums)).numpy(), dtype)


@pytest.mark.parametrize("attributes", [SUBM, STRIDED])
def test_no_sites(attributes):
    indices, features = np.zeros((0, 4), np.int32), np.zeros((0, 4), np.float32)
    filters, bias = examples.filters(rng(), attributes, 4, 6), np.ones(6, np.float32)
    K, subm = int(np.prod(attributes["ksize"])), {"is_subm": attributes["subm"]}
    out, pairs, num, count = native(indices, attributes)
    assert (out.shape, pairs.shape, count) == ((0, 4), (2, K, 0), 0) and not num.any()
    (found,) = evaluate("autoware", "IndiceConv", [features, filters, pairs, num, count], subm)
    assert found.shape == (0, 6)
    _, pair_fwd, mask, order, count = implicit(indices, attributes)
    assert (pair_fwd.shape, mask.shape, order.shape, count) == ((K, 0), (0, 1), (0,), 0)
    inputs = [features, filters, pair_fwd, mask, order, bias]
    (found,) = evaluate("autoware", "ImplicitGemm", inputs, subm)
    assert found.shape == (0, 6)
    # Outputs without an input have the bias alone.
    pair_fwd = np.full((K, 3), -1, np.int32)
    inputs = [features, filters, pair_fwd, np.zeros((3, 1), "i"), np.arange(3, dtype="i"), bias]
    (found,) = evaluate("autoware", "ImplicitGemm", inputs, subm)
    np.testing.assert_array_equal(found, np.ones((3, 6), np.float32))


REFUSED = [
    ("GetIndicePairs", {}, {"transpose": 1}, "transpose is 1, expected 0"),
    ("GetIndicePairs", {}, {"algo": 1}, "algo is 1, expected 0"),
    ("GetIndicePairs", {}, {"ksize": [3, 3]}, "ksize has 2 elements, expected 3"),
    ("GetIndicePairs", {}, {"batch_size": 1}, "expected"),
    ("GetIndicePairs", {}, {**SUBM, "ksize": [3, 2, 3]}, r"is \[3, 2, 3\], expected odd sizes"),
    ("GetIndicePairs", {}, {**SUBM, "stride": [1, 2, 1]}, r"is \[1, 2, 1\], expected 1"),
    (
        "GetIndicePairs",
        {},
        {**SUBM, "dilation": [2, 2, 2], "batch_size": 1},
        r"indices\[\d+\] is \[1, .*less than \[1, 5, 6, 4\]",
    ),
    ("GetIndicePairsImplicitGemm", {}, {"algo": 2}, "algo is 2, expected 1"),
    ("IndiceConv", {4: np.array([3], "i")}, {}, "num_act_out is 3, expected 40"),
    ("IndiceConv", {4: np.array(-1, "i")}, {"is_subm": 0}, "num_act_out is -1"),
    ("IndiceConv", {4: np.array([3, 3], "i")}, {}, r"num_act_out has shape \[2\], expected"),
    ("IndiceConv", {1: np.zeros((6, 3, 3, 1, 4), "f")}, {}, "filters have 9 offsets, expected 27"),
    ("IndiceConv", {0: np.zeros((40, 4), np.float16)}, {}, "filters has dtype float32"),
    ("ImplicitGemm", {}, {"output_scale": 0.5}, "output_scale is 0.5, expected 1"),
    ("ImplicitGemm", {}, {"output_add_scale": 1.0}, "output_add_scale is 1.0, expected 0"),
    ("ImplicitGemm", {}, {"act_type": 4}, "act_type is 4, expected 0 to 3"),
    ("ImplicitGemm", {5: np.ones(6, np.float16)}, {}, "bias has dtype float16"),
]


@pytest.mark.parametrize(("name", "inputs", "changes", "message"), REFUSED)
def test_refused(name, inputs, changes, message):
    given, attributes = examples.EXAMPLES[name](rng())
    given = [inputs.get(index, each) for index, each in enumerate(given)]
    with pytest.raises(MluOpError, match=f"{name}: .*{message}"):
        evaluate("autoware", name, given, {**attributes, **changes})


@pytest.mark.parametrize("row", [40, 2**31 - 1])
def test_an_index_outside_of_the_rows_is_refused(row):
    inputs, attributes = examples.implicit_gemm(rng())
    inputs[2] = inputs[2].copy()
    inputs[2][inputs[2] >= 0] = row
    with pytest.raises(MluOpError, match="ImplicitGemm: "):
        evaluate("autoware", "ImplicitGemm", inputs, attributes)
