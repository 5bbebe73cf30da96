"""Functions that record the calls of the modules of a PyTorch model in a file."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Callable

from mluop_omp import _requirements
from mluop_omp.golden._output import written
from mluop_omp.golden.comparison._criteria import check_integer
from mluop_omp.golden.runs import _sampling

if TYPE_CHECKING:
    import torch

_MAX_BYTES = 2**30


def record(
    model: torch.nn.Module,
    inputs: Any,
    path: str | os.PathLike[str],
    *,
    gradients: bool = False,
    loss: Callable[[Any], torch.Tensor] | None = None,
    state: bool = True,
    modules: str | None = None,
    operations: bool = False,
    max_bytes: int = _MAX_BYTES,
    seed: int = 0,
) -> Any:
    """Runs a model and records the calls of all its modules, as `recording` does.

    Args:
        model: runs in its current mode, on its device, under the caller's torch.no_grad and
            torch.autocast.
        inputs: the arguments of the model: a tuple of positional arguments, a dict of named
            arguments, or the only argument.
        path: the file to write.
        gradients: also records the gradients of the loss. The `grad` of parameters is neither read
            nor changed.
        loss: a function of the outputs that returns a scalar; None: the sum of all floating-point
            outputs that require a gradient.
        state, modules, operations, max_bytes, seed: see `recording`.

    Returns:
        The outputs of the model.

    Raises:
        ValueError: as `recording` does; no output requires a gradient.
        TypeError, OSError: as `recording` does.

    Source: docs/record.md defines the file.
    """
    if loss is not None and not callable(loss):
        raise TypeError(f"loss is {loss!r}, expected a function of the outputs")
    args, kwargs = arguments_of(inputs)
    options: dict[str, Any] = {"state": state, "modules": modules, "operations": operations}
    options.update({"max_bytes": max_bytes, "seed": seed})
    with recording(model, path, gradients=gradients, **options):
        outputs = model(*args, **kwargs)
        if gradients:
            from mluop_omp.golden.runs._recorder import differentiate

            differentiate(model, inputs, outputs if loss is None else loss(outputs))
    return outputs


def arguments_of(inputs: Any) -> tuple[tuple, dict[str, Any]]:
    """Returns the positional and the named arguments of a model."""
    if isinstance(inputs, dict):
        return (), inputs
    return inputs if isinstance(inputs, tuple) else (inputs,), {}


@contextlib.contextmanager
def recording(
    model: torch.nn.Module,
    path: str | os.PathLike[str],
    *,
    gradients: bool = False,
    state: bool = True,
    modules: str | None = None,
    operations: bool = False,
    max_bytes: int = _MAX_BYTES,
    seed: int = 0,
) -> Iterator[None]:
    """Records the inputs and outputs of the modules of a model that are called in the block.

    Modules, inputs and results are unchanged. The file is a zip file of .npy files and JSON with
    the values at the time of each call; equal runs give equal files. An earlier file of the same
    name is replaced at the end of the block. Tensors are copied to the host one at a time.

    If the block raises an exception, the file has what was recorded until then, the calls that have
    not returned with their inputs and without outputs, and the exception, which propagates. If the
    recording itself fails, there is no file, and an earlier one stays.

    Hooks record calls from any thread of the modules that exist at the beginning of the block.
    Modules of torch.jit have no hooks. Calls that torch.utils.checkpoint repeats are recorded once.

    Args:
        model: a torch.nn.Module. A module with several names is recorded under the first.
        path: the file to write.
        gradients: also records the gradients of parameters, inputs and outputs that backward passes
            in the block compute.
        state: also records parameters and buffers as they are when a module is first called, and
            again those that differ at the end of the block.
        modules: a regular expression that matches the whole names of the modules to record, such as
            r"backbone\\..*"; None: all. The name of the model is "".
        operations: also records each operation of PyTorch that Python code calls in these modules,
            with the line that calls it, such as decoding, attention and arithmetic in `forward`.
            Views and operations of backward passes are left out.
        max_bytes: the largest size of the file. A tensor larger than its share of the remaining
            bytes is sampled.
        seed: selects the samples, 0 to 2^64 - 1. Runs with the same seed sample the same channels,
            rows and columns of a tensor, and the same sites of a sparse tensor whatever the order
            of its rows; the smaller of two samples is contained in the larger.

    Returns:
        A context manager.

    Raises:
        TypeError: model is not a torch.nn.Module; a tensor is one of torch.func or torch.vmap.
        ValueError: a module is compiled by torch.compile; modules is not a regular expression, or
            matches no module, or only modules of torch.jit; seed or max_bytes is not an integer in
            its range; max_bytes is less than what the descriptions of the calls take.
        OSError: the file cannot be written.
        ImportError: PyTorch is not installed.

    Exceptions of the block are raised again. If the file cannot be written after one, a warning
    says so.

    Source: docs/record.md defines the file.
    """
    _requirements.require("torch")
    import torch
    from torch.nn.parameter import is_lazy

    from mluop_omp.golden.runs._budget import Budget
    from mluop_omp.golden.runs._recorder import Recorder, require_eager
    from mluop_omp.golden.runs._state import own_state
    from mluop_omp.golden.runs._writer import RunWriter

    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"model is of type {type(model).__name__}, expected torch.nn.Module")
    seed = check_integer("seed", seed, 0, _sampling.SEEDS - 1)
    max_bytes = check_integer("max_bytes", max_bytes, 0, sys.maxsize)
    pattern = _pattern(modules)
    require_eager(model)
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path!s} is a folder, expected the name of a file")
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(f"{path!s} is not a regular file")
    matching = [each for name, each in model.named_modules() if pattern.fullmatch(name)]
    tensors = [tensor for each in matching for _, tensor in own_state(each)]
    # For each module one output and one input, and their gradients.
    others = 2 * len(matching)
    others += others + len(tensors) if gradients else 0
    # An operation for each module, and more of them in the largest.
    others += 2 * len(matching) + 64 if operations else 0
    sizes = [0 if is_lazy(each) else each.numel() * each.element_size() for each in tensors]
    head = type(model).__qualname__, seed, max_bytes, Budget(sizes if state else [], others)
    recorder: Recorder | None = None
    try:
        with written(path) as stream, RunWriter(stream, *head) as writer:
            recorder = Recorder(writer, state=state, gradients=gradients, operations=operations)
            with recorder.recording(model, pattern):
                yield
    except Exception as error:
        if recorder is None or recorder.ended is None:
            raise
        warnings.warn(f"{path!s} was not written: {error}", stacklevel=3)
    ended, recorder.ended = recorder.ended, None
    if ended is not None:
        try:
            raise ended
        finally:
            # The exception refers to this frame.
            del ended


def _pattern(modules: Any) -> re.Pattern[str]:
    try:
        return re.compile(".*" if modules is None else modules)
    except TypeError:
        raise TypeError(f"modules is {modules!r}, expected a regular expression") from None
    except re.error as error:
        raise ValueError(
            f"modules is {modules!r}, expected a regular expression: {error}"
        ) from None
