"""Rows that two runs have in another order, and the tensors that state it.

Coordinates state which rows belong together, as do the values of the arguments of the recorded
model. An order that only the judged tensor states is accepted where nothing fixes the order of its
rows: coordinates, the arguments of the recorded model, and the points within a voxel.
"""

from __future__ import annotations

import collections
import functools
import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mluop_omp.golden._numbers import relative_atol, tolerated
from mluop_omp.golden._text import counted, name_of, path_of
from mluop_omp.golden.comparison._boxes import Matching, Names, Shape, detection, find, match
from mluop_omp.golden.comparison._criteria import Options
from mluop_omp.golden.comparison._values import Tensor
from mluop_omp.golden.runs._names import contains
from mluop_omp.golden.runs._orders import Order, by_coordinates, by_values
from mluop_omp.golden.runs._run import Run, Value

_Names = tuple[str, str]
# Pairs of tensors that may join the rows of one tensor.
_MAX_PAIRS = 16
# Largest tensors whose values join rows, in elements.
_MAX_ELEMENTS = 1 << 26


class Group(NamedTuple):
    """The tensors that a call takes or returns. label: the module and the role."""

    label: str
    is_output: bool
    values: dict[str, Value]
    inputs: dict[str, Value]


class Rows:
    """The orders of the rows of two runs. The caller makes one for a comparison of two runs."""

    def __init__(self, found: Run, expected: Run, options: Options) -> None:
        self._options = options
        self.sides = Places(found), Places(expected)
        self._used: collections.Counter[str] = collections.Counter()
        self.by_coordinates = functools.lru_cache(maxsize=None)(self._by_coordinates)
        self._by_values = functools.lru_cache(maxsize=None)(self._order_by_values)
        self._by_overlap = functools.lru_cache(maxsize=None)(self._matching)
        self._by_points = functools.lru_cache(maxsize=None)(self._order_of_points)

    def use(self, order: Order) -> None:
        """Counts a tensor that agrees by an order, for the notes."""
        self._used[order.source] += 1

    def notes(self) -> Iterator[str]:
        for source, count in self._used.items():
            yield f"rows in another order are joined by {source}: {counted(count, 'tensor')}"

    def beside(self, found: Value, expected: Value) -> Iterator[Order]:
        """Yields the orders by coordinates that one call takes or returns with both tensors."""
        names = found.tensor, expected.tensor
        beside = [side.coordinates_beside(name) for side, name in zip(self.sides, names)]
        for pair in itertools.islice(itertools.product(*beside), _MAX_PAIRS):
            order = self.by_coordinates(*pair)
            if order is not None and order.axes(*self._shapes(names)):
                yield order

    def orders(self, found: Value, expected: Value) -> Iterator[Order]:
        """Yields the orders, other than the order in place, in which both tensors may agree."""
        names = found.tensor, expected.tensor
        if all(name in side.groups for side, name in zip(self.sides, names)):
            seen = set()
            for order in self._candidates(names, found, expected):
                if id(order) not in seen and not order.is_identity:
                    seen.add(id(order))
                    yield order

    def boxes(self, found: Value, expected: Value) -> tuple[Order, Matching, bool] | None:
        """Returns the matched boxes of a detection that has both tensors, and whether they are it.

        None if no call takes or returns them in a detection.
        """
        names = found.tensor, expected.tensor
        sides = [side.detections.get(name, {}) for side, name in zip(self.sides, names)]
        for own, other in itertools.product(*sides):
            role = sides[0][own]
            matching = self._by_overlap(own, other) if role == sides[1][other] else None
            if matching is not None:
                pair = own.boxes, other.boxes
                source = f"the overlap of {self.sides[1].labels[other.boxes]}"
                shapes = self._shapes(pair)
                order = Order(source, shapes[0][:1], shapes[1][:1], matching.rows, pair)
                return order, matching, role == 0
        return None

    def _matching(self, found: Names, expected: Names) -> Matching | None:
        tensors = [name for each in (found, expected) for name in each if name]
        runs = [side.run for side in self.sides]
        sides = zip(self.sides, (found, expected))
        if not all(
            side.run.tensors[name].is_whole for side, each in sides for name in each if name
        ):
            return None
        if len(tensors) % 2 or [bool(name) for name in found] != [bool(n) for n in expected]:
            return None
        read = [functools.partial(_tensor, run) for run in runs]
        detections = detection(found, read[0]), detection(expected, read[1])
        if all(e is None or b is None or np.array_equal(e, b) for e, b in zip(*detections)):
            return None
        return match(detections[0], detections[1])

    def of_indices(self) -> list[Order]:
        """Returns the orders of rows that integers may refer to."""
        found, expected = (sorted(side.coordinates) for side in self.sides)
        counts = dict.fromkeys([*zip(found, expected), *((n, n) for n in found if n in expected)])
        orders = [order for pair in counts for order in self._of_coordinates(*pair)]
        orders += self._given()
        return [each for each in orders if not each.is_identity][:_MAX_PAIRS]

    def is_pinned(self, order: Order, found: Value, expected: Value) -> bool:
        """Returns whether a call has an input whose rows stay in place although its output moves.

        A kernel that writes right rows to wrong places would agree otherwise. A call that returns
        the coordinates, and another tensor in their order, may choose the order of its rows.
        """
        names = found.tensor, expected.tensor
        producers = self._producers(names)
        if not producers:
            return False
        outputs = [group.values for group in producers]
        returned = [{value.tensor for value in each.values()} for each in outputs]
        if order.sites is not None and all(n in each for n, each in zip(order.sites, returned)):
            moving = (pair for pair, stays in self._placed(order, *outputs) if not stays)
            if any(a != b for pair in moving for a, b in zip(pair, names)):
                return False
        return any(stays for _, stays in self._placed(order, *(g.inputs for g in producers)))

    def _placed(
        self, order: Order, found: dict[str, Value], expected: dict[str, Value]
    ) -> Iterator[tuple[_Names, bool]]:
        """Yields dense tensors that are equal either in place (True) or in an order (False)."""
        for path in found.keys() & expected.keys():
            pair = found[path], expected[path]
            names = pair[0].tensor, pair[1].tensor
            if any(each.is_sparse for each in pair):
                continue
            axes = order.axes(*self._shapes(names))
            if axes and all(
                side.run.tensors[name].is_whole for side, name in zip(self.sides, names)
            ):
                e, b = (side.run.array(name) for side, name in zip(self.sides, names))
                is_moved = np.array_equal(order.taken(e, 0, axes[0]), order.taken(b, 1, axes[0]))
                if np.array_equal(e, b) != is_moved:
                    yield names, not is_moved

    def _candidates(self, names: _Names, found: Value, expected: Value) -> Iterator[Order]:
        shapes = self._shapes(names)
        if not shapes[0] or not shapes[1]:
            return
        rows = shapes[0][0], shapes[1][0]
        yield from self.beside(found, expected)
        yield from self._fitting(self._of_coordinates(*rows), names)
        yield from self._fitting(self._of_points(*rows), names)
        yield from self._fitting(self._given(), names)
        yield from self._fitting(self._of_siblings(names), names)

    def _fitting(self, orders: Iterator[Order], names: _Names) -> Iterator[Order]:
        return (order for order in orders if order.axes(*self._shapes(names)))

    def _shapes(self, names: _Names) -> tuple[tuple[int, ...], tuple[int, ...]]:
        shapes = [side.run.tensors[name].shape for side, name in zip(self.sides, names)]
        return shapes[0], shapes[1]

    def _of_coordinates(self, found: int, expected: int) -> Iterator[Order]:
        """Yields the orders by all coordinates with these numbers of rows."""
        counts = zip(self.sides, (found, expected))
        listed = [list(side.coordinates.get(count, ())) for side, count in counts]
        for names in _near_pairs(listed[0], listed[1]):
            order = self.by_coordinates(*names)
            if order is not None:
                yield order

    def _by_coordinates(self, found: str, expected: str) -> Order | None:
        names = found, expected
        if not all(side.run.tensors[name].is_whole for side, name in zip(self.sides, names)):
            return None
        arrays = [side.run.array(name) for side, name in zip(self.sides, names)]
        if arrays[0].shape[1] != arrays[1].shape[1]:
            return None
        for columns in (None, *self._columns(arrays[0].shape[1])):
            own = arrays[0] if columns is None else arrays[0][:, columns]
            rows = by_coordinates(own, arrays[1])
            if rows is not None:
                source = f"the coordinates of {self.sides[1].labels[expected]}"
                counts = [(len(array),) for array in arrays]
                return Order(source, counts[0], counts[1], rows, names, names, columns)
        return None

    def _columns(self, count: int) -> Iterator[tuple[int, ...]]:
        """Yields the given order of columns, also for coordinates without the batch."""
        for order in self._options.columns:
            if len(order) == count:
                yield order
            if len(order) == count + 1:
                axes = sorted(order[1:])
                yield tuple(axes.index(column) for column in order[1:])

    def _given(self) -> Iterator[Order]:
        """Yields the orders by the values of the tensors that the recording was given."""
        for names in zip(self.sides[0].given, self.sides[1].given):
            shapes = self._shapes(names)
            if shapes[0] == shapes[1]:
                order = self._by_values(names, shapes[0][: max(1, len(shapes[0]) - 1)])
                if order is not None:
                    yield order

    def _of_siblings(self, names: _Names) -> Iterator[Order]:
        """Yields the orders by the values of other tensors that the same call returns.

        A call with an input of as many rows determines their order, and yields none.
        """
        producers, shapes = self._producers(names), self._shapes(names)
        if not producers or shapes[0] != shapes[1]:
            return
        values = [each.values for each in producers]
        for lead in (shapes[0][:1], shapes[0][:2]):
            inputs = (v.tensor for v in producers[0].inputs.values())
            if len(lead) == 0 or any(self._has_rows(0, name, lead) for name in inputs):
                continue
            for path in values[0].keys() & values[1].keys():
                pair = values[0][path].tensor, values[1][path].tensor
                is_other = all(a != b for a, b in zip(pair, names))
                if is_other and all(self._has_rows(k, n, lead) for k, n in enumerate(pair)):
                    order = self._by_values(pair, lead)
                    if order is not None:
                        yield order

    def _producers(self, names: _Names) -> list[Group]:
        """Returns the call of each run that returns a tensor; [] unless both have one."""
        groups = [side.producer(name) for side, name in zip(self.sides, names)]
        producers = [group for group in groups if group is not None]
        return producers if len(producers) == 2 else []

    def _has_rows(self, side: int, name: str, lead: tuple[int, ...]) -> bool:
        return self.sides[side].run.tensors[name].shape[: len(lead)] == lead

    def _of_points(self, found: int, expected: int) -> Iterator[Order]:
        """Yields the orders of points in voxels, by the values of tensors [M, P, C]."""
        counts = found, expected
        listed = [list(side.voxels.get(count, ())) for side, count in zip(self.sides, counts)]
        for names in _near_pairs(listed[0], listed[1]):
            for voxels in self.beside(Value(names[0]), Value(names[1])):
                order = self._by_points(names, voxels)
                if order is not None:
                    yield order

    def _order_of_points(self, names: _Names, voxels: Order) -> Order | None:
        """Joins the points in joined voxels by their values."""
        shapes = self._shapes(names)
        if shapes[0][1:] != shapes[1][1:] or not self._are_readable(names):
            return None
        tensors = self._read(names)
        joined = [each[voxels.rows[:, side]] for side, each in enumerate(tensors)]
        rows = self._joined(joined[0], joined[1], 2)
        if rows is None:
            return None
        count = shapes[0][1]
        rows = rows % count + np.repeat(voxels.rows * count, count, axis=0)
        rows = rows[np.argsort(rows[:, 1], kind="stable")]
        source = f"the points in voxels of {self.sides[1].labels[names[1]]} as sets"
        return Order(source, shapes[0][:2], shapes[1][:2], rows, names)

    def _order_by_values(self, names: _Names, lead: tuple[int, ...]) -> Order | None:
        """Joins rows by their values, within batches if lead has two extents."""
        if not self._are_readable(names):
            return None
        tensors = self._read(names)
        rows = self._joined(tensors[0], tensors[1], len(lead))
        source = f"the values of {self.sides[1].labels[names[1]]} as a set of rows"
        return None if rows is None else Order(source, lead, lead, rows, names)

    def _are_readable(self, names: _Names) -> bool:
        return all(
            side.run.tensors[name].is_whole and 0 < side.run.tensors[name].size <= _MAX_ELEMENTS
            for side, name in zip(self.sides, names)
        )

    def _read(self, names: _Names) -> list[Tensor]:
        return [_tensor(side.run, name) for side, name in zip(self.sides, names)]

    def _joined(self, found: Tensor, expected: Tensor, dims: int) -> np.ndarray | None:
        """Returns rows [K, 2] that belong together; `dims` dimensions count them."""
        if 0 in expected.shape:
            return None
        groups, count = expected.shape[:2] if dims == 2 else (1, expected.shape[0])
        numbers = [
            each.numbers().astype(np.float64).reshape(groups * count, -1)
            for each in (found, expected)
        ]
        tolerance = self._options.tolerance(found, expected)
        atol = tolerance.atol + relative_atol(expected.numbers(), tolerance.rms_atol)
        bound = tolerated(numbers[1], tolerance.rtol, atol)
        partner = by_values(numbers[0], numbers[1], np.repeat(np.arange(groups), count), bound)
        if partner is None:
            return None
        return np.stack([partner, np.arange(len(partner))], axis=1)


