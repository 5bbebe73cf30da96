"""Tensors, their sums and batches, layers other than convolutions, and backbones."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import torch
from torch import nn
from torchsparse_cases import dense, integers, layer, sites, sites_of, tensor

from mluop_omp import MluOpError, no_cuda


def caches(x):
    return (x._caches,) if x._batch == 0 else (x.cmaps, x.kmaps)


def test_attributes(any_version):
    x = any_version.ts.SparseTensor(torch.ones(3, 2), torch.zeros(3, 4).int(), [2, 2, 1])
    assert x.F is x.feats and x.C is x.coords and x.s == x.stride == (2, 2, 1)
    x.F, x.C, x.s = torch.zeros(3, 1), x.C + 1, 4
    assert x.feats.shape == (3, 1) and x.coords.sum() == 12 and x.stride == (4, 4, 4)
    assert x.to("cpu") is x and x.cpu() is x and x.detach() is x
    assert x.half() is x and x.F.dtype is torch.float16
    with no_cuda():
        assert x.cuda() is x and x.F.is_cpu
    assert "stride=(4, 4, 4)" in repr(x)
    assert torch.equal(pickle.loads(pickle.dumps(x)).F, x.F)
    with pytest.raises(MluOpError, match="expected an integer or 3 of them"):
        any_version.ts.SparseTensor(x.F, x.C, (1, 2))


def test_sums_and_concatenations_have_the_sites_of_the_first(any_version):
    x, y = (tensor(any_version, sites(0, 3, 5), integers(5, 2), 2) for _ in range(2))
    for z, feats in [(x + y, x.F + y.F), (any_version.ts.cat([x, y]), torch.cat([x.F, y.F], 1))]:
        assert torch.equal(z.F, feats) and z.C is x.C and z.s == (2, 2, 2)
        assert all(a is b for a, b in zip(caches(z), caches(x)))


def test_spatial_range_of_2_1(batch_first):
    cells, feats = sites(0, 3, 9), integers(9, 2).requires_grad_()
    x = tensor(batch_first, cells, feats, spatial_range=(2, 3, 4, 5))
    assert batch_first.ts.cat([x, x]).spatial_range is None
    volume = (x + x).dense()
    expected = torch.zeros(2, 3, 4, 5, 2).double().index_put(tuple(cells.unbind(1)), 2 * feats)
    assert torch.equal(volume, expected)
    assert torch.equal(batch_first.utils.to_dense(feats, cells, (2, 3, 4, 5)) * 2, volume)
    volume.sum().backward()
    assert (feats.grad == 2).all()
    with pytest.raises(MluOpError, match="coords"):
        tensor(batch_first, cells, feats, spatial_range=(1, 3, 4, 5)).dense()
    with pytest.raises(MluOpError, match="spatial_range is None"):
        tensor(batch_first, cells, feats).dense()


def test_generative_sums_of_2_1(batch_first):
    x = tensor(batch_first, torch.tensor([[0, 5, 0, 0], [0, -1, 0, 0]]), integers(2, 3))
    y = tensor(
        batch_first, torch.tensor([[0, 2, 0, 0], [0, 5, 0, 0], [1, 5, 0, 0]]), integers(3, 3)
    )
    z = batch_first.operators.generative_add(x, y)
    assert z.C.tolist() == [[0, -1, 0, 0], [0, 2, 0, 0], [0, 5, 0, 0], [1, 5, 0, 0]]
    assert torch.equal(z.F, torch.stack([x.F[1], y.F[0], x.F[0] + y.F[1], y.F[2]]))
    assert z._caches is y._caches


def test_shared_caches_of_2_1(batch_first):
    cache = batch_first.utils_tensor_cache
    make = batch_first.ts.SparseTensor
    arguments = torch.ones(1, 1), torch.zeros(1, 4).int()
    assert make(*arguments)._caches is not make(*arguments)._caches
    cache.set_tensor_cache_mode(cache.TensorCacheMode.GLOBAL_TENSOR_CACHE)
    try:
        first = make(*arguments)._caches
        assert first is make(*arguments)._caches is cache.get_global_tensor_cache()
        cache.clear_global_tensor_cache()
        assert make(*arguments)._caches is not first
        cache.set_global_tensor_cache(first)
        assert make(*arguments)._caches is first
    finally:
        cache.set_tensor_cache_mode(cache.TensorCacheMode.SEPARATE_TENSOR_CACHE)
        cache.clear_global_tensor_cache()
    assert cache.get_tensor_cache_mode() is cache.TensorCacheMode.SEPARATE_TENSOR_CACHE
    with pytest.raises(MluOpError, match="mode is 1"):
        cache.set_tensor_cache_mode(1)


def test_point_tensors(any_version):
    x = any_version.tensor.PointTensor(torch.ones(2, 1), torch.zeros(2, 4))
    assert x.idx_query == x.weights == {}
    assert x.additional_features == {"idx_query": {}, "counts": {}}
    y = x + x
    assert y.F.tolist() == [[2], [2]] and y.C is x.C and y.idx_query is x.idx_query
    assert y.additional_features is x.additional_features
    assert x.to("cpu") is x and x.detach() is x
    with no_cuda():
        assert x.cuda() is x


def test_layers_of_features(any_version):
    functional, nn_of = any_version.F, any_version.nn
    x = tensor(any_version, sites(0, 4, 20), torch.randn(20, 4), 2)
    pairs = [
        (nn_of.ReLU(True), nn.ReLU(), functional.relu),
        (nn_of.LeakyReLU(0.1), nn.LeakyReLU(0.1), functional.leaky_relu),
        (nn_of.SiLU(), nn.SiLU(), functional.silu),
        (nn_of.BatchNorm(4), nn.BatchNorm1d(4), None),
        (nn_of.InstanceNorm(20), nn.InstanceNorm1d(20), None),
    ]
    for ours, expected, function in pairs:
        right = expected(x.F)
        for call in filter(None, (ours, function)):
            y = call(copy.copy(any_version.nn_utils.fapply(x, torch.clone)))
            assert torch.equal(y.F, right) and y.C is x.C and y.s == x.s
            assert all(a is b for a, b in zip(caches(y), caches(x)))
    assert list(nn_of.BatchNorm(4).state_dict()) == list(nn.BatchNorm1d(4).state_dict())
    doubled = any_version.nn_utils.fapply(x, torch.mul, other=2)
    assert torch.equal(doubled.F, x.F * 2)


def test_group_norm_is_of_each_batch(any_version):
    cells, feats = sites(-2, 3, 30, 3), torch.randn(30, 6).double().requires_grad_()
    norm = any_version.nn.GroupNorm(3, 6).double()
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    output = norm(tensor(any_version, cells, feats)).F
    expected = torch.zeros_like(output)
    for batch in range(3):
        own = cells[:, 0] == batch
        part = feats[own].t().unsqueeze(0)
        expected[own] = nn.functional.group_norm(part, 3, norm.weight, norm.bias)[0].t()
    torch.testing.assert_close(output, expected)
    grad, variables = torch.randn(30, 6).double(), [feats, *norm.parameters()]
    torch.testing.assert_close(
        *(torch.autograd.grad(each, variables, grad) for each in (output, expected))
    )
    assert norm(tensor(any_version, cells[:0], feats[:0])).F.shape == (0, 6)


def test_global_pools(any_version):
    cells, feats = sites(-2, 3, 30, 3), integers(30, 4).requires_grad_()
    x = tensor(any_version, cells, feats)
    parts = [feats[cells[:, 0] == batch] for batch in range(3)]
    means, maxima = any_version.nn.GlobalAvgPool()(x), any_version.nn.GlobalMaxPool()(x)
    torch.testing.assert_close(means, torch.stack([part.mean(0) for part in parts]))
    torch.testing.assert_close(maxima, torch.stack([part.amax(0) for part in parts]))
    (found,) = torch.autograd.grad(means.sum() + maxima.sum(), feats)
    torch.testing.assert_close(found.sum(), torch.tensor(24.0).double())
    gap = tensor(any_version, torch.tensor([[0, 1, 1, 1], [2, 1, 1, 1]]), integers(2, 4))
    assert any_version.F.global_avg_pool(gap).isnan().all(1).tolist() == [False, True, False]
    with pytest.raises(MluOpError, match="batch 1 has no sites"):
        any_version.F.global_max_pool(gap)
    none = tensor(any_version, cells[:0], feats[:0])
    assert any_version.F.global_avg_pool(none).shape == (0, 4)
    assert any_version.F.global_max_pool(none).shape == (0, 4)


def test_crops(any_version):
    cells, feats = sites(-3, 4, 60), integers(60, 2)
    x = tensor(any_version, cells, feats, 2)
    y = any_version.nn.SparseCrop((-1, -2, 0), (2, 3, 3))(x)
    axes = cells[:, 1:]
    inside = ((axes >= torch.tensor([-1, -2, 0])) & (axes < torch.tensor([2, 3, 3]))).all(1)
    assert torch.equal(sites_of(y), cells[inside]) and torch.equal(y.F, feats[inside])
    assert y.s == (2, 2, 2) and len(any_version.F.spcrop(x).F) == 60


def views(names, cells, feats, stride=2):
    """A tensor whose coordinates are multiples of its stride, or divided by it in version 2.1."""
    factor = 1 if names.ts.SparseTensor._batch == 0 else stride
    return tensor(names, cells * torch.tensor([1, *(factor,) * 3]), feats, stride)


def unit(x):
    return 1 if x._batch == 0 else x.s[0]


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_dense_views(dim, any_version):
    cells, feats = sites(0, 4, 50), integers(50, 2).requires_grad_()
    x, shape = views(any_version, cells, feats), (4, 5, 6)
    module = any_version.nn.ToDenseBEVConvolution(2, 3, shape, dim=dim, bias=True).double()
    module.kernel.data, module.bias.data = integers(shape[dim], 2, 3), integers(1, 3)
    volume = dense(cells, feats, [0] * 3, shape).movedim(2 + dim, -1)
    counts = dense(cells, torch.ones(50, 1).double(), [0] * 3, shape).sum(2 + dim)
    expected = torch.einsum("bcxyh,hcd->bdxy", volume, module.kernel) + counts * module.bias.view(
        -1, 1, 1
    )
    output = module(x)
    assert torch.equal(output, expected)
    grads = [
        torch.autograd.grad(each.square().sum(), [feats, module.kernel])
        for each in (output, expected)
    ]
    assert all(map(torch.equal, *grads))
    compression = any_version.nn.ToBEVHeightCompression(2, torch.tensor(shape), dim=dim)
    assert torch.equal(compression(x), volume.permute(0, 4, 1, 2, 3).flatten(1, 2))
    offset = [-unit(x) if axis != dim else 0 for axis in range(3)]
    shifted = any_version.nn.ToBEVHeightCompression(2, [6, 6, 6], offset, dim)(x)
    assert shifted.shape == (2, 12, 6, 6)
    with pytest.raises(MluOpError, match="coords"):
        any_version.nn.ToBEVHeightCompression(2, [3, 3, 3], dim=dim)(x)
    with pytest.raises(MluOpError, match="three extents"):
        any_version.nn.ToBEVHeightCompression(2, [3, 3])


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_sparse_views(dim, any_version):
    cells, feats = sites(0, 4, 50), integers(50, 2)
    x, shape = views(any_version, cells, feats), (4,) * 3
    volume = dense(cells, torch.cat([feats, torch.ones(50, 1)], 1), [0] * 3, shape)
    sums = volume.sum(2 + dim, keepdim=True)
    outputs = (sums[:, 2] > 0).nonzero()
    y = any_version.nn.ToBEVReduction(dim)(x)
    assert (
        torch.equal(sites_of(y), outputs * torch.tensor([1, *(unit(x),) * 3])) and y.s == (2,) * 3
    )
    sums = sums.movedim(1, -1)[tuple(outputs.unbind(1))]
    torch.testing.assert_close(y.F, sums[:, :2] / sums[:, 2:])
    module = any_version.nn.ToBEVConvolution(2, 3, 4, stride=2, dim=dim).double()
    module.kernel.data = integers(4, 2, 3)
    z = module(x)
    coarse = cells.clone()
    coarse[:, 1:] = torch.div(coarse[:, 1:], 2, rounding_mode="floor")
    coarse[:, 1 + dim] = 0
    outputs, rows = coarse.unique(dim=0, return_inverse=True)
    products = (feats.unsqueeze(1) @ module.kernel[cells[:, 1 + dim]]).squeeze(1)
    expected = torch.zeros(len(outputs), 3).double().index_add(0, rows, products)
    assert torch.equal(z.F, expected) and z.s == (4,) * 3
    multiple = 1 if x._batch == 0 else 4
    assert torch.equal(sites_of(z), outputs * torch.tensor([1, *(multiple,) * 3]))
    assert "n_kernels=4" in repr(module) and "dim" in repr(any_version.nn.ToBEVReduction(dim))


def test_backbones(any_version):
    """Shapes, parameters and gradients of the networks of torchsparse.backbones."""
    cells, feats = sites(0, 12, 200), torch.randn(200, 4, requires_grad=True)
    unet = any_version.backbones.SparseResUNet42(in_channels=4, width_multiplier=0.25)
    outputs = unet(tensor(any_version, cells, feats))
    assert [each.F.shape[1] for each in outputs] == [8, 8, 16, 32, 64, 64, 32, 24, 24]
    assert [each.s[0] for each in outputs] == [1, 2, 4, 8, 16, 8, 4, 2, 1]
    assert torch.equal(outputs[-1].C, outputs[0].C)
    outputs[-1].F.sum().backward()
    assert feats.grad.any() and all(p.grad is not None for p in unet.parameters())
    names = {name.rpartition(".")[0] for name in unet.state_dict()}
    assert {
        *("stem.3", "encoders.0.0.1", "encoders.3.1.shortcut.0", "decoders.3.upsample.0"),
        *("decoders.2.fuse.1.main.4", "decoders.0.fuse.0.shortcut.1"),
    } <= names
    resnet = any_version.backbones.SparseResNet21D(in_channels=4, width_multiplier=0.5)
    outputs = resnet(tensor(any_version, cells, feats))
    assert [each.F.shape[1] for each in outputs] == [8, 16, 32, 64, 64]
    assert outputs[-1].s == (8, 16, 8)
    assert {"0.0.0.kernel", "3.2.main.3.kernel", "4.0.1.weight"} <= set(resnet.state_dict())
    block = any_version.backbones_modules.SparseResBlock(4, 4, 3, 2)
    assert [type(each).__name__ for each in block.shortcut][1] == "BatchNorm"


# Batches and quantization.


def test_collate(any_version):
    is_first = any_version.ts.SparseTensor._batch == 0
    make, utils = any_version.ts.SparseTensor, any_version.utils_collate
    coords = [np.array([[1, -2, 3]], np.int32), torch.tensor([[4, 5, 6], [7, 8, 9]]).int()]
    feats = [np.ones((1, 2), np.float32), torch.zeros(2, 2)]
    samples = [
        {
            **{"input": make(f, c, 2), "name": str(i), "array": np.array([i])},
            **{"label": torch.tensor(i), "nested": {"id": torch.tensor([i])}},
        }
        for i, (f, c) in enumerate(zip(feats, coords))
    ]
    batch = utils.sparse_collate_fn(samples)
    x = batch["input"]
    assert type(x) is make and x.s == (2, 2, 2) and x.F.tolist() == [[1, 1], [0, 0], [0, 0]]
    assert (x.C if is_first else x.C[:, [3, 0, 1, 2]]).tolist() == [
        *([0, 1, -2, 3], [1, 4, 5, 6], [1, 7, 8, 9])
    ]
    assert x.C.dtype is torch.int32 and batch["name"] == ["0", "1"]
    assert batch["array"].tolist() == batch["nested"]["id"].tolist() == [[0], [1]]
    assert batch["label"].tolist() == [0, 1] and utils.sparse_collate_fn([1, 2]) == [1, 2]
    samples[0]["input"].s = 4
    with pytest.raises(MluOpError, match=r"inputs\[1\]: stride"):
        utils.sparse_collate([sample["input"] for sample in samples])


def test_quantize(any_version):
    quantize = any_version.utils_quantize.sparse_quantize
    points = np.array([[5.2, 5, -3.1], [5.9, 5.4, -3.9], [7, 5, -3.5]])
    voxels, index, inverse = quantize(points, return_index=True, return_inverse=True)
    is_shifted = any_version.ts.__version__ == "1.4.0"
    expected = [[0, 0, 0], [2, 0, 0]] if is_shifted else [[5, 5, -4], [7, 5, -4]]
    assert voxels.dtype == np.int32 and voxels.tolist() == expected
    assert index.tolist() == [0, 2] and inverse.tolist() == [0, 0, 1]
    assert points[0, 0] == 5.2
    halved = quantize(points[::-1], (2.0, 5, 0.5))
    low = np.floor(points / (2, 5, 0.5)).min(0) if is_shifted else 0
    assert (halved + low).tolist() == [[2, 1, -8], [2, 1, -7], [3, 1, -7]]
    assert quantize(points[:0]).shape == (0, 3)
    for coords, size, message in [
        (points, (1, 2), "voxel_size"),
        (points[:, :2], 1, "coords has shape"),
        (points * 1e10, 1, "32-bit"),
        (points * np.nan, 1, "32-bit"),
    ]:
        with pytest.raises(MluOpError, match=message):
            quantize(coords, size)


def test_a_quantization_that_is_too_wide_to_shift(batch_last):
    wide = np.array([[-(2.0**31), 0, 0], [2.0**31 - 1, 0, 0]])
    if batch_last.ts.__version__ == "1.4.0":
        with pytest.raises(MluOpError, match="more than"):
            batch_last.utils_quantize.sparse_quantize(wide)
    else:
        assert batch_last.utils_quantize.sparse_quantize(wide).shape == (2, 3)


def test_utilities(any_version):
    utils = any_version.utils
    assert utils.make_ntuple(np.int64(2), 3) == utils.make_ntuple(torch.tensor([2, 2, 2]), 3)
    for value in (1.5, "123", (1, 2), None):
        with pytest.raises(MluOpError, match="expected an integer or 3 of them"):
            utils.make_ntuple(value, 3)
    made = utils.make_tensor((1, 2), torch.int32, "cpu")
    assert made.tolist() == [1, 2] and utils.make_divisible(129, 128) == 256
    assert any_version.ts.tune(None, [], save_dir="x") is None
    assert any_version.backends.benchmark is False and any_version.backends.init() is None


def test_options_without_an_effect(batch_first):
    modes, config = (
        batch_first.nn_functional_conv_conv_mode,
        batch_first.nn_functional_conv_conv_config,
    )
    for mode in (0, modes.ConvMode.mode0):
        modes.set_conv_mode(mode)
        assert modes.get_conv_mode() is modes.ConvMode.mode0
    modes.set_kmap_mode(modes.get_kmap_mode())
    modes.set_downsample_mode(modes.get_downsample_mode())
    for function in (modes.set_conv_mode, modes.set_kmap_mode, modes.set_downsample_mode):
        with pytest.raises(MluOpError, match="expected"):
            function("grid")
    options = batch_first.nn_functional_conv_utils.AttributeDict(config._default_conv_config)
    options.ifsort = True
    assert options["ifsort"] and options.copy().dataflow is config.Dataflow.ImplicitGEMM
    del options.ifsort
    assert not hasattr(options, "ifsort") and config.get_global_conv_config() is None
    x = tensor(batch_first, sites(0, 3, 9), integers(9, 1))
    object_of_options = type("Options", (), {})()
    assert layer(batch_first, 1, 1, 3, config=object_of_options)(x).F.shape == (9, 1)
