"""The modules that are provided, their versions, and an installed torchsparse."""

from __future__ import annotations

import importlib
import subprocess
import sys
import textwrap
from importlib.util import find_spec

import pytest

import mluop_omp.torchsparse
from mluop_omp import MluOpError

if "torchsparse" not in sys.modules and find_spec("torchsparse"):
    pytest.skip("torchsparse itself is installed", allow_module_level=True)


@pytest.fixture
def install():
    yield mluop_omp.torchsparse.install
    mluop_omp.torchsparse.install("1.4")


def test_versions(install):
    install("1.4")
    torchsparse = importlib.import_module("torchsparse")
    first = torchsparse.SparseTensor
    assert torchsparse.__version__ == "1.4.0" and find_spec("torchsparse") is torchsparse.__spec__
    install("2.1")
    assert importlib.import_module("torchsparse") is torchsparse
    assert torchsparse.__version__ == "2.1.0" and torchsparse.SparseTensor is not first
    install()
    assert torchsparse.__version__ == "2.1.0"
    install("2.0")
    assert torchsparse.__version__ == "2.0.0b" and torchsparse.SparseTensor is first
    with pytest.raises(MluOpError, match="version is '1.1', expected one of 1.4, 2.0, 2.1"):
        install("1.1")


@pytest.mark.parametrize(
    ("version", "statements"),
    [
        (
            "1.4",
            """
            import torchsparse, torchsparse.nn as spnn, torchsparse.nn.functional as F
            from torchsparse import PointTensor, SparseTensor, cat
            from torchsparse.nn import BatchNorm, Conv3d, GroupNorm, LeakyReLU, ReLU
            from torchsparse.nn.utils import fapply, get_kernel_offsets
            from torchsparse.tensor import PointTensor, SparseTensor
            from torchsparse.utils import *
            from torchsparse.utils.collate import sparse_collate, sparse_collate_fn
            from torchsparse.utils.quantize import sparse_quantize
            from torchsparse.nn.functional.conv import conv3d
            from torchsparse.nn.modules.conv import Conv3d as same
            from torchsparse.backbones import SparseResNet21D, SparseResUNet42
            assert same is Conv3d is spnn.Conv3d and F.conv3d is conv3d
            assert make_ntuple(2, 3) == (2, 2, 2)
            """,
        ),
        (
            "2.1",
            """
            import torchsparse
            from torchsparse import SparseTensor, nn as spnn
            from torchsparse.nn import functional as F
            from torchsparse.nn.functional.conv.conv_config import _default_conv_config
            from torchsparse.nn.functional.conv.utils import AttributeDict
            from torchsparse.nn.functional.devoxelize import calc_ti_weights
            from torchsparse.nn.utils import *
            from torchsparse.operators import generative_add
            from torchsparse.utils import *
            from torchsparse.utils.tensor_cache import TensorCache, TensorCacheMode
            F.set_conv_mode(0)
            F.set_kmap_mode("hashmap_on_the_fly")
            assert F.conv_config.get_default_conv_config() is _default_conv_config
            torchsparse.backends.benchmark = True
            torchsparse.backend.GPUHashTable(0)
            assert make_tensor((1, 2), dtype=torch.int, device="cpu").tolist() == [1, 2]
            assert to_dense is torchsparse.utils.to_dense and calc_ti_weights is F.calc_ti_weights
            """,
        ),
    ],
)
def test_imports(version, statements, install):
    install(version)
    exec("import torch\n" + textwrap.dedent(statements), {})


