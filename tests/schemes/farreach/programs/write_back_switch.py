"""A switch of netkv's engine that runs p4/farreach: tables by name, frames as messages."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Self

from netkv import _engine
from netkv.control import base
from netkv.model.messages import Message, decode
from netkv.model.topology import CPU_PORT, SERVICE_IP, client_ip
from netkv.p4rt import entities, p4info
from netkv.sim.tables import Tables
from tests.p4programs.stf import encode, packet_out
from tests.schemes.farreach.programs.write_back import INCARNATION, tables

PROGRAMS = Path(__file__).parents[4] / "p4"
SETTINGS = {"sample_below": 0, "hot_threshold": 0xFFFF, "epoch": 1, "open": 1}


@cache
def bundle() -> bytes:
    return _engine.compile_p4(str(PROGRAMS / "farreach/farreach.p4"), [str(PROGRAMS)])


class FarReachSwitch:
    """A switch with the hosts and ports of the packet test."""

    def __init__(self, pipelines: int, writes: Iterable[base.TableWrite] | None = None) -> None:
        self.engine = _engine.Switch(bundle(), pipelines=pipelines)
        self._tables = Tables(self.engine, bundle())
        self.names = entities.Names(p4info.from_bundle(bundle()))
        for write in tables() if writes is None else writes:
            self.write(write)

    def open(self, incarnation: int = INCARNATION) -> Self:
        """Open the switch for requests of clients, in this incarnation."""
        self.settings()
        table, action = "NetkvEgress.incarnation.current", "NetkvEgress.incarnation.set"
        self.set(table, action, {"incarnation": incarnation})
        return self

    def settings(self, **changes: int) -> None:
        table, action = "NetkvIngress.settings.settings", "NetkvIngress.settings.configure"
        self.set(table, action, SETTINGS | changes)

    def write(self, write: base.TableWrite) -> None:
        """Write to all pipelines."""
        for pipeline in range(self.engine.pipelines):
            self.write_in(pipeline, write)

    def write_in(self, pipeline: int, write: base.TableWrite) -> None:
        refusal = self._tables.carry_out(write, pipeline)
        assert not refusal, refusal

    def set(self, table: str, action: str, params: dict[str, int]) -> None:
        self.write(base.SetDefault(0, table, action, params))

    def cached(self, key: bytes, entry: int, generation: int) -> None:
        params = {"entry": entry, "generation": generation}
        action = "NetkvIngress.lookup.cached"
        match = {"key": int.from_bytes(key)}
        self.write(base.InsertEntry(0, "NetkvIngress.lookup.cache", match, action, params))

    def process(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """The frames that leave, with their ports, without the packet-in header."""
        return [
            (at, out[2:] if at == CPU_PORT else out) for at, out in self.engine.process(port, frame)
        ]

    def ask(self, port: int, message: Message) -> list[tuple[int, Message]]:
        """Send a request of client 1 into `port`; return the messages that leave."""
        return self._messages(port, encode(message, client_ip(1), SERVICE_IP))

    def control(self, message: Message) -> list[tuple[int, Message]]:
        """Send a message of the controller; return the messages that leave."""
        return self._messages(CPU_PORT, packet_out(0) + encode(message))

    def drops(self, counter: str) -> dict[int, int]:
        """Reason → number of dropped frames."""
        counter_id = self.names.schema.counters.named(counter).id
        cells = self.engine.read_counter(counter_id)
        return {index: packets for index, packets, _ in cells if packets}

    def _messages(self, port: int, frame: bytes) -> list[tuple[int, Message]]:
        return [(at, decode(out).message) for at, out in self.process(port, frame)]
