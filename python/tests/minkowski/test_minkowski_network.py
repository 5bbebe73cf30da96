"""A small U-Net of MinkowskiEngine's layers against loops over sites and offsets: loss and
gradients in float64, and the same bits at any number of threads.
"""

from __future__ import annotations

import itertools
import sys
from importlib.util import find_spec
from typing import NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import nn

if find_spec("MinkowskiEngine") and "MinkowskiEngine" not in sys.modules:
    pytest.skip("MinkowskiEngine itself is installed", allow_module_level=True)

import mluop_omp.minkowski

mluop_omp.minkowski.install()
import MinkowskiEngine as ME  # noqa: E402
from MinkowskiEngine.modules.resnet_block import BasicBlock  # noqa: E402

CHANNELS, WIDTH, LABELS = 3, 4, 5


class UNet(ME.MinkowskiNetwork):
    """Levels of strides 1, 2 and 4; blocks with and without a downsampling branch, squeeze and
    excitation, pooling.
    """

    def __init__(self, D, kernels):
        super().__init__(D)
        C, (outer, inner) = WIDTH, kernels
        self.first = ME.MinkowskiConvolution(CHANNELS, C, kernel_size=3, dimension=D)
        self.norm = ME.MinkowskiBatchNorm(C)
        self.down = ME.MinkowskiConvolution(C, C, kernel_size=outer, stride=2, dimension=D)
        branch = nn.Sequential(
            ME.MinkowskiConvolution(C, 2 * C, kernel_size=1, stride=2, dimension=D),
            ME.MinkowskiBatchNorm(2 * C),
        )
        self.block = BasicBlock(C, 2 * C, stride=2, downsample=branch, dimension=D)
        self.pool = ME.MinkowskiMaxPooling(kernel_size=2, stride=2, dimension=D)
        self.squeeze = ME.MinkowskiGlobalPooling()
        self.excite = ME.MinkowskiLinear(2 * C, 2 * C)
        self.multiply = ME.MinkowskiBroadcastMultiplication()
        self.instances = ME.MinkowskiInstanceNorm(2 * C)
        size = {"kernel_size": inner, "stride": 2, "dimension": D}
        self.up = ME.MinkowskiConvolutionTranspose(2 * C, C, **size)
        size = {"kernel_size": outer, "stride": 2, "bias": True, "dimension": D}
        self.top = ME.MinkowskiConvolutionTranspose(3 * C, C, **size)
        self.dilated = ME.MinkowskiConvolution(2 * C, C, kernel_size=3, dilation=2, dimension=D)
        self.final = ME.MinkowskiConvolution(C, LABELS, kernel_size=1, bias=True, dimension=D)
        self.relu = ME.MinkowskiReLU(inplace=True)

    def forward(self, x):
        fine = self.relu(self.norm(self.first(x)))
        coarse = self.down(fine)
        y = self.block(coarse)
        y = self.instances(self.multiply(y, self.excite(self.squeeze(y))))
        y = ME.cat(self.up(y), self.pool(fine), coarse)
        y = ME.cat(self.top(y), fine)
        return self.final(self.relu(self.dilated(y)))


class Plain(NamedTuple):
    """Features [N, C] at N sites: tuples of the batch and the coordinates."""

    sites: list[tuple[int, ...]]
    feats: torch.Tensor
    stride: int


