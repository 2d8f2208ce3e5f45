"""The configuration of a rack's load, for both drivers."""

from __future__ import annotations

from typing import Any

from netkv.model.nodes import Client
from netkv.schemes.scheme import Scheme
from netkv.schemes.spec import RackSpec


def load_config(spec: RackSpec, scheme: Scheme) -> dict[str, Any]:
    """Configuration of the load, live and simulated."""
    return {
        "role": scheme.role(Client),
        "clients": spec.lab.clients,
        "seed": spec.seed,
        "deadline_s": spec.deadline,
        "retry_s": spec.retry,
        "servers": spec.lab.servers,
        "racks": spec.lab.topology.switches_of_servers,
        "workload": spec.workload.model_dump(mode="json"),
        "verify": True,
        "may_be_stale": scheme.max_staleness(spec.lab) is not None,
    }
