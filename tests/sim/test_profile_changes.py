"""`lab.profile_changes`: changed figures of a profile."""

from __future__ import annotations

import pytest

from netkv.errors import UsageError
from netkv.schemes.spec import LabSpec
from netkv.sim import profiles


def lab(**changes: float) -> LabSpec:
    named = {path.replace("__", "."): value for path, value in changes.items()}
    return LabSpec(profile="farreach-testbed", profile_changes=named)


def test_only_the_named_figure_changes() -> None:
    before = profiles.get("farreach-testbed")
    after = profiles.of(lab(server__get__mean=3.5))
    assert after.server.get.mean == 3.5
    assert after.server.put == before.server.put
    assert after.model_copy(update={"server": before.server}) == before
    assert profiles.of(lab()) == before


def test_unknown_figure_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        UsageError, match=r"'server\.gett\.mean'.*\n.*Did you mean 'server\.get\.mean'"
    ):
        profiles.of(lab(server__gett__mean=1))


def test_an_impossible_figure_is_refused_with_its_place() -> None:
    with pytest.raises(UsageError, match=r"makes 'server\.cores'.*invalid"):
        profiles.of(lab(server__cores=0))
