"""A switch that runs p4/netmc, with the table entries of its control plane."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from netkv import _engine, resources
from netkv.control import base
from netkv.model.topology import Topology, client_ip, splitter_ip
from netkv.p4rt import entities, p4info
from netkv.schemes import compile_program
from netkv.schemes.netmc.control_plane import NetMc
from netkv.sim.tables import Tables
from tests.schemes.netmc.programs.multiget import Multiget


@cache
def bundle(fields: int = 8) -> bytes:
    """The program with this number of SRV fields."""
    return compile_program(resources.programs()["netmc"], {"NETMC_SERVERS": str(fields)})


class NetMcSwitch:
    """One switch. Its tables are empty at first."""

    def __init__(self, fields: int = 8, executor: str = "compiled", pipelines: int = 1) -> None:
        self.fields = fields
        self.engine = _engine.Switch(bundle(fields), 0, executor, pipelines)
        self.names = entities.Names(p4info.from_bundle(bundle(fields)))
        self._tables = Tables(self.engine, bundle(fields))

    def fill(self, topology: Topology) -> NetMcSwitch:
        """Write all tables of the control plane."""
        self.write(NetMc(topology, self.fields).tables())
        return self

    def write(self, writes: Iterable[base.TableWrite]) -> None:
        """Write to all pipelines."""
        for write in writes:
            for pipeline in range(self.engine.pipelines):
                refusal = self._tables.carry_out(write, pipeline)
                assert not refusal, refusal

    def restart(self) -> None:
        """Restart the switch: all tables are empty again."""
        self.engine.load(bundle(self.fields))

    def ask(self, whole: Multiget, client: int = 1) -> list[tuple[int, bytes]]:
        """Send a request for rack 1 into the client's port; return the frames that leave."""
        frame = whole.frame(self.fields, client_ip(client), splitter_ip(1))
        return self.engine.process(client, frame)

    def drops(self) -> dict[int, int]:
        """Reason → number of dropped frames."""
        return drops(self.engine, self.fields)


def drops(engine: _engine.Switch, fields: int) -> dict[int, int]:
    """Reason → number of dropped frames of a switch with the program."""
    counters = entities.Names(p4info.from_bundle(bundle(fields))).schema.counters
    (counter,) = (each for each in counters if each.name == "NetkvIngress.drop.reasons")
    return {at: packets for at, packets, _ in engine.read_counter(counter.id) if packets}
