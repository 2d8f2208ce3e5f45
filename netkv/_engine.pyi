"""The engine: everything that touches packets, in Rust.

Blocking calls release the GIL, and the loops of the three nodes are threads that never hold it (a
server with a Python storage back end takes it once per batch, a role in Python for each call).

Conventions of the control plane calls (`Switch`):

- ids are P4Info ids; values are big-endian bytes of any length, leading zeros allowed;
- a match is `(field_id, "exact", value)`, `(field_id, "lpm", value, prefix_len)`,
  `(field_id, "ternary", value, mask)`, `(field_id, "range", low, high)` or
  `(field_id, "optional", value)`; a field that is left out matches everything;
- an action is `("action", action_id, params)` with the parameters' values in order of their ids,
  `("member", member_id)`, `("group", group_id)` or
  `("oneshot", [(action_id, params, weight), ...])`;
- a refused call raises `ControlError` with the status that P4Runtime specifies; it changes nothing;
- each pipeline of a switch has its own state. A write without a `pipeline` is checked in all
  pipelines, then carried out in one after the other. A read without a `pipeline` returns the state
  of the first, but the sums of counters. With a `pipeline` (from 0) a call is about that one only.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum, IntFlag
from typing import (
    Any,
    Final,
    Literal,
    Protocol,
    TypeAlias,
    TypedDict,
    TypeVar,
    type_check_only,
)

_T = TypeVar("_T")

Match: TypeAlias = (
    tuple[int, Literal["exact", "optional"], bytes]
    | tuple[int, Literal["lpm"], bytes, int]
    | tuple[int, Literal["ternary", "range"], bytes, bytes]
)
Action: TypeAlias = (
    tuple[Literal["action"], int, Sequence[bytes]]
    | tuple[Literal["member", "group"], int]
    | tuple[Literal["oneshot"], Sequence[tuple[int, Sequence[bytes], int]]]
)
DigestMessage: TypeAlias = tuple[int, list[bytes]]
"""A digest's P4Info id and its members' values, in order."""
Replica: TypeAlias = tuple[int, int]
"""Egress port and instance (replication id)."""
Notice: TypeAlias = (
    tuple[Literal["packet-in"], int, bytes]
    | tuple[Literal["digest"], int, DigestMessage]
    | tuple[Literal["write"], int, int, int]
    | tuple[Literal["answered"], int, int]
    | tuple[Literal["written"], int, Any, str]
    | tuple[Literal["actions"], int, list[Any]]
    | tuple[Literal["continued"], int]
)
"""An arrival at an end of a control channel: its kind, the switch, and a frame (which begins with
the packet-in header), a digest, or the token of a table write. "write" also has the pipeline that
the write has reached; it reaches all pipelines, in order. "answered": its answer has arrived.
"written": that of a plain write has arrived, with the reason if the switch has refused it.
"actions": a control plane has handled a message of the switch, and the caller carries out these
actions. "continued": operations have continued (`Continued` of netkv/control/base.py), so the
deadline of the controller may be another one."""
MeterConfig: TypeAlias = tuple[int, int, int, int]
"""cir, cburst, pir, pburst: per second and in units of the meter (bytes or packets)."""

class CompileError(Exception):
    """The P4 program is wrong. `str()` is the whole report: file, line, column, the line itself."""

    diagnostics: list[dict[str, Any]]
    """For each finding: "severity" ("error" or "warning"), "file", "line" (from 1; 0 is the whole
    file), "column" (from 1), "message" and "source_line"."""

class ControlError(Exception):
    """A control plane call was refused. `str()` is a sentence with the reason and a correction."""

    code: str
    """Name of the gRPC status, e.g. "NOT_FOUND"."""

class MalformedFrameError(ValueError):
    """A frame is not a valid frame of netkv. `str()` has the reason."""

class SimulationError(ValueError):
    """A simulated rack cannot continue. `str()` is the reason."""

# The wire format (docs/internals/wire-format.md). Names and numbers are those of engine/wire.

class Op(IntEnum):
    """The operation of a message. A reply has the code of its request plus 1."""

    GET = ...
    GET_REPLY = ...
    PUT = ...
    PUT_REPLY = ...
    DELETE = ...
    DELETE_REPLY = ...
    UPDATE = ...
    UPDATE_REPLY = ...
    INVALIDATE = ...
    INVALIDATE_REPLY = ...
    ADMIT = ...
    ADMIT_REPLY = ...
    INSTALL = ...
    INSTALL_REPLY = ...
    EVICTED = ...
    EVICTED_REPLY = ...
    OUTGROWN = ...
    OUTGROWN_REPLY = ...
    OFFER = ...
    OFFER_REPLY = ...
    RESTORE = ...
    RESTORE_REPLY = ...
    FETCH = ...
    FETCH_REPLY = ...
    WATERMARK = ...
    WATERMARK_REPLY = ...
    STATS = ...
    STATS_REPLY = ...
    EPOCH = ...
    EPOCH_REPLY = ...
    FILL = ...
    FILL_REPLY = ...
    VALIDATE = ...
    VALIDATE_REPLY = ...
    EVICT = ...
    EVICT_REPLY = ...
    LOAD = ...
    LOAD_REPLY = ...
    RETIRE = ...
    RETIRE_REPLY = ...
    COUNT = ...
    COUNT_REPLY = ...
    ORIGINAL = ...
    HELLO = ...
    HELLO_REPLY = ...
    BYE = ...
    BYE_REPLY = ...
    RELEASE = ...
    RELEASE_REPLY = ...
    COLLECT = ...
    COLLECT_REPLY = ...
    RECOVERED = ...
    RECOVERED_REPLY = ...
    RESTARTED = ...
    RESTARTED_REPLY = ...

class Status(IntEnum):
    """The result of a request."""

    OK = ...
    NOT_FOUND = ...
    STALE = ...
    NOT_CACHED = ...
    TOO_LARGE = ...
    OVERLOADED = ...
    REJECTED = ...
    UNKNOWN = ...
    CONFLICT = ...

class Bit(IntFlag):
    """Bits of a stamp."""

    HOT = ...
    EMBEDDED = ...
    DELETED = ...
    LATEST = ...
    DIRTY = ...
    OVERWRITTEN = ...
    VALID = ...
    PAST = ...

NETKV_PORT: Final[int]
"""UDP port of all frames but multigets."""
MULTIGET_PORT: Final[int]
"""UDP port of multigets."""
FORMAT: Final[int]
"""Version of the layout."""
FLAG_CACHE_METADATA: Final[int]
FLAG_CACHE_HIT: Final[int]
FLAG_STAMPED: Final[int]
FLAG_UPPER: Final[int]
FLAG_LOAD: Final[int]
KEY_BYTES: Final[int]
CHUNK_BYTES: Final[int]
"""The unit in which a switch stores values."""
MAX_CACHED_BYTES: Final[int]
"""Largest value that a switch caches."""
CPU_PORT: Final[int]
"""The switch port of packet-in and packet-out."""
CONTROLLER_SENDER: Final[int]
"""`sender` field of the controller."""
FIRST_SERVER_SENDER: Final[int]
"""`sender` field of server 0; server `i` has this plus `i`."""
MAX_CLIENTS: Final[int]
"""Largest number of a client, which is its `sender` field. Servers have numbers up to this, too."""
WINDOW: Final[int]
"""Size of the deduplication window that a server has for each sender."""
SERVICE_IP: Final[int]
"""The destination of requests of clients; the switch forwards them to the owner of the key."""
CONTROLLER_IP: Final[int]
COORDINATOR_IP: Final[int]
"""The host that splits multiget requests in a rack with a coordinator."""

Fields: TypeAlias = tuple[
    Op,
    bytes,
    int,
    int,
    Status,
    tuple[int, int, int] | None,
    int,
    bytes,
    bool,
    tuple[int, int, int, int] | None,
    tuple[int, int] | None,
    tuple[bool, tuple[int, int, int] | None],
]
"""Operation, key, request, sender, status, cache metadata (generation, version, bitmap), length,
value without padding, cache hit, stamp (incarnation, number, generation, bits), slot (entry,
number), and about layers: whether it is about the upper copy, and a load (layer, switch, reads)."""

def write_frame(
    op: int,
    key: bytes,
    request: int,
    source: int = ...,
    destination: int = ...,
    *,
    sender: int = ...,
    status: int = 0,
    cache_metadata: tuple[int, int, int] | None = None,
    length: int = 0,
    value: bytes = b"",
    cache_hit: bool = False,
    stamp: tuple[int, int, int, int] | None = None,
    slot: tuple[int, int] | None = None,
    upper: bool = False,
    load: tuple[int, int, int] | None = None,
) -> bytes:
    """The whole Ethernet frame of a message, by default from the controller to the service.

    `Fields` has the tuples. MAC addresses follow from the IPv4 ones. The value is padded to whole
    chunks. Raises ValueError for a key of another length, a value that is too long, and a message
    about an entry without stamp and slot.
    """

def read_frame(frame: bytes) -> tuple[int, int, Fields]:
    """IPv4 source, destination and fields of a frame. Raises MalformedFrameError."""

def frame_op(frame: bytes) -> Op | None:
    """The operation of a frame; None if the frame is malformed."""

def is_report(frame: bytes) -> bool:
    """Whether a frame reports a hot record, or acknowledges such a report. Its sender repeats it,
    so it has the lowest priority."""

@type_check_only
class _Timeouts(Protocol):
    """`netkv.control.roundtrip.Timeouts`."""

    @property
    def first(self) -> int: ...
    @property
    def shortest(self) -> int: ...
    @property
    def longest(self) -> int: ...

@type_check_only
class _Metadata(Protocol):
    """`netkv.model.messages.CacheMetadata`."""

    generation: int
    version: int
    bitmap: int

@type_check_only
class _Stamp(Protocol):
    """`netkv.model.messages.Stamp`."""

    incarnation: int
    number: int
    generation: int
    bits: Bit

@type_check_only
class _Slot(Protocol):
    """`netkv.model.messages.Slot`."""

    entry: int
    number: int

@type_check_only
class _Reply(Protocol):
    """`netkv.model.messages.Message`."""

    op: Op
    key: bytes
    request: int

class MessageNumbers:
    """A sequence of numbers without wrap-around (netkv/control/message_numbers.py)."""

    def __init__(self, per_second: int) -> None:
        """`per_second`: how many numbers may be used in a second, at least 1."""

    def start(self, now: int) -> None:
        """Begin above all numbers used before `now`."""

    def take(self) -> int:
        """The next number. It may be used from `usable(number)` on, as `wire(number)`."""

    def usable(self, number: int) -> int:
        """When the clock reaches `number` (rule 1)."""

    def go_above(self, wire: int) -> None:
        """Continue above a number that a server has seen, if it is newer than the last taken."""

class RoundTrip:
    """The timeout of one kind of request (netkv/control/roundtrip.py), in nanoseconds."""

    timeout: Final[int]
    """The timeout of a new message."""

    def __init__(self, bounds: _Timeouts) -> None: ...
    def sample(self, took: int) -> None:
        """Add the round-trip time of a message that was sent once."""

    def back_off(self, waited: int) -> int:
        """A message has had no reply within `waited`; returns its next timeout."""

    def late(self, waited: int) -> None:
        """A repeated message was answered; `waited` is its last timeout.

        If that was the longest timeout, replies may take longer than it. Then every message would
        be repeated before its reply arrives, so new messages get a longer timeout.
        """

class Outstanding:
    """Requests of a controller without a reply, and their retransmission. They are identified by
    the number in their frame.

    Rules
    -----
    1. Every request has its own number. A retransmission has the same number, so a receiver
       recognizes it as a duplicate.
    2. Requests are sent (`ready`) in the order in which they were added, each when the clock has
       reached its number (`MessageNumbers`). A request is held back while its receiver has not
       answered one whose number is `WINDOW` below or more: the receiver would treat a
       retransmission of that one as a late copy.
    3. A reply counts once, and only with the number, op and key of a pending request.
    4. A request is sent at most `tries` times. Each timeout is twice as long as the previous one,
       up to a limit. The first one depends on the round trips of the same op (`RoundTrip`).
    """

    def __init__(self, numbers: MessageNumbers, timeouts: _Timeouts) -> None:
        """`numbers` may be shared with other users of the same sequence."""

    @property
    def numbers(self) -> MessageNumbers: ...
    @property
    def retries(self) -> int:
        """Number of retransmissions so far."""

    def __len__(self) -> int: ...
    def add(
        self,
        op: int,
        key: bytes,
        tries: int,
        lane: int | None,
        to: int,
        upper: bool,
        cache_metadata: _Metadata | None,
        stamp: _Stamp | None,
        slot: _Slot | None,
        value: bytes,
        switch: str,
    ) -> int:
        """Add a request to IPv4 address `to`; `ready` sends it. Returns its number.

        `lane`: the number of a receiver with a deduplication window, None for one without.
        `upper`: whether it is about the copy in the upper layer of switches. `switch`: the name of
        the one that gets the frame.
        """

    def ready(self, now: int) -> list[Any]:
        """The requests to be sent now for the first time, each as a `SendFrame`
        (netkv/control/base.py)."""

    def answered(self, now: int, reply: _Reply) -> bool:
        """Remove the request that `reply` answers; False if there is none."""

    def cancel(self, request: int) -> None:
        """Remove `request`; nothing happens if it is not pending."""

    def clear(self) -> None:
        """Remove all requests. The numbering continues, so late replies match no request."""

    def next_expired(self, now: int) -> tuple[int, bytes | None] | None:
        """A request whose timeout has passed, and its frame, to be sent again. Without a frame it
        has been given up and is no longer pending. None if there is no such request."""

    def deadline(self) -> int | None:
        """When the next timeout ends, or the next request may be sent."""

def udp_frame(source: int, destination: int, port: int, payload: bytes) -> bytes:
    """The whole Ethernet frame of a UDP datagram with this payload; both its ports are `port`."""

def corrupted_frame(frame: bytes, seed: int) -> bytes:
    """The frame with a burst of 1 to 15 flipped bits anywhere, which follows from the seed. A frame
    whose checksums are wrong stays as it is (docs/use/scenarios.md, "Corrupted frames")."""

def client_ip(client: int) -> int:
    """IPv4 address of a client (from 1)."""

def server_ip(server: int) -> int:
    """IPv4 address of a server (from 0)."""

def splitter_ip(rack: int) -> int:
    """IPv4 address of the switch that splits the requests for a rack (from 1)."""

def client_counters(role: str) -> list[str]:
    """The names of the counts and gauges of the load generator with this role of clients.

    Raises `ValueError` if there is no such role.
    """

def server_counters(role: str) -> list[str]:
    """The names of the counts and gauges of servers with this role.

    Raises `ValueError` if there is no such role.
    """

def mac_of(ip: int) -> int:
    """MAC address of the host with this IPv4 address."""

def key_hash(key: bytes) -> int:
    """The hash of a key (16 bytes), 32 bits: CRC-32, as the switch computes it."""

def owner_index(key: bytes, servers: int) -> int:
    """The server (from 0) that owns `key` (16 bytes), among `servers` servers."""

def key_of_record(number: int, placement: str = "seed") -> bytes:
    """The key of the record with this number in a keyspace of 16-byte keys.

    `placement`: `workload.placement`. Raises ValueError if there is no such placement or record.
    """

def initial_set(key: bytes, size: int, server: int) -> bytes:
    """A frame with memcached's SET of the initial value of `key`, with `size` bytes.

    It is addressed to `server`. Raises ValueError for a size that a datagram cannot hold.
    """

def partition_range(server: int, servers: int) -> tuple[int, int]:
    """First and last hash that a server among `servers` servers owns, both included."""

class FailedAssertion(TypedDict):
    """An assertion of a program that was false."""

    place: str
    """`FILE:LINE:COLUMN`."""
    times: int

@type_check_only
class StfResult(TypedDict):
    """The result of `run_stf`."""

    packets: int
    """Packets sent into the program."""
    expected: int
    """Packets that the test expected."""
    mismatches: list[str]
    """A sentence for each difference; empty when the test passed."""
    mismatched_packets: list[int]
    """Lines (from 1) of the packets with these differences, in order."""
    failed_assertions: list[FailedAssertion]
    """Assertions of the program that were false."""

@type_check_only
class TracedPacket(TypedDict):
    """One packet of a packet test, with all its steps."""

    line: int
    """Its line, from 1."""
    port: int
    frame: bytes
    out: list[tuple[int, bytes]]
    """Port and frame of each frame that left."""
    trace: dict[str, Any]
    """Every step, as a document of events."""
    text: str
    """Every step, as text for users."""

@type_check_only
class TableEntry(TypedDict):
    """An entry as the calls of `Switch` take it."""

    table_id: int
    matches: list[Match]
    action: Action
    priority: int
    metadata: bytes
    controller_metadata: int
    idle_timeout_ns: int
    is_const: bool
    counter: tuple[int, int] | None
    """Packets and bytes of the direct counter, if the table has one: sums over the pipelines."""
    meter: MeterConfig | None
    """Configuration of the direct meter, if the table has one and it is configured."""
    elapsed_ns: int
    """Time since the last hit or the insertion, in a table with idle timeouts."""

@type_check_only
class Member(TypedDict):
    """A member of an action profile."""

    profile_id: int
    member_id: int
    action_id: int
    params: list[bytes]

@type_check_only
class Group(TypedDict):
    """A group of an action selector."""

    profile_id: int
    group_id: int
    members: list[tuple[int, int]]
    """Member id and weight."""

@type_check_only
class CloneSession(TypedDict):
    """The destinations of the clones of a session."""

    replicas: list[Replica]
    class_of_service: int
    packet_length: int
    """Maximum length of a clone in bytes; 0: no limit."""

@type_check_only
class BenchMeasurement(TypedDict):
    """A path of a program, run by one executor."""

    program: str
    path: str
    executor: Literal["interpreter", "compiled", "handwritten"]
    entries: int
    value_size: int
    """Bytes."""
    key_width: int
    """Bits."""
    pps: float
    """Packets per second of processor time: median of the turns."""
    ns_p50: float
    """Nanoseconds per packet of the median batch of 32."""
    ns_p99: float
    """The same for the 99th percentile of the batches."""

@type_check_only
class BenchLoad(TypedDict):
    """Seconds from source text to IR, and from IR to a switch with either executor."""

    program: str
    front_end_s: float
    interpreter_s: float
    compiled_s: float

def bench_paths() -> dict[str, list[str]]:
    """The programs that the benchmark knows (`FILE`, `FOLDER-FILE`), each with its paths."""

def bench_measure(
    program: str,
    path: str,
    *,
    file: str | None = None,
    include_dirs: Sequence[str] = (),
    entries: int = 10_000,
    value_size: int = 128,
    key_width: int = 128,
    seconds: float = 1.0,
) -> list[BenchMeasurement]:
    """Measure a path with every executor, `seconds` each, in turns.

    `file` is the program's file; None for a program that is built into the benchmark. Before the
    measurement all executors must return the same frames. Raises ValueError with a sentence: no
    such program or path, invalid sizes, a program that does not compile, or whose frames are not
    those of the path.
    """

def bench_load(
    program: str, *, file: str | None = None, include_dirs: Sequence[str] = ()
) -> BenchLoad:
    """Time the compilation and loading of a program; with a `file`, of any program.

    Raises ValueError like `bench_measure`.
    """

def bench_source(program: str) -> str | None:
    """The source of a program that is built into the benchmark; None if the program is a file."""

def compile_p4(
    path: str,
    include_dirs: Sequence[str] = (),
    defines: Mapping[str, str | None] | None = None,
) -> bytes:
    """Compile a P4_16 program for v1model into a bundle.

    A bundle is the line `netkv-bundle 1` and a JSON document: "program" (the IR), "name",
    "source_hash" (32 hex digits: equal for equal programs, whatever their comments) and "warnings"
    (like CompileError.diagnostics). Raises CompileError.
    """

def compile_source(
    name: str,
    source: str,
    include_dirs: Sequence[str] = (),
    defines: Mapping[str, str | None] | None = None,
) -> bytes:
    """Compile source text; `name` is its file name in errors."""

@type_check_only
class BudgetShare(TypedDict):
    """A number and its limit."""

    used: int
    limit: int
    percent: float

BudgetResource: TypeAlias = Literal[
    "stages", "arrays", "state_kib", "table_kib", "sram_kib", "phv_bytes"
]
"""`arrays`: of registers, 32 bits wide; `state_kib`: of registers, counters and meters;
`sram_kib`: of these and of tables."""

@type_check_only
class BudgetPhv(TypedDict):
    """The packet header vector, which a packet carries from stage to stage."""

    header_bits: int
    metadata_bits: int
    standard_bits: int

@type_check_only
class BudgetPlaced(TypedDict):
    """An object, or a part of it, in a stage."""

    what: Literal["table", "register", "counter", "meter"]
    name: str
    arrays: int
    kib: int
    again: bool
    """It is also in an earlier stage: a packet would have to access it twice."""

@type_check_only
class BudgetStage(TypedDict):
    """A stage that is not empty; `stage` counts from 1."""

    stage: int
    arrays: int
    state_kib: int
    table_kib: int
    placed: list[BudgetPlaced]
    hashes: int
    operations: int

@type_check_only
class BudgetPosition(TypedDict):
    """A position in the source, and the operation there."""

    file: str
    line: int
    column: int
    what: str

@type_check_only
class BudgetLink(TypedDict):
    """A part of the longest chain of dependencies."""

    stage: int
    what: str
    at: BudgetPosition
    delayed: int
    """Stages that it needs in addition, because other stages have no room for it."""

@type_check_only
class BudgetWarning(TypedDict):
    """Operations that a pipeline cannot do in one pass."""

    kind: Literal["twice", "order", "update", "shared"]
    objects: list[str]
    message: str
    help: str
    at: list[BudgetPosition]

@type_check_only
class BudgetPipeline(TypedDict):
    """The resources of ingress or egress."""

    usage: dict[BudgetResource, BudgetShare]
    actions: int
    tcam_kib: float
    phv: BudgetPhv
    stages: list[BudgetStage]
    longest_chain: list[BudgetLink]
    warnings: list[BudgetWarning]
    exceeded: list[str]
    """A sentence for each limit that is exceeded."""

@type_check_only
class P4Budget(TypedDict):
    """The estimate of `p4_budget`."""

    target: dict[str, int]
    """The switch: its number of stages, and the resources of each."""
    ingress: BudgetPipeline
    egress: BudgetPipeline

def p4_budget(bundle: bytes) -> P4Budget:
    """Estimate the resources of a program on a switch like a Tofino (docs/use/p4.md).

    Raises ValueError for a program that is too large to estimate.
    """

def program_text(bundle: bytes) -> str:
    """The program as text: its objects and control-flow graphs (`netkv p4 ir`)."""

def run_stf(
    bundle: bytes,
    text: str,
    name: str,
    executor: str = "compiled",
    stop_at_assertions: bool = False,
) -> StfResult:
    """Run a packet test (STF) on a new switch; raises ValueError for an invalid command."""

@type_check_only
class FuzzFinding(TypedDict):
    """A difference between the executors, or a program that one of them refuses."""

    program: str
    seed: int
    summary: str
    report: str

@type_check_only
class FuzzMemory(TypedDict):
    """Resident bytes of the process; None where the system does not report them."""

    start: int | None
    now: int | None

@type_check_only
class FuzzProgress(TypedDict):
    """The progress of a `Fuzzer`."""

    running: bool
    cases: int
    of: int | None
    """Number of all cases; None if the search ends after a time."""
    generated_programs: int
    packets: int
    frames_out: int
    memory_bytes: FuzzMemory
    findings: list[FuzzFinding]

class Fuzzer:
    """Compares both executors with random state and packets, on threads of its own.

    `programs`: (name, bundle, source text that reports may reduce or None, STF text whose packets
    are used too). `generated` adds a random program for each seed. Without `seeds` it ends after
    `seconds`; the first finding ends it as well.
    """

    def __init__(
        self,
        programs: Sequence[tuple[str, bytes, str | None, str]],
        generated: bool,
        seed: int,
        seeds: int | None,
        seconds: float | None,
        packets: int,
        threads: int,
    ) -> None: ...
    def start(self) -> None: ...
    def stop(self) -> None:
        """End after the current cases; returns when they are finished."""

    def progress(self) -> FuzzProgress: ...

def generate_p4(seed: int) -> str:
    """A random program for the comparison of switches; it uses no random numbers and no time."""

def sample_packets(
    bundle: bytes, seed: int, count: int, p4runtime: bool
) -> tuple[str, list[tuple[int, bytes]]]:
    """Random state as STF, and random (port, frame), for a test on another switch.

    With `p4runtime` the state can be written to bmv2 by P4Runtime: entries have priorities, and
    registers keep their initial values. Then frames may arrive at any port, otherwise at 0 to 7.
    """

def stf_frames(text: str, name: str) -> list[tuple[int, bytes]]:
    """The (port, frame) that a packet test sends; ValueError for an invalid line."""

def record_stf(bundle: bytes, setup: str, frames: Sequence[tuple[int, bytes]], name: str) -> str:
    """A packet test with the answers of a new switch to `frames`; ValueError: `setup` is wrong."""

class Switch:
    """A switch that runs one program: tables, registers, replication. Thread-safe; no I/O.

    The state belongs to this object, so it outlives a `SwitchNode`; `load` replaces program and
    state.
    """

    def __init__(
        self,
        bundle: bytes,
        seed: int = 0,
        executor: str = "compiled",
        pipelines: int = 1,
        stop_at_assertions: bool = False,
    ) -> None:
        """`seed` determines `random()` and the hash of action selectors. `executor` is "compiled"
        or "interpreter"; both give the same results. `pipelines` is 1, 2 or 4: ingress and egress
        use tables, registers and counters of the port's pipeline (`netkv.control.pipelines`);
        groups, sessions and digests belong to the whole switch. With `stop_at_assertions`, a packet
        for which an assertion is false is the last one: what it and all later frames would send is
        dropped. ValueError: an invalid argument."""

    @property
    def pipelines(self) -> int:
        """The number of pipelines."""

    def load(self, bundle: bytes) -> None:
        """Run another program from now on, with empty tables and state."""

    def sibling(self, bundle: bytes) -> Switch:
        """Another switch with the options of this one."""

    def exchange(self, other: Switch) -> None:
        """Exchange programs and state with another switch, between two batches of packets.

        ValueError: the other one has another number of pipelines.
        """

    def exclusively(self, work: Callable[[Switch], _T]) -> _T:
        """Call `work` with a switch that has program and state of this one; return its result.

        During the call, packets and other calls of this switch wait. The switch that is passed to
        `work` must not be used afterwards.
        """

    def process(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """Process a frame that arrives at `port`; returns (port, frame) of all that leave."""

    def trace(self, port: int, frame: bytes) -> tuple[list[tuple[int, bytes]], dict[str, Any], str]:
        """`process`, with every step: as a document of events, and as text for users."""

    def trace_stf(self, text: str, name: str, lines: set[int] | None) -> list[TracedPacket]:
        """Run the set-up and the packets of a packet test (STF); trace the packets of these lines.

        `lines` count from 1; None: all. Expectations are skipped. `name` is the name of the text in
        errors. ValueError for a line that is invalid or that the switch refuses.
        """

    # Tables

    def insert_entry(
        self,
        table_id: int,
        matches: Sequence[Match],
        action: Action,
        priority: int = 0,
        metadata: bytes = b"",
        controller_metadata: int = 0,
        idle_timeout_ns: int = 0,
        *,
        pipeline: int | None = None,
    ) -> None: ...
    def write_plain(
        self, updates: PlainUpdates, first: int, last: int, tables: Mapping[int, Sequence[int]]
    ) -> tuple[int, tuple[int, str] | None]:
        """Carry out the updates from `first` until before `last`, in one pipeline after the other.

        `tables`: the tables whose entries may be written, and the actions of these entries, by id.
        Returns how many updates are done. If the next one is refused by a pipeline that is not the
        first, also the pipeline and the reason; else a refused update has changed nothing.
        """
    def modify_entry(
        self,
        table_id: int,
        matches: Sequence[Match],
        action: Action,
        priority: int = 0,
        metadata: bytes = b"",
        controller_metadata: int = 0,
        idle_timeout_ns: int = 0,
        *,
        pipeline: int | None = None,
    ) -> None: ...
    def delete_entry(
        self,
        table_id: int,
        matches: Sequence[Match],
        priority: int = 0,
        *,
        pipeline: int | None = None,
    ) -> None: ...
    def read_entries(self, table_id: int = 0, *, pipeline: int | None = None) -> list[TableEntry]:
        """Entries of a table, or of all tables (0), constant ones included; no default entries."""

    def read_entry(
        self,
        table_id: int,
        matches: Sequence[Match],
        priority: int = 0,
        *,
        pipeline: int | None = None,
    ) -> TableEntry | None:
        """The entry with this match and priority; None if there is none."""

    def take_idle_entries(self) -> list[TableEntry]:
        """Entries that no packet has hit for their `idle_timeout_ns`. Their timers restart."""

    def set_default(
        self,
        table_id: int,
        action_id: int,
        params: Sequence[bytes],
        *,
        pipeline: int | None = None,
    ) -> None: ...
    def reset_default(self, table_id: int, *, pipeline: int | None = None) -> None:
        """Restore the default action of the program."""

    def get_default(
        self, table_id: int, *, pipeline: int | None = None
    ) -> tuple[int, list[bytes]]: ...

    # Registers, counters, meters (`index` None: all cells, in order)

    def read_register(
        self, register_id: int, index: int | None = None, *, pipeline: int | None = None
    ) -> list[tuple[int, bytes]]:
        """(index, value) of each cell."""

    def write_register(
        self, register_id: int, index: int | None, value: bytes, *, pipeline: int | None = None
    ) -> None: ...
    def read_counter(
        self, counter_id: int, index: int | None = None, *, pipeline: int | None = None
    ) -> list[tuple[int, int, int]]:
        """(index, packets, bytes) of each cell."""

    def write_counter(
        self,
        counter_id: int,
        index: int | None,
        packets: int,
        bytes: int,
        *,
        pipeline: int | None = None,
    ) -> None:
        """Set a counter. Without a `pipeline`, the first one gets the value and the others 0, so
        that the sum is the value."""

    def write_direct_counter(
        self,
        table_id: int,
        matches: Sequence[Match],
        priority: int,
        packets: int,
        bytes: int,
        *,
        pipeline: int | None = None,
    ) -> None:
        """As `write_counter`."""

    def read_meter(
        self, meter_id: int, index: int | None = None, *, pipeline: int | None = None
    ) -> list[tuple[int, MeterConfig | None]]:
        """(index, configuration) of each cell; None where none was written."""

    def write_meter(
        self,
        meter_id: int,
        index: int | None,
        config: MeterConfig | None,
        *,
        pipeline: int | None = None,
    ) -> None:
        """None removes the configuration: every packet is green."""

    def write_direct_meter(
        self,
        table_id: int,
        matches: Sequence[Match],
        priority: int,
        config: MeterConfig | None,
        *,
        pipeline: int | None = None,
    ) -> None:
        """As `write_meter`, for an entry."""

    # Replication

    def insert_multicast_group(self, group: int, replicas: Sequence[Replica]) -> None: ...
    def modify_multicast_group(self, group: int, replicas: Sequence[Replica]) -> None: ...
    def delete_multicast_group(self, group: int) -> None: ...
    def read_multicast_groups(self) -> dict[int, list[Replica]]: ...
    def insert_clone_session(
        self,
        session: int,
        replicas: Sequence[Replica],
        class_of_service: int = 0,
        packet_length: int = 0,
    ) -> None: ...
    def modify_clone_session(
        self,
        session: int,
        replicas: Sequence[Replica],
        class_of_service: int = 0,
        packet_length: int = 0,
    ) -> None: ...
    def delete_clone_session(self, session: int) -> None: ...
    def read_clone_sessions(self) -> dict[int, CloneSession]: ...

    # Action profiles and selectors

    def insert_action_member(
        self,
        profile_id: int,
        member_id: int,
        action_id: int,
        params: Sequence[bytes],
        *,
        pipeline: int | None = None,
    ) -> None: ...
    def modify_action_member(
        self,
        profile_id: int,
        member_id: int,
        action_id: int,
        params: Sequence[bytes],
        *,
        pipeline: int | None = None,
    ) -> None: ...
    def delete_action_member(
        self, profile_id: int, member_id: int, *, pipeline: int | None = None
    ) -> None: ...
    def read_action_members(
        self, profile_id: int = 0, *, pipeline: int | None = None
    ) -> list[Member]: ...
    def insert_action_group(
        self,
        profile_id: int,
        group_id: int,
        members: Sequence[tuple[int, int]],
        *,
        pipeline: int | None = None,
    ) -> None: ...
    def modify_action_group(
        self,
        profile_id: int,
        group_id: int,
        members: Sequence[tuple[int, int]],
        *,
        pipeline: int | None = None,
    ) -> None: ...
    def delete_action_group(
        self, profile_id: int, group_id: int, *, pipeline: int | None = None
    ) -> None: ...
    def read_action_groups(
        self, profile_id: int = 0, *, pipeline: int | None = None
    ) -> list[Group]: ...

    # Parser value sets

    def set_value_set(
        self,
        value_set_id: int,
        members: Sequence[Sequence[Match]],
        *,
        pipeline: int | None = None,
    ) -> None:
        """Replace all members; each is a match per field of the value set."""

    def read_value_set(
        self, value_set_id: int, *, pipeline: int | None = None
    ) -> list[list[Match]]: ...

    # Digests and statistics

    def take_digests(self) -> list[DigestMessage]:
        """Digests since the last call. A running SwitchNode takes them; then use its `wait`."""

    def statistics(self) -> dict[str, int]:
        """Counts since the program was loaded.

        "packets_in", "bytes_in", "packets_out", "bytes_out", "dropped_ingress", "dropped_egress",
        "parser_errors", "resubmitted", "recirculated", "cloned", "replicated",
        "unknown_clone_sessions", "unknown_multicast_groups", "digests", "digests_dropped",
        "loops_cut", "endless_graphs", "failed_assertions".
        """

    def failed_assertions(self) -> list[tuple[str, int]]:
        """The assertions that were false since the creation of the switch: `FILE:LINE:COLUMN`, and
        how often."""

class Simulation:
    """A rack in virtual time: hosts, links, processors and control channels are models; packets
    run through the programs of the switches, requests through the roles of servers and clients.

    Times are nanoseconds since the start. Switches, servers and clients are numbered as in the
    configuration: switches and servers from 0, clients from 1. An unknown number or an invalid
    configuration raises ValueError with a sentence. Only one thread may use it.
    """

    def __init__(self, config: str, switches: Sequence[Switch]) -> None:
        """`config` is JSON (`netkv.sim.config`); `switches` run the programs."""

    def now(self) -> int: ...
    def use_threads(self, threads: int, *, always: bool = False) -> None:
        """Let up to so many threads simulate parts of the rack at the same time, while there is
        enough to do for them (`always`: whenever possible). No result depends on it."""

    def run(self, until: int, *, deliver: bool = False) -> list[Notice]:
        """Advance time to `until`, or to the next arrival at an end of a control channel; returns
        all notices of that moment. `now()` is `until` if there are none. SimulationError: the rack
        cannot continue.

        `deliver`: frames and answers to plain writes are delivered to their control planes
        (`deliver_to`), and the time ends at the earliest of their deadlines.
        """

    def open_channel(
        self,
        switch: int,
        name: str,
        packet_bytes: int,
        writes: PlainWrites | None,
        size_of: Callable[[Any], int],
    ) -> None:
        """Describe the control channel of a switch. `name`: in events and actions. `packet_bytes`:
        of a packet-in or packet-out without its frame. `writes`: None if no write is plain.
        `size_of` returns the bytes of a table write."""

    def deliver_to(self, switch: int, controller: Callable[[], Any] | None) -> None:
        """Set the controller that handles the messages of a switch, by a weak reference; None while
        there is none. It is a `Controller` of netkv/sim/controller.py.

        Its control plane gets each message as an event, except that replies to
        `ControlPlane.pending_requests` and answers to `ControlPlane.table_writes` are passed to
        these. Frames and plain writes among the actions that follow are sent; from the first other
        action on, the actions are a notice "actions". Without one, `handled` of the controller is
        called, or there is a notice "continued" later."""

    def channel_bytes(self, switch: int) -> int:
        """Bytes of the messages in both directions that `write_plain` and `send_frame` have sent or
        that were delivered to control planes."""

    def write(self, switch: int, token: int) -> bool:
        """Send a table write to the switch; a notice "write" reports its arrival at each pipeline.
        False if too many are under way; then it is not sent."""

    def write_plain(self, switch: int, write: object) -> bool | None:
        """As `write`, but the switch carries the write out and answers it by itself: there is a
        notice "written", and none "write". None if the write is not plain; then it is not sent."""

    def send_frame(self, switch: int, action: Any) -> None:
        """Send the frame of a `SendFrame` to the switch."""

    def discard_updates(self, switch: int) -> None:
        """The switch carries out no plain write that is under way, and answers none."""

    def answer(self, switch: int, token: int) -> None:
        """Send the answer to a write to the controller; a notice "answered" reports its arrival."""

    def packet_out(self, switch: int, frame: bytes) -> None:
        """Send a frame to the switch; it begins with the program's packet_out header."""

    def command(self, text: str) -> str:
        """As `ClientNode.command`."""

    def sample(self) -> dict[str, Any]:
        """As `ClientNode.sample`, without "socket" and "failed"."""

    def statistics(self) -> dict[str, Any]:
        """Counts since the start: "events", "frames" and "bytes" put on links, "link_drops" (full
        queues), "lost", "duplicated" and "corrupted" (impaired links), "pipeline_drops",
        "client_drops", "unrouted",
        "control_lost" (frames and digests on a cut channel, or without a receiver),
        "control_dropped" and "reports_dropped" (full queues of control channels; reports are hot
        records), "control_waiting_peak" (most messages that waited in one direction of a channel),
        "control_frame_bytes"; now: "pending" (events), "frames_under_way", "control_waiting";
        "servers": for each the counts of `ServerNode.statistics`, and "stored" (keys that were ever
        written). "coordinator": the counts of `CoordinatorNode.statistics` of the role, "dropped"
        and "busy_s"; None if there is none. "cards": for each FPGA card its counters by name,
        "cycles" that its design has run, "mac_drops", "restarts" and "unrouted" (frames to ports
        without a cable). "links": bytes on the links of each kind ("kind" in the configuration).
        """

    def stop_switch(self, switch: int) -> None:
        """Stop a switch. Its program keeps its state until `Switch.load`."""

    def start_switch(self, switch: int) -> None: ...
    def stop_server(self, server: int) -> None:
        """Stop a server: its state in memory is lost, its store remains."""

    def start_server(self, server: int, keep_storage: bool) -> None: ...
    def slow_server(self, server: int, factor: float) -> None:
        """From now on all work of the server takes `factor` times as long as configured."""

    def stop_coordinator(self) -> None:
        """Stop the coordinator; its pending requests are lost. ValueError: there is none."""

    def start_coordinator(self) -> None:
        """Start the coordinator again, without state. ValueError: there is none."""

    def set_client(self, client: int, up: bool) -> None:
        """Stop or start the host of a client."""

    def set_card(self, card: int, up: bool) -> None:
        """Stop or start an FPGA card; its design begins with a reset."""

    def cut_channel(self, switch: int, cut: bool) -> None:
        """Cut a control channel, or restore it. Frames and digests that are sent during a cut, or
        wait to be sent at its beginning, are lost; table writes and their answers wait."""

    def connect(self, switch: int, connected: bool) -> None:
        """Set whether a controller is at the channel; initially one is. When it stops, messages on
        the way to it are lost. When the next one starts, unsent messages of the previous one are
        lost."""

    def impair(
        self,
        kind: Literal["client", "server", "coordinator", "card", "switch"],
        number: int,
        to: str | None = None,
        from_: str | None = None,
        port: int = 0,
    ) -> None:
        """Set the impairments of frames to and from a host, or a port of a card or switch (JSON:
        "loss", "duplicate", "corrupt", "reorder", "delay", "jitter", "reorder_span"; times in
        seconds); None: no change of this direction."""

    def watch(self, keys: Sequence[bytes], limit: int) -> None:
        """Record the frames about these keys (none: all) in a journal of the latest `limit`
        lines."""

    def journal(self) -> list[str]:
        """The journal since `watch`, a line for each frame on a link."""

