"""Libraries that are not dependencies of the package, and how to install them."""

from __future__ import annotations

import re
import shlex
from importlib import metadata
from importlib.util import find_spec
from typing import NamedTuple


class Library(NamedTuple):
    name: str
    # The extra of the package that installs it, and what that extra adds to the package.
    extra: str
    packages: tuple[str, ...]


_ONNX = (
    "onnx>=1.19",
    "onnxruntime>=1.19",
    "onnxruntime-extensions>=0.14",
    "polygraphy>=0.49",
    "onnx-graphsurgeon>=0.5",
)
# By module. A test compares them with pyproject.toml, and with the versions that the tests run.
LIBRARIES = {
    "torch": Library("PyTorch", "torch", ("torch>=2.8",)),
    "mmcv": Library(
        "mmcv", "mmcv", ("torch>=2.8", "mmcv-lite==2.1.0", "mmengine==0.10.7", "setuptools<82")
    ),
    "spconv": Library("spconv", "spconv", ("torch>=2.8", "spconv==2.3.8")),
    "onnx": Library("ONNX", "onnx", _ONNX),
    "onnxruntime": Library("onnxruntime", "onnx", _ONNX),
    "onnxruntime_extensions": Library("onnxruntime-extensions", "onnx", _ONNX),
    "polygraphy": Library("Polygraphy", "onnx", _ONNX),
    "onnx_graphsurgeon": Library("onnx-graphsurgeon", "onnx", _ONNX),
}


def command(module: str) -> str:
    """Returns the command that installs a library."""
    return " ".join(("pip install", *map(shlex.quote, LIBRARIES[module].packages)))


def missing(module: str) -> str | None:
    """Returns how to install a library that is not installed."""
    if find_spec(module) is not None:
        return None
    return f"{LIBRARIES[module].name} is not installed: {command(module)}"


def require(module: str) -> None:
    message = missing(module)
    if message is not None:
        raise ImportError(message)


def installed(module: str) -> str | None:
    """Returns the distribution of a library and its version, without importing it; None if the
    library is not installed.
    """
    if find_spec(module) is None:
        return None
    # Such as mmcv-lite, onedl-mmcv, spconv-cu120, and onnx-graphsurgeon of onnx_graphsurgeon.
    stem = module.replace("_", "[-_]")
    variant = re.compile(rf"(onedl-)?{stem}(-(lite|full|cpu|gpu|cu\d+))?", re.IGNORECASE)
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"]
        if name is not None and variant.fullmatch(name):
            return f"{name} {distribution.version}"
    return f"{module}, without metadata"
