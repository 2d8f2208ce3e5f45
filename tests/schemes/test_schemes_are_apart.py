"""A scheme uses kits and never another scheme, so that each can change, or go, alone."""

from __future__ import annotations

import re

import grimp
import pytest

from netkv import resources
from netkv.schemes import all_schemes, registry
from tests import rust_modules

P4 = resources.path("p4")
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


@pytest.fixture(scope="module")
def imports() -> grimp.ImportGraph:
    """All imports of the package, those inside functions and of types included."""
    return grimp.build_graph("netkv", cache_dir=None)


@pytest.mark.parametrize("scheme", [each.name for each in all_schemes()])
def test_a_scheme_imports_no_other_scheme(imports: grimp.ImportGraph, scheme: str) -> None:
    own = registry.catalogue().modules[scheme]
    others = {name for name in registry.catalogue().modules.values() if name != own}
    modules = {own, *imports.find_descendants(own)}
    found = {
        (module, imported)
        for module in modules
        for imported in imports.find_modules_directly_imported_by(module)
        if any(imported == other or imported.startswith(f"{other}.") for other in others)
    }
    assert not found


KITS = ("common", "forwarding", "write_back", "write_through")
"""Folders of `p4/` that several schemes share."""


@pytest.mark.parametrize("folder", sorted(each.name for each in P4.iterdir() if each.is_dir()))
def test_a_program_includes_kits_and_its_own_files_only(folder: str) -> None:
    below = ("common", folder) if folder in KITS else (*KITS, folder)
    found = {
        (file.name, included)
        for file in (P4 / folder).glob("*.p4")
        for included in _INCLUDE.findall(file.read_text(encoding="utf-8"))
        if included.split("/")[0] not in below
    }
    assert not found


def test_roles_of_a_scheme_use_kits_and_their_own_modules_only() -> None:
    """Kits use no scheme."""
    modules = rust_modules.dependencies(rust_modules.ENGINE / "roles/src")
    names = {each.name.replace("-", "_") for each in all_schemes()}
    found = {
        (module, used)
        for module, all_used in modules.items()
        if module[:1] == ("kits",) or names.intersection(module[:1])
        for used in all_used
        if names.intersection(used[:1]) and used[0] != module[0]
    }
    assert not found
    assert {module[0] for module in modules if module} & names
