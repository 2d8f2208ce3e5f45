"""Drives a control plane on a live switch: wall clock and P4Runtime here, the rules there.

Rules
-----
1. The control plane (netkv/control) decides; this module only carries events in and actions out,
   in order. Table writes that stand together go into one Write.
2. A life begins with a connection and a fresh program, and ends when the stream breaks. What
   belongs to a life (writes not answered, packets not handled) is forgotten with it.
3. After a life has ended the next one begins as soon as the switch answers again, with
   `SwitchRestarted`: loading the program empties the switch, whether it had restarted or not.
4. A controller that is stopped is gone with all that it knew. The next one begins as the first did,
   with `Started`: it loads the program, which empties the switch, and preloads nothing. Why it is
   emptied: docs/architecture.md, "When a controller dies".
5. What a cut of the control channel does stands in `channel`.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from netkv.control import base
from netkv.control.topology import Topology
from netkv.errors import NetkvError
from netkv.lab.cabling import Cabling
from netkv.lab.channel import ControlChannel
from netkv.lab.spec import RackSpec
from netkv.p4rt import entities, updates
from netkv.p4rt.client import ControllerError, P4RuntimeClient
from netkv.schemes import Scheme

CONNECT_TIMEOUT = 10.0
_RECONNECT_PAUSE = 0.05
_READY_POLL = 0.01
_DIGEST_DELAY_NS = 5_000_000
"""How long the switch may gather digests into a list."""
_DIGEST_LIST = 64
_DIGEST_ACK_NS = 1_000_000_000
"""After this long without acknowledgement the switch may report the same key again."""


class Controller:
    """The controller of one switch, as tasks of the running event loop."""

    def __init__(
        self,
        scheme: Scheme,
        spec: RackSpec,
        cabling: Cabling,
        bundle: Path,
        *,
        channel: ControlChannel,
        preload: Sequence[bytes],
        tell: Callable[[str], object],
        on_failure: Callable[[str], None],
    ) -> None:
        """`tell` hears sentences for the list of events; `on_failure` a fault that ends it."""
        topology = Topology.of_ports(
            [cabling.client.port] * spec.lab.clients,
            [cabling.server_port(server) for server in range(spec.lab.servers)],
        )
        self.control_plane = scheme.control_plane(spec, topology)
        self.bytes = 0
        """Between controller and switch so far, both directions: P4Runtime messages."""
        self._address = cabling.p4runtime
        self._bundle = bundle
        self._channel = channel
        self._preload = tuple(preload)
        self._listener = tell
        self._said = ""
        self._on_failure = on_failure
        self._alive = False
        self._task: asyncio.Task[None] | None = None
        self._lives = 0

    @property
    def cached(self) -> int:
        """How many keys are cached."""
        return len(self.cached_keys())

    def cached_keys(self) -> set[bytes]:
        """The keys that the control plane has cached; none while the switch is away."""
        if not self._alive or not isinstance(self.control_plane, base.Caches):
            return set()
        return set(self.control_plane.cached_keys())

    def statistics(self) -> dict[str, int]:
        """What the control plane counts, and `lives`: how often the switch was set up."""
        return {**self.control_plane.statistics(), "lives": self._lives}

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._task is not None and not self._task.done()

    async def start(self) -> None:
        """Starts; `ready` waits until the switch is set up."""
        self._task = asyncio.create_task(self._run(), name="controller")

    async def ready(self, timeout: float) -> None:  # noqa: ASYNC109
        """Waits until tables and preloaded keys are in; raises `NetkvError` after `timeout` s."""
        deadline = time.monotonic() + timeout
        while not self.control_plane.ready():
            assert self._task is not None
            if self._task.done():
                raise NetkvError("The controller ended before the switch was set up.")
            if time.monotonic() > deadline:
                counts = ", ".join(f"{name} {n}" for name, n in self.statistics().items())
                said = f" The last it said: {self._said}." if self._said else ""
                raise NetkvError(
                    f"The control plane was not ready within {timeout:g} s ({counts}).{said}"
                )
            await asyncio.sleep(_READY_POLL)

    async def stop(self) -> None:
        """Ends; what was on its way is dropped."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        try:
            while True:
                await self._live()
        except Exception as error:
            self._on_failure(f"The controller failed: {error!r}")
            raise

    async def _live(self) -> None:
        """One life: from connecting to the end of the stream."""
        await self._channel.whole()
        client = P4RuntimeClient(self._address)
        try:
            await client.connect(CONNECT_TIMEOUT)
            await client.set_pipeline(await asyncio.to_thread(self._bundle.read_bytes))
            life = _Life(client, self._channel, self.control_plane, self._note_bytes, self._tell)
            await life.enable_digests()
            await self._channel.whole()
        except ControllerError as error:
            await client.close()
            if not error.disconnected:
                raise
            await asyncio.sleep(_RECONNECT_PAUSE)
            return
        self._lives += 1
        first = self._lives == 1
        events: list[base.Event] = [base.Started() if first else base.SwitchRestarted()]
        if first and self._preload:
            events.append(base.Preload(self._preload))
        self._alive = True
        try:
            await life.run(events)
        except ControllerError as error:
            if not error.disconnected:
                raise
            self._tell(f"The connection to the switch was lost: {error}")
        finally:
            self._alive = False
            await client.close()

    def _tell(self, text: str) -> None:
        self._said = text
        self._listener(text)

    def _note_bytes(self, count: int) -> None:
        self.bytes += count


