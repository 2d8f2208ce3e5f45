"""The tables of traps in docs/internals/traps.md are those that `tests.tables` generates."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import tables
from tests.docs.documents import ROOT

RUST = """
fn other() {}

traps! {
    value_is_read_whole: reads::whole, [CUT => StaleRead, Silent => NoAnswer],
        also [OTHER];
    // The second one has a mutant of its own.
    write_is_answered: once, usual, ALL, [RequestOnce => NoAnswer in ALL];
}
"""
SCRIPTS = """
/// A value of 128 bytes is
/// read.
///
/// Protection: lengths are | checked.
pub fn whole(rack: &mut Rack) {}

/// A write is lost.
///
/// Protection: retries.
pub(crate) fn once(rack: &mut Rack) {}

pub const CUT: Mutant = program("check.p4 cuts", "a", "b");
roles! {
    OTHER = OtherThing, "another";
}
"""
PYTHON = '''
class Loses(Control):
    pass

def helper(): ...

def test_write_survives() -> None:
    """Writes are repeated.

    More text.
    """
    check(script, (Loses, "lost"), (mutants.Forgets, "lost"))

def test_record_wins() -> None:
    """The newest record wins.

    Mutant: the first record wins.
    """

def test_every_trap_is_in_the_documentation() -> None: ...
'''


def test_tables_of_traps_are_up_to_date() -> None:
    text = tables.DOCUMENT.read_text()
    assert tables.updated(text) == text, "run 'make docs'"
    assert len(re.findall(r"^\| `\w+` \|", text, re.MULTILINE)) > 200


def test_every_module_of_traps_has_a_table() -> None:
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*_traps.py")}
    text = tables.DOCUMENT.read_text()
    assert len(modules) >= 4
    assert modules == set(re.findall(r"<!-- begin traps (\S+\.py) -->", text))


def test_every_test_that_the_document_names_exists() -> None:
    """The tables of what the protocols have to get right are not generated."""
    text = tables.DOCUMENT.read_text()
    sections = re.findall(r"^### Which trap .*?(?=^## )", text, re.DOTALL | re.MULTILINE)
    assert len(sections) == 2
    sources = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "engine").glob("*/tests/**/*.rs")]
    known = {name for it in sources for name in re.findall(r"\b\w+(?=[:(])", it.read_text())}
    named = {name for name in re.findall(r"`(\w+)`", "".join(sections)) if name.count("_") > 2}
    assert len(named) > 110
    assert sorted(named - known) == []


def test_row_of_rust_trap_has_scenario_protection_mutants(tmp_path: Path) -> None:
    (tmp_path / "main.rs").write_text(RUST)
    (tmp_path / "reads.rs").write_text(SCRIPTS)
    first, second = tables.rust_traps(tmp_path / "main.rs")
    assert first == tables.Trap(
        "value_is_read_whole",
        "A value of 128 bytes is read.",
        r"lengths are \| checked.",
        ("check.p4 cuts", "`Silent`"),
    )
    assert (second.scenario, second.mutants) == ("A write is lost.", ("`RequestOnce`",))


def test_row_of_python_trap_has_protection_and_mutants(tmp_path: Path) -> None:
    module = tmp_path / "test_it.py"
    module.write_text(PYTHON)
    assert list(tables.python_traps(module)) == [
        tables.Trap("test_write_survives", "", "Writes are repeated.", ("`Loses`", "`Forgets`")),
        tables.Trap("test_record_wins", "", "The newest record wins.", ("the first record wins",)),
    ]


def test_trap_without_documentation_is_refused(tmp_path: Path) -> None:
    (tmp_path / "main.rs").write_text(RUST)
    with pytest.raises(tables.MissingTextError, match="reads::whole of value_is_read_whole needs"):
        list(tables.rust_traps(tmp_path / "main.rs"))
    module = tmp_path / "test_it.py"
    module.write_text("def test_it() -> None: ...\n")
    with pytest.raises(tables.MissingTextError, match="test_it needs a docstring"):
        list(tables.python_traps(module))
    module.write_text('def test_it() -> None:\n    """It works."""\n')
    with pytest.raises(tables.MissingTextError, match="test_it uses no mutant"):
        list(tables.python_traps(module))
