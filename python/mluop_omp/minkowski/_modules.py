"""The modules named as MinkowskiEngine's, with the names of its files."""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
import types
from collections.abc import Mapping
from typing import Any

from mluop_omp._library import not_supported

VERSION = "0.5.4"

# The modules of this package whose names are provided; the name Tensor is the last one's.
_PARTS = (
    *("kernels", "keys", "coordinates", "settings", "tensors", "fields", "arithmetic", "pruning"),
    *("dense", "convolutions", "pools", "global", "norms", "pointwise", "network", "common"),
    *("blocks", "collation", "quantization", "utils", "base"),
)

# Names by file. MinkowskiFunctional and the package itself are below.
_FILES = {
    "MinkowskiBroadcast": "MinkowskiBroadcast MinkowskiBroadcastAddition MinkowskiBroadcastBase "
    "MinkowskiBroadcastConcatenation MinkowskiBroadcastFunction MinkowskiBroadcastMultiplication",
    "MinkowskiChannelwiseConvolution": "MinkowskiChannelwiseConvolution",
    "MinkowskiCommon": "MinkowskiModuleBase StrideType convert_to_int_list convert_to_int_tensor "
    "get_minkowski_function get_postfix",
    "MinkowskiConvolution": "MinkowskiConvolution MinkowskiConvolutionBase "
    "MinkowskiConvolutionFunction MinkowskiConvolutionTranspose "
    "MinkowskiConvolutionTransposeFunction MinkowskiGenerativeConvolutionTranspose",
    "MinkowskiCoordinateManager": "CoordinateManager CoordsManager set_coordinate_map_type "
    "set_gpu_allocator set_memory_manager_backend",
    "MinkowskiInterpolation": "MinkowskiInterpolation MinkowskiInterpolationFunction",
    "MinkowskiKernelGenerator": "KernelGenerator KernelRegion convert_region_type "
    "get_kernel_volume",
    "MinkowskiNetwork": "MinkowskiNetwork",
    "MinkowskiNonlinearity": "MinkowskiAdaptiveLogSoftmaxWithLoss MinkowskiAlphaDropout "
    "MinkowskiCELU MinkowskiDropout MinkowskiELU MinkowskiGELU MinkowskiHardshrink "
    "MinkowskiHardsigmoid MinkowskiHardswish MinkowskiHardtanh MinkowskiLeakyReLU "
    "MinkowskiLogSigmoid MinkowskiLogSoftmax MinkowskiNonlinearityBase MinkowskiPReLU "
    "MinkowskiRReLU MinkowskiReLU MinkowskiReLU6 MinkowskiSELU MinkowskiSiLU MinkowskiSigmoid "
    "MinkowskiSinusoidal MinkowskiSoftmax MinkowskiSoftmin MinkowskiSoftplus MinkowskiSoftshrink "
    "MinkowskiSoftsign MinkowskiTanh MinkowskiTanhshrink MinkowskiThreshold",
    "MinkowskiNormalization": "MinkowskiBatchNorm MinkowskiInstanceNorm "
    "MinkowskiInstanceNormFunction MinkowskiStableInstanceNorm MinkowskiSyncBatchNorm",
    "MinkowskiOps": "MinkowskiLinear MinkowskiStackCat MinkowskiStackMean MinkowskiStackSum "
    "MinkowskiStackVar MinkowskiToDenseTensor MinkowskiToFeature MinkowskiToSparseTensor "
    "SparseTensor TensorField _sum cat dense_coordinates mean sum to_sparse to_sparse_all var",
    "MinkowskiPooling": "MinkowskiAvgPooling MinkowskiDirectMaxPoolingFunction "
    "MinkowskiGlobalAvgPooling MinkowskiGlobalMaxPooling MinkowskiGlobalPooling "
    "MinkowskiGlobalPoolingFunction MinkowskiGlobalSumPooling MinkowskiLocalPoolingFunction "
    "MinkowskiLocalPoolingTransposeFunction MinkowskiMaxPooling MinkowskiPoolingBase "
    "MinkowskiPoolingTranspose MinkowskiSumPooling",
    "MinkowskiPruning": "MinkowskiPruning MinkowskiPruningFunction",
    "MinkowskiSparseTensor": "SparseTensor _get_coordinate_map_key",
    "MinkowskiTensor": "COORDINATE_KEY_DIFFERENT_ERROR COORDINATE_MANAGER_DIFFERENT_ERROR "
    "SparseTensorOperationMode SparseTensorQuantizationMode Tensor "
    "clear_global_coordinate_manager global_coordinate_manager set_global_coordinate_manager "
    "set_sparse_tensor_operation_mode sparse_tensor_operation_mode",
    "MinkowskiTensorField": "TensorField",
    "MinkowskiUnion": "MinkowskiUnion MinkowskiUnionFunction",
    "sparse_matrix_functions": "MinkowskiSPMMAverageFunction MinkowskiSPMMFunction spmm "
    "spmm_average",
}
_BACKEND = (
    *("BroadcastMode", "CUDAKernelMapMode", "ConvolutionMode", "CoordinateMapKey"),
    *("CoordinateMapType", "GPUMemoryAllocatorType", "MinkowskiAlgorithm", "PoolingMode"),
    *("RegionType", "cuda_version", "cudart_version", "get_gpu_memory_info", "is_cuda_available"),
)
_UTILS = {
    "collation": "SparseCollation batch_sparse_collate batched_coordinates sparse_collate",
    "gradcheck": "gradcheck",
    "init": "kaiming_normal_",
    "quantization": "fnv_hash_vec quantize quantize_label ravel_hash_vec sparse_quantize "
    "unique_coordinate_map",
    "summary": "summary",
}
_BLOCKS = {
    "resnet_block": "BasicBlock Bottleneck",
    "senet_block": "BasicBlock Bottleneck SEBasicBlock SEBottleneck SELayer",
}
# The autograd functions of MinkowskiEngine, and what else no model that we know uses.
_UNSUPPORTED = (
    *("MinkowskiBroadcastFunction", "MinkowskiConvolutionFunction"),
    *("MinkowskiConvolutionTransposeFunction", "MinkowskiDirectMaxPoolingFunction"),
    *("MinkowskiGlobalPoolingFunction", "MinkowskiInstanceNormFunction"),
    *("MinkowskiInterpolationFunction", "MinkowskiLocalPoolingFunction"),
    *("MinkowskiLocalPoolingTransposeFunction", "MinkowskiPruningFunction"),
    *("MinkowskiSPMMAverageFunction", "MinkowskiSPMMFunction", "MinkowskiUnionFunction"),
    *("CoordsManager", "KernelRegion", "MinkowskiAdaptiveLogSoftmaxWithLoss"),
    *("convert_region_type", "get_minkowski_function", "gradcheck", "spmm", "spmm_average"),
    "summary",
)


