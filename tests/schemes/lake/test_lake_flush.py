"""A delayed flush empties LaKe for the moments in which it may take effect, and no longer.

`Lab` checks every hit against the states of the server. A server's clock has whole seconds, so it
may drop its items two seconds before the delay is over or when a packet's lifetime and a second
more have passed.
"""

from __future__ import annotations

import struct

import pytest

from tests.fpga.packets import Operation, memcached, store
from tests.schemes.lake.lake import CLIENT, HOST, UNIT, Lab

KEY = b"key1"
SECOND = 128
"""Units of a second: longer than a packet's lifetime."""
MARGIN = 3  # fpga/rtl/memcached/flush_timers.sv
TIMERS = 8
WALL_TIME = 1_700_000_000
DAY = 86_400


def shorten_seconds(lab: Lab, accuracy: int = 10) -> None:
    """A second has few cycles."""
    lab.lake.write("second", SECOND)
    lab.lake.write("accuracy", accuracy)


def flush(delay: int) -> Operation:
    return Operation(memcached.FLUSH, extras=struct.pack(">I", delay))


def pass_seconds(lab: Lab, seconds: float) -> None:
    lab.lake.design.step(int(seconds * SECOND * UNIT))


def drop_everything(lab: Lab) -> None:
    """The server's flush takes effect."""
    lab.server.items.clear()
    for key, history in lab.histories.items():
        history.know(lab.note(key))


def send(lab: Lab, operation: Operation) -> bool:
    """Whether LaKe sends a request on; the server does not get it."""
    frame = lab.frame(CLIENT, operation.encode())
    lab.lake.design.rx(CLIENT.lane, frame)
    lab.lake.design.step(4000)
    out = [(port, data) for port, data, *_ in lab.lake.design.tx()]
    assert out in ([(HOST, frame)], [])
    return bool(out)


class Served:
    """Whether LaKe serves the key: twice each second, while a flush takes effect in one of them."""

    def __init__(self, lab: Lab, seconds: int, effect: int) -> None:
        self._hits = []
        for half in range(2 * seconds):
            if half == 2 * effect:
                drop_everything(lab)
                lab.hold(KEY, b"after the flush")
            self._hits.append(lab.is_hit(KEY))
            pass_seconds(lab, 0.5)

    def always(self, begin: int, end: int) -> bool:
        return all(self._hits[2 * begin : 2 * end])

    def never(self, begin: int, end: int) -> bool:
        return not any(self._hits[2 * begin : 2 * end])


@pytest.mark.parametrize("effect", [18, 20, 22], ids=["early", "in-time", "late"])
def test_hits_stop_only_while_a_flush_may_take_effect(lab: Lab, effect: int) -> None:
    shorten_seconds(lab)
    lab.fill(KEY, b"old")
    assert send(lab, flush(20))
    found = Served(lab, 30, effect)
    assert found.always(0, 20 - MARGIN - 1), "it is served until then"
    assert found.never(18, 22)
    assert found.always(26, 30), "it is served again by itself"
    assert lab.lake.read("delayed_flushes") == 1
    assert lab.lake.read("flushes_under_way") == 0


def test_short_delay_empties_the_cache_at_once(lab: Lab) -> None:
    shorten_seconds(lab)
    lab.fill(KEY, b"old")
    assert send(lab, flush(1))
    assert not lab.is_hit(KEY)
    assert lab.lake.read("state") & 8
    pass_seconds(lab, 1 + MARGIN + 2)
    assert not lab.lake.read("state") & 8
    lab.is_hit(KEY)
    assert lab.is_hit(KEY)


def test_value_of_the_last_second_before_a_flush_is_not_served(lab: Lab) -> None:
    """memcached drops also what was stored in the second in which the flush takes effect."""
    shorten_seconds(lab)
    assert send(lab, flush(10))
    pass_seconds(lab, 9)
    lab.ask(store(KEY, b"new"))
    assert not lab.is_hit(KEY)
    drop_everything(lab)
    pass_seconds(lab, 1)
    assert not lab.is_hit(KEY)


