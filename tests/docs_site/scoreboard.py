"""The page with the papers' figures beside netkv's.

It has the tables of the evaluation documents, and the ledger of each paper: all that it states, and
what shows it.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from netkv import evaluation
from netkv.evaluation import Evaluation, document, scores
from netkv.evaluation.ledger import Entry
from netkv.evaluation.scores import MOVED, Count, Scores
from netkv.evaluation.words import NEAR
from tests.docs.documents import ROOT
from tests.docs_site.links import anchor
from tests.docs_site.markdown import escaped, table


def markdown() -> str:
    """The page, made of the documents as they are."""
    percent = f"{NEAR:.0%}"
    overview: list[tuple[str, ...]] = []
    stated: list[tuple[str, ...]] = []
    sections: list[str] = []
    total = Scores()
    for name in evaluation.names():
        paper = evaluation.load(name)
        file = ROOT / "docs" / paper.document
        known = {each.name: each for each in paper.experiments}
        # A document may have tables of measurements that are no repetition.
        found = document.bodies(file.read_text())
        bodies = {name: body for name, body in found.items() if name in known}
        by_name = scores.of_paper(paper, ROOT / "docs" / "evaluation")
        own = scores.total(paper, by_name)
        total += own
        link = f"../{paper.document}"
        title = _title(file)
        overview.append((f"[{title}](#{anchor(title)})", *scores.texts(own)))
        stated.append((f"[{title}](#{anchor(_ledger_heading(name))})", *_counts(paper)))
        sections.append(
            f"## {title}\n\n{paper.paper}. Reasons and constants: [{file.name}]({link}).\n"
        )
        sections.append(_ledger(name, paper, bodies))
        for experiment, body in bodies.items():
            about = known[experiment]
            text = f"{about.title} ({about.source})."
            if about.variant or about.control:
                text += " Not counted."
            text += _near(by_name[experiment].by_seed.figures, percent)
            text += _near(by_name[experiment].published.figures, percent, ", as published")
            sections.append(f"### {experiment}\n\n{text}\n{body}")
    overview.append(("**all**", *scores.texts(total)))
    return (
        "# The papers' figures beside netkv's\n\n"
        "This page gathers the tables of the evaluation documents. The overview counts the rows "
        f"that have a number of a paper (or of its artefact), and those within {percent} of it: by "
        "seed, as the paper has measured where an experiment was run so, and like with like: as "
        "published where it was, else by seed. 'Direction only' are ratios that are farther, but "
        'on the paper\'s side of 1. Words ("falls", "about equal") are claims, too. The control '
        f"counts the rows that would be near if the papers' figures were {MOVED - 1:.0%} larger. "
        "Experiments that show what a constant does are not counted, and the tables say which "
        "rows are no predictions.\n\n"
        + table(["evaluation", *scores.HEADINGS], overview)
        + "A ledger lists every figure, table and quantified statement of a paper, with what shows "
        "it: rows of an experiment, a command or document without rows, or nothing, and why.\n\n"
        + table(["ledger", "stated", "shown by rows", "elsewhere", "not shown"], stated)
        + "\n".join(sections)
    )


def _ledger_heading(name: str) -> str:
    return f"Ledger of {name}"


def _counts(paper: Evaluation) -> tuple[str, ...]:
    """Entries in all, those with experiments, those with something else, and those without."""
    shown = sum(it.shown_by is not None for it in paper.ledger)
    elsewhere = sum(it.elsewhere is not None for it in paper.ledger)
    missing = len(paper.ledger) - shown - elsewhere
    return f"{len(paper.ledger)}", f"{shown}", f"{elsewhere}", f"{missing}"


def _ledger(name: str, paper: Evaluation, tables: Collection[str]) -> str:
    """All entries; `tables` are the experiments that have a section of the page."""
    rows = [
        (
            escaped(f"**{it.source}**" if it.headline else it.source),
            escaped(it.says),
            escaped(_shown(it, tables)),
        )
        for it in paper.ledger
    ]
    about = "What abstract, introduction and conclusion state as a main result is bold."
    lines = table(["where", "the paper states", "shown by"], rows).rstrip()
    return f"### {_ledger_heading(name)}\n\n{about}\n\n{lines}\n"


def _shown(entry: Entry, tables: Collection[str]) -> str:
    if entry.shown_by is not None:
        names = (f"[{it}](#{anchor(it)})" if it in tables else it for it in entry.shown_by)
        shown = ", ".join(names)
    elif entry.elsewhere is not None:
        shown = _elsewhere(entry.elsewhere)
    else:
        shown = f"not shown: {entry.missing}"
    return f"{shown}. {entry.note}" if entry.note else shown


def _elsewhere(where: str) -> str:
    """A command, or a link to a document."""
    if not where.startswith("docs/"):
        return f"`{where}`"
    name = where.partition("#")[0].rpartition("/")[2]
    return f"[{name}](../{where.removeprefix('docs/')})"


def _near(count: Count, percent: str, how: str = "") -> str:
    if not count.rows:
        return ""
    return f" {count.near} of {count.rows} rows are within {percent}{how}."


def _title(file: Path) -> str:
    return file.read_text().split("\n", 1)[0].removeprefix("# ")
