"""The declaration of an operator, from which all else in Python follows.

A kernel allocates the outputs and calls a function of the library, with the arrays of any library:

    _gather = function("mluOpOmpGatherPointsForward", "ppppppp")

    @operator(grouping, derivative=Linear(features=...), precision=Precision.WIDEST)
    def gather_points(arrays: Arrays, features: Array, indices: Array) -> Array:
        '''The documentation of the functions on NumPy arrays and on tensors.'''
        ...
        with arrays.handle() as own:
            own.call(_gather, *features_tensor, *indices_tensor, *output_tensor)
        return output

The decorated name is the function on NumPy arrays. mluop_omp.torch makes the operator of PyTorch's
dispatcher from the same declaration: its schema from the signature, the shapes of its outputs from
a run of the kernel on arrays without elements. Adapters of other libraries call the operator with
the arrays of PyTorch: `operators.gather_points(TORCH, features, indices)`.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable, TypeVar

import numpy as np

from mluop_omp._arrays import NUMPY, Arrays
from mluop_omp._library import MluOpError, bad_param
from mluop_omp._operators._derivative import Derivative

if TYPE_CHECKING:
    import torch
    from typing_extensions import Concatenate, ParamSpec

    Array = TypeVar("Array", np.ndarray, torch.Tensor)
    Parameters = ParamSpec("Parameters")
    Result = TypeVar("Result")
else:
    Array = TypeVar("Array")

# Sizes of an image, and of a volume.
Pair = Sequence[int]
Triple = Sequence[int]

_TYPES = {
    "Array": "Tensor",
    "Array | None": "Tensor?",
    "Sequence[int]": "SymInt[]",
    "Pair": "SymInt[2]",
    "Triple": "SymInt[3]",
    "Sequence[float]": "float[]",
    "int": "SymInt",
    "float": "float",
    "bool": "bool",
    "str": "str",
}


class Precision(enum.Enum):
    """The element type of an operator under torch.autocast. float64 is computed in float64."""

    SINGLE = enum.auto()  # float32 at least: coordinates, boxes and losses
    WIDEST = enum.auto()  # the widest type of the tensors: features are copied, pooled, averaged
    CONVOLUTION = enum.auto()  # the type of autocast, as PyTorch's convolutions


@dataclasses.dataclass(eq=False)
class Operator:
    """A declared operator. Called with the Arrays of the arguments first."""

    kernel: Callable[..., Any]
    # A function of NumPy arrays with the same arguments, which computes float64.
    definition: Callable[..., Any]
    # None if all outputs are integers.
    derivative: Derivative | None = None
    precision: Precision = Precision.SINGLE
    # It takes tensors in this memory format as well.
    channels_last: bool = False
    # As the kernel, for shapes that depend on more than the sizes of arguments.
    fake: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        self.name = self.kernel.__name__
        signature = inspect.signature(self.kernel)
        self.signature = signature.replace(parameters=list(signature.parameters.values())[1:])
        self.doc = _with_errors(self.name, inspect.getdoc(self.kernel) or "")
        if self.derivative is not None:
            self.derivative.declare(self.name, list(self.signature.parameters), self.tensors)

    def __call__(self, arrays: Arrays, *arguments: Any) -> Any:
        try:
            return self.kernel(arrays, *arguments)
        except MluOpError as error:
            return self.in_float64(error, arrays, *arguments)

    def in_float64(self, error: MluOpError, arrays: Arrays, *arguments: Any, **named: Any) -> Any:
        """Computes float64, which the library refuses; raises its error for other arguments."""
        bound = self._bound(arguments, named)
        if not _is_double(bound):
            raise error
        return self.defined(arrays, *bound)

    def defined(self, arrays: Arrays, *arguments: Any) -> Any:
        """Returns the results of the definition, which computes float64."""
        names = self.signature.parameters
        given = [arrays.to_numpy(name, each) for name, each in zip(names, arguments)]
        # The library checks the arguments.
        with np.errstate(all="ignore"):
            self.kernel(NUMPY, *map(_single, names, given))
            results = self.definition(*given)
        if isinstance(results, tuple):
            return arrays.adopted(results)
        return arrays.adopted((results,))[0]

    def _bound(self, arguments: tuple, named: dict[str, Any]) -> tuple:
        bound = self.signature.bind(*arguments, **named)
        bound.apply_defaults()
        return bound.args

    @property
    def schema(self) -> str:
        """The schema of PyTorch's dispatcher."""
        parameters = []
        for parameter in self.signature.parameters.values():
            text = f"{_TYPES[parameter.annotation]} {parameter.name}"
            if parameter.default is not parameter.empty:
                text += f"={_literal(parameter.default)}"
            parameters.append(text)
        results = self.signature.return_annotation
        inner = results.removeprefix("tuple[").removesuffix("]").split(", ")
        types_of_results = [_TYPES[each] for each in inner]
        returns = f"({', '.join(types_of_results)})" if len(inner) > 1 else types_of_results[0]
        return f"({', '.join(parameters)}) -> {returns}"

    @property
    def tensors(self) -> int:
        """How many of the arguments are arrays. They come first."""
        annotations = [each.annotation for each in self.signature.parameters.values()]
        return sum(each.startswith("Array") for each in annotations)


