"""MinkowskiEngine's convolutions: values that its own CPU build computes, and dense PyTorch, whose
integer features and kernels in float64 make every result exact.
"""

from __future__ import annotations

import itertools
import math

import minkowski_sites as sites
import pytest
import torch
from minkowski_sites import LINE, ME, features, random_tensor, tensor, with_kernel

from mluop_omp import MluOpError

CONVOLVED = {
    "kernel 3": ({"kernel_size": 3}, (32, 21, 3200, 2100, 20000), LINE),
    "kernel 2": ({"kernel_size": 2}, (21, 10, 2100, 1000, 10000), LINE),
    "dilated": ({"kernel_size": 3, "dilation": 2}, (2, 320, 210, 2000, 20000), LINE),
    "kernel 2, stride 2": (
        {"kernel_size": 2, "stride": 2},
        (2, 10, 2100, 20000),
        (-4, -2, 0, 4),
    ),
    "kernel 3, stride 2": ({"kernel_size": 3, "stride": 2}, (3, 21, 3200, 30000), (-4, -2, 0, 4)),
    "kernel 4, stride 2": (
        {"kernel_size": 4, "stride": 2},
        (32, 4310, 2100, 20000),
        (-4, -2, 0, 4),
    ),
    "kernel 3, stride 3": ({"kernel_size": 3, "stride": 3}, (32, 3200, 0), (-3, 0, 3)),
    "kernel 3, expanded": (
        {"kernel_size": 3, "expand_coordinates": True},
        (3, 32, 21, 310, 3200, 2100, 1000, 30000, 20000, 10000),
        (-4, -3, -2, -1, 0, 1, 2, 4, 5, 6),
    ),
    "kernel 2, expanded": (
        {"kernel_size": 2, "expand_coordinates": True},
        (21, 10, 200, 2100, 1000, 0, 10000, 0),
        (-3, -2, -1, 0, 1, 2, 5, 6),
    ),
}
COARSE = {-4: 2, -2: 10, 0: 2100, 4: 20000}
GENERATED = {
    (2, 2): {-4: 2, -3: 4, -2: 10, -1: 20, 0: 2100, 1: 4200, 4: 20000, 5: 40000},
    (3, 2): {
        **{-5: 2, -4: 4, -3: 16, -2: 20, -1: 2130, 0: 4200, 1: 6300},
        **{3: 20000, 4: 40000, 5: 60000},
    },
}


@pytest.mark.parametrize("case", CONVOLVED)
def test_values_of_a_line(case):
    named, values, coordinates = CONVOLVED[case]
    layer = ME.MinkowskiConvolution(1, 1, dimension=1, **named)
    output = with_kernel(layer, [1, 2, 3, 4][: named["kernel_size"]])(tensor(LINE))
    assert features(output) == dict(zip(coordinates, values))
    assert output.tensor_stride == [named.get("stride", 1)]


@pytest.mark.parametrize(("kernel", "stride"), GENERATED)
def test_generated_values_of_a_line(kernel, stride):
    layer = ME.MinkowskiGenerativeConvolutionTranspose(
        1, 1, kernel_size=kernel, stride=stride, dimension=1
    )
    layer = with_kernel(layer, [1, 2, 3][:kernel])
    x = tensor(COARSE, stride=2)
    assert features(layer(x)) == GENERATED[kernel, stride]
    # A second layer makes another key of the stride.
    first, second = layer(x), layer(x)
    assert first.coordinate_map_key != second.coordinate_map_key
    assert first.tensor_stride == second.tensor_stride == [1]


def test_a_transposed_convolution_returns_to_the_sites_of_its_stride():
    x = tensor(LINE)
    down = with_kernel(ME.MinkowskiConvolution(1, 1, kernel_size=2, stride=2, dimension=1), [1, 2])
    up = ME.MinkowskiConvolutionTranspose(1, 1, kernel_size=2, stride=2, dimension=1)
    output = with_kernel(up, [1, 2])(down(x))
    assert output.coordinate_map_key == x.coordinate_map_key
    # The site 4 of the coarse tensor reaches 4 and 5; 4 is not a site.
    assert features(output) == {-3: 4, -2: 10, 0: 2100, 1: 4200, 5: 40000}


def test_a_known_key_is_reused_whatever_the_kernel():
    def layer(kernel):
        return ME.MinkowskiConvolutionTranspose(1, 1, kernel_size=kernel, stride=2, dimension=2)

    x = tensor({(4, 4): 1}, stride=4)
    assert len(layer(2)(x)) == 4
    assert len(layer(3)(x)) == 4
    assert len(layer(3)(tensor({(4, 4): 1}, stride=4))) == 9


