"""The table of nodes: what a graph's plugin nodes are called, take and compute.

A module of _nodes declares each node once:

    @node(
        "mmdeploy",
        "mmcv",
        name="MMCVDeformConv2d",
        inputs=("input", "offset", "weight", "bias?"),
        shapes={"input": "N C H W", "offset": "N _ Ho Wo"},
        attributes={"stride": (1, 1), "groups": 1, "mode": REQUIRED(Text)},
        operators=("deform_conv",),
        source="open-mmlab/mmdeploy",
    )
    def deform_conv(input, offset, weight, bias, *, stride, groups, mode):
        '''The formula, the layout of weights, and choices between sources.'''
        return (output,)

Every evaluator calls `run`, which checks a node's inputs and attributes before the function.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Callable, TypeVar

import numpy as np

from mluop_omp._library import MluOpError, bad_param
from mluop_omp.onnx._attributes import (
    OPTIONAL,
    REQUIRED,
    Attribute,
    Float,
    Floats,
    Integer,
    Ints,
    Kind,
    Text,
    declared,
    values,
)
from mluop_omp.onnx._state import State

__all__ = [
    "OPTIONAL",
    "REQUIRED",
    "TENSORRT",
    "Attribute",
    "Float",
    "Floats",
    "Integer",
    "Ints",
    "Kind",
    "Node",
    "State",
    "Text",
    "by_domain",
    "node",
    "nodes",
    "run",
]

# The domains of nodes that TensorRT's parser reads, which ignores domains: most graphs have none,
# onnxruntime's provider for TensorRT writes trt.plugins.
TENSORRT = ("", "trt.plugins", "TRT")
_FLOATING = ("float16", "float32", "float64")
_INTEGERS = ("int32", "int64")
_INT32 = np.iinfo(np.int32)
Outputs = tuple[np.ndarray, ...]
Compute = TypeVar("Compute", bound=Callable[..., Outputs])


@dataclass(frozen=True, eq=False)
class Node:
    """A node, the same in each of its domains."""

    domains: tuple[str, ...]
    name: str
    # "bias?" may be absent or None; "maps*" are the rest, at least one.
    inputs: tuple[str, ...]
    attributes: Mapping[str, Attribute]
    # "index?" is returned for some attributes only.
    outputs: tuple[str, ...]
    # The operators of mluop_omp that compute it; () if NumPy alone does.
    operators: tuple[str, ...]
    # The repository that defines it, as "open-mmlab/mmdeploy".
    source: str
    # compute(*inputs, **attributes), or compute(*inputs, state=..., **attributes).
    compute: Callable[..., Outputs]
    # Inputs of int32 or int64, which the function receives as int32. All other ones are
    # floating-point, except those in `untyped`, which the function checks.
    integers: frozenset[str] = frozenset()
    untyped: frozenset[str] = frozenset()
    # Dimensions such as "N C H W": a letter is one size in all inputs, "_" is any size.
    shapes: Mapping[str, str] = field(default_factory=dict)
    # Whether the function takes the State of the graph.
    has_state: bool = False


_NODES: list[Node] = []


def node(
    *domains: str,
    name: str | Sequence[str],
    inputs: Sequence[str],
    source: str,
    attributes: Mapping[str, Any] | None = None,
    outputs: Sequence[str] = ("output",),
    operators: Sequence[str] = (),
    integers: Sequence[str] = (),
    untyped: Sequence[str] = (),
    shapes: Mapping[str, str] | None = None,
    has_state: bool = False,
) -> Callable[[Compute], Compute]:
    """Declares the decorated function as the computation of a node, or of several names of one."""
    known = {each.rstrip("?*") for each in inputs}
    unknown = ({*integers} | {*untyped} | {*(shapes or ())}) - known
    if unknown:
        raise TypeError(f"{name} has no inputs {sorted(unknown)}")

    def declare(compute: Compute) -> Compute:
        for each in (name,) if isinstance(name, str) else name:
            _NODES.append(
                Node(
                    domains,
                    each,
                    tuple(inputs),
                    {key: declared(value) for key, value in (attributes or {}).items()},
                    tuple(outputs),
                    tuple(operators),
                    source,
                    compute,
                    frozenset(integers),
                    frozenset(untyped),
                    dict(shapes or {}),
                    has_state,
                )
            )
        return compute

    return declare


def nodes() -> list[Node]:
    """Returns all nodes, in the order of their declarations."""
    return list(_NODES)


def by_domain() -> dict[tuple[str, str], Node]:
    """Returns the nodes by domain and name."""
    return {(domain, each.name): each for each in _NODES for domain in each.domains}


def run(
    node: Node,
    inputs: Sequence[np.ndarray | None],
    attributes: Mapping[str, Any],
    state: State | None = None,
) -> list[np.ndarray]:
    """Returns the outputs of a node.

    state: what the nodes of the graph share beside tensors; needed if the node has a state.

    Raises MluOpError, whose message begins with the node's name, for inputs and attributes that
    contradict the table.
    """
    given = values(node.name, node.attributes, attributes)
    if node.has_state:
        given["state"] = State() if state is None else state
    arrays = _checked_inputs(node, inputs)
    try:
        outputs = node.compute(*arrays, **given)
    except MluOpError as error:
        if error.message.startswith(f"{node.name}:"):
            raise
        raise MluOpError(error.status, f"{node.name}: {error.message}") from error
    required = sum(not each.endswith("?") for each in node.outputs)
    if not required <= len(outputs) <= len(node.outputs):
        raise AssertionError(f"{node.name} returned {len(outputs)} of {node.outputs}")
    return list(outputs)


def _checked_inputs(node: Node, inputs: Sequence[Any]) -> list[np.ndarray | None]:
    arrays: list[np.ndarray | None] = []
    sizes: dict[str, tuple[int, str]] = {}
    for name, value in _named(node, inputs):
        title = name.rstrip("?*")
        if value is None:
            if not name.endswith("?"):
                raise bad_param(f"{node.name}: input {title} is missing")
            arrays.append(None)
            continue
        array = _typed(node, title, value)
        if title in node.shapes:
            _check_shape(node, title, array, sizes)
        arrays.append(array)
    return arrays


def _named(node: Node, inputs: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Yields the declared names of inputs with their values; None for those at the end that a graph
    leaves out.
    """
    names, values = list(node.inputs), list(inputs)
    if names and names[-1].endswith("*"):
        names += [names[-1]] * (len(values) - len(names))
    if len(values) > len(names):
        raise bad_param(f"{node.name}: {len(values)} inputs, expected at most {len(names)}")
    yield from zip(names, values + [None] * (len(names) - len(values)))


