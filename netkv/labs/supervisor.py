"""The process behind `netkv up`: it runs a rack and answers requests on the lab's socket.

    python -m netkv.labs.supervisor NAME

lab.json in the lab's directory has the specification; this process updates its `state` and `nodes`.
SIGTERM and SIGINT stop the lab. If this process is killed, the stdin of its nodes is closed, and
they end, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import traceback
from typing import Any

from netkv.errors import NetkvError
from netkv.home import check_name
from netkv.live import state
from netkv.live.feed import Feed
from netkv.live.process import NodeProcess
from netkv.live.rack import LiveRack
from netkv.model.report import RackEvent
from netkv.scenarios.changes import Changes
from netkv.scenarios.injection import Injector
from netkv.scenarios.requests import Requests
from netkv.schemes.spec import RackSpec

_EVENTS_KEPT = 1000
_FILLING_INTERVAL_S = 0.5
_SAVE_AGAIN_INTERVAL_S = 1.0


class Supervisor:
    """One lab, from its lab.json until it is stopped."""

    def __init__(self, lab: state.Lab) -> None:
        self._lab = lab
        self._unsaved = False
        self._stop = asyncio.Event()
        self._rack = LiveRack(
            RackSpec.model_validate(lab.spec),
            lab.directory,
            on_event=self._handle_event,
            on_processes=self._processes,
        )
        self._feed = Feed(self._rack)
        self._injector = Injector(self._rack, Changes())
        self._requests = Requests(
            self._rack,
            self._feed,
            self._injector,
            on_start=self._recovered,
            further=self._answer,
        )

    def _save(self) -> None:
        self._unsaved = not self._lab.save()

    async def _save_again(self) -> None:
        """Stores what could not be stored, once the disk has room again."""
        while True:
            await asyncio.sleep(_SAVE_AGAIN_INTERVAL_S)
            if self._unsaved:
                self._save()

    async def run(self) -> None:
        """Starts the rack, serves requests until `stop`, stops the rack."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        up = asyncio.create_task(self._up())
        stop = asyncio.create_task(self._stop.wait())
        saving = asyncio.create_task(self._save_again())
        try:
            async with self._requests.served(self._lab.directory):
                await asyncio.wait({up, stop}, return_when=asyncio.FIRST_COMPLETED)
                if up.done() and up.exception() is None:
                    feed = asyncio.create_task(self._feed.run())
                    await stop
                    feed.cancel()
        finally:
            stop.cancel()
            up.cancel()
            saving.cancel()
            self._injector.close()
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
        self._lab.settle(self._rack.nodes)
        self._save()

    async def _note_filling(self) -> None:
        """Stores how full the caches are, for whoever waits for the lab."""
        while True:
            await asyncio.sleep(_FILLING_INTERVAL_S)
            if self._rack.filled != self._lab.filled:
                self._lab.filled = self._rack.filled
                self._save()

    def _handle_event(self, event: RackEvent) -> None:
        _log(f"{event.time:.3f} {event.kind} {event.node}: {event.text}")
        del self._rack.events[:-_EVENTS_KEPT]
        if event.kind == "failed" and self._lab.state in ("ready", "degraded"):
            self._lab.state, self._lab.text = "failed", event.text
            self._save()
        elif event.kind in state.CHANGES and self._lab.settle(self._rack.nodes):
            self._save()

    def _processes(self, nodes: dict[str, NodeProcess]) -> None:
        self._lab.take(nodes)
        if self._lab.directory.exists():
            self._save()

    async def _answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        if message == {"do": "stop"}:
            self._stop.set()
            return {}
        return None

    def _recovered(self) -> None:
        if self._lab.state == "failed" and all(node.running for node in self._rack.nodes):
            self._rack.failed = None
            self._lab.state, self._lab.text = "ready", ""
            self._save()


def main() -> None:
    """Runs the supervisor of the lab named on the command line."""
    name = check_name(sys.argv[1])
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


def _log(text: str) -> None:
    # A log on a full disk lacks lines, and the lab stays up.
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr)


def _broken(lab: state.Lab, text: str) -> None:
    _log(text)
    if lab.directory.exists():
        lab.state, lab.text = "broken", text
        lab.save()
    sys.exit(1)


if __name__ == "__main__":
    main()
