"""The output of a call, and the calls without elements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Callable

from mluop_omp._arrays import DTYPES, Arrays
from mluop_omp._library import bad_param

_NAMES = {code: name for name, code in DTYPES.items()}
_FLOATS = {DTYPES[name] for name in ("float16", "bfloat16", "float32")}
_INT32 = DTYPES["int32"]


def output_of(
    arrays: Arrays,
    function: Callable[..., int],
    inputs: Iterable[Any],
    name: str,
    shape: tuple[int, ...],
    like: Any = None,
) -> Any:
    """Returns the output of a function, whose descriptor and address follow the inputs."""
    output, descriptor, address = arrays.output(name, shape, like)
    with arrays.handle() as own:
        own.call(function, *inputs, descriptor, address)
    return output


def _require_type(name: str, found: int, expected: int) -> None:
    if found != expected:
        raise bad_param(f"{name} has dtype {_NAMES[found]}, expected {_NAMES[expected]}")


def require_sizes(declaration: str, *tensors: Sequence[Any]) -> None:
    """Checks the tensors of a call whose result is empty or zero because a size is 0, which
    functions of MLU-OPS refuse: the library is not called. The declaration is a text such as

        "features B C M, indices: B N 3, weights B N 3"

    Raises MluOpError for a tensor that contradicts it. Tensors with a colon are int32; all others
    have one floating-point type.
    """
    sizes: dict[str, int] = {}
    dtype = None
    for text, (descriptor, _) in zip(declaration.split(", "), tensors):
        title, *dimensions = text.split()
        name = title.rstrip(":")
        if title.endswith(":"):
            _require_type(name, descriptor.dtype, _INT32)
        elif dtype is None and descriptor.dtype not in _FLOATS:
            expected = ", ".join(sorted(_NAMES[code] for code in _FLOATS))
            raise bad_param(f"{name} has dtype {_NAMES[descriptor.dtype]}, expected {expected}")
        else:
            dtype = descriptor.dtype if dtype is None else dtype
            _require_type(name, descriptor.dtype, dtype)
        require_shape(name, descriptor, dimensions, sizes)


def require_shape(name: str, tensor: Any, dimensions: list[str], sizes: dict[str, int]) -> None:
    """Checks the shape of a tensor. `sizes` are the sizes of the letters so far."""
    shape = tensor.shape
    if len(shape) != len(dimensions):
        raise bad_param(f"{name} has {len(shape)} dimensions, expected {len(dimensions)}")
    for axis, (found, letter) in enumerate(zip(shape, dimensions)):
        expected = int(letter) if letter.isdigit() else sizes.setdefault(letter, found)
        if found != expected:
            raise bad_param(f"{name} dim {axis} is {found}, expected {expected}")
