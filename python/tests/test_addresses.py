"""Clients of kernels without checks: functions of other libraries compute what their kernels for
GPUs read, by address. Loops over flat arrays emulate the addresses here.
"""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest
import torch
from torch.nn.modules.utils import _pair

import mluop_omp
import mluop_omp.pcdet
import mluop_omp.pointnet2
from mluop_omp.torch import functional

ext = importlib.import_module("mluop_omp.mmcv.auto") and sys.modules["mmcv._ext"]
BATCH, STACK = (
    mluop_omp.pcdet._points.BATCH_FUNCTIONS,
    mluop_omp.pcdet._points.STACK_FUNCTIONS,
)
pointnet2 = mluop_omp.pointnet2
B, C, N, M, S = 3, 2, 4, 5, 3
REFUSED = pytest.raises(mluop_omp.MluOpError, match=r"indices\[[\d, ]+\] is -?\d+, expected 0 to")


def ints(*values):
    return torch.tensor(values, dtype=torch.int32)


def writing(function, *sizes):
    """Calls a function that writes or adds to its last tensor, which is zero before."""

    def call(*tensors, shape):
        out = tensors[0].new_zeros(shape)
        function(*sizes, *tensors, out)
        return out

    return call


def functions_of(kind, library):
    """Returns the functions of a library: of features and indices, of gradients and indices."""
    if library == "mmcv":
        return (writing(getattr(ext, f"{kind}_{way}")) for way in ("forward", "backward"))
    if library == "OpenPCDet":
        names = f"{kind}_wrapper", f"{kind}_grad_wrapper"
        return (writing(BATCH[name], *[0] * 5) for name in names)
    forward = pointnet2._FUNCTIONS[kind]
    backward = pointnet2._FUNCTIONS[f"{kind}_grad"]
    return (
        lambda *tensors, shape: forward(*tensors),
        lambda *tensors, shape: backward(*tensors, shape[2]),
    )


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def indices_inside(rng, *shape):
    """Indices of other clouds, at addresses inside [B, C, N] for each channel."""
    low, high = -np.arange(B) * C * N, (B - np.arange(B)) * C * N - (C - 1) * N
    axes = (1,) * (len(shape) - 1)
    found = rng.integers(low.reshape(-1, *axes), high.reshape(-1, *axes), shape)
    assert (found < 0).any() and (found >= N).any()
    return found.astype(np.int32)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("library", ["mmcv", "OpenPCDet", "pointnet2"])
@pytest.mark.parametrize("kind", ["gather_points", "group_points", "three_interpolate"])
def test_batches(kind, library, dtype, rng):
    shape = (B, M) if kind == "gather_points" else (B, M, S)
    indices = indices_inside(rng, *shape)
    rows = (np.arange(B)[:, np.newaxis] * C + np.arange(C)) * N
    addresses = rows.reshape(B, C, *[1] * (len(shape) - 1)) + indices[:, np.newaxis]
    features, grad = torch.randn(B, C, N).to(dtype), torch.randn(B, C, *shape[1:]).to(dtype)
    tensors = [torch.from_numpy(indices)]
    # Sums are of this type, and rounded once.
    computed = torch.promote_types(dtype, torch.float32)
    read, terms = features.to(computed).numpy().ravel()[addresses], grad.to(computed).numpy()
    if kind == "three_interpolate":
        grad = grad[..., 0].contiguous()
        tensors.append(torch.rand(B, M, S).to(dtype))
        weights = tensors[1].to(computed).numpy()[:, np.newaxis]
        first, second, third = np.moveaxis(read * weights, 3, 0)
        read, terms = first + second + third, terms[..., :1] * weights
    sums = np.zeros(B * C * N, read.dtype)
    np.add.at(sums, addresses, terms)
    forward, backward = functions_of(kind, library)
    found = forward(features, *tensors, shape=grad.shape)
    assert torch.equal(found, torch.from_numpy(read).to(dtype))
    found = backward(grad, *tensors, shape=(B, C, N))
    assert torch.equal(found, torch.from_numpy(sums).view(B, C, N).to(dtype))

    with REFUSED:  # Our own functions are strict.
        getattr(functional, kind.replace("group", "gather"))(features, *tensors)
    for b, outside in ((0, -1), (B - 1, N), (0, 2**31 - 1)):
        wrong = np.zeros_like(indices)
        wrong[b] = outside
        for function, tensor, size in (
            (forward, features, grad.shape),
            (backward, grad, (B, C, N)),
        ):
            with REFUSED:
                function(tensor, torch.from_numpy(wrong), *tensors[1:], shape=size)


