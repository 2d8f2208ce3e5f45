"""`netkv reproduce --constants`, and the document that it writes."""

from __future__ import annotations

from pathlib import Path

from netkv import evaluation
from netkv.evaluation import document
from tests.cli.commands import ROOT, Netkv

DOCUMENT = ROOT / "docs/schemes/constants.md"


def test_document_is_that_of_the_command(netkv: Netkv, tmp_path: Path) -> None:
    """Written by `netkv reproduce --constants --write docs/schemes/constants.md`."""
    file = tmp_path / "constants.md"
    text = DOCUMENT.read_text(encoding="utf-8")
    file.write_text(
        document.replaced(text, {f"constants-{name}": "" for name in evaluation.names()})
    )
    result = netkv("reproduce", "--constants", "--write", str(file))
    assert result.status == 0, result.err
    assert file.read_text(encoding="utf-8") == text
    assert set(document.bodies(text)) == {f"constants-{name}" for name in evaluation.names()}


def test_one_paper_is_printed_and_another_is_unknown(netkv: Netkv) -> None:
    result = netkv("reproduce", "--constants", "netmc", "--json")
    assert [*result.document] == ["netmc"]
    kinds = {line["kind"] for line in result.document["netmc"]}
    assert {"source", "chosen", "fitted", "measured", "calibrated"} <= kinds
    assert "MTU" not in netkv("reproduce", "--constants", "netcache").out
    wrong = netkv("reproduce", "--constants", "netmcc")
    assert wrong.status == 2
    assert "netmc" in wrong.err
