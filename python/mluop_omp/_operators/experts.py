"""Mixtures of experts."""

from __future__ import annotations

from mluop_omp._arrays import Arrays, size
from mluop_omp._definitions import experts as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, operator
from mluop_omp._operators._derivative import Linear, sum_by_index
from mluop_omp._operators._tensors import output_of
from mluop_omp._operators._torch import Tensor, ops, torch

__all__ = ["moe_dispatch", "moe_dispatch_backward_data", "moe_dispatch_backward_gate"]

_dispatch = function("mluOpMoeDispatchForward", "p" * 9 + "iiiipp")
_backward_gate = function("mluOpMoeDispatchBackwardGate", "p" * 9 + "iiiipspp")
_backward_data = function("mluOpMoeDispatchBackwardData", "p" * 9 + "iiiipp")


def _rows(indices: Tensor, locations: Tensor, capacity: int, num_experts: int) -> Tensor:
    """Returns int64 [N]: the row of each sample; for a skipped sample, the number of rows."""
    inside = (indices >= 0) & (indices < num_experts) & (locations >= 0) & (locations < capacity)
    return torch.where(inside, indices.long() * capacity + locations, capacity * num_experts)


def _written(indices: Tensor, locations: Tensor, capacity: int, num_experts: int) -> Tensor:
    """Returns locations, with -1 for each sample that a later sample overwrites."""
    rows = _rows(indices, locations, capacity, num_experts)
    samples = torch.arange(rows.shape[0], device=rows.device)
    last = samples.new_full((capacity * num_experts + 1,), -1)
    last = last.scatter_reduce(0, rows, samples, "amax")
    return torch.where(last[rows] == samples, locations, -1)


def _sum_rows(
    gates: Tensor,
    indices: Tensor,
    locations: Tensor,
    input: Tensor,
    capacity: int,
    num_experts: int,
) -> Tensor:
    """Returns moe_dispatch, but adds the samples of a row; by operators of PyTorch."""
    rows = _rows(indices, locations, capacity, num_experts)
    return sum_by_index(gates.unsqueeze(1) * input, rows, capacity * num_experts + 1)[:-1]


@operator(
    definitions,
    derivative=Linear(
        gates=lambda grad, gates, indices, locations, input, *sizes: ops.moe_dispatch_backward_gate(
            indices, _written(indices, locations, *sizes), input, grad, *sizes
        ),
        input=lambda grad, gates, indices, locations, input, *sizes: ops.moe_dispatch_backward_data(
            gates, indices, _written(indices, locations, *sizes), grad, *sizes
        ),
    ),
)
def moe_dispatch(
    arrays: Arrays,
    gates: Array,
    indices: Array,
    locations: Array,
    input: Array,
    capacity: int,
    num_experts: int,
) -> Array:
    """Multiplies samples by their gates and writes them to the buffers of their experts (Tutel).

    ``dispatch[indices[i] * capacity + locations[i]] = gates[i] * input[i]``. The output has
    derivatives with respect to gates and input.

    Args:
        gates: float32 or float64 [N].
        indices: int32 [N], the expert of each sample.
        locations: int32 [N], the row of each sample in the buffer of its expert. A sample is
            skipped unless its expert is 0 to num_experts - 1 and its row is 0 to capacity - 1.
        input: [N, C] of the dtype of gates.
        capacity: the number of rows of each expert.
        num_experts: the number of experts.

    Returns:
        [num_experts * capacity, C] of the dtype of gates; rows without a sample are 0. If several
            samples have the same row, the last one is written.

    Raises:
        MluOpError: there are more samples than rows.

    Source: mluOpMoeDispatchForward; Tutel 0.2.
    """
    gates_tensor = arrays.tensor("gates", gates, "N")
    inputs = (
        *gates_tensor,
        *arrays.tensor("indices", indices, "N"),
        *arrays.tensor("locations", locations, "N"),
        *arrays.tensor("input", input, "N C"),
    )
    capacity, num_experts = size("capacity", capacity), size("num_experts", num_experts)
    samples, hidden = gates_tensor[0].shape[0], inputs[-2].shape[1]
    sizes = samples, capacity, hidden, num_experts
    shape = (num_experts * capacity, hidden)
    dispatch, *dispatch_tensor = arrays.zeros_output("dispatch", shape, gates)
    with arrays.handle() as own:
        own.call(_dispatch, *inputs, *sizes, *dispatch_tensor)
    return dispatch


