"""Builds the configuration of a simulated rack for the engine (`_engine.Simulation`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from netkv.control import network
from netkv.control.network import Network
from netkv.errors import UsageError
from netkv.lab.cabling import load_config
from netkv.lab.spec import RackSpec
from netkv.schemes import Scheme
from netkv.schemes.options import CoordinatorOptions
from netkv.sim.models import HostModel, LinkModel, Profile


def lay_out(spec: RackSpec, *, coordinator: bool = False) -> Network:
    """Switches, hosts and cables of a rack; raises `UsageError` for an invalid topology."""
    lab = spec.lab
    topology = lab.topology
    clients, servers = lab.clients, lab.servers
    try:
        match topology.kind:
            case "rack":
                return network.rack(clients=clients, servers=servers, coordinator=coordinator)
            case "racks":
                return network.racks(
                    topology.racks, clients=clients, servers=servers, coordinator=coordinator
                )
            case "spine-leaf":
                return network.spine_leaf(
                    topology.layers,
                    topology.switches,
                    clients=clients,
                    servers=servers,
                    coordinator=coordinator,
                )
    except ValueError as error:
        raise UsageError(f"This topology is invalid: {error}") from error


def rack_config(
    spec: RackSpec,
    scheme: Scheme,
    network: Network,
    profile: Profile,
    cards: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The configuration. Times of hosts, links and switches are `lab.scale` times those of the
    profile. `cards`: the card of each server (`netkv.fpga.card`), if there are any."""
    lab = spec.lab
    scale = lab.scale
    size = spec.workload.value_size
    server = profile.server
    store = profile.backends.get(lab.backend, server)
    numbers = {plan.name: number for number, plan in enumerate(network.switches)}
    client_link = _link(profile.client_link, scale)
    # Behind an FPGA card, the delay of the host is on the link between them.
    server_link = _link(profile.server_link, scale, 0.0 if cards else profile.host_delay)
    switch_link = _link(profile.switch_link, scale)
    links: list[dict[str, Any]] = [
        {
            "a": (
                _first_port(host.host.index, cards)
                if host.is_server
                else {"client": host.host.index}
            ),
            "b": {"switch": [numbers[host.switch], host.host.port]},
            "model": server_link if host.is_server else client_link,
        }
        for host in network.hosts
    ]
    links += [
        {
            "a": {"server": server},
            "b": {"card": [server, len(card["rates"]) - 1]},
            "model": _link(profile.card_link, scale, profile.host_delay),
        }
        for server, card in enumerate(cards)
    ]
    links += [
        {
            "a": {"switch": [numbers[link.a], link.a_port]},
            "b": {"switch": [numbers[link.b], link.b_port]},
            "model": switch_link,
        }
        for link in network.links
    ]
    if (coordinator := network.coordinator) is not None:
        end = [numbers[coordinator.switch], coordinator.host.port]
        links.append({"a": "coordinator", "b": {"switch": end}, "model": client_link})
    switch = profile.switch
    return {
        "seed": spec.seed,
        "load": load_config(spec, scheme.client_role),
        "client": _host(profile.client, scale),
        "coordinator": _coordinator(spec, profile) if scheme.coordinated else None,
        "servers": {
            "role": scheme.server_role,
            "count": lab.servers,
            "keys": spec.workload.keys,
            "value_size": size if isinstance(size, int) else size.model_dump(),
            "service_rate": lab.service_rate,
            "queue_limit": lab.queue_limit,
            "key_size": spec.workload.key_size,
            "host": _host(server, scale)
            | ({"queue_limit": lab.host_queue} if lab.host_queue else {}),
            "store": {
                "get": store.get.scaled(scale),
                "next_get": store.next_get.scaled(scale) if store.next_get else None,
                "warm_get": store.warm_get.scaled(scale) if store.warm_get else None,
                "warm_records": store.warm_records,
                "put": store.put.scaled(scale),
                "delete": store.delete.scaled(scale),
            },
        },
        "switches": [
            {
                "latency_s": switch.latency * 1e-6 * scale,
                "packet_rate": switch.packet_rate / scale,
                "pipelines": lab.pipelines,
                "parallel": switch.parallel,
                # Not scaled: it is work of the switch driver, like that of the controller.
                "table_write_gap_s": switch.table_write_gap * 1e-6,
                "queue_packets": switch.queue_packets,
                "recirculation_bps": switch.recirculation_gbps * 1e9 / scale,
            }
            for _ in network.switches
        ],
        "cards": list(cards),
        "links": links,
        "control": {
            # Not scaled: in the papers, too, controllers act on the order of seconds.
            "latency_s": profile.control.latency * 1e-6,
            "rate": profile.control.rate,
            "queue": profile.control.queue,
            "report_queue": profile.control.report_queue,
        },
    }


def _first_port(server: int, cards: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The end of the cable between a server and the switch."""
    return {"card": [server, 0]} if cards else {"server": server}


def _host(model: HostModel, scale: float) -> dict[str, Any]:
    return {
        "cores": model.cores,
        "receive": model.receive.scaled(scale),
        "send": model.send.scaled(scale),
        "per_key_s": model.per_key * 1e-6 * scale,
        "per_byte_s": model.per_byte * 1e-6 * scale,
        "queue_limit": model.queue,
    }


def _coordinator(spec: RackSpec, profile: Profile) -> dict[str, Any]:
    options = CoordinatorOptions.of(spec.lab)
    model = profile.coordinator or profile.client
    host = _host(model, spec.lab.scale) | {"cores": options.coordinator_workers}
    return {"host": host, "limit": options.coordinator_queue}


def _link(model: LinkModel, scale: float, more: float = 0.0) -> dict[str, Any]:
    """`more`: further delay in microseconds."""
    return {
        "bandwidth_bps": model.bandwidth_gbps * 1e9 / scale,
        "delay_s": (model.delay + more) * 1e-6 * scale,
        "queue_bytes": model.queue_kib * 1024,
    }
