"""Models of P4 programs: those that ship, errors of a compilation, and traces of packets.

Numbers of a program (keys, parameters, cells of registers) may be wider than JSON numbers are
exact. In responses they are text, `0x…`; in requests also JSON numbers, decimal text, and addresses
(`10.0.0.1`, `02:00:0a:00:00:01`).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from netkv.api.models.base import Model, RequestModel

MAX_SOURCE = 1 << 20
"""Limit of the characters of a program and all its files."""
MAX_FILES = 200
MAX_PACKETS = 64
MAX_FRAME = 2048
MAX_ENTRIES = 10_000
"""Limit of the entries, cells, groups and sessions of a set-up, each."""

Number = Annotated[int, Field(ge=0)] | Annotated[str, Field(max_length=1000)]
Name = Annotated[str, Field(max_length=200)]
Macros = Annotated[
    dict[
        Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z_0-9]*$", max_length=100)],
        Annotated[str, Field(max_length=1000)],
    ],
    # pydantic describes the names that match the pattern, and not that there are no others.
    Field(max_length=100, json_schema_extra={"additionalProperties": False}),
]


_WITHOUT_NULLS = ConfigDict(json_schema_serialization_defaults_required=False)
"""Of models in a trace: their fields that are null are left out, as there are thousands."""


# ------------------------------------------------------------------------------------- programs


class ProgramUse(Model):
    """A scheme that uses a program."""

    scheme: str
    tier: Literal["clients", "between", "servers"]
    """The switches that run it: `servers`: those with servers; `clients`: those with clients only;
    `between`: those without hosts."""


class BitField(Model):
    """A key of a table, a parameter of an action, or a field of a header."""

    name: str
    bits: int
    match: Literal["exact", "lpm", "ternary", "range", "optional"] | None = None
    """How a key is matched; null for other fields."""


class ProgramTable(Model):
    """A table of a program."""

    name: str
    keys: list[BitField]
    actions: list[str]
    default_action: str
    size: int
    """Number of entries, as the program declares it."""
    constant: bool
    """Whether the program has its entries, so that none can be written."""


class ProgramAction(Model):
    """An action that tables call."""

    name: str
    parameters: list[BitField]


class ProgramArray(Model):
    """An array of registers, counters or meters."""

    name: str
    size: int
    bits: int | None = None
    """Of a cell, for registers."""


class ProgramHeader(Model):
    """A header of a program."""

    name: str
    type: str
    fields: list[BitField]


class ProgramInterface(Model):
    """What a program consists of."""

    tables: list[ProgramTable]
    actions: list[ProgramAction]
    registers: list[ProgramArray]
    counters: list[ProgramArray]
    meters: list[ProgramArray]
    headers: list[ProgramHeader]
    files: list[str]
    """Its file and those that it includes, in this order."""


class ProgramSummary(ProgramInterface):
    """A P4 program that ships with netkv."""

    name: str
    file: str
    """Its path below the folder of programs."""
    schemes: list[ProgramUse]
    """The schemes that use it."""
    defines: dict[str, str]
    """Macros with which it is compiled for a lab with the default options."""


class BudgetPaper(Model):
    """Resources that a paper reports for the program of its scheme."""

    scheme: str
    source: str
    tables: dict[str, str]
    """Pipeline → name of the table in the paper."""
    ingress: dict[str, int]
    egress: dict[str, int]


class ProgramBudget(Model):
    """An estimate of the resources that a program needs on a switch like a Tofino."""

    fits: bool
    target: dict[str, int]
    """The switch: its number of stages, and the resources of each."""
    ingress: dict[str, Any]
    """Usage and limit of each resource, contents of the stages, warnings, exceeded limits."""
    egress: dict[str, Any]
    paper: BudgetPaper | None
    """The figures of the paper beside them, if it has some."""


class ProgramDetails(ProgramSummary):
    """A program with its P4Info, sources and resources."""

    p4info: dict[str, Any]
    """The P4Info, as p4c writes it."""
    sources: dict[str, str]
    """Text of each file, by its path."""
    budget: ProgramBudget


# ---------------------------------------------------------------------------------- compilation


class SourceText(RequestModel):
    """A P4_16 program for v1model, as text. It may include `files` and programs that ship."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "source": '#include <core.p4>\n#include <v1model.p4>\n#include "common/wire.p4"'
            }
        }
    )

    source: Annotated[str, Field(max_length=MAX_SOURCE)]
    """The program; in messages its name is `program.p4`."""
    files: Annotated[dict[Name, str], Field(max_length=MAX_FILES)] = Field(default_factory=dict)
    """Further files that it includes, by their paths."""
    defines: Macros = Field(default_factory=dict)
    """Macros."""


