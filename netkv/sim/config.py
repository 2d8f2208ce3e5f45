"""Builds the configuration of a simulated rack for the engine (`_engine.Simulation`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from netkv.errors import UsageError
from netkv.model import layout, network
from netkv.model.network import Network
from netkv.model.nodes import Card, ClientCard, Coordinator, Servers, client_shares
from netkv.model.profile import HostModel, LinkModel, Profile
from netkv.model.scheme_options import CoordinatorOptions
from netkv.rack.load import load_config
from netkv.schemes import Scheme
from netkv.schemes.spec import LabSpec, RackSpec

_NO_LINE = LinkModel(bandwidth_gbps=1000, delay=0, queue_kib=65_536)
"""Between a client and a virtio function of its card."""


def of_scheme(spec: RackSpec, scheme: Scheme) -> Network:
    """Switches, hosts and cables of a rack of a scheme.

    Raises `UsageError` for an invalid topology, or a card whose clients are at several switches.
    """
    plan = lay_out(spec, coordinator=scheme.has(Coordinator))
    if not scheme.has(ClientCard):
        return plan
    try:
        return network.behind_cards(plan, client_shares(spec.lab))
    except ValueError as error:
        raise UsageError(f"This topology is invalid: {error}") from error


def lay_out(spec: RackSpec, *, coordinator: bool = False) -> Network:
    """Switches, hosts and cables of a rack; raises `UsageError` for an invalid topology."""
    return layout.of_lab(spec.lab, clients=spec.lab.clients, coordinator=coordinator)


def rack_config(
    spec: RackSpec,
    scheme: Scheme,
    network: Network,
    profile: Profile,
    cards: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The configuration. Times of hosts, links and switches are `lab.scale` times those of the
    profile. `cards`: the cards (`netkv.fpga.card`) of the servers, or those of the `client_shares`,
    if there are any."""
    lab = spec.lab
    scale = lab.scale
    size = spec.workload.value_size
    server = profile.server
    store = profile.backends.get(lab.backend, server)
    numbers = {plan.name: number for number, plan in enumerate(network.switches)}
    placed = _placed(cards, scheme, lab)
    switch_link = _link(profile.switch_link, scale)
    links: list[dict[str, Any]] = []
    for at in network.hosts:
        name, index = ("server" if at.is_server else "client"), at.host.index
        link = profile.server_link if at.is_server else profile.client_link
        delay = profile.host_delay if at.is_server else profile.client_delay
        end: dict[str, Any] = {name: index}
        if (place := placed.get((name, index))) is not None:
            # Behind an FPGA card, the delay of the host is on the link between them.
            card, port, first = place
            behind = profile.card_link if at.is_server else _NO_LINE
            model = _link(behind, scale, delay)
            links.append(
                {"a": end, "b": {"card": [card, port]}, "model": model, "kind": f"{name}_card"}
            )
            if not first:
                continue
            end, delay = {"card": [card, 0]}, 0.0
        links.append(
            {
                "a": end,
                "b": {"switch": [numbers[at.switch], at.host.port]},
                "model": _link(link, scale, delay),
                "kind": name,
            }
        )
    links += [
        {
            "a": {"switch": [numbers[link.a], link.a_port]},
            "b": {"switch": [numbers[link.b], link.b_port]},
            "model": switch_link,
            "kind": "switch",
        }
        for link in network.links
    ]
    if (coordinator := network.coordinator) is not None:
        links.append(
            {
                "a": "coordinator",
                "b": {"switch": [numbers[coordinator.switch], coordinator.host.port]},
                "model": _link(profile.client_link, scale, profile.client_delay),
                "kind": "coordinator",
            }
        )
    switch = profile.switch
    return {
        "seed": spec.seed,
        "load": load_config(spec, scheme),
        "client": _host(profile.client, scale),
        "coordinator": _coordinator(spec, profile) if scheme.has(Coordinator) else None,
        "servers": {
            "role": scheme.role(Servers, lab),
            "keys": spec.workload.keys,
            "value_size": size if isinstance(size, int) else size.model_dump(),
            "service_rate": lab.service_rate,
            "queue_limit": lab.queue_limit,
            "host": _host(server, scale)
            | ({"queue_limit": lab.host_queue} if lab.host_queue else {}),
            "store": {
                "get": store.get.scaled(scale),
                "next_get": store.next_get.scaled(scale) if store.next_get else None,
                "warm_get": store.warm_get.scaled(scale) if store.warm_get else None,
                "warm_records": store.warm_records,
                "written_get": store.written_get.scaled(scale) if store.written_get else None,
                "behind_writes_s": store.behind_writes * 1e-6 * scale,
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
        "cards": _with_rates(cards, scheme, profile.client_link.bandwidth_gbps * 1e9 / scale),
        "links": links,
        "control": {
            # Not scaled: in the papers, too, controllers act on the order of seconds.
            "latency_s": profile.control.latency * 1e-6,
            "rate": profile.control.rate,
            "queue": profile.control.queue,
            "report_queue": profile.control.report_queue,
        },
    }


def _with_rates(
    cards: Sequence[Mapping[str, Any]], scheme: Scheme, rate: float
) -> list[Mapping[str, Any]]:
    """The cards; those of clients send to the network at most at the `rate` of the clients' links,
    in bits a second."""
    if scheme.has(Card):
        return list(cards)
    return [{**card, "rates": [min(card["rates"][0], rate), *card["rates"][1:]]} for card in cards]


def _placed(
    cards: Sequence[Mapping[str, Any]], scheme: Scheme, lab: LabSpec
) -> dict[tuple[str, int], tuple[int, int, bool]]:
    """For each host behind a card, its kind and number: the card, its port towards the host, and
    whether the host is the first one behind the card."""
    if not cards:
        return {}
    if scheme.has(Card):
        ports = [len(card["rates"]) - 1 for card in cards]
        return {("server", server): (server, port, True) for server, port in enumerate(ports)}
    return {
        ("client", client): (number, 1 + place, place == 0)
        for number, share in enumerate(client_shares(lab))
        for place, client in enumerate(share)
    }


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
