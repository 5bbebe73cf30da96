"""Operators on point sets: sampling, gathering, neighbors and interpolation."""

from __future__ import annotations

import itertools
from typing import Any, Callable

from mluop_omp._arrays import Arrays, Tensor, extent, handle, int32, size
from mluop_omp._library import bad_param, functions, require
from mluop_omp._operators import _double
from mluop_omp._operators._double import also_double
from mluop_omp._operators._empty import require_sizes


def _sample(
    arrays: Arrays,
    function: Callable[..., int],
    query: Callable[..., int],
    tensor: Tensor,
    num_points: int,
    out: Any,
) -> Any:
    descriptor, data = tensor
    shape = (descriptor.shape[0], size("num_points", num_points))
    idx, idx_desc, idx_data = arrays.output("idx", shape, out=out)
    with handle() as own:
        workspace = own.workspace(query, descriptor, idx_desc)
        require(function(own.pointer, descriptor, data, *workspace, idx_desc, idx_data))
    return idx


def furthest_point_sample(arrays: Arrays, points: Any, num_points: int, out: Any = None) -> Any:
    return _sample(
        *(arrays, functions.mluOpOmpFurthestPointSample),
        functions.mluOpOmpGetFurthestPointSampleWorkspaceSize,
        *(arrays.tensor("points", points, "B N 3"), num_points, out),
    )


def furthest_point_sample_with_dist(
    arrays: Arrays, distances: Any, num_points: int, out: Any = None
) -> Any:
    return _sample(
        *(arrays, functions.mluOpOmpFurthestPointSampleWithDist),
        functions.mluOpOmpGetFurthestPointSampleWithDistWorkspaceSize,
        *(arrays.tensor("distances", distances, "B N N"), num_points, out),
    )


def _indices(arrays: Arrays, indices: Any) -> Tensor:
    descriptor, data = arrays.tensor("indices", indices)
    dimensions = len(descriptor.shape)
    if dimensions not in (2, 3):
        raise bad_param(f"indices has {dimensions} dimensions, expected 2 or 3")
    return descriptor, data


@also_double(_double.gather_points, 0)
def gather_points(arrays: Arrays, features: Any, indices: Any, out: Any = None) -> Any:
    features_desc, features_data = arrays.tensor("features", features, "B C N")
    indices_desc, indices_data = _indices(arrays, indices)
    shape = (*features_desc.shape[:2], *indices_desc.shape[1:])
    output, *output_tensor = arrays.output("output", shape, features, out)
    with handle() as own:
        require(
            functions.mluOpOmpGatherPointsForward(
                *(own.pointer, features_desc, features_data, indices_desc, indices_data),
                *output_tensor,
            )
        )
    return output


@also_double(_double.gather_points_backward, 0)
def gather_points_backward(
    arrays: Arrays, grad_output: Any, indices: Any, N: int, out: Any = None
) -> Any:
    grad_desc, grad_data = arrays.tensor("grad_output", grad_output)
    indices_desc, indices_data = _indices(arrays, indices)
    if len(grad_desc.shape) < 2:
        raise bad_param(f"grad_output has {len(grad_desc.shape)} dimensions, expected 3 or 4")
    shape = (*grad_desc.shape[:2], size("N", N))
    grad_features, features_desc, features_data = arrays.output(
        "grad_features", shape, grad_output, out
    )
    with handle() as own:
        require(
            functions.mluOpOmpGatherPointsBackward(
                *(own.pointer, grad_desc, grad_data, indices_desc, indices_data),
                *(features_desc, features_data),
            )
        )
    return grad_features


def ball_query(
    arrays: Arrays,
    new_xyz: Any,
    xyz: Any,
    min_radius: float,
    max_radius: float,
    nsample: int,
    out: Any = None,
) -> Any:
    new_xyz_desc, new_xyz_data = arrays.tensor("new_xyz", new_xyz, "B M 3")
    B, M, _ = new_xyz_desc.shape
    nsample = int32("nsample", nsample)
    xyz_desc, xyz_data = arrays.tensor("xyz", xyz, "B N 3")
    idx, *idx_tensor = arrays.output("idx", (B, M, extent(nsample)), out=out)
    if new_xyz_desc.is_empty and min(nsample, min_radius, max_radius) >= 0:
        declaration = f"new_xyz B M 3, xyz B N 3, idx: B M {nsample}"
        require_sizes(declaration, new_xyz_desc, xyz_desc, idx_tensor[0])
        return idx
    if out is None:
        arrays.fill(idx, 0)
    with handle() as own:
        require(
            functions.mluOpBallQuery(
                own.pointer,
                *(new_xyz_desc, new_xyz_data, xyz_desc, xyz_data),
                *(float(min_radius), float(max_radius), nsample),
                *idx_tensor,
            )
        )
    return idx