class Diagnostic(Model):
    """An error or a warning of the compiler."""

    severity: str
    """`error`, `warning` or `note`."""
    file: str
    line: int
    """From 1; 0 is the whole file."""
    column: int
    """From 1."""
    message: str
    """What is wrong, and what would be right."""
    source_line: str | None = None
    help: str | None = None


class ProgramCheck(Model):
    """The result of a compilation."""

    ok: bool
    errors: list[Diagnostic]
    warnings: list[Diagnostic]
    interface: ProgramInterface | None
    """What the program consists of, if it compiles."""


# ---------------------------------------------------------------------------------------- traces


class Entry(RequestModel):
    """An entry of a table."""

    table: Name
    match: Annotated[dict[Name, Number], Field(max_length=100)] = Field(default_factory=dict)
    """Key → what it matches: a number; for lpm `VALUE/LENGTH`, for ternary `VALUE&&&MASK`, for
    range `LOW..HIGH`. A key that is left out matches everything."""
    action: Name
    params: Annotated[dict[Name, Number], Field(max_length=100)] = Field(default_factory=dict)
    """Parameter of the action → value."""
    priority: Annotated[int, Field(ge=0, lt=1 << 31)] = 0
    """Above 0 for tables with ternary, range or optional keys; the largest has precedence."""


class DefaultAction(RequestModel):
    """The action of a table for packets that match no entry."""

    table: Name
    action: Name
    params: Annotated[dict[Name, Number], Field(max_length=100)] = Field(default_factory=dict)


class RegisterCell(RequestModel):
    """A cell of a register."""

    register_name: Annotated[Name, Field(alias="register")]
    index: Annotated[int, Field(ge=0, lt=1 << 32)]
    value: Number

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)


class Replica(RequestModel):
    """A copy of a packet."""

    port: Annotated[int, Field(ge=0, le=511)]
    instance: Annotated[int, Field(ge=0, le=65_535)] = 0
    """Its replication id."""


class MulticastGroup(RequestModel):
    """The copies of a packet that is sent to a multicast group."""

    group: Annotated[int, Field(ge=1, le=65_535)]
    replicas: Annotated[list[Replica], Field(max_length=512)]


class CloneSession(RequestModel):
    """The clones of a packet that a program clones to a session."""

    session: Annotated[int, Field(ge=1, le=32_767)]
    replicas: Annotated[list[Replica], Field(max_length=512)]
    packet_length: Annotated[int, Field(ge=0, le=65_535)] = 0
    """Limit of the length of a clone in bytes; 0: none."""


class Setup(RequestModel):
    """The state of a switch before the first packet."""

    entries: Annotated[list[Entry], Field(max_length=MAX_ENTRIES)] = Field(default_factory=list)
    defaults: Annotated[list[DefaultAction], Field(max_length=1000)] = Field(default_factory=list)
    """Default actions that differ from those of the program."""
    registers: Annotated[list[RegisterCell], Field(max_length=MAX_ENTRIES)] = Field(
        default_factory=list
    )
    """Cells of registers; others are 0."""
    multicast_groups: Annotated[list[MulticastGroup], Field(max_length=1000)] = Field(
        default_factory=list
    )
    clone_sessions: Annotated[list[CloneSession], Field(max_length=1000)] = Field(
        default_factory=list
    )