class SwitchNode:
    """Ports of a switch: UDP sockets, in which a datagram is a frame, and network interfaces.

    Each pipeline of the switch has a thread, which moves all frames of its ports. A packet that
    leaves by a port of another pipeline is handed over after ingress, in a queue of 4,096 packets.
    """

    def __init__(
        self,
        switch: Switch,
        ports: Sequence[tuple[int, str, str]],
        cpu_port: int = 510,
        trains: bool = True,
        seed: int = 1,
    ) -> None:
        """Bind the ports: (port number, "127.0.0.1:P" to bind, "127.0.0.1:Q" of its peer).

        The kernel drops datagrams of other senders. With the peer "any", all senders are accepted
        and answers go to the last one. An interface is (port number, ring, "INTERFACE" or
        "NAMESPACE/INTERFACE"), with the ring "packet" (AF_PACKET, TPACKET_V2), "packet-v3"
        (TPACKET_V3) or "xdp" (AF_XDP); this needs root. A port that is in use, or cannot be used,
        raises OSError with a sentence that names it; a wrong address or port number raises
        ValueError. With `trains`, the kernel gets frames of one size together (segmentation
        offload) if it supports that; peers receive single frames. `seed` is the seed of the random
        faults of impaired links.
        """

    def record(self, directory: str) -> None:
        """Record all frames that pass the ports, in files `port-N.pcapng`; before `start`.

        Raises OSError with a sentence if a file cannot be created. After a failed write a record
        ends; further frames count as "unrecorded".
        """

    def capture(self, limit: int) -> None:
        """Keep the next frames that arrive at the ports, up to `limit` for each pipeline; what was
        kept before is forgotten."""

    def captured(self) -> int:
        """How many frames are kept so far."""

    def end_capture(self) -> list[tuple[int, bytes]]:
        """End `capture`: the frames, each with the port at which it arrived."""

    def start(self) -> None:
        """Start forwarding. Frames that arrived before wait in the buffers of the sockets."""

    def stop(self) -> None:
        """Stop and close the sockets; `wait` returns. A second call has no effect."""

    def failure(self) -> str | None:
        """Why the node has stopped by itself, as a sentence; None while it has not."""

    def pause(self) -> None:
        """Stop reading frames (they fill the buffers of the sockets, then are lost) until `resume`.

        Returns when the current frames are processed. Packets between two pipelines are lost.
        """

    def resume(self) -> None: ...
    def impair(self, port: int, direction: str, impairment: str) -> None:
        """Set the impairments of the link at a port; they replace the previous ones.

        `direction` is "to" or "from" (the host). `impairment` is JSON, probabilities and seconds:
        {"loss": 0.01, "duplicate": 0, "corrupt": 0, "reorder": 0.1, "delay": 0.0005,
        "jitter": 0.0001, "reorder_span": 0.001}. The default is 0, that of `reorder_span` (the
        longest delay of a reordered frame) 1 ms; {}: no impairments. They apply to every frame that
        arrives after the call, which may precede `start`. ValueError: an invalid argument.
        """

    def packet_out(self, frame: bytes) -> None:
        """Inject a frame at the CPU port; it begins with the program's packet_out header."""

    def wait(self, timeout_s: float) -> tuple[list[bytes], list[DigestMessage]]:
        """Wait for frames at the CPU port (which begin with the packet_in header), or digests.

        Empty results mean that the time has passed or that the node was stopped. RuntimeError: the
        node has stopped because of a fault.
        """

    def statistics(self) -> dict[str, int]:
        """Counts since start, as sums over the pipelines.

        "received", "received_bytes", "sent", "sent_bytes"; "batches"; "malformed" (datagrams that
        are no Ethernet frame: shorter than 14 bytes, or longer than 2048), "unrouted" (for a port
        that does not exist), "send_drops" (the peer is down), "receive_drops" (the buffer of a
        socket was full), "packet_ins", "packet_outs", "digests"; "cpu_queue_drops" and
        "digest_drops" (`wait` was not called in time); "links_lost", "links_duplicated",
        "links_corrupted" (copies with flipped bits), "links_delayed" (delayed copies) and
        "links_dropped" (too many copies waited): frames on impaired links; "cpu_ns" (processor time
        of the node's threads); "unrecorded" (see `record`); "unsummed" (frames of an interface, not
        with XDP, whose sender has left checksums to a network card); "crossings" (packets from one
        pipeline to another), "crossing_drops" (their queue was full) and "crossing_losses" (they
        were in it when another program was loaded, or at a `pause`). Datagrams of other senders
        than the peer are not counted.
        """

    def port_statistics(self) -> dict[int, dict[str, int]]:
        """The counts of each port, by its number: "received", "received_bytes", "sent",
        "sent_bytes". Empty once the node is stopped."""

    def pipeline_statistics(self) -> list[dict[str, int]]:
        """The counts of each pipeline."""

    def threads(self) -> list[int]:
        """The kernel's id of the thread of each pipeline; empty until all run."""

