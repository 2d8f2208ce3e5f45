"""A planted bug is found, reduced, and replayed exactly."""

from __future__ import annotations

from functools import cache

import pytest

from netkv.soak import replay
from netkv.soak.campaign import Found, Search, search
from netkv.soak.case import Case
from netkv.soak.case_generator import USUAL_KINDS
from netkv.soak.reduce import reduce
from netkv.soak.run import play
from netkv.soak.text import case_lines, violation_lines
from tests.soak.planted import InThisProcess, ReusesSlotsEarly, scheme_with

PLANTED = scheme_with(ReusesSlotsEarly)


@cache
def found() -> Found:
    """The first violation of the planted bug."""
    wanted = Search("netcache", first=0, seeds=40, seconds=None, kinds=USUAL_KINDS)
    _, cases_found = search(InThisProcess(PLANTED), wanted, lambda _: None)
    assert cases_found, "the bug was not found"
    return cases_found[0]


@cache
def reduced() -> Found:
    """The reduced case."""
    return reduce(InThisProcess(PLANTED), found(), seconds=30)


def test_search_finds_early_slot_reuse_and_nothing_else() -> None:
    violation = found().outcome.violation
    assert violation is not None
    assert violation.kind == "phantom-value"
    assert violation.key is not None
    assert violation.operations
    assert play(found().case).violations == (), "the original control plane has no violation"


@pytest.mark.slow
def test_a_reduced_case_is_smaller_with_the_same_violation() -> None:
    large, small = found().case, reduced().case
    violation = reduced().outcome.violation
    assert violation is not None
    assert violation.kind == "phantom-value"
    assert len(small.faults) <= min(2, len(large.faults))
    assert small.duration < large.duration
    assert reduced().outcome.operations < found().outcome.operations
    assert small.rack.lab.clients == 1
    assert small.seed == large.seed


def test_a_replay_from_a_file_is_exact() -> None:
    again = Case.model_validate_json(reduced().case.model_dump_json())
    first, second = (replay.replay(again, scheme=PLANTED) for _ in range(2))
    assert first.exact
    assert first.outcome == reduced().outcome
    assert first.lines == second.lines


def test_replay_shows_frames_table_writes_and_the_violation() -> None:
    replayed = replay.replay(reduced().case, scheme=PLANTED, everything=True)
    text = "\n".join(replayed.lines)
    assert replayed.left_out == 0
    for part in (
        "client 1 → switch",
        "-- rack: NetCache is up",
        "insert entry of",
        "== begins: client 1  get",
    ):
        assert part in text, part
    assert "!! phantom-value" in replayed.lines[-1]
    times = [float(line.lstrip(" >").split()[0]) for line in replayed.lines]
    assert times == sorted(times)
    marked = [line for line in replayed.lines if line.startswith(">")]
    assert marked, "frames of the violating operations are marked"
    shown = replay.replay(reduced().case, scheme=PLANTED)
    assert shown.lines == replayed.lines[shown.left_out :]


def test_case_and_violation_are_described() -> None:
    small = reduced()
    assert small.outcome.violation is not None
    text = "\n".join(case_lines(small.case, small.outcome.load_began))
    assert "scheme   netcache" in text
    assert "1 client" in text
    lines = list(violation_lines(small.outcome.violation))
    assert lines[0].startswith("phantom-value of key ")
    assert any("get" in line and "value never written" in line for line in lines[1:])


def test_search_reports_the_lowest_seed_that_fails() -> None:
    wanted = Search("netcache", first=found().case.seed, seeds=1, seconds=None, kinds=USUAL_KINDS)
    tally, again = search(InThisProcess(PLANTED), wanted, lambda _: None)
    assert tally.seeds == 1
    assert [(each.case, each.outcome) for each in again] == [(found().case, found().outcome)]
