"""NetMC: the switch of a storage rack splits multiget requests. The control plane fills tables."""

from collections.abc import Iterator

from netkv.control.base import InsertEntry, MulticastGroup, TableWrite
from netkv.control.forwarding import TablesOnly
from netkv.control.network import Network
from netkv.control.topology import Topology

MAX_SERVERS = 32
"""SRV fields that the header can have."""

LOOP_PORT = 508
"""The recirculation port (p4/common/protocol.p4)."""

OWN_ID = "NetkvIngress.splitter_id.splitter_id"
SRV_ID = "NetkvIngress.addressing.srv_id"
ADDR = "NetkvIngress.addressing.addr"


def srv_fields(network: Network) -> int:
    """`NETMC_SERVERS` of a network: the servers of its largest rack, for all switches alike.

    Raises ValueError for a rack that is too large.
    """
    most = max(len(plan.topology.local or ()) for plan in network.switches)
    return _checked(most)


class NetMc(TablesOnly):
    """Tables of p4/netmc (NetMC, section III-D).

    Rules
    -----
    1. The switch of a rack splits what is for its rack, and knows its own servers only. A switch
       without servers splits nothing; every switch routes to the other racks' switches.
    2. A server's multicast group is there before the entry that uses it, and the switch's own id
       comes last: a request is split once all of its groups can be, and until then dropped. So is
       every request for a switch that has lost its tables.
    3. A switch that has (re)started gets everything again (`ForwardingTables`).
    """

    def __init__(self, topology: Topology, servers: int) -> None:
        """`servers`: the SRV fields of the switch's program (`NETMC_SERVERS`)."""
        super().__init__(topology)
        self._fields = _checked(servers)
        local = len(list(topology.local_servers()))
        if local > servers:
            raise ValueError(
                f"{local} servers are at this switch, but its program has {servers} SRV fields: "
                f"it has to be compiled with NETMC_SERVERS={local}."
            )

    def tables(self) -> Iterator[TableWrite]:
        """Routes, and at the switch of a rack what splitting takes."""
        yield from self.forwarding.routes(self.topology.splitters)
        if self.topology.has_servers:
            yield from self._groups()
            yield from self._addressing()

    def _groups(self) -> Iterator[TableWrite]:
        """Server i has group i + 1: to the server, and round again."""
        for server in self.topology.local_servers():
            yield MulticastGroup(
                self.forwarding.next_write(), server.index + 1, (server.port, LOOP_PORT)
            )

    def _addressing(self) -> Iterator[TableWrite]:
        for oid in range(1, self._fields + 1):
            yield InsertEntry(
                write=self.forwarding.next_write(),
                table=SRV_ID,
                match={"oid": oid},
                action=f"NetkvIngress.addressing.srv_{oid}",
                params={},
            )
        for server in self.topology.local_servers():
            yield InsertEntry(
                write=self.forwarding.next_write(),
                table=ADDR,
                match={"server": server.index},
                action="NetkvIngress.addressing.to_server",
                params={
                    "mac": server.mac,
                    "address": server.ip,
                    "port": server.port,
                    "group": server.index + 1,
                },
            )
        yield InsertEntry(
            write=self.forwarding.next_write(),
            table=OWN_ID,
            match={"rack": self.topology.rack},
            action="NetkvIngress.splitter_id.split",
            params={},
        )


def _checked(servers: int) -> int:
    if not 1 <= servers <= MAX_SERVERS:
        raise ValueError(
            f"{servers} servers in a rack: the netmc header has 1 to {MAX_SERVERS} SRV fields."
        )
    return servers