@operator(
    definitions,
    derivative=Linear(
        input=lambda grad, indices, locations, input, grad_dispatch, *sizes: (
            ops.moe_dispatch_backward_data(grad, indices, locations, grad_dispatch, *sizes)
        ),
        grad_dispatch=lambda grad, indices, locations, input, grad_dispatch, *sizes: _sum_rows(
            grad, indices, locations, input, *sizes
        ),
    ),
)
def moe_dispatch_backward_gate(
    arrays: Arrays,
    indices: Array,
    locations: Array,
    input: Array,
    grad_dispatch: Array,
    capacity: int,
    num_experts: int,
) -> Array:
    """Returns the gradient of `moe_dispatch` for gates.

    Every sample of a row receives the gradient of the row, even if a later sample overwrites it.

    Args:
        indices: int32 [N].
        locations: int32 [N].
        input: float32 or float64 [N, C].
        grad_dispatch: [num_experts * capacity, C] of the dtype of input.
        capacity: the number of rows of each expert.
        num_experts: the number of experts.

    Returns:
        [N] of the dtype of input: the dot products of rows of input and grad_dispatch; 0 for
            skipped samples. Sums of float32 are float32, in a fixed order.

    Source: mluOpMoeDispatchBackwardGate; Tutel 0.2.
    """
    input_tensor = arrays.tensor("input", input, "N C")
    samples, hidden = input_tensor[0].shape
    inputs = (
        *arrays.tensor("indices", indices, "N"),
        *arrays.tensor("locations", locations, "N"),
        *input_tensor,
        *arrays.tensor("dispatch", grad_dispatch, "R C"),
        *(samples, size("capacity", capacity), hidden, size("num_experts", num_experts), None, 0),
    )
    return output_of(arrays, _backward_gate, inputs, "grad_gates", (samples,), input)


@operator(
    definitions,
    derivative=Linear(
        gates=lambda grad, gates, indices, locations, grad_dispatch, *sizes: (
            ops.moe_dispatch_backward_gate(indices, locations, grad, grad_dispatch, *sizes)
        ),
        grad_dispatch=lambda grad, gates, indices, locations, grad_dispatch, *sizes: _sum_rows(
            gates, indices, locations, grad, *sizes
        ),
    ),
)
def moe_dispatch_backward_data(
    arrays: Arrays,
    gates: Array,
    indices: Array,
    locations: Array,
    grad_dispatch: Array,
    capacity: int,
    num_experts: int,
) -> Array:
    """Returns the gradient of `moe_dispatch` for input: the row of each sample, times its gate.

    With the outputs of the experts as grad_dispatch, the function combines the outputs.

    Args:
        gates: float32 or float64 [N].
        indices: int32 [N].
        locations: int32 [N].
        grad_dispatch: [num_experts * capacity, C] of the dtype of gates.
        capacity: the number of rows of each expert.
        num_experts: the number of experts.

    Returns:
        [N, C] of the dtype of gates; 0 for skipped samples.

    Source: mluOpMoeDispatchBackwardData; Tutel 0.2.
    """
    gates_tensor = arrays.tensor("gates", gates, "N")
    dispatch_tensor = arrays.tensor("dispatch", grad_dispatch, "R C")
    samples, hidden = gates_tensor[0].shape[0], dispatch_tensor[0].shape[1]
    inputs = (
        *gates_tensor,
        *arrays.tensor("indices", indices, "N"),
        *arrays.tensor("locations", locations, "N"),
        *dispatch_tensor,
        *(samples, size("capacity", capacity), hidden, size("num_experts", num_experts)),
    )
    return output_of(arrays, _backward_data, inputs, "grad_input", (samples, hidden), gates)
