"""The queues of a controller: their limits, and the priority of answers over hot-key reports."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from netkv.control import base
from netkv.live import backlog
from netkv.live.backlog import Actions, Events
from netkv.model.messages import Message, Op, Stamp, encode
from netkv.rack.sampling import GroupRises

KEY = b"k" * 16


def frame(op: Op) -> bytes:
    return encode(Message(op, KEY, 1, stamp=Stamp()))


def hot(count: int) -> base.Digest:
    return base.Digest("hot_key_t", {"count": count})


async def all_events(events: Events) -> list[base.Event]:
    return [await events.get() for _ in range(len(events))]


async def test_hot_key_reports_wait_in_a_queue_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backlog, "MAX_EVENTS", 2)
    monkeypatch.setattr(backlog, "MAX_REPORTS", 3)
    dropped: Counter[str] = Counter()
    events = Events(dropped)
    offer = base.PacketIn(1, frame(Op.OFFER))
    answer = base.PacketIn(1, frame(Op.RESTORE_REPLY))
    for event in (hot(1), offer, hot(2), hot(3), offer, answer, answer, answer):
        events.put(event)
    written = [base.TableWritten(number, ok=True) for number in range(5)]
    for answered in written:
        events.put(answered)
    assert await all_events(events) == [answer, answer, *written, hot(1), offer, hot(2)]
    assert dropped == {"reports_dropped": 2, "events_dropped": 1}
    events.put(answer)
    assert await all_events(events) == [answer], "the queue has room again"


async def test_event_wakes_a_waiting_task() -> None:
    events = Events(Counter())
    waiting = asyncio.ensure_future(events.get())
    await asyncio.sleep(0)
    events.put(hot(1))
    assert await waiting == hot(1)


async def test_cleared_events_leave_room_and_the_answers_to_saves() -> None:
    events, answer = Events(Counter()), base.Saved(1, ok=True)
    for event in (answer, hot(1), base.PacketIn(1, frame(Op.GET_REPLY))):
        events.put(event)
    events.put_first([base.Started(), base.Preload(())])
    assert events.begins
    assert events.clear() == [answer]
    assert not events.begins
    events.put(answer)
    assert await all_events(events) == [answer]


async def test_first_events_precede_those_that_wait() -> None:
    events = Events(Counter())
    events.put(base.Saved(1, ok=True))
    first: list[base.Event] = [base.Started(), base.Preload(())]
    events.put_first(first)
    assert [await events.get() for _ in first] == first
    assert not events.begins
    assert await all_events(events) == [base.Saved(1, ok=True)]


def test_table_writes_beyond_the_limit_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("MAX_FRAMES", "MAX_ACKNOWLEDGEMENTS"):
        monkeypatch.setattr(backlog, name, 1)
    monkeypatch.setattr(base, "MAX_WRITES", 2)
    dropped: Counter[str] = Counter()
    actions = Actions(dropped)
    refused = []
    for number in range(3):
        actions.add(0, base.SendFrame(frame(Op.COLLECT)))
        actions.add(0, base.SendFrame(frame(Op.OFFER_REPLY)))
        refused.append(actions.add(0, base.SetDefault(number, "t", "a", {})))
    assert dropped == {"frames_dropped": 2, "acknowledgements_dropped": 2}
    assert refused == [None, None, base.TableWritten(2, ok=False, error=base.TOO_MANY_WRITES)]
    kinds = []
    while actions:
        writes = actions.pop_writes()
        kinds += ["write"] * len(writes) if writes else [type(actions.pop()[1]).__name__]
    assert kinds == ["SendFrame", "SendFrame", "write", "write"]
    assert actions.add(0, base.SetDefault(3, "t", "a", {})) is not None, "no write is answered yet"
    actions.answered(2)
    assert actions.add(0, base.SetDefault(3, "t", "a", {})) is None


def test_drops_are_counted_once_also_after_a_restart() -> None:
    rises = GroupRises()

    def drops(**sources: dict[str, int]) -> tuple[int | None, int | None]:
        found = rises.take(sources)
        return found["control"], found["reports"]

    switch = {"cpu_queue_drops": 5, "report_drops": 7, "sent": 9}
    assert drops(switch=switch, controller={"reports_dropped": 1}) == (5, 8)
    assert drops(switch={**switch, "outbox_drops": 1}, controller={}) == (1, 0)
    assert drops(switch={"report_drops": 2}) == (None, 2)


def test_what_no_node_counts_is_unknown() -> None:
    rises = GroupRises()
    counting = {"recirculated": 3, "resubmitted": 1, "send_drops": 2, "receive_drops": 4}
    found = rises.take({"leaf": counting, "elsewhere": {"sent": 8}})
    assert (found["recirculated"], found["frames"]) == (4, 6)
    assert rises.take({"elsewhere": {"sent": 9}})["recirculated"] is None
