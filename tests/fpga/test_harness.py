"""The C interface of a design: frames, times, bounds, registers, faults."""

from __future__ import annotations

import itertools
import math
import random
import subprocess
from pathlib import Path

import pytest

from netkv import _engine
from netkv._engine import FpgaDesign
from netkv.fpga import build
from netkv.fpga.build import Library
from netkv.fpga.tools import compiler
from netkv.model import manifest

PORTS = 5
MODE, SEED, SCRATCH, FRAMES = 0x00, 0x04, 0x08, 0x40
LOOPBACK, PAIRS, HOST = 0, 1, 2
PARTNERS = {
    LOOPBACK: [0, 1, 2, 3, 4],
    PAIRS: [1, 0, 3, 2, 4],
    HOST: [4, 1, 2, 3, 0],
}
TEN_GIGABIT = 50_000  # bits in 1000 cycles at 200 MHz


def drained(design: FpgaDesign, cycles: int = 2000) -> list[tuple[int, bytes, int, int, int]]:
    while design.pending_rx:
        design.step(cycles)
    design.step(cycles)
    return design.tx()


@pytest.mark.parametrize("mode", PARTNERS)
def test_frames_leave_whole_and_in_order(wire: Library, mode: int) -> None:
    rng = random.Random(mode)
    design = FpgaDesign(str(wire.path), 7)
    design.write_register(MODE, mode)
    expected: dict[int, list[bytes]] = {port: [] for port in range(PORTS)}
    for _ in range(400):
        port = rng.randrange(PORTS)
        length = rng.choice([14, 31, 32, 33, 60, 64, 70, 1514, 9216, rng.randrange(14, 2000)])
        frame = rng.randbytes(length)
        design.rx(port, frame, design.cycle + rng.randrange(50))
        expected[PARTNERS[mode][port]].append(frame)
        if rng.random() < 0.1:
            design.step(rng.randrange(100))
    sent: dict[int, list[bytes]] = {port: [] for port in range(PORTS)}
    for port, frame, first, last, on_line in drained(design):
        assert last - first == math.ceil(len(frame) / 32) - 1
        assert on_line == last
        sent[port].append(frame)
    assert sent == expected
    for port in range(PORTS):
        counts = design.counters(port)
        arrived = expected[PARTNERS[mode][port]]
        assert (counts["rx_frames"], counts["rx_bytes"]) == (
            len(arrived),
            sum(map(len, arrived)),
        )
        assert design.read_register(FRAMES + 4 * port) == len(arrived)


def test_frame_is_presented_when_its_line_has_delivered_it(wire: Library) -> None:
    """Preamble, frame and FCS arrive first; a gap follows. Ten gigabits are 50 bits a cycle."""
    design = FpgaDesign(str(wire.path))
    design.set_port(0, bits_per_1000_cycles=TEN_GIGABIT)
    frame, begin, count = bytes(70), 100, 1000
    presented = [design.rx(0, frame, begin) for _ in range(count)]
    for index, cycle in enumerate(presented):
        bits = 8 * (index * (70 + 24) + 70 + 12)
        assert cycle == begin + math.ceil(bits / 50)
    sent = drained(design)
    assert len(sent) == count
    for cycle, (_, _, first, last, on_line) in zip(presented, sent, strict=True):
        assert (first, last) == (cycle + 1, cycle + 3)
        assert on_line >= last + 8 * (70 + 12) // 50


def test_transmission_is_paced_by_the_line(wire: Library) -> None:
    """The host sends faster than the line: the MAC makes it wait, and nothing is lost."""
    design = FpgaDesign(str(wire.path))
    design.write_register(MODE, HOST)
    design.set_port(0, bits_per_1000_cycles=TEN_GIGABIT)
    count = 500
    for _ in range(count):
        design.rx(4, bytes(70))
    sent = drained(design, 20_000)
    assert len(sent) == count
    ends = [on_line for *_, on_line in sent]
    gaps = [after - before for before, after in itertools.pairwise(ends)]
    assert set(gaps) <= {15, 16}
    assert ends[-1] - ends[0] == pytest.approx((count - 1) * 8 * 94 / 50, abs=1)
    assert design.counters(0)["tx_stalls"] > 0
    assert design.counters(4)["rx_stalls"] > 0


