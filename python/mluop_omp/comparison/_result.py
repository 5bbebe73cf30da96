"""The result of a comparison."""

from __future__ import annotations

import dataclasses
import math
import os
from typing import Any

from mluop_omp.comparison import _report
from mluop_omp.comparison._criteria import Judgment


@dataclasses.dataclass(frozen=True)
class WrongElement:
    """An element outside the tolerance.

    Attributes:
        index: its position; of sparse tensors, the row of expected and the position in it.
        expected, found: the values: integers, or numbers of the type double.
        absolute, relative: the error; infinity for a NaN or infinity without its like.
        site: the coordinate of the row of a sparse tensor, batch first.
    """

    index: tuple[int, ...]
    expected: float
    found: float
    absolute: float
    relative: float
    site: tuple[int, ...] | None = None


@dataclasses.dataclass(frozen=True)
class SiteMapping:
    """What makes the sites of found those of expected.

    Attributes:
        columns: the columns of found's indices in the order of expected.
        multiply, divide: factors of the coordinates, not of the batch; quotients are floors.
        offset: for each axis, added after that.
        matches: the number of rows of found that have a site of expected then.
        wrong: the number of elements in them that are outside the tolerance.
    """

    columns: tuple[int, ...]
    multiply: int
    divide: int
    offset: tuple[int, ...]
    matches: int = 0
    wrong: int = 0


@dataclasses.dataclass(frozen=True)
class SiteReport:
    """The sites of two sparse tensors. Numbers count rows.

    Attributes:
        found, expected: all rows. common: those whose sites are in both. The second row of a site
            has its like in the second row of that site, and so on.
        only_found, only_expected: rows without their like.
        repeated_found, repeated_expected: rows whose site an earlier row has.
        outside_found, outside_expected: rows outside batch_size or spatial_shape, where known.
        examples: the first coordinates of each of these by its name, and of "elsewhere".
        same_order: whether common rows are in the same order.
        mapping: what makes most sites match, if most do not.
        elsewhere: of a dense tensor, the elements other than 0 outside the sites.
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
    """What was compared, as `compare` takes it, to be read again."""

    found: Any
    expected: Any
    axes: tuple[str, ...] | None = None


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The result of `mluop_omp.compare`; its text is a report, whose first line is the verdict.

    bool() is the verdict, so that ``assert mluop_omp.compare(found, expected)`` shows the report.

    Attributes:
        equal: whether all criteria hold, the sites are the same, and nothing is missing or extra.
        kind: "dense", "sparse", "nested", "other" (texts and objects, compared by ==), or "error".
        shape, dtypes: of a dense tensor or of the features of common sites; found and expected.
        figures: all metrics of the elements by name; see mluOpOmpDifference_t in mlu_op_omp.h.
        criteria: the verdict of each.
        rtol, atol: the tolerance outside of which an element is wrong.
        rms_atol: the part of atol that is relative, in root mean squares of the elements of
            expected other than 0; figures["rms"] is the root mean square. 0 if atol was given.
        worst: the wrong elements with the largest errors.
        pattern: how the wrong elements are distributed; "" if there are none.
        sites: of sparse tensors.
        children: of containers, by name. missing, extra: names that only expected, only found has.
        notes: further findings, a line each, such as a filter layout that makes both equal.
        error: why the two cannot be compared, within a container; "" if they can.
    """

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
    children: dict[str, Comparison] = dataclasses.field(default_factory=dict)
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    error: str = ""
    # What `html` draws of tensors that differ. A copy or a pickle is without it.
    _operands: Operands | None = dataclasses.field(default=None, repr=False, compare=False)

    def __bool__(self) -> bool:
        return self.equal

    def __str__(self) -> str:
        return _report.text_of(self)

    __repr__ = __str__

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

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_operands": None}

    def html(self, path: str | os.PathLike[str]) -> None:
        """Writes the report as a page of HTML, one file that refers to no other.

        Tensors that differ are drawn: where wrong elements lie, by dimensions and from above, and
        the errors in ULP. They are read again for that, so that they must not have changed; the
        result refers to them as long as it exists.

        Raises:
            ImportError: matplotlib is not installed.
            OSError: the file cannot be written.
        """
        from mluop_omp.comparison import page

        page.write(path, self, page.parts_of(self))

    def to_dict(self) -> dict[str, Any]:
        """Returns what json.dumps takes; NaN and infinities are texts, as JSON has no such numbers.

        The entries are the attributes, without those that are empty, and the verdict.
        """
        return _plain(self)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        pairs = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        return {
            name: _plain(each) for name, each in pairs if not _is_empty(each) and name[0] != "_"
        }
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, (str, tuple, list, dict)) and not value)
