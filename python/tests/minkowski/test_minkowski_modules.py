"""The modules that are provided as MinkowskiEngine, and the functions of one that is installed.

The compiled part of an installed MinkowskiEngine is a stand-in here: its manager is this package's.
"""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
import types

import pytest
import torch
from minkowski_sites import LINE, ME, random_tensor, tensor

import mluop_omp.minkowski
from mluop_omp import MluOpError
from mluop_omp.minkowski import _backend, _modules, _repairs

TOP_LEVEL = [*_modules._FILES, "MinkowskiFunctional"]


@pytest.mark.parametrize("file", TOP_LEVEL)
def test_files_are_modules(file):
    inside = importlib.import_module(f"MinkowskiEngine.{file}")
    assert importlib.import_module(file) is inside
    for name in _modules._FILES.get(file, "").split():
        assert hasattr(inside, name) and hasattr(ME, name)
    for name in (f"MinkowskiEngine.{file}", file, "MinkowskiEngine", "MinkowskiEngineBackend._C"):
        assert importlib.util.find_spec(name) is not None


def test_imports_of_models():
    code = """
import mluop_omp.minkowski
mluop_omp.minkowski.install()
mluop_omp.minkowski.install()
import MinkowskiEngine as ME
import MinkowskiEngine.MinkowskiFunctional as MF
import MinkowskiEngine.MinkowskiOps as me
import MinkowskiEngineBackend._C as _C
import MinkowskiOps
from MinkowskiCommon import convert_to_int_list
from MinkowskiEngine import MinkowskiNetwork, MinkowskiReLU, SparseTensor
from MinkowskiEngine.MinkowskiPooling import MinkowskiAvgPooling
from MinkowskiEngine.MinkowskiSparseTensor import _get_coordinate_map_key
from MinkowskiEngine.modules.resnet_block import BasicBlock, Bottleneck
from MinkowskiEngine.modules.senet_block import SEBasicBlock
from MinkowskiEngine.utils import batched_coordinates, kaiming_normal_, sparse_quantize
from MinkowskiEngine.utils.quantization import sparse_quantize as same
from MinkowskiEngineBackend._C import CoordinateMapKey, RegionType
assert MinkowskiOps is me and me.cat is ME.cat and same is ME.utils.sparse_quantize
assert ME.__version__ == "0.5.4" and ME.MinkowskiOps is me and ME.MinkowskiFunctional is MF
assert isinstance(ME.MinkowskiConvolution, type) and not ME.is_cuda_available()
assert _C.RegionType(0) is ME.RegionType.HYPER_CUBE and ME.utils.summary and ME.modules
assert str(ME.RegionType.HYPER_CROSS) == f"{RegionType(1)}" == "RegionType.HYPER_CROSS"
assert convert_to_int_list(2, 3) == [2, 2, 2]
try:
    import MinkowskiEngine.missing
except ModuleNotFoundError:
    print("ran")
"""
    command = [sys.executable, "-W", "ignore", "-c", code]
    result = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    assert result.stdout == "ran\n"


def test_names_without_a_use():
    for name in ("MinkowskiConvolutionFunction", "MinkowskiInstanceNormFunction", "spmm"):
        refused = getattr(ME, name)
        for call in (refused, refused.apply):
            with pytest.raises(MluOpError, match=f"MinkowskiEngine's {name} is not part"):
                call(1, 2)


def test_keys_of_coordinates():
    make = importlib.import_module("MinkowskiSparseTensor")._get_coordinate_map_key
    x = tensor(LINE)
    assert not make(x).is_key_set() and make(x).get_coordinate_size() == 2
    assert not make(x, x, expand_coordinates=True).is_key_set()
    assert make(x, x) is make(x, x.coordinate_map_key) is x.coordinate_map_key
    key = make(x, torch.tensor([[0, -4], [0, 8]], dtype=torch.int32), 4)
    assert key.get_key() == ([4], "")
    with pytest.raises(MluOpError, match="coordinates is a str"):
        make(x, "sites")