def _unsupported(name: str) -> type:
    """Returns a class that raises an error that names it where it is called or applied."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise not_supported(f"MinkowskiEngine's {name} is not part of mluop_omp.minkowski")

    return type(name, (), {"__new__": refuse, "apply": staticmethod(refuse)})


def names() -> dict[str, Any]:
    """Returns what the modules provide, by name."""
    found: dict[str, Any] = {}
    for part in _PARTS:
        found |= vars(importlib.import_module(f"mluop_omp.minkowski._{part}"))
    unsupported = {name: _unsupported(name) for name in _UNSUPPORTED if name not in found}
    return {**found, **unsupported, "sum": found["_sum"]}


def _module(name: str, contents: Mapping[str, Any], is_package: bool = False) -> types.ModuleType:
    module = types.ModuleType(name, "Provided by mluop_omp.minkowski.")
    module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=is_package)
    module.__file__ = __file__
    module.__package__ = name if is_package else name.rpartition(".")[0]
    if is_package:
        module.__path__ = []
    for each, value in contents.items():
        setattr(module, each, value)
    return module


def _package(name: str, files: Mapping[str, str], known: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a package and its files, by full name. The package has the names of all files, which
    take the place of a file of the same name.
    """
    modules: dict[str, Any] = {name: _module(name, {}, is_package=True)}
    for file, contents in files.items():
        own = {each: known[each] for each in contents.split()}
        modules[f"{name}.{file}"] = _module(f"{name}.{file}", own)
        vars(modules[name]).update({file: modules[f"{name}.{file}"]}, **own)
    return modules


def modules() -> dict[str, types.ModuleType]:
    """Returns MinkowskiEngine and its modules, the same as top-level modules, and its backend."""
    known = names()
    functional = _module("MinkowskiEngine.MinkowskiFunctional", known["FUNCTIONS"])
    files = _package("MinkowskiEngine", _FILES, known)
    package = files.pop("MinkowskiEngine")
    files["MinkowskiEngine.MinkowskiFunctional"] = functional
    top_level = {name.rpartition(".")[2]: module for name, module in files.items()}
    utils = _package("MinkowskiEngine.utils", _UTILS, known)
    blocks = _package("MinkowskiEngine.modules", _BLOCKS, known)
    backend = _module("MinkowskiEngineBackend", {}, is_package=True)
    compiled = _module("MinkowskiEngineBackend._C", {name: known[name] for name in _BACKEND})
    vars(backend)["_C"] = compiled
    vars(package).update({name: known[name] for name in _BACKEND})
    vars(package).update(
        MinkowskiFunctional=functional,
        utils=utils["MinkowskiEngine.utils"],
        modules=blocks["MinkowskiEngine.modules"],
        __version__=VERSION,
    )
    compiled_modules = {"MinkowskiEngineBackend": backend, "MinkowskiEngineBackend._C": compiled}
    return {"MinkowskiEngine": package, **files, **top_level, **utils, **blocks, **compiled_modules}


def is_provided() -> bool:
    """Returns whether MinkowskiEngine is this package's."""
    return getattr(sys.modules.get("MinkowskiEngine"), "__file__", None) == __file__


def provide() -> None:
    """Provides the modules; once, if repeated."""
    if not is_provided():
        sys.modules.update(modules())