def test_a_pruned_tensor_returns_to_all_fine_sites():
    x = tensor({0: 1, 1: 2, 4: 3, 5: 4})
    pooled = ME.MinkowskiSumPooling(kernel_size=2, stride=2, dimension=1)(x)
    pruned = ME.MinkowskiPruning()(pooled, pooled.C[:, 1] == 0)
    layer = ME.MinkowskiConvolutionTranspose(1, 1, kernel_size=2, stride=2, dimension=1)
    assert features(with_kernel(layer, [1, 2])(pruned)) == {0: 3, 1: 6, 4: 0, 5: 0}


def test_keys_of_strided_layers():
    x = tensor(LINE)
    convolved = ME.MinkowskiConvolution(1, 1, kernel_size=3, stride=2, dimension=1).double()(x)
    pooled = ME.MinkowskiMaxPooling(kernel_size=2, stride=2, dimension=1)(x)
    assert convolved.coordinate_map_key == pooled.coordinate_map_key
    assert convolved.coordinate_map_key.get_key() == ([2], "")
    assert ME.cat(convolved, pooled).shape == (4, 2)


def test_given_coordinates():
    x = tensor({0: 1, 1: 10, 4: 100})
    layer = with_kernel(ME.MinkowskiConvolution(1, 1, kernel_size=3, dimension=1), [1, 1, 1])
    rows = torch.tensor([[0, 1], [0, 3], [0, 9]], dtype=torch.int32)
    given = layer(x, rows)
    assert features(given) == {1: 11, 3: 100, 9: 0}
    assert given.tensor_stride == [1]
    for other in (given, given.coordinate_map_key):
        assert features(layer(x, other)) == {1: 11, 3: 100, 9: 0}
    unset = ME.CoordinateMapKey(2)
    assert layer(x, unset).coordinate_map_key == unset == x.coordinate_map_key
    # A product of each site ignores them.
    point = with_kernel(ME.MinkowskiConvolution(1, 1, kernel_size=1, dimension=1), [2])
    assert features(point(x, rows)) == {0: 2, 1: 20, 4: 200}


def test_integer_floor():
    """MinkowskiEngine's floor in float32 gives 16777220."""
    x = tensor({16777219: 1, -16777219: 2})
    layer = ME.MinkowskiConvolution(1, 1, kernel_size=2, stride=2, dimension=1).double()
    assert list(features(layer(x))) == [-16777220, 16777218]


@pytest.mark.parametrize("dimension", [1, 3])
def test_kernel_size_1_with_a_stride_reads_sites_at_multiples(dimension):
    layer = ME.MinkowskiConvolution(1, 1, kernel_size=1, stride=2, dimension=dimension)
    assert layer.kernel.shape == (1, 1, 1)
    rest = (0,) * (dimension - 1)
    x = tensor({(-3, *rest): 1, (-2, *rest): 10, (1, *rest): 100})
    values = list(features(with_kernel(layer, [2])(x)).values())
    assert values == [0, 20, 0]


def offsets_at(region, size):
    """Returns the site that each offset of a kernel reads at (1, 1)."""
    generator = ME.KernelGenerator(size, region_type=region, dimension=2)
    axis = range(-1, 4)
    x = tensor({site: 1 for site in itertools.product(axis, axis)})
    maps = x.coordinate_manager.kernel_map(
        *(x.coordinate_map_key,) * 2, kernel_size=size, region_type=region
    )
    row = x.C.tolist().index([0, 1, 1])
    found = []
    for k in range(generator.kernel_volume):
        inputs, outputs = maps[k].long()
        found.append(tuple(x.C[inputs[outputs == row]][0, 1:].tolist()))
    return found


def test_order_of_offsets():
    cube, cross = ME.RegionType.HYPER_CUBE, ME.RegionType.HYPER_CROSS
    square = [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (0, 2), (1, 2), (2, 2)]
    assert offsets_at(cube, 3) == square
    assert offsets_at(cube, 2) == [(1, 1), (2, 1), (1, 2), (2, 2)]
    assert offsets_at(cross, 3) == [(1, 1), (2, 1), (0, 1), (1, 2), (1, 0)]
    generator = ME.KernelGenerator(5, region_type=cross, dilation=2, dimension=2)
    steps = generator.offsets([3, 1])[1:].tolist()
    assert steps[:4] == [[6, 0], [12, 0], [-12, 0], [-6, 0]]
    assert steps[4:] == [[0, 2], [0, 4], [0, -4], [0, -2]]


