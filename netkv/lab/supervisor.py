"""The process behind `netkv up`: it runs a rack and answers requests on the lab's socket.

    python -m netkv.lab.supervisor NAME

lab.json in the lab's directory has the specification; this process updates its `state` and `nodes`.
SIGTERM and SIGINT stop the lab. If this process is killed, the stdin of its nodes is closed, and
they end, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import traceback
from dataclasses import asdict
from typing import Any

from netkv.errors import NetkvError
from netkv.lab import state
from netkv.lab.daemon import socket_path
from netkv.lab.process import NodeProcess
from netkv.lab.rack import LiveRack
from netkv.lab.spec import RackSpec
from netkv.rack.report import RackEvent

_EVENTS_KEPT = 1000
_LINE_LIMIT = 1024 * 1024
_FILLING_INTERVAL_S = 0.5


class Supervisor:
    """One lab, from its lab.json until it is stopped."""

    def __init__(self, lab: state.Lab) -> None:
        self._lab = lab
        self._stop = asyncio.Event()
        self._rack = LiveRack(
            RackSpec.model_validate(lab.spec),
            lab.directory,
            on_event=self._handle_event,
            on_processes=self._processes,
        )

    async def run(self) -> None:
        """Starts the rack, serves requests until `stop`, stops the rack."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        up = asyncio.create_task(self._up())
        stop = asyncio.create_task(self._stop.wait())
        try:
            with socket_path(self._lab.directory) as path:
                server = await asyncio.start_unix_server(self._serve, path, limit=_LINE_LIMIT)
            async with server:
                await asyncio.wait({up, stop}, return_when=asyncio.FIRST_COMPLETED)
                if up.done() and up.exception() is None:
                    await stop
        finally:
            stop.cancel()
            up.cancel()
            # The cancelled task `up` stops the rack before it ends.
            await asyncio.wait({up, stop})
            await self._rack.stop()
        if not up.cancelled() and (error := up.exception()) is not None:
            raise error

    async def _up(self) -> None:
        filling = asyncio.create_task(self._note_filling())
        try:
            await self._rack.start()
        finally:
            filling.cancel()
        self._lab.filled = None
        self._lab.external_clients = self._rack.external_clients()
        if self._lab.state == "starting":
            self._lab.state = "ready"
        self._lab.save()

    async def _note_filling(self) -> None:
        """Stores how full the caches are, for whoever waits for the lab."""
        while True:
            await asyncio.sleep(_FILLING_INTERVAL_S)
            if self._rack.filled != self._lab.filled:
                self._lab.filled = self._rack.filled
                self._lab.save()

    def _handle_event(self, event: RackEvent) -> None:
        print(f"{event.time:.3f} {event.kind} {event.node}: {event.text}", file=sys.stderr)
        del self._rack.events[:-_EVENTS_KEPT]
        if event.kind == "failed" and self._lab.state == "ready":
            self._lab.state, self._lab.text = "failed", event.text
            self._lab.save()

    def _processes(self, nodes: dict[str, NodeProcess]) -> None:
        self._lab.nodes = {
            name: node.identity for name, node in nodes.items() if node.identity is not None
        }
        if self._lab.directory.exists():
            self._lab.save()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, ValueError):
            while line := await reader.readline():
                writer.write(json.dumps(await self._answer(line)).encode() + b"\n")
                await writer.drain()
        writer.close()

    async def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            message = json.loads(line)
            return await self._do(message)
        except NetkvError as error:
            return {"error": str(error)}
        except Exception as error:
            traceback.print_exc()
            return {"error": f"The supervisor could not do that: {error!r}"}

    async def _do(self, message: dict[str, Any]) -> dict[str, Any]:
        match message:
            case {"do": "status"}:
                events = [asdict(event) for event in self._rack.events]
                switches = self._rack.controller.arbitration()
                controller = {"pid": os.getpid(), "switches": switches} if switches else None
                return {"events": events, "running": self._rack.running, "controller": controller}
            case {"do": "sample"}:
                return asdict(await self._rack.sample())
            case {"do": "client", "command": dict(command)}:
                return await self._rack.client.command(command)
            case {"do": "start", "node": str(node)}:
                await self._rack.node(node).start()
                self._recovered()
                return {}
            case {"do": "stop-node", "node": str(node)}:
                await self._rack.node(node).stop()
                return {}
            case {"do": "kill", "node": str(node)}:
                await self._rack.node(node).kill()
                return {}
            case {"do": "stop"}:
                self._stop.set()
                return {}
            case _:
                return {"error": f"A supervisor does not know the request {message!r}."}

    def _recovered(self) -> None:
        if all(self._rack.running.values()):
            self._rack.failed = None
            self._lab.state, self._lab.text = "ready", ""
            self._lab.save()


def main() -> None:
    """Runs the supervisor of the lab named on the command line."""
    name = state.check_name(sys.argv[1])
    # `up` stores the identity of this process under the lock; until then only `up` may write
    # lab.json.
    with state.locked():
        lab = state.load(name)
    if lab is None:
        sys.exit(f"There is no lab '{name}'.")
    try:
        asyncio.run(Supervisor(lab).run())
    except NetkvError as error:
        _broken(lab, str(error))
    except Exception as error:
        traceback.print_exc()
        _broken(lab, f"internal error of netkv: {error!r}")


def _broken(lab: state.Lab, text: str) -> None:
    print(text, file=sys.stderr)
    if lab.directory.exists():
        lab.state, lab.text = "broken", text
        lab.save()
    sys.exit(1)


if __name__ == "__main__":
    main()