def test_each_of_several_flushes_has_its_pause(lab: Lab) -> None:
    shorten_seconds(lab)
    lab.fill(KEY, b"old")
    for delay in (10, 30):
        assert send(lab, flush(delay))
    found = Served(lab, 42, 31)
    assert found.always(0, 6)
    assert found.never(8, 12)
    assert found.always(17, 26), "it is served between them"
    assert found.never(28, 32)
    assert found.always(38, 42)


def test_long_delay_leaves_the_cache_on(lab: Lab) -> None:
    shorten_seconds(lab)
    lab.fill(KEY, b"old")
    assert send(lab, flush(30 * DAY))
    assert Served(lab, 20, 100).always(0, 20)


def test_unknown_clocks_empty_the_cache_for_twice_the_delay(lab: Lab) -> None:
    """An accuracy of 0: a clock may be wrong by as much as the delay."""
    shorten_seconds(lab, accuracy=0)
    lab.fill(KEY, b"old")
    assert send(lab, flush(8))
    found = Served(lab, 26, 15)
    assert found.never(0, 16)
    assert found.always(22, 26)


def test_accuracy_widens_the_pause(lab: Lab) -> None:
    """A clock that is wrong by a quarter."""
    shorten_seconds(lab, accuracy=2)
    lab.fill(KEY, b"old")
    assert send(lab, flush(16))
    found = Served(lab, 32, 11)
    assert found.always(0, 16 - 4 - MARGIN - 1)
    assert found.never(11, 20)
    assert found.always(28, 32)


# ---- times of day ------------------------------------------------------------------------------


def test_flush_at_an_unknown_time_of_day_is_not_sent_on(lab: Lab) -> None:
    shorten_seconds(lab)
    lab.fill(KEY, b"old")
    assert not send(lab, flush(WALL_TIME + 10))
    assert lab.lake.read("flushes_dropped") == 1
    assert lab.is_hit(KEY), "the server has not got it"


def test_flush_at_a_time_of_day_has_its_pause(lab: Lab) -> None:
    shorten_seconds(lab)
    lab.lake.write("wall_time", WALL_TIME)
    lab.fill(KEY, b"old")
    assert send(lab, flush(lab.lake.read("wall_now") + 12))
    found = Served(lab, 22, 10)
    assert found.always(0, 12 - MARGIN - 1)
    assert found.never(10, 14)
    assert found.always(18, 22)


def test_flush_at_a_time_of_day_that_is_over_ends_soon(lab: Lab) -> None:
    shorten_seconds(lab)
    lab.lake.write("wall_time", WALL_TIME)
    lab.fill(KEY, b"old")
    assert send(lab, flush(WALL_TIME - DAY))
    found = Served(lab, 12, 0)
    assert found.never(0, 3)
    assert found.always(8, 12)


# ---- limits ------------------------------------------------------------------------------------


def test_flush_without_a_timer_is_not_sent_on(lab: Lab) -> None:
    shorten_seconds(lab)
    lab.fill(KEY, b"old")
    for number in range(TIMERS):
        assert send(lab, flush(1000 * (number + 1)))
    assert not send(lab, flush(100_000))
    assert lab.lake.read("flushes_under_way") == TIMERS
    assert lab.lake.read("flushes_dropped") == 1
    assert send(lab, flush(1000)), "its pause is that of another one"
    assert lab.is_hit(KEY)
    assert send(lab, Operation(memcached.FLUSH)), "one without a delay always goes on"


def test_command_ends_pauses(lab: Lab) -> None:
    shorten_seconds(lab)
    lab.fill(KEY, b"old")
    assert send(lab, flush(1))
    lab.lake.write("command", 2)
    lab.lake.pass_lifetime()
    assert lab.lake.read("flushes_under_way") == 0
    lab.is_hit(KEY)
    assert lab.is_hit(KEY)


def test_clock_that_stood_still_counts(lab: Lab) -> None:
    """Software says how many units have passed: all seconds of them count."""
    shorten_seconds(lab)
    lab.fill(KEY, b"old")
    assert send(lab, flush(100))
    lab.lake.write("command", 99 * SECOND << 2 | 3)
    lab.lake.design.step(200)
    assert not lab.is_hit(KEY)
    lab.lake.write("command", 10 * SECOND << 2 | 3)
    lab.lake.design.step(200)
    lab.lake.pass_lifetime()
    lab.is_hit(KEY)
    assert lab.is_hit(KEY)
