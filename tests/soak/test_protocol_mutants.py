"""`netkv soak` finds mutants of the P4 programs and control planes (`netkv/schemes/*/mutants.py`).

The cases are those of seeds, and the same for all mutants. Without a defect they have no violation.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from netkv import schemes
from netkv.schemes import edits, parts
from netkv.schemes.distcache import restarts, service
from netkv.schemes.edits import Edit
from netkv.soak.case_generator import generate
from netkv.soak.run import play

WRONG = {"stale-read", "not-linearizable", "lost-write", "phantom-value"}


class Found(NamedTuple):
    """A mutant, and a seed that finds it."""

    scheme: str
    mutant: str
    seed: int


FOUND = (
    Found("distcache", "servers-first", 2),
    Found("distcache", "answer-restarted-at-once", 32),
    Found("farreach", "past-writes-are-oldest", 44),
    Found("distreach", "store-superseded", 33),
    Found("distreach", "past-writes-are-oldest", 42),
    Found("distreach", "latest-after-recovery", 9),
)


@pytest.mark.slow
@pytest.mark.parametrize("found", FOUND, ids=lambda it: it.mutant)
def test_soak_finds_a_broken_rule(found: Found) -> None:
    case = generate(found.scheme, found.seed, mutant=found.mutant)
    violation = play(case).violation
    assert violation is not None, f"seed {found.seed} does not find '{found.mutant}'"
    assert violation.kind in WRONG
    assert play(generate(found.scheme, found.seed)).violations == ()


SCHEMES = ("distcache", "distreach", "farreach")


@pytest.mark.parametrize("name", SCHEMES)
def test_a_mutant_changes_what_it_names(name: str) -> None:
    """An edit that nothing compiles or runs would prove nothing."""
    scheme = schemes.get(name)
    for mutant, broken in parts.mutants(scheme).items():
        with broken(scheme) as changed:
            before = [scheme.program_path, *scheme.other_paths.values()]
            after = [changed.program_path, *changed.other_paths.values()]
            programs = [schemes.compile_program(path, {}) for path in before]
            differ = programs != [schemes.compile_program(path, {}) for path in after]
            is_program = changed is not scheme
            assert differ is is_program, mutant


def test_functions_have_their_own_code_afterwards() -> None:
    scheme = schemes.get("distcache")
    before = service.UpperService.exclude.__code__
    with parts.mutants(scheme)["servers-first"](scheme):
        assert service.UpperService.exclude.__code__ != before
        assert service.UpperService.include.__code__ == service.UpperService.include.__code__
    assert service.UpperService.exclude.__code__ is before


@pytest.mark.parametrize(
    ("right", "reason"),
    [("no such text", "has 0 times"), ("def ", "times: def "), ("WINDOW = 4096", "no function")],
)
def test_edit_without_one_place_in_a_function_is_refused(right: str, reason: str) -> None:
    edit = Edit("x", "", "netkv/schemes/distcache/restarts.py", right, "WINDOW = 5")
    with pytest.raises(ValueError, match=reason), edits.changed_code(edit):
        pass
    assert restarts.WINDOW == 4096
