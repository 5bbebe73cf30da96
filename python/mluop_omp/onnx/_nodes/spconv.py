"""Sparse convolution of Autoware: nodes that its exporter, AWML, writes for spconv's layers.

Indices are [n, 4]: batch, then coordinates in the order of spatial_shape. Filters and the rule that
pairs sites are in _rulebooks.py. The order of output sites and of the pairs of an offset is not
defined on a device; here output sites and input rows are in ascending order.

The nodes are exported by tier4/AWML and read by the plugins of autoware_universe. The plugin of
GetIndicePairs accepts submanifold convolutions only; rulebooks of others are as spconv computes
them for the exporter. The plugins do not support `transpose`: transposed convolutions are refused.
out_padding, of transposed convolutions only, has no effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mluop_omp._library import bad_param, not_supported
from mluop_omp.onnx._nodes._checks import require_same_dtype
from mluop_omp.onnx._rulebooks import convolve, find_pairs, require_axes, require_zero
from mluop_omp.onnx._table import OPTIONAL, REQUIRED, Integer, Ints, node

_SOURCE = "autowarefoundation/autoware_universe"
_GEOMETRY: Mapping[str, Any] = {
    "batch_size": REQUIRED(Integer),
    "spatial_shape": REQUIRED(Ints),
    "algo": REQUIRED(Integer),
    "ksize": REQUIRED(Ints),
    "stride": REQUIRED(Ints),
    "padding": REQUIRED(Ints),
    "dilation": REQUIRED(Ints),
    "out_padding": (0, 0, 0),
    "subm": REQUIRED(Integer),
    "transpose": 0,
}
# By their numbers in spconv.
_ACTIVATIONS = ("None", "ReLU", "Sigmoid", "LeakyReLU")
_MASK_BITS = 32


def _pairs(
    indices: np.ndarray, geometry: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns output sites, pairs [K, 2, n] and their numbers."""
    require_zero({"transpose": geometry["transpose"]}, "Autoware's plugins do not support it")
    names = "spatial_shape", "ksize", "stride", "padding", "dilation"
    vectors = {name: geometry[name] for name in names}
    require_axes(indices.shape[1] - 1, **vectors)
    batch_size, subm = geometry["batch_size"], bool(geometry["subm"])
    sites, pairs, num, _ = find_pairs(indices, batch_size, *vectors.values(), subm)
    return sites, pairs, num


def _count(rows: np.ndarray) -> np.ndarray:
    return np.array(len(rows), np.int32)