def _with_errors(name: str, doc: str) -> str:
    """Returns the documentation with the error that every operator raises.

    A gradient without a section of errors refers to its operator.
    """
    text, source, rest = doc.partition("\n\nSource:")
    forward, backward, _ = name.partition("_backward")
    if "\n\nRaises:\n" in text:
        text = f"{text.rstrip('.')};\n        a shape or dtype differs from the list above."
    elif backward:
        text += f"\n\nRaises:\n    MluOpError: as `{forward}`."
    else:
        text += "\n\nRaises:\n    MluOpError: a shape or dtype differs from the list above."
    return text + source + rest


def _literal(default: Any) -> str:
    if isinstance(default, str):
        return f'"{default}"'
    return str(list(default)) if isinstance(default, tuple) else str(default)


def _is_double(arguments: tuple) -> bool:
    """Returns whether the first array of real numbers is of float64."""
    dtypes = (str(getattr(each, "dtype", "")) for each in arguments)
    return next((dtype for dtype in dtypes if "float" in dtype), "").endswith("float64")


def _single(name: str, value: Any) -> Any:
    """Returns float64 as float32, and all other arguments as they are."""
    if not isinstance(value, np.ndarray) or value.dtype.kind in "iub":
        return value
    if value.dtype != np.float64:
        raise bad_param(f"{name} has dtype {value.dtype}, expected float64")
    NUMPY.tensor(name, value)
    return value.astype(np.float32)


# The operators by their names, as attributes.
operators = types.SimpleNamespace()


def all_operators() -> list[Operator]:
    return list(vars(operators).values())


def operator(
    definitions: types.ModuleType, **declaration: Any
) -> Callable[[Callable[Concatenate[Arrays, Parameters], Result]], Callable[Parameters, Result]]:
    """Declares the decorated kernel as an operator.

    definitions: the module with the definition, a function of the same name.
    declaration: the fields of Operator.
    """

    def declare(
        kernel: Callable[Concatenate[Arrays, Parameters], Result],
    ) -> Callable[Parameters, Result]:
        declared = Operator(kernel, getattr(definitions, kernel.__name__), **declaration)
        setattr(operators, declared.name, declared)

        @functools.wraps(kernel)
        def on_numpy(*arguments: Any, **named: Any) -> Any:
            try:
                return kernel(NUMPY, *arguments, **named)
            except MluOpError as error:
                return declared.in_float64(error, NUMPY, *arguments, **named)

        on_numpy.__doc__ = declared.doc
        on_numpy.__module__ = "mluop_omp"
        on_numpy.__signature__ = declared.signature
        return on_numpy

    return declare
