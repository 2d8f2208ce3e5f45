"""`netkv p4 fuzz` compares switches on random packets; `netkv p4 record` writes packet tests."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netkv.cli import completion, places
from netkv.cli.frames import read
from netkv.cli.output import Json, notify, print_json, write
from netkv.cli.p4_source import Defines, Includes, Program, compiled, read_text
from netkv.cli.places import On

if TYPE_CHECKING:
    from collections.abc import Callable

    from netkv._engine import Fuzzer, FuzzProgress
    from netkv.switch.spread_fuzzing import SpreadFuzzer

_POLL_S = 0.1
_SECONDS = 60.0
"""Default duration of a search."""


def fuzz(
    programs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PROGRAM.p4]...",
            help="Programs; without: all that netkv ships, and generated ones.",
            autocompletion=completion.p4_files,
        ),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Number of seeds; each is a case per program.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0.0, help="Stop after this time (default: 60, or --seeds).")
    ] = None,
    packets: Annotated[int, typer.Option(min=1, help="Packets of a case.")] = 2000,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Only this seed, for example that of a report.")
    ] = None,
    generated: Annotated[
        bool | None,
        typer.Option(
            "--generated/--no-generated",
            help="Also a generated program for each seed (default: if no PROGRAM is given).",
        ),
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Default: all cores.")] = None,
    on: On = None,
    bmv2: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Compare with this simple_switch_grpc, which is started for it: its output frames "
            "must be those of both executors. A name is looked up on PATH.",
        ),
    ] = None,
    p4c: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="p4c for --bmv2 (default: the one on PATH)."),
    ] = None,
    include: Includes = None,
    define: Defines = None,
    json: Json = False,
) -> None:
    """Compare executors, or the engine and bmv2, on random programs, tables and packets.

    Without --bmv2 the compiled executor is compared with the interpreter: output frames,
    registers, counters, digests and statistics must agree. The frames of an STF
    file beside a program (PROGRAM.stf) are used as well. Exit status 1 on a difference; a report
    shows a small case with the difference, and the command that repeats it.
    """
    from netkv import _engine, resources
    from netkv.errors import UsageError

    if bmv2 is not None:
        # Otherwise gRPC warns at each start of bmv2, because it is a fork.
        os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
        from netkv.cli import p4_bmv2

        if on is not None:
            raise UsageError("'--bmv2' is a program of this machine: it does not go with '--on'.")
        p4_bmv2.search(
            programs,
            include,
            define,
            generated=generated,
            seed=seed,
            seeds=seeds,
            seconds=_SECONDS if seeds is seconds is seed is None else seconds,
            packets=packets,
            bmv2=bmv2,
            p4c=p4c,
            json=json,
        )
        return
    if p4c is not None:
        raise UsageError("--p4c requires --bmv2.")
    chosen = programs or list(resources.programs().values())
    subjects = [_subject(program, include, define) for program in chosen]
    if seed is not None:
        seeds = 1
    if seeds is None and seconds is None:
        seconds = _SECONDS
    also_generated = not programs if generated is None else generated
    first = 1 if seed is None else seed
    with places.opened(places.chosen(on, threads, instead="--threads")) as executor:
        fuzzer: Fuzzer | SpreadFuzzer
        if executor is None:
            count = threads or len(os.sched_getaffinity(0))
            fuzzer = _engine.Fuzzer(subjects, also_generated, first, seeds, seconds, packets, count)
        else:
            from netkv.switch.spread_fuzzing import Batch, SpreadFuzzer

            batch = Batch(subjects, also_generated, packets)
            fuzzer = SpreadFuzzer(executor, batch, first, seeds, seconds)
        done, elapsed = _searched(fuzzer, seconds)
    if json:
        print_json({"ok": not done["findings"], "seconds": round(elapsed, 3), **_public(done)})
    else:
        for finding in done["findings"]:
            write(finding["report"])
        notify(_summary(done, elapsed))
    if done["findings"]:
        raise typer.Exit(1)


def _searched(fuzzer: Fuzzer | SpreadFuzzer, seconds: float | None) -> tuple[FuzzProgress, float]:
    """What it has found, and in how many seconds."""
    from netkv.steps import Steps

    started = time.monotonic()
    note = Steps()
    fuzzer.start()
    try:
        with _progress(seconds) as show:
            while (now := fuzzer.progress())["running"]:
                elapsed = time.monotonic() - started
                show(now, elapsed)
                note(round(100 * _fraction(now, seconds, elapsed)), 100, "fuzzing")
                time.sleep(_POLL_S)
    except KeyboardInterrupt:
        fuzzer.stop()
        done = fuzzer.progress()
        for finding in done["findings"]:
            notify(finding["report"])
        notify(f"Interrupted. {_summary(done, time.monotonic() - started)}")
        raise
    finally:
        fuzzer.stop()
    return fuzzer.progress(), time.monotonic() - started


def record(
    program: Program,
    packets: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Packets to send: lines 'PORT HEXBYTES' (# starts a comment), the packets of an "
            "STF file, or a pcap file.",
        ),
    ] = None,
    setup: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.stf",
            help="Tables, registers, groups before the packets.",
            autocompletion=completion.stf_files,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.stf", help="Default: standard output.")
    ] = None,
    random: Annotated[
        int, typer.Option(min=0, help="Instead of --packets: this many random packets.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of --random.")] = 1,
    port: Annotated[int, typer.Option(min=0, max=511, help="Port of the packets of a pcap.")] = 0,
    include: Includes = None,
    define: Defines = None,
) -> None:
    """Write a packet test with the answers of the engine, to run it on bmv2 or another switch.

    The file has the set-up, each packet, and the frames that leave for it, in the form of
    tests/golden and of p4c's STF tests. With --random and without --setup, entries, registers and
    clone sessions are random too.
    """
    from netkv import _engine
    from netkv.errors import UsageError

    if (packets is None) == (random == 0):
        raise UsageError("The packets to send are missing: give --packets FILE or --random N.")
    bundle = compiled(program, include, define)
    state = "" if setup is None else read_text(setup)
    if packets is not None:
        frames = read(packets, port)
    else:
        random_state, frames = _engine.sample_packets(bundle, seed, random, p4runtime=False)
        state = random_state if setup is None else state
    try:
        text = _engine.record_stf(bundle, state, frames, str(setup or "the set-up"))
    except ValueError as error:
        raise UsageError(str(error)) from error
    head = f"# Recorded from the netkv engine, {program.name}: {len(frames)} packets in.\n"
    if out is None:
        sys.stdout.write(head + text)
    else:
        out.write_text(head + text, encoding="utf-8")
    leaving = sum(line.startswith("expect ") for line in text.splitlines())
    notify(f"{len(frames)} packets in, {leaving} frames out.")


def _subject(
    program: Path, include: list[Path] | None, define: list[str] | None
) -> tuple[str, bytes, str | None, str]:
    """Name, bundle, source (None if it cannot be reduced), text of the STF file beside it."""
    bundle = compiled(program, include, define)
    source = read_text(program)
    whole = '#include "' not in source and not include and not define
    test = program.with_suffix(".stf")
    packets = read_text(test) if test.is_file() else ""
    return str(program), bundle, source if whole else None, packets


def _public(done: FuzzProgress) -> dict[str, Any]:
    return {name: value for name, value in done.items() if name not in ("running", "of")}


def _summary(done: FuzzProgress, elapsed: float) -> str:
    memory = done["memory_bytes"]
    parts = [
        f"{done['packets']:,} packets in {done['cases']:,} cases",
        f"{done['generated_programs']:,} generated programs",
        f"{done['frames_out']:,} frames out",
        f"{elapsed:.1f} s",
    ]
    if memory["start"] is not None and memory["now"] is not None:
        parts.append(f"memory {memory['start'] >> 20} MB -> {memory['now'] >> 20} MB")
    outcome = "a difference" if done["findings"] else "no difference"
    return f"{', '.join(parts)}: {outcome}."


@contextmanager
def _progress(seconds: float | None) -> Iterator[Callable[[FuzzProgress, float], None]]:
    """A bar on a terminal, a line every 10 s elsewhere."""
    from netkv.cli.progress import waiting

    with waiting("fuzzing") as waited:

        def show(now: FuzzProgress, elapsed: float) -> None:
            figures = f"{now['packets']:,} packets, {now['cases']:,} cases"
            if now["findings"]:
                figures += ", a difference"
            waited(figures, _fraction(now, seconds, elapsed) if now["of"] or seconds else None)

        yield show


def _fraction(now: FuzzProgress, seconds: float | None, elapsed: float) -> float:
    """How far the search is, 0 to 1; 0 without an end."""
    total, completed = (now["of"], now["cases"]) if now["of"] else (seconds, elapsed)
    return min(completed / total, 1.0) if total else 0.0
