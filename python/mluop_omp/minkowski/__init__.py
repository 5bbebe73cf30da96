"""MinkowskiEngine on CPUs.

    import mluop_omp.minkowski
    mluop_omp.minkowski.install()

before the first import of a model's package lets models of MinkowskiEngine 0.5.4 run unmodified
where it is not installed, in training and in evaluation, with its checkpoints. It provides the
modules MinkowskiEngine, its files (also as top-level modules, such as MinkowskiOps), utils,
modules.resnet_block, modules.senet_block and MinkowskiEngineBackend._C: SparseTensor and
TensorField of any dimension, keys and managers, convolutions (transposed, generative, channelwise),
pools, global pools, broadcasts, norms, activations, pruning, unions, interpolation. A name that no
known model uses, such as an autograd function, raises an error that names it. A build of
MinkowskiEngine without CUDA is replaced; a build with CUDA keeps its modules and its functions for
CUDA tensors; for CPU tensors, its convolutions, pools, global pools, slices and broadcasts, and the
labels of sparse_quantize, are computed here.

Sites, keys and their reuse are MinkowskiEngine's, also where a known key makes a layer ignore its
kernel. Results are the same at any number of threads, gradients included. float32, float64, float16
and bfloat16; under torch.autocast convolutions compute its type.

Differences from MinkowskiEngine's CPU functions:
    - Rows: strided and generated sites are ascending, pruned sites keep their order, a union has
      the first tensor's rows first. MinkowskiEngine has the order of a hash table.
    - Coordinates are floored as integers; MinkowskiEngine floors in float32.
    - Global pools have a row for each batch, ascending, with its own values; broadcasts take the
      row of the batch. Batch numbers may have gaps.
    - A maximum without an input is 0 and has no gradient; of equal maxima in a cell, the lowest row
      has the gradient; NaN is a maximum.
    - HYPER_CROSS has the offsets of master, which tag v0.5.4 counts but does not have.
    - Output coordinates that are given as a tensor get the tensor stride of the layer; there, 0.
    - A strided layer of kernel size 1 and dimension 1 has its stride, and a [1, Ci, Co] kernel.
    - A slice of a strided tensor takes the site of each point, by coordinate. A voxel whose points
      have different labels gets the ignored label. MAX_POOL of a field does not start at 0; of a
      SparseTensor, it is a maximum. NO_QUANTIZATION refuses repeated sites.
    - MinkowskiToSparseTensor removes zeros by default, as documented. `SparseTensor.sparse` leaves
      the coordinates as they are.
    - Empty tensors pass all layers. Numbers are operands of tensors. MinkowskiStableInstanceNorm,
      SEBasicBlock and SEBottleneck work.
    - Options of algorithms, allocators and threads have no effect.
"""

from __future__ import annotations

from mluop_omp import _requirements

_requirements.require("torch")
from mluop_omp.minkowski._kernels import RegionType, region_offsets  # noqa: E402

__all__ = ["RegionType", "install", "region_offsets"]


def install() -> str:
    """Provides MinkowskiEngine's modules, or its functions of CPU tensors; once, if repeated.

    Returns:
        What was set up.
    """
    from mluop_omp.minkowski import _backend, _modules, _repairs

    build = None if _modules.is_provided() else _backend.build()
    if build is None or _backend.is_replaceable(build):
        _modules.provide()
        return f"modules of MinkowskiEngine {_modules.VERSION}"
    _backend.install(build)
    _repairs.install(build)
    return f"functions of {_requirements.installed('MinkowskiEngine')}"
