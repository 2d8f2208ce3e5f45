"""Figures as SVG, PDF and PNG files, in one style, at the width of a column of a paper.

The same figure always gives the same bytes: ids have a fixed salt, files contain no date, and the
settings of the user's matplotlib are ignored.
"""

from __future__ import annotations

import io
import math
import textwrap
import threading
import warnings
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Sheet
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, MaxNLocator, NullLocator
from matplotlib.transforms import ScaledTranslation

from netkv.report import layout
from netkv.report.figure import Axis, Figure, Series, number, percent
from netkv.report.style import BANDS, DOTTED, GREY

Format = Literal["svg", "pdf", "png"]
Rectangle: TypeAlias = tuple[float, float, float, float]
"""Left, bottom, width and height, in inches."""

DPI = 300
_PASSES = 2
"""Iterations of `_fit`: a new length of an axis may change its ticks and labels."""
_TEXT = "#333333"
_WHITE = "#ffffff"
_STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": layout.FONT,
    "axes.labelsize": layout.FONT,
    "xtick.labelsize": layout.FONT,
    "ytick.labelsize": layout.FONT,
    "legend.fontsize": layout.FONT,
    "legend.frameon": False,
    "legend.handlelength": 2.2,
    "legend.columnspacing": 1.2,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.edgecolor": _TEXT,
    "axes.labelcolor": _TEXT,
    "text.color": _TEXT,
    "xtick.color": _TEXT,
    "ytick.color": _TEXT,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "hatch.linewidth": 0.7,
    # Dollar signs in text are no formulas.
    "text.parse_math": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "netkv",
    # Outlines that printers and publishers accept; Type 3 fonts are refused by many.
    "pdf.fonttype": 42,
}
_lock = threading.Lock()
"""matplotlib's settings are global, and the dashboard's server draws in several threads."""


def draw(figures: Sequence[Figure], kind: Format) -> bytes:
    """A file with one figure, or with several in two columns."""
    if not figures:
        raise ValueError("there is nothing to draw")
    with _lock, mpl.rc_context(), warnings.catch_warnings():
        # No warnings about characters that the font lacks: the file shows boxes.
        warnings.simplefilter("ignore")
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        sheet = _sheet(figures)
        out = io.BytesIO()
        title = ", ".join(figure.title for figure in figures)
        if kind == "svg":
            FigureCanvasSVG(sheet)
            about = {"Date": None, "Creator": "netkv", "Title": title}
            sheet.savefig(out, format="svg", metadata=about)
        elif kind == "pdf":
            FigureCanvasPdf(sheet)
            about = {"CreationDate": None, "Creator": "netkv", "Producer": None, "Title": title}
            sheet.savefig(out, format="pdf", metadata=about)
        else:
            FigureCanvasAgg(sheet)
            sheet.savefig(out, format="png", dpi=DPI, metadata={"Software": "netkv"})
    return out.getvalue()


def _sheet(figures: Sequence[Figure]) -> Sheet:
    """All figures on one sheet: a single one, or two in each row."""
    columns = min(len(figures), 2)
    heights = [layout.height(figure) for figure in figures]
    rows = [max(heights[at : at + columns]) for at in range(0, len(figures), columns)]
    sheet = Sheet(figsize=(columns * layout.WIDTH, sum(rows)))
    FigureCanvasAgg(sheet)
    for at, figure in enumerate(figures):
        row, column = divmod(at, columns)
        bottom = sum(rows[row:]) - heights[at]
        rectangle = (column * layout.WIDTH, bottom, layout.WIDTH, heights[at])
        axes = _panel(sheet, figure, rectangle)
        for _ in range(_PASSES):
            _fit(sheet, axes, figure, rectangle)
    return sheet


