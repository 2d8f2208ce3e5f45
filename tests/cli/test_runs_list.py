"""Stored runs are found with `netkv runs list`, and carry tags, notes and pins."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv.runs import Store
from tests.cli.commands import Netkv, assert_wrong_usage
from tests.runs.recorded_runs import record_comparison


@pytest.fixture
def stored(home: Path) -> list[str]:
    """Ids: NoCache and NetCache, twice."""
    assert home
    with Store() as store:
        return record_comparison(store, repeats=2)


def listed(netkv: Netkv, *options: str) -> list[str]:
    """The ids in the list."""
    return [run["id"] for run in netkv("runs", "list", *options, "--json").document["runs"]]


def test_list_has_the_runs_that_meet_all_options(
    netkv_in_process: Netkv, stored: list[str]
) -> None:
    first, second, third, fourth = stored
    netkv_in_process("runs", "tag", first, second, "--add", "paper")
    assert listed(netkv_in_process, "--scheme", "netcache") == [fourth, second]
    assert listed(netkv_in_process, "--tag", "paper", "--scheme", "nocache") == [first]
    assert listed(netkv_in_process, "--search", "nocache-1") == [third]
    assert listed(netkv_in_process, "--where", "workload.zipf>=0.9") == stored[::-1]
    assert listed(netkv_in_process, "--where", "workload.zipf<0.9") == []
    assert listed(netkv_in_process, "--status", "failed", "--status", "running") == []
    assert listed(netkv_in_process, "--mode", "sim") == []
    assert listed(netkv_in_process, "--not-pinned", "--ascending") == stored
    by_rate = listed(netkv_in_process, "--sort", "throughput_ops")
    assert set(by_rate[:2]) == {second, fourth}


def test_list_is_read_page_by_page(netkv_in_process: Netkv, stored: list[str]) -> None:
    first = netkv_in_process("runs", "list", "--limit", "3", COLUMNS="200")
    assert "3 of 4 runs; --offset 3 shows the next." in first.err
    assert stored[0] not in first.out
    last = netkv_in_process("runs", "list", "--limit", "3", "--offset", "3", COLUMNS="200")
    assert "1 of 4 runs." in last.err
    assert stored[0] in last.out
    document = netkv_in_process("runs", "list", "--limit", "1", "--json").document
    assert document["total"] == 4
    whole = netkv_in_process("runs", "list")
    assert whole.err == ""


def test_empty_list_is_explained(netkv_in_process: Netkv, stored: list[str]) -> None:
    assert stored
    none = netkv_in_process("runs", "list", "--tag", "unknown")
    assert (none.status, none.out) == (0, "")
    assert "None of the 4 stored runs is like that." in none.err
    wrong = netkv_in_process("runs", "list", "--where", "workload.zipff=1")
    assert_wrong_usage(wrong, "Did you mean 'zipf'?")


def test_store_without_runs_is_explained(netkv_in_process: Netkv, home: Path) -> None:
    assert home
    assert "No run is stored yet." in netkv_in_process("runs", "list").err


def test_tags_are_added_removed_and_printed(netkv_in_process: Netkv, stored: list[str]) -> None:
    added = netkv_in_process("runs", "tag", "gcompared", "--add", "paper", "--add", "fig:7")
    assert added.out == "".join(f"{run}: paper, fig:7\n" for run in stored)
    document = netkv_in_process(
        "runs", "tag", stored[0], "--remove", "paper", "--remove", "fig:7", "--json"
    ).document
    assert document == {"runs": [{"id": stored[0], "tags": []}]}
    assert netkv_in_process("runs", "tag", stored[0]).out == f"{stored[0]}: no tags\n"
    assert "fig:7" in netkv_in_process("runs", "show", stored[1]).out
    assert "fig:7" in netkv_in_process("runs", "list", COLUMNS="200").out
    wrong = netkv_in_process("runs", "tag", stored[0], "--add", "two words")
    assert_wrong_usage(wrong, "'two words' cannot be a tag")


def test_note_is_written_and_printed(netkv_in_process: Netkv, stored: list[str]) -> None:
    run = stored[0]
    assert "has no note" in netkv_in_process("runs", "note", run).err
    netkv_in_process("runs", "note", run, "[bold]warm-up is too short")
    assert netkv_in_process("runs", "note", run).out == "[bold]warm-up is too short\n"
    assert "[bold]warm-up is too short" in netkv_in_process("runs", "show", run).out
    assert netkv_in_process("runs", "show", run, "--json").document["note"]
    document = netkv_in_process("runs", "note", run, "", "--json").document
    assert document == {"id": run, "note": ""}
    assert_wrong_usage(netkv_in_process("runs", "note", "gcompared", "x"), "a group of 4 runs")


def test_pinned_run_is_deleted_after_it_is_unpinned(
    netkv_in_process: Netkv, stored: list[str]
) -> None:
    assert netkv_in_process("runs", "pin", stored[1]).status == 0
    assert listed(netkv_in_process, "--pinned") == [stored[1]]
    refused = netkv_in_process("runs", "delete", "gcompared", "--yes")
    assert refused.status == 1
    assert f"Run {stored[1]} is pinned; unpin it before you delete it." in refused.err
    assert len(listed(netkv_in_process)) == 4
    document = netkv_in_process("runs", "unpin", stored[1], "--json").document
    assert document == {"runs": [{"id": stored[1], "pinned": False}]}
    assert netkv_in_process("runs", "delete", "gcompared", "--yes").status == 0
    assert listed(netkv_in_process) == []
