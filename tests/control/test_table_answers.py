"""`ForwardingControlPlane`: what a scheme learns of the answers to table writes."""

# Handlers have the parameters of the interface, whether they use them or not.
# ruff: noqa: ARG002

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from netkv.control.base import (
    Action,
    Nanoseconds,
    Note,
    SendFrame,
    Started,
    SwitchRestarted,
    TableWrite,
    TableWritten,
    TopologyChanged,
)
from netkv.control.forwarding import ForwardingControlPlane
from netkv.model.network import spine_leaf

NETWORK = spine_leaf(2, 3, clients=2, servers=6, coordinator=True)
TOPOLOGY = NETWORK.switch("edge-0").topology
REROUTED = NETWORK.without(["spine-0"]).switch("edge-0").topology
OPEN = SendFrame(b"open")
"""The action of the scheme when its switch forwards."""


class Scheme(ForwardingControlPlane):
    """Has one write of its own, and records what it learns."""

    name = "recorder"

    def __init__(self) -> None:
        super().__init__(TOPOLOGY)
        self.own = self.forwarding.next_write()
        self.learned: list[str | tuple[int, bool]] = []

    def tables(self) -> Iterator[TableWrite]:
        yield from self.forwarding.partition()
        yield from self.forwarding.routes()

    def ready(self) -> bool:
        return self.forwarding.installed

    def on_started(self, now: Nanoseconds, saved: bytes | None) -> Iterator[Action]:
        yield from self.forwarding.install(self.tables())

    def on_switch_restarted(self, now: Nanoseconds) -> Iterator[Action]:
        yield from self.forwarding.install(self.tables())

    def on_other_write(self, now: Nanoseconds, written: TableWritten) -> Iterator[Action]:
        self.learned.append((written.write, written.ok))
        return iter(())

    def on_tables_installed(self, now: Nanoseconds) -> Iterator[Action]:
        self.learned.append("installed")
        yield OPEN


@dataclass
class Driver:
    """Passes events, and answers writes when it is asked to."""

    scheme: Scheme = field(default_factory=Scheme)
    under_way: list[int] = field(default_factory=list)

    def handle(self, event: Started | SwitchRestarted | TopologyChanged) -> None:
        actions = self.scheme.handle(0, event)
        self.under_way += [action.write for action in actions if isinstance(action, TableWrite)]

    def answer(self, write: int, ok: bool = True) -> list[Action]:
        return self.scheme.handle(0, TableWritten(write, ok, "" if ok else "no room"))

    def answer_all(self) -> list[Action]:
        return [action for _ in range(len(self.under_way)) for action in self.answer_next()]

    def answer_next(self, ok: bool = True) -> list[Action]:
        return self.answer(self.under_way.pop(0), ok)


def started() -> Driver:
    driver = Driver()
    driver.handle(Started())
    assert len(driver.under_way) > 2
    return driver


def test_the_last_initial_answer_and_no_other_installs_the_tables() -> None:
    driver = started()
    last = driver.under_way.pop()
    assert driver.answer_all() == []
    assert driver.scheme.learned == []
    assert driver.answer(last) == [Note("tables ready"), OPEN]
    assert driver.scheme.learned == ["installed"]


def test_tables_are_installed_again_after_each_restart() -> None:
    driver = started()
    before = list(driver.under_way)
    driver.handle(SwitchRestarted())
    driver.under_way = driver.under_way[len(before) :]
    driver.answer_all()
    assert driver.scheme.learned == ["installed"]
    driver.handle(SwitchRestarted())
    assert driver.answer_all()[-1] == OPEN
    assert driver.scheme.learned == ["installed", "installed"]


def test_tables_with_a_refused_write_are_never_installed() -> None:
    driver = started()
    driver.answer_next(ok=False)
    assert OPEN not in driver.answer_all()
    assert driver.scheme.learned == []
    assert driver.scheme.forwarding.refused == 1


def test_a_changed_route_is_no_write_of_the_scheme() -> None:
    driver = started()
    driver.answer_all()
    driver.handle(TopologyChanged(REROUTED))
    assert driver.under_way
    assert driver.answer_all() == []
    assert driver.scheme.learned == ["installed"]


def test_other_answers_reach_the_scheme_also_before_the_tables_are_in() -> None:
    driver = started()
    assert driver.answer(driver.scheme.own, ok=False) == []
    assert driver.scheme.learned == [(driver.scheme.own, False)]
    driver.answer_all()
    driver.answer(driver.scheme.own)
    assert driver.scheme.learned[1:] == ["installed", (driver.scheme.own, True)]


def test_an_answer_from_before_a_restart_installs_nothing() -> None:
    driver = started()
    late = driver.under_way.pop()
    driver.answer_all()
    driver.handle(SwitchRestarted())
    assert driver.answer(late) == []
    assert "installed" not in driver.scheme.learned
    assert not driver.scheme.ready()
    driver.answer_all()
    assert driver.scheme.learned[-1] == "installed"
