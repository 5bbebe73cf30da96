"""The .tensor files of NVIDIA's Lidar_AI_Solution.

Source: CUDA-BEVFusion/src/common/tensor.cu and tensor.hpp, libraries/3DSparseConvolution/tool/
tensor.py. All numbers are little-endian int32: the magic number, the number of dimensions, the
element type, the dimensions; then the elements.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mluop_omp.golden.comparison._files._elements import map_elements, stored

_MAGIC, _MAX_DIMS = 0x33FF1101, 16
_DTYPES = {
    **{1: "int32", 2: "float16", 3: "float32", 4: "int64", 5: "uint64"},
    **{6: "uint32", 7: "int8", 8: "uint8", 9: "uint16", 10: "int16"},
}


def read_tensor(path: Path) -> np.ndarray:
    with path.open("rb") as file:
        head = file.read(12)
        if len(head) < 12:
            raise ValueError(
                f"the file has {len(head)} bytes, expected at least the 12 of a header"
            )
        magic, dims, code = np.frombuffer(head, "<i4").tolist()
        if magic != _MAGIC:
            raise ValueError(f"the file begins with {magic:#x}, expected {_MAGIC:#x} of a .tensor")
        if not 0 <= dims <= _MAX_DIMS:
            raise ValueError(f"the number of dimensions is {dims}, expected 0 to {_MAX_DIMS}")
        if code not in _DTYPES:
            expected = ", ".join(f"{key} ({name})" for key, name in _DTYPES.items())
            raise ValueError(f"the element type is {code}, expected {expected}")
        extents = file.read(4 * dims)
    if len(extents) < 4 * dims:
        raise ValueError(f"found {len(extents)} bytes of dimensions, expected {4 * dims}")
    begin, shape = 12 + 4 * dims, np.frombuffer(extents, "<i4").tolist()
    return map_elements(path, path.stat().st_size - begin, stored(_DTYPES[code]), shape, begin)