@type_check_only
class FpgaDescription(TypedDict):
    """What a library says about its design."""

    ports: int
    """Number of ports; the host port or the virtio functions are the last."""
    functions: int
    """Number of virtio functions."""
    word_bytes: int
    """Bytes that cross a port in a cycle."""
    max_frame: int
    """Bytes of the longest frame."""
    max_queued: int
    """Frames that `FpgaDesign.rx` queues at most, for each port."""
    can_trace: bool

class FpgaDesign:
    """A design for an FPGA in virtual time, simulated cycle by cycle (docs/use/fpga.md).

    Calls raise ValueError for a wrong argument, RuntimeError for a full queue and for a design
    that has failed (an assertion, `$stop`), OSError for a library or trace that cannot be used; the
    text is a sentence.
    """

    def __init__(self, library: str, seed: int = 1) -> None:
        """Load a library that `netkv.fpga.build` has made; the new design has been reset.

        `seed` seeds memory models, and registers and memories without reset value.
        """

    def describe(self) -> FpgaDescription: ...
    def reset(self, cycles: int = 16) -> None:
        """Hold reset for some cycles. Frames in queues are dropped."""

    def set_port(
        self,
        port: int,
        bits_per_1000_cycles: int = 0,
        rx_frames: int = 0,
        tx_frames: int = 0,
    ) -> None:
        """Set line rate (0: frames take no time), frames of the MAC's receive buffer, and sent
        frames that wait for `tx` (0: 65,536)."""

    def rx(self, port: int, frame: bytes, not_before: int = 0) -> int:
        """Queue a frame whose first byte is on the line at cycle `not_before` or later.

        Returns the first cycle in which the MAC presents it, if the design has taken earlier ones.
        """

    def step(self, cycles: int, until_frame: bool = False) -> int:
        """Run cycles, or until the design has sent a frame; returns the number that ran."""

    def step_until_set(self, address: int, mask: int, cycles: int) -> bool:
        """Run until the bits `mask` of a register are 1, at most `cycles`; whether they are."""

    def preload(self, port: int, frame: bytes) -> None:
        """Give a frame to the design, and drop what it has sent meanwhile."""

    def tx(self) -> list[tuple[int, bytes, int, int, int]]:
        """All frames that the design has sent since the last call.

        For each: port, frame, cycle of its first word, cycle of its last word, and cycle in which
        its last byte is on the line.
        """

    @property
    def cycle(self) -> int:
        """Cycles since the design was made."""

    @property
    def pending_rx(self) -> int:
        """Received frames that the design has not taken whole."""

    @property
    def pending_tx(self) -> int:
        """Sent frames that wait for `tx`, and frames that the design is sending."""

    def counters(self, port: int) -> dict[str, int]:
        """ "rx_frames", "rx_bytes", "rx_drops" (receive buffer full), "tx_frames", "tx_bytes",
        "tx_drops" (nobody called `tx`), "tx_malformed" (length and words differ), "rx_stalls" and
        "tx_stalls" (cycles in which a word waited), "bus_faults" (words of host memory that the
        virtio function of this port may not use)."""

    def read_register(self, address: int) -> int:
        """Takes a cycle."""

    def write_register(self, address: int, value: int) -> None:
        """Takes a cycle."""

    def set_bus(
        self, read_cycles: int = 0, write_cycles: int = 0, register_cycles: int = 0
    ) -> None:
        """Set the times of the bus between virtio functions and the memory of the host."""

    def attach(self, function: int) -> None:
        """Become the driver of a virtio function, which is reset and has no memory.

        Without that it has a built-in driver for the frames of its port.
        """

    def add_memory(self, function: int, address: int, length: int) -> None:
        """Give zeroed memory to an attached function; both numbers are multiples of 64."""

    def clear_memory(self, function: int) -> None:
        """Take all memory from an attached function."""

    def read_memory(self, function: int, address: int, length: int) -> bytes: ...
    def write_memory(self, function: int, address: int, bytes: bytes) -> None: ...
    def read_function(self, function: int, address: int, bytes: int) -> int:
        """Read 1, 2 or 4 bytes of the registers of an attached function, in a cycle."""

    def write_function(self, function: int, address: int, bytes: int, value: int) -> None:
        """Write 1, 2 or 4 bytes of the registers of an attached function, in a cycle."""

    def interrupts(self) -> int:
        """Interrupts of attached functions since the last call.

        Of function f: bit 3f for its configuration, 3f + 1 for the receive queue, 3f + 2 for the
        transmit queue.
        """

    @property
    def pending_bus(self) -> int:
        """Accesses of host memory and notifications that are under way."""

    def trace_open(self, path: str) -> None:
        """Record all signals in an FST file; for libraries with tracing."""

    def trace_close(self) -> None: ...
    def run_live(
        self,
        ports: Sequence[tuple[int, str, str]],
        idle_cycles: int = 4096,
        max_mhz: float | None = None,
    ) -> FpgaNode:
        """Open the links of ports; the node has the design from now on, also after an error.

        A port is described as for `SwitchNode`, or (port, "tap", "DEVICE") for a TAP device, or
        (port, "vhost", "SOCKET") for a virtio function that a guest drives: its front end of
        vhost-user connects to the socket. The clock runs for `idle_cycles` after the last frame, at
        `max_mhz` at most.
        """

