"""Manifests of designs: what ships is right, and errors name file and field."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv import rtl_sources as sources
from netkv.errors import UsageError
from netkv.model import manifest
from tests.fpga.conftest import RTL, write_manifest

GOOD = (sources.folder() / "designs" / "wire.toml").read_text(encoding="utf-8")


SECOND_HOST = '\n[[ports]]\nname = "second"\nkind = "host"'
FUNCTIONS = "".join(f'\n[[ports]]\nname = "f{at}"\nkind = "virtio"' for at in range(8))


@pytest.mark.parametrize("name", manifest.files())
def test_manifest_that_ships_is_right(name: str) -> None:
    found = manifest.find(name)
    assert found.name == name
    assert (found.ports[-1].kind == "virtio") == (found.functions > 0)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("clock_mhz = 200", "", "'clock_mhz' is missing."),
        ("clock_mhz = 200", "clock_mhz = 0", "'clock_mhz' is 0; it should be greater than 0."),
        ("clock_mhz", "clock_mhzz", "'clock_mhzz' is not a field. Did you mean 'clock_mhz'?"),
        ("word_bytes = 32", "word_bytes = 30", "'word_bytes' is 30; it should be a multiple of 8."),
        ('name = "nf1"', 'name = "nf0"', "'ports.1.name': 'nf0' is there twice."),
        ('kind = "host"', 'kind = "network"', "'ports': it has network ports, and after them"),
        ('kind = "network"', 'kind = "host"', "'ports': it has network ports, and after them"),
        ('kind = "host"', f'kind = "host"{SECOND_HOST}', "'ports.5.kind': it has one host port."),
        ('kind = "host"', f'kind = "virtio"{SECOND_HOST}', "'ports': it has network ports, and"),
        ('kind = "host"', f'kind = "virtio"{FUNCTIONS}', "'ports.12': it has at most 8 virtio"),
        (
            'kind = "host"',
            'kind = "virtio"\nrate_gbps = 1',
            "'ports.4.rate_gbps': a virtio function",
        ),
        ("[resources]", "[parameters]\nFUNCTIONS = 1\n[resources]", "it follows from 'ports' and"),
        ("[resources]", "[bus]\nread_ms = 1\n[resources]", "'bus.read_ms' is not a field."),
        ("rate_gbps", "rate", "'ports.0.rate' is not a field. Did you mean 'rate_gbps'?"),
        ("0x0080", "0x0042", "'registers.4.address' is 66; it should be a multiple of 4."),
        ("0x0080", "0x0050", "words.0 has the address 0x0050 of frames.4."),
        ("count = 5", "count = 16384", "the last register has an address above 0xffff."),
        ('name = "seed"', 'name = "mode"', "'registers.1.name': 'mode' is there twice."),
        ('access = "rw"', 'access = "w"', "'registers.0.access' is 'w'; it should be 'ro', 'rw'"),
        ('top = "wire_top"', 'top = "wire-top"', "'top' is 'wire-top'; it should match pattern"),
        ('top = "wire_top"', 'top = "wired"', "'top': there is no module 'wired' in"),
        ("[resources]", "[parameters]\nBYTES = 3\n[resources]", "it follows from 'ports' and"),
        ("[resources]", 'rtl = ["x"]\n[resources]', "is not a field"),
        ("[resources]", '[ready]\nstatus = "up"\n[resources]', "there is no register 'up'."),
        ('name = "wire"', 'name = "wires"', "'name' is 'wires'; it should be 'wire', as the file."),
        ("clock_mhz = 200", "clock_mhz 200", "is not TOML:"),
        ("lut = { expected", "lut = { expectd", "'resources.lut.expectd' is not a field. Did you"),
    ],
)
def test_wrong_manifest_names_file_and_field(tmp_path: Path, old: str, new: str, text: str) -> None:
    file = tmp_path / "wire.toml"
    assert old in GOOD
    file.write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        manifest.load(file)
    assert str(refused.value).startswith(f"{file}: ")
    assert text in str(refused.value)


def test_functions_follow_the_network_ports(tmp_path: Path) -> None:
    file = tmp_path / "wire.toml"
    more = 'kind = "virtio"\n[[ports]]\nname = "second"\nkind = "virtio"'
    bus = "[bus]\nread_ns = 550\nwrite_ns = 250\n[resources]"
    text = GOOD.replace('kind = "host"', more).replace("[resources]", bus, 1)
    file.write_text(text, encoding="utf-8")
    found = manifest.load(file)
    assert (found.network_ports, found.functions) == (4, 2)
    assert found.module_parameters["FUNCTIONS"] == 2
    assert (found.client_ports, found.server_port) == (range(4, 6), 0)
    assert found.bus_cycles() == (110, 50, 0)
    wire = manifest.find("wire")
    assert (wire.client_ports, wire.server_port) == (range(4), 4)
    assert "FUNCTIONS" not in wire.module_parameters


def test_manifest_may_name_folders_of_rtl(tmp_path: Path) -> None:
    found = manifest.load(write_manifest(tmp_path, "mine", "faulty_top"))
    assert sources.closure(found.top, found.rtl) == [RTL / "faulty_top.sv"]
    with pytest.raises(UsageError, match=r"'rtl\.0': there is no folder"):
        manifest.load(write_manifest(tmp_path, "mine", "faulty_top", "none"))


def test_unknown_design_is_told_the_others() -> None:
    with pytest.raises(UsageError, match=r"no design 'wires'\.\n  Did you mean 'wire'"):
        manifest.find("wires")
    with pytest.raises(UsageError, match=r"no manifest 'wires\.toml'"):
        manifest.find("wires.toml")


def test_changes_are_checked() -> None:
    wire = manifest.find("wire")
    changed = manifest.override(wire, ["clock_mhz=156.25", "word_bytes=0x40"])
    assert (changed.clock_mhz, changed.word_bytes) == (156.25, 64)
    assert changed.module_parameters == {"NETWORK_PORTS": 4, "BYTES": 64}
    for change, text in [
        ("clock_mhz=0", "--set clock_mhz=0: 'clock_mhz' is 0; it should be greater than 0."),
        ("word_bytes=wide", "--set word_bytes=wide: 'wide' is not a number."),
        ("PES=5", "'wire' has no parameter 'PES'."),
        ("clock_mhz", "should look like PES=4."),
    ]:
        with pytest.raises(UsageError) as refused:
            manifest.override(wire, [change])
        assert text in str(refused.value)


def test_registers_have_names_and_addresses() -> None:
    wire = manifest.find("wire")
    assert wire.register("frames.3")[1] == 0x4C
    assert wire.register("mode")[1] == 0
    with pytest.raises(UsageError, match=r"no register 'frame'\.\n  Did you mean 'frames'"):
        wire.register("frame")


def test_line_rate_in_bits_of_1000_cycles() -> None:
    wire = manifest.find("wire")
    assert [wire.bits_per_1000_cycles(port) for port in wire.ports] == [50_000] * 4 + [0]


def test_closure_has_each_file_once_and_packages_first() -> None:
    found = sources.closure("wire_top")
    assert [file.name for file in found] == ["skid_buffer.sv", "wire_top.sv"]
    for name in manifest.files():
        files = sources.closure(manifest.find(name).top)
        assert len(files) == len(set(files))
        kinds = [file.stem.endswith("_pkg") for file in files]
        assert kinds == sorted(kinds, reverse=True)


def test_changed_parameters_are_synthesised_too() -> None:
    design = manifest.find("client-cache")
    assert design.synthesis_parameters is not None
    changed = manifest.override(design, ["functions=2", "KEY_BYTES=32"])
    expected = {**design.synthesis_parameters, "FUNCTIONS": 2, "KEY_BYTES": 32}
    assert changed.synthesis_parameters == expected


def test_expected_resources_are_those_of_the_unchanged_design() -> None:
    design = manifest.find("client-cache")
    assert design.resources.lut is not None
    assert manifest.override(design, ["functions=2"]).resources.lut is None
    assert manifest.override(design, ["clock_mhz=100"]).resources == design.resources
