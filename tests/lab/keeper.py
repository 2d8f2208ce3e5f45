"""A scheme for tests of drivers. Its control plane uses saves, clone sessions and recoveries."""

from __future__ import annotations

from collections.abc import Iterator

from netkv.control import base
from netkv.control.forwarding import ROUTE, ForwardingOnly
from netkv.model.nodes import Client, Servers
from netkv.model.spec import GenericRack
from netkv.model.topology import CONTROLLER_IP, CPU_PORT, Topology
from netkv.schemes.scheme import PLAIN, About, Host, P4Programs, Scheme, Traits

SESSION = 7


class Keeper(ForwardingOnly):
    """Saves how often its switch has started, counted over all controllers."""

    def __init__(self, topology: Topology) -> None:
        super().__init__(topology)
        self.found: bytes | None = None
        self.answers: list[base.Saved] = []
        self._starts = 0
        self._saving = 0
        self._restarted: int | None = None

    def tables(self) -> Iterator[base.TableWrite]:
        yield from super().tables()
        yield base.ModifyEntry(
            write=self.forwarding.next_write(),
            table=ROUTE,
            match={"dst": CONTROLLER_IP},
            action="NetkvIngress.route.forward",
            params={"port": CPU_PORT},
        )
        yield base.CloneSession(write=self.forwarding.next_write(), session=SESSION, port=CPU_PORT)

    def ready(self) -> bool:
        return super().ready() and not self._saving

    def on_started(self, now: int, saved: bytes | None) -> Iterator[base.Action]:
        self.found = saved
        self._starts = int(saved or b"0")
        yield from super().on_started(now, saved)
        yield from self._save()

    def on_switch_restarted(self, now: int) -> Iterator[base.Action]:
        self._restarted = now
        yield base.Recovering()
        yield from super().on_switch_restarted(now)
        yield from self._save()

    def on_saved(self, now: int, saved: base.Saved) -> Iterator[base.Action]:
        self.answers.append(saved)
        if saved.save != self._saving:
            return
        self._saving = 0
        if self._restarted is not None:
            seconds = (now - self._restarted) / base.SECOND
            phases = (("collect", seconds / 4), ("restore", seconds * 3 / 4))
            yield base.Recovered(phases, {"records": self._starts})
            self._restarted = None

    def _save(self) -> Iterator[base.Action]:
        self._starts += 1
        self._saving = self._starts
        yield base.Save(self._starts, str(self._starts).encode())


def keeper_scheme(made: list[Keeper]) -> Scheme:
    """The scheme. It appends each control plane to `made`."""

    def make(_: GenericRack, topology: Topology) -> Keeper:
        made.append(Keeper(topology))
        return made[-1]

    return Scheme(
        name="keeper",
        about=About(title="Keeper", paper="", summary=""),
        programs=P4Programs("forwarding/forwarding.p4"),
        hosts=(Host(Client, PLAIN), Host(Servers, PLAIN)),
        traits=Traits(caches=False),
        control_plane=make,
        recovery_phases=("collect", "restore"),
    )
