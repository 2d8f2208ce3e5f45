"""Hosts for `netkv doctor --hosts`: whether they can be reached, what they have, and their clocks.

A host answers (`answer`) over the connection, and to datagrams; clocks are compared by whichever
comes back (`clock`).
"""

from __future__ import annotations

import asyncio
import json
import secrets
import shlex
import socket
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import asyncssh

from netkv.errors import NetkvError
from netkv.executors import clock, ssh
from netkv.executors.clock import Clock
from netkv.executors.host_file import Host
from netkv.executors.same_code import identity
from netkv.machine import host as this_host

_UDP = socket.SOCK_DGRAM
_ROUNDS = 30
_ANSWER_S = 20.0
_DATAGRAM_S = 0.5
"""Seconds that a datagram may take; three without an answer are enough to know."""
_LOST = 3


@dataclass(frozen=True)
class Report:
    """What was found of a host."""

    name: str
    problem: str | None = None
    """Why it cannot be used, as a sentence; None if it can."""
    netkv: str = ""
    machine: dict[str, Any] = field(default_factory=dict)
    clock: Clock | None = None
    round_trip: float | None = None
    """Of a datagram, in seconds; None if none came back."""


def reports(hosts: Iterable[Host]) -> list[Report]:
    """Asks all hosts at once."""

    async def ask() -> list[Report]:
        return await asyncio.gather(*map(_report, hosts))

    return asyncio.run(ask())


async def _report(host: Host) -> Report:
    try:
        connection = await ssh.connect(host)
    except NetkvError as error:
        return Report(host.name, str(error))
    async with connection:
        try:
            return await asyncio.wait_for(_asked(host, connection), _ANSWER_S)
        except TimeoutError:
            why = f"netkv on {host.name} has not answered for {_ANSWER_S:g} s."
        except (OSError, asyncssh.Error) as error:
            why = f"The connection to {host.name} has ended: {error}."
    return Report(host.name, why)


async def _asked(host: Host, connection: asyncssh.SSHClientConnection) -> Report:
    process = await connection.create_process(shlex.join([host.netkv, "worker", "--answer-probe"]))
    token = secrets.token_hex(16)
    process.stdin.write(token + "\n")
    line = await process.stdout.readline()
    try:
        about = json.loads(line)
    except ValueError:
        said = await process.stderr.read()
        why = ssh.reason(await process.wait(), said)
        return Report(host.name, f"netkv does not run on {host.name}: {why}")
    peer = connection.get_extra_info("peername")[0]
    found = await asyncio.to_thread(_datagrams, peer, about["port"], token)
    if found is None:
        ahead, round_trip = await _over_connection(process), None
    else:
        ahead, round_trip = found
    process.stdin.write_eof()
    problem = None
    if about["netkv"] != identity():
        problem = f"{host.name} has {about['netkv']}, and this machine has {identity()}."
    return Report(host.name, problem, about["netkv"], about["machine"], ahead, round_trip)


async def _over_connection(process: asyncssh.SSHClientProcess[str]) -> Clock:
    rounds = []
    for _ in range(_ROUNDS):
        begun = time.time()
        process.stdin.write("\n")
        there = int(await process.stdout.readline()) / 1e9
        rounds.append((begun, there, time.time()))
    return clock.of_rounds(rounds)


def _datagrams(address: str, port: int, token: str) -> tuple[Clock, float] | None:
    """The clock and the shortest round trip of datagrams; None if they do not come back."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    rounds: list[tuple[float, float, float]] = []
    lost = 0
    with socket.socket(family, socket.SOCK_DGRAM) as own:
        own.settimeout(_DATAGRAM_S)
        for number in range(_ROUNDS):
            sent = f"{token} {number}"
            try:
                begun = time.time()
                own.sendto(sent.encode(), (address, port))
                words = own.recv(200).decode().split()
                ended = time.time()
            except OSError:
                lost += 1
                if lost == _LOST and not rounds:
                    return None
                continue
            if words[:2] != sent.split():
                continue  # the late answer to one that counted as lost
            rounds.append((begun, int(words[2]) / 1e9, ended))
    if not rounds:
        return None
    found = clock.of_rounds(rounds)
    return found, 2 * found.within


def answer() -> None:
    """Answers the questions of `reports`, until the input ends.

    Datagrams are answered if they begin with the token that came over the connection.
    """
    token = sys.stdin.readline().strip()
    # Of both families, if the system has both.
    own = socket.socket(socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET, _UDP)
    if own.family == socket.AF_INET6:
        own.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    own.bind(("", 0))
    threading.Thread(target=_echo, args=(own, token), daemon=True).start()
    about = {"netkv": identity(), "machine": this_host(), "port": own.getsockname()[1]}
    print(json.dumps(about), flush=True)
    for _ in sys.stdin:
        print(time.time_ns(), flush=True)


def _echo(own: socket.socket, token: str) -> None:
    while True:
        data, sender = own.recvfrom(200)
        if token and data.startswith(token.encode() + b" "):
            own.sendto(data + f" {time.time_ns()}".encode(), sender)