# Clouds of features, rows of indices; the last row of the second is past the last cloud.
COUNTS = [((3, 0, 4), (2, 2, 1)), ((2, 5), (3, 1)), ((3, 4, 0), (2, 1, 2))]


@pytest.mark.parametrize("library", ["mmcv", "OpenPCDet"])
@pytest.mark.parametrize(("features_counts", "counts"), COUNTS)
def test_stacked_groups(library, features_counts, counts, rng):
    rows, starts = sum(features_counts), np.cumsum(features_counts) - features_counts
    stops, clouds = np.cumsum(counts), len(counts)
    cloud = [min(np.searchsorted(stops, m, side="right"), clouds - 1) for m in range(M)]
    indices = rng.integers(-starts[cloud][:, None], (rows - starts[cloud])[:, None], (M, S))
    is_last = starts[cloud] == rows  # a cloud without points at the end of the tensor
    indices[is_last] = 0
    features, grad = torch.randn(rows, C), torch.randn(M, C, S)
    expected, sums = np.full((M, C, S), 7, np.float32), np.zeros((rows, C), np.float32)
    for m, c, s in np.ndindex(M, C, S):
        row = starts[cloud[m]] + indices[m, s]
        if row < rows:
            sums[row, c] += grad[m, c, s].numpy()
        # mmcv's kernel compares the index of the cloud with the last row of the cloud.
        if library == "OpenPCDet" or indices[m, s] < starts[cloud[m]] + features_counts[cloud[m]]:
            expected[m, c, s] = features[row, c] if row < rows else 0
    tensors = ints(*features_counts), torch.from_numpy(indices.astype(np.int32)), ints(*counts)
    out, found = torch.full((M, C, S), 7.0), torch.zeros(rows, C)
    if library == "mmcv":
        ext.stack_group_points_forward(features, *tensors, out)
        ext.stack_group_points_backward(grad, tensors[1], tensors[2], tensors[0], found)
    else:
        STACK["group_points_wrapper"](clouds, M, C, S, features, *tensors, out)
        arguments = (grad, tensors[1], tensors[2], tensors[0], found)
        STACK["group_points_grad_wrapper"](clouds, M, C, rows, S, *arguments)
    assert np.array_equal(out, expected)
    assert np.array_equal(found, sums)
    with pytest.raises(mluop_omp.MluOpError):
        functional.stack_group_points(features, *tensors)


def test_an_index_past_the_last_cloud_is_refused():
    features, counts, out = torch.randn(6, C), ints(3, 3), torch.full((2, C, 1), 7.0)
    indices = ints([0], [4]), ints(1, 1)
    for function, arguments in (
        (ext.stack_group_points_forward, (features, counts, *indices, out)),
        (STACK["group_points_wrapper"], (2, 2, C, 1, features, counts, *indices, out)),
        (ext.stack_group_points_backward, (out, *indices, counts, features)),
    ):
        with REFUSED:
            function(*arguments)
    assert (out == 7).all()


def test_stacked_groups_of_mmcv(monkeypatch):
    """The sizes of mmcv's test: indices up to 9 in clouds of 3 points."""
    from mmcv.ops import grouping_operation

    indices = [0, 3, 8, 1, 0, 2, 0, 6, 9, 0, 1, 0]
    features = torch.randn(6, 10, requires_grad=True)
    tensors = ints(*[[i] * 3 for i in indices]), ints(3, 3), ints(6, 6)
    output = grouping_operation(features, *tensors)
    for m, index in enumerate(indices):
        start, stop = (0, 3) if m < 6 else (3, 6)
        expected = features[start + index] if index < stop else torch.zeros(10)
        assert torch.equal(output[m], expected.unsqueeze(1).expand(-1, 3))


