"""The operators of Pointcept's pointops on CPUs.

    import mluop_omp.pointops
    mluop_omp.pointops.install()

before the import of pointops provides its extension module pointops._C, which its setup.py builds
with CUDA. An extension that was built keeps its functions for other devices.

Clouds are stored one after another; an offset is the number of rows up to the end of each cloud.
Indices count the rows of all clouds. Neighbors, samples and sums over indices are operators of this
library, the rest are formulas of PyTorch. Sizes among the arguments have no effect: tensors have
their own. Outputs are written, also where pointops adds to zeros.
"""

from __future__ import annotations

import itertools
from typing import Any, Callable

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from mluop_omp import _extensions
from mluop_omp._adapters import Args, compute, takes
from mluop_omp._definitions.neighbors import sift_down
from mluop_omp._library import bad_param
from mluop_omp._operators._declaration import operators
from mluop_omp._operators._tensors import require_shape
from mluop_omp.torch._arrays import store, to_index
from mluop_omp.torch._pool import pool_rows, runs
from mluop_omp.torch._precision import at_least_float32

_PAIRS = 2**20  # centers times points whose distances are computed together
_MISSING = 1e10  # the squared distance of a neighbor that is not there; its index is -1


def _check(args: Args, declaration: str) -> None:
    """Checks the shapes of tensors, such as "input n c, idx m s, output m s c"."""
    sizes: dict[str, int] = {}
    for name, *dimensions in map(str.split, declaration.split(", ")):
        require_shape(name, getattr(args, name), dimensions, sizes)


def _clouds(args: Args, **offsets: str) -> list[tuple[slice, ...]]:
    """Returns the rows of each cloud in each tensor, given the name of its offsets."""
    rows_of: list[list[slice]] = []
    for tensor, name in offsets.items():
        rows = len(getattr(args, tensor))
        stops = to_index(name, getattr(args, name), rows + 1).tolist()
        if stops != sorted(stops) or [0, *stops][-1] != rows:
            raise bad_param(f"{name} is {stops}, expected ascending numbers up to {rows}")
        rows_of.append([slice(*bounds) for bounds in zip([0, *stops], stops)])
    return list(zip(*rows_of))


@takes("b, n, xyz, offset, new_offset, tmp, idx")
def farthest_point_sampling(args: Args) -> None:
    """Writes the samples [m], each cloud's from its first point on. tmp has no effect."""
    _check(args, "xyz n 3, offset b, new_offset b, idx m")
    found = [args.idx.new_empty(0)]
    for points, samples in _clouds(args, xyz="offset", idx="new_offset"):
        cloud, count = args.xyz[None, points], samples.stop - samples.start
        sample = operators.furthest_point_sample
        found.append(compute(sample, cloud, count, conversion=at_least_float32)[0] + points.start)
    store({"idx": args.idx}, torch.cat(found))


@takes("m, nsample, xyz, new_xyz, offset, new_offset, idx, dist2")
def knn_query(args: Args) -> None:
    """Writes neighbors and squared distances [m, nsample], ascending. Ties are as in mmcv's knn."""
    if not 1 <= args.nsample <= 100:
        raise bad_param(f"nsample is {args.nsample}, expected 1 to 100")
    _check(args, "xyz n 3, new_xyz m 3, offset b, new_offset b")
    found = [(args.idx[:0], args.dist2[:0])]
    for points, centers in _clouds(args, xyz="offset", new_xyz="new_offset"):
        tensors = args.xyz[None, points], args.new_xyz[None, centers]
        (dist2,), (idx,) = compute(
            operators.knn, *tensors, args.nsample, conversion=at_least_float32
        )
        found.append((torch.where(dist2 < _MISSING, idx + points.start, -1), dist2))
    results = tuple(torch.cat(each) for each in zip(*found))
    store({"idx": args.idx, "dist2": args.dist2}, results)


def _heap_sort(squares: Tensor, points: Tensor, counts: Tensor) -> None:
    """Orders the first `counts` elements of each row as the kernel does, which sorts rows that are
    no heaps: the result is not ascending.
    """
    arrays, last = (squares.numpy(), points.numpy()), counts.numpy() - 1
    for size in range(squares.shape[1] - 1, 0, -1):
        (rows,) = np.nonzero(last >= size)
        for array in arrays:
            array[rows, 0], array[rows, size] = array[rows, size], array[rows, 0]
        sift_down(*arrays, rows, size)


