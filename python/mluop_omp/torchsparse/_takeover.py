"""Functions of an installed torchsparse, for tensors of the CPU."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

from mluop_omp import _dispatch
from mluop_omp.torchsparse import _modules

# They depend on CUDA, or compute other values on CPUs than on GPUs.
_FUNCTIONS = (
    *("conv3d", "sphash", "sphashquery", "spcount", "spvoxelize", "spdevoxelize"),
    *("spdownsample", "build_kernel_map"),
)


def installed() -> str | None:
    """Returns the version of the installed torchsparse, without importing it; None without one."""
    for finder in sys.meta_path:
        find_spec = getattr(finder, "find_spec", None)
        spec = find_spec("torchsparse", None) if find_spec is not None else None
        # A folder of this name on the path is a package without an origin.
        if spec is not None and spec.origin is not None:
            file = Path(spec.origin).with_name("version.py")
            text = file.read_text() if file.is_file() else ""
            found = re.search(r"""__version__ *= *['"]([^'"]+)""", text)
            return found.group(1) if found else "unknown"
    return None


def take_over(version: str) -> None:
    """Replaces functions of the installed torchsparse for tensors of the CPU; once, if repeated."""
    functional = importlib.import_module("torchsparse.nn.functional")
    ours = _modules.namespaces(version)["nn.functional"]
    for name in _FUNCTIONS:
        if hasattr(functional, name):
            _dispatch.replace_copies(functional, name, ours[name])
    if version == "2.1":
        utils = importlib.import_module("torchsparse.utils")
        to_dense = _modules.namespaces(version)["utils"]["to_dense"]
        _dispatch.replace_copies(utils, "to_dense", to_dense)
