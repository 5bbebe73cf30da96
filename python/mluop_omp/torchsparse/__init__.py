"""torchsparse's models on CPUs.

    import mluop_omp.torchsparse
    mluop_omp.torchsparse.install()

before the first import of a model's package provides the package torchsparse where it is not
installed: SparseTensor, PointTensor, Conv3d, norms, activations, pools, the functions of points and
voxels, SparseResNet21D and SparseResUNet42, with gradients. Weights are torchsparse's. Results are
the same at any number of threads. float32, float16, bfloat16 and float64; under torch.autocast
convolutions compute its type.

Versions differ in the interface, the coordinates and the output sites of strided convolutions:
    - 1.4: coordinates are x, y, z, batch. `sparse_quantize` moves the lowest voxel to 0.
    - 2.0: as 1.4, without that shift, with options of a GPU, which have no effect.
    - 2.1: coordinates are batch, x, y, z, divided by the stride; Conv3d has padding.
      kmap_mode and downsample_mode of a configuration choose output sites.

Without a version, `install` provides the version of an installed torchsparse, else 1.4, which most
models are written for. Conv3d of version 1.4 refuses the arguments of a model that is written for
2.1, whose sixth one is dilation; Conv3d of 2.1 refuses a model of 1.4, whose sixth one is bias.

An installed torchsparse keeps its classes, and functions for other devices: `install` replaces the
functions of torchsparse.nn.functional that compute convolutions, hashes, voxelization and
devoxelization, for tensors of the CPU. torchsparse 2.1 cannot be imported without CUDA; there, its
package is provided.

Like torchsparse, layers share sites by stride and kernel maps by input stride, kernel, stride and
dilation, and use them again without a check of the sites; dilation has no other effect; sites may
repeat, and a convolution reads the first row of equal ones. Differences from torchsparse:
    - Coordinates are rounded down, also in version 2.0, which rounds to zero on CPUs, and beyond
      2**24. Version 2.0 has the sites of 1.4 for every kernel.
    - In a strided convolution of as many output sites as input sites, the middle offset pairs
      sites, not equal row numbers. A second strided layer of a kernel map has the coordinates of
      its output, not of its input.
    - The gradient of `spdevoxelize` is exact; torchsparse's CPU kernel reads other rows.
    - `spvoxelize` skips points without a voxel. `sphash` folds hashes on every device, and adds
      offsets to x, y and z in version 2.1 too, as its GPU kernel does. `spcrop` crops x, y and z.
    - A transposed layer without an earlier layer raises KeyError in every version.
    - ToBEVReduction and ToBEVConvolution compute; see `_bev`.

Names that no model uses raise an error that names them, and modules of torchsparse 1.1 an
ImportError.
"""

from __future__ import annotations

from mluop_omp import _requirements
from mluop_omp._library import bad_param, not_supported

_requirements.require("torch")
import torch  # noqa: E402

from mluop_omp.torchsparse import _modules, _takeover  # noqa: E402


def _supported(found: str) -> str:
    """Returns the version whose interface an installed torchsparse has."""
    version = ".".join(found.split(".")[:2])
    if version not in _modules.VERSIONS:
        raise not_supported(
            f"torchsparse {found} is installed, expected {', '.join(_modules.VERSIONS)}"
        )
    return version


def install(version: str | None = None) -> None:
    """Provides torchsparse for tensors of the CPU; once, if repeated.

    Args:
        version: "1.4", "2.0" or "2.1", the interface that models are written for. By default the
            version that is installed, the version of an earlier call, or "1.4". Another version
            than the earlier call's replaces the names of the modules; models that are imported keep
            what they have.

    Raises:
        MluOpError: the version is another one, or not the version of an installed torchsparse.
    """
    if version not in (None, *_modules.VERSIONS):
        raise bad_param(f"version is {version!r}, expected one of {', '.join(_modules.VERSIONS)}")
    found = _takeover.installed()
    if found is None:
        _modules.provide(version or _modules.provided() or "1.4")
        return
    of_installed = _supported(found)
    if version not in (None, of_installed):
        raise bad_param(f"version is {version!r}, but torchsparse {found} is installed")
    if of_installed == "2.1" and not torch.cuda.is_available():
        _modules.provide(of_installed)
    else:
        _takeover.take_over(of_installed)
