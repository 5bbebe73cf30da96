"""A user's program, which test_typing.py checks with mypy --strict and runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

import mluop_omp
import mluop_omp.torch as ops
from mluop_omp import Comparison, MluOpError, SparseSites, Status

Floats = npt.NDArray[np.float32]


def pooled(points: npt.NDArray[np.int32], features: Floats) -> Floats:
    output, pos_memo = mluop_omp.voxel_pooling(points, features, (2, 2, 1))
    assert mluop_omp.voxel_pooling_backward(output, pos_memo).shape == features.shape
    return output


def neighbors(points: Floats) -> npt.NDArray[np.int32]:
    dist2, idx = mluop_omp.knn(points, points, 2)
    assert float(dist2[0, 0, 0]) == 0.0
    return idx


def status_of(points: npt.NDArray[Any]) -> Status:
    try:
        mluop_omp.knn(points, points, 2)
    except MluOpError as error:
        text: str = error.message
        assert text
        return error.status
    return Status.SUCCESS


def compared(found: Floats, expected: Floats) -> Comparison:
    result = mluop_omp.compare(found, expected, rtol=1e-3, criteria=None)
    report: dict[str, Any] = result.to_dict()
    assert report and result.equal
    return result


class Network(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = ops.SubMConv3d(4, 8, kernel_size=3)
        self.second = ops.SparseConv3d(8, 8, kernel_size=3, stride=2, padding=1)

    def forward(self, input: ops.SparseTensor) -> torch.Tensor:
        output: ops.SparseTensor = self.second(self.first(input))
        return output.dense()


def main() -> None:
    points = np.zeros((1, 3, 3), np.int32)
    assert pooled(points, np.ones((1, 3, 2), np.float32)).sum() == 6
    assert neighbors(np.arange(9, dtype=np.float32).reshape(1, 3, 3)).shape == (1, 3, 2)
    assert status_of(np.zeros((1, 3, 3), np.int32)) is Status.BAD_PARAM
    ones = np.ones(3, np.float32)
    assert bool(compared(ones, ones))
    sites = np.array([[0, 1, 1, 1], [0, 1, 1, 2]], np.int32)
    sparse = SparseSites(np.ones((2, 4), np.float32), sites)
    assert mluop_omp.compare(sparse, sparse).equal
    input = ops.SparseTensor(torch.ones(2, 4), torch.from_numpy(sites), (4, 4, 4), 1)
    Network()(input).sum().backward()
    threads: int = mluop_omp.threads()
    version: str = mluop_omp.__version__
    done: dict[str, str] = mluop_omp.install()
    filters = mluop_omp.convert_filters(torch.ones(8, 3, 3, 3, 4), "spconv2", "mmcv")
    unknown, known = torch.rand(1, 5, 3), torch.rand(1, 9, 3)
    dist2, idx = ops.three_nn(unknown, known)
    interpolated = ops.three_interpolate(torch.rand(1, 2, 9), idx, dist2)
    assert threads and version and done and filters.shape == (3, 3, 3, 4, 8)
    assert interpolated.shape == (1, 2, 5)


main()
