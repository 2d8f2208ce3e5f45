"""Cache in the client's network card (docs/schemes/client-cache.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netkv.errors import MisfitError
from netkv.schemes.client_cache.metrics import METRICS
from netkv.schemes.client_cache.options import ClientCacheOptions
from netkv.schemes.memcached import ROLE
from netkv.schemes.scheme import CardDesign, Scheme

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from netkv.lab.spec import LabSpec
    from netkv.scenarios.events import FaultKind
    from netkv.schemes.scheme import Broken
    from netkv.sim.models import Profile
    from netkv.sim.rack import SimRack
    from netkv.soak.case import Case
    from netkv.soak.random_draw import RandomDraw


def _card(lab: LabSpec) -> CardDesign:
    from netkv.schemes.client_cache import cards

    return cards.cache(lab)


def _max_staleness(lab: LabSpec) -> float | None:
    from netkv.schemes.client_cache.staleness import max_staleness

    return max_staleness(lab)


def _needs(lab: LabSpec) -> None:
    options = ClientCacheOptions.of(lab)
    entries = options.entries
    if entries & (entries - 1) or entries > options.room:
        raise MisfitError(
            f"A group of clients has a power of 2 of entries, at most {options.room:,} with "
            f"{options.groups} groups on {options.controllers} controllers: 'lab.card_entries' is "
            f"{entries:,}.",
            *("lab", "card_entries"),
        )


def _soak_case(draw: RandomDraw, case: Case, kinds: Sequence[FaultKind]) -> Case:
    from netkv.schemes.client_cache.soak import adapt

    return adapt(draw, case, kinds)


def _soak_check(rack: SimRack, read_back: Callable[[], int]) -> str | None:
    from netkv.schemes.client_cache.soak import check

    return check(rack, read_back)


def _mutants() -> Mapping[str, Broken]:
    from netkv.schemes.client_cache.mutants import MUTANTS, full_design
    from netkv.soak.card_mutants import cards

    return cards(_card, MUTANTS, full_design)


def _profiles() -> Mapping[str, Profile]:
    from netkv.schemes.client_cache.profiles import PROFILES

    return PROFILES


SCHEME = Scheme(
    name="client-cache",
    title="Client-side cache",
    order=100,
    program="nocache/nocache.p4",
    server_role=ROLE,
    client_role=ROLE,
    caches=True,
    paper="Transparent client-side cache in an FPGA NIC",
    summary="Cache for memcached in the network card of each client, behind virtio functions.",
    max_pipelines=4,
    conditional_writes=True,
    options=ClientCacheOptions,
    needs=_needs,
    card=_card,
    card_before="clients",
    mutants=_mutants,
    max_staleness=_max_staleness,
    soak_case=_soak_case,
    soak_check=_soak_check,
    profiles=_profiles,
    metrics=METRICS,
)