def _panel(sheet: Sheet, figure: Figure, rectangle: Rectangle) -> Axes:
    left, bottom, _, high = rectangle
    width, height = sheet.get_size_inches()
    sheet.text(
        (left + layout.MARGIN) / width,
        (bottom + high - layout.MARGIN) / height,
        "\n".join(layout.title_lines(figure)),
        ha="left",
        va="top",
        fontsize=layout.FONT + 1,
        fontweight="bold",
    )
    sheet.text(
        (left + layout.MARGIN) / width,
        (bottom + high - layout.title_height(figure) + layout.MARGIN) / height,
        "\n".join(layout.note_lines(figure)),
        ha="left",
        va="bottom",
        fontsize=layout.STRIP_FONT,
        color="#707070",
    )
    axes = sheet.add_axes((0.0, 0.0, 1.0, 1.0))
    x, y = (figure.y, figure.x) if figure.sideways else (figure.x, figure.y)
    axes.set_xlabel(x.title)
    axes.set_ylabel("\n".join(textwrap.wrap(y.title, layout.SIDE_CHARACTERS)))
    axes.grid(axis="x" if figure.sideways else "y")
    _scale(axes, figure)
    _bands(axes, figure)
    for series in figure.series:
        if series.draw == "bars":
            _bars(axes, figure, series)
        else:
            _line(axes, series)
    for reference in figure.references:
        along = axes.axvline if figure.sideways else axes.axhline
        label = reference.name or "_"
        along(reference.value, color=reference.colour, lw=1.1, ls=DOTTED.matplotlib, label=label)
    if figure.legend():
        _legend(axes, figure)
    box = layout.approximate_data_area(figure, rectangle)
    axes.set_position((box[0] / width, box[1] / height, box[2] / width, box[3] / height))
    return axes


def _fit(sheet: Sheet, axes: Axes, figure: Figure, rectangle: Rectangle) -> None:
    """Move the edges of the axes so that labels and legend end at the margins.

    The results of matplotlib's own layout engines differ in the last digits between calls, so the
    files would differ.
    """
    around = axes.get_tightbbox()
    assert around is not None
    inside = axes.get_window_extent()
    left, bottom, width, height = rectangle
    dpi = sheet.dpi
    x0 = left + layout.MARGIN + (inside.x0 - around.x0) / dpi
    y0 = bottom + layout.MARGIN + (inside.y0 - around.y0) / dpi
    x1 = left + width - layout.MARGIN - (around.x1 - inside.x1) / dpi
    y1 = bottom + height - layout.title_height(figure) - (around.y1 - inside.y1) / dpi
    # Even long labels leave a minimal area for the data.
    x1, y1 = max(x1, x0 + layout.MIN_EXTENT), max(y1, y0 + layout.MIN_EXTENT)
    wide, high = sheet.get_size_inches()
    axes.set_position((x0 / wide, y0 / high, (x1 - x0) / wide, (y1 - y0) / high))


def _scale(axes: Axes, figure: Figure) -> None:
    """Limits, scales and ticks of both axes."""
    along, across = layout.x_limits(figure), layout.y_limits(figure)
    if figure.sideways:
        _ticks(axes, "x", figure.y, across)
        _ticks(axes, "y", figure.x, along)
        axes.set_xlim(*across)
        axes.set_ylim(along[1], along[0])
        return
    _ticks(axes, "x", figure.x, along)
    _ticks(axes, "y", figure.y, across)
    axes.set_xlim(*along)
    axes.set_ylim(*across)


def _ticks(axes: Axes, which: Literal["x", "y"], axis: Axis, limits: tuple[float, float]) -> None:
    own = axes.xaxis if which == "x" else axes.yaxis
    if axis.categories:
        every = list(range(len(axis.categories)))
        shown = list(layout.shown_categories(axis)) if which == "x" else every
        labels = [axis.categories[at] for at in shown]
        own.set_major_locator(FixedLocator([float(at) for at in shown]))
        own.set_tick_params(length=0)
        if which == "x":
            axes.set_xticks(shown, labels)
            if layout.has_rotated_labels(axis):
                for label in axes.get_xticklabels():
                    label.set(rotation=30, ha="right", rotation_mode="anchor")
        else:
            axes.set_yticks(shown, [layout.side_label(label) for label in labels])
        return
    if axis.log:
        scale = axes.set_xscale if which == "x" else axes.set_yscale
        scale("log", nonpositive="clip")
        own.set_minor_locator(NullLocator())
    if ticks := layout.ticks(axis, limits):
        own.set_major_locator(FixedLocator([at for at, _ in ticks]))
        own.set_major_formatter(FixedFormatter([label for _, label in ticks]))
        return
    own.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    shown_as = percent if axis.share else number
    own.set_major_formatter(FuncFormatter(lambda value, _: shown_as(value)))


