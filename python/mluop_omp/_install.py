"""Setting up other libraries in one call."""

from __future__ import annotations

import importlib

from mluop_omp import _requirements


def install() -> dict[str, str]:
    """Makes the supported libraries compute tensors of the CPU with this library.

    Calls `install` of `mluop_omp.mmcv` and `mluop_omp.spconv`, where these libraries are installed,
    and of `mluop_omp.bevdepth`, `mluop_omp.bevdet` and `mluop_omp.bevfusion`, which provide
    extension modules. mmdetection3d uses spconv where it is installed, else mmcv. Once, if
    repeated; before or after the imports of these libraries.

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
    for library in ("bevdepth", "bevdet", "bevfusion"):
        importlib.import_module(f"mluop_omp.{library}").install()
        done[library] = "extension modules"
    return done
