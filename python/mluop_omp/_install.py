"""Setting up other libraries in one call, and PyTorch for code that requires a GPU."""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager
from typing import Any

from mluop_omp import _requirements

# The libraries whose extension modules are provided.
_EXTENDED = (
    *("bevdepth", "bevdet", "bevfusion", "deformable_detr"),
    *("pcdet", "pointnet2", "pointops"),
)


def install() -> dict[str, str]:
    """Makes the supported libraries compute tensors of the CPU with this library.

    Calls `install` of `mluop_omp.mmcv` and `mluop_omp.spconv`, where these libraries are installed,
    and of `mluop_omp.bevdepth`, `mluop_omp.bevdet`, `mluop_omp.bevfusion`,
    `mluop_omp.deformable_detr`, `mluop_omp.pcdet`, `mluop_omp.pointnet2` and `mluop_omp.pointops`,
    which provide extension modules, and of `mluop_omp.minkowski` and `mluop_omp.torchsparse`, which
    provide these libraries where they are not installed. mmdetection3d uses spconv where it is
    installed, else mmcv. Once, if repeated; before or after the imports of these libraries, but
    before the imports of packages that look for MinkowskiEngine and torchsparse.

    Returns:
        For each library, what was set up, or how to install it.

    Raises:
        ImportError: PyTorch is not installed; a library that is installed cannot be imported.
    """
    _requirements.require("torch")
    done = {}
    for library in ("mmcv", "spconv"):
        missing = _requirements.missing(library)
        if missing is None:
            importlib.import_module(f"mluop_omp.{library}").install()
        done[library] = missing or f"functions of {importlib.import_module(library).__version__}"
    for library in _EXTENDED:
        importlib.import_module(f"mluop_omp.{library}").install()
        done[library] = "extension modules"
    done["MinkowskiEngine"] = importlib.import_module("mluop_omp.minkowski").install()
    importlib.import_module("mluop_omp.torchsparse").install()
    version = importlib.import_module("torchsparse").__version__
    done["torchsparse"] = f"functions of torchsparse {version}"
    return done


def no_cuda() -> AbstractContextManager[Any]:
    """Lets code that calls `.cuda()`, or that creates tensors on the device cuda, run on the CPU.

    From the call on, or in a `with` statement during it:

    - `Tensor.cuda`, `Module.cuda` and `to` of a tensor or a module return it on the CPU, and
      torch.load returns there what was saved from a GPU;
    - functions of PyTorch take a device cuda, of any index, as the CPU;
    - torch.cuda.FloatTensor and its other types of tensors and storages are types of the CPU;
    - streams, pinned memory, torch.cuda.set_device, synchronize and the like have no effect, events
      measure wall time, statistics of memory are 0, random numbers come from the CPU's generator;
    - torch.cuda.get_device_name, get_device_properties and mem_get_info describe the machine;
    - torch.nn.parallel and DataParallel compute all parts with one module;
    - binary_cross_entropy takes targets outside of 0 to 1, as on CUDA.

    What code reads remains true: torch.cuda.is_available() is False where there is no GPU, tensors
    are on the device cpu, and `is_cuda` is False. Graphs, memory pools, NCCL, generators of CUDA
    and sensors of GPUs still require a GPU: docs/python.md lists each name. Devices are replaced in
    the thread that calls `no_cuda` and in processes that it forks, the names of torch.cuda in all
    threads; each call of PyTorch takes some microseconds more.
    """
    _requirements.require("torch")
    return importlib.import_module("mluop_omp.torch._no_cuda").no_cuda()