GEOMETRY = [
    # kernel sizes, stride, dilation, stride of the input
    ((1, 1), (1, 1), (1, 1), 1),
    ((1, 1), (2, 2), (1, 1), 1),
    ((2, 2), (1, 1), (1, 1), 1),
    ((2, 2), (2, 2), (1, 1), 2),
    ((3, 3), (1, 1), (2, 2), 1),
    ((4, 4), (2, 2), (1, 1), 1),
    ((5, 5), (3, 3), (1, 1), 1),
    ((5, 2), (1, 2), (1, 2), 1),
    ((2, 3, 4), (1, 1, 1), (1, 1, 1), 1),
    ((3, 3, 3), (1, 1, 1), (1, 1, 1), 2),
    ((3, 3, 3), (2, 2, 2), (1, 1, 1), 1),
    ((2, 2, 2), (2, 2, 2), (1, 1, 1), 1),
    ((4, 1, 3), (2, 1, 3), (1, 1, 2), 1),
    ((3, 3, 3, 3), (1, 1, 1, 1), (1, 1, 1, 1), 1),
    ((2, 2, 2, 3), (2, 2, 2, 1), (1, 1, 1, 1), 1),
]


def layer_and_input(make, case, stride=None):
    kernel, steps, dilation, own = GEOMETRY[case]
    layer = make(
        2, 3, kernel_size=kernel, stride=steps, dilation=dilation, bias=True, dimension=len(kernel)
    ).double()
    generator = torch.Generator().manual_seed(case)
    for parameter in layer.parameters():
        values = torch.randint(-4, 5, parameter.shape, generator=generator)
        parameter.data.copy_(values)
    x = random_tensor(len(kernel), 2, stride or own, seed=case)
    return layer, x


def grid_of(case, extent):
    kernel, steps, dilation, own = GEOMETRY[case]
    reach = max(d * k for k, d in zip(kernel, dilation)) - 1
    return sites.Grid(len(kernel), own, own * math.lcm(*steps), own * (reach + extent))


def assert_same(layer, x, found, expected):
    """Compares features and the gradients of features, kernel and bias."""
    assert torch.equal(found, expected)
    grad = torch.randint(-4, 5, found.shape, generator=torch.Generator().manual_seed(1)).double()
    inputs = x.F, layer.kernel, layer.bias
    of_found = torch.autograd.grad(found, inputs, grad)
    of_expected = torch.autograd.grad(expected, inputs, grad)
    for name, a, b in zip(("features", "kernel", "bias"), of_found, of_expected):
        assert torch.equal(a, b), name


@pytest.mark.parametrize("case", range(len(GEOMETRY)))
def test_convolution(case):
    kernel, steps, dilation, own = GEOMETRY[case]
    layer, x = layer_and_input(ME.MinkowskiConvolution, case)
    output = layer(x)
    if any(step > 1 for step in steps):
        assert torch.equal(output.C, sites.floors(x.C, torch.tensor(steps).int() * own))
    else:
        assert output.coordinate_map_key == x.coordinate_map_key
    grid = grid_of(case, 4)
    weights = layer.kernel.view(-1, 2, 3)
    dense = sites.dense_convolution(grid.dense(x.C, x.F), weights, kernel, dilation)
    assert_same(layer, x, output.F, grid.read(dense, output.C) + layer.bias)


@pytest.mark.parametrize("is_generative", [False, True])
@pytest.mark.parametrize(
    "case", [case for case, each in enumerate(GEOMETRY) if any(step > 1 for step in each[1])]
)
def test_transposed_convolution(case, is_generative):
    """The transposed convolution is the gradient of a convolution of the fine sites."""
    kernel, steps, dilation, own = GEOMETRY[case]
    make = ME.MinkowskiConvolutionTranspose
    if is_generative:
        make = ME.MinkowskiGenerativeConvolutionTranspose
    layer, x = layer_and_input(make, case, stride=1)
    strides = [step * own for step in steps]
    rows = x.C.clone()
    rows[:, 1:] *= torch.tensor(strides, dtype=torch.int32)
    x = ME.SparseTensor(x.F, coordinates=rows, tensor_stride=strides)
    output = layer(x)
    assert output.tensor_stride == [own] * len(kernel)
    assert torch.equal(output.C, sites.reached(rows, kernel, dilation, own))
    grid = grid_of(case, 3 * max(steps))
    fine = grid.dense(rows, torch.zeros(len(rows), 3, dtype=torch.float64)).requires_grad_()
    weights = layer.kernel.view(-1, 2, 3).transpose(1, 2)
    coarse = grid.read(sites.dense_convolution(fine, weights, kernel, dilation), rows)
    (dense,) = torch.autograd.grad(coarse, fine, x.F, create_graph=True)
    assert_same(layer, x, output.F, grid.read(dense, output.C) + layer.bias)


