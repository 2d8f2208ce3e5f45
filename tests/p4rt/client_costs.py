"""CPU time that finsy and netkv's own client take: `python -m tests.p4rt.client_costs`.

A switch runs in another process. The command prints the CPU time of this process, in microseconds
for each table entry written (built from names) and for each packet-in received. The numbers are in
docs/use/p4runtime.md.
"""

from __future__ import annotations

import asyncio
import queue
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import finsy as fy

from netkv import _engine
from netkv.p4rt.client import BATCH, P4RuntimeClient
from netkv.p4rt.entities import Call, delete, insert
from netkv.p4rt.server import P4RuntimeServer

PROGRAM = Path(__file__).parent / "everything.p4"
ENTRIES = 2_000
PACKETS = 2_000
REPEATS = 3
HEADER = bytes([0x00, 0x80, 0x12, 0x34])
"""The packet_in header of `everything.p4`: port 1, padding, and a reason."""

Measured = Callable[[], Awaitable[None]]


class Burst:
    """A CPU port that answers a packet-out with many packet-ins."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[list[bytes]] = queue.Queue()

    def packet_out(self, frame: bytes) -> None:
        for _ in range(PACKETS // 100):
            self._waiting.put([HEADER + frame] * 100)

    def wait(self, timeout_s: float) -> tuple[list[bytes], list[tuple[int, list[bytes]]]]:
        try:
            return self._waiting.get(timeout=timeout_s), []
        except queue.Empty:
            return [], []


async def serve() -> None:
    bundle = _engine.compile_p4(str(PROGRAM))
    server = P4RuntimeServer(_engine.Switch(bundle), Burst(), bundle=bundle)
    print(await server.start(), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await server.stop()


async def cost(count: int, work: Measured) -> float:
    """Microseconds of CPU time for each of `count`."""
    start = time.process_time()
    await work()
    return (time.process_time() - start) / count * 1e6


async def netkv_costs(address: str) -> tuple[float, float]:
    async with P4RuntimeClient(address) as client:
        await client.get_pipeline()
        names = client.names
        table = [each async for each in client.read(names.table_entries("exact_table"))]
        await client.write([delete(each) for each in table])

        async def write() -> None:
            await client.write(
                [
                    insert(
                        names.table_entry(
                            "exact_table",
                            {"h.probe.ip": ip, "h.probe.tag": 1},
                            Call("set_result", {"result": ip & 0xFFFF}),
                        )
                    )
                    for ip in range(ENTRIES)
                ]
            )

        async def packets() -> None:
            await client.packet_out(names.packet_out(b"x" * 60, {"egress_port": 1}))
            taken = 0
            async for packet in client.packets():
                names.packet_metadata(packet)
                taken += 1
                if taken == PACKETS:
                    return

        return await cost(ENTRIES, write), await cost(PACKETS, packets)


async def finsy_costs(address: str) -> tuple[float, float]:
    async with fy.Switch("sw", address) as switch:
        await switch.delete_all()

        async def write() -> None:
            entries = [
                fy.P4TableEntry(
                    "exact_table",
                    match=fy.Match({"ip": ip, "tag": 1}),
                    action=fy.Action("set_result", result=ip & 0xFFFF),
                )
                for ip in range(ENTRIES)
            ]
            # finsy sends one request for each call; the batches are as large as our client's.
            for start in range(0, ENTRIES, BATCH):
                await switch.insert(entries[start : start + BATCH])

        async def packets() -> None:
            arriving = switch.read_packets(queue_size=2 * PACKETS)
            first = asyncio.ensure_future(anext(arriving))
            await asyncio.sleep(0)  # the task waits for a packet
            await switch.write([fy.P4PacketOut(b"x" * 60, egress_port=1, _pad=0)])
            await first
            for _ in range(PACKETS - 1):
                await anext(arriving)

        return await cost(ENTRIES, write), await cost(PACKETS, packets)


async def main() -> None:
    server = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.p4rt.client_costs",
        "serve",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    address = (await server.stdout.readline()).decode().strip()
    print("microseconds of CPU time, least of", REPEATS)
    for name, measure in [("netkv", netkv_costs), ("finsy", finsy_costs)]:
        runs = [await measure(address) for _ in range(REPEATS)]
        entry, packet = (min(each) for each in zip(*runs, strict=True))
        print(f"{name}: {entry:.1f} an entry, {packet:.1f} a packet-in")
    server.stdin.close()
    await server.wait()


if __name__ == "__main__":
    asyncio.run(serve() if sys.argv[1:] == ["serve"] else main())