def test_full_receive_buffer_drops_and_counts(wire: Library) -> None:
    design = FpgaDesign(str(wire.path))
    design.write_register(MODE, HOST)
    design.set_port(0, bits_per_1000_cycles=TEN_GIGABIT)
    design.set_port(4, rx_frames=4)
    for number in range(100):
        design.rx(4, number.to_bytes(70, "big"))
    sent = drained(design, 20_000)
    counts = design.counters(4)
    assert counts["rx_frames"] + counts["rx_drops"] == 100
    assert counts["rx_drops"] == 96
    assert [int.from_bytes(frame, "big") for _, frame, *_ in sent] == [0, 1, 2, 3]


def test_sent_frames_that_nobody_takes_are_bounded(wire: Library) -> None:
    design = FpgaDesign(str(wire.path))
    design.set_port(2, tx_frames=10)
    for _ in range(25):
        design.rx(2, bytes(100))
    design.step(1000)
    assert design.counters(2)["tx_drops"] == 15
    assert len(design.tx()) == 10


def test_full_queue_refuses_and_recovers(wire: Library) -> None:
    design = FpgaDesign(str(wire.path))
    room = design.describe()["max_queued"]
    for _ in range(room):
        design.rx(1, bytes(14))
    with pytest.raises(RuntimeError, match=r"Port 1 has 65536 frames queued already\."):
        design.rx(1, bytes(14))
    design.rx(2, bytes(14))
    design.step(10)
    design.rx(1, bytes(14))
    assert design.pending_rx > room - 10


def test_step_ends_at_a_frame(wire: Library) -> None:
    design = FpgaDesign(str(wire.path))
    design.rx(3, bytes(100), design.cycle + 50)
    assert design.step(1000, until_frame=True) == 55
    ((port, frame, first, last, _),) = design.tx()
    assert (port, frame, first, last) == (3, bytes(100), 51, 54)
    assert design.step(1000, until_frame=True) == 1000


def test_reset_in_the_middle_of_a_frame_leaves_nothing(wire: Library) -> None:
    design = FpgaDesign(str(wire.path))
    design.rx(0, bytes(1500))
    design.rx(1, bytes(1500), 10**6)
    design.step(20)
    before = design.cycle
    design.reset(5)
    assert design.cycle == before + 5
    assert (design.pending_rx, design.pending_tx) == (0, 0)
    design.rx(0, b"x" * 200)
    assert [frame for _, frame, *_ in drained(design)] == [b"x" * 200]
    assert design.read_register(FRAMES) == 1


def test_instances_are_independent_and_repeatable(wire: Library) -> None:
    one, other = FpgaDesign(str(wire.path), 1), FpgaDesign(str(wire.path), 4_000_000_000)
    one.write_register(SCRATCH, 0xFFFF_FFFF)
    other.write_register(SCRATCH, 5)
    assert (one.read_register(SCRATCH), other.read_register(SCRATCH)) == (0xFFFF_FFFF, 5)
    assert (one.read_register(SEED), other.read_register(SEED)) == (1, 4_000_000_000)


def test_random_state_follows_the_seed(faulty: Library) -> None:
    def value(seed: int) -> int:
        return FpgaDesign(str(faulty.path), seed).read_register(0)

    first = [value(seed) for seed in range(20)]
    assert first == [value(seed) for seed in range(20)]
    assert len(set(first)) == 20


@pytest.mark.parametrize(
    ("port", "length", "not_before", "text"),
    [
        (5, 60, 0, "There is no port 5; the ports are 0 to 4."),
        (0, 13, 0, "A frame of 13 bytes is not possible; it has 14 to 9216 bytes."),
        (0, 9217, 0, "A frame of 9217 bytes is not possible; it has 14 to 9216 bytes."),
        (0, 0, 0, "A frame of 0 bytes is not possible"),
        (0, 60, 2**50, "is too late; the last one is 2^46."),
    ],
)
def test_wrong_argument_is_refused(
    wire: Library, port: int, length: int, not_before: int, text: str
) -> None:
    design = FpgaDesign(str(wire.path))
    with pytest.raises(ValueError) as refused:  # noqa: PT011  # the text is checked below
        design.rx(port, bytes(length), not_before)
    assert text in str(refused.value)
    assert design.pending_rx == 0


