"""Schemes that differ in little from one that ships."""

from __future__ import annotations

from dataclasses import replace

from netkv.model.nodes import Client, Servers
from netkv.schemes import Scheme
from netkv.schemes.scheme import Host


def preserving(scheme: Scheme) -> Scheme:
    """The scheme, as if its clients kept records."""
    return replace(scheme, traits=replace(scheme.traits, client_keeps=True))


def with_roles(scheme: Scheme, *, client_role: str = "", server_role: str = "") -> Scheme:
    """The scheme with another role of its clients, its servers, or both."""
    clients = Host(Client, client_role or scheme.role(Client))
    servers = Host(Servers, server_role or scheme.role(Servers))
    return replace(scheme, hosts=(clients, servers))
