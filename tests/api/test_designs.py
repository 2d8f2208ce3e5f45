"""The API's list of designs for FPGAs, and the counters of those that run live."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import httpx
import pytest

from netkv.fpga import build, manifest
from tests.api.serving import Served
from tests.fpga.bench import CACHE
from tests.fpga.live_ends import Ends, running
from tests.waiting import PATIENCE_S, until

get = partial(httpx.get, timeout=PATIENCE_S)


@pytest.fixture
def cached(served: Served, tmp_path: Path) -> Served:
    """The server, with the builds of earlier tests."""
    CACHE.mkdir(parents=True, exist_ok=True)
    (tmp_path / "cache").symlink_to(CACHE)
    return served


def test_designs_are_listed_with_their_resources(cached: Served) -> None:
    build.build(manifest.find("wire"))
    document = get(f"{cached.url}/api/v1/designs").json()
    assert document["problem"] is None
    designs = {each["name"]: each for each in document["designs"]}
    assert designs.keys() == manifest.files().keys()
    wire = designs["wire"]
    assert wire["built"]
    assert wire["parameters"] == {"NETWORK_PORTS": 4, "BYTES": 32}
    assert wire["ports"] == ["nf0", "nf1", "nf2", "nf3", "host"]
    assert wire["resources"].keys() == {"lut", "ff", "bram"}


def test_designs_are_listed_without_verilator(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERILATOR_ROOT", str(tmp_path / "nowhere"))
    document = get(f"{served.url}/api/v1/designs").json()
    assert "erilator" in document["problem"]
    assert [each["built"] for each in document["designs"]] == [False] * len(manifest.files())
    assert get(f"{served.url}/api/v1/runs").status_code == 200


def test_counters_of_a_running_design_are_sent(cached: Served, tmp_path: Path) -> None:
    url = f"{cached.url}/api/v1/running-designs"
    assert get(url).json() == []
    ends = Ends()
    try:
        ports = [
            f"--port={name}=udp:{','.join(ends.plug(at))}"
            for at, name in enumerate(("nf0", "host"))
        ]
        with running(
            tmp_path, tmp_path / "log", "wire", "--name=mine", "--write=mode=host", *ports
        ):
            assert get(url).json() == [
                {
                    "name": "mine",
                    "design": "wire",
                    "clock_mhz": 200,
                    "parameters": {"NETWORK_PORTS": 4, "BYTES": 32},
                }
            ]
            ends.send(0, bytes(80))
            assert ends.receive(1) == bytes(80)
            until(lambda: get(f"{url}/mine").json()["node"]["sent"], "the frame is counted")
            found = get(f"{url}/mine").json()
            assert found["counters"]["frames.0"] == 1
            assert "mode" not in found["counters"]
            assert found["ports"]["host"]["tx_frames"] == 1
        assert get(url).json() == []
        gone = get(f"{url}/mine")
        assert gone.status_code == 404
        assert gone.json()["detail"].startswith("No design with the name 'mine' runs.")
    finally:
        ends.close()


def test_design_that_was_killed_is_not_listed(served: Served, tmp_path: Path) -> None:
    place = tmp_path / "fpga" / "dead"
    place.mkdir(parents=True)
    (place / "control").touch()
    assert get(f"{served.url}/api/v1/running-designs").json() == []
    assert get(f"{served.url}/api/v1/running-designs/dead").status_code == 404
