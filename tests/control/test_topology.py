"""Topology: addresses, and owners of keys."""

from itertools import pairwise
from random import Random

import pytest

from netkv.control.base import Range, Started
from netkv.control.forwarding import PARTITION, ROUTE, ForwardingOnly
from netkv.model.network import rack
from netkv.model.topology import Topology, key_hash
from tests.control.switched_network import SwitchedNetwork, bundle


@pytest.mark.parametrize("servers", [1, 2, 3, 7, 128, 1000])
def test_every_hash_has_exactly_one_owner(servers: int) -> None:
    topology = Topology.of_ports([], [1] * servers)
    partitions = list(topology.partitions())
    assert partitions[0].low == 0
    assert partitions[-1].high == 2**32 - 1
    for before, after in pairwise(partitions):
        assert after.low == before.high + 1
    assert [p.owner.index for p in partitions] == list(range(servers))


def test_hash_is_the_switchs_crc32() -> None:
    # tests/p4programs/stf.py has a key at each edge of a partition, confirmed by bmv2.
    assert key_hash(bytes(16)) == 0xECBB4B55
    assert key_hash(b"0123456789abcdef") == 0x68C4F033


def test_owner_is_the_partition_of_the_hash() -> None:
    topology = Topology.of_ports([], [1, 2, 3])
    random = Random(0)
    owners = [topology.owner(random.randbytes(16)).index for _ in range(3000)]
    assert all(900 < owners.count(i) < 1100 for i in range(3))


def test_addresses_are_as_documented() -> None:
    topology = Topology.of_ports([7] * 256, [9])
    assert topology.clients[0].index == 1
    assert topology.clients[255].ip == 0x0A010100
    assert topology.servers[0].ip == 0x0A020000
    assert topology.servers[0].mac == 0x02000A020000


@pytest.mark.parametrize("port", [0, 501, 510])
def test_impossible_port_of_a_host_is_refused(port: int) -> None:
    with pytest.raises(ValueError, match="1 to 500"):
        Topology.of_ports([], [port])


def test_rack_without_servers_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one server"):
        Topology.of_ports([1], [])


def test_nocache_writes_its_tables_again_after_a_restart() -> None:
    switched = SwitchedNetwork(rack(clients=2, servers=2), bundle("forwarding"), ForwardingOnly)
    (switch,), (control,) = switched.switches.values(), switched.controls.values()
    assert isinstance(control, ForwardingOnly)
    fresh = ForwardingOnly(switch.plan.topology)
    assert fresh.handle(0, Started())
    assert not fresh.ready()
    writes = list(control.tables())
    ranges = [w.match["hash"] for w in writes if w.table == PARTITION]  # type: ignore[union-attr]
    assert ranges == [Range(0, 0x7FFFFFFF), Range(0x80000000, 0xFFFFFFFF)]
    assert control.ready()
    switched.stop_switch(switch, noticed=False)
    switched.start_switch(switch)
    assert (switch.size(PARTITION), switch.size(ROUTE)) == (0, 0)
    assert not control.ready()
    switched.settle()
    assert control.ready()
    assert (switch.size(PARTITION), switch.size(ROUTE)) == (2, 5)
