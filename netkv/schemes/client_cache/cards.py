"""The cards in clients: the design `client-cache`, and its registers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from netkv.kits.client_cards import addresses
from netkv.model.card_design import LIVE_CLOCK_MHZ, CardDesign
from netkv.schemes.client_cache.options import ClientCacheOptions

if TYPE_CHECKING:
    from netkv.model.hardware import GenericLab

_FRAME_HEADER, _SAFE_WRITES, _FILL, _REPLIES_COPIED = 1, 2, 4, 8
"""Bits of the register `options`."""
_SET_MODES = {"invalidate": 0, "update": 16, "store": 32}


def cache(lab: GenericLab) -> CardDesign:
    """The card with the cache."""
    options = ClientCacheOptions.of(lab)
    safe = options.set_visible == "acknowledged"
    return CardDesign(
        design="client-cache",
        changes=(
            options.clock_change,
            f"functions={options.card_functions}",
            f"CONTROLLERS={options.controllers}",
        ),
        of_card=lambda card: addresses(lab, card),
        settings={
            # First: what is written next makes everything stored invalid for a packet lifetime.
            "lifetime": options.units(options.packet_lifetime),
            "max_age": options.units(options.client_max_age),
            "second": options.units(1.0),
            "options": _FRAME_HEADER
            | (_SAFE_WRITES if safe else 0)
            | (_FILL if options.fill else 0)
            | (_REPLIES_COPIED if options.replies_copied else 0)
            | _SET_MODES[options.set_mode],
            **_groups(options),
            "mode": 1,
        },
        live_settings={
            "lifetime": options.units(options.packet_lifetime, LIVE_CLOCK_MHZ),
            "max_age": options.units(options.client_max_age, LIVE_CLOCK_MHZ),
            "second": options.units(1.0, LIVE_CLOCK_MHZ),
            # Its clock may be later than that of the server by any part of a delay.
            "accuracy": 0,
        },
    )


def _groups(options: ClientCacheOptions) -> Mapping[str, int]:
    """The group of each function, and the controller and the entries of each group."""
    registers = {
        f"group.{function}": min(function, options.groups - 1)
        for function in range(options.card_functions)
    }
    for group in range(options.groups):
        slice_, controller = divmod(group, options.controllers)
        registers[f"controller.{group}"] = controller
        registers[f"slice_base.{group}"] = slice_ * options.room
        registers[f"slice_mask.{group}"] = options.entries - 1
    return registers
