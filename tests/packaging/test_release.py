"""What a release says about itself: its version, its notes, its workflows and its sources."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from netkv import yaml_text
from tests.release import ROOT, NotReadyError, check, notes, versions

NEWS = ROOT / "news"
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FRAGMENT = "7.fixed.md"
_FORM = re.compile(r"(\d+|\+[\w-]+)\.(results|breaking|new|fixed)\.md")


def towncrier(root: Path, *arguments: str) -> str:
    command = [str(Path(sys.executable).with_name("towncrier")), "build", *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of the files that say what a release is, for version 3.0.0 with one fragment."""
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name, text in {
        "netkv/__init__.py": '__version__ = "3.0.0"\n',
        "CITATION.cff": "version: 3.0.0\n",
        "engine/Cargo.toml": '[workspace.package]\nversion = "3.0.0"\n',
        "news/README.md": "",
        f"news/{FRAGMENT}": "It is right now.\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_all_files_say_the_same_version() -> None:
    assert len(set(versions(ROOT).values())) == 1


def test_news_fragments_are_read_by_towncrier() -> None:
    fragments = [it for it in NEWS.iterdir() if it.name != "README.md"]
    assert [it.name for it in fragments if not _FORM.fullmatch(it.name)] == []
    draft = " ".join(towncrier(ROOT, "--draft", "--version", "9.9.9").split())
    for fragment in fragments:
        assert " ".join(fragment.read_text().split()) in draft


def test_release_has_the_notes_that_towncrier_writes(root: Path) -> None:
    with pytest.raises(NotReadyError, match=r"lacks 7\.fixed\.md"):
        check(root, "v3.0.0")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    towncrier(root, "--yes", "--version", "3.0.0")
    assert check(root, "v3.0.0") == "3.0.0"
    assert notes(root, "3.0.0") == "### Corrected\n\n- It is right now. (#7)\n"
    assert "## netkv 3.0.0, " in (root / "CHANGELOG.md").read_text()


def test_tag_of_another_version_is_refused(root: Path) -> None:
    with pytest.raises(NotReadyError, match=r"engine/Cargo\.toml says 3\.0\.0"):
        check(root, "v3.0.1")


def test_release_without_notes_is_refused(root: Path) -> None:
    (root / "news" / FRAGMENT).unlink()
    with pytest.raises(NotReadyError, match=r"towncrier build --version 3\.0\.0"):
        check(root, "v3.0.0")


def test_source_distribution_has_what_the_package_reads(tmp_path: Path) -> None:
    """Programs and the like are links in a checkout, and files in a distribution."""
    maturin = str(Path(sys.executable).with_name("maturin"))
    subprocess.run(
        [maturin, "sdist", "--out", str(tmp_path)], cwd=ROOT, check=True, capture_output=True
    )
    (file,) = tmp_path.glob("netkv-*.tar.gz")
    with tarfile.open(file) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for needed in (
        "engine/Cargo.lock",
        "netkv/data/p4/netcache/netcache.p4",
        "netkv/data/scenarios/quickstart.yaml",
        "netkv/data/web/index.html",
        "netkv/data/evaluation/netcache-skew.json",
        "netkv/servers/redis.py",
        "README.md",
        "LICENSE",
    ):
        assert needed in names


def steps(workflow: Path) -> Iterator[dict[str, Any]]:
    for job in jobs(workflow).values():
        yield from job["steps"]


def jobs(workflow: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml_text.read(workflow.read_text()).data["jobs"]
    return found


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda it: it.name)
def test_workflow_runs_targets_and_modules_that_exist(workflow: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    scripts = [step["run"] for step in steps(workflow) if "run" in step]
    for script in scripts:
        for line in script.replace("${{ matrix.target }}", "lint").splitlines():
            words = shlex.split(line)
            if words[:1] == ["make"]:
                assert words[1] in targets
            if words[:2] == ["python3", "-m"] and words[2] != "venv":
                module = ROOT / words[2].replace(".", "/")
                assert module.with_suffix(".py").exists(), words[2]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda it: it.name)
def test_workflow_has_the_rights_that_it_needs_and_pinned_actions(workflow: Path) -> None:
    permissions = yaml_text.read(workflow.read_text()).data["permissions"]
    assert permissions in ({}, {"contents": "read"})
    for name, job in jobs(workflow).items():
        writes = {right for right, kind in job.get("permissions", {}).items() if kind == "write"}
        publishes = {"publish", "attest", "pypi", "release"}
        assert not writes or name in publishes, f"{name} may write {writes}"
    for step in steps(workflow):
        if "uses" in step:
            assert re.search(r"@(v\d+|release/v\d+|stable|[0-9a-f]{40})$", step["uses"])


def test_actionlint_finds_nothing() -> None:
    if (actionlint := shutil.which("actionlint")) is None:
        pytest.skip("actionlint is not installed: go install github.com/rhysd/actionlint/cmd/...")
    done = subprocess.run([actionlint], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