def stack_ball_query(
    arrays: Arrays,
    new_xyz: Any,
    new_xyz_batch_cnt: Any,
    xyz: Any,
    xyz_batch_cnt: Any,
    max_radius: float,
    nsample: int,
    out: Any = None,
) -> Any:
    new_xyz_desc, new_xyz_data = arrays.tensor("new_xyz", new_xyz, "M 3")
    nsample = int32("nsample", nsample)
    shape = (new_xyz_desc.shape[0], extent(nsample))
    idx, *idx_tensor = arrays.output("idx", shape, out=out)
    with handle() as own:
        require(
            functions.mluOpOmpStackBallQuery(
                *(own.pointer, new_xyz_desc, new_xyz_data),
                *arrays.tensor("new_xyz_batch_cnt", new_xyz_batch_cnt, "B"),
                *arrays.tensor("xyz", xyz, "N 3"),
                *arrays.tensor("xyz_batch_cnt", xyz_batch_cnt, "B"),
                *(float(max_radius), nsample),
                *idx_tensor,
            )
        )
    return idx


@also_double(_double.stack_group_points, 0)
def stack_group_points(
    arrays: Arrays,
    features: Any,
    features_batch_cnt: Any,
    indices: Any,
    indices_batch_cnt: Any,
    out: Any = None,
) -> Any:
    features_desc, features_data = arrays.tensor("features", features, "N C")
    indices_desc, indices_data = arrays.tensor("indices", indices, "M S")
    (M, S), C = indices_desc.shape, features_desc.shape[1]
    output, *output_tensor = arrays.output("output", (M, C, S), features, out)
    with handle() as own:
        require(
            functions.mluOpOmpStackGroupPointsForward(
                *(own.pointer, features_desc, features_data),
                *arrays.tensor("features_batch_cnt", features_batch_cnt, "B"),
                *(indices_desc, indices_data),
                *arrays.tensor("indices_batch_cnt", indices_batch_cnt, "B"),
                *output_tensor,
            )
        )
    return output


@also_double(_double.stack_group_points_backward, 0)
def stack_group_points_backward(
    arrays: Arrays,
    grad_output: Any,
    indices: Any,
    indices_batch_cnt: Any,
    features_batch_cnt: Any,
    N: int,
    out: Any = None,
) -> Any:
    grad_desc, grad_data = arrays.tensor("grad_output", grad_output, "M C S")
    shape = (size("N", N), grad_desc.shape[1])
    grad_features, *features_tensor = arrays.output("grad_features", shape, grad_output, out)
    with handle() as own:
        require(
            functions.mluOpOmpStackGroupPointsBackward(
                *(own.pointer, grad_desc, grad_data),
                *arrays.tensor("indices", indices, "M S"),
                *arrays.tensor("indices_batch_cnt", indices_batch_cnt, "B"),
                *arrays.tensor("features_batch_cnt", features_batch_cnt, "B"),
                *features_tensor,
            )
        )
    return grad_features


