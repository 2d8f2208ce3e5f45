"""A scheme uses kits and never another scheme, so that each can change, or go, alone."""

from __future__ import annotations

import grimp
import pytest

from netkv.schemes import all_schemes, registry


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
