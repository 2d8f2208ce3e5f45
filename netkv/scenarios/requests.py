"""Requests about a live rack, on the socket `control` in the directory of its lab.

A request is a JSON object in a line, and so is its answer, which has `error` (a sentence) if the
request failed, or `refused` and `path` if the rack does not support it (`daemon.RefusedError`).

- `{"do": "status"}` → `events` (none with `"events": false`), `running`, `controller_running`,
  `controller` (its pid and the arbitration of its switches), `p4runtime` (address and device
  id of the P4Runtime server of each switch), `faults` in force
- `{"do": "samples", "after": NUMBER}` → `samples` with higher numbers, -N: the newest N
  (`netkv.live.feed`), and `totals` (`netkv.live.totals`)
- `{"do": "node", "node": NAME}` → its counters, as its process reports them
- `{"do": "cached", "node": NAME, "offset": N, "limit": N}` → `keys` (hexadecimal) that a switch
  caches according to the control plane, in their order, and their `total`
- `{"do": "capture", "node": NAME, "limit": N, "seconds": S}` → `frames`: the next that arrive at a
  switch, each with its port, as hex digits
- `{"do": "hottest", "limit": N}` → the most popular keys of the load generator, and which of them
  are cached
- `{"do": "client", "command": {...}}` → the load generator's reply (`ClientNode.command`)
- `{"do": "start" | "stop-node" | "kill", "node": NAME}`
- `{"do": "fault", "event": {...}, "duration": SECONDS or null}`: injects an event of a timeline,
  without `at` (`netkv.scenarios.injection`)
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netkv.errors import FieldError, MisfitError, NetkvError, UsageError
from netkv.events.event import action_of
from netkv.home import socket_path
from netkv.live.feed import Feed
from netkv.live.rack_nodes import LiveNode, LiveSwitch
from netkv.model.nodes import Card, Client, Node

if TYPE_CHECKING:
    from netkv.live.rack import LiveRack
    from netkv.scenarios.injection import Injector

_LINE_LIMIT = 1024 * 1024
MAX_KEYS = 1000
"""Keys in one answer."""
MAX_FRAMES = 64
"""Frames in one answer."""
MAX_CAPTURE_S = 3.0
"""Limit of the time to wait for them."""
_CAPTURE_POLL_S = 0.05

Handler = Callable[[dict[str, Any]], Awaitable[dict[str, Any] | None]]
"""Answers further requests; None: it does not know the request."""


class Requests:
    """Answers the requests about one rack."""

    def __init__(
        self,
        rack: LiveRack,
        feed: Feed,
        injector: Injector,
        *,
        on_start: Callable[[], None] = lambda: None,
        further: Handler | None = None,
    ) -> None:
        """`on_start` is called when a node was started again."""
        self._rack = rack
        self._feed = feed
        self._injector = injector
        self._on_start = on_start
        self._further = further

    @contextlib.asynccontextmanager
    async def served(self, directory: Path) -> AsyncIterator[None]:
        """Answers requests in this context."""
        with socket_path(directory) as path:
            server = await asyncio.start_unix_server(self._serve, path, limit=_LINE_LIMIT)
        async with server:
            yield

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
        except (FieldError, MisfitError) as error:
            return {"refused": str(error), "path": list(error.path)}
        except UsageError as error:
            return {"refused": str(error), "path": []}
        except NetkvError as error:
            return {"error": str(error)}
        except Exception as error:
            traceback.print_exc()
            return {"error": f"The supervisor could not do that: {error!r}"}

    async def _do(self, message: dict[str, Any]) -> dict[str, Any]:
        rack = self._rack
        match message:
            case {"do": "status"}:
                return self._status(events=bool(message.get("events", True)))
            case {"do": "samples", "after": int(number)}:
                samples = self._feed.after(number)
                return {"samples": samples, "totals": self._feed.totals}
            case {"do": "node", "node": str(name)}:
                return await self._node(name)
            case {"do": "cached", "node": str(name), "offset": int(offset), "limit": int(limit)}:
                keys = sorted(rack.controller.cached_at(rack.node(name).name))
                part = keys[max(offset, 0) :][: max(min(limit, MAX_KEYS), 0)]
                return {"keys": [key.hex() for key in part], "total": len(keys)}
            case {
                "do": "capture",
                "node": str(name),
                "limit": int(limit),
                "seconds": float() | int() as seconds,
            }:
                return {"frames": await _arriving(rack.node(name), limit, seconds)}
            case {"do": "hottest", "limit": int(limit)}:
                cached = rack.cached_keys()
                hottest = await rack.hottest(max(min(limit, MAX_KEYS), 1))
                return {"keys": [[key.hex(), key in cached] for key in hottest]}
            case {"do": "client", "command": dict(command)}:
                return await rack.client.command(command)
            case {"do": "start", "node": str(name)}:
                await self._injector.start(name)
                self._on_start()
                return {}
            case {"do": "stop-node", "node": str(name)}:
                await rack.node(name).stop()
                return {}
            case {"do": "kill", "node": str(name)}:
                await rack.node(name).kill()
                return {}
            case {"do": "fault", "event": dict(fields), "duration": float() | int() | None as last}:
                await self._injector.inject(action_of(fields), last)
                self._on_start()
                return {}
        if self._further is not None and (answer := await self._further(message)) is not None:
            return answer
        return {"error": f"A supervisor does not know the request {message!r}."}

    def _status(self, *, events: bool) -> dict[str, Any]:
        controller = self._rack.controller
        switches = controller.arbitration()
        return {
            "events": [asdict(event) for event in self._rack.events if events],
            "running": self._rack.running,
            "controller": {"pid": os.getpid(), "switches": switches} if switches else None,
            "controller_running": controller.running,
            "p4runtime": controller.servers(),
            "faults": self._injector.in_force(),
        }

    async def _node(self, name: str) -> dict[str, Any]:
        node = self._rack.node(name)
        if node is self._rack.controller:
            return {"controllers": self._rack.controller.describe()}
        assert isinstance(node, LiveNode)
        if not node.running:
            return {}
        if isinstance(node, Client):
            # A sample would begin a new interval of its counters.
            newest = self._feed.newest
            return {} if newest is None else {"sample": newest}
        found: dict[str, Any] = {"statistics": await node.statistics()}
        if isinstance(node, Card):
            found["registers"] = await node.request("registers")
        at = [it for it in self._rack.controller.describe() if name in it["switches"]]
        return {**found, "controllers": at} if at else found


async def _arriving(node: Node, limit: int, seconds: float) -> list[list[Any]]:
    """The next frames that arrive at a switch, each with its port: as many as arrive in the time.

    Raises `UsageError` if the node cannot capture frames.
    """
    if not isinstance(node, LiveSwitch) or not node.captures_frames:
        raise UsageError(f"Switches of the engine can capture frames; '{node.name}' is none.")
    await node.request("capture", {"limit": max(min(limit, MAX_FRAMES), 0)})
    for _ in range(int(max(min(seconds, MAX_CAPTURE_S), 0.0) / _CAPTURE_POLL_S)):
        if await node.request("captured") >= limit:
            break
        await asyncio.sleep(_CAPTURE_POLL_S)
    found: list[list[Any]] = await node.request("end-capture")
    return found[:limit]