def _typed(node: Node, name: str, value: Any) -> np.ndarray:
    """Returns an input in contiguous memory, as int32 if it is among the integers."""
    if not isinstance(value, (np.ndarray, np.generic)):
        kind = type(value).__name__
        raise bad_param(f"{node.name}: input {name} is of type {kind}, expected a tensor")
    # A node with a state may pass sites on as a subclass of ndarray.
    array = np.asanyarray(value) if node.has_state else np.asarray(value)
    if name not in node.untyped:
        expected = _INTEGERS if name in node.integers else _FLOATING
        if array.dtype.name not in expected:
            found, all_expected = array.dtype, " or ".join(expected)
            raise bad_param(f"{node.name}: input {name} has dtype {found}, expected {all_expected}")
    if name in node.integers:
        array = _as_int32(node, name, array)
    return array if array.flags.c_contiguous else array.copy(order="C")


def _as_int32(node: Node, name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype == np.int64 and array.size:
        for bound in (array.min(), array.max()):
            if not _INT32.min <= bound <= _INT32.max:
                raise bad_param(
                    f"{node.name}: input {name} has the value {bound}, expected 32-bit integers"
                )
    return array.astype(np.int32, copy=False)


def _check_shape(
    node: Node, name: str, array: np.ndarray, sizes: dict[str, tuple[int, str]]
) -> None:
    """Checks a shape. `sizes` are the sizes of letters so far, and the inputs that had them."""
    dimensions = node.shapes[name].split()
    if array.ndim != len(dimensions):
        raise bad_param(
            f"{node.name}: input {name} has shape {list(array.shape)}, "
            f"expected {len(dimensions)} dimensions: [{', '.join(dimensions)}]"
        )
    for axis, (found, letter) in enumerate(zip(array.shape, dimensions)):
        if letter == "_":
            continue
        literal = int(letter) if letter.isdigit() else found
        expected, other = sizes.setdefault(letter, (literal, name))
        if found != expected:
            origin = "" if letter.isdigit() else f", as dimension {letter} of {other}"
            raise bad_param(
                f"{node.name}: input {name} has dimension {axis} of size {found}, "
                f"expected {expected}{origin}"
            )
