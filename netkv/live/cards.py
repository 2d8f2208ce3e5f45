"""The cards of a live rack, if the scheme has cards: one before each server process, or one before
the process of the clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netkv.live.cabling import Cabling
from netkv.live.card import CardSpec, Ends, LiveCard, LiveClientCard
from netkv.live.rack_nodes import RackOfNodes
from netkv.model.card_design import LIVE_CLOCK_MHZ
from netkv.model.nodes import ClientCard

if TYPE_CHECKING:
    from netkv.model.manifest import Manifest
    from netkv.schemes import Scheme
    from netkv.schemes.spec import LabSpec


def of_rack(rack: RackOfNodes) -> tuple[LiveCard, ...]:
    """The cards of a rack, those of servers in their order; raises `MisfitError`."""
    if rack.scheme.card is None:
        return ()
    wanted = rack.scheme.card(rack.spec.lab)

    def card(number: int) -> CardSpec:
        own = wanted.of_card(number) if wanted.of_card else {}
        settings = {**own, **wanted.settings, **wanted.live_settings}
        return CardSpec(
            wanted.design,
            wanted.changes,
            tuple(f"{name}={value}" for name, value in settings.items()),
            max_mhz=LIVE_CLOCK_MHZ,
            seed=(rack.spec.seed * 1000 + number) % (1 << 32),
            preload=tuple(wanted.preload(rack.spec, number)) if wanted.preload else (),
        )

    if rack.scheme.has(ClientCard):
        return (LiveClientCard(0, card(0), lambda: _client_ends(rack.cabling), rack),)
    return tuple(
        LiveCard(
            server,
            card(server),
            lambda server=server: ends(rack.cabling, server),  # type: ignore[misc]
            rack,
        )
        for server in range(rack.spec.lab.servers)
    )


def ends(cabling: Cabling, server: int) -> Ends:
    """The links of the card before a server."""
    network = cabling.servers[server]
    return Ends([network.peer, network.switch], list(cabling.cards[server].switch_end))


def _client_ends(cabling: Cabling) -> Ends:
    """The links of the card before the clients."""
    network, behind = cabling.client, cabling.client_card
    assert behind is not None, "the rack was cabled with cards before clients"
    return Ends([network.peer, network.switch], list(behind.switch_end))


def to_build(scheme: Scheme, lab: LabSpec) -> tuple[Manifest, str] | None:
    """The design of the cards, if it was not built, and what to tell users meanwhile.

    Raises `NetkvError`: a tool is missing.
    """
    if scheme.card is None:
        return None
    from netkv.fpga import card

    wanted = scheme.card(lab)
    design = card.find(wanted.design, wanted.changes)
    text = card.must_be_built(design)
    return None if text is None else (design, text)
