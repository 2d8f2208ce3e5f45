"""The save file of a controller outlives the controller and the switch, but not the rack."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv.errors import UsageError
from netkv.live.rack import LiveRack
from netkv.model.report import RackEvent
from netkv.schemes import registry
from tests.lab.keeper import Keeper, keeper_scheme
from tests.lab.racks import load, running, spec, verify
from tests.waiting import until_async


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Keeper]:
    """The control planes of the scheme `keeper`, in the order of their starts."""
    found: list[Keeper] = []
    monkeypatch.setitem(registry.catalogue().schemes, "keeper", keeper_scheme(found))
    return found


async def test_save_is_found_by_controllers_of_the_same_rack_only(
    made: list[Keeper], tmp_path: Path
) -> None:
    async with running(LiveRack(spec("keeper"), tmp_path / "rack")) as rack:
        assert made[0].found is None
        assert made[0].statistics()["writes_refused"] == 0, "entry modified, clone session made"
        await rack.node("switch").kill()
        await rack.node("switch").start()
        await until_async(lambda: bool(recovered(rack)), "the switch has recovered")
        (event,) = recovered(rack)
        assert event.node == "switch"
        assert event.recovered is not None
        assert [name for name, _ in event.recovered.phases] == ["collect", "restore"]
        assert event.recovered.counts == {"records": 2}
        assert event.text.startswith("recovered in ")
        await rack.node("controller").kill()
        with pytest.raises(UsageError, match="live controller cannot be killed after 3"):
            rack.controller.kill_after(3)
        await rack.node("controller").start()
        await until_async(lambda: len(made) == 2 and made[1].ready(), "a new controller is ready")
        assert made[1].found == b"2"
        await load(rack, 0.3)
        await verify(rack)
    async with running(LiveRack(spec("keeper"), tmp_path / "rack")):
        assert made[2].found is None


def recovered(rack: LiveRack) -> list[RackEvent]:
    return [event for event in rack.events if event.kind == "recovered"]
