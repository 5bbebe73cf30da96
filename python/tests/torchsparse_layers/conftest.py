"""The names of torchsparse's modules in each version, without providing the modules."""

from __future__ import annotations

import types

import pytest
import torch

from mluop_omp.torchsparse import _modules


def names_of(version):
    """Returns the names of torchsparse (ts), .nn, .nn.functional (F), .utils and so on."""
    namespaces = _modules.namespaces(version)
    short = {"": "ts", "nn.functional": "F"}
    return types.SimpleNamespace(
        **{
            short.get(module, module.replace(".", "_")): types.SimpleNamespace(**names)
            for module, names in namespaces.items()
        }
    )


@pytest.fixture(params=["1.4", "2.0", "2.1"])
def any_version(request):
    return names_of(request.param)


@pytest.fixture(params=["1.4", "2.0"])
def batch_last(request):
    return names_of(request.param)


@pytest.fixture
def batch_first():
    return names_of("2.1")


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)
