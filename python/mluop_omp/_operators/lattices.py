"""Mutual information: sums over the monotone paths through a lattice."""

from __future__ import annotations

from typing import Any

from mluop_omp._arrays import Arrays
from mluop_omp._definitions import lattices as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, operator
from mluop_omp._operators._derivative import Derivative, NoDerivative, differentiable
from mluop_omp._operators._torch import Tensor, torch

__all__ = ["mutual_information", "mutual_information_backward"]

_forward = function("mluOpMutualInformationForward", "p" * 10 + "spp")
_backward = function("mluOpMutualInformationBackward", "p" * 11 + "bps" + "p" * 4)
# Stands for the logarithm of 0: -infinity has no derivative.
_NOTHING = -1e30


def _by_diagonals(scores: Tensor, rows: int) -> Tensor:
    """Returns [D, B, rows]: the element (s, d - s) for each diagonal d of [B, s, t]."""
    pad = torch.nn.functional.pad
    scores = pad(scores, (0, rows, 0, rows - scores.shape[1]), value=_NOTHING)
    B, _, columns = scores.shape
    return (
        scores.flatten(1)[:, : rows * (columns - 1)].reshape(B, rows, columns - 1).permute(2, 0, 1)
    )


def _log_add(x: Tensor, y: Tensor) -> Tensor:
    """As torch.logaddexp, with second derivatives also where the difference is large."""
    softplus = torch.nn.functional.softplus
    return torch.where(x >= y, x + softplus(y - x), y + softplus(x - y))


def _cells(px: Tensor, py: Tensor, begin: Tensor) -> Tensor:
    """Returns p [B, S + 1, T + 1] of the paths that begin at a cell, by operators of PyTorch.

    begin: 0 at the first cell of each lattice, _NOTHING elsewhere.
    """
    (B, S, _), T = px.shape, py.shape[2]
    x, y = (_by_diagonals(each, S + 1).unbind() for each in (px, py))
    begins = _by_diagonals(begin, S + 1).unbind()
    row, rows = begins[0], [begins[0]]
    for d in range(1, S + T + 1):
        along_s = torch.nn.functional.pad((row + x[d - 1])[:, :-1], (1, 0), value=_NOTHING)
        row = _log_add(_log_add(along_s, row + y[d - 1]), begins[d])
        rows.append(row)
    # From [B, S + 1, D] back to cells.
    skewed = torch.nn.functional.pad(torch.stack(rows, 2).flatten(1), (0, S + 1))
    return skewed.reshape(B, S + 1, S + T + 2)[..., : T + 1]


