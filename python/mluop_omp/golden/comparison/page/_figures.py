"""Draws the figures of a page with matplotlib, as SVG in the color scheme of the page."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any, Callable

import numpy as np

from mluop_omp.golden.comparison.page._elements import Counts, Map
from mluop_omp.golden.comparison.page._plan import Plan

# Placeholder colors, replaced by variables of the page that follow the light or dark scheme.
_INK, _MUTED, _FIELD = "#010203", "#040506", "#070809"
_VARIABLES = {_INK: "ink", _MUTED: "muted", _FIELD: "field"}
# Colors that are visible in both schemes. Errors: from the smallest to the largest.
_SCALE = ("#f6b26b", "#f0803c", "#e0394f", "#c2147b")
_WRONG, _SPECIAL, _MISSING, _EXTRA, _RIGHT = "#dd3b4e", "#8a63f0", "#1e88e5", "#12a37f", "#8b929c"
# Most isolated wrong cells that are circled, and most sites that are drawn as markers.
_MAX_CIRCLES = 24
_MAX_MARKERS = 1000
# Errors with a larger ratio are drawn on a logarithmic scale, of at most this number of decades.
_LINEAR_RATIO, _DECADES = 20.0, 9
_WIDTH = 6.4
_STYLE: dict[str, Any] = {
    **{"svg.fonttype": "none", "text.parse_math": False, "font.family": "sans-serif"},
    **{"font.size": 9, "axes.titlesize": 9, "axes.linewidth": 0.6},
    **{f"{each}.color": _INK for each in ("text", "xtick", "ytick")},
    **{"axes.labelcolor": _INK, "axes.edgecolor": _INK, "axes.facecolor": _FIELD},
    **{"figure.facecolor": "none", "savefig.facecolor": "none", "legend.frameon": False},
    **{"grid.color": _MUTED, "grid.linewidth": 0.5, "axes.axisbelow": True},
    "figure.constrained_layout.use": True,
}


def render(number: int, draw: Callable[[], Any]) -> str:
    """Returns the SVG of a draw function. number: makes the ids in the figure unique."""
    import matplotlib

    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": f"figure {number}"}):
        return _svg(draw())


def _figure(height: float, rows: int = 1, columns: int = 1) -> tuple[Any, np.ndarray]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH, height))
    return figure, figure.subplots(rows, columns, squeeze=False)


def _svg(figure: Any) -> str:
    """Returns an SVG element for a page: no declaration, and only ids that are referenced."""
    stream = io.StringIO()
    none = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(stream, format="svg", metadata=none)
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    used = set(re.findall(r"""(?:url\(|href=")#([^)"]+)""", text))
    text = re.sub(r' id="([^"]+)"', lambda m: m.group() if m.group(1) in used else "", text)
    text = re.sub(r'(<svg\b[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg\b[^>]*?) height="[^"]*"', r"\1", text, count=1)
    for color, variable in _VARIABLES.items():
        text = text.replace(color, f"var(--{variable})")
    return text.strip()


def _has_scale(errors: np.ndarray) -> bool:
    """Returns whether a finite error exceeds the smallest representable ones."""
    return bool((np.isfinite(errors) & (errors >= np.finfo(float).tiny)).any())


def _norm(errors: np.ndarray) -> Any:
    """Returns a scale for finite errors, logarithmic if their magnitudes vary widely."""
    from matplotlib.colors import LogNorm, Normalize

    finite = errors[(errors > 0) & np.isfinite(errors)]
    if not _has_scale(errors):
        return Normalize(0, 1)
    low, high = float(finite.min()), float(finite.max())
    if high <= _LINEAR_RATIO * low:
        return Normalize(0, high)
    return LogNorm(max(low, high * 10.0**-_DECADES), high, clip=True)


def _colors() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("errors", _SCALE)


def _image(errors: np.ndarray, norm: Any) -> np.ndarray:
    """Returns the RGBA pixels of cells, transparent where no element is wrong."""
    from matplotlib.colors import to_rgba

    pixels = _colors()(norm(np.where(np.isfinite(errors), errors, 0)))
    pixels[np.isinf(errors)] = to_rgba(_SPECIAL)
    pixels[errors == 0] = 0
    return np.asarray(255 * pixels, np.uint8)


def _explain(
    axes: Any,
    names: tuple[str | None, str],
    errors: np.ndarray,
    norm: Any,
    entries: Sequence[tuple[str, dict[str, Any]]],
) -> Any:
    """Adds axis labels, the error scale, and a legend of markers and texts."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.lines import Line2D

    figure, (rows, columns) = axes.figure, names
    axes.set_xlabel(columns)
    _integers(axes.xaxis, axes.yaxis)
    if rows is None:
        axes.set_yticks([])
    else:
        axes.set_ylabel(rows)
    if _has_scale(errors):
        mappable = ScalarMappable(norm, _colors())
        bar = figure.colorbar(mappable, ax=axes, label="absolute error", fraction=0.05, pad=0.02)
        if norm.vmin > 0:
            _powers(bar.ax.yaxis)
    lines = [Line2D([], [], linestyle="none", label=text, **marker) for text, marker in entries]
    if lines:
        figure.legend(handles=lines, loc="outside lower center", ncols=len(lines))
    return figure


