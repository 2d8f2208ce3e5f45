"""Models of labs: live racks that `netkv up`, this API or a live run has brought up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import ConfigDict, Field, create_model

from netkv.api.models.base import Model, RequestModel
from netkv.api.models.fields import Changes, PlainName, Seed
from netkv.events.catalogue import IN_SCENARIOS
from netkv.events.event import options
from netkv.live.diagram import DiagramLink, DiagramNode, Kind
from netkv.model.hardware import Executor, Fabric, Target
from netkv.model.report import Change
from netkv.p4rt.inspection import CounterInfo, TableInfo
from netkv.scenarios.lab_options import LabOptions
from netkv.scenarios.results import RecoveryDetails

MAX_WAIT_S = 120.0

LabState = Literal["starting", "ready", "degraded", "failed", "broken", "dead"]


class LabRequest(RequestModel):
    """A request to bring a lab up; what is left out is as in `netkv up`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"name": "demo", "set": ["lab.cache_entries=100"]},
                {"name": "crash", "scenario": "switch-crash"},
            ]
        }
    )

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")] = "lab"
    """Up to 40 small letters, digits and dashes."""
    scheme: PlainName | None = None
    """Left out: that of the scenario, or the first that caches."""
    scenario: PlainName | None = None
    """Take lab and workload from this scenario of those that ship with netkv."""
    set: Changes = Field(default_factory=list)
    """Values of options, each `path=value`."""
    seed: Seed | None = None
    """Seed of all random draws."""
    target: Annotated[Target, Field(max_length=200)] | None = None
    executor: Executor | None = None
    fabric: Fabric | None = None
    topology: Literal["rack", "racks", "spine-leaf"] | None = None

    def options(self) -> LabOptions:
        """The options as those of `netkv up`."""
        fields = self.model_dump(exclude={"name", "set"})
        return LabOptions(changes=self.set, **fields)


class Arbitration(Model):
    """The role of the lab's controller at the P4Runtime server of a switch."""

    p4runtime: str
    """Address of the server, `host:port`."""
    device_id: int
    state: Literal["primary", "backup", "connecting"]
    primary: bool
    election_id: int | None
    """Of the lab's controller; null unless it is primary."""
    other_election_id: int | None
    """Of another client that is primary, if known."""


class LabNode(Model):
    """A node of a lab, and its place in a drawing."""

    name: str
    kind: Kind
    row: int
    """From the top: clients, their cards, layers of switches, cards of servers, servers, Redis."""
    column: int
    """From the left, in its row."""
    servers: list[int]
    """The storage servers in a process of servers, and the one of a card or redis-server."""
    pid: int | None
    """Its process; that of the controller is the supervisor. Null before its first start."""
    host: str | None = None
    """The host of the lab on which its process is; null for the machine of the server."""
    running: bool
    """Whether it runs; of an external client, whether a program has taken its place."""
    program: str | None = None
    """Of an external client: the program that has taken its place, such as `gateway`."""
    p4runtime: str | None = None
    """Of a switch: the address of its P4Runtime server, `host:port`."""
    device_id: int | None = None
    """Of a switch: its id at the P4Runtime server."""
    arbitration: Arbitration | None = None
    """Of a switch, while the controller runs."""

    @classmethod
    def of(cls, node: DiagramNode, **state: Any) -> LabNode:
        """The node with its state."""
        return cls(
            name=node.name,
            kind=node.kind,
            row=node.row,
            column=node.column,
            servers=list(node.servers),
            **state,
        )


class LabLink(Model):
    """A link between two nodes."""

    kind: Literal["host", "cable", "card", "storage", "control"]
    """`host`: a switch and a host, or its card; `cable`: two switches; `card`: a card and its host;
    `storage`: servers and their Redis; `control`: the controller and a switch."""
    a: str
    b: str
    a_port: int | None
    """Number of the port of the switch `a`."""
    b_port: int | None

    @classmethod
    def of(cls, link: DiagramLink) -> LabLink:
        """The link as a model."""
        return cls(kind=link.kind, a=link.a, b=link.b, a_port=link.a_port, b_port=link.b_port)


class LabEvent(Model):
    """An event in a lab."""

    time: float
    """Seconds since the epoch."""
    kind: str
    """`starting`, `ready`, `stopped`, `killed`, `failed`, `started`, `control`, `note`, `fault`,
    `healed`, `load`, `recovering`, `recovered`, ..."""
    node: str
    text: str
    recovery: RecoveryDetails | None
    """Details of an event `recovered`."""
    change: Change | None = None
    """Details of an event `fault`, `healed` or `load`."""

    @classmethod
    def of(cls, event: dict[str, Any]) -> LabEvent:
        """An event as its supervisor reports it."""
        known = dict(event)
        recovered = known.pop("recovered", None)
        recovery = recovered and RecoveryDetails.reported(recovered["phases"], recovered["counts"])
        return cls(**known, recovery=recovery)


