"""Conv3d of each version of torchsparse: examples by hand, dense convolutions of PyTorch, keys."""

from __future__ import annotations

import itertools

import pytest
import torch
import torch.nn.functional as F
from torchsparse_cases import (
    convolved,
    integers,
    layer,
    same_with_gradients,
    sites,
    sites_of,
    tensor,
    transposed,
)

from mluop_omp import MluOpError

KERNELS = [1, 2, 3, 4, 5, (2, 1, 3), (1, 3, 1), (3, 5, 1)]


def triple(value):
    return (value,) * 3 if isinstance(value, int) else value


def centered(size):
    return [-((k - 1) // 2) for k in size]


def line(names, axis=0, **named):
    """Coordinates -3, -2, 0, 1, 5 along an axis, with features 1, 10, 100, 1000, 10000."""
    cells = torch.zeros(5, 4, dtype=torch.int64)
    cells[:, 1 + axis] = torch.tensor([-3, -2, 0, 1, 5])
    feats = torch.tensor([1.0, 10, 100, 1000, 10000]).unsqueeze(1)
    return tensor(names, cells, feats, **named)


def along(values, axis, other=1):
    return tuple(values if each == axis else other for each in range(3))


def weights(names, size, stride, axis=0, **named):
    """Conv3d of one channel along an axis, with weights 1, 2, 3, ..."""
    conv = names.nn.Conv3d(1, 1, along(size, axis), along(stride, axis), **named)
    conv.kernel.data.copy_(torch.arange(1.0, size + 1).view(conv.kernel.shape))
    return conv


def as_dict(x, axis=0):
    return dict(zip(sites_of(x)[:, 1 + axis].tolist(), x.F[:, 0].tolist()))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize(
    ("size", "stride", "expected"),
    [
        (3, 1, {-3: 32, -2: 21, 0: 3200, 1: 2100, 5: 20000}),
        (2, 1, {-3: 21, -2: 10, 0: 2100, 1: 1000, 5: 10000}),
        (2, 2, {-4: 2, -2: 10, 0: 2100, 4: 20000}),
        (3, 2, {-2: 21, 0: 3200, 2: 1000, 4: 30000, 6: 10000}),
        (4, 2, {-2: 421, 0: 3200, 2: 1000, 4: 30000, 6: 10000}),
        (3, 3, {-3: 32, 0: 3200, 3: 0}),
    ],
)
def test_five_sites(size, stride, expected, axis, batch_last):
    output = weights(batch_last, size, stride, axis)(line(batch_last, axis))
    assert as_dict(output, axis) == expected
    assert output.s == along(stride, axis)


def coarse(cells, size, steps, stride):
    """The output sites of versions 1.4 and 2.0, by sets."""
    multiples = [s * t for s, t in zip(steps, stride)]
    rows = [tuple(each) for each in cells.tolist()]
    if all(s in (1, k) for s, k in zip(steps, size)):
        found = {(b, *(c // m * m for c, m in zip(site, multiples))) for b, *site in rows}
    else:
        low = cells[:, 1:].amin(0).tolist()
        ranges = [[(i - (k - 1) // 2) * t for i in range(k)] for k, t in zip(size, stride)]
        reached = {
            (b, *(c + o for c, o in zip(site, offset)))
            for b, *site in rows
            for offset in itertools.product(*ranges)
        }
        found = {
            each
            for each in reached
            if all(c % m == 0 and c >= d for c, m, d in zip(each[1:], multiples, low))
        }
    return torch.tensor(sorted(found)).view(-1, 4)


@pytest.mark.parametrize("stride", [1, 2, 3, (2, 1, 3)])
@pytest.mark.parametrize("size", KERNELS)
def test_a_convolution_is_a_dense_one(size, stride, batch_last):
    size, steps = triple(size), triple(stride)
    cells, feats = sites(-5, 4), integers(60, 2).requires_grad_()
    conv = layer(batch_last, 2, 3, size, steps, bias=True)
    output = conv(tensor(batch_last, cells, feats))
    outputs = cells if steps == (1, 1, 1) else coarse(cells, size, steps, (1, 1, 1))
    assert torch.equal(sites_of(output), outputs)
    expected = convolved(cells, feats, outputs, conv.kernel, size, centered(size)) + conv.bias
    same_with_gradients(output.F, expected, [feats, *conv.parameters()])


@pytest.mark.parametrize("size", [2, 3, 4])
def test_a_strided_tensor(size, batch_last):
    """Offsets are multiples of the input's stride, the sites of the output's stride."""
    size = triple(size)
    cells, feats = sites(-5, 4), integers(60, 2).requires_grad_()
    conv = layer(batch_last, 2, 3, size, 2)
    output = conv(tensor(batch_last, cells * torch.tensor([1, 2, 2, 2]), feats, 2))
    assert output.s == (4, 4, 4)
    outputs = coarse(cells, size, (2, 2, 2), (1, 1, 1))
    assert torch.equal(sites_of(output), outputs * torch.tensor([1, 2, 2, 2]))
    expected = convolved(cells, feats, outputs, conv.kernel, size, centered(size))
    same_with_gradients(output.F, expected, [feats, conv.kernel])


@pytest.mark.parametrize("size", [2, 3, 4, (2, 3, 1), (3, 1, 5)])
def test_a_transposed_convolution_is_a_dense_one(size, batch_last):
    size = triple(size)
    first, down, up = (
        layer(batch_last, 2, 2, 3),
        layer(batch_last, 2, 2, size, 2),
        layer(batch_last, 2, 3, size, 2, bias=True, transposed=True),
    )
    cells, feats = sites(-5, 4), integers(60, 2).requires_grad_()
    x = down(first(tensor(batch_last, cells, feats)))
    output = up(x)
    assert output.s == (1, 1, 1) and torch.equal(sites_of(output), cells)
    expected = transposed(sites_of(x), x.F, cells, up.kernel, size, centered(size)) + up.bias
    variables = [feats, *first.parameters(), *down.parameters(), *up.parameters()]
    same_with_gradients(output.F, expected, variables)


def test_keys_of_1_4(batch_last):
    conv = layer(batch_last, 1, 1, 3)
    x = tensor(batch_last, sites(-3, 3, 9), integers(9, 1))
    output = conv(x)
    assert output.cmaps is x.cmaps and list(x.cmaps) == [(1, 1, 1)]
    assert list(x.kmaps) == [((1, 1, 1), (3, 3, 3), (1, 1, 1), (1, 1, 1))]
    # Other sites with the caches of the first have its kernel map.
    other = tensor(batch_last, sites(-3, 3, 9), integers(9, 1))
    alone = conv(tensor(batch_last, sites_of(other), other.F))
    other.kmaps, other.cmaps = x.kmaps, x.cmaps
    reused = conv(other)
    assert torch.equal(sites_of(reused), sites_of(other))
    assert not torch.equal(reused.F, alone.F)
    with pytest.raises(MluOpError, match="feats has 4 rows, expected 9"):
        few = tensor(batch_last, sites(-3, 3, 4), integers(4, 1))
        few.kmaps = x.kmaps
        conv(few)


def test_dilation_is_part_of_the_key_only(any_version):
    x = tensor(any_version, sites(0, 5, 30), integers(30, 1))
    conv = layer(any_version, 1, 1, 3)
    dilated = layer(any_version, 1, 1, 3, dilation=2)
    dilated.kernel = conv.kernel
    assert torch.equal(conv(x).F, dilated(x).F)
    kmaps = x._caches.kmaps if x._batch == 0 else x.kmaps
    assert [key[-1] for key in kmaps] == [(1, 1, 1), (2, 2, 2)]


def test_a_second_strided_layer_has_the_coordinates_of_its_output(any_version):
    x = tensor(any_version, sites(0, 6), integers(60, 1))
    first, second = (layer(any_version, 1, 1, 2, 2)(x) for _ in range(2))
    assert torch.equal(first.C, second.C) and len(second.F) == len(second.C) < 60


def test_a_transposed_layer_needs_an_earlier_one(any_version):
    x = tensor(any_version, sites(0, 4), integers(60, 1), 2)
    up = layer(any_version, 1, 1, 2, 2, transposed=True)
    with pytest.raises(KeyError, match="kernel map"):
        up(x)
    down = layer(any_version, 1, 1, 2, 2)(tensor(any_version, sites(0, 4), integers(60, 1)))
    with pytest.raises(KeyError, match="sites"):
        up(down)


def test_rows_of_equal_sites(any_version):
    """Each offset reads the first of equal sites."""
    cells = torch.tensor([[0, 1, 1, 1], [0, 1, 1, 1], [0, 2, 1, 1]])
    feats = torch.tensor([[1.0], [10], [100]], requires_grad=True)
    conv = weights(any_version, 3, 1)
    output = conv(tensor(any_version, cells, feats))
    assert output.F.flatten().tolist() == [302, 302, 201]
    assert torch.autograd.grad(output.F.sum(), feats)[0].flatten().tolist() == [5, 0, 8]


@pytest.mark.parametrize("stride", [1, 2])
def test_no_sites(stride, any_version):
    feats = torch.zeros(0, 2, requires_grad=True)
    conv = any_version.nn.Conv3d(2, 3, 3, stride, bias=True)
    output = conv(tensor(any_version, torch.zeros(0, 4), feats))
    assert output.F.shape == (0, 3) and output.C.shape == (0, 4)
    output.F.sum().backward()
    assert not conv.kernel.grad.any()


@pytest.mark.parametrize("size", KERNELS)
def test_parameters(size, any_version):
    size = triple(size)
    K = size[0] * size[1] * size[2]
    torch.manual_seed(3)
    conv = any_version.nn.Conv3d(4, 8, size, bias=True, transposed=True)
    torch.manual_seed(3)
    shape = (K, 4, 8) if K > 1 else (4, 8)
    bound = (8 * K) ** -0.5
    assert torch.equal(conv.kernel, torch.empty(shape).uniform_(-bound, bound))
    assert torch.equal(conv.bias, torch.empty(8).uniform_(-bound, bound))
    assert list(conv.state_dict()) == ["kernel", "bias"]
    assert any_version.nn.Conv3d(4, 8, size).bias is None
    strided = any_version.nn.Conv3d(4, 8, 1, 2).kernel.shape
    assert strided == ((1, 4, 8) if any_version.ts.SparseTensor._batch == 0 else (4, 8))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("size", [1, 3])
def test_element_types_and_autocast(size, dtype, any_version):
    cells, feats = sites(0, 5), torch.randn(60, 4)
    conv = any_version.nn.Conv3d(4, 4, size, bias=True)
    exact = conv(tensor(any_version, cells, feats)).F
    tolerance = {"rtol": 0, "atol": 0 if dtype is torch.float64 else 0.06}
    if dtype is not torch.float64:
        with torch.autocast("cpu", dtype=dtype):
            output = conv(tensor(any_version, cells, feats)).F
        assert output.dtype is dtype
        torch.testing.assert_close(output.float(), exact, **tolerance)
    half = conv.to(dtype)(tensor(any_version, cells, feats.to(dtype))).F
    assert half.dtype is dtype
    tolerance["atol"] = tolerance["atol"] or 1e-5
    torch.testing.assert_close(half.float(), exact, **tolerance)


# Version 2.1.


def volume(cells, feats, extents):
    batch, *axes = cells.unbind(1)
    result = feats.new_zeros(int(cells[:, 0].max()) + 1, *extents, feats.shape[1])
    return result.index_put((batch, *axes), feats).movedim(-1, 1)


@pytest.mark.parametrize(
    ("padding", "expected"), [(0, {0: 2100}), (1, {0: 3200, 1: 1000, 2: 30000})]
)
def test_three_sites_of_2_1(padding, expected, batch_first):
    cells = torch.zeros(3, 4, dtype=torch.int64)
    cells[:, 1] = torch.tensor([0, 1, 5])
    x = tensor(batch_first, cells, torch.tensor([[100.0], [1000], [10000]]))
    assert as_dict(weights(batch_first, 3, 2, padding=(padding, 0, 0))(x)) == expected


@pytest.mark.parametrize("spatial_range", [None, (2, 9, 8, 7)])
@pytest.mark.parametrize("padding", [0, 1, (1, 0, 2)])
@pytest.mark.parametrize("stride", [2, 3, (1, 2, 3)])
@pytest.mark.parametrize("size", [*KERNELS])
def test_a_strided_convolution_of_2_1_is_a_dense_one(
    size, stride, padding, spatial_range, batch_first
):
    size, steps = triple(size), triple(stride)
    cells, feats = sites(0, 6), integers(60, 2).requires_grad_()
    conv = layer(batch_first, 2, 3, size, steps, padding)
    output = conv(tensor(batch_first, cells, feats, spatial_range=spatial_range))
    extents = (cells[:, 1:].amax(0) + 1).tolist() if spatial_range is None else spatial_range[1:]
    weight = conv.kernel
    if size[0] * size[1] * size[2] % 2:
        weight = weight.view(*reversed(size), 2, 3).permute(4, 3, 2, 1, 0)
    else:
        weight = weight.view(*size, 2, 3).permute(4, 3, 0, 1, 2)
    geometry = {"stride": steps, "padding": conv.padding}
    occupied = F.conv3d(
        volume(cells, torch.ones(60, 1), extents), torch.ones(1, 1, *size), **geometry
    )
    outputs = (occupied[:, 0] > 0).nonzero()
    assert torch.equal(sites_of(output), outputs)
    batch, *axes = outputs.unbind(1)
    expected = F.conv3d(volume(cells, feats, extents), weight, **geometry)
    expected = expected.movedim(1, -1)[(batch, *axes)]
    same_with_gradients(output.F, expected, [feats, conv.kernel])
    found = None if spatial_range is None else (2, *occupied.shape[2:])
    assert output.spatial_range == found


@pytest.mark.parametrize("mode", ["hashmap_on_the_fly", "hashmap"])
@pytest.mark.parametrize("size", KERNELS)
def test_a_submanifold_convolution_of_2_1(size, mode, batch_first):
    size = triple(size)
    cells, feats = sites(-3, 4), integers(60, 2).requires_grad_()
    conv = layer(batch_first, 2, 3, size, config={"kmap_mode": mode})
    output = conv(tensor(batch_first, cells, feats))
    is_odd = all(k % 2 for k in size)
    lowest = centered(size) if is_odd or mode == "hashmap" else [0, 0, 0]
    expected = convolved(cells, feats, cells, conv.kernel, size, lowest)
    same_with_gradients(output.F, expected, [feats, conv.kernel])


@pytest.mark.parametrize("stride", [2, 3])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_minkowski_sites_of_2_1(size, stride, batch_first):
    config = {"kmap_mode": "hashmap", "downsample_mode": "minkowski"}
    cells, feats = sites(-5, 4), integers(60, 2).requires_grad_()
    conv = layer(batch_first, 2, 3, size, stride, config=config)
    output = conv(tensor(batch_first, cells, feats))
    steps = torch.tensor([1, stride, stride, stride])
    outputs = torch.div(cells, steps, rounding_mode="floor").unique(dim=0)
    assert torch.equal(sites_of(output), outputs) and output.s == (stride,) * 3
    size = triple(size)
    expected = convolved(cells, feats, outputs * steps, conv.kernel, size, centered(size))
    same_with_gradients(output.F, expected, [feats, conv.kernel])


def test_sites_of_a_hash_map_of_2_1(batch_first):
    """The sites of "spconv" with windows that are centered."""
    x = tensor(batch_first, torch.tensor([[0, 1, 0, 0], [0, 4, 0, 0]]), torch.ones(2, 1))
    for size, stride, expected in [(3, 2, {0: 3.0, 1: 1.0}), (2, 2, {0: 2.0, 2: 1.0})]:
        conv = weights(batch_first, size, stride, config={"kmap_mode": "hashmap"})
        assert as_dict(conv(x)) == expected


@pytest.mark.parametrize("size", [2, 3, (2, 1, 3)])
def test_a_transposed_convolution_of_2_1(size, batch_first):
    size = triple(size)
    first, down, up = (
        layer(batch_first, 2, 2, 3),
        layer(batch_first, 2, 2, size, 2, 1),
        layer(batch_first, 2, 3, size, 2, 1, bias=True, transposed=True),
    )
    cells, feats = sites(0, 6), integers(60, 2).requires_grad_()
    x = down(first(tensor(batch_first, cells, feats)))
    output = up(x)
    assert torch.equal(sites_of(output), cells)
    coarse = sites_of(x) * torch.tensor([1, 2, 2, 2])
    lowest = [-pad for pad in down.padding]
    expected = transposed(coarse, x.F, cells, up.kernel, size, lowest) + up.bias
    same_with_gradients(output.F, expected, [feats, down.kernel, *up.parameters()])


def test_a_generative_convolution_of_2_1(batch_first):
    """Sites are input * 2 + offset in the range of the output, values by input * 2 = o + offset."""
    hashmap = {"config": {"kmap_mode": "hashmap"}}
    up = {"transposed": True, "generative": True}
    cells = torch.tensor([[0, 1, 0, 0], [0, 2, 0, 0]])
    x = tensor(batch_first, cells, torch.tensor([[1.0], [10]]), 2, spatial_range=(1, 20, 2, 2))
    # Offset 1 pairs site 3 with input 4 / 2.
    output = weights(batch_first, 2, 2, **up, **hashmap)(x)
    assert as_dict(output) == {2: 1, 3: 20, 4: 10, 5: 0}
    assert output.s == (1, 2, 2) and output.spatial_range == (1, 10, 2, 2)
    assert x._caches.kmaps == {} and x._caches.cmaps[1, 2, 2][0] is output.C
    assert as_dict(weights(batch_first, 3, 2, **up, **hashmap)(x)) == {
        1: 3,
        2: 2,
        3: 31,
        4: 20,
        5: 10,
    }
    x.spatial_range = (1, 8, 2, 2)  # The range of the output is 4.
    assert as_dict(weights(batch_first, 2, 2, **up, **hashmap)(x)) == {2: 1, 3: 20}
    with pytest.raises(ValueError, match="kmap_mode"):
        weights(batch_first, 2, 2, **up)(x)
    x.spatial_range = None
    with pytest.raises(MluOpError, match="spatial_range"):
        weights(batch_first, 2, 2, **up, **hashmap)(x)
    x.spatial_range = (1, 1, 2, 2)
    with pytest.raises(MluOpError, match="range of the output"):
        weights(batch_first, 2, 2, **up, **hashmap)(x)


def test_negative_sites_of_2_1(batch_first):
    """Strided layers have sites below 0 on request only."""
    conv = weights(batch_first, 3, 2)
    assert as_dict(conv(line(batch_first))) == {0: 2100}
    batch_first.tensor.set_allow_negative_coordinates(True)
    try:
        assert batch_first.tensor.get_allow_negative_coordinates()
        assert as_dict(conv(line(batch_first))) == {-1: 310, 0: 2100}
    finally:
        batch_first.tensor.set_allow_negative_coordinates(False)


def test_the_global_configuration(batch_first):
    config = batch_first.nn_functional_conv_conv_config
    conv = weights(batch_first, 3, 2)
    options = config.get_default_conv_config().copy()
    options.kmap_mode, options.downsample_mode = "hashmap", "minkowski"
    config.set_global_conv_config(options)
    try:
        assert as_dict(conv(line(batch_first))) == {-2: 3, -1: 21, 0: 3200, 2: 30000}
    finally:
        config.clear_global_conv_config()
    assert as_dict(conv(line(batch_first))) == {0: 2100}


@pytest.mark.parametrize("name", ["kmap_mode", "downsample_mode"])
def test_unknown_modes_are_refused(name, batch_first):
    with pytest.raises(MluOpError, match=f"{name} is 'grid'"):
        weights(batch_first, 3, 2, config={name: "grid"})(line(batch_first))


def test_arguments_of_another_version_are_refused(any_version):
    if any_version.ts.SparseTensor._batch:
        for arguments, named in [((3, 1, 0, 1), {}), ((), {"padding": 1}), ((3, 1, 1, None), {})]:
            with pytest.raises(MluOpError, match=r'install\(version="2.1"\)'):
                any_version.nn.Conv3d(4, 4, *arguments, **named)
        any_version.nn.Conv3d(4, 4, 3, 1, 1, False, True)
        return
    with pytest.raises(MluOpError, match=r'install\(version="1.4"\)'):
        any_version.nn.Conv3d(4, 4, 3, 1, 1, False, True)
    with pytest.raises(MluOpError, match="transposed"):
        any_version.nn.Conv3d(4, 4, 3, generative=True)


@pytest.mark.parametrize(
    ("coords", "message"),
    [
        (torch.zeros(3, 3, dtype=torch.int32), r"coords has shape \[3, 3\]"),
        (torch.zeros(3, 4), "coords has dtype torch.float32"),
    ],
)
def test_coordinates_that_are_refused(coords, message, any_version):
    x = any_version.ts.SparseTensor(torch.ones(3, 1), coords)
    with pytest.raises(MluOpError, match=message):
        any_version.nn.Conv3d(1, 1, 3)(x)


def test_the_same_bits_at_any_number_of_threads(any_version, set_threads):
    cells = sites(0, 12, 1500)

    def step():
        torch.manual_seed(1)
        feats = torch.randn(1500, 8, requires_grad=True)
        first, down = any_version.nn.Conv3d(8, 8, 3), any_version.nn.Conv3d(8, 16, 3, 2)
        one, up = (
            any_version.nn.Conv3d(16, 16, 1),
            any_version.nn.Conv3d(16, 8, 3, 2, transposed=True),
        )
        output = up(one(down(first(tensor(any_version, cells, feats))))).F
        parameters = (each for layer in (first, down, one, up) for each in layer.parameters())
        return [output, *torch.autograd.grad(output.square().sum(), [feats, *parameters])]

    results = []
    for count in (1, 2, 3):
        set_threads(count)
        results.append(step())
    for other in results[1:]:
        assert all(map(torch.equal, results[0], other))
