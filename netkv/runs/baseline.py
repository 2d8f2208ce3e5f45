"""The choice of the baseline of compared runs. It does not depend on the order of the runs.

1. `--baseline` names a run, which is the baseline of all runs, or a scheme.
2. Otherwise the baseline is the first scheme of the scenario, as it was run. If runs of a scenario
   have different lists of schemes, the longest list counts. Among equally long lists, it is the one
   whose first scheme is registered first.
3. If that scheme is not among the runs, the baseline is the next scheme of the list that is.
4. Runs relate to the baseline of their own scenario at their own sweep point. If no run of the
   baseline succeeded there, they have no ratio.
5. If the baseline has several rows at a sweep point, they differ in settings. A row relates to the
   one with its settings, else to the oldest. If there is no other scheme, all relate to the oldest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from netkv import schemes
from netkv.errors import UsageError, suggest
from netkv.runs.records import RunRecord

Group = list[RunRecord]
"""Runs with the same settings: a row of a comparison."""
Settings = Callable[[RunRecord], dict[str, Any]]


@dataclass
class Baselines:
    """The baseline of each group, and the reasons for the choice."""

    of: list[Group | None]
    """The baseline of each group; None: it has none."""
    sentences: list[str] = field(default_factory=list)
    """Reasons, for users. Empty if each group relates to itself."""


def choose(groups: Sequence[Group], settings: Settings, requested: str | None = None) -> Baselines:
    """The baseline of each group.

    `requested` is the id of one of the runs, or the name of one of their schemes; raises
    `UsageError` if it is neither.
    """
    if requested is not None:
        named = [group for group in groups if any(run.id == requested for run in group)]
        if named:
            sentence = f"Ratios are to {_run(named[0])}, as requested."
            return Baselines([named[0] for _ in groups], [sentence])
        present = dict.fromkeys(group[0].scheme for group in groups)
        if requested not in present:
            runs = [run.id for group in groups for run in group]
            raise UsageError(
                f"'{requested}' is neither a scheme nor a run of this comparison.\n"
                f"  {suggest(requested, [*present, *runs], label='Possible')}"
            )
    found = Baselines([None] * len(groups))
    scenarios = dict.fromkeys(group[0].scenario for group in groups)
    for scenario in scenarios:
        own = [at for at, group in enumerate(groups) if group[0].scenario == scenario]
        _within(scenario, own, groups, settings, requested, found, alone=len(scenarios) == 1)
    return found


def _within(
    scenario: str,
    own: Sequence[int],
    groups: Sequence[Group],
    settings: Settings,
    requested: str | None,
    found: Baselines,
    *,
    alone: bool,
) -> None:
    """The baselines of the groups of one scenario, whose indices are `own`."""
    first, scheme = _scheme([groups[at] for at in own], requested)
    points: dict[str, list[int]] = {}
    for at in own:
        points.setdefault(_point(groups[at]), []).append(at)
    missing = []
    oldest = None
    for point in points.values():
        candidates = [groups[at] for at in point if groups[at][0].scheme == scheme]
        candidates = sorted(filter(_succeeded, candidates), key=_age)
        if not candidates:
            missing.append(groups[point[0]])
            continue
        others = any(groups[at][0].scheme != scheme for at in point)
        for at in point:
            found.of[at] = _nearest(groups[at], candidates, settings, itself=others)
        if not others and len(candidates) > 1:
            oldest = candidates[0]
    if all(found.of[at] in (None, groups[at]) for at in own) and not missing:
        return
    where = "" if alone else f"In '{scenario}': "
    at_point = " at the same sweep point" if len(points) > 1 else ""
    if oldest is not None:
        text = f"Ratios are to {_run(oldest)}, the oldest of these runs{at_point}."
    elif requested is not None:
        text = f"Ratios are to {scheme}{at_point}, as requested."
    elif scheme == first:
        text = (
            f"Ratios are to {scheme}, the first scheme of '{scenario}'{at_point and ','}{at_point}."
        )
    else:
        text = (
            f"Ratios are to {scheme}{at_point}: {first}, the first scheme of '{scenario}', is not "
            f"among these runs."
        )
    if missing:
        text += f" There is no ratio where no run of {scheme} succeeded{_points(missing)}."
    found.sentences.append(where + text)


def _scheme(groups: Sequence[Group], requested: str | None) -> tuple[str, str]:
    """The first scheme of the scenario of these groups, and their baseline scheme."""
    present = {group[0].scheme for group in groups}
    order = {each.name: at for at, each in enumerate(schemes.all_schemes())}

    def rank(listed: Sequence[str]) -> tuple[int, int, list[str]]:
        return -len(listed), order.get(listed[0], len(order)), list(listed)

    lists = [run.parameters.get("schemes") or [run.scheme] for group in groups for run in group]
    listed = min(lists, key=rank)
    rest = sorted(present - set(listed), key=lambda name: (order.get(name, len(order)), name))
    if requested is not None:
        return listed[0], requested
    return listed[0], next(name for name in (*listed, *rest) if name in present)


def _nearest(
    group: Group, candidates: Sequence[Group], settings: Settings, *, itself: bool
) -> Group:
    """The candidate that a group relates to; candidates are ordered from the oldest."""
    if itself and any(each is group for each in candidates):
        return group
    if not itself:
        return candidates[0]
    own = settings(group[0])
    return next((each for each in candidates if settings(each[0]) == own), candidates[0])


def _succeeded(group: Group) -> bool:
    return any(run.status == "done" for run in group)


def _age(group: Group) -> tuple[float, str]:
    return min((run.started_at, run.id) for run in group)


def _point(group: Group) -> str:
    return json.dumps(group[0].params, sort_keys=True, default=str)


def _points(groups: Sequence[Group]) -> str:
    shown = [_params(group[0]) for group in groups if group[0].params]
    return f": {'; '.join(shown)}" if shown else ""


def _params(run: RunRecord) -> str:
    return ", ".join(f"{path.rsplit('.', 1)[-1]} {value}" for path, value in run.params.items())


def _run(group: Group) -> str:
    first = group[0]
    point = f" at {_params(first)}" if first.params else ""
    return f"run {first.id} ({first.scheme}{point})"
