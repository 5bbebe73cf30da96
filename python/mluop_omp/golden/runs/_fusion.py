"""Finds the tensor of another run that a fused module computes.

A device fuses a convolution with the normalization, the addition and the activation that follow it:
the output of its module is the output of a later one. Modules that have become part of another one
are missing, or return their input.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mluop_omp.golden.runs._run import Call, Run, Value

# Later tensors of one shape that are tried, and modules that may be fused into one.
_MAX_TRIED, _MAX_FUSED = 8, 4


def is_identity(call: Call) -> bool:
    """Returns whether a module returns its input. Operations, such as * 1, do not count."""
    if "::" in call.module:
        return False
    outputs = {value.tensor for value in call.outputs.values()}
    return bool(outputs) and outputs <= {value.tensor for value in call.inputs.values()}


class Flow:
    """The tensors of a run in the order of their computation."""

    def __init__(self, run: Run, containers: Iterable[str]) -> None:
        """containers: modules that call others; these have computed the inputs."""
        self._run, self._containers = run, set(containers)
        self._position = {id(call): k for k, call in enumerate(run.calls)}

    def later(self, call: Call, value: Value) -> Iterator[tuple[str, Value]]:
        """Yields numbers of the shape of an output that are recorded later, and their modules."""
        shape, tried = self._run.tensors[value.tensor].shape, {value.tensor}
        if "float" not in self._run.tensors[value.tensor].dtype:
            return
        for other in self._after(call):
            values = list(other.outputs.values())
            if other.module not in self._containers:
                values[:0] = other.inputs.values()
            for each in values:
                tensor = self._run.tensors[each.tensor]
                is_like = tensor.shape == shape and "float" in tensor.dtype
                if is_like and each.tensor not in tried:
                    tried.add(each.tensor)
                    yield other.module, each
                if len(tried) > _MAX_TRIED:
                    return

    def fused(self, call: Call, value: Value, vanished: set[int]) -> list[tuple[Call, Value]]:
        """Returns the calls that follow a call and that the other run lacks, with their outputs.

        vanished: the identities of such calls.
        """
        chain: list[tuple[Call, Value]] = []
        for other in self._after(call):
            inputs = {each.tensor for each in other.inputs.values()}
            if id(other) in vanished and value.tensor in inputs and len(other.outputs) == 1:
                value = next(iter(other.outputs.values()))
                chain.append((other, value))
                if len(chain) == _MAX_FUSED:
                    break
        return chain

    def _after(self, call: Call) -> Sequence[Call]:
        return self._run.calls[self._position[id(call)] + 1 :]
