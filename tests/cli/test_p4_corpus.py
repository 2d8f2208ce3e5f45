"""`netkv p4 corpus DIRECTORY`: a table of the programs that are refused, and why."""

from __future__ import annotations

import json
import os
import shutil
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from netkv.cli import p4_corpus
from tests.cli.commands import ROOT, Netkv


def folder_of_programs(folder: Path) -> Path:
    """Writes a program of each outcome, and parts of programs."""
    shutil.copy(ROOT / "tests" / "golden" / "arith.p4", folder / "accepted.p4")
    (folder / "part.p4").write_text("header h { bit<8> x }\n")
    (folder / "commented.p4").write_text(
        "// V1Switch() main;\n/* main; */\nheader h { bit<8> x }\n"
    )
    inner = folder / "inner"
    inner.mkdir()
    start = "#include <v1model.p4>\n"
    for name, field in (("first", "one"), ("second", "two")):
        text = f"{start}struct s {{ {field}_t x; }}\nV1Switch() main;\n"
        (inner / f"{name}.p4").write_text(text)
    (inner / "guarded.p4").write_text(f"{start}#ifndef GIVEN\n#error no\n#endif\nS() main;\n")
    (inner / "bytes.p4").write_bytes(b"\xff V1Switch() main;")
    (inner / "tofino.p4").write_text("#include <tna.p4>\nSwitch(pipe) main;\n")
    both = "#ifdef T\n#include <tna.p4>\n#else\n#include <v1model.p4>\n#endif\nX() main;\n"
    (inner / "both.p4").write_text(both)
    return folder


def test_corpus_lists_every_program_with_its_reason(
    netkv_in_process: Netkv, tmp_path: Path
) -> None:
    run = netkv_in_process("p4", "corpus", str(folder_of_programs(tmp_path)), "--json")
    assert run.status == 0, run.err
    document = json.loads(run.out)
    found = {Path(it["program"]).stem: it for it in document["programs"]}
    assert {name: it["outcome"] for name, it in found.items()} == {
        "accepted": "accepted",
        "first": "refused",
        "second": "refused",
        "guarded": "refused",
        "bytes": "refused",
        "tofino": "left out",
        "both": "refused",
    }
    assert found["first"]["reason"].startswith("'one_t' is not declared.")
    assert (Path(found["first"]["file"]).name, found["first"]["line"]) == ("first.p4", 2)
    assert found["tofino"]["reason"] == "for tna.p4"
    assert document["counts"] == {
        "accepted": 1,
        "refused": 5,
        "limit": 0,
        "crashed": 0,
        "left out": 1,
    }
    # The names of the programs do not separate a reason.
    first = document["reasons"][0]
    assert (first["reason"], first["programs"]) == ("... is not declared.", 3)


def test_corpus_passes_macros_and_folders(netkv_in_process: Netkv, tmp_path: Path) -> None:
    programs, parts = tmp_path / "programs", tmp_path / "parts"
    programs.mkdir()
    parts.mkdir()
    (parts / "rest.p4").write_text((ROOT / "tests" / "golden" / "arith.p4").read_text())
    text = '#ifdef GIVEN\n#include "rest.p4"\n#else\nX() main;\n#endif\n'
    (programs / "program.p4").write_text(text)
    run = netkv_in_process("p4", "corpus", str(programs))
    assert "0 of 1 programs are accepted; 1 are refused" in run.err
    options = ("-I", str(parts), "-D", "GIVEN")
    run = netkv_in_process("p4", "corpus", str(programs), *options)
    assert "1 of 1 programs are accepted; 0 are refused" in run.err


def test_corpus_prints_a_table_and_the_reasons(netkv_in_process: Netkv, tmp_path: Path) -> None:
    run = netkv_in_process("p4", "corpus", str(folder_of_programs(tmp_path)))
    assert run.status == 0, run.err
    assert "inner/first.p4" in run.out
    assert "accepted.p4" not in run.out
    assert "3         ... is not declared." in run.out
    assert "1 of 6 programs are accepted; 5 are refused, 0 exceed a limit or crash" in run.err
    assert "1 for another architecture" in run.err


def test_corpus_needs_a_folder_with_programs(netkv_in_process: Netkv, tmp_path: Path) -> None:
    (tmp_path / "part.p4").write_text("header h { bit<8> x; }\n")
    run = netkv_in_process("p4", "corpus", str(tmp_path))
    assert run.status != 0
    assert "instantiates 'main'" in run.err
    run = netkv_in_process("p4", "corpus", str(tmp_path / "part.p4"))
    assert run.status != 0


def _stuck(pipe: Connection) -> None:
    """Compiles `second.p4` and everything else but `first.p4`, with which it never ends."""
    pipe.send(None)
    while True:
        program, _, _ = pipe.recv()
        if program.stem == "first":
            # Never comes: the parent kills this process.
            pipe.recv()
        pipe.send(p4_corpus.Result(program, "accepted"))


def _crashing(pipe: Connection) -> None:
    pipe.send(None)
    while True:
        program, _, _ = pipe.recv()
        if program.stem == "first":
            os.abort()
        pipe.send(p4_corpus.Result(program, "accepted"))


def test_corpus_goes_on_after_a_limit(
    netkv_in_process: Netkv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(p4_corpus, "_work", _stuck)
    folder = folder_of_programs(tmp_path)
    run = netkv_in_process("p4", "corpus", str(folder), "--seconds", "1", "--json")
    assert run.status == 1
    document = json.loads(run.out)
    found = {Path(it["program"]).stem: it for it in document["programs"]}
    assert found["first"]["outcome"] == "limit"
    assert found["first"]["reason"] == "It takes longer than 1 s."
    assert document["counts"]["accepted"] == 5


def test_corpus_goes_on_after_a_crash(
    netkv_in_process: Netkv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(p4_corpus, "_work", _crashing)
    run = netkv_in_process("p4", "corpus", str(folder_of_programs(tmp_path)), "--json")
    assert run.status == 1
    document = json.loads(run.out)
    found = {Path(it["program"]).stem: it for it in document["programs"]}
    assert found["first"]["outcome"] == "crashed"
    assert "by signal SIGABRT" in found["first"]["reason"]
    assert document["counts"]["accepted"] == 5
