"""Sparse networks of Lidar_AI_Solution: the sparse backbones of its CenterPoint and BEVFusion.

A graph has features only. The coordinates of its input come from the State, see `references`; nodes
and element-wise operators pass them on with the features (_sites.py). Features are float16 in these
graphs and weights are stored in float16; float32 and float64 features are computed in their own
precision.

The graph states the traced number of rows (input_shape, output_shape), the limit of the device's
buffers (output_bound) and of its launches (fixed_launch_points): these have no effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mluop_omp._library import bad_param, not_supported
from mluop_omp.onnx._rulebooks import (
    convolve,
    find_pairs,
    require_axes,
    require_inside,
    require_zero,
)
from mluop_omp.onnx._sites import Sites, attach, sites_of
from mluop_omp.onnx._state import State
from mluop_omp.onnx._table import OPTIONAL, REQUIRED, Float, Floats, Integer, Ints, node

_SOURCE = "NVIDIA-AI-IOT/Lidar_AI_Solution"
# Its parser reads each precision other than int8 as float16.
_INT8 = "int8"
_GEOMETRY = ("kernel_size", "stride", "padding", "dilation")


@dataclass(frozen=True, eq=False)
class Rulebook:
    """The pairs [K, 2, n] of a convolution from one list of sites to another."""

    geometry: tuple[Any, ...]
    pairs: np.ndarray
    num: np.ndarray
    sites: Sites
    out_sites: Sites


@node(
    "",
    name="SparseConvolution",
    inputs=("x", "weight", "bias?"),
    shapes={"x": "n Ci", "weight": "Co _ _ _ Ci", "bias": "Co"},
    attributes={
        "ndim": 3,
        "input_spatial_shape": OPTIONAL(Ints),
        "output_spatial_shape": OPTIONAL(Ints),
        "in_channels": OPTIONAL(Integer),
        "out_channels": OPTIONAL(Integer),
        "kernel_size": REQUIRED(Ints),
        "stride": REQUIRED(Ints),
        "padding": REQUIRED(Ints),
        "dilation": REQUIRED(Ints),
        "output_padding": OPTIONAL(Ints),
        "transposed": 0,
        "inverse": 0,
        "subm": 0,
        "groups": 1,
        "rulebook": "",
        "activation": "None",
        "output_bound": OPTIONAL(Integer),
        "input_shape": OPTIONAL(Ints),
        "output_shape": OPTIONAL(Ints),
        "fixed_launch_points": OPTIONAL(Integer),
        "precision": "fp16",
        "output_precision": "fp16",
        "input_dynamic_range": OPTIONAL(Float),
        "weight_dynamic_ranges": OPTIONAL(Floats),
    },
    operators=("indice_pairs", "site_pairs", "indice_conv"),
    source=_SOURCE,
    has_state=True,
)
def sparse_convolution(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, *, state: State, **given: Any
) -> tuple[np.ndarray, ...]:
    """A sparse convolution with bias and activation, as spconv 2 computes it: [M, Co].

    Weights are [Co, k0, k1, k2, Ci], coordinates and attributes in the order of the spatial shape;
    _rulebooks.py has the rule. Output sites are in ascending order. A submanifold convolution does
    not read its padding, which is kernel_size // 2 * dilation. An inverse convolution has the sites
    and the pairs of the convolution with its rulebook key, in the opposite direction. Within a run,
    a key stands for one rulebook; "" stands for none. The activation is None, ReLU or Sigmoid;
    LeakyReLU is refused, as the graph lacks its slope. Transposed convolutions and groups are
    refused: NVIDIA's engine does not read them. Layers with the precision int8 are refused: the
    formula of its kernels is not public. The ranges of a quantized layer have no effect in fp16.
    """
    _require_supported(given)
    _require_channels(weight, given)
    activation = given["activation"] or "None"
    if activation == "LeakyReLU":
        raise not_supported("attribute activation is LeakyReLU, whose slope the graph lacks")
    if activation not in ("None", "ReLU", "Sigmoid"):
        raise bad_param(f"attribute activation is {activation!r}, expected None, ReLU or Sigmoid")
    sites = sites_of(x, given["input_spatial_shape"], state)
    book = _rulebook(sites, given)
    pairs, out_sites = book.pairs, book.out_sites
    if given["inverse"]:
        pairs, out_sites = pairs[:, ::-1], book.sites
    _require_shape("output_spatial_shape", given["output_spatial_shape"], out_sites.spatial_shape)
    rows = len(out_sites.indices)
    features = np.asarray(x)
    output = convolve(features, weight, pairs, book.num, rows, bias, activation)
    return (attach(output, out_sites),)


def _require_supported(given: Mapping[str, Any]) -> None:
    for name in ("precision", "output_precision"):
        if given[name] == _INT8:
            raise not_supported(
                f"attribute {name} is int8, expected fp16: the formula of NVIDIA's int8 kernels is "
                "not public"
            )
    require_zero({"transposed": given["transposed"]}, "NVIDIA's engine does not read it")
    if given["groups"] != 1:
        raise not_supported(f"attribute groups is {given['groups']}, expected 1")
    if given["ndim"] != 3:
        raise not_supported(f"attribute ndim is {given['ndim']}, expected 3")
    require_axes(3, **{name: given[name] for name in _GEOMETRY})


def _require_channels(weight: np.ndarray, given: Mapping[str, Any]) -> None:
    for name, found in (("in_channels", weight.shape[4]), ("out_channels", weight.shape[0])):
        if given[name] not in (None, found):
            raise bad_param(f"attribute {name} is {given[name]}, expected {found}, as weight has")
    if weight.shape[1:4] != given["kernel_size"]:
        raise bad_param(
            f"attribute kernel_size is {list(given['kernel_size'])}, "
            f"expected {list(weight.shape[1:4])}, as weight has"
        )


def _require_shape(name: str, stated: Sequence[int] | None, expected: tuple[int, ...]) -> None:
    if stated is not None and tuple(stated) != expected:
        raise bad_param(f"attribute {name} is {list(stated)}, expected {list(expected)}")


def _rulebook(sites: Sites, given: Mapping[str, Any]) -> Rulebook:
    """Returns the rulebook of a layer: the one with its key in this run, or a new one."""
    key, known = given["rulebook"], sites.rulebooks.get(given["rulebook"])
    if given["inverse"]:
        return _known_for_inverse(key, known, sites, given)
    geometry = _geometry(given)
    if known is not None:
        if known.geometry != geometry or not known.sites.equal(sites):
            raise bad_param(
                f"attribute rulebook is {key!r}, the key of a convolution with other sites or "
                f"another geometry: {known.geometry}, here {geometry}"
            )
        return known
    book = _found(sites, geometry)
    if key:
        sites.rulebooks[key] = book
    return book


def _geometry(given: Mapping[str, Any]) -> tuple[Any, ...]:
    """Returns kernel, stride, padding, dilation and subm; a submanifold layer has no padding."""
    kernel, stride, padding, dilation = (given[name] for name in _GEOMETRY)
    subm = bool(given["subm"])
    return kernel, stride, (0,) * len(kernel) if subm else padding, dilation, subm


def _known_for_inverse(
    key: str, known: Rulebook | None, sites: Sites, given: Mapping[str, Any]
) -> Rulebook:
    if known is None:
        raise bad_param(
            f"attribute rulebook is {key!r}, expected the key of a convolution before this inverse "
            "convolution"
        )
    if known.geometry[0] != given["kernel_size"] or not known.out_sites.equal(sites):
        raise bad_param(
            f"attribute rulebook is {key!r}: the inverse convolution has other sites or another "
            f"kernel than {list(known.geometry[0])}"
        )
    return known


def _found(sites: Sites, geometry: tuple[Any, ...]) -> Rulebook:
    kernel, stride, padding, dilation, subm = geometry
    is_pointwise = {*kernel, *stride} == {1} and not any(padding)
    indices, batch_size = sites.indices, sites.batch_size
    vectors = sites.spatial_shape, kernel, stride, padding, dilation
    # spconv keeps the order of rows where each site has itself as its output.
    found, pairs, num, space = find_pairs(indices, batch_size, *vectors, subm or is_pointwise)
    if subm or is_pointwise:
        return Rulebook(geometry, pairs, num, sites, sites)
    return Rulebook(geometry, pairs, num, sites, Sites(found, space, batch_size, sites.rulebooks))


@node(
    "",
    name="ScatterDense",
    inputs=("x",),
    shapes={"x": "n C"},
    attributes={
        "input_spatial_shape": OPTIONAL(Ints),
        "format": "zyx",
        "output_shape": OPTIONAL(Ints),
        "output_layout": "NCHW",
        "input_dynamic_range": OPTIONAL(Float),
    },
    source=_SOURCE,
    has_state=True,
)
def scatter_dense(
    x: np.ndarray,
    *,
    state: State,
    input_spatial_shape: Sequence[int] | None,
    format: str,
    output_shape: Sequence[int] | None,
    output_layout: str,
    input_dynamic_range: float | None,
) -> tuple[np.ndarray, ...]:
    """Features as a dense tensor [N, C, d0, d1, d2], 0 where no site is.

    d0, d1 and d2 are in the order of the coordinates. format, "xyz" or "zyx", names that order and
    does not change the result. output_shape is [N, C, d0, d1, d2]; without it, N is the number of
    samples. The output layouts NCHW32 and NHWzC are refused: their order of channels is not public.
    """
    if output_layout not in ("", "NCHW"):
        raise not_supported(f"attribute output_layout is {output_layout!r}, expected NCHW")
    if format not in ("", "xyz", "zyx"):
        raise bad_param(f"attribute format is {format!r}, expected xyz or zyx")
    sites = sites_of(x, input_spatial_shape, state)
    samples = output_shape[0] if output_shape else sites.batch_size
    shape = (samples, x.shape[1], *sites.spatial_shape)
    _require_shape("output_shape", output_shape, shape)
    require_inside(sites.indices, (samples, *sites.spatial_shape))
    dense = np.zeros((samples, *sites.spatial_shape, x.shape[1]), x.dtype)
    dense[tuple(sites.indices.T)] = np.asarray(x)
    return (np.ascontiguousarray(np.moveaxis(dense, -1, 1)),)


@node(
    "",
    name="Reshape",
    inputs=("data", "shape?"),
    untyped=("data",),
    integers=("shape",),
    shapes={"shape": "_"},
    attributes={"dims": OPTIONAL(Ints), "allowzero": 0},
    source=_SOURCE,
)
def reshape(
    data: np.ndarray, shape: np.ndarray | None, *, dims: Sequence[int] | None, allowzero: int
) -> tuple[np.ndarray, ...]:
    """Reshapes to the attribute dims. One of them may be -1; 0 keeps the size of its dimension.

    Lidar_AI_Solution writes Reshape with dims and without a second input. The name is the one of
    ONNX's operator, which has a second input and no dims, and is computed as ONNX defines it.
    """
    given = dims if shape is None else shape.tolist()
    if given is None or (dims is not None and shape is not None):
        raise bad_param("expected either the attribute dims or the input shape")
    sizes = [int(size) for size in given]
    if not allowzero:
        if any(size == 0 for size in sizes[data.ndim :]):
            raise bad_param(f"the shape is {sizes}, whose 0 has no dimension of the input")
        sizes = [size or data.shape[axis] for axis, size in enumerate(sizes)]
    try:
        return (np.reshape(np.asarray(data), sizes),)
    except ValueError:
        raise bad_param(f"the shape is {sizes}, expected {data.size} elements") from None


@node(
    "",
    name="Transpose",
    inputs=("data",),
    untyped=("data",),
    attributes={"dims": OPTIONAL(Ints), "perm": OPTIONAL(Ints)},
    source=_SOURCE,
)
def transpose(
    data: np.ndarray, *, dims: Sequence[int] | None, perm: Sequence[int] | None
) -> tuple[np.ndarray, ...]:
    """Orders the dimensions by the attribute dims, as torch.permute does.

    Lidar_AI_Solution writes dims in place of perm. The name is the one of ONNX's operator, which
    has perm and no dims; without either, the dimensions are reversed, as ONNX defines it.
    """
    if dims is not None and perm is not None:
        raise bad_param("expected either the attribute dims or the attribute perm")
    order = dims if dims is not None else perm
    if order is not None and sorted(each % max(data.ndim, 1) for each in order) != [
        *range(data.ndim)
    ]:
        raise bad_param(f"the order of dimensions is {list(order)}, of {data.ndim} dimensions")
    return (np.ascontiguousarray(np.transpose(np.asarray(data), order)),)
