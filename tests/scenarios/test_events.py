"""Events of a scenario: their descriptions, and the validation of timelines."""

from __future__ import annotations

from typing import Any

import pytest

from netkv import schemes
from netkv.errors import UsageError
from netkv.events.actions.link import LinkFault
from netkv.events.event import TimelineEvent
from netkv.scenarios import loader
from netkv.scenarios.model import Scenario
from netkv.scenarios.run_plan import only_schemes, plan
from netkv.scenarios.timeline import check_live
from netkv.schemes import registry
from tests.schemes.changed import preserving

HEAD = """\
name: mine
schemes: [nocache]
lab: {servers: 4, server_processes: 2, service_rate: 500}
duration: 10
"""


def loads(*events: str, more: str = "", head: str = HEAD) -> Scenario:
    lines = "".join(f"  - {event}\n" for event in events)
    return loader.loads(f"{head}{more}events:\n{lines}" if events else head + more, "mine.yaml")


def error_of(*events: str, more: str = "", head: str = HEAD) -> str:
    with pytest.raises(UsageError) as caught:
        loads(*events, more=more, head=head)
    return str(caught.value)


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ("{at: 1, kill: controller}", "kill controller"),
        (
            "{at: 1, kill: controller, after_actions: 3}",
            "kill controller after 3 more actions",
        ),
        ("{at: 1, partition: controller}", "partition controller"),
        ("{at: 1, link: {node: client, loss: 0.1}}", "link of client: loss 0.1"),
        (
            "{at: 1, link: {node: client, corrupt: 0.1, jitter: 1}}",
            "link of client: corrupt 0.1, jitter 1 s",
        ),
        (
            "{at: 1, link: {node: servers-1, direction: from, reorder: 0.2, delay: 0.002}}",
            "link from servers-1: reorder 0.2, delay 0.002 s",
        ),
        ("{at: 1, link: {node: client, direction: to}}", "link to client: in order"),
        ("{at: 1, slow: {node: servers-0, factor: 10}}", "slow servers-0: factor 10"),
    ],
)
def test_every_fault_has_a_description(event: str, text: str) -> None:
    [found] = loads(event).events
    assert found.describe() == text


@pytest.mark.parametrize(
    ("event", "parts"),
    [
        ("{at: 1, kill: controler}", ["no node 'controler'", "Did you mean 'controller'?"]),
        ("{at: 1, partition: switch}", ["'events.0.partition' is 'switch'", "controller"]),
        ("{at: 1, heal: controller}", ["heals the control channel", "no earlier event"]),
        ("{at: 1, start: controller}", ["starts 'controller', which no earlier event stopped"]),
        ("{at: 1, link: {node: servers-2, loss: 0.1}}", ["no node 'servers-2'", "servers-1"]),
        ("{at: 1, link: {node: switch, loss: 0.1}}", ["named by the node at its other end"]),
        ("{at: 1, link: {node: controller, loss: 1}}", ["'partition: controller'"]),
        ("{at: 1, link: {node: client, loss: 1.5}}", ["'events.0.link.loss' is 1.5"]),
        ("{at: 1, link: {node: client, delay: -1}}", ["'events.0.link.delay' is -1"]),
        (
            "{at: 1, link: {node: client, los: 0.1}}",
            ["'events.0.link.los' is not an option of a link", "Did you mean 'loss'?"],
        ),
        ("{at: 1, link: {node: client, direction: up}}", ["'events.0.link.direction' is 'up'"]),
        ("{at: 1, link: {node: client, loss: 1}}", ["'client' loses every frame at the end"]),
        ("{at: 1, slow: {node: client, factor: 2}}", ["no node 'client'", "servers-0"]),
        ("{at: 1, slow: {node: servers-0, factor: 0.5}}", ["'events.0.slow.factor' is 0.5"]),
        ("{at: 1, kill: switch, after_actions: 3}", ["'after_actions' belongs to", "controller"]),
        ("{at: 1, kill: controller, after_actions: -1}", ["after_actions' is -1"]),
        ("{at: 1, stop: switch, storage: lost}", ["'storage' belongs to the start of servers"]),
        ("{at: 1, link: {node: client, loss: 0.1}, rate: 5}", ["exactly one of", "link and rate"]),
    ],
)
def test_impossible_event_is_refused_with_a_correction(event: str, parts: list[str]) -> None:
    text = error_of(event)
    for part in parts:
        assert part in text


def test_events_about_nodes_that_are_down_are_refused() -> None:
    twice = ("{at: 1, stop: controller}", "{at: 2, kill: controller}")
    assert "'controller', which is down by then" in error_of(*twice)
    cut = "{at: 1, partition: controller}"
    assert "is cut by then" in error_of(cut, cut.replace("1", "2"))
    loads(cut, "{at: 2, heal: controller}", cut.replace("1", "3"))
    dead = "{at: 1, link: {node: client, loss: 1}}"
    one_way = "{at: 2, link: {node: client, direction: to}}"
    assert "the link from 'client' loses every frame" in error_of(dead, one_way)
    loads(dead, "{at: 2, link: {node: client, loss: 0.2}}")
    loads("{at: 3, start: switch}", "{at: 1, kill: switch}")