def test_common():
    common = importlib.import_module("MinkowskiCommon")
    assert common.convert_to_int_tensor([1, 2], 2).tolist() == [1, 2]
    assert common.get_postfix(torch.zeros(1)) == "CPU"
    assert common.convert_to_int_list(torch.tensor([3, 4]), 2) == [3, 4]
    with pytest.raises(MluOpError, match="expected an integer or 3 of them"):
        common.convert_to_int_list([1, 2], 3)
    backend = importlib.import_module("MinkowskiEngineBackend._C")
    assert backend.get_gpu_memory_info() == (0, 0) and backend.cuda_version() == -1


# An installed MinkowskiEngine.


class Manager:
    """The calls that MinkowskiEngine's compiled manager has, whose pairs are in any order."""

    def __init__(self, manager):
        self.manager = manager

    def __getattr__(self, name):
        return getattr(self.manager, name)

    def kernel_map(self, in_key, out_key, kernel, stride, dilation, region, offset, up, pool):
        found = self.manager.kernel_map(
            in_key, out_key, stride, kernel, dilation, ME.RegionType(region), None, up, pool
        )
        return {k: rows[:, torch.randperm(rows.shape[1])] for k, rows in found.items()}


@pytest.fixture
def compiled(monkeypatch):
    """Returns the stand-in of MinkowskiEngineBackend._C, whose own functions record their calls."""
    module = types.ModuleType("MinkowskiEngineBackend._C")
    module.is_cuda_available = lambda: True
    module.calls = []
    others = "ConvolutionForwardGPU", "PruningForwardCPU", "quantize_label_np", "quantize_label_th"
    for name in (*_backend._FUNCTIONS, *others):
        setattr(module, name, lambda *_, name=name: module.calls.append(name))
    monkeypatch.setattr(_backend, "build", lambda: module)
    monkeypatch.setattr(_modules, "is_provided", lambda: False)
    # The modules that are imported are this package's, which stay as they are.
    monkeypatch.setattr(_repairs._imports, "after_import", lambda name, change: None)
    return module


def test_a_build_with_cuda_keeps_its_modules(compiled):
    text = "functions of MinkowskiEngine, without metadata"
    assert mluop_omp.minkowski.install() == mluop_omp.minkowski.install() == text
    compiled.ConvolutionForwardGPU()
    compiled.PruningForwardCPU()
    assert compiled.calls == ["ConvolutionForwardGPU", "PruningForwardCPU"]
    assert compiled.ConvolutionForwardCPU.original.__name__ == "<lambda>"


def test_a_build_without_cuda_is_replaced_before_its_import(compiled, monkeypatch):
    compiled.is_cuda_available = lambda: False
    assert not _backend.is_replaceable(compiled)
    monkeypatch.delitem(sys.modules, "MinkowskiEngine")
    assert _backend.is_replaceable(compiled)


def test_what_is_installed(monkeypatch):
    monkeypatch.delitem(sys.modules, "MinkowskiEngineBackend._C")
    monkeypatch.delitem(sys.modules, "MinkowskiEngineBackend")
    finder = importlib.machinery.PathFinder
    monkeypatch.setattr(finder, "find_spec", lambda *_: None)
    assert _backend.build() is None
    monkeypatch.setattr(finder, "find_spec", lambda *_: object())
    monkeypatch.setattr(_backend.importlib, "import_module", _not_built)
    assert _backend.build() is None


def _not_built(name):
    raise ImportError(name)


def gradients(output, inputs):
    grad = torch.arange(output.numel(), dtype=torch.float64).view(output.shape)
    return grad, torch.autograd.grad(output, inputs, grad, retain_graph=True)


CUBE, NOTHING = ME.RegionType.HYPER_CUBE, torch.empty(0, dtype=torch.int32)


