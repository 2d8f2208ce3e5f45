"""The output and the errors of `netkv p4 info --budget`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netkv import resources
from netkv.evaluation import switch_resources
from tests.cli.commands import ROOT, Netkv

PROGRAM = """\
#include <core.p4>
#include <v1model.p4>
header h_t {{ bit<32> key; bit<32> value; bit<32> index; bit<32> other; }}
struct headers {{ h_t h; }}
struct metadata {{ bit<32> old; }}
parser P(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t std) {{
    state start {{ p.extract(hdr.h); transition accept; }}
}}
control V(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{
    register<bit<32>>({size}) cells;
    apply {{
        cells.read(meta.old, hdr.h.index);
        cells.write(hdr.h.{index}, meta.old + 1);
    }}
}}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{ apply {{ }} }}
control D(packet_out p, in headers hdr) {{ apply {{ p.emit(hdr.h); }} }}
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""


def program(folder: Path, *, index: str = "index", size: int = 1024, name: str = "own") -> str:
    """Writes a program that reads and writes a register; returns its file."""
    file = folder / f"{name}.p4"
    file.write_text(PROGRAM.format(index=index, size=size), encoding="utf-8")
    return str(file)


def estimate(netkv_in_process: Netkv, *arguments: str) -> dict[str, Any]:
    result = netkv_in_process("p4", "info", "--budget", *arguments, "--json")
    assert result.status == 0, result.err
    assert result.err == ""
    document: dict[str, Any] = result.document
    return document


def test_program_that_fits_is_reported_as_such(netkv_in_process: Netkv, tmp_path: Path) -> None:
    result = netkv_in_process("p4", "info", "--budget", "--strict", program(tmp_path))
    assert result.status == 0, result.err
    assert "warning" not in result.out
    assert "It fits" in result.err
    assert "an estimate" in result.out
    document = estimate(netkv_in_process, program(tmp_path))
    assert document["fits"]
    assert document["paper"] is None
    assert document["ingress"]["usage"]["stages"] == {"used": 1, "limit": 12, "percent": 8.33}
    assert document["ingress"]["usage"]["arrays"]["used"] == 1
    assert document["egress"]["usage"]["stages"]["used"] == 0


def test_warning_about_an_array_names_both_accesses(
    netkv_in_process: Netkv, tmp_path: Path
) -> None:
    file = program(tmp_path, index="other")
    result = netkv_in_process("p4", "info", "--budget", file)
    assert result.status == 0, "only --strict fails for warnings"
    assert "warning: ingress: Register array I.cells is accessed twice in a pass" in result.out
    assert f"{file}:13:9: read" in result.out
    assert f"{file}:14:9: write" in result.out
    assert "help: " in result.out
    assert "It does not fit" in result.err
    (warning,) = estimate(netkv_in_process, file)["ingress"]["warnings"]
    assert (warning["kind"], warning["objects"]) == ("twice", ["I.cells"])
    assert [(at["line"], at["what"]) for at in warning["at"]] == [(13, "read"), (14, "write")]


@pytest.mark.parametrize("wrong", [{"index": "other"}, {"size": 1_000_000}])
def test_strict_fails_for_warnings_and_for_limits(
    netkv_in_process: Netkv, tmp_path: Path, wrong: dict[str, Any]
) -> None:
    file = program(tmp_path, **wrong)
    assert netkv_in_process("p4", "info", "--budget", file).status == 0
    for more in ([], ["--json"]):
        result = netkv_in_process("p4", "info", "--budget", "--strict", file, *more)
        assert result.status == 1
        assert "Traceback" not in result.err
    assert not result.document["fits"]


def test_exceeded_limit_is_reported(netkv_in_process: Netkv, tmp_path: Path) -> None:
    result = netkv_in_process("p4", "info", "--budget", program(tmp_path, size=1_000_000))
    assert "over the limit: ingress: An array of register I.cells takes 3920 KiB" in result.out


def test_netmcs_switch_takes_the_documented_resources(netkv_in_process: Netkv) -> None:
    """docs/schemes/netmc.md, "What it takes of a switch": no stateful ALU, as in the paper."""
    for fields, actions, phv in ((8, 45, 88), (32, 69, 112)):
        document = estimate(netkv_in_process, "-D", f"NETMC_SERVERS={fields}", "p4/netmc/netmc.p4")
        assert document["fits"]
        ingress, egress = document["ingress"], document["egress"]
        assert ingress["usage"]["stages"]["used"] == 7
        assert ingress["usage"]["sram_kib"]["used"] == 112
        assert ingress["usage"]["phv_bytes"]["used"] == phv
        assert ingress["actions"] == actions
        assert ingress["usage"]["arrays"]["used"] == egress["usage"]["arrays"]["used"] == 0