def test_a_query_of_clouds_without_points():
    """As OpenPCDet's QueryAndGroup: groups of balls without points are of index 0, and masked."""
    centers, xyz = torch.zeros(3, 3), torch.zeros(4, 3)
    for counts in ((4, 0), (0, 4), (0, 0)):
        features, idx = torch.ones(sum(counts), C), torch.zeros(3, S, dtype=torch.int32)
        tensors = (centers, ints(2, 1), xyz[: sum(counts)], ints(*counts), idx)
        STACK["ball_query_wrapper"](2, 3, 1.0, S, *tensors)
        is_empty = idx[:, 0] == -1
        assert is_empty.tolist() == [counts[0] == 0] * 2 + [counts[1] == 0]
        idx[is_empty] = 0
        out = torch.full((3, C, S), torch.nan)
        STACK["group_points_wrapper"](2, 3, C, S, features, ints(*counts), idx, ints(2, 1), out)
        grad = torch.zeros_like(features)
        arguments = (torch.ones(3, C, S), idx, ints(2, 1), ints(*counts), grad)
        STACK["group_points_grad_wrapper"](2, 3, C, len(features), S, *arguments)
        assert not out.isnan().any() and (out[~is_empty] == 1).all()


@pytest.mark.parametrize("columns", [2, 4, 5])
def test_points_of_other_columns(columns, rng):
    """The kernels read rows of three numbers."""
    cloud, centers = torch.randn(2, 9, columns), torch.randn(2, 6, columns)
    idx, samples = torch.zeros(2, 6, 3, dtype=torch.int32), torch.zeros(2, 5, dtype=torch.int32)
    sampling = ext.furthest_point_sampling_forward
    if columns < 3:
        with pytest.raises(mluop_omp.MluOpError, match="points_tensor has 2 columns"):
            sampling(cloud, None, samples, 2, 9, 5)
        return
    rows = cloud.flatten()[:54].view(2, 9, 3), centers.flatten()[:36].view(2, 6, 3)
    sampling(cloud, None, samples, 2, 9, 5)
    assert torch.equal(samples, functional.furthest_point_sample(rows[0], 5))
    assert torch.equal(
        pointnet2.furthest_point_sampling(cloud, 5), pointnet2.furthest_point_sampling(rows[0], 5)
    )
    expected = functional.ball_query(rows[1], rows[0], 0.0, 1.0, 3)
    ext.ball_query_forward(
        *(centers, cloud, idx, 2, 9, 6), min_radius=0.0, max_radius=1.0, nsample=3
    )
    assert torch.equal(idx, expected) and expected.any()
    assert torch.equal(pointnet2.ball_query(centers, cloud, 1.0, 3), expected)
    for found, each in zip(pointnet2.three_nn(centers, cloud), functional.three_nn(*rows[::-1])):
        assert torch.equal(found, each)


# Images, offsets and masks of a convolution of 3 x 3 with padding 1: output 4 x 5.
CONVOLVED, DEFORMABLE = (2, 4, 4, 5), 2
SIZES = {
    "of a finer level": (2, 8, 10),
    "of more images": (4, 4, 5),
    "of another shape": (2, 5, 4),
    "that overlap": (3, 3, 5),
}


def convolve(offset, mask, arguments, gradient=None):
    image, weight, bias = arguments
    names = "kernel_h kernel_w stride_h stride_w pad_h pad_w dilation_h dilation_w"
    numbers = dict(zip(names.split(), (3, 3, 1, 1, 1, 1, 1, 1)))
    numbers |= {"group": 1, "deformable_group": DEFORMABLE, "with_bias": True}
    scratch = image.new_empty(0)
    if gradient is None:
        output = image.new_full((2, 3, 4, 5), torch.nan)
        tensors = (image, weight, bias, scratch, offset, mask, output, scratch)
        ext.modulated_deform_conv_forward(*tensors, **numbers)
        return [output]
    grads = [torch.zeros_like(each) for each in (image, weight, bias, offset, mask)]
    tensors = (image, weight, bias, scratch, offset, mask, scratch, *grads, gradient)
    ext.modulated_deform_conv_backward(*tensors, **numbers)
    return grads


