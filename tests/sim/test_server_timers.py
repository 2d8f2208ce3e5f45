"""Timers that a server requests when it starts fire in virtual time, although no frame arrives.

DistCache's server is the example: it sends RESTARTED until the controller answers.
"""

from __future__ import annotations

from netkv.control.base import SECOND
from netkv.model.messages import Datagram, Message, Op, decode, encode
from netkv.model.topology import server_ip
from tests.sim.test_farreach_servers import PACKET_HEADER_BYTES, Controller, make


def reports(controller: Controller, duration: int = SECOND) -> list[Datagram]:
    """The RESTARTED that arrive at the controller within a time."""
    simulation = controller.simulation
    end, found = simulation.now() + duration, []
    while simulation.now() < end:
        for notice in simulation.run(end):
            if notice[0] == "packet-in":
                datagram = decode(notice[2][PACKET_HEADER_BYTES:])
                assert datagram.message.op is Op.RESTARTED
                found.append(datagram)
    return found


def answer(controller: Controller, report: Message) -> None:
    frame = encode(report.reply(), destination=server_ip(0))
    controller.simulation.packet_out(0, controller.packet_out + frame)


def test_idle_server_reports_its_start_until_answered() -> None:
    controller = Controller(make("distcache"))
    first = reports(controller)
    assert len(first) > 2, "sent again"
    assert {it.source for it in first} == {server_ip(0)}
    (number,) = {it.message.request for it in first}
    answer(controller, first[0].message)
    reports(controller, SECOND // 100)  # One may have been under way.
    assert reports(controller, 10 * SECOND) == []
    for keep_storage in (True, False):
        controller.simulation.stop_server(0)
        assert reports(controller) == []
        controller.simulation.start_server(0, keep_storage)
        again = reports(controller)
        assert len(again) > 2, "a restarted server reports, too"
        assert number not in {it.message.request for it in again}
        answer(controller, again[0].message)
        reports(controller, SECOND // 100)


def test_server_without_timers_sends_nothing_by_itself() -> None:
    """So the frames above are those of the role's timers, not of the driver."""
    assert reports(Controller(make("netcache"))) == []
