"""`netkv p4 fuzz --bmv2`: random state and packets, the engine against a real bmv2."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from netkv import _engine, resources
from netkv.cli.output import notify, print_json
from netkv.cli.p4_source import compiled
from netkv.errors import NetkvError
from netkv.live.bmv2 import comparison, toolchain
from netkv.live.bmv2.comparison import Case, Difference
from netkv.live.bmv2.compiler import CompilerEndedError, compile_program
from netkv.p4rt import p4info

GENERATED = "generated program"
_FRAME_BYTES = 64
"""Bytes of a frame that a report shows."""


@dataclass
class Search:
    """Compares bmv2 and the engine: each program with each seed, until the time is over."""

    programs: list[Path]
    include: list[Path]
    define: list[str]
    generated: bool
    first_seed: int
    seeds: int | None
    seconds: float | None
    packets: int
    """Packets of a case."""
    bmv2: str
    p4c: str | None
    cases: int = 0
    packets_done: int = 0
    refused: int = 0
    """Generated programs that p4c rejects."""
    not_compiled: int = 0
    """Generated programs for which p4c has reached its time limit or was ended by a signal."""
    ended: int = 0
    """Generated programs that bmv2 rejects, or that end it."""
    undefined: int = 0
    """Generated programs that read fields of invalid headers (`comparison`)."""
    findings: list[dict[str, Any]] = field(default_factory=list)

    def run(self, *, json: bool) -> None:
        """Compares and prints; exit status 1 if there is a difference."""
        started = time.monotonic()
        asyncio.run(self._run(started))
        elapsed = time.monotonic() - started
        if json:
            print_json(
                {
                    "ok": not self.findings,
                    "seconds": round(elapsed, 3),
                    "cases": self.cases,
                    "packets": self.packets_done,
                    "refused_by_p4c": self.refused,
                    "not_compiled": self.not_compiled,
                    "ended": self.ended,
                    "undefined": self.undefined,
                    "findings": self.findings,
                }
            )
        else:
            notify(self._summary(elapsed))
        if self.findings:
            raise typer.Exit(1)

    async def _run(self, started: float) -> None:
        switch, compiler = toolchain.switch(self.bmv2), toolchain.compiler(self.p4c)
        with tempfile.TemporaryDirectory(prefix="netkv-p4-") as folder:
            for program, seed in self._subjects(Path(folder)):
                if self.seconds is not None and time.monotonic() - started > self.seconds:
                    return
                bundle = compiled(program, self.include, self.define)
                source_hash = str(p4info.read_bundle(bundle)["source_hash"])
                pairs = (each.partition("=") for each in self.define)
                defines = {name: value or "1" for name, _, value in pairs}
                try:
                    made = compile_program(program, source_hash, defines, self.include, compiler)
                except NetkvError as error:
                    if program in self.programs:
                        raise
                    if isinstance(error, CompilerEndedError):
                        self.not_compiled += 1
                        notify(f"{GENERATED}, seed {seed}: {error}")
                        continue
                    # The generator does not follow all rules of p4c.
                    self.refused += 1
                    continue
                setup, frames = _engine.sample_packets(bundle, seed, self.packets, p4runtime=True)
                name = str(program) if program in self.programs else GENERATED
                case = Case(name, bundle, setup, frames)
                try:
                    found = await comparison.compare(switch, made, case)
                except NetkvError as error:
                    if name != GENERATED:
                        raise
                    self.ended += 1
                    notify(f"{name}, seed {seed}: {error}")
                    continue
                self.cases += 1
                self.packets_done += len(frames) if found is None else found.number
                if found is not None and not found.alone and name == GENERATED:
                    self.undefined += 1
                else:
                    self._record(case, seed, found)

    def _subjects(self, folder: Path) -> Iterator[tuple[Path, int]]:
        """Each program with each seed; endless without a number of seeds."""
        seed = self.first_seed
        while self.seeds is None or seed < self.first_seed + self.seeds:
            yield from ((program, seed) for program in self.programs)
            if self.generated:
                program = folder / f"generated-{seed}.p4"
                program.write_text(_engine.generate_p4(seed))
                yield program, seed
            seed += 1

    def _record(self, case: Case, seed: int, found: Difference | None) -> None:
        what = f"{Path(case.name).name}, seed {seed}: {len(case.packets):,} packets"
        if found is None:
            notify(f"{what}, no difference")
            return
        report = _report(case, seed, found, self.packets)
        self.findings.append({"program": case.name, "seed": seed, "report": report})
        notify(f"{what}, a difference\n{report}")

    def _summary(self, elapsed: float) -> str:
        outcome = "a difference" if self.findings else "no difference"
        parts = [f"{self.packets_done:,} packets in {self.cases:,} cases against bmv2"]
        if self.refused:
            parts.append(f"{self.refused} generated programs refused by p4c")
        if self.not_compiled:
            parts.append(f"{self.not_compiled} that p4c has not finished")
        if self.ended:
            parts.append(f"{self.ended} refused by bmv2 or ending it")
        if self.undefined:
            parts.append(f"{self.undefined} ended where they read fields of invalid headers")
        return f"{', '.join(parts)}, {elapsed:.1f} s: {outcome}."


def search(
    programs: list[Path] | None,
    include: list[Path] | None,
    define: list[str] | None,
    *,
    generated: bool | None,
    seed: int | None,
    seeds: int | None,
    seconds: float | None,
    packets: int,
    bmv2: str,
    p4c: str | None,
    json: bool,
) -> None:
    """Runs `netkv p4 fuzz` with `--bmv2`; the arguments are its options."""
    Search(
        programs or list(resources.programs().values()),
        include or [],
        define or [],
        bool(generated),
        1 if seed is None else seed,
        1 if seed is not None else seeds,
        seconds,
        packets,
        bmv2,
        p4c,
    ).run(json=json)


def _report(case: Case, seed: int, found: Difference, packets: int) -> str:
    port, frame = found.packet
    before = "also as the first packet" if found.alone else "only after the packets before it"
    lines = [
        f"Packet {found.number} is answered differently, {before}.",
        f"in    port {port}: {_hex(frame)}",
    ]
    for switch, frames in found.answers.items():
        lines += [f"{switch:11} port {out}: {_hex(each)}" for out, each in frames]
        if not frames:
            lines.append(f"{switch:11} no frame")
    lines += ["state:", *(f"  {line}" for line in case.setup.splitlines())]
    name = "--generated" if case.name == GENERATED else case.name
    lines.append(f"Again: netkv p4 fuzz {name} --seed {seed} --packets {packets} --bmv2 PATH")
    return "\n".join(lines)


def _hex(frame: bytes) -> str:
    text = frame[:_FRAME_BYTES].hex()
    return text if len(frame) <= _FRAME_BYTES else f"{text}... ({len(frame)} bytes)"
