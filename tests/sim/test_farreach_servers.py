"""Servers of FarReach in virtual time: their stores keep sequences, and they report counters.

The test acts as the controller, and the switch only routes.
"""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest

from netkv.control.base import SECOND
from netkv.errors import UsageError
from netkv.model.messages import NO_BITS, Bit, Message, Op, Stamp, Status, decode, encode
from netkv.model.nodes import Client, Servers
from netkv.model.spec import Poisson, WorkloadSpec
from netkv.model.topology import CONTROLLER_IP, server_ip
from netkv.schemes.scheme import Host
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.sim.rack import SimRack

KEY = bytes(range(16))
PACKET_HEADER_BYTES = 2


def make(role: str) -> SimRack:
    """A rack of one server with that role, behind the switch of NoCache."""
    spec = RackSpec(
        scheme="nocache",
        lab=LabSpec(
            servers=1,
            server_processes=1,
            clients=1,
            executor="interpreter",
            profile="farreach-testbed",
        ),
        workload=WorkloadSpec(keys=100, arrivals=Poisson(rate=1000)),
    )
    rack = SimRack(spec)
    hosts = (Host(Client, rack.scheme.role(Client)), Host(Servers, role))
    rack.scheme = dataclasses.replace(rack.scheme, hosts=hosts)
    asyncio.run(rack.compile())
    rack.bring_up()
    return rack


class Controller:
    """Sends requests to the only server."""

    def __init__(self, rack: SimRack) -> None:
        self.simulation = rack.simulation
        (server,) = [it.host for it in rack.network.hosts if it.is_server]
        self.packet_out = (server.port << 7).to_bytes(PACKET_HEADER_BYTES, "big")
        self._request = 0

    def ask(self, op: Op, number: int = 0, value: bytes = b"", bits: Bit = NO_BITS) -> Message:
        self._request += 1
        stamp = Stamp(1, number, bits=bits)
        request = Message(op, KEY, self._request, length=len(value), value=value, stamp=stamp)
        frame = encode(request, CONTROLLER_IP, server_ip(0))
        self.simulation.packet_out(0, self.packet_out + frame)
        end = self.simulation.now() + SECOND
        while self.simulation.now() < end:
            for notice in self.simulation.run(end):
                if notice[0] == "packet-in":
                    message = decode(notice[2][PACKET_HEADER_BYTES:]).message
                    if (message.op, message.request) == (op + 1, self._request):
                        return message
        raise AssertionError(f"no answer to {op.name}")

    def counts(self) -> dict[str, Any]:
        (counts,) = self.simulation.statistics()["servers"]
        assert isinstance(counts, dict)
        return counts


def test_sequences_survive_a_restart_only_with_the_store() -> None:
    controller = Controller(make("write-back"))
    restored = controller.ask(Op.RESTORE, 7, b"seven")
    assert (restored.status, restored.stamp) == (Status.OK, Stamp(1, 7))
    tombstone = controller.ask(Op.RESTORE, 9, bits=Bit.DELETED)
    assert tombstone.stamp == Stamp(1, 9)
    counts = controller.counts()
    assert (counts["restored"], counts["tombstones"], counts["guarded"]) == (2, 1, 0)
    assert {"offers", "unknown", "dropped_tombstones"} <= counts.keys()
    for keep_storage, number in ((True, 9), (False, 0)):
        controller.simulation.stop_server(0)
        controller.simulation.start_server(0, keep_storage)
        record = controller.ask(Op.FETCH)
        assert record.status == Status.NOT_FOUND
        assert record.stamp is not None
        assert record.stamp.number == number
    assert controller.ask(Op.RESTORE, 8, b"eight").stamp == Stamp(1, 8)
    assert controller.ask(Op.FETCH).value == b"eight"
    assert controller.ask(Op.WATERMARK).status == Status.OK


def test_error_of_an_unknown_role_lists_the_roles() -> None:
    with pytest.raises(UsageError, match=r"plain.*write-back.*netcache"):
        make("nearreach")