class Stamp(RequestModel):
    """The version of a cached record that a message has."""

    incarnation: int
    number: int
    generation: int
    bits: int


class Slot(RequestModel):
    """The place of a cached record: its entry, and the number of the slot."""

    entry: int
    number: int


class Load(RequestModel):
    """The load of a switch, which messages report in networks of several layers."""

    layer: int
    switch: int
    reads: int


class CacheMetadata(RequestModel):
    """The generation, version and bitmap of a message with cache metadata."""

    generation: int
    version: int
    bitmap: int


class KvMessage(RequestModel):
    """A message of netkv (docs/internals/wire-format.md, port 5008)."""

    model_config = _WITHOUT_NULLS

    op: Annotated[str, Field(max_length=40)]
    """Name of the operation: `GET`, `PUT`, `GET_REPLY`, …"""
    key: Annotated[str, Field(max_length=40)]
    """16 bytes as hex (`0x…`), the number of a key of the loads (`#0`), or a text of up to 16
    bytes, which zeros follow."""
    source: Annotated[str, Field(max_length=40)] = "client-1"
    """A host (`client-1`, `server-0`, `controller`) or an IPv4 address."""
    destination: Annotated[str, Field(max_length=40)] = "service"
    """A host, an IPv4 address, or `service`: the owner of the key."""
    request: Annotated[int, Field(ge=0, lt=1 << 32)] = 1
    """Number of the request."""
    sender: Annotated[int, Field(ge=0, lt=1 << 16)] | None = None
    """Number of the sender; null: that of the source."""
    status: Annotated[str, Field(max_length=40)] = "OK"
    value: Annotated[str, Field(max_length=2100)] = ""
    """Bytes as hex (`0x…`), or text."""
    cache_hit: bool = False
    """Whether a switch has answered."""
    cache_metadata: CacheMetadata | None = None
    stamp: Stamp | None = None
    slot: Slot | None = None
    upper: bool = False
    """Whether it is about the copy in the upper layer of switches."""
    load: Load | None = None


class Packet(RequestModel):
    """A packet that arrives at a switch: bytes, or a message of netkv."""

    port: Annotated[int, Field(ge=0, le=511)]
    """The port at which it arrives."""
    frame: Annotated[str, Field(max_length=3 * MAX_FRAME)] | None = None
    """The Ethernet frame as hex digits; blanks and colons are allowed."""
    message: KvMessage | None = None
    """In place of `frame`."""
    title: Annotated[str, Field(max_length=200)] = ""
    """Shown with the result."""


