"""`netkv scheme list|show|files`: the schemes, their options and files."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from netkv import resources, schemes
from netkv.cli import main
from netkv.schemes import registry
from tests.cli.commands import CommandResult, Netkv

NAMES = [each.name for each in schemes.all_schemes()]


@pytest.fixture
def netkv(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Netkv]:
    """Runs the command in this process, where a test can change the registry."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}

    def run(*arguments: str, **environment: str) -> CommandResult:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        status = main(arguments)
        return CommandResult(status, *capsys.readouterr())

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_list_has_every_scheme_with_title_summary_and_paper(netkv: Netkv) -> None:
    result = netkv("scheme", "list", COLUMNS="300")
    assert result.status == 0
    listed = [line for line in result.out.splitlines() if line.split()[:1]]
    for each in schemes.all_schemes():
        (line,) = (line for line in listed if line.split()[0] == each.name)
        assert each.about.title in line
        assert each.about.summary in line
        assert each.about.paper in line


def test_list_prints_one_json_document(netkv: Netkv) -> None:
    document = netkv("scheme", "list", "--json").document
    assert [each["name"] for each in document["schemes"]] == NAMES
    assert {each["package"] for each in document["schemes"]} == {"netkv"}
    assert document["problems"] == []


def test_list_names_schemes_that_cannot_be_used(
    netkv: Netkv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry.catalogue().problems, "lost", "The scheme 'lost' is broken.")
    result = netkv("scheme", "list")
    assert result.status == 0
    assert result.err == "The scheme 'lost' is broken.\n"
    document = netkv("scheme", "list", "--json").document
    assert document["problems"] == ["The scheme 'lost' is broken."]


@pytest.mark.parametrize("name", NAMES)
def test_show_has_every_option_with_default_and_unit(netkv: Netkv, name: str) -> None:
    scheme = schemes.get(name)
    document = netkv("scheme", "show", name, "--json").document
    assert document["program"] == scheme.programs.main
    assert document["paper"] == scheme.about.paper
    options = {each["option"]: each for each in document["options"]}
    assert list(options) == [f"lab.{each}" for each in scheme.options.model_fields]
    result = netkv("scheme", "show", name, COLUMNS="300")
    assert result.status == 0
    for option in options:
        assert option in result.out


def test_show_has_the_default_of_the_scheme(netkv: Netkv) -> None:
    for name, rate in (("netcache", 1.0), ("farreach", 0.5)):
        document = netkv("scheme", "show", name, "--json").document
        options = {each["option"]: each for each in document["options"]}
        assert options["lab.sample_rate"]["default"] == rate
        assert options["lab.epoch"]["unit"] == "s"


@pytest.mark.parametrize(
    ("name", "shown", "kind"),
    [
        ("nocache", "one or several; default: one switch", "rack"),
        ("farreach", "one", "rack"),
        ("distnocache", "one or several; default: 2 layers of 2 switches", "spine-leaf"),
    ],
)
def test_show_has_the_switches_of_the_scheme(
    netkv: Netkv, name: str, shown: str, kind: str
) -> None:
    assert netkv("scheme", "show", name, "--json").document["topology"]["kind"] == kind
    lines = [line.split(maxsplit=1) for line in netkv("scheme", "show", name).out.splitlines()]
    assert [it[1].rstrip() for it in lines if it[:1] == ["switches"]] == [shown]


def test_show_of_an_unknown_scheme_suggests_a_name(netkv: Netkv) -> None:
    result = netkv("scheme", "show", "netcash")
    assert result.status == 2
    assert "There is no scheme 'netcash'." in result.err
    assert "Did you mean 'netcache'?" in result.err


@pytest.mark.parametrize("name", NAMES)
def test_files_of_a_scheme_exist_and_begin_with_its_declaration(netkv: Netkv, name: str) -> None:
    document = netkv("scheme", "files", name, "--json").document
    paths = [Path(each["path"]) for each in document["places"]]
    assert all(path.exists() for path in paths)
    assert paths[0] == resources.package() / "schemes" / name.replace("-", "_")
    assert any(path.parent.name == "p4" for path in paths)
    assert any(path.match("docs/schemes/*.md") for path in paths), "docs/README.md has its row"


WRITE_THROUGH = {
    "netkv/kits/write_through",
    *("p4/common", "p4/write_through"),
    *("engine/roles/src/kits/write_through", "engine/roles/src/kits/single_key"),
}


@pytest.mark.parametrize(
    ("name", "used"),
    [
        ("netcache", WRITE_THROUGH),
        ("distcache", {*WRITE_THROUGH, "netkv/kits/cases"}),
        ("farreach", {"netkv/kits/write_back", "p4/write_back"}),
        ("climc", {"netkv/kits/multiget", "engine/roles/src/kits/multiget"}),
        ("client-nic", {"netkv/kits/client_cards.py", "fpga/designs/virtio-nic.toml"}),
    ],
)
def test_files_of_a_scheme_have_the_kits_that_it_uses(
    netkv: Netkv, name: str, used: set[str]
) -> None:
    places = netkv("scheme", "files", name, "--json").document["places"]
    root = resources.checkout()
    assert root is not None
    shared = {str(Path(it["path"]).relative_to(root)) for it in places if it["shared"]}
    assert used <= shared
    assert len(places) == len({it["path"] for it in places}), "each is listed once"


def test_files_of_a_scheme_without_cards_have_no_rtl(netkv: Netkv) -> None:
    """Although the folder `fpga/rtl/memcached` has its name."""
    places = netkv("scheme", "files", "memcached", "--json").document["places"]
    assert not [it for it in places if "fpga" in Path(it["path"]).parts]


def test_files_of_a_scheme_are_all_that_has_its_name(netkv: Netkv) -> None:
    document = netkv("scheme", "files", "distreach", "--json").document
    root = resources.checkout()
    assert root is not None
    own = {
        str(Path(each["path"]).relative_to(root))
        for each in document["places"]
        if not each["shared"]
    }
    assert {
        *("netkv/schemes/distreach", "p4/distreach", "engine/roles/src/distreach"),
        "tests/schemes/distreach",
        *("docs/schemes/distreach.md", "docs/schemes/distreach-evaluation.md"),
        "scenarios/distreach",
    } <= own
    shown = netkv("scheme", "files", "distreach", COLUMNS="300").out
    assert "p4/forwarding/" in shown
    assert "(shared)" in shown
