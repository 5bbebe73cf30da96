"""Functions of several tensors: of equal sites, and on the union of sites."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor as Features
from torch import nn

from mluop_omp._library import bad_param
from mluop_omp.minkowski._base import COORDINATE_KEY_DIFFERENT_ERROR
from mluop_omp.minkowski._fields import TensorField
from mluop_omp.minkowski._tensors import SparseTensor


def _inputs(tensors: tuple[Any, ...], types: tuple[type, ...]) -> Sequence[Any]:
    """Returns at least two tensors of one of the types and one manager.

    They are given as several arguments or as one list.
    """
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    if len(tensors) < 2:
        raise bad_param(f"found {len(tensors)} tensors, expected at least 2")
    kind = next((each for each in types if isinstance(tensors[0], each)), None)
    if kind is None or not all(isinstance(each, kind) for each in tensors):
        names = ", ".join(type(each).__name__ for each in tensors)
        expected = " or all of ".join(each.__name__ for each in types)
        raise ValueError(f"the inputs are {names}, expected all of {expected}")
    for each in tensors[1:]:
        tensors[0]._require_same_manager(each)
    return tensors


def _on_features(tensors: tuple[Any, ...], function: Callable[[list[Features]], Features]) -> Any:
    first, *others = inputs = _inputs(tensors, (SparseTensor, TensorField))
    for each in others:
        if each.coordinate_key != first.coordinate_key:
            raise bad_param(
                f"{COORDINATE_KEY_DIFFERENT_ERROR}: {first.coordinate_key} and "
                f"{each.coordinate_key}"
            )
    return first._with(function([each._F for each in inputs]))


def cat(*sparse_tensors: Any) -> Any:
    """Concatenates the channels of tensors, or fields, of one key."""
    return _on_features(sparse_tensors, lambda features: torch.cat(features, -1))


def _total(features: Sequence[Features]) -> Features:
    return functools.reduce(operator.add, features)


def _mean(features: Sequence[Features]) -> Features:
    return _total(features) / len(features)


def _variance(features: Sequence[Features]) -> Features:
    mean = _mean(features)
    return _mean([(each - mean) ** 2 for each in features])


def _sum(*sparse_tensors: Any) -> Any:
    """Adds the features of tensors, or fields, of one key; exported as `sum`."""
    return _on_features(sparse_tensors, _total)


def mean(*sparse_tensors: Any) -> Any:
    """Averages the features of tensors, or fields, of one key."""
    return _on_features(sparse_tensors, _mean)


def var(*sparse_tensors: Any) -> Any:
    """Returns the variance of the features of tensors, or fields, of one key, divided by n."""
    return _on_features(sparse_tensors, _variance)


class MinkowskiStackCat(nn.Sequential):
    """Concatenates the results of its modules for one input."""

    def forward(self, x: Any) -> Any:
        return cat([module(x) for module in self])


class MinkowskiStackSum(nn.Sequential):
    """Adds the results of its modules for one input."""

    def forward(self, x: Any) -> Any:
        return _sum([module(x) for module in self])


class MinkowskiStackMean(nn.Sequential):
    """Averages the results of its modules for one input."""

    def forward(self, x: Any) -> Any:
        return mean([module(x) for module in self])


class MinkowskiStackVar(nn.Sequential):
    """Returns the variance of the results of its modules for one input."""

    def forward(self, x: Any) -> Any:
        return var([module(x) for module in self])


class MinkowskiUnion(nn.Module):
    """Returns a tensor of the sites of all inputs, whose features are the sums of theirs.

    The sites of the first input come first, then those that each other input adds.
    """

    def forward(self, *inputs: SparseTensor) -> SparseTensor:
        first, *_ = tensors = _inputs(inputs, (SparseTensor,))
        key, rows = first._manager.united([each.coordinate_map_key for each in tensors])
        shape, dtypes = (first._manager.size(key), first.shape[1]), [each.dtype for each in tensors]
        sums = first._F.new_zeros(shape, dtype=functools.reduce(torch.promote_types, dtypes))
        for places, each in zip(rows, tensors):
            # The sites of an input are distinct, so that it adds to a row once.
            sums = sums.index_add(0, places, each._F.to(sums.dtype))
        result: SparseTensor = first._with(sums, key)
        return result

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