def _gradients(
    px: Tensor, py: Tensor, p: Tensor, grad: Tensor, boundary: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Returns the result of mutual_information_backward, by operators of PyTorch."""
    (B, S, _), T = px.shape, py.shape[2]
    if boundary is None:
        boundary = torch.tensor((0, 0, S, T)).expand(B, 4)
    s0, t0, s1, t1 = boundary.reshape(B, 4, 1, 1).unbind(1)
    s = torch.arange(S + 1).view(1, -1, 1)
    t = torch.arange(T + 1)
    inside = (s0 <= s) & (s <= s1) & (t0 <= t) & (t <= t1)
    x = torch.where(inside[:, :S] & inside[:, 1:], px, _NOTHING).clamp(min=_NOTHING)
    y = torch.where(inside[..., :T] & inside[..., 1:], py, _NOTHING).clamp(min=_NOTHING)
    zero = px.new_zeros(())
    first = torch.where(inside & (s == s0) & (t == t0), zero, _NOTHING)
    last = torch.where(inside & (s == s1) & (t == t1), zero, _NOTHING)
    # The logarithms of the sums over the paths to each cell, and from each cell.
    to_cell = _cells(x, y, first)
    from_cell = _cells(x.flip(1, 2), y.flip(1, 2), last.flip(1, 2)).flip(1, 2)
    ans = torch.where(last == 0, to_cell, zero).sum((1, 2), keepdim=True)
    scale = torch.where(ans > _NOTHING / 2, grad.view(B, 1, 1), zero)
    along_s = to_cell[:, :S] + x + from_cell[:, 1:] - ans
    along_t = to_cell[..., :T] + y + from_cell[..., 1:] - ans
    return scale * along_s.exp(), scale * along_t.exp()


def _backward_of(
    px: Tensor, py: Tensor, boundary: Tensor | None, p: Tensor, grad: Tensor
) -> tuple[Tensor, Tensor]:
    arguments = px, py, p, grad, boundary
    return differentiable("mutual_information_backward", _gradients, *arguments)


def _tangent(inputs: tuple, tangents: tuple, outputs: tuple) -> Tensor:
    (px, py, boundary), (ans, p) = inputs, outputs
    shares = _backward_of(px, py, boundary, p, torch.ones_like(ans))
    products = (
        (share * tangent).sum((1, 2))
        for share, tangent in zip(shares, tangents)
        if tangent is not None
    )
    return sum(products, torch.zeros_like(ans))


def _inputs(arrays: Arrays, px: Any, py: Any, boundary: Any) -> tuple[Any, ...]:
    bounds = (None, None) if boundary is None else arrays.tensor("boundary", boundary, "B bounds")
    return (*arrays.tensor("px", px, "B S T"), *arrays.tensor("py", py, "B S T"), *bounds)


@operator(
    definitions,
    derivative=Derivative(
        lambda needs, grad, px, py, boundary, p: _backward_of(px, py, boundary, p, grad),
        _tangent,
        lambda inputs, outputs: ((), (*inputs, outputs[1]), ()),
    ),
)
def mutual_information(
    arrays: Arrays, px: Array, py: Array, boundary: Array | None = None
) -> tuple[Array, Array]:
    """Returns the log-probabilities of all monotone paths through lattices (k2, fast_rnnt).

    A path goes from the cell (s, t) to (s + 1, t) with the log-probability ``px[b, s, t]``, or to
    (s, t + 1) with ``py[b, s, t]``: ``p[b, s, t] = log(exp(p[b, s - 1, t] + px[b, s - 1, t]) +
    exp(p[b, s, t - 1] + py[b, s, t - 1]))``. `mutual_information_recursion` has the arguments and
    results of the function of k2.

    ans has derivatives; p is treated as a constant.

    Args:
        px: float32 or float64 [B, S, T + 1].
        py: [B, S + 1, T] of the dtype of px.
        boundary: int64 [B, 4]: s_begin, t_begin, s_end and t_end of each lattice, the first and the
            last cell of its paths. None: 0, 0, S, T for every lattice.

    Returns:
        ans: [B] of the dtype of px: p of the last cell; 0 if a boundary begins beyond its end. NaN
            propagates along s only, as in k2 on GPUs.
        p: [B, S + 1, T + 1]: the logarithm of the sum over the paths to each cell; 0 outside the
            boundary.

    Raises:
        MluOpError: a boundary is outside the lattice; px is [B, S, T], as in the modified recursion
            of k2.

    Source: mluOpMutualInformationForward; k2 mutual_information_recursion.
    """
    inputs = _inputs(arrays, px, py, boundary)
    (B, S, _), T = inputs[0].shape, inputs[2].shape[2]
    p, *p_tensor = arrays.zeros_output("p", (B, S + 1, T + 1), px)
    ans, *ans_tensor = arrays.output("ans", (B,), px)
    with arrays.handle() as own:
        own.call(_forward, *inputs, *p_tensor, None, 0, *ans_tensor)
    return ans, p


@operator(definitions, derivative=NoDerivative())
def mutual_information_backward(
    arrays: Arrays,
    px: Array,
    py: Array,
    p: Array,
    ans_grad: Array,
    boundary: Array | None = None,
) -> tuple[Array, Array]:
    """Returns the gradients of px and py of `mutual_information`.

    With ans_grad 1, the gradient of a step is the probability that a path takes this step.

    Args:
        px: float32 or float64 [B, S, T + 1].
        py: [B, S + 1, T] of the dtype of px.
        p: [B, S + 1, T + 1], the second result of `mutual_information` for the same arguments.
        ans_grad: [B] of the dtype of px.
        boundary: int64 [B, 4], or None.

    Returns:
        The two gradients, with the shapes of px and py; 0 outside the boundary.

    Raises:
        MluOpError: a boundary is outside the lattice; px is [B, S, T], as in the modified recursion
            of k2.

    Source: mluOpMutualInformationBackward; k2 mutual_information_recursion.
    """
    inputs = _inputs(arrays, px, py, boundary)
    p_tensor = arrays.tensor("p", p, "B S T")
    ans_grad_tensor = arrays.tensor("ans_grad", ans_grad, "B")
    px_grad, *px_tensor = arrays.output("px_grad", inputs[0].shape, px)
    py_grad, *py_tensor = arrays.output("py_grad", inputs[2].shape, px)
    outputs = *px_tensor, *py_tensor
    with arrays.handle() as own:
        own.call(_backward, *inputs, *p_tensor, *ans_grad_tensor, False, None, 0, *outputs)
    return px_grad, py_grad
