"""The output and the errors of `netkv bench e2e`, not the measured speed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.commands import Netkv, assert_wrong_usage

SHORT = ["bench", "e2e", "--seconds", "0.2", "--entries", "500"]


def test_document_has_echo_switch_and_stores_side_by_side(netkv: Netkv, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = netkv(*SHORT, "--json", "--plot", str(page))
    assert result.status == 0, result.err
    document = result.document
    assert set(document) == {"machine", "results", "ratios"}
    assert document["machine"]["cores"] >= 1
    assert document["machine"]["kernel"].startswith("Linux")
    rows = {(each["executor"], each["path"]): each for each in document["results"]}
    assert set(rows) == {
        ("udp-echo", "read-hit"),
        ("compiled", "read-hit"),
        ("udp-echo", "read-hit-trains"),
        ("compiled", "read-hit-trains"),
        ("redis", "get-connections"),
        ("redis", "get-pipelined"),
        ("memcached", "get-pipelined"),
        ("memcached", "get-64-keys"),
    }, "without Redis or memcached, 'make test-tools' installs them"
    for row in rows.values():
        assert set(row) == {
            *("program", "path", "executor", "entries", "value_size"),
            *("pps", "ns_p50", "ns_p99"),
        }
        assert (row["entries"], row["value_size"]) == (500, 128)
        assert row["pps"] > 0
        assert 0 < row["ns_p50"] <= row["ns_p99"]
    ratios = document["ratios"]
    for name in ("throughput_to_echo", "latency_to_echo", "throughput_with_trains_to_plain_echo"):
        assert ratios[name] > 0
    text = page.read_text(encoding="utf-8")
    assert "End to end over UDP" in text
    assert "http://" not in text.split("<body>")[1]
    assert not _orphaned_stores(), "the started stores are stopped"


def test_missing_stores_are_reported_and_left_out(netkv: Netkv, tmp_path: Path) -> None:
    empty = tmp_path / "bin"
    empty.mkdir()
    drawn = tmp_path / "throughput.svg"
    result = netkv(
        *SHORT, "--program", "cache_read", "--value-size", "16", "--value-size", "64",
        "--executor", "interpreter", "--plot", str(drawn), "--plot", str(tmp_path / "all.png"),
        PATH=str(empty),
    )  # fmt: skip
    assert result.status == 0, result.err
    assert "'apt-get install redis-server' installs it" in result.err
    assert "'apt-get install memcached' installs it" in result.err
    assert "redis" not in result.out
    assert "throughput, switch to echo, values of 16 bytes" in result.out
    bars = drawn.read_text(encoding="utf-8")
    assert bars.count("<!-- cache_read read-hit-trains -->") == 4
    assert bars.count("<!-- (interpreter, 64 B) -->") == 2
    assert (tmp_path / "all.png").read_bytes().startswith(b"\x89PNG")


def test_several_pipelines_are_measured_against_one(netkv: Netkv) -> None:
    result = netkv(*SHORT, "--pipelines", "2", "--no-stores", "--json")
    assert result.status == 0, result.err
    document = result.document
    rows = {(each["executor"], each["path"]): each["pps"] for each in document["results"]}
    several = {f"read-hit{trains}-2-pipelines" for trains in ("", "-trains")}
    paths = several | {"read-hit", "read-hit-trains"}
    assert set(rows) == {
        (executor, path) for executor in ("udp-echo", "compiled") for path in paths
    }
    assert all(pps > 0 for pps in rows.values())
    assert {each["program"] for each in document["results"]} == {"cache_read"}
    for what in ("throughput", "capacity"):
        for node in ("switch", "switch_with_trains", "echo", "echo_with_trains"):
            assert document["ratios"][f"{what}_of_{node}_with_2_pipelines"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--plot", "figure.gif"], "--plot figure.gif: the name should end in '.svg', '.pdf'"),
        (["--plot", "nowhere/figure.svg"], "there is no directory 'nowhere'"),
        (["--value-size", "1000"], "A value of 1000 bytes"),
        (["--executor", "fast"], "--executor"),
        (["--pipelines", "3"], "1, 2 or 4 pipelines, not 3"),
        (["--pipelines", "2", "--program", "netcache"], "no frames of 'netcache' for each of 2"),
    ],
)
def test_wrong_usage_is_reported_before_the_measurement(
    netkv: Netkv, arguments: list[str], message: str
) -> None:
    assert_wrong_usage(netkv("bench", "e2e", *arguments), message)


def _orphaned_stores() -> list[str]:
    """Servers on the loopback interface whose parent is this process or init."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            name = (folder / "comm").read_text().strip()
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            command = (folder / "cmdline").read_text()
        except OSError:
            continue
        ours = name in ("redis-server", "memcached") and "127.0.0.1" in command
        if ours and parent in (1, os.getpid()):
            found.append(f"{folder.name} {name}")
    return found
