"""The rise of a counter is right across restarts, silence and wraps."""

from __future__ import annotations

from netkv.metrics.rises import Rises


def test_first_answer_counts_since_the_start() -> None:
    assert Rises().take("node", {"sent": 5, "cpu_s": 0.5}) == {"sent": 5, "cpu_s": 0.5}


def test_each_owner_has_counters_of_its_own() -> None:
    rises = Rises()
    rises.take("one", {"sent": 5})
    assert rises.take(("two", 1), {"sent": 7}) == {"sent": 7}
    assert rises.take("one", {"sent": 6}) == {"sent": 1}


def test_smaller_counter_has_counted_since_a_restart() -> None:
    rises = Rises()
    rises.take("node", {"sent": 5, "received": 1})
    assert rises.take("node", {"sent": 2, "received": 4}) == {"sent": 2, "received": 3}


def test_counter_that_was_left_out_continues() -> None:
    rises = Rises()
    rises.take("node", {"sent": 5, "drops": 3})
    assert rises.take("node", {"sent": 6}) == {"sent": 1}
    assert rises.take("node", {"sent": 7, "drops": 4}) == {"sent": 1, "drops": 1}


def test_forgotten_counters_begin_at_0() -> None:
    """A new process may have counted more than the old one."""
    rises = Rises()
    rises.take("node", {"sent": 5})
    rises.forget("node")
    rises.forget("unknown")
    assert rises.take("node", {"sent": 9}) == {"sent": 9}


def test_counter_that_wraps_needs_the_number_of_restarts() -> None:
    rises = Rises(modulus=256)
    rises.take("card", {"hits": 250})
    assert rises.take("card", {"hits": 4}) == {"hits": 10}
    assert rises.take("card", {"hits": 3}, restarts=1) == {"hits": 3}
    assert rises.take("card", {"hits": 5}, restarts=1) == {"hits": 2}


def test_what_is_no_number_has_no_rise() -> None:
    assert Rises().take("node", {"up": True, "ports": {}, "name": "x", "sent": 1}) == {"sent": 1}
