"""p4/farreach itself in the place of the switch in miniature (`ModelSwitch`)."""

from netkv import _engine, resources
from netkv.control.base import TableWrite
from netkv.control.messages import Datagram, Op, decode, encode
from netkv.control.topology import CPU_PORT, Topology
from netkv.sim.tables import PACKET_HEADER_BYTES, Tables
from tests.schemes.farreach.farreach_switch import Out, Passed

# Made as `ModelSwitch` is, needed or not.
# ruff: noqa: ARG002


class EngineSwitch:
    """Runs the program on netkv's engine, frame by frame."""

    def __init__(
        self,
        topology: Topology,
        pipelines: int,
        passed: Passed,
    ) -> None:
        """As `ModelSwitch`."""
        program = resources.programs()["farreach"]
        self._bundle = _engine.compile_p4(str(program), [str(resources.path("p4"))])
        self._engine = _engine.Switch(self._bundle, 0, "compiled", pipelines)
        self._tables = Tables(self._engine, self._bundle)
        self._passed = passed

    def power_on(self) -> None:
        """Tables and registers are empty."""
        self._engine.load(self._bundle)

    def apply(self, write: TableWrite, pipeline: int) -> None:
        """A write reaches one pipeline."""
        error = self._tables.carry_out(write, pipeline)
        assert not error, error

    def receive(self, port: int, datagram: Datagram) -> Out:
        """A frame comes in."""
        request = datagram.message
        frame = encode(request, datagram.source, datagram.destination)
        out: Out = []
        if port == CPU_PORT:
            frame = bytes(PACKET_HEADER_BYTES) + frame
        for egress, sent in self._engine.process(port, frame):
            found = decode(sent[PACKET_HEADER_BYTES:] if egress == CPU_PORT else sent)
            message = found.message
            applied = message.cache_hit and message.op in (Op.PUT_REPLY, Op.DELETE_REPLY)
            if (applied or message.op in (Op.PUT, Op.DELETE)) and message.stamp is not None:
                stamp = message.stamp
                self._passed(request.key, request.value, (stamp.life, stamp.number))
            out.append((egress, found))
        return out
