"""The keys of coordinate maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mluop_omp._library import bad_param

# A tensor stride and a string.
Name = tuple[tuple[int, ...], str]


class CoordinateMapKey:
    """The name of a set of sites in a manager: a tensor stride for each axis, and a string.

    A key made from a number of columns, 1 + D, is not set, and equals no key. `set_key` changes a
    key, and with it its hash.
    """

    def __init__(self, stride_or_size: int | Sequence[int], string_id: str = "") -> None:
        self._name: Name | None = None
        if isinstance(stride_or_size, (int, np.integer)):
            self._size = int(stride_or_size)
            return
        stride = tuple(int(each) for each in stride_or_size)
        self._size = 1 + len(stride)
        self._name = stride, str(string_id)

    @property
    def name(self) -> Name:
        if self._name is None:
            raise bad_param("the coordinate map key is not set")
        return self._name

    def is_key_set(self) -> bool:
        return self._name is not None

    def get_key(self) -> tuple[list[int], str]:
        """Returns the tensor stride and the string."""
        stride, string_id = self.name
        return list(stride), string_id

    def set_key(self, *key: Any) -> None:
        """Sets the key: (stride, string), as one argument or two."""
        stride, string_id = key[0] if len(key) == 1 else key
        if len(stride) != self._size - 1:
            raise bad_param(
                f"the tensor stride is {list(stride)}, expected {self._size - 1} numbers"
            )
        self._name = tuple(int(each) for each in stride), str(string_id)

    def get_tensor_stride(self) -> list[int]:
        """Returns the tensor stride; an empty list if the key is not set."""
        return [] if self._name is None else list(self._name[0])

    def get_coordinate_size(self) -> int:
        """Returns the number of columns of the sites, 1 + D."""
        return self._size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CoordinateMapKey):
            return NotImplemented
        return self._name is not None and self._name == other._name

    def __hash__(self) -> int:
        return hash(self._name)

    def __repr__(self) -> str:
        stride, string_id = self._name or ((), "")
        return f"coordinate map key:{list(stride)}" + (f":{string_id}" if string_id else "")


def finer_stride(key: CoordinateMapKey, stride: Sequence[int]) -> list[int]:
    """Returns the tensor stride t / s of a transposed layer. Raises MluOpError for fractions."""
    own = key.get_tensor_stride()
    if any(t % step for t, step in zip(own, stride)):
        raise bad_param(
            f"the tensor stride is {own}, expected multiples of {list(stride)}, the stride of a "
            "transposed layer"
        )
    return [t // step for t, step in zip(own, stride)]
