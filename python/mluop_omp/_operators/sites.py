"""Sites of sparse tensors: distinct, united, paired, reached, floored, and about points.

Sites are rows int32 [N, 1 + D]: the batch, then D coordinates of any sign.
"""

from __future__ import annotations

import array
import functools
import itertools
from collections.abc import Sequence
from typing import Any, Callable

from mluop_omp._arrays import ARRAY, DTYPES, NUMBER, Arrays, describe
from mluop_omp._definitions import sites as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, operator
from mluop_omp._operators._derivative import NoDerivative

__all__ = ["corners", "floor_sites", "reached_sites", "site_pairs", "union_rows", "unique_rows"]

_unique = function("mluOpOmpUniqueRows", "pbpppspppppp")
_unique_size = function("mluOpOmpGetUniqueRowsWorkspaceSize", "ppp")
_union = function("mluOpOmpUnionRows", "pppppps" + "pp" * 4)
_union_size = function("mluOpOmpGetUnionRowsWorkspaceSize", "pppp")
_pairs = function("mluOpOmpSitePairs", "ppppppppspppp")
_pairs_size = function("mluOpOmpGetSitePairsWorkspaceSize", "ppppp")
_reached = function("mluOpOmpReachedSites", "ppppppppspppp")
_reached_size = function("mluOpOmpGetReachedSitesWorkspaceSize", "ppppp")
_floor = function("mluOpOmpFloorSites", "ppppppspppppp")
_floor_size = function("mluOpOmpGetFloorSitesWorkspaceSize", "pppp")
_corners = function("mluOpOmpCorners", "ppppppppspppp")
_corners_size = function("mluOpOmpGetCornersWorkspaceSize", "ppppp")


@functools.lru_cache(maxsize=256)
def _int32s(values: tuple[int, ...]) -> tuple[Any, bytes]:
    return describe(ARRAY, DTYPES["int32"], (len(values),)), array.array("i", values).tobytes()


def _vector(arrays: Arrays, name: str, values: Sequence[int]) -> tuple[Any, Any]:
    """Returns descriptor and memory of integers; None for arrays without elements."""
    return arrays.made(_int32s, arrays.integers(name, values)) or (None, None)


def _call(
    arrays: Arrays,
    function: Callable[..., int],
    query: Callable[..., int],
    inputs: Sequence[tuple[Any, Any]],
    outputs: Sequence[Sequence[Any]],
    options: tuple = (),
    counts: bool = True,
) -> Any:
    """Calls a function of the library, and returns the number that it counts.

    inputs and outputs are descriptors and addresses.
    """
    with arrays.handle() as own:
        number = (NUMBER, own.number_address) if counts else ()
        own.call(
            *(function, *options, *itertools.chain(*inputs)),
            *own.workspace(query, *(descriptor for descriptor, _ in inputs)),
            *(*itertools.chain(*outputs), *number),
        )
        return own.number.value if counts else None


@operator(definitions)
def unique_rows(arrays: Arrays, rows: Array, ascending: bool = False) -> tuple[Array, Array]:
    """Finds the distinct rows of an array.

    ``rows[first]`` are the distinct rows, and ``rows[first][inverse]`` equals ``rows``.

    Args:
        rows: int32 [N, C], C 1 to 8.
        ascending: whether the distinct rows are in ascending lexicographic order. By default they
            are in the order of their first occurrences.

    Returns:
        first: int32 [U], the first occurrence of each distinct row.
        inverse: int32 [N], the position in `first` of each row.

    Raises:
        MluOpError: C is not 1 to 8.

    Source: mluOpOmpUniqueRows; MinkowskiEngine sparse_quantize, torchsparse sparse_quantize.
    """
    rows_tensor = arrays.tensor("rows", rows, "N C")
    N = rows_tensor[0].shape[0]
    first, *first_tensor = arrays.output("first", (N,))
    inverse, *inverse_tensor = arrays.output("inverse", (N,))
    outputs = first_tensor, inverse_tensor
    found = _call(arrays, _unique, _unique_size, [rows_tensor], outputs, (bool(ascending),))
    return arrays.first_rows(first, (N,), found), inverse


@operator(definitions)
def union_rows(arrays: Arrays, a: Array, b: Array) -> tuple[Array, Array, Array]:
    """Unites two lists of rows.

    Args:
        a: int32 [N, C], C 1 to 8.
        b: int32 [M, C].

    Returns:
        rows: int32 [U, C], the distinct rows of a in the order of their first occurrences, then the
            distinct rows of b that a lacks, in the same order.
        index_a: int32 [N], the position in `rows` of each row of a.
        index_b: int32 [M], the position in `rows` of each row of b.

    Raises:
        MluOpError: C is not 1 to 8; there are 2**31 rows.

    Source: mluOpOmpUnionRows; MinkowskiEngine MinkowskiUnion.
    """
    inputs = arrays.tensor("a", a, "N C"), arrays.tensor("b", b, "M C")
    (N, C), (M, _) = inputs[0][0].shape, inputs[1][0].shape
    rows, *rows_tensor = arrays.output("rows", (N + M, C))
    index_a, *a_tensor = arrays.output("index_a", (N,))
    index_b, *b_tensor = arrays.output("index_b", (M,))
    found = _call(arrays, _union, _union_size, inputs, (rows_tensor, a_tensor, b_tensor))
    return arrays.first_rows(rows, (N + M, C), found), index_a, index_b


