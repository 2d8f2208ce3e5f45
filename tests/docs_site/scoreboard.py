"""The page with the papers' figures beside netkv's: the tables of the evaluation documents."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from netkv import evaluation
from netkv.evaluation import document
from tests.docs.documents import ROOT
from tests.docs_site.links import anchor
from tests.docs_site.markdown import table


@dataclass(frozen=True)
class Score:
    """How many rows have a figure of the paper, and how many of these are near it."""

    rows: int
    near: int

    def __add__(self, other: Score) -> Score:
        return Score(self.rows + other.rows, self.near + other.near)


def score(body: str) -> Score:
    """The score of a table of an evaluation document."""
    lines = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in _rows(body)]
    head = lines[0]
    cells = [line[head.index("difference")] for line in lines[2:]]
    compared = [cell for cell in cells if cell]
    return Score(len(compared), sum("**" not in cell for cell in compared))


def _rows(body: str) -> list[str]:
    return [line for line in body.splitlines() if line.startswith("|")]


def markdown() -> str:
    """The page, made of the documents as they are."""
    percent = f"{document.FAR:.0%}"
    overview: list[tuple[str, ...]] = []
    sections: list[str] = []
    total = Score(0, 0)
    for name in evaluation.names():
        paper = evaluation.load(name)
        file = ROOT / "docs" / paper.document
        known = {each.name: each for each in paper.experiments}
        # A document may have tables of measurements that are no repetition.
        found = document.bodies(file.read_text())
        bodies = {name: body for name, body in found.items() if name in known}
        scores = {name: score(body) for name, body in bodies.items()}
        own = sum(scores.values(), Score(0, 0))
        total += own
        link = f"../{paper.document}"
        title = _title(file)
        overview.append((f"[{title}](#{anchor(title)})", *_cells(own)))
        sections.append(
            f"## {title}\n\n{paper.paper}. Reasons and constants: [{file.name}]({link}).\n"
        )
        for experiment, body in bodies.items():
            about = known[experiment]
            near = scores[experiment]
            text = f"{about.title} ({about.source})."
            if near.rows:
                text += f" {near.near} of {near.rows} rows are within {percent}."
            sections.append(f"### {experiment}\n\n{text}\n{body}")
    overview.append(("**all**", *_cells(total)))
    return (
        "# The papers' figures beside netkv's\n\n"
        "This page gathers the tables of the evaluation documents, with the number of rows that "
        f"have a figure of a paper (or of its artefact) and the number of those within {percent} "
        "of it. Rows that depend on a fitted constant and variants of an experiment are counted "
        "like the others; the documents say which they are. A difference beyond "
        f"{percent} is bold.\n\n"
        + table(["evaluation", "rows compared", f"within {percent}", "share"], overview)
        + "\n".join(sections)
    )


def _cells(of: Score) -> tuple[str, str, str]:
    return f"{of.rows}", f"{of.near}", f"{of.near / of.rows:.0%}" if of.rows else ""


def _title(file: Path) -> str:
    return file.read_text().split("\n", 1)[0].removeprefix("# ")
