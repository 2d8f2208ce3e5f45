"""The search names the seeds that took far more processor time than the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from netkv.executors.processes import Processes
from netkv.soak.campaign import Search, Tally, search
from netkv.soak.case import Case
from netkv.soak.case_generator import USUAL_KINDS, generate
from netkv.soak.pool import Pool
from netkv.soak.run import Outcome, play

SECONDS = {0: 0.01, 3: 0.02, 7: 1.5, 11: 0.9, 12: 4.0}
"""Processor time by seed; that of the others is 0.01 s."""


class Timed:
    """A player whose cases take the given times."""

    size = 1

    def play(self, cases: Iterator[Case]) -> Iterator[tuple[int, Case, Outcome]]:
        for number, case in enumerate(cases):
            taken = SECONDS.get(case.seed, 0.01)
            outcome = Outcome(case.seed, 100, 0, 0, (), 0.0, "", processor_seconds=taken)
            yield number, case, outcome

    def play_all(self, cases: Sequence[Case]) -> list[Outcome]:
        return [outcome for _, _, outcome in self.play(iter(cases))]


def searched(seeds: int) -> Tally:
    wanted = Search("nocache", first=0, seeds=seeds, seconds=None, kinds=USUAL_KINDS)
    return search(Timed(), wanted, lambda _: None)[0]


def test_seeds_a_hundred_times_slower_are_named() -> None:
    slow = [(each.seed, round(each.times)) for each in searched(20).slow]
    assert slow == [(12, 400), (7, 150)]


def test_a_few_seeds_are_not_compared() -> None:
    assert searched(8).slow == []


def test_playing_a_case_measures_its_processor_time() -> None:
    assert play(generate("nocache", 0, USUAL_KINDS)).processor_seconds > 0


@pytest.mark.slow
def test_many_reads_of_deleted_keys_at_once_are_not_slow() -> None:
    """Seed 9700034 has 900 writes of one key under way, and reads of it that find nothing."""
    wanted = Search("coordimc", first=9_700_028, seeds=12, seconds=None, kinds=USUAL_KINDS)
    with Processes() as executor:
        tally, found = search(Pool(executor), wanted, lambda _: None)
    assert not found
    assert 9_700_034 in tally.durations
    assert tally.slow == []
