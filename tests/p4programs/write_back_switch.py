"""p4/farreach.p4 on a switch of netkv's engine: tables by name, frames as messages."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from netkv import _engine
from netkv.control import base
from netkv.control.messages import Message, decode, encode
from netkv.control.topology import CONTROLLER_IP, CPU_PORT, SERVICE_IP, client_ip
from netkv.p4rt import entities, p4info
from netkv.sim.tables import Tables
from tests.p4programs.stf import packet_out
from tests.p4programs.write_back import LIFE, TOPOLOGY, tables

PROGRAM = Path(__file__).parents[2] / "p4/farreach.p4"
SETTINGS = {"sample_below": 0, "hot_threshold": 0xFFFF, "epoch": 1, "open": 1}


@cache
def bundle() -> bytes:
    return _engine.compile_p4(str(PROGRAM))


class FarReachSwitch:
    """A switch, open and living, with the hosts and ports of the packet test."""

    def __init__(self, pipelines: int, writes: Iterable[base.TableWrite] | None = None) -> None:
        self.engine = _engine.Switch(bundle(), pipelines=pipelines)
        self._tables = Tables(self.engine, bundle())
        self.names = entities.Names(p4info.from_bundle(bundle()))
        for write in tables() if writes is None else writes:
            self.write(write)
        self.set("NetkvIngress.settings.settings", "NetkvIngress.settings.configure", SETTINGS)
        self.set("NetkvEgress.life.life", "NetkvEgress.life.live", {"life": LIFE})

    def write(self, write: base.TableWrite) -> None:
        refusal = self._tables.carry_out(write)
        assert not refusal, refusal

    def set(self, table: str, action: str, params: dict[str, int]) -> None:
        self.write(base.SetDefault(0, table, action, params))

    def cached(self, key: bytes, entry: int, generation: int) -> None:
        params = {"entry": entry, "generation": generation}
        action = "NetkvIngress.lookup.cached"
        match = {"key": int.from_bytes(key)}
        self.write(base.InsertEntry(0, "NetkvIngress.lookup.cache", match, action, params))

    def ask(self, port: int, message: Message) -> list[tuple[int, Message]]:
        """A client's request that comes in at `port`; what leaves, and where."""
        return self._process(port, encode(message, client_ip(1), SERVICE_IP))

    def reply(self, port: int, message: Message) -> list[tuple[int, Message]]:
        """A server's reply to client 1."""
        owner = TOPOLOGY.owner(message.key)
        return self._process(port, encode(message, owner.ip, client_ip(1)))

    def control(self, message: Message) -> list[tuple[int, Message]]:
        """The controller's message."""
        frame = packet_out(0) + encode(message, CONTROLLER_IP, SERVICE_IP)
        return self._process(CPU_PORT, frame)

    def drops(self, counter: str) -> dict[int, int]:
        """Frames that were dropped, by reason."""
        counter_id = self.names.schema.counters.named(counter).id
        cells = self.engine.read_counter(counter_id)
        return {index: packets for index, packets, _ in cells if packets}

    def _process(self, port: int, frame: bytes) -> list[tuple[int, Message]]:
        out = []
        for left_at, frame_out in self.engine.process(port, frame):
            payload = frame_out[2:] if left_at == CPU_PORT else frame_out
            out.append((left_at, decode(payload).message))
        return out
