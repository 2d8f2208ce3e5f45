"""The API's list of designs for FPGAs, and the counters of those that run live."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import httpx
import pytest

from netkv.fpga import build, synth
from netkv.model import manifest
from tests.api.serving import Served
from tests.fpga.live_ends import Ends, running
from tests.waiting import PATIENCE_S, until

get = partial(httpx.get, timeout=PATIENCE_S)
put = partial(httpx.put, timeout=PATIENCE_S)


def meaning(url: str, register: str) -> str | None:
    """The name of the value of a register of a running design."""
    found = get(f"{url}/registers").json()["registers"]
    names: dict[str, str | None] = {each["name"]: each["meaning"] for each in found}
    return names[register]


def test_designs_are_listed_with_their_resources(served: Served) -> None:
    build.build(manifest.find("wire"))
    document = get(f"{served.url}/api/v1/designs").json()
    assert document["problem"] is None
    designs = {each["name"]: each for each in document["designs"]}
    assert designs.keys() == manifest.files().keys()
    wire = designs["wire"]
    assert wire["built"]
    assert wire["parameters"] == {"NETWORK_PORTS": 4, "BYTES": 32}
    assert wire["ports"] == ["nf0", "nf1", "nf2", "nf3", "host"]
    assert wire["resources"].keys() == {"lut", "ff", "bram"}


def test_design_has_registers_and_ports(served: Served) -> None:
    found = get(f"{served.url}/api/v1/designs/lake").json()
    about = manifest.find("lake")
    assert [each["name"] for each in found["registers"]] == [each.name for each in about.registers]
    assert [each["name"] for each in found["port_details"]] == found["ports"]
    assert "hits" in found["counters"]
    assert found["resource_details"]["lut"]["found"] is None
    assert found["resource_details"]["lut"]["expected"] == found["resources"]["lut"]
    assert found["synthesis"] is None
    missing = get(f"{served.url}/api/v1/designs/wier")
    assert missing.status_code == 404
    assert "Did you mean 'wire'?" in missing.json()["detail"]


def test_design_has_the_figures_of_its_synthesis(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = manifest.find("wire")
    expected = about.resources.lut
    assert expected is not None
    result = synth.Synthesis(
        design="wire",
        top=about.top,
        parameters=about.module_parameters,
        lut=round(expected.expected * 2),
        ff=3133,
        bram=0,
        latches=0,
        cells={"LUT6": 7},
        yosys="0.1",
        seconds=3.5,
    )

    def make(place: Path, *_: object) -> None:
        place.mkdir(parents=True)
        (place / synth.RESULT).write_text(json.dumps(result.to_json()))

    monkeypatch.setattr(synth, "_version", lambda: "0.1")
    monkeypatch.setattr(synth, "_make", make)
    synth.synthesise(about)
    found = get(f"{served.url}/api/v1/designs/wire").json()
    assert found["synthesis"] == {
        "yosys": "0.1",
        "seconds": 3.5,
        "latches": 0,
        "cells": {"LUT6": 7},
    }
    assert found["resource_details"]["lut"]["found"] == result.lut
    assert found["resource_details"]["lut"]["ok"] is False
    assert found["resource_details"]["ff"]["ok"] is True


def test_designs_are_listed_without_verilator(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERILATOR_ROOT", str(tmp_path / "nowhere"))
    document = get(f"{served.url}/api/v1/designs").json()
    assert "erilator" in document["problem"]
    assert [each["built"] for each in document["designs"]] == [False] * len(manifest.files())
    assert get(f"{served.url}/api/v1/runs").status_code == 200


def test_counters_of_a_running_design_are_sent(served: Served, tmp_path: Path) -> None:
    url = f"{served.url}/api/v1/running-designs"
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
            registers = get(f"{url}/mine/registers").json()
            assert registers["design"] == "wire"
            values = {each["name"]: each for each in registers["registers"]}
            assert values["mode"]["meaning"] == "host"
            found = get(f"{url}/mine").json()
            assert found["counters"]["frames.0"] == 1
            assert "mode" not in found["counters"]
            assert found["ports"]["host"]["tx_frames"] == 1
            written = put(f"{url}/mine/registers/scratch", json={"value": 9}).json()
            values = {each["name"]: each["value"] for each in written["registers"]}
            assert (values["scratch"], values["frames.0"]) == (9, 1)
            assert put(f"{url}/mine/registers/mode", json={"value": "pairs"}).status_code == 200
            until(lambda: meaning(f"{url}/mine", "mode") == "pairs", "the mode is another one")
            refused = put(f"{url}/mine/registers/seed", json={"value": 1})
            assert refused.status_code == 422
            assert "can only be read" in refused.json()["detail"]
            assert put(f"{url}/mine/registers/sed", json={"value": 1}).status_code == 404
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