@operator(definitions)
def site_pairs(
    arrays: Arrays, inputs: Array, outputs: Array, offsets: Array
) -> tuple[Array, Array]:
    """Finds the index pairs (the kernel map) of a sparse convolution between two lists of sites.

    Offset k pairs input i with output o of the same batch where ``inputs[i] = outputs[o] +
    offsets[k]``. The first of equal inputs is paired.

    Args:
        inputs: int32 [N, 1 + D], D 1 to 7.
        outputs: int32 [M, 1 + D].
        offsets: int32 [K, D].

    Returns:
        pairs: int32 [K, 2, N]: ``pairs[k, 0, :num[k]]`` are input rows and ``pairs[k, 1, :num[k]]``
            output rows, ascending; the rest is -1.
        num: int32 [K], the pairs of each offset.

    Raises:
        MluOpError: an offset has more than N pairs, because outputs repeat.

    Source: mluOpOmpSitePairs; MinkowskiEngine, arXiv:1904.08755; torchsparse, arXiv:2204.10319.
    """
    tensors = (
        arrays.tensor("inputs", inputs, "N 1+D"),
        arrays.tensor("outputs", outputs, "M 1+D"),
        arrays.tensor("offsets", offsets, "K D"),
    )
    N, K = tensors[0][0].shape[0], tensors[2][0].shape[0]
    pairs, *pairs_tensor = arrays.output("indice_pairs", (K, 2, N))
    num, *num_tensor = arrays.output("indice_num", (K,))
    found = pairs_tensor, num_tensor
    _call(arrays, _pairs, _pairs_size, tensors, found, counts=False)
    return pairs, num


@operator(definitions)
def reached_sites(arrays: Arrays, sites: Array, offsets: Array, multiples: Sequence[int]) -> Array:
    """Finds the sites that a generative or transposed sparse convolution reaches.

    They are the distinct sums of a site and an offset whose coordinates are multiples of the
    numbers for their axes.

    Args:
        sites: int32 [N, 1 + D], D 1 to 7.
        offsets: int32 [K, D].
        multiples: D integers, at least 1.

    Returns:
        int32 [R, 1 + D], ascending: by batch, then by coordinates.

    Raises:
        MluOpError: a sum is not a 32-bit integer; a multiple is less than 1.

    Source: mluOpOmpReachedSites; MinkowskiEngine, arXiv:1904.08755; torchsparse,
        arXiv:2204.10319.
    """
    vector = _vector(arrays, "multiples", multiples)
    inputs = arrays.tensor("sites", sites, "N 1+D"), arrays.tensor("offsets", offsets, "K D")
    (N, columns), K = inputs[0][0].shape, inputs[1][0].shape[0]
    reached, *reached_tensor = arrays.output("reached", (N * K, columns))
    found = _call(arrays, _reached, _reached_size, (*inputs, vector), [reached_tensor])
    return arrays.first_rows(reached, (N * K, columns), found)


@operator(definitions)
def floor_sites(arrays: Arrays, sites: Array, multiples: Sequence[int]) -> tuple[Array, Array]:
    """Rounds the coordinates of sites down to multiples: the sites of a strided sparse convolution.

    Args:
        sites: int32 [N, 1 + D], D 1 to 7.
        multiples: D integers, at least 1.

    Returns:
        floors: int32 [F, 1 + D], the distinct sites, ascending: by batch, then by coordinates.
        inverse: int32 [N], the position in `floors` of each site.

    Raises:
        MluOpError: a result is not a 32-bit integer; a multiple is less than 1.

    Source: mluOpOmpFloorSites; MinkowskiEngine, arXiv:1904.08755.
    """
    vector = _vector(arrays, "multiples", multiples)
    sites_tensor = arrays.tensor("sites", sites, "N 1+D")
    N, columns = sites_tensor[0].shape
    floors, *floors_tensor = arrays.output("floors", (N, columns))
    inverse, *inverse_tensor = arrays.output("inverse", (N,))
    outputs = floors_tensor, inverse_tensor
    found = _call(arrays, _floor, _floor_size, (sites_tensor, vector), outputs)
    return arrays.first_rows(floors, (N, columns), found), inverse


@operator(definitions, derivative=NoDerivative())
def corners(
    arrays: Arrays, points: Array, sites: Array, strides: Sequence[int]
) -> tuple[Array, Array]:
    """Finds the sites at the corners of the cells that hold points, and the weights of a
    multilinear interpolation.

    A cell has the lower corner ``floor(p / stride) * stride``. Bit D - 1 - d of a corner's number
    is 1 for the upper corner along axis d: in three dimensions, corner ``4 * dx + 2 * dy + dz``.

    Args:
        points: float32 or float64 [N, 1 + D], D 1 to 7: the batch, rounded to the nearest integer,
            then the coordinates.
        sites: int32 [M, 1 + D].
        strides: D integers, at least 1: the sides of a cell.

    Returns:
        corners: int32 [N, 2**D], rows of sites, the first of equal sites; -1 where there is none.
        weights: [N, 2**D] of the dtype of points, the product of ``1 - abs(p - corner) / stride``
            over the axes, also for missing corners. The weights of a point are 0 and its corners -1
            if the point is not finite or its cell is not within 32-bit integers.

    Raises:
        MluOpError: a stride is less than 1.

    Source: mluOpOmpCorners; MinkowskiEngine MinkowskiInterpolation; torchsparse calc_ti_weights.
    """
    vector = _vector(arrays, "strides", strides)
    points_tensor = arrays.tensor("points", points, "N 1+D")
    sites_tensor = arrays.tensor("sites", sites, "M 1+D")
    shape = (points_tensor[0].shape[0], 2 ** len(strides))
    rows, *rows_tensor = arrays.output("corners", shape)
    weights, *weights_tensor = arrays.output("weights", shape, points)
    inputs, outputs = (points_tensor, sites_tensor, vector), (rows_tensor, weights_tensor)
    _call(arrays, _corners, _corners_size, inputs, outputs, counts=False)
    return rows, weights