@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize("stride", [1, 2])
def test_convolution_of_an_installed_build(compiled, stride, is_transposed):
    _backend.install(compiled)
    x = random_tensor(2, 2)
    make = ME.MinkowskiConvolutionTranspose if is_transposed else ME.MinkowskiConvolution
    layer = make(2, 3, kernel_size=3, stride=stride, dimension=2).double()
    if is_transposed:
        x = ME.MinkowskiSumPooling(kernel_size=stride, stride=stride, dimension=2)(x)
    output = layer(x)
    kind = "ConvolutionTranspose" if is_transposed else "Convolution"
    geometry = [3, 3], [stride] * 2, [1, 1], CUBE, NOTHING
    manager = Manager(x.coordinate_manager)
    key = output.coordinate_map_key if is_transposed else ME.CoordinateMapKey(3)
    keys = x.coordinate_map_key, key, manager
    forward = getattr(compiled, f"{kind}ForwardCPU")
    features, kernel = x.F.detach(), layer.kernel.detach()
    assert torch.equal(forward(features, kernel, *geometry, False, 0, *keys), output.F)
    assert key == output.coordinate_map_key
    grad, expected = gradients(output.F, (x.F, layer.kernel))
    backward = getattr(compiled, f"{kind}BackwardCPU")
    found = backward(features, grad, kernel, *geometry, 0, *keys)
    for a, b in zip(found, expected):
        assert torch.equal(a, b)


def test_what_an_installed_build_computes_itself(compiled):
    """The manager creates the sites of a transposed layer inside of its function alone."""
    _backend.install(compiled)
    x = random_tensor(2, 2, stride=2)
    keys = x.coordinate_map_key, ME.CoordinateMapKey(3), Manager(x.coordinate_manager)
    geometry = [2, 2], [2, 2], [1, 1], CUBE, NOTHING
    kernel = torch.ones(4, 2, 3, dtype=torch.float64)
    compiled.ConvolutionTransposeForwardCPU(x.F, kernel, *geometry, False, 0, *keys)
    compiled.ConvolutionForwardCPU(x.F, kernel, *geometry, True, 0, *keys)
    mode = ME.PoolingMode.LOCAL_SUM_POOLING
    compiled.LocalPoolingTransposeForwardCPU(x.F, *geometry, False, mode, *keys)
    assert compiled.calls == [
        *("ConvolutionTransposeForwardCPU", "ConvolutionForwardCPU"),
        "LocalPoolingTransposeForwardCPU",
    ]


@pytest.mark.parametrize("kernel", [2, 3])
@pytest.mark.parametrize("name", ["Sum", "Avg", "Max", "Transpose"])
def test_pools_of_an_installed_build(compiled, name, kernel):
    _backend.install(compiled)
    x = random_tensor(2, 2)
    geometry = [kernel] * 2, [2, 2], [1, 1], CUBE, NOTHING
    named = {"kernel_size": kernel, "stride": 2, "dimension": 2}
    manager, key = Manager(x.coordinate_manager), ME.CoordinateMapKey(3)
    if name == "Transpose":
        x = ME.MinkowskiSumPooling(**named)(x)
        output = ME.MinkowskiPoolingTranspose(**named)(x)
        key, mode = output.coordinate_map_key, ME.PoolingMode.LOCAL_AVG_POOLING
        rest, kind = (*geometry, False), "LocalPoolingTranspose"
    else:
        output = getattr(ME, f"Minkowski{name}Pooling")(**named)(x)
        mode = getattr(ME.PoolingMode, f"LOCAL_{name.upper()}_POOLING")
        rest, kind = geometry, "LocalPooling"
    keys = x.coordinate_map_key, key, manager
    found, second = getattr(compiled, f"{kind}ForwardCPU")(x.F.detach(), *rest, mode, *keys)
    assert torch.equal(found, output.F) and key == output.coordinate_map_key
    grad, (expected,) = gradients(output.F, (x.F,))
    backward = getattr(compiled, f"{kind}BackwardCPU")
    assert torch.equal(backward(x.F.detach(), grad, second, *geometry, mode, *keys), expected)


class Scrambled(Manager):
    """A manager whose batches are in no order."""

    def get_coordinates(self, key):
        sites = self.manager.get_coordinates(key)
        return sites.flip(0) if key == self.manager.origin() else sites


