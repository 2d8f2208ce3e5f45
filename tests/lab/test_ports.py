"""The free ports of a rack, and the cables that use them."""

from __future__ import annotations

import socket

import pytest

from netkv.live import cabling, ports
from netkv.schemes.spec import LabSpec, RackSpec


def test_ports_are_different_and_free_for_udp_and_tcp() -> None:
    found = ports.free_ports(50)
    assert len(set(found)) == 50
    for port in found:
        for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
            with socket.socket(socket.AF_INET, kind) as probe:
                probe.bind(("127.0.0.1", port))


def test_port_in_use_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        monkeypatch.setattr(ports, "_LOWEST", port - 1)
        monkeypatch.setattr(ports, "_highest", lambda: port + 2)
        assert port not in ports.free_ports(1)


@pytest.mark.parametrize(("servers", "processes"), [(1, 1), (8, 1), (8, 3), (2, 5), (128, 7)])
def test_every_server_is_cabled_once(servers: int, processes: int) -> None:
    spec = RackSpec(scheme="netcache", lab=LabSpec(servers=servers, server_processes=processes))
    plugged = cabling.plug(spec)
    owned = sorted(server for partition in plugged.partitions for server in partition)
    assert owned == list(range(servers))
    addresses = [a for c in (plugged.client, *plugged.servers) for a in (c.switch, c.peer)]
    (switch,) = plugged.switches
    assert len({*addresses, switch.p4runtime}) == len(addresses) + 1
    at = {server: number for number, share in enumerate(plugged.partitions) for server in share}
    for host in switch.topology.servers:
        assert host.port == plugged.servers[at[host.index]].port
