"""Mutants of the RTL are edits of its text, which become choices in a copy, or are refused."""

from __future__ import annotations

import pytest

from netkv import rtl_sources as sources
from netkv.kits import design_mutants as mutants
from netkv.kits.design_mutants import Edit, with_choices

TEXT = "assign hit = valid && a == b;\nassign miss = a == c;\nq <= d;\n"


def edit(mutant: int, right: str, wrong: str) -> Edit:
    return Edit(mutant, "cache.sv", right, wrong)


@pytest.mark.parametrize("edit", mutants.edits(), ids=lambda each: f"{each.mutant}-{each.file}")
def test_place_of_edit_is_found_once(edit: Edit) -> None:
    text = (sources.folder() / "rtl" / edit.file).read_text(encoding="utf-8")
    begin, end = edit.place(text)
    assert edit.wrong.replace("@", text[begin:end]) != text[begin:end]


def test_copies_are_of_files_with_edits() -> None:
    copies = {path.name for path in mutants.folder().iterdir()}
    assert copies == {each.file.rpartition("/")[2] for each in mutants.edits()}
    numbers = {
        number
        for path in mutants.folder().iterdir()
        for number in mutants.places()
        if f"mutant_pkg::ID == {number} " in path.read_text() + " "
        or f"mutant_pkg::ID == {number})" in path.read_text()
    }
    assert numbers == mutants.places()


def test_expression_is_a_choice() -> None:
    chosen = "valid && (mutant_pkg::ID == 7 ? (a == b || e) : (a == b));"
    copy = with_choices(TEXT, [edit(7, "valid && «a == b»", "@ || e")])
    assert copy == TEXT.replace("valid && a == b;", chosen)


def test_statement_is_a_choice() -> None:
    chosen = "if (mutant_pkg::ID == 7) begin  end else begin q <= d; end"
    assert with_choices(TEXT, [edit(7, "q <= d;", "")]) == TEXT.replace("q <= d;", chosen)


def test_mutants_of_one_place_are_choices_of_it() -> None:
    edits = [edit(7, "valid && «a == b»", "1'b0"), edit(8, "«a == b»;", "1'b1")]
    chosen = "(mutant_pkg::ID == 8 ? (1'b1) : (mutant_pkg::ID == 7 ? (1'b0) : (a == b)))"
    assert chosen in with_choices(TEXT, edits)


@pytest.mark.parametrize(("right", "count"), [("a == d", 0), ("a ==", 2)])
def test_place_that_is_not_found_once_is_refused(right: str, count: int) -> None:
    with pytest.raises(ValueError, match=f"cache.sv has {count} times: {right}"):
        with_choices(TEXT, [edit(7, right, "")])


def test_edits_that_overlap_are_refused() -> None:
    with pytest.raises(ValueError, match="overlap"):
        with_choices(TEXT, [edit(7, "a == b", ""), edit(8, "== b;", "")])
