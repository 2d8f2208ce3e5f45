"""The overview of the scenarios is kept, and is never older than what it depends on."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from netkv import library_cache, resources
from netkv.machine import host
from netkv.runs import Store, StoreSink, overview, walltime
from netkv.runs.overview import Overview
from netkv.scenarios import loader, sources
from netkv.scenarios.results import Provenance
from netkv.scenarios.run_plan import plan
from netkv.scenarios.sources import Source
from netkv.sim import speed
from tests.runs.recorded_runs import record, start


class Planned(list[str]):
    """The names of the scenarios that were read and planned."""

    def listed(self) -> dict[str, Overview]:
        """The overview by name; what is read for it is in this list afterwards."""
        self.clear()
        return {each.name: each for each in overview.shipped()}


@pytest.fixture
def planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Planned:
    """Two scenarios ship, and the state directory is empty."""
    monkeypatch.setenv("NETKV_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("NETKV_STORE", raising=False)
    monkeypatch.delenv(library_cache.FOLDER)
    monkeypatch.setattr(speed, "requests_per_core_s", lambda: 200_000.0)
    folder = tmp_path / "scenarios"
    folder.mkdir()
    for name in ("quickstart", "netcache-skew"):
        shutil.copy(loader.find(name), folder)
    monkeypatch.setattr(
        resources,
        "scenario_files",
        lambda: {each.stem: each for each in sorted(folder.glob("*.yaml"))},
    )
    found = Planned()
    read = sources.read

    def counted(file: Path) -> Source:
        found.append(file.stem)
        return read(file)

    monkeypatch.setattr(sources, "read", counted)
    return found


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_overview_is_read_once_and_is_the_same_afterwards(planned: Planned) -> None:
    first = planned.listed()
    assert planned == ["netcache-skew", "quickstart"]
    scenario = loader.load(loader.find("quickstart"))
    takes = walltime.of_scenario(scenario, walltime.History(()))
    assert first["quickstart"] == overview.of_scenario(scenario, takes)
    assert planned.listed() == first
    assert planned == []


def test_changed_scenario_is_read_again_and_no_other(planned: Planned, tmp_path: Path) -> None:
    before = planned.listed()["quickstart"]
    edit(tmp_path / "scenarios" / "quickstart.yaml", before.title, "Another title")
    assert planned.listed()["quickstart"].title == "Another title"
    assert planned == ["quickstart"]


def test_changed_base_makes_what_extends_it_be_read_again(planned: Planned, tmp_path: Path) -> None:
    folder = tmp_path / "scenarios"
    (folder / "more.yaml").write_text("extends: quickstart\nname: more\n")
    before = planned.listed()
    assert before["more"].title == before["quickstart"].title
    edit(folder / "quickstart.yaml", before["quickstart"].title, "Another title")
    assert planned.listed()["more"].title == "Another title"
    assert planned == ["more", "quickstart"]


def test_change_that_keeps_the_size_is_seen(planned: Planned, tmp_path: Path) -> None:
    file = tmp_path / "scenarios" / "quickstart.yaml"
    before = planned.listed()["quickstart"]
    edit(file, before.title, before.title.swapcase())
    assert planned.listed()["quickstart"].title == before.title.swapcase()


def test_added_and_removed_scenarios_are_seen(planned: Planned, tmp_path: Path) -> None:
    planned.listed()
    file = tmp_path / "scenarios" / "quickstart.yaml"
    file.rename(tmp_path / "quickstart.yaml")
    assert planned.listed().keys() == {"netcache-skew"}
    shutil.copy(tmp_path / "quickstart.yaml", file)
    assert planned.listed().keys() == {"netcache-skew", "quickstart"}


def test_stored_run_makes_the_time_of_its_scenario_measured(planned: Planned) -> None:
    assert planned.listed()["quickstart"].wall_seconds_source == "estimated"
    origin = Provenance(
        netkv_version="0", source_revision="", program="", program_hash="", host=host()
    )
    with Store() as store, StoreSink(store) as sink:
        for at, item in enumerate(plan(loader.load(loader.find("quickstart")))):
            parameters = item.scenario.model_dump(mode="json")
            fields = {"scenario": "quickstart", "provenance": origin, "parameters": parameters}
            record(sink, start(f"r{at}", item.scheme, warmup=0.0, duration=40, **fields))
    measured = planned.listed()["quickstart"]
    assert (measured.wall_seconds, measured.wall_seconds_source) == (80, "measured")
    assert planned == ["quickstart"]
    with Store() as store:
        store.delete(["r0", "r1"])
    assert planned.listed()["quickstart"].wall_seconds_source == "estimated"


def test_changed_code_makes_everything_be_read_again(
    planned: Planned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("changes")
    file = tmp_path / "changes.py"
    file.write_text("")
    os.utime(file, (1, 1))
    module.__file__ = str(file)
    monkeypatch.setitem(sys.modules, "changes", module)
    planned.listed()
    planned.listed()
    assert planned == []
    os.utime(file, (2, 2))
    planned.listed()
    assert len(planned) == 2
    # Nothing is known of the time between its import and its change.
    os.utime(file)
    planned.listed()
    planned.listed()
    assert len(planned) == 2


def test_installed_package_makes_everything_be_read_again(
    planned: Planned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package may bring a scheme, and with it options that scenarios may use."""
    monkeypatch.syspath_prepend(str(tmp_path))
    planned.listed()
    package = tmp_path / "package-1.0.dist-info"
    package.mkdir()
    (package / "entry_points.txt").write_text("[netkv.schemes]\nmine = package:SCHEME\n")
    planned.listed()
    assert len(planned) == 2


def test_measured_speed_makes_everything_be_read_again(planned: Planned, tmp_path: Path) -> None:
    planned.listed()
    (tmp_path / "home" / speed.path().name).write_text("{}")
    planned.listed()
    assert len(planned) == 2


def test_design_that_is_built_makes_everything_be_read_again(planned: Planned) -> None:
    planned.listed()
    library = library_cache.folder() / "hash" / library_cache.LIBRARY
    library.parent.mkdir(parents=True)
    library.touch()
    planned.listed()
    assert len(planned) == 2
    planned.listed()
    assert planned == []
    library.unlink()
    planned.listed()
    assert len(planned) == 2


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"modules": 1}', '{"basis": "", "modules": []}'])
def test_damaged_file_is_replaced(planned: Planned, text: str) -> None:
    first = planned.listed()
    overview.path().write_text(text)
    assert planned.listed() == first
    assert planned.listed() == first
    assert planned == []


def test_nothing_is_kept_where_the_directory_cannot_be_written(
    planned: Planned, tmp_path: Path
) -> None:
    (tmp_path / "home").write_text("a file")
    first = planned.listed()
    assert planned.listed() == first
    assert len(planned) == 2


def test_unreadable_store_leaves_estimates(planned: Planned, tmp_path: Path) -> None:
    planned.listed()
    (tmp_path / "home" / "runs.db").write_text("no database")
    assert planned.listed()["quickstart"].wall_seconds_source == "estimated"
