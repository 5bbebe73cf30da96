"""Sparse tensors of few sites, for the tests of minkowski."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import pytest
import torch

if find_spec("MinkowskiEngine") and "MinkowskiEngine" not in sys.modules:
    pytest.skip("MinkowskiEngine itself is installed", allow_module_level=True)

import mluop_omp.minkowski

mluop_omp.minkowski.install()
import MinkowskiEngine as ME  # noqa: E402


def rows(coordinates, batch=0):
    """Returns int32 sites of a batch, from numbers or tuples of coordinates."""
    sites = [site if isinstance(site, tuple) else (site,) for site in coordinates]
    return torch.tensor([(batch, *site) for site in sites], dtype=torch.int32)


def line(values, stride=1, like=None):
    """Returns a tensor of one channel: values by coordinate, in the manager of another tensor."""
    features = torch.tensor(list(values.values()), dtype=torch.float64).view(-1, 1)
    manager = None if like is None else like.coordinate_manager
    return ME.SparseTensor(features, rows(values), tensor_stride=stride, coordinate_manager=manager)


def values(tensor):
    """Returns the features of one channel by coordinate, or by tuple of several, in row order."""
    sites = [tuple(site[1:]) for site in tensor.C.tolist()]
    keys = [site if len(site) > 1 else site[0] for site in sites]
    return dict(zip(keys, tensor.F.flatten().tolist()))
