"""Options of schemes: the base of their models, and options that several schemes have.

Users write the options of all schemes flat under `lab`, beside those of every lab. A value applies
to the schemes that have the option. So an option of one name has one declaration: schemes that
share it inherit it from a model here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from netkv.options import BYTES, SECONDS, Spec, Unit

if TYPE_CHECKING:
    from netkv.model.hardware import GenericLab


MHZ = Unit("MHz")


class SchemeOptions(Spec):
    """The options of a scheme; a scheme without options has this model itself."""

    left_out: ClassVar[Mapping[str, Any]] = {}
    """Option → the value that replaces None. None means that the user left the option out."""

    @classmethod
    def of(cls, lab: GenericLab) -> Self:
        """The values of these options in a lab."""
        values = {name: getattr(lab, name) for name in cls.model_fields}
        chosen = {name: each for name, each in cls.left_out.items() if values[name] is None}
        return cls.model_validate(values | chosen)

    def keyspace(self) -> dict[str, Any]:
        """What all roles of the scheme must know besides the keyspace that every scheme has."""
        return {}


class SwitchCache(SchemeOptions):
    """Options of schemes that cache hot records in the switch."""

    max_entries: ClassVar[int] = 65_536
    """Entries that the switch has room for."""

    cache_entries: Annotated[int, Field(ge=0, le=65536)] = 1000
    """Records that a caching scheme may hold in the switch."""
    hot_threshold: Annotated[int, Field(ge=1, le=65535)] = 16
    """Counted requests for an uncached key within an epoch that make it hot, so that it may be
    cached: reads, and with a write-back cache writes, too."""
    sample_rate: Annotated[float, Field(ge=0, le=1)] | None = None
    """Share of requests that is counted; left out, the scheme's own."""
    epoch: Annotated[float, Field(gt=0, le=3600), SECONDS] = 1.0
    """Time after which a caching scheme resets its statistics."""
    preload: bool = True
    """Start with the hottest keys cached: `cache_entries` for each switch with servers."""

    @property
    def counted_share(self) -> float:
        """Share of requests that is counted: none without entries, since nothing is admitted."""
        rate = self.left_out["sample_rate"] if self.sample_rate is None else self.sample_rate
        return rate if self.cache_entries else 0.0

    @property
    def epoch_ns(self) -> int:
        """`epoch` in nanoseconds, at least 1."""
        return max(round(self.epoch * 1e9), 1)

    @property
    def preloaded(self) -> int:
        """Keys that are cached at the start, for each switch with servers."""
        return self.cache_entries if self.preload else 0


class WriteBackCache(SwitchCache):
    """Options of schemes whose switch holds records that no server has yet."""

    snapshot_period: Annotated[float, Field(ge=0, le=3600), SECONDS] = 10.0
    """Time from one snapshot of the write-back cache to the next; 0 for none."""

    @property
    def snapshot_period_ns(self) -> int:
        """`snapshot_period` in nanoseconds."""
        return round(self.snapshot_period * 1e9)


class CoordinatorOptions(SchemeOptions):
    """Options of schemes with a coordinator."""

    coordinator_workers: Annotated[int, Field(ge=1, le=64)] = 4
    """Threads of the coordinator; simulated: cores of its host."""
    coordinator_queue: Annotated[int, Field(ge=1, le=1_000_000)] = 4096
    """Requests that the coordinator has under way before it refuses further ones."""


class MultigetPackets(SchemeOptions):
    """Options of schemes for multigets."""

    mtu: Annotated[int, Field(ge=1500, le=9000), BYTES] = 1500
    """Bytes of the largest IPv4 packet, which is more than 1,500 in the simulator only. A reply
    that is longer takes several packets, each with its costs at hosts."""

    def keyspace(self) -> dict[str, Any]:
        return {"mtu": self.mtu}


class MultigetSplitting(MultigetPackets):
    """Options of schemes whose switch splits multigets."""

    split_keys: Literal[16, 32, 64, 128] = 16
    """Keys of a request that the switch can split, which is the number of bits of KEYIDX in its
    header. A multiget with more keys takes several requests."""

    def keyspace(self) -> dict[str, Any]:
        return {**super().keyspace(), "split_keys": self.split_keys}


class CardOptions(SchemeOptions):
    """Options of schemes with FPGA cards."""

    left_out: ClassVar[Mapping[str, Any]] = {"card_clock": 200.0}

    card_clock: Annotated[float, Field(ge=10, le=1000), MHZ] | None = None
    """Clock of the FPGA cards, in MHz; left out, 200 before servers, as in the papers, and 250 in
    clients."""

    @property
    def clock_mhz(self) -> float:
        """The clock."""
        assert self.card_clock is not None, "`of` replaces None"
        return self.card_clock

    @property
    def clock_change(self) -> str:
        """The change of a design's manifest."""
        return f"clock_mhz={self.clock_mhz:g}"


class CardCache(CardOptions):
    """Options of caches in FPGA cards that follow the requests of a server's clients."""

    unit_cycles: ClassVar[int] = 1024
    """Cycles of a unit of time in the registers."""

    set_visible: Literal["acknowledged", "at-once"] = "acknowledged"
    """When the cache of a card answers with the value of a SET: `acknowledged`: once the server has
    acknowledged it; `at-once`: as soon as the request has passed the card, as in the paper. Then
    reads return a value that the server may never store."""
    fill: bool = True
    """Whether the cache of a card stores the values of replies to reads that missed."""
    replies_copied: bool = False
    """Whether the network between a server and the card may copy replies. Then the card stores, of
    the requests of a client with one opaque, one in a `packet_lifetime`."""
    packet_lifetime: Annotated[float, Field(gt=0, le=60), SECONDS] = 0.1
    """Longest time that a packet is on its way from the card to the server and back. The cache of a
    card relies on it: if a packet takes longer, a read may return an old value."""

    def units(self, seconds: float, mhz: float | None = None) -> int:
        """A time in the unit of the registers, rounded up; 0 for 0. `mhz`: None: the clock."""
        return -int(-seconds * (mhz or self.clock_mhz) * 1e6 // self.unit_cycles)


class ClientCardOptions(CardOptions):
    """Options of schemes with FPGA cards in clients."""

    left_out: ClassVar[Mapping[str, Any]] = {"card_clock": 250.0}

    card_functions: Annotated[int, Field(ge=1, le=8)] = 1
    """Clients behind each card in clients: each drives a virtio function of its own. Live it is 1,
    and all clients of the load are behind it."""
    card_clients: Annotated[int, Field(ge=1)] | None = None
    """Clients with a card, the first ones; the others are cabled to the switch. Left out: all."""

    def shares(self, clients: int) -> tuple[tuple[int, ...], ...]:
        """The clients (from 1) behind each card, of a rack with so many."""
        numbers = range(1, min(self.card_clients or clients, clients) + 1)
        size = self.card_functions
        return tuple(tuple(numbers[at : at + size]) for at in range(0, len(numbers), size))