class FaultInForce(Model):
    """A fault that was injected and is not healed."""

    id: int
    """Its number, as in `change.begins` of the event with which it began."""
    action: str
    """As in a request, such as `kill` or `link`."""
    target: str
    """What is impaired, as in `change.target` of that event."""
    node: str
    """The node or cable."""
    text: str
    begin: float
    """Seconds since the epoch."""
    end: float | None
    """When it is healed by itself; null: never."""
    heal: list[dict[str, Any]]
    """What heals it now, each a body for `POST /labs/NAME/faults`."""


class LabSummary(Model):
    """A lab and its state."""

    name: str
    kind: Literal["lab", "run"]
    """`run`: it belongs to a run of a scenario and ends with it."""
    run: str | None
    """Id of that run; null before it has begun, and for other labs."""
    state: LabState
    """`failed`: a node has ended unexpectedly; `broken`: it did not come up; `dead`: it has no
    supervisor. `text` explains these three."""
    text: str
    scheme: str
    fabric: str
    target: str
    topology: str
    """`rack`, `racks` or `spine-leaf`."""
    filled: float | None
    """While it starts and fills caches: how far that is, 0 to 1."""
    created: float
    """Seconds since the epoch."""


class Lab(LabSummary):
    """A lab with its topology."""

    nodes: list[LabNode]
    links: list[LabLink]
    events: list[LabEvent]
    """The newest events, the oldest first."""
    faults: list[FaultInForce]
    answers: bool
    """Whether its supervisor has answered; if not, events and faults are missing."""


class LabRemoved(Model):
    """A lab that was taken down."""

    name: str
    was_up: bool


class SwitchRates(Model):
    """What a switch has received and sent, per second."""

    received_per_s: float
    sent_per_s: float
    received_bytes_per_s: float
    sent_bytes_per_s: float
    packet_ins_per_s: float
    packet_outs_per_s: float
    digests_per_s: float
    drops_per_s: float
    """Frames and messages that it dropped at full queues or as invalid."""


class FrameRates(Model):
    """Frames to and from a node, per second."""

    to_per_s: float
    from_per_s: float


class ProgramRates(FrameRates):
    """Frames of a program, and reads that it got an answer to, per second."""

    reads_per_s: float
    hits_per_s: float
    """Reads that a switch answered."""


class LinkRates(FrameRates):
    """What crosses a link, per second, as the port of the switch has counted it.

    Of a cable: to the second switch, and from it.
    """

    to_bytes_per_s: float | None
    """Bytes of frames, without preamble, checksum and gaps. Null while the switch does not answer:
    then the frames are those that the node has counted."""
    from_bytes_per_s: float | None


class SampleLatency(Model):
    """Latency in microseconds from the intended send time."""

    mean: float
    p50: float
    p95: float
    p99: float
    p999: float
    max: float


class LabMetric(Model):
    """A metric of the scheme in an interval."""

    name: str
    label: str
    unit: str
    """Empty for plain counts; `0 to 1` for shares."""
    value: float | None
    """Null: nothing was counted of which it is a part."""


class LabSample(Model):
    """A lab in an interval of about a second."""

    number: int
    """Numbers rise by one from 1; they begin again when a lab of the same name is brought up."""
    time: float
    """Seconds since the epoch, at its end."""
    interval: float
    """Seconds."""
    phase: str
    """Phase of the load generator: `idle`, `warmup`, `measure`, `drain`, `verify` or `down`."""
    throughput: float
    """Completed operations of the load generator per second."""
    reads_per_s: float
    writes_per_s: float
    hits_per_s: float
    """Reads of the load generator that switches or cards answered."""
    hit_ratio: float | None
    """Reads that switches or cards answered over all reads, of load generator and programs; null
    without reads."""
    retries: int
    lost: int
    stale_reads: int
    latency_us: SampleLatency | None
    """Null if no operation was completed."""
    linearizable: bool | None
    """Whether all reads since the start of the load were right; null: none was judged, or not all
    could be."""
    server_load: list[float | None]
    """Operations per second that each storage server served, of all clients; null: it runs and has
    not answered."""
    server_dropped: list[int]
    """Requests that each server's queue refused."""
    cached: int
    """Records that are cached, as the controller knows; while it is down, as it knew last."""
    control_plane_bytes_per_s: dict[str, float]
    """Between the controller and each switch, both directions."""
    control_dropped: int
    """Messages between switches and controller that were dropped at a full queue."""
    reports_dropped: int
    """Reports of hot records that were dropped at a full queue."""
    switches: dict[str, SwitchRates]
    """Those that have answered, or do not run."""
    links: dict[str, LinkRates]
    """By the name of the node at the end of the link, or of both switches: `edge-0:spine-0`."""
    programs: dict[str, ProgramRates]
    """Frames and reads of each program that uses the lab (gateway, client library), by the name of
    its node, as it has counted them. An operation is a request and a reply, without
    retransmissions."""
    running: dict[str, bool]
    """Which nodes run."""
    metrics: list[LabMetric] = Field(default_factory=list)
    """The metrics that only the scheme has, those of `GET /schemes/NAME` that each interval has."""


