"""Results of a comparison as data; _result.py adds the text and the page."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from mluop_omp.golden.comparison._criteria import Judgment


@dataclasses.dataclass(frozen=True)
class WrongElement:
    """An element outside the tolerance.

    Attributes:
        index: the position; in sparse tensors, the row of expected followed by the position in it.
        expected, found: the values, integers or doubles.
        absolute, relative: the error; infinity if a NaN or an infinity is in one tensor only.
        site: in sparse tensors, the coordinate of the row, batch first.
    """

    index: tuple[int, ...]
    expected: float
    found: float
    absolute: float
    relative: float
    site: tuple[int, ...] | None = None


@dataclasses.dataclass(frozen=True)
class SiteMapping:
    """A transformation that maps the sites of found to sites of expected.

    Attributes:
        columns: the columns of found's indices in the order of expected.
        multiply, divide: applied to the coordinates but not to the batch; quotients are rounded
            down.
        offset: added to each coordinate afterwards.
        matches: the number of rows of found whose mapped site is in expected.
        wrong: the number of elements outside the tolerance in these rows.
    """

    columns: tuple[int, ...]
    multiply: int
    divide: int
    offset: tuple[int, ...]
    matches: int = 0
    wrong: int = 0


@dataclasses.dataclass(frozen=True)
class SiteReport:
    """The sites of two sparse tensors, as numbers of rows.

    The k-th row at a site of found is joined with the k-th row at that site of expected.

    Attributes:
        found, expected: all rows.
        common: rows that are joined.
        only_found, only_expected: rows that are not.
        repeated_found, repeated_expected: rows whose site an earlier row has.
        outside_found, outside_expected: rows outside batch_size or spatial_shape, where known.
        elsewhere: nonzero elements of a dense tensor outside the sites.
        examples: the first coordinates of each of these kinds of rows, by attribute.
        same_order: whether common rows are in the same order.
        mapping: if most sites do not match, a transformation that makes most match, or None.
    """

    found: int
    expected: int
    common: int
    only_found: int = 0
    only_expected: int = 0
    repeated_found: int = 0
    repeated_expected: int = 0
    outside_found: int = 0
    outside_expected: int = 0
    examples: dict[str, list[tuple[int, ...]]] = dataclasses.field(default_factory=dict)
    same_order: bool = True
    mapping: SiteMapping | None = None
    elsewhere: int = 0

    @property
    def equal(self) -> bool:
        return self.only_found == self.only_expected == self.elsewhere == 0


@dataclasses.dataclass(frozen=True)
class Operands:
    """The arguments of `compare`, kept to be read again."""

    found: Any
    expected: Any
    axes: tuple[str, ...] | None = None


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The attributes of `Comparison`, which documents them."""

    equal: bool
    kind: str = "dense"
    shape: tuple[int, ...] = ()
    dtypes: tuple[str, ...] = ()
    figures: dict[str, Any] = dataclasses.field(default_factory=dict)
    criteria: tuple[Judgment, ...] = ()
    rtol: float = 0
    atol: float = 0
    rms_atol: float = 0
    worst: tuple[WrongElement, ...] = ()
    pattern: str = ""
    sites: SiteReport | None = None
    children: Mapping[str, Outcome] = dataclasses.field(default_factory=dict)
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    error: str = ""
    other_boxes: float = 0.0
    is_unsorted: bool = False
    # Tensors that differ, for `html`. Copies and pickles lack them.
    _operands: Operands | None = dataclasses.field(default=None, repr=False, compare=False)

    def __bool__(self) -> bool:
        return self.equal

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_operands": None}

    @property
    def compared(self) -> int:
        """The number of tensors, texts and other objects that were compared."""
        if self.kind == "nested":
            return sum(child.compared for child in self.children.values())
        return int(self.kind != "error")

    @property
    def comparable(self) -> bool:
        """Whether all parts could be compared."""
        return not self.error and all(child.comparable for child in self.children.values())
