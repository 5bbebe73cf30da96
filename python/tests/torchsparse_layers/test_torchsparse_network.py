"""A small network of points and voxels of torchsparse 1.4 against loops over sites and offsets:
loss and gradients, and the same bits at any number of threads.
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

if "torchsparse" not in sys.modules and find_spec("torchsparse"):
    pytest.skip("torchsparse itself is installed", allow_module_level=True)

import mluop_omp.torchsparse

CHANNELS, WIDTH, LABELS = 3, 4, 5


@pytest.fixture(scope="module", autouse=True)
def ts():
    """The modules of torchsparse 1.4."""
    mluop_omp.torchsparse.install(version="1.4")
    import torchsparse
    import torchsparse.nn.functional

    return torchsparse


class Points(nn.Module):
    """A U-Net whose finest and coarsest features are added at the points."""

    def __init__(self, ts, kernel):
        super().__init__()
        self.ts, C, spnn = ts, WIDTH, ts.nn
        self.first = spnn.Conv3d(CHANNELS, C, kernel_size=3)
        self.norm = spnn.BatchNorm(C)
        self.down = spnn.Conv3d(C, C, kernel_size=kernel, stride=2, bias=True)
        self.down2 = spnn.Conv3d(C, 2 * C, kernel_size=2, stride=2)
        self.same = spnn.Conv3d(2 * C, 2 * C, kernel_size=4)
        self.branch = spnn.Conv3d(2 * C, 2 * C, kernel_size=1)
        self.up2 = spnn.Conv3d(2 * C, C, kernel_size=2, stride=2, transposed=True)
        self.up = spnn.Conv3d(2 * C, C, kernel_size=kernel, stride=2, transposed=True)
        self.mixed = spnn.Conv3d(2 * C, C, kernel_size=(2, 1, 3))
        self.relu = spnn.ReLU(True)
        self.coarse = nn.Linear(2 * C, LABELS)
        self.fine = nn.Linear(C, LABELS)

    def forward(self, points):
        cat = self.ts.cat
        voxels = voxelize(self.ts, points)
        fine = self.relu(self.norm(self.first(voxels)))
        twos = self.relu(self.down(fine))
        fours = self.relu(self.down2(twos))
        fours = self.relu(self.same(fours) + self.branch(fours))
        y = cat([self.up2(fours), twos])
        y = cat([self.up(y), fine])
        y = self.relu(self.mixed(y))
        at_points = devoxelize(self.ts, fours, points)
        return self.coarse(at_points) + self.fine(devoxelize(self.ts, y, points))


def voxelize(ts, points):
    """Returns the mean of the points of each voxel, as networks of points and voxels compute it."""
    functional, cells = ts.nn.functional, torch.floor(points.C).int()
    hashes = functional.sphash(cells)
    distinct = torch.unique(hashes)
    index = functional.sphashquery(hashes, distinct)
    counts = functional.spcount(index.int(), len(distinct))
    coords = functional.spvoxelize(torch.floor(points.C).float(), index, counts).round().int()
    voxels = ts.SparseTensor(functional.spvoxelize(points.F, index, counts), coords, 1)
    voxels.cmaps.setdefault(voxels.stride, voxels.coords)
    return voxels


def devoxelize(ts, voxels, points):
    functional, stride = ts.nn.functional, voxels.s
    offsets = ts.nn.utils.get_kernel_offsets(2, stride, 1, device="cpu")
    corner = torch.floor(points.C[:, :3] / stride[0]).int() * stride[0]
    hashes = functional.sphash(torch.cat((corner, points.C[:, 3:].int()), 1), offsets)
    index = functional.sphashquery(hashes, functional.sphash(voxels.C))
    weights = functional.calc_ti_weights(points.C, index, scale=stride[0])
    index, weights = index.t().contiguous(), weights.t().contiguous()
    return functional.spdevoxelize(voxels.F, index, weights)


class Plain(NamedTuple):
    """Features [N, C] at N sites: tuples of the coordinates and the batch."""

    sites: list[tuple[int, ...]]
    feats: torch.Tensor
    stride: int


def offsets_of(size, step):
    """Offsets of a kernel: of an odd volume x is the fastest, of an even one z."""
    sizes = (size,) * 3 if isinstance(size, int) else size
    axes = [[(i - (k - 1) // 2) * step for i in range(k)] for k in sizes]
    if all(k % 2 for k in sizes):
        return [offset[::-1] for offset in itertools.product(*reversed(axes))]
    return list(itertools.product(*axes))


def moved(site, offset):
    return (*(c + d for c, d in zip(site, offset)), site[3])


def rows_of(sites):
    return {site: row for row, site in enumerate(sites)}


def strided(x, size):
    """Returns the sites of stride 2 times the stride of x."""
    stride = 2 * x.stride
    if size == 2:
        return list({(*(c // stride * stride for c in site[:3]), site[3]) for site in x.sites})
    lowest = [min(site[axis] for site in x.sites) for axis in range(3)]
    reached = {moved(site, offset) for site in x.sites for offset in offsets_of(size, x.stride)}
    return [
        site
        for site in reached
        if all(c % stride == 0 and c >= low for c, low in zip(site, lowest))
    ]


def convolve(x, sites, layer, stride, size, transposed=False):
    """y[o] += x[o + offset_k] W[k]; transposed: y[c + offset_k] += x[c] W[k]."""
    inputs, outputs = rows_of(x.sites), rows_of(sites)
    y = x.feats.new_zeros(len(sites), layer.kernel.shape[-1])
    weights = layer.kernel.view(-1, *layer.kernel.shape[-2:])
    for weight, offset in zip(weights, offsets_of(size, min(stride, x.stride))):
        if transposed:
            found = [(i, outputs.get(moved(site, offset))) for i, site in enumerate(x.sites)]
        else:
            found = [(inputs.get(moved(site, offset)), o) for o, site in enumerate(sites)]
        pairs = torch.tensor([pair for pair in found if None not in pair], dtype=torch.long)
        source, target = pairs.view(-1, 2).unbind(1)
        y = y.index_add(0, target, x.feats[source] @ weight)
    return Plain(sites, y if layer.bias is None else y + layer.bias, stride)


def at_points(x, coords):
    """Interpolates between the voxels at the corners of each point's cell that there are."""
    rows, values = rows_of(x.sites), []
    for point in coords.tolist():
        low = [int(c // x.stride) * x.stride for c in point[:3]]
        total, value = 0.0, torch.zeros_like(x.feats[0])
        for corner in itertools.product((0, 1), repeat=3):
            site = (*(c + d * x.stride for c, d in zip(low, corner)), int(point[3]))
            weight = 1.0
            for p, c in zip(point, site[:3]):
                weight *= 1 - abs(p - c) / x.stride
            if site in rows:
                total, value = total + weight, value + weight * x.feats[rows[site]]
        values.append(value / (total + 1e-8))
    return torch.stack(values)


def relu(x):
    return Plain(x.sites, x.feats.relu(), x.stride)


def cat(x, y):
    order = [rows_of(y.sites)[site] for site in x.sites]
    return Plain(x.sites, torch.cat((x.feats, y.feats[order]), 1), x.stride)


def voxels_of(points):
    members: dict[tuple[int, ...], list[int]] = {}
    for row, site in enumerate(points.C.floor().int().tolist()):
        members.setdefault(tuple(site), []).append(row)
    means = torch.stack([points.F[rows].mean(0) for rows in members.values()])
    return Plain(list(members), means, 1)


def defined(net, points, kernel):
    x, bn = voxels_of(points), net.norm
    fine = convolve(x, x.sites, net.first, 1, 3)
    normalized = F.batch_norm(fine.feats, None, None, bn.weight, bn.bias, True)
    fine = relu(Plain(fine.sites, normalized, 1))
    twos = relu(convolve(fine, strided(fine, kernel), net.down, 2, kernel))
    fours = relu(convolve(twos, strided(twos, 2), net.down2, 4, 2))
    same = convolve(fours, fours.sites, net.same, 4, 4)
    branch = convolve(fours, fours.sites, net.branch, 4, 1)
    fours = relu(Plain(same.sites, same.feats + branch.feats, 4))
    y = cat(convolve(fours, twos.sites, net.up2, 2, 2, transposed=True), twos)
    y = cat(convolve(y, fine.sites, net.up, 1, kernel, transposed=True), fine)
    y = relu(convolve(y, y.sites, net.mixed, 1, (2, 1, 3)))
    return net.coarse(at_points(fours, points.C)) + net.fine(at_points(y, points.C))


def network(ts, kernel, dtype=torch.float64):
    torch.manual_seed(0)
    net = Points(ts, kernel).to(dtype)
    for parameter in net.parameters():
        nn.init.normal_(parameter, std=0.3)
    coords = torch.rand(120, 3) * 8 - 5
    batch = torch.randint(2, (120, 1))
    feats = torch.randn(120, CHANNELS, dtype=dtype, requires_grad=True)
    return net, ts.PointTensor(feats, torch.cat((coords, batch), 1)), feats


# spvoxelize and calc_ti_weights compute in float32.
CLOSE = {"rtol": 1e-4, "atol": 1e-4}


@pytest.mark.parametrize("kernel", [2, 3, 4])
def test_points_and_voxels(kernel, ts):
    net, points, feats = network(ts, kernel)
    variables = {"feats": feats, **dict(net.named_parameters())}
    output = net(points)
    expected = defined(net, points, kernel)
    torch.testing.assert_close(output, expected, **CLOSE)
    target = torch.arange(output.numel(), dtype=output.dtype).view_as(output) % 7 - 3
    results = []
    for each in (output, expected):
        loss = (each - target).square().mean()
        results.append([loss, *torch.autograd.grad(loss, list(variables.values()))])
    for name, actual, gradient in zip(["loss", *variables], *results):
        torch.testing.assert_close(actual, gradient, **CLOSE, msg=lambda m, n=name: f"{n}: {m}")


def test_the_same_bits_at_any_number_of_threads(ts, set_threads):
    def step():
        net, points, feats = network(ts, 3, torch.float32)
        net.eval()  # Sums over a batch by PyTorch depend on the number of threads.
        loss = net(points).square().mean()
        kernels = [p for name, p in net.named_parameters() if name.endswith("kernel")]
        return [loss, *torch.autograd.grad(loss, [feats, *kernels])]

    results = []
    for count in (1, 2, 3):
        set_threads(count)
        results.append(step())
    for other in results[1:]:
        assert all(map(torch.equal, results[0], other))
