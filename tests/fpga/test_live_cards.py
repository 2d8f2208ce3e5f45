"""FPGA cards in live racks: schemes whose requests go through a design before each server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from netkv.client import AsyncClient
from netkv.errors import MisfitError, UsageError
from netkv.fpga.build import Library
from netkv.labs import daemon
from netkv.live.rack import LiveRack
from netkv.metrics.rises import CardRises
from netkv.model.spec import ClosedLoop, WorkloadSpec
from netkv.scenarios import loader
from netkv.schemes.spec import LabSpec, RackSpec
from tests.lab.racks import running, sampled, verify
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.live

SCENARIO = """\
name: cards
schemes: [memcached, lake]
lab: {servers: 2, server_processes: 2}
"""


def spec(scheme: str, **lab: Any) -> RackSpec:
    """A rack whose load is low: a design runs some hundred thousand cycles a second."""
    return RackSpec(
        scheme=scheme,
        lab=LabSpec(**{"servers": 2, "server_processes": 2, **lab}),
        workload=WorkloadSpec(
            keys=20, value_size=32, writes=0.1, arrivals=ClosedLoop(outstanding=2)
        ),
        deadline=20.0,
        retry=1.0,
    )


@pytest.mark.live
async def test_cards_of_a_live_rack_serve_and_restart(lake: Library, tmp_path: Path) -> None:
    assert lake.path.is_file()
    rack = LiveRack(spec("lake", packet_lifetime=0.02), tmp_path / "rack")
    async with running(rack):
        assert [name for name in rack.running if name.startswith("card")] == ["card-0", "card-1"]
        found = await sampled(rack, "the cards answer reads", lambda it: it.client.hits > 0)
        assert found.client.hits <= found.client.reads + 2
        card = rack.node("card-0")
        await card.stop()
        await sampled(rack, "requests wait for the card", lambda it: not it.client.completed)
        await card.start()
        again = await sampled(rack, "the cards answer reads", lambda it: it.client.hits > 0)
        assert again.client_statistics["linearizable"]
        assert (await rack.cards[0].counters(PATIENCE_S))["restarts"] == 1
        await rack.link("card-1").impair("to", {"loss": 0.0})
        with pytest.raises(UsageError, match="that of 'card-1' to the switch can"):
            await rack.link("servers-1").impair("to", {"loss": 0.1})
        assert (await verify(rack)).client_statistics["linearizable"]


@pytest.mark.live
@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("scheme", ["emu", "lake"])
def test_programs_use_a_lab_with_a_card(scheme: str) -> None:
    async def use() -> list[bytes | None]:
        async with await AsyncClient.connect("cards", timeout=PATIENCE_S) as rack:
            for number in range(30):
                await rack.put(f"key {number}", b"%d" % number)
            await rack.delete("key 3")
            return [await rack.get(f"key {number}") for number in range(30) for _ in range(2)]

    try:
        status = daemon.up("cards", spec(scheme, servers=1, server_processes=1, external_clients=1))
        assert status.nodes["card-0"]["running"]
        values = [None if number == 3 else b"%d" % number for number in range(30) for _ in range(2)]
        assert asyncio.run(use()) == values
    finally:
        daemon.down("cards")


@pytest.mark.parametrize(
    ("lab", "path", "text"),
    [
        ({"server_processes": 1}, "server_processes", "must be at least 'lab.servers', which is 2"),
        ({"fabric": "veth"}, "fabric", "needs 'lab.fabric: udp', not 'veth'"),
        ({"target": "bmv2"}, "target", "needs 'lab.target: engine', not 'bmv2'"),
    ],
)
def test_live_lab_without_place_for_cards_is_refused(
    lab: dict[str, Any], path: str, text: str, tmp_path: Path
) -> None:
    with pytest.raises(MisfitError, match=text) as refused:
        LiveRack(spec("lake", **lab), tmp_path / "rack")
    assert refused.value.path == ("lab", path)
    with pytest.raises(MisfitError, match=text):
        daemon.up("refused", spec("lake", **lab))


def test_live_scenario_without_place_for_cards_is_refused() -> None:
    one = ["lab.server_processes=1"]
    with pytest.raises(UsageError, match=r"--set lab.server_processes=1: .* which is 2"):
        loader.loads(SCENARIO, "cards.yaml", one, to_run=True)
    assert loader.loads(SCENARIO, "cards.yaml", [*one, "mode=sim"], to_run=True)


def test_cards_are_counted_across_restarts_and_silence() -> None:
    cards = CardRises()
    assert cards.take([{"hits": 5, "restarts": 0}, {}]) == {"hits": 5}
    assert cards.take([{}, {"hits": 2, "misses": 3, "restarts": 0}]) == {"hits": 2, "misses": 3}
    found = cards.take([{"hits": 8, "restarts": 0}, {"hits": 1, "misses": 0, "restarts": 1}])
    assert found == {"hits": 4, "misses": 0}
    assert cards.take([{"hits": 3, "restarts": 0}, {}])["hits"] == 2**32 - 5, "it wrapped"


@pytest.mark.live
@pytest.mark.usefixtures("home")
async def test_card_in_the_client_of_a_live_rack_serves_and_restarts(tmp_path: Path) -> None:
    load = spec("client-cache", clients=1, packet_lifetime=0.05)
    rack = LiveRack(load, tmp_path / "rack")
    async with running(rack):
        assert [name for name in rack.running if "card" in name] == ["client-card-0"]
        found = await sampled(rack, "the card answers reads", lambda it: it.client.hits > 0)
        assert found.cards["hits.0"] == found.client.hits
        card = rack.node("client-card-0")
        await card.stop()
        await sampled(rack, "requests wait for the card", lambda it: not it.client.completed)
        await card.start()
        again = await sampled(rack, "the card answers reads", lambda it: it.client.hits > 0)
        assert again.client_statistics["linearizable"]
        await rack.link("client-card-0").impair("to", {"loss": 0.0})
        with pytest.raises(UsageError, match="that of 'client-card-0' to the switch can"):
            await rack.link("client").impair("to", {"loss": 0.1})
        assert (await verify(rack)).client_statistics["linearizable"]
