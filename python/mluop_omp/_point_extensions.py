"""The functions on points of extension modules that take the sizes of the tensors before them."""

from __future__ import annotations

from typing import Any, Callable

from torch import Tensor

from mluop_omp.mmcv import _points as mmcv


def without_sizes(function: Callable[..., None]) -> Callable[..., None]:
    """Returns a function that ignores sizes among its arguments: tensors have their own."""

    def call(*arguments: Any) -> None:
        function(*(each for each in arguments if isinstance(each, Tensor)))

    return call


def furthest_point_sampling(B: int, N: int, M: int, xyz: Tensor, temp: Tensor, idx: Tensor) -> None:
    mmcv.furthest_point_sampling_forward(xyz, temp, idx, B, N, M)


def furthest_point_sampling_with_dist(
    B: int, N: int, M: int, points_dist: Tensor, temp: Tensor, idx: Tensor
) -> None:
    mmcv.furthest_point_sampling_with_dist_forward(points_dist, temp, idx, B, N, M)


GATHERING = {
    "gather_points_wrapper": without_sizes(mmcv.gather_points_forward),
    "gather_points_grad_wrapper": without_sizes(mmcv.gather_points_backward),
}
INTERPOLATION = {
    "three_nn_wrapper": without_sizes(mmcv.three_nn_forward),
    "three_interpolate_wrapper": without_sizes(mmcv.three_interpolate_forward),
    "three_interpolate_grad_wrapper": without_sizes(mmcv.three_interpolate_backward),
}