def addressed(tensor):
    """Returns the elements that the kernels read, as [2, channels, 4, 5]."""
    return tensor.as_strided((2, tensor.shape[1], 4, 5), (tensor[0].numel(), 20, 5, 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_offsets_and_masks_of_other_sizes(size, dtype):
    images, *pixels = size
    shapes = CONVOLVED, (3, 4, 3, 3), (3,)
    arguments = [torch.randn(shape).to(dtype) for shape in shapes]
    given = [torch.randn(images, n * DEFORMABLE, *pixels).to(dtype) for n in (18, 9)]
    near = [addressed(each).contiguous() for each in given]
    assert torch.equal(convolve(*given, arguments)[0], convolve(*near, arguments)[0])
    gradient = torch.randn(2, 3, 4, 5).to(dtype)
    found, expected = convolve(*given, arguments, gradient), convolve(*near, arguments, gradient)
    assert all(map(torch.equal, found[:3], expected[:3]))
    for grad, of_near in zip(found[3:], expected[3:]):
        memory = torch.zeros_like(grad)
        for b in range(2):
            addressed(memory)[b] = of_near[b]
        assert torch.equal(grad, memory)


def test_offsets_and_masks_that_are_too_small():
    arguments = torch.randn(CONVOLVED), torch.randn(3, 4, 3, 3), torch.randn(3)
    offset, mask = torch.zeros(2, 36, 4, 5), torch.zeros(2, 18, 4, 5)
    for bad in (offset[:1], offset[:, :, :3], offset[:, :35], torch.zeros(())):
        bad = bad.contiguous()
        for gradient in (None, torch.randn(2, 3, 4, 5)):
            with pytest.raises(mluop_omp.MluOpError, match=r"^offset has shape .*at least \[2, 36"):
                convolve(bad, mask, arguments, gradient)
    with pytest.raises(mluop_omp.MluOpError, match=r"^mask has shape .*at least \[2, 18, 4, 5\]"):
        convolve(offset, mask[:, :17].contiguous(), arguments)
    with pytest.raises(mluop_omp.MluOpError, match="offset dim"):
        functional.deform_conv2d(
            arguments[0], torch.zeros(2, 18, 8, 10), arguments[1], padding=(1, 1)
        )


@pytest.mark.parametrize("images", [1, 2])
def test_dyhead(images, monkeypatch):
    """DyHead passes the offsets and masks of a level to the convolution of a coarser one."""
    necks = pytest.importorskip("mmdet.models.necks")
    modulated = importlib.import_module("mmcv.ops.modulated_deform_conv")
    torch.manual_seed(0)
    neck = necks.DyHead(16, 16, num_blocks=2).double()
    for parameter in neck.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    shapes = [(images, 16, s, s + 1) for s in (16, 8, 4, 2)]
    levels = [torch.randn(shape, requires_grad=True).double() for shape in shapes]

    def outputs_and_gradients():
        outputs = neck(levels)
        loss = sum(
            (out * torch.linspace(-1, 1, out[0].numel()).view(out[0].shape)).sum()
            for out in outputs
        )
        return [*outputs, *torch.autograd.grad(loss, [*levels, *neck.parameters()])]

    sizes = []

    def definition(image, offset, mask, weight, bias, stride, padding, dilation, groups, parts):
        axes = list(map(_pair, (stride, padding, dilation)))
        size = [(n + 2 * p - d * 2 - 1) // s + 1 for n, s, p, d in zip(image.shape[2:], *axes)]
        sizes.append(offset.shape[2:] != torch.Size(size))
        first = [
            each.flatten(1)[:, : channels * size[0] * size[1]].view(len(each), channels, *size)
            for each, channels in ((offset, 18 * parts), (mask, 9 * parts))
        ]
        return functional.deform_conv2d(
            image, first[0], weight, first[1], bias, *axes, groups, parts
        )

    found = outputs_and_gradients()
    monkeypatch.setattr(modulated, "modulated_deform_conv2d", definition)
    expected = outputs_and_gradients()
    assert any(sizes) and len(found) == 42
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
