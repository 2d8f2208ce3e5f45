"""The benchmarks of netkv: what each measures against what, and about how long it takes."""

from __future__ import annotations

from dataclasses import dataclass

from netkv.bench import suite


@dataclass(frozen=True)
class Entry:
    """A benchmark."""

    name: str
    """Its command, below `netkv`."""
    place: str
    """The function of the command, `module:function`."""
    title: str
    measures: str
    against: str
    """What its figures are compared with; measured in turns with it, unless it is a goal."""
    seconds: float
    """With its default options: load of all rows and set-up, on two cores."""
    needs: tuple[str, ...] = ()
    """Programs and rights that it needs beside netkv."""

    @property
    def id(self) -> str:
        """Its name in the API: its command without the word `bench`."""
        return self.name.replace("bench", "").strip() or "all"

    @property
    def in_suite(self) -> bool:
        """Whether `netkv bench` runs it."""
        return self.name in suite.BENCHMARKS


ENTRIES = (
    Entry(
        "bench",
        "netkv.cli.bench_all:every",
        "All main benchmarks",
        "the main figures of the data plane, end to end, simulator, gateway, Redis, RocksDB and "
        "commands, one after the other",
        "the goals of the project",
        900,
    ),
    Entry(
        "p4 bench",
        "netkv.cli.p4_bench:bench",
        "Data plane",
        "packets per second of each path of each program, on one core, in memory",
        "the interpreter, the compiled executor and the same path written by hand",
        120,
    ),
    Entry(
        "bench e2e",
        "netkv.cli.bench:e2e",
        "End to end over UDP",
        "reads that a switch answers, over sockets of the loopback",
        "a UDP echo with the same sockets, batches and sizes; Redis and memcached",
        25,
        ("redis-server and memcached for their rows",),
    ),
    Entry(
        "bench veth",
        "netkv.cli.bench:veth",
        "Network interfaces",
        "reads that a switch answers between virtual network interfaces",
        "the same rings without a program",
        30,
        ("root",),
    ),
    Entry(
        "bench sim",
        "netkv.cli.bench:sim",
        "Simulator",
        "simulated requests per second of wall time, and the memory of a run",
        "the program of the switch alone, and small racks",
        660,
    ),
    Entry(
        "bench gateway",
        "netkv.cli.bench:gateway",
        "Gateway",
        "requests of redis-benchmark to the gateway of a lab",
        "a redis-server under the same load",
        30,
        ("redis-server", "redis-benchmark"),
    ),
    Entry(
        "bench redis",
        "netkv.cli.bench:redis",
        "Redis as a back end",
        "calls of a server to its Redis, and a whole server with Redis",
        "redis-py alone",
        15,
        ("redis-server",),
    ),
    Entry(
        "bench rocksdb",
        "netkv.cli.bench:rocksdb",
        "RocksDB",
        "processor time of reads and writes, by where the record is",
        "reads of hot records",
        180,
    ),
    Entry(
        "bench startup",
        "netkv.cli.bench:start_up",
        "Start of commands",
        "processor time of short commands",
        "a bare Python interpreter",
        15,
    ),
    Entry(
        "bench multigets",
        "netkv.cli.bench:multigets",
        "Multigets",
        "processor time of a multiget on its client, live, for each number of servers",
        "the multiget schemes with each other",
        80,
    ),
    Entry(
        "bench memcached",
        "netkv.cli.bench:memcached",
        "memcached",
        "GETs of the binary protocol over UDP that a real memcached answers",
        "a UDP echo",
        15,
        ("memcached",),
    ),
    Entry(
        "bench fpga",
        "netkv.cli.bench:fpga",
        "FPGA designs",
        "cycles of a simulated design per second of processor time, under load and idle",
        "the clock of the design",
        60,
        ("Verilator and a C++ compiler",),
    ),
)
"""In the order of a page: all at once, then the data plane, then what is built on it."""
