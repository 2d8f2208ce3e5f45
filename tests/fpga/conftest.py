"""What the tests of designs share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from netkv.fpga import build
from netkv.fpga.build import Library
from netkv.model import manifest
from tests.fpga.live_ends import Ends

RTL = Path(__file__).parent / "rtl"
PORTS = """
[[ports]]
name = "net"
kind = "network"
[[ports]]
name = "host"
kind = "host"
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state directory of its own."""
    place = tmp_path / "home"
    place.mkdir()
    monkeypatch.setenv("NETKV_HOME", str(place))
    return place


def write_manifest(folder: Path, name: str, top: str, rtl: str = str(RTL)) -> Path:
    """The manifest of a design with two ports, whose module is in the folder `rtl`."""
    file = folder / f"{name}.toml"
    file.write_text(
        f'name = "{name}"\ntitle = "A test"\ntop = "{top}"\nclock_mhz = 100\nrtl = ["{rtl}"]\n'
        f"{PORTS}",
        encoding="utf-8",
    )
    return file


@pytest.fixture
def wire(home: Path) -> Library:
    """The example design."""
    assert home.is_dir()
    return build.build(manifest.find("wire"))


@pytest.fixture
def lake(home: Path) -> Library:
    """LaKe with its memories."""
    assert home.is_dir()
    return build.build(manifest.find("lake"))


@pytest.fixture
def ends() -> Iterator[Ends]:
    """Two sockets for ports of a live design."""
    made = Ends()
    yield made
    made.close()


@pytest.fixture
def faulty(home: Path, tmp_path: Path) -> Library:
    """A design that fails when it is told to."""
    assert home.is_dir()
    return build.build(manifest.load(write_manifest(tmp_path, "faulty", "faulty_top")))