def _score_inputs(
    arrays: Arrays, scores: Any, points: Any, centers: Any, knn_idx: Any
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return (
        arrays.tensor("points", points, "B N0 M O"),
        arrays.tensor("centers", centers, "B N0 M O"),
        arrays.tensor("scores", scores, "B N1 K M"),
        arrays.tensor("knn_idx", knn_idx, "B N1 K"),
    )


@also_double(_double.assign_score_withk, 0)
def assign_score_withk(
    arrays: Arrays, scores: Any, points: Any, centers: Any, knn_idx: Any, out: Any = None
) -> Any:
    inputs = _score_inputs(arrays, scores, points, centers, knn_idx)
    (B, N1, K, _), channels = inputs[2][0].shape, inputs[0][0].shape[3]
    output, *output_tensor = arrays.output("output", (B, channels, N1, K), scores, out)
    with handle() as own:
        require(
            functions.mluOpOmpAssignScoreWithkForward(
                own.pointer, *itertools.chain(*inputs), *output_tensor
            )
        )
    return output


@also_double(_double.assign_score_withk_backward, 0)
def assign_score_withk_backward(
    arrays: Arrays,
    grad_output: Any,
    scores: Any,
    points: Any,
    centers: Any,
    knn_idx: Any,
    out: tuple[Any, Any, Any] | None = None,
) -> tuple[Any, Any, Any]:
    grad_desc, grad_data = arrays.tensor("grad_output", grad_output, "B O N1 K")
    inputs = _score_inputs(arrays, scores, points, centers, knn_idx)
    of_scores, of_points, of_centers = out or (None, None, None)
    shape = inputs[0][0].shape
    grad_scores, *scores_tensor = arrays.output(
        "grad_scores", inputs[2][0].shape, grad_output, of_scores
    )
    grad_points, *points_tensor = arrays.output("grad_points", shape, grad_output, of_points)
    grad_centers, *centers_tensor = arrays.output("grad_centers", shape, grad_output, of_centers)
    with handle() as own:
        require(
            functions.mluOpOmpAssignScoreWithkBackward(
                *(own.pointer, grad_desc, grad_data, *itertools.chain(*inputs)),
                *(*points_tensor, *centers_tensor, *scores_tensor),
            )
        )
    return grad_scores, grad_points, grad_centers


def three_nn(
    arrays: Arrays, unknown: Any, known: Any, out: tuple[Any, Any] | None = None
) -> tuple[Any, Any]:
    unknown_desc, unknown_data = arrays.tensor("unknown", unknown, "B N 3")
    known_desc, known_data = arrays.tensor("known", known, "B M 3")
    of_dist2, of_idx = out or (None, None)
    dist2, *dist2_tensor = arrays.output("dist2", unknown_desc.shape, unknown, of_dist2)
    idx, *idx_tensor = arrays.output("idx", unknown_desc.shape, out=of_idx)
    if unknown_desc.is_empty:
        declaration = "unknown B N 3, known B M 3, dist2 B N 3, idx: B N 3"
        require_sizes(declaration, unknown_desc, known_desc, dist2_tensor[0], idx_tensor[0])
        return dist2, idx
    with handle() as own:
        require(
            functions.mluOpThreeNNForward(
                own.pointer,
                *(unknown_desc, unknown_data, known_desc, known_data),
                *own.workspace(functions.mluOpGetThreeNNForwardWorkspaceSize, known_desc),
                *dist2_tensor,
                *idx_tensor,
            )
        )
    return dist2, idx


def knn(
    arrays: Arrays, xyz: Any, new_xyz: Any, k: int, out: tuple[Any, Any] | None = None
) -> tuple[Any, Any]:
    xyz_desc, xyz_data = arrays.tensor("xyz", xyz, "B N 3")
    new_xyz_desc, new_xyz_data = arrays.tensor("new_xyz", new_xyz, "B M 3")
    k = int32("k", k)
    shape = (*new_xyz_desc.shape[:2], extent(k))
    of_dist2, of_idx = out or (None, None)
    with handle() as own:
        # Refuses a k for which there may be no memory.
        query = functions.mluOpOmpGetKnnWorkspaceSize
        workspace = own.workspace(query, k, xyz_desc, new_xyz_desc)
        dist2, *dist2_tensor = arrays.output("dist2", shape, xyz, of_dist2)
        idx, *idx_tensor = arrays.output("idx", shape, out=of_idx)
        require(
            functions.mluOpOmpKnn(
                *(own.pointer, k, xyz_desc, xyz_data, new_xyz_desc, new_xyz_data),
                *(*workspace, *idx_tensor, *dist2_tensor),
            )
        )
    return dist2, idx


@also_double(_double.three_interpolate, 0)
def three_interpolate(
    arrays: Arrays, features: Any, indices: Any, weights: Any, out: Any = None
) -> Any:
    features_desc, features_data = arrays.tensor("features", features, "B C M")
    indices_desc, indices_data = arrays.tensor("indices", indices, "B N 3")
    weights_tensor = arrays.tensor("weights", weights)
    (B, C, _), N = features_desc.shape, indices_desc.shape[1]
    output, *output_tensor = arrays.output("output", (B, C, N), features, out)
    if output_tensor[0].is_empty:
        declaration = "features B C M, indices: B N 3, weights B N 3, output B C N"
        descriptors = (features_desc, indices_desc, weights_tensor[0], output_tensor[0])
        require_sizes(declaration, *descriptors)
        return output
    with handle() as own:
        require(
            functions.mluOpThreeInterpolateForward(
                own.pointer,
                *(features_desc, features_data, indices_desc, indices_data),
                *(*weights_tensor, *output_tensor),
            )
        )
    return output


@also_double(_double.three_interpolate_backward, 0)
def three_interpolate_backward(
    arrays: Arrays, grad_output: Any, indices: Any, weights: Any, M: int, out: Any = None
) -> Any:
    grad_desc, grad_data = arrays.tensor("grad_output", grad_output, "B C N")
    inputs = arrays.tensor("indices", indices), arrays.tensor("weights", weights)
    B, C, _ = grad_desc.shape
    M = int32("M", M)
    grad_features, *features_tensor = arrays.output(
        "grad_features", (B, C, extent(M)), grad_output, out
    )
    if grad_desc.is_empty and M >= 0:
        declaration = "grad_output B C N, indices: B N 3, weights B N 3, grad_features B C M"
        require_sizes(declaration, grad_desc, *(desc for desc, _ in inputs), features_tensor[0])
        arrays.fill(grad_features, 0)
        return grad_features
    with handle() as own:
        require(
            functions.mluOpThreeInterpolateBackward(
                *(own.pointer, grad_desc, grad_data, *itertools.chain(*inputs)),
                *features_tensor,
            )
        )
    return grad_features