class FpgaNode:
    """A design that runs live. Its calls wait for the end of a round of some 256 cycles."""

    def start(self) -> None: ...
    def stop(self) -> None:
        """Stop the clock and close the links. Nothing happens the second time."""

    def failure(self) -> str | None:
        """Why the design has stopped by itself, as a sentence; None while it has not."""

    def statistics(self) -> dict[str, int]:
        """Counts since start, as sums over the pipelines.

        "received", "received_bytes", "sent", "sent_bytes"; "malformed" (shorter than 14 bytes, or
        longer than 2048), "refused" (by the design's queue), "send_drops" (peer gone, or buffer
        full), "unconnected" (sent at a port without link), "receive_drops" (a socket's buffer was
        full), "rounds", "cycles", "cpu_ns". Of guests: "notifications", "interrupts",
        "device_errors" (the design could not trust a ring), "guest_connections",
        "guest_refusals" (connections that the node has ended).
        """

    def refusals(self) -> dict[int, str]:
        """Why the front end of a guest was disconnected the last time, by function."""

    def counters(self, port: int) -> dict[str, int]:
        """As `FpgaDesign.counters`."""

    def read_register(self, address: int) -> int: ...
    def write_register(self, address: int, value: int) -> None: ...

@type_check_only
class StorageBackend(Protocol):
    """A store for `ServerNode.start`. The single thread of the node makes all calls."""

    def execute(self, batch: list[tuple[str, bytes, bytes | None]]) -> list[bytes | None]:
        """Do a batch in order; ("get", key, None), ("put", key, value) or ("delete", key, None).

        Keys are 16 bytes; the servers of one process own different ones. Keys that begin with
        b"netkv:" belong to the node: they identify the data set and the executed requests. For a
        write-back scheme a value is a record (docs/internals/architecture.md). Returns one result
        for each: the value of a get (None: not found); any value for put and delete. When this
        returns, the writes must be as durable as the back end guarantees, because the replies are
        sent at once. After a crash all writes of a batch must be stored or none; otherwise a
        request may take effect twice. An exception stops the node.
        """

