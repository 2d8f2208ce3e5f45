"""The ledgers of the papers: complete, and each entry leads to what it names."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

import pytest

from netkv import evaluation
from netkv.errors import UsageError
from netkv.evaluation import Evaluation
from netkv.evaluation.ledger import Entry
from tests.docs.documents import ROOT
from tests.docs.test_shell_examples import check
from tests.docs_site.links import headings

EVALUATIONS = {name: evaluation.load(name) for name in evaluation.names()}
PLACES = re.compile(
    r"(?P<kind>figure|table)s? (?P<first>\d+|[IVX]+)(?:\([a-z]\))?"
    r"(?: (?P<word>to|and) (?P<last>\d+|[IVX]+)(?:\([a-z]\))?)?"
)
ROMAN = {"I": 1, "V": 5, "X": 10}
OVERALL = {"abstract", "introduction", "conclusion"}
OWN = ("what ", "not in ", "negative control ")
"""How the source of an experiment begins that repeats nothing of a paper."""


def number(text: str) -> int:
    """A decimal or Roman number."""
    if text.isdigit():
        return int(text)
    values = [ROMAN[letter] for letter in text]
    following = [*values[1:], 0]
    return sum(-it if it < after else it for it, after in zip(values, following, strict=True))


def named(source: str) -> set[tuple[str, int]]:
    """The figures and tables that the source of an entry names."""
    found = PLACES.fullmatch(source)
    if found is None:
        return set()
    first = number(found["first"])
    last = first if found["last"] is None else number(found["last"])
    numbers = {first, last} if found["word"] == "and" else set(range(first, last + 1))
    return {(found["kind"], each) for each in numbers}


def papers() -> Mapping[str, list[Evaluation]]:
    """The evaluations of each paper."""
    found = defaultdict(list)
    for each in EVALUATIONS.values():
        found[each.paper].append(each)
    return found


def entries() -> Iterator[tuple[str, Entry]]:
    """All entries, with the names of their evaluations."""
    for name, each in EVALUATIONS.items():
        for entry in each.ledger:
            yield name, entry


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("figure 8", {("figure", 8)}),
        ("figure 4(a)", {("figure", 4)}),
        ("figures 1 to 3", {("figure", 1), ("figure", 2), ("figure", 3)}),
        ("figures 7 and 9", {("figure", 7), ("figure", 9)}),
        ("table II", {("table", 2)}),
        ("tables IV to VI", {("table", 4), ("table", 5), ("table", 6)}),
        ("V-B", set()),
    ],
)
def test_figures_and_tables_of_a_source(source: str, expected: set[tuple[str, int]]) -> None:
    assert named(source) == expected


@pytest.mark.parametrize("paper", papers())
def test_every_figure_and_table_of_a_paper_has_an_entry(paper: str) -> None:
    files = papers()[paper]
    (figures,) = {each.figures for each in files} - {None}
    (tables,) = {each.tables for each in files} - {None}
    assert figures is not None
    assert tables is not None
    wanted = {("figure", each) for each in range(1, figures + 1)}
    wanted |= {("table", each) for each in range(1, tables + 1)}
    assert set().union(*(named(entry.source) for it in files for entry in it.ledger)) == wanted


def test_every_source_that_names_a_figure_or_table_is_understood() -> None:
    looks = re.compile(r"\b(figure|table)", re.IGNORECASE)
    unclear = [it.source for _, it in entries() if looks.search(it.source) and not named(it.source)]
    assert unclear == []


@pytest.mark.parametrize("paper", papers())
def test_abstract_and_conclusion_are_headlines(paper: str) -> None:
    """An introduction also has figures of other papers."""
    ledger = [entry for each in papers()[paper] for entry in each.ledger]
    assert {"abstract", "conclusion"} <= {it.source for it in ledger if it.headline}
    assert {it.source for it in ledger if it.headline} <= OVERALL
    assert all(it.headline for it in ledger if it.source in {"abstract", "conclusion"})


@pytest.mark.parametrize("name", EVALUATIONS)
def test_every_experiment_is_named_by_an_entry(name: str) -> None:
    """Unless it is a variant that shows what a constant does, or not of the paper."""
    found = EVALUATIONS[name]
    shown = set(chain.from_iterable(entry.shown_by or [] for entry in found.ledger))
    ours = {each.name for each in found.experiments if each.source.startswith(OWN)}
    assert {each.name for each in found.experiments} - shown <= ours


def mentioned(entry: Entry) -> list[str]:
    """Commands and documents that an entry names: its own, and those within sentences."""
    within = [
        found
        for text in (entry.missing, entry.note)
        for found in re.findall(r"'(netkv [^']+)'|\b(docs/[\w/.-]+\.md)", text or "")
    ]
    return [*([entry.elsewhere] if entry.elsewhere else []), *map("".join, within)]


@pytest.mark.parametrize("text", sorted({it for _, entry in entries() for it in mentioned(entry)}))
def test_commands_and_documents_of_entries_exist(text: str, tmp_path: Path) -> None:
    words = shlex.split(text)
    if words[0] == "netkv":
        check(words, tmp_path)
        assert all((ROOT / word).is_file() for word in words if word.endswith(".p4"))
        return
    (document,) = words
    path, _, heading = document.partition("#")
    assert path.startswith("docs/")
    assert (ROOT / path).is_file()
    assert not heading or heading in headings(ROOT / path)


FILE = """
paper: Ours
document: schemes/ours.md
experiments:
  - name: ours-skew
    title: Skew
    source: figure 1
    scenario: quickstart
    claims: [{name: gain, quantity: netcache.throughput_ops / nocache.throughput_ops}]
ledger:
  - {source: figure 1, says: it gains, shown_by: [ours-skew]}
  - {source: figure 2, says: it is fast, WHERE}
"""


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ("note: later", "'ledger.1': 'figure 2' has none of these; an entry has exactly one of"),
        (
            "missing: no time, elsewhere: docs/README.md",
            "'figure 2' has elsewhere and missing; an entry has exactly one of "
            "shown_by, elsewhere, missing.",
        ),
        ("shown_by: []", "'ledger.1.shown_by': "),
        ("missing: ''", "'ledger.1.missing': "),
        (
            "shown_by: [ours-skw]",
            "ledger, 'figure 2': There is no experiment 'ours-skw'.\n  Did you mean 'ours-skew'?",
        ),
    ],
)
def test_wrong_entry_is_refused_with_a_sentence(where: str, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "ours.yaml"
    file.write_text(FILE.replace("WHERE", where))
    with pytest.raises(UsageError) as caught:
        evaluation.load(str(file))
    assert str(caught.value).startswith(f"{file}: ")
    assert sentence in str(caught.value)


def test_cause_that_nothing_shows_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "ours.yaml"
    text = FILE.partition("ledger:")[0]
    claim = "nocache.throughput_ops, cause: It is slow., cause_shown_by: WHERE}"
    text = text.replace("nocache.throughput_ops}", claim)
    for known in ("ours-skew", "netkv bench rocksdb"):
        file.write_text(text.replace("WHERE", known))
        assert evaluation.load(str(file)).experiments
    file.write_text(text.replace("WHERE", "ours-skw"))
    with pytest.raises(UsageError, match="'ours-skew', cause: There is no experiment 'ours-skw'"):
        evaluation.load(str(file))


def test_users_evaluation_needs_no_ledger(tmp_path: Path) -> None:
    file = tmp_path / "ours.yaml"
    file.write_text(FILE.partition("ledger:")[0])
    assert evaluation.load(str(file)).ledger == []
