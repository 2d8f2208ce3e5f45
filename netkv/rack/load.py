"""The configuration of a rack's load and keyspace, for both drivers."""

from __future__ import annotations

from typing import Any

from netkv.model.nodes import Client
from netkv.schemes.scheme import Scheme
from netkv.schemes.spec import RackSpec


def keyspace(spec: RackSpec, scheme: Scheme) -> dict[str, Any]:
    """The keyspace, which is the same for all roles of a rack: the number of servers that share the
    keys, the number of racks with servers, the bytes of a key, the placement of records, and what
    the scheme's options add."""
    return {
        "servers": spec.lab.servers,
        "racks": spec.lab.topology.switches_of_servers,
        "key_size": spec.workload.key_size,
        "placement": spec.workload.placement,
        **scheme.options.of(spec.lab).keyspace(),
    }


def load_config(spec: RackSpec, scheme: Scheme) -> dict[str, Any]:
    """Configuration of the load, live and simulated."""
    return {
        "role": scheme.role(Client, spec.lab),
        "clients": spec.lab.clients,
        "seed": spec.seed,
        "deadline_s": spec.deadline,
        "retry_s": spec.retry,
        "keyspace": keyspace(spec, scheme),
        "workload": spec.workload.model_dump(
            mode="json",
            exclude={"key_size": True, "placement": True, "rotation": True, "shift": {"admit"}},
        ),
        "verify": True,
        "may_be_stale": scheme.max_staleness(spec.lab) is not None,
    }