@pytest.mark.parametrize("steps", [1, 2])
def test_expanded_convolution(steps):
    """Even sizes: sites at + offset have values of - offset, as in MinkowskiEngine."""
    x = random_tensor(2, 2)
    layer = ME.MinkowskiConvolution(
        2, 3, kernel_size=3, stride=steps, expand_coordinates=True, dimension=2
    ).double()
    layer.kernel.data.copy_(torch.arange(54).view(9, 2, 3))
    output = layer(x)
    rows = sites.reached(x.C, (3, 3), (1, 1), 1)
    assert torch.equal(output.C, rows[(rows[:, 1:] % steps == 0).all(1)])
    grid = sites.Grid(2, 1, 1, 6)
    dense = sites.dense_convolution(grid.dense(x.C, x.F), layer.kernel, (3, 3), (1, 1))
    assert torch.equal(output.F, grid.read(dense, output.C))


def test_cross():
    x = random_tensor(3, 2)
    generator = ME.KernelGenerator(3, region_type=ME.RegionType.HYPER_CROSS, dimension=3)
    layer = ME.MinkowskiConvolution(2, 3, kernel_generator=generator, dimension=3).double()
    assert layer.kernel.shape == (7, 2, 3)
    layer.kernel.data.copy_(torch.arange(42).view(7, 2, 3))
    cube = torch.zeros(27, 2, 3, dtype=torch.float64)
    # The center, then + and - of each axis.
    cube[[13, 14, 12, 16, 10, 22, 4]] = layer.kernel.detach()
    other = ME.MinkowskiConvolution(2, 3, kernel_size=3, dimension=3).double()
    other.kernel.data.copy_(cube)
    assert torch.equal(layer(x).F, other(x).F)


def test_channelwise_convolution():
    x = random_tensor(2, 3)
    layer = ME.MinkowskiChannelwiseConvolution(3, kernel_size=3, stride=2, bias=True, dimension=2)
    layer = layer.double()
    other = ME.MinkowskiConvolution(3, 3, kernel_size=3, stride=2, dimension=2).double()
    other.kernel.data.copy_(torch.diag_embed(layer.kernel.detach()))
    found, expected = layer(x), other(x).F + layer.bias
    torch.testing.assert_close(found.F, expected, rtol=1e-12, atol=1e-12)
    assert found.tensor_stride == [2, 2]