def _bars(axes: Axes, figure: Figure, series: Series) -> None:
    at = [figure.bar_at(series, x) for x in series.x]
    lengths = [0.0 if value is None else value for value in series.y]
    base = list(series.base) or [0.0] * len(at)
    look: dict[str, Any] = {
        **series.style.matplotlib_bar(series.part),
        "linewidth": 0.4,
        "label": series.name or "_",
    }
    if figure.sideways:
        axes.barh(at, lengths, figure.bar_width, left=base, **look)
    else:
        axes.bar(at, lengths, figure.bar_width, bottom=base, **look)
    tops = [series.top(index) for index in range(len(at))]
    ends = [math.nan if top is None else top for top in tops]
    if any(half is not None for half in series.spread):
        halves = [half or 0.0 for half in series.spread]
        error: dict[str, Any] = {"fmt": "none", "ecolor": _TEXT, "elinewidth": 0.8, "capsize": 1.8}
        known = [index for index, half in enumerate(series.spread) if half is not None]
        places, at_ends = [at[i] for i in known], [ends[i] for i in known]
        width = [halves[i] for i in known]
        if figure.sideways:
            axes.errorbar(at_ends, places, xerr=width, **error)
        else:
            axes.errorbar(places, at_ends, yerr=width, **error)
    for index, label in enumerate(series.labels):
        if tops[index] is not None:
            where = (ends[index], at[index]) if figure.sideways else (at[index], ends[index])
            axes.annotate(
                label,
                where,
                xytext=(3, 0) if figure.sideways else (0, 2),
                textcoords="offset points",
                ha="left" if figure.sideways else "center",
                va="center" if figure.sideways else "bottom",
                fontsize=layout.FONT - 0.5,
            )


def _line(axes: Axes, series: Series) -> None:
    corners = series.corners()
    x = [place for place, _ in corners]
    values = [math.nan if value is None else value for value in series.y]
    y = [values[at] for _, at in corners]
    look: dict[str, Any] = {
        **series.style.matplotlib_line(marked=series.marked),
        "label": series.name or "_",
        "drawstyle": "steps-post" if series.draw == "steps" else "default",
    }
    if series.draw == "points":
        # Hollow, and in front of the bars and lines of netkv's own runs.
        look |= {"linestyle": "none", "markerfacecolor": _WHITE, "markersize": 4.5, "zorder": 5}
    axes.plot(x, y, **look)
    if not any(series.spread):
        return
    half = [series.spread[at] or 0.0 for _, at in corners]
    colour = series.style.colour
    if not series.marked:
        low = [value - h for value, h in zip(y, half, strict=True)]
        high = [value + h for value, h in zip(y, half, strict=True)]
        axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
    else:
        axes.errorbar(x, y, yerr=half, fmt="none", ecolor=colour, elinewidth=0.9, capsize=2)


def _bands(axes: Axes, figure: Figure) -> None:
    for band in figure.bands:
        colour, alpha = BANDS[band.kind]
        axes.axvspan(band.start, band.end, color=colour, alpha=alpha, linewidth=0)
    for mark in figure.marks:
        axes.axvline(mark.at, color=GREY, lw=0.7, ls=DOTTED.matplotlib)
    for text in layout.event_texts(figure):
        axes.annotate(
            text.text,
            (text.x, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 2 + text.row * layout.STRIP_ROW * 72),
            textcoords="offset points",
            ha=text.align,
            va="bottom",
            fontsize=layout.STRIP_FONT,
            annotation_clip=False,
        )


def _legend(axes: Axes, figure: Figure) -> None:
    """Add the legend above the axes and the texts there, so that it covers nothing."""
    columns, _ = layout.legend_grid(figure)
    lift = ScaledTranslation(0, layout.event_texts_height(figure), axes.figure.dpi_scale_trans)
    handles = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    axes.legend(
        [handles[name] for name in figure.legend()],
        figure.legend(),
        loc="lower left",
        bbox_to_anchor=(-0.02, 1.0),
        bbox_transform=axes.transAxes + lift,
        borderaxespad=0.1,
        ncols=columns,
    )