@pytest.mark.parametrize(
    ("statement", "error", "message"),
    [
        ("import torchsparse.utils.tensor_cache", ImportError, r'install\(version="2.1"\)'),
        ("from torchsparse.sparse_tensor import SparseTensor", ImportError, "torchsparse 1.1"),
        ("from torchsparse.utils.kernel_region import *", ImportError, "torchsparse 1.1"),
        ("import torchsparse.something", ImportError, "torchsparse 1.4 .* has no"),
        ("import torchsparse; torchsparse.backend.GPUHashTable", AttributeError, "torchsparse 2.1"),
        ("import torchsparse; torchsparse.something", AttributeError, "torchsparse.something"),
        ("import torchsparse; torchsparse.__something__", AttributeError, "has no attribute"),
        ("from torchsparse import generative_add", ImportError, "generative_add"),
        (
            "import torchsparse.nn.functional as F; F.transpose_kernel_map()",
            MluOpError,
            "transpose_kernel_map has no CPU kernel",
        ),
    ],
)
def test_names_that_are_missing(statement, error, message, install):
    install("1.4")
    with pytest.raises(error, match=message):
        exec(statement, {})


# An installed torchsparse, whose functions know no tensors of the CPU.
PACKAGE = {
    "__init__": "from .tensor import *\n",
    "version": "__version__ = '{version}'\n",
    "tensor": """
class SparseTensor:
    def __init__(self, feats, coords, stride=1):
        self.feats, self.coords, self.stride = feats, coords, (stride,) * 3
        self.cmaps, self.kmaps = {{}}, {{}}
""",
    "nn/__init__": "",
    "nn/functional/__init__": "from .conv import *\nfrom .hash import *\n",
    "nn/functional/conv": "def conv3d(input, weight, kernel_size): raise NotImplementedError\n",
    "nn/functional/hash": "def sphash(coords): return 'of another device'\n",
    "utils/__init__": "def to_dense(feats, coords, spatial_range): raise NotImplementedError\n",
}
TAKEN_OVER = """
import torch, mluop_omp.torchsparse
from torchsparse.nn.functional import conv3d, sphash  # A copy of the name.
mluop_omp.torchsparse.install()
mluop_omp.torchsparse.install()
import torchsparse, torchsparse.nn.functional as F
assert torchsparse.__file__ and torchsparse.SparseTensor.__module__ == "torchsparse.tensor"
x = torchsparse.SparseTensor(torch.ones(2, 1), torch.tensor([[-1, 0, 0, 0], [0, 0, 0, 0]]).int())
y = F.conv3d(x, torch.ones(27, 1, 1), 3)
assert type(y) is type(x) and y.feats.tolist() == [[2], [2]] and y.kmaps is x.kmaps
assert F.sphash(x.coords[1:]).tolist() == [947293587111810033] == sphash(x.coords[1:]).tolist()
assert F.sphash(torch.zeros(1, 4, device="meta")) == "of another device"
"""
REFUSED = """
import mluop_omp.torchsparse
try:
    mluop_omp.torchsparse.install({version!r})
except mluop_omp.MluOpError as error:
    assert {message!r} in str(error), error
else:
    raise AssertionError
"""
OF_CUDA = """
import mluop_omp.torchsparse
mluop_omp.torchsparse.install()
import torchsparse
assert torchsparse.__version__ == "2.1.0" and not hasattr(torchsparse, "__file__")
"""


@pytest.mark.parametrize(
    ("version", "program"),
    [
        ("1.4.0", TAKEN_OVER),
        ("2.0.0b", TAKEN_OVER),
        ("1.4.0", REFUSED.format(version="2.1", message="torchsparse 1.4.0 is installed")),
        ("1.2.0", REFUSED.format(version=None, message="torchsparse 1.2.0 is installed")),
        ("2.1.0+torch20cu117", OF_CUDA),
    ],
)
def test_an_installed_torchsparse(version, program, tmp_path):
    for name, text in PACKAGE.items():
        file = tmp_path / "torchsparse" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.format(version=version))
    path = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    if version.startswith("2.1"):
        path += "import torch; torch.cuda.is_available = lambda: False\n"
    subprocess.run([sys.executable, "-c", path + program], check=True)


def test_a_folder_of_the_name_is_not_torchsparse(tmp_path):
    (tmp_path / "torchsparse").mkdir()
    path = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    program = "import mluop_omp.torchsparse as m; m.install(); import torchsparse.nn"
    subprocess.run([sys.executable, "-c", path + program], check=True)
