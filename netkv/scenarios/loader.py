"""Scenario files and `--set`: from YAML to a checked `Scenario`, with errors that name the line.

scenarios/mine.yaml:7: 'workload.zipff' is not an option of a workload.
  Did you mean 'zipf'? Options: arrivals, deletes, key_size, keys, ...
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError

from netkv import kinds, resources, schemes
from netkv.errors import (
    FieldError,
    MisfitError,
    OptionsError,
    UsageError,
    WrongOption,
    suggest,
)
from netkv.scenarios import option_paths, scheme_options, sources, thresholds
from netkv.scenarios.model import Scenario
from netkv.scenarios.option_paths import Path, dotted
from netkv.scenarios.plot import misfit
from netkv.scenarios.sources import Source
from netkv.scenarios.timeline import not_live
from netkv.schemes import checks

MAX_WRONG = 20
"""Wrong options that an error lists."""

Locate = Callable[[Path], str]
"""Where an option was written: `scenarios/mine.yaml:7` or `--set workload.zipf=2`."""


def find(name: str) -> FilePath:
    """The file of a scenario given by name or by path; raises `UsageError`."""
    if sources.is_path(name):
        as_path = FilePath(name)
        if not as_path.is_file():
            raise UsageError(f"There is no scenario file '{name}'.")
        return as_path
    files = resources.scenarios()
    if name not in files:
        raise UsageError(
            f"There is no scenario '{name}'.\n  {suggest(name, files, label='Scenarios')} "
            f"A path to a .yaml file works too."
        )
    return files[name]


def load(
    file: FilePath,
    overrides: Iterable[str] = (),
    *,
    to_run: bool = False,
    also: Iterable[str] = (),
) -> Scenario:
    """Reads and checks a scenario file, with `path=value` overrides on top.

    `to_run`: also check that it can run in its mode. `also`: schemes that will run instead of its
    own; options of either are allowed. Raises `UsageError` with a list of all errors.
    """
    return of_source(sources.read(file), overrides, to_run=to_run, also=also)


def loads(
    text: str,
    name: str,
    overrides: Iterable[str] = (),
    *,
    to_run: bool = False,
    also: Iterable[str] = (),
) -> Scenario:
    """`load` for text; error messages use `name` as the file name."""
    return of_source(sources.reads(text, name), overrides, to_run=to_run, also=also)


def of_source(
    source: Source,
    overrides: Iterable[str] = (),
    *,
    to_run: bool = False,
    also: Iterable[str] = (),
) -> Scenario:
    """`load` for a scenario that was read."""
    return _checked(source.options, source.where, overrides, to_run=to_run, also=also)


def parsed(text: str, name: str) -> dict[str, Any]:
    """What the text says itself as plain data, not checked; raises `OptionsError`."""
    data = sources.document(text, name).data
    return {key: each for key, each in data.items() if not key.startswith(sources.IGNORED)}


def override(scenario: Scenario, overrides: Iterable[str]) -> Scenario:
    """A scenario with `path=value` overrides; raises `UsageError`."""
    data = scenario.model_dump(mode="json", exclude_unset=True)
    return _checked(data, lambda _: f"scenario '{scenario.name}'", overrides)


def sweep_points(scenario: Scenario) -> Iterator[dict[str, Any]]:
    """The points of the sweep: path → value; a single empty one without a sweep."""
    for values in itertools.product(*scenario.sweep.values()):
        yield dict(zip(scenario.sweep, values, strict=True))


def apply(scenario: Scenario, params: Mapping[str, Any]) -> Scenario:
    """The scenario of one sweep point: its options are set and it has no sweep.

    Raises `UsageError`.
    """
    data = scenario.model_dump(mode="json", exclude_unset=True)
    data.pop("sweep", None)
    for path, value in params.items():
        if (
            error := option_paths.assign(data, option_paths.parse(path), copy.deepcopy(value))
        ) is not None:
            raise UsageError(f"sweep: {error}")
    where = ", ".join(f"{path}={kinds.shown(value)}" for path, value in params.items())
    return _validated(data, lambda _: f"sweep point {where}")


def _checked(
    data: dict[str, Any],
    locate: Locate,
    overrides: Iterable[str],
    *,
    to_run: bool = False,
    also: Iterable[str] = (),
) -> Scenario:
    _names_exist(data, locate)
    written = data.get("schemes")
    set_by: dict[Path, str] = {}
    for item in overrides:
        path = assign(data, item)
        set_by[path] = f"--set {item}"

    def locate_all(path: Path) -> str:
        for depth in range(len(path), 0, -1):
            if path[:depth] in set_by:
                return set_by[path[:depth]]
        for overridden, where in set_by.items():
            if overridden[: len(path)] == path and path:
                return where
        return locate(path)

    _names_exist(data, locate_all)
    scenario = _validated(data, locate_all)
    if to_run and scenario.mode == "live" and (objection := not_live(scenario)) is not None:
        raise sources.wrong(objection.path, locate_all(objection.path), objection)
    _check_options(scenario, [*_known(written), *also], locate_all)
    _check_sweep(scenario, locate_all)
    _check_expectations(scenario, locate_all)
    if any(path[0] == "sweep" for path in set_by):
        scenario = _without_misfits(scenario)
    _check_plots(scenario, locate_all)
    if to_run:
        _check_schemes(scenario, tuple(also) or scenario.schemes, locate_all)
    return scenario


def _all_wrong(wrong: Iterable[tuple[Path, str]], locate: Locate) -> OptionsError:
    found = list(itertools.islice(wrong, MAX_WRONG + 1))
    listed = [WrongOption(dotted(path), locate(path), text) for path, text in found[:MAX_WRONG]]
    if len(found) > MAX_WRONG:
        path, _ = found[MAX_WRONG]
        text = f"further options are wrong; the first {MAX_WRONG} are listed."
        listed.append(WrongOption(dotted(path), locate(path), text))
    return OptionsError(listed)


def _any_wrong(wrong: Iterator[tuple[Path, str]], locate: Locate) -> None:
    """Raises `OptionsError` if an option is wrong."""
    if (first := next(wrong, None)) is not None:
        raise _all_wrong(itertools.chain([first], wrong), locate)


def assign(data: dict[str, Any], item: str) -> Path:
    """Sets the option of `path=value` in plain data; returns its path. Raises `OptionsError`."""
    name, equals, text = item.partition("=")
    if not equals or not name:
        raise sources.wrong((), f"--set {item}", "should look like workload.zipf=0.9.")
    value = sources.yaml(text, f"--set {item}").data
    path = option_paths.parse(name.strip())
    if (error := option_paths.assign(data, path, value)) is not None:
        raise sources.wrong(path, f"--set {item}", error)
    return path


def _names_exist(data: Mapping[str, Any], locate: Locate) -> None:
    _any_wrong(option_paths.misnamed(Scenario, data), locate)


def _validated(data: dict[str, Any], locate: Locate) -> Scenario:
    _any_wrong(_mistyped(data), locate)
    try:
        return Scenario.model_validate(data)
    except ValidationError as error:
        raise _all_wrong(_sentences(error, data), locate) from error


def _known(names: Any) -> list[str]:
    """The existing schemes that a file names."""
    known = [each.name for each in schemes.all_schemes()]
    return [name for name in names if name in known] if isinstance(names, list) else []


def _check_options(scenario: Scenario, others: Sequence[str], locate: Locate) -> None:
    """`others`: schemes whose options are allowed although the scenario does not name them."""
    names = list(dict.fromkeys((*scenario.schemes, *others)))
    _any_wrong(scheme_options.misplaced(scenario, names), locate)


def _check_schemes(scenario: Scenario, names: Sequence[str], locate: Locate) -> None:
    """Raises `UsageError` if one of these schemes does not support a point of the sweep."""
    for params in sweep_points(scenario):
        applied = apply(scenario, params)
        for name in names:
            try:
                scheme = schemes.get(name)
                lab = applied.of_scheme(name).lab
                checks.check(scheme, lab, applied.workload)
                if applied.mode == "live":
                    checks.check_live(scheme, lab, applied.workload)
            except MisfitError as wrong:
                swept = next((p for p in params if dotted(wrong.path).startswith(p)), None)
                at = wrong.path if swept is None else ("sweep", swept)
                raise sources.wrong(at, locate(at), wrong) from wrong


def check_point(scenario: Scenario, params: Mapping[str, Any]) -> None:
    """Raises `UsageError` if an option cannot have this value, or cannot be swept."""
    swept = scenario.model_copy(update={"sweep": {path: [it] for path, it in params.items()}})
    _check_sweep(swept, lambda _: "--over")
    _check_schemes(swept, scenario.schemes, lambda _: "--over")


def _check_sweep(scenario: Scenario, locate: Locate) -> None:
    for path, values in scenario.sweep.items():
        at = ("sweep", path)
        if path.split(".")[0] in ("sweep", "name", "schemes", "repeat", "expect", "plots", "seed"):
            raise sources.wrong(at, locate(at), f"'{path}' cannot be swept.")
        if (error := option_paths.check(option_paths.parse(path))) is not None:
            raise sources.wrong(at, locate(at), error)
        for index, value in enumerate(values):
            try:
                apply(scenario, {path: value})
            except UsageError as wrong:
                raise sources.wrong((*at, index), locate((*at, index)), wrong) from wrong


def _check_expectations(scenario: Scenario, locate: Locate) -> None:
    for index, text in enumerate(scenario.expect):
        try:
            thresholds.compile_expression(text, scenario.schemes)
        except UsageError as wrong:
            at = ("expect", index)
            raise sources.wrong(at, locate(at), wrong) from wrong


def _check_plots(scenario: Scenario, locate: Locate) -> None:
    for index, plot in enumerate(scenario.plots):
        if (wrong := misfit(plot, scenario.schemes, scenario.sweep)) is not None:
            at = ("plots", index, wrong[0])
            raise sources.wrong(at, locate(at), f"'{dotted(at)}': {wrong[1]}")


def _without_misfits(scenario: Scenario) -> Scenario:
    """The scenario without the plots that need an option that is not swept any more."""
    fitting = [p for p in scenario.plots if misfit(p, scenario.schemes, scenario.sweep) is None]
    return scenario.model_copy(update={"plots": fitting})


def _sentences(error: ValidationError, data: Any) -> list[tuple[Path, str]]:
    """pydantic's errors as (path in the data, sentence); of a union, those of one alternative."""
    found: list[tuple[Path, str]] = []
    for prefix, group in _by_alternative(error, data).items():
        for item in group:
            # An error of a check of several fields has the path of their model, not of the field.
            cause = item.get("ctx", {}).get("error")
            further = cause.path if isinstance(cause, FieldError) else ()
            loc = (*prefix, *item["rest"], *further)
            found.append((loc, _sentence(loc, item)))
    return found


