"""The lab of docker-compose.yml, where there is a Docker engine: built, started, used, removed."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.waiting import until

ROOT = Path(__file__).parents[2]
PROJECT = "netkv-test"
DASHBOARD = 8400
# An image is built, and others may be pulled.
BUILT_WITHIN_S = 3000

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2 * BUILT_WITHIN_S)]


def docker(*words: str, within_s: float = 300) -> str:
    """What a command of Docker prints; fails the test if it fails."""
    done = subprocess.run(
        ["docker", *words], cwd=ROOT, capture_output=True, text=True, timeout=within_s
    )
    assert done.returncode == 0, f"docker {' '.join(words)}:\n{done.stdout}{done.stderr}"
    return done.stdout


def compose(*words: str, within_s: float = 300) -> str:
    return docker("compose", "--project-name", PROJECT, *words, within_s=within_s)


def states() -> dict[str, str]:
    """`healthy`, `unhealthy` or `starting` of each service that runs."""
    lines = compose("--profile", "*", "ps", "--format", "json").splitlines()
    return {each["Service"]: each["Health"] for each in map(json.loads, lines)}


def left() -> str:
    """Containers, volumes and networks of the project."""
    of_project = ("--filter", f"label=com.docker.compose.project={PROJECT}", "--quiet")
    return "".join(
        docker(*words, *of_project) for words in (("ps", "-a"), ("volume", "ls"), ("network", "ls"))
    )


@pytest.fixture(scope="module")
def lab() -> Iterator[None]:
    """The lab is up, built from these sources."""
    if shutil.which("docker") is None:
        pytest.skip("docker: not on PATH, and 'make test-tools' installs none: see docker.com")
    for words in (["docker", "info"], ["docker", "compose", "version"]):
        if subprocess.run(words, capture_output=True, timeout=60).returncode:
            pytest.skip(f"no Docker engine with Compose v2: '{' '.join(words)}' fails")
    with socket.socket() as port:
        if port.connect_ex(("127.0.0.1", DASHBOARD)) == 0:
            pytest.skip(f"port {DASHBOARD} is in use, which is that of the lab's dashboard")
    try:
        compose("up", "--detach", "--build", "--wait", within_s=BUILT_WITHIN_S)
        yield
    finally:
        compose("--profile", "*", "down", "--volumes", "--timeout", "30")
    assert left() == "", "nothing is left"


@pytest.mark.usefixtures("lab")
def test_all_services_are_healthy() -> None:
    assert set(states().values()) == {"healthy"}
    with urlopen(f"http://127.0.0.1:{DASHBOARD}/", timeout=30) as page:
        assert b"netkv" in page.read()


@pytest.mark.usefixtures("lab")
def test_images_have_one_task_each() -> None:
    has = "command -v netkv p4c-bm2-ss simple_switch_grpc || true"
    assert compose("exec", "-T", "redis-lab", "sh", "-c", has).split() == ["/opt/netkv/bin/netkv"]
    assert "netkv" not in compose("exec", "-T", "switch", "sh", "-c", has)


@pytest.mark.usefixtures("lab")
def test_scenario_loses_nothing_on_the_switch_of_a_container() -> None:
    words = ("scenario", "run", "/lab/quickstart.yaml", "--set", "expect=[]", "--json")
    runs = json.loads(compose("run", "--rm", "-T", "netkv", *words))["runs"]
    assert [(each["scheme"], each["status"]) for each in runs] == [
        ("nocache", "done"),
        ("netcache", "done"),
    ]
    for each in runs:
        assert (each["acked_writes_lost"], each["stale_reads"]) == (0, 0)
    assert runs[1]["hit_ratio"] > 0.5


@pytest.mark.usefixtures("lab")
def test_lab_whose_switch_is_killed_recovers() -> None:
    container = f"{PROJECT}-switch-rocksdb-1"
    docker("kill", container)
    until(lambda: states()["rocksdb-lab"] == "unhealthy", "the lab is unhealthy", every_s=2.0)
    docker("start", container)
    until(lambda: states()["rocksdb-lab"] == "healthy", "the lab is healthy again", every_s=2.0)


@pytest.mark.usefixtures("lab")
def test_killed_lab_comes_up_again() -> None:
    docker("kill", f"{PROJECT}-redis-lab-1")
    compose("up", "--detach", "--wait", within_s=600)
    assert states()["redis-lab"] == "healthy"


@pytest.mark.usefixtures("lab")
def test_engine_comes_up_by_its_profile() -> None:
    compose("--profile", "engine", "up", "--detach", "--wait", "engine", within_s=600)
    assert states()["engine"] == "healthy"
