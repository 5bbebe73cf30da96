"""spconv's layers of one to four dimensions against dense PyTorch, training and evaluating, and
against spconv itself on one thread.
"""

from __future__ import annotations

import cases
import pytest
import torch
import torch.nn.functional as F

spconv = pytest.importorskip("spconv.pytorch", reason="requires spconv")
from cumm import tensorview as tv  # noqa: E402
from spconv.core import ConvAlgo  # noqa: E402
from spconv.pytorch import ops  # noqa: E402
from spconv.pytorch.conv import SparseConvolution  # noqa: E402
from spconv.pytorch.utils import PointToVoxel  # noqa: E402

import mluop_omp.spconv  # noqa: E402

mluop_omp.spconv.install()
SPACE = (5, 4, 6, 3)
TOLERANCES = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 2e-2}
CONVOLUTIONS = {
    "submanifold": ("SubMConv", {"kernel_size": 3}),
    "dilated submanifold": ("SubMConv", {"kernel_size": 3, "dilation": 2}),
    "uneven submanifold": ("SubMConv", {"kernel_size": (3, 1, 5, 1)}),
    "uneven": ("SparseConv", {"kernel_size": (3, 1, 1, 2), "stride": (2, 1, 1, 1)}),
    "strided": ("SparseConv", {"kernel_size": 3, "stride": 2, "padding": 1}),
    "transposed": ("SparseConvTranspose", {"kernel_size": 3, "stride": 2, "padding": 1}),
}


def sparse(features, indices, space, batch_size=1):
    indices = torch.as_tensor(indices, dtype=torch.int32)
    return spconv.SparseConvTensor(features, indices, list(space), batch_size)


def random_input(axes, dtype):
    space = SPACE[:axes]
    cells = torch.randperm(2 * torch.Size(space).numel(), generator=cases.generator())[:9]
    features = cases.floats(len(cells), 3).to(dtype).requires_grad_()
    return sparse(features, torch.stack(torch.unravel_index(cells, (2, *space)), 1), space, 2)


def active(tensor):
    """Returns 1 at the sites of a tensor, and 0 elsewhere."""
    ones = torch.ones(len(tensor.indices), 1, dtype=torch.float64)
    return sparse(ones, tensor.indices, tensor.spatial_shape, tensor.batch_size).dense()


