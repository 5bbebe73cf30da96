"""Sites, layers and dense convolutions for the tests of torchsparse.

Sites here are int64 [N, 4]: batch, x, y, z. Features and weights are integers in float64, so that
every result is exact.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F


def integers(*shape):
    return torch.randint(-4, 5, shape).double()


def sites(low, high, count=60, batches=2):
    """Returns distinct sites in random order, with coordinates low .. high - 1."""
    cells = torch.cartesian_prod(torch.arange(batches), *(torch.arange(low, high),) * 3)
    return cells[torch.randperm(len(cells))[:count]]


def tensor(names, sites, feats, stride=1, **named):
    """Returns the SparseTensor of a version."""
    column = names.ts.SparseTensor._batch
    coords = sites.int() if column == 0 else sites[:, [1, 2, 3, 0]].int()
    return names.ts.SparseTensor(feats, coords, stride, **named)


def sites_of(x):
    return (x.C if x._batch == 0 else x.C[:, [3, 0, 1, 2]]).long()


def layer(names, *arguments, **named):
    """Returns a Conv3d whose parameters are integers."""
    made = names.nn.Conv3d(*arguments, **named).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(integers(*parameter.shape))
    return made


def filters(kernel, size):
    """Returns [kx, ky, kz, Ci, Co]."""
    if math.prod(size) % 2:
        return kernel.view(*reversed(size), *kernel.shape[-2:]).permute(2, 1, 0, 3, 4)
    return kernel.view(*size, *kernel.shape[-2:])


def dense(sites, feats, low, extents):
    """Returns [B, C, X, Y, Z] whose first cell is low."""
    B = int(sites[:, 0].max()) + 1
    batch, *axes = (sites - torch.tensor([0, *low])).unbind(1)
    volume = feats.new_zeros(B, *extents, feats.shape[1])
    return volume.index_put((batch, *axes), feats).movedim(-1, 1)


def read(volume, sites, low):
    batch, *axes = (sites - torch.tensor([0, *low])).unbind(1)
    return volume.movedim(1, -1)[(batch, *axes)]


def _grid(sites, outputs, size):
    """Returns the first cell and the extents of a grid with a margin of the kernel."""
    both = torch.cat([sites, outputs])[:, 1:]
    low = both.amin(0) - torch.tensor(size)
    extents = both.amax(0) + torch.tensor(size) + 1 - low
    return low.tolist(), extents.tolist()


def _paddings(lowest, size):
    """Returns F.pad's numbers for offsets lowest .. lowest + k - 1."""
    pads = [(-low, k - 1 + low) for low, k in zip(lowest, size)]
    return [each for pair in reversed(pads) for each in pair]


def convolved(sites, feats, outputs, kernel, size, lowest):
    """Returns the sum of feats[output + offset] W over the offsets lowest .. lowest + k - 1."""
    low, extents = _grid(sites, outputs, size)
    volume = F.pad(dense(sites, feats, low, extents), _paddings(lowest, size))
    weight = filters(kernel, size).permute(4, 3, 0, 1, 2)
    return read(F.conv3d(volume, weight), outputs, low)


def transposed(sites, feats, outputs, kernel, size, lowest):
    """Returns at each output the sum of feats[site] W over output = site + offset."""
    low, extents = _grid(sites, outputs, size)
    volume = dense(sites, feats, low, extents)
    weight = filters(kernel, size).permute(3, 4, 0, 1, 2)
    first = [each + lower for each, lower in zip(low, lowest)]
    return read(F.conv_transpose3d(volume, weight), outputs, first)


def same_with_gradients(found, expected, variables):
    """Asserts that two results and their gradients are equal."""
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
    grad = integers(*found.shape)
    for actual, right in zip(
        torch.autograd.grad(found, variables, grad, materialize_grads=True, retain_graph=True),
        torch.autograd.grad(expected, variables, grad, materialize_grads=True, retain_graph=True),
    ):
        torch.testing.assert_close(actual, right, rtol=0, atol=0)
