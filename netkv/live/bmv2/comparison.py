"""The engine against a real bmv2: the same program, state and packets must give the same frames.

A packet is sent when the frames of the previous one have left. bmv2 has a thread for ingress and
several for egress, so the frames of one packet are compared as a multiset for each port. Processing
after the last frame of a packet (a copy is dropped, or recirculated and then dropped) is not
visible. So a case with a difference is repeated, and bmv2 must be idle before each packet. Only a
difference in the repetition is reported.

The fields of an invalid header are undefined in P4: bmv2 has values of earlier packets, the engine
has 0. If a program reads them, the answers differ, but not for the first packet
(`Difference.alone`).
"""

from __future__ import annotations

import select
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from finsy.proto import p4i

from netkv import _engine
from netkv.errors import NetkvError
from netkv.live.bmv2 import compiler, setup, toolchain
from netkv.live.bmv2.packet_stream import PacketStream
from netkv.live.bmv2.process import SwitchProcess
from netkv.live.ports import free_ports
from netkv.p4rt.client import ControllerError, P4RuntimeClient

EXECUTORS = ("interpreter", "compiled")
_DEVICE = 1
_ANSWER_S = 5.0
"""Seconds that bmv2 has to send a frame that the engine has sent."""
_REST_S = 0.02
"""Seconds without a frame after which bmv2 counts as idle."""
_PAUSE_S = 0.0003
"""Seconds that bmv2 has for a packet to which the engine sends nothing."""

Frames = Sequence[tuple[int, bytes]]


@dataclass(frozen=True)
class Case:
    """Program, state and packets."""

    name: str
    """Name of the program."""
    bundle: bytes
    setup: str
    """The state, as commands of a packet test (STF)."""
    packets: Frames


@dataclass(frozen=True)
class Difference:
    """A packet to which the switches have different answers."""

    number: int
    """Number of the packet in its case, from 1."""
    packet: tuple[int, bytes]
    answers: dict[str, Frames]
    """Frames by switch: the executors, and `bmv2`."""
    alone: bool
    """Whether the answers also differ if it is the first packet."""


class Bmv2:
    """A simple_switch_grpc of its own. An asynchronous context manager."""

    def __init__(self, switch: toolchain.Switch) -> None:
        self._switch = switch
        self._folder = Path(tempfile.mkdtemp(prefix="netkv-bmv2-"))
        self._process: SwitchProcess | None = None
        self._client: P4RuntimeClient | None = None
        self._ports: PacketStream | None = None

    async def __aenter__(self) -> Self:
        p4runtime, dataplane = self._start()
        self._client = P4RuntimeClient(p4runtime, device_id=_DEVICE)
        await self._client.connect()
        self._ports = PacketStream(dataplane, _DEVICE)
        return self

    def _start(self) -> tuple[str, str]:
        """Starts the process; returns its addresses for P4Runtime and for frames."""
        p4runtime, dataplane, thrift = (f"127.0.0.1:{port}" for port in free_ports(3))
        self._process = SwitchProcess(
            self._switch.path,
            device_id=_DEVICE,
            cpu_port=None,
            p4runtime=p4runtime,
            dataplane=dataplane,
            thrift=thrift if self._switch.thrift else None,
        )
        try:
            with (self._folder / "log").open("wb") as log:
                self._process.start(log)
        except ValueError as error:
            raise self._failure(str(error)) from error
        return p4runtime, dataplane

    async def __aexit__(self, *_: object) -> None:
        if self._ports is not None:
            self._ports.close()
        if self._client is not None:
            await self._client.close()
        if self._process is not None:
            self._process.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def load(self, program: compiler.Compiled, state: str, name: str) -> None:
        """Runs a program with this state; once, since bmv2 keeps some state for the next one."""
        assert self._client is not None
        assert self._ports is not None
        info = p4i.P4Info.FromString(program.p4info.read_bytes())
        try:
            await self._client.set_pipeline(program.config.read_bytes(), info)
            await self._client.write(setup.updates(self._client.names, state, name))
        except ControllerError as error:
            self._alive()
            raise NetkvError(f"bmv2 refuses the state of {name}: {error}") from error
        end = time.monotonic() + _ANSWER_S
        while self._ports.watched() is None:
            self._ports.flush()
            self._alive()
            if time.monotonic() > end:
                raise NetkvError(f"{self._switch.path} does not accept frames.")

    def answer(
        self, packet: tuple[int, bytes], frames: int, *, rest: bool
    ) -> list[tuple[int, bytes]]:
        """Sends a packet and returns the frames that leave.

        Returns when as many frames as expected have left, or, with `rest`, when bmv2 is idle.
        """
        assert self._ports is not None
        self._ports.send(*packet)
        self._ports.flush()
        found: list[tuple[int, bytes]] = []
        end = time.monotonic() + _ANSWER_S
        if not frames and not rest:
            time.sleep(_PAUSE_S)
        while True:
            missing = len(found) < frames
            wait = end - time.monotonic() if missing else _REST_S if rest else 0.0
            more = self._frames(max(wait, 0.0))
            found += more
            if not more and (not missing or time.monotonic() >= end):
                return found
            if not rest and len(found) >= frames:
                return found

    def _frames(self, wait_s: float) -> list[tuple[int, bytes]]:
        """The next frames that leave, within a time."""
        assert self._ports is not None
        watched = self._ports.watched()
        if watched is None:
            raise self._ended()
        end = time.monotonic() + wait_s
        while True:
            ready, _, _ = select.select([watched[0]], [], [], max(end - time.monotonic(), 0.0))
            if not ready:
                return []
            found = self._ports.receive()
            self._ports.flush()
            if found:
                return list(found)
            if self._ports.watched() is None:
                raise self._ended()

    def _ended(self) -> NetkvError:
        """Why the call for frames has ended."""
        assert self._process is not None
        how = self._process.ended(_ANSWER_S)
        return self._failure(how or f"{self._switch.path} has ended the call for frames")

    def _alive(self) -> None:
        """Raises `NetkvError` if the switch has ended."""
        assert self._process is not None
        if (how := self._process.ended()) is not None:
            raise self._failure(how)

    def _failure(self, how: str) -> NetkvError:
        """An error with the end of the switch's log."""
        lines = (self._folder / "log").read_text(errors="replace").strip().splitlines()
        return NetkvError("\n".join([f"{how}.", *lines[-5:]]))