def convolve(x, weight, bias, module):
    """The dense convolution, of any number of axes up to 4, as a sum over the offsets."""
    axes, stride = module.ndim, module.stride
    offsets = torch.cartesian_prod(*map(torch.arange, module.kernel_size)).view(-1, axes).tolist()
    pad = module.padding
    if module.subm:
        pad = [k // 2 * d for k, d in zip(module.kernel_size, module.dilation)]
    space = x.shape[2:]
    if module.transposed:
        out = [
            (n - 1) * s - 2 * p + k for n, s, p, k in zip(space, stride, pad, module.kernel_size)
        ]
    else:
        out = [
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, s, p, k, d in zip(space, stride, pad, module.kernel_size, module.dilation)
        ]
    y = x.new_zeros(x.shape[0], weight.shape[0], *out)
    for offset in offsets:
        matrix = weight[(slice(None), *offset)]
        sources, targets = [], []
        for axis in range(axes):
            shift = offset[axis] * module.dilation[axis] - pad[axis]
            o = torch.arange(out[axis] if not module.transposed else space[axis])
            other = o * stride[axis] + shift
            valid = (other >= 0) & (other < (out if module.transposed else space)[axis])
            pair = other[valid], o[valid]
            sources.append(pair[module.transposed])
            targets.append(pair[not module.transposed])
        source = x[(slice(None), slice(None), *torch.meshgrid(*sources, indexing="ij"))]
        product = torch.einsum("bi...,oi->bo...", source, matrix)
        index = (slice(None), slice(None), *torch.meshgrid(*targets, indexing="ij"))
        y = y.index_put(_full(y, index), product, accumulate=True)
    return y + bias.view(-1, *[1] * axes)


def _full(y, index):
    batch, channel = torch.arange(y.shape[0]), torch.arange(y.shape[1])
    axes = index[2:]
    lead = [1] * axes[0].dim()
    return (batch.view(-1, 1, *lead), channel.view(1, -1, *lead), *axes)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("kind", CONVOLUTIONS)
@pytest.mark.parametrize("axes", [1, 2, 3, 4])
def test_convolutions(axes, kind, dtype, training, table):
    torch.manual_seed(0)
    name, arguments = CONVOLUTIONS[kind]
    arguments = {key: n[:axes] if isinstance(n, tuple) else n for key, n in arguments.items()}
    module = getattr(spconv, f"{name}{axes}d")(3, 4, **arguments).to(dtype).train(training)
    torch.nn.init.uniform_(module.bias)
    x = random_input(axes, dtype)
    y = module(x)
    dense = x.dense().double(), module.weight.double(), module.bias.double()
    expected = convolve(*dense, module) * active(y)
    variables = [x.features, module.weight, module.bias]
    tolerance = {"rtol": TOLERANCES[dtype], "atol": TOLERANCES[dtype]}
    torch.testing.assert_close(y.dense().double(), expected, **tolerance)
    gradients = torch.autograd.grad(y.dense().double().square().sum(), variables)
    expected_gradients = torch.autograd.grad(expected.square().sum(), variables)
    scale = max(float(each.abs().max()) for each in expected_gradients)
    for a, e in zip(gradients, expected_gradients):
        torch.testing.assert_close(a.double() / scale, e.double() / scale, **tolerance)
    table.add(f"spconv {kind}", f"{axes}-D", True)


def test_the_dense_convolution_of_these_tests_is_that_of_pytorch():
    x, bias = cases.floats(2, 3, 5, 4), cases.floats(4)
    regular = spconv.SparseConv2d(3, 4, 3, 2, 1)
    expected = F.conv2d(x, regular.weight.permute(0, 3, 1, 2), bias, 2, 1)
    torch.testing.assert_close(convolve(x, regular.weight, bias, regular), expected)
    transposed = spconv.SparseConvTranspose2d(3, 4, 3, 2, 1)
    expected = F.conv_transpose2d(x, transposed.weight.permute(3, 0, 1, 2), bias, 2, 1)
    torch.testing.assert_close(convolve(x, transposed.weight, bias, transposed), expected)


@pytest.fixture
def one_thread():
    """Sets the number of threads of PyTorch, and restores it."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("subm", [True, False])
def test_the_rulebooks_of_spconv_are_understood(subm, monkeypatch, one_thread):
    """Pairs of submanifold convolutions lack the middle offset and half of the numbers."""
    # spconv's backward on the CPU asks for the current CUDA stream.
    monkeypatch.setattr(ops, "get_current_stream", lambda: 0)
    triple, space = [1, 1, 1], list(cases.SPACE)
    geometry = ([3, 3, 3], triple, triple, triple, [0, 0, 0], subm)
    arguments = (cases.sites(), 2, space, ConvAlgo.Native, *geometry)
    sites, pairs, num = ops.get_indice_pairs.original(*arguments)
    features, filters = cases.floats(20, 4), cases.floats(6, 3, 3, 3, 4)
    call = (features, filters, pairs, num, len(sites), False, subm)
    torch.testing.assert_close(ops.indice_conv(*call), ops.indice_conv.original(*call))
    call = (features, filters, cases.floats(len(sites), 6), pairs, num, False, subm)
    found, expected = ops.indice_conv_backward(*call), ops.indice_conv_backward.original(*call)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_the_inverse_convolution_is_the_transpose():
    torch.manual_seed(0)
    forward = spconv.SparseConv3d(4, 6, 3, 2, 1, bias=False, indice_key="down")
    inverse = spconv.SparseInverseConv3d(6, 4, 3, indice_key="down", bias=False)
    with torch.no_grad():
        inverse.weight.copy_(forward.weight.transpose(0, 4))
    features = cases.floats(20, 4).requires_grad_()
    input = sparse(features, cases.sites(), cases.SPACE, 2)
    down = forward(input)
    y = cases.floats(*down.features.shape).requires_grad_()
    up = inverse(down.replace_feature(y))
    torch.testing.assert_close((up.features * input.features).sum(), (down.features * y).sum())
    assert torch.equal(up.indices, input.indices)
    (up.features * input.features.detach()).sum().backward()
    torch.testing.assert_close(y.grad, down.features.detach(), rtol=1e-4, atol=1e-4)


def test_the_same_bits_at_any_number_of_threads(one_thread):
    torch.manual_seed(0)
    cells = torch.randperm(40**3)[:12000]
    indices = torch.stack((cells * 0, *torch.unravel_index(cells, (40, 40, 40))), 1)
    module = spconv.SubMConv3d(16, 16, 3)
    x = sparse(torch.randn(12000, 16), indices, (40, 40, 40))
    expected = module(x).features
    for threads in (2, 3):
        torch.set_num_threads(threads)
        assert torch.equal(module(x).features, expected)


@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("axes", [1, 2, 3, 4])
def test_repeated_sites_are_their_own_centers(axes, dilation):
    module = getattr(spconv, f"SubMConv{axes}d")(1, 1, 3, bias=False, dilation=dilation)
    with torch.no_grad():
        module.weight.zero_()
        module.weight.view(-1)[module.weight.numel() // 2] = 1
    indices = [[0] + [1] * axes, [0] + [1] * axes, [0] + [1] * (axes - 1) + [2]]
    features = torch.tensor([[1.0], [10.0], [100.0]])
    assert module(sparse(features, indices, [4] * axes)).features.flatten().tolist() == [1, 10, 100]


@pytest.mark.parametrize(
    ("columns", "features", "expected"),
    [([1, 1, 2], [1, 10, 100], [605, 650, 544]), ([1, 2, 2], [100, 1, 10], [506, 405, 50])],
)
def test_repeated_sites_are_those_of_spconv(columns, features, expected):
    """The values of spconv's own kernels, with the weights 1 to 9."""
    module = spconv.SubMConv2d(1, 1, 3, bias=False)
    with torch.no_grad():
        module.weight.copy_(torch.arange(1.0, 10).view(1, 3, 3, 1))
    indices = [[0, 1, column] for column in columns]
    x = sparse(torch.tensor(features).float().unsqueeze(1), indices, (4, 4))
    assert module(x).features.flatten().tolist() == expected


def test_more_rows_than_cells():
    module = spconv.SubMConv2d(1, 1, 3, bias=False)
    y = module(sparse(torch.ones(5, 1), [[0, 0, 0]] * 5, (1, 2)))
    torch.testing.assert_close(y.features, module.weight[0, 1, 1].expand(5, 1))


@pytest.mark.parametrize("subm", [True, False])
@pytest.mark.parametrize("activation", ["ReLU", "LeakyReLU", "Sigmoid", "None_"])
def test_activations_of_the_evaluation_mode(subm, activation):
    torch.manual_seed(0)
    act_type = getattr(tv.gemm.Activation, activation)
    function = {
        "ReLU": F.relu,
        "LeakyReLU": lambda values: F.leaky_relu(values, 0.25),
        "Sigmoid": torch.sigmoid,
        "None_": lambda values: values,
    }[activation]
    module = SparseConvolution(2, 3, 4, 3, 1, 1, subm=subm, act_type=act_type, act_alpha=0.25)
    module.eval()
    torch.nn.init.uniform_(module.bias)
    x = random_input(2, torch.float32)
    y = module(x)
    weight = module.weight.permute(0, 3, 1, 2)
    expected = function(F.conv2d(x.dense(), weight, module.bias, padding=1)) * active(y).float()
    torch.testing.assert_close(y.dense(), expected)
    variables = [x.features, module.weight, module.bias]
    torch.testing.assert_close(
        torch.autograd.grad(y.dense().square().sum(), variables),
        torch.autograd.grad(expected.square().sum(), variables),
    )


def test_the_maximum_of_negative_windows():
    features = torch.tensor([[-1.0], [-2.0], [3.0], [3.0]], requires_grad=True)
    x = sparse(features, [[0, 0, 0], [0, 0, 1], [0, 2, 2], [0, 3, 3]], (4, 4))
    y = spconv.SparseMaxPool2d(2, 2)(x)
    assert y.features.flatten().tolist() == [-1, 3]
    y.features.sum().backward()
    assert features.grad.flatten().tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_the_average_of_active_sites(dtype, training):
    features = torch.tensor([[1.0], [3.0], [10.0]], dtype=dtype, requires_grad=True)
    x = sparse(features, [[0, 0, 0], [0, 0, 1], [0, 3, 3]], (4, 4))
    y = spconv.SparseAvgPool2d(2, 2).train(training)(x)
    assert y.features.flatten().tolist() == [2, 10]
    y.features.sum().backward()
    assert features.grad.flatten().tolist() == [0.5, 0.5, 1]


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_average_pools_of_all_dimensions(axes):
    indices = [[0] + [0] * axes, [0] + [1] * axes]
    x = sparse(torch.tensor([[1.0], [2.0]]), indices, [4] * axes)
    assert getattr(spconv, f"SparseAvgPool{axes}d")(2, 2)(x).features.item() == 1.5


def test_global_pools():
    features = torch.tensor([[1.0, 5], [3, 2], [10, 0]], requires_grad=True)
    x = sparse(features, [[0, 0, 0], [1, 0, 1], [0, 3, 3]], (4, 4), 2)
    maxima = spconv.SparseGlobalMaxPool()(x)
    assert maxima.tolist() == [[10, 5], [3, 2]]
    maxima.sum().backward()
    assert features.grad.tolist() == [[0, 1], [1, 1], [1, 0]]
    # spconv returns the average of the first channel.
    assert spconv.SparseGlobalAvgPool()(x).tolist() == [5.5, 3]
    of_page = sparse(torch.tensor([[1.0, 10], [3, 30]]), [[0, 0, 0], [0, 0, 1]], (4, 4))
    assert spconv.SparseGlobalAvgPool()(of_page).tolist() == [2]


def test_other_algorithms_are_this_one():
    implicit = ConvAlgo.MaskImplicitGemm
    assert spconv.SubMConv3d(3, 4, 3, algo=implicit).algo is ConvAlgo.Native
    assert spconv.SparseMaxPool3d(2, algo=implicit).algo is ConvAlgo.Native


def test_even_kernels_are_refused_by_spconv():
    with pytest.raises(RuntimeError, match=r"ksize\[i\] % 2 == 1"):
        spconv.SubMConv2d(1, 1, 2)(sparse(torch.ones(1, 1), [[0, 0, 0]], (2, 2)))


@pytest.mark.parametrize("axes", [1, 2, 3, 4])
def test_a_site_outside_the_space_is_refused(axes):
    module = getattr(spconv, f"SparseConv{axes}d")(1, 1, 3)
    for site in ([1] + [0] * axes, [0] * axes + [4], [0] * axes + [-1]):
        with pytest.raises(mluop_omp.MluOpError, match=r"indices\[0\] is \["):
            module(sparse(torch.ones(1, 1), [site], [4] * axes))


def test_empty_places_of_voxels_hold_the_mean():
    points = torch.tensor([[0.5, 0.5, 0.5, 1], [0.6, 0.5, 0.5, 3], [3.5, 0.5, 0.5, 7]])
    generate = PointToVoxel([1, 1, 1], [0, 0, 0, 4, 4, 4], 4, 10, 3)
    voxels, _, num = generate(points, empty_mean=True)
    assert num.tolist() == [2, 1]
    torch.testing.assert_close(voxels[0], torch.stack((points[0], points[1], points[:2].mean(0))))
    torch.testing.assert_close(voxels[1], points[2].expand(3, 4))


def test_the_convolutions_of_point_transformer_v3():
    stem = spconv.SubMConv3d(3, 8, kernel_size=5, padding=1, bias=False, indice_key="stem")
    position = spconv.SubMConv3d(8, 8, kernel_size=3, bias=True, indice_key="stage0")
    project = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.LayerNorm(8))
    modules = torch.nn.ModuleList([stem, position, project]).double()

    def forward(x):
        x = stem(x)
        encoded = position(x)
        return encoded.replace_feature(x.features + project(encoded.features)).features

    x = random_input(3, torch.float64)
    trained = forward(x)
    trained.square().sum().backward()
    assert all(parameter.grad.any() for parameter in (stem.weight, position.weight, position.bias))
    modules.eval()
    torch.testing.assert_close(forward(x), trained)
    first = convolve(x.dense(), stem.weight, torch.zeros(8).double(), stem) * active(x)
    cells = tuple(x.indices.long().unbind(1))
    rows = first.movedim(1, -1)[cells]
    second = (convolve(first, position.weight, position.bias, position) * active(x)).movedim(1, -1)
    torch.testing.assert_close(trained, rows + project(second[cells]))