def test_wrong_port_settings_are_refused(wire: Library) -> None:
    design = FpgaDesign(str(wire.path))
    with pytest.raises(ValueError, match="at most 65536 frames"):
        design.set_port(0, rx_frames=65_537)
    with pytest.raises(ValueError, match="no port 9"):
        design.set_port(9)
    with pytest.raises(ValueError, match="no port 9"):
        design.counters(9)


def test_failure_of_a_design_is_an_error(
    faulty: Library, capfd: pytest.CaptureFixture[str]
) -> None:
    design = FpgaDesign(str(faulty.path))
    with pytest.raises(RuntimeError, match=r"stopped: .* at .*:41: .*: told to fail\.$"):
        design.write_register(0, 1)
    with pytest.raises(RuntimeError, match="told to fail"):
        design.step(10)
    assert design.cycle == 0
    design.counters(0)
    out, err = capfd.readouterr()
    assert out == ""
    assert "hello from the design" in err


def test_finish_of_a_design_is_an_error(faulty: Library) -> None:
    with pytest.raises(RuntimeError, match=r"The design has stopped: \$finish"):
        FpgaDesign(str(faulty.path)).write_register(4, 1)


@pytest.mark.parametrize("length", [0, 13, 33, 64, 9217, 65_535])
def test_sent_frame_of_wrong_length_is_counted(faulty: Library, length: int) -> None:
    design = FpgaDesign(str(faulty.path))
    design.write_register(8, length)
    design.step(10)
    assert design.tx() == []
    assert design.counters(0)["tx_malformed"] == 1
    design.write_register(8, 20)
    design.step(10)
    assert [frame for _, frame, *_ in design.tx()] == [bytes(20)]


def test_trace_needs_a_library_with_tracing(wire: Library, tmp_path: Path) -> None:
    design = FpgaDesign(str(wire.path))
    assert not design.describe()["can_trace"]
    with pytest.raises(OSError, match="built without tracing"):
        design.trace_open(str(tmp_path / "waves.fst"))
    design.trace_close()


@pytest.mark.slow
def test_trace_writes_an_fst_file(home: Path, tmp_path: Path) -> None:
    assert home.is_dir()
    library = build.build(manifest.find("wire"), trace=True)
    design = FpgaDesign(str(library.path))
    assert design.describe()["can_trace"]
    with pytest.raises(OSError, match="cannot be written"):
        design.trace_open(str(tmp_path / "nowhere" / "waves.fst"))
    file = tmp_path / "waves.fst"
    design.trace_open(str(file))
    with pytest.raises(OSError, match="traced already"):
        design.trace_open(str(file))
    design.rx(0, bytes(100))
    design.step(100)
    design.trace_close()
    content = file.read_bytes()
    assert content[0] == 0, "the first block of an FST file is its header"
    assert b"wire_top" in content or len(content) > 1000


def test_library_of_another_version_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "old.cpp"
    source.write_text('extern "C" unsigned netkv_fpga_abi() { return 999; }\n')
    library = tmp_path / "old.so"
    subprocess.run([compiler(), "-shared", "-fPIC", source, "-o", library], check=True)
    with pytest.raises(OSError, match=r"version 999 of the interface.*build it again"):
        FpgaDesign(str(library))


def test_file_that_is_no_design_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "text.so"
    file.write_text("no library")
    with pytest.raises(OSError, match="is not a design that netkv can run"):
        FpgaDesign(str(file))
    with pytest.raises(OSError, match="cannot open shared object file"):
        FpgaDesign(str(tmp_path / "missing.so"))


def test_design_that_runs_live_is_gone(wire: Library) -> None:
    design = FpgaDesign(str(wire.path))
    node = design.run_live([])
    with pytest.raises(ValueError, match="runs live"):
        design.step(1)
    assert node.read_register(SEED) == 1
    node.start()
    assert node.read_register(SEED) == 1
    node.stop()
    assert node.read_register(SEED) == 1
    with pytest.raises(OSError, match="was started before"):
        node.start()
    assert isinstance(node, _engine.FpgaNode)
