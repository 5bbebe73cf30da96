"""Notices that tensors have changed since they were recorded."""

from __future__ import annotations

import dataclasses
import hashlib
import weakref
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mluop_omp.golden.comparison import SparseSites

# Words of a tensor that are compared one by one.
_WORDS = 64


class Watched:
    """A recorded tensor: of PyTorch, of NumPy, or the parts of a sparse one. Does not own it."""

    def __init__(self, leaf: Any) -> None:
        is_sparse = isinstance(leaf, SparseSites)
        # The extents of a sparse tensor.
        self._sparse = dataclasses.replace(leaf, features=None, indices=None) if is_sparse else None
        parts = (leaf.features, leaf.indices) if is_sparse else (leaf,)
        tensors = [each for each in parts if isinstance(each, (Tensor, np.ndarray))]
        self._references = [weakref.ref(each) for each in tensors]
        self._looks = [_look(each) for each in tensors]

    def changed(self) -> Any:
        """Returns the tensor if it may have changed; None if it has not, or exists no longer."""
        tensors = [reference() for reference in self._references]
        if not tensors or any(each is None for each in tensors):
            return None
        if all(look == _look(each) for look, each in zip(self._looks, tensors)):
            return None
        if self._sparse is None:
            return tensors[0]
        return dataclasses.replace(self._sparse, features=tensors[0], indices=tensors[1])

    def differs(self, tensor: Any) -> bool:
        """Returns whether a dense tensor may be another one, or has other values."""
        return self._references[0]() is not tensor or self._looks[0] != _look(tensor)


def _look(tensor: Any) -> tuple[Any, ...]:
    """Returns what changes if a tensor is written.

    This is the version, which PyTorch counts, the address, and words of the elements: kernels of
    other libraries write without a new version. The sum of all words takes a twentieth of the time
    of a hash; it is the same if words are exchanged, which words at a constant distance show.
    """
    if isinstance(tensor, np.ndarray):
        return (hashlib.blake2b(tensor.tobytes()).digest(),)
    tensor = tensor.detach()
    version = None if tensor.is_inference() else tensor._version
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_meta:
        return (version,)
    try:
        return (version, tensor.data_ptr(), *_words(tensor))
    except (RuntimeError, TypeError):
        # A tensor without memory that can be viewed, such as a distributed one.
        return (version,)


def _words(tensor: Tensor) -> list[Any]:
    """Returns the sum of the 64-bit words of a tensor, some of the words, and the bytes around."""
    if tensor.numel() == 0:
        return []
    tensor = (tensor.conj() if tensor.is_conj() else tensor).resolve_neg()
    # The memory of a view may have gaps, which the words then include.
    length = 1 + sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride()))
    memory = tensor.as_strided((length,), (1,)).view(torch.uint8)
    begin = -memory.storage_offset() % 8
    end = max(len(memory) - (len(memory) - begin) % 8, begin)
    if memory.device.type == "cpu":
        # NumPy takes a tenth of the time for a small tensor.
        host = memory.numpy()
        numbers = host[begin:end].view(np.int64)
        some = numbers[:: max(len(numbers) // _WORDS, 1)].tobytes()
        return [numbers.sum(), some, host[:begin].tobytes(), host[end:].tobytes()]
    words = memory[begin:end].view(torch.int64)
    around = torch.cat((memory[:begin], memory[end:])).to(torch.int64)
    step = max(len(words) // _WORDS, 1)
    return torch.cat((words.sum().reshape(1), words[::step], around)).tolist()