@node(
    "autoware",
    name="GetIndicePairs",
    inputs=("indices",),
    integers=("indices",),
    shapes={"indices": "n 4"},
    attributes=_GEOMETRY,
    outputs=("out_indices", "indice_pairs", "indice_pair_num", "num_act_out"),
    operators=("indice_pairs", "site_pairs"),
    source=_SOURCE,
)
def get_indice_pairs(indices: np.ndarray, *, algo: int, **geometry: Any) -> tuple[np.ndarray, ...]:
    """The rulebook by offset: int32 pairs [2, K, n] of input and output rows, -1 past their number.

    A submanifold convolution does not read its padding, which is ksize // 2 * dilation. Its pairs
    are in spconv's form: indice_pair_num counts the pairs of the offsets before the middle one and
    is 0 from the middle on; the middle offset pairs each row with itself, each later one has the
    pairs of its mirror image with input and output exchanged. num_act_out is a scalar.
    """
    if algo != 0:
        raise bad_param(f"attribute algo is {algo}, expected 0: spconv's native algorithm")
    sites, pairs, num = _pairs(indices, geometry)
    if geometry["subm"]:
        num = np.where(np.arange(len(num)) < len(num) // 2, num, 0).astype(np.int32)
    return sites, np.ascontiguousarray(pairs.transpose(1, 0, 2)), num, _count(sites)


@node(
    "autoware",
    name="GetIndicePairsImplicitGemm",
    inputs=("indices",),
    integers=("indices",),
    shapes={"indices": "n 4"},
    attributes={**_GEOMETRY, "is_train": 0, "do_sort": 1},
    outputs=("out_indices", "pair_fwd", "pair_mask_fwd", "mask_argsort_fwd", "num_act_out"),
    operators=("indice_pairs", "site_pairs"),
    source=_SOURCE,
)
def get_indice_pairs_implicit_gemm(
    indices: np.ndarray, *, algo: int, is_train: int, do_sort: int, **geometry: Any
) -> tuple[np.ndarray, ...]:
    """The rulebook by output: pair_fwd[k, m] is the input row of offset k and output m, or -1.

    Bit k of pair_mask_fwd [M, 1], a uint32 stored as int32, says that pair_fwd[k, m] is a row.
    mask_argsort_fwd [M] sorts the masks in ascending order; with do_sort 0 it is 0 to M - 1. The
    convolution does not depend on it. At most 32 offsets, as exporters write one word of the mask.
    is_train has no effect. num_act_out is a scalar.
    """
    if algo != 1:
        raise not_supported(f"attribute algo is {algo}, expected 1: one mask for all offsets")
    sites, pairs, num = _pairs(indices, geometry)
    K, M = len(num), len(sites)
    if K > _MASK_BITS:
        raise not_supported(f"attribute ksize has {K} offsets, expected at most {_MASK_BITS}")
    pair_fwd = np.full((K, M), -1, np.int32)
    for k, count in enumerate(num.tolist()):
        inputs, outputs = pairs[k, :, :count]
        pair_fwd[k, outputs] = inputs
    bits = (pair_fwd >= 0) * (np.uint32(1) << np.arange(K, dtype=np.uint32))[:, np.newaxis]
    mask = bits.sum(0, dtype=np.uint32)
    order = np.argsort(mask, kind="stable") if do_sort else np.arange(M)
    words = mask.view(np.int32)[:, np.newaxis]
    return sites, pair_fwd, words, order.astype(np.int32), _count(sites)


def _completed(pairs: np.ndarray, num: np.ndarray, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns submanifold pairs [K, 2, n] and numbers with the offsets that spconv leaves out."""
    middle = len(num) // 2
    if len(num) % 2 == 0 or num[middle] == rows:
        return pairs, num
    pairs, num = pairs.copy(), num.copy()
    if pairs.shape[2] < rows:
        raise bad_param(f"input indice_pairs has {pairs.shape[2]} columns, expected {rows}")
    pairs[middle, :, :rows] = np.arange(rows)
    num[middle], num[middle + 1 :] = rows, num[:middle][::-1]
    return pairs, num


def _output_rows(num_act_out: np.ndarray) -> int:
    if num_act_out.shape not in ((), (1,)):
        raise bad_param(
            f"input num_act_out has shape {list(num_act_out.shape)}, expected [] or [1]"
        )
    rows = int(num_act_out.reshape(()))
    if rows < 0:
        raise bad_param(f"input num_act_out is {rows}, expected at least 0")
    return rows


@node(
    "autoware",
    name="IndiceConv",
    inputs=("features", "filters", "indice_pairs", "indice_pair_num", "num_act_out"),
    integers=("indice_pairs", "indice_pair_num", "num_act_out"),
    shapes={
        "features": "n Ci",
        "filters": "_ _ _ _ Ci",
        "indice_pairs": "2 K _",
        "indice_pair_num": "K",
    },
    attributes={"is_subm": REQUIRED(Integer)},
    operators=("indice_conv",),
    source=_SOURCE,
)
def indice_conv_node(
    features: np.ndarray,
    filters: np.ndarray,
    indice_pairs: np.ndarray,
    indice_pair_num: np.ndarray,
    num_act_out: np.ndarray,
    *,
    is_subm: int,
) -> tuple[np.ndarray, ...]:
    """A convolution by the rulebook of GetIndicePairs: [num_act_out, Co], without bias.

    With is_subm, indice_pair_num is in spconv's form or has the number of every offset: the latter
    if its middle element is n. num_act_out is a scalar or [1].
    """
    require_same_dtype("features", features, "filters", filters)
    pairs, num = indice_pairs.transpose(1, 0, 2), indice_pair_num
    rows = _output_rows(num_act_out)
    if is_subm:
        if rows != len(features):
            raise bad_param(
                f"input num_act_out is {rows}, expected {len(features)}: a submanifold convolution "
                "has a row for each row of features"
            )
        pairs, num = _completed(pairs, num, rows)
    return (convolve(features, filters, pairs, num, rows),)


@node(
    "autoware",
    name="ImplicitGemm",
    inputs=("features", "filters", "pair_fwd", "pair_mask_fwd", "mask_argsort_fwd", "bias?"),
    integers=("pair_fwd", "mask_argsort_fwd"),
    untyped=("pair_mask_fwd",),
    shapes={
        "features": "n Ci",
        "filters": "Co _ _ _ Ci",
        "pair_fwd": "K M",
        "pair_mask_fwd": "M 1",
        "mask_argsort_fwd": "M",
        "bias": "Co",
    },
    attributes={
        "is_train": 0,
        "is_subm": 0,
        "fp32_accum": OPTIONAL(Integer),
        "act_type": 0,
        "act_alpha": 0.0,
        "act_beta": 0.0,
        "output_scale": 1.0,
        "output_add_scale": 0.0,
    },
    operators=("indice_conv",),
    source=_SOURCE,
)
def implicit_gemm(
    features: np.ndarray,
    filters: np.ndarray,
    pair_fwd: np.ndarray,
    pair_mask_fwd: np.ndarray,
    mask_argsort_fwd: np.ndarray,
    bias: np.ndarray | None,
    *,
    act_type: int,
    act_alpha: float,
    output_scale: float,
    output_add_scale: float,
    **without_effect: Any,
) -> tuple[np.ndarray, ...]:
    """A convolution by the rulebook of GetIndicePairsImplicitGemm: activation(sum + bias), [M, Co].

    pair_fwd decides which rows are added. The masks and their order state the same for the kernel
    and are not read, nor are is_train, is_subm, fp32_accum and act_beta. Newer plugins take a bias
    and act_type: 0 none, 1 ReLU, 2 sigmoid, 3 LeakyReLU of slope act_alpha. The scales belong to
    quantized kernels, for which no open plugin states the formula: others than 1 and 0 are refused.
    """
    require_same_dtype("features", features, "filters", filters)
    if bias is not None:
        require_same_dtype("features", features, "bias", bias)
    if pair_mask_fwd.dtype.name not in ("int32", "uint32", "int64"):
        raise bad_param(
            f"input pair_mask_fwd has dtype {pair_mask_fwd.dtype}, expected int32, uint32 or int64"
        )
    for name, found, expected in (
        ("output_scale", output_scale, 1),
        ("output_add_scale", output_add_scale, 0),
    ):
        if found != expected:
            raise not_supported(f"attribute {name} is {found}, expected {expected}: not quantized")
    if not 0 <= act_type < len(_ACTIVATIONS):
        raise bad_param(f"attribute act_type is {act_type}, expected 0 to 3")
    pairs, num = _by_offset(pair_fwd, len(features))
    activation = _ACTIVATIONS[act_type]
    M = pair_fwd.shape[1]
    return (convolve(features, filters, pairs, num, M, bias, activation, act_alpha),)


def _by_offset(pair_fwd: np.ndarray, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns pairs [K, 2, n], n at least rows, and their numbers, of pair_fwd [K, M]."""
    valid = pair_fwd >= 0
    num = valid.sum(1)
    offset, output = np.nonzero(valid)
    column = np.arange(len(offset)) - (np.cumsum(num) - num)[offset]
    columns = max(rows, int(num.max(initial=0)))
    pairs = np.full((len(pair_fwd), 2, columns), -1, np.int32)
    pairs[offset, 0, column], pairs[offset, 1, column] = pair_fwd[valid], output
    return pairs, num
