"""How far another clock is ahead, from questions and answers."""

from __future__ import annotations

from netkv.executors import clock


def test_shortest_round_trip_is_the_most_exact() -> None:
    ahead = 5.0
    # The answer is from the end of a long round trip, and from the middle of a short one.
    rounds = [(10.0, 11.0 + ahead, 11.0), (12.0, 12.05 + ahead, 12.1), (13.0, 13.0 + ahead, 13.5)]
    found = clock.of_rounds(rounds)
    assert abs(found.offset - ahead) < 1e-9
    assert abs(found.within - 0.05) < 1e-9


def test_true_offset_is_within_the_stated_exactness_wherever_the_answer_is_from() -> None:
    for part in (0.0, 0.25, 1.0):
        found = clock.of_rounds([(0.0, 0.2 * part - 3.0, 0.2)])
        assert abs(found.offset + 3.0) <= found.within + 1e-12
