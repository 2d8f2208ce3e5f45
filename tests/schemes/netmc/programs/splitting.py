"""Scenarios of p4/netmc: requests are split, other frames are routed or dropped."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from netkv.model.messages import Message, Op
from netkv.model.topology import (
    CONTROLLER_IP,
    COORDINATOR_IP,
    CPU_PORT,
    SERVICE_IP,
    Host,
    Topology,
    client_ip,
    coordinator_at,
    mac_of,
    server_ip,
    splitter_ip,
)
from netkv.schemes.netmc.control_plane import LOOP_PORT
from tests.p4programs.forwarding.common_scenarios import changed
from tests.p4programs.stf import CLIENT_1, CLIENT_2, EDGES, Stf, encode, packet_in, packet_out
from tests.schemes.netmc.programs import multiget
from tests.schemes.netmc.programs.multiget import DELETE, GET, MGET, PUT, REPLY, Multiget

OTHER_RACK_PORT, COORDINATOR_PORT = 9, 10
SERVER_PORTS = (11, 12, 13, 14, 15, 16, 17, 17)
FAR_SERVER = 8

_HOSTS = Topology.of_ports([1, 2], [*SERVER_PORTS, OTHER_RACK_PORT])
TOPOLOGY = Topology(
    clients=_HOSTS.clients,
    servers=_HOSTS.servers,
    local=frozenset(range(8)),
    coordinator=coordinator_at(COORDINATOR_PORT),
    rack=1,
    splitters=(Host(2, splitter_ip(2), mac_of(splitter_ip(2)), OTHER_RACK_PORT),),
)
"""Rack 1 with servers 0 to 7, of which the last two share a port. Server 8 is in rack 2."""

LARGE_TOPOLOGY = Topology.of_ports([1], [101 + server for server in range(32)])

SINGLE = ((3, 1),)
FIGURES = ((1, 2), (2, 1), (3, 1))
"""Keys A and D are server 1's, B is 2's and C is 3's (figures 5 to 7)."""

MALFORMED: dict[str, dict[str, Any]] = {
    "NUMKEY 0": {"numkey": 0},
    "NUMKEY 17": {"numkey": 17},
    "NUMKEY 255": {"numkey": 255},
    "KEYIDX 0": {"keyidx": 0},
    "OID 0": {"oid": 0},
    "OID 2, and not a clone": {"oid": 2},
    "STARTIDX 1, and not a clone": {"startidx": 1},
    "an unknown server": {"srv": (9, 2, 3)},
    "a server of another rack": {"srv": (FAR_SERVER, 2, 3)},
    "server 255": {"srv": (255, 2, 3)},
}
"""Requests that cannot be split: description → wrong fields."""


@dataclass
class SplittingStf(Stf):
    """The packet test of a program with this number of SRV fields."""

    fields: int = 8

    def client_sends_request(self, whole: Multiget, client: int = 1, to: int | None = None) -> None:
        """A client's request for rack 1."""
        to = splitter_ip(1) if to is None else to
        self.packet(client, whole.frame(self.fields, client_ip(client), to))

    def sub_request_arrives(self, sub: Multiget, server: int, client: int = 1) -> None:
        """A sub-request arrives at its server."""
        ports = [host.port for host in (TOPOLOGY if self.fields == 8 else LARGE_TOPOLOGY).servers]
        self.expect(ports[server], sub.frame(self.fields, client_ip(client), server_ip(server)))

    def request_is_split(
        self, groups: Sequence[tuple[int, int]], whole: Multiget, client: int = 1
    ) -> None:
        """A client's request; each server receives its sub-request."""
        self.client_sends_request(whole, client)
        for server, sub in multiget.sub_requests(groups, whole):
            self.sub_request_arrives(sub, server, client)

    def frame_is_routed(self, port: int, frame: bytes, out: int) -> None:
        """The frame leaves unchanged."""
        self.packet(port, frame)
        self.expect(out, frame)