def _integers(*axes: Any) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for axis in axes:
        steps = [1, 2, 5, 10]
        axis.set_major_locator(MaxNLocator(6, integer=True, steps=steps, min_n_ticks=1))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))


def _powers(axis: Any) -> None:
    """Labels powers of 10 as plain text; the figures do not interpret matplotlib markup."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(10, numticks=7))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _power(10, round(np.log10(value)))))
    axis.set_minor_formatter(NullFormatter())


_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _power(base: int, exponent: int, digits: int = 4) -> str:
    """Returns the number if it has at most `digits` characters, else the power."""
    value = f"{float(base) ** exponent:g}"
    return value if len(value) <= digits else f"{base}{str(exponent).translate(_SUPERSCRIPTS)}"


def _cells_shape(rows: float, columns: float) -> tuple[str, float]:
    """Returns the aspect of an image and the height of its figure in inches."""
    ratio = rows / columns
    if 0.25 <= ratio <= 2:
        return "equal", min(0.75 + (_WIDTH - 1.6) * ratio, 5.6)
    return "auto", 2.0 if rows == 1 else 3.4


def _alone(wrong: np.ndarray) -> np.ndarray:
    """Returns the wrong cells that have no wrong cell among their eight neighbors."""
    padded = np.pad(wrong, 1).astype(np.int8)
    rows, columns = wrong.shape
    around = sum(padded[i : i + rows, k : k + columns] for i in range(3) for k in range(3))
    return wrong & (around == 1)


def draw_map(each: Map, names: Sequence[str], what: str) -> Any:
    """names: dimension names. what: which elements are drawn."""
    aspect, height = _cells_shape(*each.extents)
    _, ((axes,),) = _figure(height)
    norm = _norm(each.errors)
    ends = [cells * step - 0.5 for cells, step in zip(each.errors.shape, each.steps)]
    axes.imshow(
        _image(each.errors, norm),
        extent=(-0.5, ends[1], ends[0], -0.5),
        interpolation="none",
        aspect=aspect,
    )
    axes.set(xlim=(-0.5, each.extents[1] - 0.5), ylim=(each.extents[0] - 0.5, -0.5))
    alone = np.argwhere(_alone(each.errors > 0))
    if len(alone) <= _MAX_CIRCLES and each.errors.size > 400:
        rows, columns = ((alone + 0.5) * each.steps - 0.5).T
        axes.scatter(columns, rows, s=60, facecolors="none", edgecolors=_WRONG, linewidths=1)
    entries = []
    if (each.errors == 0).any():
        marker = {"marker": "s", "color": _FIELD, "markeredgecolor": _INK}
        entries.append((f"no {what} element", marker))
    if np.isinf(each.errors).any():
        entries.append(("NaN or infinity in one tensor only", {"marker": "s", "color": _SPECIAL}))
    labels = None if each.rows is None else names[each.rows], names[each.columns]
    return _explain(axes, labels, each.errors, norm, entries)


def draw_plan(plan: Plan, what: str) -> Any:
    from matplotlib.colors import to_rgba

    rows, columns = plan.right.shape
    aspect, height = _cells_shape(rows, columns)
    _, ((axes,),) = _figure(height + 0.2)
    norm = _norm(plan.errors)
    first = [start - 0.5 for start in plan.starts]
    last = [start + cells * plan.step for start, cells in zip(first, (rows, columns))]
    pixels = np.zeros((rows, columns, 4), np.uint8)
    pixels[plan.right] = [int(255 * part) for part in to_rgba(_RIGHT, 0.8)]
    markers = {
        "wrong": (plan.errors > 0, _WRONG, {"marker": "s"}),
        "missing": (plan.missing, _MISSING, {"marker": "v", "markerfacecolor": "none"}),
        "extra": (plan.extra, _EXTRA, {"marker": "x"}),
    }
    entries = [(f"right: {plan.sites['right']}", {"marker": "s", "color": _RIGHT})]
    images = _image(plan.errors, norm)
    for kind, (cells, color, marker) in markers.items():
        if kind == "wrong":
            pixels = np.where(cells[:, :, None], images, pixels)
        elif np.count_nonzero(cells) > _MAX_MARKERS:
            pixels[cells] = [int(255 * part) for part in to_rgba(color)]
        if plan.sites[kind]:
            text = {"wrong": what, "missing": "only in expected", "extra": "only in found"}[kind]
            entries.append((f"{text}: {plan.sites[kind]}", {"color": color, **marker}))
    axes.imshow(
        pixels,
        extent=(first[1], last[1], first[0], last[0]),
        origin="lower",
        interpolation="none",
        aspect=aspect,
    )
    for kind, (cells, color, marker) in markers.items():
        positions = np.argwhere(cells)
        if not 0 < len(positions) <= _MAX_MARKERS:
            continue
        y, x = ((positions + 0.5) * plan.step + first).T
        if kind == "wrong":
            kinds = _image(plan.errors, norm)[cells] / 255
            axes.scatter(x, y, s=14, marker="s", c=kinds, linewidths=0)
        else:
            fill = (
                {"facecolors": "none", "edgecolors": color} if kind == "missing" else {"c": color}
            )
            axes.scatter(x, y, s=28, marker=marker["marker"], linewidths=1, **fill)
    if np.isinf(plan.errors).any():
        entries.append(("NaN or infinity", {"color": _SPECIAL, "marker": "s"}))
    rows, columns = (None if k is None else f"column {k} of the indices" for k in plan.axes)
    return _explain(axes, (rows, columns), plan.errors, norm, entries)


def draw_counts(counts: Sequence[Counts], what: str) -> Any:
    """what: the kind of element or site that is counted along each dimension."""
    rows = -(-len(counts) // 2)
    figure, grid = _figure(1.5 * rows + 0.2, rows, min(len(counts), 2))
    for axes, each in zip(grid.reshape(-1), counts):
        edges = each.start - 0.5 + each.step * np.arange(len(each.wrong) + 1)
        is_log = each.wrong.max() > _LINEAR_RATIO
        # On a logarithmic axis, a single element must have a height.
        base = 0.6 if is_log else 0
        axes.stairs(np.maximum(each.wrong, base), edges, fill=True, color=_WRONG, baseline=base)
        axes.set_yscale("log" if is_log else "linear")
        axes.set_ylim(base, 1.3 * each.wrong.max())
        axes.set_xlim(edges[0], edges[-1])
        axes.set_xlabel(each.name)
        axes.grid(axis="y")
        _integers(axes.xaxis)
        if is_log:
            _powers(axes.yaxis)
        else:
            _integers(axes.yaxis)
    for axes in grid.reshape(-1)[len(counts) :]:
        axes.set_visible(False)
    for axes in grid[:, 0]:
        axes.set_ylabel(what)
    return figure


def draw_ulp(histogram: Sequence[int]) -> Any:
    """Draws the number of elements by distance in ULP; see mluOpOmpDifference_t."""
    distances, special = np.array(histogram[:-1]), histogram[-1]
    count = max(int(np.flatnonzero(distances)[-1]) + 1 if distances.any() else 1, 4)
    values = [*distances[:count], *([special] if special else [])]
    labels = [_distance(k) for k in range(count)] + (["NaN,\ninf"] if special else [])
    figure, ((axes,),) = _figure(2.3)
    colors = [_RIGHT, *[_WRONG] * (count - 1), *([_SPECIAL] if special else [])]
    positions = np.arange(len(values))
    axes.bar(positions, values, 0.8, color=colors)
    axes.set_yscale("log")
    axes.set_ylim(0.6, None)
    _powers(axes.yaxis)
    step = -(-count // 14)
    # Leaves room for the label of NaN.
    last = count - 1 if special and step > 1 else count
    shown = [k for k in positions if k < last and k % step == 0 or k >= count]
    axes.set_xticks(shown, [labels[k] for k in shown])
    axes.set_xlim(-0.6, len(values) - 0.4)
    axes.set_xlabel("distance in representable values (ULP), up to")
    axes.set_ylabel("elements")
    axes.grid(axis="y")
    return figure


def _distance(bucket: int) -> str:
    """Returns the largest distance of a bucket: 0, 1, 2, 4, 8, ..., 2³¹, "more"."""
    if bucket == 0:
        return "0"
    if bucket == 33:
        return "more"
    return _power(2, bucket - 1, 3)
