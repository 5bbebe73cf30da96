"""Colours, markers and axes of all plots."""

import math
from collections.abc import Sequence

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8c6d1f", "#56b4e9")
MARKERS = ("o", "s", "^", "D", "v", "P")
GREY = "#444444"

plt.rcParams.update(
    {
        "font.size": 9,
        "axes.grid": True,
        "grid.color": "#dddddd",
        "grid.linewidth": 0.6,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
    }
)


def face(algorithm: str, color: str) -> str:
    """Fill colour of a marker, white for the device algorithm."""
    return color if algorithm == "native" else "white"


def logarithmic(axis: Axis) -> None:
    """Makes the axis logarithmic, with at least four ticks at round numbers. Call after setting its limits."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    low, high = sorted(axis.get_view_interval())
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)))
    for digits in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8), tuple(n / 10 for n in range(10, 100))):
        ticks = [digit * 10.0**decade for decade in decades for digit in digits]
        ticks = [tick for tick in ticks + [10.0**decades.stop] if low <= tick <= high]
        if len(ticks) > 3:
            break
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def legend_below(figure: Figure, handles: Sequence[Artist], columns: int) -> None:
    """Adds a legend below the axes and resizes the axes."""
    inches = 0.22 * math.ceil(len(handles) / columns) + 0.15
    figure.tight_layout(rect=(0, inches / figure.get_figheight(), 1, 1))
    figure.legend(handles=handles, loc="lower center", ncols=columns)