def requests(stf: SplittingStf) -> None:
    """Requests for this rack."""
    stf.comment("the example of figures 5 to 7: keys A, D | B | C")
    stf.request_is_split(FIGURES, multiget.request(FIGURES))
    stf.comment("one key at each server, requested by each client")
    for server in range(8):
        for client in (1, 2):
            stf.request_is_split(((server, 1),), multiget.request([(server, 1)]), client)
    stf.comment("16 keys at one server; 16 keys at 8 servers; a server twice")
    several: list[tuple[tuple[int, int], ...]] = [
        ((5, 16),),
        tuple((s, 2) for s in range(8)),
        ((4, 3), (2, 1), (4, 5)),
    ]
    for groups in several:
        stf.request_is_split(groups, multiget.request(groups))
    stf.comment("two groups of every size")
    for size in range(1, 16):
        for other in {1, 16 - size}:
            pair = ((6, size), (7, other))
            stf.request_is_split(pair, multiget.request(pair))
    stf.comment("read, write and delete of one key")
    one = multiget.keys(1, size=64)
    for op, payload in (
        (GET, one),
        (PUT, one + b"\0\5hello"),
        (PUT, one + (1024).to_bytes(2) + bytes(range(256)) * 4),
        (DELETE, one),
    ):
        stf.request_is_split(SINGLE, multiget.request(SINGLE, op, payload))
    stf.comment("an IPv4 packet of 1500 bytes")
    three = ((0, 4), (1, 4), (2, 8))
    room = 1500 - 20 - 8 - 12 - stf.fields
    stf.request_is_split(
        three, multiget.request(three, payload=multiget.keys(16, 64).ljust(room, b"x"))
    )
    stf.comment("no payload: the switch does not check the keys")
    stf.request_is_split(FIGURES, multiget.request(FIGURES, payload=b""))


def not_for_this_switch(stf: SplittingStf) -> None:
    """Frames of port 5009 that are routed by their address, unchanged."""
    whole = multiget.request(FIGURES)
    stf.comment("another switch splits it")
    for rack, to in ((2, splitter_ip(2)), (2, server_ip(1)), (0, server_ip(1))):
        frame = replace(whole, rack=rack).frame(stf.fields, CLIENT_1, to)
        stf.frame_is_routed(1, frame, OTHER_RACK_PORT if to == splitter_ip(2) else SERVER_PORTS[1])
    stf.comment("a sub-request on its way to the server: CLO is 1, so it is not split")
    for _, sub in multiget.sub_requests(FIGURES, whole):
        stf.frame_is_routed(2, sub.frame(stf.fields, CLIENT_2, server_ip(4)), SERVER_PORTS[4])
    stf.comment("replies, to clients and to the coordinator")
    for op in (MGET, GET, PUT, DELETE):
        for clo in (0, 1):
            reply = replace(whole, op=op | REPLY, clo=clo, rack=0, payload=b"\0")
            stf.frame_is_routed(13, reply.frame(stf.fields, server_ip(2), CLIENT_2), 2)
            stf.frame_is_routed(
                13, reply.frame(stf.fields, server_ip(2), COORDINATOR_IP), COORDINATOR_PORT
            )
    stf.comment("a reply with this rack's number and unknown ops are not requests")
    for op in (MGET | REPLY, 0, 5, 0xFF):
        frame = replace(whole, op=op).frame(stf.fields, CLIENT_1, CLIENT_2)
        stf.frame_is_routed(1, frame, 2)
    stf.comment("a request to the coordinator, and a request from it")
    stf.frame_is_routed(1, replace(whole, rack=0).frame(stf.fields, CLIENT_1, COORDINATOR_IP), 10)
    stf.frame_is_routed(
        10, replace(whole, rack=0).frame(stf.fields, COORDINATOR_IP, server_ip(0)), 11
    )
    stf.comment("addressed to this switch, but not a request of its rack: no route")
    stf.client_sends_request(replace(whole, rack=0))
    stf.client_sends_request(replace(whole, rack=2))
    for clo in (1, 2):
        stf.client_sends_request(replace(whole, clo=clo))
    for op in (0x81, 5):
        stf.client_sends_request(replace(whole, op=op))


def not_splittable(stf: SplittingStf) -> None:
    """Requests that are dropped."""
    for what, change in MALFORMED.items():
        stf.comment(what)
        stf.client_sends_request(replace(multiget.request(FIGURES), **change))
        stf.client_sends_request(replace(multiget.request(SINGLE), **change))


