"""The cards of a live rack: one before each server process, if the scheme has cards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netkv.lab.cabling import Cabling
from netkv.lab.card import CardSpec, Ends, LiveCard
from netkv.schemes.scheme import LIVE_CLOCK_MHZ

if TYPE_CHECKING:
    from netkv.fpga.manifest import Manifest
    from netkv.lab.rack import LiveRack
    from netkv.lab.spec import LabSpec
    from netkv.schemes import Scheme


def of_rack(rack: LiveRack) -> tuple[LiveCard, ...]:
    """The cards of a rack, in the order of its servers; raises `MisfitError`."""
    if rack.scheme.card is None:
        return ()
    wanted = rack.scheme.card(rack.spec.lab)
    settings = {**wanted.settings, **wanted.live_settings}
    return tuple(
        LiveCard(
            server,
            CardSpec(
                wanted.design,
                wanted.changes,
                tuple(f"{name}={value}" for name, value in settings.items()),
                max_mhz=LIVE_CLOCK_MHZ,
                seed=(rack.spec.seed * 1000 + server) % (1 << 32),
                preload=tuple(wanted.preload(rack.spec, server)) if wanted.preload else (),
            ),
            lambda server=server: ends(rack.cabling, server),  # type: ignore[misc]
            rack,
        )
        for server in range(rack.spec.lab.servers)
    )


def ends(cabling: Cabling, server: int) -> Ends:
    """The links of the card before a server."""
    network = cabling.servers[server]
    return Ends([network.peer, network.switch], cabling.cards[server].switch_end)


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
