"""The configuration of a rack's load and keyspace, for both drivers."""

from __future__ import annotations

from typing import Any

from netkv import schemes
from netkv.model.nodes import Client
from netkv.model.scheme_options import MultigetPackets, MultigetSplitting
from netkv.schemes.scheme import Scheme
from netkv.schemes.spec import RackSpec


def keyspace(
    spec: RackSpec, scheme: Scheme | None = None, *, simulated: bool = False
) -> dict[str, Any]:
    """The keyspace, which is the same for all roles of a rack: the number of servers that share the
    keys, the number of racks with servers, the bytes of a key, the placement of records, the keys
    of a multiget that a switch can split, and the size of packets."""
    known = {
        "servers": spec.lab.servers,
        "racks": spec.lab.topology.switches_of_servers,
        "key_size": spec.workload.key_size,
        "placement": spec.workload.placement,
    }
    options = (scheme or schemes.get(spec.scheme)).options
    if issubclass(options, MultigetSplitting):
        known["split_keys"] = options.of(spec.lab).split_keys
    if issubclass(options, MultigetPackets) and simulated:
        known["mtu"] = options.of(spec.lab).mtu
    return known


def load_config(spec: RackSpec, scheme: Scheme, *, simulated: bool = False) -> dict[str, Any]:
    """Configuration of the load, live and simulated."""
    return {
        "role": scheme.role(Client),
        "clients": spec.lab.clients,
        "seed": spec.seed,
        "deadline_s": spec.deadline,
        "retry_s": spec.retry,
        "keyspace": keyspace(spec, scheme, simulated=simulated),
        "workload": spec.workload.model_dump(
            mode="json",
            exclude={"key_size": True, "placement": True, "rotation": True, "shift": {"admit"}},
        ),
        "verify": True,
        "may_be_stale": scheme.max_staleness(spec.lab) is not None,
    }
