"""Tables of runs and comparisons for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from netkv import schemes
from netkv.report import columns, recoveries, text, violations
from netkv.report.metrics import measure
from netkv.runs.compare import ComparedRow, Comparison
from netkv.runs.records import RunHead, RunRecord
from netkv.scenarios import values
from netkv.scenarios.results import Threshold
from netkv.schemes import metric_table

WIDE = 110
"""Width of a terminal, in characters, that a comparison needs."""
_LEFT_OUT = ("control_plane_mib_per_s",)
"""Metrics whose columns do not fit into a terminal."""
_BROKEN = {"predicted": "pre-\ndicted"}
"""Headings with line breaks, because they are wider than their values."""
_EVENT_STYLES = {
    "failed": "red",
    "killed": "red",
    "fault": "red",
    "recovered": "green",
    "healed": "green",
}
STATUS_STYLE = {"done": "green", "running": "cyan", "failed": "red", "cancelled": "dim"}


def comparison(compared: Comparison, title: str = "", *, narrow: bool = False) -> Table:
    """A line per scheme and sweep point: its metrics, and its ratio to the baseline.

    Heading and caption name the baseline. Without a sweep, a `narrow` table fits into 80 columns.
    """
    rows = compared.rows
    table = _table(title)
    table.caption = Text(compared.note) if compared.note else None
    table.padding = (0, 0) if narrow else (0, 2, 0, 0)
    table.add_column("scheme", no_wrap=True)
    params = any(row.params for row in rows)
    settings = list(dict.fromkeys(path for row in rows for path in row.settings))
    if params:
        table.add_column("sweep point")
    for path in settings:
        table.add_column(path)
    repeats = any(len(row.runs) > 1 for row in rows)
    if repeats:
        table.add_column("runs", justify="right")
    shown = [each for each in columns.of(rows) if each.metrics[0].name not in _LEFT_OUT]
    headings = [_BROKEN.get(each.heading, each.heading.replace(" ", "\n")) for each in shown]
    headings.insert(1, ratio_heading(compared, "\n"))
    for name in headings:
        table.add_column(name, justify="right", no_wrap=name.startswith(("ops/s", "ratio")))
    for row in rows:
        cells = [Text(row.scheme, style="bold")]
        if params:
            cells.append(Text(text.params(row.params)))
        cells += [Text(str(row.settings.get(path, text.NOTHING))) for path in settings]
        if repeats:
            cells.append(Text(_runs(row)))
        table.add_row(*cells, *_figures(row, shown))
    return table


def ratio_heading(compared: Comparison, between: str = " ") -> str:
    """Heading of the ratios: `ratio to SCHEME`, with `between` instead of the first space."""
    return f"ratio{between}to {compared.baseline}" if compared.baseline else "ratio"


def verdicts(thresholds: Sequence[Threshold]) -> Table:
    """The expectations of the scenario, and their verdicts."""
    table = _table("")
    table.add_column("expected")
    table.add_column("verdict")
    table.add_column("found")
    for each in thresholds:
        word = Text("met", style="green") if each.ok else Text("MISSED", style="bold red")
        table.add_row(Text(each.expr), word, Text(each.detail))
    return table


def run_list(heads: Sequence[RunHead]) -> Table:
    """Runs, a line each."""
    table = _table("")
    table.add_column("run", no_wrap=True)
    for name in ("group", "started", "scenario", "scheme", "sweep point", "status"):
        table.add_column(name)
    for name in ("ops/s", "p99", "hit ratio"):
        table.add_column(name, justify="right")
    remarked = any(head.tags or head.pinned for head in heads)
    if remarked:
        table.add_column("tags")
    for head in heads:
        table.add_row(
            head.id,
            head.group,
            text.moment(head.started_at),
            head.scenario,
            head.scheme,
            text.params(head.params) or text.NOTHING,
            _status(head),
            text.rate(head.throughput_ops) if head.throughput_ops else text.NOTHING,
            text.latency(head.latency_us.p99),
            _hits(head),
            *([_tags(head)] if remarked else []),
        )
    return table


def _tags(run: RunHead) -> Text:
    """`pinned`, if it is, and the tags."""
    parts = [Text("pinned", style="bold")] if run.pinned else []
    return Text(", ").join([*parts, *map(Text, run.tags)])


def _hits(run: RunHead) -> str:
    return text.share(run.hit_ratio if metric_table.is_shown("hit_ratio", run.scheme) else None)


def run_details(run: RunRecord) -> Table:
    """One run, a line per figure."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    latency = run.latency_us
    wrong = run.linearizable is False
    lines: list[tuple[str, str | Text]] = [
        ("run", f"{run.id} (group {run.group})"),
        ("scenario", f"{run.scenario}: {run.title}" if run.title else run.scenario),
        ("scheme", run.scheme),
        ("sweep point", text.params(run.params)),
        ("status", _status(run)),
        ("reason", run.reason or ""),
        ("tags", _tags(run)),
        ("note", Text(run.note)),
        ("started", text.moment(run.started_at)),
        ("measured", f"{text.duration(run.duration)} after {text.duration(run.warmup)} of warm-up"),
        ("seed", f"{run.seed} (repeat {run.repeat + 1}), {run.mode} on {run.target}"),
        ("throughput", f"{text.rate(run.throughput_ops)} ops/s, {run.completed_ops:,} operations"),
        (
            "latency",
            f"mean {text.latency(latency.mean)}, p50 {text.latency(latency.p50)}, "
            f"p95 {text.latency(latency.p95)}, p99 {text.latency(latency.p99)}, "
            f"p99.9 {text.latency(latency.p999)}",
        ),
        (
            "hit ratio",
            f"{_hits(run)} (predicted {text.share(run.predicted_hit_ratio)})",
        ),
        ("server load", ", ".join(text.rate(load) for load in run.server_load) + " ops/s"),
        ("load max/mean", text.number(values.of_run(metric_table.get("load_imbalance"), run))),
        ("lost", f"{run.lost_ops:,} operations, {run.retries:,} retries"),
        _of_scheme(run),
        (
            "consistency",
            f"{text.count(run.acked_writes_lost)} acknowledged writes lost, "
            f"{run.stale_reads:,} stale reads, {run.phantom_reads:,} phantom reads",
        ),
        ("history", Text(violations.summary(run), style="bold red" if wrong else "")),
        ("control plane", _control_plane(run)),
        ("recovery", ", ".join(text.seconds(each.seconds) for each in run.recoveries)),
        ("unfinished", Text(recoveries.unfinished(run), style="bold yellow")),
        ("program", f"{run.provenance.program} {run.provenance.program_hash[:12]}"),
        ("netkv", f"{run.provenance.netkv_version} {run.provenance.source_revision or ''}"),
    ]
    for name, value in lines:
        if value:
            table.add_row(name, value)
    return table