@pytest.mark.parametrize("name", ["Sum", "Avg", "Max"])
def test_global_pools_of_an_installed_build(compiled, name):
    _backend.install(compiled)
    x = random_tensor(2, 2)
    output = getattr(ME, f"MinkowskiGlobal{name}Pooling")()(x)
    mode = getattr(ME.PoolingMode, f"GLOBAL_{name.upper()}_POOLING_KERNEL")
    keys = x.coordinate_map_key, ME.CoordinateMapKey(3), Scrambled(x.coordinate_manager)
    found, second = compiled.GlobalPoolingForwardCPU(x.F.detach(), mode, *keys)
    assert torch.equal(found, output.F.flip(0))
    grad, (expected,) = gradients(output.F, (x.F,))
    back = compiled.GlobalPoolingBackwardCPU(x.F.detach(), grad.flip(0), second, mode, *keys)
    assert torch.equal(back, expected)


def test_the_global_maximum_of_a_field_of_an_installed_build(compiled):
    _backend.install(compiled)
    points = torch.tensor([[1, -0.5], [0, 0.5], [1, 7.25]])
    field = ME.TensorField(torch.tensor([[1.0], [-2.0], [3.0]]), coordinates=points)
    keys = field.coordinate_field_map_key, ME.CoordinateMapKey(2), field.coordinate_manager
    mode = ME.PoolingMode.GLOBAL_MAX_POOLING_DEFAULT
    found, _ = compiled.GlobalPoolingForwardCPU(field.F, mode, *keys)
    assert found.tolist() == [[-2], [3]]
    with pytest.raises(RuntimeError, match="has no 2 rows"):
        compiled.GlobalPoolingForwardCPU(field.F[:2], mode, *keys)


def test_labels_of_an_installed_build(compiled):
    _repairs.install(compiled)
    rows = torch.tensor([[-1, 0], [-1, 0], [2, 3], [2, 3], [-1, 7]], dtype=torch.int32)
    labels = torch.tensor([1, 1, 2, 3, 5], dtype=torch.int32)
    first, inverse, shared = compiled.quantize_label_th(rows, labels, -100)
    assert first.tolist() == [0, 2, 4] and inverse.tolist() == [0, 0, 1, 1, 2]
    assert shared.tolist() == [1, -100, 5] and shared.dtype is torch.int64
    arrays = compiled.quantize_label_np(rows.numpy(), labels.numpy(), -100)
    assert [each.tolist() for each in arrays] == [[0, 2, 4], [0, 0, 1, 1, 2], [1, -100, 5]]


def test_voxels_of_points_of_an_installed_build():
    """The points of the fault: the map to strided sites is used by position there."""

    class Field(ME.TensorField):
        def inverse_mapping(self, sparse_tensor_map_key):
            return "own"

    _repairs._fields(types.SimpleNamespace(TensorField=Field))
    points = torch.tensor([[0, x] for x in (0, 1, 2, 3, 8, 9)], dtype=torch.float32)
    field = Field(torch.arange(6.0).view(-1, 1), coordinates=points)
    pooled = ME.MinkowskiAvgPooling(kernel_size=2, stride=2, dimension=1)(field.sparse())
    rows = field.inverse_mapping(pooled.coordinate_map_key)
    assert pooled.F[rows].flatten().tolist() == [0.5, 0.5, 2.5, 2.5, 4.5, 4.5]
    part = ME.MinkowskiPruning()(pooled, pooled.C[:, 1] == 0)
    assert field.inverse_mapping(part.coordinate_map_key) == "own"


def test_broadcasts_of_an_installed_build():
    def refuse(self, input, input_glob):
        raise NotImplementedError

    names = ("MinkowskiBroadcast", "MinkowskiBroadcastConcatenation")
    module = types.SimpleNamespace(**{name: type(name, (), {"forward": refuse}) for name in names})
    _repairs._broadcasts(module)
    x = random_tensor(2, 2)
    glob = ME.MinkowskiGlobalSumPooling()(x)
    for name in names:
        expected = getattr(ME, name)()(x, glob)
        output = getattr(module, name)().forward(x, glob)
        assert torch.equal(output.F, expected.F)
        assert output.coordinate_map_key == x.coordinate_map_key
    lacking = ME.SparseTensor(glob.F[:1], coordinates=glob.C[:1])
    with pytest.raises(MluOpError, match="input_glob has no row of batch"):
        module.MinkowskiBroadcast().forward(x, lacking)