class TraceRequest(RequestModel):
    """Packets, the state of the switch before them, and for the name `source` the program."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "setup": {
                    "entries": [
                        {
                            "table": "NetkvIngress.route.ipv4",
                            "match": {"dst": "10.2.0.1"},
                            "action": "NetkvIngress.route.forward",
                            "params": {"port": 101},
                        }
                    ]
                },
                "packets": [
                    {"port": 1, "message": {"op": "GET", "key": "#0", "destination": "server-0"}}
                ],
            }
        }
    )

    source: Annotated[str, Field(max_length=MAX_SOURCE)] | None = None
    """The text of the program; only for the name `source`."""
    files: Annotated[dict[Name, str], Field(max_length=MAX_FILES)] = Field(default_factory=dict)
    """Files that `source` includes, by their paths."""
    defines: Macros | None = None
    """Macros; null: those of a lab with the default options."""
    setup: Setup = Field(default_factory=Setup)
    packets: Annotated[list[Packet], Field(min_length=1, max_length=MAX_PACKETS)]
    """In order. The state of the switch persists between them."""
    seed: Annotated[int, Field(ge=0, lt=1 << 53)] = 0
    """Seed of `random()`; JSON numbers are exact up to here."""
    pipelines: Literal[1, 2, 4] = 1
    """Pipelines of the switch; each has state of its own, and all have the same set-up."""


class NamedValue(Model):
    """A value with its name."""

    name: str
    value: str


class Step(Model):
    """A step of a packet. Only the fields of its kind are there.

    Kinds: `received` (port, bytes), `pass` (pipeline, port: ingress or egress begins), `enter`
    (label: a parser state or another named block), `extract` (header, fields), `parser_error`
    (error), `assign` (name, value), `validity` (header, valid), `branch` (taken), `table` (table,
    keys, hit, entry, action, params), `register_read` and `register_write` (register, index,
    value; null: out of range), `count` (counter, index), `meter` (meter, colour), `computed` (what,
    name, value), `checksum_verified` (ok), `emit` (header), `operation` and `request` (operation),
    `log` (message), `assertion_failed`, `clone` (pipeline, session, known), `multicast` (group,
    copies), `digest` (name), `resubmit`, `recirculate`, `drop` (pipeline), `loop_cut` (passes),
    `transmitted` (port, bytes).
    """

    kind: str
    text: str
    """The step for people."""
    file: str | None = None
    """The position in the source, unless the step is one of the switch itself."""
    line: int | None = None
    block: str | None = None
    """The block of the program: `Parser`, `VerifyChecksum`, `Ingress`, `Egress`,
    `ComputeChecksum`, `Deparser`."""
    pipeline: str | None = None
    number: int | None = None
    """Number of the pipeline of a `pass`, if the switch has several."""
    port: int | None = None
    bytes: str | None = None
    label: str | None = None
    header: str | None = None
    fields: list[NamedValue] | None = None
    error: str | None = None
    name: str | None = None
    value: str | None = None
    valid: bool | None = None
    taken: bool | None = None
    table: str | None = None
    keys: list[NamedValue] | None = None
    hit: bool | None = None
    entry: str | None = None
    """The matched entry: what its keys match."""
    action: str | None = None
    params: list[NamedValue] | None = None
    register_name: Annotated[str | None, Field(alias="register")] = None
    index: int | None = None
    counter: str | None = None
    meter: str | None = None
    colour: int | None = None
    what: str | None = None
    ok: bool | None = None
    operation: str | None = None
    message: str | None = None
    session: int | None = None
    known: bool | None = None
    group: int | None = None
    copies: int | None = None
    passes: int | None = None

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True, **_WITHOUT_NULLS)


class Frame(Model):
    """A frame at a port of the switch."""

    model_config = _WITHOUT_NULLS

    port: int
    bytes: str
    message: KvMessage | None = None
    """Its content, if it is a message of netkv."""


class TracedPacket(Model):
    """The way of a packet through the switch."""

    title: str
    arrives: Frame
    leaves: list[Frame]
    """The frames that the switch sends; none if it drops the packet."""
    steps: list[Step]
    steps_left_out: int
    """Steps beyond the limit of a response."""


class CounterCell(Model):
    """A cell of a counter."""

    counter: str
    index: int
    packets: int
    bytes: int


class SentDigest(Model):
    """A digest that the program has sent to the control plane."""

    name: str
    members: list[NamedValue]


class StateAfter(Model):
    """The state of the switch after the last packet. Packets change no tables."""

    registers: list[RegisterCell]
    """Cells that are not 0; of several pipelines, in the first one."""
    counters: list[CounterCell]
    """Cells that are not 0, as sums over the pipelines."""
    cells_left_out: int
    """Cells beyond the limit of a response."""
    digests: list[SentDigest]
    statistics: dict[str, int]
    """Counts of the switch: `packets_in`, `dropped_ingress`, `recirculated`, …"""


class TraceResult(Model):
    """The result of a trace."""

    packets: list[TracedPacket]
    state: StateAfter


class TraceExample(Model):
    """A ready request for a trace: the state that the control plane of a scheme has set up."""

    name: str
    title: str
    scheme: str
    switch: str
    """The switch of the lab whose state this is."""
    cached_keys: list[str]
    """The keys that this switch caches."""
    body: TraceRequest
    """The body of the request."""
