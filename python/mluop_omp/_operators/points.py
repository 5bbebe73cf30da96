"""Operators on point sets: neighbors and interpolation."""

from __future__ import annotations

from typing import Any

from mluop_omp._arrays import Arrays, extent, handle, int32, invoke
from mluop_omp._library import functions


def ball_query(
    arrays: Arrays,
    new_xyz: Any,
    xyz: Any,
    min_radius: float,
    max_radius: float,
    nsample: int,
    out: Any = None,
) -> Any:
    B, M, _ = arrays.shape("new_xyz", new_xyz, "B M 3")
    arrays.shape("xyz", xyz, "B N 3")
    nsample = int32("nsample", nsample)
    idx = arrays.indices((B, M, extent(nsample)), 0) if out is None else out
    invoke(
        functions.mluOpBallQuery,
        *arrays.tensor("new_xyz", new_xyz),
        *arrays.tensor("xyz", xyz),
        *(float(min_radius), float(max_radius), nsample),
        *arrays.tensor("idx", idx),
    )
    return idx


def three_nn(
    arrays: Arrays, unknown: Any, known: Any, out: tuple[Any, Any] | None = None
) -> tuple[Any, Any]:
    B, N, _ = arrays.shape("unknown", unknown, "B N 3")
    arrays.shape("known", known, "B M 3")
    dist2, idx = out or (arrays.empty((B, N, 3), unknown), arrays.indices((B, N, 3)))
    known_desc, known_data = arrays.tensor("known", known)
    unknown_tensor = arrays.tensor("unknown", unknown)
    workspace = handle().workspace(functions.mluOpGetThreeNNForwardWorkspaceSize, known_desc)
    invoke(
        functions.mluOpThreeNNForward,
        *unknown_tensor,
        *(known_desc, known_data),
        *workspace,
        *arrays.tensor("dist2", dist2),
        *arrays.tensor("idx", idx),
    )
    return dist2, idx


def three_interpolate(
    arrays: Arrays, features: Any, indices: Any, weights: Any, out: Any = None
) -> Any:
    B, C, _ = arrays.shape("features", features, "B C M")
    N = arrays.shape("indices", indices, "B N 3")[1]
    output = arrays.empty((B, C, N), features) if out is None else out
    invoke(
        functions.mluOpThreeInterpolateForward,
        *arrays.tensor("features", features),
        *arrays.tensor("indices", indices),
        *arrays.tensor("weights", weights),
        *arrays.tensor("output", output),
    )
    return output


def three_interpolate_backward(
    arrays: Arrays, grad_output: Any, indices: Any, weights: Any, M: int, out: Any = None
) -> Any:
    B, C, _ = arrays.shape("grad_output", grad_output, "B C N")
    grad_features = arrays.empty((B, C, extent(int32("M", M))), grad_output) if out is None else out
    invoke(
        functions.mluOpThreeInterpolateBackward,
        *arrays.tensor("grad_output", grad_output),
        *arrays.tensor("indices", indices),
        *arrays.tensor("weights", weights),
        *arrays.tensor("grad_features", grad_features),
    )
    return grad_features