def test_estimate_has_the_figures_of_the_paper(netkv_in_process: Netkv) -> None:
    document = estimate(netkv_in_process, "p4/netcache/netcache.p4")
    assert document["paper"]["scheme"] == "NetCache"
    assert document["paper"]["egress"] == {
        "sram_kib": 7856,
        "stages": 12,
        "actions": 184,
        "arrays": 45,
        "phv_bytes": 528,
    }
    assert document["paper"]["tables"] == {"ingress": "Table II", "egress": "Table III"}
    # 8 value arrays of 128 bits, 4 rows of the sketch, 3 of the filter, and 5 of metadata.
    assert document["ingress"]["usage"]["arrays"]["used"] == 8 * 4 + 4 + 3 + 5
    result = netkv_in_process("p4", "info", "--budget", "p4/netcache/netcache.p4", COLUMNS="80")
    for shown in ("NetCache,", "Table II ", "Table III ", "7,856 (51.1%)", "section VI-F"):
        assert shown in result.out
    title, _, tables = result.out.split("Longest chain")[0].partition("\n")
    assert "an estimate" in title
    assert max(map(len, tables.splitlines())) <= 80


def test_shipped_programs_access_no_array_twice(netkv_in_process: Netkv) -> None:
    for file in resources.programs().values():
        document = estimate(netkv_in_process, str(file))
        for pipeline in ("ingress", "egress"):
            assert document[pipeline]["warnings"] == [], file


def test_figures_of_papers_match_their_percentages() -> None:
    """Shares of 15,360 KiB, 12 stages, 48 ALUs and 768 bytes, as the paper prints them."""
    programs = {
        program.name: program
        for source in switch_resources.sources()
        for program in source.programs
    }
    assert set(programs) == {
        *("NoCache", "NetCache", "FarReach", "DistNoCache", "DistCache", "DistReach", "NetMC")
    }
    limits = {"sram_kib": 15360, "stages": 12, "arrays": 48, "phv_bytes": 768}
    farreach, distreach = programs["FarReach"], programs["DistReach"]
    printed = [
        (farreach.ingress, {"sram_kib": 8.3, "stages": 50, "arrays": 0, "phv_bytes": 64.97}),
        (farreach.egress, {"sram_kib": 52.6, "stages": 100, "arrays": 93.75}),
        (distreach.ingress, {"sram_kib": 8.2, "stages": 83.33, "phv_bytes": 65.23}),
        (distreach.egress, {"sram_kib": 52.3, "arrays": 91.67}),
        (programs["NoCache"].egress, {"sram_kib": 1.67, "stages": 16.67, "phv_bytes": 17.45}),
        (programs["NetMC"].ingress, {"sram_kib": 1.75, "stages": 41.67, "arrays": 0}),
    ]
    for figures, shares in printed:
        for name, percent in shares.items():
            assert 100 * figures[name] / limits[name] == pytest.approx(percent, abs=0.06)


def test_all_programs_are_in_one_table_with_the_papers_figures(netkv_in_process: Netkv) -> None:
    farreach, netmc = netkv_in_process("p4", "resources", "--json").document["sources"]
    ingress, egress = farreach["tables"]
    assert (ingress["table"], egress["table"]) == ("Table II", "Table III")
    rows = {row["name"]: row["programs"] for row in egress["rows"]}
    order = ["NoCache", "NetCache", "FarReach", "DistNoCache", "DistCache", "DistReach"]
    assert [*rows["stages"]] == order
    own = estimate(netkv_in_process, "p4/distreach/tail.p4")
    assert own["paper"]["scheme"] == "DistReach"
    for name in ("sram_kib", "stages", "arrays", "phv_bytes"):
        used = own["egress"]["usage"][name]["used"]
        assert rows[name]["DistReach"] == {"estimate": used, "paper": own["paper"]["egress"][name]}
    assert rows["actions"]["DistReach"]["estimate"] == own["egress"]["actions"]
    assert all(row["unknown"] for row in (*ingress["rows"], *egress["rows"]))
    (only,) = netmc["tables"]
    of_netmc = {row["name"]: row["programs"]["NetMC"] for row in only["rows"]}
    assert of_netmc["stages"] == {"estimate": 7, "paper": 5}
    assert of_netmc["phv_bytes"]["paper"] is None
    assert "2.50%" in netmc["sizes"]
    shown = netkv_in_process("p4", "resources", COLUMNS="150")
    assert "13,920 / 1,248" in shown.out
    assert "/ not stated" in shown.out
    assert "what the estimate cannot know" in shown.out
    assert "section VI-F" in shown.out


def test_document_has_the_tables_of_the_command(netkv_in_process: Netkv) -> None:
    """Written by `netkv p4 resources --markdown`."""
    printed = netkv_in_process("p4", "resources", "--markdown").out
    document = (ROOT / "docs/schemes/switch-resources.md").read_text(encoding="utf-8")
    assert printed in document


def test_programs_of_other_folders_have_no_figures_of_papers(
    netkv_in_process: Netkv, tmp_path: Path
) -> None:
    assert estimate(netkv_in_process, program(tmp_path, name="farreach"))["paper"] is None


def test_strict_without_budget_is_wrong_usage(netkv_in_process: Netkv) -> None:
    result = netkv_in_process("p4", "info", "--strict", "p4/forwarding/forwarding.p4")
    assert result.status == 2
    assert "--budget" in result.err
    assert result.out == ""


def test_program_that_does_not_compile_has_no_budget(
    netkv_in_process: Netkv, tmp_path: Path
) -> None:
    file = tmp_path / "broken.p4"
    file.write_text("control {", encoding="utf-8")
    result = netkv_in_process("p4", "info", "--budget", str(file))
    assert result.status == 1
    assert "does not compile" in result.err