@type_check_only
class RemoteBackend(Protocol):
    """A back end that may be temporarily unavailable, such as a separate process. Batches, keys and
    results are those of `StorageBackend`."""

    def ready(self) -> bool:
        """Whether it is available and has done all accepted writes. Operations on a back end that
        is not ready fail. An exception stops the node."""

    def send(self, batch: list[tuple[str, bytes, bytes | None]]) -> None:
        """Begin a batch; only called when `ready` is true. All of its writes, or none, are done
        before the back end is ready again. An exception stops the node."""

    def receive(self) -> list[bytes | None] | None:
        """The results of the batch. None: they are lost; then its reads fail, and its writes count
        as done when the back end is ready again. An exception stops the node."""

class CoordinatorNode:
    """The coordinator of multigets behind one UDP socket, and its workers."""

    def __init__(self, config: str) -> None:
        """`config` is JSON.

        "bind", "peer" (the switch's port); "workers" (threads, 1 to 64), "limit" (pending requests
        at which further ones are refused), "keyspace" (as of `ServerNode`), "deadline_s" and
        "retry_s" (of its requests to servers; the first time-out, which doubles).
        An invalid configuration raises ValueError, a busy port OSError.
        """

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def failure(self) -> str | None:
        """Why a worker has stopped by itself, as a sentence; None while none has."""

    def statistics(self) -> dict[str, Any]:
        """Counts since its creation.

        "requests" (accepted, of clients), "groups" (resulting requests to servers), "keys",
        "answered", "overloaded" (refused at the limit of pending requests), "duplicates", "retries"
        (of requests to servers), "expired" (given up at their deadline), "malformed", "under_way";
        "socket": "received", "sent", "oversized", "send_drops"; "dropped" (frames dropped at a full
        buffer of the socket), "busy_s" (processor time of all workers); "failed": as `failure`.
        """