def cube(kernel, step, axes):
    """Offsets of a cube, the first coordinate fastest: centered if odd, else from 0 on."""
    lowest = -(kernel // 2) if kernel % 2 else 0
    steps = [(lowest + i) * step for i in range(kernel)]
    return [offset[::-1] for offset in itertools.product(steps, repeat=axes)]


def moved(site, offset):
    return (site[0], *(c + d for c, d in zip(site[1:], offset)))


def floored(x, stride):
    """Returns the distinct sites with coordinates rounded down to multiples of the stride."""
    return sorted({(b, *(c // stride * stride for c in site)) for b, *site in x.sites})


def rows_of(sites):
    return {site: row for row, site in enumerate(sites)}


def convolve(x, sites, layer, stride, size, dilation=1, transposed=False):
    """y[o] += x[o + offset_k] W[k]; transposed: y[c + offset_k] += x[c] W[k]."""
    axes = len(sites[0]) - 1
    step = min(stride, x.stride) * dilation
    inputs, outputs = rows_of(x.sites), rows_of(sites)
    y = x.feats.new_zeros(len(sites), layer.kernel.shape[-1])
    for weight, offset in zip(
        layer.kernel.view(-1, *layer.kernel.shape[-2:]), cube(size, step, axes)
    ):
        if transposed:
            found = [(i, outputs.get(moved(site, offset))) for i, site in enumerate(x.sites)]
        else:
            found = [(inputs.get(moved(site, offset)), o) for o, site in enumerate(sites)]
        pairs = torch.tensor([pair for pair in found if None not in pair], dtype=torch.long)
        source, target = pairs.view(-1, 2).unbind(1)
        y = y.index_add(0, target, x.feats[source] @ weight)
    return Plain(sites, y if layer.bias is None else y + layer.bias, stride)


def with_feats(x, feats):
    return Plain(x.sites, feats, x.stride)


def batch_norm(x, layer):
    bn = layer.bn
    return with_feats(x, F.batch_norm(x.feats, None, None, bn.weight, bn.bias, True))


def relu(x):
    return with_feats(x, x.feats.relu())


def per_batch(x, function):
    """Applies a function to the features of each batch."""
    batch = torch.tensor([site[0] for site in x.sites])
    y = torch.zeros_like(x.feats)
    for b in batch.unique():
        y = y.index_put((batch == b,), function(x.feats[batch == b]))
    return with_feats(x, y)


def cat(*tensors):
    """Joins features by their sites, in the order of the first tensor."""
    sites = tensors[0].sites
    order = ([rows_of(x.sites)[site] for site in sites] for x in tensors)
    return with_feats(tensors[0], torch.cat([x.feats[o] for x, o in zip(tensors, order)], 1))


def max_pool(x, sites, stride):
    members = [[i for i, each in enumerate(x.sites) if floor(each, stride) == s] for s in sites]
    return Plain(sites, torch.stack([x.feats[rows].amax(0) for rows in members]), stride)


def floor(site, stride):
    return (site[0], *(c // stride * stride for c in site[1:]))


def defined(net, x, kernels):
    outer, inner = kernels
    fine = relu(batch_norm(convolve(x, x.sites, net.first, 1, 3), net.norm))
    twos = floored(fine, 2)
    fours = floored(Plain(twos, fine.feats, 2), 4)
    coarse = convolve(fine, twos, net.down, 2, outer)
    block = net.block
    y = relu(batch_norm(convolve(coarse, fours, block.conv1, 4, 3), block.norm1))
    y = batch_norm(convolve(y, fours, block.conv2, 4, 3), block.norm2)
    branch = convolve(coarse, fours, block.downsample[0], 4, 1)
    y = relu(with_feats(y, y.feats + batch_norm(branch, block.downsample[1]).feats))
    y = per_batch(y, lambda f: f * net.excite.linear(f.mean(0, keepdim=True)))
    scale, shift = net.instances.weight, net.instances.bias
    y = per_batch(
        y,
        lambda f: (f - f.mean(0)) / (f.var(0, correction=0) + 1e-8).sqrt() * scale + shift,
    )
    y = cat(convolve(y, twos, net.up, 2, inner, transposed=True), max_pool(fine, twos, 2), coarse)
    y = cat(convolve(y, x.sites, net.top, 1, outer, transposed=True), fine)
    y = relu(convolve(y, x.sites, net.dilated, 1, 3, dilation=2))
    return convolve(y, x.sites, net.final, 1, 1)


def random_sites(axes):
    """Distinct sites of the batches 0 and 2, with coordinates from -5 to 5, in random order."""
    generator = torch.Generator().manual_seed(axes)
    coordinates = torch.randint(-5, 6, (40 * axes, axes), generator=generator)
    batch = torch.randint(2, (len(coordinates), 1), generator=generator) * 2
    sites = torch.cat((batch, coordinates), 1).unique(dim=0)
    return sites[torch.randperm(len(sites), generator=generator)].int()


def network(axes, kernels, dtype=torch.float64):
    torch.manual_seed(0)
    net = UNet(axes, kernels).to(dtype)
    for parameter in net.parameters():
        nn.init.normal_(parameter, std=0.3)
    sites = random_sites(axes)
    return net, sites, torch.randn(len(sites), CHANNELS, dtype=dtype, requires_grad=True)


def loss_of(feats, sites):
    """A loss in which each label of each site has a target, which depends on the site alone."""
    target = torch.tensor([[hash(tuple(site)) % 7 - 3.0] for site in sites], dtype=feats.dtype)
    return (feats - target * torch.arange(1, LABELS + 1)).square().mean()


@pytest.mark.parametrize("kernels", [(2, 2), (3, 2), (3, 3), (4, 5)], ids=str)
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_unet(axes, kernels):
    net, sites, feats = network(axes, kernels)
    output = net(ME.SparseTensor(feats, coordinates=sites))
    expected = defined(net, Plain(list(map(tuple, sites.tolist())), feats, 1), kernels)
    assert sorted(map(tuple, output.C.tolist())) == sorted(expected.sites)
    row = rows_of(expected.sites)
    rows = [row[tuple(site)] for site in output.C.tolist()]
    close = {"rtol": 1e-9, "atol": 1e-9}
    torch.testing.assert_close(output.F, expected.feats[rows], **close)
    variables = {"feats": feats, **dict(net.named_parameters())}
    loss = loss_of(output.F, output.C.tolist())
    expected_loss = loss_of(expected.feats, expected.sites)
    torch.testing.assert_close(loss, expected_loss, **close)
    gradients = torch.autograd.grad(loss, list(variables.values()))
    expected_gradients = torch.autograd.grad(expected_loss, list(variables.values()))
    for name, actual, gradient in zip(variables, gradients, expected_gradients):
        torch.testing.assert_close(actual, gradient, **close, msg=lambda m, n=name: f"{n}: {m}")


def test_the_same_bits_at_any_number_of_threads(set_threads):
    def step():
        net, sites, feats = network(3, (3, 2), torch.float32)
        net.eval()  # Sums over a batch by PyTorch depend on the number of threads.
        loss = loss_of(net(ME.SparseTensor(feats, coordinates=sites)).F, sites.tolist())
        kernels = [p for name, p in net.named_parameters() if name.endswith("kernel")]
        return [loss, *torch.autograd.grad(loss, [feats, *kernels])]

    results = []
    for count in (1, 2, 3):
        set_threads(count)
        results.append(step())
    for other in results[1:]:
        assert all(map(torch.equal, results[0], other))
