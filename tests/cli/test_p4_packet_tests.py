"""The output of `netkv p4 stf DIRECTORY` and of `netkv p4 ir`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.cli.commands import ROOT, Netkv


def folder_of_tests(folder: Path) -> Path:
    """Writes one packet test of each outcome."""
    for name in ("arith", "parse"):
        for extension in ("p4", "stf"):
            shutil.copy(ROOT / "tests" / "golden" / f"{name}.{extension}", folder)
    wrong = (folder / "parse.stf").read_text().replace("expect 2 ", "expect 3 ", 1)
    (folder / "parse.stf").write_text(wrong)
    inner = folder / "inner"
    inner.mkdir()
    (inner / "refused.p4").write_text("#include <v1model.p4>\nheader h { bit<8> x }\n")
    (inner / "other.p4").write_text("#include <psa.p4>\n")
    for name in ("refused", "other"):
        (inner / f"{name}.stf").write_text("packet 0 00\n")
    (inner / "alone.stf").write_text("packet 0 00\n")
    return folder


def test_stf_of_a_folder_lists_every_outcome(netkv_in_process: Netkv, tmp_path: Path) -> None:
    folder = folder_of_tests(tmp_path)
    run = netkv_in_process("p4", "stf", str(folder), "--json")
    assert run.status == 1, run.err
    document = json.loads(run.out)
    found = {Path(it["test"]).stem: it for it in document["tests"]}
    assert {name: it["outcome"] for name, it in found.items()} == {
        "arith": "passed",
        "parse": "failed",
        "refused": "refused",
        "other": "left out",
    }
    assert "port 3" in found["parse"]["reason"]
    assert found["refused"]["reason"].startswith("line 2: Expected ';'")
    assert document["counts"] == {"passed": 1, "failed": 1, "refused": 1, "left out": 1}


def test_stf_of_a_folder_prints_a_table(netkv_in_process: Netkv, tmp_path: Path) -> None:
    folder = folder_of_tests(tmp_path)
    run = netkv_in_process("p4", "stf", str(folder), "--executor", "interpreter")
    assert run.status == 1
    assert "inner/refused.stf" in run.out
    assert "1 of 3 tests pass; 1 fail, 1 programs are refused, 1 for another" in run.err


def test_stf_of_a_program_needs_a_test(netkv_in_process: Netkv, tmp_path: Path) -> None:
    run = netkv_in_process("p4", "stf", "tests/golden/arith.p4")
    assert run.status != 0
    assert "needs a packet test" in run.err
    run = netkv_in_process("p4", "stf", str(tmp_path))
    assert run.status != 0
    assert "There is no NAME.stf" in run.err


def test_ir_prints_objects_and_graphs(netkv_in_process: Netkv) -> None:
    run = netkv_in_process("p4", "ir", "engine/p4/tests/files/ir/table.p4")
    assert run.status == 0, run.err
    assert run.out == (ROOT / "engine/p4/tests/files/ir/table.ir").read_text()