class ServerNode:
    """The shim of one or more storage servers (partitions) behind one UDP socket."""

    def __init__(self, config: str) -> None:
        """`config` is JSON.

        "bind", "peer" (the switch's port); "role" (a role of servers, by its name in the
        engine's registry or in Python, `netkv.roles`); "keyspace" ("servers" that share the keys,
        "racks" with servers, "key_size" in bytes; `netkv.rack.load.keyspace`);
        "partitions" (indices of the servers in this process);
        "keys", "value_size" (bytes, or {"min", "max"}): the initial data set of the store, which
        clients know; "seed" (of the run; the data set does not depend on it); "service_rate"
        (operations per second of each server, null: unlimited), "queue_limit" (requests that wait
        at a rate-limited server).
        An invalid configuration raises ValueError, a busy port OSError.
        """

    def start(
        self,
        store: StorageBackend | RemoteBackend | list[RemoteBackend] | None = None,
    ) -> None:
        """Load the data set into the store, then serve. None: the store in memory, in Rust; a list:
        a store for each of the partitions, which execute their parts of a batch concurrently.

        A back end that has the data set already (a mark is written when it is complete) is not
        loaded again. So a restarted server has all writes, and its deduplication window contains
        the executed requests. A back end with another data set, with records of an incompatible
        scheme, or with damaged records raises OSError.
        """

    def stop(self) -> None: ...
    def slow(self, factor: float) -> None:
        """Serve `factor` (1 to 1e6) times slower than `service_rate`; 1 restores the rate.

        ValueError: the factor is invalid, or the servers have no rate. Call it after `start`.
        """

    def failure(self) -> str | None:
        """Why the node has stopped by itself, as a sentence; None while it has not."""

    def statistics(self) -> dict[str, Any]:
        """Counts since start.

        Of the node: "received", "sent", "malformed", "misrouted" (for a server of another process),
        "send_drops", "receive_drops", "batches" and "store_calls" (calls to the store and
        operations in them); "failed": as `failure`. "servers": for each index (as a string)
        "served", "reads", "writes", "deletes", "dropped" (at the full queue of a rate-limited
        server), "overloaded" (too many pending writes of one key), "duplicates", "late",
        "malformed", "wrong_partition", "unexpected", "retries" (of frames to switch and
        controller), "failures" (of the store); now: "busy_keys" (with pending operations).
        A role adds counts and gauges of its own (`counts!` in its module in engine/roles).
        """