def events(run: RunRecord) -> Table:
    """The events of a run, in order."""
    table = _table("")
    table.add_column("at", justify="right")
    table.add_column("what")
    table.add_column("node")
    table.add_column("")
    for event in run.events:
        style = _EVENT_STYLES.get(event.kind, "")
        table.add_row(f"{event.time:.1f} s", Text(event.kind, style=style), event.node, event.text)
    return table


def _of_scheme(run: RunRecord) -> tuple[str, str]:
    """The scheme and the values of its own metrics, without absent ones."""
    scheme = {each.name: each for each in schemes.all_schemes()}.get(run.scheme)
    if scheme is None:
        return "", ""
    parts = []
    for metric in scheme.metrics:
        value = values.of_run(metric, run)
        if metric.of_runs and value is not None and value != metric.absent:
            show = text.show(metric.unit, whole=metric.is_count)
            unit = measure(metric.name).unit if show in (text.count, text.number, text.rate) else ""
            parts.append(f"{metric.label.lower()} {show(value)} {unit}".rstrip())
    return scheme.about.title, ", ".join(parts)


def _table(title: str) -> Table:
    return Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
    )


def _control_plane(run: RunRecord) -> str:
    by_switch = run.control_plane_mib_per_s_by_switch
    each = ", ".join(f"{name} {text.bandwidth(rate)}" for name, rate in by_switch.items())
    whole = text.bandwidth(run.control_plane_mib_per_s)
    parts = [f"{whole} ({each})" if len(by_switch) > 1 else whole]
    for count, what in ((run.control_dropped, "messages"), (run.reports_dropped, "hot reports")):
        if count:
            parts.append(f"{count:,} {what} dropped")
    return ", ".join(parts)


def _status(head: RunHead) -> Text:
    return Text(head.status, style=STATUS_STYLE[head.status])


def _runs(row: ComparedRow) -> str:
    good, count = len(row.runs) - row.failed - row.cancelled, len(row.runs)
    return f"{good}" if good == count else f"{good} of {count}"


def _figures(row: ComparedRow, shown: Sequence[columns.Column]) -> list[Text]:
    cells = []
    for cell in (each.cell(row) for each in shown):
        # The half width of the confidence interval is on the line below the mean.
        found = Text(f"{cell.text}\n± {cell.spread}" if cell.spread else cell.text)
        if cell.nonzero and cell.metric.repeats == "sum":
            found.stylize("bold red" if cell.metric.sense == "zero" else "yellow")
        cells.append(found)
    relation = Text(text.spread(row.ratio, text.factor).replace(" ±", "\n±"))
    if row.ratio is not None and not row.baseline:
        relation.stylize("bold green" if row.ratio.mean >= 1 else "bold yellow")
    cells.insert(1, relation)
    if row.failed + row.cancelled == len(row.runs):
        cells[0] = (
            Text("failed", style="bold red") if row.failed else Text("cancelled", style="dim")
        )
    return cells
