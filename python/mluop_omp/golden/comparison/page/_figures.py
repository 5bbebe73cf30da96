"""Draws maps and counts as SVG and HTML, in the color scheme of the page."""

from __future__ import annotations

import base64
import dataclasses
import math
import struct
import zlib
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from mluop_omp.golden.comparison.page._elements import Counts, Map

# Colors that are visible in both schemes. Errors: from the smallest to the largest.
_SCALE = ("#f6b26b", "#f0803c", "#e0394f", "#c2147b")
_RIGHT_COLOR, _WRONG_COLOR = "#8b929c", "#dd3b4e"
_SPECIAL = "#8a63f0"
_SPECIAL_ENTRY = ("■", _SPECIAL, "NaN or infinity in one tensor only")
# Kinds of sites: color, mark in units around a position, and symbol and text in the legend.
_KINDS = {
    "right": (_RIGHT_COLOR, "", "■", "right"),
    "wrong": (_WRONG_COLOR, "m-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0", "■", ""),
    "missing": ("#1e88e5", "m-3-3h6l-3 6z", "▽", "only in expected"),
    "extra": ("#12a37f", "m-3-3l6 6m0-6l-6 6", "✕", "only in found"),
}
# Most isolated wrong cells that are circled, and most sites of another kind that are marked.
_MAX_CIRCLES = 60
_MAX_MARKS = 1000
# Errors with a larger ratio are drawn on a logarithmic scale, of at most this number of decades.
_LINEAR_RATIO, _DECADES = 20.0, 9
# Units of a figure: its width, where the axes begin and end, and the end of one of two in a line.
_WIDTH, _LEFT, _RIGHT, _TOP, _HALF = 460, 62, 450, 8, 260
_MAX_HEIGHT = 400


