"""The report on a reproduction of papers: one HTML page, and a folder with each of its figures.

The page needs nothing besides itself: figures are in it as SVG. `figures/` has each of them as SVG,
PDF, CSV and LaTeX, `data/` the rows of each experiment as CSV.
"""

from __future__ import annotations

import base64
import csv
import html
import io
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from netkv import __version__
from netkv.errors import NetkvError
from netkv.evaluation import scores, switch_resources, table
from netkv.evaluation.constant_values import HEADINGS, Values
from netkv.evaluation.reference import Evaluation, Experiment
from netkv.evaluation.rows import CONFIDENCE, Row
from netkv.evaluation.scores import MOVED, Scores
from netkv.evaluation.selection import Chosen
from netkv.evaluation.table import Cell
from netkv.evaluation.words import NEAR
from netkv.report import figure_table, papers, text
from netkv.report import switch_resources as report_resources
from netkv.report.figure import Figure
from netkv.runs import walltime
from netkv.scenarios import loader

Found: TypeAlias = Sequence[tuple[Chosen, list[Row]]]
"""Experiments with their rows."""

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1c2330; background: #fff;
  max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { line-height: 1.2; } h2 { margin-top: 3rem; border-bottom: 2px solid #1c2330; }
h3 { margin-top: 2.5rem; }
.table { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .9rem .25rem 0; text-align: right; border-bottom: 1px solid #dde1e8;
  vertical-align: top; }
th:first-child, td:first-child, .words td, .words th { text-align: left; }
.near { color: #1b6e3c; } .direction { color: #8a5a00; } .differs { color: #b3261e; }
.setup { background: #f4f5f8; padding: .6rem 1rem; margin: .5rem 0; }
.setup p { margin: 0; } code { font-size: .9em; }
.figures { display: flex; flex-wrap: wrap; gap: 1rem; } .figures img { max-width: 100%; }
.hint { color: #5a6272; }
"""

_MEANS = (
    f"Means over seeds are geometric, the centre of the interval (arithmetic where a value is not "
    f"positive); a mean over the points of a sweep is arithmetic, taken seed by seed. The interval "
    f"is where one further seed is expected with a probability of {CONFIDENCE:.0%}: a prediction "
    f"interval on logarithms with Student's t. A ratio is taken seed by seed. A figure is near the "
    f"paper's within {NEAR:.0%}; 'direction only' is a ratio that is farther, but on the same side "
    f"of 1. 'Like with like' counts the runs in the way the paper has measured, where there are "
    f"such, else those by seed; 'predicted' leaves out figures that constants were calibrated on "
    f"or that the set-up fixes. The control counts the rows that would be near if the papers' "
    f"figures were {MOVED - 1:.0%} larger: agreement is worth something only if it is small."
)


def write(directory: Path, found: Found) -> Path:
    """Writes the report into a directory, which it creates; returns the page.

    Raises `NetkvError` if that is impossible.
    """
    figures = {
        each.experiment.name: papers.figures(each.experiment, rows, measured_only=True)
        for each, rows in found
    }
    page = directory / "index.html"
    files: dict[str, bytes] = {"index.html": _page(found, figures).encode()}
    for each, rows in found:
        files[f"data/{each.experiment.name}.csv"] = _csv(rows).encode()
        for figure in figures[each.experiment.name]:
            files |= {f"figures/{name}": data for name, data in _files(figure).items()}
    try:
        for name, data in files.items():
            file = directory / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    except OSError as error:
        raise NetkvError(f"{file} cannot be written: {error.strerror or error}.") from error
    return page


def _files(figure: Figure) -> dict[str, bytes]:
    from netkv.report.drawing import draw

    return {
        f"{figure.name}.svg": draw([figure], "svg"),
        f"{figure.name}.pdf": draw([figure], "pdf"),
        f"{figure.name}.csv": figure_table.to_csv(figure).encode(),
        f"{figure.name}.tex": figure_table.to_latex(figure).encode(),
    }


def _page(found: Found, figures: Mapping[str, Sequence[Figure]]) -> str:
    by_paper: dict[str, list[tuple[Chosen, list[Row]]]] = {}
    for each, rows in found:
        by_paper.setdefault(each.paper, []).append((each, rows))
    parts = [
        "<h1>The papers' figures beside netkv's</h1>",
        f'<p class="hint">netkv {html.escape(__version__)}.</p>',
        _scoreboard(by_paper),
        _headlines(found),
        f"<h2>How to read this</h2><p>{html.escape(_MEANS)}</p>",
    ]
    for name, own in by_paper.items():
        evaluation = own[0][0].evaluation
        parts.append(f"<h2 id='{html.escape(name)}'>{html.escape(evaluation.paper)}</h2>")
        parts += [
            _experiment(each, rows, figures[each.experiment.name], evaluation) for each, rows in own
        ]
        parts += _resources(name)
        parts += _constants(evaluation)
        parts.append(_ledger(evaluation, {each.experiment.name for each, _ in own}))
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>The papers' figures - netkv</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _scoreboard(by_paper: Mapping[str, Found]) -> str:
    total = Scores()
    lines = []
    for name, own in by_paper.items():
        counted = [
            scores.of_rows(rows)
            for each, rows in own
            if not (each.experiment.variant or each.experiment.control)
        ]
        of = sum(counted, Scores())
        total += of
        link = _link(name)
        lines.append([link, *scores.texts(of)])
    lines.append(["<b>all</b>", *scores.texts(total)])
    head = ["", *scores.HEADINGS]
    return f"<h2>Scoreboard</h2>{_table(head, lines)}"


def _headlines(found: Found) -> str:
    lines = [
        [
            html.escape(each.paper),
            *_cells(row)[:4],
            _cell(table.verdict(row, row.alike)),
            _link(each.experiment.name),
        ]
        for each, rows in found
        for row in rows
        if row.claim.headline and row.reported is not None
    ]
    if not lines:
        return ""
    head = ["", "claim", "at", "paper", "netkv", "", "experiment"]
    return f"<h2>Headline claims</h2>{_table(head, lines)}"


def _cells(row: Row) -> list[str]:
    """Claim, point, the paper's figure, and netkv's like with like."""
    found = row.measured if row.published is None else row.published
    digits = row.claim.digits
    reported = table.reported(row.reported, digits)
    if not reported and row.listed is not None:
        reported = f"{row.listed:,.{digits}f} (artefact)"
    return [
        html.escape(row.claim.name),
        "" if row.point is None else html.escape(f"{row.point}"),
        html.escape(reported),
        f"{found.mean:,.{digits}f}",
    ]


def _cell(cell: Cell) -> str:
    said = html.escape(cell.rendered())
    if cell.judged is None:
        return said
    if cell.judged.verdict == "direction":
        said += ", direction only"
    agrees = {True: "near", False: "differs", None: ""}[cell.agrees]
    return f'<span class="{cell.judged.verdict or agrees}">{said}</span>'


def _experiment(
    each: Chosen, rows: Sequence[Row], figures: Sequence[Figure], evaluation: Evaluation
) -> str:
    own = each.experiment
    head, lines = table.of_rows(rows)
    images = "".join(_image(figure) for figure in figures)
    remark = " A negative control: it must differ." if own.control else ""
    remark += " What a constant does; not counted." if own.variant else ""
    return (
        f"<h3 id='{html.escape(own.name)}'>{html.escape(own.title)}</h3>"
        f'<p class="hint">{html.escape(own.source)}.{html.escape(remark)}</p>'
        f'<div class="setup">{_setup(each, rows)}</div>'
        f'<div class="figures">{images}</div>'
        f"{_table(head, [[_cell(cell) for cell in line] for line in lines])}"
        f"{_causes(rows)}"
        f'<p class="hint">More about it: docs/{html.escape(evaluation.document)}.</p>'
    )


def _resources(paper: str) -> Iterator[str]:
    """What the programs take of a switch, beside the paper's tables."""
    for source in switch_resources.sources():
        if paper in source.papers:
            yield "<h3>What the programs take of a switch</h3>"
            yield f'<p class="hint">{html.escape(source.source)}. {html.escape(source.sizes)}</p>'
            for of in report_resources.comparisons(source):
                lines = [[html.escape(cell) for cell in line] for line in of.lines]
                yield _table(of.head, lines, words=True)


def _constants(evaluation: Evaluation) -> Iterator[str]:
    """What the numbers of its experiments rest on."""
    if evaluation.constants:
        yield "<h3>Constants</h3>"
        lines = Values(evaluation).table()
        cells = [[html.escape(cell.replace("`", "")) for cell in line] for line in lines]
        yield _table(HEADINGS, cells, words=True)


def _ledger(evaluation: Evaluation, shown: Collection[str]) -> str:
    """Everything that the paper states, and where it is or why not; `shown`: on this page."""
    lines = []
    for entry in evaluation.ledger:
        if entry.shown_by is not None:
            where = ", ".join(
                _link(name) if name in shown else html.escape(name) for name in entry.shown_by
            )
        elif entry.elsewhere is not None:
            where = f"<code>{html.escape(entry.elsewhere)}</code>"
        else:
            where = f"not shown: {html.escape(entry.missing or '')}"
        note = f" {html.escape(entry.note)}" if entry.note else ""
        lines.append([html.escape(entry.source), html.escape(entry.says), f"{where}.{note}"])
    if not lines:
        return ""
    head = ["where", "the paper states", "shown by"]
    return f"<h3>All that the paper states</h3>{_table(head, lines, words=True)}"


def _causes(rows: Sequence[Row]) -> str:
    found = dict.fromkeys(
        (row.claim.name, row.claim.cause, row.claim.cause_shown_by)
        for row in rows
        if row.claim.cause is not None
    )
    return "".join(
        f"<p><b>{html.escape(name)}:</b> {html.escape(cause or '')}"
        + (f" Shown by <code>{html.escape(shown)}</code>." if shown else "")
        + "</p>"
        for name, cause, shown in found
    )


def setup(own: Experiment) -> list[str]:
    """The set-up of an experiment in five lines."""
    scenario = loader.load(loader.find(own.scenario), list(own.changes))
    load = scenario.workload.model_dump(mode="json", exclude_defaults=True)
    lab = scenario.lab.model_dump(mode="json", exclude_defaults=True)
    sweep = ", ".join(f"{path} {values}" for path, values in scenario.sweep.items()) or "none"
    seconds = walltime.of_scenario(scenario, walltime.History(()), 1)
    return [
        f"Scenario {own.scenario}: {', '.join(scenario.schemes)}; "
        f"{'virtual time' if scenario.mode == 'sim' else 'this machine'}.",
        f"Rack: {_options(lab)}.",
        f"Load: {_options(load)}.",
        f"Sweep: {sweep}.",
        f"{scenario.warmup:g} s of warm-up, {scenario.duration:g} s measured; {seconds.runs} runs "
        f"for each seed, estimated at {text.duration(seconds.wall_seconds)} of a core.",
    ]


def _options(found: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in found.items()) or "defaults"


def _setup(each: Chosen, rows: Sequence[Row]) -> str:
    seeds = max((row.measured.seeds for row in rows), default=0)
    lines = [*setup(each.experiment), f"{seeds} seeds: {each.command}"]
    return "".join(f"<p>{html.escape(line)}</p>" for line in lines)


def _image(figure: Figure) -> str:
    from netkv.report.drawing import draw

    data = base64.b64encode(draw([figure], "svg")).decode()
    alt = html.escape(f"{figure.title} over {figure.x.label}", quote=True)
    return f'<img alt="{alt}" src="data:image/svg+xml;base64,{data}">'


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], *, words: bool = False) -> str:
    """Cells are HTML; `words`: they are texts and not numbers."""
    heads = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    kind = ' class="words"' if words else ""
    return (
        f'<div class="table"><table{kind}><thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _csv(rows: Sequence[Row]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    head = ["quantity", "at", "paper", "artefact", "kind"]
    spread = ["mean", "low", "high", "seeds", "difference", "verdict", "holds"]
    writer.writerow([*head, *spread, *(f"{name}_as_published" for name in spread)])
    for row in rows:
        reported = row.reported if isinstance(row.reported, str | float | int) else None
        if isinstance(row.reported, tuple):
            reported = f"{row.reported[0]} to {row.reported[1]}"
        cells = [row.claim.name, row.point, reported, row.listed, row.alike.kind]
        for found, judged in ((row.measured, row.by_seed), (row.published, row.as_published)):
            if found is None:
                cells += [None] * len(spread)
            else:
                cells += [found.mean, found.low, found.high, found.seeds]
                cells += [judged.difference, judged.verdict, judged.holds]
        writer.writerow(["" if cell is None else cell for cell in cells])
    return out.getvalue()


def _link(name: str) -> str:
    return f"<a href='#{html.escape(name)}'>{html.escape(name)}</a>"
