"""The registry of schemes: netkv's own, and those of installed packages.

Rules
-----
1. A scheme is an entry point of the group `netkv.schemes`. The entry point has the name of the
   scheme and refers to a `Scheme`. netkv declares its own schemes in the same way
   (pyproject.toml). If the metadata of netkv is missing or old (a checkout that was not set up
   again), the registry uses the folders in this package instead.
2. A scheme that cannot be loaded is left out; `problems` has its package and the error. It never
   affects other schemes.
3. An option name has one declaration, across all schemes and the options of every lab.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from netkv.errors import UsageError, suggest
from netkv.model.hardware import GenericLab
from netkv.model.nodes import Client, Servers
from netkv.model.scheme_options import SchemeOptions
from netkv.options import declaration, meaning
from netkv.schemes import counters
from netkv.schemes.scheme import Scheme

GROUP = "netkv.schemes"
OWN = "netkv"
"""The package whose schemes come with netkv."""


@dataclass(frozen=True)
class Catalogue:
    """The schemes that were found, and those that cannot be used."""

    schemes: dict[str, Scheme]
    """By name, in the order in which figures show them."""
    problems: dict[str, str]
    """Name of a scheme that cannot be used → a sentence with the reason."""
    packages: dict[str, str]
    """Name of a scheme → the package that provides it."""
    modules: dict[str, str]
    """Name of a scheme → the module with its declaration."""


@cache
def catalogue() -> Catalogue:
    """All schemes of this installation, found once."""
    return load(entry_points())


def entry_points() -> list[metadata.EntryPoint]:
    """The entry points of schemes: netkv's own first, then those of other packages by name."""
    found = {(point.name, point.value): point for point in metadata.entry_points(group=GROUP)}
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if module.ispkg:
            value = f"{__package__}.{module.name}:SCHEME"
            # Names of modules have no hyphens.
            point = metadata.EntryPoint(module.name.replace("_", "-"), value, GROUP)
            found.setdefault((point.name, point.value), point)
    return sorted(found.values(), key=lambda point: (_package(point) != OWN, point.name))


def load(points: Iterable[metadata.EntryPoint]) -> Catalogue:
    """Load the schemes of these entry points."""
    found: dict[str, Scheme] = {}
    problems: dict[str, str] = {}
    packages: dict[str, str] = {}
    modules: dict[str, str] = {}
    options: dict[str, Scheme] = {}
    for point in points:
        package = _package(point)
        try:
            scheme = _load(point)
            if point.name in found:
                raise ValueError(f"a scheme of that name comes from '{packages[point.name]}'")
            declared = _options(scheme, options)
        except Exception as error:
            text = " ".join(str(error).split()) or type(error).__name__
            problems[point.name] = (
                f"The scheme '{point.name}' of the package '{package}' cannot be used: "
                f"{type(error).__name__}: {text}."
            )
            continue
        options |= declared
        found[scheme.name] = scheme
        packages[scheme.name] = package
        modules[scheme.name] = point.module
    ordered = sorted(found.values(), key=lambda each: (each.about.order, each.name))
    return Catalogue({each.name: each for each in ordered}, problems, packages, modules)


def all_schemes() -> tuple[Scheme, ...]:
    """Every scheme, in the order in which figures show them."""
    return tuple(catalogue().schemes.values())


def default() -> Scheme:
    """The scheme of a lab that names none: the first one with a cache."""
    return next(each for each in all_schemes() if each.traits.caches)


def get(name: str) -> Scheme:
    """The scheme of that name; raises `UsageError` with a list of schemes if there is none."""
    found = catalogue()
    if name in found.schemes:
        return found.schemes[name]
    if name in found.problems:
        raise UsageError(found.problems[name])
    raise UsageError(
        f"There is no scheme '{name}'.\n  {suggest(name, found.schemes, label='Schemes')}"
    )


def _package(point: metadata.EntryPoint) -> str:
    """The name of the package that provides a scheme."""
    return _name(point.dist) if point.dist is not None else point.module.split(".")[0]


@cache
def _name(package: metadata.Distribution) -> str:
    # Reads and parses the metadata of the package.
    return package.name


def _load(point: metadata.EntryPoint) -> Scheme:
    scheme = point.load()
    if not isinstance(scheme, Scheme):
        raise TypeError(f"'{point.value}' is of type {type(scheme).__name__}, not Scheme")
    if scheme.name != point.name:
        raise ValueError(f"its own name is '{scheme.name}'")
    if not issubclass(scheme.options, SchemeOptions):
        raise TypeError(f"its options ({scheme.options.__name__}) are no SchemeOptions")
    for kind in (Client, Servers):
        if not scheme.has(kind):
            raise ValueError(f"its hosts have no {kind.__name__}")
    if scheme.limits.one_switch and scheme.topology.kind != "rack":
        raise ValueError(f"it supports one switch only, but its topology is {scheme.topology.kind}")
    counters.check_figures(scheme)
    return scheme


def _options(scheme: Scheme, known: dict[str, Scheme]) -> dict[str, Scheme]:
    """The options of a scheme, each with the scheme that declared it first.

    Raises ValueError if another declaration of one differs.
    """
    for name, field in scheme.options.model_fields.items():
        if name in GenericLab.model_fields:
            raise ValueError(f"'lab.{name}' is an option of every lab")
        first = known.get(name, scheme)
        if declaration(scheme.options, name) is not declaration(first.options, name) and (
            repr(field) != repr(first.options.model_fields[name])
            or meaning(scheme.options, name) != meaning(first.options, name)
        ):
            raise ValueError(f"'{first.name}' declares the option 'lab.{name}' in another way")
    return {name: known.get(name, scheme) for name in scheme.options.model_fields}
