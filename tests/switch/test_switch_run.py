"""`netkv switch run` and `netkv switch shell`: options and error messages."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from netkv.cli import main
from netkv.switch import ports, shell

PROGRAM = str(Path(__file__).parent / "wire.p4")


def refused(capfd: pytest.CaptureFixture[str], *arguments: str, status: int = 2) -> str:
    """The error message of the command, which must not have started."""
    assert main(["switch", "run", PROGRAM, *arguments]) == status
    out, err = capfd.readouterr()
    assert out == ""
    return " ".join(err.split())


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "A switch needs a port"),
        (["--port", "veth0"], "'--port veth0' is not a port of a switch. It looks like 0=veth0"),
        (["--port", "x=veth0"], "'--port x=veth0' is not a port of a switch"),
        (["--port", "511=veth0"], "ports have the numbers 0 to 510"),
        (["--port", "1=udp:nowhere"], "is not a UDP port of a switch"),
        (["--port", "1=udp:127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"], "is not a UDP port of a switch"),
        (["--port", "1=a", "--port", "1=b"], "Port 1 is given 2 times"),
        (["--port", "7=a", "--cpu-port", "7"], "Port 7 is the CPU port"),
        (["--port", "1=a", "--grpc", "9559"], "'--grpc 9559' is not an address"),
        (["--port", "1=a", "--grpc", "0.0.0.0:9559"], "or --allow-remote to permit that"),
        (["--port", "1=a", "--grpc", "127.example.net:9559"], "or --allow-remote to permit that"),
        (
            ["--port", "1=a", "--grpc", "localhost.example.net:9559"],
            "or --allow-remote to permit that",
        ),
        (["--port", "1=a", "--pipelines", "3"], "a switch has 1, 2 or 4 pipelines"),
    ],
)
def test_wrong_options_are_refused(
    capfd: pytest.CaptureFixture[str], arguments: list[str], text: str
) -> None:
    assert text in refused(capfd, *arguments)


def test_invalid_udp_address_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    message = refused(capfd, "--port", "1=udp:300.0.0.1:5", status=1)
    assert "'300.0.0.1:5' is not a valid address of switch port 1" in message


def test_udp_port_in_use_is_reported(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        message = refused(capfd, "--port", f"1=udp:{address}", status=1)
    assert f"Switch port 1 cannot use {address}: the UDP port is in use" in message


def test_grpc_port_in_use_is_reported(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        message = refused(capfd, "--port", "1=udp:127.0.0.1:0", "--grpc", address, status=1)
    assert f"P4Runtime cannot listen on {address}" in message


def test_port_options_are_parsed() -> None:
    texts = ["0=veth0", "1=blue/eth0", "2=udp:127.0.0.1:7", "3=udp:127.0.0.1:8,127.0.0.1:9"]
    found = ports.parse_all(texts, 510)
    assert [port.plug("xdp") for port in found] == [
        (0, "xdp", "veth0"),
        (1, "xdp", "blue/eth0"),
        (2, "127.0.0.1:7", "any"),
        (3, "127.0.0.1:8", "127.0.0.1:9"),
    ]


def test_shell_gets_the_address_and_election_id() -> None:
    words = shell.command("127.0.0.1:9559", 0, (3 << 64) + 5, ["--role-name", "reader"])
    text = " ".join(words)
    assert "tool run" in text
    assert "--grpc-addr 127.0.0.1:9559 --device-id 0 --election-id 3,5" in text
    assert text.endswith("--role-name reader")


def test_shell_without_uv_is_refused(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert main(["switch", "shell"]) == 1
    assert "needs uv" in capfd.readouterr().err
