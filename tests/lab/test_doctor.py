"""The checks of `netkv doctor`."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from netkv import schemes
from netkv.labs import doctor
from netkv.schemes import registry
from tests.lab import bmv2_standin


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, doctor.Check]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NETKV_HOME", str(tmp_path_factory.mktemp("home")))
        return {check.name: check for check in doctor.run()}


def test_each_program_is_named_once(found: dict[str, doctor.Check]) -> None:
    named = re.findall(r"\S+\.p4", found["programs"].text)
    programs = {
        program
        for scheme in schemes.all_schemes()
        for program in (scheme.programs.main, *scheme.programs.others.values())
    }
    assert sorted(named) == sorted(programs)


def test_missing_bmv2_is_no_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = {check.name: check for check in doctor.run()}
    assert "target" in found["engine"].text
    assert found["bmv2"].status == "warn"
    assert "no p4c and no simple_switch_grpc on PATH" in found["bmv2"].text
    for advice in ("p4lang-p4c", "p4lang-bmv2", "docker compose up", "'engine' needs neither"):
        assert advice in found["bmv2"].hint


def test_bmv2_without_thrift_has_short_queues(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bmv2_standin.install(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = {check.name: check for check in doctor.run()}["bmv2"]
    assert "0.0-stand-in" in found.text
    assert "64 packets" in found.hint


@pytest.mark.parametrize("main", [True, False], ids=["its program", "another program"])
def test_program_that_does_not_compile_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, main: bool
) -> None:
    broken = tmp_path / "broken.p4"
    broken.write_text("control {")
    scheme = schemes.get("nocache")
    programs = (
        replace(scheme.programs, main=str(broken))
        if main
        else replace(scheme.programs, others={"between": str(broken)})
    )
    changed = replace(scheme, programs=programs)
    monkeypatch.setitem(registry.catalogue().schemes, scheme.name, changed)
    check = {check.name: check for check in doctor.run()}["programs"]
    assert check.status == "fail"
    assert "does not compile" in check.text


def test_broken_scheme_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.catalogue().problems, "lost", "The scheme 'lost' is broken.")
    found = {check.name: check for check in doctor.run()}
    assert (found["schemes"].status, found["schemes"].text) == (
        "warn",
        "The scheme 'lost' is broken.",
    )
    assert found["programs"].status == "ok"
