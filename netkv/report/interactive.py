"""Figures for pages and the dashboard, in the form of plotly.js."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from netkv.report import layout
from netkv.report.figure import Axis, Figure, Series, percent
from netkv.report.style import BANDS, DOTTED, GREY

if TYPE_CHECKING:
    import plotly.graph_objects as go  # type: ignore[import-untyped]

_STRIP_ROW = 13
_LEGEND_ROW = 20
_THOUSANDS = 3000
"""Upper limit from which an axis has SI prefixes. With smaller limits, `~s` would show `m`."""
_MODES = {True: "lines+markers", False: "lines"}
_PLOT = 270
"""Height of the area of the data in pixels, as are those of rows above it."""


def plotly(figure: Figure) -> go.Figure:
    """The figure of the package plotly, which checks each property."""
    # Imported here: it takes half a second, and the dashboard does without it.
    import plotly.graph_objects as go

    return go.Figure({"data": traces(figure), "layout": page_layout(figure)})


def traces(figure: Figure) -> list[dict[str, Any]]:
    """The traces of plotly.js."""
    drawn = []
    for series in figure.series:
        if series.draw == "bars":
            drawn.append(_bars(figure, series))
            continue
        if not series.marked and any(series.spread):
            drawn.append(_band(series))
        drawn.append(_line(figure, series))
    return [_set(trace) for trace in (*drawn, *_references(figure))]


def page_layout(figure: Figure) -> dict[str, Any]:
    """The layout of plotly.js, with the title."""
    strip = _STRIP_ROW * _strip_rows(figure)
    above = 34 + 22 * bool(figure.note) + _LEGEND_ROW * bool(figure.legend()) + strip
    below = 80 if layout.has_rotated_labels(figure.x) else 55
    plot = 30 * len(figure.x.categories) * figure.slots if figure.sideways else _PLOT
    x, y = _axis(figure.x, layout.x_limits(figure)), _axis(figure.y, layout.y_limits(figure))
    if figure.sideways:
        x, y = y, {**x, "autorange": "reversed", "range": None}
    return {
        "title": {
            "text": _text(figure.title),
            "subtitle": {"text": _text(figure.note), "font": {"size": 11, "color": GREY}},
            "x": 0.01,
            "y": 0.99,
            "yanchor": "top",
        },
        # Empty: the package has one of its own otherwise.
        "template": {},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "height": plot + above + below,
        "margin": {"l": 60, "r": 16, "t": above, "b": below},
        "barmode": "overlay",
        "hovermode": "closest",
        "showlegend": bool(figure.legend()),
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1 + (4 + strip) / plot,
            "yanchor": "bottom",
        },
        "xaxis": _set({**x, "showgrid": figure.sideways}),
        "yaxis": _set({**y, "showgrid": not figure.sideways}),
        "shapes": list(_shapes(figure)),
        "annotations": list(_annotations(figure)),
    }


def _set(properties: dict[str, Any]) -> dict[str, Any]:
    """The properties that have a value."""
    return {name: value for name, value in properties.items() if value is not None}


def _bars(figure: Figure, series: Series) -> dict[str, Any]:
    at = [figure.bar_at(series, x) for x in series.x]
    values = list(series.y)
    along = ("y", "x") if figure.sideways else ("x", "y")
    return {
        "type": "bar",
        along[0]: at,
        along[1]: values,
        "base": list(series.base) or None,
        "width": figure.bar_width,
        "orientation": "h" if figure.sideways else "v",
        "marker": series.style.plotly_bar(series.part),
        f"error_{along[1]}": _error(series, GREY),
        "text": [_text(label) for label in series.labels] or None,
        "textposition": "outside" if series.labels else "none",
        "cliponaxis": False,
        **_described(figure, series),
    }


def _line(figure: Figure, series: Series) -> dict[str, Any]:
    line = series.style.plotly_line()
    if series.draw == "steps":
        line["shape"] = "hv"
    marker = {**series.style.plotly_marker(), "size": 7}
    if series.draw == "points":
        marker |= {"symbol": f"{marker['symbol']}-open", "size": 10, "line": {"width": 2}}
    return {
        "type": "scatter",
        "x": [x for x, _ in series.corners()],
        "y": [series.y[at] for _, at in series.corners()],
        "mode": "markers" if series.draw == "points" else _MODES[series.marked],
        "line": line,
        "marker": marker,
        "error_y": _error(series, series.style.colour) if series.marked else None,
        **_described(figure, series),
    }


def _described(figure: Figure, series: Series) -> dict[str, Any]:
    """The name of a series, and the hover text of its points."""
    return {
        "name": _text(series.name),
        "showlegend": bool(series.name),
        "customdata": [_point(figure, series, at) for _, at in series.corners()],
        "hovertemplate": "%{customdata}<extra>%{fullData.name}</extra>",
    }


def _point(figure: Figure, series: Series, at: int) -> str:
    value = series.y[at]
    if value is None:
        return ""
    x = series.x[at]
    where = figure.x.categories[int(x)] if figure.x.categories else _value(figure.x, x)
    half = series.spread[at] if series.spread else None
    spread = "" if half is None else f" ± {_value(figure.y, half)}"
    return _text(f"{where}: {_value(figure.y, value)}{spread}")


def _value(axis: Axis, value: float) -> str:
    if axis.share:
        return percent(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _error(series: Series, colour: str) -> dict[str, Any] | None:
    if not any(half is not None for half in series.spread):
        return None
    return {"type": "data", "array": list(series.spread), "color": colour, "thickness": 1.2}


def _band(series: Series) -> dict[str, Any]:
    """The confidence band of a line: for each part without a gap a polygon along the upper edge and
    back along the lower."""
    parts: list[list[tuple[float, float, float]]] = [[]]
    for x, at in series.corners():
        y, half = series.y[at], series.spread[at]
        if y is not None:
            parts[-1].append((x, y, half or 0.0))
        elif parts[-1]:
            parts.append([])
    edge: list[tuple[float | None, float | None]] = []
    for part in filter(None, parts):
        upper = [(x, y + half) for x, y, half in part]
        lower = [(x, y - half) for x, y, half in reversed(part)]
        edge += [*([(None, None)] if edge else []), *upper, *lower]
    return {
        "type": "scatter",
        "x": [x for x, _ in edge],
        "y": [y for _, y in edge],
        "mode": "lines",
        "line": {"width": 0, "color": series.style.colour},
        "fill": "toself",
        "opacity": 0.2,
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _references(figure: Figure) -> Iterator[dict[str, Any]]:
    """References as traces: plotly misplaces shapes on logarithmic axes."""
    ends = layout.x_limits(figure)
    for reference in figure.references:
        across, along = list(ends), [reference.value] * 2
        yield {
            "type": "scatter",
            "x": along if figure.sideways else across,
            "y": across if figure.sideways else along,
            "mode": "lines",
            "line": {"color": reference.colour, "width": 1.5, "dash": DOTTED.plotly(1.5)},
            "name": _text(reference.name),
            "showlegend": bool(reference.name),
            "hoverinfo": "skip",
        }


def _axis(axis: Axis, limits: tuple[float, float]) -> dict[str, Any]:
    low, high = limits
    about: dict[str, Any] = {
        "title": {"text": _text(axis.title)},
        "range": [math.log10(low), math.log10(high)] if axis.log else [low, high],
        "type": "log" if axis.log else "linear",
        "zeroline": False,
        "automargin": True,
        "gridcolor": "#dddddd",
    }
    if axis.categories:
        shown = list(layout.shown_categories(axis))
        about["tickvals"] = shown
        if layout.has_rotated_labels(axis):
            # With the opposite angle, the last label would not fit, and plotly would omit it.
            about["tickangle"] = -30
        about["ticktext"] = [_text(axis.categories[at]) for at in shown]
    elif ticks := layout.ticks(axis, limits):
        about["tickvals"] = [at for at, _ in ticks]
        about["ticktext"] = [label for _, label in ticks]
    elif axis.share:
        about["tickformat"] = "~%"
    elif high >= _THOUSANDS:
        about["tickformat"] = "~s"
    return about


def _shapes(figure: Figure) -> Iterator[dict[str, Any]]:
    whole = {"yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    for band in figure.bands:
        colour, opacity = BANDS[band.kind]
        edges = {"x0": band.start, "x1": band.end, "fillcolor": colour, "opacity": opacity}
        yield {"type": "rect", "line": {"width": 0}, **edges, **whole}
    for mark in figure.marks:
        line = {"color": GREY, "width": 1, "dash": DOTTED.plotly(1)}
        yield {"type": "line", "x0": mark.at, "x1": mark.at, "line": line, **whole}


def _annotations(figure: Figure) -> Iterator[dict[str, Any]]:
    for text in layout.event_texts(figure):
        yield {
            "x": text.x,
            "y": 1,
            "yref": "paper",
            "yshift": 2 + _STRIP_ROW * text.row,
            "yanchor": "bottom",
            "xanchor": text.align,
            "text": _text(text.text),
            "showarrow": False,
            "font": {"size": 10, "color": GREY},
        }


def _strip_rows(figure: Figure) -> int:
    return max((text.row + 1 for text in layout.event_texts(figure)), default=0)


def _text(text: str) -> str:
    """Escape text for plotly, which interprets some tags."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