def dropped_between_passes(stf: SplittingStf) -> None:
    """Requests with an error in a later group: the sub-requests before it are sent."""
    whole = multiget.request(FIGURES)
    stf.comment("the second or third server does not exist")
    for wrong in (1, 2):
        srv = tuple(200 if at == wrong else server for at, server in enumerate(whole.srv))
        request = replace(whole, srv=srv)
        stf.client_sends_request(request)
        for server, sub in multiget.sub_requests(FIGURES, request)[:wrong]:
            stf.sub_request_arrives(sub, server)
    stf.comment("16 groups, but 8 SRV fields")
    groups = tuple((server % 8, 1) for server in range(16))
    request = replace(multiget.request(groups), srv=tuple(range(8)))
    stf.client_sends_request(request)
    for server, sub in multiget.sub_requests(groups, request)[:8]:
        stf.sub_request_arrives(sub, server)


def dropped(stf: SplittingStf) -> None:
    """Frames that are dropped."""
    whole = multiget.request(FIGURES)
    frame = whole.frame(stf.fields, CLIENT_1, splitter_ip(1))
    stf.comment("truncated at every length")
    for length in range(len(frame)):
        stf.packet(1, frame[:length])
    stf.comment("wrong IP version, IPv4 checksum, ethertype")
    for offset, value, fix in ((14, 0x65, True), (25, frame[25] ^ 1, False), (12, 0x86, False)):
        stf.packet(1, changed(frame, offset, value, fix))
    stf.comment("inconsistent lengths, and lengths too small for the header")
    stf.packet(1, changed(frame, 39, frame[39] - 1, False))
    stf.packet(1, changed(frame, 39, frame[39] + 1, False))
    short = 8 + 12 + stf.fields - 1
    stf.packet(1, changed(changed(frame, 39, short, False), 17, short + 20, True))
    stf.comment("no route")
    stf.packet(1, replace(whole, rack=0).frame(stf.fields, CLIENT_1, 0x0A0A0A0A))
    stf.comment("frames for the port of the other programs are other traffic")
    kv = Message(Op.GET, bytes.fromhex(EDGES[0][0]), 1, 1)
    stf.frame_is_routed(1, encode(kv, CLIENT_1, CLIENT_2), 2)
    stf.packet(1, encode(kv, CLIENT_1, SERVICE_IP))
    stf.comment("padding behind the datagram is kept")
    stf.packet(1, frame + b"\xee\xee")
    for server, sub in multiget.sub_requests(FIGURES, whole):
        stf.expect(
            SERVER_PORTS[server], sub.frame(stf.fields, CLIENT_1, server_ip(server)) + b"\xee\xee"
        )


def controller_port(stf: SplittingStf) -> None:
    """Frames from and to the controller."""
    frame = multiget.request(FIGURES).frame(stf.fields, CONTROLLER_IP, splitter_ip(1))
    stf.comment("packet-out through the pipeline: split; dropped if truncated")
    stf.packet(CPU_PORT, packet_out(0) + frame)
    for server, sub in multiget.sub_requests(FIGURES, multiget.request(FIGURES)):
        stf.expect(SERVER_PORTS[server], sub.frame(stf.fields, CONTROLLER_IP, server_ip(server)))
    stf.packet(CPU_PORT, packet_out(0) + frame[:-1])
    stf.comment("packet-out to a port: unchanged, also at the recirculation port")
    for port in (1, LOOP_PORT):
        stf.packet(CPU_PORT, packet_out(port) + frame)
        stf.expect(port, frame)
    stf.comment("to the controller")
    reply = replace(multiget.request(SINGLE), op=MGET | REPLY, rack=0)
    back = reply.frame(stf.fields, server_ip(0), CONTROLLER_IP)
    stf.packet(SERVER_PORTS[0], back)
    stf.expect(CPU_PORT, packet_in(SERVER_PORTS[0]) + back)


def large_racks(stf: SplittingStf) -> None:
    """The largest number of SRV fields."""
    stf.comment("16 keys at 16 servers: the first 16, the last 16, and every other one")
    for servers in (range(16), range(16, 32), range(1, 32, 2)):
        groups = tuple((server, 1) for server in servers)
        stf.request_is_split(groups, multiget.request(groups))
    stf.comment("one key at each server")
    for server in range(32):
        stf.request_is_split(((server, 1),), multiget.request(((server, 1),)))
    stf.comment("server 32, but servers are 0 to 31")
    stf.client_sends_request(multiget.request(((32, 1),)))
