"""The table has the MAC address that a server's last good reply came from."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import cocotb
import cocotb.triggers
import frames
from cocotb.clock import Clock
from streams import Bench

TOP = "server_addresses"
PARAMETERS = [{"ENTRIES": 4}]
CLIENT = ("10.0.0.1", 40000)


def mac(number: int) -> bytes:
    return bytes([2, 0, 0, 0, 3, number])


class Table:
    """Passes frames of two words and more beside the module."""

    def __init__(self, dut: Any) -> None:
        self.dut, self.bench = dut, Bench(dut)

    async def start(self) -> None:
        cocotb.start_soon(Clock(self.dut.clk, 5, "ns").start())
        self.dut.take.value = 0
        await self.bench.reset()

    async def passes(
        self, data: bytes, *, response: bool, corrupt: bool = False
    ) -> tuple[int, int]:
        """`known` and `same_mac` in the cycle after the last word."""
        dut, rng = self.dut, self.bench.rng
        for at in range(0, len(data), 32):
            while rng.random() < 0.3:
                dut.take.value, dut.data.value = 0, rng.getrandbits(256)
                await self.bench.step()
            dut.take.value, dut.last.value = 1, int(at + 32 >= len(data))
            dut.data.value = int.from_bytes(data[at : at + 32].ljust(32, b"\xee"), "little")
            dut.response.value, dut.corrupt.value = int(response), int(corrupt)
            await self.bench.step()
        # The next frame may begin at once.
        dut.take.value, dut.last.value = 0, 0
        await cocotb.triggers.ReadOnly()
        found = int(dut.known.value), int(dut.same_mac.value)
        await self.bench.step()
        return found

    async def asks(self, server: str, server_mac: bytes) -> tuple[int, int]:
        data = frames.udp_frame(
            b"get", client=CLIENT, server=(server, 11211), server_mac=server_mac
        )
        return await self.passes(data, response=False)

    async def answers(self, server: str, server_mac: bytes, *, corrupt: bool = False) -> None:
        data = frames.udp_frame(
            bytes(60), client=CLIENT, server=(server, 11211), server_mac=server_mac, response=True
        )
        await self.passes(data, response=True, corrupt=corrupt)


@cocotb.test()
async def the_last_good_reply_counts(dut: Any) -> None:
    table = Table(dut)
    await table.start()
    rng = table.bench.rng
    known: OrderedDict[str, bytes] = OrderedDict()  # the one that was learned first is in front
    for _ in range(600):
        server, place = f"10.0.1.{rng.randrange(7)}", mac(rng.randrange(3))
        if rng.random() < 0.5:
            corrupt = rng.random() < 0.3
            await table.answers(server, place, corrupt=corrupt)
            if not corrupt:
                known[server] = place
                if len(known) > 4:
                    known.popitem(last=False)
        else:
            expected = (int(server in known), int(known.get(server) == place))
            assert await table.asks(server, place) == expected


@cocotb.test()
async def requests_and_group_addresses_teach_nothing(dut: Any) -> None:
    table = Table(dut)
    await table.start()
    assert await table.asks("10.0.1.1", mac(1)) == (0, 0)
    assert await table.asks("10.0.1.1", mac(1)) == (0, 0)
    await table.answers("10.0.1.1", b"\1" + mac(1)[1:])
    assert await table.asks("10.0.1.1", mac(1)) == (0, 0)
    await table.answers("10.0.1.1", mac(1))
    assert await table.asks("10.0.1.1", mac(1)) == (1, 1)
    assert await table.asks("10.0.1.1", mac(2)) == (1, 0)
