"""What the tests of minkowski's layers share: small tensors, and dense PyTorch as the oracle."""

from __future__ import annotations

import itertools
import math
import sys
from importlib.util import find_spec

import pytest
import torch
import torch.nn.functional as F

if find_spec("MinkowskiEngine") and "MinkowskiEngine" not in sys.modules:
    pytest.skip("MinkowskiEngine itself is installed", allow_module_level=True)

import mluop_omp.minkowski

mluop_omp.minkowski.install()
import MinkowskiEngine as ME  # noqa: E402

LINE = {-3: 1, -2: 10, 0: 100, 1: 1000, 5: 10000}


def tensor(sites, stride=1, **named):
    """Returns a float64 tensor of one batch and channel from features by coordinate or tuple."""
    coordinates = [(0, *(site if isinstance(site, tuple) else (site,))) for site in sites]
    features = torch.tensor(list(sites.values()), dtype=torch.float64).view(-1, 1)
    rows = torch.tensor(coordinates, dtype=torch.int32)
    return ME.SparseTensor(features, coordinates=rows, tensor_stride=stride, **named)


def features(tensor):
    """Returns the features of one channel by coordinate, or by tuple if there are several."""
    keys = [tuple(site[1:]) for site in tensor.C.tolist()]
    values = tensor.F.flatten().tolist()
    return {key if len(key) > 1 else key[0]: value for key, value in zip(keys, values)}


def with_kernel(layer, kernel):
    """Sets the kernel of a layer of one channel, and converts it to float64."""
    layer = layer.double()
    with torch.no_grad():
        layer.kernel.copy_(torch.tensor(kernel, dtype=torch.float64).view(layer.kernel.shape))
    return layer


def random_tensor(D, channels, stride=1, size=6, count=40, seed=0):
    """Returns integer features at random multiples of stride, of both signs, of two batches."""
    generator = torch.Generator().manual_seed(seed)
    low = -(size // 2)
    sites = torch.randint(low, low + size, (count, D), generator=generator) * stride
    batches = torch.randint(0, 2, (count, 1), generator=generator)
    rows = torch.cat((batches, sites), 1).unique(dim=0)
    rows = rows[torch.randperm(len(rows), generator=generator)].int()
    values = torch.randint(-4, 5, (len(rows), channels), generator=generator).double()
    return ME.SparseTensor(values.requires_grad_(), coordinates=rows, tensor_stride=stride)


class Grid:
    """A dense grid [B, C, n_1 ... n_D] whose element 0 is the coordinate `low` of each axis.

    low: at most -extent, and a multiple of `unit`, so that cells are whole.
    """

    def __init__(self, D, stride, unit, extent):
        self.D, self.stride = D, stride
        self.low = -unit * math.ceil(extent / unit)
        self.size = 2 * -self.low // stride

    def index(self, rows):
        return (rows[:, 0].long(), *((rows[:, 1:].long() - self.low) // self.stride).unbind(1))

    def dense(self, rows, values):
        shape = (2, *(self.size,) * self.D, values.shape[1])
        return values.new_zeros(shape).index_put(self.index(rows), values).movedim(-1, 1)

    def read(self, dense, rows):
        return dense.movedim(1, -1)[self.index(rows)]


def convolve(dense, weight, dilation, pads):
    """F.conv of 1 to 4 axes and stride 1. pads: (before, after) of each axis."""
    D = dense.dim() - 2
    dense = F.pad(dense, [each for pair in reversed(pads) for each in pair])
    if D < 4:
        return (F.conv1d, F.conv2d, F.conv3d)[D - 1](dense, weight, dilation=tuple(dilation))
    length = dense.shape[-1] - dilation[3] * (weight.shape[-1] - 1)
    total = 0
    for k in range(weight.shape[-1]):
        part = dense[..., k * dilation[3] : k * dilation[3] + length]
        volumes = part.movedim(-1, 1).flatten(0, 1)
        result = F.conv3d(volumes, weight[..., k], dilation=tuple(dilation[:3]))
        total = total + result.unflatten(0, (len(part), length)).movedim(1, -1)
    return total


def dense_convolution(dense, kernel, sizes, dilation):
    """The convolution of ME of a dense grid, at each of its elements. kernel: [K, Ci, Co]."""
    D = len(sizes)
    # The first coordinate is fastest: [k_D ... k_1, Ci, Co] to [Co, Ci, k_1 ... k_D].
    weight = kernel.view(*reversed(sizes), *kernel.shape[1:])
    weight = weight.permute(D + 1, D, *reversed(range(D)))
    pads = [
        (d * (k // 2), d * (k // 2)) if k % 2 else (0, d * (k - 1)) for k, d in zip(sizes, dilation)
    ]
    return convolve(dense, weight, dilation, pads)


def floors(rows, multiple):
    cells = torch.div(rows[:, 1:], multiple, rounding_mode="floor") * multiple
    return torch.cat((rows[:, :1], cells), 1).unique(dim=0)


def reached(rows, sizes, dilation, stride):
    """Returns the sites + offsets of a kernel, ascending."""
    ranges = [range(-(k // 2), k // 2 + 1) if k % 2 else range(k) for k in sizes]
    found = set()
    for batch, *site in rows.tolist():
        for steps in itertools.product(*ranges):
            found.add((batch, *(c + s * d * stride for c, s, d in zip(site, steps, dilation))))
    return torch.tensor(sorted(found), dtype=torch.int32)