@dataclasses.dataclass(frozen=True)
class _Axis:
    """Numbers from `low` to `high`, drawn from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def _scaled(self, *values: float) -> list[float]:
        return [math.log10(value) if self.is_log else float(value) for value in values]

    def at(self, value: float) -> float:
        low, scaled, high = self._scaled(self.low, value, self.high)
        # Doubles do not distinguish both ends of a short range of large integers.
        return self.start + (scaled - low) / ((high - low) or 1) * (self.end - self.start)

    def ticks(self) -> Iterable[tuple[float, str]]:
        """Yields at most 8 integers, on a logarithmic axis powers of 10, and their texts."""
        low, high = self._scaled(self.low, self.high)
        steps = (factor * 10**power for power in range(20) for factor in (1, 2, 5))
        step = next(each for each in steps if (high - low) / each <= 7)
        for multiple in range(math.ceil(low / step), math.floor(high / step) + 1):
            number = multiple * step
            if self.is_log:
                yield 10.0**number, _power(10, number)
            else:
                yield number, f"{number:.7g}"


def _power(base: int, exponent: int, digits: int = 4) -> str:
    """Returns the number if it has at most `digits` characters, else the power."""
    value = f"{float(base) ** exponent:g}"
    superscripts = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return value if len(value) <= digits else f"{base}{superscripts}"


def _chart(
    x: _Axis,
    y: _Axis,
    names: tuple[str, str],
    content: str,
    ticks: Iterable[tuple[float, str]] | None = None,
    width: int = _WIDTH,
) -> str:
    """Returns an SVG element. names: labels of y and x; without the label of y, y has no ticks."""
    top, bottom = sorted((y.start, y.end))
    frame = f'x="{x.start}" y="{top}" width="{x.end - x.start}" height="{bottom - top}"'
    parts = [f'<rect class="field" {frame}/>', content, f'<rect class="frame" {frame}/>']
    for value, text in x.ticks() if ticks is None else ticks:
        parts.append(f'<path class="frame" d="M{x.at(value):.1f} {bottom}v4"/>')
        parts.append(f'<text x="{x.at(value):.1f}" y="{bottom + 17}">{text}</text>')
    for value, text in y.ticks() if names[0] else ():
        parts.append(f'<path class="frame" d="M{x.start} {y.at(value):.1f}h-4"/>')
        parts.append(f'<text class="y" x="{x.start - 6}" y="{y.at(value) + 4:.1f}">{text}</text>')
    middle = (top + bottom) / 2
    parts.append(f'<text x="{(x.start + x.end) / 2}" y="{bottom + 35}">{escape(names[1])}</text>')
    parts.append(f'<text transform="translate(13 {middle}) rotate(-90)">{escape(names[0])}</text>')
    kind = "wide" if width == _WIDTH else "half"
    return f'<svg class="{kind}" viewBox="0 0 {width} {bottom + 42:.0f}">{"".join(parts)}</svg>'


def _legend(entries: Iterable[tuple[str, str, str]]) -> str:
    """entries: a mark, its color, and a text."""
    marks = (
        f'<span><em style="color: {color}">{mark}</em> {escape(text)}</span>'
        for mark, color, text in entries
    )
    return f'<p class="legend">{" ".join(marks)}</p>'


def _rgba(color: str, alpha: float = 1) -> list[int]:
    return [*bytes.fromhex(color[1:]), round(255 * alpha)]


def _colored(errors: np.ndarray) -> tuple[np.ndarray, str]:
    """Returns RGBA pixels of cells, transparent where no element is wrong, and their scale.

    The scale is logarithmic if the magnitudes of finite errors vary widely.
    """
    finite = errors[(errors > 0) & np.isfinite(errors)]
    position, scale = np.zeros(errors.shape), ""
    # The smallest representable errors have no scale.
    if finite.max(initial=0) >= np.finfo(float).tiny:
        low, high = float(finite.min()), float(finite.max())
        is_log = high > _LINEAR_RATIO * low
        low = max(low, high * 10.0**-_DECADES) if is_log else 0
        values = np.clip(np.where(np.isfinite(errors), errors, 0), low, high)
        position = np.log(values / low) / np.log(high / low) if is_log else values / high
        style = f"background: linear-gradient(to right, {', '.join(_SCALE)})"
        kind = ", logarithmic" if is_log else ""
        scale = f'{low:.3g} <em style="{style}"></em> {high:.3g} absolute error{kind}'
        scale = f'<p class="legend"><span>{scale}</span></p>'
    stops = np.array([_rgba(color) for color in _SCALE]).T
    channels = [np.interp(position, np.linspace(0, 1, len(_SCALE)), stop) for stop in stops]
    pixels = np.stack(channels, axis=-1).astype(np.uint8)
    pixels[np.isinf(errors)] = _rgba(_SPECIAL)
    pixels[errors == 0] = 0
    return pixels, scale


def _image(pixels: np.ndarray, x: _Axis, y: _Axis) -> str:
    """Returns pixels, a PNG within an SVG, that fill the axes."""
    if y.start > y.end:
        pixels = pixels[::-1]
    rows, columns = pixels.shape[:2]
    # Each line begins with its filter, 0 for none.
    lines = np.insert(pixels.reshape(rows, -1), 0, 0, axis=1)
    png = b"\x89PNG\r\n\x1a\n"
    for kind, data in (
        (b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, 6, 0, 0, 0)),
        (b"IDAT", zlib.compress(lines.tobytes())),
        (b"IEND", b""),
    ):
        checksum = zlib.crc32(kind + data)
        png += struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)
    place = f'x="{x.start}" y="{min(y.start, y.end)}" width="{x.end - x.start:.1f}"'
    place += f' height="{abs(y.end - y.start):.1f}" preserveAspectRatio="none"'
    return f'<image {place} href="data:image/png;base64,{base64.b64encode(png).decode()}"/>'


def _alone(wrong: np.ndarray) -> np.ndarray:
    """Returns the wrong cells that have no wrong cell among their eight neighbors."""
    padded = np.pad(wrong, 1).astype(np.int8)
    around = np.lib.stride_tricks.sliding_window_view(padded, (3, 3)).sum(axis=(2, 3))
    return wrong & (around == 1)


def draw_map(each: Map, what: str) -> str:
    """what: which elements or sites are drawn, such as "wrong"."""
    extents = [cells * step for cells, step in zip(each.errors.shape, each.steps)]
    ratio, width = extents[0] / extents[1], _RIGHT - _LEFT
    if 0.25 <= ratio <= 2:
        height = min(width * ratio, _MAX_HEIGHT)
        width = height / ratio
    else:
        height = 60 if extents[0] == each.steps[0] else 200
    ends = (_TOP + height, _TOP) if each.sites else (_TOP, _TOP + height)
    first = [start - 0.5 for start in each.starts]
    y = _Axis(first[0], first[0] + extents[0], *ends)
    x = _Axis(first[1], first[1] + extents[1], _LEFT, _LEFT + width)

    pixels, scale = _colored(each.errors)
    wrong = each.errors > 0
    marked = {"wrong": _alone(wrong) if wrong.size > 400 else wrong & False}
    entries = []
    for kind, cells in each.masks.items():
        color, _, symbol, text = _KINDS[kind]
        if kind == "right":
            pixels[cells & ~wrong] = _rgba(color, 0.8)
        elif kind != "wrong" and np.count_nonzero(cells) <= _MAX_MARKS:
            marked[kind] = cells
        elif kind != "wrong":
            pixels[cells] = _rgba(color)
        if each.sites[kind] or kind == "right":
            entries.append((symbol, color, f"{text or what}: {each.sites[kind]}"))
    if not each.sites and not wrong.all():
        entries.append(("□", "inherit", f"no {what} element"))
    if np.isinf(each.errors).any():
        entries.append(_SPECIAL_ENTRY)
    content = _image(pixels, x, y)
    for kind, cells in marked.items():
        color, mark, _, _ = _KINDS[kind]
        middles = (np.argwhere(cells) + 0.5) * each.steps + first
        path = "".join(f"M{x.at(k):.1f} {y.at(i):.1f}{mark}" for i, k in middles)
        if kind != "wrong" or len(middles) <= _MAX_CIRCLES:
            content += f'<path class="mark" stroke="{color}" d="{path}"/>'
    return _chart(x, y, each.axes, content) + scale + _legend(entries)


def _bars(x: _Axis, y: _Axis, bars: Iterable[tuple[float, float, float]], color: str) -> str:
    """bars: the first and the last value along x, and the height."""
    path = (
        f"M{x.at(first):.1f} {y.start}V{y.at(max(height, y.low)):.1f}H{x.at(last):.1f}V{y.start}z"
        for first, last, height in bars
    )
    return f'<path fill="{color}" d="{"".join(path)}"/>'


def _heights(largest: float, height: float, is_log: bool) -> _Axis:
    """Returns the axis of numbers of elements; on a logarithmic one, a single one has a height."""
    low = 0.6 if is_log else 0
    return _Axis(low, 1.3 * max(largest, 1), _TOP + height, _TOP, is_log)


def draw_counts(counts: Sequence[Counts], what: str) -> str:
    """what: the kind of element or site that is counted along each dimension."""
    charts, right = [], _RIGHT if len(counts) == 1 else _HALF
    for each in counts:
        edges = each.start - 0.5 + each.step * np.arange(len(each.wrong) + 1)
        x = _Axis(edges[0], edges[-1], _LEFT, right)
        y = _heights(each.wrong.max(), 120, each.wrong.max() > _LINEAR_RATIO)
        bars = _bars(x, y, zip(edges, edges[1:], each.wrong), _WRONG_COLOR)
        charts.append(_chart(x, y, (what, each.name), bars, width=right + 10))
    return f'<div class="charts">{"".join(charts)}</div>'


def draw_ulp(histogram: Sequence[int]) -> str:
    """Draws the number of elements by distance in ULP; see mluOpOmpDifference_t."""
    *distances, special = histogram
    count = max(4, len(np.trim_zeros(distances, "b")))
    x = _Axis(-0.6, count + bool(special) - 0.4, _LEFT, _RIGHT)
    y = _heights(max(histogram), 150, True)
    content = ""
    for first, numbers, color in (
        (0, distances[:1], _RIGHT_COLOR),
        (1, distances[1:count], _WRONG_COLOR),
        (count, [special] if special else [], _SPECIAL),
    ):
        bars = ((k - 0.4, k + 0.4, number) for k, number in enumerate(numbers, first))
        content += _bars(x, y, bars, color)
    ticks = [(k, _distance(k)) for k in range(0, count, -(-count // 10))]
    names = "elements", "distance in representable values (ULP), up to"
    return _chart(x, y, names, content, ticks) + _legend([_SPECIAL_ENTRY] * bool(special))


def _distance(bucket: int) -> str:
    """Returns the largest distance of a bucket: 0, 1, 2, 4, 8, ..., 2³¹, "more"."""
    return {0: "0", 33: "more"}.get(bucket) or _power(2, bucket - 1, 3)