def _tensor(run: Run, name: str) -> Tensor:
    return Tensor(run.array(name), run.tensors[name].dtype)


def _near_pairs(found: list[str], expected: list[str]) -> Iterator[_Names]:
    """Yields pairs of names, those at near positions first."""
    places = itertools.product(range(len(found)), range(len(expected)))
    nearest = sorted(places, key=lambda place: abs(place[0] - place[1]))
    return ((found[i], expected[j]) for i, j in nearest[:_MAX_PAIRS])


class Places:
    """Where a run has its tensors.

    Attributes:
        run: the run.
        groups: the calls that take or return a tensor, by its name.
        labels: the first of its places, as text.
        coordinates: integers [M, 2..5] by M, in the order of the run.
        voxels: floating-point tensors [M, P, C] by M that a call takes or returns with coordinates.
        detections: the detections that have a tensor, and its position in their names.
        given: floating-point tensors that the recording was given: no recorded call contains the
            calls that take them.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.groups: dict[str, list[Group]] = {}
        self.labels: dict[str, str] = {}
        self.coordinates: dict[int, dict[str, None]] = {}
        self.voxels: dict[int, dict[str, None]] = {}
        self.detections: dict[str, dict[Names, int]] = {}
        modules = {call.module for call in run.calls}
        given: dict[str, None] = {}
        self._all_given: set[str] = set()
        for call in run.calls:
            written = {f"{path} written": value for path, value in call.written.items()}
            outputs = {**call.outputs, **written}
            for role, values in (("input", call.inputs), ("output", outputs)):
                group = Group(name_of(call.module), role == "output", values, call.inputs)
                for path, value in values.items():
                    label = f"{group.label} {path_of(role, path)}"
                    self._add(value, group, label)
                for value in values.values():
                    self._add_voxels(value)
                self._add_detections(values, call.kind)
            if not any(contains(each, call.module) for each in modules if each != call.module):
                given.update(dict.fromkeys(v.tensor for v in call.inputs.values()))
        for gradient in run.gradients:
            if gradient.parameter is None:
                self.groups.setdefault(gradient.value.tensor, [])
        self._all_given = set(given)
        self.given = [name for name in given if self._is_given(name)]

    def _add(self, value: Value, group: Group, label: str) -> None:
        self.groups.setdefault(value.tensor, []).append(group)
        self.labels.setdefault(value.tensor, label)
        if value.is_sparse and value.indices is not None:
            self.labels.setdefault(value.indices, label)
            self._add_coordinates(value.indices)
        elif value.indices is None:
            self._add_coordinates(value.tensor)

    def _add_coordinates(self, name: str) -> None:
        recorded = self.run.tensors[name]
        is_integer = recorded.dtype in ("int16", "int32", "int64")
        if is_integer and len(recorded.shape) == 2 and 2 <= recorded.shape[1] <= 5:
            self.coordinates.setdefault(recorded.shape[0], {})[name] = None

    def _add_voxels(self, value: Value) -> None:
        shape = self.run.tensors[value.tensor].shape
        is_float = "float" in self.run.tensors[value.tensor].dtype
        if len(shape) == 3 and is_float and self.coordinates_beside(value.tensor):
            self.voxels.setdefault(shape[0], {})[value.tensor] = None

    def _add_detections(self, values: dict[str, Value], kind: str) -> None:
        dense = {path: value.tensor for path, value in values.items() if value.indices is None}
        tensors = {path: self.run.tensors[name] for path, name in dense.items()}
        for names in find({p: Shape(each.dtype, each.shape) for p, each in tensors.items()}, kind):
            of_run = Names(*(dense[path] if path else "" for path in names))
            for role, name in enumerate(of_run):
                if name:
                    self.detections.setdefault(name, {}).setdefault(of_run, role)

    def _is_given(self, name: str) -> bool:
        recorded = self.run.tensors[name]
        return "float" in recorded.dtype and 2 <= len(recorded.shape) <= 3

    def coordinates_beside(self, name: str) -> list[str]:
        """Returns the coordinates of as many rows that a call takes or returns beside a tensor."""
        shape = self.run.tensors[name].shape
        known = self.coordinates.get(shape[0], {}) if shape else {}
        # The rows of a given tensor are in the order of given coordinates only.
        is_given = name in self._all_given
        groups = self.groups.get(name, ())
        dense = (v.tensor for g in groups for v in g.values.values() if v.indices is None)
        beside = (each for each in dense if each in known)
        return list(dict.fromkeys(e for e in beside if not is_given or e in self._all_given))

    def producer(self, name: str) -> Group | None:
        """Returns the first call that returns a tensor and does not take it."""
        for group in self.groups.get(name, ()):
            if group.is_output and all(v.tensor != name for v in group.inputs.values()):
                return group
        return None