def test_only_servers_of_limited_rate_can_be_slowed_down() -> None:
    head = HEAD.replace(", service_rate: 500", "")
    text = error_of("{at: 1, slow: {node: servers-0, factor: 2}}", head=head)
    assert "set 'lab.service_rate'" in text


def test_live_servers_keep_storage_only_with_a_disk_store() -> None:
    events = ("{at: 1, kill: servers-0}", "{at: 2, start: servers-0, storage: kept}")
    scenario = loads(*events)
    with pytest.raises(UsageError, match=r"at 2 s starts 'servers-0' with 'storage: kept'"):
        check_live(scenario)
    check_live(loader.override(scenario, ["lab.backend=rocksdb"]))
    check_live(loads(events[0], "{at: 2, start: servers-0, storage: lost}"))


def test_kill_between_two_actions_needs_the_simulator() -> None:
    scenario = loads("{at: 1.5, kill: controller, after_actions: 3}", "{at: 2, start: controller}")
    with pytest.raises(UsageError, match=r"at 1\.5 s kills the controller .*'--mode sim'"):
        check_live(scenario)


@pytest.fixture
def preserving_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """NoCache, changed so that its clients preserve records that only the switch has."""
    changed = preserving(schemes.get("nocache"))
    monkeypatch.setitem(registry.catalogue().schemes, "nocache", changed)


def test_crash_of_clients_that_preserve_nothing_is_refused() -> None:
    text = error_of("{at: 1, crash: client}")
    assert "clients of 'nocache' keep no records" in text
    assert "schemes whose clients do: farreach" in text
    drawn = "random_faults: {every: 1, last: 1, kinds: [client-crash]}\n"
    assert "clients of 'nocache' keep no records" in error_of(more=drawn)
    assert "'events.0.crash' is 'switch'" in error_of("{at: 1, crash: switch}")


@pytest.mark.usefixtures("preserving_clients")
async def test_crash_of_the_client_is_sent_as_a_command() -> None:
    class Rack:
        def __init__(self) -> None:
            self.commands: list[dict[str, Any]] = []
            self.client = self

        async def command(self, command: dict[str, Any]) -> dict[str, Any]:
            self.commands.append(command)
            return {}

    scenario = loads("{at: 1, crash: client}", "{at: 2, crash: client}")
    assert scenario.events[0].describe() == "crash client"
    rack = Rack()
    await scenario.events[0].action.carry_out(rack)  # type: ignore[arg-type]
    assert rack.commands == [{"do": "crash"}]
    down = "about 'client', which is down by then"
    assert down in error_of("{at: 1, kill: client}", "{at: 2, crash: client}")
    assert "schemes whose clients do: nocache, farreach" in error_of(
        "{at: 1, crash: client}", head=HEAD.replace("[nocache]", "[nocache, netcache]")
    )
    with pytest.raises(
        UsageError, match=r"scenario 'mine': .* clients of 'netcache' keep no records"
    ):
        only_schemes(scenario, ["netcache"])


@pytest.mark.usefixtures("preserving_clients")
def test_random_faults_crash_the_client_only_if_requested() -> None:
    drawn = "random_faults: {every: 1, last: 1, kinds: [client-crash, loss]}\n"
    [run] = plan(loads(more=drawn))
    crashes = [event for event in run.scenario.events if event.describe() == "crash client"]
    assert len(crashes) > 1
    assert all(event.at < 10 for event in crashes)


def test_link_fault_without_direction_affects_both() -> None:
    fault = LinkFault(node="client", loss=0.5, delay=0.01)
    assert fault.directions == ("to", "from")
    assert fault.impairment["loss"] == 0.5
    assert fault.impairment["delay"] == 0.01
    assert not fault.heals
    assert LinkFault(node="client").heals


@pytest.mark.parametrize(
    ("faults", "part"),
    [
        ("{every: 1}", "'random_faults.last' is missing"),
        ("{every: 1, last: 1, kinds: [crash]}", "'random_faults.kinds.0' is 'crash'"),
        ("{every: 1, last: 1, kinds: []}", "'random_faults.kinds'"),
        ("{every: 1, last: 1, nodes: [swich]}", "Did you mean 'switch'?"),
        ("{every: 1, last: 1, kinds: [loss], nodes: [switch]}", "can be hit by 'loss'"),
        ("{every: 1, lasts: 1}", "Did you mean 'last'?"),
    ],
)
def test_impossible_random_faults_are_refused(faults: str, part: str) -> None:
    assert part in error_of(more=f"random_faults: {faults}\n")


def test_events_read_back_from_a_stored_run_are_the_same() -> None:
    event = TimelineEvent(at=1, link=LinkFault(node="client", direction="to", loss=0.1))
    assert TimelineEvent.model_validate(event.model_dump(mode="json")) == event