def test_parameters():
    make = ME.MinkowskiConvolution
    assert make(2, 3, kernel_size=1, dimension=3).kernel.shape == (2, 3)
    assert make(2, 3, kernel_size=1, stride=(1, 2), dimension=2).kernel.shape == (1, 2, 3)
    layer = make(4, 9, kernel_size=(3, 2), bias=True, dimension=2)
    assert layer.kernel.shape == (6, 4, 9) and layer.bias.shape == (1, 9)
    assert list(layer.state_dict()) == ["kernel", "bias"]
    assert 0.9 / 24**0.5 < layer.kernel.abs().max() <= 1 / 24**0.5
    transposed = ME.MinkowskiConvolutionTranspose(4, 9, kernel_size=2, stride=2, dimension=2)
    assert 0.9 / 36**0.5 < transposed.kernel.abs().max() <= 1 / 36**0.5
    text = "MinkowskiConvolution(in=4, out=9, kernel_size=[3, 2], stride=[1, 1], dilation=[1, 1])"
    assert str(layer) == text
    # A generator takes the place of the sizes.
    generator = ME.KernelGenerator(3, stride=2, dimension=2)
    layer = make(2, 3, kernel_size=5, kernel_generator=generator, dimension=2)
    assert layer.kernel.shape == (9, 2, 3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_element_types(dtype):
    x = random_tensor(3, 4)
    layer = ME.MinkowskiConvolution(4, 5, kernel_size=3, bias=True, dimension=3)
    expected = layer.double()(x).F
    layer.to(dtype)
    narrow = ME.SparseTensor(
        x.F.detach().to(dtype),
        coordinate_map_key=x.coordinate_map_key,
        coordinate_manager=x.coordinate_manager,
    )
    found = layer(narrow).F
    assert found.dtype is dtype
    tolerance = 0.1 if dtype is torch.bfloat16 else 0.02
    torch.testing.assert_close(found.double(), expected, rtol=tolerance, atol=tolerance)


def test_autocast():
    x = random_tensor(2, 4).float()
    layer = ME.MinkowskiConvolution(4, 5, kernel_size=3, bias=True, dimension=2)
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(x).F.dtype is torch.bfloat16
        point = ME.MinkowskiConvolution(4, 5, kernel_size=1, dimension=2)
        assert point(x).F.dtype is torch.bfloat16
    layer(x).F.sum().backward()
    assert layer.kernel.grad.dtype is torch.float32


def test_second_derivatives():
    x = random_tensor(2, 2, count=8)
    layer, _ = layer_and_input(ME.MinkowskiConvolution, 4)
    kernel = layer.kernel.detach().requires_grad_()
    del layer._parameters["kernel"]

    def of_inputs(values, kernel):
        layer.kernel = kernel
        return layer(x._with(values)).F

    assert torch.autograd.gradcheck(of_inputs, (x.F, kernel))
    assert torch.autograd.gradgradcheck(of_inputs, (x.F, kernel))


def test_a_tensor_without_sites():
    x = random_tensor(2, 2)
    with pytest.warns(UserWarning, match="mask is False"):
        nothing = ME.MinkowskiPruning()(x, torch.zeros(len(x), dtype=torch.bool))
    for stride in (1, 2):
        layer = ME.MinkowskiConvolution(2, 3, kernel_size=3, stride=stride, dimension=2).double()
        assert layer(nothing).shape == (0, 3)
    up = ME.MinkowskiGenerativeConvolutionTranspose(2, 3, kernel_size=2, dimension=2).double()
    assert up(nothing).shape == (0, 3)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: ME.MinkowskiConvolution(2, 3, kernel_size=3), "dimension is None"),
        (lambda: ME.MinkowskiConvolution(2, 3, dimension=2), "kernel_size is"),
        (lambda: ME.MinkowskiConvolution(2, 3, kernel_size=(3, 3), dimension=3), "kernel_size is"),
        (lambda: ME.MinkowskiConvolution(2, 3, kernel_size=3, stride=0, dimension=3), "stride is"),
        (lambda: ME.KernelGenerator(2, region_type=ME.RegionType(1), dimension=2), "odd sizes"),
        (lambda: ME.KernelGenerator(2, axis_types=[0, 0], dimension=2), "axis_types"),
        (lambda: ME.KernelGenerator(2, region_type=0, dimension=2), "region_type is 0"),
    ],
)
def test_refused_parameters(make, text):
    with pytest.raises(MluOpError, match=text):
        make()


def test_refused_inputs():
    x = random_tensor(2, 2)
    convolution = ME.MinkowskiConvolution(2, 3, kernel_size=3, dimension=2).double()
    with pytest.raises(MluOpError, match="the input is a Tensor, expected a SparseTensor"):
        convolution(x.F)
    with pytest.raises(MluOpError, match="2 channels, expected 3"):
        ME.MinkowskiConvolution(3, 3, kernel_size=3, dimension=2).double()(x)
    with pytest.raises(MluOpError, match="dimension 2, expected 3"):
        ME.MinkowskiConvolution(2, 3, kernel_size=3, dimension=3).double()(x)
    with pytest.raises(MluOpError, match="coordinates is a str"):
        convolution(x, "sites")
    with pytest.raises(MluOpError, match=r"tensor stride is \[1, 1\], expected multiples"):
        up = ME.MinkowskiConvolutionTranspose(2, 3, kernel_size=2, stride=2, dimension=2)
        up.double()(x)
    offsets = torch.zeros(3, 2, dtype=torch.int32)
    custom = ME.KernelGenerator(
        region_type=ME.RegionType.CUSTOM, region_offsets=offsets, dimension=2
    )
    layer = ME.MinkowskiConvolution(2, 3, kernel_generator=custom, dimension=2).double()
    assert layer.kernel.shape == (3, 2, 3)
    with pytest.raises(MluOpError, match="RegionType.CUSTOM"):
        layer(x)
