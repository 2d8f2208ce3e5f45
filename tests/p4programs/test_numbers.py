"""The numbers of the wire format are the same in P4 and in the engine."""

import re
from pathlib import Path

import pytest

from netkv import _engine
from netkv._engine import Bit, Op, Status
from netkv.schemes.netmc import PAPER_SPLIT_KEYS
from netkv.schemes.netmc import control_plane as netmc
from tests.schemes.netmc.programs import multiget

ROOT = Path(__file__).parents[2]


KV_FILES = (
    *("common/wire.p4", "write_through/wire.p4"),
    *("distcache/wire.p4", "write_back/wire.p4"),
)


def p4_numbers(files: tuple[str, ...] = KV_FILES) -> dict[str, int]:
    """Every `const bit<N> NAME = NUMBER;` of the shared files."""
    text = "".join((ROOT / "p4" / name).read_text() for name in files)
    found = re.findall(r"^const bit<\d+> (\w+) = (\d\w*);", text, re.MULTILINE)
    return {name: int(number, 0) for name, number in found}


def typed_names(enum: str) -> list[str]:
    """Members of an enum as `_engine.pyi` types them."""
    text = (ROOT / "netkv/_engine.pyi").read_text()
    body = re.search(rf"^class {enum}\(.*?^$\n(.*?)^$", text, re.MULTILINE | re.DOTALL)
    assert body, f"_engine.pyi has no enum {enum}"
    return re.findall(r"^    (\w+) = \.\.\.", body[1], re.MULTILINE)


@pytest.mark.parametrize(("prefix", "enum"), [("OP_", Op), ("STATUS_", Status)])
def test_p4_has_the_codes_of_the_engine(prefix: str, enum: type[Op] | type[Status]) -> None:
    codes = {n.removeprefix(prefix): c for n, c in p4_numbers().items() if n.startswith(prefix)}
    assert len(codes) >= 3
    for name, code in codes.items():
        assert enum[name] == code


@pytest.mark.parametrize("enum", [Op, Status, Bit])
def test_every_member_of_an_enum_is_typed(enum: type[Op] | type[Status] | type[Bit]) -> None:
    assert typed_names(enum.__name__) == [member.name for member in enum]


def test_p4_has_the_bits_of_a_stamp() -> None:
    p4 = {n.removeprefix("BIT_"): c for n, c in p4_numbers().items() if n.startswith("BIT_")}
    rust = (ROOT / "engine/wire/src/stamp.rs").read_text()
    named = re.findall(r"pub const (\w+): u8 = \w+;", rust)
    assert p4 == {bit.name: int(bit) for bit in Bit}
    assert set(p4) == set(named)


def test_p4_has_the_addresses_and_sizes_of_the_engine() -> None:
    numbers = p4_numbers()
    assert numbers["NETKV_PORT"] == _engine.NETKV_PORT
    assert numbers["FORMAT"] == _engine.FORMAT
    assert numbers["FLAG_CACHE_METADATA"] == _engine.FLAG_CACHE_METADATA
    assert numbers["FLAG_CACHE_HIT"] == _engine.FLAG_CACHE_HIT
    assert numbers["FLAG_STAMPED"] == _engine.FLAG_STAMPED
    assert numbers["FLAG_UPPER"] == _engine.FLAG_UPPER
    assert numbers["FLAG_LOAD"] == _engine.FLAG_LOAD
    assert numbers["LOAD_BYTES"] == 6
    assert (numbers["VERSION_STAMP_BYTES"], numbers["SLOT_BYTES"]) == (13, 6)
    assert numbers["CHUNK_BYTES"] == _engine.CHUNK_BYTES
    assert numbers["SERVICE_ADDRESS"] == _engine.SERVICE_IP
    assert numbers["CPU_PORT"] == _engine.CPU_PORT


def test_p4_has_the_numbers_of_multiget_frames() -> None:
    numbers = p4_numbers(("common/wire.p4", "netmc/wire.p4"))
    assert numbers["NETMC_PORT"] == multiget.PORT
    assert (numbers["OP_MGET"], numbers["OP_MDELETE"]) == (multiget.MGET, multiget.DELETE)
    keys = re.search(r"^#define NETMC_KEYS (\d+)$", (ROOT / "p4/netmc/wire.p4").read_text(), re.M)
    assert keys
    assert int(keys[1]) == PAPER_SPLIT_KEYS == 16
    assert numbers["LOOP_PORT"] == netmc.LOOP_PORT