def _query_ball(args: Args, order: Tensor, is_random: bool) -> None:
    _check(args, "xyz n 3, new_xyz m 3, offset b, new_offset b, idx m s, dist2 m s")
    new_xyz, xyz = at_least_float32(args.new_xyz, args.xyz)
    low, high = torch.tensor([args.min_radius, args.max_radius]).square()
    idx, dist2 = torch.full_like(args.idx, -1), torch.full_like(args.dist2, _MISSING)
    slot = torch.arange(idx.shape[1])
    for cloud, centers in _clouds(args, xyz="offset", new_xyz="new_offset"):
        points = order[cloud]
        for rows in torch.arange(len(new_xyz))[centers].split(_PAIRS // max(len(points), 1) + 1):
            x, y, z = (new_xyz[rows, None] - xyz[points]).square().unbind(2)
            d2 = x + y + z
            query, point = torch.where((d2 <= 1e-5) | ((d2 >= low) & (d2 < high)))
            starts, counts = runs(query, len(rows))
            place = query, torch.arange(len(query)) - starts[query]
            width = max(len(slot), *counts.tolist(), 0)
            squares = d2.new_full((len(rows), width), _MISSING).index_put_(place, d2[query, point])
            found = points.new_full(squares.shape, -1).index_put_(place, points[point])
            chosen = slot.expand(len(rows), -1)
            if not is_random:
                _heap_sort(squares, found, counts)
                step = (counts.float() / len(slot)).unsqueeze(1)  # rounded to float32, as products
                chosen = torch.where(step > 1, (step * slot).long(), chosen)
            idx[rows] = found.gather(1, chosen).to(idx.dtype)
            dist2[rows] = squares.gather(1, chosen).to(dist2.dtype)
    store({"idx": args.idx, "dist2": args.dist2}, (idx, dist2))


_BALL = "xyz, new_xyz, offset, new_offset, idx, dist2"


@takes(f"m, nsample, min_radius, max_radius, {_BALL}")
def ball_query(args: Args) -> None:
    """Writes the points at a squared distance up to 1e-5 or with min_radius**2 <= d2 <
    max_radius**2, and d2: if there are more than nsample, points at regular places of the kernel's
    order, for which the kernel writes the index in place of d2.
    """
    _query_ball(args, torch.arange(len(args.xyz)), is_random=False)


@takes(f"m, nsample, min_radius, max_radius, order, {_BALL}")
def random_ball_query(args: Args) -> None:
    """As `ball_query`, but the first such points in the order of order [n]."""
    _check(args, "xyz n 3, order n")
    _query_ball(args, to_index("order", args.order, len(args.xyz)), is_random=True)


class _Rows(Function):
    """Returns rows of a tensor at indices. Gradients are added by voxel pooling."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, index: Tensor) -> Tensor:
        ctx.rows, ctx.index = len(tensor), index
        return tensor[index]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _sum_rows(grad, ctx.index, ctx.rows), None


class _Sums(Function):
    """Returns the sums of the rows of each index, added by voxel pooling."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, index: Tensor, rows: int) -> Tensor:
        ctx.index = index
        return _sum_rows(values, index, rows)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return grad[ctx.index], None, None


def _sum_rows(values: Tensor, index: Tensor, rows: int) -> Tensor:
    """Returns [rows, ...] of values [*index.shape, ...]."""
    flat = values.flatten(0, index.dim() - 1).flatten(1)
    return pool_rows(flat, index.flatten(), rows).view(rows, *values.shape[index.dim() :])


def _rows(args: Args, tensor: str, index: str) -> Tensor:
    rows = getattr(args, tensor)
    return _Rows.apply(rows, to_index(index, getattr(args, index), len(rows)))


def _grouping(args: Args) -> Tensor:
    return _rows(args, "input", "idx")


def _interpolation(args: Args) -> Tensor:
    return (_rows(args, "input", "idx") * args.weight.unsqueeze(2)).sum(1)


def _subtraction(args: Args) -> Tensor:
    return args.input1.unsqueeze(1) - _rows(args, "input2", "idx")


def _aggregation(args: Args) -> Tensor:
    """Channel c has the weight c modulo their number."""
    channels, weights = args.position.shape[2], args.weight.shape[2]
    if weights == 0 < channels:
        raise bad_param("weight dim 2 is 0, expected at least 1")
    repeated = args.weight.repeat(1, 1, -(-channels // max(weights, 1)))[..., :channels]
    return ((_rows(args, "input", "idx") + args.position) * repeated).sum(1)


def _attention_relation_step(args: Args) -> Tensor:
    query, key = _rows(args, "query", "index_target"), _rows(args, "key", "index_refer")
    return (query * key * args.weight).sum(2)


def _attention_fusion_step(args: Args) -> Tensor:
    values = _rows(args, "value", "index_refer") * args.weight.unsqueeze(2)
    index = to_index("index_target", args.index_target, len(args.value))
    return _Sums.apply(values, index, len(args.value))


# The sizes and the tensors of the function forward and of backward, in the order of pointops.
_FORMULAS: dict[Callable[[Args], Tensor], tuple[str, str, str]] = {
    _grouping: (
        "m, nsample, c",
        "input n c, idx m s, output m s c",
        "grad_output m s c, idx m s, grad_input n c",
    ),
    _interpolation: (
        "n, c, k",
        "input m c, idx n k, weight n k, output n c",
        "grad_output n c, idx n k, weight n k, grad_input m c",
    ),
    _subtraction: (
        "n, nsample, c",
        "input1 n c, input2 m c, idx n s, output n s c",
        "idx n s, grad_output n s c, grad_input1 n c, grad_input2 m c",
    ),
    _aggregation: (
        "n, nsample, c, w_c",
        "input m c, position n s c, weight n s w, idx n s, output n c",
        "input m c, position n s c, weight n s w, idx n s, grad_output n c, grad_input m c, "
        "grad_position n s c, grad_weight n s w",
    ),
    _attention_relation_step: (
        "m, g, c",
        "query n g c, key k g c, weight c, index_target m, index_refer m, output m g",
        "query n g c, grad_query n g c, key k g c, grad_key k g c, weight c, grad_weight c, "
        "index_target m, index_refer m, grad_output m g",
    ),
    _attention_fusion_step: (
        "m, g, c",
        "weight m g, value n g c, index_target m, index_refer m, output n g c",
        "weight m g, grad_weight m g, value n g c, grad_value n g c, index_target m, "
        "index_refer m, grad_output n g c",
    ),
}


def _forward(formula: Callable[[Args], Tensor], args: Args) -> None:
    store({"output": args.output}, formula(args))


def _backward(formula: Callable[[Args], Tensor], args: Args) -> None:
    """Writes the gradients, by which PyTorch differentiates the formula."""
    named = vars(args)
    grads = {name: named[name] for name in named if "grad_" in name and name != "grad_output"}
    inputs = {}
    for name, grad in grads.items():
        # The formula is linear in each input that the call leaves out, so that any value serves.
        value = named.get(name.removeprefix("grad_"), grad)
        inputs[name.removeprefix("grad_")] = value.detach().requires_grad_()
    with torch.enable_grad():
        output = formula(Args(**{**named, **inputs}))
    grad_output = args.grad_output.to(output.dtype)
    store(grads, torch.autograd.grad(output, tuple(inputs.values()), grad_output))


def _of_formula(
    formula: Callable[[Args], Tensor], run: Callable[..., None], sizes: str, tensors: str
) -> Callable[..., None]:
    def call(args: Args) -> None:
        _check(args, tensors)
        run(formula, args)

    call.__name__ = f"{formula.__name__.lstrip('_')}{run.__name__}"
    return takes(", ".join((sizes, *(each.split()[0] for each in tensors.split(", ")))))(call)


_FUNCTIONS = {
    f"{function.__name__}_cuda": function
    for function in itertools.chain(
        (ball_query, farthest_point_sampling, knn_query, random_ball_query),
        *(
            (_of_formula(each, _forward, sizes, of), _of_formula(each, _backward, sizes, back))
            for each, (sizes, of, back) in _FORMULAS.items()
        ),
    )
}


def install() -> None:
    """Provides the extension module of pointops for tensors of the CPU; once, if repeated."""
    _extensions.provide("pointops._C", _FUNCTIONS)