def engine_answers(case: Case) -> list[dict[str, Frames]]:
    """The answers of both executors to each packet."""
    answers: list[dict[str, Frames]] = [{} for _ in case.packets]
    for executor in EXECUTORS:
        switch = _engine.Switch(case.bundle, executor=executor)
        switch.trace_stf(case.setup, case.name, set())
        for found, packet in zip(answers, case.packets, strict=True):
            found[executor] = switch.process(*packet)
    return answers


async def compare(
    switch: toolchain.Switch,
    program: compiler.Compiled,
    case: Case,
    done: Callable[[int], None] = lambda _: None,
) -> Difference | None:
    """The first difference of a case, if there is one; calls `done` with the number of equal
    packets.

    Raises `NetkvError` if bmv2 refuses the program or the state, or ends.
    """
    expected = engine_answers(case)
    found = await _first(switch, program, case, expected, done, rest=False)
    if found is None:
        return None
    found = await _first(switch, program, case, expected, done, rest=True)
    if found is None:
        return None
    number, answers = found
    packet = case.packets[number]
    single = Case(case.name, case.bundle, case.setup, [packet])
    alone = await _first(switch, program, single, engine_answers(single), done, rest=True)
    return Difference(number + 1, packet, answers, alone is not None)


async def _first(
    switch: toolchain.Switch,
    program: compiler.Compiled,
    case: Case,
    expected: Sequence[dict[str, Frames]],
    done: Callable[[int], None],
    *,
    rest: bool,
) -> tuple[int, dict[str, Frames]] | None:
    """Position and answers of the first packet with a difference."""
    async with Bmv2(switch) as bmv2:
        await bmv2.load(program, case.setup, case.name)
        for number, (packet, known) in enumerate(zip(case.packets, expected, strict=True)):
            frames = len(known[EXECUTORS[0]])
            answers = {**known, "bmv2": bmv2.answer(packet, frames, rest=rest)}
            if len({_multiset(each) for each in answers.values()}) > 1:
                return number, answers
            done(number + 1)
    return None


def _multiset(frames: Frames) -> frozenset[tuple[tuple[int, bytes], int]]:
    return frozenset(Counter(frames).items())
