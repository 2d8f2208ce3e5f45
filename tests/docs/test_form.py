"""The form of the documents: title, introduction, lines of 100 columns, diagrams that parse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import wrap
from tests.docs.documents import DOCUMENTS, ROOT, Block, blocks
from tests.wrap import COLUMNS

WRITTEN = [path for path in DOCUMENTS[1:] if path.name not in wrap.GENERATED]
PROSE = wrap.documents()

_ARROW = re.compile(r"^(\w+)\s*(?:-?->>?|--?[x)])[+-]?\s*(\w+)\s*:\s*(\S.*)$")
_PARTICIPANT = re.compile(r"^(?:participant|actor) (\w+)(?: as \S.*)?$")
_NOTE = re.compile(r"^Note (?:over|left of|right of) (\w+(?:,\w+)*): \S.*$")
_OPENS = re.compile(r"^(?:alt|opt|loop|par|rect|critical|break)(?: \S.*)?$")
_CONTINUES = re.compile(r"^(?:else|and|option)(?: \S.*)?$")


def prose_lines(text: str) -> Iterator[tuple[int, str]]:
    """Number and text of the lines outside code, tables, link definitions and generated parts."""
    fenced = generated = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif re.match(r"<!-- (begin|end) ", line):
            generated = line.startswith("<!-- begin ")
        elif not (
            fenced or generated or line.lstrip().startswith("|") or re.match(r"\[[^]]+\]:", line)
        ):
            yield number, line


def faults_of_diagram(text: str) -> list[str]:
    """The errors in a Mermaid sequence diagram, whose participants must be declared."""
    faults = []
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines[0] != "sequenceDiagram":
        return [f"'{lines[0]}' is not 'sequenceDiagram'"]
    declared: set[str] = set()
    depth = arrows = 0
    for line in lines[1:]:
        used: list[str] = []
        if participant := _PARTICIPANT.match(line):
            declared.add(participant[1])
        elif arrow := _ARROW.match(line):
            used, arrows = [arrow[1], arrow[2]], arrows + 1
        elif note := _NOTE.match(line):
            used = note[1].split(",")
        elif line == "end":
            depth -= 1
        elif _OPENS.match(line):
            depth += 1
        elif not (_CONTINUES.match(line) and depth):
            faults.append(f"'{line}' is no line of a sequence diagram")
        faults += [f"'{name}' in '{line}' is not declared" for name in used if name not in declared]
        if ";" in line or (participant is None and "#" in line):
            faults.append(f"'{line}': Mermaid ends a line at ';' and reads '#' as an entity")
        if depth < 0:
            faults.append("an 'end' without a beginning")
    if depth > 0:
        faults.append("an 'end' is missing")
    if not arrows:
        faults.append("no message is sent")
    return faults


@pytest.mark.parametrize("document", WRITTEN, ids=lambda path: path.name)
def test_document_begins_with_a_title_and_a_paragraph(document: Path) -> None:
    title, empty, first, *_ = document.read_text().splitlines()
    assert re.match(r"# \S", title)
    assert empty == ""
    assert re.match(r"[A-Za-z`*]", first), f"{first!r} is no sentence"


@pytest.mark.parametrize("document", PROSE, ids=lambda path: path.name)
def test_introduction_has_three_sentences_at_most(document: Path) -> None:
    paragraph = " ".join(document.read_text().split("\n\n")[1].split())
    sentences = re.split(r"(?<=[.!?])\s+(?=[A-Z`])", paragraph)
    assert len(sentences) <= 3, sentences


@pytest.mark.parametrize("document", PROSE, ids=lambda path: path.name)
def test_lines_end_at_100_columns(document: Path) -> None:
    long = [n for n, line in prose_lines(document.read_text()) if len(line) > COLUMNS]
    assert long == [], f"{document.name}: lines of more than {COLUMNS} columns; try 'make fmt'"


@pytest.mark.parametrize(
    "block", [block for block in blocks("mermaid") if "sequenceDiagram" in block.text], ids=str
)
def test_sequence_diagram_is_well_formed(block: Block) -> None:
    assert faults_of_diagram(block.text) == []


@pytest.mark.parametrize("name", ["netcache", "farreach", "netmc"])
def test_protocol_has_diagrams_and_the_names_of_its_paper(name: str) -> None:
    document = ROOT / "docs/schemes" / f"{name}.md"
    assert len(blocks("mermaid", document)) >= 4
    assert "## Names of the paper" in document.read_text()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("graph LR\nA-->B", "is not 'sequenceDiagram'"),
        ("sequenceDiagram\nparticipant A\nA->>B: GET", "'B' in 'A->>B: GET' is not declared"),
        ("sequenceDiagram\nparticipant A\nA->>A", "is no line of a sequence diagram"),
        ("sequenceDiagram\nparticipant A\nalt hit\nA->>A: GET", "an 'end' is missing"),
        ("sequenceDiagram\nparticipant A\nA->>A: GET\nend", "an 'end' without a beginning"),
        ("sequenceDiagram\nparticipant A\nA->>A: GET; PUT", "ends a line at ';'"),
        ("sequenceDiagram\nparticipant A\nNote over A,B: x", "'B' in 'Note over A,B: x'"),
        ("sequenceDiagram\nparticipant A", "no message is sent"),
    ],
)
def test_wrong_diagram_is_found(text: str, fault: str) -> None:
    assert fault in "; ".join(faults_of_diagram(text))


def test_long_line_is_found_outside_of_code_and_tables() -> None:
    long = "x" * (COLUMNS + 1)
    lines = ["# t", "", long, "", "```", long, "```", f"| {long} |"]
    text = "\n".join([*lines, "<!-- begin a -->", long, "<!-- end a -->", long])
    assert [number for number, line in prose_lines(text) if len(line) > COLUMNS] == [3, 12]


def test_only_paragraphs_with_a_long_line_are_wrapped() -> None:
    words = "word " * 20
    code = "`" + "a b " * 10 + "`"
    short = "# A title\n\nThis paragraph\nstays.\n\n```\n" + words * 2 + "\n```\n| " + words * 2
    text = f"{short}\n\n1. {words}{code}\n   {words}- {words}\n2. Next\n"
    new = wrap.wrapped(text)
    assert new.startswith(f"{short}\n\n1. word")
    assert new.endswith("\n2. Next\n")
    assert new.split() == text.split()
    assert code in new
    item = new.removeprefix(short).strip().splitlines()
    assert max(map(len, item)) <= COLUMNS
    assert all(line.startswith("   word") or code in line for line in item[1:-1])
    assert wrap.wrapped(new) == new


def test_wrapped_line_does_not_begin_like_a_list_item() -> None:
    for length in range(80, COLUMNS):
        lines = wrap.wrapped(f"{'x' * length} = 0. {'word ' * 30}").splitlines()
        assert not any(line.startswith("0. ") for line in lines)
        assert max(map(len, lines)) <= COLUMNS


@pytest.mark.parametrize("document", PROSE, ids=lambda path: path.name)
def test_document_is_wrapped(document: Path) -> None:
    assert wrap.wrapped(document.read_text()) == document.read_text()


def test_glossary_is_in_alphabetical_order() -> None:
    text = (ROOT / "docs/learn/glossary.md").read_text()
    rows = re.findall(r"^\| ([^|]+) \|", text, re.MULTILINE)
    terms = [row.lower().replace("-", " ") for row in rows[1:]]
    assert len(terms) > 80
    assert terms == sorted(terms)
    assert len(set(terms)) == len(terms)
