"""The steps of packets that `netkv p4 trace --setup` and `netkv p4 stf --trace` print."""

from __future__ import annotations

from pathlib import Path

from tests.cli.commands import Netkv
from tests.p4programs.write import text_of

PROGRAM, TEST = "p4/netcache/netcache.p4", text_of("netcache")
"""Each packet is followed by the expected reply. Earlier packets wrote the values in the switch."""


def first_hit() -> tuple[int, int, str]:
    """Line index, port and frame of the first packet that the switch answers itself."""
    lines = TEST.splitlines()
    index = next(
        at
        for at, line in enumerate(lines)
        if line.startswith("packet 1") and lines[at + 1].startswith("expect 1 ")
    )
    _, port, *digits = lines[index].split()
    return index, int(port), "".join(digits)


def test_frame_is_traced_in_the_state_of_a_packet_test(
    netkv_in_process: Netkv, tmp_path: Path
) -> None:
    index, port, frame = first_hit()
    setup = tmp_path / "before.stf"
    before = TEST.splitlines()[:index]
    setup.write_text("\n".join(before))
    tables = tmp_path / "tables.stf"
    tables.write_text("\n".join(line for line in before if not line.startswith("packet ")))
    expected = TEST.splitlines()[index + 1].split()
    answer = f"leaves at port {expected[1]}: {expected[2]}"
    trace = ("p4", "trace", PROGRAM, frame, "--port", str(port))
    empty = netkv_in_process(*trace)
    assert empty.status == 0, empty.err
    assert ": hit [0x" not in empty.out
    filled = netkv_in_process(*trace, "--setup", str(tables))
    assert ": hit [0x" in filled.out
    assert answer not in filled.out, "without earlier packets the switch has no value"
    result = netkv_in_process(*trace, "--setup", str(setup))
    assert result.status == 0, result.err
    assert ": hit [0x" in result.out
    assert answer in result.out
    document = netkv_in_process(*trace, "--setup", str(setup), "--json").document
    assert document["in"] == {"port": port, "frame": frame}
    assert document["out"] == [{"port": int(expected[1]), "frame": expected[2]}]
    assert any(event["event"] == "table" and event["hit"] for event in document["trace"]["events"])


def test_wrong_setup_names_file_and_line(netkv_in_process: Netkv, tmp_path: Path) -> None:
    setup = tmp_path / "wrong.stf"
    setup.write_text("# first\nadd I.lookup h.kv.key:1 I.hit(idx:1)\n")
    result = netkv_in_process("p4", "trace", PROGRAM, "ff" * 60, "--setup", str(setup))
    assert result.status == 2
    assert f"{setup}:2: There is no table 'I.lookup'" in result.err
    assert "Traceback" not in result.err


def test_stf_shows_the_steps_of_packets_that_fail(netkv_in_process: Netkv, tmp_path: Path) -> None:
    index, _, frame = first_hit()
    lines = TEST.splitlines()
    port = lines[index + 1].split()[1]
    lines[index + 1] = f"expect {port} 00 $"
    test = tmp_path / "wrong.stf"
    test.write_text("\n".join(lines))
    for executor in ("compiled", "interpreter"):
        result = netkv_in_process(
            "p4", "stf", PROGRAM, str(test), "--trace", "failed", "--executor", executor
        )
        assert result.status == 1
        assert result.out.count("received on port") == 1
        assert f"wrong.stf:{index + 1}:\nreceived on port" in result.out
        assert frame in result.out
        assert ": hit [0x" in result.out
        assert f"line {index + 2}, port {port}: the frame differs" in result.out
    document = netkv_in_process(
        "p4", "stf", PROGRAM, str(test), "--trace", "failed", "--json"
    ).document
    assert document["mismatched_packets"] == [index + 1]
    assert [each["line"] for each in document["traces"]] == [index + 1]
    assert document["traces"][0]["in"]["frame"] == frame


def test_stf_shows_the_steps_of_all_packets_or_none(
    netkv_in_process: Netkv, tmp_path: Path
) -> None:
    test = tmp_path / "netcache.stf"
    test.write_text(TEST)
    stf = ("p4", "stf", PROGRAM, str(test))
    document = netkv_in_process(*stf, "--trace", "all", "--json").document
    assert document["ok"]
    packets = [at for at, line in enumerate(TEST.splitlines(), 1) if line.startswith("packet ")]
    assert [each["line"] for each in document["traces"]] == packets
    assert netkv_in_process(*stf, "--trace", "failed").out == ""
    assert "traces" not in netkv_in_process(*stf, "--json").document
