"""Named profiles: machines, defined here, and the testbeds of schemes (`netkv.schemes.parts`).

`netkv calibrate` measures `this-machine`; before that it is the same as `a-cloud-machine`.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from netkv import kinds, schemes
from netkv.errors import NetkvError, UsageError, suggest
from netkv.home import home
from netkv.model.profile import (
    ControlModel,
    HostModel,
    LinkModel,
    Profile,
    ServerModel,
    StoreModel,
    SwitchModel,
    constant,
)
from netkv.schemes import parts
from netkv.schemes.spec import LabSpec

THIS_MACHINE = "this-machine"
FALLBACK = "a-cloud-machine"

_MACHINES: dict[str, Profile] = {
    # A cloud machine with two cores that runs all nodes of the live lab on loopback. 'netkv
    # calibrate' measured it on the machine where netkv is developed (medians of four runs). Cables
    # are sockets: no bandwidth limit, and some microseconds to wake a waiting process.
    FALLBACK: Profile(
        title="A cloud machine with 2 cores that runs the live lab on loopback",
        client=HostModel(receive=constant(0.36), send=constant(0.36), queue=65_536),
        server=ServerModel(
            receive=constant(0.04),
            send=constant(0.04),
            get=constant(0.15),
            put=constant(0.45),
            delete=constant(0.3),
            queue=4096,
        ),
        client_link=LinkModel(bandwidth_gbps=40, delay=1.1, queue_kib=2048),
        server_link=LinkModel(bandwidth_gbps=40, delay=4.4, queue_kib=2048),
        switch_link=LinkModel(bandwidth_gbps=40, delay=2.8, queue_kib=2048),
        switch=SwitchModel(
            latency=6.5,
            packet_rate=3_700_000,
            parallel=False,
            queue_packets=4096,
            recirculation_gbps=10,
            table_write_gap=10,
        ),
        control=ControlModel(latency=190, rate=7_200),
        backends={
            "rocksdb": StoreModel(get=constant(1.5), put=constant(260), delete=constant(250)),
            "redis": StoreModel(get=constant(2.2), put=constant(300), delete=constant(250)),
        },
    ),
}


@functools.cache
def _named() -> dict[str, Profile]:
    """All named profiles: the testbeds of schemes, and machines."""
    testbeds = (parts.profiles(scheme) for scheme in schemes.all_schemes())
    return {name: each for found in (*testbeds, _MACHINES) for name, each in found.items()}


def names() -> tuple[str, ...]:
    """All names that `get` accepts."""
    return (*_named(), THIS_MACHINE)


def path() -> Path:
    """The file of the profile that `netkv calibrate` writes for this machine."""
    return home() / "this-machine.json"


_given: ContextVar[dict[str, Profile] | None] = ContextVar("given", default=None)


@contextmanager
def given(name: str, profile: Profile | None) -> Iterator[None]:
    """Within this context, a name means this profile: that of another machine, where a run was
    planned. None: what it means here."""
    token = _given.set(None if profile is None else {name: profile})
    try:
        yield
    finally:
        _given.reset(token)


def of_machine(name: str) -> Profile | None:
    """The profile of that name, if it may be another one on another machine; otherwise None."""
    return get(name) if name == THIS_MACHINE or name.endswith(".json") else None


def get(name: str) -> Profile:
    """The profile of that name; a name that ends in `.json` is a file.

    Raises `UsageError`, with the names of all profiles, if there is none.
    """
    if (found := (_given.get() or {}).get(name)) is not None:
        return found
    if name == THIS_MACHINE:
        return _read(path()) if is_measured() else _MACHINES[FALLBACK]
    if name.endswith(".json"):
        return _read(Path(name))
    try:
        return _named()[name]
    except KeyError:
        raise UsageError(
            f"There is no profile '{name}'.\n  {suggest(name, names(), label='Profiles')}\n"
            f"  The name of a file ends in '.json' ('netkv calibrate --out')."
        ) from None


def of(lab: LabSpec) -> Profile:
    """The profile of a lab, with the changes in `lab.profile_changes`.

    Raises `UsageError` for a profile or a figure that does not exist, and for an invalid value.
    """
    profile = get(lab.profile)
    if not lab.profile_changes:
        return profile
    data = profile.model_dump(mode="json")
    containers = dict(_containers(data))
    for path, value in lab.profile_changes.items():
        if path not in containers:
            raise UsageError(
                f"'{path}' in 'lab.profile_changes' is not a figure of the profile "
                f"'{lab.profile}'.\n"
                f"  {suggest(path, containers, label='Figures')}"
            )
        containers[path][path.rpartition(".")[2]] = value
    try:
        return Profile.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(
            f"'lab.profile_changes' makes '{where}' of the profile '{lab.profile}' invalid: "
            f"{kinds.described(first)}."
        ) from error


def figures(profile: Profile) -> Iterator[tuple[str, float]]:
    """All numbers of a profile with their paths, as `lab.profile_changes` has them."""
    for path, container in _containers(profile.model_dump(mode="json")):
        yield path, container[path.rpartition(".")[2]]


def _containers(data: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Paths of all numbers, each with the dictionary that contains the number."""
    for name, value in data.items():
        if isinstance(value, dict):
            yield from _containers(value, f"{prefix}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{prefix}{name}", data


def is_measured() -> bool:
    """Whether `this-machine` was measured here."""
    return path().is_file()


def check_destination(file: Path) -> None:
    """Raises `UsageError` if `file` cannot be written, or if `get` could not read it by name."""
    if file.suffix != ".json":
        raise UsageError(f"--out {file}: the name should end in '.json'.")
    if not file.absolute().parent.is_dir():
        raise UsageError(f"--out {file}: there is no directory '{file.parent}'.")


def save(profile: Profile, file: Path | None = None) -> Path:
    """Writes `profile` to `file`, by default as that of this machine; returns the path.

    Raises `NetkvError`.
    """
    file = file or path()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(profile.model_dump_json(indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise NetkvError(f"{file} cannot be written: {error.strerror or error}.") from error
    return file


def _read(file: Path) -> Profile:
    try:
        return Profile.model_validate(json.loads(file.read_text(encoding="utf-8")))
    except OSError as error:
        raise UsageError(
            f"The profile {file} cannot be read: {error.strerror or error}."
        ) from error
    except (ValueError, RecursionError) as error:
        why = kinds.first(error) if isinstance(error, ValidationError) else error
        raise UsageError(
            f"{file} is not a profile of this version ({why}). 'netkv calibrate' writes a new one."
        ) from error
