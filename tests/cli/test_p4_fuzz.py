"""The output and the errors of `netkv p4 fuzz` and `netkv p4 record`."""

from __future__ import annotations

import os
import signal
import struct
from pathlib import Path

import pytest

from netkv import resources
from netkv.cli import main
from tests.cli.commands import ROOT, Netkv, start_netkv
from tests.waiting import PATIENCE_S, until

TABLES = str(ROOT / "tests" / "golden" / "tables.p4")
REPLICATE = str(ROOT / "tests" / "golden" / "replicate.p4")


def test_executors_agree_and_the_document_has_counts(netkv: Netkv) -> None:
    result = netkv(
        "p4", "fuzz", TABLES, "--generated", "--seeds", "5", "--packets", "300", "--json"
    )
    assert result.status == 0, result.out
    document = result.document
    assert document["ok"]
    assert document["findings"] == []
    assert (document["cases"], document["generated_programs"]) == (10, 5)
    assert document["packets"] == 5 * 300 + 5 * 200
    assert document["frames_out"] > 1000
    assert document["memory_bytes"]["start"] > 0


def test_all_shipped_programs_are_fuzzed_when_none_is_named(netkv: Netkv) -> None:
    result = netkv("p4", "fuzz", "--seed", "3", "--packets", "50", "--threads", "1")
    assert result.status == 0, result.out
    shipped = len(resources.programs())
    assert f"in {shipped + 1} cases, 1 generated programs" in result.err
    assert "no difference" in result.err


def test_workers_of_a_cluster_compare_the_same_cases(netkv: Netkv) -> None:
    command = ("p4", "fuzz", TABLES, "--generated", "--seeds", "6", "--packets", "300", "--json")
    here, there = netkv(*command).document, netkv(*command, "--on", "local:2").document
    for each in ("ok", "cases", "generated_programs", "packets", "frames_out", "findings"):
        assert there[each] == here[each]
    wrong = netkv(*command, "--on", "local:2", "--threads", "1")
    assert wrong.status == 2
    assert "'--threads' is for processes of this machine" in wrong.err


def test_compile_error_is_reported(netkv: Netkv, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.p4"
    wrong.write_text("header h {")
    assert netkv("p4", "fuzz", str(wrong)).status == 1
    assert netkv("p4", "fuzz", str(tmp_path / "none.p4")).status == 2


def test_an_interrupt_ends_a_long_run_at_once() -> None:
    process = start_netkv("p4", "fuzz", TABLES, "--seconds", "300", "--packets", "100")
    # One thread waits for signals.
    until(lambda: len(os.listdir(f"/proc/{process.pid}/task")) > 2, "its threads run")
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err


def test_interrupted_search_reports_its_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("netkv.cli.p4_fuzz.time.sleep", interrupt)
    assert main(["p4", "fuzz", TABLES, "--seconds", "300", "--packets", "10", "--json"]) == 130
    output = capsys.readouterr()
    assert output.out == ""
    assert "Interrupted. " in output.err
    assert "no difference" in output.err


def without_comments(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


@pytest.mark.parametrize("program", [TABLES, REPLICATE])
def test_recording_passes_as_a_packet_test(netkv: Netkv, tmp_path: Path, program: str) -> None:
    test = tmp_path / "recorded.stf"
    result = netkv("p4", "record", program, "--random", "40", "--seed", "2", "--out", str(test))
    assert result.status == 0, result.err
    assert result.err.startswith("40 packets in")
    replayed = netkv("p4", "stf", program, str(test), "--json")
    assert replayed.status == 0, replayed.out
    assert replayed.document["packets"] == 40
    again = netkv("p4", "record", program, "--packets", str(test), "--setup", str(test))
    assert without_comments(again.out) == without_comments(test.read_text())


def test_packets_are_read_from_lines_or_pcap(netkv: Netkv, tmp_path: Path) -> None:
    frames = [bytes(40), bytes(range(40))]
    lines = tmp_path / "frames.txt"
    lines.write_text("# two\n" + "".join(f"2 {frame.hex(' ')}  # one\n" for frame in frames))
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    packets = [struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame for frame in frames]
    capture = tmp_path / "frames.pcap"
    capture.write_bytes(head + b"".join(packets))
    from_lines = netkv("p4", "record", TABLES, "--packets", str(lines))
    from_pcap = netkv("p4", "record", TABLES, "--packets", str(capture), "--port", "2")
    assert from_lines.status == 0
    assert from_lines.out == from_pcap.out
    assert f"packet 2 {frames[1].hex()}\nexpect 1 " in from_lines.out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1 00\nport one\n", "2: 'port one' is not PORT HEXBYTES"),
        (b"600 00\n", "1: port 600 is not 0 to 511"),
        (b"packet 1 0g\n", "'g' is no hexadecimal digit"),
        (b"\xd4\xc3\xb2\xa1 cut", "not of Ethernet frames"),
    ],
)
def test_wrong_packet_file_is_reported(
    netkv: Netkv, tmp_path: Path, content: bytes, message: str
) -> None:
    file = tmp_path / "packets"
    file.write_bytes(content)
    result = netkv("p4", "record", TABLES, "--packets", str(file))
    assert result.status == 2
    assert message in result.err
    assert netkv("p4", "record", TABLES).status == 2
