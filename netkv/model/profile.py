"""Models of hosts, switches, cables and control channels: the parameters of a simulation.

Times are microseconds, rates per second, unless the name has another unit.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from netkv.options import Spec

Positive = Annotated[float, Field(gt=0, le=1e12)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]


class Time(Spec):
    """A random time in microseconds; each use draws a new value."""

    kind: Literal["constant", "exponential", "lognormal", "uniform"] = "constant"
    mean: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    """The constant, the mean, the median (lognormal), or the middle (uniform)."""
    spread: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    """Standard deviation of the logarithm (lognormal), or half of the width (uniform)."""

    def scaled(self, factor: float) -> dict[str, Any]:
        """The distribution for the engine: in seconds, and `factor` times as long."""
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
    """A time that is always the same."""
    return Time(mean=microseconds)


class HostModel(Spec):
    """The cores of a host, and the processor time of its frames."""

    cores: Annotated[int, Field(ge=1, le=1024)] = 1
    receive: Time = Time()
    """Processor time of a received frame."""
    send: Time = Time()
    """Processor time of a sent frame."""
    per_key: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    """Further processor time for each key of a multiget in a received or sent frame."""
    per_byte: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    """Further processor time for each byte of such a frame."""
    queue: Count = 4096
    """Frames that wait for a core before further ones are dropped."""


class StoreModel(Spec):
    """Processor time of each operation of a server, without its frames."""

    get: Time = Time()
    next_get: Time | None = None
    """Each key of a multiget after the first; None: the same as `get`."""
    warm_get: Time | None = None
    """A read of a record in the store's cache; None: the same as `get`."""
    warm_records: Annotated[int, Field(ge=0, le=1 << 20)] = 0
    """Number of records in the cache of each server's store; about the most recently used ones."""
    written_get: Time | None = None
    """A read of a record that was written since the run began, which the store finds among its
    recent writes (RocksDB: in a memtable); None: as any other read."""
    behind_writes: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    """What a read of another record takes longer from the first write on: the store searches its
    recent writes first."""
    put: Time = Time()
    delete: Time = Time()


class ServerModel(HostModel, StoreModel):
    """A storage server with its records in memory."""


class LinkModel(Spec):
    """A cable with the same properties in both directions."""

    bandwidth_gbps: Positive
    delay: Annotated[float, Field(ge=0, le=1e6)]
    queue_kib: Count = 512
    """Size of the queue at the sending end; further frames are dropped."""


class SwitchModel(Spec):
    """The hardware of a switch, without its program."""

    latency: Annotated[float, Field(ge=0, le=1e6)]
    """From the last bit in to the first bit out."""
    packet_rate: Positive
    """Packets per second of all its pipelines (`lab.pipelines`) together; each has an equal share.
    """
    parallel: bool = True
    """Whether the pipelines work in parallel. False: in turns, as threads that share cores."""
    queue_packets: Count = 4096
    """Packets that wait for a pipeline before further ones are dropped."""
    table_write_gap: Annotated[float, Field(ge=0, le=1e6)] = 200.0
    """Time from one pipeline to the next, until all of them have a table write."""
    recirculation_gbps: Positive = 100.0


class ControlModel(Spec):
    """The controller of a switch, and the channel between them."""

    latency: Annotated[float, Field(ge=0, le=1e6)]
    """One-way latency of the channel."""
    rate: Positive
    """Messages per second in each direction; table writes are messages, too."""
    queue: Count = 131_072
    """Frames that wait for the channel, in each direction, before further ones are dropped. It has
    room for the originals of a full cache (three for each of 32,768 entries) and for the replies to
    all requests of the controller."""
    report_queue: Count = 1024
    """Frames that report hot records, or acknowledge such reports, that wait for the channel before
    further ones are dropped. They wait behind all other frames, and their senders repeat them."""
    detection_time: Annotated[float, Field(ge=0, le=1e7)] = 150_000.0
    """Time until the controllers notice that a switch has stopped, and the other switches get
    routes around it: three missed packets, 50 ms apart, as BFD detects (RFC 5880) with the default
    setting of Cisco's NX-OS."""
    save_time: Annotated[float, Field(ge=0, le=1e7)] = 5_000.0
    """Time of the controller's disk for a save of 0 bytes: half of it to sync the file, half to
    sync the directory. The data is saved when the file is synced."""
    save_mib_per_s: Positive = 200.0
    """Write throughput of the disk."""

    def save_nanoseconds(self, size: int) -> tuple[int, int]:
        """Times to sync a file of `size` bytes and then its directory."""
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
    card_link: LinkModel = LinkModel(bandwidth_gbps=63, delay=0.9, queue_kib=2048)
    """Between a server and an FPGA card in it: PCIe 3.0 with 8 lanes, and the time of a DMA
    transfer. Processor times of frames are those of the host. The virtio functions of cards in
    clients have none: the design crosses the bus."""
    switch: SwitchModel
    control: ControlModel
    host_delay: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    """Time from the network card of a server to its processor, and back: interrupts and the network
    stack, without their processor time."""
    client_delay: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    """The same time for a client."""
    coordinator: HostModel | None = None
    """The coordinator of multigets; its cores are `lab.coordinator_workers`. None: as `client`."""
    backends: dict[str, StoreModel] = Field(default_factory=dict)
    """Costs of operations on other storage back ends (`lab.backend`), where they are known."""
