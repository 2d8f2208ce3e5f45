"""The numbers behind the constants of an evaluation, as profiles and scenarios have them.

Rules
-----
1. A constant is some figures of profiles (`server.put`), some options (`lab.hot_threshold`), or
   both. Its value is read from the profiles and scenarios of the evaluation, never written down.
2. Each figure of a profile in use, and each option in `_options`, has exactly one constant.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from netkv.evaluation.constants import Constant
from netkv.evaluation.reference import Evaluation

if TYPE_CHECKING:
    from netkv.scenarios.model import Scenario

HEADINGS = ("constant", "in netkv", "kind", "from")
_RACK = ("servers", "clients", "pipelines", "host_queue", "topology", "scale", "mtu")
_LOAD = ("keys", "zipf", "placement", "rotation", "writes", "value_size", "key_size", "arrivals")


class Values:
    """All numbers of an evaluation's experiments, without its variants and controls."""

    def __init__(self, evaluation: Evaluation) -> None:
        from netkv.sim import profiles

        self._constants = evaluation.constants
        found = list(_scenarios(evaluation))
        self.options: dict[str, list[Any]] = {}
        """By path: the values, each once."""
        for scenario in found:
            for path, value in _options(scenario):
                values = self.options.setdefault(path, [])
                if value not in values:
                    values.append(value)
        self.figures: dict[str, dict[str, float]] = {
            name: {
                path.removesuffix(".mean"): value
                for path, value in profiles.figures(profiles.get(name))
                if value
            }
            for name in dict.fromkeys(scenario.lab.profile for scenario in found)
        }
        """By profile: the figures that are not 0."""

    def faults(self) -> list[str]:
        """Sentences about numbers that no constant has, or several have, and about constants that
        are no number of the experiments."""
        counts = [
            (
                f"'{figure}' of the profile '{profile}'",
                sum(each.has(figure, profile) for each in self._constants),
            )
            for profile, figures in self.figures.items()
            for figure in figures
        ]
        counts += [
            (f"'{path}'", sum(path in each.options for each in self._constants))
            for path in self.options
        ]
        wrong = [
            f"{name} has {count or 'no'} constant{'s' * (count > 1)}; it needs one."
            for name, count in counts
            if count != 1
        ]
        wrong += [
            f"The constant '{each.name}' has '{name}', which is no number of the experiments."
            for each in self._constants
            for name in (*each.figures, *each.options)
            if not self._is_number(each, name)
        ]
        return wrong

    def _is_number(self, of: Constant, name: str) -> bool:
        """Whether an option or a pattern of figures stands for a number of the experiments."""
        return name in self.options or any(
            of.profile in (None, profile) and fnmatch.fnmatchcase(figure, name)
            for profile, figures in self.figures.items()
            for figure in figures
        )

    def table(self) -> list[list[str]]:
        """A line for each constant: name, numbers, kind, origin."""
        return [[each.name, self.text(each), each.kind, each.origin] for each in self._constants]

    def text(self, of: Constant) -> str:
        """Its numbers, with their names; of profiles with other values, each."""
        by_figure: dict[str, dict[str, float]] = {}
        for profile, figures in self.figures.items():
            for figure, value in figures.items():
                if of.has(figure, profile):
                    by_figure.setdefault(figure, {})[profile] = value
        parts = []
        for figure, by_profile in by_figure.items():
            values = list(dict.fromkeys(f"{value:g}" for value in by_profile.values()))
            parts.append(f"`{figure}` {' or '.join(values)}")
        for path in of.options:
            shown = [_shown(value) for value in self.options.get(path, [])]
            parts.append(f"`{path}` {' or '.join(shown)}")
        where = "" if of.profile is None else f"`{of.profile}`: "
        return where + ", ".join(parts)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        given = {name: each for name, each in value.items() if each is not None}
        return "{" + ", ".join(f"{name}: {_shown(each)}" for name, each in given.items()) + "}"
    if isinstance(value, float):
        return f"{value:g}"
    return "left out" if value is None else f"{value}"


def _scenarios(evaluation: Evaluation) -> Iterator[Scenario]:
    from netkv.scenarios import loader

    for experiment in evaluation.experiments:
        if not (experiment.variant or experiment.control):
            for variant in evaluation.variants(experiment):
                yield loader.load(loader.find(variant.scenario), list(variant.changes))


def _options(scenario: Scenario) -> Iterator[tuple[str, Any]]:
    """Paths and values of what limits or loads a rack, and of all that its schemes offer, but for
    what the scenario sweeps."""
    from netkv import schemes

    own = [
        name
        for name in type(scenario.lab).model_fields
        if any(schemes.get(each).has_option(name) for each in scenario.schemes)
    ]
    lab = scenario.lab.model_dump(mode="json")
    load = scenario.workload.model_dump(mode="json")
    found = {f"lab.{name}": lab[name] for name in (*_RACK, *own)}
    found |= {f"workload.{name}": load[name] for name in _LOAD}
    found |= {"warmup": scenario.warmup, "duration": scenario.duration}
    for path, value in found.items():
        if path not in scenario.sweep:
            yield path, value
