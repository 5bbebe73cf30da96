"""Libraries that are not dependencies of the package, and how to install them."""

from __future__ import annotations

from importlib.util import find_spec

# By module: name, and the packages of versions that the tests run.
_LIBRARIES = {
    "torch": ("PyTorch", "torch"),
    "mmcv": ("mmcv", "mmcv-lite==2.1.0 mmengine==0.10.7"),
    "matplotlib": ("matplotlib", "matplotlib"),
    "spconv": ("spconv", "spconv==2.3.8"),
}


def missing(module: str) -> str | None:
    """Returns how to install a library that is not installed."""
    name, packages = _LIBRARIES[module]
    return None if find_spec(module) else f"{name} is not installed: pip install {packages}"


def require(module: str) -> None:
    message = missing(module)
    if message is not None:
        raise ImportError(message)
