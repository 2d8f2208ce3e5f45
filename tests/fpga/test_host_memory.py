"""The memory of the host behind a design with virtio functions, and the registers of a function."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv._engine import FpgaDesign
from netkv.fpga import build
from netkv.model import manifest
from tests.fpga.conftest import RTL

ADDRESS, UPPER, SHAPE, STROBE, NUMBER, COMMAND = 0x00, 0x04, 0x08, 0x0C, 0x10, 0x14
READ_WORD, READ_WORDS, RESPONSES, WRITES, FIRST_READ = 0x20, 0x40, 0x44, 0x48, 0x50
NOTIFICATIONS = 0x54
READ, WRITE, EARLY, INTERRUPT = 1, 2, 4, 8
REFUSED = 0b11
MEMORY = 0x1_0000_0000
STATUS, NOTIFY = 0x14, 0x3000


@pytest.fixture
def design(home: Path, tmp_path: Path) -> FpgaDesign:
    """A design that accesses memory on command; the test is its driver."""
    assert home.is_dir()
    file = tmp_path / "bus.toml"
    file.write_text(
        'name = "bus"\ntitle = "A test"\ntop = "bus_top"\nclock_mhz = 250\nword_bytes = 64\n'
        f'rtl = ["{RTL}"]\n'
        '[[ports]]\nname = "net"\nkind = "network"\n[[ports]]\nname = "fn0"\nkind = "virtio"\n'
        "[bus]\nread_ns = 400\nwrite_ns = 200\nregister_ns = 40\n",
        encoding="utf-8",
    )
    made = FpgaDesign(str(build.build(manifest.load(file)).path))
    assert (made.describe()["ports"], made.describe()["functions"]) == (2, 1)
    return made


@pytest.fixture
def driven(design: FpgaDesign) -> FpgaDesign:
    design.attach(0)
    design.add_memory(0, MEMORY, 8192)
    return design


def command(
    design: FpgaDesign, kind: int, address: int, *, words: int = 1, function: int = 0
) -> None:
    design.write_register(ADDRESS, address & 0xFFFFFFFF)
    design.write_register(UPPER, address >> 32)
    design.write_register(SHAPE, function | (words - 1) << 8)
    design.write_register(COMMAND, kind)


def test_read_comes_after_the_time_of_the_bus_with_the_bytes_of_memory(driven: FpgaDesign) -> None:
    content = bytes(each % 251 for each in range(256))
    driven.write_memory(0, MEMORY + 4096 - 256, content)
    command(driven, READ, MEMORY + 4096 - 256, words=4)
    assert driven.pending_bus == 0
    driven.step(1)
    assert driven.pending_bus == 1
    driven.step(200)
    assert driven.pending_bus == 0
    assert driven.read_register(READ_WORDS) == 4
    word = b"".join(
        driven.read_register(READ_WORD + 4 * at).to_bytes(4, "little") for at in range(8)
    )
    assert word == content[192:224]
    # 400 ns are 100 cycles of 4 ns; the request takes one before, the register one after.
    assert driven.read_register(FIRST_READ) == 101
    assert driven.read_register(RESPONSES) & REFUSED == 0


def test_write_changes_the_strobed_bytes_alone_and_when_it_is_answered(driven: FpgaDesign) -> None:
    driven.write_memory(0, MEMORY, b"\xee" * 192)
    driven.write_register(STROBE, 0b1111_0000_0000_0110)
    driven.write_register(NUMBER, 0x44332211)
    command(driven, WRITE, MEMORY + 64, words=1)
    driven.step(50)
    assert driven.read_memory(0, MEMORY, 192) == b"\xee" * 192
    assert driven.read_register(WRITES) == 0
    driven.step(20)
    expected = bytearray(b"\xee" * 192)
    expected[65:67], expected[76:80] = b"\x22\x33", b"\x11\x22\x33\x44"
    assert driven.read_memory(0, MEMORY, 192) == expected
    assert driven.read_register(WRITES) == 1


def test_read_does_not_pass_an_earlier_write(driven: FpgaDesign) -> None:
    driven.set_bus(read_cycles=5, write_cycles=300)
    driven.write_register(NUMBER, 0x01020304)
    command(driven, WRITE, MEMORY)
    driven.step(10)
    command(driven, READ, MEMORY)
    driven.step(100)
    assert driven.read_register(READ_WORDS) == 0
    driven.step(300)
    assert driven.read_register(READ_WORDS) == 1
    assert driven.read_register(READ_WORD) == 0x01020304


@pytest.mark.parametrize("address", [MEMORY - 64, MEMORY + 8192, 0, 2**64 - 64])
def test_memory_that_was_not_given_is_refused_and_counted(driven: FpgaDesign, address: int) -> None:
    for kind in (READ, WRITE):
        command(driven, kind, address)
        driven.step(200)
    assert driven.read_register(RESPONSES) == REFUSED | REFUSED << 2
    assert driven.counters(1)["bus_faults"] == 2
    assert driven.read_memory(0, MEMORY, 8192) == bytes(8192)


@pytest.mark.parametrize(
    ("kind", "address", "words", "function", "sentence"),
    [
        (READ, MEMORY + 4032, 2, 0, "crosses a boundary of 4 KiB"),
        (WRITE, MEMORY + 4032, 2, 0, "crosses a boundary of 4 KiB"),
        (READ, MEMORY, 1, 1, "function 1, which it does not have"),
        (WRITE | EARLY, MEMORY, 2, 0, "ended a burst before or after its last word"),
    ],
)
def test_design_that_breaks_the_rules_of_the_bus_ends(
    driven: FpgaDesign, kind: int, address: int, words: int, function: int, sentence: str
) -> None:
    command(driven, kind, address, words=words, function=function)
    with pytest.raises(RuntimeError, match=sentence):
        driven.step(200)


def test_driver_of_the_caller_gets_its_interrupts_and_step_stops_there(driven: FpgaDesign) -> None:
    assert driven.interrupts() == 0
    driven.write_register(COMMAND, INTERRUPT | 0b110 << 16)
    assert driven.step(1000, until_frame=True) < 1000
    assert driven.interrupts() == 0b110
    assert driven.interrupts() == 0


def test_registers_are_accessed_in_their_sizes(driven: FpgaDesign) -> None:
    assert driven.read_function(0, STATUS, 1) == 0
    driven.write_function(0, STATUS, 1, 0x8F)
    assert driven.read_function(0, STATUS, 1) == 0x8F
    driven.write_function(0, NOTIFY + 4, 2, 1)
    # That of the built-in driver, which came first, was its own.
    assert driven.read_register(NOTIFICATIONS) == 2
    for offset, size in ((1, 2), (2, 4), (0, 3), (0, 8)):
        with pytest.raises(ValueError, match="1, 2 or 4 bytes"):
            driven.read_function(0, offset, size)


def test_function_belongs_to_one_driver(design: FpgaDesign) -> None:
    with pytest.raises(ValueError, match="has its built-in driver; attach to it first"):
        design.read_function(0, STATUS, 1)
    with pytest.raises(ValueError, match="has its built-in driver; attach to it first"):
        design.add_memory(0, 0, 64)
    with pytest.raises(ValueError, match="no virtio function 1; the design has 1"):
        design.attach(1)
    design.rx(1, bytes(60))
    assert design.pending_rx == 1
    design.attach(0)
    assert design.pending_rx == 0
    with pytest.raises(ValueError, match="has a driver of its own"):
        design.rx(1, bytes(60))
    with pytest.raises(ValueError, match="it has no line rate"):
        design.set_port(1, bits_per_1000_cycles=1000)


@pytest.mark.parametrize("address", [MEMORY, MEMORY + 8128, MEMORY - 64, MEMORY + 32, 2**64 - 64])
def test_memory_has_a_place_of_its_own(driven: FpgaDesign, address: int) -> None:
    with pytest.raises(ValueError, match=r"overlaps|multiples of 64"):
        driven.add_memory(0, address, 128)


def test_memory_that_was_taken_back_is_gone(driven: FpgaDesign) -> None:
    driven.clear_memory(0)
    with pytest.raises(ValueError, match=r"has no 1 bytes at address 0x100000000"):
        driven.read_memory(0, MEMORY, 1)
    command(driven, READ, MEMORY)
    driven.step(200)
    assert driven.read_register(RESPONSES) & REFUSED == REFUSED


def test_reset_of_the_card_starts_its_built_in_driver_again(design: FpgaDesign) -> None:
    design.step(100)
    assert design.read_register(NOTIFICATIONS) == 1
    design.rx(1, bytes(60))
    design.step(100)
    assert design.read_register(NOTIFICATIONS) == 2
    design.reset()
    assert design.pending_rx == 0
    design.step(100)
    assert design.read_register(NOTIFICATIONS) == 1
