"""`netkv fpga`: its documents, texts and exit statuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from netkv.cli import main
from netkv.fpga.build import Library
from tests.fpga.conftest import write_manifest

FRAMES = """\
# port, frame
0 ffffffffffff0a0000000001 0800 00010203
1 ffffffffffff0a0000000002 0800 04050607
"""


class Fpga:
    """Runs `netkv fpga` in this process."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd
        self.err = ""

    def __call__(self, *arguments: str | Path, status: int = 0) -> str:
        self._capfd.readouterr()
        assert main(["fpga", *map(str, arguments)]) == status
        out, self.err = self._capfd.readouterr()
        return out

    def document(self, *arguments: str | Path, status: int = 0) -> Any:
        """The document of `--json`."""
        return json.loads(self(*arguments, "--json", status=status))


@pytest.fixture
def fpga(wire: Library, capfd: pytest.CaptureFixture[str]) -> Fpga:
    assert wire.path.is_file()
    return Fpga(capfd)


@pytest.fixture
def frames(tmp_path: Path) -> Path:
    file = tmp_path / "frames.txt"
    file.write_text(FRAMES)
    return file


def test_list_names_the_designs(fpga: Fpga) -> None:
    found = {each["name"]: each for each in fpga.document("list")["designs"]}
    assert found["wire"] == {
        "name": "wire",
        "title": "Wires between ports",
        "top": "wire_top",
        "clock_mhz": 200,
        "ports": 5,
        "built": True,
    }
    assert "Wires between ports" in fpga("list")


def test_list_works_without_a_compiler(
    fpga: Fpga, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    document = fpga.document("list")
    assert document["designs"]
    assert "A C++ compiler is missing" in document["problem"]
    fpga("build", "wire", status=1)
    assert fpga.err.startswith("error: A C++ compiler is missing")
    fpga("info", "wire")


def test_info_shows_what_the_manifest_says(fpga: Fpga) -> None:
    document = fpga.document("info", "wire", "--set", "clock_mhz=250")
    assert document["clock_mhz"] == 250
    assert document["parameters"] == {"NETWORK_PORTS": 4, "BYTES": 32}
    assert [port["name"] for port in document["ports"]] == ["nf0", "nf1", "nf2", "nf3", "host"]
    text = fpga("info", "wire")
    assert "frames.0-4" in text
    assert "10 Gbit/s" in text


def test_build_prints_the_library(fpga: Fpga, wire: Library) -> None:
    assert fpga.document("build", "wire") == {
        "design": "wire",
        "library": str(wire.path),
        "trace": False,
        "cached": True,
        "seconds": wire.seconds,
    }
    assert fpga("build", "wire") == f"{wire.path}\n"


def test_run_of_a_file_shows_frames_and_cycles(fpga: Fpga, frames: Path) -> None:
    words = ("run", "wire", "--frames", frames, "--write", "mode=pairs", "--every", "100")
    document = fpga.document(*words, "--no-line-rate")
    first, second = document["sent"]
    assert (first["port"], second["port"]) == ("nf1", "nf0")
    assert first["frame"] == "ffffffffffff0a0000000001080000010203"
    # The first frame waits a cycle for the new mode, the second one does not.
    assert (first["first_cycle"], second["first_cycle"]) == (3, 102)
    assert first["wire_cycle"] == first["cycle"]
    assert document["counters"]["nf0"]["rx_frames"] == 1
    assert document["registers"]["mode"] == 1
    assert document["microseconds"] == document["cycles"] / 200
    with_rate = fpga.document(*words)["sent"][0]
    assert with_rate["wire_cycle"] - with_rate["cycle"] == 12
    text = fpga(*words)
    assert "ffffffffffff0a0000000001080000010203" in text


def test_runs_are_repeatable(fpga: Fpga, frames: Path) -> None:
    words = ("run", "wire", "--frames", frames, "--seed", "5")
    assert fpga.document(*words) == fpga.document(*words)


def test_wave_writes_a_file(fpga: Fpga, frames: Path, tmp_path: Path) -> None:
    out = tmp_path / "waves.fst"
    document = fpga.document("wave", "wire", frames, "--out", out)
    assert len(document["sent"]) == 2
    assert out.stat().st_size > 500


def test_registers_are_listed(fpga: Fpga) -> None:
    found = fpga.document("registers", "wire")["registers"]
    assert found[0]["values"] == {"loopback": 0, "pairs": 1, "host": 2}
    assert "How ports are wired." in fpga("registers", "wire")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["info", "wires"], "There is no design 'wires'. Did you mean 'wire'?"),
        (["build", "wire", "--set", "PES=3"], "'wire' has no parameter 'PES'."),
        (["run", "wire"], "Say what the design gets: --frames FILE, or --live and --port."),
        (["run", "wire", "--live"], "A live design needs a port, given as --port."),
        (["run", "wire", "--live", "--port", "nf9=x"], "'wire' has no port 'nf9'. Did you mean"),
        (["run", "wire", "--live", "--port", "nf0"], "'--port nf0' is no port of a design."),
        (["run", "wire", "--live", "--port", "nf0=tap:"], "names no device"),
        (["run", "wire", "--live", "--port", "nf0=udp:x"], "is not a UDP port of a switch"),
        (
            ["run", "wire", "--live", "--port", "nf0=a", "--port", "0=b"],
            "Port nf0 is given twice.",
        ),
        (["run", "wire", "--frames", "none.txt"], "none.txt cannot be read"),
        (["run", "wire", "--frames", "x", "--write", "mod=1"], "no register 'mod'. Did you mean"),
        (["run", "wire", "--frames", "x", "--write", "seed=1"], "'seed' of 'wire' can only be"),
        (["run", "wire", "--frames", "x", "--write", "mode=up"], "or one of loopback, pairs"),
        (["run", "wire", "--frames", "x", "--write", "mode"], "it looks like mode=1"),
        (["registers", "wire", "--live"], "No design with the name 'wire' runs. Start it:"),
    ],
)
def test_wrong_usage_is_explained(fpga: Fpga, words: list[str], text: str) -> None:
    assert fpga(*words, status=2) == ""
    assert text in " ".join(fpga.err.split())


def test_frame_for_a_missing_port_is_explained(fpga: Fpga, tmp_path: Path) -> None:
    file = tmp_path / "frames.txt"
    file.write_text("7 ffffffffffff0a000000000108000000\n")
    fpga("run", "wire", "--frames", file, status=2)
    assert "Frame 1 arrives at port 7; 'wire' has the ports 0 to 4." in fpga.err
    file.write_text("1 ffff\n")
    fpga("run", "wire", "--frames", file, status=2)
    assert "Frame 1: A frame of 2 bytes is not possible" in fpga.err


def test_manifest_may_be_a_file(fpga: Fpga, tmp_path: Path) -> None:
    file = write_manifest(tmp_path, "mine", "faulty_top")
    assert fpga.document("info", file)["top"] == "faulty_top"
    wrong = write_manifest(tmp_path, "other", "no_top")
    fpga("info", wrong, status=2)
    assert "'top': there is no module 'no_top'" in fpga.err


@pytest.mark.slow
@pytest.mark.parametrize("design", ["wire", "emu"])
def test_synthesis_is_within_its_band(fpga: Fpga, design: str) -> None:
    document = fpga.document("synth", design)
    assert document["latches"] == 0
    assert all(each["ok"] for each in document["resources"].values())
    assert document["resources"]["ff"]["found"] == document["ff"] > 1000
    assert "ok" in fpga("synth", design)
