"""Schemes are found by entry points; a broken one is reported and does not affect others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from netkv import schemes
from netkv.errors import UsageError
from netkv.schemes import registry
from tests.schemes import foreign
from tests.schemes.foreign import source

OWN = [
    *("nocache", "netcache", "farreach", "distnocache", "distcache", "distreach", "netmc", "climc"),
    *("coordimc", "memcached", "emu", "lake", "client-nic", "client-cache"),
]


EPOCH = "epoch: Annotated[float, Field(gt=0, le=3600), SECONDS] = 1.0"
LAYERS = """
from dataclasses import replace
from netkv.model.hardware import TopologySpec
from netkv.schemes.scheme import Limits
SCHEME = replace(SCHEME, limits=Limits(one_switch=True), topology=TopologySpec(kind="spine-leaf"))
"""
"""Makes the scheme of a module one for one switch, but with layers of switches."""
NO_SERVERS = """
from dataclasses import replace
SCHEME = replace(SCHEME, hosts=SCHEME.hosts[:1])
"""


class Packages:
    """Packages with schemes, as if they were installed."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        monkeypatch.syspath_prepend(str(folder))

    def install(self, package: str, text: str, scheme: str = "probing") -> None:
        """Install a package with this source and an entry point for this scheme."""
        foreign.install(self._folder, package, text, scheme)

    def load(self) -> registry.Catalogue:
        """The current content of the registry."""
        return registry.load(registry.entry_points())


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Packages]:
    before = set(sys.modules)
    yield Packages(tmp_path, monkeypatch)
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_own_schemes_are_found_in_the_order_of_figures() -> None:
    assert [each.name for each in schemes.all_schemes()] == OWN
    assert set(registry.catalogue().packages.values()) == {"netkv"}
    assert not registry.catalogue().problems


def test_own_schemes_are_declared_as_entry_points() -> None:
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    declared = project["project"]["entry-points"][registry.GROUP]
    assert declared == {name: f"netkv.schemes.{name.replace('-', '_')}:SCHEME" for name in OWN}


def test_own_schemes_are_found_without_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "entry_points", lambda **_: metadata.EntryPoints(()))
    assert list(registry.load(registry.entry_points()).schemes) == OWN


def test_a_scheme_of_another_package_is_found(packages: Packages) -> None:
    packages.install("netkv_probing", source())
    found = packages.load()
    assert list(found.schemes) == [*OWN, "probing"]
    assert found.packages["probing"] == "netkv_probing"
    assert found.schemes["probing"].has_option("probe_period")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import not_there", "ModuleNotFoundError: No module named 'not_there'"),
        ("SCHEME = 1", "'netkv_broken:SCHEME' is of type int, not Scheme"),
        ("", "AttributeError"),
        (source(name="other"), "its own name is 'other'"),
        (source(option="epoch: float = 2.0", base="SwitchCache"), "in another way"),
        # The same type and default, with another docstring.
        (source(option=EPOCH, base="SwitchCache"), "in another way"),
        (source(option="servers: int = 2"), "'lab.servers' is an option of every lab"),
        (source() + NO_SERVERS, "its hosts have no Servers"),
        (source() + LAYERS, "it supports one switch only, but its topology is spine-leaf"),
    ],
)
def test_error_of_a_broken_scheme_names_its_package(
    packages: Packages, text: str, reason: str
) -> None:
    packages.install("netkv_broken", text)
    found = packages.load()
    assert list(found.schemes) == OWN
    assert found.problems["probing"].startswith(
        "The scheme 'probing' of the package 'netkv_broken' cannot be used: "
    )
    assert reason in found.problems["probing"]


def test_package_cannot_replace_a_scheme_of_netkv(packages: Packages) -> None:
    packages.install("netkv_other", source(name="netcache"), scheme="netcache")
    found = packages.load()
    assert found.packages["netcache"] == "netkv"
    assert "a scheme of that name comes from 'netkv'" in found.problems["netcache"]


def test_a_scheme_that_does_not_load_is_refused_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(registry.catalogue().problems, "lost", "The scheme 'lost' is broken.")
    with pytest.raises(UsageError, match=r"The scheme 'lost' is broken\."):
        schemes.get("lost")
    with pytest.raises(UsageError, match="Did you mean 'netcache'"):
        schemes.get("netcach")


def test_listing_schemes_imports_no_control_plane() -> None:
    """Listing schemes does not import the engine, which is slow to load."""
    listing = (
        "import sys; from netkv import schemes; schemes.all_schemes(); "
        "print(*[name for name in sys.modules if 'control' in name or '_engine' in name])"
    )
    done = subprocess.run(
        [sys.executable, "-c", listing], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == []
