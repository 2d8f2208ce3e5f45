"""The numbers of the wire format are the same in P4, Rust and Python."""

import re
from pathlib import Path

import pytest

from netkv.control import messages, topology
from netkv.control.messages import Bit, Op, Status
from netkv.schemes.netmc import control_plane as netmc
from tests.p4programs.netmc import multiget

ROOT = Path(__file__).parents[2]


KV_FILES = ("common/protocol.p4", "netcache/protocol.p4", "farreach/protocol.p4")


def p4_numbers(files: tuple[str, ...] = KV_FILES) -> dict[str, int]:
    """Every `const bit<N> NAME = NUMBER;` of the shared files."""
    text = "".join((ROOT / "p4" / name).read_text() for name in files)
    found = re.findall(r"^const bit<\d+> (\w+) = (\w+);", text, re.MULTILINE)
    return {name: int(number, 0) for name, number in found}


def rust_numbers(enum: str) -> dict[str, int]:
    """Variants of an enum of engine/wire, in Python's spelling."""
    text = (ROOT / "engine/wire/src/op.rs").read_text()
    body = re.search(rf"^    {enum} {{\n(.*?)^    }}", text, re.MULTILINE | re.DOTALL)
    assert body, f"engine/wire/src/op.rs has no enum {enum}"
    found = re.findall(r"^        (\w+) = (\w+),", body[1], re.MULTILINE)
    return {re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper(): int(n, 0) for name, n in found}


@pytest.mark.parametrize(("prefix", "enum"), [("OP_", Op), ("STATUS_", Status)])
def test_p4_has_the_codes_of_python(prefix: str, enum: type[Op] | type[Status]) -> None:
    codes = {n.removeprefix(prefix): c for n, c in p4_numbers().items() if n.startswith(prefix)}
    assert len(codes) >= 3
    for name, code in codes.items():
        assert enum[name] == code


@pytest.mark.parametrize(("enum", "name"), [(Op, "Op"), (Status, "Status")])
def test_rust_has_the_codes_of_python(enum: type[Op] | type[Status], name: str) -> None:
    assert rust_numbers(name) == {member.name: int(member) for member in enum}


def test_the_bits_of_a_stamp_are_the_same_everywhere() -> None:
    text = (ROOT / "engine/wire/src/stamp.rs").read_text()
    rust = {n: int(c, 0) for n, c in re.findall(r"pub const (\w+): u8 = (\w+);", text)}
    p4 = {n.removeprefix("BIT_"): c for n, c in p4_numbers().items() if n.startswith("BIT_")}
    assert rust == p4 == {bit.name: int(bit) for bit in Bit}


def test_p4_has_the_addresses_and_sizes_of_python() -> None:
    numbers = p4_numbers()
    assert numbers["NETKV_PORT"] == messages.NETKV_PORT
    assert numbers["FORMAT"] == messages.FORMAT
    assert numbers["FLAG_MARKED"] == messages.FLAG_MARKED
    assert numbers["FLAG_CACHE_HIT"] == messages.FLAG_CACHE_HIT
    assert numbers["FLAG_STAMPED"] == messages.FLAG_STAMPED
    assert (numbers["VERSION_STAMP_BYTES"], numbers["SLOT_BYTES"]) == (13, 6)
    assert numbers["CHUNK_BYTES"] == messages.CHUNK_BYTES
    assert numbers["SERVICE_ADDRESS"] == topology.SERVICE_IP
    assert numbers["CPU_PORT"] == topology.CPU_PORT


def test_p4_has_the_numbers_of_multiget_frames() -> None:
    numbers = p4_numbers(("common/protocol.p4", "netmc/protocol.p4"))
    assert numbers["NETMC_PORT"] == multiget.PORT
    assert (numbers["OP_MGET"], numbers["OP_MDELETE"]) == (multiget.MGET, multiget.DELETE)
    assert numbers["MAX_KEYS"] == 16
    assert numbers["LOOP_PORT"] == netmc.LOOP_PORT