class _Life:
    """One connection: what the switch says becomes events, what comes back is carried out."""

    def __init__(
        self,
        client: P4RuntimeClient,
        channel: ControlChannel,
        control_plane: base.ControlPlane,
        note_bytes: Callable[[int], None],
        tell: Callable[[str], object],
    ) -> None:
        self._client = client
        self._channel = channel
        self._names = client.names
        self._control_plane = control_plane
        self._note_bytes = note_bytes
        self._tell = tell
        self._events: asyncio.Queue[base.Event] = asyncio.Queue()
        self._actions: asyncio.Queue[tuple[int, base.Action]] = asyncio.Queue()
        """With the number of cuts of the channel when it was decided."""

    async def enable_digests(self) -> None:
        """Asks the switch for the digests that the control plane wants."""
        wanted = [
            entities.insert(
                self._names.digest(
                    digest,
                    max_timeout_ns=_DIGEST_DELAY_NS,
                    max_list_size=_DIGEST_LIST,
                    ack_timeout_ns=_DIGEST_ACK_NS,
                )
            )
            for digest in self._control_plane.digests
        ]
        if wanted:
            await self._client.write(wanted)

    async def run(self, first: Sequence[base.Event]) -> None:
        """Runs until the stream breaks; raises `ControllerError`."""
        for event in first:
            self._events.put_nowait(event)
        tasks = [
            asyncio.create_task(self._decide()),
            asyncio.create_task(self._carry_out()),
            asyncio.create_task(self._hear_packets()),
            asyncio.create_task(self._hear_digests()),
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        errors = [error for error in results if isinstance(error, Exception)]
        # A fault of ours, if there is one, is worth more than the broken stream that it causes.
        faults = [error for error in errors if not isinstance(error, ControllerError)]
        if errors:
            raise (faults or errors)[0]
        assert done

    async def _decide(self) -> None:
        """Feeds events and the timer to the control plane; the only place that calls it."""
        timed = False
        while True:
            event = await self._next_event(timed)
            timed = isinstance(event, base.Timer)
            for action in self._control_plane.handle(time.monotonic_ns(), event):
                if not isinstance(action, base.SendFrame) or not self._channel.loses():
                    self._actions.put_nowait((self._channel.cuts, action))
            # Neither many events nor a timer that is always due may starve the other tasks.
            await asyncio.sleep(0)

    async def _next_event(self, timed: bool) -> base.Event:
        """The timer if it is due and was not the last event, else what comes first."""
        deadline = self._control_plane.deadline()
        rest = None if deadline is None else (deadline - time.monotonic_ns()) / 1e9
        if rest is not None and rest <= 0:
            if not timed:
                return base.Timer()
            rest = 0.001
        try:
            async with asyncio.timeout(rest):
                return await self._events.get()
        except TimeoutError:
            return base.Timer()

    async def _carry_out(self) -> None:
        while True:
            cuts, action = await self._actions.get()
            writes: list[base.TableWrite] = []
            while isinstance(action, base.InsertEntry | base.DeleteEntry | base.SetDefault):
                writes.append(action)
                if self._actions.empty():
                    break
                cuts, action = self._actions.get_nowait()
            if writes:
                await self._write(writes)
            match action:
                case base.SendFrame(frame, egress_port):
                    # It may have waited behind a write that stalled.
                    if self._channel.loses(since=cuts):
                        continue
                    packet = self._names.packet_out(frame, {"egress_port": egress_port, "pad": 0})
                    self._note_bytes(packet.ByteSize())
                    await self._client.packet_out(packet)
                case base.Note():
                    self._tell(action.describe())

    async def _write(self, writes: Sequence[base.TableWrite]) -> None:
        """Carries out table writes that stand together and answers each."""
        messages = [updates.update(self._names, write) for write in writes]
        await self._channel.whole()
        self._note_bytes(sum(message.ByteSize() for message in messages))
        failed: dict[int, str] = {}
        try:
            await self._client.write(messages)
        except ControllerError as refused:
            if refused.disconnected:
                raise
            failed = {index: str(each) for index, each in refused.failed.items()}
            if not failed:
                # The Write was refused as a whole.
                failed = dict.fromkeys(range(len(writes)), str(refused))
        await self._channel.whole()
        for index, write in enumerate(writes):
            error = failed.get(index, "")
            written = base.TableWritten(write.write, index not in failed, error)
            self._events.put_nowait(written)

    async def _hear_packets(self) -> None:
        async for packet in self._client.packets():
            if self._channel.loses():
                continue
            self._note_bytes(packet.ByteSize())
            port = self._names.packet_metadata(packet).get("ingress_port", 0)
            self._events.put_nowait(base.PacketIn(port, packet.payload))

    async def _hear_digests(self) -> None:
        async for message in self._client.digests():
            if self._channel.loses():
                continue
            self._note_bytes(message.ByteSize())
            await self._client.acknowledge(message)
            for members in self._names.digest_members(message):
                self._events.put_nowait(
                    base.HotKey(
                        members["key"].to_bytes(16, "big"), members["count"], members["epoch"]
                    )
                )
