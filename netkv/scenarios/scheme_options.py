"""Options of schemes in a scenario: a value applies to the schemes that have the option."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netkv import schemes
from netkv.lab.hardware import GenericLab
from netkv.scenarios.model import Scenario


def applies(option: str, names: Sequence[str]) -> bool:
    """Whether an option belongs to every lab or to one of these schemes."""
    return option in GenericLab.model_fields or any(
        schemes.get(name).has_option(option) for name in names
    )


def misplaced(
    scenario: Scenario, names: Sequence[str]
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Options that are given or swept although none of these schemes has them: path and message."""
    given: list[tuple[str, tuple[str | int, ...]]] = [
        (option, ("lab", option)) for option in sorted(scenario.lab.model_fields_set)
    ]
    given += [
        (path.split(".")[1], ("sweep", path)) for path in scenario.sweep if path.startswith("lab.")
    ]
    for option, path in given:
        able = [each.name for each in schemes.all_schemes() if each.has_option(option)]
        if able and not applies(option, names):
            yield (
                path,
                f"'lab.{option}' is not an option of {', '.join(names)}.\n"
                f"  Schemes that have it: {', '.join(able)}.",
            )
