"""Small arguments of each function of mluop_omp that is an operator."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from mluop_omp._operators import operators

_SPACE, _ONES = (4, 5, 6), (1, 1, 1)
# Stride, padding, dilation and groups of a deformable convolution.
_DEFORMABLE = (1, 1), (1, 1), (1, 1), 2, 2


class _Numbers:
    """Random numbers, the same in every run."""

    def __init__(self) -> None:
        self._generator = np.random.default_rng(20)

    def floats(self, *shape: int) -> np.ndarray:
        return self._generator.standard_normal(shape, np.float32)

    def sizes(self, *shape: int) -> np.ndarray:
        return self._generator.uniform(0.5, 2, shape).astype(np.float32)

    def integers(self, low: int, high: int, *shape: int) -> np.ndarray:
        return self._generator.integers(low, high, shape, np.int32)

    def sites(self, count: int) -> np.ndarray:
        cells = self._generator.choice(2 * np.prod(_SPACE), count, replace=False)
        return np.stack(np.unravel_index(cells, (2, *_SPACE)), 1).astype(np.int32)

    def corners(self, count: int) -> np.ndarray:
        """Returns boxes (x1, y1, x2, y2)."""
        low = self.floats(count, 2)
        return np.concatenate((low, low + self.sizes(count, 2)), 1)

    def rotated(self, count: int) -> np.ndarray:
        """Returns boxes (x, y, width, height, angle)."""
        parts = self.floats(count, 2), self.sizes(count, 2), self.floats(count, 1)
        return np.concatenate(parts, 1)

    def rois(self, count: int) -> np.ndarray:
        """Returns RoIs (image, x1, y1, x2, y2) in two images."""
        images = self.integers(0, 2, count, 1).astype(np.float32)
        return np.concatenate((images, 4 * self.corners(count) + 6), 1)

    def boxes(self, *shape: int) -> np.ndarray:
        """Returns boxes (x, y, z, dx, dy, dz, yaw)."""
        parts = self.floats(*shape, 3), self.sizes(*shape, 3), self.floats(*shape, 1)
        return np.concatenate(parts, -1)


def _dynamic_scatter_backward(numbers: _Numbers) -> tuple[Any, ...]:
    feats, coors = numbers.floats(70, 5), numbers.integers(-1, 3, 70, 3)
    voxel_feats, _, voxel_map, counts = operators.dynamic_scatter.definition(feats, coors, "max")
    grad = numbers.floats(*voxel_feats.shape)
    return grad, feats, voxel_feats.astype(np.float32), voxel_map, counts, "max"


def _roiaware_pool3d(numbers: _Numbers) -> tuple[Any, ...]:
    return numbers.boxes(5), numbers.floats(60, 3), numbers.floats(60, 4), (3, 2, 2), 6, "max"


def _roiaware_pool3d_backward(numbers: _Numbers) -> tuple[Any, ...]:
    _, argmax, listed = operators.roiaware_pool3d.definition(*_roiaware_pool3d(numbers))
    return numbers.floats(*argmax.shape), listed, argmax, 60, "max"


def _attention(numbers: _Numbers) -> tuple[np.ndarray, ...]:
    """Returns values of two levels, and samples of five queries, some of them outside."""
    levels = np.array([[4, 5], [2, 3]], np.int32), np.array([0, 20], np.int32)
    locations = 0.5 + 0.6 * numbers.floats(2, 5, 2, 2, 3, 2)
    return numbers.floats(2, 26, 2, 6), *levels, locations, numbers.floats(2, 5, 2, 2, 3)


def _logits(numbers: _Numbers) -> tuple[np.ndarray, ...]:
    """Returns logits, targets, some of them background, and weights."""
    return numbers.floats(9, 5), numbers.integers(0, 6, 9), numbers.sizes(5)


def _pairs() -> tuple[np.ndarray, np.ndarray, int]:
    """Returns pairs and their numbers of a submanifold convolution of 40 sites."""
    sites = _Numbers().sites(40)
    arguments = 2, _SPACE, (3, 3, 3), _ONES, _ONES, _ONES, True
    _, pairs, num = operators.indice_pairs.definition(sites, *arguments)
    return pairs, num, len(sites)


def _indice_conv(numbers: _Numbers) -> tuple[Any, ...]:
    pairs, num, count = _pairs()
    return numbers.floats(count, 8), numbers.floats(3, 3, 3, 8, 7), pairs, num, count


def _indice_conv_backward_data(numbers: _Numbers) -> tuple[Any, ...]:
    pairs, num, count = _pairs()
    return numbers.floats(count, 7), numbers.floats(3, 3, 3, 8, 7), pairs, num


def _indice_conv_backward_filter(numbers: _Numbers) -> tuple[Any, ...]:
    pairs, num, count = _pairs()
    return numbers.floats(count, 8), numbers.floats(count, 7), pairs, num, (3, 3, 3)


def _ranks(numbers: _Numbers) -> tuple[np.ndarray, ...]:
    """Returns elements of depth, rows of features and cells of points, some of them skipped."""
    return tuple(numbers.integers(low, high, 60) for low, high in ((0, 40), (0, 9), (-1, 12)))


def _counts(*counts: int) -> np.ndarray:
    return np.array(counts, np.int32)


def _indice_maxpool_backward(numbers: _Numbers) -> tuple[Any, ...]:
    pairs, num, count = _pairs()
    features = numbers.integers(-1, 3, count, 5).astype(np.float32)
    features_out = numbers.integers(-1, 3, count, 5).astype(np.float32)
    return features, features_out, numbers.floats(count, 5), pairs, num


_CASES: dict[str, Callable[[_Numbers], tuple[Any, ...]]] = {
    "assign_score_withk": lambda n: (
        *(n.floats(2, 9, 4, 3), n.floats(2, 7, 3, 5), n.floats(2, 7, 3, 5)),
        n.integers(0, 7, 2, 9, 4),
    ),
    "assign_score_withk_backward": lambda n: (
        *(n.floats(2, 5, 9, 4), n.floats(2, 9, 4, 3), n.floats(2, 7, 3, 5)),
        *(n.floats(2, 7, 3, 5), n.integers(0, 7, 2, 9, 4)),
    ),
    "ball_query": lambda n: (n.floats(2, 9, 3), n.floats(2, 50, 3), 0.0, 0.8, 6),
    "bev_pool": lambda n: (n.floats(40), n.floats(9, 5), *_ranks(n), 12),
    "bev_pool_backward": lambda n: (n.floats(12, 5), n.floats(40), n.floats(9, 5), *_ranks(n)),
    "box_iou_rotated": lambda n: (n.rotated(9), n.rotated(7)),
    "boxes_overlap_bev": lambda n: (n.boxes(9), n.boxes(7)),
    "deform_conv2d": lambda n: (
        *(n.floats(1, 6, 5, 4), n.floats(1, 24, 5, 5), n.floats(4, 3, 3, 2)),
        *(n.sizes(1, 12, 5, 5), n.floats(4), *_DEFORMABLE),
    ),
    "deform_conv2d_backward_data": lambda n: (
        *(n.floats(1, 4, 5, 5), n.floats(1, 6, 5, 4), n.floats(1, 24, 5, 5)),
        *(n.floats(4, 3, 3, 2), n.sizes(1, 12, 5, 5), *_DEFORMABLE),
    ),
    "deform_conv2d_backward_weight": lambda n: (
        *(n.floats(1, 4, 5, 5), n.floats(1, 6, 5, 4), n.floats(1, 24, 5, 5)),
        *(n.sizes(1, 12, 5, 5), (3, 2), *_DEFORMABLE),
    ),
    "dynamic_scatter": lambda n: (n.floats(70, 5), n.integers(-1, 3, 70, 3), "mean"),
    "dynamic_scatter_backward": _dynamic_scatter_backward,
    "furthest_point_sample": lambda n: (n.floats(2, 60, 3), 9),
    "furthest_point_sample_with_dist": lambda n: (n.sizes(2, 20, 20), 7),
    "gather_points": lambda n: (n.floats(2, 5, 9), n.integers(0, 9, 2, 30)),
    "gather_points_backward": lambda n: (n.floats(2, 5, 30), n.integers(0, 9, 2, 30), 9),
    "indice_conv": _indice_conv,
    "indice_conv_backward_data": _indice_conv_backward_data,
    "indice_conv_backward_filter": _indice_conv_backward_filter,
    "indice_maxpool": lambda n: (n.floats(_pairs()[2], 5), *_pairs()),
    "indice_maxpool_backward": _indice_maxpool_backward,
    "indice_pairs": lambda n: (
        *(n.sites(40), 2, _SPACE, (3, 3, 3)),
        *((2, 1, 1), (0, 1, 1), _ONES, False),
    ),
    "knn": lambda n: (n.floats(2, 60, 3), n.floats(2, 7, 3), 5),
    "masked_col2im": lambda n: (
        *(n.floats(5, 12), np.arange(12, dtype=np.int32) % 4),
        *(np.arange(12, dtype=np.int32) % 5, (4, 5)),
    ),
    "masked_im2col": lambda n: (
        *(n.floats(1, 5, 6, 7), n.integers(0, 6, 12), n.integers(0, 7, 12)),
        *((3, 3), (1, 1)),
    ),
    "nms": lambda n: (n.corners(30), n.floats(30), 0.3),
    "nms3d": lambda n: (n.boxes(30), n.floats(30), 0.3),
    "nms3d_normal": lambda n: (n.boxes(30), n.floats(30), 0.3),
    "nms_match": lambda n: (np.concatenate((n.corners(30), n.floats(30, 1)), 1), 0.3),
    "nms_rotated": lambda n: (n.rotated(30), n.floats(30), 0.3),
    "points_in_boxes": lambda n: (n.floats(2, 40, 3), n.boxes(2, 5)),
    "points_in_boxes_all": lambda n: (n.floats(2, 40, 3), n.boxes(2, 5)),
    "points_in_boxes_part": lambda n: (n.floats(2, 40, 3), n.boxes(2, 5)),
    "roiaware_pool3d": _roiaware_pool3d,
    "roiaware_pool3d_backward": _roiaware_pool3d_backward,
    "roipoint_pool3d": lambda n: (n.floats(2, 40, 3), n.floats(2, 40, 4), n.boxes(2, 5), 6),
    "ms_deform_attn": _attention,
    "ms_deform_attn_backward": lambda n: (n.floats(2, 5, 2, 6), *_attention(n)),
    "psamask": lambda n: (n.floats(2, 15, 4, 5), (3, 5), "collect"),
    "psamask_backward": lambda n: (n.floats(2, 20, 4, 5), (3, 5), "distribute"),
    "roi_align": lambda n: (n.floats(2, 3, 8, 9), n.rois(5), (3, 2), 0.5, 0, "max", True),
    "roi_align_backward": lambda n: (
        *(n.floats(5, 3, 3, 2), n.rois(5), n.floats(0), n.floats(0)),
        *((2, 8, 9), 0.5, 0, "mean", True),
    ),
    "sigmoid_focal_loss": lambda n: (*_logits(n), 2.0, 0.25),
    "sigmoid_focal_loss_backward": lambda n: (*_logits(n), 1.5, 0.25),
    "soft_nms": lambda n: (n.corners(30), n.sizes(30), 0.3, 0.5, 0.05, "gaussian", 0),
    "stack_ball_query": lambda n: (
        *(n.floats(9, 3), _counts(5, 0, 4), n.floats(70, 3), _counts(40, 10, 20), 0.8, 6),
    ),
    "stack_group_points": lambda n: (
        *(n.floats(20, 5), _counts(8, 2, 10), n.integers(0, 8, 9, 4), _counts(5, 0, 4)),
    ),
    "stack_group_points_backward": lambda n: (
        *(n.floats(9, 5, 4), n.integers(0, 8, 9, 4), _counts(5, 0, 4), _counts(8, 2, 10), 20),
    ),
    "three_interpolate": lambda n: (
        *(n.floats(2, 5, 9), n.integers(0, 9, 2, 30, 3), n.floats(2, 30, 3)),
    ),
    "three_interpolate_backward": lambda n: (
        *(n.floats(2, 5, 30), n.integers(0, 9, 2, 30, 3), n.floats(2, 30, 3), 9),
    ),
    "three_nn": lambda n: (n.floats(2, 20, 3), n.floats(2, 60, 3)),
    "voxel_pooling": lambda n: (n.integers(-1, 5, 2, 60, 3), n.floats(2, 60, 5), (4, 3, 2)),
    "voxel_pooling_backward": lambda n: (*(n.floats(2, 3, 4, 5), n.integers(0, 2, 2, 60, 3)),),
    "voxelization": lambda n: (n.floats(60, 4), (0.5, 0.5, 2), (-2, -2, -1, 2, 2, 1), 3, 20),
}
OPERATORS = tuple(_CASES)


def arguments(operator: str) -> tuple[Any, ...]:
    return _CASES[operator](_Numbers())
