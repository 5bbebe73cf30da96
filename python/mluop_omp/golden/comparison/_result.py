"""The result of a comparison: report, page and JSON."""

from __future__ import annotations

import dataclasses
import math
import os
from typing import Any

from mluop_omp.golden.comparison import _report
from mluop_omp.golden.comparison._data import Outcome


class Comparison(Outcome):
    """The result of `mluop_omp.compare`. str() is a report whose first line is the verdict.

    bool() is the verdict, so that ``assert mluop_omp.compare(found, expected)`` shows the report.

    Attributes:
        equal: whether all criteria pass, the sites are equal, and nothing is missing or extra.
        kind: "dense", "sparse", "nested", "other" (texts and objects, compared by ==), or "error".
        shape: the shape of the dense tensors, or of the features at common sites.
        dtypes: the element types of found and expected.
        figures: all metrics by name; see mluOpOmpDifference_t in mlu_op_omp.h.
        criteria: the verdict of each criterion.
        rtol, atol: the tolerance; elements outside of it are wrong.
        rms_atol: the factor in atol of figures["rms"], the root mean square of the nonzero elements
            of expected; 0 if atol was given.
        worst: the wrong elements with the largest errors.
        pattern: what the wrong elements have in common; "" if none is wrong.
        sites: the comparison of the sites of sparse tensors.
        children: the comparisons of the parts of a container, by name.
        missing, extra: names of parts that only expected, or only found has.
        notes: further findings, one a line, such as a filter layout that makes both equal.
        other_boxes: the share of the boxes of a detector that have no counterpart of the same label
            at about the same place.
        is_unsorted: whether the scores of these boxes do not descend, but the expected ones do.
        error: the reason why two parts of containers cannot be compared, or "".
    """

    children: dict[str, Comparison]

    def text(self, every: bool = False) -> str:
        """Returns the report. every: appends a table of all tensors with their figures."""
        report = _report.text_of(self)
        if not every:
            return report
        return "\n".join([report, "", *_report.figures_table(_report.every_part(self))])

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def html(self, path: str | os.PathLike[str]) -> None:
        """Writes the report as one self-contained HTML file.

        Draws the tensors that differ: positions of wrong elements, by dimension and from above,
        and errors in ULP. If there are several tensors, a table lists their figures. The tensors
        are read again and must not have changed since; the result refers to them while it exists.

        Raises:
            OSError: the file cannot be written.
        """
        from mluop_omp.golden.comparison import page

        page.write(path, self, page.parts_of(self), _report.every_part(self))

    def to_dict(self) -> dict[str, Any]:
        """Returns the nonempty attributes in a form that json.dumps accepts.

        NaN and infinities become texts, as JSON has no such numbers.
        """
        return _plain(self)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        pairs = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        shown = {name: each for name, each in pairs if not name.startswith("_")}
        return _plain({n: each for n, each in shown.items() if each not in (None, "", (), [], {})})
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