class LabSamples(Model):
    """Samples after a number."""

    created: float
    """Of the lab; another value: another lab, whose numbers begin again."""
    samples: list[LabSample]


class _FaultRequest(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"kill": "switch", "duration": 2},
                {"link": {"node": "servers-0", "loss": 0.1, "delay": 0.001}, "duration": 5},
                {"partition": "controller", "duration": 3},
                {"shift": {"kind": "hot-in", "keys": 200}},
            ]
        }
    )


if TYPE_CHECKING:
    FaultRequest = _FaultRequest
else:
    # With the options of all actions that a live rack supports.
    FaultRequest = create_model(
        "FaultRequest",
        __base__=_FaultRequest,
        __module__=__name__,
        __doc__="""A fault to inject now; it has exactly one action.

    Actions are those of the events of a scenario (docs/use/scenarios.md).
    """,
        **options(IN_SCENARIOS, live=True),
        # Seconds after which the fault is healed: the node is started, the link in order, the
        # channel restored, the servers as fast as before. Left out: it lasts.
        duration=(Annotated[float, Field(gt=0, le=86_400)] | None, None),
    )


class LoadRequest(RequestModel):
    """A change of the load of a lab."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"running": True, "rate": 20000}, {"running": False}]}
    )

    running: bool
    """Whether the load generator sends requests. It checks what it reads."""
    rate: Annotated[float, Field(gt=0, le=1e9)] | None = None
    """Open loop: operations per second."""
    outstanding: Annotated[int, Field(ge=1, le=65536)] | None = None
    """Closed loop: requests outstanding."""


class ControllerDetails(Model):
    """A controller in the process of the supervisor."""

    switches: list[str]
    """The switches that it controls."""
    running: bool
    statistics: dict[str, int]
    """Counters and gauges of the control plane, and of dropped messages."""
    cached: int
    """Records that it considers cached."""


class NodeDetails(Model):
    """A node of a lab with everything that it counts."""

    node: LabNode
    statistics: dict[str, Any]
    """Counters since its start, as its process reports them; those of servers by their number in
    `servers`. Empty if it does not run."""
    registers: dict[str, int]
    """Registers of a card."""
    controllers: list[ControllerDetails]
    """Of the controller, and of the switch that they control."""
    sample: LabSample | None
    """Of the load generator: the newest sample."""
    tables: list[TableInfo]
    """Of the program of a switch."""
    counters: list[CounterInfo]
    """Of the program of a switch."""
    problem: str | None
    """Why tables and counters of a switch cannot be read."""


class CachedKeys(Model):
    """Keys that a switch has cached, as its controller knows."""

    keys: list[str]
    """Hexadecimal, in their order."""
    total: int


class HotKey(Model):
    """A popular key of the load generator."""

    rank: int
    """1: the most popular key."""
    key: str
    """Hexadecimal."""
    cached: bool


class LogLine(Model):
    """A line of a log."""

    time: float | None
    """Seconds since the epoch; null if the line does not begin with them."""
    text: str


class LogPart(Model):
    """A part of the log of a node."""

    node: str
    lines: list[LogLine]
    start: int
    """Offset of the first line in the file; as `before` it gives the lines before. 0: there are
    none."""
    end: int


class LabUpdate(Model):
    """What is new about a lab."""

    name: str
    kind: Literal["lab", "run"]
    run: str | None
    """Id of the run that it belongs to; null before that has begun, and for other labs."""
    state: LabState
    text: str
    scheme: str
    created: float
    filled: float | None
    """While it starts and fills caches: how far that is, 0 to 1."""
    answers: bool
    running: dict[str, bool]
    """Which nodes run."""
    faults: list[FaultInForce]
    samples: list[LabSample]
    """Newer than the last ones that the reader has got."""
