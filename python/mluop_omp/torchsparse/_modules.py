"""The modules that are provided where torchsparse is not installed, and their names by version."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Iterator
from typing import Any

from mluop_omp._extensions import refusal
from mluop_omp.torchsparse import (
    _backbones,
    _backend,
    _bev,
    _collate,
    _config,
    _convolutions,
    _functions,
    _kernel_maps,
    _layers,
    _offsets,
    _tensors,
    _utils,
)

Names = dict[str, Any]
# torchsparse.__version__.
VERSIONS = {"1.4": "1.4.0", "2.0": "2.0.0b", "2.1": "2.1.0"}


def _named(module: Any, *names: str) -> Names:
    return {name: getattr(module, name) for name in names}


def _is_later(version: str) -> bool:
    """Returns whether batches are the first column, as in version 2.1."""
    return version == "2.1"


def _functional(version: str) -> dict[str, Names]:
    """Returns the names of the modules below torchsparse.nn.functional."""
    later = _is_later(version)
    of_version = _functions, _kernel_maps, _convolutions

    def chosen(name: str) -> Names:
        ours = f"{name}_batch_first" if later else name
        return {name: next(getattr(each, ours) for each in of_version if hasattr(each, ours))}

    refused = "torchsparse.nn.functional."
    return {
        "activation": _named(_layers, "relu", "leaky_relu", "silu"),
        "count": _named(_functions, "spcount"),
        "crop": _named(_functions, "spcrop"),
        "devoxelize": {**_named(_functions, "spdevoxelize"), **chosen("calc_ti_weights")},
        "hash": chosen("sphash"),
        "pooling": _named(_functions, "global_avg_pool", "global_max_pool"),
        "query": {
            **_named(_functions, "sphashquery"),
            **{name: refusal(refused + name) for name in _REFUSED},
        },
        "voxelize": _named(_functions, "spvoxelize"),
        "conv": chosen("conv3d"),
        "downsample": chosen("spdownsample"),
        "build_kmap": chosen("build_kernel_map"),
    }


_REFUSED = "convert_transposed_out_in_map", "spupsample_generative", "transpose_kernel_map"
_CONFIG = (
    *("get_default_conv_config", "get_global_conv_config", "set_global_conv_config"),
    *("clear_global_conv_config", "Dataflow", "_default_conv_config", "AttributeDict", "ConvMode"),
    *("get_kmap_mode", "get_downsample_mode"),
)
_MODES = (
    *("ConvMode", "get_conv_mode", "set_conv_mode", "get_kmap_mode", "set_kmap_mode"),
    *("get_downsample_mode", "set_downsample_mode"),
)
_CACHES = (
    *("TensorCache", "TensorCacheMode", "set_tensor_cache_mode", "get_tensor_cache_mode"),
    *("get_global_tensor_cache", "set_global_tensor_cache", "clear_global_tensor_cache"),
)
_NEGATIVE = "get_allow_negative_coordinates", "set_allow_negative_coordinates"
_NORMS = "BatchNorm", "GroupNorm", "InstanceNorm"
_BEV = "ToBEVConvolution", "ToBEVReduction", "ToDenseBEVConvolution", "ToBEVHeightCompression"


def _nn(version: str) -> Iterator[tuple[str, Names]]:
    functional = _functional(version)
    conv3d = _convolutions.BatchFirstConv3d if _is_later(version) else _convolutions.Conv3d
    layers = {
        "activation": _named(_layers, "ReLU", "LeakyReLU", "SiLU"),
        "bev": _named(_bev, *_BEV),
        "conv": {"Conv3d": conv3d},
        "crop": _named(_layers, "SparseCrop"),
        "norm": _named(_layers, *_NORMS),
        "pooling": _named(_layers, "GlobalAvgPool", "GlobalMaxPool"),
    }
    everything = {name: value for names in layers.values() for name, value in names.items()}
    yield "nn", everything
    yield "nn.modules", everything
    yield from ((f"nn.modules.{name}", names) for name, names in layers.items())
    kernel, apply = _named(_offsets, "get_kernel_offsets"), _named(_tensors, "fapply")
    yield from {"nn.utils": {**kernel, **apply}, "nn.utils.kernel": kernel}.items()
    yield "nn.utils.apply", apply
    names = {name: value for each in functional.values() for name, value in each.items()}
    yield "nn.functional", {**names, **_named(_config, *_MODES, "Dataflow")}
    yield from ((f"nn.functional.{name}", each) for name, each in functional.items())
    if _is_later(version):
        yield "nn.functional.conv.conv", functional["conv"]
        yield "nn.functional.conv.conv_config", _named(_config, *_CONFIG)
        yield "nn.functional.conv.conv_mode", _named(_config, *_MODES)
        yield "nn.functional.conv.utils", _named(_config, "AttributeDict")


def _backbone_names(version: str) -> Names:
    if not _is_later(version):
        return _named(_backbones, "SparseResNet21D", "SparseResUNet42")
    ours = _named(_backbones, "BatchFirstResNet21D", "BatchFirstResUNet42")
    return {name.replace("BatchFirst", "Sparse"): value for name, value in ours.items()}


def _block_names(version: str) -> Names:
    names = "ConvBlock", "ConvTransposeBlock", "ResBlock"
    ours = "BatchFirst" if _is_later(version) else "Sparse"
    return {f"Sparse{name}": getattr(_backbones, f"{ours}{name}") for name in names}


def _utilities(version: str) -> Iterator[tuple[str, Names]]:
    shifts = version == "1.4"
    quantize = _utils.sparse_quantize_from_zero if shifts else _utils.sparse_quantize
    first = _is_later(version)
    suffix = "_batch_first" if first else ""
    names = _named(_utils, "make_ntuple", "make_tensor", "make_divisible")
    dense = _named(_tensors, "to_dense") if first else {}
    yield "utils", {**names, **dense}
    yield "utils.utils", names
    yield "utils.quantize", {"sparse_quantize": quantize}
    yield (
        "utils.collate",
        {
            name: getattr(_collate, f"{name}{suffix}")
            for name in ("sparse_collate", "sparse_collate_fn")
        },
    )
    yield "utils.tune", _named(_config, "tune")
    if first:
        yield "utils.to_dense", dense
        yield "utils.tensor_cache", _named(_utils, *_CACHES)


def namespaces(version: str) -> dict[str, Names]:
    """Returns the names of each module; "" is torchsparse itself."""
    first = _is_later(version)
    tensor: Names = {"SparseTensor": _tensors.SparseTensor, "PointTensor": _tensors.PointTensor}
    operators = _named(_tensors, "cat")
    if first:
        tensor["SparseTensor"] = _tensors.BatchFirstTensor
        tensor.update(_named(_tensors, *_NEGATIVE))
        operators.update(_named(_tensors, "generative_add"))
    exported = {name: tensor[name] for name in ("SparseTensor", "PointTensor")}
    backend = _named(_backend, "GPUHashTable") if first else {}
    version_names = {"__version__": VERSIONS[version]}
    return {
        "": {**exported, **operators, **_named(_config, "tune"), **version_names},
        "tensor": tensor,
        "operators": operators,
        "version": version_names,
        "backend": backend,
        "backends": dict(_backend.BACKENDS),
        "backbones": _backbone_names(version),
        "backbones.modules": _block_names(version),
        **dict(_nn(version)),
        **dict(_utilities(version)),
    }


# Modules of torchsparse 1.1 that models import.
_OF_1_1 = (
    *("sparse_tensor", "point_tensor", "utils.kernel_region", "utils.helpers"),
    *("nn.functional.devox", "nn.functional.sparseconv", "nn.functional.convert_neighbor_map"),
)


def _path(module: str) -> str:
    return f"torchsparse.{module}" if module else "torchsparse"


def _hint(version: str, module: str, name: str | None = None) -> str:
    """Returns the version of torchsparse that has a module, or a name of it, and how to get it."""
    what = _path(module) if name is None else f"{_path(module)}.{name}"
    if name is None and module in _OF_1_1:
        return f"{what} belongs to torchsparse 1.1, whose interface mluop_omp does not provide"
    for other in reversed(VERSIONS):
        names = namespaces(other).get(module)
        if names is not None and (name is None or name in names):
            required = f'mluop_omp.torchsparse.install(version="{other}")'
            return f"{what} belongs to torchsparse {other}: {required}"
    return f"torchsparse {version} as mluop_omp provides it has no {what}"


class Modules(importlib.abc.MetaPathFinder):
    """The provided modules: refuses modules of other versions by name."""

    version: str | None = None
    modules: dict[str, types.ModuleType] = {}

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        package, _, module = fullname.partition(".")
        if package == "torchsparse" and module and self.version is not None:
            raise ModuleNotFoundError(_hint(self.version, module), name=fullname)
        return None


_PROVIDED = Modules()


def provided() -> str | None:
    """Returns the version of the provided modules, or None."""
    is_ours = sys.modules.get("torchsparse") is _PROVIDED.modules.get("")
    return _PROVIDED.version if is_ours else None


def _module(module: str) -> types.ModuleType:
    made = types.ModuleType(_path(module), "torchsparse, as mluop_omp provides it.")
    made.__spec__ = importlib.machinery.ModuleSpec(_path(module), None, is_package=True)
    made.__path__, made.__package__ = [], _path(module)

    def of_other_version(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {_path(module)!r} has no attribute {name!r}")
        raise AttributeError(_hint(str(_PROVIDED.version), module, name))

    made.__getattr__ = of_other_version  # type: ignore[method-assign]
    return made


def _clear(module: types.ModuleType) -> None:
    for name in [*vars(module)]:
        if not name.startswith("__") or name == "__version__":
            delattr(module, name)


def provide(version: str) -> None:
    """Provides the modules of a version. Modules that were provided keep their identity."""
    if _PROVIDED not in sys.meta_path:
        sys.meta_path.append(_PROVIDED)
    if provided() == version:
        return
    for module, made in _PROVIDED.modules.items():
        _clear(made)
        sys.modules.pop(_path(module), None)
    names_of = namespaces(version)
    for module in names_of:
        made = _PROVIDED.modules.setdefault(module, _module(module))
        parent, _, name = module.rpartition(".")
        if module:
            setattr(_PROVIDED.modules[parent], name, made)
        sys.modules[_path(module)] = made
    for module, names in names_of.items():
        vars(_PROVIDED.modules[module]).update(names)
        _PROVIDED.modules[module].__all__ = [  # type: ignore[attr-defined]
            name for name in names if not name.startswith("_")
        ]
    if _is_later(version):
        config = _PROVIDED.modules["nn.functional.conv.conv_config"]
        _PROVIDED.modules["nn.functional"].conv_config = config  # type: ignore[attr-defined]
    _PROVIDED.version = version
