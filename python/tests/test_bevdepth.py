"""BEVDepth's extension modules, called as its Python calls them."""

from __future__ import annotations

import importlib
import sys
import textwrap

import cases
import pytest
import torch

import mluop_omp.bevdepth
import mluop_omp.torch as mt

PACKAGES = [
    "bevdepth.ops.voxel_pooling_train",
    "bevdepth.ops.voxel_pooling_inference",
    "bevdepth.ops.voxel_pooling",
    "ops.voxel_pooling",
]


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Packages laid out as BEVDepth's, each of which imports its extension relatively."""
    for name in PACKAGES:
        folder = tmp_path / name.replace(".", "/")
        folder.mkdir(parents=True)
        for parent in (folder, *folder.parents):
            if parent == tmp_path:
                break
            (parent / "__init__.py").touch()
        extension = name.rpartition(".")[2] + "_ext"
        (folder / "__init__.py").write_text(f"from . import {extension} as extension\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    mluop_omp.bevdepth.install()
    yield tmp_path
    for module in [m for m in sys.modules if m.partition(".")[0] in ("bevdepth", "ops")]:
        del sys.modules[module]


@pytest.mark.parametrize("package", [PACKAGES[0], *PACKAGES[2:]])
def test_voxel_pooling(packages, package):
    extension = importlib.import_module(package).extension
    function = next(value for name, value in vars(extension).items() if name.endswith("_wrapper"))
    geom_xyz, feats, voxel_num = cases.arguments("voxel_pooling", X=4, Y=3, Z=2)
    (B, N, C), (X, Y, _) = feats.shape, voxel_num
    output, pos_memo = torch.zeros(B, Y, X, C), torch.full((B, N, 3), -1, dtype=torch.int32)
    function(B, N, C, *torch.tensor(voxel_num), geom_xyz, feats, output, pos_memo)
    expected = mt.voxel_pooling(geom_xyz, feats, voxel_num)
    assert torch.equal(output, expected[0])
    assert torch.equal(pos_memo, expected[1])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_voxel_pooling_of_inference(packages, dtype):
    extension = importlib.import_module(PACKAGES[1]).extension
    B, cams, D, H, W, C = 2, 3, 4, 2, 5, 6
    geom_xyz = cases.integers(-1, 4, B, cams, D, H, W, 3)
    depth, context = cases.floats(B * cams, D, H, W), cases.floats(B * cams, C, H, W)
    depth, context = depth.to(dtype), context.to(dtype)
    output = torch.full((B, 3, 3, C), torch.nan, dtype=dtype)
    sizes = (B, cams, D, H, W, C, *torch.tensor([3, 3, 3]))
    pool = extension.voxel_pooling_inference_forward_wrapper
    pool(*sizes, geom_xyz, depth, context, output)
    products = torch.einsum("ndhw,nchw->ndhwc", depth.double(), context.double())
    expected, _ = mt.voxel_pooling(geom_xyz.view(B, -1, 3), products.reshape(B, -1, C), (3, 3, 3))
    tolerance = {"rtol": torch.finfo(dtype).eps, "atol": 1e-6}
    torch.testing.assert_close(output.double(), expected, **tolerance)
    with pytest.raises(mluop_omp.MluOpError, match=r"output_features has shape \[2, 3, 2, 6\]"):
        pool(*sizes, geom_xyz, depth, context, output[:, :, :2])


def test_tensors_of_other_devices_need_an_extension_that_was_built(packages):
    extension = importlib.import_module(PACKAGES[0]).extension
    meta = torch.zeros(1, 1, 3, device="meta")
    call = (1, 1, 3, 1, 1, 1, meta, meta, meta, meta)
    with pytest.raises(mluop_omp.MluOpError, match="voxel_pooling_train_ext is not built"):
        extension.voxel_pooling_train_forward_wrapper(*call)
    source = "def voxel_pooling_train_forward_wrapper(*arguments): raise KeyError('built')"
    path = packages / PACKAGES[0].replace(".", "/") / "voxel_pooling_train_ext.py"
    path.write_text(textwrap.dedent(source))
    importlib.invalidate_caches()
    with pytest.raises(KeyError, match="built"):
        extension.voxel_pooling_train_forward_wrapper(*call)
