"""Replays a run: every module of a model computes on the inputs that the run recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mluop_omp import _requirements
from mluop_omp.golden.runs._names import NameMap, Names
from mluop_omp.golden.runs._recording import arguments_of
from mluop_omp.golden.runs._replay_result import Replay
from mluop_omp.golden.runs._run import RunSource, opened

if TYPE_CHECKING:
    import torch


def replay(
    model: torch.nn.Module, run: RunSource, inputs: Any = None, *, names: Names = None
) -> Replay:
    """Calls every module of a model on its recorded inputs and compares what it computes.

    The model runs once, or a few times if results differ. Where a module begins, its inputs are
    compared with the recorded ones and replaced by them; where it returns, its outputs are. So
    errors do not add up along the model, all defects of a device show at once, and a module that
    contains others is judged by its own code: by the inputs that it passes on to them, and by its
    outputs. No tolerance has to allow for drift, so that a defect of some percent of one channel
    is visible in bfloat16.

    A call stands out if the root mean square of its errors exceeds what rounding explains, relative
    to the recorded numbers: 1.5 times the distance of neighboring numbers in float16 and bfloat16,
    64 times in float32 and float64, in the coarser of the two element types; in a run with tensors
    in half precision, the limit of half precision. Linear modules whose weights the device has
    rounded may have more where the terms of their sums cancel. A slice, such as a channel, may have
    three times as much, an element 16 times; integers, 1 % of the elements. Boxes of detectors are
    matched by overlap. A call of a class with at
    least 5 calls also stands out from a quarter of the limit on, if its error is five times the
    next of the class.

    Where the run has no call of a module, or an Identity in its place, as devices fuse a
    normalization into a convolution, the output of an earlier module of the same container may be
    the output of that module. The report says so.

    Args:
        model: the model to compute with, in the mode of the recorded one and on any device. Its
            buffers are restored at the end. Recorded tensors are converted to the element types of
            the tensors that they replace: a bfloat16 run is judged best by the same weights in
            float32.
        run: the run of the device, or of another reference: a file or a `Run`.
        inputs: the arguments of the model, as for `record`; None: the recorded ones, in the element
            type of the parameters.
        names: renames modules of the model to their names in the run, as in `compare_runs`.

    Returns:
        A `Replay`: the calls that stand out, and the error of each call.

    Raises:
        TypeError: model is not a torch.nn.Module.
        ValueError: a module is compiled; inputs is None, but the run has not recorded all arguments
            of the model; the file is not a run or is damaged; a name is invalid.
        OSError: the file cannot be read.
        ImportError: PyTorch is not installed.

    Exceptions of the model are not caught.

    Source: docs/replay.md.
    """
    _requirements.require("torch")
    import torch

    from mluop_omp.golden.runs._recorder import require_eager
    from mluop_omp.golden.runs._replayer import Key, Replayer, restored_buffers

    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"model is of type {type(model).__name__}, expected torch.nn.Module")
    require_eager(model)
    with opened(run) as source:
        unfused: set[Key] = set()
        fused: dict[Key, str] = {}
        renamed = NameMap(names)
        modules = {name for name, _ in model.named_modules()}
        rule = renamed.adapt(modules, {call.module for call in source.calls}, "the model")
        while True:
            replayer = Replayer(source, renamed, unfused, fused)
            args, kwargs = replayer.arguments(model) if inputs is None else arguments_of(inputs)
            with restored_buffers(model), replayer.installed(model), torch.no_grad():
                model(*args, **kwargs)
            if replayer.unfused <= unfused and replayer.fused.keys() <= fused.keys():
                return replayer.result([rule] if rule else [])
            unfused |= replayer.unfused
            fused = {**replayer.fused, **fused}
