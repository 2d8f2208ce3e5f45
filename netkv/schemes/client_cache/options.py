"""Options of the cache in clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from netkv.model.scheme_options import CardCache, ClientCardOptions
from netkv.options import SECONDS

MAX_ENTRIES = 65_536
"""Entries of a controller of the design as it ships."""


class ClientCacheOptions(ClientCardOptions, CardCache):
    """Options of the cache in the cards of clients."""

    left_out: ClassVar[Mapping[str, Any]] = ClientCardOptions.left_out

    set_mode: Literal["update", "invalidate", "store"] = "update"
    """What a SET does to the cache of a card in a client: `update`: it replaces the value of a
    cached key; `store`: it is stored, whether its key is cached or not; `invalidate`: it removes
    the key."""
    card_tenants: Literal["isolated", "shared"] = "isolated"
    """Whether the clients behind a card have entries of their own, or share all of them."""
    card_controllers: Annotated[int, Field(ge=1, le=8)] = 1
    """Key-value controllers of a card in clients, each with memory for 65,536 entries. Clients that
    share entries share a controller; isolated ones are divided among the controllers."""
    card_entries: Annotated[int, Field(ge=1, le=MAX_ENTRIES)] | None = None
    """Entries of a client, or of the clients that share them: a power of 2. Left out, as many as
    the card has memory for."""

    client_max_age: Annotated[float, Field(ge=0, le=3600), SECONDS] = 0.0
    """Age up to which the cache of a card in a client answers with a value; 0 for no limit. It
    limits for how long reads return a value that a client elsewhere has replaced."""

    @property
    def groups(self) -> int:
        """Groups of clients behind a card that share entries."""
        return 1 if self.card_tenants == "shared" else self.card_functions

    @property
    def controllers(self) -> int:
        """Controllers of a card; further ones would have no group."""
        return min(self.card_controllers, self.groups)

    @property
    def room(self) -> int:
        """Entries of a group, at most: the groups of a controller have equal slices of it."""
        groups = -(-self.groups // self.controllers)
        return MAX_ENTRIES >> (groups - 1).bit_length()

    @property
    def entries(self) -> int:
        """Entries of a group."""
        return self.card_entries or self.room
