"""The wheel is complete: it works for a user without Rust and without a checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [
            str(Path(sys.executable).with_name("maturin")),
            *("build", "-q", "--release", "--locked", "--out", str(out)),
            # The interpreter of `maturin develop`; another one would rebuild pyo3 and the engine.
            *("--interpreter", sys.executable),
        ],
        cwd=ROOT,
        check=True,
    )
    (built,) = out.glob("netkv-*.whl")
    return built


def test_wheel_holds_programs_scenarios_dashboard_and_servers(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for needed in (
        "netkv/data/p4/netcache/netcache.p4",
        "netkv/data/p4/common/wire.p4",
        "netkv/data/scenarios/quickstart.yaml",
        "netkv/data/scenarios/netcache/netcache-skew.yaml",
        "netkv/data/papers/switch-resources.json",
        "netkv/data/web/index.html",
        "netkv/servers/rocksdb.py",
        "netkv/servers/redis.py",
        "netkv/live/ends_with_parent.py",
    ):
        assert needed in names
    assert not [name for name in names if name.startswith("p4/")], "would shadow P4Runtime stubs"


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of an environment that has the wheel."""
    folder = tmp_path_factory.mktemp("installed")
    environment = folder / "venv"
    venv.create(environment, with_pip=shutil.which("uv") is None)
    python = environment / "bin" / "python"
    if uv := shutil.which("uv"):
        install = [uv, "pip", "install", "-q", "--python", str(python), str(wheel)]
    else:
        install = [str(python), "-m", "pip", "install", "-q", str(wheel)]
    subprocess.run(install, check=True, cwd=folder)
    return environment / "bin"


def run(installed: Path, folder: Path, *arguments: str) -> Any:
    """Run the installed netkv with `--json`; return the document that it prints."""
    done = subprocess.run(
        [str(installed / "netkv"), *arguments, "--json"],
        cwd=folder,
        env={
            "PATH": f"{installed}:/usr/bin:/bin",
            "HOME": str(folder),
            "NETKV_HOME": str(folder / "home"),
            "LANG": os.environ.get("LANG", "C.UTF-8"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_quickstart_runs_from_the_wheel_without_rust(installed: Path, tmp_path: Path) -> None:
    shorter = ("--set", "warmup=0.5", "--set", "duration=1", "--set", "expect=[]")
    document = run(installed, tmp_path, "scenario", "run", "quickstart", *shorter)
    assert {r["scheme"] for r in document["runs"]} == {"nocache", "netcache"}
    assert all(r["completed_ops"] > 0 for r in document["runs"])
    assert all(r["acked_writes_lost"] == 0 for r in document["runs"])


def test_wheel_has_the_reference_program_of_the_benchmark(installed: Path, tmp_path: Path) -> None:
    options = ("--path", "read-hit", "--sweep", "none", "--seconds", "0.01")
    document = run(installed, tmp_path, "p4", "bench", *options)
    assert {r["program"] for r in document["results"]} >= {"cache_read", "netcache"}