def _by_alternative(error: ValidationError, data: Any) -> dict[Path, list[dict[str, Any]]]:
    """Groups errors by their union and keeps those of the alternative that the user meant.

    pydantic reports the errors of all alternatives; in `loc` an alternative is a part that is not
    in the data. The user meant the alternative with the fewest errors about names and types.
    """
    groups: dict[Path, dict[str, list[dict[str, Any]]]] = {}
    for item in error.errors(include_url=False):
        prefix, tag, rest = _split(item["loc"], data)
        groups.setdefault(prefix, {}).setdefault(tag, []).append({**item, "rest": rest})

    def objections(items: list[dict[str, Any]]) -> tuple[int, int]:
        shape = sum(i["type"] in ("extra_forbidden", "model_type", "missing") for i in items)
        shape += sum(i["type"].endswith(("_type", "_parsing")) and not i["rest"] for i in items)
        return shape, len(items)

    return {prefix: min(tags.values(), key=objections) for prefix, tags in groups.items()}


def _split(loc: tuple[str | int, ...], data: Any) -> tuple[Path, str, Path]:
    """`loc` of pydantic → (path down to a union, name of the alternative, path below it)."""
    here: Any = data
    for depth, part in enumerate(loc):
        if _holds(here, part):
            here = here[part]
        elif isinstance(here, Mapping) and depth == len(loc) - 1 and _is_option(loc[:depth], part):
            return tuple(loc[:depth]), "", (part,)
        else:
            return tuple(loc[:depth]), str(part), tuple(loc[depth + 1 :])
    return tuple(loc), "", ()


def _holds(data: Any, part: str | int) -> bool:
    if isinstance(data, list):
        return isinstance(part, int) and part < len(data)
    return isinstance(data, Mapping) and part in data


def _is_option(parent: tuple[str | int, ...], part: str | int) -> bool:
    return option_paths.check((*parent, part)) is None


def _sentence(path: Path, item: Mapping[str, Any]) -> str:
    name = dotted(path)
    if item["type"] == "missing":
        return f"'{name}' is missing."
    if item["type"] == "value_error":
        text = kinds.described(item)
        # A text that ends with a full stop names the option itself.
        if text.endswith("."):
            return text
        return f"'{name}': {text}." if path else f"{text}."
    return f"'{name}' is {kinds.shown(item.get('input'))}; {kinds.described(item)}."


def _mistyped(data: Any) -> Iterator[tuple[Path, str]]:
    for path, text in kinds.mistyped(Scenario, data):
        here = data
        for part in path:
            here = here[part]
        yield path, f"'{dotted(path)}' is {kinds.shown(here)}; {text}."
