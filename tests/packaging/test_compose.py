"""docker-compose.yml conforms to the compose specification, and its commands run.

No Docker is needed. The tests run the command and the health check of each container on this
machine, with the addresses of containers replaced. If p4c or simple_switch_grpc is not on PATH,
its stand-in of `tests/lab/bmv2_standin.py` runs instead.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from netkv.live.ports import free_ports
from netkv.live.target import BMV2_PORT
from tests import programs
from tests.lab import bmv2_standin
from tests.waiting import PATIENCE_S, until

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docker-compose.yml"
NETKV = str(Path(sys.executable).parent / "netkv")
COMPOSE: dict[str, Any] = YAML(typ="safe").load(FILE.read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
SWITCHES = sorted(name for name in SERVICES if name.startswith("switch-"))
LABS = {"rocksdb-lab": "switch-rocksdb", "redis-lab": "switch-redis"}


class Machine:
    """Runs the commands of containers as processes on this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        bmv2_standin.install(folder / "bin")
        # Real programs come first.
        path = [str(Path(NETKV).parent), os.environ["PATH"], str(folder / "bin")]
        self.environment = {
            **os.environ,
            "NETKV_HOME": str(folder / "home"),
            "PATH": os.pathsep.join(path),
        }
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, words: list[str]) -> subprocess.Popen[bytes]:
        log = self.folder / f"log-{len(self._running)}"
        with log.open("wb") as output:
            process = subprocess.Popen(
                words, env=self.environment, cwd=self.folder, stdout=output, stderr=output
            )
        self._running.append(process)
        return process

    def run(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=4 * PATIENCE_S,
        )

    def wait_healthy(self, words: list[str], process: subprocess.Popen[bytes]) -> None:
        """Wait until a health check succeeds while the process runs."""

        def healthy() -> bool:
            assert process.poll() is None, "the process has ended"
            return self.run(words).returncode == 0

        until(healthy, f"{words} succeeds", every_s=1.0)

    def wait_up(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until a lab is up; its process was started last."""
        log = self.folder / f"log-{len(self._running) - 1}"

        def ready() -> bool:
            assert process.poll() is None, log.read_text()
            return "is up. Ctrl-C takes it down." in log.read_text()

        until(ready, "the lab is up", every_s=0.5)

    def end(self) -> None:
        for process in reversed(self._running):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(PATIENCE_S)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path)
    yield machine
    machine.end()


def with_ports(words: list[str], ports: dict[str, str]) -> list[str]:
    """The words of a command, with addresses replaced."""
    for old, new in ports.items():
        words = [word.replace(old, new) for word in words]
    return words


def health(service: str) -> list[str]:
    kind, *words = SERVICES[service]["healthcheck"]["test"]
    assert kind == "CMD"
    return [str(word) for word in words]


def command(service: str) -> list[str]:
    return [str(word) for word in SERVICES[service]["command"]]


def start_switch(
    machine: Machine, name: str, first: int | None = None
) -> tuple[str, subprocess.Popen[bytes]]:
    """Start a switch as its container does, perhaps at the ports of an earlier one; return its
    address, as of the target `bmv2://`, and its process."""
    first = first or three_ports()
    moved = {str(BMV2_PORT + further): str(first + further) for further in range(3)}
    process = machine.start(with_ports(command(name), {**moved, "0.0.0.0:": "127.0.0.1:"}))
    machine.wait_healthy(with_ports(health(name), moved), process)
    return f"127.0.0.1:{first}", process


def three_ports() -> int:
    """The first of three free ports in a row."""
    while True:
        (first,) = free_ports(1)
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for port in range(first, first + 3):
                stack.enter_context(socket.create_server(("127.0.0.1", port)))
            return first


def test_file_is_allowed_by_the_compose_specification() -> None:
    checker = Path(sys.executable).parent / "check-jsonschema"
    done = subprocess.run(
        [checker, "--builtin-schema", "vendor.compose-spec", FILE], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_containers_drop_all_capabilities_but_the_listed() -> None:
    for name, service in SERVICES.items():
        assert "privileged" not in service, name
        assert service["cap_drop"] == ["ALL"], name
    assert {name for name in SERVICES if "cap_add" in SERVICES[name]} == {"redis"}


def test_images_are_named_by_exact_tags() -> None:
    built = {"netkv"}
    images = {service["image"] for service in SERVICES.values()} - built
    dockerfile = (ROOT / "docker/Dockerfile").read_text()
    stages = [line.split() for line in dockerfile.splitlines() if line.startswith("FROM ")]
    images |= {words[1] for words in stages}
    assert {service["image"] for service in SERVICES.values() if "build" in service} == built
    for image in images:
        _, _, tag = image.partition(":")
        assert tag.count(".") >= 1, f"{image} has no exact tag"


def test_no_script_is_piped_into_a_shell() -> None:
    text = (ROOT / "docker/Dockerfile").read_text() + FILE.read_text()
    assert "| sh" not in text
    assert "| bash" not in text
    assert "curl" not in text


def test_every_service_is_run_by_a_test_of_this_file() -> None:
    assert set(SERVICES) == {
        *SWITCHES,
        *LABS,
        *LABS.values(),
        "switch",
        "p4c",
        "redis",
        "dashboard",
        "netkv",
        "engine",
    }


def test_dependencies_and_volumes_exist() -> None:
    for name, service in SERVICES.items():
        for other, how in service.get("depends_on", {}).items():
            assert other in SERVICES, f"{name} waits for {other}"
            if how["condition"] == "service_healthy":
                assert "healthcheck" in SERVICES[other], f"{other} has no health check"
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source in COMPOSE["volumes"] or (ROOT / source).is_dir(), volume


def test_an_image_of_others_has_no_netkv() -> None:
    for line in (ROOT / "docker/Dockerfile").read_text().splitlines():
        assert not line.startswith("FROM p4lang"), line
    foreign = {name for name in SERVICES if SERVICES[name]["image"].startswith("p4lang")}
    assert foreign == {*SWITCHES, "switch", "p4c"}


def start_p4c(machine: Machine) -> None:
    """Start the p4c of its container; netkv uses it from now on, and none that is on PATH."""
    shared = machine.folder / "p4c"
    mounted = with_ports(command("p4c"), {"/lab/": f"{ROOT}/docker/", "/p4c": str(shared)})
    process = machine.start([mounted[0], f"{ROOT}/docker/p4c.sh", str(shared)])
    machine.wait_healthy(with_ports(health("p4c"), {"/p4c/": f"{shared}/"}), process)
    assert SERVICES["netkv"]["environment"] == {"NETKV_P4C": command("p4c")[-1]}
    machine.environment["NETKV_P4C"] = str(shared)


def test_programs_are_compiled_as_in_the_container(machine: Machine) -> None:
    start_p4c(machine)
    done = machine.run([NETKV, "p4", "compile", "nocache", "--json"])
    assert done.returncode == 0, done.stderr
    assert '"cached": false' in done.stdout
    left = {each.name for each in (machine.folder / "p4c").iterdir()}
    assert left == {"alive", "version"}, "requests are removed"


@pytest.mark.parametrize("lab", LABS)
def test_lab_of_a_container_comes_up_on_its_switch(machine: Machine, lab: str) -> None:
    switch = LABS[lab]
    start_p4c(machine)
    address, switch_process = start_switch(machine, switch)
    moved = {f"bmv2://{switch}": f"bmv2://{address}"}
    if lab == "redis-lab":
        moved["redis:6379"] = start_redis(machine)
    words = with_ports(command(lab), {"/lab/": f"{mount(machine, moved)}/"})
    process = machine.start([NETKV, *words])
    machine.wait_up(process)
    machine.wait_healthy(health(lab), process)
    switch_process.kill()
    until(lambda: machine.run(health(lab)).returncode == 1, "a lab without its switch is unhealthy")
    start_switch(machine, switch, int(address.rpartition(":")[2]))
    machine.wait_healthy(health(lab), process)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 0
    assert not list((machine.folder / "home/labs").iterdir())


def mount(machine: Machine, moved: dict[str, str]) -> Path:
    """What containers have as `/lab`, with addresses replaced."""
    mounted = machine.folder / "lab"
    mounted.mkdir()
    for file in (ROOT / "docker").glob("*.yaml"):
        (mounted / file.name).write_text(with_ports([file.read_text()], moved)[0])
    return mounted


def start_redis(machine: Machine) -> str:
    programs.need("redis-server")
    (port,) = free_ports(1)
    process = machine.start([*command("redis"), "--port", str(port), "--bind", "127.0.0.1"])
    first, *rest = health("redis")
    machine.wait_healthy([first, "-p", str(port), *rest], process)
    return f"127.0.0.1:{port}"


def test_engine_lab_comes_up_as_in_its_container(machine: Machine) -> None:
    process = machine.start([NETKV, *command("engine")])
    machine.wait_up(process)
    machine.wait_healthy(health("engine"), process)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 0


def test_dashboard_is_served_as_in_its_container(machine: Machine) -> None:
    (port,) = free_ports(1)
    process = machine.start([NETKV, *command("dashboard"), "--port", str(port)])
    words = with_ports(health("dashboard"), {":8400/": f":{port}/"})
    machine.wait_healthy([sys.executable, *words[1:]], process)


def test_doctor_runs_as_in_the_container_of_tools(machine: Machine) -> None:
    done = machine.run([NETKV, *command("netkv")])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "simple_switch_grpc" in done.stdout + done.stderr


def test_scenario_runs_on_the_switch_of_the_container_of_tools(machine: Machine) -> None:
    assert SERVICES["switch"]["command"] == SERVICES[SWITCHES[0]]["command"]
    start_p4c(machine)
    address, _ = start_switch(machine, "switch")
    scenario = mount(machine, {"bmv2://switch": f"bmv2://{address}"}) / "quickstart.yaml"
    changes = ["--set", "duration=1", "--set", "warmup=0.5", "--set", "expect=[]"]
    done = machine.run([NETKV, "scenario", "run", str(scenario), *changes, "--json"])
    assert done.returncode == 0, done.stderr
    assert {run["scheme"] for run in json.loads(done.stdout)["runs"]} == {"nocache", "netcache"}