class ClientNode:
    """The load generator: all clients of a rack, on one UDP socket. It checks the values read."""

    def __init__(self, config: str) -> None:
        """`config` is JSON.

        "bind", "peer"; "role" (of clients, by its name in the engine's registry or in Python,
        `netkv.roles`; the default only sends requests); "clients" (identities), "seed",
        "deadline_s", "retry_s"; "keyspace" (as of `ServerNode`); "workload"
        (netkv.model.spec.WorkloadSpec as JSON, without "key_size", "placement" and "rotation"; its
        shifts happen in the phase "measure");
        "verify" (check reads against acknowledged writes, and store these for the phase "verify").
        An invalid configuration raises ValueError, a busy port OSError.
        """

    def start(self) -> None:
        """Start the thread; it sends requests only after the command of a phase."""

    def stop(self) -> None: ...
    def failure(self) -> str | None:
        """Why the node has stopped by itself, as a sentence; None while it has not."""

    def command(self, text: str) -> str:
        """A JSON command; returns a JSON reply. ValueError: the command is invalid.

        - {"do": "phase", "name": "warmup" | "measure" | "drain" | "verify" | "end" | "idle"}:
          "drain" sends no new requests and waits for outstanding ones; "verify" then reads back
          every key that was written; "end" deregisters the clients with the controller, if their
          role registers them (for at most 2 s). The reply is immediate; `sample()["phase"]` becomes
          "idle" when one of these three is finished.
        - {"do": "rate", "value": operations per second}, {"do": "outstanding", "value": n},
          {"do": "throttle", "threads": n, "rate": operations per second}: change the arrivals.
        - {"do": "shift", "kind": "hot-in" | "hot-out" | "random", "keys": n, "top": n}: shift
          popularity now.
        - {"do": "turn", "first": server, "other": server}: only these servers get requests from now
          on.
        - {"do": "crash"}: as if the process crashed and another one started at once: pending
          requests and preserved records are lost, and the load continues. The history of
          operations remains and is checked.
        - {"do": "hottest", "n": 1000}: {"keys": [32 hex digits, ...]}, most popular first.
        """

    def sample(self) -> dict[str, Any]:
        """Counts since the last call, and the current state.

        "interval_s"; "phase" and "outstanding" (now); counts: "requests" (frames sent), "completed"
        (operations answered), "completed_of_first" (those for the first server of a turn), "reads",
        "writes" (deletes too), "hits" (reads that a switch answered), "retries", "lost" (no reply
        before the deadline), "unsent" (open loop: too many were waiting), "not_found",
        "overloaded", "errors" (refused), "conflicts" (conditional writes that were refused),
        "stale_reads", "stale_ns" and "longest_stale_ns" (for how long the values of stale reads had
        been replaced: sum and maximum), "phantom_reads", "unchecked_reads", "late_replies",
        "malformed"; counts
        and gauges of the role (`counts!` in its module in engine/roles). "latency": an HDR
        histogram of nanoseconds since the intended send time (a text for `Histogram`), and in a
        turn "latency_of_other", that of operations for other servers than the first; and
        "latency_ns": {"mean", "p50", "p95", "p99", "p999", "max"}. "socket": counts since the
        start, "received", "sent", "oversized", "send_drops", "receive_drops". "failed": as
        `failure`. In and after the phase "verify": "verified" (keys read back so far), and after it
        "acked_writes_lost" and "unread" (keys that could not be read). Since the start:
        "linearizable" (True, False, or None if no read is wrong but not all could be judged),
        "checked_ops", "unchecked_keys", "violation_count", and "violations": the first ones, in the
        form of `netkv.scenarios.results.Violation`.
        """

class Histogram:
    """Latencies in nanoseconds, with three digits (HDR). `len` is their number."""

    def __init__(self, text: str = "") -> None:
        """The histogram in a text of `encode` or of a sample; without one, empty.

        A damaged text raises ValueError.
        """

    def add(self, other: Histogram) -> None:
        """Add the latencies of another one."""

    def encode(self) -> str:
        """HDR V2, compressed with zlib, in base64."""

    def __len__(self) -> int: ...
    def mean(self) -> float:
        """The mean; 0 without latencies."""

    def at(self, percentile: float) -> int:
        """The latency that `percentile` of them do not exceed; 0 without latencies."""

    def points(self) -> list[tuple[int, int]]:
        """Each recorded latency, rising, with the number of those up to it."""

