"""Layouts of filters: each weight's place by the sources of the libraries, convolutions, errors."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from numpy.testing import assert_array_equal

import mluop_omp
from mluop_omp import FILTER_LAYOUTS, convert_filters, matching_layouts

KERNELS = [(1,), (4,), (3, 5), (1, 2), (1, 1, 1), (3, 3, 3), (2, 2, 2), (1, 3, 5), (2, 1, 2)]
KERNELS += [(3, 3, 2), (4, 4, 4), (1, 1, 1, 1), (1, 3, 2, 3)]
CONVOLVE = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
# The dimensions of each layout with axes S, as einsum writes them; "Sio" is [D, H, W, Ci, Co].
DENSE = {
    **dict.fromkeys(("torch", "NCDHW"), "oiS"),
    **dict.fromkeys(("mmcv", "spconv1", "ARRAY", "RSCK"), "Sio"),
    **dict.fromkeys(("spconv2", "NDHWC", "KRSC"), "oSi"),
    **dict.fromkeys(("spconv2_native", "RSKC"), "Soi"),
    "torch_transposed": "ioS",
}


def offsets(layout, sizes):
    """Returns the offsets in the order of K, counted from 0, as the code of the library does."""
    if layout == "minkowski":  # kernel_region::coordinate_at
        found = []
        for index in range(math.prod(sizes)):
            offset = []
            for size in sizes:
                offset.append(index % size)
                index //= size
            found.append(tuple(offset))
        return found
    if layout == "torchsparse":  # get_kernel_offsets
        x, y, z = map(range, sizes)
        if math.prod(sizes) % 2 == 1:
            return [(i, j, k) for k in z for j in y for i in x]
        return [(i, j, k) for i in x for j in y for k in z]
    grids = np.meshgrid(*map(np.arange, sizes), indexing="ij")  # kernel_offsets_from_size
    return list(zip(*(grid.ravel().tolist() for grid in grids)))


def in_layout(layout, weights, coordinates="xyz"):
    """Returns filters [D, H, W, Ci, Co] in a layout, from definitions."""
    kernel = weights.shape[:-2]
    if layout not in DENSE:
        step = -1 if coordinates == "xyz" else 1
        rows = [weights[offset[::step]] for offset in offsets(layout, kernel[::step])]
        return rows[0] if len(rows) == 1 and layout != "warpconvnet" else np.stack(rows)
    source, target = (each.replace("S", "abcd"[: len(kernel)]) for each in ("Sio", DENSE[layout]))
    if layout.startswith("spconv2") and math.prod(kernel) == 1:  # weight.view(Ci, Co)
        sizes = dict(zip(source, weights.shape))
        return weights.reshape([sizes[letter] for letter in target])
    return np.einsum(f"{source}->{target}", weights)


def kernel_size(layout, kernel, coordinates="xyz"):
    return kernel[::-1] if layout not in DENSE and coordinates == "xyz" else kernel


def numbers(*shape):
    return np.arange(math.prod(shape), dtype=np.float32).reshape(shape)


def has(layout, kernel):
    return len(kernel) in FILTER_LAYOUTS[layout].axes


def centers_differ(source, target, kernel):
    pair = {source, target}
    refused = "torchsparse" in pair and bool(pair & {"minkowski", "warpconvnet"})
    return refused and math.prod(kernel) % 2 == 0 and max(kernel) > 2


@pytest.mark.parametrize("coordinates", ["xyz", "zyx"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_every_pair_of_layouts(kernel, coordinates):
    weights = numbers(*kernel, 3, 2)
    names = [name for name in FILTER_LAYOUTS if has(name, kernel)]
    for source, target in itertools.product(names, repeat=2):
        filters = in_layout(source, weights, coordinates)
        sizes = {"kernel_size": kernel_size(source, kernel, coordinates)}
        if centers_differ(source, target, kernel):
            with pytest.raises(mluop_omp.MluOpError, match="kernel_size.*center"):
                convert_filters(filters, source, target, **sizes, coordinates=coordinates)
            continue
        converted = convert_filters(filters, source, target, **sizes, coordinates=coordinates)
        expected = in_layout(target, weights, coordinates)
        assert_array_equal(converted, expected, err_msg=f"{source} to {target}", strict=True)
        sizes = {"kernel_size": kernel_size(target, kernel, coordinates)}
        again = convert_filters(converted, target, source, **sizes, coordinates=coordinates)
        assert_array_equal(again, filters, err_msg=f"{target} to {source}", strict=True)


def test_the_table_names_the_shapes():
    shapes = {name: layout.shape for name, layout in FILTER_LAYOUTS.items()}
    assert shapes["spconv2"] == "[Co, D, H, W, Ci]" and shapes["minkowski"] == "[K, Ci, Co]"
    documentation = convert_filters.__doc__
    for name, shape in shapes.items():
        assert re.search(rf'"{name}".* {re.escape(shape)}', documentation), name
    weights = numbers(1, 1, 1, 2, 3)
    assert_array_equal(convert_filters(weights[0, 0], "minkowski", "mmcv"), weights)


@pytest.mark.parametrize("kernel", [(3, 3, 3), (1, 3, 5), (2, 1, 2), (1, 1, 1), (3, 2), (3,)])
@pytest.mark.parametrize("layout", [name for name in FILTER_LAYOUTS if name not in DENSE])
def test_the_convolution_remains(layout, kernel, rng):
    """Each offset connects an output with the input that it shifts to: x, y, z to W, H, D."""
    if not has(layout, kernel):
        return
    axes = len(kernel)
    weight = torch.from_numpy(rng.integers(-4, 5, (2, 3, *kernel))).double()
    dense = torch.from_numpy(rng.integers(-4, 5, (1, 3, *(6, 5, 7)[:axes]))).double()
    expected = CONVOLVE[axes](dense, weight)[0]
    matrices = convert_filters(weight, "torch", layout).reshape(-1, 3, 2)
    found = torch.zeros_like(expected)
    for offset, matrix in zip(offsets(layout, kernel[::-1]), matrices):
        place = [slice(k, k + size) for k, size in zip(offset[::-1], expected.shape[1:])]
        found += torch.einsum("i...,io->o...", dense[(0, slice(None), *place)], matrix)
    assert torch.equal(found, expected)


def sites_in(space, rng):
    return np.argwhere(rng.random((1, *space)) < 0.4).astype(np.int32, order="C")


@pytest.mark.parametrize("layout", ["NDHWC", "NCDHW", "ARRAY"])
def test_the_layouts_of_the_library(layout, rng):
    kernel, space = (3, 1, 3), (4, 5, 6)
    weight = rng.integers(-4, 5, (2, 3, *kernel)).astype(np.float32)
    sites = sites_in(space, rng)
    features = rng.integers(-4, 5, (len(sites), 3)).astype(np.float32)
    geometry = (kernel, (1, 1, 1), (1, 0, 1), (1, 1, 1))
    outputs, pairs, num = mluop_omp.indice_pairs(sites, 1, space, *geometry)
    filters = convert_filters(weight, "torch", layout)
    found = mluop_omp.indice_conv(features, filters, pairs, num, len(outputs), layout=layout)
    dense = torch.zeros(1, 3, *space)
    dense[(0, slice(None), *sites.T[1:])] = torch.from_numpy(features.T)
    expected = F.conv3d(dense, torch.from_numpy(weight), padding=(1, 0, 1))[0].movedim(0, -1)
    assert_array_equal(found, expected[tuple(outputs.T[1:])].numpy())


@pytest.mark.parametrize(
    ("kernel", "stride", "subm", "layout"),
    [
        ((3, 3, 3), 1, True, "spconv2"),
        ((1, 3, 5), 2, False, "spconv2"),
        ((1, 1, 1), 1, True, "spconv2"),
        ((1, 1, 1), 1, False, "spconv2"),
        ((1, 1, 1), 2, True, "spconv2"),
        ((1, 1, 1), 2, False, "KRSC"),
    ],
)
def test_layers_of_spconv(kernel, stride, subm, layout, rng):
    spconv = pytest.importorskip("spconv.pytorch", reason="requires spconv")
    from spconv.core import ConvAlgo

    make = spconv.SubMConv3d if subm else spconv.SparseConv3d
    padding = [size // 2 for size in kernel]
    module = make(3, 2, kernel, stride, padding, bias=False, algo=ConvAlgo.Native)
    weight = torch.from_numpy(rng.integers(-4, 5, (2, 3, *kernel))).float()
    with torch.no_grad():
        module.weight.copy_(convert_filters(weight, "torch", layout))
        sites = torch.from_numpy(sites_in((4, 5, 6), rng))
        features = torch.from_numpy(rng.integers(-4, 5, (len(sites), 3))).float()
        input = spconv.SparseConvTensor(features, sites, [4, 5, 6], 1)
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # spconv's kernels race.
        found = module(input)
        torch.set_num_threads(threads)
        stride = 1 if subm else stride
        expected = F.conv3d(input.dense(), weight, stride=stride, padding=padding)
    rows = expected[0].movedim(0, -1)[tuple(found.indices.long().T[1:])]
    torch.testing.assert_close(found.features, rows, rtol=0, atol=0)


NUMPY_TYPES = [np.float16, np.float64, np.int8, bool, np.complex64, "U3"]


@pytest.mark.parametrize("dtype", NUMPY_TYPES)
def test_arrays_of_any_type(dtype):
    weights = np.ones((3, 3, 3, 2, 4), dtype)
    filters = weights[::-1, :, ::-1].transpose(4, 0, 1, 2, 3)  # not contiguous
    filters.flags.writeable = False
    for target in FILTER_LAYOUTS:
        found = convert_filters(filters, "spconv2", target)
        assert type(found) is np.ndarray and found.dtype == weights.dtype
        assert found.flags.c_contiguous and found.flags.writeable
        assert not np.shares_memory(found, weights)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.int64, torch.bool])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_tensors_of_any_type(dtype, device):
    weights = torch.arange(216).reshape(4, 2, 3, 3, 3).to(dtype).to(device)
    for filters in (weights, weights.flip(2), weights.permute(1, 0, 4, 3, 2)):
        for target in FILTER_LAYOUTS:
            found = convert_filters(filters, "torch", target)
            assert (found.dtype, found.device) == (weights.dtype, weights.device)
            assert found.is_contiguous()
            if device == "cpu":
                assert found.data_ptr() != weights.data_ptr()
                assert torch.equal(convert_filters(found, target, "torch"), filters)


def test_gradients_pass():
    filters = torch.randn(2, 3, 3, 3, 3, dtype=torch.double, requires_grad=True)
    for target in FILTER_LAYOUTS:
        assert torch.autograd.gradcheck(convert_filters, (filters, "torch", target))


BAD_INPUT = {
    "source": (dict(source="spconv"), "source is 'spconv', expected one of torch, mmcv, spconv1"),
    "target": (dict(target=["mmcv"]), r"target is \['mmcv'\], expected one of torch"),
    "coordinates": (dict(coordinates="yxz"), "coordinates is 'yxz', expected one of xyz, zyx"),
    "list": (dict(filters=[[1]]), "filters is of type list, expected numpy.ndarray"),
    "masked": (dict(filters=np.ma.ones((3, 3, 3, 1, 1))), "filters is of type MaskedArray"),
    "sparse": (dict(filters=torch.eye(3).to_sparse()), "expected .* a dense torch.Tensor"),
    "2 dimensions": (dict(shape=(3, 3)), "have 2 dimensions, expected 4 to 6 in layout 'mmcv'"),
    "NDHWC": (dict(shape=(3, 3, 3, 3), source="NDHWC"), r"expected 5 .*\[Co, D, H, W, Ci\]"),
    "[Ci, Co]": (dict(shape=(3, 3), source="warpconvnet"), "2 dimensions, expected 3 in layout"),
    "5 for K": (dict(source="minkowski"), "5 dimensions, expected 2 or 3 in layout"),
    "4 axes": (dict(shape=(3,) * 6), "filters have 4 axes, expected 1 to 3 in layout 'torch'"),
    "no offset": (dict(shape=(3, 0, 3, 2, 2)), r"filters have \(3, 0, 3\) offsets"),
    "K 0": (dict(shape=(0, 2, 2), source="minkowski"), "filters have 0 offsets"),
    "K no cube": (dict(shape=(18, 2, 2), source="minkowski"), "18 offsets, .* is required"),
    "size of axes": (dict(kernel_size=(3, 3, 1)), r"\(3, 3, 1\), expected \(3, 3, 3\)"),
    "size of K": (
        dict(shape=(27, 2, 2), source="torchsparse", kernel_size=(3, 3, 2)),
        r"filters have 27 offsets, expected 18 for kernel_size \(3, 3, 2\)",
    ),
    "axes of K": (
        dict(shape=(9, 2, 2), source="torchsparse", kernel_size=(3, 3)),
        "kernel_size has 2 axes, expected 3 in layout 'torchsparse'",
    ),
    "size of [Ci, Co]": (
        dict(shape=(2, 2), source="minkowski", kernel_size=3),
        "filters have 1 offsets, expected 27",
    ),
    "size 0": (dict(kernel_size=(3, 0, 3)), "expected positive integers"),
    "no size": (dict(kernel_size=()), "expected positive integers"),
    "size of words": (dict(kernel_size="333"), "kernel_size is '333', expected integers"),
    "fraction": (dict(kernel_size=2.5), "kernel_size is 2.5, expected integers"),
    "centers": (
        dict(shape=(18, 2, 2), source="minkowski", target="torchsparse", kernel_size=(2, 3, 3)),
        r"\(2, 3, 3\): its center is \(0, 1, 1\) in layout 'minkowski' and \(0, 0, 0\) or \(0, ",
    ),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input(name):
    changes, message = BAD_INPUT[name]
    arguments = {"source": "mmcv", "target": "torch", **changes}
    arguments.setdefault("filters", np.ones(arguments.pop("shape", (3, 3, 3, 2, 2))))
    with pytest.raises((mluop_omp.MluOpError, TypeError), match=message):
        convert_filters(**arguments)


WEIGHTS = np.random.default_rng(5).standard_normal((3, 3, 3, 4, 5))
ONE_OTHER = WEIGHTS.copy()
ONE_OTHER[2, 2, 2, 3, 4] += 1
POINT = WEIGHTS[:1, :1, :1]
NOT_CUBIC = WEIGHTS[:, :2, :1]


def mmcv(weights, target, **named):
    return convert_filters(weights, "mmcv", target, **named)


MINKOWSKI, HALF = mmcv(WEIGHTS, "minkowski"), mmcv(WEIGHTS.astype(np.float16), "torch")
BFLOAT16 = torch.from_numpy(WEIGHTS).bfloat16()
# Filters, the layout of found and of expected, and the conversion that is found.
CONVERSIONS = {
    "order of the axes": (WEIGHTS, "minkowski", "warpconvnet", "from minkowski to warpconvnet"),
    "order of a kernel": (NOT_CUBIC, "minkowski", "warpconvnet", "from minkowski to warpconvnet"),
    "layout": (WEIGHTS, "spconv2", "torch", "from spconv2 to torch"),
    "1x1": (POINT, "spconv2", "KRSC", "from spconv2 to NDHWC"),
    "1x1 of MinkowskiEngine": (POINT, "minkowski", "spconv2", "from minkowski to spconv2"),
}
# Arrays found and expected, and what is said of the first match after "equal"; None: no match.
MATCHES = {
    **{
        name: (mmcv(weights, found), mmcv(weights, expected), f" after conversion {text}")
        for name, (weights, found, expected, text) in CONVERSIONS.items()
    },
    "equal": (WEIGHTS, WEIGHTS, " as they are"),
    "reversed": (MINKOWSKI[::-1], MINKOWSKI, " after reversal of the offsets"),
    "layout and reversal": (
        mmcv(WEIGHTS[::-1, ::-1, ::-1], "minkowski"),
        mmcv(WEIGHTS, "spconv2"),
        " after conversion from minkowski to spconv2 "
        "or from warpconvnet to spconv2 with coordinates zyx and reversal of the offsets",
    ),
    "coordinates": (
        mmcv(WEIGHTS, "minkowski", coordinates="zyx"),
        WEIGHTS,
        " after conversion from warpconvnet to mmcv or from minkowski to mmcv with coordinates zyx",
    ),
    "half": (
        HALF,
        torch.from_numpy(WEIGHTS),
        r" within 0\.000\d+ after conversion from torch to mmcv",
    ),
    "bfloat16": (
        BFLOAT16,
        mmcv(BFLOAT16, "NDHWC").float(),
        " after conversion from mmcv to spconv2",
    ),
    "other values": (WEIGHTS, mmcv(WEIGHTS + 1e-2, "torch"), None),
    "one other value": (WEIGHTS, mmcv(ONE_OTHER, "torch"), None),
    "other sizes": (WEIGHTS, WEIGHTS[..., 0], None),
    "other dimensions": (WEIGHTS, WEIGHTS.reshape(-1), None),
}


@pytest.mark.parametrize("name", MATCHES)
def test_matching_layouts(name):
    found, expected, text = MATCHES[name]
    matches = matching_layouts(found, expected, rtol=1e-3, atol=1e-4)
    if text is None:
        assert matches == []
        return
    (match,) = matches
    assert re.fullmatch("equal" + text, str(match))
    converted = torch.as_tensor(match.convert(found)).double()
    error = (converted - torch.as_tensor(expected).double()).abs().max().item()
    assert (match.max_error, match.exact) == (error, error == 0)
    columns = {way[2] for way in match.others}
    assert columns == {"xyz"} if found.ndim == expected.ndim == 5 else columns <= {"xyz", "zyx"}


def test_order_of_matches():
    expected = mmcv(WEIGHTS, "minkowski")
    matches = matching_layouts(expected[::-1], expected, atol=100)
    ranks = [(not match.exact, match.reversed) for match in matches]
    assert ranks[0] == (False, True) and (True, False) in ranks and ranks == sorted(ranks)


def test_matches_of_special_values():
    weights = WEIGHTS.astype(np.float32)
    weights[0, 1, 2, 0, :3] = np.nan, np.inf, -np.inf
    (match,) = matching_layouts(mmcv(weights, "torch"), weights)
    assert match.exact
    other = np.where(np.isinf(weights), 3, weights)
    assert matching_layouts(other, weights) == matching_layouts(weights, other) == []
    # Filters of equal weights do not tell the layout.
    assert len(matching_layouts(np.zeros((3, 3, 3, 2, 2)), np.zeros((2, 3, 3, 3, 2)))) > 1
    (match,) = matching_layouts(weights[:0], weights[:0])
    assert match.exact


@pytest.mark.parametrize(("kernel", "size"), [((2, 2, 3), None), ((3, 5), (5, 3))])
def test_matches_of_kernels_that_are_no_cubes(kernel, size):
    weights = np.random.default_rng(5).standard_normal((*kernel, 4, 5))
    found, expected = in_layout("minkowski", weights), in_layout("warpconvnet", weights)
    match = matching_layouts(found, expected, kernel_size=size)[0]
    assert match.exact and not match.reversed and match.coordinates == "xyz"
    assert match.kernel_size == kernel[::-1]
    assert_array_equal(match.convert(found), expected)


def test_arguments_of_matching_layouts():
    with pytest.raises(TypeError, match="found is of type list"):
        matching_layouts([1], WEIGHTS)
    with pytest.raises(mluop_omp.MluOpError, match="expected has dtype .*, expected numbers"):
        matching_layouts(WEIGHTS, np.full(WEIGHTS.shape, "x"))
    with pytest.raises(mluop_omp.MluOpError, match="expected positive integers"):
        matching_layouts(WEIGHTS, WEIGHTS, kernel_size=-3)
