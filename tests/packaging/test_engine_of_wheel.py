"""`.ci/engine`: set-up takes the engine of a wheel that was built from the same sources, and of no
other."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci/engine"
HERE = f"netkv-0.1.0-cp311-abi3-manylinux_2_17_{platform.machine()}.manylinux2014.whl"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Folders as in the repository, with sources of an engine."""
    for file, text in {
        "engine/Cargo.toml": "[workspace]",
        "engine/core/src/lib.rs": "pub fn answer() -> u8 { 42 }",
        "engine/core/tests/answer.rs": "#[test] fn answer() {}",
        "netkv/__init__.py": "",
    }.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    (tmp_path / ".ci").mkdir()
    (tmp_path / "dist").mkdir()
    shutil.copy(SCRIPT, tmp_path / ".ci/engine")
    return tmp_path


def engine(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(checkout / ".ci/engine"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def put_wheel(checkout: Path, name: str = HERE) -> None:
    """A wheel of the sources as they are; its engine is one that Python imports."""
    assert engine(checkout, "record").returncode == 0
    about = "netkv-0.1.0.dist-info"
    with zipfile.ZipFile(checkout / "dist" / name, "w") as archive:
        archive.write(checkout / "netkv/engine-sources", "netkv/engine-sources")
        archive.write(_extension(), "netkv/_engine.abi3.so")
        archive.writestr(
            f"{about}/METADATA", "Metadata-Version: 2.1\nName: netkv\nVersion: 0.1.0\n"
        )
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: cp311-abi3-linux_x86_64\n")
        archive.writestr(f"{about}/entry_points.txt", "[console_scripts]\nnetkv=netkv.cli:main\n")
        archive.writestr(f"{about}/RECORD", "netkv/_engine.abi3.so,,\n")


def _extension() -> Path:
    from netkv import _engine

    return Path(str(_engine.__file__))


def found(checkout: Path) -> str:
    done = engine(checkout, "find")
    assert done.stderr == ""
    assert done.returncode == (0 if done.stdout else 1)
    return done.stdout.strip()


def test_wheel_of_the_same_sources_is_found(checkout: Path) -> None:
    assert found(checkout) == ""
    put_wheel(checkout)
    assert found(checkout) == f"dist/{HERE}"
    (checkout / "engine/target").mkdir()
    (checkout / "engine/target/made.rs").write_text("what a build makes is no source")
    assert found(checkout) == f"dist/{HERE}"


@pytest.mark.parametrize("change", ["edit", "new file", "rename"])
def test_wheel_of_other_sources_is_left(checkout: Path, change: str) -> None:
    put_wheel(checkout)
    source = checkout / "engine/core/src/lib.rs"
    if change == "edit":
        source.write_text("pub fn answer() -> u8 { 43 }")
    elif change == "new file":
        source.with_name("more.rs").write_text("")
    else:
        source.rename(source.with_name("other.rs"))
    assert found(checkout) == ""


def test_wheels_of_other_processors_and_damaged_ones_are_left(checkout: Path) -> None:
    other = "aarch64" if platform.machine() != "aarch64" else "x86_64"
    put_wheel(checkout, HERE.replace(platform.machine(), other))
    assert found(checkout) == ""
    put_wheel(checkout)
    whole = (checkout / "dist" / HERE).read_bytes()
    (checkout / "dist" / HERE).write_bytes(whole[: len(whole) // 2])
    assert found(checkout) == ""
    with zipfile.ZipFile(checkout / "dist" / HERE, "w") as archive:
        archive.writestr("netkv/__init__.py", "")
    assert found(checkout) == "", "one that does not say what it is built from"


def test_wheel_without_an_engine_is_refused_with_a_sentence(checkout: Path) -> None:
    put_wheel(checkout)
    with zipfile.ZipFile(checkout / "dist" / HERE) as whole:
        recorded = whole.read("netkv/engine-sources")
    with zipfile.ZipFile(checkout / "dist" / HERE, "w") as archive:
        archive.writestr("netkv/engine-sources", recorded)
    done = engine(checkout, "install", found(checkout))
    assert done.returncode == 1
    assert done.stderr.startswith(f"The engine of dist/{HERE} cannot be taken: ")
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not shutil.which("uv"), reason="uv installs it; 'make setup' has one")
def test_installed_engine_is_that_of_the_wheel_and_the_package_that_of_the_checkout(
    checkout: Path,
) -> None:
    put_wheel(checkout)
    bin_folder = checkout / ".venv/bin"
    subprocess.run(
        ["uv", "venv", "-q", "--python", sys.executable, ".venv"], cwd=checkout, check=True
    )
    done = engine(checkout, "install", found(checkout))
    assert done.returncode == 0, done.stderr
    assert os.access(bin_folder / "netkv", os.X_OK)
    where = "import netkv, netkv._engine; print(netkv.__file__); print(netkv._engine.__file__)"
    shown = subprocess.check_output([bin_folder / "python", "-c", where], cwd="/", text=True)
    assert shown.split() == [
        str(checkout / "netkv/__init__.py"),
        str(checkout / "netkv/_engine.abi3.so"),
    ]
    assert sorted(it.name for it in (checkout / "netkv").iterdir() if it.is_dir()) in (
        [],
        ["__pycache__"],
    )


def test_wrong_use_is_explained(checkout: Path) -> None:
    done = engine(checkout, "install")
    assert done.returncode == 2
    assert ".ci/engine find" in done.stderr
