"""Models of hosts, switches, cables and control channels: the numbers of a simulation.

Times are microseconds, rates per second, unless the name has another unit.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from netkv.options import Spec

Positive = Annotated[float, Field(gt=0, le=1e12)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]


class Time(Spec):
    """A time that is drawn anew each time, in microseconds."""

    kind: Literal["constant", "exponential", "lognormal", "uniform"] = "constant"
    mean: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    """The constant, the mean, the median (lognormal), or the middle (uniform)."""
    spread: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    """Standard deviation of the logarithm (lognormal), or half of the width (uniform)."""

    def scaled(self, factor: float) -> dict[str, Any]:
        """As the engine reads it, in seconds, everything `factor` times as long."""
        mean = self.mean * 1e-6 * factor
        match self.kind:
            case "constant" | "exponential":
                return {self.kind: mean}
            case "lognormal":
                return {"lognormal": [mean, self.spread]}
            case "uniform":
                half = self.spread * 1e-6 * factor
                return {"uniform": [max(mean - half, 0.0), mean + half]}


def constant(microseconds: float) -> Time:
    """Always the same."""
    return Time(mean=microseconds)


class HostModel(Spec):
    """Processors of a host, and what the network costs them."""

    cores: Annotated[int, Field(ge=1, le=1024)] = 1
    receive: Time = Time()
    """Of a core, for each frame that comes in."""
    send: Time = Time()
    """Of a core, for each frame that goes out."""
    per_key: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    """Of a core, for each key of a multiget in a frame that comes in or goes out."""
    per_byte: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    """Of a core, for each byte of such a frame."""
    queue: Count = 4096
    """Frames that wait for a core before further ones are dropped."""


class StoreModel(Spec):
    """What each operation costs a server beside its frames."""

    get: Time = Time()
    next_get: Time | None = None
    """Each key of a multiget but the first; None: it costs as much as a read."""
    warm_get: Time | None = None
    """A read of a record that the store has at hand; None: it costs as much as any."""
    warm_records: Annotated[int, Field(ge=0, le=1 << 20)] = 0
    """How many records each server's store has at hand: those that were asked for last, about."""
    put: Time = Time()
    delete: Time = Time()


class ServerModel(HostModel, StoreModel):
    """A storage server with its records in memory."""


class LinkModel(Spec):
    """A cable, both directions alike."""

    bandwidth_gbps: Positive
    delay: Annotated[float, Field(ge=0, le=1e6)]
    queue_kib: Count = 512
    """What waits at the sending end before further frames are dropped."""


class SwitchModel(Spec):
    """A switch around its program."""

    latency: Annotated[float, Field(ge=0, le=1e6)]
    """From the last bit in to the first bit out."""
    packet_rate: Positive
    """Of all its pipelines (`lab.pipelines`) together, which share it out evenly."""
    parallel: bool = True
    """Whether the pipelines work side by side; the engine, live, runs them in turns."""
    queue_packets: Count = 4096
    """Packets that wait for a pipeline before further ones are dropped."""
    table_write_gap: Annotated[float, Field(ge=0, le=1e6)] = 200.0
    """From one pipeline to the next, until a table write is in all of them (a driver's default)."""
    recirculation_gbps: Positive = 100.0


class ControlModel(Spec):
    """The controller of a switch, and the channel between them."""

    latency: Annotated[float, Field(ge=0, le=1e6)]
    """Of the channel."""
    rate: Positive
    """Messages in each direction; table writes are messages, so it limits updates too."""
    queue: Count = 131_072
    """Frames that wait for the channel, each way, before further ones are dropped: the originals of
    a full cache (three for each of 32,768 entries), and the answers to all that is asked."""
    report_queue: Count = 1024
    """Frames that report hot records, or acknowledge reports, that wait behind all others before
    further ones are dropped. Their senders repeat them."""
    save_time: Annotated[float, Field(ge=0, le=1e7)] = 5_000.0
    """Of the controller's disk, for a save of no bytes: the file half of it, its directory the
    other half. What is saved is there after the first."""
    save_mib_per_s: Positive = 200.0
    """What the disk writes."""

    def save_nanoseconds(self, size: int) -> tuple[int, int]:
        """How long it takes until `size` bytes are there, and from then until that is certain."""
        half = round(self.save_time * 500)
        return half + round(size / (self.save_mib_per_s * 2**20) * 1e9), half


class Profile(Spec):
    """A whole testbed."""

    title: str
    client: HostModel
    server: ServerModel
    client_link: LinkModel
    """Between a client and its switch."""
    server_link: LinkModel
    """Between a server and its switch."""
    switch_link: LinkModel
    """Between two switches."""
    switch: SwitchModel
    control: ControlModel
    coordinator: HostModel | None = None
    """Of multigets; its cores are `lab.coordinator_workers`. None: as a client's."""
    backends: dict[str, StoreModel] = Field(default_factory=dict)
    """What operations cost on other storage back ends (`lab.backend`), as far as they are known."""
