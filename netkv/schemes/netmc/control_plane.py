"""The control plane of NetMC, where the switch of a storage rack splits multiget requests.

It only fills tables.
"""

from collections.abc import Iterator

from netkv.control.base import InsertEntry, MulticastGroup, TableWrite
from netkv.control.forwarding import TablesOnly
from netkv.model.topology import Topology

MAX_SERVERS = 32
"""SRV fields that the header can have."""

LOOP_PORT = 508
"""The recirculation port (p4/common/wire.p4)."""

OWN_ID = "NetkvIngress.splitter_id.splitter_id"
SRV_ID = "NetkvIngress.addressing.srv_id"
ADDR = "NetkvIngress.addressing.addr"


class NetMc(TablesOnly):
    """Tables of p4/netmc (NetMC, section III-D).

    Rules
    -----
    1. The switch of a rack splits the requests for its rack and has entries for its own servers
       only. A switch without servers splits nothing. Every switch has routes to the other racks'
       switches.
    2. The multicast group of a server is written before the entry that uses it, and the switch's
       own id (table `splitter_id`) last. Until then the switch drops requests that it should split,
       so it never splits a request partly. After a restart the same holds.
    3. A switch that has (re)started gets all table writes again (`ForwardingTables`).
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
        """Routes, and for the switch of a rack the entries for splitting."""
        yield from self.forwarding.routes(self.topology.splitters)
        if self.topology.has_servers:
            yield from self._groups()
            yield from self._addressing()

    def _groups(self) -> Iterator[TableWrite]:
        """Server i has group i + 1: the server's port and the recirculation port."""
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
