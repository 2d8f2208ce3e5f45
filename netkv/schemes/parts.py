"""Parts of a scheme that few readers need: modules beside its declaration, found by their names.

| module | has | for |
|---|---|---|
| `profiles` | `PROFILES`: name → testbed of its paper | the simulator (`netkv.sim.profiles`) |
| `probes` | `PROBES`: entries and messages that measure its switch | `netkv calibrate` |
| `example_frames` | `frames(lab)`: frames with titles that show what its program does | the API |
| `mutants` | `broken()`: name of a defect → the scheme with one rule broken | `netkv soak --mutant`
|
| `soak` | some of the names of `Soak` | `netkv soak` |

A module that is left out says nothing. A scheme whose declaration is not in the `__init__` of a
package has no parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from netkv.control.probes import Probes
from netkv.errors import NetkvError
from netkv.events.case import GenericCase
from netkv.events.random_faults import FaultKind
from netkv.kits.cases.played import PlayedRack
from netkv.kits.cases.random_draw import RandomDraw
from netkv.model.hardware import GenericLab
from netkv.model.profile import Profile
from netkv.schemes import registry
from netkv.schemes.scheme import Broken, Scheme


@dataclass(frozen=True)
class Soak:
    """What a scheme says to `netkv soak`. Its module `soak` has these names, as far as it has
    something to say."""

    adapt: Callable[[RandomDraw, GenericCase, Sequence[FaultKind]], GenericCase] | None = None
    """Adapts a case to the scheme, last of all draws, with faults of these kinds only; None: cases
    stay as they are."""
    check: Callable[[PlayedRack, Callable[[], int]], str | None] | None = None
    """A further check at the end of a case: gets the rack, which is idle, and a function that reads
    back every written key and returns how many of these reads were sent again; returns a sentence
    about a violation, or None."""
    tolerates: Callable[[PlayedRack, str], bool] | None = None
    """Whether the scheme tolerates that a switch fails now; a fault that it does not is left out.
    None: it tolerates each."""
    LOSES_WRITES: str = ""
    """Why acknowledged writes are lost without any fault, as a sentence without its full stop;
    empty: they are not. `netkv soak`, which would find nothing else, refuses such a scheme."""


def soak(scheme: Scheme) -> Soak:
    """What the scheme says to `netkv soak`."""
    module = _module(scheme.name, "soak")
    names = Soak.__dataclass_fields__
    return Soak(**{name: getattr(module, name) for name in names if hasattr(module, name)})


def profiles(scheme: Scheme) -> Mapping[str, Profile]:
    """Testbeds of its paper for the simulator, by name."""
    found: Mapping[str, Profile] = _get(scheme, "profiles", "PROFILES", {})
    return found


def probes(scheme: Scheme) -> Probes | None:
    """Entries and messages with which `netkv calibrate` measures the switch; None: it cannot."""
    found: Probes | None = _get(scheme, "probes", "PROBES", None)
    return found


def example_frames(scheme: Scheme, lab: GenericLab) -> Iterable[tuple[str, bytes]] | None:
    """Frames of the first client that show what the program does, each with a title; None: reads
    and writes of single keys."""
    frames = _get(scheme, "example_frames", "frames", None)
    return None if frames is None else frames(lab)


def mutants(scheme: Scheme) -> Mapping[str, Broken]:
    """The scheme with one rule broken, by the names of the defects: `netkv soak` must find them."""
    broken: Callable[[], Mapping[str, Broken]] = _get(scheme, "mutants", "broken", dict)
    return broken()


def _get(scheme: Scheme, part: str, name: str, absent: Any) -> Any:
    module = _module(scheme.name, part)
    if module is None:
        return absent
    if not hasattr(module, name):
        raise NetkvError(
            f"The scheme '{scheme.name}' cannot be used: {module.__name__} has no {name}."
        )
    return getattr(module, name)


@cache
def _module(scheme: str, part: str) -> ModuleType | None:
    """The module of that name beside the declaration of a scheme; None if there is none.

    Raises `NetkvError` if it cannot be loaded.
    """
    package = registry.catalogue().modules.get(scheme)
    if package is None or not hasattr(import_module(package), "__path__"):
        return None
    name = f"{package}.{part}"
    if find_spec(name) is None:
        return None
    try:
        return import_module(name)
    except Exception as error:
        text = " ".join(str(error).split()) or type(error).__name__
        raise NetkvError(
            f"The scheme '{scheme}' cannot be used: {name}: {type(error).__name__}: {text}."
        ) from error
