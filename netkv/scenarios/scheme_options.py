"""Options of a scenario that depend on its schemes.

A value applies to the schemes that have the option. Options of `lab.topology` have defaults of the
scheme, so the racks of one scenario may have different switches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from netkv import schemes
from netkv.model.hardware import GenericLab, TopologySpec
from netkv.scenarios.model import Scenario


def applies(option: str, names: Sequence[str]) -> bool:
    """Whether an option belongs to every lab or to one of these schemes."""
    return option in GenericLab.model_fields or any(
        schemes.get(name).has_option(option) for name in names
    )


def topologies(scenario: Scenario) -> dict[str, TopologySpec]:
    """The switches of each scheme's racks, by name."""
    return {name: scenario.of_scheme(name).lab.topology for name in scenario.schemes}


def document(scenario: Scenario) -> dict[str, Any]:
    """The scenario as data, as it would run: with every default, also of its schemes.

    An option of `lab.topology` in which the schemes differ is left out. So the data is a scenario
    with the same runs.
    """
    first, *others = [each.model_dump(mode="json") for each in topologies(scenario).values()]
    shared = {name: it for name, it in first.items() if all(it == more[name] for more in others)}
    data = scenario.model_dump(mode="json")
    return {**data, "lab": {**data["lab"], "topology": shared}}


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
