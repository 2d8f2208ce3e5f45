"""A self-contained HTML page of runs, with figures and tables."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence

from netkv import resources
from netkv.report import columns, recoveries, text
from netkv.report.figure import Figure
from netkv.report.interactive import plotly
from netkv.report.plots import defined_and_usual
from netkv.report.tables import ratio_heading
from netkv.runs.compare import ComparedRow, Comparison, compare
from netkv.runs.records import RunRecord

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1c2330;
  max-width: 90rem; margin: 2rem auto; padding: 0 1rem; }
.table { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .8rem .3rem 0; text-align: right; border-bottom: 1px solid #dde1e8; }
th { vertical-align: bottom; }
td { white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
.missed { color: #b3261e; font-weight: 600; }
.plotly-graph-div { margin-bottom: 1.5rem; }
pre { background: #f4f5f8; padding: 1rem; overflow: auto; }
"""

_RATIO = 4
"""Column of the ratio in the comparison: after the throughput."""


def render(records: Sequence[RunRecord]) -> str:
    """A page about runs. It contains the plotting library, so it needs no network."""
    compared = compare(records)
    drawn = defined_and_usual(records).figures
    title = ", ".join(dict.fromkeys(run.title or run.scenario for run in records))
    body = f"""{_comparison(compared)}
{_recoveries(compared)}
{_verdicts(records)}
{plots(drawn)}
<h2>Where these runs come from</h2>
<details><summary>Seeds, versions, machines and parameters of {_count(records)}</summary>
<pre>{html.escape(json.dumps([_origin(run) for run in records], indent=2))}</pre>
</details>"""
    return document(title, body)


def plots(drawn: Iterable[Figure]) -> str:
    """Figures as HTML for `document`."""
    return "\n".join(
        plotly(figure).to_html(
            full_html=False, include_plotlyjs=False, config={"displaylogo": False}
        )
        for figure in drawn
    )


def document(title: str, body: str) -> str:
    """A page that contains the plotting library and the style; `title` is plain text."""
    library = (resources.path("web") / "vendor" / "plotly-cartesian.min.js").read_text("utf-8")
    title = html.escape(title)
    # A script ends at the first "</script", even within a string literal.
    library = library.replace("</script", "<\\/script")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title} - netkv</title>
<style>{_STYLE}</style>
<script>{library}</script>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


def _comparison(compared: Comparison) -> str:
    shown = columns.of(compared.rows)
    header = ["scheme", "sweep point", "runs", *(each.heading for each in shown)]
    header.insert(_RATIO, ratio_heading(compared))
    note = f"<p>{html.escape(compared.note)}</p>" if compared.note else ""
    return table(header, [_row(row, shown) for row in compared.rows]) + note


def _recoveries(compared: Comparison) -> str:
    cells = recoveries.rows(compared)
    return table(recoveries.header(compared), cells) if cells else ""


def _row(row: ComparedRow, shown: Sequence[columns.Column]) -> list[str]:
    cells = [row.scheme, text.params({**row.params, **row.settings})]
    cells.append(str(len(row.runs) - row.failed - row.cancelled))
    for found in (each.cell(row) for each in shown):
        cells.append(f"{found.text} ± {found.spread}" if found.spread else found.text)
    cells.insert(_RATIO, text.spread(row.ratio, text.factor))
    return cells


def _verdicts(records: Sequence[RunRecord]) -> str:
    found = {(run.group, t.expr): t for run in records for t in run.thresholds}
    if not found:
        return ""
    rows = [[t.expr, "met" if t.ok else "MISSED", t.detail] for t in found.values()]
    return table(("expected", "verdict", "found"), rows)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows of plain text as HTML."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td{_mark(cell)}>{html.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    inside = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="table"><table>{inside}</table></div>'


def _count(records: Sequence[RunRecord]) -> str:
    return "1 run" if len(records) == 1 else f"{len(records)} runs"


def _mark(cell: str) -> str:
    return ' class="missed"' if cell == "MISSED" else ""


def _origin(run: RunRecord) -> dict[str, object]:
    return {
        "run": run.id,
        "started": text.moment(run.started_at),
        "seed": run.seed,
        "status": run.status,
        "reason": run.reason,
        **run.provenance.model_dump(mode="json"),
        "parameters": run.parameters,
    }
