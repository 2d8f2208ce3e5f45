"""LaKe: a layered cache for memcached in an FPGA card (docs/schemes/lake.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netkv.kits.memcached import ROLE
from netkv.model.card_design import LIVE_CLOCK_MHZ, CardDesign
from netkv.model.nodes import Card, Client, Servers
from netkv.schemes.lake.metrics import METRICS
from netkv.schemes.lake.options import BUILT_ELEMENTS, LakeOptions
from netkv.schemes.scheme import About, Host, Limits, P4Programs, Scheme, Traits

if TYPE_CHECKING:
    from netkv.model.hardware import GenericLab

_CHIP = (
    *("USE_DRAM=0", "HASH_BITS=9"),
    *("CHUNKS_64=512", "CHUNKS_128=128", "CHUNKS_256=64", "CHUNKS_512=64"),
)
"""Hash table and values on the chip: 4,096 descriptors and 512 chunks, as in the paper (section V),
which names no numbers for the larger chunks."""
_MEMORY = {"chip": (*_CHIP, "USE_SRAM=0"), "sram": (*_CHIP, "USE_SRAM=1"), "dram": ()}
"""Parameters of the design for each choice of memories."""
_FRAME_HEADER, _SAFE_WRITES, _FILL, _CACHES, _REPLIES_COPIED = 1, 2, 4, 8, 16
"""Bits of the register `options`."""


def card(lab: GenericLab) -> CardDesign:
    options = LakeOptions.of(lab)
    more = options.elements > BUILT_ELEMENTS
    elements = (f"PES={options.elements}",) if more else ()
    safe = options.set_visible == "acknowledged"
    return CardDesign(
        design="lake",
        changes=(options.clock_change, *_MEMORY[options.card_memory], *elements),
        settings={
            "options": _FRAME_HEADER
            | (_SAFE_WRITES if safe else 0)
            | (_FILL if options.fill else 0)
            | (_CACHES if options.shared_caches else 0)
            | (_REPLIES_COPIED if options.replies_copied else 0),
            "pe_mask": (1 << options.elements) - 1,
            "lifetime": options.units(options.packet_lifetime),
            "max_age": options.units(options.max_age),
            "second": options.units(1.0),
            # Nothing is stored for a packet lifetime: a request may be on its way since before.
            "command": 1,
        },
        live_settings={
            "lifetime": options.units(options.packet_lifetime, LIVE_CLOCK_MHZ),
            "max_age": options.units(options.max_age, LIVE_CLOCK_MHZ),
            "second": options.units(1.0, LIVE_CLOCK_MHZ),
            # Its clock may be later than that of the server by any part of a delay.
            "accuracy": 0,
        },
    )


SCHEME = Scheme(
    name="lake",
    about=About(
        title="LaKe",
        order=90,
        paper="Tokusashi, Matsutani and Zilberman, LaKe, ReConFig 2018",
        summary="Layered cache for memcached in an FPGA card before each server.",
    ),
    programs=P4Programs("forwarding/forwarding.p4"),
    hosts=(Host(Client, ROLE), Host(Servers, ROLE), Host(Card, card=card)),
    traits=Traits(caches=True, conditional_writes=True),
    options=LakeOptions,
    limits=Limits(pipelines=4),
    metrics=METRICS,
)
