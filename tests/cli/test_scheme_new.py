"""`netkv scheme new` writes a scheme that runs, with tests that pass."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from netkv import schemes
from netkv.schemes.new import kits_of_control_planes
from tests.cli.commands import Netkv
from tests.docs.documents import ROOT

KITS = ("write_back", "write_through")


def install(package: Path) -> None:
    """Writes the metadata of an installer; without a network there is no build backend."""
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    about = package / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    about.mkdir()
    head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (about / "METADATA").write_text(head)
    ((group, members),) = project["entry-points"].items()
    lines = [f"[{group}]", *(f"{name} = {value}" for name, value in members.items())]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n")


def test_kits_are_those_with_control_planes() -> None:
    assert tuple(kits_of_control_planes()) == KITS


@pytest.mark.parametrize("kit", KITS)
def test_new_scheme_is_listed_and_passes_its_tests(netkv: Netkv, tmp_path: Path, kit: str) -> None:
    written = netkv("scheme", "new", "my-cache", "--kit", kit, "--into", str(tmp_path), "--json")
    package = tmp_path / "my-cache"
    assert Path(written.document["folder"]) == package
    install(package)
    path = f"{package}{os.pathsep}{ROOT}"
    environment = {**os.environ, "PYTHONPATH": path, "NETKV_HOME": str(tmp_path / "home")}

    def run(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    files = run("netkv", "scheme", "files", "my-cache")
    assert files.splitlines()[0].startswith("my-cache/my_cache/ ")
    passed = run("pytest", "-q", "-p", "no:cacheprovider", str(package / "tests"))
    assert "2 passed" in passed


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("netcache", "There is a scheme 'netcache' already"),
        ("My_Cache", "'My_Cache' cannot be the name of a scheme: names begin with"),
        ("json", "Python has a module 'json'"),
        ("class", "'class' cannot be the name of a scheme"),
    ],
)
def test_name_that_cannot_be_is_refused(
    netkv: Netkv, tmp_path: Path, name: str, sentence: str
) -> None:
    result = netkv("scheme", "new", name, "--into", str(tmp_path))
    assert result.status == 2
    assert sentence in result.err
    assert list(tmp_path.iterdir()) == [] or name not in os.listdir(tmp_path)


def test_unknown_kit_and_folder_that_exists_are_refused(netkv: Netkv, tmp_path: Path) -> None:
    result = netkv("scheme", "new", "my-cache", "--kit", "write_trough", "--into", str(tmp_path))
    assert result.status == 2
    assert "Did you mean 'write_through'?" in result.err
    (tmp_path / "my-cache").mkdir()
    result = netkv("scheme", "new", "my-cache", "--into", str(tmp_path))
    assert result.status == 2
    assert "my-cache exists already" in result.err
    assert "my-cache" not in {each.name for each in schemes.all_schemes()}
