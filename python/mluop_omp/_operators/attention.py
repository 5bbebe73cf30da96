"""Multi-scale deformable attention."""

from __future__ import annotations

import itertools
from typing import Any

from mluop_omp._arrays import Arrays, Tensor, handle
from mluop_omp._library import functions, require

# Any number has the same results.
_IM2COL_STEP = 2**31 - 1


def _inputs(
    arrays: Arrays, value: Any, shapes: Any, starts: Any, locations: Any, weights: Any
) -> tuple[Tensor, ...]:
    return (
        arrays.tensor("value", value, "B K M D"),
        arrays.tensor("spatial_shapes", shapes, "L 2"),
        arrays.tensor("level_start_index", starts, "L"),
        arrays.tensor("sampling_locations", locations, "B Q M L P 2"),
        arrays.tensor("attention_weights", weights, "B Q M L P"),
    )


def _is_empty(inputs: tuple[Tensor, ...]) -> bool:
    """Returns whether there is no output. The library refuses shapes that contradict each other."""
    value, (L, _), starts, locations, weights = (descriptor.shape for descriptor, _ in inputs)
    (B, _, M, D), (Q, P) = value, (weights[1], weights[4])
    shapes = ((L,), (B, Q, M, L, P, 2), (B, Q, M, L, P))
    return 0 in (B, Q, M, D) and (starts, locations, weights) == shapes


def ms_deform_attn(
    arrays: Arrays,
    value: Any,
    spatial_shapes: Any,
    level_start_index: Any,
    sampling_locations: Any,
    attention_weights: Any,
    out: Any = None,
) -> Any:
    levels = spatial_shapes, level_start_index
    inputs = _inputs(arrays, value, *levels, sampling_locations, attention_weights)
    (B, _, M, D), Q = inputs[0][0].shape, inputs[3][0].shape[1]
    output, *output_tensor = arrays.output("output", (B, Q, M, D), value, out)
    if _is_empty(inputs):
        return output
    with handle() as own:
        require(
            functions.mluOpMsDeformAttnForward(
                *(own.pointer, *itertools.chain(*inputs), _IM2COL_STEP, *output_tensor)
            )
        )
    return output


def ms_deform_attn_backward(
    arrays: Arrays,
    grad_output: Any,
    value: Any,
    spatial_shapes: Any,
    level_start_index: Any,
    sampling_locations: Any,
    attention_weights: Any,
    out: tuple[Any, Any, Any] | None = None,
) -> tuple[Any, Any, Any]:
    grad = arrays.tensor("grad_output", grad_output, "B Q M D")
    levels = spatial_shapes, level_start_index
    inputs = _inputs(arrays, value, *levels, sampling_locations, attention_weights)
    outputs = [
        arrays.output(f"grad_{name}", inputs[i][0].shape, grad_output, each)
        for name, i, each in zip(
            ("value", "sampling_locations", "attention_weights"), (0, 3, 4), out or (None,) * 3
        )
    ]
    of_value, of_locations, of_weights = (each for each, *_ in outputs)
    if _is_empty(inputs) and grad[0].shape == (*outputs[1][0].shape[:3], inputs[0][0].shape[3]):
        for each in (of_value, of_locations, of_weights):
            arrays.fill(each, 0)
        return of_value, of_locations, of_weights
    with handle() as own:
        require(
            functions.mluOpMsDeformAttnBackward(
                *(own.pointer, *itertools.chain(*inputs), *grad, _IM2COL_STEP),
                *itertools.chain(*(tensor for _, *tensor in outputs)),
            )
        )
    return of_value, of_locations, of_weights
