"""Figures of runs, as plotly figures. Rates in operations per second, latencies in microseconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]

from netkv.report import text
from netkv.runs import histograms
from netkv.runs.compare import Comparison
from netkv.runs.records import RunRecord

COLOURS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#ff8ab7", "#a463f2", "#97bbf5")
"""A run keeps its colour through all figures of a page (Observable's palette for categories)."""


def throughput(records: Sequence[RunRecord]) -> go.Figure:
    """Throughput of every run over time; what happened in the runs stands behind it."""
    figure = _over_time(records, "throughput_ops", "Throughput", "operations per second")
    _mark_events(figure, records)
    return figure


def hit_ratio(records: Sequence[RunRecord]) -> go.Figure | None:
    """Hit ratio over time, dashed what the popularity distribution predicts; None without hits."""
    caching = [run for run in records if any(v is not None for v in _column(run, "hit_ratio"))]
    if not caching:
        return None
    figure = _over_time(records, "hit_ratio", "Hit ratio", "share of reads that a switch answered")
    for index, run in enumerate(records):
        if run.predicted_hit_ratio is not None:
            figure.add_hline(
                y=run.predicted_hit_ratio, line_dash="dash", line_width=1, line_color=_colour(index)
            )
    figure.update_yaxes(range=[0, 1], tickformat=".0%")
    return figure


def server_load(records: Sequence[RunRecord]) -> go.Figure:
    """Load of every server over the measured part, side by side."""
    figure = go.Figure(
        [
            go.Bar(
                name=run.label(),
                x=[f"server {i}" for i in range(len(run.server_load))],
                y=run.server_load,
                marker_color=_colour(index),
            )
            for index, run in enumerate(records)
        ]
    )
    return dressed(figure, "Load per server", "", "operations per second")


def latency(records: Sequence[RunRecord]) -> go.Figure | None:
    """Distribution of latencies, from the histograms; None if no run has one."""
    figure = go.Figure()
    for index, run in enumerate(records):
        merged = histograms.merge([run.latency_histogram])
        if merged is None:
            continue
        latencies, shares = histograms.distribution(merged)
        figure.add_scatter(
            name=run.label(),
            x=latencies,
            y=shares,
            mode="lines",
            line={"shape": "hv", "color": _colour(index)},
        )
    if not figure.data:
        return None
    dressed(figure, "Latency", "microseconds from the intended send time", "share of operations")
    figure.update_xaxes(type="log")
    figure.update_yaxes(range=[0, 1.01], tickformat=".0%")
    return figure


def comparison(compared: Comparison) -> go.Figure:
    """Mean throughput with its 95% interval: over the swept option, or a bar per scheme."""
    rows = [row for row in compared.rows if row.throughput_ops is not None]
    swept = [path for row in rows for path in row.params]
    figure = go.Figure()
    for index, scheme in enumerate(dict.fromkeys(row.scheme for row in rows)):
        own = [row for row in rows if row.scheme == scheme]
        means = [row.throughput_ops for row in own if row.throughput_ops is not None]
        about = {
            "name": scheme,
            "y": [mean.mean for mean in means],
            "error_y": {"type": "data", "array": [mean.ci95 or 0 for mean in means]},
        }
        if swept:
            path = swept[0]
            figure.add_scatter(
                x=[row.params.get(path) for row in own],
                mode="lines+markers",
                line_color=_colour(index),
                **about,
            )
        else:
            labels = [_row_label(row.scheme, row.settings) for row in own]
            figure.add_bar(x=labels, marker_color=_colour(index), **about)
    return dressed(figure, "Mean throughput", swept[0] if swept else "", "operations per second")


def _over_time(records: Sequence[RunRecord], column: str, title: str, unit: str) -> go.Figure:
    figure = go.Figure(
        [
            go.Scatter(
                name=run.label(),
                x=_column(run, "time"),
                y=_column(run, column),
                mode="lines",
                line_color=_colour(index),
            )
            for index, run in enumerate(records)
        ]
    )
    warmup = max((run.warmup for run in records), default=0)
    if warmup:
        figure.add_vrect(x0=-warmup, x1=0, fillcolor="#888", opacity=0.12, line_width=0)
    return dressed(figure, title, "seconds since the measured part began", unit)


def _mark_events(figure: go.Figure, records: Sequence[RunRecord]) -> None:
    for index, run in enumerate(records):
        for event in run.events:
            # The first moments of every rack are told too; they are not what a figure is about.
            if event.time > 0 and event.kind in ("failed", "killed", "stopped", "started", "shift"):
                figure.add_vline(
                    x=event.time,
                    line_dash="dot",
                    line_width=1,
                    line_color=_colour(index),
                    annotation_text=f"{event.kind} {event.node}",
                    annotation_font_size=10,
                )


def dressed(figure: go.Figure, title: str, x: str, y: str) -> go.Figure:
    """The figure with title and axes as all figures of netkv have them."""
    figure.update_layout(
        title=title,
        template="plotly_white",
        height=380,
        margin={"l": 70, "r": 20, "t": 50, "b": 50},
        legend={"orientation": "h", "y": 1.12, "x": 1, "xanchor": "right"},
        showlegend=True,
        barmode="group",
    )
    figure.update_xaxes(title=x)
    figure.update_yaxes(title=y, rangemode="tozero")
    return figure


def _column(run: RunRecord, name: str) -> list[Any]:
    return run.series.get(name, [])


def _colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


def _row_label(scheme: str, settings: dict[str, Any]) -> str:
    return f"{scheme} {text.params(settings)}".strip()
