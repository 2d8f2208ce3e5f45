"""The output and the errors of `netkv p4 bench`, not the measured speed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from netkv import _engine
from netkv.bench import data_plane
from tests.cli.commands import ROOT, Netkv

BY_HAND = ("cache_read", "netcache")
"""The programs with a handwritten pipeline."""


def cases(document: dict[str, Any]) -> dict[tuple[str, str], dict[str, dict[str, Any]]]:
    """Results by program and path, then by executor."""
    found: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for each in document["results"]:
        found.setdefault((each["program"], each["path"]), {})[each["executor"]] = each
    return found


def test_every_path_is_measured_with_every_executor(netkv: Netkv) -> None:
    result = netkv("p4", "bench", "--seconds", "0.01", "--sweep", "none", "--json")
    assert result.status == 0, result.err
    document = result.document
    assert document["machine"]["cores"] >= 1
    assert document["machine"]["processor"]
    known = _engine.bench_paths()
    shipped = set(data_plane.files())
    assert {"distreach-upper", "distreach-tail", "farreach", "netmc"} <= shipped
    assert {"distcache-client", "distcache-leaf", "distcache-spine"} <= shipped
    found = cases(document)
    assert set(found) == {(program, path) for program in known for path in known[program]}
    for (program, path), of in found.items():
        by_hand = {"handwritten"} if program in BY_HAND else set()
        assert set(of) == {"interpreter", "compiled"} | by_hand, (program, path)
        for each in of.values():
            assert (each["entries"], each["value_size"], each["key_width"]) == (10_000, 128, 128)
            assert each["pps"] > 0
            assert 0 < each["ns_p50"] <= each["ns_p99"]
    reference = found["cache_read", "read-hit"]
    ratios = document["ratios"]
    for program in BY_HAND:
        for path in known[program]:
            assert ratios[f"{program}/{path}: compiled/handwritten"] > 0
    for other in ("interpreter", "handwritten"):
        ratio = reference["compiled"]["pps"] / reference[other]["pps"]
        assert abs(ratios[f"cache_read/read-hit: compiled/{other}"] - ratio) < 1e-9
    assert "cache_read/read-hit: compiled/recorded-bmv2" in ratios
    assert "forwarding/read: compiled/recorded-bmv2" not in ratios
    assert {each["program"] for each in document["loads"]} == {"cache_read", *shipped}
    for each in document["loads"]:
        assert all(each[part] > 0 for part in ("front_end_s", "interpreter_s", "compiled_s"))
    assert {each["program"] for each in document["table_writes"]} >= {"cache_read", "netcache"}
    assert all(e["entries"] == 10_000 and e["seconds"] > 0 for e in document["table_writes"])


def test_sweep_and_figures(netkv: Netkv, tmp_path: Path) -> None:
    page = tmp_path / "bench.html"
    result = netkv(
        *("p4", "bench", "cache_read", "--path", "read-hit", "--sweep", "key-width"),
        *("--seconds", "0.002", "--plot", str(page)),
    )
    assert result.status == 0, result.err
    for text in ("by hand", "cost against key bits", "recorded on another machine", "I.lookup"):
        assert text in result.out
    for width in (32, 64, 128, 256, 512):
        assert any(line.split()[:1] == [str(width)] for line in result.out.splitlines())
    assert "cache_read read-hit, 512 bit keys" in result.err
    drawn = page.read_text(encoding="utf-8")
    for text in ("Plotly.newPlot", "packets per second, one core", "not measured beside"):
        assert text in drawn


def test_folder_with_several_programs_stands_for_all_of_them(netkv: Netkv) -> None:
    options = ("--path", "write-cached", "--seconds", "0.01", "--json")
    both = {("distreach-upper", "write-cached"), ("distreach-tail", "write-cached")}
    result = netkv("p4", "bench", "distreach", *options)
    assert result.status == 0, result.err
    assert set(cases(result.document)) == both
    for wanted in ("distreach-tail", "p4/distreach/tail.p4"):
        result = netkv("p4", "bench", wanted, *options)
        assert result.status == 0, result.err
        assert set(cases(result.document)) == {("distreach-tail", "write-cached")}


def test_program_without_benchmark_paths_is_only_loaded(netkv: Netkv) -> None:
    result = netkv("p4", "bench", "tests/golden/arith.p4", "--seconds", "0.01", "--json")
    assert result.status == 0, result.err
    assert result.document["results"] == []
    assert [each["program"] for each in result.document["loads"]] == ["arith"]
    assert "only loading is timed" in result.err


def test_file_with_another_program_than_its_name_is_refused(netkv: Netkv, tmp_path: Path) -> None:
    wrong = tmp_path / "netcache.p4"
    wrong.write_text((ROOT / "p4" / "forwarding/forwarding.p4").read_text())
    result = netkv("p4", "bench", str(wrong), "--path", "read-hit", "--seconds", "0.01")
    assert result.status == 1
    assert "not the program that its name says" in result.err
    assert "Traceback" not in result.err
