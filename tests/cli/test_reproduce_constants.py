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
    emptied = document.replaced(text, {f"constants-{name}": "" for name in evaluation.names()})
    assert emptied != text
    file.write_text(emptied, encoding="utf-8")
    result = netkv("reproduce", "--constants", "--write", str(file))
    assert result.status == 0, result.err
    assert file.read_text(encoding="utf-8") == text
    assert set(document.bodies(text)) == {f"constants-{name}" for name in evaluation.names()}


def test_one_paper_is_printed_and_another_is_unknown(netkv: Netkv) -> None:
    result = netkv("reproduce", "--constants", "netmc", "--json")
    assert [*result.document] == ["netmc"]
    kinds = {line["kind"] for line in result.document["netmc"]}
    assert {"source", "chosen", "fitted", "measured", "calibrated"} <= kinds
    other = netkv("reproduce", "--constants", "netcache", COLUMNS="200")
    assert "lab.hot_threshold" in other.out
    assert "lab.split_keys" not in other.out, "an option of NetMC"
    wrong = netkv("reproduce", "--constants", "netmcc")
    assert wrong.status == 2
    assert "netmc" in wrong.err


def test_options_of_runs_are_refused_and_faults_are_told(netkv: Netkv, tmp_path: Path) -> None:
    refused = netkv("reproduce", "netcache", "--constants", "--report", str(tmp_path / "report"))
    assert refused.status == 2
    assert "only --write and --json go with it" in refused.err
    assert not (tmp_path / "report").exists()
    text = (ROOT / "netkv/data/papers/netcache.yaml").read_text(encoding="utf-8")
    mine = tmp_path / "mine.yaml"
    mine.write_text(text.replace("[lab.host_queue]", "[lab.clients]", 1), encoding="utf-8")
    told = netkv("reproduce", str(mine), "--constants")
    assert told.status == 0
    assert "'lab.host_queue' has no constant; it needs one." in told.err
    assert "'lab.clients' has 2 constants; it needs one." in told.err