class PlainWrites:
    """Plain table writes of a control plane: those of entries with exact matches, with an action.

    A write that is not plain has another match or a priority, an unknown name, or a value that does
    not fit."""

    def __init__(
        self,
        tables: Mapping[str, tuple[int, Mapping[str, tuple[int, int]]]],
        actions: Mapping[str, tuple[int, Mapping[str, tuple[int, int]]]],
        kinds: tuple[type, type, type],
    ) -> None:
        """`tables`: those with exact matches only, by name: id, and for the name of each match
        field its id and width; `actions` with parameters in the same form. `kinds`: the classes of
        insertions, modifications and deletions (netkv/control/base.py)."""

    def encode(self, write: object) -> bytes | None:
        """A serialized WriteRequest that has only this update; None if it is not plain."""

    def carry_out(self, switch: Switch, write: object, pipeline: int) -> str | None:
        """Carry out the write in a pipeline; returns the reason if the switch refuses it, or "".
        None if it is not plain; then nothing has changed."""

class PlainUpdates:
    """The updates of a WriteRequest that has plain ones only (`netkv.p4rt.write.plain`)."""

    @staticmethod
    def read(request: bytes) -> PlainUpdates | None:
        """Reads a serialized WriteRequest; None if an update is not plain, or not well-formed."""

    @property
    def header(self) -> bytes:
        """The serialized request without its updates."""

    def __len__(self) -> int: ...
    def __getitem__(self, at: int) -> bytes:
        """A serialized update."""

class ServerRole:
    """A server and its store in memory, in a time of its own: for tests of protocols.

    Storage calls are made at once. Times are nanoseconds.
    """

    def __init__(
        self, role: str, server: int, servers: int, *, now: int = 0, first_request: int = 1
    ) -> None:
        """Start a server; `role` as of `ServerNode`. ValueError: an unknown role."""

    def restart(self, now: int, first_request: int) -> None:
        """Start it anew over the same store."""

    def receive(self, now: int, frame: bytes) -> list[bytes]:
        """Handle a frame; returns the frames that it sends."""

    def timer(self, now: int) -> list[bytes]:
        """Handle the timers that are due; returns the frames that it sends."""

    def deadline(self) -> int | None:
        """When to call `timer`, if nothing happens before."""

    def counts(self) -> dict[str, int]:
        """Counts since its start, and gauges."""

    def store(self, key: bytes, value: bytes) -> None:
        """Put a value into the store."""

    def value(self, key: bytes) -> bytes | None:
        """The value of a key in the store."""

class ClientRole:
    """A client that is given single operations, in a time of its own: for tests of protocols."""

    def __init__(
        self,
        role: str,
        client: int,
        servers: int,
        *,
        retry: int,
        deadline: int,
        first_request: int = 1,
    ) -> None:
        """Start client number `client`; `role` as of `ClientNode`. `retry`: first time-out of a
        request, which doubles up to eight times this; `deadline`: of an operation (nanoseconds).
        ValueError: an unknown role or a wrong option."""

    def submit(
        self, now: int, token: int, op: str, key: bytes, value: bytes | None = None
    ) -> list[bytes]:
        """Begin an operation ("get", "put" or "delete"); returns the frames that it sends.

        ValueError: the client does not support it.
        """

    def receive(self, now: int, frame: bytes) -> list[bytes]:
        """Handle a frame; returns the frames that it sends."""

    def timer(self, now: int) -> list[bytes]:
        """Handle the timers that are due; returns the frames that it sends."""

    def deadline(self) -> int | None:
        """When to call `timer`, if nothing happens before."""

    def completions(self) -> list[tuple[int, str, list[bytes | None] | str | None]]:
        """The operations that have ended since the last call, as of `Session.take`."""

class Session:
    """An external client of a rack that is up: the operations of a program, in a separate thread.

    Each operation has a token; `take` returns the results. Only `stop` blocks.
    """

    def __init__(self, config: str) -> None:
        """`config` is JSON: "bind" (the client's address), "peer" (the switch's port), "role" as of
        `ClientNode`, "client" (the client's number), "keyspace" (as of `ServerNode`), "deadline_s",
        "retry_s".

        An invalid configuration raises ValueError; an address that another process has bound raises
        OSError with "in use" in its text.
        """

    def start(self) -> None:
        """Start the thread, once."""

    def stop(self) -> None:
        """Deregister and release the address; takes up to 2 s without an answer.

        Pending operations have no result. A second call has no effect.
        """

    def get(self, token: int, keys: list[bytes]) -> None:
        """Read keys; all values or an error. RuntimeError: the session has ended or is full."""

    def put(self, token: int, key: bytes, value: bytes) -> None:
        """Write a value. RuntimeError as for `get`."""

    def delete(self, token: int, key: bytes) -> None:
        """Delete a key. RuntimeError as for `get`."""

    def fileno(self) -> int:
        """A descriptor that is readable when `take` has results, or after a failure."""

    def take(self) -> list[tuple[int, str, list[bytes | None] | str | None]]:
        """The operations that have ended since the last call: token, result, and details.

        "values" (the values of the keys), "done", "not found" (a key to delete), "timed out" (the
        unanswered part, as text), "unknown" (the write may have taken effect), "refused" (reason).
        """

    def failure(self) -> str | None:
        """Why the session has ended by itself, as a sentence; None while it has not."""

    def statistics(self) -> dict[str, int]:
        """Counts of frames: "received", "sent", "bursts" (rounds of the loop that sent frames),
        "oversized", "send_drops"; and "preserved": number of records of which it keeps copies
        because only the switch has them.
        """

class Gateway:
    """A server of the Redis protocol in front of a rack, in a separate thread
    (docs/use/gateway.md)."""

    def __init__(self, session: Session, settings: str) -> None:
        """Listen at an address. The session is started by the caller, before the gateway, and
        stopped after it.

        `settings` is JSON: "address" (port 0 takes a free one), "lab", "scheme", "version" (of
        netkv), "servers", "named_keys" (keys are unchanged on the wire), "timeout_s" (of an
        operation), "separate_mset" (serve MSET), "max_clients", "under_way" (limit of concurrent
        operations). OSError: the address cannot be used.
        """

    @property
    def host(self) -> str:
        """The address at which it listens."""

    @property
    def port(self) -> int:
        """The port at which it listens."""

    def start(self) -> None:
        """Start the thread, once."""

    def stop(self) -> None:
        """Begin to end: no more requests are accepted; the pending ones are answered."""

    def fileno(self) -> int:
        """A descriptor that is readable when the thread has ended."""

    def foreign(self) -> int:
        """Connections that were closed because they spoke another protocol, such as HTTP."""

    def failure(self) -> str | None:
        """Why it has ended by itself, as a sentence; None if it has not."""

@type_check_only
class Traffic(TypedDict):
    """Frames that take one path through a program."""

    port: int
    """The ingress port."""
    frames: list[bytes]
    leave_at: int
    """Port where each of them leaves."""
    leave_bytes: int
    """Bytes of each frame that leaves."""

def filled_switch(
    program: str,
    path: str,
    executor: str,
    entries: int,
    value_size: int,
    file: str | None = None,
    include_dirs: Sequence[str] = (),
    pipelines: int = 1,
) -> tuple[Switch, list[Traffic]]:
    """The switch of a benchmark, with filled tables, and frames that were tested on it: some for
    each pipeline.

    `program` and `path` are names of `netkv p4 bench`; `file` is the file of the program, unless it
    is built into the engine, and `include_dirs` are searched for its includes. ValueError: an
    invalid name or size, or no frames for each of several pipelines.
    """

class EchoNode:
    """A node with the sockets and the loop of `SwitchNode` that answers each frame by one of
    `reply_bytes` bytes at the same port: the reference for measurements of a switch."""

    def __init__(
        self,
        ports: Sequence[tuple[int, str, str]],
        reply_bytes: int,
        trains: bool = True,
        pipelines: int = 1,
    ) -> None: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def statistics(self) -> dict[str, int]:
        """As `SwitchNode.statistics`."""

    def pipeline_statistics(self) -> list[dict[str, int]]:
        """As `SwitchNode.pipeline_statistics`."""

    def threads(self) -> list[int]:
        """As `SwitchNode.threads`."""

@type_check_only
class LoadReport(TypedDict):
    """The result of a load."""

    replies: int
    """Replies of the right size."""
    wrong: int
    """Replies of another size."""
    lost: int
    """Requests without a reply."""
    seconds: float
    cpu_s: float
    """Processor time of the load itself."""
    ns_p50: int | None
    """Response time with one request outstanding; None otherwise."""
    ns_p99: int | None

class DatagramLoad:
    """Sends the same frames repeatedly to a switch port, as fast as a window allows.

    `bind` and `peer` are those of a port of `SwitchNode`: UDP addresses, or ring and interface.
    """

    def __init__(
        self, bind: str, peer: str, frames: Sequence[bytes], reply_bytes: int, trains: bool = True
    ) -> None: ...
    def run(self, window: int, seconds: float) -> LoadReport:
        """Keep `window` requests outstanding, sent in batches of up to 64."""

class StreamLoad:
    """The same on one TCP connection, pipelined; each reply must have `reply_bytes` bytes."""

    def __init__(self, peer: str, requests: Sequence[bytes], reply_bytes: int) -> None: ...
    def run(self, window: int, seconds: float) -> LoadReport: ...
