"""`netkv bench`: the speed of netkv and of alternatives on this machine."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Literal

import typer

from netkv.cli import bench_all, completion
from netkv.cli.executor import EngineExecutor
from netkv.cli.output import Json, notify, print_json, stdout
from netkv.cli.plotting import Plots, destinations, write

app = typer.Typer()
app.callback(invoke_without_command=True)(bench_all.every)


@app.command()
def e2e(
    seconds: Annotated[
        float, typer.Option(min=0.1, max=600, help="Seconds of load for each row.")
    ] = 3.0,
    executor: Annotated[
        EngineExecutor, typer.Option(help="How the engine runs the program.")
    ] = "compiled",
    program: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A scheme's P4 program, or the yardstick cache_read. [default: that of the first "
            "scheme that caches]",
        ),
    ] = None,
    entries: Annotated[
        int, typer.Option(min=1, max=65_536, help="Keys in the cache, and in the stores.")
    ] = 10_000,
    value_size: Annotated[
        list[int] | None,
        typer.Option(min=1, max=1024, metavar="BYTES", help="Size of values; repeatable. [128]"),
    ] = None,
    pipelines: Annotated[
        int,
        typer.Option(
            help="With 2 or 4, measure a switch with so many pipelines as well. Each has a thread "
            "and a load; the default program is then cache_read."
        ),
    ] = 1,
    stores: Annotated[bool, typer.Option(help="Measure Redis and memcached as well.")] = True,
    plot: Plots = None,
    json: Json = False,
) -> None:
    """Measure reads that a switch answers, end to end over UDP, against a UDP echo and stores.

    The echo has the sockets, batches and sizes of the switch, and no program. All are measured in
    short turns, so that other load affects them equally: compare the ratios. In the rows with
    "trains" the kernel gets frames of one size together, which is netkv's default.
    """
    from netkv import schemes
    from netkv.bench import end_to_end
    from netkv.bench.table_writes import YARDSTICK
    from netkv.cli.progress import steps

    to = destinations(plot)
    plan = end_to_end.Plan(
        program=program or (YARDSTICK if pipelines > 1 else schemes.default().program_path.stem),
        executor=executor,
        pipelines=pipelines,
        entries=entries,
        value_sizes=tuple(dict.fromkeys(value_size or [128])),
        seconds=seconds,
        stores=stores,
    )
    with steps() as progress:
        found = end_to_end.run(plan, progress)
    for sentence in found.left_out:
        notify(sentence)
    from netkv.report import end_to_end as report

    if json:
        print_json(found.benchmark.to_json())
    else:
        out = stdout()
        out.print(report.table(found))
        for name, ratio in report.ratios(found):
            out.print(f"{ratio:6.2f}  {name}", highlight=False)
    write(to, report.figures(found), lambda: report.render(found))


@app.command()
def veth(
    seconds: Annotated[
        float, typer.Option(min=0.1, max=600, help="Seconds of load for each row.")
    ] = 3.0,
    ring: Annotated[
        list[str] | None,
        typer.Option(metavar="xdp|packet|packet-v3", help="Only this ring; repeatable."),
    ] = None,
    entries: Annotated[int, typer.Option(min=1, max=65_536, help="Keys in the cache.")] = 10_000,
    outstanding: Annotated[int, typer.Option(min=1, max=65_536, help="Requests outstanding.")] = 64,
    json: Json = False,
) -> None:
    """Measure a switch between network interfaces against the same rings without a program.

    The load is reads that the yardstick cache_read answers, over veth pairs that this command
    creates; needs root. All are measured in short turns, so that other load affects them equally:
    compare the ratios. bmv2's figure was recorded once, with 64 requests outstanding.
    """
    from netkv.bench import veth as measured
    from netkv.cli.progress import steps

    plan = measured.Plan(measured.rings(ring or []), entries, outstanding, seconds)
    with steps() as progress:
        found = measured.run(plan, progress)
    for sentence in found.left_out:
        notify(sentence)
    if json:
        print_json(found.benchmark.to_json())
        return
    for row in found.benchmark.results:
        took = "" if row.ns_p50 is None else f"  {row.ns_p50 / 1000:6.1f} µs one at a time"
        notify(f"{row.path:<19} {row.executor:<9} {row.pps:>10,.0f} a second{took}")
    for name, ratio in found.benchmark.ratios.items():
        stdout().print(f"{ratio:6.2f}  {name}", highlight=False)


@app.command()
def sim(
    seconds: Annotated[
        float, typer.Option(min=0.01, max=600, help="Seconds of wall time for each rack.")
    ] = 2.0,
    scheme: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Only this scheme; repeatable.", autocompletion=completion.schemes
        ),
    ] = None,
    servers: Annotated[
        list[int] | None,
        typer.Option(min=1, max=128, metavar="N", help="Only racks with N servers; repeatable."),
    ] = None,
    keys: Annotated[
        list[int] | None,
        typer.Option(
            min=1, max=100_000_000, metavar="N", help="Only racks with N keys; repeatable."
        ),
    ] = None,
    plot: Plots = None,
    json: Json = False,
) -> None:
    """Measure the simulator: requests and events per second of wall time, and their cost.

    Racks of up to 128 servers, 100 million keys and several switches, each in a process of its own,
    as far as a scheme supports them. The ratios compare the simulator with the switch program
    alone, and large racks with small ones. Racks with writes only show the memory of a run, and of
    one ten times as long.
    """
    from netkv.bench import simulator
    from netkv.cli.progress import steps

    to = destinations(plot)
    rows = simulator.plan(scheme or [], servers or [], keys or [], seconds)
    with steps() as progress:
        found = simulator.run(rows, progress)
    from netkv.report import simulator as report

    if json:
        print_json(found.to_json())
    else:
        out = stdout()
        out.print(report.table(found))
        out.print(report.memory_table(found))
        for name, ratio in found.ratios.items():
            out.print(f"{ratio:6.2f}  {name}", highlight=False)
    write(to, report.figures(found), lambda: report.render(found))


@app.command()
def gateway(
    lab: Annotated[
        str | None,
        typer.Option(
            help="Name or directory of the lab [default: the one that is up].",
            autocompletion=completion.labs,
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.1, max=600, help="Seconds of load for each row.")
    ] = 3.0,
    entries: Annotated[int, typer.Option(min=1, max=1_000_000, help="Keys.")] = 1_000,
    value_size: Annotated[
        int, typer.Option(min=1, max=1024, metavar="BYTES", help="Size of values.")
    ] = 64,
    json: Json = False,
) -> None:
    """Measure the gateway of a lab that is up and a redis-server, both by redis-benchmark.

    Both are measured in short turns, so that other load affects them equally: compare the ratios.
    The benchmark writes keys `key:…` in the lab.
    """
    from netkv.bench import gateway as measured
    from netkv.cli.progress import steps

    with steps() as progress:
        found = measured.run(measured.Plan(lab, entries, value_size, seconds), progress)
    from netkv.report import gateway as report

    if json:
        print_json(found.to_json())
    else:
        out = stdout()
        out.print(report.table(found))
        for name, ratio in found.ratios.items():
            out.print(f"{ratio:6.3f}  {name}", highlight=False)


@app.command()
def redis(
    seconds: Annotated[
        float, typer.Option(min=0.1, max=600, help="Seconds of load for each row.")
    ] = 2.0,
    entries: Annotated[int, typer.Option(min=64, max=1_000_000, help="Keys in Redis.")] = 10_000,
    fsync: Annotated[
        Literal["always", "everysec", "never"], typer.Option(help="As 'lab.redis.fsync'.")
    ] = "never",
    json: Json = False,
) -> None:
    """Measure Redis as a back end, and through a whole server, against redis-py alone."""
    from netkv.bench import redis_store
    from netkv.cli.progress import steps

    with steps() as progress:
        found = redis_store.run(redis_store.Plan(seconds, entries, fsync), progress)
    if json:
        print_json(found.to_json())
        return
    for row in found.results:
        notify(f"{row.path}  {row.program:<9} {row.pps:>10,.0f} a second")
    for name, ratio in found.ratios.items():
        stdout().print(f"{ratio:6.2f}  {name}", highlight=False)


@app.command(name="startup")
def start_up(
    rounds: Annotated[int, typer.Option(min=1, max=100, help="How often each command is run.")] = 5,
    json: Json = False,
) -> None:
    """Measure the processor time of short commands, beside that of a bare Python interpreter."""
    from netkv.bench import startup
    from netkv.cli.progress import steps

    with steps() as progress:
        found = startup.run(startup.Plan(rounds), progress)
    if json:
        print_json(found.to_json())
        return
    for name, taken in found.seconds.items():
        notify(f"{taken:7.3f} s  {name}")
    for name, ratio in found.ratios.items():
        stdout().print(f"{ratio:6.1f}  {name} / {startup.BARE}", highlight=False)


@app.command()
def rocksdb(
    records: Annotated[
        int, typer.Option(min=10_000, max=20_000_000, help="Records in the database.")
    ] = 3_000_000,
    value_size: Annotated[
        int, typer.Option(min=1, max=1024, metavar="BYTES", help="Size of values.")
    ] = 128,
    block_cache_mib: Annotated[
        int, typer.Option(min=4, max=65_536, metavar="MIB", help="Size of the block cache.")
    ] = 1024,
    memtable_mib: Annotated[
        int, typer.Option(min=1, max=1024, metavar="MIB", help="Size of a memtable.")
    ] = 64,
    memtables: Annotated[
        int, typer.Option(min=0, max=15, help="Memtables full of recent writes; 0: no such rows.")
    ] = 15,
    json: Json = False,
) -> None:
    """Measure processor time of RocksDB's reads and writes, by where the record is.

    Rows: hot records, records in the block cache, records in the page cache only, and the same
    with memtables full of recent writes. The options are those of a published evaluation. Flushes
    and compactions by background threads are not counted. The database is in a temporary directory
    (TMPDIR).
    """
    from netkv.bench import rocksdb_costs
    from netkv.cli.progress import steps

    plan = rocksdb_costs.Plan(records, value_size, block_cache_mib, memtable_mib, memtables)
    with steps() as progress:
        found = rocksdb_costs.run(plan, progress)
    if json:
        print_json(found.model_dump(mode="json"))
        return
    from netkv.report import rocksdb_costs as report

    out = stdout()
    out.print(report.table(found))
    out.print(report.differences(found))
    notify(report.load(found))


@app.command()
def multigets(
    servers: Annotated[
        list[int] | None,
        typer.Option(min=1, max=32, metavar="N", help="A row for N servers; repeatable."),
    ] = None,
    keys: Annotated[int, typer.Option(min=1, max=128, help="Keys of each request.")] = 16,
    outstanding: Annotated[int, typer.Option(min=1, max=65_536, help="Requests outstanding.")] = 64,
    seconds: Annotated[
        float, typer.Option(min=0.6, max=600, help="Seconds of load for each figure.")
    ] = 6.0,
    backend: Annotated[
        Literal["memory", "rocksdb", "redis"], typer.Option(help="As 'lab.backend'.")
    ] = "memory",
    json: Json = False,
) -> None:
    """Measure the processor time of a multiget on its client, live, for each multiget scheme.

    The time includes the kernel's share. Schemes differ in the number of frames of a request: one,
    or one for each group of keys. Schemes with a coordinator are left out.
    """
    from netkv.bench import multigets as measured
    from netkv.cli.progress import steps

    rows = tuple(servers or measured.Plan.servers)
    plan = measured.Plan(rows, keys, outstanding, seconds, backend)
    with steps() as progress:
        found = measured.run(plan, progress)
    if json:
        print_json(found.model_dump(mode="json"))
        return
    from netkv.report import multigets as report

    stdout().print(report.table(found))


@app.command()
def memcached(
    seconds: Annotated[
        float, typer.Option(min=0.1, max=600, help="Seconds of load for each row.")
    ] = 5.0,
    entries: Annotated[int, typer.Option(min=1, max=1_000_000, help="Keys.")] = 64,
    value_size: Annotated[
        int, typer.Option(min=1, max=1024, metavar="BYTES", help="Size of values.")
    ] = 16,
    write: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the table into a Markdown document.")
    ] = None,
    json: Json = False,
) -> None:
    """Measure a real memcached on this machine: GETs of its binary protocol over UDP, on loopback.

    One thread of memcached has one core, the load another. A UDP echo beside it, in short turns,
    shows the share of the kernel. Rates and latencies are wall time, and include that the machine
    does other work; the core time does not.
    """
    from netkv.bench import memcached as measured
    from netkv.cli.evaluate import write_tables
    from netkv.cli.progress import steps
    from netkv.report import memcached as report

    with steps() as progress:
        found = measured.run(measured.Plan(seconds, entries, value_size), progress)
    if write is not None:
        write_tables(write, {report.NAME: report.markdown(found)})
    if json:
        print_json(found.model_dump(mode="json"))
    else:
        stdout().print(report.table(found))


@app.command()
def fpga(
    design: Annotated[
        str,
        typer.Argument(metavar="DESIGN", help="A design.", autocompletion=completion.designs),
    ],
    cycles: Annotated[
        int | None,
        typer.Option(
            min=1_000,
            max=500_000,
            help="Cycles under load (default: 200,000, or as many as its queries can fill).",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Measure how many cycles of a simulated FPGA design one processor runs in a second.

    With GET hits at the line rate of all ports, with few of them, and without frames, when the
    design lets idle time be skipped. Processor time counts, not wall time.
    """
    from netkv.bench import fpga as measured
    from netkv.cli.progress import steps
    from netkv.model import manifest

    with steps() as progress:
        found = measured.run(manifest.find(design), cycles, progress)
    if json:
        print_json(dataclasses.asdict(found))
        return
    out = stdout()
    out.print(f"{found.build_seconds:>12,.1f}  seconds for the build", highlight=False)
    for name in ("loaded", "sparse", "idle"):
        out.print(f"{getattr(found, name):>12,.0f}  cycles a second, {name}", highlight=False)
