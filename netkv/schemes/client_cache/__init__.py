"""Cache in the client's network card (docs/schemes/client-cache.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netkv.errors import MisfitError
from netkv.kits.memcached import ROLE
from netkv.model.card_design import CardDesign
from netkv.model.nodes import Client, ClientCard, Servers
from netkv.schemes.client_cache.metrics import METRICS
from netkv.schemes.client_cache.options import ClientCacheOptions
from netkv.schemes.scheme import About, Host, Limits, P4Programs, Scheme, Traits

if TYPE_CHECKING:
    from netkv.model.hardware import GenericLab


def card(lab: GenericLab) -> CardDesign:
    from netkv.schemes.client_cache import cards

    return cards.cache(lab)


def _max_staleness(lab: GenericLab) -> float | None:
    from netkv.schemes.client_cache.staleness import max_staleness

    return max_staleness(lab)


def _needs(lab: GenericLab) -> None:
    options = ClientCacheOptions.of(lab)
    entries = options.entries
    if entries & (entries - 1) or entries > options.room:
        raise MisfitError(
            f"A group of clients has a power of 2 of entries, at most {options.room:,} with "
            f"{options.groups} groups on {options.controllers} controllers: 'lab.card_entries' is "
            f"{entries:,}.",
            *("lab", "card_entries"),
        )


SCHEME = Scheme(
    name="client-cache",
    about=About(
        title="Client-side cache",
        order=100,
        paper="Transparent client-side cache in an FPGA NIC",
        summary="Cache for memcached in the network card of each client, behind virtio functions.",
    ),
    programs=P4Programs("forwarding/forwarding.p4"),
    hosts=(Host(Client, ROLE), Host(Servers, ROLE), Host(ClientCard, card=card)),
    traits=Traits(caches=True, conditional_writes=True),
    options=ClientCacheOptions,
    limits=Limits(pipelines=4),
    needs=_needs,
    max_staleness=_max_staleness,
    metrics=METRICS,
)
