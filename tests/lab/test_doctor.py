"""What `netkv doctor` reports."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from netkv import schemes
from netkv.lab import doctor
from netkv.lab.hardware import Target
from netkv.lab.spec import LabSpec
from netkv.schemes import registry


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, doctor.Check]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NETKV_HOME", str(tmp_path_factory.mktemp("home")))
        return {check.name: check for check in doctor.run()}


def test_each_program_is_named_once(found: dict[str, doctor.Check]) -> None:
    named = re.findall(r"\S+\.p4", found["programs"].text)
    assert sorted(named) == sorted({scheme.program for scheme in schemes.all_schemes()})


def test_only_targets_that_labs_can_use_are_offered(found: dict[str, doctor.Check]) -> None:
    assert get_args(Target) == (LabSpec().target,)
    assert "target" in found["engine"].text
    assert "bmv2" not in " ".join(f"{it.name} {it.text} {it.hint}" for it in found.values())


def test_program_that_does_not_compile_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.p4"
    broken.write_text("control {")
    monkeypatch.setattr(schemes.Scheme, "program_path", broken)
    check = {check.name: check for check in doctor.run()}["programs"]
    assert check.status == "fail"
    assert "does not compile" in check.text


def test_a_scheme_that_cannot_be_used_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.catalogue().problems, "lost", "The scheme 'lost' is broken.")
    found = {check.name: check for check in doctor.run()}
    assert (found["schemes"].status, found["schemes"].text) == (
        "warn",
        "The scheme 'lost' is broken.",
    )
    assert found["programs"].status == "ok"
