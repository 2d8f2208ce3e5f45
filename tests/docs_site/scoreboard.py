"""The page with the papers' figures beside netkv's: the tables of the evaluation documents."""

from __future__ import annotations

from pathlib import Path

from netkv import evaluation
from netkv.evaluation import document
from netkv.evaluation.scores import NEAR, Score, Scores, of_paper
from tests.docs.documents import ROOT
from tests.docs_site.links import anchor
from tests.docs_site.markdown import table


def markdown() -> str:
    """The page, made of the documents as they are."""
    percent = f"{NEAR:.0%}"
    overview: list[tuple[str, ...]] = []
    sections: list[str] = []
    total = Scores()
    for name in evaluation.names():
        paper = evaluation.load(name)
        file = ROOT / "docs" / paper.document
        known = {each.name: each for each in paper.experiments}
        # A document may have tables of measurements that are no repetition.
        found = document.bodies(file.read_text())
        bodies = {name: body for name, body in found.items() if name in known}
        scores = of_paper(paper, ROOT / "docs" / "evaluation")
        own = sum(scores.values(), Scores())
        total += own
        link = f"../{paper.document}"
        title = _title(file)
        overview.append((f"[{title}](#{anchor(title)})", *_cells(own)))
        sections.append(
            f"## {title}\n\n{paper.paper}. Reasons and constants: [{file.name}]({link}).\n"
        )
        for experiment, body in bodies.items():
            about = known[experiment]
            text = f"{about.title} ({about.source})."
            text += _near(scores[experiment].by_seed, percent)
            text += _near(scores[experiment].published, percent, ", as published")
            sections.append(f"### {experiment}\n\n{text}\n{body}")
    overview.append(("**all**", *_cells(total)))
    head = ("rows compared", f"within {percent}", "share")
    return (
        "# The papers' figures beside netkv's\n\n"
        "This page gathers the tables of the evaluation documents, with the number of rows that "
        f"have a figure of a paper (or of its artefact) and the number of those within {percent} "
        "of it. Rows that depend on a fitted constant and variants of an experiment are counted "
        "like the others; the documents say which they are. A difference beyond "
        f"{percent} is bold.\n\n"
        + table(["evaluation", *head, *(f"{each}, as published" for each in head)], overview)
        + "\n".join(sections)
    )


def _near(score: Score, percent: str, how: str = "") -> str:
    if not score.rows:
        return ""
    return f" {score.near} of {score.rows} rows are within {percent}{how}."


def _cells(of: Scores) -> tuple[str, ...]:
    return tuple(
        cell
        for score in (of.by_seed, of.published)
        for cell in (
            *((f"{score.rows}", f"{score.near}") if score.rows else ("", "")),
            "" if score.share is None else f"{score.share:.0%}",
        )
    )


def _title(file: Path) -> str:
    return file.read_text().split("\n", 1)[0].removeprefix("# ")
